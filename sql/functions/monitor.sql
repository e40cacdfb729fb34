-- Statements run anywhere, sizes, health.

CREATE OR REPLACE FUNCTION pg_catalog.run_command_on_workers(command text,
		parallel boolean DEFAULT true, OUT nodename text, OUT nodeport int4, OUT success boolean,
		OUT result text) RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	WITH n AS MATERIALIZED (
		SELECT row_number() OVER (ORDER BY nodeid)::int4 AS ord, * FROM pando.active_nodes()
		WHERE groupid <> 0)
	SELECT n.nodename, n.nodeport, r.success, r.result
	FROM pando.run_commands(
			(SELECT coalesce(array_agg(nodeid ORDER BY ord), '{}') FROM n),
			(SELECT coalesce(array_agg(command), '{}') FROM n), parallel, false) r
		JOIN n USING (ord)
	ORDER BY ord;
END;

CREATE OR REPLACE FUNCTION pg_catalog.run_command_on_all_nodes(command text,
		parallel boolean DEFAULT true, give_warning_for_connection_errors boolean DEFAULT false,
		OUT nodeid int4, OUT success boolean, OUT result text) RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	WITH n AS MATERIALIZED (
		SELECT row_number() OVER (ORDER BY nodeid)::int4 AS ord, * FROM pando.active_nodes())
	SELECT n.nodeid, r.success, r.result
	FROM pando.run_commands(
			(SELECT array_agg(nodeid ORDER BY ord) FROM n),
			(SELECT array_agg(command) FROM n), parallel, give_warning_for_connection_errors) r
		JOIN n USING (ord)
	ORDER BY ord;
END;

CREATE OR REPLACE FUNCTION pg_catalog.run_command_on_coordinator(command text,
		give_warning_for_connection_errors boolean DEFAULT false,
		OUT nodeid int4, OUT success boolean, OUT result text) RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	SELECT pg_catalog.citus_coordinator_nodeid(), r.success, r.result
	FROM pando.run_commands(ARRAY[-1], ARRAY[command], false,
			give_warning_for_connection_errors) r;
END;

-- Placements of a table with the names of their shards; raises for a table that is not distributed.
CREATE OR REPLACE FUNCTION pando.table_placements(table_name regclass, OUT shardid bigint,
		OUT place bigint, OUT placementid bigint, OUT name text, OUT nodeid int4, OUT nodename text,
		OUT nodeport int4, OUT first boolean) RETURNS SETOF record
	LANGUAGE sql STABLE BEGIN ATOMIC
	SELECT s.shardid,
		dense_rank() OVER (ORDER BY CASE WHEN t.partmethod = 'h' THEN s.shardminvalue::int4 END,
			s.shardid),
		p.placementid, pg_catalog.shard_name(s.logicalrelid, s.shardid, false),
		n.nodeid, n.nodename, n.nodeport,
		row_number() OVER (PARTITION BY s.shardid ORDER BY p.placementid) = 1
	FROM pg_catalog.pg_dist_shard s
		JOIN pg_catalog.pg_dist_partition t USING (logicalrelid)
		JOIN pg_catalog.pg_dist_placement p USING (shardid)
		JOIN pando.active_nodes() n USING (groupid)
	WHERE s.logicalrelid = table_name AND p.shardstate = 1
		AND pg_catalog.get_colocated_table_array(table_name) IS NOT NULL;
END;

CREATE OR REPLACE FUNCTION pg_catalog.run_command_on_shards(table_name regclass, command text,
		parallel boolean DEFAULT true, OUT shardid bigint, OUT success boolean, OUT result text)
		RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	WITH p AS MATERIALIZED (
		SELECT row_number() OVER (ORDER BY shardid)::int4 AS ord, *,
			pando.command_expand(command, ARRAY[name]) AS sql
		FROM pando.table_placements(table_name) WHERE first)
	SELECT p.shardid, r.success, r.result
	FROM pando.run_commands(
			(SELECT coalesce(array_agg(nodeid ORDER BY ord), '{}') FROM p),
			(SELECT coalesce(array_agg(sql ORDER BY ord), '{}') FROM p), parallel, false) r
		JOIN p USING (ord)
	ORDER BY ord;
END;

