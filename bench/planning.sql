-- Planning time, in microseconds, of statements on distributed tables and on plain ones: the median of many
-- EXPLAINs' "Planning Time". Run it on a coordinator, in an empty database of an optimised build:
--   psql -v shards=32 -f bench/planning.sql
\set QUIET on
\if :{?shards} \else \set shards 32 \endif
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS planning, planning_plain CASCADE;
CREATE SCHEMA planning;
CREATE SCHEMA planning_plain;
CREATE FUNCTION planning.make() RETURNS void LANGUAGE sql AS $$
	CREATE TABLE customer (c bigint PRIMARY KEY, nation int, segment text, balance numeric);
	CREATE TABLE orders (c bigint, o bigint, day date, total numeric, status text, PRIMARY KEY (c, o));
	CREATE TABLE line (c bigint, o bigint, n int, part int, supplier int, quantity int, price numeric, PRIMARY KEY (c, o, n));
	CREATE TABLE part (p int PRIMARY KEY, brand text, size int);
	CREATE TABLE supplier (s int PRIMARY KEY, nation int, name text);
	CREATE TABLE nation (n int PRIMARY KEY, name text);
$$;
SET search_path = planning_plain;
SELECT planning.make() \g /dev/null
SET search_path = planning;
SELECT make() \g /dev/null
SET citus.shard_count = :shards;
SELECT create_distributed_table(t, 'c') FROM unnest('{customer,orders,line}'::regclass[]) t \g /dev/null
SELECT create_reference_table(t) FROM unnest('{nation,supplier}'::regclass[]) t \g /dev/null
SELECT create_distributed_table('part', 'p', colocate_with => 'none') \g /dev/null
DO $$
DECLARE s text;
BEGIN
	FOREACH s IN ARRAY '{planning,planning_plain}'::text[] LOOP
		EXECUTE format('SET search_path = %I', s);
		INSERT INTO nation SELECT i, 'nation' || i FROM generate_series(1, 25) i;
		INSERT INTO supplier SELECT i, i % 25 + 1, 's' || i FROM generate_series(1, 500) i;
		INSERT INTO part SELECT i, 'brand' || i % 25, i % 50 FROM generate_series(1, 2000) i;
		INSERT INTO customer SELECT i, i % 25 + 1, 'segment' || i % 5, i FROM generate_series(1, 2000) i;
		INSERT INTO orders SELECT i % 2000 + 1, i, '2020-01-01'::date + i % 700, i, 'F' FROM generate_series(1, 5000) i;
		INSERT INTO line SELECT o % 2000 + 1, o, n, (o + n) % 2000 + 1, o % 500 + 1, n, o
			FROM generate_series(1, 5000) o, generate_series(1, 4) n;
	END LOOP;
END $$;
ANALYZE planning.customer, planning.orders, planning.line, planning.part, planning.supplier, planning.nation;
ANALYZE planning_plain.customer, planning_plain.orders, planning_plain.line, planning_plain.part,
	planning_plain.supplier, planning_plain.nation;

CREATE FUNCTION planning.time_of(statement text, path text, times int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	found float8[] := '{}';
BEGIN
	PERFORM set_config('search_path', path, true);
	FOR i IN 1 .. times LOOP
		EXECUTE 'EXPLAIN (SUMMARY, FORMAT json) ' || statement INTO plan;
		found := found || (plan -> 0 ->> 'Planning Time')::float8 * 1000;
	END LOOP;
	RETURN (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) FROM unnest(found) t);
END $$;

SELECT name, round(plain) AS plain, round(dist) AS distributed, round(dist - plain) AS more
FROM (VALUES
	(1, 'routed select', 'SELECT * FROM customer WHERE c = 7'),
	(2, 'routed join', 'SELECT * FROM customer JOIN orders USING (c) WHERE c = 7 AND total > 3'),
	(3, 'routed update', 'UPDATE customer SET balance = balance + 1 WHERE c = 7'),
	(4, 'routed insert', 'INSERT INTO customer VALUES (0, 1, ''s'', 2)'),
	(5, 'all shards', 'SELECT * FROM line WHERE quantity = 3'),
	(6, 'aggregate', 'SELECT part, sum(price), avg(quantity) FROM line GROUP BY part ORDER BY 2 DESC LIMIT 10'),
	(7, 'colocated join', 'SELECT segment, count(*), sum(price) FROM customer JOIN orders USING (c) JOIN line USING (c, o)
		WHERE day < ''2021-01-01'' GROUP BY segment'),
	(8, 'mixed join', 'SELECT nation.name, brand, sum(price * quantity) FROM customer JOIN orders USING (c) JOIN line USING (c, o)
		JOIN part ON part = p JOIN supplier ON supplier = s JOIN nation ON nation.n = supplier.nation
		WHERE segment = ''segment1'' AND size < 30 GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 10'),
	(9, 'subqueries', 'SELECT c, (SELECT max(total) FROM orders o WHERE o.c = customer.c) FROM customer
		WHERE EXISTS (SELECT 1 FROM line WHERE line.c = customer.c AND part IN (SELECT p FROM part WHERE size = 3))')
) v(number, name, statement),
LATERAL (SELECT planning.time_of(statement, 'planning_plain', 21) AS plain, planning.time_of(statement, 'planning', 21) AS dist) t
ORDER BY number;
DROP SCHEMA planning, planning_plain CASCADE;
