-- The rows, always the same for one size: psql variables n_sales, n_items, n_customers, n_stores say how many; schema
-- retail_data gets functions that throw dice. What is thrown depends on the row's number and on which throw it is.
--
-- Popular items, stores and regular customers come far more often than others (thrice squared), one item in fifty and
-- some customers and stores never; references are NULL here and there; the last months have no sales at a distance.

CREATE SCHEMA retail_data;

-- An even number in [0, n), and one with small numbers far more often than large ones.
CREATE FUNCTION retail_data.even(row_number bigint, throw integer, n bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended($1, $2) & 9007199254740991) % $3 $$;
CREATE FUNCTION retail_data.skewed(row_number bigint, throw integer, n bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT ($3 * ((hashint8extended($1, $2) & 1048575) / 1048576.0::float8) ^ 3)::bigint $$;

INSERT INTO dates
SELECT n, d, date_part('year', d), date_part('quarter', d), date_part('month', d),
    (date_part('year', d) - 2019) * 12 + date_part('month', d), (n + 1) / 7, date_part('dow', d)
FROM generate_series(1, 1826) n, LATERAL (SELECT date '2018-12-31' + n) days(d);

INSERT INTO item
SELECT i, 'ITEM' || lpad(i::text, 8, '0'), category, category || ' class ' || class, category || ' brand ' || class || '.' || brand,
    1 + retail_data.even(i, 14, 60), 1 + retail_data.even(i, 15, 40),
    (ARRAY['red', 'green', 'blue', 'white', 'black', 'plum', 'navy', 'olive', 'peach', 'rose'])[1 + retail_data.skewed(i, 16, 9)],
    1 + retail_data.skewed(i, 17, 19900) / 100.0
FROM generate_series(1, :n_items) i,
LATERAL (
    SELECT (ARRAY['Books', 'Children', 'Electronics', 'Home', 'Jewelry', 'Men', 'Music', 'Shoes', 'Sports', 'Women', NULL])
            [1 + CASE WHEN retail_data.even(i, 10, 50) = 0 THEN 10 ELSE retail_data.even(i, 11, 10) END],
        1 + retail_data.even(i, 12, 6), 1 + retail_data.even(i, 13, 8)
) kinds(category, class, brand);

INSERT INTO address
SELECT a, 'City ' || retail_data.skewed(a, 20, 120), nullif('County ' || retail_data.even(a, 21, 30), 'County 0'),
    (ARRAY['AL', 'CA', 'GA', 'IL', 'KS', 'KY', 'LA', 'MI', 'MN', 'MO', 'NC', 'NE', 'OH', 'TN', 'TX', 'VA', 'WA', 'WI'])
        [1 + retail_data.skewed(a, 22, 17)],
    lpad(retail_data.skewed(a, 23, 99999)::text, 5, '0'), -5 - retail_data.even(a, 24, 4)
FROM generate_series(1, :n_customers / 2) a;

INSERT INTO demographic
SELECT 1 + gender + 2 * (marital + 5 * (education + 7 * income)), (ARRAY['M', 'F'])[1 + gender],
    (ARRAY['S', 'M', 'D', 'W', 'U'])[1 + marital],
    (ARRAY['Primary', 'Secondary', 'College', '2 yr Degree', '4 yr Degree', 'Advanced Degree', 'Unknown'])[1 + education],
    income, retail_data.even(gender + 2 * (marital + 5 * (education + 7 * income)), 25, 6)
FROM generate_series(0, 1) gender, generate_series(0, 4) marital, generate_series(0, 6) education, generate_series(0, 19) income;

INSERT INTO customer
SELECT c, CASE WHEN retail_data.even(c, 30, 20) > 0 THEN 'First' || retail_data.skewed(c, 31, 200) END,
    'Last' || retail_data.skewed(c, 32, 1000), 1 + retail_data.even(c, 33, :n_customers / 2),
    CASE WHEN retail_data.even(c, 34, 30) > 0 THEN 1 + retail_data.even(c, 35, 1400) END,
    CASE WHEN retail_data.even(c, 36, 25) > 0 THEN 1930 + retail_data.even(c, 37, 70) END,
    1 + retail_data.even(c, 38, 12), retail_data.even(c, 39, 2) = 0
FROM generate_series(1, :n_customers) c;

INSERT INTO store
SELECT s, 'Store ' || s % 10, 1 + retail_data.even(s, 40, :n_customers / 2), 'County ' || 1 + retail_data.even(s, 41, 8),
    200 + retail_data.even(s, 42, 100)
FROM generate_series(1, :n_stores) s;

INSERT INTO promotion
SELECT p, 'Promotion ' || p, retail_data.even(p, 50, 2) = 0, retail_data.even(p, 51, 3) = 0
FROM generate_series(1, 200) p;

-- A ticket has four items, one customer, one store and one day; more is sold in November and December.
INSERT INTO store_sales
SELECT ticket, item, date, customer, store, promotion, quantity, cost, list, price, quantity * price, quantity * (price - cost)
FROM generate_series(0, :n_sales - 1) n,
LATERAL (SELECT n / 4 + 1) tickets(ticket),
LATERAL (
    SELECT 1 + (retail_data.skewed(ticket, 60, :n_items * 49 / 50) + n % 4 * 17) % (:n_items * 49 / 50),
        CASE WHEN retail_data.even(n, 61, 200) = 0 THEN NULL
            WHEN retail_data.even(ticket, 62, 5) = 0 THEN retail_data.even(ticket, 63, 5) * 365 + 305 + retail_data.even(ticket, 64, 60)
            ELSE 1 + retail_data.even(ticket, 65, 1826) END,
        CASE WHEN retail_data.even(ticket, 66, 25) > 0 THEN 1 + retail_data.skewed(ticket, 67, :n_customers * 9 / 10) END,
        CASE WHEN retail_data.even(n, 68, 100) > 0 THEN 1 + retail_data.skewed(ticket, 69, :n_stores - 2) END,
        CASE WHEN retail_data.even(n, 70, 3) = 0 THEN 1 + retail_data.even(n, 71, 190) END,
        (1 + retail_data.even(n, 72, 100))::integer, 1 + retail_data.skewed(n, 73, 9900) / 100.0
) thrown(item, date, customer, store, promotion, quantity, cost),
LATERAL (SELECT round(cost * (100 + retail_data.even(n, 74, 100)) / 100, 2)) lists(list),
LATERAL (SELECT round(list * (100 - retail_data.skewed(n, 75, 90)) / 100, 2)) prices(price);

-- One of ten comes back, within 90 days; a few a long time after, and by others.
INSERT INTO store_returns
SELECT ss_ticket, ss_item, least(1826, coalesce(ss_date, 900) + 1 + retail_data.skewed(ss_ticket, 80, 89)),
    CASE WHEN retail_data.even(ss_ticket, 81, 10) > 0 THEN ss_customer END, ss_store, returned,
    returned * ss_price, round(returned * ss_price * retail_data.even(ss_ticket, 82, 100) / 100, 2) + 5
FROM store_sales, LATERAL (SELECT (1 + retail_data.even(ss_ticket, 83, ss_quantity))::integer) returns(returned)
WHERE retail_data.even(ss_ticket * 1000003 + ss_item, 84, 10) = 0;

-- An order has three items; a third of the customers never order, and what returned is often ordered again.
INSERT INTO remote_sales
SELECT n / 3 + 1, item, CASE WHEN retail_data.even(n / 3, 90, 5) < 2 THEN 'web' ELSE 'catalog' END, date,
    CASE WHEN retail_data.even(n, 91, 50) > 0 THEN date + 1 + retail_data.skewed(n, 92, 119) END, customer,
    CASE WHEN retail_data.even(n / 3, 93, 60) > 0 THEN 1 + retail_data.even(n / 3, 94, :n_customers / 2) END,
    CASE WHEN retail_data.even(n, 95, 4) = 0 THEN 1 + retail_data.even(n, 96, 190) END,
    1 + retail_data.even(n / 3 * 10 + CASE WHEN retail_data.even(n, 97, 4) = 0 THEN n % 3 ELSE 0 END, 98, 10),
    quantity, price, quantity * price, quantity * price - quantity * retail_data.even(n, 99, 8000) / 100.0
FROM generate_series(0, :n_sales * 3 / 5 - 1) n,
LATERAL (
    SELECT 1 + (retail_data.skewed(n / 3, 100, :n_items * 49 / 50) + n % 3 * 23) % (:n_items * 49 / 50),
        (1 + retail_data.even(n / 3, 101, 1700))::integer,
        CASE WHEN retail_data.even(n / 3, 102, 30) > 0 THEN 1 + retail_data.skewed(n / 3, 103, :n_customers * 2 / 3) END,
        (1 + retail_data.even(n, 104, 100))::integer, 1 + retail_data.skewed(n, 105, 19900) / 100.0
) thrown(item, date, customer, quantity, price);

DROP SCHEMA retail_data CASCADE;
