-- Who may call what. An ordinary user owns his tables and nothing of the cluster.
SET citus.next_shard_id TO 1450000;
SET citus.shard_count TO 4;
SET client_min_messages TO warning;
CREATE ROLE privileges_owner LOGIN;
CREATE ROLE privileges_other LOGIN;
CREATE SCHEMA privileges;
GRANT ALL ON SCHEMA privileges TO privileges_owner;
GRANT USAGE ON SCHEMA privileges TO privileges_other;
SET search_path TO privileges, public;
RESET client_min_messages;

-- The owner of a table distributes it, others use it as far as they were granted.
SET SESSION AUTHORIZATION privileges_owner;
CREATE TABLE t (k int PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'k');
INSERT INTO t SELECT i, i FROM generate_series(1, 10) i;
SET SESSION AUTHORIZATION privileges_other;
SELECT count(*) FROM t;
INSERT INTO t VALUES (11, 11);
COPY t FROM PROGRAM 'echo 1';
COPY t TO STDOUT;
TRUNCATE t;
ALTER TABLE t ADD COLUMN w int;
CREATE INDEX ON t (v);
DROP TABLE t;
SELECT create_distributed_table('t', 'k');
SELECT undistribute_table('t');
SELECT alter_distributed_table('t', shard_count := 2);
SELECT update_distributed_table_colocation('t', 'none');
SELECT truncate_local_data_after_distributing_table('t');
SELECT citus_move_shard_placement(1450000, 2, 3, 'block_writes');
SELECT citus_copy_shard_placement(1450000, 2, 3, 'block_writes');
SELECT citus_update_table_statistics('t');
RESET SESSION AUTHORIZATION;
GRANT SELECT ON t TO privileges_other;
SET SESSION AUTHORIZATION privileges_other;
SELECT count(*) FROM t;
SELECT v FROM t WHERE k = 3;
UPDATE t SET v = 0 WHERE k = 3;
DELETE FROM t;
SELECT v FROM t WHERE k = 3 FOR UPDATE;

-- Nodes are the superuser's.
SELECT citus_add_node('127.0.0.1', 1);
SELECT citus_add_inactive_node('127.0.0.1', 1);
SELECT citus_activate_node('127.0.0.1', 1);
SELECT citus_disable_node('127.0.0.1', 1);
SELECT citus_remove_node('127.0.0.1', 1);
SELECT citus_update_node(2, '127.0.0.1', 1);
SELECT citus_set_node_property('127.0.0.1', 1, 'shouldhaveshards', false);
SELECT citus_set_coordinator_host('127.0.0.1', 1);
\set SHOW_CONTEXT never
SELECT citus_drain_node('127.0.0.1', 1);
\set SHOW_CONTEXT errors
SELECT start_metadata_sync_to_node('127.0.0.1', 1);
SELECT start_metadata_sync_to_all_nodes();
SELECT stop_metadata_sync_to_node('127.0.0.1', 1);
SELECT citus_check_connection_to_node('127.0.0.1', 1);
SELECT recover_prepared_transactions();
SELECT check_distributed_deadlocks();
SELECT citus_stat_counters_reset();
SELECT citus_internal.replace_isolation_tester_func();
CALL citus_cleanup_orphaned_resources();

-- The catalogs can be read, but for passwords, and not written.
SELECT count(*) FROM pg_dist_authinfo;
SELECT count(*) > 0 FROM pg_dist_node;
UPDATE pg_dist_node SET nodename = 'elsewhere';
DELETE FROM pg_dist_partition;
INSERT INTO pg_dist_shard VALUES ('t'::regclass, 1, 't', '0', '1');
DELETE FROM pg_dist_placement;
DELETE FROM pg_dist_colocation;
INSERT INTO pg_dist_transaction VALUES (1, 'x');
UPDATE pg_dist_node_metadata SET metadata = '{}';
INSERT INTO pg_dist_object SELECT * FROM pg_dist_object;
SELECT citus_add_rebalance_strategy('mine', 'citus_shard_cost_1', 'citus_node_capacity_1', 'citus_shard_allowed_on_node_true', 0);
SELECT citus_set_default_rebalance_strategy('by_shard_count');

