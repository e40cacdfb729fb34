-- Functions and settings that old scripts use do what their names say.
\set VERBOSITY terse
CREATE SCHEMA old_names;
SET search_path TO old_names;
SET citus.next_shard_id TO 1720000;
CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL DEFAULT 7);
SELECT create_distributed_table('t', 'id', shard_count := 4, colocate_with := 'none');
INSERT INTO t SELECT i, i % 5 FROM generate_series(1, 100) i;
CREATE TABLE "Local one" (a int CHECK (a > 0));

-- Nodes and backends.
SELECT citus_calculate_gpid(3, 77), citus_nodeid_for_gpid(citus_calculate_gpid(3, 77)), citus_calculate_gpid(NULL, 1);
SELECT citus_is_primary_node();
SELECT success, result FROM master_run_on_worker((SELECT array_agg(node_name ORDER BY node_port) FROM master_get_active_worker_nodes()),
	(SELECT array_agg(node_port::int ORDER BY node_port) FROM master_get_active_worker_nodes()),
	ARRAY['SELECT 1', 'SELECT 1 / 0'], true);
SELECT * FROM master_run_on_worker(ARRAY['nowhere'], ARRAY[1], ARRAY['SELECT 1'], false);
SELECT * FROM master_run_on_worker(ARRAY['nowhere'], ARRAY[1, 2], ARRAY['SELECT 1'], false);
SELECT citus_run_local_command('CREATE TABLE made_here (a int)');
SELECT citus_run_local_command('SELECT 1 / 0');
SELECT * FROM made_here;
SELECT hostname IS NOT NULL AS hostname, port > 0 AS port, database_name = current_database() AS database, connection_count_to_node > 0 AS count
	FROM citus_remote_connection_stats() LIMIT 1;

-- Tables.
SELECT * FROM master_get_table_ddl_events('t');
SELECT * FROM master_get_table_ddl_events('"Local one"');
SELECT * FROM master_get_table_ddl_events('nothing');
SELECT lock_relation_if_exists('nothing', 'ACCESS SHARE'), lock_relation_if_exists('old_names.nothing', 'SHARE');
SELECT lock_relation_if_exists('t', 'SHARE');
SELECT lock_relation_if_exists('t', 'SHARE MODE; DROP TABLE t; --');
BEGIN;
SELECT lock_relation_if_exists('"Local one"', 'exclusive');
SELECT mode FROM pg_locks WHERE relation = '"Local one"'::regclass AND pid = pg_backend_pid();
ROLLBACK;

-- Tables, shards and transactions.
CREATE TABLE old (k int, v text);
CREATE TABLE other (k int, v text);
INSERT INTO other SELECT i, i FROM generate_series(1, 20) i;
SELECT master_create_distributed_table('old', 'k', 'hash');
SELECT create_distributed_table('other', 'k', colocate_with => 'none');
SELECT mark_tables_colocated('old', '{other}');
SELECT distributed_tables_colocated('old', 'other');
SELECT mark_tables_colocated('t', '{old,other}');
SELECT upgrade_to_reference_table('other');
SELECT citus_table_type, (SELECT count(*) FROM other) FROM public.citus_tables WHERE table_name = 'other'::regclass;
SELECT master_get_new_shardid() < master_get_new_shardid() AS goes_on;
SELECT bool_and(size >= 0) AND count(*) = 4 AS sizes FROM citus_shard_sizes() s JOIN pg_dist_shard d ON d.shardid = s.shard_id WHERE logicalrelid = 't'::regclass;
SELECT citus_update_shard_statistics(min(shardid)) > 0 AS noted FROM pg_dist_shard WHERE logicalrelid = 't'::regclass;
SELECT citus_update_shard_statistics(1);
CREATE SEQUENCE old_values;
SELECT worker_nextval('old_values') < worker_nextval('old_values') AS goes_on;
\set VERBOSITY sqlstate
SELECT worker_nextval('t');
\set VERBOSITY terse
SELECT alter_table_set_access_method('other', 'heap');
SELECT alter_table_set_access_method('other', 'nowhere"; --');
CREATE TABLE aged (at date, k int) PARTITION BY RANGE (at);
CREATE TABLE aged_1 PARTITION OF aged FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE ACCESS METHOD heap_too TYPE TABLE HANDLER heap_tableam_handler;
SELECT create_distributed_table('aged', 'k');
INSERT INTO aged VALUES ('2020-05-05', 1);
CALL alter_old_partitions_set_access_method('aged', '2022-01-01', 'heap_too');
SELECT amname, (SELECT count(*) FROM aged) FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = 'aged_1'::regclass;
SELECT success, result FROM run_command_on_shards('aged_1', $$SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = '%s'::regclass$$)
	GROUP BY 1, 2;
