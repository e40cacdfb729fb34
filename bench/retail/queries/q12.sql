-- Each item's share of its class: windows over aggregates.
SELECT i_code, i_category, i_class, i_price, sum(rs_paid) AS revenue,
    round(sum(rs_paid) * 100 / sum(sum(rs_paid)) OVER (PARTITION BY i_class), 4) AS share
FROM remote_sales
JOIN item ON rs_item = i_key
JOIN dates ON rs_date = d_key
WHERE i_category IN ('Books', 'Home', 'Sports') AND d_date BETWEEN '2022-02-01' AND '2022-06-30'
GROUP BY i_code, i_category, i_class, i_price
ORDER BY i_category, i_class, i_code, share
LIMIT 200;
