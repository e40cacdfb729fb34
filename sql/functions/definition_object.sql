-- Definitions of objects other than tables, as commands, and how to ask a node whether it has
-- one already.

-- An SQL expression that is NULL on a node without the object; NULL for kinds we cannot make.
CREATE OR REPLACE FUNCTION pando.object_probe(class oid, obj oid) RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT CASE class
	WHEN 'pg_namespace'::regclass THEN format('to_regnamespace(%L)', obj::regnamespace)
	-- An array type that is in the way gets another name from PostgreSQL.
	WHEN 'pg_type'::regclass THEN format('(SELECT t.oid FROM pg_catalog.pg_type t WHERE t.oid = to_regtype(%L) '
		'AND NOT EXISTS (SELECT FROM pg_catalog.pg_type e WHERE e.oid = t.typelem AND e.typarray = t.oid))', obj::regtype)
	WHEN 'pg_proc'::regclass THEN format('to_regprocedure(%L)', obj::regprocedure)
	WHEN 'pg_class'::regclass THEN format('to_regclass(%L)', obj::regclass)
	WHEN 'pg_authid'::regclass THEN format('to_regrole(%L)', obj::regrole)
	WHEN 'pg_collation'::regclass THEN format('to_regcollation(%L)', obj::regcollation)
	WHEN 'pg_extension'::regclass THEN (SELECT
		format('(SELECT oid FROM pg_catalog.pg_extension WHERE extname = %L)', extname)
		FROM pg_extension WHERE oid = obj)
	WHEN 'pg_operator'::regclass THEN format('(SELECT oid FROM pg_catalog.pg_operator WHERE oprcode <> 0 '
		'AND oid = to_regoperator(%L))', obj::regoperator)
	WHEN 'pg_cast'::regclass THEN (SELECT format('(SELECT oid FROM pg_catalog.pg_cast WHERE castsource = '
		'to_regtype(%L) AND casttarget = to_regtype(%L))', castsource::regtype, casttarget::regtype)
		FROM pg_cast WHERE oid = obj)
	WHEN 'pg_transform'::regclass THEN (SELECT format('(SELECT t.oid FROM pg_catalog.pg_transform t '
		'JOIN pg_catalog.pg_language l ON l.oid = trflang WHERE trftype = to_regtype(%L) AND lanname = %L)',
		trftype::regtype, lanname) FROM pg_transform t JOIN pg_language l ON l.oid = trflang WHERE t.oid = obj)
	WHEN 'pg_user_mapping'::regclass THEN (SELECT format('(SELECT umid FROM pg_catalog.pg_user_mappings '
		'WHERE usename = %L AND srvname = %L)', usename, srvname) FROM pg_user_mappings WHERE umid = obj)
	WHEN 'pg_opclass'::regclass THEN (SELECT format('(SELECT c.oid FROM pg_catalog.pg_opclass c '
		'JOIN pg_catalog.pg_am m ON m.oid = opcmethod WHERE opcnamespace = to_regnamespace(%L) AND opcname = %L '
		'AND amname = %L)', opcnamespace::regnamespace, opcname, amname)
		FROM pg_opclass c JOIN pg_am m ON m.oid = opcmethod WHERE c.oid = obj)
	WHEN 'pg_opfamily'::regclass THEN (SELECT format('(SELECT f.oid FROM pg_catalog.pg_opfamily f '
		'JOIN pg_catalog.pg_am m ON m.oid = opfmethod WHERE opfnamespace = to_regnamespace(%L) AND opfname = %L '
		'AND amname = %L)', opfnamespace::regnamespace, opfname, amname)
		FROM pg_opfamily f JOIN pg_am m ON m.oid = opfmethod WHERE f.oid = obj)
	WHEN 'pg_conversion'::regclass THEN (SELECT format('(SELECT oid FROM pg_catalog.pg_conversion '
		'WHERE connamespace = to_regnamespace(%L) AND conname = %L)', connamespace::regnamespace, conname)
		FROM pg_conversion WHERE oid = obj)
	WHEN 'pg_ts_parser'::regclass THEN (SELECT format('(SELECT oid FROM pg_catalog.pg_ts_parser '
		'WHERE prsnamespace = to_regnamespace(%L) AND prsname = %L)', prsnamespace::regnamespace, prsname)
		FROM pg_ts_parser WHERE oid = obj)
	WHEN 'pg_ts_template'::regclass THEN (SELECT format('(SELECT oid FROM pg_catalog.pg_ts_template '
		'WHERE tmplnamespace = to_regnamespace(%L) AND tmplname = %L)', tmplnamespace::regnamespace, tmplname)
		FROM pg_ts_template WHERE oid = obj)
	WHEN 'pg_language'::regclass THEN (SELECT format('(SELECT oid FROM pg_catalog.pg_language WHERE lanname = %L)',
		lanname) FROM pg_language WHERE oid = obj)
	WHEN 'pg_am'::regclass THEN (SELECT format('(SELECT oid FROM pg_catalog.pg_am WHERE amname = %L)',
		amname) FROM pg_am WHERE oid = obj)
	WHEN 'pg_foreign_data_wrapper'::regclass THEN (SELECT format('(SELECT oid FROM '
		'pg_catalog.pg_foreign_data_wrapper WHERE fdwname = %L)', fdwname) FROM pg_foreign_data_wrapper WHERE oid = obj)
	WHEN 'pg_foreign_server'::regclass THEN (SELECT format('(SELECT oid FROM pg_catalog.pg_foreign_server '
		'WHERE srvname = %L)', srvname) FROM pg_foreign_server WHERE oid = obj)
	WHEN 'pg_publication'::regclass THEN (SELECT format('(SELECT oid FROM pg_catalog.pg_publication '
		'WHERE pubname = %L)', pubname) FROM pg_publication WHERE oid = obj)
	WHEN 'pg_event_trigger'::regclass THEN (SELECT format('(SELECT oid FROM pg_catalog.pg_event_trigger '
		'WHERE evtname = %L)', evtname) FROM pg_event_trigger WHERE oid = obj)
	WHEN 'pg_ts_dict'::regclass THEN (SELECT format('(SELECT d.oid FROM pg_catalog.pg_ts_dict d
		JOIN pg_catalog.pg_namespace n ON n.oid = d.dictnamespace
		WHERE n.nspname = %L AND d.dictname = %L)', n.nspname, d.dictname)
		FROM pg_ts_dict d JOIN pg_namespace n ON n.oid = d.dictnamespace WHERE d.oid = obj)
	WHEN 'pg_ts_config'::regclass THEN (SELECT format('(SELECT c.oid FROM pg_catalog.pg_ts_config c
		JOIN pg_catalog.pg_namespace n ON n.oid = c.cfgnamespace
		WHERE n.nspname = %L AND c.cfgname = %L)', n.nspname, c.cfgname)
		FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace WHERE c.oid = obj)
	END);