DROP TABLE aged;
DROP ACCESS METHOD heap_too;
BEGIN;
UPDATE t SET v = v;
SELECT count(*) > 1 AS nodes, count(DISTINCT (initiator_node_identifier, transaction_number, transaction_stamp)) AS transactions,
	count(*) FILTER (WHERE NOT worker_query) AS here
FROM get_global_active_transactions() WHERE transaction_stamp = now();
SELECT worker_query, process_id = pg_backend_pid() AS mine, initiator_node_identifier = groupid AS here
FROM get_all_active_transactions(), pg_dist_local_group WHERE transaction_stamp = now() AND process_id = pg_backend_pid();
COMMIT;

-- Concatenations.
SELECT jsonb_cat_agg(j) FROM (VALUES ('[1]'::jsonb), ('[]'), (NULL), ('[2, 3]')) v (j);
SELECT json_cat_agg(j) FROM (VALUES ('[1]'::json), (' [ ] '), (NULL), ('[2, {"a" : 3}]')) v (j);
SELECT json_cat_agg(j) FROM (VALUES ('{"b": 1}'::json), ('{"a": [2]}')) v (j);
SELECT json_cat_agg(j) FROM (VALUES ('{"b": 1}'::json), ('[2]')) v (j);
SELECT array_cat_agg(a) FROM (VALUES (ARRAY[1]), (NULL), ('{2,3}')) v (a);

-- Aggregates in halves.
SELECT worker_partial_agg('sum(int)'::regprocedure, v) FROM t WHERE id < 10;
SELECT coord_combine_agg('sum(int)'::regprocedure, part::cstring, NULL::bigint) FROM (VALUES ('5'), (NULL), ('7')) p (part);
SELECT coord_combine_agg('avg(int)'::regprocedure, part::cstring, NULL::numeric)
	FROM (SELECT worker_partial_agg('avg(int)'::regprocedure, v)::text AS part FROM t GROUP BY id % 3) p;
SELECT avg(v) FROM t;
SELECT coord_combine_agg('avg(int)'::regprocedure, '{1,2,3}', NULL::numeric);
SELECT coord_combine_agg('avg(int)'::regprocedure, 'x', NULL::numeric);
SELECT coord_combine_agg('max(int)'::regprocedure, '3', NULL::text);
SELECT coord_combine_agg('avg(numeric)'::regprocedure, 'x', NULL::numeric);
SELECT worker_partial_agg('avg(numeric)'::regprocedure, v::numeric) FROM t;
SELECT worker_partial_agg('array_agg(anynonarray)'::regprocedure, v) FROM t;
SELECT worker_partial_agg(1, v) FROM t;

-- Intermediate results.
SELECT create_intermediate_result('one', 'SELECT 1');
BEGIN;
SELECT create_intermediate_result('one', 'SELECT id, v FROM t WHERE id <= 10 ORDER BY id');
SELECT sum(id), sum(v) FROM read_intermediate_result('one', 'binary') AS r (id int, v int);
SELECT broadcast_intermediate_result('all', 'SELECT i FROM generate_series(1, 1000) i');
SELECT count(*), sum(i) FROM read_intermediate_result('all', 'binary') AS r (i int);
SELECT result FROM run_command_on_workers($$SELECT count(*) FROM read_intermediate_result('all', 'binary') AS r (i int)$$);
SAVEPOINT s;
SELECT create_intermediate_result('two', 'SELECT 1; SELECT 2');
ROLLBACK TO s;
SELECT create_intermediate_result('two', 'DELETE FROM t RETURNING id');
ROLLBACK TO s;
SELECT create_intermediate_result('two', 'SELECT 1 INTO made_by_it');
ROLLBACK TO s;
SELECT create_intermediate_result('../two', 'SELECT 1');
ROLLBACK TO s;
SELECT fetch_intermediate_results('{one}', 'nowhere', 1);
ROLLBACK TO s;
SELECT create_intermediate_result(format('of_%s', 1), 'SELECT 42');
SELECT fetch_intermediate_results('{of_1}', nodename, nodeport) > 0 AS here FROM pg_dist_node WHERE groupid = 0;
COMMIT;
SELECT fetch_intermediate_results('{one}', 'nowhere', 1);
-- One that another node has made comes here.
SET client_min_messages TO error;
CREATE FUNCTION makes() RETURNS int LANGUAGE sql VOLATILE AS $$ SELECT create_intermediate_result('there', 'SELECT i FROM generate_series(1, 5) i')::int $$;
RESET client_min_messages;
BEGIN;
SELECT node_name AS host, node_port AS port FROM master_get_active_worker_nodes() ORDER BY node_port LIMIT 1 \gset
UPDATE t SET v = v;
SELECT success, result FROM master_run_on_worker(ARRAY[:'host'], ARRAY[:port], ARRAY['SELECT old_names.makes()'], false);
SELECT fetch_intermediate_results('{there}', :'host', :port) > 0 AS fetched;
SELECT sum(i) FROM read_intermediate_result('there', 'binary') AS r (i int);
COMMIT;

