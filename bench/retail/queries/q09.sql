-- Average discount or payment by bucket of quantity, whichever its size asks for: subqueries in CASE.
SELECT p_key,
    CASE WHEN (SELECT count(*) FROM store_sales WHERE ss_quantity BETWEEN 1 AND 20) > 100000
        THEN (SELECT avg(ss_list_price - ss_price) FROM store_sales WHERE ss_quantity BETWEEN 1 AND 20)
        ELSE (SELECT avg(ss_paid) FROM store_sales WHERE ss_quantity BETWEEN 1 AND 20) END AS bucket1,
    CASE WHEN (SELECT count(*) FROM store_sales WHERE ss_quantity BETWEEN 21 AND 40) > 1000
        THEN (SELECT avg(ss_list_price - ss_price) FROM store_sales WHERE ss_quantity BETWEEN 21 AND 40)
        ELSE (SELECT avg(ss_paid) FROM store_sales WHERE ss_quantity BETWEEN 21 AND 40) END AS bucket2,
    CASE WHEN (SELECT count(*) FROM store_sales WHERE ss_quantity BETWEEN 41 AND 60) > 1000000
        THEN (SELECT avg(ss_list_price - ss_price) FROM store_sales WHERE ss_quantity BETWEEN 41 AND 60)
        ELSE (SELECT avg(ss_paid) FROM store_sales WHERE ss_quantity BETWEEN 41 AND 60) END AS bucket3
FROM promotion
WHERE p_key < 3
ORDER BY p_key;
