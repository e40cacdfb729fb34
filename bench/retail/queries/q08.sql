-- Who, on the same day, bought in stores and from the catalog but not on the web: INTERSECT and EXCEPT.
SELECT count(*), count(DISTINCT c_last_name), min(d_date), max(d_date)
FROM (
    (
        SELECT c_last_name, c_birth_month, d_date
        FROM store_sales JOIN dates ON ss_date = d_key JOIN customer ON ss_customer = c_key
        WHERE d_year = 2021
        INTERSECT
        SELECT c_last_name, c_birth_month, d_date
        FROM remote_sales JOIN dates ON rs_date = d_key JOIN customer ON rs_customer = c_key
        WHERE d_year = 2021 AND rs_channel = 'catalog'
    )
    EXCEPT
    SELECT c_last_name, c_birth_month, d_date
    FROM remote_sales JOIN dates ON rs_date = d_key JOIN customer ON rs_customer = c_key
    WHERE d_year = 2021 AND rs_channel = 'web'
) people;