END $$;

CREATE OR REPLACE FUNCTION pando.schema_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE SCHEMA IF NOT EXISTS %I AUTHORIZATION %I', nspname,
		pg_get_userbyid(nspowner)) FROM pg_namespace WHERE oid = obj
	UNION ALL
	SELECT g FROM pg_namespace, LATERAL pando.grant_commands(format('SCHEMA %I', nspname), nspacl,
		nspowner) g WHERE oid = obj;
END $$;

CREATE OR REPLACE FUNCTION pando.type_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT CASE t.typtype
	WHEN 'e' THEN format('CREATE TYPE %s AS ENUM (%s)', obj::regtype,
		(SELECT string_agg(quote_literal(enumlabel), ', ' ORDER BY enumsortorder)
			FROM pg_enum WHERE enumtypid = obj))
	WHEN 'c' THEN format('CREATE TYPE %s AS (%s)', obj::regtype,
		(SELECT string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod))
			|| CASE WHEN a.attcollation <> 0 AND a.attcollation <> at.typcollation
				THEN format(' COLLATE %s', a.attcollation::regcollation) ELSE '' END,
			', ' ORDER BY a.attnum)
			FROM pg_attribute a JOIN pg_type at ON at.oid = a.atttypid
			WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped))
	WHEN 'd' THEN format('CREATE DOMAIN %s AS %s%s%s%s', obj::regtype,
		format_type(t.typbasetype, t.typtypmod),
		(SELECT format(' COLLATE %s', t.typcollation::regcollation) FROM pg_type b
			WHERE b.oid = t.typbasetype AND t.typcollation <> 0
			AND b.typcollation <> t.typcollation),
		' DEFAULT ' || pg_get_expr(t.typdefaultbin, 0),
		CASE WHEN t.typnotnull THEN ' NOT NULL' ELSE '' END)
	WHEN 'r' THEN (SELECT format('CREATE TYPE %s AS RANGE (%s)', obj::regtype, concat_ws(', ',
		format('SUBTYPE = %s', format_type(r.rngsubtype, NULL)),
		(SELECT format('SUBTYPE_OPCLASS = %I.%I', n.nspname, o.opcname) FROM pg_opclass o
			JOIN pg_namespace n ON n.oid = o.opcnamespace WHERE o.oid = r.rngsubopc),
		CASE WHEN r.rngcollation <> 0 THEN format('COLLATION = %s', r.rngcollation::regcollation) END,
		CASE WHEN r.rngcanonical <> 0 THEN format('CANONICAL = %s', r.rngcanonical) END,
		CASE WHEN r.rngsubdiff <> 0 THEN format('SUBTYPE_DIFF = %s', r.rngsubdiff) END,
		format('MULTIRANGE_TYPE_NAME = %s', r.rngmultitypid::regtype)))
		FROM pg_range r WHERE r.rngtypid = obj)
	END
	FROM pg_type t WHERE t.oid = obj
	UNION ALL
	SELECT format('ALTER DOMAIN %s ADD CONSTRAINT %I %s', obj::regtype, conname,
		pg_get_constraintdef(oid)) FROM pg_constraint WHERE contypid = obj AND contype = 'c'
	UNION ALL
	SELECT format('ALTER %s %s OWNER TO %I', CASE typtype WHEN 'd' THEN 'DOMAIN' ELSE 'TYPE' END,
		obj::regtype, pg_get_userbyid(typowner)) FROM pg_type WHERE oid = obj AND typtype IN ('c', 'd', 'e', 'r')
	UNION ALL
	SELECT g FROM pg_type, LATERAL pando.grant_commands(format('TYPE %s', obj::regtype), typacl,
		typowner) g WHERE oid = obj AND typtype IN ('c', 'd', 'e', 'r');
