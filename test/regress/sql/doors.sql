-- What an ordinary role finds when it tries to get in: names of its own in the way of those that the
-- extension's functions mean.
-- No numbers of rows, which each addition to the lists below would change.
\pset footer off
SET client_min_messages TO warning;
CREATE ROLE doors_guest LOGIN;
CREATE SCHEMA doors AUTHORIZATION doors_guest;
SET SESSION AUTHORIZATION doors_guest;
SET search_path TO doors;

-- A temporary view in the place of one that a SECURITY DEFINER function reads.
CREATE FUNCTION doors.seize(real_pid int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	BEGIN
		EXECUTE 'ALTER ROLE doors_guest SUPERUSER';
	EXCEPTION WHEN insufficient_privilege THEN
		NULL;
	END;
	RETURN real_pid;
END $$;
CREATE TEMP VIEW pg_stat_activity AS SELECT datid, datname, doors.seize(pid) AS pid, leader_pid,
	usesysid, usename, application_name, xact_start FROM pg_catalog.pg_stat_activity;
CREATE TEMP VIEW pg_locks AS SELECT doors.seize(pid) AS pid, locktype, database, relation, page, tuple,
	virtualxid, transactionid, classid, objid, objsubid, virtualtransaction, granted, waitstart
	FROM pg_catalog.pg_locks;
CREATE TEMP VIEW pg_prepared_xacts AS SELECT transaction, gid, doors.seize(1)::text AS seized
	FROM pg_catalog.pg_prepared_xacts;
SELECT pando.transaction_start(pg_backend_pid()) IS NOT NULL AS started;
SELECT count(*) FROM pando.wait_edges() WHERE waiting_pid = pg_backend_pid();
RESET SESSION AUTHORIZATION;
SELECT rolsuper FROM pg_roles WHERE rolname = 'doors_guest';

-- All functions of the extension that set a search_path name pg_temp, last; no function runs with its
-- owner's rights without one.
SELECT p.oid::regprocedure, p.proconfig
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'pando' AND (p.prosecdef OR EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c LIKE 'search_path=%'))
	AND (p.proconfig IS NULL OR 'search_path=pg_catalog, pg_temp' <> ALL (p.proconfig));

DROP OWNED BY doors_guest;
DROP ROLE doors_guest;

