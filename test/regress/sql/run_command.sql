-- Statements run on nodes, shards and placements: each succeeds or fails for itself, outside of the
-- client's transaction unless that has written to the node.
\set VERBOSITY terse
CREATE SCHEMA run_command;
SET search_path TO run_command;
SET citus.next_shard_id TO 1410000;
CREATE TABLE t (a int PRIMARY KEY, b int);
SELECT create_distributed_table('t', 'a', shard_count := 4);
CREATE TABLE u (a int, b int);
SELECT create_distributed_table('u', 'a', colocate_with := 't');
CREATE TABLE ref (a int);
SELECT create_reference_table('ref');
INSERT INTO t SELECT i, i FROM generate_series(1, 100) i;

SELECT success, result FROM run_command_on_workers('SELECT 1, 2');
SELECT success, result FROM run_command_on_workers('SELECT 1 WHERE false', false);
SELECT success, result FROM run_command_on_workers('SELECT 1/0');
SELECT success, result FROM run_command_on_workers('VACUUM pg_class');
SELECT success, result FROM run_command_on_workers('COPY run_command.t FROM STDIN');
SELECT nodeid, success, result FROM run_command_on_all_nodes('SELECT citus_is_coordinator()');
SELECT success, result FROM run_command_on_coordinator('SELECT citus_is_coordinator()');

SELECT * FROM run_command_on_shards('t', 'SELECT count(*) >= 0 FROM %s WHERE %L LIKE ''run%%''');
SELECT sum(result::int) FROM run_command_on_shards('t', 'SELECT count(*) FROM %s');
SELECT shardid, success, result FROM run_command_on_placements('ref', 'SELECT count(*) FROM %s');
SELECT shardid1, shardid2, success, result
	FROM run_command_on_colocated_placements('t', 'u', 'SELECT count(*) FROM %s JOIN %s USING (a)');
SELECT * FROM run_command_on_colocated_placements('t', 'ref', 'SELECT 1');
SELECT * FROM run_command_on_shards('pg_class', 'SELECT 1');

-- What the transaction wrote is seen, and goes away with it.
BEGIN;
INSERT INTO t SELECT i, i FROM generate_series(101, 200) i;
SELECT sum(result::int) FROM run_command_on_shards('t', 'SELECT count(*) FROM %s');
SELECT bool_and(success) FROM run_command_on_shards('t', 'SELECT 1/0');
SELECT bool_and(success) FROM run_command_on_shards('t', 'DELETE FROM %s');
SELECT count(*) FROM t;
ROLLBACK;
SELECT count(*) FROM t;

-- Without writes each command is its own transaction.
BEGIN;
SELECT bool_and(success) FROM run_command_on_shards('t', 'DELETE FROM %s');
ROLLBACK;
SELECT count(*) FROM t;

-- Commands have sessions of their own: what they set is gone, and the client's sessions are kept.
SELECT count(*) FROM t;
CREATE FUNCTION kept() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(result, ' ') FROM run_command_on_workers(format('SELECT string_agg(pid::text, '','')
		FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = %L',
		'citus_internal gpid=' || citus_backend_gpid())) $$;
SELECT kept() AS kept \gset
SELECT :'kept' ~ '^\d+ \d+$' AS one_of_each_worker;
SELECT DISTINCT success FROM run_command_on_workers('SET search_path TO nowhere; SET work_mem TO 12345');
SELECT result <> '12345kB' AS own FROM run_command_on_workers('SHOW work_mem');
SELECT count(*) FROM t;
SELECT kept() = :'kept' AS same;

SET client_min_messages TO warning;
DROP SCHEMA run_command CASCADE;
