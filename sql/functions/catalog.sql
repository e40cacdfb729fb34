-- Metadata changes, run by the coordinator on every node. Rights are checked inside.

CREATE OR REPLACE FUNCTION pando.table_register(rel regclass, partmethod "char", distcol text,
		colocationid int4, repmodel "char", autoconverted boolean DEFAULT false) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'table_register';
CREATE OR REPLACE FUNCTION pando.table_unregister(rel regclass) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'table_unregister';
CREATE OR REPLACE FUNCTION pando.table_set_colocation(rel regclass, colocationid int4) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'table_set_colocation';
CREATE OR REPLACE FUNCTION pando.table_set_key(rel regclass, distcol text) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'table_set_key';

CREATE OR REPLACE FUNCTION pando.shards_register(rel regclass, shardids bigint[], mins text[],
		maxs text[]) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'shards_register';
CREATE OR REPLACE FUNCTION pando.shards_unregister(shardids bigint[]) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'shards_unregister';

CREATE OR REPLACE FUNCTION pando.placements_register(placementids bigint[], shardids bigint[],
		groupids int4[]) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'placements_register';
CREATE OR REPLACE FUNCTION pando.placement_set_group(placementid bigint, groupid int4) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'placement_set_group';
CREATE OR REPLACE FUNCTION pando.placement_unregister(placementid bigint) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'placement_unregister';

CREATE OR REPLACE FUNCTION pando.colocation_register(id int4, shardcount int4,
		replicationfactor int4, disttype regtype, distcollation regcollation,
		private boolean DEFAULT false) RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'colocation_register';
CREATE OR REPLACE FUNCTION pando.colocation_unregister(id int4) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'colocation_unregister';

CREATE OR REPLACE FUNCTION pando.schema_register(schema regnamespace, colocationid int4) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'schema_register';
CREATE OR REPLACE FUNCTION pando.schema_unregister(schema regnamespace) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'schema_unregister';

CREATE OR REPLACE FUNCTION pando.object_register(type text, object_names text[],
		object_args text[]) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'object_register';
CREATE OR REPLACE FUNCTION pando.object_distribute(type text, object_names text[],
		object_args text[], argument integer, colocationid integer, forced integer) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'object_distribute';

-- Changes to the catalogs by plain SQL are seen by all backends, too.

CREATE OR REPLACE FUNCTION pando.invalidate_cache() RETURNS trigger
	LANGUAGE c AS 'MODULE_PATHNAME', 'invalidate_cache';

DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['pg_dist_node', 'pg_dist_local_group',
		'pg_dist_node_metadata', 'pg_dist_partition', 'pg_dist_shard', 'pg_dist_placement']
	LOOP
		EXECUTE format('CREATE OR REPLACE TRIGGER invalidate_cache
			AFTER INSERT OR UPDATE OR DELETE ON pg_catalog.%I
			FOR EACH ROW EXECUTE FUNCTION pando.invalidate_cache()', name);
		EXECUTE format('CREATE OR REPLACE TRIGGER invalidate_cache_truncate
			AFTER TRUNCATE ON pg_catalog.%I
			FOR EACH STATEMENT EXECUTE FUNCTION pando.invalidate_cache()', name);
	END LOOP;
END $$;
