-- Each store's three best days, and what sold best on each: LATERAL with LIMIT.
SELECT s_key, s_name, best.d_date, best.paid, i_code, top.paid AS item_paid
FROM store
CROSS JOIN LATERAL (
    SELECT d_key, d_date, sum(ss_paid) AS paid
    FROM store_sales JOIN dates ON ss_date = d_key
    WHERE ss_store = s_key AND d_year = 2021 AND d_month = 12
    GROUP BY d_key, d_date
    ORDER BY paid DESC, d_key
    LIMIT 3
) best
LEFT JOIN LATERAL (
    SELECT i_code, sum(ss_paid) AS paid
    FROM store_sales JOIN item ON ss_item = i_key
    WHERE ss_store = s_key AND ss_date = best.d_key
    GROUP BY i_code
    ORDER BY paid DESC, i_code
    LIMIT 1
) top ON true
WHERE s_employees > 220
ORDER BY s_key, best.paid DESC, best.d_key;
