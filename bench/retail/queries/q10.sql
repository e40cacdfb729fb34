-- Kinds of people of two counties who bought in a store, and on the web or from the catalog, in a quarter.
SELECT g_gender, g_marital, g_education, count(*) AS people, min(g_income) AS least, max(g_income) AS most, sum(g_children) AS children
FROM customer c
JOIN address ON c_address = a_key
JOIN demographic ON c_demographic = g_key
WHERE a_county IN ('County 3', 'County 7')
    AND EXISTS (SELECT FROM store_sales JOIN dates ON ss_date = d_key
                WHERE ss_customer = c.c_key AND d_year = 2021 AND d_quarter < 4)
    AND (EXISTS (SELECT FROM remote_sales JOIN dates ON rs_date = d_key
                 WHERE rs_customer = c.c_key AND rs_channel = 'web' AND d_year = 2021 AND d_quarter < 4)
        OR EXISTS (SELECT FROM remote_sales JOIN dates ON rs_date = d_key
                   WHERE rs_customer = c.c_key AND rs_channel = 'catalog' AND d_year = 2021 AND d_quarter < 4))
GROUP BY g_gender, g_marital, g_education
ORDER BY g_gender, g_marital, g_education
LIMIT 100;
