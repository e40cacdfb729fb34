-- Decision support over a small shop: rollups, full joins, windows over joins, set operations, recursion, correlated
-- subqueries; in three layouts of its tables.
SET client_min_messages = warning;
CREATE FUNCTION pg_temp.make_tables() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE dates (date_id int PRIMARY KEY, day date, year int, month int, holiday bool);
	CREATE TABLE items (item_id int PRIMARY KEY, category text, brand text, price numeric(7,2), made_from int);
	CREATE TABLE customers (customer_id int PRIMARY KEY, region text, born int, referrer int);
	CREATE TABLE sales (sale_id int, customer_id int NOT NULL, item_id int NOT NULL, date_id int, quantity int, paid numeric(9,2), channel text);
	CREATE TABLE returns (sale_id int NOT NULL, customer_id int NOT NULL, item_id int, date_id int, quantity int, refund numeric(9,2));
END $$;
CREATE FUNCTION pg_temp.fill_tables() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO dates SELECT i, d, extract(year FROM d), extract(month FROM d), i % 29 = 0 FROM (SELECT i, date '2020-11-01' + i * 5 AS d FROM generate_series(0, 119) i) s;
	INSERT INTO items SELECT i, (ARRAY['books', 'music', 'garden', NULL])[i % 4 + 1], 'brand' || i % 7, 3 + i * 37 % 90, NULLIF(i / 3, 0) FROM generate_series(1, 36) i;
	INSERT INTO customers SELECT i, (ARRAY['north', 'south', 'west'])[i % 3 + 1], NULLIF(1950 + i * 7 % 55, 1992), CASE WHEN i > 3 THEN i / 2 END FROM generate_series(1, 45) i;
	INSERT INTO sales SELECT i, i * 11 % 45 + 1, i * 7 % 36 + 1, NULLIF(i * 13 % 125, 124) - CASE WHEN i % 60 = 0 THEN 500 ELSE 0 END, i % 5 + 1, NULLIF((i * 31 % 400) / 4.0, 0), (ARRAY['web', 'store', 'catalog'])[i * i % 3 + 1] FROM generate_series(1, 480) i;
	INSERT INTO returns SELECT sale_id, customer_id, NULLIF(item_id, 9), date_id + 2, 1 + quantity / 2, paid / 2 FROM sales WHERE sale_id % 4 = 1;
	INSERT INTO returns SELECT 1000 + i, i, i + 1, i * 3, 1, i FROM generate_series(1, 9) i;
END $$;
SET search_path = plain, public;
SELECT pg_temp.make_tables(), pg_temp.fill_tables();

