-- What the cluster holds and does. Column names and order are those that tools know.

DROP VIEW IF EXISTS pg_catalog.citus_stat_statements, pg_catalog.citus_stat_tenants, pg_catalog.citus_stat_tenants_local,
	pg_catalog.citus_stat_counters, pg_catalog.citus_stats, pg_catalog.citus_locks, pg_catalog.citus_lock_waits, pg_catalog.citus_nodes, pg_catalog.pg_dist_shard_placement,
	pg_catalog.citus_shards, pg_catalog.citus_shards_on_worker,
	pg_catalog.citus_shard_indexes_on_worker, pg_catalog.citus_stat_activity,
	pg_catalog.citus_dist_stat_activity, pg_catalog.time_partitions;

CREATE VIEW citus.citus_nodes AS
	SELECT nodename, nodeport,
		CASE WHEN groupid = 0 THEN 'coordinator' ELSE 'worker' END AS role,
		isactive AS active
	FROM pg_catalog.pg_dist_node;

CREATE VIEW citus.pg_dist_shard_placement AS
	SELECT p.shardid, p.shardstate, p.shardlength, n.nodename, n.nodeport, p.placementid
	FROM pg_catalog.pg_dist_placement p JOIN pg_catalog.pg_dist_node n USING (groupid)
	WHERE n.noderole = 'primary';

CREATE VIEW citus.citus_shards AS
	SELECT s.logicalrelid AS table_name, s.shardid,
		pg_catalog.shard_name(s.logicalrelid, s.shardid) AS shard_name,
		pando.table_type(s.logicalrelid) AS citus_table_type,
		t.colocationid AS colocation_id, n.nodename, n.nodeport, z.size AS shard_size
	FROM pg_catalog.pg_dist_shard s
		JOIN pg_catalog.pg_class c ON c.oid = s.logicalrelid
		JOIN pg_catalog.pg_dist_partition t USING (logicalrelid)
		JOIN pg_catalog.pg_dist_placement p USING (shardid)
		JOIN pg_catalog.pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
		LEFT JOIN pando.placement_sizes('total', NULL, false) z
			ON z.shardid = p.shardid AND z.groupid = p.groupid
	ORDER BY t.logicalrelid::text, s.shardid, n.nodeid;

CREATE VIEW citus.citus_shards_on_worker AS
	SELECT schema_name AS "Schema", shard_name AS "Name", table_type AS "Type",
		owner_name AS "Owner"
	FROM pg_catalog.citus_shards_on_worker() s;

CREATE VIEW citus.citus_shard_indexes_on_worker AS
	SELECT schema_name AS "Schema", index_name AS "Name", index_type AS "Type",
		owner_name AS "Owner", shard_name AS "Table"
	FROM pg_catalog.citus_shard_indexes_on_worker() s;

CREATE VIEW citus.citus_stat_activity AS
	SELECT a.global_pid, a.nodeid, a.is_worker_query, (a.activity).datid, (a.activity).datname,
		(a.activity).pid, (a.activity).leader_pid, (a.activity).usesysid, (a.activity).usename,
		(a.activity).application_name, (a.activity).client_addr, (a.activity).client_hostname,
		(a.activity).client_port, (a.activity).backend_start, (a.activity).xact_start,
		(a.activity).query_start, (a.activity).state_change, (a.activity).wait_event_type,
		(a.activity).wait_event, (a.activity).state, (a.activity).backend_xid,
		(a.activity).backend_xmin, (a.activity).query_id, (a.activity).query,
		(a.activity).backend_type
	FROM pando.activity() a;

-- What clients asked for, without the sessions that work for them on other nodes.
CREATE VIEW citus.citus_dist_stat_activity AS
	SELECT * FROM citus.citus_stat_activity
	WHERE NOT is_worker_query AND backend_type = 'client backend';

CREATE VIEW citus.citus_locks AS
	SELECT pando.global_pid(x.nodeid, l.pid, x.element ->> 'application_name') AS global_pid,
		x.nodeid, l.locktype, l.database, l.relation,
		x.element ->> 'relation_name' AS relation_name, l.page, l.tuple, l.virtualxid,
		l.transactionid, l.classid, l.objid, l.objsubid, l.virtualtransaction, l.pid, l.mode,
		l.granted, l.fastpath, l.waitstart
	FROM pando.elements_from_nodes('SELECT pando.local_locks()') x
		CROSS JOIN LATERAL jsonb_populate_record(NULL::pg_catalog.pg_locks, x.element) l;

