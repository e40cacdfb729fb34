-- Objects of all kinds, run once through the coordinator and once through a worker.
\set VERBOSITY terse
\pset tuples_only on
\pset format unaligned
SET client_min_messages TO warning;
SET search_path = any_node;
-- What is recorded, by kind, and whether all nodes define it alike.
CREATE FUNCTION same() RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN v ~ '<>' THEN v ELSE regexp_replace(v, '#[0-9a-f]{32}', ': alike') END
	FROM everywhere('SELECT string_agg(t, '', '' ORDER BY t COLLATE "C") || ''#'' || md5(string_agg(c, '';'' ORDER BY t, c))
		FROM (SELECT i.type || '' '' || i.identity, (SELECT string_agg(d, '';'' ORDER BY d) FROM pando.object_definition(classid, objid) d)
			FROM pg_dist_object o, LATERAL pg_identify_object(classid, objid, 0) i
			WHERE i.identity ~ ''any_node'' AND i.type NOT IN (''function'', ''schema'')) x(t, c)') v
$$;
CREATE TABLE d (k int PRIMARY KEY, v text);
SELECT create_distributed_table('d', 'k', shard_count := 4);
INSERT INTO d SELECT i, i FROM generate_series(1, 9) i;
-- Operators, their families and classes.
CREATE FUNCTION less(text, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT length($1) < length($2)';
CREATE FUNCTION more(text, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT length($1) > length($2)';
CREATE FUNCTION cmp(text, text) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT length($1) - length($2)';
CREATE OPERATOR <<< (FUNCTION = less, LEFTARG = text, RIGHTARG = text, COMMUTATOR = >>>, RESTRICT = scalarltsel);
SELECT same();
CREATE OPERATOR >>> (FUNCTION = more, LEFTARG = text, RIGHTARG = text, COMMUTATOR = <<<);
CREATE OPERATOR !! (FUNCTION = int4abs, RIGHTARG = int);
COMMENT ON OPERATOR !! (NONE, int) IS 'prefix';
ALTER OPERATOR <<< (text, text) SET (JOIN = scalarltjoinsel);
COMMENT ON OPERATOR <<< (text, text) IS 'shorter';
SELECT same();
SELECT k, v OPERATOR(any_node.<<<) '12' FROM d WHERE k = 3;
CREATE OPERATOR FAMILY lengths USING btree;
CREATE OPERATOR CLASS by_length FOR TYPE text USING btree FAMILY lengths AS OPERATOR 1 <<<, OPERATOR 5 >>>, FUNCTION 1 cmp(text, text);
CREATE OPERATOR CLASS alone FOR TYPE int USING hash AS OPERATOR 1 =, FUNCTION 1 hashint4(int);
ALTER OPERATOR FAMILY lengths USING btree ADD FUNCTION 2 (text, text) bttextsortsupport(internal);
ALTER OPERATOR CLASS by_length USING btree RENAME TO of_length;
SELECT same();
CREATE INDEX ON d (v of_length);
SELECT everywhere('SELECT pg_get_indexdef(''any_node.d_v_idx''::regclass)');
ALTER OPERATOR FAMILY lengths USING btree DROP FUNCTION 2 (text, text);
DROP OPERATOR CLASS of_length USING btree;
DROP OPERATOR FAMILY lengths USING btree CASCADE;
SELECT everywhere('SELECT count(*) FROM pg_class WHERE relname ~ ''^d_v_idx''');
DROP OPERATOR CLASS alone USING hash;
DROP OPERATOR FAMILY alone USING hash;
-- Casts, transforms, conversions, aggregates over new operators.
CREATE TYPE pair AS (a int, b int);
CREATE FUNCTION sum_of(pair) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1.a + $1.b';
CREATE CAST (pair AS int) WITH FUNCTION sum_of(pair) AS ASSIGNMENT;
CREATE CAST (pair AS text) WITH INOUT;
COMMENT ON CAST (pair AS int) IS 'sum';
SELECT (k, k)::pair::int FROM d WHERE k = 4;
CREATE CONVERSION swapped FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8;
ALTER CONVERSION swapped RENAME TO turned;
CREATE AGGREGATE shortest(text) (SFUNC = text_smaller, STYPE = text, SORTOP = <<<);
SELECT same();
SELECT shortest(v) FROM d;
DROP CAST (pair AS text);
-- Text search.
CREATE TEXT SEARCH TEMPLATE plain (INIT = dsimple_init, LEXIZE = dsimple_lexize);
CREATE TEXT SEARCH PARSER words (START = prsd_start, GETTOKEN = prsd_nexttoken, END = prsd_end, LEXTYPES = prsd_lextype);
CREATE TEXT SEARCH DICTIONARY dict (TEMPLATE = plain);
CREATE TEXT SEARCH CONFIGURATION conf (PARSER = words);
ALTER TEXT SEARCH CONFIGURATION conf ADD MAPPING FOR asciiword WITH dict;
ALTER TEXT SEARCH TEMPLATE plain RENAME TO plainer;
SELECT same();
SELECT to_tsvector('conf', v || ' words') FROM d WHERE k = 1;
DROP TEXT SEARCH PARSER words CASCADE;
DROP TEXT SEARCH TEMPLATE plainer CASCADE;
SELECT same();
-- Languages and access methods.
CREATE LANGUAGE any_node_lang HANDLER plpgsql_call_handler VALIDATOR plpgsql_validator;
CREATE ACCESS METHOD any_node_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE FUNCTION spoken() RETURNS int LANGUAGE any_node_lang AS 'BEGIN RETURN 1; END';
ALTER LANGUAGE any_node_lang RENAME TO any_node_speech;
SELECT same();
DROP LANGUAGE any_node_speech;
DROP LANGUAGE any_node_speech CASCADE;
DROP ACCESS METHOD any_node_heap;
-- Foreign data.
CREATE FOREIGN DATA WRAPPER any_node_fdw OPTIONS (a '1');
CREATE SERVER any_node_server TYPE 'kind' VERSION '1' FOREIGN DATA WRAPPER any_node_fdw OPTIONS (host 'h''s');
CREATE USER MAPPING FOR PUBLIC SERVER any_node_server OPTIONS (password 'secret');
CREATE USER MAPPING FOR CURRENT_USER SERVER any_node_server;
ALTER SERVER any_node_server VERSION '2' OPTIONS (SET host 'other', ADD port '1');
ALTER FOREIGN DATA WRAPPER any_node_fdw OPTIONS (DROP a);
ALTER USER MAPPING FOR PUBLIC SERVER any_node_server OPTIONS (SET password 'hidden');
GRANT USAGE ON FOREIGN SERVER any_node_server TO pg_monitor;
COMMENT ON SERVER any_node_server IS 'far';
SELECT same();
DROP USER MAPPING FOR PUBLIC SERVER any_node_server;
ALTER SERVER any_node_server RENAME TO any_node_far;
SELECT same();
DROP FOREIGN DATA WRAPPER any_node_fdw CASCADE;
SELECT same();
-- Publications, also of what is on one node.
CREATE TABLE plain (k int PRIMARY KEY);
CREATE PUBLICATION any_node_pub FOR TABLE d (k, v) WHERE (k > 3) WITH (publish = 'insert');
CREATE PUBLICATION any_node_here FOR TABLE plain;
CREATE PUBLICATION any_node_all FOR TABLES IN SCHEMA any_node;
ALTER PUBLICATION any_node_pub SET (publish = 'insert, update');
ALTER PUBLICATION any_node_pub ADD TABLE plain;
SELECT same();
ALTER PUBLICATION any_node_pub RENAME TO any_node_published;
ALTER PUBLICATION any_node_published DROP TABLE d;
SELECT same();
SELECT everywhere('SELECT count(*) FROM pg_publication WHERE pubname = ''any_node_here''');
DROP PUBLICATION any_node_published, any_node_all, any_node_here;
-- Default privileges, settings of roles.
CREATE ROLE any_node_role;
ALTER DEFAULT PRIVILEGES IN SCHEMA any_node GRANT SELECT ON TABLES TO any_node_role;
ALTER DEFAULT PRIVILEGES FOR ROLE any_node_role REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
SELECT everywhere('SELECT string_agg(d, '';'' ORDER BY d) FROM pg_default_acl a, pando.default_privileges_commands(a.oid) d');
CREATE VIEW granted AS SELECT * FROM d;
SELECT everywhere('SELECT has_table_privilege(''any_node_role'', ''any_node.granted'', ''select'')');
SELECT same();
ALTER ROLE any_node_role SET work_mem = '5MB';
ALTER ROLE any_node_role IN DATABASE :DBNAME SET search_path = any_node, public;
SELECT everywhere('SELECT string_agg(setconfig::text, '' '' ORDER BY setconfig) FROM pg_db_role_setting WHERE setrole = ''any_node_role''::regrole');
SET citus.enable_alter_role_set_propagation = off;
ALTER ROLE any_node_role RESET work_mem;
SET citus.enable_alter_role_propagation = off;
ALTER ROLE any_node_role CREATEDB;
SELECT everywhere('SELECT concat(rolcreatedb, rolconfig) FROM pg_roles WHERE rolname = ''any_node_role''') ~ '<>';
RESET citus.enable_alter_role_propagation;
RESET citus.enable_alter_role_set_propagation;
ALTER ROLE any_node_role RESET ALL;
ALTER ROLE any_node_role NOCREATEDB;
ALTER TYPE pair OWNER TO any_node_role;
ALTER VIEW granted OWNER TO any_node_role;
REASSIGN OWNED BY any_node_role TO CURRENT_USER;
SELECT same();
DROP OWNED BY any_node_role;
DROP ROLE any_node_role;
SELECT everywhere('SELECT count(*) FROM pg_default_acl');
-- Types stay here until a table needs them, if so wanted.
SET citus.enable_create_type_propagation = off;
CREATE TYPE late AS ENUM ('x');
SELECT everywhere('SELECT count(*) FROM pg_type WHERE typname = ''late''');
ALTER TABLE d ADD COLUMN l late;
SELECT everywhere('SELECT count(*) FROM pg_type WHERE typname = ''late''');
-- A name that means something else on another node; a library that is not there.
CREATE FUNCTION wrong() RETURNS int LANGUAGE c AS 'no_such_library', 'wrong';
SELECT same();
-- An index that can't be made on a shard is valid on no node.
CREATE TABLE unfit (k int, v int);
SELECT create_distributed_table('unfit', 'k', shard_count := 4, colocate_with := 'none');
INSERT INTO unfit VALUES (1, 1), (1, 2), (2, 1), (3, 1), (4, 1);
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX CONCURRENTLY unfit_key ON unfit (k);
SELECT everywhere('SELECT indisvalid FROM pg_index WHERE indexrelid = ''any_node.unfit_key''::regclass');
CREATE UNIQUE INDEX CONCURRENTLY unfit_key ON unfit (k);
\set VERBOSITY terse
DROP INDEX unfit_key;
DELETE FROM unfit WHERE v = 2;
CREATE UNIQUE INDEX CONCURRENTLY unfit_key ON unfit (k);
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS unfit_key ON unfit (k);
SELECT everywhere('SELECT indisvalid FROM pg_index WHERE indexrelid = ''any_node.unfit_key''::regclass');
-- An event trigger that distributes what a query makes.
CREATE FUNCTION spread() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
	made regclass;
BEGIN
	FOR made IN SELECT objid FROM pg_event_trigger_ddl_commands() WHERE command_tag IN ('CREATE TABLE AS', 'SELECT INTO') LOOP
		PERFORM create_distributed_table(made, 'k', shard_count := 2, colocate_with := 'none');
	END LOOP;
END $$;
CREATE EVENT TRIGGER spread ON ddl_command_end EXECUTE FUNCTION spread();
CREATE TABLE spread_by_as AS SELECT i AS k FROM generate_series(1, 3) i;
SELECT 1 AS k INTO spread_by_into;
PREPARE three AS SELECT i AS k FROM generate_series(1, 3) i;
CREATE TABLE spread_by_execute AS EXECUTE three;
DROP EVENT TRIGGER spread;
SELECT logicalrelid, partmethod FROM pg_dist_partition WHERE logicalrelid::text LIKE 'spread%' ORDER BY 1;
SELECT (SELECT count(*) FROM spread_by_as), (SELECT count(*) FROM spread_by_into), (SELECT count(*) FROM spread_by_execute);
DROP SCHEMA any_node CASCADE;
