-- COPY into and out of distributed tables does what it does to a plain table.
\set VERBOSITY terse
CREATE SCHEMA copy;
SET search_path TO copy;
SET citus.next_shard_id TO 1430000;
CREATE TABLE plain (id int PRIMARY KEY, gone int, b text DEFAULT 'none', c serial,
	g int GENERATED ALWAYS AS (id * 2) STORED, n int CHECK (n > 0));
ALTER TABLE plain DROP COLUMN gone;
CREATE TABLE t (LIKE plain INCLUDING ALL);
CREATE SEQUENCE t_c;
ALTER TABLE t ALTER COLUMN c SET DEFAULT nextval('t_c');
SELECT create_distributed_table('t', 'id', shard_count := 4);

-- Text with defaults: rows are decoded here.
COPY plain (id, b, n) FROM STDIN;
1	a\tb	1
2	\N	\N
3	\\	3
\.
COPY t (id, b, n) FROM STDIN;
1	a\tb	1
2	\N	\N
3	\\	3
\.
-- CSV with all columns: lines are forwarded.
COPY plain (id, b, c, n) FROM STDIN (FORMAT csv, HEADER match, FORCE_NOT_NULL (b), FORCE_NULL (n));
id,b,c,n
4,"x
y",40,4
5,,50,""
6,"q""q",60,6
\.
COPY t (id, b, c, n) FROM STDIN (FORMAT csv, HEADER match, FORCE_NOT_NULL (b), FORCE_NULL (n));
id,b,c,n
4,"x
y",40,4
5,,50,""
6,"q""q",60,6
\.
-- WHERE, and a program.
COPY plain (id) FROM PROGRAM 'seq 100 5000' WHERE id % 7 <> 3;
COPY t (id) FROM PROGRAM 'seq 100 5000' WHERE id % 7 <> 3;
SELECT count(*) FROM (TABLE plain EXCEPT ALL TABLE t) x;
SELECT count(*), sum(id), sum(g), sum(c) FROM t;

-- Back through each format.
\set QUIET off
COPY t (id, b, c, n) TO PROGRAM 'cat > /tmp/pando_copy_$$ ; rm /tmp/pando_copy_$$' (FORMAT binary);
\set QUIET on
COPY (SELECT id, b, n FROM t WHERE id < 4 ORDER BY id) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE (b));
COPY t (g) TO STDOUT;

-- Errors.
COPY t (id, n) FROM STDIN;
10001	1
10002	-1
\.
COPY t (id, b, c, n) FROM STDIN;
10001	a	1	1
10002	a	1
\.
COPY t (id, b, c, n) FROM STDIN;
10001	a	1	1
10002	a	1	1	1
\.
COPY t (id, b, c, n) FROM STDIN;
10001	a	1	1
10002	a	x	1
\.
COPY t (id) FROM STDIN;
\N
\.
COPY t (id) FROM STDIN;
10001
1
\.
COPY t FROM STDIN (FREEZE);
\.
COPY t (nope) FROM PROGRAM 'true';
COPY t (id, id) FROM PROGRAM 'true';
COPY t (g) FROM PROGRAM 'true';
\set VERBOSITY default
COPY t (id, n) FROM STDIN;
10001	1
x	1
\.
\set VERBOSITY terse
BEGIN READ ONLY;
COPY t (id) FROM PROGRAM 'true';
ROLLBACK;
SELECT count(*) FROM t WHERE id > 10000;

-- In transactions.
BEGIN;
COPY t (id) FROM PROGRAM 'seq 20001 20010';
SAVEPOINT s;
COPY t (id) FROM PROGRAM 'seq 20011 20020';
ROLLBACK TO s;
INSERT INTO t (id) VALUES (20011);
SELECT count(*) FROM t WHERE id > 20000;
TRUNCATE t;
COPY t (id) FROM PROGRAM 'seq 1 10' (FREEZE);
COMMIT;
SELECT count(*) FROM t;

