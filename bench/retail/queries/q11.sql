-- Orders that were packed in several warehouses, by people who returned nothing to stores: EXISTS and NOT EXISTS.
SELECT count(DISTINCT rs_order) AS orders, sum(rs_paid) AS paid, sum(rs_profit) AS profit
FROM remote_sales r
JOIN dates ON rs_ship_date = d_key
JOIN address ON rs_ship_address = a_key
WHERE d_date BETWEEN '2021-02-01' AND '2021-06-30' AND a_state IN ('AL', 'CA', 'GA')
    AND EXISTS (SELECT FROM remote_sales other WHERE other.rs_order = r.rs_order AND other.rs_warehouse <> r.rs_warehouse)
    AND NOT EXISTS (SELECT FROM store_returns WHERE sr_customer = r.rs_customer AND sr_date BETWEEN 700 AND 1000);
