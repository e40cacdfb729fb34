-- Functions that old scripts call; what their names say, by what is here.

CREATE OR REPLACE FUNCTION pg_catalog.citus_calculate_gpid(nodeid integer, pid integer) RETURNS bigint
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	BEGIN ATOMIC SELECT nodeid * 10000000000 + pid; END;

CREATE OR REPLACE FUNCTION pg_catalog.citus_is_primary_node() RETURNS boolean
	LANGUAGE sql STABLE STRICT
	BEGIN ATOMIC SELECT NOT pg_catalog.pg_is_in_recovery(); END;

CREATE OR REPLACE FUNCTION pg_catalog.citus_run_local_command(command text) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT AS $$
BEGIN
	EXECUTE command;
END $$;

-- Commands on servers that are nodes, as run_command_on_workers() runs them.
CREATE OR REPLACE FUNCTION pg_catalog.master_run_on_worker(worker_name text[], port integer[],
		command text[], parallel boolean, OUT node_name text, OUT node_port integer,
		OUT success boolean, OUT result text) RETURNS SETOF record
	LANGUAGE plpgsql VOLATILE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	ids int4[] := '{}';
	id int4;
BEGIN
	IF cardinality(worker_name) <> cardinality(port) OR cardinality(port) <> cardinality(command) THEN
		RAISE EXCEPTION 'array arguments differ in length' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	FOR i IN 1 .. cardinality(worker_name) LOOP
		SELECT n.nodeid INTO id FROM pando.active_nodes() n
		WHERE n.nodename = worker_name[i] AND n.nodeport = port[i];
		IF NOT FOUND THEN
			RAISE EXCEPTION '%:% is not an active node', worker_name[i], port[i]
				USING ERRCODE = 'undefined_object';
		END IF;
		ids := ids || id;
	END LOOP;
	RETURN QUERY SELECT worker_name[r.ord], port[r.ord], r.success, r.result
		FROM pando.run_commands(ids, command, parallel, false) r ORDER BY r.ord;
END $$;

-- The commands that make a table, without its rows.
CREATE OR REPLACE FUNCTION pg_catalog.master_get_table_ddl_events(text) RETURNS SETOF text
	LANGUAGE sql STABLE STRICT
	BEGIN ATOMIC SELECT d.command FROM pando.table_definition($1::regclass, false) d; END;

-- Locks a table as LOCK TABLE does; false if there is none of that name.
CREATE OR REPLACE FUNCTION pg_catalog.lock_relation_if_exists(table_name text, lock_mode text)
		RETURNS boolean
	LANGUAGE plpgsql VOLATILE STRICT AS $$
DECLARE
	rel pg_catalog.regclass := pg_catalog.to_regclass(table_name);
BEGIN
	IF pg_catalog.upper(lock_mode) NOT IN ('ACCESS SHARE', 'ROW SHARE', 'ROW EXCLUSIVE',
			'SHARE UPDATE EXCLUSIVE', 'SHARE', 'SHARE ROW EXCLUSIVE', 'EXCLUSIVE', 'ACCESS EXCLUSIVE') THEN
		RAISE EXCEPTION 'unknown lock mode: %', lock_mode USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF rel IS NULL THEN
		RETURN false;
	END IF;
	EXECUTE pg_catalog.format('LOCK TABLE %s IN %s MODE', rel, lock_mode);
	RETURN true;
EXCEPTION WHEN undefined_table THEN
	RETURN false;
END $$;

-- Tables and shards.

CREATE OR REPLACE FUNCTION pg_catalog.master_create_distributed_table(table_name regclass,
		distribution_column text, distribution_method citus.distribution_type) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT AS $$
BEGIN
	PERFORM pg_catalog.create_distributed_table(table_name, distribution_column, distribution_method);
END $$;
CREATE OR REPLACE FUNCTION pg_catalog.mark_tables_colocated(source_table_name regclass,
		target_table_names regclass[]) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT AS $$
DECLARE
	target pg_catalog.regclass;
BEGIN
	FOREACH target IN ARRAY target_table_names LOOP
		PERFORM pg_catalog.update_distributed_table_colocation(target, source_table_name::pg_catalog.text);
	END LOOP;
END $$;
-- A table becomes a reference table, rows and all.
CREATE OR REPLACE FUNCTION pg_catalog.upgrade_to_reference_table(table_name regclass) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT AS $$
BEGIN
	PERFORM pg_catalog.undistribute_table(table_name);
	PERFORM pg_catalog.create_reference_table(table_name);
END $$;
CREATE OR REPLACE FUNCTION pg_catalog.master_get_new_shardid() RETURNS bigint
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'master_get_new_shardid';
-- Notes the sizes of the shards of a shard's table, and returns the shard's.
CREATE OR REPLACE FUNCTION pg_catalog.citus_update_shard_statistics(shard_id bigint) RETURNS bigint
	LANGUAGE plpgsql VOLATILE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	rel regclass := (SELECT s.logicalrelid FROM pg_catalog.pg_dist_shard s WHERE s.shardid = shard_id);
