-- Nodes of the cluster.

CREATE OR REPLACE FUNCTION pg_catalog.citus_set_coordinator_host(host text,
		port integer DEFAULT current_setting('port')::integer,
		node_role noderole DEFAULT 'primary', node_cluster name DEFAULT 'default') RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_set_coordinator_host';

CREATE OR REPLACE FUNCTION pg_catalog.citus_add_node(nodename text, nodeport integer,
		groupid integer DEFAULT -1, noderole noderole DEFAULT 'primary',
		nodecluster name DEFAULT 'default') RETURNS integer
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_add_node';

CREATE OR REPLACE FUNCTION pg_catalog.citus_add_inactive_node(nodename text, nodeport integer,
		groupid integer DEFAULT -1, noderole noderole DEFAULT 'primary',
		nodecluster name DEFAULT 'default') RETURNS integer
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_add_inactive_node';

CREATE OR REPLACE FUNCTION pg_catalog.citus_activate_node(nodename text, nodeport integer)
	RETURNS integer
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_activate_node';

CREATE OR REPLACE FUNCTION pg_catalog.citus_disable_node(nodename text, nodeport integer,
		synchronous boolean DEFAULT false) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_disable_node';

CREATE OR REPLACE FUNCTION pg_catalog.citus_remove_node(nodename text, nodeport integer)
	RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_remove_node';

CREATE OR REPLACE FUNCTION pg_catalog.citus_update_node(node_id integer, new_node_name text,
		new_node_port integer, force boolean DEFAULT false, lock_cooldown integer DEFAULT 10000)
	RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_update_node';

CREATE OR REPLACE FUNCTION pg_catalog.citus_set_node_property(nodename text, nodeport integer,
		property text, value boolean) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_set_node_property';

CREATE OR REPLACE FUNCTION pg_catalog.citus_add_secondary_node(nodename text, nodeport integer,
		primaryname text, primaryport integer, nodecluster name DEFAULT 'default')
	RETURNS integer
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_add_secondary_node';

CREATE OR REPLACE FUNCTION pg_catalog.start_metadata_sync_to_node(nodename text,
		nodeport integer) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'start_metadata_sync_to_node';

CREATE OR REPLACE FUNCTION pg_catalog.start_metadata_sync_to_all_nodes() RETURNS boolean
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'start_metadata_sync_to_all_nodes';

CREATE OR REPLACE FUNCTION pg_catalog.stop_metadata_sync_to_node(nodename text,
		nodeport integer, clear_metadata boolean DEFAULT true) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stop_metadata_sync_to_node';

-- Clones: streaming replicas that become workers.

CREATE OR REPLACE FUNCTION pg_catalog.citus_add_clone_node(replica_hostname text, replica_port integer,
		primary_hostname text, primary_port integer) RETURNS integer
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_add_clone_node';
CREATE OR REPLACE FUNCTION pg_catalog.citus_add_clone_node_with_nodeid(replica_hostname text,
		replica_port integer, primary_nodeid integer) RETURNS integer
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_add_clone_node_with_nodeid';
CREATE OR REPLACE FUNCTION pg_catalog.citus_remove_clone_node(nodename text, nodeport integer) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_remove_clone_node';
CREATE OR REPLACE FUNCTION pg_catalog.citus_remove_clone_node_with_nodeid(nodeid integer) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_remove_clone_node_with_nodeid';
CREATE OR REPLACE FUNCTION pg_catalog.citus_promote_clone_and_rebalance(clone_nodeid integer,
		rebalance_strategy name DEFAULT NULL, catchup_timeout_seconds integer DEFAULT 300) RETURNS void
	LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'citus_promote_clone_and_rebalance';

-- Who would have which shards of a worker after its clone's promotion (placement_node: host:port). Costliest shard groups
-- first, each goes where less of its colocation group, then less of all, is in proportion to the node's capacity.
CREATE OR REPLACE FUNCTION pg_catalog.get_snapshot_based_node_split_plan(primary_node_name text,
		primary_node_port integer, replica_node_name text, replica_node_port integer,
		rebalance_strategy name DEFAULT NULL)
	RETURNS TABLE (table_name regclass, shardid bigint, shard_size bigint, placement_node text)
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
	strategy pg_catalog.pg_dist_rebalance_strategy;
	own pg_catalog.pg_dist_node;
	clone pg_catalog.pg_dist_node;
	item record;
	capacity real[2];
	loads real[2] := '{0,0}';
	here real[2];
	colocation integer;
	place integer;
	allowed boolean;