SELECT $$
-- rollup over a star join
SELECT region, category, sum(paid), count(*) FROM sales JOIN customers USING (customer_id) JOIN items USING (item_id) GROUP BY ROLLUP (region, category);
SELECT year, month, channel, sum(quantity), grouping(year, month, channel) FROM sales JOIN dates USING (date_id) GROUP BY CUBE (year, channel), month HAVING sum(quantity) > 5;
SELECT category, brand, avg(paid)::numeric(9,3), rank() OVER (PARTITION BY grouping(category, brand) ORDER BY sum(paid) DESC NULLS LAST) FROM sales JOIN items USING (item_id) GROUP BY GROUPING SETS ((category), (brand), ());
-- full join of sales and returns per day and channel
SELECT s.date_id, s.n, r.n FROM (SELECT date_id, count(*) n FROM sales GROUP BY date_id) s FULL JOIN (SELECT date_id, count(*) n FROM returns GROUP BY date_id) r ON s.date_id = r.date_id;
SELECT coalesce(s.item_id, r.item_id), sum(s.quantity), sum(r.quantity) FROM sales s FULL JOIN returns r ON s.sale_id = r.sale_id AND s.item_id = r.item_id GROUP BY 1;
SELECT customer_id, total, back FROM (SELECT customer_id, sum(paid) total FROM sales WHERE channel = 'web' GROUP BY 1) w FULL JOIN (SELECT customer_id, sum(refund) back FROM returns GROUP BY 1) r USING (customer_id) WHERE total IS NULL OR back > total / 2;
-- windows over joins
SELECT category, month, sum(paid), sum(sum(paid)) OVER (PARTITION BY category ORDER BY month), lag(sum(paid)) OVER (PARTITION BY category ORDER BY month) FROM sales JOIN items USING (item_id) JOIN dates USING (date_id) WHERE year = 2021 GROUP BY category, month;
SELECT * FROM (SELECT region, c.customer_id, sum(paid) t, rank() OVER (PARTITION BY region ORDER BY sum(paid) DESC, c.customer_id) AS place FROM sales s JOIN customers c USING (customer_id) GROUP BY region, c.customer_id) x WHERE place <= 3;
SELECT item_id, sale_id, paid - avg(paid) OVER (PARTITION BY item_id) AS over_mean FROM sales JOIN items USING (item_id) WHERE category = 'music';
SELECT c.customer_id, s.sale_id, s.paid - lag(s.paid) OVER (PARTITION BY c.customer_id ORDER BY s.date_id, s.sale_id) FROM customers c LEFT JOIN sales s ON s.customer_id = c.customer_id AND s.channel = 'store';
-- share of a class, ratio to the total
SELECT category, item_id, sum(paid) * 100 / sum(sum(paid)) OVER (PARTITION BY category) FROM sales JOIN items USING (item_id) GROUP BY category, item_id ORDER BY 3 DESC NULLS LAST, 2 LIMIT 20;
-- set operations
SELECT customer_id FROM sales WHERE channel = 'web' INTERSECT SELECT customer_id FROM sales WHERE channel = 'store' EXCEPT SELECT customer_id FROM returns;
SELECT count(*) FROM (SELECT item_id, date_id FROM sales WHERE channel = 'web' INTERSECT ALL SELECT item_id, date_id - 2 FROM returns) s;
SELECT channel, category, sum(n) FROM (SELECT channel, item_id, paid AS n FROM sales UNION ALL SELECT 'returned', item_id, -refund FROM returns) a JOIN items USING (item_id) GROUP BY ROLLUP (channel, category);
SELECT item_id FROM items EXCEPT (SELECT item_id FROM sales WHERE quantity > 4 UNION SELECT item_id FROM returns);
-- correlated subqueries, with LIMIT
SELECT customer_id, refund FROM returns r WHERE refund > (SELECT avg(refund) * 1.2 FROM returns x WHERE x.item_id = r.item_id);
SELECT c.customer_id, (SELECT s.item_id FROM sales s WHERE s.customer_id = c.customer_id ORDER BY s.paid DESC NULLS LAST, s.sale_id LIMIT 1) AS best FROM customers c WHERE c.born > 1970;
SELECT i.item_id, (SELECT c.region FROM sales s JOIN customers c USING (customer_id) WHERE s.item_id = i.item_id GROUP BY c.region ORDER BY sum(s.quantity) DESC, c.region LIMIT 1) FROM items i;
SELECT i.item_id, l.* FROM items i LEFT JOIN LATERAL (SELECT s.sale_id, s.paid FROM sales s WHERE s.item_id = i.item_id AND s.paid > i.price ORDER BY s.paid DESC, s.sale_id LIMIT 2) l ON true;
SELECT c.customer_id FROM customers c WHERE EXISTS (SELECT 1 FROM sales s JOIN dates d USING (date_id) WHERE s.customer_id = c.customer_id AND d.month = 12) AND NOT EXISTS (SELECT 1 FROM returns r WHERE r.customer_id = c.customer_id AND r.quantity > 1);
SELECT sum(paid) FROM sales, items WHERE sales.item_id = items.item_id AND items.category = 'garden' AND sales.paid > (SELECT 1.3 * avg(s.paid) FROM sales s WHERE s.item_id = items.item_id);
-- joins inside of correlated subqueries
SELECT i.item_id, l.* FROM items i LEFT JOIN LATERAL (SELECT d.month, sum(s.paid) t FROM sales s JOIN dates d USING (date_id) WHERE s.item_id % 7 = i.item_id % 7 AND d.year = 2021 GROUP BY d.month ORDER BY t DESC NULLS LAST, d.month LIMIT 2) l ON true;
SELECT c.customer_id, (SELECT max(s.paid - r.refund) FROM sales s JOIN returns r ON r.item_id = s.item_id AND r.date_id = s.date_id + 2 WHERE s.quantity > c.born % 5) FROM customers c;
SELECT c.customer_id, (SELECT count(*) FROM sales s JOIN returns r ON r.date_id = s.date_id + 2 WHERE c.born > 1970 AND s.paid > 80) FROM customers c;
SELECT d.date_id FROM dates d WHERE d.holiday OR EXISTS (SELECT FROM sales s JOIN items i USING (item_id) WHERE s.date_id = d.date_id AND i.brand = 'brand3' AND s.paid > d.month * 8);
SELECT c.customer_id, l.* FROM customers c, LATERAL (SELECT i.category, count(r.sale_id) n, count(*) FROM sales s JOIN items i USING (item_id) LEFT JOIN returns r ON r.item_id = i.item_id AND r.date_id = s.date_id + 2 WHERE s.channel = 'web' AND s.quantity = c.customer_id % 6 GROUP BY i.category HAVING count(*) > c.customer_id % 3) l WHERE c.region = 'west';
SELECT i.item_id, (SELECT string_agg(x.region || x.n, '+' ORDER BY x.region) FROM (SELECT c.region, count(*) n FROM sales s JOIN customers c USING (customer_id) JOIN dates d USING (date_id) WHERE d.year = 2021 AND s.item_id = i.item_id GROUP BY c.region) x WHERE x.n < i.price) FROM items i;
SELECT c.customer_id, (SELECT avg(l.p) FROM items i, LATERAL (SELECT max(s.paid) p FROM sales s JOIN dates d ON d.date_id = s.date_id WHERE d.month = 3 AND s.item_id = i.item_id AND s.paid < c.born) l WHERE i.item_id < c.customer_id) FROM customers c WHERE c.customer_id < 12;
SELECT c.customer_id, (SELECT s FROM sales s JOIN dates d USING (date_id) WHERE d.holiday AND s.customer_id = c.customer_id ORDER BY s.sale_id LIMIT 1) FROM customers c;
WITH month AS (SELECT date_id, month FROM dates WHERE year = 2021) SELECT c.customer_id, (SELECT count(*) FROM sales s JOIN month m USING (date_id) WHERE m.month = c.customer_id % 13), (SELECT count(*) FROM month) FROM customers c WHERE c.born IS NOT NULL;
-- WITH used several times, and all against all
WITH yearly AS (SELECT customer_id, year, channel, sum(paid) AS total FROM sales JOIN dates USING (date_id) GROUP BY 1, 2, 3)
SELECT a.customer_id, b.total / a.total FROM yearly a JOIN yearly b ON a.customer_id = b.customer_id AND a.channel = b.channel WHERE a.year = 2021 AND b.year = 2022 AND a.total > 0 AND b.total > (SELECT avg(total) FROM yearly WHERE channel = b.channel);
WITH busy AS MATERIALIZED (SELECT date_id FROM sales GROUP BY date_id HAVING count(*) > 4) SELECT i.brand, count(*) FROM sales s JOIN busy USING (date_id) JOIN items i USING (item_id) WHERE s.date_id NOT IN (SELECT date_id FROM returns WHERE date_id IS NOT NULL) GROUP BY i.brand;
-- recursion: parts of items, chains of referrers
WITH RECURSIVE parts AS (SELECT item_id, made_from, price::numeric, 1 AS depth FROM items WHERE made_from IS NULL UNION ALL SELECT i.item_id, i.made_from, i.price + p.price, depth + 1 FROM items i JOIN parts p ON i.made_from = p.item_id) SELECT p.depth, sum(s.paid), max(p.price) FROM parts p JOIN sales s USING (item_id) GROUP BY p.depth;
WITH RECURSIVE chain AS (SELECT customer_id AS root, customer_id FROM customers WHERE referrer IS NULL UNION SELECT root, c.customer_id FROM customers c JOIN chain ON c.referrer = chain.customer_id) SELECT root, count(DISTINCT customer_id), (SELECT sum(paid) FROM sales s WHERE s.customer_id IN (SELECT x.customer_id FROM chain x WHERE x.root = chain.root)) FROM chain GROUP BY root;
-- conditional and ordered aggregates over joins
SELECT region, count(*) FILTER (WHERE channel = 'web'), sum(CASE WHEN holiday THEN quantity ELSE 0 END), count(DISTINCT item_id), percentile_cont(0.5) WITHIN GROUP (ORDER BY paid) FROM sales JOIN customers USING (customer_id) LEFT JOIN dates USING (date_id) GROUP BY region;
SELECT brand, string_agg(DISTINCT region, '+' ORDER BY region), array_agg(sale_id ORDER BY paid DESC NULLS LAST, sale_id) FILTER (WHERE quantity = 5) FROM sales JOIN items USING (item_id) JOIN customers USING (customer_id) GROUP BY brand;
SELECT s.channel, corr(s.paid, r.refund)::numeric(8,5), stddev_pop(s.paid)::numeric(10,5), count(r) FROM sales s LEFT JOIN returns r ON r.sale_id = s.sale_id AND r.customer_id = s.customer_id GROUP BY s.channel;
-- inequality joins: earlier sales of the same customer on another channel
SELECT a.channel, b.channel, count(*) FROM sales a JOIN sales b ON a.customer_id = b.customer_id AND a.date_id < b.date_id AND a.channel <> b.channel GROUP BY 1, 2;
SELECT d.year, count(DISTINCT s.customer_id) FROM dates d LEFT JOIN sales s ON s.date_id BETWEEN d.date_id - 1 AND d.date_id + 1 AND d.holiday GROUP BY d.year
$$ AS statements \gset

