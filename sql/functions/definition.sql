-- Definitions of tables as commands, read from this node's catalogs. Everything comes out
-- qualified (search_path is pg_catalog while these run), so that the commands mean the same
-- under any search_path. They are in PL/pgSQL, which keeps its plans: a function in SQL would be parsed
-- and planned anew in each statement that comes to it, which is most of the time where many objects are made.

CREATE OR REPLACE FUNCTION pando.constraint_command(con oid) RETURNS text
	LANGUAGE c STRICT STABLE AS 'MODULE_PATHNAME', 'constraint_command';
CREATE OR REPLACE FUNCTION pando.index_command(index oid) RETURNS text
	LANGUAGE c STRICT STABLE AS 'MODULE_PATHNAME', 'index_command';

-- {a=1,b=x} as "a='1', b='x'", for a WITH or SET clause; NULL where there is none. pg_attver is the
-- server's own: minor releases keep the version of a column there.
CREATE OR REPLACE FUNCTION pando.option_list(options text[], prefix text DEFAULT '') RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT string_agg(prefix || quote_ident(split_part(o, '=', 1)) || '='
			|| quote_literal(substr(o, strpos(o, '=') + 1)), ', ' ORDER BY n)
	FROM unnest(options) WITH ORDINALITY AS u(o, n)
	WHERE split_part(o, '=', 1) <> 'pg_attver');
END $$;

-- GRANTs that lead from no privileges at all to an access list. `target` is 'TABLE s.t' and so on,
-- `columns` is ' (c)' for a column. NULL lists are the default, for which there is nothing to do.
-- Default privileges give others some when it is made: they are taken away first.
CREATE OR REPLACE FUNCTION pando.grant_commands(target text, acl aclitem[], owner oid,
		columns text DEFAULT '') RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY WITH known AS (
		SELECT CASE WHEN acl IS NULL AND columns = '' AND EXISTS (SELECT FROM pg_default_acl)
			THEN acldefault(CASE split_part(target, ' ', 1) WHEN 'TABLE' THEN 'r' WHEN 'SEQUENCE' THEN 's'
				WHEN 'SCHEMA' THEN 'n' WHEN 'TYPE' THEN 'T' WHEN 'ROUTINE' THEN 'f' END::"char", owner)
			ELSE acl END AS known_acl)
	SELECT format('REVOKE ALL%s ON %s FROM PUBLIC, %I', columns, target, pg_get_userbyid(owner))
	FROM known WHERE known_acl IS NOT NULL AND columns = ''
	UNION ALL
	SELECT format('REVOKE ALL ON %s FROM %I', target, pg_get_userbyid(grantee))
	FROM known, (SELECT DISTINCT grantee FROM pg_default_acl, aclexplode(defaclacl)) given
	WHERE known_acl IS NOT NULL AND columns = '' AND grantee NOT IN (0, owner)
	UNION ALL
	(SELECT format('GRANT %s%s ON %s TO %s%s', string_agg(privilege_type, ', '), '', target,
			CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
			CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
	FROM known, aclexplode(known_acl) WITH ORDINALITY item (grantor, grantee, privilege_type, is_grantable, n)
	WHERE columns = '' GROUP BY grantee, is_grantable ORDER BY min(n))
	UNION ALL
	SELECT format('GRANT %s%s ON %s TO %s%s', privilege_type, columns, target,
			CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
			CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
	FROM aclexplode(acl) WHERE columns <> '';
END $$;

-- Sequences that a table owns or uses in defaults. kind: 'i' identity, 'a' owned, 'd' only used.
CREATE OR REPLACE FUNCTION pando.table_sequences(rel regclass)
	RETURNS TABLE (seq oid, kind "char", attnum int2)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT DISTINCT ON (s.oid) s.oid, k.kind, k.attnum
	FROM (
		SELECT d.objid AS oid, d.deptype::"char" AS kind, d.refobjsubid::int2 AS attnum
		FROM pg_depend d
		WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
			AND d.refobjid = rel AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')
		UNION ALL
		SELECT d.refobjid, 'd'::"char", ad.adnum
		FROM pg_attrdef ad JOIN pg_depend d
			ON d.classid = 'pg_attrdef'::regclass AND d.objid = ad.oid
			AND d.refclassid = 'pg_class'::regclass
		WHERE ad.adrelid = rel
	) k JOIN pg_class s ON s.oid = k.oid AND s.relkind = 'S'
	ORDER BY s.oid, CASE k.kind WHEN 'i' THEN 1 WHEN 'a' THEN 2 ELSE 3 END;
END $$;

-- Has the sequence been given this node's range (sequence_fit())?
CREATE OR REPLACE FUNCTION pando.sequence_has_range(seq oid) RETURNS boolean
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT g.groupid > 0 AND s.seqmin = (g.groupid::int8 << 48) + 1
	FROM pg_sequence s, pg_dist_local_group g WHERE s.seqrelid = seq);
END $$;

-- As on the coordinator, where a sequence has no range of its own.
CREATE OR REPLACE FUNCTION pando.sequence_options(seq oid) RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT format('INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s%s', seqincrement,
		CASE WHEN ranged THEN 1 ELSE seqmin END,
		CASE WHEN ranged THEN 9223372036854775807 ELSE seqmax END,
		CASE WHEN ranged THEN seqstart - seqmin + 1 ELSE seqstart END,
		seqcache, CASE WHEN seqcycle THEN ' CYCLE' ELSE ' NO CYCLE' END)
	FROM pg_sequence, pando.sequence_has_range(seq) AS ranged WHERE seqrelid = seq);