BEGIN
	SELECT * INTO own FROM pg_catalog.pg_dist_node n WHERE n.nodename = primary_node_name
		AND n.nodeport = primary_node_port AND n.noderole = 'primary';
	IF own IS NULL THEN
		RAISE EXCEPTION 'node %:% is not a primary', primary_node_name, primary_node_port USING ERRCODE = 'undefined_object';
	END IF;
	SELECT * INTO clone FROM pg_catalog.pg_dist_node n WHERE n.nodename = replica_node_name
		AND n.nodeport = replica_node_port AND n.nodeisclone AND n.nodeprimarynodeid = own.nodeid;
	IF clone IS NULL THEN
		RAISE EXCEPTION 'node %:% is not a clone of node %:%', replica_node_name, replica_node_port,
			primary_node_name, primary_node_port USING ERRCODE = 'undefined_object',
			HINT = 'Add it with citus_add_clone_node().';
	END IF;
	SELECT * INTO strategy FROM pg_catalog.pg_dist_rebalance_strategy s
		WHERE CASE WHEN rebalance_strategy IS NULL THEN s.default_strategy ELSE s.name = rebalance_strategy END;
	IF strategy IS NULL THEN
		RAISE EXCEPTION 'could not find rebalance strategy with name %', coalesce(rebalance_strategy, 'default')
			USING ERRCODE = 'undefined_object';
	END IF;
	EXECUTE format('SELECT ARRAY[%s($1), %1$s($2)]', strategy.node_capacity_function)
		INTO capacity USING own.nodeid, clone.nodeid;
	FOR item IN EXECUTE format($query$
		SELECT g.colocationid, g.shards, %s(g.shards[1]) AS cost FROM (
			SELECT t.colocationid, array_agg(s.shardid ORDER BY s.shardid) AS shards
			FROM pg_catalog.pg_dist_placement p
			JOIN pg_catalog.pg_dist_shard s ON s.shardid = p.shardid
			JOIN pg_catalog.pg_dist_partition t ON t.logicalrelid = s.logicalrelid
			WHERE p.groupid = $1 AND t.repmodel <> 't'
			GROUP BY t.colocationid, CASE WHEN t.partmethod IN ('r', 'a') THEN s.shardid::text ELSE s.shardminvalue END) g
		ORDER BY g.colocationid, 3 DESC, g.shards[1] $query$, strategy.shard_cost_function) USING own.groupid
	LOOP
		IF colocation IS DISTINCT FROM item.colocationid THEN
			here := '{0,0}';
			colocation := item.colocationid;
		END IF;
		EXECUTE format('SELECT %s($1, $2)', strategy.shard_allowed_on_node_function)
			INTO allowed USING item.shards[1], clone.nodeid;
		place := CASE WHEN NOT allowed OR coalesce(capacity[2], 0) <= 0 THEN 1
			WHEN coalesce(capacity[1], 0) <= 0 THEN 2
			WHEN here[1] / capacity[1] <> here[2] / capacity[2]
				THEN CASE WHEN here[1] / capacity[1] < here[2] / capacity[2] THEN 1 ELSE 2 END
			WHEN loads[1] / capacity[1] <= loads[2] / capacity[2] THEN 1 ELSE 2 END;
		here[place] := here[place] + item.cost;
		loads[place] := loads[place] + item.cost;
		RETURN QUERY SELECT s.logicalrelid, s.shardid,
				(SELECT z.shard_size FROM pg_catalog.citus_shards z
					WHERE z.shardid = s.shardid AND z.nodename = own.nodename AND z.nodeport = own.nodeport),
				CASE place WHEN 1 THEN concat(own.nodename, ':', own.nodeport) ELSE concat(clone.nodename, ':', clone.nodeport) END
			FROM pg_catalog.pg_dist_shard s WHERE s.shardid = ANY(item.shards) ORDER BY s.shardid;
	END LOOP;
END $$;

-- Older spellings.

CREATE OR REPLACE FUNCTION pg_catalog.master_add_node(nodename text, nodeport integer,
		groupid integer DEFAULT -1, noderole noderole DEFAULT 'primary',
		nodecluster name DEFAULT 'default') RETURNS integer
	LANGUAGE sql STRICT
	BEGIN ATOMIC SELECT pg_catalog.citus_add_node($1, $2, $3, $4, $5); END;

CREATE OR REPLACE FUNCTION pg_catalog.master_add_inactive_node(nodename text, nodeport integer,
		groupid integer DEFAULT -1, noderole noderole DEFAULT 'primary',
		nodecluster name DEFAULT 'default') RETURNS integer
	LANGUAGE sql STRICT
	BEGIN ATOMIC SELECT pg_catalog.citus_add_inactive_node($1, $2, $3, $4, $5); END;

