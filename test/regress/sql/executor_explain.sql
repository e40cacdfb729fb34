-- What EXPLAIN says of tasks; the statement runs once, and only with ANALYZE.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET citus.shard_count = 4;
CREATE SCHEMA explained;
SET search_path = explained;
CREATE TABLE t (k int PRIMARY KEY, v int) WITH (autovacuum_enabled = off);
SELECT create_distributed_table('t', 'k');
INSERT INTO t SELECT i, i FROM generate_series(1, 20) i;
CREATE SEQUENCE calls;

-- Lines of EXPLAIN without what differs between runs: ports, shard ids.
CREATE FUNCTION lines(options text, statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, statement) LOOP
		RETURN NEXT regexp_replace(regexp_replace(line, 'port=\d+ dbname=\w+', 'port=N dbname=D'), '_1\d{5}', '_N', 'g');
	END LOOP;
END $$;

SELECT lines('costs off', 'SELECT * FROM t WHERE k = 5');
SELECT lines('costs off, verbose', 'SELECT v FROM t WHERE k = 5');
SELECT lines('costs off', 'SELECT count(*) FROM t');
SELECT lines('costs off', 'UPDATE t SET v = 0');
SELECT lines('costs off', 'DELETE FROM t WHERE k = 1');
SELECT lines('costs off', $$INSERT INTO t VALUES (nextval('calls'), 1)$$);
SELECT count(*), sum(v) FROM t;
SELECT nextval('calls');

SET citus.explain_all_tasks = on;
SELECT lines('costs off', 'SELECT k FROM t WHERE v = 1');
RESET citus.explain_all_tasks;

SELECT lines('analyze, costs off, timing off, summary off', 'SELECT v FROM t WHERE k = 5');
SELECT lines('analyze, costs off, timing off, summary off', 'UPDATE t SET v = v + 1 WHERE k = 5');
SELECT v FROM t WHERE k = 5;
SELECT count(*) FROM t;

-- Structured formats are whole documents.
CREATE FUNCTION document(options text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('EXPLAIN (%s) %s', options, statement) INTO result;
	RETURN result;
END $$;
SELECT jsonb_path_query_array(document('analyze, verbose, format json', 'SELECT v FROM t WHERE k = 5')::jsonb,
	'$[0].Plan.Tasks[0]."Remote Plan"[0][0].Plan."Actual Rows"');
SELECT document('format json', 'SELECT count(*) FROM t')::jsonb -> 0 -> 'Plan' -> 'Plans' -> 0 ->> 'Task Count';
SELECT document('format json', 'UPDATE t SET v = 1')::jsonb -> 0 -> 'Plan' ->> 'Tasks Shown';

-- auto_explain explains at the end of a statement, what ran first as well.
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_analyze = on;
SET client_min_messages = error;
SELECT count(*) FROM t WHERE v IN (SELECT v FROM t ORDER BY v LIMIT 3);
SELECT count(*) FROM t a JOIN t b ON a.v = b.k;
SET auto_explain.log_min_duration = -1;
SET client_min_messages = warning;

-- Intermediate results have names of their own.
SELECT * FROM read_intermediate_result('no_such', 'binary') AS r (a int);
SELECT * FROM read_intermediate_result('../secret', 'binary') AS r (a int);

DROP SCHEMA explained CASCADE;