END $$;

-- Where a sequence stands that a node other than the coordinator has used by itself: the
-- coordinator's goes on from there. One that gives its values there already is at its end here (sequence_fit()).
CREATE OR REPLACE FUNCTION pando.sequence_position_command(seq oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('SELECT pg_catalog.setval(%L, %s)', seq::regclass, pg_sequence_last_value(seq))
	FROM pg_dist_local_group g, pg_sequence s
	WHERE g.groupid > 0 AND s.seqrelid = seq AND NOT pando.sequence_has_range(seq)
		AND pg_sequence_last_value(seq) <> CASE WHEN s.seqincrement > 0 THEN s.seqmax ELSE s.seqmin END;
END $$;

CREATE OR REPLACE FUNCTION pando.sequence_commands(seq oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE SEQUENCE IF NOT EXISTS %s AS %s %s', seq::regclass,
		format_type(seqtypid, NULL), pando.sequence_options(seqrelid))
	FROM pg_sequence WHERE seqrelid = seq;
END $$;

-- One column as CREATE TABLE wants it. A dropped one becomes a place holder, so that columns
-- have the same numbers on all nodes and in all shards.
CREATE OR REPLACE FUNCTION pando.column_definition(rel regclass, col int2, for_shard boolean)
	RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT CASE WHEN a.attisdropped THEN format('"........pando.dropped.%s" int4', a.attnum)
	ELSE format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod))
		|| CASE WHEN a.attcompression = 'p' THEN ' COMPRESSION pglz'
			WHEN a.attcompression = 'l' THEN ' COMPRESSION lz4' ELSE '' END
		|| CASE WHEN a.attcollation <> 0 AND a.attcollation <> t.typcollation
			THEN (SELECT format(' COLLATE %I.%I', n.nspname, c.collname) FROM pg_collation c
				JOIN pg_namespace n ON n.oid = c.collnamespace WHERE c.oid = a.attcollation)
			ELSE '' END
		|| CASE WHEN a.attgenerated = 's'
			THEN format(' GENERATED ALWAYS AS (%s) STORED', pg_get_expr(ad.adbin, rel))
			WHEN a.attidentity <> '' AND i.seq IS NOT NULL AND NOT for_shard
			-- A partition has its parent's (since PostgreSQL 17).
			THEN format(' GENERATED %s AS IDENTITY (SEQUENCE NAME %s %s)',
				CASE a.attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, i.seq::regclass,
				pando.sequence_options(i.seq))
			WHEN ad.oid IS NOT NULL AND NOT (for_shard AND EXISTS (SELECT FROM pg_depend d
				JOIN pg_class s ON s.oid = d.refobjid AND s.relkind = 'S'
				WHERE d.classid = 'pg_attrdef'::regclass AND d.objid = ad.oid
				AND d.refclassid = 'pg_class'::regclass))
			THEN format(' DEFAULT %s', pg_get_expr(ad.adbin, rel)) ELSE '' END
		|| CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
	END
	FROM pg_attribute a
	LEFT JOIN pg_type t ON t.oid = a.atttypid
	LEFT JOIN pg_attrdef ad ON ad.adrelid = a.attrelid AND ad.adnum = a.attnum
	LEFT JOIN pando.table_sequences(rel) i ON i.kind = 'i' AND i.attnum = a.attnum
	WHERE a.attrelid = rel AND a.attnum = col);
