-- Nodes of one host share its processors in what runs on all of them: a node's part of a statement, which reads several shards of a table, has
-- processors / nodes - 1 parallel workers at most. What is for one shard, and who is no node, has what PostgreSQL gives.
SET client_min_messages = warning;
CREATE SCHEMA host_share;
SET search_path = host_share;
SET citus.next_shard_id = 1790000;
SET citus.shard_count = 8;
CREATE TABLE t (k int, v int);
SELECT create_distributed_table('t', 'k');
SELECT :'PORT' AS here, min(nodeport) AS worker FROM pg_dist_node WHERE noderole = 'primary' AND shouldhaveshards \gset
\c - - - :worker
SET search_path = host_share, public;
SET citus.override_table_visibility = off;
SELECT count(*) AS nodes FROM pg_dist_node WHERE noderole = 'primary' AND isactive AND shouldhaveshards
	AND nodename = (SELECT nodename FROM pg_dist_node WHERE nodeport = :worker) \gset
SELECT min(shard_name) AS one, max(shard_name) AS other FROM citus_shards WHERE table_name = 't'::regclass AND nodeport = :worker \gset
ALTER TABLE :one SET (parallel_workers = 8);
ALTER TABLE :other SET (parallel_workers = 8);
CREATE FUNCTION public.workers(statement text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		found := found + coalesce(substring(line from 'Workers Planned: (\d+)')::int, 0);
	END LOOP;
	RETURN found;
END $$;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 4;
SELECT format('SELECT sum(v) FROM (SELECT v FROM %s UNION ALL SELECT v FROM %s) s', :'one', :'other') AS part,
	format('WITH w AS NOT MATERIALIZED (SELECT v FROM %s UNION ALL SELECT v FROM %s) SELECT sum(v) FROM w', :'one', :'other') AS within,
	format('SELECT count(*) FROM %s a JOIN %s b USING (v)', :'one', :'one') AS whole \gset
SET pando.host_processors = 1;
SELECT public.workers(:'part') AS no_node;
SET application_name = 'citus_internal gpid=10000000001';
SELECT public.workers(:'part') AS part, public.workers(:'within') AS within, public.workers(:'whole') AS one_shard;
SELECT set_config('pando.host_processors', (3 * :nodes)::text, false) IS NOT NULL AS three_each;
SELECT public.workers(:'part') AS part, public.workers(:'within') AS within, public.workers(:'whole') AS one_shard;
SELECT set_config('pando.host_processors', (9 * :nodes)::text, false) IS NOT NULL AS nine_each;
SELECT public.workers(:'part') AS part, public.workers('SELECT 1 / 0 FROM ' || :'one' || ' UNION ALL SELECT 2 FROM ' || :'other') AS error;
SHOW max_parallel_workers_per_gather;
SET max_parallel_workers_per_gather = 1;
SELECT public.workers(:'part') AS part;
DROP FUNCTION public.workers;
\c - - - :here
SET client_min_messages = warning;
DROP SCHEMA host_share CASCADE;