-- The clock.
SELECT citus_get_node_clock() < citus_get_node_clock() AS goes_on, citus_is_clock_after(citus_get_node_clock(), '(1,5)') AS after,
	abs(cluster_clock_logical(citus_get_node_clock()) - extract(epoch FROM clock_timestamp()) * 1000) < 600000 AS is_time;
SELECT c FROM (VALUES ('(10,2)'::cluster_clock), ('(9,7)'), ('(10,1)'), (NULL)) v (c) ORDER BY c;
CREATE TABLE clocks (c cluster_clock PRIMARY KEY, what text);
INSERT INTO clocks SELECT citus_get_node_clock(), i FROM generate_series(1, 5) i;
SELECT string_agg(what, ' ' ORDER BY c) FROM clocks;
BEGIN;
UPDATE t SET v = v + 1;
SELECT citus_get_transaction_clock() AS now \gset
SELECT bool_and(result::boolean) FROM run_command_on_all_nodes(format('SELECT citus_get_node_clock() > %L', :'now'));
ROLLBACK;
SELECT citus_get_transaction_clock() > :'now' AS later;

-- A node that is paused.
SELECT citus_pause_node_within_txn(-1);
SELECT citus_pause_node_within_txn(nodeid, true, -1) FROM pg_dist_node WHERE nodeport = :port;
BEGIN;
SELECT citus_pause_node_within_txn(nodeid) FROM pg_dist_node WHERE nodeport = :port;
SELECT mode FROM pg_locks WHERE relation = 't'::regclass AND pid = pg_backend_pid() AND mode = 'AccessExclusiveLock';
ROLLBACK;

-- Settings without effect say why; their values are checked.
SELECT count(*) > 50 AS some, bool_and(short_desc ~ '^Without effect: .+\.$') AS explained FROM pg_settings
	WHERE name LIKE 'citus.%' AND short_desc LIKE 'Without effect: %';
SET citus.task_executor_type TO adaptive;
SET citus.task_executor_type TO other;
SET citus.replication_model TO streaming;
SET citus.next_operation_id TO 5;
SET citus.enable_unique_job_ids TO off;
RESET ALL;
SET search_path TO old_names;

-- Those that report.
SET citus.grep_remote_commands TO '%bad\';
SET citus.log_intermediate_results TO on;
CREATE FUNCTION shows_plans(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line ~ 'Scan on t_1720' THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;
SELECT shows_plans('SELECT count(*) FROM old_names.t');
SET citus.explain_distributed_queries TO off;
SELECT shows_plans('SELECT count(*) FROM old_names.t');
RESET citus.explain_distributed_queries;
PREPARE p AS SELECT v FROM t WHERE id = $1;
EXECUTE p(1);
CREATE TABLE ref (a int);
SET citus.next_shard_id TO 1720100;
SELECT create_reference_table('ref');
SET citus.log_local_commands TO on;
SELECT count(*) FROM ref;
RESET citus.log_local_commands;
SET citus.log_remote_commands TO on;
SET citus.grep_remote_commands TO '%no such text%';
SELECT count(*) FROM t;
RESET citus.log_remote_commands;
SET client_min_messages TO warning;
DROP SCHEMA old_names CASCADE;