-- Metadata that a role makes up: its own shell table, and shards that are tables of others. What nodes ask
-- of each other they refuse to everybody else.
SET client_min_messages TO warning;
CREATE ROLE doors_guest LOGIN;
CREATE ROLE doors_victim LOGIN;
CREATE SCHEMA doors AUTHORIZATION doors_victim;
GRANT ALL ON SCHEMA doors TO doors_guest;
SET citus.next_shard_id TO 1470000;
SET citus.shard_count TO 2;
SET search_path TO doors;
SET SESSION AUTHORIZATION doors_victim;
CREATE TABLE bait_5 (k int, secret text);
INSERT INTO bait_5 VALUES (1, 'of the victim');
SET SESSION AUTHORIZATION doors_guest;
CREATE TABLE bait (k int, secret text);
CREATE TABLE mine (k int, v int);
SELECT create_distributed_table('mine', 'k');
SELECT pando.table_register('bait', 'n', NULL, 0, 's', false);
SELECT pando.shards_register('bait', '{5}', '{NULL}', '{NULL}');
SELECT pando.placements_register('{777777}', '{5}', '{0}');
SELECT * FROM bait;
SELECT pando.shards_drop('bait', '{5}');
SELECT pando.shells_drop('{doors.bait_5}');
SELECT pando.table_unregister('mine');
SELECT pando.table_set_colocation('mine', 1);
SELECT pando.table_set_key('mine', 'v');
SELECT pando.shards_register('mine', '{5}', '{0}', '{1}');
SELECT pando.shards_unregister('{1470000}');
SELECT pando.placement_set_group(placementid, 0) FROM pg_dist_placement WHERE shardid = 1470000;
SELECT pando.placement_unregister(placementid) FROM pg_dist_placement WHERE shardid = 1470000;
SELECT pando.placements_set_length(ARRAY[placementid], '{1}') FROM pg_dist_placement WHERE shardid = 1470000;
SELECT pando.colocation_register(147, 1, 1, NULL, NULL);
SELECT pando.lead_lock('{pg_catalog.pg_dist_node}', '{8}', false);
SELECT pando.lead_lock_objects('{1255 public.f}', '{7}');
SELECT pando.schema_lock('{public}', true);
SELECT pando.lead_next_id('pg_dist_groupid_seq');
SELECT pando.colocation_unregister(147);
SELECT pando.move_undo('{1470000}');
SELECT pando.move_capture('mine', 5);
SELECT pando.move_capture('pg_class', 5);
SELECT pando.move_record(1, '{pg_class_5}', '{0}');
SELECT pando.move_operation(1, false);
SELECT pando.move_left('{1470000}');
SELECT * FROM pando.relay('DROP TABLE bait', '');
SELECT pando.table_dependencies_create('pg_class');
CREATE TRIGGER forged BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION pando.move_row('1', '2');
CREATE TRIGGER forged AFTER INSERT ON bait FOR EACH ROW EXECUTE FUNCTION pando.move_note();
SELECT pando.gate_close(30000);
SELECT pando.nodes_changed();
SELECT pando.metadata_changed();
SELECT pando.table_changed('mine');
SELECT DISTINCT result FROM run_command_on_all_nodes('SELECT pando.gate_close(30000)');
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT pando.shards_register('doors.mine', '{5}', '{0}', '{1}')$$);
-- Neither in what a statement of a node calls in turn.
CREATE FUNCTION doors.forge(k int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	PERFORM pando.colocation_register(147, 1, 1, NULL, NULL);
	RETURN 'forged';
EXCEPTION WHEN insufficient_privilege THEN
	RETURN 'refused';
END $$;
INSERT INTO mine SELECT i, i FROM generate_series(1, 10) i;
SELECT DISTINCT doors.forge(k) FROM mine;
ALTER TABLE mine ADD CHECK (doors.forge(k) = 'refused');
-- What the owner may do still reaches all nodes.
SELECT count(*) FROM mine;
SELECT citus_update_table_statistics('mine');
SELECT undistribute_table('mine');
SELECT create_reference_table('mine');
SET pando.snapshot TO cluster;
SELECT count(*) FROM mine;
RESET pando.snapshot;
DROP TABLE mine, bait;
SET SESSION AUTHORIZATION doors_victim;
SELECT * FROM bait_5;
RESET SESSION AUTHORIZATION;
SET client_min_messages TO warning;
DROP SCHEMA doors CASCADE;
DROP ROLE doors_guest, doors_victim;

-- A function that matches better than PostgreSQL's, in a schema that a superuser's search_path leads to.
SET client_min_messages TO warning;
CREATE ROLE doors_guest LOGIN;
CREATE SCHEMA doors AUTHORIZATION doors_guest;
SET SESSION AUTHORIZATION doors_guest;
CREATE FUNCTION doors.format(text, name, name) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'ALTER ROLE doors_guest SUPERUSER';
	RETURN pg_catalog.format($1, $2, $3);
END $$;
RESET SESSION AUTHORIZATION;
SET search_path TO doors;
SET citus.next_shard_id TO 1470100;
SET citus.shard_count TO 2;
SET client_min_messages TO warning;
CREATE TABLE by_name (k text, v int);
SELECT create_distributed_table('by_name', 'k', colocate_with => 'none');
SELECT rolsuper FROM pg_roles WHERE rolname = 'doors_guest';
DROP SCHEMA doors CASCADE;
DROP ROLE doors_guest;

-- Every function of the extension, with who may call it (anybody, or the superusers alone): a new one is listed here
-- once it is known that it does no harm. differential/hostile_calls calls all of them.
SELECT p.oid::regprocedure AS function,
	CASE WHEN has_function_privilege('public', p.oid, 'EXECUTE') THEN 'anybody' ELSE 'superuser' END AS who,
	CASE WHEN p.prosecdef THEN 'owner' END AS with_rights_of
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'pando' AND p.proname NOT IN ('any_value', 'any_value_transition') -- older PostgreSQL's
ORDER BY has_function_privilege('public', p.oid, 'EXECUTE'), p.oid::regprocedure::text COLLATE "C";

-- Every table, view and sequence of the extension, with what anybody may do with it.
SELECT c.oid::regclass, coalesce((SELECT string_agg(privilege_type, ', ' ORDER BY privilege_type COLLATE "C")
	FROM aclexplode(c.relacl) WHERE grantee = 0), 'nothing') AS anybody
FROM pg_class c JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'pando' AND c.relkind IN ('r', 'v', 'S')
ORDER BY c.oid::regclass::text COLLATE "C";

-- Every setting of the extension, with who may change it. One that anybody may change decides about his own
-- statements and sessions alone (how they are planned, how much they may take of what is limited for all by
-- citus.max_shared_pool_size and temp_file_limit, what they log, whether his schema changes reach other nodes), or
-- nothing at all. Those that decide for others (how nodes and the maintenance worker act, how a node is called,
-- what is counted) are the superusers'.
SELECT name, context FROM pg_settings WHERE name LIKE 'pando.%' OR name LIKE 'citus.%'
ORDER BY context COLLATE "C", name COLLATE "C";

-- Those that pg_settings doesn't show: anybody may change them.
CREATE ROLE doors_guest;
SET SESSION AUTHORIZATION doors_guest;
SET citus.next_shard_id TO 1;
SET citus.next_placement_id TO 1;
SET citus.next_cleanup_record_id TO 1;
SET citus.local_copy_flush_threshold TO 1;
SET citus.remote_task_check_interval TO 1;
SET pando.explain_task TO 1;
SET pando.peer_version TO '';
SET pando.read_nodes TO '1:1';
SET pando.restored_groups TO 'x';
SET pando.session_proof TO '';
SET pando.shells_only TO on;
SET pando.serve_statement TO on;
SET pando.statement TO 1;
RESET ALL;
RESET SESSION AUTHORIZATION;
DROP ROLE doors_guest;

-- All nodes have the same.
SELECT count(*), count(DISTINCT result) FROM run_command_on_all_nodes($$
SELECT md5(string_agg(line, E'\n' ORDER BY line COLLATE "C")) FROM (
	SELECT p.oid::regprocedure || ' ' || coalesce(p.proacl::text, '') || p.prosecdef || coalesce(p.proconfig::text, '') FROM pg_proc p
	JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid WHERE e.extname = 'pando'
	UNION ALL
	SELECT c.oid::regclass || ' ' || coalesce(c.relacl::text, '') FROM pg_class c
	JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid WHERE e.extname = 'pando'
	UNION ALL
	SELECT name || ' ' || context FROM pg_settings WHERE name LIKE 'pando.%' OR name LIKE 'citus.%') x (line)$$);
