-- What views and functions tell of tables, shards and nodes; shards don't show among relations.
\set VERBOSITY terse
CREATE SCHEMA cluster_views;
SET search_path TO cluster_views;
SET citus.next_shard_id TO 1420000;
CREATE TABLE t (a int PRIMARY KEY, "B b" text);
SELECT create_distributed_table('t', 'a', shard_count := 4);
CREATE TABLE "U u" (a int);
SELECT create_distributed_table('"U u"', 'a', colocate_with := 't');
CREATE TABLE ref (a int);
SELECT create_reference_table('ref');
CREATE TABLE plain (a int);

SELECT table_name, citus_table_type, distribution_column, table_size, shard_count, table_owner,
		access_method
	FROM public.citus_tables WHERE table_name::text !~ '\.' ORDER BY table_name::text;
SELECT table_name, shardid, shard_name, citus_table_type, shard_size
	FROM citus_shards WHERE table_name::text !~ '\.' ORDER BY shardid, nodeport;
SELECT role, active FROM citus_nodes ORDER BY nodeport;
SELECT citus_table_size('t'), citus_relation_size('t'), citus_total_relation_size('t');
SELECT citus_table_size('plain');

SELECT worker_hash(42) = hashint4(42), worker_hash('x') = hashtext('x');
SELECT get_shard_id_for_distribution_column('t', 1), get_shard_id_for_distribution_column('t', '1'),
	get_shard_id_for_distribution_column('ref');
SELECT get_shard_id_for_distribution_column('t');
SELECT shard_name('t', 1420000), shard_name('"U u"', 7), shard_name('pg_class', 7, false);
SELECT distributed_tables_colocated('t', '"U u"'), distributed_tables_colocated('t', 'ref');
SELECT get_colocated_table_array('t'), get_colocated_shard_array(1420001);
SELECT distributed_tables_colocated('t', 'plain');
SELECT any_value(x) FROM (VALUES (NULL), (3)) v (x);

-- Shards are hidden from what clients ask, not from what runs for them.
SELECT result FROM run_command_on_workers(
	$$SELECT count(*) > 0 FROM pg_class WHERE relname ~ '^t_142'$$);
SELECT relname FROM pg_class WHERE relname ~ '^ref' ORDER BY 1;
SELECT table_name FROM information_schema.tables WHERE table_name ~ '^ref';
SET citus.override_table_visibility TO off;
SELECT relname FROM pg_class WHERE relname ~ '^ref' ORDER BY 1;
RESET citus.override_table_visibility;
-- By the application's name: to whom they are shown, and from whom they are hidden.
SET application_name = 'dashboard 7';
SET citus.show_shards_for_app_name_prefixes = 'report, dash';
SELECT count(*) FROM pg_class WHERE relname ~ '^ref_';
SET citus.show_shards_for_app_name_prefixes = 'report';
SELECT count(*) FROM pg_class WHERE relname ~ '^ref_';
SET citus.hide_shards_from_app_name_prefixes = 'psql, pg_dump';
SELECT count(*) FROM pg_class WHERE relname ~ '^ref_';
SET citus.hide_shards_from_app_name_prefixes = 'psql, dash';
SELECT count(*) FROM pg_class WHERE relname ~ '^ref_';
RESET citus.hide_shards_from_app_name_prefixes;
RESET citus.show_shards_for_app_name_prefixes;
RESET application_name;

-- The second spelling of settings.
SET canopy.shard_count TO 7;
SHOW citus.shard_count;
RESET canopy.shard_count;
SHOW citus.shard_count;
SET canopy.nothing TO 1;

SET client_min_messages TO warning;
DROP SCHEMA cluster_views CASCADE;
SELECT count(*) FROM pg_dist_shard WHERE shardid BETWEEN 1420000 AND 1429999;
