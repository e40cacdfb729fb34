-- PostgreSQL's own functions of a row's values: those that look at this server's catalogs,
-- settings and files are called where the client is, the others where the row is. First the
-- list: a stable function that is in neither must be judged before this test passes, and is
-- taken to look at catalogs until then.
CREATE TEMPORARY TABLE look_at_this_server (name) AS
SELECT unnest(string_to_array(translate($$
aclexplode
col_description obj_description shobj_description pg_describe_object pg_identify_object pg_identify_object_as_address
pg_get_object_address pg_get_acl
current_setting current_schemas pg_settings_get_flags pg_show_all_settings
database_to_xml database_to_xml_and_xmlschema database_to_xmlschema
schema_to_xml schema_to_xml_and_xmlschema schema_to_xmlschema
table_to_xml table_to_xml_and_xmlschema table_to_xmlschema
format_type oidvectortypes
has_any_column_privilege has_column_privilege has_database_privilege has_foreign_data_wrapper_privilege
has_function_privilege has_language_privilege has_largeobject_privilege has_parameter_privilege has_schema_privilege
has_sequence_privilege has_server_privilege has_table_privilege has_tablespace_privilege has_type_privilege
pg_has_role row_security_active
pg_collation_is_visible pg_conversion_is_visible pg_function_is_visible pg_opclass_is_visible pg_operator_is_visible
pg_opfamily_is_visible pg_statistics_obj_is_visible pg_table_is_visible pg_ts_config_is_visible pg_ts_dict_is_visible
pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible
pg_column_is_updatable pg_relation_is_updatable pg_relation_is_publishable pg_relation_filenode pg_relation_filepath
pg_filenode_relation pg_tablespace_databases pg_tablespace_location pg_sequence_parameters pg_get_sequence_data
pg_index_has_property pg_index_column_has_property pg_indexam_has_property
pg_is_other_temp_schema pg_basetype pg_input_is_valid pg_input_error_info pg_split_walfile_name pg_extension_update_paths pg_replication_origin_oid pg_mcv_list_items
pg_get_constraintdef pg_get_expr pg_get_function_arg_default pg_get_function_arguments
pg_get_function_identity_arguments pg_get_function_result pg_get_function_sqlbody pg_get_functiondef pg_get_indexdef
pg_get_partition_constraintdef pg_get_partkeydef pg_get_publication_tables pg_get_replica_identity_index
pg_get_ruledef pg_get_serial_sequence pg_get_statisticsobjdef pg_get_statisticsobjdef_columns
pg_get_statisticsobjdef_expressions pg_get_triggerdef pg_get_userbyid pg_get_viewdef pg_get_database_ddl
regclass to_regclass to_regcollation to_regnamespace to_regoper to_regoperator to_regproc to_regprocedure
to_regrole to_regtype to_regtypemod
ts_debug ts_parse ts_token_type fmgr_c_validator fmgr_internal_validator fmgr_sql_validator
$$, E'\n', ' '), ' '));

SELECT p.oid::regprocedure AS neither FROM pg_proc p
WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.oid < 16384 AND p.provolatile = 's'
	AND p.pronargs > 0 AND NOT 'internal'::regtype = ANY (p.proargtypes)
	AND p.proname NOT LIKE 'pg\_stat\_get\_%' AND NOT pando.function_runs_anywhere(p.oid)
	AND p.proname NOT IN (SELECT name FROM look_at_this_server) ORDER BY p.oid::regprocedure::text COLLATE "C";

-- In both, or a name that no version has had: the lists don't know what they say.
SELECT p.oid::regprocedure AS both FROM pg_proc p
WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.oid < 16384
	AND p.proname IN (SELECT name FROM look_at_this_server WHERE name <> '') AND pando.function_runs_anywhere(p.oid);

-- Immutable ones run anywhere but for these; volatile ones here but for these.
SELECT p.oid::regprocedure AS immutable FROM pg_proc p
WHERE p.oid < 16384 AND p.provolatile = 'i' AND NOT pando.function_runs_anywhere(p.oid) ORDER BY p.oid::regprocedure::text COLLATE "C";
SELECT p.oid::regprocedure AS volatile FROM pg_proc p
WHERE p.oid < 16384 AND p.provolatile = 'v' AND pando.function_runs_anywhere(p.oid) ORDER BY p.oid::regprocedure::text COLLATE "C";

-- Rows whose oids and names are those of this node's objects: the same answers as for a
-- plain table. What other nodes have of that name or number is another object, or none.
SET client_min_messages = warning;
CREATE TABLE only_here (i int PRIMARY KEY, j int GENERATED ALWAYS AS (i + 1) STORED, s serial);
COMMENT ON TABLE only_here IS 'a table of this node';
CREATE FUNCTION only_here(int, text) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE TYPE only_here_type AS (i int);
SET client_min_messages = warning;
CREATE TABLE dist.objects (id int, o oid, t text, a aclitem, x xid, s text);
CREATE TABLE plain.objects (LIKE dist.objects);
SELECT create_distributed_table('dist.objects', 'id');
INSERT INTO plain.objects
SELECT row_number() OVER (), o, t, a, '100', s FROM (VALUES
	('only_here'::regclass::oid, 'only_here', 'postgres=r/postgres'::aclitem, 'application_name'),
	('only_here(int,text)'::regprocedure::oid, 'only_here(int,text)', 'postgres=r/postgres', 'work_mem'),
	('only_here_type'::regtype::oid, 'only_here_type', 'postgres=r/postgres', 'search_path'),
	((SELECT indexrelid FROM pg_index WHERE indrelid = 'only_here'::regclass), 'only_here_pkey', 'postgres=r/postgres', 'pando.no_such'),
	('only_here_s_seq'::regclass::oid, 'only_here_s_seq', 'postgres=r/postgres', 'TimeZone'),
	(16777215, 'no such thing', NULL, 'app.here')) v (o, t, a, s);