CREATE VIEW citus.citus_lock_waits AS
	WITH activity AS MATERIALIZED (
		SELECT global_pid, query FROM citus.citus_stat_activity WHERE NOT is_worker_query)
	SELECT w.waiting_gpid, w.blocking_gpid, a.query AS blocked_statement,
		b.query AS current_statement_in_blocking_process,
		pg_catalog.citus_nodeid_for_gpid(w.waiting_gpid) AS waiting_nodeid,
		pg_catalog.citus_nodeid_for_gpid(w.blocking_gpid) AS blocking_nodeid
	FROM pando.lock_waits() w
		LEFT JOIN activity a ON a.global_pid = w.waiting_gpid
		LEFT JOIN activity b ON b.global_pid = w.blocking_gpid;

CREATE VIEW citus.citus_stat_counters AS
	SELECT d.oid, d.datname AS name, c.connection_establishment_succeeded,
		c.connection_establishment_failed, c.connection_reused, c.query_execution_single_shard,
		c.query_execution_multi_shard, c.stats_reset
	FROM pg_catalog.pg_database d
		JOIN pg_catalog.citus_stat_counters() c ON c.database_id = d.oid;

-- Distributed statements, with the text that pg_stat_statements has of them.
CREATE VIEW citus.citus_stat_statements AS
	SELECT queryid, userid, dbid, query, executor, partition_key, calls
	FROM pg_catalog.citus_stat_statements();

CREATE VIEW citus.citus_stat_tenants AS
	SELECT nodeid, colocation_id, tenant_attribute, read_count_in_this_period, read_count_in_last_period,
		query_count_in_this_period, query_count_in_last_period, cpu_usage_in_this_period,
		cpu_usage_in_last_period
	FROM pg_catalog.citus_stat_tenants();

CREATE VIEW citus.citus_stat_tenants_local AS
	SELECT colocation_id, tenant_attribute, read_count_in_this_period, read_count_in_last_period,
		query_count_in_this_period, query_count_in_last_period, cpu_usage_in_this_period,
		cpu_usage_in_last_period
	FROM pg_catalog.citus_stat_tenants_local();

-- Column statistics of distributed tables: those of the shards, weighted by their rows. Each is seen
-- by who may read the column on the shards' nodes.
CREATE VIEW citus.citus_stats AS
	WITH shards AS MATERIALIZED (
		SELECT to_regclass(x.element ->> 'rel') AS rel, x.element ->> 'column' AS attname,
			(x.element ->> 'rows')::float8 AS rows, (x.element ->> 'null_frac')::float8 AS null_frac,
			x.element -> 'vals' AS vals, x.element -> 'freqs' AS freqs
		FROM pando.elements_from_nodes('SELECT pando.local_column_stats()') x),
	columns AS (
		SELECT rel, attname, sum(rows) AS rows,
			coalesce(sum(null_frac * rows) / nullif(sum(rows), 0), 0) AS null_frac
		FROM shards GROUP BY rel, attname),
	common AS (
		SELECT s.rel, s.attname, v.val,
			sum(f.freq::float8 * s.rows) / nullif(min(c.rows), 0) AS freq
		FROM shards s JOIN columns c USING (rel, attname)
			CROSS JOIN LATERAL jsonb_array_elements_text(nullif(s.vals, 'null'))
				WITH ORDINALITY v (val, i)
			JOIN LATERAL jsonb_array_elements_text(s.freqs)
				WITH ORDINALITY f (freq, i) USING (i)
		GROUP BY s.rel, s.attname, v.val)
	SELECT n.nspname AS schemaname, t.relname AS tablename, c.attname,
		c.null_frac::real AS null_frac,
		array_agg(m.val ORDER BY m.freq DESC, m.val) FILTER (WHERE m.val IS NOT NULL)
			AS most_common_vals,
		array_agg(m.freq::real ORDER BY m.freq DESC, m.val) FILTER (WHERE m.val IS NOT NULL)
			AS most_common_freqs
	FROM columns c
		JOIN pg_catalog.pg_class t ON t.oid = c.rel
		JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
		LEFT JOIN common m USING (rel, attname)
	GROUP BY n.nspname, t.relname, c.attname, c.null_frac
	ORDER BY n.nspname, t.relname, c.attname;

