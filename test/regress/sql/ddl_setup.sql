-- What the ddl_* tests share: ddl_check() finds every place where a node's shell table or a shard is
-- defined differently from the coordinator's shell table. It reads the catalogs only.

-- Columns, constraints, indexes, policies and properties of a relation, one per line, without the
-- shard id in names. A shard has no identity and no default that draws from a sequence.
CREATE FUNCTION public.ddl_lines(rel regclass, shardid bigint) RETURNS SETOF text LANGUAGE sql
SET search_path = pg_catalog AS $$
	WITH lines(line) AS (
		SELECT format('relation %s owner %s acl %s options %s replident %s rls %s %s persistence %s am %s schema %s',
			relname, relowner::regrole, (SELECT array_agg(a::text ORDER BY a::text COLLATE "C") FROM unnest(coalesce(relacl, acldefault('r', relowner))) a), reloptions, relreplident, relrowsecurity,
			relforcerowsecurity, relpersistence, relam, relnamespace::regnamespace)
		FROM pg_class WHERE oid = rel
		UNION ALL
		SELECT format('column %s %s %s collation %s not null %s generated %s storage %s compression %s target %s acl %s options %s default %s',
			a.attnum, attname, format_type(atttypid, atttypmod), attcollation::regcollation, attnotnull, attgenerated,
			attstorage, attcompression, attstattarget, attacl, pando.option_list(attoptions),
			CASE WHEN pg_get_expr(adbin, adrelid) !~ 'nextval|sequence' THEN pg_get_expr(adbin, adrelid) END)
		FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE attrelid = rel AND a.attnum > 0 AND NOT attisdropped
		UNION ALL
		SELECT format('constraint %s %s valid %s', conname,
			pg_get_constraintdef(oid), convalidated)
		FROM pg_constraint WHERE conrelid = rel AND contype <> 't'
		UNION ALL
		SELECT format('index %s valid %s clustered %s replident %s nulls not distinct %s',
			pg_get_indexdef(indexrelid), indisvalid, indisclustered, indisreplident, indnullsnotdistinct)
		FROM pg_index WHERE indrelid = rel
		UNION ALL
		SELECT format('policy %s %s %s %s %s %s', polname, polcmd, polpermissive, polroles::regrole[],
			pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) FROM pg_policy WHERE polrelid = rel
		UNION ALL
		SELECT format('statistics %s target %s', pg_get_statisticsobjdef(oid), stxstattarget)
		FROM pg_statistic_ext WHERE stxrelid = rel)
	SELECT CASE WHEN shardid IS NULL THEN line ELSE regexp_replace(line, '_10[0-9]{4}\M', '', 'g') END FROM lines
$$;

CREATE FUNCTION public.ddl_shells() RETURNS text LANGUAGE sql
SET search_path = pg_catalog AS $$
	SELECT coalesce(jsonb_object_agg(logicalrelid::text, (SELECT jsonb_agg(line ORDER BY line COLLATE "C") FROM public.ddl_lines(logicalrelid, NULL) line)), '{}')::text
	FROM pg_dist_partition
$$;

-- Differences between this node's shards and their shells. pando.shard_name() is the name rule.
CREATE FUNCTION public.ddl_shards() RETURNS text LANGUAGE sql
SET search_path = pg_catalog SET citus.override_table_visibility = off AS $$
	WITH shards AS (
		SELECT s.logicalrelid AS shell, s.shardid, c.oid AS shard
		FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_class k ON k.oid = s.logicalrelid
			LEFT JOIN pg_class c ON c.relnamespace = k.relnamespace
				AND quote_ident(c.relname) = regexp_replace(shard_name(s.logicalrelid, s.shardid, false), '^("([^"]|"")*"|[^".]*)\.', '')
		WHERE p.groupid = (SELECT groupid FROM pg_dist_local_group)),
	expected AS (SELECT shell, shardid, line FROM shards, public.ddl_lines(shell, 0) line),
	found AS (SELECT shell, shardid, line FROM shards, public.ddl_lines(shard, 1) line),
	differences AS (
		(SELECT shell, 'missing in shard' AS what, line FROM expected EXCEPT SELECT shell, 'missing in shard', line FROM (SELECT shell, line FROM found GROUP BY shell, line
			HAVING count(*) = (SELECT count(*) FROM shards s WHERE s.shell = found.shell)) f)
		UNION ALL
		(SELECT shell, 'too much in shard', line FROM found EXCEPT SELECT shell, 'too much in shard', line FROM expected))
	SELECT coalesce(string_agg(shell || ' ' || what || ': ' || line, E'\n' ORDER BY shell::text, what, line COLLATE "C"), '') FROM differences