INSERT INTO dist.objects SELECT * FROM plain.objects;
SET app.here = 'yes';
SELECT public.compare($$
SELECT id, has_table_privilege(o, 'SELECT') FROM objects;
SELECT id, pg_has_role(t, 'USAGE') FROM objects WHERE t = 'postgres';
SELECT id FROM objects WHERE pg_table_is_visible(o);
SELECT id FROM objects WHERE pg_function_is_visible(o) OR pg_type_is_visible(o);
SELECT id, pg_index_has_property(o, 'clusterable'), pg_index_column_has_property(o, 1, 'asc') FROM objects;
SELECT id, pg_relation_is_updatable(o, true), pg_column_is_updatable(o, 1::smallint, true) FROM objects;
SELECT id, pg_sequence_parameters(o) IS NOT NULL FROM objects WHERE t LIKE '%seq';
SELECT id, obj_description(o, 'pg_class') FROM objects;
SELECT id, format_type(o, NULL) FROM objects;
SELECT id, pg_describe_object('pg_class'::regclass, o, 0) FROM objects WHERE t LIKE 'only\_here';
SELECT id, pg_get_function_arguments(o) FROM objects;
SELECT id, to_regclass(t) IS NULL, to_regtype(t)::text FROM objects WHERE id IN (1, 3, 4, 5);
SELECT id, to_regprocedure(t)::text FROM objects WHERE id = 2;
SELECT id, (aclexplode(a)).* FROM (SELECT id, ARRAY[a] AS a FROM objects WHERE a IS NOT NULL) s;
SELECT id, (acldefault('r', o))[1] IS NULL FROM objects WHERE o = 16777215;
SELECT id, pg_is_other_temp_schema(o) FROM objects;
SELECT id, current_setting(s, true) FROM objects WHERE s LIKE 'app.%' OR s LIKE 'TimeZone';
SELECT count(*) FROM objects WHERE current_setting(s, true) = 'yes';
SELECT id, oidvectortypes(ARRAY[o]::oidvector) FROM objects;
SELECT id, pg_get_serial_sequence(t, 's') FROM objects WHERE t = 'only_here';
SELECT o::regclass::text FROM objects;
SELECT id, pg_partition_root(o::regclass) IS NULL FROM objects WHERE t LIKE 'only\_here';
SELECT id, row_security_active(o) FROM objects WHERE t LIKE 'only\_here';
SELECT id, pg_filenode_relation(0, o) IS NULL FROM objects WHERE o = 16777215;
SELECT id, quote_literal(t), concat(t, '-', id), to_jsonb(t), format('%s %s', o, t), pg_column_size(id), a::text, pg_typeof(t)::text FROM objects;
SELECT id, age(x) > 0 FROM objects;
$$);

-- Settings that decide what a stable function gives go where the row is.
CREATE TABLE dist.words (id int, t text, ts timestamptz, n numeric, i interval, b bytea, f float8);
CREATE TABLE plain.words (LIKE dist.words);
SELECT create_distributed_table('dist.words', 'id');
INSERT INTO plain.words SELECT i, 'the cats are running ' || i, '2026-03-29 00:30:00+00'::timestamptz + i * interval '1 hour', i * 1234.5, i * interval '25 hours 3 minutes', convert_to('x' || i, 'UTF8'), i / 3.0 FROM generate_series(1, 8) i;
INSERT INTO dist.words SELECT * FROM plain.words;
SELECT $$
SELECT id, to_tsvector(t), to_tsvector(t) @@ plainto_tsquery(t), ts_headline(t, plainto_tsquery('cats')) FROM words;
SELECT id, ts::text, ts::date, to_char(ts, 'Day TMMonth HH24 TZ'), date_trunc('day', ts), extract(hour FROM ts), ts + interval '1 day' FROM words;
SELECT id, i::text, b::text, f::text, to_char(n, 'L999G999D99'), n::money, jsonb_build_array(ts, i, f), array_to_string(ARRAY[ts], ','), ROW(ts, i)::text FROM words;
SELECT ts::date, count(*) FROM words GROUP BY 1;
SELECT id, 'x'::text || ts FROM words WHERE ts::text < '2026-03-29 05';
$$ AS statements \gset
SELECT public.compare(:'statements');
SET default_text_search_config = 'simple';
SET timezone = 'Europe/Berlin';
SET datestyle = 'German';
SET intervalstyle = 'iso_8601';
SET bytea_output = 'escape';
SET extra_float_digits = -5;
SELECT public.compare(:'statements');
BEGIN;
SET LOCAL timezone = 'America/New_York';
SET LOCAL default_text_search_config = 'german';
SAVEPOINT s;
SET LOCAL intervalstyle = 'sql_standard';
SELECT public.compare(:'statements');
ROLLBACK TO s;
SELECT public.compare(:'statements');
COMMIT;
SELECT public.compare(:'statements');
RESET default_text_search_config;
RESET timezone;
RESET datestyle;
RESET intervalstyle;
RESET bytea_output;
RESET extra_float_digits;
SELECT public.compare(:'statements');

DROP TABLE dist.objects, plain.objects, dist.words, plain.words, only_here;
DROP FUNCTION only_here(int, text);
DROP TYPE only_here_type;
