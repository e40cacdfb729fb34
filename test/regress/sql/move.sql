-- Shards move with all that is colocated, and the rebalancer evens nodes out.
\set VERBOSITY terse
SET client_min_messages TO warning;
CREATE SCHEMA move;
SET search_path TO move;
SET citus.next_shard_id TO 1440000;
CREATE TABLE ref (a int PRIMARY KEY);
SELECT create_reference_table('ref');
INSERT INTO ref SELECT generate_series(1, 9);
CREATE TABLE p (id int PRIMARY KEY, b text DEFAULT 'none', g int GENERATED ALWAYS AS (id * 2) STORED);
CREATE INDEX p_b ON p (b);
SELECT create_distributed_table('p', 'id', shard_count := 4, colocate_with := 'none');
CREATE TABLE c (id int REFERENCES p, n int REFERENCES ref, PRIMARY KEY (id, n));
SELECT create_distributed_table('c', 'id', colocate_with := 'p');
INSERT INTO p SELECT i, 'x' || i FROM generate_series(1, 1000) i;
INSERT INTO c SELECT i, i % 9 + 1 FROM generate_series(1, 1000) i;

SELECT nodeid AS n0 FROM pg_dist_node WHERE groupid = 0 \gset
SELECT nodeid AS n1 FROM pg_dist_node WHERE groupid = 1 \gset
SELECT nodeid AS n2 FROM pg_dist_node WHERE groupid = 2 \gset

-- Where the shards are: groups of the nodes, by shard.
CREATE VIEW places AS SELECT logicalrelid, string_agg(groupid::text, ' ' ORDER BY shardid, groupid) AS groups
	FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
	WHERE logicalrelid IN ('p'::regclass, 'c'::regclass) GROUP BY 1 ORDER BY 1;
CREATE VIEW sums AS SELECT count(*), sum(p.id) AS ids, sum(g) AS g, sum(n) AS n FROM p JOIN c USING (id);
TABLE places;
TABLE sums;

-- To a worker, to the coordinator, and back, in one transaction with changes of its own.
BEGIN;
UPDATE p SET b = 'changed' WHERE id <= 100;
SELECT citus_move_shard_placement(1440001, :n1, :n2);
SELECT citus_move_shard_placement(1440001, :n2, :n0);
TABLE places;
TABLE sums;
SELECT count(*) FROM p WHERE b = 'changed';
INSERT INTO p VALUES (2001);
ROLLBACK;
TABLE places;
SELECT citus_move_shard_placement(1440001, :n1, :n2);
SELECT citus_move_shard_placement(1440002, :n2, :n0);
TABLE places;
TABLE sums;

-- What comes along: constraints and indexes.
INSERT INTO c VALUES (5000, 1);
INSERT INTO c VALUES (1, 77);
INSERT INTO p (id) SELECT generate_series(1, 1);
SELECT DISTINCT result FROM run_command_on_placements('p',
	$$SELECT count(*) FROM pg_index WHERE indrelid = '%s'::regclass$$);

-- The rebalancer.
SELECT table_name, shardid FROM get_rebalance_table_shards_plan('p');
SELECT rebalance_table_shards('p');
TABLE places;
TABLE sums;
SELECT count(*) FROM get_rebalance_table_shards_plan('p');
SELECT count(*) FROM get_rebalance_progress();
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false)
	FROM pg_dist_node WHERE groupid = 1;
SELECT rebalance_table_shards('p', drain_only := true);
TABLE places;
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true)
	FROM pg_dist_node WHERE groupid = 1;
SELECT rebalance_table_shards('p', max_shard_moves := 1);
TABLE places;
SELECT rebalance_table_shards('p', excluded_shard_list := ARRAY(
	SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'c'::regclass));
SELECT rebalance_table_shards('p', rebalance_strategy := 'by_disk_size', threshold := 0.5);
-- The strategy counts a shard group's bytes, and some more.
SET citus.rebalancer_by_disk_size_base_cost = '10MB';
SELECT citus_shard_cost_by_disk_size(1440001) - 10 * 1024 * 1024 BETWEEN 1 AND 1024 * 1024;
RESET citus.rebalancer_by_disk_size_base_cost;
TABLE sums;

-- What is refused.
SELECT citus_move_shard_placement(1, :n1, :n2);
SELECT citus_move_shard_placement(1440001, :n1, 77);
SELECT citus_move_shard_placement(1440000, :n1, :n2);
BEGIN;
UPDATE p SET b = b WHERE id = 1;
SELECT citus_move_shard_placement(1440001, :n1, :n2, 'force_logical');
ROLLBACK;
BEGIN;
SELECT rebalance_table_shards('p', shard_transfer_mode := 'force_logical');
ROLLBACK;
-- The statement's own lock on the table: the moves are its own, too.
SELECT rebalance_table_shards('p', shard_transfer_mode := 'force_logical') FROM p LIMIT 1;
SELECT citus_copy_shard_placement(1440001, :n1, :n2);
-- Nobody has all of a disk free, but who doesn't ask can't be told.
SET citus.desired_percent_disk_available_after_move = 100;
DO $$
DECLARE
	message text;
BEGIN
	PERFORM citus_move_shard_placement(1440001, a.nodeid, b.nodeid) FROM pg_dist_node a, pg_dist_node b WHERE a.groupid = 1 AND b.groupid = 2;
EXCEPTION WHEN disk_full THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT;
	RAISE WARNING '%', regexp_replace(message, '[0-9.]+:[0-9]+', '(node)');
END $$;
SET citus.check_available_space_before_move = off;
BEGIN;
SELECT citus_move_shard_placement(1440001, :n1, :n2);
ROLLBACK;
RESET citus.check_available_space_before_move;
RESET citus.desired_percent_disk_available_after_move;
SELECT rebalance_table_shards('ref');
SELECT rebalance_table_shards('p', rebalance_strategy := 'nope');
SELECT citus_add_rebalance_strategy('mine', 'citus_shard_cost_1', 'citus_shard_cost_1',
	'citus_shard_allowed_on_node_true', 0);
CREATE ROLE move_other LOGIN;
SET ROLE move_other;
SELECT citus_move_shard_placement(1440001, :n1, :n2);
CALL citus_cleanup_orphaned_resources();
RESET ROLE;
DROP ROLE move_other;
CALL citus_cleanup_orphaned_resources();

DROP SCHEMA move CASCADE;
