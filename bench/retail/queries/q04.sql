-- Customers whose purchases grow more at a distance than in stores: one UNION ALL, read four times.
WITH totals AS (
    SELECT c_key, c_first_name, c_last_name, d_year, 'store' AS kind, sum(ss_paid) AS total
    FROM customer
    JOIN store_sales ON c_key = ss_customer
    JOIN dates ON ss_date = d_key
    GROUP BY c_key, c_first_name, c_last_name, d_year
    UNION ALL
    SELECT c_key, c_first_name, c_last_name, d_year, 'remote', sum(rs_paid)
    FROM customer
    JOIN remote_sales ON c_key = rs_customer
    JOIN dates ON rs_date = d_key
    GROUP BY c_key, c_first_name, c_last_name, d_year
)
SELECT s2.c_key, s2.c_first_name, s2.c_last_name
FROM totals s1
JOIN totals s2 ON s2.c_key = s1.c_key
JOIN totals r1 ON r1.c_key = s1.c_key
JOIN totals r2 ON r2.c_key = s1.c_key
WHERE s1.kind = 'store' AND s1.d_year = 2020 AND s1.total > 0
    AND s2.kind = 'store' AND s2.d_year = 2021
    AND r1.kind = 'remote' AND r1.d_year = 2020 AND r1.total > 0
    AND r2.kind = 'remote' AND r2.d_year = 2021
    AND r2.total / r1.total > s2.total / s1.total
ORDER BY s2.c_key
LIMIT 100;
