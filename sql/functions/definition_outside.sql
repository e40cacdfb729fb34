-- Definitions of foreign-data wrappers, servers, user mappings, publications and default privileges, as commands.

-- {a=1,b=x} as "a '1', b 'x'".
CREATE OR REPLACE FUNCTION pando.foreign_options(options text[]) RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT format(' OPTIONS (%s)', string_agg(format('%I %L', option_name, option_value), ', '))
	FROM pg_options_to_table(options) WHERE options IS NOT NULL HAVING count(*) > 0);
END $$;

CREATE OR REPLACE FUNCTION pando.wrapper_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE FOREIGN DATA WRAPPER %I%s%s%s', fdwname,
		CASE WHEN fdwhandler <> 0 THEN format(' HANDLER %s', fdwhandler::regproc) END,
		CASE WHEN fdwvalidator <> 0 THEN format(' VALIDATOR %s', fdwvalidator::regproc) END,
		pando.foreign_options(fdwoptions)) FROM pg_foreign_data_wrapper WHERE oid = obj
	UNION ALL
	SELECT format('ALTER FOREIGN DATA WRAPPER %I OWNER TO %I', fdwname, pg_get_userbyid(fdwowner))
	FROM pg_foreign_data_wrapper WHERE oid = obj
	UNION ALL
	SELECT g FROM pg_foreign_data_wrapper, LATERAL pando.grant_commands(format('FOREIGN DATA WRAPPER %I', fdwname),
		fdwacl, fdwowner) g WHERE oid = obj;
END $$;

CREATE OR REPLACE FUNCTION pando.server_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE SERVER %I%s%s FOREIGN DATA WRAPPER %I%s', srvname, ' TYPE ' || quote_literal(srvtype),
		' VERSION ' || quote_literal(srvversion), fdwname, pando.foreign_options(srvoptions))
	FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = srvfdw WHERE s.oid = obj
	UNION ALL
	SELECT format('ALTER SERVER %I OWNER TO %I', srvname, pg_get_userbyid(srvowner))
	FROM pg_foreign_server WHERE oid = obj
	UNION ALL
	SELECT g FROM pg_foreign_server, LATERAL pando.grant_commands(format('FOREIGN SERVER %I', srvname), srvacl,
		srvowner) g WHERE oid = obj;
END $$;

CREATE OR REPLACE FUNCTION pando.user_mapping_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE USER MAPPING FOR %s SERVER %I%s', CASE umuser WHEN 0 THEN 'PUBLIC'
		ELSE quote_ident(pg_get_userbyid(umuser)) END, srvname, pando.foreign_options(umoptions))
	FROM pg_user_mappings WHERE umid = obj;
END $$;

-- Of the tables that all nodes have.
CREATE OR REPLACE FUNCTION pando.publication_table_commands(obj oid) RETURNS TABLE (rel oid, command text)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT prrelid, concat(format('ALTER PUBLICATION %I ADD TABLE ONLY %s', pubname, prrelid::regclass),
		(SELECT format(' (%s)', string_agg(quote_ident(attname), ', ' ORDER BY attnum)) FROM pg_attribute
			WHERE attrelid = prrelid AND attnum = ANY (prattrs) HAVING count(*) > 0),
		' WHERE (' || pg_get_expr(prqual, prrelid) || ')')
	FROM pg_publication_rel r JOIN pg_publication p ON p.oid = prpubid JOIN pg_dist_partition d ON d.logicalrelid = prrelid
	WHERE p.oid = obj AND (d.partmethod <> 'n' OR d.repmodel = 't' OR d.colocationid <> 0);
END $$;

CREATE OR REPLACE FUNCTION pando.publication_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE PUBLICATION %I%s WITH (publish = %L, publish_via_partition_root = %s)', pubname,
		CASE WHEN puballtables THEN ' FOR ALL TABLES' END, concat_ws(', ', CASE WHEN pubinsert THEN 'insert' END,
			CASE WHEN pubupdate THEN 'update' END, CASE WHEN pubdelete THEN 'delete' END,
			CASE WHEN pubtruncate THEN 'truncate' END), CASE WHEN pubviaroot THEN 'true' ELSE 'false' END)
	FROM pg_publication WHERE oid = obj
	UNION ALL
	SELECT command FROM pando.publication_table_commands(obj)
	UNION ALL
	SELECT format('ALTER PUBLICATION %I ADD TABLES IN SCHEMA %s', pubname, pnnspid::regnamespace)
	FROM pg_publication_namespace JOIN pg_publication p ON p.oid = pnpubid WHERE p.oid = obj
	UNION ALL
	SELECT format('ALTER PUBLICATION %I OWNER TO %I', pubname, pg_get_userbyid(pubowner))
	FROM pg_publication WHERE oid = obj;
