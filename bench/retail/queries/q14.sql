-- Brands that sell in every channel, above the average of all channels: IN of an INTERSECT, HAVING with a subquery, CUBE.
WITH everywhere AS (
    SELECT i_key
    FROM item
    WHERE (i_brand, i_manager) IN (
        SELECT i_brand, i_manager FROM store_sales JOIN item ON ss_item = i_key JOIN dates ON ss_date = d_key WHERE d_year = 2020
        INTERSECT
        SELECT i_brand, i_manager FROM remote_sales JOIN item ON rs_item = i_key JOIN dates ON rs_date = d_key
        WHERE d_year = 2020 AND rs_channel = 'web'
        INTERSECT
        SELECT i_brand, i_manager FROM remote_sales JOIN item ON rs_item = i_key JOIN dates ON rs_date = d_key
        WHERE d_year = 2020 AND rs_channel = 'catalog'
    )
), average AS (
    SELECT avg(paid) AS paid
    FROM (SELECT ss_paid AS paid FROM store_sales JOIN dates ON ss_date = d_key WHERE d_year BETWEEN 2019 AND 2021
          UNION ALL
          SELECT rs_paid FROM remote_sales JOIN dates ON rs_date = d_key WHERE d_year BETWEEN 2019 AND 2021) paid
)
SELECT channel, i_category, sum(sales) AS sales, sum(number) AS number
FROM (
    SELECT 'store' AS channel, i_category, i_class, sum(ss_paid) AS sales, count(*) AS number
    FROM store_sales JOIN item ON ss_item = i_key JOIN dates ON ss_date = d_key
    WHERE ss_item IN (SELECT i_key FROM everywhere) AND d_year = 2021 AND d_month = 11
    GROUP BY i_category, i_class
    HAVING sum(ss_paid) > (SELECT paid FROM average)
    UNION ALL
    SELECT rs_channel, i_category, i_class, sum(rs_paid), count(*)
    FROM remote_sales JOIN item ON rs_item = i_key JOIN dates ON rs_date = d_key
    WHERE rs_item IN (SELECT i_key FROM everywhere) AND d_year = 2021 AND d_month = 11
    GROUP BY rs_channel, i_category, i_class
    HAVING sum(rs_paid) > (SELECT paid FROM average)
) sold
GROUP BY CUBE (channel, i_category)
ORDER BY channel NULLS LAST, i_category NULLS LAST, sales;
