-- Rows that the nodes sort and the coordinator merges come in PostgreSQL's order, whatever else
-- uses the sessions. A high price of comparisons makes even these few rows worth it.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET citus.shard_count = 6;
CREATE SCHEMA ordered;
SET search_path = ordered;
CREATE DOMAIN small AS int CHECK (VALUE < 1000);
CREATE TABLE t (k int, v small, s text, c varchar(20) COLLATE "C", n numeric, f float8, r regclass);
CREATE TABLE p (LIKE t);
INSERT INTO p SELECT i, nullif(i * 7 % 31, 3), md5(i::text), chr(64 + i % 60), nullif(i % 13, 0) / 4.0,
	CASE WHEN i % 17 = 0 THEN float8 'NaN' ELSE i % 5 END, CASE WHEN i % 2 = 0 THEN 'pg_type'::regclass ELSE 'pg_class' END
	FROM generate_series(1, 3000) i;
SELECT create_distributed_table('t', 'k');
INSERT INTO t TABLE p;
ANALYZE t;
SET cpu_operator_cost = 10;

-- Is there a sort above the nodes', and which order do they give?
CREATE FUNCTION who_sorts(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
		CONTINUE WHEN line NOT LIKE '%Sort%';
		RETURN NEXT CASE WHEN line LIKE '%->%' THEN 'node: ' ELSE '' END || trim(line);
	END LOOP;
END $$;

-- The rows' order in a distributed table and in p. Only differences are shown.
CREATE FUNCTION same_order(query text, name text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	here text[];
	there text[];
BEGIN
	EXECUTE format('SELECT array_agg(x::text) FROM (%s) x', replace(query, '{t}', name)) INTO here;
	EXECUTE format('SELECT array_agg(x::text) FROM (%s) x', replace(query, '{t}', 'p')) INTO there;
	IF here IS NULL OR here IS DISTINCT FROM there THEN
		RETURN NEXT format('%s: %s rows here, %s there', query, cardinality(here), cardinality(there));
	END IF;
END $$;

SELECT who_sorts('SELECT v, s FROM t ORDER BY v DESC NULLS LAST, s');
SELECT who_sorts('SELECT n, f, k FROM t ORDER BY n NULLS FIRST, f DESC, k');
-- Values of these mean something else on each node; another collation; another operator family.
SELECT who_sorts('SELECT r, s FROM t ORDER BY r, s');
SELECT who_sorts('SELECT s FROM t ORDER BY s COLLATE "C"');
SELECT who_sorts('SELECT s FROM t ORDER BY s USING ~>~');
CREATE TABLE queries (n serial, query text);
INSERT INTO queries (query) VALUES
	('SELECT v, s FROM {t} ORDER BY v, s'),
	('SELECT v, s FROM {t} ORDER BY v DESC, s DESC'),
	('SELECT v, s FROM {t} ORDER BY v DESC NULLS LAST, s'),
	('SELECT c, s FROM {t} ORDER BY c NULLS FIRST, s DESC'),
	('SELECT c, s FROM {t} ORDER BY c COLLATE "POSIX" DESC, s'),
	('SELECT n, f, k FROM {t} ORDER BY n NULLS FIRST, f DESC, k'),
	('SELECT f, k FROM {t} ORDER BY f, k DESC OFFSET 100'),
	('SELECT s, k + 1 FROM {t} WHERE k % 3 = 1 ORDER BY lower(s), k'),
	('SELECT s FROM {t} ORDER BY s USING ~>~'),
	('SELECT k, v, row_number() OVER (ORDER BY s) FROM {t} ORDER BY s'),
	('SELECT DISTINCT n, v FROM {t} ORDER BY n, v'),
	('SELECT a.k, b.s FROM {t} a JOIN {t} b ON a.k = b.v ORDER BY b.s, a.k'),
	('SELECT s FROM {t} WHERE k = ANY (ARRAY[1, 2, 3, 4, 5, 6]) ORDER BY s'),
	('SELECT n, count(*), sum(v) FROM {t} GROUP BY n ORDER BY n'),
	('SELECT k FROM {t} WHERE k < 0 UNION ALL SELECT 1 ORDER BY k');
SELECT same_order(query, 't') FROM queries ORDER BY n;

-- Values as text.
SET citus.enable_binary_protocol = off;
SELECT same_order(query, 't') FROM queries ORDER BY n;
RESET citus.enable_binary_protocol;

-- This node has shards, too.
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true) FROM pg_dist_node WHERE groupid = 0;
CREATE TABLE here_too (LIKE p);
SELECT create_distributed_table('here_too', 'k', colocate_with => 'none');
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false) FROM pg_dist_node WHERE groupid = 0;
INSERT INTO here_too TABLE p;
ANALYZE here_too;
SELECT who_sorts('SELECT v, s FROM here_too ORDER BY v DESC NULLS LAST, s');
SELECT same_order(query, 'here_too') FROM queries ORDER BY n;

-- More shards than fit into a statement: they come in several sorted pieces.
CREATE TABLE many (LIKE p);
SELECT create_distributed_table('many', 'k', shard_count => 501, colocate_with => 'none');
INSERT INTO many TABLE p;
ANALYZE many;
SELECT who_sorts('SELECT v, s FROM many ORDER BY v, s');
SELECT same_order(query, 'many') FROM queries WHERE n <= 2 ORDER BY n;
DROP TABLE many;

-- A cursor whose sessions others need; its rows stay those of its beginning, in their order.
BEGIN;
DECLARE c CURSOR FOR SELECT s, v FROM t ORDER BY s;
FETCH 2 FROM c;
UPDATE t SET s = 'changed';
FETCH 2 FROM c;
SAVEPOINT a;
SELECT 1 / (k - 500) FROM t;
ROLLBACK TO a;
SELECT count(*) FROM t WHERE s = 'changed';
CREATE TEMP TABLE rest (n serial, s text);
DO $$
DECLARE
	c refcursor := 'c';
	row record;
BEGIN
	LOOP
		FETCH c INTO row;
		EXIT WHEN NOT FOUND;
		INSERT INTO rest (s) VALUES (row.s);
	END LOOP;
END $$;
SELECT count(*), array_agg(s ORDER BY n) = array_agg(s ORDER BY s) FROM rest;
ROLLBACK;

-- Read again, and not to the end.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT count(*) FROM generate_series(1, 3) g, LATERAL (SELECT s FROM t ORDER BY s LIMIT 5 + g) x;
SELECT g, (SELECT string_agg(left(s, 3), ' ') FROM (SELECT s FROM t ORDER BY s OFFSET g LIMIT 3) x) FROM generate_series(0, 2) g;
SELECT s FROM (SELECT s FROM t ORDER BY s OFFSET 0) x LIMIT 2;

-- With what comes from rows that are read first.
SELECT k, s FROM t WHERE v IN (SELECT v FROM here_too WHERE k < 3) ORDER BY s LIMIT 3;
DROP SCHEMA ordered CASCADE;