END $$;

CREATE OR REPLACE FUNCTION pando.aggregate_command(obj oid) RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT format('CREATE OR REPLACE AGGREGATE %I.%I (%s) (%s)', n.nspname, p.proname,
		CASE WHEN p.pronargs = 0 THEN '*' ELSE pg_get_function_arguments(obj) END, concat_ws(', ',
		format('SFUNC = %s', aggtransfn), format('STYPE = %s', format_type(aggtranstype, NULL)),
		CASE WHEN aggtransspace <> 0 THEN format('SSPACE = %s', aggtransspace) END,
		CASE WHEN aggfinalfn <> 0 THEN format('FINALFUNC = %s', aggfinalfn) END,
		CASE WHEN aggfinalextra THEN 'FINALFUNC_EXTRA' END,
		CASE WHEN aggfinalfn <> 0 THEN 'FINALFUNC_MODIFY = ' || CASE aggfinalmodify
			WHEN 'r' THEN 'READ_ONLY' WHEN 's' THEN 'SHAREABLE' ELSE 'READ_WRITE' END END,
		CASE WHEN aggcombinefn <> 0 THEN format('COMBINEFUNC = %s', aggcombinefn) END,
		CASE WHEN aggserialfn <> 0 THEN format('SERIALFUNC = %s', aggserialfn) END,
		CASE WHEN aggdeserialfn <> 0 THEN format('DESERIALFUNC = %s', aggdeserialfn) END,
		CASE WHEN agginitval IS NOT NULL THEN format('INITCOND = %L', agginitval) END,
		CASE WHEN aggmtransfn <> 0 THEN format('MSFUNC = %s', aggmtransfn) END,
		CASE WHEN aggminvtransfn <> 0 THEN format('MINVFUNC = %s', aggminvtransfn) END,
		CASE WHEN aggmtranstype <> 0 THEN format('MSTYPE = %s', format_type(aggmtranstype, NULL)) END,
		CASE WHEN aggmtransspace <> 0 THEN format('MSSPACE = %s', aggmtransspace) END,
		CASE WHEN aggmfinalfn <> 0 THEN format('MFINALFUNC = %s', aggmfinalfn) END,
		CASE WHEN aggmfinalextra THEN 'MFINALFUNC_EXTRA' END,
		CASE WHEN aggmfinalfn <> 0 THEN 'MFINALFUNC_MODIFY = ' || CASE aggmfinalmodify
			WHEN 'r' THEN 'READ_ONLY' WHEN 's' THEN 'SHAREABLE' ELSE 'READ_WRITE' END END,
		CASE WHEN aggminitval IS NOT NULL THEN format('MINITCOND = %L', aggminitval) END,
		(SELECT format('SORTOP = OPERATOR(%I.%s)', o.nspname, op.oprname) FROM pg_operator op
			JOIN pg_namespace o ON o.oid = op.oprnamespace WHERE op.oid = aggsortop),
		CASE p.proparallel WHEN 's' THEN 'PARALLEL = SAFE' WHEN 'r' THEN 'PARALLEL = RESTRICTED' END,
		CASE WHEN aggkind = 'h' THEN 'HYPOTHETICAL' END))
	FROM pg_aggregate JOIN pg_proc p ON p.oid = aggfnoid JOIN pg_namespace n ON n.oid = p.pronamespace
	WHERE aggfnoid = obj);
