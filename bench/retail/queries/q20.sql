-- Categories that lose from year to year, returns taken off: a LEFT JOIN of facts, UNION, and the years joined.
WITH sold AS (
    SELECT d_year, i_category, i_class, i_manufacturer, sum(quantity) AS quantity, sum(amount) AS amount
    FROM (
        SELECT d_year, i_category, i_class, i_manufacturer, ss_quantity - coalesce(sr_quantity, 0) AS quantity,
            ss_paid - coalesce(sr_amount, 0) AS amount
        FROM store_sales
        JOIN item ON i_key = ss_item
        JOIN dates ON d_key = ss_date
        LEFT JOIN store_returns ON sr_ticket = ss_ticket AND sr_item = ss_item
        WHERE i_category IN ('Books', 'Music')
        UNION
        SELECT d_year, i_category, i_class, i_manufacturer, rs_quantity, rs_paid
        FROM remote_sales
        JOIN item ON i_key = rs_item
        JOIN dates ON d_key = rs_date
        WHERE i_category IN ('Books', 'Music')
    ) moves
    GROUP BY d_year, i_category, i_class, i_manufacturer
)
SELECT a.i_category, a.i_class, a.i_manufacturer, b.d_year, a.quantity AS before, b.quantity AS after, b.amount - a.amount AS growth
FROM sold a
FULL JOIN sold b ON b.i_category = a.i_category AND b.i_class = a.i_class AND b.i_manufacturer = a.i_manufacturer AND b.d_year = a.d_year + 1
WHERE a.d_year IS NULL OR b.d_year IS NULL OR (a.d_year > 2019 AND b.quantity::numeric / nullif(a.quantity, 0) < 0.6)
ORDER BY growth, a.i_category, a.i_class, a.i_manufacturer, b.d_year, b.i_category, b.i_class, b.i_manufacturer
LIMIT 100;