-- By customer, together; small tables on every node
SET search_path = dist, public;
SET citus.shard_count = 4;
SELECT pg_temp.make_tables();
SELECT create_distributed_table('sales', 'customer_id', colocate_with => 'none');
SELECT create_distributed_table('returns', 'customer_id', colocate_with => 'sales');
SELECT create_distributed_table('customers', 'customer_id', colocate_with => 'sales');
SELECT create_reference_table('items'), create_reference_table('dates');
SELECT pg_temp.fill_tables();
SELECT public.compare(:'statements');

-- Each by its own key
DROP TABLE sales, returns, customers, items, dates;
SELECT pg_temp.make_tables();
SELECT create_distributed_table('sales', 'sale_id');
SELECT create_distributed_table('returns', 'sale_id');
SELECT create_distributed_table('customers', 'customer_id');
SELECT create_distributed_table('items', 'item_id');
SELECT create_distributed_table('dates', 'date_id');
SELECT pg_temp.fill_tables();
SELECT public.compare(:'statements');

-- All kinds of tables, and two numbers of shards
DROP TABLE sales, returns, customers, items, dates;
SELECT pg_temp.make_tables();
SELECT create_distributed_table('sales', 'item_id', shard_count => 5, colocate_with => 'none');
SELECT create_distributed_table('returns', 'sale_id', shard_count => 3, colocate_with => 'none');
SELECT create_distributed_table('dates', NULL, colocate_with => 'none');
SELECT create_reference_table('items');
SELECT pg_temp.fill_tables();
SELECT public.compare(:'statements');

DROP TABLE sales, returns, customers, items, dates;
SET search_path = plain;
DROP TABLE sales, returns, customers, items, dates;