END $$;

-- A routine as ALTER, COMMENT and GRANT take it. Of procedures two may differ in what is OUT alone.
CREATE OR REPLACE FUNCTION pando.routine_target(obj oid) RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT CASE prokind WHEN 'p' THEN format('PROCEDURE %I.%I(%s)', nspname, proname, pg_get_function_identity_arguments(obj))
		ELSE format('ROUTINE %s', obj::regprocedure) END
	FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE p.oid = obj);
END $$;

-- ALTER ... DEPENDS ON EXTENSION, but for what says something else (triggers of shards).
CREATE OR REPLACE FUNCTION pando.depends_commands(class oid, obj oid, target text) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('ALTER %s DEPENDS ON EXTENSION %I', target, extname) FROM pg_depend JOIN pg_extension e ON e.oid = refobjid
	WHERE classid = class AND objid = obj AND deptype = 'x' AND refclassid = 'pg_extension'::regclass AND extname <> 'pando';
END $$;

CREATE OR REPLACE FUNCTION pando.function_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT CASE WHEN prokind = 'a' THEN pando.aggregate_command(obj)
		ELSE pg_get_functiondef(obj) END FROM pg_proc WHERE oid = obj
	UNION ALL
	SELECT format('ALTER %s OWNER TO %I', pando.routine_target(obj), pg_get_userbyid(proowner))
	FROM pg_proc WHERE oid = obj
	UNION ALL
	SELECT g FROM pg_proc, LATERAL pando.grant_commands(pando.routine_target(obj),
		proacl, proowner) g WHERE oid = obj
	UNION ALL
	SELECT pando.depends_commands('pg_proc'::regclass, obj, pando.routine_target(obj));
