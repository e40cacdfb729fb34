-- Tables: distributing them, and the way back.

CREATE OR REPLACE FUNCTION pg_catalog.create_distributed_table(table_name regclass,
		distribution_column text, distribution_type citus.distribution_type DEFAULT 'hash',
		colocate_with text DEFAULT 'default', shard_count integer DEFAULT NULL) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'create_distributed_table';

CREATE OR REPLACE FUNCTION pg_catalog.create_distributed_table_concurrently(
		table_name regclass, distribution_column text,
		distribution_type citus.distribution_type DEFAULT 'hash',
		colocate_with text DEFAULT 'default', shard_count integer DEFAULT NULL) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'create_distributed_table_concurrently';

CREATE OR REPLACE FUNCTION pg_catalog.create_reference_table(table_name regclass)
	RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'create_reference_table';

CREATE OR REPLACE FUNCTION pg_catalog.undistribute_table(table_name regclass,
		cascade_via_foreign_keys boolean DEFAULT false) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'undistribute_table';

CREATE OR REPLACE FUNCTION pg_catalog.alter_distributed_table(table_name regclass,
		distribution_column text DEFAULT NULL, shard_count integer DEFAULT NULL,
		colocate_with text DEFAULT NULL, cascade_to_colocated boolean DEFAULT NULL)
	RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'alter_distributed_table';

CREATE OR REPLACE FUNCTION pg_catalog.update_distributed_table_colocation(
		table_name regclass, colocate_with text) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'update_distributed_table_colocation';

CREATE OR REPLACE FUNCTION pg_catalog.alter_table_set_access_method(table_name regclass,
		access_method text) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT AS $$
BEGIN
	EXECUTE pg_catalog.format('ALTER TABLE %s SET ACCESS METHOD %I', table_name, access_method);
END $$;

CREATE OR REPLACE FUNCTION pg_catalog.truncate_local_data_after_distributing_table(
		function_name regclass) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'truncate_local_data_after_distributing_table';

CREATE OR REPLACE FUNCTION pg_catalog.citus_add_local_table_to_metadata(table_name regclass,
		cascade_via_foreign_keys boolean DEFAULT false) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'citus_add_local_table_to_metadata';

CREATE OR REPLACE FUNCTION pg_catalog.remove_local_tables_from_metadata() RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'remove_local_tables_from_metadata';

CREATE OR REPLACE FUNCTION pg_catalog.create_distributed_function(function_name regprocedure,
		distribution_arg_name text DEFAULT NULL, colocate_with text DEFAULT 'default',
		force_delegation boolean DEFAULT NULL) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'create_distributed_function';
COMMENT ON FUNCTION pg_catalog.create_distributed_function(regprocedure, text, text, boolean) IS
	'calls of the function run on the node that has the rows of an argument';

-- Tables that are distributed by range or append: their shards one by one.

CREATE OR REPLACE FUNCTION pg_catalog.master_create_empty_shard(relation_name text)
	RETURNS bigint
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'master_create_empty_shard';

CREATE OR REPLACE FUNCTION pg_catalog.citus_drop_all_shards(logicalrelid regclass,
		schema_name text, table_name text, drop_shards_metadata_only boolean DEFAULT false)
	RETURNS integer
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_drop_all_shards';

CREATE OR REPLACE FUNCTION pando.shard_range_changed() RETURNS trigger
	LANGUAGE c AS 'MODULE_PATHNAME', 'shard_range_changed';

CREATE OR REPLACE TRIGGER range_changed
	AFTER UPDATE OF shardminvalue, shardmaxvalue ON pg_catalog.pg_dist_shard
	FOR EACH ROW EXECUTE FUNCTION pando.shard_range_changed();

-- Between nodes.

CREATE OR REPLACE FUNCTION pando.shard_set_range(shardid bigint, min text, max text)
	RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'shard_set_range';

CREATE OR REPLACE FUNCTION pando.shells_drop(names text[]) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'shells_drop';
