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

CREATE OR REPLACE FUNCTION pando.node_leave() RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'node_leave';
REVOKE ALL ON FUNCTION pando.writers_end(regclass[], integer), pando.node_leave(), pando.nodes_changed(), pando.metadata_changed(),
	pando.table_changed(regclass) FROM public;