CREATE OR REPLACE FUNCTION pg_catalog.run_command_on_placements(table_name regclass, command text,
		parallel boolean DEFAULT true, OUT nodename text, OUT nodeport int4, OUT shardid bigint,
		OUT success boolean, OUT result text) RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	WITH p AS MATERIALIZED (
		SELECT row_number() OVER (ORDER BY shardid, placementid)::int4 AS ord, *,
			pando.command_expand(command, ARRAY[name]) AS sql
		FROM pando.table_placements(table_name))
	SELECT p.nodename, p.nodeport, p.shardid, r.success, r.result
	FROM pando.run_commands(
			(SELECT coalesce(array_agg(nodeid ORDER BY ord), '{}') FROM p),
			(SELECT coalesce(array_agg(sql ORDER BY ord), '{}') FROM p), parallel, false) r
		JOIN p USING (ord)
	ORDER BY ord;
END;

CREATE OR REPLACE FUNCTION pg_catalog.run_command_on_colocated_placements(table_name1 regclass,
		table_name2 regclass, command text, parallel boolean DEFAULT true, OUT nodename text,
		OUT nodeport int4, OUT shardid1 bigint, OUT shardid2 bigint, OUT success boolean,
		OUT result text) RETURNS SETOF record
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF NOT pg_catalog.distributed_tables_colocated(table_name1, table_name2) THEN
		RAISE EXCEPTION 'tables % and % are not co-located', table_name1, table_name2
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	RETURN QUERY
	WITH p AS MATERIALIZED (
		SELECT row_number() OVER (ORDER BY a.shardid, a.placementid)::int4 AS ord, a.nodeid,
			a.nodename AS host, a.nodeport AS port, a.shardid AS id1, b.shardid AS id2,
			pando.command_expand(command, ARRAY[a.name, b.name]) AS sql
		FROM pando.table_placements(table_name1) a
			JOIN pando.table_placements(table_name2) b USING (place, nodeid))
	SELECT p.host, p.port, p.id1, p.id2, r.success, r.result
	FROM pando.run_commands(
			(SELECT coalesce(array_agg(p.nodeid ORDER BY p.ord), '{}') FROM p),
			(SELECT coalesce(array_agg(p.sql ORDER BY p.ord), '{}') FROM p), parallel, false) r
		JOIN p USING (ord)
	ORDER BY ord;
END $$;

-- Sizes. Every node tells the sizes of its placements in one answer.

CREATE OR REPLACE FUNCTION pando.local_placement_sizes(kind text, shardids bigint[]) RETURNS jsonb
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	SELECT coalesce(jsonb_object_agg(s.shardid,
		CASE kind
			WHEN 'total' THEN pg_catalog.pg_total_relation_size(rel)
			WHEN 'table' THEN pg_catalog.pg_table_size(rel)
			ELSE pg_catalog.pg_relation_size(rel)
		END), '{}')
	FROM pg_catalog.pg_dist_placement p
		JOIN pg_catalog.pg_dist_local_group g USING (groupid)
		JOIN pg_catalog.pg_dist_shard s USING (shardid)
		JOIN pg_catalog.pg_class c ON c.oid = s.logicalrelid
		CROSS JOIN LATERAL to_regclass(pg_catalog.shard_name(s.logicalrelid, s.shardid, false)) AS rel
	WHERE shardids IS NULL OR s.shardid = ANY (shardids);
END;

-- Sizes of the placements of one table and its partitions, of all tables for NULL. A node that can't be reached is an error
-- or, if not strict, a warning and has none.
CREATE OR REPLACE FUNCTION pando.placement_sizes(kind text, rel regclass, strict boolean,
		OUT shardid bigint, OUT groupid int4, OUT size bigint) RETURNS SETOF record
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
	ids int4[];
	groups int4[];
	shardids bigint[];
	answer record;
BEGIN
	IF rel IS NOT NULL THEN
		shardids := ARRAY(SELECT s.shardid FROM pg_catalog.pg_dist_shard s
			WHERE logicalrelid = rel OR logicalrelid IN (SELECT relid FROM pg_partition_tree(rel)));
	END IF;
	SELECT coalesce(array_agg(n.nodeid ORDER BY n.nodeid), '{}'),
			coalesce(array_agg(n.groupid ORDER BY n.nodeid), '{}')
		INTO ids, groups FROM pando.active_nodes() n
		WHERE EXISTS (SELECT FROM pg_catalog.pg_dist_placement p WHERE p.groupid = n.groupid
			AND (rel IS NULL OR p.shardid = ANY (shardids)));
	FOR answer IN
		SELECT r.*, groups[r.ord] AS node_group FROM pando.run_commands(ids,
			array_fill(format('SELECT pando.local_placement_sizes(%L, %L)', kind, shardids),
				ARRAY[cardinality(ids)]), true, NOT strict) r
	LOOP
		IF answer.success THEN
			RETURN QUERY SELECT j.key::bigint, answer.node_group, j.value::bigint
				FROM jsonb_each_text(answer.result::jsonb) j;
		ELSIF strict THEN
			RAISE EXCEPTION '%', regexp_replace(answer.result, '^ERROR: ', '')
				USING ERRCODE = 'connection_exception';
		END IF;
	END LOOP;
