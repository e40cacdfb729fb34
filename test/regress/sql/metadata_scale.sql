-- A backend knows the shards of those tables that it has used, and no others: with 10,000
-- shards in the catalogs its memory is bounded by what it touches.
SET client_min_messages = warning;
CREATE SCHEMA metadata_scale;
SET search_path = metadata_scale;
DO $$ BEGIN FOR i IN 1 .. 100 LOOP EXECUTE format('CREATE TABLE t%s (k int PRIMARY KEY)', i); END LOOP; END $$;
-- Made up: no node has these shards.
SET allow_system_table_mods = on;
SET session_replication_role = replica;
INSERT INTO pg_dist_colocation SELECT 7770, 100, 1, 'int'::regtype, 0;
INSERT INTO pg_dist_partition SELECT ('t' || i)::regclass, 'h', 'k', 7770, 's', false FROM generate_series(1, 100) i;
INSERT INTO pg_dist_shard SELECT ('t' || i)::regclass, 7800000 + i * 100 + s, 't', (-2147483648 + s * 42949672::bigint)::text, CASE WHEN s = 99 THEN '2147483647' ELSE (-2147483648 + (s + 1) * 42949672::bigint - 1)::text END
	FROM generate_series(1, 100) i, generate_series(0, 99) s;
INSERT INTO pg_dist_placement SELECT 7800000 + i * 100 + s, 7800000 + i * 100 + s, 1, 0, 1 + s % 2 FROM generate_series(1, 100) i, generate_series(0, 99) s;
\c -
SET client_min_messages = warning;
SET search_path = metadata_scale;
CREATE FUNCTION kilobytes() RETURNS numeric LANGUAGE sql AS $$
	SELECT sum(total_bytes) / 1024 FROM pg_backend_memory_contexts WHERE name LIKE 'pando%' $$;
SELECT get_shard_id_for_distribution_column('t1', 1);
SELECT kilobytes() < 250 AS one_table;
SELECT count(get_shard_id_for_distribution_column(('t' || i)::regclass, 1)) FROM generate_series(1, 100) i;
SELECT kilobytes() < 6000 AS all_tables;
-- A table's shards and their placements are read by one scan each, however many they are.
\c -
SET search_path = metadata_scale;
BEGIN;
SELECT get_shard_id_for_distribution_column('t2', 1);
SELECT relname, idx_scan, idx_tup_fetch FROM pg_stat_xact_all_tables WHERE relname IN ('pg_dist_shard', 'pg_dist_placement') ORDER BY 1;
COMMIT;
-- Every shard is found by its id, its neighbour in another table is not taken for it, and its place is right.
SELECT count(*), count(DISTINCT shard_name) FROM (SELECT shard_name(('t' || i)::regclass, 7800000 + i * 100 + s) FROM generate_series(1, 100) i, generate_series(0, 99) s) n;
SELECT count(*), bool_and(nodeport = (SELECT min(n.nodeport) + (s.shardid % 2) FROM pg_dist_node n WHERE groupid IN (1, 2))) FROM citus_shards s WHERE s.colocation_id = 7770;
-- Knowing them anew does not add to it.
SELECT kilobytes() AS before \gset
DO $$ BEGIN
	FOR i IN 1 .. 5 LOOP
		PERFORM pg_catalog.set_config('allow_system_table_mods', 'on', true);
		UPDATE pg_dist_partition SET autoconverted = autoconverted WHERE colocationid = 7770;
		PERFORM get_shard_id_for_distribution_column(('t' || j)::regclass, 1) FROM generate_series(1, 100) j;
	END LOOP;
END $$;
SELECT kilobytes() < :before + 500 AS not_more;
-- What composes definitions is planned once in a session, not for each table, and its plans do not become more.
SELECT count(*) > 0 AS defined FROM generate_series(1, 10) i, pando.table_definition(('t' || i)::regclass, false);
SELECT bool_or(ident ~ 'pando.create_table_command') AS plan_is_kept FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource';
SELECT count(*) AS plans FROM pg_backend_memory_contexts WHERE name LIKE 'CachedPlan%' \gset
SELECT count(*) > 0 AS defined FROM generate_series(1, 100) i, pando.table_definition(('t' || i)::regclass, false);
SELECT count(*) = :plans AS no_more_plans FROM pg_backend_memory_contexts WHERE name LIKE 'CachedPlan%';
SET allow_system_table_mods = on;
SET session_replication_role = replica;
DELETE FROM pg_dist_placement WHERE placementid BETWEEN 7800000 AND 7899999;
DELETE FROM pg_dist_shard WHERE shardid BETWEEN 7800000 AND 7899999;
DELETE FROM pg_dist_partition WHERE colocationid = 7770;
DELETE FROM pg_dist_colocation WHERE colocationid = 7770;
\c -
SET client_min_messages = warning;
DROP SCHEMA metadata_scale CASCADE;