-- What nodes call on each other asks for the owner, too.
SELECT pando.table_register('t', 'h', 'k', 1, 's', false);
SELECT pando.table_unregister('t');
SELECT pando.table_set_colocation('t', 2);
SELECT pando.table_set_key('t', 'v');
SELECT pando.shards_register('t', '{1}', '{0}', '{1}');
SELECT pando.shards_unregister('{1450000}');
SELECT pando.shards_create('t', '{1450000}', 'table');
SELECT pando.shards_drop('t', '{1450000}');
SELECT pando.placements_register('{1}', '{1450000}', '{1}');
SELECT pando.placement_set_group(placementid, 2) FROM pg_dist_placement WHERE shardid = 1450000;
SELECT pando.placement_unregister(placementid) FROM pg_dist_placement WHERE shardid = 1450000;
SELECT pando.placements_set_length(ARRAY[placementid], '{1}') FROM pg_dist_placement WHERE shardid = 1450000;
SELECT pando.table_lock('t', 'ACCESS EXCLUSIVE');
SELECT pando.tables_drop('t');
SELECT pando.ddl_apply('DROP TABLE t', '{}', 'privileges');
SELECT pando.ddl_apply('ALTER TABLE t ADD COLUMN w int', '{}', 'privileges');
SELECT pando.object_register('schema', '{privileges}', '{}');
SELECT pando.copies_lost(ARRAY[1450000], '{1}', '{}');
/*pando_access 1 00 order*/ SELECT pando.copies_lost(ARRAY[1450000], '{1}', '{}');
SELECT pando.node_leave();
SELECT pando.deadlock_cancel(0, '');
SELECT worker_apply_shard_ddl_command(1450000, 'ALTER TABLE t ADD COLUMN w int');
SELECT pando.result_append('../../global/pg_control', 0, 'x');

-- Commands on nodes run with the rights of the one who asks.
SELECT DISTINCT success, result FROM run_command_on_workers('SELECT current_user || '' '' || session_user');
SELECT DISTINCT success, result FROM run_command_on_workers('CREATE ROLE privileges_made');
SELECT success FROM run_command_on_shards('t', 'DELETE FROM %s') GROUP BY 1;
RESET SESSION AUTHORIZATION;
SET ROLE privileges_other;
SELECT DISTINCT success, result FROM run_command_on_workers('RESET ROLE; SELECT current_user || '' '' || session_user');
RESET ROLE;
-- Also when an administrator calls a function of theirs.
CREATE FUNCTION trap() RETURNS TABLE (success boolean, result text) SECURITY DEFINER LANGUAGE sql AS
	$$ SELECT DISTINCT success, result FROM run_command_on_workers('CREATE ROLE privileges_made SUPERUSER') $$;
ALTER FUNCTION trap() OWNER TO privileges_other;
SELECT success, result ~ '^ERROR: (must be superuser to create superusers|permission denied to create role)$' AS refused FROM trap();
-- An administrator who looks at sizes runs nobody's functions but ours, whatever his search_path.
SET ROLE privileges_owner;
CREATE FUNCTION privileges.format(text, text, bigint[]) RETURNS text LANGUAGE plpgsql
	AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
CREATE FUNCTION privileges.array_agg_step(int[], int) RETURNS int[] LANGUAGE plpgsql
	AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
CREATE AGGREGATE privileges.array_agg(int) (SFUNC = privileges.array_agg_step, STYPE = int[]);
RESET ROLE;
SELECT citus_total_relation_size('t') > 0;
SELECT DISTINCT success, result FROM run_command_on_workers('SELECT 1');

