-- Months in which a brand's sales in a county were far from its year's average, with the months before and after.
WITH months AS (
    SELECT i_category, i_brand, s_county, d_year, d_month, sum(ss_paid) AS total,
        avg(sum(ss_paid)) OVER (PARTITION BY i_category, i_brand, s_county, d_year) AS average,
        lag(sum(ss_paid)) OVER w AS before, lead(sum(ss_paid)) OVER w AS after,
        rank() OVER w AS place
    FROM store_sales
    JOIN item ON ss_item = i_key
    JOIN dates ON ss_date = d_key
    JOIN store ON ss_store = s_key
    WHERE d_year = 2021 OR (d_year = 2020 AND d_month = 12) OR (d_year = 2022 AND d_month = 1)
    GROUP BY i_category, i_brand, s_county, d_year, d_month
    WINDOW w AS (PARTITION BY i_category, i_brand, s_county ORDER BY d_year, d_month)
)
SELECT i_category, i_brand, s_county, d_year, d_month, total, round(average, 2) AS average, before, after
FROM months
WHERE d_year = 2021 AND average > 0 AND abs(total - average) / average > 0.1
ORDER BY total - average, i_category, i_brand, s_county, d_month
LIMIT 100;