-- A function that reads the table while rows are under way.
CREATE FUNCTION seen() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
	RETURN (SELECT count(*) FROM copy.t WHERE id <= 10); END $$;
COPY t (id) FROM PROGRAM 'seq 10001 40000' WHERE id % 10000 <> 0 OR seen() = 10;
SELECT count(*) FROM t;

-- Types whose binary form does not leave a node.
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TYPE pair AS (a int, m mood);
CREATE TABLE odd (k int, m mood DEFAULT 'ok', ms mood[], p pair, r regclass);
SELECT create_distributed_table('odd', 'k', shard_count := 4);
COPY odd (k, ms, p, r) FROM STDIN;
1	{sad,ok}	(1,sad)	copy.t
2	\N	\N	\N
\.
INSERT INTO odd SELECT k + 10, m, ms || 'sad'::mood, p, r FROM odd;
SELECT * FROM odd ORDER BY k;

-- Reference tables: a copy everywhere.
CREATE TABLE ref (a int PRIMARY KEY, b text);
SELECT create_reference_table('ref');
COPY ref FROM STDIN;
1	a
2	b
\.
SELECT DISTINCT result FROM run_command_on_placements('copy.ref', 'SELECT count(*) FROM %s');

-- INSERT ... SELECT through this node.
EXPLAIN (COSTS OFF) INSERT INTO t (id) SELECT i FROM generate_series(50001, 50100) i;
INSERT INTO t (id) SELECT i FROM generate_series(50001, 50100) i;
INSERT INTO t (id, b) SELECT id + 10000, b FROM t WHERE id > 50000;
SELECT count(*), min(id), max(id) FROM t WHERE id > 50000;

-- Few rows per partition: no free space map is made for them, and one that is there is used.
CREATE TABLE days (k int, day int NOT NULL, note text) PARTITION BY LIST (day);
CREATE TABLE days_1 PARTITION OF days FOR VALUES IN (1);
CREATE TABLE days_2 PARTITION OF days FOR VALUES IN (2);
SELECT create_distributed_table('days', 'k', shard_count := 4);
COPY days FROM PROGRAM 'for i in $(seq 400); do printf "$i\t%d\t%0300d\n" $((i % 2 + 1)) $i; done';
SELECT sum(result::int) FROM run_command_on_placements('copy.days_1', $$SELECT pg_relation_size('%s', 'fsm')$$);
SELECT sum(result::int) AS bytes FROM run_command_on_placements('copy.days_1', $$SELECT pg_relation_size('%s')$$) \gset
DELETE FROM days WHERE k <= 320;
VACUUM days;
COPY days FROM PROGRAM 'for i in $(seq 401 600); do printf "$i\t%d\t%0300d\n" $((i % 2 + 1)) $i; done';
SELECT sum(result::int) <= :bytes AS used_again FROM run_command_on_placements('copy.days_1', $$SELECT pg_relation_size('%s')$$);
SELECT day, count(*), sum(k), sum(note::int) FROM days GROUP BY day ORDER BY day;
-- Rows of one table stay in their order, and errors name their own line.
COPY days FROM PROGRAM 'for i in $(seq 900 919); do printf "5\t%d\t$i\n" $((i % 2 + 1)); done';
SELECT array_agg(note) FROM (SELECT note FROM days WHERE k = 5 AND day = 1 ORDER BY ctid) n;
ALTER TABLE days_2 ADD CHECK (note <> '717');
CREATE UNIQUE INDEX ON days_2 (k) WHERE note >= '800' AND note < '880';
CREATE FUNCTION copy_error(numbers text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE context text;
BEGIN
	EXECUTE format('COPY days FROM PROGRAM %L', 'for i in ' || numbers || '; do printf "$i\t%d\t$i\n" $((i % 2 + 1)); done');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RETURN SQLERRM || ': ' || substring(context FROM 'COPY days, line \d+');
END $$;
SELECT copy_error('$(seq 700 720)');
SELECT copy_error('$(seq 800 820) 811');

SET client_min_messages TO warning;
DROP SCHEMA copy CASCADE;
