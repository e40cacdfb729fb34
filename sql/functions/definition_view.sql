-- Definitions of views and materialized views, as commands.

-- The first command also makes one that is there the same, unless it is a materialized view.
CREATE OR REPLACE FUNCTION pando.view_create_command(obj oid) RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT format('CREATE %s %s%s%s%s AS %s%s',
		CASE relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'OR REPLACE VIEW' END, obj::regclass,
		(SELECT '(' || string_agg(quote_ident(attname), ', ' ORDER BY attnum) || ')' FROM pg_attribute
			WHERE attrelid = obj AND attnum > 0),
		(SELECT format(' USING %I', amname) FROM pg_am WHERE pg_am.oid = relam),
		' WITH (' || pando.option_list(reloptions) || ')',
		rtrim(pg_get_viewdef(obj), ';'), CASE relkind WHEN 'm' THEN ' WITH NO DATA' END)
	FROM pg_class WHERE oid = obj AND relkind IN ('v', 'm'));
END $$;

CREATE OR REPLACE FUNCTION pando.view_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT pando.view_create_command(obj)
	UNION ALL
	SELECT format('ALTER TABLE %s OWNER TO %I', obj::regclass, pg_get_userbyid(relowner))
	FROM pg_class WHERE oid = obj AND relkind IN ('v', 'm')
	UNION ALL
	SELECT format('ALTER VIEW %s ALTER COLUMN %I SET DEFAULT %s', obj::regclass, attname,
		pg_get_expr(adbin, adrelid))
	FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum WHERE adrelid = obj
	UNION ALL
	SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = obj
	UNION ALL
	SELECT format('ALTER TABLE %s CLUSTER ON %I', obj::regclass, relname)
	FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = obj AND indisclustered
	UNION ALL
	SELECT pando.depends_commands('pg_class'::regclass, obj, format('MATERIALIZED VIEW %s', obj::regclass))
	UNION ALL
	SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext WHERE stxrelid = obj
	UNION ALL
	SELECT pg_get_ruledef(oid) FROM pg_rewrite WHERE ev_class = obj AND rulename <> '_RETURN'
	UNION ALL
	SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = obj AND NOT tgisinternal
	UNION ALL
	SELECT g FROM pg_class, LATERAL pando.grant_commands(format('TABLE %s', obj::regclass), relacl,
		relowner) g WHERE oid = obj AND relkind IN ('v', 'm')
	UNION ALL
	SELECT g FROM pg_class c JOIN pg_attribute ON attrelid = c.oid,
		LATERAL pando.grant_commands(format('TABLE %s', obj::regclass), attacl, relowner,
			format(' (%I)', attname)) g
	WHERE c.oid = obj AND relkind IN ('v', 'm') AND attacl IS NOT NULL;
END $$;

-- Views that stand on a table, on each other, and other objects that do: what may be made on other
-- nodes when the table is there, and goes with it. A rule that names one is a view's part; a table's is
-- its own matter.
CREATE OR REPLACE FUNCTION pando.table_dependents(rel oid) RETURNS TABLE (class oid, obj oid)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY WITH RECURSIVE d(class, obj) AS (
		SELECT 'pg_class'::regclass::oid, rel
		UNION
		SELECT CASE WHEN r.oid IS NULL THEN p.classid ELSE 'pg_class'::regclass END,
			coalesce(r.ev_class, p.objid)
		FROM d JOIN pg_depend p ON p.refclassid = d.class AND p.refobjid = d.obj
			LEFT JOIN pg_rewrite r ON p.classid = 'pg_rewrite'::regclass AND r.oid = p.objid
			LEFT JOIN pg_class v ON v.oid = r.ev_class
		WHERE p.deptype IN ('n', 'a', 'i') AND (r.oid IS NULL OR v.relkind IN ('v', 'm')))
	SELECT d.class, d.obj FROM d LEFT JOIN pg_class c ON d.class = 'pg_class'::regclass AND c.oid = d.obj
	WHERE d.obj <> rel AND (c.relkind IN ('v', 'm') OR d.class = 'pg_proc'::regclass);
END $$;
