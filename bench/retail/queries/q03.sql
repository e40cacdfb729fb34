-- Brands of some managers in the months before Christmas.
SELECT d_year, i_brand, i_manufacturer, sum(ss_paid) AS total, sum(ss_profit) AS profit
FROM store_sales
JOIN dates ON ss_date = d_key
JOIN item ON ss_item = i_key
WHERE i_manager BETWEEN 11 AND 14 AND d_month IN (11, 12)
GROUP BY d_year, i_brand, i_manufacturer
ORDER BY d_year, total DESC, i_brand, i_manufacturer
LIMIT 100;
