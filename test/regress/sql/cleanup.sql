-- After all tests: dropping every distributed table leaves no shard, no metadata and no prepared
-- transaction on any node.
SET client_min_messages = warning;
DO $$
DECLARE
	name text;
BEGIN
	FOR name IN SELECT logicalrelid::text FROM pg_dist_partition LOOP
		EXECUTE 'DROP TABLE IF EXISTS ' || name || ' CASCADE';
	END LOOP;
END $$;
SELECT DISTINCT success, result FROM run_command_on_all_nodes('SELECT public.ddl_leftovers()');
SELECT DISTINCT success, result FROM run_command_on_all_nodes(
	'SELECT (SELECT count(*) FROM pg_dist_partition) + (SELECT count(*) FROM pg_dist_shard) + (SELECT count(*) FROM pg_dist_placement)');