END $$;

CREATE OR REPLACE FUNCTION pando.table_size(rel regclass, kind text, strict boolean) RETURNS bigint
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = rel) THEN
		RAISE EXCEPTION 'cannot calculate the size because relation % is not distributed',
			quote_literal(rel) USING ERRCODE = 'invalid_table_definition';
	END IF;
	RETURN (SELECT coalesce(sum(size), 0) FROM pando.placement_sizes(kind, rel, strict));
END $$;

CREATE OR REPLACE FUNCTION pg_catalog.citus_table_size(logicalrelid regclass) RETURNS bigint
	LANGUAGE sql VOLATILE STRICT
	BEGIN ATOMIC SELECT pando.table_size(logicalrelid, 'table', true); END;
CREATE OR REPLACE FUNCTION pg_catalog.citus_relation_size(logicalrelid regclass) RETURNS bigint
	LANGUAGE sql VOLATILE STRICT
	BEGIN ATOMIC SELECT pando.table_size(logicalrelid, 'main', true); END;
CREATE OR REPLACE FUNCTION pg_catalog.citus_total_relation_size(logicalrelid regclass,
		fail_on_error boolean DEFAULT true) RETURNS bigint
	LANGUAGE sql VOLATILE STRICT
	BEGIN ATOMIC SELECT pando.table_size(logicalrelid, 'total', fail_on_error); END;

CREATE OR REPLACE FUNCTION pando.placements_set_length(placementids bigint[], lengths bigint[])
		RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'placements_set_length';
CREATE OR REPLACE FUNCTION pg_catalog.citus_update_table_statistics(relation regclass) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_update_table_statistics';

CREATE OR REPLACE FUNCTION pg_catalog.citus_stat_counters(database_id oid DEFAULT 0,
		OUT database_id oid, OUT connection_establishment_succeeded bigint,
		OUT connection_establishment_failed bigint, OUT connection_reused bigint,
		OUT query_execution_single_shard bigint, OUT query_execution_multi_shard bigint,
		OUT stats_reset timestamptz) RETURNS SETOF record
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'citus_stat_counters';
CREATE OR REPLACE FUNCTION pg_catalog.citus_stat_counters_reset(database_oid oid DEFAULT 0)
		RETURNS void
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'citus_stat_counters_reset';
REVOKE ALL ON FUNCTION pg_catalog.citus_stat_counters_reset(oid) FROM public;

-- How often distributed statements ran; those of others only for members of pg_read_all_stats.
CREATE OR REPLACE FUNCTION pando.statement_counts(OUT queryid bigint, OUT userid oid, OUT dbid oid,
		OUT executor text, OUT partition_key text, OUT calls bigint) RETURNS SETOF record
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'statement_counts';
-- Their texts are pg_stat_statements'.
CREATE OR REPLACE FUNCTION pg_catalog.citus_stat_statements(OUT queryid bigint, OUT userid oid,
		OUT dbid oid, OUT query text, OUT executor text, OUT partition_key text, OUT calls bigint)
		RETURNS SETOF record
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	view text := (SELECT format('%I.pg_stat_statements', n.nspname)
		FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
		WHERE e.extname = 'pg_stat_statements');