END $$;

CREATE OR REPLACE FUNCTION pando.create_table_command(rel regclass, for_shard boolean) RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT format('CREATE %sTABLE %s (%s)%s%s%s',
		CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED ' ELSE '' END, rel,
		(SELECT string_agg(pando.column_definition(rel, a.attnum, for_shard), ', '
				ORDER BY a.attnum)
			FROM pg_attribute a WHERE a.attrelid = rel AND a.attnum > 0),
		' PARTITION BY ' || pg_get_partkeydef(rel),
		(SELECT format(' USING %I', am.amname) FROM pg_am am WHERE am.oid = c.relam),
		' WITH (' || nullif(concat_ws(', ', pando.option_list(c.reloptions),
			(SELECT pando.option_list(tc.reloptions, 'toast.') FROM pg_class tc
				WHERE tc.oid = c.reltoastrelid)), '') || ')')
	FROM pg_class c WHERE c.oid = rel);
END $$;

CREATE OR REPLACE FUNCTION pando.policy_command(pol pg_policy) RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT format('CREATE POLICY %I ON %s AS %s FOR %s TO %s%s%s', pol.polname,
		pol.polrelid::regclass,
		CASE WHEN pol.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
		CASE pol.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE'
			WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
		(SELECT string_agg(CASE r WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(r)) END,
			', ') FROM unnest(pol.polroles) r),
		' USING (' || pg_get_expr(pol.polqual, pol.polrelid) || ')',
		' WITH CHECK (' || pg_get_expr(pol.polwithcheck, pol.polrelid) || ')'));
END $$;

