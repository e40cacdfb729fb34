-- Definitions of operators and what belongs to them, casts, transforms, languages, conversions, access methods and event
-- triggers, as commands.

-- OPERATOR(s.+) without the word, and with its operands.
CREATE OR REPLACE FUNCTION pando.operator_name(obj oid, operands boolean DEFAULT true) RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT format('%I.%s', n.nspname, o.oprname) || CASE WHEN operands THEN format(' (%s, %s)',
		CASE WHEN o.oprleft = 0 THEN 'NONE' ELSE format_type(o.oprleft, NULL) END,
		CASE WHEN o.oprright = 0 THEN 'NONE' ELSE format_type(o.oprright, NULL) END) ELSE '' END
	FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace WHERE o.oid = obj);
END $$;

CREATE OR REPLACE FUNCTION pando.operator_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE OPERATOR %s (%s)', pando.operator_name(obj, false), concat_ws(', ',
		format('FUNCTION = %s', oprcode),
		CASE WHEN oprleft <> 0 THEN format('LEFTARG = %s', format_type(oprleft, NULL)) END,
		CASE WHEN oprright <> 0 THEN format('RIGHTARG = %s', format_type(oprright, NULL)) END,
		CASE WHEN oprcom <> 0 THEN format('COMMUTATOR = OPERATOR(%s)', pando.operator_name(oprcom, false)) END,
		CASE WHEN oprnegate <> 0 THEN format('NEGATOR = OPERATOR(%s)', pando.operator_name(oprnegate, false)) END,
		CASE WHEN oprrest <> 0 THEN format('RESTRICT = %s', oprrest) END,
		CASE WHEN oprjoin <> 0 THEN format('JOIN = %s', oprjoin) END,
		CASE WHEN oprcanhash THEN 'HASHES' END, CASE WHEN oprcanmerge THEN 'MERGES' END))
	FROM pg_operator WHERE oid = obj AND oprcode <> 0
	UNION ALL
	SELECT format('ALTER OPERATOR %s OWNER TO %I', pando.operator_name(obj), pg_get_userbyid(oprowner))
	FROM pg_operator WHERE oid = obj AND oprcode <> 0;
END $$;

-- Operators and functions of a family that belong to a class, or (NULL) to none.
CREATE OR REPLACE FUNCTION pando.family_members(family oid, opclass oid, with_types boolean) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('OPERATOR %s %s%s', amopstrategy, pando.operator_name(amopopr),
		CASE amoppurpose WHEN 'o' THEN (SELECT format(' FOR ORDER BY %I.%I', n.nspname, f.opfname)
			FROM pg_opfamily f JOIN pg_namespace n ON n.oid = f.opfnamespace WHERE f.oid = amopsortfamily) END)
	FROM pg_amop a JOIN pg_depend d ON d.classid = 'pg_amop'::regclass AND d.objid = a.oid
		AND d.refclassid = CASE WHEN opclass IS NULL THEN 'pg_opfamily' ELSE 'pg_opclass' END::regclass
		AND d.refobjid = coalesce(opclass, family)
	WHERE a.amopfamily = family
	UNION ALL
	SELECT format('FUNCTION %s%s %s', amprocnum, CASE WHEN with_types OR amproclefttype <> amprocrighttype THEN
		format(' (%s, %s)', format_type(amproclefttype, NULL), format_type(amprocrighttype, NULL)) ELSE
		format(' (%s)', format_type(amproclefttype, NULL)) END, amproc)
	FROM pg_amproc a JOIN pg_depend d ON d.classid = 'pg_amproc'::regclass AND d.objid = a.oid
		AND d.refclassid = CASE WHEN opclass IS NULL THEN 'pg_opfamily' ELSE 'pg_opclass' END::regclass
		AND d.refobjid = coalesce(opclass, family)
	WHERE a.amprocfamily = family;
END $$;

CREATE OR REPLACE FUNCTION pando.family_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT c FROM pg_opfamily f JOIN pg_namespace n ON n.oid = f.opfnamespace JOIN pg_am am ON am.oid = f.opfmethod,
		LATERAL (SELECT format('%I.%I USING %I', n.nspname, f.opfname, am.amname) AS name) x,
		LATERAL (VALUES ('CREATE OPERATOR FAMILY ' || x.name),
			(format('ALTER OPERATOR FAMILY %s ADD %s', x.name,
				(SELECT string_agg(m, ', ') FROM pando.family_members(obj, NULL, true) m))),
			(format('ALTER OPERATOR FAMILY %s OWNER TO %I', x.name, pg_get_userbyid(f.opfowner)))) v(c)
	WHERE f.oid = obj AND c NOT LIKE '% ADD ';
END $$;

CREATE OR REPLACE FUNCTION pando.opclass_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT v.c FROM pg_opclass c JOIN pg_namespace n ON n.oid = c.opcnamespace JOIN pg_am am ON am.oid = c.opcmethod
		JOIN pg_opfamily f ON f.oid = c.opcfamily JOIN pg_namespace fn ON fn.oid = f.opfnamespace,
		LATERAL (VALUES (format('CREATE OPERATOR CLASS %I.%I%s FOR TYPE %s USING %I FAMILY %I.%I AS %s', n.nspname,
				c.opcname, CASE WHEN c.opcdefault THEN ' DEFAULT' ELSE '' END, format_type(c.opcintype, NULL),
				am.amname, fn.nspname, f.opfname, concat_ws(', ',
				format('STORAGE %s', format_type(CASE WHEN c.opckeytype = 0 THEN c.opcintype ELSE c.opckeytype END, NULL)),
				(SELECT string_agg(m, ', ') FROM pando.family_members(c.opcfamily, obj, true) m)))),
			(format('ALTER OPERATOR CLASS %I.%I USING %I OWNER TO %I', n.nspname, c.opcname, am.amname,
				pg_get_userbyid(c.opcowner)))) v(c)
	WHERE c.oid = obj;