BEGIN
	IF rel IS NULL THEN
		RAISE EXCEPTION 'shard % does not exist', shard_id USING ERRCODE = 'undefined_object';
	END IF;
	PERFORM pg_catalog.citus_update_table_statistics(rel);
	RETURN (SELECT p.shardlength FROM pg_catalog.pg_dist_placement p
		WHERE p.shardid = shard_id ORDER BY p.placementid LIMIT 1);
END $$;
CREATE OR REPLACE FUNCTION pg_catalog.citus_shard_sizes(OUT shard_id integer, OUT size bigint) RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	SELECT z.shardid::integer, z.size FROM pando.placement_sizes('total', NULL, false) z;
END;
-- A value of a sequence that no other node gives, of whatever width.
CREATE OR REPLACE FUNCTION pg_catalog.worker_nextval(sequence regclass) RETURNS integer
	LANGUAGE sql VOLATILE STRICT BEGIN ATOMIC SELECT pando.sequence_next(sequence)::integer; END;

-- Transactions under way, of all nodes and of this one, as far as pg_stat_activity shows them to the user. The number is
-- the time when the transaction began on the node that leads it, in microseconds.
CREATE OR REPLACE FUNCTION pando.active_transactions(OUT nodeid integer, OUT datid oid, OUT process_id integer,
		OUT initiator_node_identifier integer, OUT worker_query boolean,
		OUT transaction_number bigint, OUT transaction_stamp timestamptz) RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	WITH backends AS MATERIALIZED (SELECT * FROM pando.activity())
	SELECT b.nodeid, (b.activity).datid, (b.activity).pid, n.groupid, b.is_worker_query,
		(extract(epoch FROM (l.activity).xact_start) * 1000000)::bigint, (l.activity).xact_start
	FROM backends b JOIN backends l ON l.global_pid = b.global_pid AND NOT l.is_worker_query
		JOIN pg_catalog.pg_dist_node n ON n.nodeid = pg_catalog.citus_nodeid_for_gpid(b.global_pid)
	WHERE (b.activity).xact_start IS NOT NULL AND (l.activity).xact_start IS NOT NULL
		AND (b.activity).backend_type = 'client backend';
END;
CREATE OR REPLACE FUNCTION pg_catalog.get_global_active_transactions(OUT datid oid, OUT process_id integer,
		OUT initiator_node_identifier integer, OUT worker_query boolean,
		OUT transaction_number bigint, OUT transaction_stamp timestamptz) RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	SELECT t.datid, t.process_id, t.initiator_node_identifier, t.worker_query, t.transaction_number, t.transaction_stamp
	FROM pando.active_transactions() t;
END;
CREATE OR REPLACE FUNCTION pg_catalog.get_all_active_transactions(OUT datid oid, OUT process_id integer,
		OUT initiator_node_identifier integer, OUT worker_query boolean,
		OUT transaction_number bigint, OUT transaction_stamp timestamptz) RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	SELECT t.datid, t.process_id, t.initiator_node_identifier, t.worker_query, t.transaction_number, t.transaction_stamp
	FROM pando.active_transactions() t JOIN pg_catalog.pg_dist_node n USING (nodeid)
		JOIN pg_catalog.pg_dist_local_group g USING (groupid);
END;

-- Concatenations.

CREATE OR REPLACE AGGREGATE pg_catalog.jsonb_cat_agg(jsonb) (
	SFUNC = jsonb_concat, STYPE = jsonb, COMBINEFUNC = jsonb_concat, PARALLEL = SAFE);

-- json keeps its text: what is between the brackets of both, which are both objects or both arrays.
CREATE OR REPLACE FUNCTION pando.json_cat(a json, b json) RETURNS json
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	kind text := json_typeof(a);
	ends text := CASE kind WHEN 'array' THEN '[]' ELSE '{}' END;
	inner_a text := btrim(a::text, E' \t\n\r');
	inner_b text := btrim(b::text, E' \t\n\r');
BEGIN
	IF kind NOT IN ('array', 'object') OR kind <> json_typeof(b) THEN
		RAISE EXCEPTION 'cannot concatenate % and %', kind, json_typeof(b)
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	inner_a := btrim(substr(inner_a, 2, length(inner_a) - 2), E' \t\n\r');
	inner_b := btrim(substr(inner_b, 2, length(inner_b) - 2), E' \t\n\r');
	RETURN (left(ends, 1) || inner_a || CASE WHEN inner_a <> '' AND inner_b <> '' THEN ', ' ELSE '' END
		|| inner_b || right(ends, 1))::json;
END $$;
CREATE OR REPLACE AGGREGATE pg_catalog.json_cat_agg(json) (
	SFUNC = pando.json_cat, STYPE = json, COMBINEFUNC = pando.json_cat, PARALLEL = SAFE);

CREATE OR REPLACE AGGREGATE pg_catalog.array_cat_agg(anycompatiblearray) (
	SFUNC = array_cat, STYPE = anycompatiblearray, COMBINEFUNC = array_cat, PARALLEL = SAFE);