-- All commands that make the table (or one of its shards, when for_shard), to be run in order of
-- stage and step. Stages as in table_def.h: 0 table, 1 indexes, 2 foreign keys; 3 rules, which name others.
CREATE OR REPLACE FUNCTION pando.table_definition_steps(rel regclass, for_shard boolean)
	RETURNS TABLE (stage int, step int, ord int8, command text)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET jit = off
	SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT stage, step, ord::int8, command FROM (
		SELECT 0 AS stage, 1 AS step, 0::int8 AS ord,
			(SELECT pando.sequence_commands(s.seq)) AS command
		FROM pando.table_sequences(rel) s WHERE NOT for_shard AND s.kind <> 'i'
		UNION ALL
		SELECT 0, 2, 0, pando.create_table_command(rel, for_shard)
		UNION ALL
		SELECT 0, 3, a.attnum,
			format('ALTER TABLE %s DROP COLUMN "........pando.dropped.%s"', rel, a.attnum)
		FROM pg_attribute a WHERE a.attrelid = rel AND a.attnum > 0 AND a.attisdropped
		UNION ALL
		SELECT 0, 3, 10000, format('ALTER TABLE %s OF %s', rel, c.reloftype::regtype)
		FROM pg_class c WHERE c.oid = rel AND c.reloftype <> 0
		UNION ALL
		SELECT 0, 4, 0, format('ALTER TABLE %s OWNER TO %I', rel, pg_get_userbyid(c.relowner))
		FROM pg_class c WHERE c.oid = rel
		UNION ALL
		SELECT 0, 5, s.seq::int8 * 8 + x.part, x.command
		FROM pando.table_sequences(rel) s JOIN pg_class c ON c.oid = s.seq,
			LATERAL (VALUES
				(1, CASE WHEN s.kind <> 'i' THEN format('ALTER SEQUENCE %s OWNER TO %I', s.seq::regclass,
					pg_get_userbyid(c.relowner)) END),
				(2, (SELECT format('ALTER SEQUENCE %s OWNED BY %s.%I', s.seq::regclass, rel, a.attname)
					FROM pg_attribute a
					WHERE s.kind = 'a' AND a.attrelid = rel AND a.attnum = s.attnum)),
				(3, (SELECT pando.sequence_position_command(s.seq))),
				(4, format('SELECT pando.sequence_adjust(%L)', s.seq::regclass))) x(part, command)
		WHERE NOT for_shard AND x.command IS NOT NULL
		UNION ALL
		SELECT 0, 6, g.n, g.command
		FROM pando.table_sequences(rel) s JOIN pg_class c ON c.oid = s.seq,
			LATERAL pando.grant_commands('SEQUENCE ' || s.seq::regclass, c.relacl, c.relowner)
				WITH ORDINALITY AS g(command, n)
		WHERE NOT for_shard
		UNION ALL
		SELECT 0, 7, a.attnum, format('ALTER TABLE %s %s', rel, concat_ws(', ',
			CASE WHEN a.attstorage <> t.typstorage THEN format('ALTER COLUMN %I SET STORAGE %s',
				a.attname, CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL'
				WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END) END,
			CASE WHEN a.attstattarget >= 0 THEN format('ALTER COLUMN %I SET STATISTICS %s',
				a.attname, a.attstattarget) END,
			'ALTER COLUMN ' || quote_ident(a.attname) || ' SET (' || pando.option_list(a.attoptions) || ')'))
		FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
		WHERE a.attrelid = rel AND a.attnum > 0 AND NOT a.attisdropped
			AND (a.attstorage <> t.typstorage OR a.attstattarget >= 0
				OR pando.option_list(a.attoptions) IS NOT NULL)
		UNION ALL
		SELECT 0, 8, g.n, g.command FROM pg_class c,
			LATERAL pando.grant_commands('TABLE ' || rel, c.relacl, c.relowner)
				WITH ORDINALITY AS g(command, n)
		WHERE c.oid = rel
		UNION ALL
		SELECT 0, 9, a.attnum, g.command FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid,
			LATERAL pando.grant_commands('TABLE ' || rel, a.attacl, c.relowner,
				format(' (%I)', a.attname)) AS g(command)
		WHERE c.oid = rel AND a.attnum > 0 AND NOT a.attisdropped
		UNION ALL
		SELECT 0, 20, 0, format('ALTER TABLE %s SET TABLESPACE %I', rel, s.spcname)
		FROM pg_class c JOIN pg_tablespace s ON s.oid = c.reltablespace WHERE c.oid = rel
		UNION ALL
		SELECT 1, 1, x.indexrelid, CASE c.relkind WHEN 'I' THEN pg_get_indexdef(x.indexrelid)
			ELSE pando.index_command(x.indexrelid) END
		FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid WHERE x.indrelid = rel AND x.indisvalid AND NOT EXISTS
			(SELECT FROM pg_constraint n WHERE n.conindid = x.indexrelid
				AND n.conrelid = rel AND n.contype IN ('p', 'u', 'x'))
		UNION ALL
		SELECT 1, CASE n.contype WHEN 'p' THEN 2 ELSE 3 END, n.oid, pando.constraint_command(n.oid)
		FROM pg_constraint n WHERE n.conrelid = rel AND n.contype IN ('p', 'u', 'x', 'c')
		UNION ALL
		SELECT 1, 4, c.oid, format('ALTER INDEX %s SET TABLESPACE %I', c.oid::regclass, s.spcname)
		FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid AND c.relkind = 'I'
			JOIN pg_tablespace s ON s.oid = c.reltablespace
		WHERE x.indrelid = rel AND NOT EXISTS (SELECT FROM pg_constraint n WHERE n.conindid = x.indexrelid)
		UNION ALL
		SELECT 1, 4, x.indexrelid, format('ALTER TABLE %s CLUSTER ON %I', rel, i.relname)
		FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
		WHERE x.indrelid = rel AND x.indisclustered
		UNION ALL
		SELECT 1, 5, x.indexrelid, format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS %s',
			x.indexrelid::regclass, a.attnum, a.attstattarget)
		FROM pg_index x JOIN pg_attribute a ON a.attrelid = x.indexrelid
		WHERE x.indrelid = rel AND a.attstattarget >= 0 AND x.indexprs IS NOT NULL
		UNION ALL
		SELECT 1, 6, 0, format('ALTER TABLE %s REPLICA IDENTITY %s', rel,
			CASE c.relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING'
			ELSE (SELECT format('USING INDEX %I', i.relname) FROM pg_index x JOIN pg_class i
				ON i.oid = x.indexrelid WHERE x.indrelid = rel AND x.indisreplident) END)
		FROM pg_class c WHERE c.oid = rel AND (c.relreplident IN ('f', 'n')
			OR (c.relreplident = 'i' AND EXISTS (SELECT FROM pg_index x
				WHERE x.indrelid = rel AND x.indisreplident)))
		UNION ALL
		SELECT 1, 7, s.oid::int8 * 4 + x.part, x.command
		FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = s.stxnamespace,
			LATERAL (VALUES (1, pg_get_statisticsobjdef(s.oid)),
				(2, format('ALTER STATISTICS %I.%I OWNER TO %I', n.nspname, s.stxname,
					pg_get_userbyid(s.stxowner))),
				(3, CASE WHEN s.stxstattarget >= 0 THEN format('ALTER STATISTICS %I.%I SET STATISTICS %s',
					n.nspname, s.stxname, s.stxstattarget) END)) x(part, command)
		WHERE s.stxrelid = rel AND x.command IS NOT NULL
		UNION ALL
		SELECT 1, 8, 0, format('ALTER TABLE %s %s', rel, concat_ws(', ',
			CASE WHEN c.relrowsecurity THEN 'ENABLE ROW LEVEL SECURITY' END,
			CASE WHEN c.relforcerowsecurity THEN 'FORCE ROW LEVEL SECURITY' END))
		FROM pg_class c WHERE c.oid = rel AND (c.relrowsecurity OR c.relforcerowsecurity)
		UNION ALL
		SELECT 1, 9, p.oid, pando.policy_command(p) FROM pg_policy p WHERE p.polrelid = rel
		UNION ALL
		SELECT 1, 10, t.oid::int8 * 4 + x.part, x.command FROM pg_trigger t,
			LATERAL (SELECT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_trigger'::regclass
				AND d.objid = t.oid AND d.deptype = 'x' AND d.refclassid = 'pg_extension'::regclass
				AND d.refobjid = (SELECT e.oid FROM pg_extension e WHERE e.extname = 'pando'))) m(on_shards),
			LATERAL (VALUES (1, pg_get_triggerdef(t.oid)),
				(2, CASE WHEN t.tgenabled <> 'O' THEN format('ALTER TABLE %s %s TRIGGER %I', rel,
					CASE t.tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'A' THEN 'ENABLE ALWAYS'
					ELSE 'ENABLE REPLICA' END, t.tgname) END),
				(3, CASE WHEN NOT for_shard AND m.on_shards THEN
					format('ALTER TRIGGER %I ON %s DEPENDS ON EXTENSION pando', t.tgname, rel) END)) x(part, command)
		WHERE t.tgrelid = rel AND NOT t.tgisinternal AND t.tgparentid = 0 AND x.command IS NOT NULL
			AND (NOT for_shard OR m.on_shards)
		UNION ALL
		SELECT 1, 11, d.objsubid, format('COMMENT ON %s IS %L', CASE WHEN d.objsubid = 0
			THEN format('TABLE %s', rel) ELSE format('COLUMN %s.%I', rel, a.attname) END,
			d.description)
		FROM pg_description d LEFT JOIN pg_attribute a
			ON a.attrelid = rel AND a.attnum = d.objsubid AND d.objsubid > 0
		WHERE NOT for_shard AND d.classoid = 'pg_class'::regclass AND d.objoid = rel
		UNION ALL
		SELECT 1, 12, n.oid, format('COMMENT ON CONSTRAINT %I ON %s IS %L', n.conname, rel,
			d.description)
		FROM pg_constraint n JOIN pg_description d
			ON d.classoid = 'pg_constraint'::regclass AND d.objoid = n.oid
		WHERE NOT for_shard AND n.conrelid = rel AND n.contype <> 'f'
		UNION ALL
		SELECT 1, 13, x.indexrelid, format('COMMENT ON INDEX %s IS %L', x.indexrelid::regclass,
			d.description)
		FROM pg_index x JOIN pg_description d
			ON d.classoid = 'pg_class'::regclass AND d.objoid = x.indexrelid AND d.objsubid = 0
		WHERE NOT for_shard AND x.indrelid = rel
		UNION ALL
		SELECT 1, 14, 0, format('ALTER TABLE %s ATTACH PARTITION %s %s', h.inhparent::regclass, rel,
			pg_get_expr(c.relpartbound, rel))
		FROM pg_class c JOIN pg_inherits h ON h.inhrelid = c.oid WHERE c.oid = rel AND c.relispartition AND NOT h.inhdetachpending
		UNION ALL
		SELECT 1, 15, o.n, format('COMMENT ON %s IS %L', o.target, d.description)
		FROM (SELECT 1, 'pg_policy'::regclass, oid, format('POLICY %I ON %s', polname, rel) FROM pg_policy WHERE polrelid = rel
			UNION ALL SELECT 2, 'pg_trigger'::regclass, oid, format('TRIGGER %I ON %s', tgname, rel)
			FROM pg_trigger WHERE tgrelid = rel AND NOT tgisinternal AND tgparentid = 0
			UNION ALL SELECT 3, 'pg_statistic_ext'::regclass, oid, format('STATISTICS %s.%I', stxnamespace::regnamespace, stxname)
			FROM pg_statistic_ext WHERE stxrelid = rel) o(n, class, obj, target)
		JOIN pg_description d ON d.classoid = o.class AND d.objoid = o.obj AND d.objsubid = 0
		WHERE NOT for_shard
		UNION ALL
		SELECT 1, 16, l.objsubid, format('SECURITY LABEL FOR %I ON %s IS %L', l.provider, CASE WHEN l.objsubid = 0
			THEN format('TABLE %s', rel) ELSE format('COLUMN %s.%I', rel, a.attname) END, l.label)
		FROM pg_seclabel l LEFT JOIN pg_attribute a
			ON a.attrelid = rel AND a.attnum = l.objsubid AND l.objsubid > 0
		WHERE NOT for_shard AND l.classoid = 'pg_class'::regclass AND l.objoid = rel
		UNION ALL
		SELECT 1, 17, o.obj, pando.depends_commands(o.class, o.obj, o.target)
		FROM (SELECT 'pg_class'::regclass, indexrelid, format('INDEX %s', indexrelid::regclass) FROM pg_index WHERE indrelid = rel
			UNION ALL SELECT 'pg_trigger'::regclass, oid, format('TRIGGER %I ON %s', tgname, rel) FROM pg_trigger
			WHERE tgrelid = rel AND NOT tgisinternal AND tgparentid = 0 AND NOT for_shard) o(class, obj, target)
		UNION ALL
		SELECT 2, 1, n.oid, pando.constraint_command(n.oid)
		FROM pg_constraint n WHERE n.conrelid = rel AND n.contype = 'f' AND (n.conparentid = 0
			OR EXISTS (SELECT FROM pg_inherits h JOIN pg_constraint p ON p.conrelid = h.inhparent
				WHERE h.inhrelid = rel AND h.inhdetachpending AND p.oid = n.conparentid))
		UNION ALL
		SELECT 3, 1, r.oid::int8 * 4 + x.part, x.command FROM pg_rewrite r,
			LATERAL (VALUES (1, regexp_replace(pg_get_ruledef(r.oid), '^CREATE RULE', 'CREATE OR REPLACE RULE')),
				(2, CASE WHEN r.ev_enabled <> 'O' THEN format('ALTER TABLE %s %s RULE %I', rel,
					CASE r.ev_enabled WHEN 'D' THEN 'DISABLE' WHEN 'A' THEN 'ENABLE ALWAYS'
					ELSE 'ENABLE REPLICA' END, r.rulename) END),
				(3, (SELECT format('COMMENT ON RULE %I ON %s IS %L', r.rulename, rel, d.description)
					FROM pg_description d WHERE d.classoid = 'pg_rewrite'::regclass AND d.objoid = r.oid
					AND d.objsubid = 0))) x(part, command)
		WHERE NOT for_shard AND r.ev_class = rel AND r.rulename <> '_RETURN' AND x.command IS NOT NULL
	) AS commands
	ORDER BY stage, step, ord;
END $$;

CREATE OR REPLACE FUNCTION pando.table_definition(rel regclass, for_shard boolean)
	RETURNS TABLE (stage int, command text)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT stage, command FROM pando.table_definition_steps(rel, for_shard);
END $$;

-- The shell of a managed local table on another node: columns, owner, privileges, indexes, unique
-- and check constraints, and what it is a partition of. The rest (foreign keys, triggers, policies, statistics, comments, tablespaces) is the
-- coordinator's table's alone, where every statement ends up.
CREATE OR REPLACE FUNCTION pando.local_shell_definition(rel regclass) RETURNS SETOF text
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET jit = off AS $$
	SELECT CASE WHEN stage = 1 AND step = 1 THEN pg_get_indexdef(ord::oid) ELSE command END
	FROM pando.table_definition_steps(rel, false)
	WHERE stage = 0 AND step <> 20 OR (stage = 1 AND (step <= 3 OR step = 14))
$$;