-- Partitions of tables that are partitioned by ranges of one column of a time type.
CREATE VIEW citus.time_partitions AS
	SELECT p.partrelid::regclass AS parent_table, a.attname AS partition_column,
		c.oid::regclass AS partition, r.lower_bound AS from_value, r.upper_bound AS to_value,
		am.amname AS access_method
	FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
		JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = i.inhparent
		JOIN pg_catalog.pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
		LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
		CROSS JOIN LATERAL pg_catalog.time_partition_range(c.oid) r
	WHERE p.partstrat = 'r' AND p.partnatts = 1
		AND a.atttypid IN ('pg_catalog.date'::regtype, 'pg_catalog.timestamp'::regtype,
			'pg_catalog.timestamptz'::regtype)
		AND r.lower_bound IS NOT NULL
		AND pando.relation_shard_id(c.oid) IS NULL
	ORDER BY p.partrelid::regclass::text,
		CASE r.lower_bound WHEN 'MINVALUE' THEN '-infinity' ELSE r.lower_bound::timestamptz END;

DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['citus_nodes', 'pg_dist_shard_placement', 'citus_shards',
		'citus_shards_on_worker', 'citus_shard_indexes_on_worker', 'citus_stat_activity',
		'citus_dist_stat_activity', 'citus_locks', 'citus_lock_waits', 'citus_stat_counters', 'citus_stats',
		'citus_stat_statements', 'citus_stat_tenants', 'citus_stat_tenants_local',
		'time_partitions']
	LOOP
		EXECUTE format('ALTER VIEW citus.%I SET SCHEMA pg_catalog', name);
		EXECUTE format('GRANT SELECT ON pg_catalog.%I TO public', name);
	END LOOP;
END $$;

-- These two in public, where \d shows them; in pg_catalog if there is no such schema.
CREATE VIEW citus.citus_tables AS
	WITH sizes AS MATERIALIZED (
		SELECT s.logicalrelid, sum(z.size) AS size
		FROM pando.placement_sizes('total', NULL, false) z
			JOIN pg_catalog.pg_dist_shard s USING (shardid)
		GROUP BY s.logicalrelid)
	SELECT p.logicalrelid AS table_name, pando.table_type(p.logicalrelid) AS citus_table_type,
		coalesce(p.partkey, '<none>') AS distribution_column, p.colocationid AS colocation_id,
		pg_catalog.pg_size_pretty(coalesce(z.size, 0)) AS table_size,
		(SELECT count(*) FROM pg_catalog.pg_dist_shard s
			WHERE s.logicalrelid = p.logicalrelid) AS shard_count,
		pg_catalog.pg_get_userbyid(c.relowner) AS table_owner, a.amname AS access_method
	FROM pg_catalog.pg_dist_partition p
		JOIN pg_catalog.pg_class c ON c.oid = p.logicalrelid
		LEFT JOIN pg_catalog.pg_am a ON a.oid = c.relam
		LEFT JOIN sizes z ON z.logicalrelid = p.logicalrelid
	ORDER BY p.logicalrelid::text;

CREATE VIEW citus.citus_schemas AS
	WITH sizes AS MATERIALIZED (
		SELECT p.colocationid, sum(z.size) AS size
		FROM pando.placement_sizes('total', NULL, false) z
			JOIN pg_catalog.pg_dist_shard s USING (shardid)
			JOIN pg_catalog.pg_dist_partition p USING (logicalrelid)
		GROUP BY p.colocationid)
	SELECT n.oid::regnamespace AS schema_name, d.colocationid AS colocation_id,
		pg_catalog.pg_size_pretty(coalesce(z.size, 0)) AS schema_size,
		pg_catalog.pg_get_userbyid(n.nspowner) AS schema_owner
	FROM pg_catalog.pg_dist_schema d
		JOIN pg_catalog.pg_namespace n ON n.oid = d.schemaid
		LEFT JOIN sizes z USING (colocationid)
	ORDER BY n.nspname;

DO $$
DECLARE
	target text := CASE WHEN to_regnamespace('public') IS NULL THEN 'pg_catalog' ELSE 'public' END;
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['citus_tables', 'citus_schemas']
	LOOP
		EXECUTE format('DROP VIEW IF EXISTS %I.%I', target, name);
		EXECUTE format('ALTER VIEW citus.%I SET SCHEMA %I', name, target);
		EXECUTE format('GRANT SELECT ON %I.%I TO public', target, name);
	END LOOP;
END $$;