-- Code that runs with another's rights cannot get at the caller's on a node.
CREATE TABLE lent (k int);
SELECT create_distributed_table('lent', 'k');
INSERT INTO lent VALUES (1);
GRANT SELECT ON lent TO privileges_owner;
SET ROLE privileges_owner;
CREATE FUNCTION way_back(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM set_config('role', 'none', true); RETURN current_setting('is_superuser'); END $$;
CREATE FUNCTION lender() RETURNS boolean LANGUAGE sql SECURITY DEFINER
	AS 'SELECT privileges.way_back(k) FROM privileges.lent WHERE k = 1';
RESET ROLE;
\set VERBOSITY terse
SELECT lender();
BEGIN;
SELECT count(*) FROM lent;
SELECT lender();
\set VERBOSITY default
ROLLBACK;

-- What a view reads it reads with its owner's rights and policies, on all nodes; with the
-- reader's if it says security_invoker. Who connects to a node himself gains nothing.
CREATE TABLE kept (k int, v int, who text);
SELECT create_distributed_table('kept', 'k');
CREATE TABLE kept_ref (id int, v int);
SELECT create_reference_table('kept_ref');
INSERT INTO kept SELECT i, i % 3, CASE WHEN i % 2 = 0 THEN 'privileges_other' ELSE 'privileges_owner' END FROM generate_series(1, 20) i;
INSERT INTO kept_ref VALUES (1, 10), (2, 20);
ALTER TABLE kept OWNER TO privileges_owner;
ALTER TABLE kept_ref OWNER TO privileges_owner;
SET SESSION AUTHORIZATION privileges_owner;
CREATE VIEW kept_view AS SELECT k, v FROM kept WHERE v < 2;
CREATE VIEW kept_invoker WITH (security_invoker) AS SELECT k, v FROM kept;
CREATE VIEW kept_join AS SELECT kept.k, kept_ref.v FROM kept JOIN kept_ref ON kept.v = kept_ref.id;
CREATE VIEW kept_count WITH (security_barrier) AS SELECT v, count(*) FROM kept GROUP BY v;
CREATE VIEW kept_change AS SELECT k, v FROM kept WHERE v = 1;
GRANT SELECT ON kept_view, kept_invoker, kept_join, kept_count, kept_change TO privileges_other;
GRANT UPDATE ON kept_change TO privileges_other;
SET SESSION AUTHORIZATION privileges_other;
\set VERBOSITY terse
SELECT count(*) FROM kept;
SELECT count(*) FROM kept_view;
SELECT v FROM kept_view WHERE k = 3;
SELECT count(*) FROM kept_invoker;
SELECT count(*) FROM kept_join;
SELECT * FROM kept_count ORDER BY v;
SELECT count(*) FROM kept_view a JOIN kept_view b USING (v);
SELECT count(*) FROM kept_view WHERE v IN (SELECT v FROM kept_ref);
SELECT count(*) FROM kept_view JOIN kept USING (k);
SELECT count(*) FROM kept_view pando_as_0_x, (SELECT 1 FROM kept pando_as_0_y LIMIT 1) z;
SELECT count(*) FROM t pando_as_0_x WHERE k < 5;
SELECT k FROM kept_view ORDER BY k LIMIT 2;
SELECT k FROM kept_change WHERE k = 4 FOR UPDATE;
SELECT k FROM kept_change ORDER BY k LIMIT 2 FOR UPDATE;
SELECT c.k, r.v FROM kept_change c JOIN kept_join r USING (k) ORDER BY k LIMIT 2 FOR UPDATE OF c;
UPDATE kept_change SET v = 1 WHERE k = 4 RETURNING k;
UPDATE kept_view SET v = 1 WHERE k = 4;
BEGIN;
SELECT count(*) FROM t;
SELECT count(*) FROM kept_view;
DECLARE c CURSOR FOR SELECT k FROM kept_view ORDER BY k;
SELECT v FROM kept_view WHERE k = 3;
FETCH 2 FROM c;
COMMIT;
PREPARE of_view(int) AS SELECT v FROM kept_view WHERE k = $1;
EXECUTE of_view(3);
EXECUTE of_view(4);
EXPLAIN (COSTS OFF, VERBOSE) SELECT v FROM kept_view WHERE k = 3 \g |grep -v Node:
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT v FROM kept_view WHERE k = 3 \g |grep -v Node:
COPY (SELECT * FROM kept_view ORDER BY k LIMIT 2) TO STDOUT;
WITH w AS MATERIALIZED (SELECT * FROM kept_view) SELECT count(*) FROM w JOIN kept_join USING (k);
RESET SESSION AUTHORIZATION;
SET ROLE privileges_other;
EXECUTE of_view(3);
RESET ROLE;
EXECUTE of_view(4);
-- Policies are those of the owner, for the reader's current_user.
ALTER TABLE kept ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON kept USING (who = current_user);
SET SESSION AUTHORIZATION privileges_other;
SELECT count(*) FROM kept_view;
EXECUTE of_view(3);
RESET SESSION AUTHORIZATION;
ALTER TABLE kept FORCE ROW LEVEL SECURITY;
SET SESSION AUTHORIZATION privileges_other;
SELECT count(*) FROM kept_view;
EXECUTE of_view(3);
EXECUTE of_view(4);
UPDATE kept_change SET v = 1;
RESET SESSION AUTHORIZATION;
SET SESSION AUTHORIZATION privileges_owner;
SELECT count(*) FROM kept_view;
SELECT count(*) FROM kept;
RESET SESSION AUTHORIZATION;
GRANT SELECT ON kept TO privileges_other;
SET SESSION AUTHORIZATION privileges_other;
SELECT count(*) FROM kept;
SELECT count(*) FROM kept_invoker;
RESET SESSION AUTHORIZATION;
REVOKE SELECT ON kept FROM privileges_other;
-- The claim alone is nothing, nor is a signature that somebody makes up or has seen.
SET SESSION AUTHORIZATION privileges_other;
SELECT secret FROM pando.node_secret;
SELECT success, regexp_replace(result, '_\d+', '') FROM run_command_on_workers(
	'SELECT count(*) FROM privileges.kept_' || (SELECT min(shardid) FROM pg_dist_shard WHERE logicalrelid = 'kept'::regclass) || ' pando_as_0_kept') WHERE result !~ 'exist' GROUP BY 1, 2;
SELECT DISTINCT success, result FROM run_command_on_workers('/*pando_access 1 ' || repeat('0', 64) || ' 70*/ SELECT count(*) FROM pg_class pando_as_0_x');
/*pando_access 1 0000000000000000000000000000000000000000000000000000000000000000 70*/ SELECT count(*) FROM kept pando_as_0_kept;
\set VERBOSITY default
RESET SESSION AUTHORIZATION;

SET client_min_messages TO warning;
DROP SCHEMA privileges CASCADE;
DROP ROLE privileges_owner, privileges_other;