END $$;

-- What PostgreSQL does by itself is revoked first.
CREATE OR REPLACE FUNCTION pando.default_privileges_commands(obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('ALTER DEFAULT PRIVILEGES FOR ROLE %I%s ', pg_get_userbyid(defaclrole),
			CASE WHEN defaclnamespace <> 0 THEN format(' IN SCHEMA %s', defaclnamespace::regnamespace) END) || g
	FROM pg_default_acl, LATERAL (SELECT CASE defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES'
			WHEN 'f' THEN 'FUNCTIONS' WHEN 'T' THEN 'TYPES' ELSE 'SCHEMAS' END AS objects) k,
		LATERAL (SELECT format('REVOKE ALL ON %s FROM PUBLIC', k.objects) WHERE defaclnamespace = 0
			UNION ALL SELECT format('REVOKE ALL ON %s FROM %I', k.objects, pg_get_userbyid(defaclrole))
			WHERE defaclnamespace = 0
			UNION ALL SELECT format('GRANT %s ON %s TO %s%s', string_agg(privilege_type, ', '), k.objects,
				CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
				CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
			FROM aclexplode(defaclacl) GROUP BY grantee, is_grantable) x(g)
	WHERE oid = obj;
END $$;

-- "name=value" of pg_db_role_setting as SET wants it.
CREATE OR REPLACE FUNCTION pando.setting_clause(c text) RETURNS text
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT format('SET %I TO %s', split_part(c, '=', 1), CASE WHEN lower(split_part(c, '=', 1)) IN ('search_path',
		'temp_tablespaces', 'session_preload_libraries', 'local_preload_libraries') THEN value ELSE quote_literal(value) END)
	FROM substr(c, strpos(c, '=') + 1) value);
END $$;

-- Settings of a role (0: of all) in all databases and in this one.
CREATE OR REPLACE FUNCTION pando.role_setting_commands(role oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('ALTER ROLE %s%s %s', CASE role WHEN 0 THEN 'ALL' ELSE quote_ident(pg_get_userbyid(role)) END,
		CASE WHEN setdatabase <> 0 THEN format(' IN DATABASE %I', current_database()) END, pando.setting_clause(c))
	FROM pg_db_role_setting, unnest(setconfig) c
	WHERE setrole = role AND (setdatabase = 0 AND role <> 0
		OR setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()));
END $$;

-- What is left to say of roles once all of them, and all databases, are there: settings in other databases, and who gave
-- a membership where that wasn't the user who brings it.
CREATE OR REPLACE FUNCTION pando.role_late_commands() RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('ALTER ROLE %s IN DATABASE %I %s', CASE setrole WHEN 0 THEN 'ALL' ELSE quote_ident(pg_get_userbyid(setrole)) END,
		datname, pando.setting_clause(c))
	FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase, unnest(setconfig) c
	WHERE setrole <> 0 AND datname <> current_database() AND EXISTS (SELECT FROM pg_dist_object o
		WHERE o.classid = 'pg_database'::regclass AND o.objid = d.oid)
	UNION ALL
	SELECT format('REVOKE %1$I FROM %2$I; GRANT %1$I TO %2$I%3$s GRANTED BY %4$I', pg_get_userbyid(roleid), pg_get_userbyid(member),
		CASE WHEN admin_option THEN ' WITH ADMIN OPTION' END, g.rolname)
	FROM pg_auth_members JOIN pg_roles g ON g.oid = grantor
	WHERE member >= 16384 AND g.rolname <> current_user AND current_setting('server_version_num')::int < 160000;
END $$;

-- A database: its creation, and the rest, which a transaction may hold.
CREATE OR REPLACE FUNCTION pando.database_commands(name name) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('CREATE DATABASE %I WITH TEMPLATE = template0 ENCODING = %L LC_COLLATE = %L LC_CTYPE = %L%s', name,
		pg_encoding_to_char(encoding), datcollate, datctype,
		CASE datlocprovider WHEN 'i' THEN format(' LOCALE_PROVIDER = icu ICU_LOCALE = %L', coalesce(
			to_jsonb(d) ->> 'daticulocale', to_jsonb(d) ->> 'datlocale')) END)
	FROM pg_database d WHERE datname = name
	UNION ALL
	SELECT format('ALTER DATABASE %I OWNER TO %I', name, pg_get_userbyid(datdba)) FROM pg_database WHERE datname = name
	UNION ALL
	SELECT format('ALTER DATABASE %I WITH CONNECTION LIMIT %s ALLOW_CONNECTIONS %s IS_TEMPLATE %s', name, datconnlimit,
		datallowconn::text, datistemplate::text) FROM pg_database WHERE datname = name
	UNION ALL
	SELECT format('ALTER DATABASE %I %s', name, pando.setting_clause(c))
	FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase, unnest(s.setconfig) c
	WHERE datname = name AND setrole = 0
	UNION ALL
	SELECT format('COMMENT ON DATABASE %I IS %L', name, shobj_description(oid, 'pg_database')) FROM pg_database
	WHERE datname = name AND shobj_description(oid, 'pg_database') IS NOT NULL
	UNION ALL
	SELECT g FROM pg_database, LATERAL pando.grant_commands(format('DATABASE %I', name), datacl, datdba) g
	WHERE datname = name;
END $$;

-- Privileges on what every server has by itself (built in, an extension's) that are others than at first, and on parameters.
CREATE OR REPLACE FUNCTION pando.found_privileges_commands() RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT g FROM (
			SELECT 'pg_proc'::regclass, oid, format('ROUTINE %s', oid::regprocedure), proacl, proowner FROM pg_proc
			UNION ALL SELECT 'pg_type'::regclass, oid, format('TYPE %s', oid::regtype), typacl, typowner FROM pg_type
			WHERE typelem = 0 OR typsubscript <> 'array_subscript_handler'::regproc
			UNION ALL SELECT 'pg_language'::regclass, oid, format('LANGUAGE %I', lanname), lanacl, lanowner FROM pg_language
			UNION ALL SELECT 'pg_namespace'::regclass, oid, format('SCHEMA %I', nspname), nspacl, nspowner FROM pg_namespace
			WHERE nspname <> 'public'
			UNION ALL SELECT 'pg_class'::regclass, oid, format('TABLE %s', oid::regclass), relacl, relowner FROM pg_class
			WHERE relkind IN ('r', 'v', 'm', 'p', 'f')
		) o(class, obj, target, acl, owner),
		LATERAL pando.grant_commands(target, acl, owner) g
	WHERE acl IS DISTINCT FROM (SELECT initprivs FROM pg_init_privs WHERE classoid = class AND objoid = obj AND objsubid = 0)
		AND (obj < 16384 OR EXISTS (SELECT FROM pg_depend WHERE classid = class AND objid = obj AND deptype = 'e'))
	UNION ALL
	SELECT g FROM pg_parameter_acl, LATERAL pando.grant_commands(format('PARAMETER %s', parname), paracl, 10) g;
END $$;

-- Comments and labels of an object and of its parts that are no objects by themselves.
CREATE OR REPLACE FUNCTION pando.note_commands(class oid, obj oid) RETURNS SETOF text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT format('COMMENT ON %s IS %L', pando.note_target(classoid, objoid, objsubid), description)
	FROM (SELECT classoid, objoid, objsubid, description FROM pg_description WHERE classoid = class AND objoid = obj
		UNION ALL
		SELECT d.classoid, d.objoid, 0, d.description FROM pg_depend p JOIN pg_description d
			ON d.classoid = p.classid AND d.objoid = p.objid
		WHERE p.refclassid = class AND p.refobjid = obj AND p.deptype IN ('a', 'i') AND d.objsubid = 0
			AND p.classid IN ('pg_constraint'::regclass, 'pg_trigger'::regclass, 'pg_rewrite'::regclass)
		GROUP BY 1, 2, 3, 4) d
	UNION ALL
	SELECT format('SECURITY LABEL FOR %I ON %s IS %L', provider, pando.note_target(classoid, objoid, objsubid), label)
	FROM pg_seclabel WHERE classoid = class AND objoid = obj;
END $$;

-- An object that has a comment or a label, as COMMENT wants it; NULL for another (pg_identify_object() is for real ones).
CREATE OR REPLACE FUNCTION pando.note_target(class oid, obj oid, sub integer) RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN (SELECT CASE
		WHEN class = 'pg_proc'::regclass THEN pando.routine_target(obj)
		WHEN i.type = 'domain constraint' THEN 'CONSTRAINT ' || replace(i.identity, ' on ', ' ON DOMAIN ')
		WHEN i.type LIKE '% column' THEN 'COLUMN ' || i.identity
		WHEN class = 'pg_operator'::regclass THEN 'OPERATOR ' || pando.operator_name(obj)
		ELSE upper(i.type) || ' ' || i.identity END
	FROM pg_identify_object(class, obj, sub) i
	WHERE EXISTS (SELECT FROM pg_description d WHERE d.classoid = class AND d.objoid = obj AND d.objsubid = sub)
		OR EXISTS (SELECT FROM pg_seclabel l WHERE l.classoid = class AND l.objoid = obj AND l.objsubid = sub));
END $$;
