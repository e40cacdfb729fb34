-- Items on the days when their sales on the web so far passed those in stores: running sums, FULL JOIN, running maxima.
WITH web AS (
    SELECT rs_item AS item, d_date, sum(sum(rs_paid)) OVER (PARTITION BY rs_item ORDER BY d_date) AS so_far
    FROM remote_sales JOIN dates ON rs_date = d_key
    WHERE d_month_seq BETWEEN 25 AND 36
    GROUP BY rs_item, d_date
), shop AS (
    SELECT ss_item AS item, d_date, sum(sum(ss_paid)) OVER (PARTITION BY ss_item ORDER BY d_date) AS so_far
    FROM store_sales JOIN dates ON ss_date = d_key
    WHERE d_month_seq BETWEEN 25 AND 36
    GROUP BY ss_item, d_date
)
SELECT *
FROM (
    SELECT item, d_date, web, shop, max(web) OVER w AS web_so_far, max(shop) OVER w AS shop_so_far
    FROM (
        SELECT coalesce(web.item, shop.item) AS item, coalesce(web.d_date, shop.d_date) AS d_date, web.so_far AS web, shop.so_far AS shop
        FROM web FULL JOIN shop ON web.item = shop.item AND web.d_date = shop.d_date
    ) both_kinds
    WINDOW w AS (PARTITION BY item ORDER BY d_date ROWS UNBOUNDED PRECEDING)
) sums
WHERE web_so_far > shop_so_far
ORDER BY item, d_date
LIMIT 100;