-- Aggregates in two halves, with states in their text form: those of type internal have none.

CREATE OR REPLACE FUNCTION pando.worker_partial_agg_step(internal, oid, anyelement)
	RETURNS internal LANGUAGE C IMMUTABLE AS 'MODULE_PATHNAME', 'partial_agg_step';
CREATE OR REPLACE FUNCTION pando.worker_partial_agg_done(internal)
	RETURNS cstring LANGUAGE C IMMUTABLE AS 'MODULE_PATHNAME', 'worker_partial_agg_done';
CREATE OR REPLACE AGGREGATE pg_catalog.worker_partial_agg(oid, anyelement) (
	SFUNC = pando.worker_partial_agg_step, STYPE = internal,
	FINALFUNC = pando.worker_partial_agg_done);
CREATE OR REPLACE FUNCTION pando.coord_combine_agg_step(internal, oid, cstring, anyelement)
	RETURNS internal LANGUAGE C IMMUTABLE AS 'MODULE_PATHNAME', 'coord_combine_agg_step';
CREATE OR REPLACE FUNCTION pando.coord_combine_agg_done(internal, oid, cstring, anyelement)
	RETURNS anyelement LANGUAGE C IMMUTABLE AS 'MODULE_PATHNAME', 'final_agg_done';
CREATE OR REPLACE AGGREGATE pg_catalog.coord_combine_agg(oid, cstring, anyelement) (
	SFUNC = pando.coord_combine_agg_step, STYPE = internal,
	FINALFUNC = pando.coord_combine_agg_done, FINALFUNC_EXTRA);

-- Intermediate results, which last until the end of the transaction.

CREATE OR REPLACE FUNCTION pg_catalog.create_intermediate_result(result_id text, query text)
	RETURNS bigint LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'create_intermediate_result';
CREATE OR REPLACE FUNCTION pg_catalog.broadcast_intermediate_result(result_id text, query text)
	RETURNS bigint LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'broadcast_intermediate_result';
CREATE OR REPLACE FUNCTION pg_catalog.fetch_intermediate_results(result_ids text[],
		node_name text, node_port integer)
	RETURNS bigint LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'fetch_intermediate_results';
CREATE OR REPLACE FUNCTION pando.results_hand_over(result_ids text[], groupid integer)
	RETURNS bigint LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'results_hand_over';

-- The clock of the cluster.

CREATE OR REPLACE FUNCTION pando.clock_tick() RETURNS bigint[]
	LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'clock_tick';
CREATE OR REPLACE FUNCTION pando.clock_transaction() RETURNS bigint[]
	LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'clock_transaction';
CREATE OR REPLACE FUNCTION pando.clock_advance(ms bigint, counter bigint) RETURNS void
	LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'clock_advance';
CREATE OR REPLACE FUNCTION pg_catalog.citus_get_node_clock() RETURNS cluster_clock
	LANGUAGE sql STRICT VOLATILE BEGIN ATOMIC
	SELECT ROW(t[1], t[2])::cluster_clock FROM pando.clock_tick() t;
END;
CREATE OR REPLACE FUNCTION pg_catalog.citus_get_transaction_clock() RETURNS cluster_clock
	LANGUAGE sql STRICT VOLATILE BEGIN ATOMIC
	SELECT ROW(t[1], t[2])::cluster_clock FROM pando.clock_transaction() t;
END;
CREATE OR REPLACE FUNCTION pg_catalog.citus_is_clock_after(clock_one cluster_clock,
		clock_two cluster_clock) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	BEGIN ATOMIC SELECT clock_one > clock_two; END;
CREATE OR REPLACE FUNCTION pg_catalog.cluster_clock_logical(cluster_clock) RETURNS bigint
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	BEGIN ATOMIC SELECT ($1).logical; END;

CREATE OR REPLACE FUNCTION pando.session_count(host text, port integer) RETURNS integer
	LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'session_count';
CREATE OR REPLACE FUNCTION pg_catalog.citus_remote_connection_stats(OUT hostname text, OUT port integer,
		OUT database_name text, OUT connection_count_to_node integer) RETURNS SETOF record
	LANGUAGE sql STRICT VOLATILE BEGIN ATOMIC
	SELECT n.nodename, n.nodeport, current_database()::text, c
	FROM pando.active_nodes() n, pando.session_count(n.nodename, n.nodeport) c
	WHERE c > 0 ORDER BY 1, 2;
END;
REVOKE ALL ON FUNCTION pando.session_count(text, integer) FROM public;
REVOKE ALL ON FUNCTION pg_catalog.citus_remote_connection_stats() FROM public;

-- Keeps everybody off the node's shards until the transaction ends.
CREATE OR REPLACE FUNCTION pg_catalog.citus_pause_node_within_txn(node_id integer,
		force boolean DEFAULT false, lock_cooldown integer DEFAULT 10000) RETURNS void
	LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'citus_pause_node_within_txn';
REVOKE ALL ON FUNCTION pg_catalog.citus_pause_node_within_txn(integer, boolean, integer) FROM public;
