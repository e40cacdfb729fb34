-- States whose customers bought, in one month, items that cost more than their category's average.
SELECT a_state, count(*) AS sales, count(DISTINCT c_key) AS customers
FROM address
JOIN customer ON c_address = a_key
JOIN store_sales ON ss_customer = c_key
JOIN dates ON ss_date = d_key
JOIN item i ON ss_item = i.i_key
WHERE d_month_seq = (SELECT DISTINCT d_month_seq FROM dates WHERE d_year = 2022 AND d_month = 11)
    AND i.i_price > 1.2 * (SELECT avg(j.i_price) FROM item j WHERE j.i_category = i.i_category)
GROUP BY a_state
HAVING count(*) >= 3
ORDER BY sales, a_state;