$$;

-- Those of the lines found that are not wanted.
CREATE FUNCTION public.ddl_lacks(wanted jsonb, found jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(line, '; ') FROM jsonb_array_elements_text(found) line WHERE NOT coalesce(wanted, '[]') ? line
$$;

-- All differences over the cluster; no row is what every test wants.
CREATE FUNCTION public.ddl_check() RETURNS TABLE (difference text) LANGUAGE plpgsql AS $$
DECLARE
	here jsonb := public.ddl_shells();
	node record;
BEGIN
	FOR node IN SELECT nodeid, success, result FROM run_command_on_all_nodes('SELECT public.ddl_shells()') LOOP
		IF NOT node.success THEN
			RETURN QUERY SELECT 'node failed: ' || node.result;
			CONTINUE;
		END IF;
		RETURN QUERY SELECT 'shell ' || coalesce(a.key, b.key) || ' here: ' || coalesce(public.ddl_lacks(b.value, a.value), 'nothing')
				|| ' there: ' || coalesce(public.ddl_lacks(a.value, b.value), 'nothing')
			FROM jsonb_each(here) a FULL JOIN jsonb_each(node.result::jsonb) b USING (key)
			WHERE a.value IS DISTINCT FROM b.value;
	END LOOP;
	FOR node IN SELECT nodeid, success, result FROM run_command_on_all_nodes('SELECT public.ddl_shards()') LOOP
		IF NOT node.success OR node.result <> '' THEN
			RETURN QUERY SELECT line FROM regexp_split_to_table(node.result, E'\n') line;
		END IF;
	END LOOP;
END $$;

-- Runs a statement and checks: its error, if it has one, and the first differences, if there are any.
CREATE FUNCTION public.ddl(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	explanation text;
BEGIN
	BEGIN
		EXECUTE statement;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, explanation = PG_EXCEPTION_DETAIL;
		RETURN NEXT regexp_replace('refused: ' || message || coalesce(' / ' || nullif(explanation, ''), ''), '_10[0-9]{4}\M', '_<shard>', 'g');
	END;
	RETURN QUERY SELECT DISTINCT difference FROM public.ddl_check() LIMIT 10;
END $$;

-- A plan without ports and shard ids.
CREATE FUNCTION public.ddl_plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		RETURN NEXT regexp_replace(regexp_replace(line, 'port=[0-9]+', 'port=...'), '_10[0-9]{4}\M', '_<shard>', 'g');
	END LOOP;
END $$;

-- What is left on any node of tables that are gone.
CREATE FUNCTION public.ddl_leftovers() RETURNS text LANGUAGE sql
SET citus.override_table_visibility = off AS $$
	SELECT coalesce(string_agg(line, ', ' ORDER BY line COLLATE "C"), '') FROM (
		SELECT 'relation ' || relname FROM pg_class c WHERE relname ~ '_10[0-9]{4}$'
			AND NOT EXISTS (SELECT FROM pg_dist_shard s WHERE c.relname LIKE '%\_' || s.shardid)
		UNION ALL SELECT 'partition ' || logicalrelid::oid FROM pg_dist_partition p WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = p.logicalrelid)
		UNION ALL SELECT 'shard ' || shardid FROM pg_dist_shard s WHERE NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = s.logicalrelid)
		UNION ALL SELECT 'placement ' || placementid FROM pg_dist_placement p WHERE NOT EXISTS (SELECT FROM pg_dist_shard s WHERE s.shardid = p.shardid)
		UNION ALL SELECT 'cleanup ' || object_name FROM pg_dist_cleanup
		UNION ALL SELECT 'prepared ' || gid FROM pg_prepared_xacts WHERE database = current_database()) a(line)
$$;

SELECT DISTINCT success, result FROM run_command_on_all_nodes('SELECT public.ddl_leftovers()');
