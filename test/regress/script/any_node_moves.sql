-- Functions that move shards and change nodes, called through the coordinator and through a worker.
\set VERBOSITY terse
SET client_min_messages TO warning;
SET search_path = any_node;
SET citus.next_shard_id TO 2470001;
SELECT nodeid AS n0 FROM pg_dist_node WHERE groupid = 0 \gset
SELECT nodeid AS n1 FROM pg_dist_node WHERE groupid = 1 \gset
SELECT nodeid AS n2 FROM pg_dist_node WHERE groupid = 2 \gset
CREATE TABLE p (id int PRIMARY KEY, b text);
SELECT create_distributed_table('p', 'id', shard_count := 4, colocate_with := 'none');
CREATE TABLE c (id int REFERENCES p, n int);
SELECT create_distributed_table('c', 'id', colocate_with := 'p');
INSERT INTO p SELECT i, 'x' || i FROM generate_series(1, 100) i;
INSERT INTO c SELECT i, i FROM generate_series(1, 100) i;
CREATE FUNCTION places(OUT text) LANGUAGE sql AS $f$
	SELECT any_node.everywhere($$SELECT string_agg(shardid % 1000 || ':' || groupid, ' ' ORDER BY shardid) FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
		WHERE logicalrelid = 'any_node.p'::regclass$$) || '; ' || (SELECT count(*) || ' ' || sum(p.id) FROM any_node.p JOIN any_node.c USING (id)) $f$;
SELECT places();
-- Statements of their own.
SELECT citus_move_shard_placement(2470001, :n1, :n2);
SELECT places();
SELECT * FROM citus_move_shard_placement((SELECT min(shardid) FROM pg_dist_shard WHERE logicalrelid = 'p'::regclass), :n2, :n0, 'block_writes');
SELECT places();
SELECT citus_move_shard_placement(shardid, :n0, :n1, 'force_logical') FROM pg_dist_shard WHERE shardid = 2470001;
SELECT places();
SELECT citus_move_shard_placement(2470001, :n1, 77);
SELECT citus_move_shard_placement(NULL, :n1, 77) IS NULL;
PREPARE move(bigint, int, int) AS SELECT citus_move_shard_placement($1, $2, $3);
EXECUTE move(2470001, :n1, :n2);
EXECUTE move(2470001, :n2, :n1);
SELECT places();
SELECT citus_split_shard_by_split_points(2470001, '{-2000000000}', ARRAY[:n1, :n2]);
SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'p'::regclass;
SELECT isolate_tenant_to_new_shard('p', 7, 'CASCADE') > 0;
SELECT isolate_tenant_to_new_shard('p', '8', 'CASCADE') > 0;
SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'p'::regclass;
SELECT split_part(places(), ';', 2);
SELECT rebalance_table_shards('p');
SELECT count(*) FROM get_rebalance_table_shards_plan('p');
SELECT citus_add_rebalance_strategy(('any_node_' || :'here')::name, 'citus_shard_cost_1', 'citus_node_capacity_1', 'citus_shard_allowed_on_node_true', 0);
SELECT count(*) FROM get_rebalance_table_shards_plan('p', rebalance_strategy := ('any_node_' || :'here')::name);
SELECT citus_set_default_rebalance_strategy('any_node_' || :'here');
SELECT citus_set_default_rebalance_strategy('by_shard_count');
SELECT citus_set_default_rebalance_strategy('nothing');
CALL citus_cleanup_orphaned_resources();
SELECT count(*) FROM get_rebalance_progress();
SELECT citus_update_table_statistics('p');
-- In transactions, which undo them, and see what they have done.
BEGIN;
UPDATE p SET b = 'changed' WHERE id <= 10;
SELECT citus_move_shard_placement(shardid, nodeid, CASE nodeid WHEN :n1 THEN :n2 ELSE :n1 END)
	FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE shardid = 2470003;
INSERT INTO p VALUES (201, 'changed');
SELECT count(*) FROM p WHERE b = 'changed';
SELECT isolate_tenant_to_new_shard('p', 201, 'CASCADE') > 0;
SELECT count(*) FROM p WHERE b = 'changed';
ROLLBACK;
SELECT count(*) FROM p WHERE b = 'changed';
SELECT split_part(places(), ';', 2);
DO $$
BEGIN
	UPDATE any_node.p SET b = 'changed' WHERE id <= 10;
	PERFORM citus_move_shard_placement(shardid, nodeid, CASE groupid WHEN 0 THEN (SELECT nodeid FROM pg_dist_node WHERE groupid = 1) ELSE (SELECT nodeid FROM pg_dist_node WHERE groupid = 0) END)
		FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE shardid = 2470003;