END $$;

CREATE OR REPLACE FUNCTION pando.cast_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE CAST (%s AS %s) %s%s', format_type(castsource, NULL), format_type(casttarget, NULL),
		CASE castmethod WHEN 'b' THEN 'WITHOUT FUNCTION' WHEN 'i' THEN 'WITH INOUT'
			ELSE format('WITH FUNCTION %s', castfunc::regprocedure) END,
		CASE castcontext WHEN 'a' THEN ' AS ASSIGNMENT' WHEN 'i' THEN ' AS IMPLICIT' ELSE '' END)
	FROM pg_cast WHERE oid = obj;
END $$;

CREATE OR REPLACE FUNCTION pando.transform_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE OR REPLACE TRANSFORM FOR %s LANGUAGE %I (%s)', format_type(trftype, NULL), lanname,
		concat_ws(', ', CASE WHEN trffromsql <> 0 THEN format('FROM SQL WITH FUNCTION %s', trffromsql::regprocedure) END,
			CASE WHEN trftosql <> 0 THEN format('TO SQL WITH FUNCTION %s', trftosql::regprocedure) END))
	FROM pg_transform JOIN pg_language l ON l.oid = trflang WHERE pg_transform.oid = obj;
END $$;

CREATE OR REPLACE FUNCTION pando.language_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE %sLANGUAGE %I HANDLER %s%s%s', CASE WHEN lanpltrusted THEN 'TRUSTED ' ELSE '' END, lanname,
		lanplcallfoid::regproc, CASE WHEN laninline <> 0 THEN format(' INLINE %s', laninline::regproc) ELSE '' END,
		CASE WHEN lanvalidator <> 0 THEN format(' VALIDATOR %s', lanvalidator::regproc) ELSE '' END)
	FROM pg_language WHERE oid = obj
	UNION ALL
	SELECT format('ALTER LANGUAGE %I OWNER TO %I', lanname, pg_get_userbyid(lanowner)) FROM pg_language WHERE oid = obj
	UNION ALL
	SELECT g FROM pg_language, LATERAL pando.grant_commands(format('LANGUAGE %I', lanname), lanacl, lanowner) g
	WHERE oid = obj;
END $$;

CREATE OR REPLACE FUNCTION pando.conversion_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT v.c FROM pg_conversion c JOIN pg_namespace n ON n.oid = connamespace,
		LATERAL (VALUES (format('CREATE %sCONVERSION %I.%I FOR %L TO %L FROM %s',
				CASE WHEN condefault THEN 'DEFAULT ' ELSE '' END, n.nspname, conname,
				pg_encoding_to_char(conforencoding), pg_encoding_to_char(contoencoding), conproc)),
			(format('ALTER CONVERSION %I.%I OWNER TO %I', n.nspname, conname, pg_get_userbyid(conowner)))) v(c)
	WHERE c.oid = obj;
END $$;

CREATE OR REPLACE FUNCTION pando.text_search_part_commands(class oid, obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE TEXT SEARCH PARSER %I.%I (%s)', n.nspname, prsname, concat_ws(', ',
		format('START = %s', prsstart), format('GETTOKEN = %s', prstoken), format('END = %s', prsend),
		format('LEXTYPES = %s', prslextype), CASE WHEN prsheadline <> 0 THEN format('HEADLINE = %s', prsheadline) END))
	FROM pg_ts_parser p JOIN pg_namespace n ON n.oid = prsnamespace WHERE class = 'pg_ts_parser'::regclass AND p.oid = obj
	UNION ALL
	SELECT format('CREATE TEXT SEARCH TEMPLATE %I.%I (%s)', n.nspname, tmplname, concat_ws(', ',
		CASE WHEN tmplinit <> 0 THEN format('INIT = %s', tmplinit) END, format('LEXIZE = %s', tmpllexize)))
	FROM pg_ts_template t JOIN pg_namespace n ON n.oid = tmplnamespace
	WHERE class = 'pg_ts_template'::regclass AND t.oid = obj;
END $$;

CREATE OR REPLACE FUNCTION pando.access_method_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE ACCESS METHOD %I TYPE %s HANDLER %s', amname, CASE amtype WHEN 'i' THEN 'INDEX' ELSE 'TABLE' END,
		amhandler) FROM pg_am WHERE oid = obj;
END $$;

CREATE OR REPLACE FUNCTION pando.event_trigger_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT v.c FROM pg_event_trigger, LATERAL (VALUES
			(format('CREATE EVENT TRIGGER %I ON %I%s EXECUTE FUNCTION %s()', evtname, evtevent,
				(SELECT format(' WHEN TAG IN (%s)', string_agg(quote_literal(t), ', ')) FROM unnest(evttags) t
					HAVING count(*) > 0), evtfoid::regproc)),
			(format('ALTER EVENT TRIGGER %I OWNER TO %I', evtname, pg_get_userbyid(evtowner))),
			(CASE evtenabled WHEN 'D' THEN format('ALTER EVENT TRIGGER %I DISABLE', evtname)
				WHEN 'A' THEN format('ALTER EVENT TRIGGER %I ENABLE ALWAYS', evtname)
				WHEN 'R' THEN format('ALTER EVENT TRIGGER %I ENABLE REPLICA', evtname) END)) v(c)
	WHERE oid = obj;
END $$;
