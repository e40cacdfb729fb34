-- Distributed schemas.

CREATE OR REPLACE FUNCTION pg_catalog.citus_schema_distribute(schemaname regnamespace) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_schema_distribute';
COMMENT ON FUNCTION pg_catalog.citus_schema_distribute(regnamespace) IS
	'the tables of the schema become single-shard tables that are together on a node, and new ones join them';

CREATE OR REPLACE FUNCTION pg_catalog.citus_schema_undistribute(schemaname regnamespace) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_schema_undistribute';
COMMENT ON FUNCTION pg_catalog.citus_schema_undistribute(regnamespace) IS
	'the tables of a distributed schema become local ones';

-- Any table's shard stands for the group's, and the node where it is.
CREATE OR REPLACE FUNCTION pando.schema_place(schema_id regnamespace, OUT shardid bigint, OUT nodeid integer)
	LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_dist_schema d WHERE d.schemaid = schema_id) THEN
		RAISE EXCEPTION 'schema % is not distributed', schema_id USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	SELECT s.shardid, n.nodeid INTO shardid, nodeid
	FROM pg_catalog.pg_dist_schema d
		JOIN pg_catalog.pg_dist_partition p USING (colocationid)
		JOIN pg_catalog.pg_dist_shard s USING (logicalrelid)
		JOIN pg_catalog.pg_dist_placement l ON l.shardid = s.shardid
		JOIN pg_catalog.pg_dist_node n ON n.groupid = l.groupid AND n.noderole = 'primary'::pg_catalog.noderole
	WHERE d.schemaid = schema_id ORDER BY s.shardid LIMIT 1;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'schema % has no tables to move', schema_id USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Its first table chooses the node.';
	END IF;
END $$;

CREATE OR REPLACE FUNCTION pg_catalog.citus_schema_move(schema_id regnamespace, target_node_id integer,
		shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto') RETURNS void
	LANGUAGE sql STRICT BEGIN ATOMIC
	SELECT pg_catalog.citus_move_shard_placement(p.shardid, p.nodeid, target_node_id, shard_transfer_mode)
	FROM pando.schema_place(schema_id) p;
END;

CREATE OR REPLACE FUNCTION pg_catalog.citus_schema_move(schema_id regnamespace, target_node_name text,
		target_node_port integer, shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto') RETURNS void
	LANGUAGE sql STRICT BEGIN ATOMIC
	SELECT pg_catalog.citus_move_shard_placement(p.shardid, pg_catalog.citus_nodename_for_nodeid(p.nodeid),
		pg_catalog.citus_nodeport_for_nodeid(p.nodeid), target_node_name, target_node_port, shard_transfer_mode)
	FROM pando.schema_place(schema_id) p;
END;