END $$;
SELECT count(*) FROM p WHERE b = 'changed';
SELECT split_part(places(), ';', 2);
BEGIN;
SELECT citus_move_shard_placement(shardid, nodeid, CASE nodeid WHEN :n1 THEN :n2 ELSE :n1 END, 'force_logical')
	FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE shardid = 2470003;
ROLLBACK;
BEGIN;
INSERT INTO p VALUES (300);
SELECT citus_move_shard_placement(shardid, nodeid, CASE nodeid WHEN :n1 THEN :n2 ELSE :n1 END, 'force_logical')
	FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE shardid = 2470003;
ROLLBACK;
SELECT split_part(places(), ';', 2);
CREATE TABLE online (k int, v text);
INSERT INTO online SELECT i, 'x' FROM generate_series(1, 100) i;
SELECT create_distributed_table_concurrently('online', 'k', shard_count := 4);
SELECT count(*) FROM online;
SELECT everywhere('SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = ''any_node.online''::regclass');
-- Jobs.
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false) FROM pg_dist_node WHERE groupid = 2;
SELECT citus_rebalance_start(drain_only := true) AS job \gset
SELECT citus_job_wait(:job);
SELECT citus_rebalance_wait();
SELECT state FROM citus_rebalance_status();
SELECT count(*) FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) WHERE groupid = 2 AND logicalrelid IN ('p'::regclass, 'c'::regclass);
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true) FROM pg_dist_node WHERE groupid = 2;
SELECT citus_rebalance_stop();
SELECT count(*) > 0 FROM citus_job_list();
SELECT count(*) > 0 FROM citus_job_status(:job);
-- Nodes.
SELECT citus_add_inactive_node('127.0.0.1', 1) > 0;
SELECT everywhere('SELECT count(*) FROM pg_dist_node WHERE nodeport = 1');
BEGIN;
SELECT citus_update_node((SELECT nodeid FROM pg_dist_node WHERE nodeport = 1), '127.0.0.1', 2);
SELECT citus_add_inactive_node('127.0.0.1', 3) > 0;
SELECT citus_set_node_property('127.0.0.1', 2, 'shouldhaveshards', false);
SELECT everywhere('SELECT string_agg(nodeport || '' '' || shouldhaveshards, '', '' ORDER BY 1) FROM pg_dist_node WHERE nodeport < 9');
SELECT citus_remove_node('127.0.0.1', 2);
ROLLBACK;
SELECT everywhere('SELECT string_agg(nodeport || '' '' || shouldhaveshards, '', '' ORDER BY 1) FROM pg_dist_node WHERE nodeport < 9');
SELECT citus_add_node('127.0.0.1', 2);
SELECT citus_remove_node('127.0.0.1', 1);
SELECT everywhere('SELECT count(*) FROM pg_dist_node WHERE nodeport < 9');
BEGIN;
SELECT citus_pause_node_within_txn(:n2);
SELECT everywhere('SELECT count(*) FROM pg_locks WHERE relation = ''any_node.p''::regclass AND mode = ''AccessExclusiveLock''');
ROLLBACK;
-- Rights.
CREATE ROLE any_node_moves LOGIN;
GRANT USAGE ON SCHEMA any_node TO any_node_moves;
SET ROLE any_node_moves;
SELECT citus_move_shard_placement(2470003, :n1, :n2);
SELECT citus_add_inactive_node('127.0.0.1', 1);
SELECT citus_remove_node('127.0.0.1', 1);
SELECT citus_set_default_rebalance_strategy('any_node');
CALL citus_cleanup_orphaned_resources();
RESET ROLE;
GRANT CREATE ON SCHEMA any_node TO any_node_moves;
ALTER TABLE c OWNER TO any_node_moves;
ALTER TABLE p OWNER TO any_node_moves;
SET ROLE any_node_moves;
SELECT citus_move_shard_placement(shardid, nodeid, CASE nodeid WHEN :n1 THEN :n2 ELSE :n1 END)
	FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE shardid = 2470003;
BEGIN;
SELECT citus_move_shard_placement(shardid, nodeid, CASE nodeid WHEN :n1 THEN :n2 ELSE :n1 END)
	FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE shardid = 2470003;
COMMIT;
RESET ROLE;
SELECT split_part(places(), ';', 2);
SET client_min_messages TO error;
DROP SCHEMA any_node CASCADE;
DROP ROLE any_node_moves;
SELECT count(*) FROM pg_dist_cleanup;
