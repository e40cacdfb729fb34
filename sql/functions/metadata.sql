-- What this node knows of tables, shards and nodes.

-- True; an error on another node.
CREATE OR REPLACE FUNCTION pando.require_coordinator() RETURNS boolean
	LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'require_coordinator';

CREATE OR REPLACE FUNCTION pg_catalog.worker_hash(value "any") RETURNS int4
	LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'worker_hash';
CREATE OR REPLACE FUNCTION pg_catalog.get_shard_id_for_distribution_column(table_name regclass,
		distribution_value "any" DEFAULT NULL) RETURNS bigint
	LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'get_shard_id_for_distribution_column';

CREATE OR REPLACE FUNCTION pg_catalog.shard_name(object_name regclass, shard_id bigint,
		skip_qualify_public boolean DEFAULT true) RETURNS text
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'shard_name';
CREATE OR REPLACE FUNCTION pg_catalog.column_to_column_name(table_name regclass,
		column_var_text text) RETURNS text
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'column_to_column_name';
CREATE OR REPLACE FUNCTION pg_catalog.column_name_to_column(table_name regclass, column_name text)
		RETURNS text
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'column_name_to_column';
CREATE OR REPLACE FUNCTION pg_catalog.citus_table_is_visible(oid) RETURNS boolean
	LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'citus_table_is_visible';
CREATE OR REPLACE FUNCTION pando.relation_shard_id(oid) RETURNS bigint
	LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'relation_shard_id';

CREATE OR REPLACE FUNCTION pg_catalog.distributed_tables_colocated(table1 regclass,
		table2 regclass) RETURNS boolean
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'distributed_tables_colocated';
CREATE OR REPLACE FUNCTION pg_catalog.get_colocated_table_array(regclass) RETURNS regclass[]
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'get_colocated_table_array';
CREATE OR REPLACE FUNCTION pg_catalog.get_colocated_shard_array(bigint) RETURNS bigint[]
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'get_colocated_shard_array';

CREATE OR REPLACE FUNCTION pg_catalog.citus_version() RETURNS text
	LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'citus_version';
CREATE OR REPLACE FUNCTION pg_catalog.citus_coordinator_nodeid() RETURNS int4
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'citus_coordinator_nodeid';
CREATE OR REPLACE FUNCTION pg_catalog.citus_is_coordinator() RETURNS boolean
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'citus_is_coordinator';
CREATE OR REPLACE FUNCTION pg_catalog.citus_nodename_for_nodeid(nodeid int4) RETURNS text
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'citus_nodename_for_nodeid';
CREATE OR REPLACE FUNCTION pg_catalog.citus_nodeport_for_nodeid(nodeid int4) RETURNS int4
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'citus_nodeport_for_nodeid';

CREATE OR REPLACE FUNCTION pg_catalog.citus_get_active_worker_nodes(OUT node_name text,
		OUT node_port bigint) RETURNS SETOF record
	LANGUAGE sql STABLE STRICT BEGIN ATOMIC
	SELECT nodename, nodeport::bigint FROM pg_catalog.pg_dist_node
	WHERE isactive AND noderole = 'primary'::pg_catalog.noderole AND groupid <> 0
	ORDER BY nodename, nodeport;
END;
CREATE OR REPLACE FUNCTION pg_catalog.master_get_active_worker_nodes(OUT node_name text,
		OUT node_port bigint) RETURNS SETOF record
	LANGUAGE sql STABLE STRICT BEGIN ATOMIC
	SELECT node_name, node_port FROM pg_catalog.citus_get_active_worker_nodes();
END;

-- PostgreSQL has any_value itself from version 16 on.
CREATE OR REPLACE FUNCTION pando.any_value_give() RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	CREATE OR REPLACE AGGREGATE pg_catalog.any_value(anyelement) (
		SFUNC = pando.any_value_transition, STYPE = anyelement,
		COMBINEFUNC = pando.any_value_transition, PARALLEL = SAFE);
END $$;
DO $$
BEGIN
	IF current_setting('server_version_num')::int < 160000 THEN
		CREATE OR REPLACE FUNCTION pando.any_value_transition(anyelement, anyelement)
			RETURNS anyelement
			LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
			AS 'MODULE_PATHNAME', 'any_value_transition';
		PERFORM pando.any_value_give();
	END IF;
END $$;