END $$;

CREATE OR REPLACE FUNCTION pando.collation_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE COLLATION %s (PROVIDER = %s, %s, DETERMINISTIC = %s)', obj::regcollation,
		CASE collprovider WHEN 'i' THEN 'icu' WHEN 'b' THEN 'builtin' ELSE 'libc' END,
		coalesce('LOCALE = ' || quote_literal(coalesce(to_jsonb(c) ->> 'colliculocale',
			to_jsonb(c) ->> 'colllocale')),
			format('LC_COLLATE = %L, LC_CTYPE = %L', collcollate, collctype)),
		CASE WHEN collisdeterministic THEN 'true' ELSE 'false' END)
	FROM pg_collation c WHERE oid = obj
	UNION ALL
	SELECT format('ALTER COLLATION %s OWNER TO %I', obj::regcollation, pg_get_userbyid(collowner))
	FROM pg_collation WHERE oid = obj;
END $$;

CREATE OR REPLACE FUNCTION pando.text_search_commands(class oid, obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE TEXT SEARCH DICTIONARY %I.%I (TEMPLATE = %I.%I%s)', n.nspname, d.dictname,
		tn.nspname, t.tmplname, ', ' || d.dictinitoption)
	FROM pg_ts_dict d JOIN pg_namespace n ON n.oid = d.dictnamespace
		JOIN pg_ts_template t ON t.oid = d.dicttemplate JOIN pg_namespace tn ON tn.oid = t.tmplnamespace
	WHERE class = 'pg_ts_dict'::regclass AND d.oid = obj
	UNION ALL
	SELECT format('ALTER TEXT SEARCH DICTIONARY %I.%I OWNER TO %I', n.nspname, d.dictname,
		pg_get_userbyid(d.dictowner))
	FROM pg_ts_dict d JOIN pg_namespace n ON n.oid = d.dictnamespace
	WHERE class = 'pg_ts_dict'::regclass AND d.oid = obj
	UNION ALL
	SELECT format('CREATE TEXT SEARCH CONFIGURATION %I.%I (PARSER = %I.%I)', n.nspname, c.cfgname,
		pn.nspname, p.prsname)
	FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace
		JOIN pg_ts_parser p ON p.oid = c.cfgparser JOIN pg_namespace pn ON pn.oid = p.prsnamespace
	WHERE class = 'pg_ts_config'::regclass AND c.oid = obj
	UNION ALL
	(SELECT format('ALTER TEXT SEARCH CONFIGURATION %I.%I ADD MAPPING FOR %I WITH %s', n.nspname,
		c.cfgname, (SELECT alias FROM ts_token_type(c.cfgparser) WHERE tokid = m.maptokentype),
		string_agg(format('%I.%I', dn.nspname, d.dictname), ', ' ORDER BY m.mapseqno))
	FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace
		JOIN pg_ts_config_map m ON m.mapcfg = c.oid JOIN pg_ts_dict d ON d.oid = m.mapdict
		JOIN pg_namespace dn ON dn.oid = d.dictnamespace
	WHERE class = 'pg_ts_config'::regclass AND c.oid = obj
	GROUP BY n.nspname, c.cfgname, c.cfgparser, m.maptokentype)
	UNION ALL
	SELECT format('ALTER TEXT SEARCH CONFIGURATION %I.%I OWNER TO %I', n.nspname, c.cfgname,
		pg_get_userbyid(c.cfgowner))
	FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace
	WHERE class = 'pg_ts_config'::regclass AND c.oid = obj;
END $$;