CREATE OR REPLACE FUNCTION pg_catalog.master_activate_node(nodename text, nodeport integer)
	RETURNS integer
	LANGUAGE sql STRICT
	BEGIN ATOMIC SELECT pg_catalog.citus_activate_node($1, $2); END;

CREATE OR REPLACE FUNCTION pg_catalog.master_disable_node(nodename text, nodeport integer)
	RETURNS void
	LANGUAGE sql STRICT
	BEGIN ATOMIC SELECT pg_catalog.citus_disable_node($1, $2); END;

CREATE OR REPLACE FUNCTION pg_catalog.master_remove_node(nodename text, nodeport integer)
	RETURNS void
	LANGUAGE sql STRICT
	BEGIN ATOMIC SELECT pg_catalog.citus_remove_node($1, $2); END;

CREATE OR REPLACE FUNCTION pg_catalog.master_update_node(node_id integer, new_node_name text,
		new_node_port integer, force boolean DEFAULT false, lock_cooldown integer DEFAULT 10000)
	RETURNS void
	LANGUAGE sql STRICT
	BEGIN ATOMIC SELECT pg_catalog.citus_update_node($1, $2, $3, $4, $5); END;

CREATE OR REPLACE FUNCTION pg_catalog.master_set_node_property(nodename text, nodeport integer,
		property text, value boolean) RETURNS void
	LANGUAGE sql STRICT
	BEGIN ATOMIC SELECT pg_catalog.citus_set_node_property($1, $2, $3, $4); END;

CREATE OR REPLACE FUNCTION pg_catalog.master_add_secondary_node(nodename text,
		nodeport integer, primaryname text, primaryport integer,
		nodecluster name DEFAULT 'default') RETURNS integer
	LANGUAGE sql STRICT
	BEGIN ATOMIC SELECT pg_catalog.citus_add_secondary_node($1, $2, $3, $4, $5); END;

-- Between nodes.

CREATE OR REPLACE FUNCTION pando.nodes_changed() RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'nodes_changed';
CREATE OR REPLACE FUNCTION pando.metadata_changed() RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'metadata_changed';
CREATE OR REPLACE FUNCTION pando.table_changed(rel regclass) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'table_changed';
CREATE OR REPLACE FUNCTION pando.table_lock(rel regclass, mode text) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'table_lock';
-- Who writes to one of the tables now has so many milliseconds to end, and is ended then; how many were.
CREATE OR REPLACE FUNCTION pando.writers_end(tables regclass[], cooldown integer) RETURNS bigint
	LANGUAGE plpgsql STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	deadline timestamptz := clock_timestamp() + cooldown * interval '1 ms';
	writers text[];
	ended bigint;
BEGIN
	writers := ARRAY(SELECT DISTINCT l.virtualtransaction FROM pg_locks l WHERE l.relation = ANY(tables)
		AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
		AND l.granted AND l.mode = 'RowExclusiveLock' AND l.pid <> pg_backend_pid());
	WHILE clock_timestamp() < deadline LOOP
		EXIT WHEN NOT EXISTS (SELECT FROM pg_locks l WHERE l.virtualtransaction = ANY(writers));
		PERFORM pg_sleep(0.02);
	END LOOP;
	SELECT count(pg_terminate_backend(w.pid)) INTO ended FROM (SELECT DISTINCT l.pid FROM pg_locks l
		WHERE l.virtualtransaction = ANY(writers) AND l.pid IS NOT NULL) w;
	RETURN ended;
END $$;

-- Ends who holds a lock on one of the tables now; how many were.
CREATE OR REPLACE FUNCTION pando.users_end(tables regclass[]) RETURNS bigint
	LANGUAGE sql STRICT SET search_path = pg_catalog, pg_temp AS $$
	SELECT count(pg_terminate_backend(u.pid)) FROM (SELECT DISTINCT l.pid FROM pg_locks l WHERE l.relation = ANY($1) AND l.granted
		AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) AND l.pid <> pg_backend_pid()) u
$$;
CREATE OR REPLACE FUNCTION pando.node_leave() RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'node_leave';
REVOKE ALL ON FUNCTION pando.writers_end(regclass[], integer), pando.users_end(regclass[]), pando.node_leave(), pando.nodes_changed(), pando.metadata_changed(),
	pando.table_changed(regclass) FROM public;
