-- Kinds of people and places: GROUPING SETS with distinct counts, of a few days' sales that were far above their item's average.
SELECT grouping(g_education, a_state, g_gender) AS level, g_education, a_state, g_gender, count(*) AS sales,
    count(DISTINCT ss_customer) AS people, sum(ss_paid) AS paid, round(stddev_pop(ss_price), 4) AS deviation
FROM store_sales s
JOIN customer ON ss_customer = c_key
JOIN demographic ON c_demographic = g_key
JOIN address ON c_address = a_key
WHERE ss_date BETWEEN 701 AND 704 AND ss_paid > (SELECT 1.5 * avg(o.ss_paid) FROM store_sales o WHERE o.ss_item = s.ss_item)
GROUP BY GROUPING SETS ((g_education, a_state), (a_state, g_gender), (g_education), ())
HAVING count(*) > 1
ORDER BY level, g_education, a_state, g_gender;
