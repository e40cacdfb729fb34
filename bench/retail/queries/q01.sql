-- Customers who return far more than their store's others: a WITH query read twice, correlated with itself.
WITH returned AS (
    SELECT sr_customer, sr_store, sum(sr_amount) AS total
    FROM store_returns
    JOIN dates ON sr_date = d_key
    WHERE d_year = 2021
    GROUP BY sr_customer, sr_store
)
SELECT c_key, c_first_name, c_last_name, total
FROM returned r
JOIN store ON s_key = r.sr_store
JOIN customer ON c_key = r.sr_customer
WHERE s_county IN ('County 1', 'County 2', 'County 3', 'County 4')
    AND total > (SELECT 3 * avg(total) FROM returned other WHERE other.sr_store = r.sr_store)
ORDER BY total DESC, c_key
LIMIT 100;