-- Commands that make an object, roles excepted; none (or NULL) for kinds we cannot make.
CREATE OR REPLACE FUNCTION pando.object_definition(class oid, obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT c FROM pando.schema_commands(obj) c WHERE class = 'pg_namespace'::regclass
	UNION ALL
	SELECT format('CREATE EXTENSION IF NOT EXISTS %I WITH SCHEMA %I VERSION %L', e.extname,
		n.nspname, e.extversion)
	FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
	WHERE class = 'pg_extension'::regclass AND e.oid = obj
	UNION ALL
	SELECT c FROM pando.view_commands(obj) c WHERE class = 'pg_class'::regclass
	UNION ALL
	SELECT c FROM pando.type_commands(obj) c WHERE class = 'pg_type'::regclass
	UNION ALL
	SELECT c FROM pando.function_commands(obj) c WHERE class = 'pg_proc'::regclass
	UNION ALL
	SELECT c FROM pando.collation_commands(obj) c WHERE class = 'pg_collation'::regclass
	UNION ALL
	SELECT c FROM pando.text_search_commands(class, obj) c
	WHERE class IN ('pg_ts_dict'::regclass, 'pg_ts_config'::regclass)
	UNION ALL
	SELECT c FROM pando.operator_commands(obj) c WHERE class = 'pg_operator'::regclass
	UNION ALL
	SELECT c FROM pando.family_commands(obj) c WHERE class = 'pg_opfamily'::regclass
	UNION ALL
	SELECT c FROM pando.opclass_commands(obj) c WHERE class = 'pg_opclass'::regclass
	UNION ALL
	SELECT c FROM pando.cast_commands(obj) c WHERE class = 'pg_cast'::regclass
	UNION ALL
	SELECT c FROM pando.transform_commands(obj) c WHERE class = 'pg_transform'::regclass
	UNION ALL
	SELECT c FROM pando.language_commands(obj) c WHERE class = 'pg_language'::regclass
	UNION ALL
	SELECT c FROM pando.conversion_commands(obj) c WHERE class = 'pg_conversion'::regclass
	UNION ALL
	SELECT c FROM pando.access_method_commands(obj) c WHERE class = 'pg_am'::regclass
	UNION ALL
	SELECT c FROM pando.wrapper_commands(obj) c WHERE class = 'pg_foreign_data_wrapper'::regclass
	UNION ALL
	SELECT c FROM pando.server_commands(obj) c WHERE class = 'pg_foreign_server'::regclass
	UNION ALL
	SELECT c FROM pando.user_mapping_commands(obj) c WHERE class = 'pg_user_mapping'::regclass
	UNION ALL
	SELECT c FROM pando.publication_commands(obj) c WHERE class = 'pg_publication'::regclass
	UNION ALL
	SELECT c FROM pando.text_search_part_commands(class, obj) c
	WHERE class IN ('pg_ts_parser'::regclass, 'pg_ts_template'::regclass)
	UNION ALL
	SELECT c FROM pando.event_trigger_commands(obj) c WHERE class = 'pg_event_trigger'::regclass
	UNION ALL
	SELECT c FROM pando.note_commands(class, obj) c;
END $$;

-- Before an object is made on this node: what has its name here and isn't the cluster's gets another name if it differs (its owner,
-- privileges and comments don't count), or is an error that says so. `probe` is object_probe()'s, `commands` the definition.
CREATE OR REPLACE FUNCTION pando.object_aside(class oid, probe text, commands text[]) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	extra CONSTANT text := '^(ALTER .* OWNER TO |GRANT |REVOKE |COMMENT ON |SECURITY LABEL |CREATE UNIQUE INDEX |CREATE INDEX )';
	node text := coalesce((SELECT format('node %s:%s', nodename, nodeport) FROM pg_catalog.pg_dist_node JOIN pg_catalog.pg_dist_local_group USING (groupid)
		WHERE noderole = 'primary'::pg_catalog.noderole), 'this node');
	obj oid;
	found record;
	target text;
	free text;
	number int := 1;
BEGIN
	EXECUTE 'SELECT (' || probe || ')::pg_catalog.oid' INTO obj;
	IF obj IS NULL OR obj < 16384 OR EXISTS (SELECT FROM pg_catalog.pg_dist_object o WHERE o.classid = class AND o.objid = obj)
		OR EXISTS (SELECT FROM pg_depend d WHERE d.classid = class AND d.objid = obj AND d.deptype = 'e')
		OR class NOT IN ('pg_extension'::regclass, 'pg_proc'::regclass, 'pg_type'::regclass, 'pg_class'::regclass, 'pg_collation'::regclass,
			'pg_ts_config'::regclass, 'pg_ts_dict'::regclass) THEN
		RETURN;
	END IF;
	SELECT type, schema, coalesce(name, (SELECT proname FROM pg_proc p WHERE class = 'pg_proc'::regclass AND p.oid = obj)) AS name,
		identity INTO found FROM pg_identify_object(class, obj, 0);
	IF found.identity IS NULL THEN
		RETURN;
	ELSIF class = 'pg_extension'::regclass THEN
		IF commands[1] NOT LIKE '% VERSION ' || quote_literal((SELECT extversion FROM pg_extension e WHERE e.oid = obj)) THEN
			RAISE invalid_object_definition USING MESSAGE = format('extension "%s" has another version on another node', found.name),
				DETAIL = format('On %s it is %s, here it would be %s.', node, (SELECT extversion FROM pg_extension e WHERE e.oid = obj),
					substring(commands[1] FROM $re$ VERSION '(.*)'$re$)),
				HINT = format('Use ALTER EXTENSION %I UPDATE there, or CREATE EXTENSION %I VERSION here.', found.name, found.name);
		END IF;
		RETURN;
	END IF;
	target := CASE WHEN class = 'pg_proc'::regclass THEN pando.routine_target(obj)
		WHEN class = 'pg_type'::regclass THEN (SELECT 'TYPE ' || obj::regtype FROM pg_type t WHERE t.oid = obj
			AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = t.typrelid AND relkind <> 'c'))
		WHEN class = 'pg_class'::regclass THEN (SELECT CASE relkind WHEN 'v' THEN 'VIEW ' WHEN 'm' THEN 'MATERIALIZED VIEW ' END || obj::regclass
			FROM pg_class c WHERE c.oid = obj)
		ELSE format('%s %I.%I', upper(found.type), found.schema, found.name) END;
	IF target IS NULL THEN
		RAISE duplicate_object USING MESSAGE = format('%s %s is in the way on another node', found.type, found.identity),
			DETAIL = format('On %s something else has that name.', node), HINT = 'Rename that, or drop it.';
	ELSIF ARRAY(SELECT c FROM pando.object_definition(class, obj) c WHERE c !~ extra ORDER BY c COLLATE "C")
			= ARRAY(SELECT c FROM unnest(commands) c WHERE c !~ extra ORDER BY c COLLATE "C") THEN
		RETURN;
	END IF;
	LOOP
		free := left(found.name, 63 - 10) || '_backup_' || number;
		EXIT WHEN NOT EXISTS (SELECT FROM pg_class WHERE relname = free UNION ALL SELECT FROM pg_type WHERE typname = free
			UNION ALL SELECT FROM pg_proc WHERE proname = free UNION ALL SELECT FROM pg_collation WHERE collname = free
			UNION ALL SELECT FROM pg_ts_config WHERE cfgname = free UNION ALL SELECT FROM pg_ts_dict WHERE dictname = free);
		number := number + 1;
	END LOOP;
	EXECUTE format('ALTER %s RENAME TO %I', target, free);
	RAISE NOTICE '% % of another node is now called %', found.type, found.identity, free
		USING DETAIL = format('What %s had by that name is another than what all nodes have now.', node);
END $$;