BEGIN
	IF view IS NULL THEN
		RAISE EXCEPTION 'pg_stat_statements is not installed' USING
			ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'install pg_stat_statements extension and try again';
	END IF;
	RETURN QUERY EXECUTE format('SELECT c.queryid, c.userid, c.dbid, s.query, c.executor, c.partition_key, c.calls
		FROM pando.statement_counts() c
			JOIN (SELECT DISTINCT ON (queryid, userid, dbid) queryid, userid, dbid, query FROM %s
				ORDER BY queryid, userid, dbid, toplevel DESC) s
			ON s.queryid = c.queryid AND s.userid = c.userid AND s.dbid = c.dbid', view);
END $$;
CREATE OR REPLACE FUNCTION pg_catalog.citus_stat_statements_reset() RETURNS void
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'citus_stat_statements_reset';
REVOKE ALL ON FUNCTION pg_catalog.citus_stat_statements_reset() FROM public;

-- What was done for tenants on this node, the most active ones first; for members of pg_read_all_stats.
CREATE OR REPLACE FUNCTION pg_catalog.citus_stat_tenants_local(return_all_tenants boolean DEFAULT false,
		OUT colocation_id int4, OUT tenant_attribute text, OUT read_count_in_this_period int4,
		OUT read_count_in_last_period int4, OUT query_count_in_this_period int4,
		OUT query_count_in_last_period int4, OUT cpu_usage_in_this_period float8,
		OUT cpu_usage_in_last_period float8, OUT score bigint) RETURNS SETOF record
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'tenant_counts';
-- The same of all nodes.
CREATE OR REPLACE FUNCTION pg_catalog.citus_stat_tenants(return_all_tenants boolean DEFAULT false,
		OUT nodeid int4, OUT colocation_id int4, OUT tenant_attribute text, OUT read_count_in_this_period int4,
		OUT read_count_in_last_period int4, OUT query_count_in_this_period int4,
		OUT query_count_in_last_period int4, OUT cpu_usage_in_this_period float8,
		OUT cpu_usage_in_last_period float8, OUT score bigint) RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	WITH tenants AS MATERIALIZED (
		SELECT x.nodeid, t.*
		FROM pando.elements_from_nodes(format('SELECT coalesce(jsonb_agg(to_jsonb(t)), ''[]'') FROM pg_catalog.citus_stat_tenants_local(%L) t',
				return_all_tenants)) x
			CROSS JOIN LATERAL jsonb_to_record(x.element) t(colocation_id int4, tenant_attribute text,
				read_count_in_this_period int4, read_count_in_last_period int4,
				query_count_in_this_period int4, query_count_in_last_period int4,
				cpu_usage_in_this_period float8, cpu_usage_in_last_period float8, score bigint)
		WHERE pg_has_role('pg_read_all_stats', 'USAGE'))
	SELECT * FROM tenants t ORDER BY t.score DESC, t.nodeid, t.colocation_id, t.tenant_attribute
	LIMIT CASE WHEN return_all_tenants THEN NULL ELSE current_setting('citus.stat_tenants_limit')::bigint END;
END;
CREATE OR REPLACE FUNCTION pg_catalog.citus_stat_tenants_local_reset() RETURNS void
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'citus_stat_tenants_local_reset';
CREATE OR REPLACE FUNCTION pg_catalog.citus_stat_tenants_reset() RETURNS void
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	SELECT count(*) FROM pando.elements_from_nodes($$SELECT '[]'::jsonb FROM pg_catalog.citus_stat_tenants_local_reset()$$);
END;
REVOKE ALL ON FUNCTION pg_catalog.citus_stat_tenants_local_reset(), pg_catalog.citus_stat_tenants_reset() FROM public;

-- Column statistics of the shards on this node, one object per shard and column.
CREATE OR REPLACE FUNCTION pando.local_column_stats() RETURNS jsonb
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	SELECT coalesce(jsonb_agg(jsonb_build_object('rel', s.logicalrelid::oid::regclass::text,
			'column', v.attname, 'rows', greatest(c.reltuples, 0), 'null_frac', v.null_frac,
			'vals', to_jsonb(v.most_common_vals::text::text[]), 'freqs', to_jsonb(v.most_common_freqs))), '[]')
	FROM pg_catalog.pg_dist_placement p
		JOIN pg_catalog.pg_dist_local_group g USING (groupid)
		JOIN pg_catalog.pg_dist_shard s USING (shardid)
		JOIN pg_catalog.pg_class c
			ON c.oid = to_regclass(pg_catalog.shard_name(s.logicalrelid, s.shardid, false))
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_catalog.pg_stats v ON v.schemaname = n.nspname AND v.tablename = c.relname;
END;

-- Health.

CREATE OR REPLACE FUNCTION pg_catalog.citus_check_connection_to_node(nodename text,
		nodeport int4 DEFAULT 5432) RETURNS boolean
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_check_connection_to_node';

CREATE OR REPLACE FUNCTION pg_catalog.citus_check_cluster_node_health(OUT from_nodename text,
		OUT from_nodeport int4, OUT to_nodename text, OUT to_nodeport int4, OUT result boolean)
		RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	WITH n AS MATERIALIZED (
		SELECT row_number() OVER (ORDER BY nodeid)::int4 AS ord, * FROM pando.active_nodes()),
	c AS MATERIALIZED (
		SELECT format('SELECT jsonb_build_array(%s)', string_agg(format(
			'pg_catalog.citus_check_connection_to_node(%L, %s)', nodename, nodeport), ', '
			ORDER BY ord)) AS command FROM n)
	SELECT f.nodename, f.nodeport, t.nodename, t.nodeport,
		CASE WHEN r.success THEN (r.result::jsonb ->> (t.ord - 1))::boolean END
	FROM pando.run_commands((SELECT array_agg(nodeid ORDER BY ord) FROM n),
			(SELECT array_agg(command) FROM n, c), true, false) r
		JOIN n f USING (ord) CROSS JOIN n t
	ORDER BY f.ord, t.ord;
END;

CREATE OR REPLACE FUNCTION pg_catalog.citus_local_disk_space_stats(OUT available_disk_size bigint,
		OUT total_disk_size bigint) RETURNS record
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_local_disk_space_stats';

-- Shards that are plain tables of this node.

CREATE OR REPLACE FUNCTION pg_catalog.citus_shards_on_worker(OUT schema_name name,
		OUT shard_name name, OUT table_type text, OUT owner_name name) RETURNS SETOF record
	LANGUAGE sql STABLE BEGIN ATOMIC
	SELECT n.nspname, c.relname,
		CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned table'
			WHEN 'f' THEN 'foreign table' END,
		pg_catalog.pg_get_userbyid(c.relowner)
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p', 'f') AND pg_catalog.pg_table_is_visible(c.oid)
		AND n.nspname NOT IN ('pg_catalog', 'information_schema')
		AND pando.relation_shard_id(c.oid) IS NOT NULL
	ORDER BY 1, 2;
END;

CREATE OR REPLACE FUNCTION pg_catalog.citus_shard_indexes_on_worker(OUT schema_name name,
		OUT index_name name, OUT index_type text, OUT owner_name name, OUT shard_name name)
		RETURNS SETOF record
	LANGUAGE sql STABLE BEGIN ATOMIC
	SELECT n.nspname, c.relname, CASE c.relkind WHEN 'i' THEN 'index' ELSE 'partitioned index' END,
		pg_catalog.pg_get_userbyid(c.relowner), t.relname
	FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
		JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('i', 'I') AND n.nspname NOT IN ('pg_catalog', 'pg_toast')
		AND pg_catalog.pg_table_is_visible(c.oid)
		AND pando.relation_shard_id(t.oid) IS NOT NULL
	ORDER BY 1, 2;
END;

-- Backends of all nodes.

CREATE OR REPLACE FUNCTION pando.local_activity() RETURNS jsonb
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	SELECT coalesce(jsonb_agg(to_jsonb(a)), '[]') FROM pg_catalog.pg_stat_activity a;
END;

CREATE OR REPLACE FUNCTION pando.activity(OUT global_pid bigint, OUT nodeid int4,
		OUT is_worker_query boolean, OUT activity pg_catalog.pg_stat_activity) RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	SELECT pando.global_pid(x.nodeid, a.pid, a.application_name), x.nodeid,
		coalesce(a.application_name ~ '^citus_internal gpid=', false), a
	FROM pando.elements_from_nodes('SELECT pando.local_activity()') x
		CROSS JOIN LATERAL jsonb_populate_record(NULL::pg_catalog.pg_stat_activity, x.element) a;
END;

-- distributed, reference, local, or schema for a table of a distributed schema.
CREATE OR REPLACE FUNCTION pando.table_type(rel regclass) RETURNS text
	LANGUAGE sql STABLE BEGIN ATOMIC
	SELECT CASE
		WHEN p.partmethod <> 'n' THEN 'distributed'
		WHEN p.repmodel = 't' THEN 'reference'
		WHEN p.colocationid = 0 THEN 'local'
		WHEN p.colocationid IN (SELECT colocationid FROM pg_catalog.pg_dist_schema) THEN 'schema'
		ELSE 'distributed' END
	FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = rel;
END;

-- In the condition on pg_class that hides shards from clients.
CREATE OR REPLACE FUNCTION pando.relation_is_shown(oid, name) RETURNS boolean
	LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'relation_is_shown';
