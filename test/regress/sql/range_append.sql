-- Tables that are distributed by range and by append, as old scripts make them: shards one by one, ranges by UPDATE of
-- pg_dist_shard, rows of append tables by COPY with append_to_shard. Queries and writes give what plain tables give; what
-- no shard can hold is an error that names it.
\set VERBOSITY terse
SET client_min_messages TO warning;
SET citus.next_shard_id TO 1491000;
SET citus.shard_count TO 4;
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
SELECT nodeport AS coordinator FROM pg_dist_node WHERE groupid = 0 \gset
CREATE SCHEMA range_append;
CREATE SCHEMA range_append_plain;
SET search_path TO range_append;
CREATE FUNCTION public.range_rows(statement text, path text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	found record;
	result text[] := '{}';
BEGIN
	PERFORM set_config('search_path', path, true);
	FOR found IN EXECUTE statement LOOP
		result := result || found::text;
	END LOOP;
	RETURN (SELECT array_agg(line ORDER BY line COLLATE "C") FROM unnest(result) line);
END $$;
CREATE FUNCTION public.range_compare(statements text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	statement text;
	plain text[];
	dist text[];
	total int := 0;
BEGIN
	FOREACH statement IN ARRAY regexp_split_to_array(statements, ';\s*\n') LOOP
		CONTINUE WHEN statement !~ '\S';
		total := total + 1;
		plain := public.range_rows(statement, 'range_append_plain');
		dist := public.range_rows(statement, 'range_append');
		IF plain IS DISTINCT FROM dist THEN
			RETURN NEXT format('differs: %s; plain %s, distributed %s', statement, plain, dist);
		END IF;
	END LOOP;
	RETURN NEXT total || ' statements';
END $$;

-- What can't be: nothing is left behind.
CREATE TABLE t (k int PRIMARY KEY, j jsonb, x xml);
SELECT create_distributed_table('t', 'k', 'append');
SELECT create_distributed_table('t', 'j', 'range');
SELECT create_distributed_table('t', 'x', 'range');
SELECT create_distributed_table('t', 'k', 'range', shard_count => 3);
SELECT create_distributed_table('t', 'k', 'range', colocate_with => 't');
SELECT create_distributed_table('t', NULL, 'range');
INSERT INTO t VALUES (1);
SELECT create_distributed_table('t', 'k', 'range');
CREATE TABLE p (k int) PARTITION BY RANGE (k);
SELECT create_distributed_table('p', 'k', 'range');
SELECT count(*) FROM pg_dist_partition WHERE logicalrelid IN ('t'::regclass, 'p'::regclass);
DROP TABLE t, p;

-- A table without shards has no rows.
CREATE TABLE r (k int, id int, v int);
CREATE TABLE a (k int, id int, v int);
CREATE TABLE h (k int, id int, v int);
SELECT create_distributed_table('r', 'k', 'range');
SELECT create_distributed_table('a', 'k', 'append');
SELECT create_distributed_table('h', 'k');
SELECT count(*), sum(v) FROM r;
SELECT count(*) FROM r WHERE k = 1;
SELECT k, count(*) FROM a GROUP BY k;
SELECT count(*) FROM a JOIN h USING (k);
UPDATE r SET v = 1;
DELETE FROM a WHERE k = 1;
INSERT INTO r VALUES (1, 1, 1);

-- Ranges: on all nodes at once; they must be values, and not overlap.
SET citus.next_shard_id TO 1491100;
SELECT master_create_empty_shard('r'), master_create_empty_shard('range_append.r'), master_create_empty_shard('r');
UPDATE pg_dist_shard SET shardminvalue = '0', shardmaxvalue = '9' WHERE shardid = 1491100;
INSERT INTO r VALUES (1, 1, 1), (9, 2, 2); -- what is known is enough
SELECT * FROM r WHERE k = 9;
UPDATE pg_dist_shard SET shardminvalue = '9', shardmaxvalue = '19' WHERE shardid = 1491101;
UPDATE pg_dist_shard SET shardminvalue = 'x', shardmaxvalue = '19' WHERE shardid = 1491101;
UPDATE pg_dist_shard SET shardminvalue = '19', shardmaxvalue = '10' WHERE shardid = 1491101;
UPDATE pg_dist_shard SET shardmaxvalue = '8' WHERE shardid = 1491100; -- 9 is there
SELECT result FROM run_command_on_all_nodes($$SELECT string_agg(concat(shardminvalue, '-', shardmaxvalue), ', ' ORDER BY shardid)
	FROM pg_dist_shard WHERE logicalrelid = 'range_append.r'::regclass$$);
-- several in one statement may change places
UPDATE pg_dist_shard SET shardminvalue = v.min, shardmaxvalue = v.max FROM (VALUES (1491101, '20', '29'), (1491102, '10', '19')) v(id, min, max) WHERE shardid = v.id;
UPDATE pg_dist_shard SET shardminvalue = v.min, shardmaxvalue = v.max FROM (VALUES (1491101, '10', '19'), (1491102, '21', '29')) v(id, min, max) WHERE shardid = v.id;
SELECT result FROM run_command_on_all_nodes($$SELECT string_agg(concat(shardminvalue, '-', shardmaxvalue), ', ' ORDER BY shardid)
	FROM pg_dist_shard WHERE logicalrelid = 'range_append.r'::regclass$$);
BEGIN;
UPDATE pg_dist_shard SET shardmaxvalue = '39' WHERE shardid = 1491102;
INSERT INTO r VALUES (35, 1, 1);
ROLLBACK;

-- Rows by value.
TRUNCATE r;
INSERT INTO r SELECT i, i % 7, i % 5 FROM generate_series(0, 29) i WHERE i <> 20;
INSERT INTO r VALUES (20, 1, 1);
INSERT INTO r VALUES (1, 1, 1), (NULL, 1, 1);
INSERT INTO r (id) VALUES (1);
INSERT INTO r SELECT k + 100, id, v FROM r WHERE k = 3;
INSERT INTO r SELECT 99, id, v FROM r WHERE k = 99;
UPDATE r SET k = 99 WHERE k = 3;
MERGE INTO r USING (SELECT 99 AS k) s ON r.k = s.k WHEN NOT MATCHED THEN INSERT VALUES (s.k, 0, 0);
WITH n AS (INSERT INTO r VALUES (99, 1, 1) RETURNING k) SELECT * FROM r JOIN n USING (k) WHERE r.k = 99;
COPY r FROM STDIN;
5	5	5
99	5	5
\.
COPY r FROM STDIN WITH (append_to_shard 1491100);
\.
\set VERBOSITY default
COPY r FROM STDIN;
30	5	5
\.
\set VERBOSITY terse
PREPARE put(int) AS INSERT INTO r VALUES ($1, 77, 77);
EXECUTE put(21); EXECUTE put(22); EXECUTE put(99); EXECUTE put(NULL); EXECUTE put(1); EXECUTE put(2); EXECUTE put(12); EXECUTE put(13); EXECUTE put(99);
SELECT shardid, result FROM run_command_on_shards('r', 'SELECT concat(min(k), ''-'', max(k), '', '', count(*)) FROM %s') ORDER BY 1;
SELECT get_shard_id_for_distribution_column('r', 15), get_shard_id_for_distribution_column('r', 99), get_shard_id_for_distribution_column('r', NULL::int);
SELECT statement, query_distribution FROM unnest(ARRAY['SELECT * FROM r WHERE k = 15', 'SELECT * FROM r WHERE k IN (1, 25, 99)', 'SELECT * FROM a WHERE k = 15',
	'SELECT count(*) FROM r x JOIN r y USING (k)', 'SELECT count(*) FROM a x JOIN a y USING (k)', 'SELECT count(*) FROM r JOIN h USING (k)', 'SELECT k, count(*) FROM r GROUP BY k'])
	WITH ORDINALITY s(statement, n), pando.query_distribution(statement) ORDER BY n;

-- Rows of append tables go where the client says.
SET citus.next_shard_id TO 1491200;
SELECT master_create_empty_shard('a'), master_create_empty_shard('a'), master_create_empty_shard('a');
COPY a FROM STDIN WITH (append_to_shard 1491200);
1	1	1
2	2	2
\N	3	3
\.
COPY a (k, id) FROM STDIN WITH (append_to_shard 1491201, format csv);
1,4
,5
12,6
\.
COPY a FROM STDIN WITH (format csv, append_to_shard 1491202) WHERE k > 0;
3,7,3
0,8,3
1,9,3
\.
COPY a FROM STDIN;
\.
COPY a FROM STDIN WITH (append_to_shard 1491100);
\.
COPY a FROM STDIN WITH (append_to_shard 1491200, append_to_shard 1491201);
\.
COPY a FROM STDIN WITH (append_to_shard 'here');
\.
INSERT INTO a VALUES (1, 1, 1);
INSERT INTO a SELECT * FROM r;
MERGE INTO a USING (SELECT 99 AS k) s ON a.k = s.k WHEN NOT MATCHED THEN INSERT VALUES (s.k, 0, 0);
CREATE UNIQUE INDEX ON a (k);
ALTER TABLE a ADD UNIQUE (k, id);
ALTER TABLE a DROP COLUMN k;
ALTER TABLE r DROP COLUMN k;
CREATE INDEX ON a (k);
SELECT shardid, result FROM run_command_on_shards('a', 'SELECT count(*) FROM %s') ORDER BY 1;
INSERT INTO h SELECT i, i % 4, i FROM generate_series(0, 40) i;
CREATE TABLE range_append_plain.r AS SELECT * FROM r;
CREATE TABLE range_append_plain.a AS SELECT * FROM a;
CREATE TABLE range_append_plain.h AS SELECT * FROM h;

CREATE FUNCTION public.range_queries() RETURNS SETOF text LANGUAGE sql AS $body$ SELECT public.range_compare($$
SELECT * FROM r;
SELECT * FROM a;
SELECT * FROM r WHERE k = 15;
SELECT count(*) FROM r WHERE k = 99;
SELECT count(*), max(v) FROM r WHERE k IS NULL;
SELECT * FROM r WHERE k IN (1, 15, 99);
SELECT * FROM r WHERE k BETWEEN 8 AND 11;
SELECT * FROM a WHERE k = 1;
SELECT * FROM a WHERE k IS NULL;
SELECT k, count(*), sum(v), count(DISTINCT id) FROM r GROUP BY k;
SELECT k, count(*), sum(v), count(DISTINCT id) FROM a GROUP BY k;
SELECT id, array_agg(k ORDER BY k, v) FROM r GROUP BY id;
SELECT count(*), sum(x.v + y.id) FROM r x JOIN r y USING (k);
SELECT count(*), sum(x.v + y.id) FROM r x JOIN r y ON x.id = y.k;
SELECT count(*), sum(x.v + y.id) FROM a x JOIN a y USING (k);
SELECT * FROM a JOIN r USING (k);
SELECT * FROM a LEFT JOIN r ON a.k = r.k AND r.v > 1;
SELECT * FROM r FULL JOIN a ON a.k = r.id;
SELECT * FROM h JOIN r USING (k) JOIN a USING (k);
SELECT h.k, r.v FROM h LEFT JOIN r ON h.k = r.k;
SELECT k, (SELECT count(*) FROM r WHERE r.k = a.k) FROM a;
SELECT k FROM h WHERE k NOT IN (SELECT k FROM r);
SELECT k FROM r WHERE EXISTS (SELECT FROM a WHERE a.k = r.k AND a.id > r.v);
SELECT k FROM r UNION SELECT k FROM a;
SELECT k FROM r EXCEPT SELECT k FROM r WHERE v > 2;
SELECT k FROM a INTERSECT ALL SELECT k FROM a;
SELECT k, id, sum(v) OVER (PARTITION BY k ORDER BY id, v) FROM r;
SELECT k, id, rank() OVER (PARTITION BY k ORDER BY id) FROM a;
WITH w AS (SELECT k, sum(v) AS s FROM r GROUP BY k) SELECT * FROM w x JOIN w y ON x.k = y.s;
SELECT * FROM (SELECT k, v FROM r ORDER BY k DESC, v, id LIMIT 4) s;
SELECT DISTINCT ON (id) id, k FROM r ORDER BY id, k DESC
$$) $body$;
SELECT * FROM public.range_queries();

-- Writes, the same on both.
CREATE FUNCTION public.range_writes() RETURNS SETOF text LANGUAGE sql AS $body$ SELECT public.range_compare($$
UPDATE r SET v = v + 1 WHERE k = 15 RETURNING *;
UPDATE r SET v = v + 1 WHERE k = 99 RETURNING *;
UPDATE r SET v = v + id WHERE id > 3 RETURNING *;
UPDATE r SET k = k + 10 WHERE k IN (5, 12) RETURNING k, id, v;
UPDATE r SET k = 7 WHERE k = 7 RETURNING *;
UPDATE r SET v = a.v FROM a WHERE a.k = r.k AND a.id = 7 RETURNING r.*;
UPDATE a SET k = k + 1, v = coalesce(v, 0) WHERE id > 2 RETURNING *;
UPDATE a SET v = r.v FROM (SELECT k, max(v) AS v FROM r GROUP BY k) r WHERE a.k = r.k RETURNING a.*;
DELETE FROM a USING h WHERE a.k = h.k AND h.k = 2 RETURNING a.*;
DELETE FROM r WHERE k IN (SELECT k FROM a) RETURNING *;
INSERT INTO r SELECT k % 30, id, v FROM h WHERE k <> 20 RETURNING *;
INSERT INTO h SELECT k, id, v FROM r WHERE v > 2 RETURNING *;
WITH d AS (DELETE FROM r WHERE k = 4 RETURNING *) SELECT count(*) FROM d;
WITH s AS (SELECT * FROM r WHERE k < 9 FOR UPDATE) SELECT count(*) FROM s
$$) $body$;
SELECT * FROM public.range_writes();
MERGE INTO range_append_plain.r t USING (SELECT DISTINCT k FROM range_append_plain.h WHERE k < 30 AND k <> 20) s ON t.k = s.k WHEN MATCHED AND t.v > 3 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 100 WHEN NOT MATCHED THEN INSERT VALUES (s.k, 1, 1);
MERGE INTO r t USING (SELECT DISTINCT k FROM h WHERE k < 30 AND k <> 20) s ON t.k = s.k WHEN MATCHED AND t.v > 3 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 100 WHEN NOT MATCHED THEN INSERT VALUES (s.k, 1, 1);
MERGE INTO range_append_plain.a t USING (SELECT DISTINCT k FROM range_append_plain.h) s ON t.k = s.k WHEN MATCHED AND t.id > 6 THEN DELETE WHEN MATCHED THEN UPDATE SET k = t.k + 1;
MERGE INTO a t USING (SELECT DISTINCT k FROM h) s ON t.k = s.k WHEN MATCHED AND t.id > 6 THEN DELETE WHEN MATCHED THEN UPDATE SET k = t.k + 1;
SELECT * FROM public.range_queries();

-- Read without a range, or with all of them: the same rows.
UPDATE pg_dist_shard SET shardminvalue = NULL, shardmaxvalue = NULL WHERE shardid IN (1491101, 1491102);
SELECT * FROM public.range_queries();
UPDATE pg_dist_shard SET shardminvalue = '10', shardmaxvalue = '19' WHERE shardid = 1491101;
UPDATE pg_dist_shard SET shardminvalue = '20', shardmaxvalue = '29' WHERE shardid = 1491102;

-- Through a worker, which has the same map.
\c - - - :worker
SET client_min_messages TO warning;
SET search_path TO range_append;
\set VERBOSITY terse
SELECT count(*), sum(v) FROM r WHERE k IN (1, 15, 25);
INSERT INTO r VALUES (1, 500, 1), (25, 500, 1);
INSERT INTO r VALUES (99, 500, 1);
SELECT k, v FROM r WHERE id = 500 ORDER BY k;
COPY a FROM STDIN WITH (append_to_shard 1491202);
8	500	8
\.
SELECT count(*) FROM a WHERE id = 500;
UPDATE pg_dist_shard SET shardmaxvalue = '40' WHERE shardid = 1491102;
\c - - - :coordinator
SET client_min_messages TO warning;
SET search_path TO range_append;
\set VERBOSITY terse
INSERT INTO r VALUES (40, 1, 1);
SELECT count(*) FROM r WHERE k = 40;

-- Ranges are read alike whatever the session's formats; shards move with theirs.
CREATE TABLE d (at timestamptz, n int);
SELECT create_distributed_table('d', 'at', 'range');
SET citus.next_shard_id TO 1491300;
SELECT master_create_empty_shard('d'), master_create_empty_shard('d');
SET datestyle TO 'German';
SET timezone TO 'Asia/Tokyo';
UPDATE pg_dist_shard SET shardminvalue = '2026-01-01', shardmaxvalue = '2026-01-31 23:59:59.999999' WHERE shardid = 1491300;
UPDATE pg_dist_shard SET shardminvalue = '2026-02-01', shardmaxvalue = '2026-02-28 23:59:59.999999' WHERE shardid = 1491301;
INSERT INTO d VALUES ('2026-02-01 08:59+09', 1), ('2026-02-01 09:00+09', 2);
RESET datestyle;
SET timezone TO 'UTC';
INSERT INTO d VALUES ('2026-01-31 23:59', 3), ('2026-02-01', 4);
SELECT shardid, result FROM run_command_on_shards('d', 'SELECT string_agg(n::text, '','' ORDER BY n) FROM %s') ORDER BY 1;
RESET timezone;
SELECT n FROM d WHERE at = '2026-02-01 00:00+00' ORDER BY n;
SELECT citus_move_shard_placement(1491300, s.nodename, s.nodeport, n.nodename, n.nodeport, 'block_writes') FROM pg_dist_shard_placement s, pg_dist_node n
	WHERE s.shardid = 1491300 AND n.groupid > 0 AND n.nodeport <> s.nodeport;
SELECT n FROM d ORDER BY n;
SELECT count(*) FROM d WHERE at = '2026-01-31 23:59+00';

-- What shows them.
SELECT table_name, citus_table_type, distribution_column, shard_count FROM public.citus_tables WHERE table_name IN ('r'::regclass, 'a'::regclass) ORDER BY 1;
SELECT table_name, shardid, shard_name, citus_table_type FROM citus_shards WHERE table_name = 'a'::regclass ORDER BY 2;
ALTER TABLE a RENAME COLUMN k TO key;
SELECT distribution_column FROM public.citus_tables WHERE table_name = 'a'::regclass;
SELECT alter_distributed_table('r', shard_count => 3);

-- Others' tables.
CREATE ROLE range_guest;
GRANT ALL ON SCHEMA range_append TO range_guest;
SET ROLE range_guest;
SELECT master_create_empty_shard('r');
SELECT citus_drop_all_shards('r', 'range_append', 'r');
SELECT pando.shard_set_range(1491100, '1', '2');
SELECT pando.shard_range_changed();
UPDATE pg_dist_shard SET shardminvalue = '1' WHERE shardid = 1491100;
CREATE TABLE mine (k int);
SELECT create_distributed_table('mine', 'k', 'append');
SET citus.next_shard_id TO 1491400;
SELECT master_create_empty_shard('mine');
COPY mine FROM STDIN WITH (append_to_shard 1491400);
1
\.
COPY mine FROM STDIN WITH (append_to_shard 1491200);
\.
SELECT * FROM mine;
RESET ROLE;

-- Gone, and back.
SELECT master_create_empty_shard('h');
SELECT citus_drop_all_shards('h', 'range_append', 'h');
SELECT citus_drop_all_shards('mine', 'range_append', 'h');
SELECT citus_drop_all_shards('mine', 'range_append', 'mine');
SELECT count(*) FROM mine;
SELECT undistribute_table('a');
SELECT count(*), (SELECT count(*) FROM range_append_plain.a) + 1 AS expected FROM a;
SELECT undistribute_table('d');
SELECT count(*) FROM d;
SELECT result FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_class WHERE relname ~ '^(a|d|mine)_14914?[0-9]+$' AND relkind = 'r'$$);
DROP SCHEMA range_append, range_append_plain CASCADE;
DROP FUNCTION public.range_rows, public.range_compare, public.range_queries, public.range_writes;
DROP ROLE range_guest;
SELECT count(*) FROM pg_dist_shard WHERE shardid BETWEEN 1491100 AND 1491499;
