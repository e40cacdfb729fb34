\set VERBOSITY terse
\pset tuples_only on
\pset format unaligned
SET client_min_messages TO warning;
SET search_path = any_node, public;
-- Comments of all nodes that are about things of this test.
CREATE FUNCTION notes() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT regexp_split_to_table(everywhere('SELECT string_agg(concat_ws('' '', i.type, replace(i.identity, '' on language'', '' language''), ''is'', n.description), ''|'' ORDER BY i.type, i.identity)
		FROM (SELECT classoid, objoid, objsubid, description FROM pg_description
			UNION ALL SELECT classoid, objoid, 0, description FROM pg_shdescription) n, LATERAL pg_identify_object(classoid, objoid, objsubid) i
		WHERE n.description LIKE ''note%'''), '\|')
$$;
CREATE TABLE d (k int PRIMARY KEY, v text, CONSTRAINT positive CHECK (k > 0));
SELECT create_distributed_table('d', 'k', shard_count := 4);
CREATE INDEX by_v ON d (v);
CREATE POLICY seen ON d USING (true);
CREATE STATISTICS of_both ON k, v FROM d;
CREATE VIEW w AS SELECT k, v FROM d;
CREATE RULE kept AS ON DELETE TO w DO INSTEAD NOTHING;
CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER instead INSTEAD OF INSERT ON w FOR EACH ROW EXECUTE FUNCTION fire();
CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM d;
CREATE INDEX by_n ON m (n);
CREATE TYPE pair AS (a int, b int);
CREATE TYPE mood AS ENUM ('good');
CREATE TYPE span AS RANGE (SUBTYPE = int);
CREATE DOMAIN small AS int CONSTRAINT tiny CHECK (VALUE < 10);
CREATE COLLATION here FROM "C";
CREATE FUNCTION less(text, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT length($1) < length($2)';
CREATE FUNCTION of_pair(pair) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1.a';
CREATE PROCEDURE work(int) LANGUAGE sql AS 'SELECT 1';
CREATE AGGREGATE least_of(text) (SFUNC = text_smaller, STYPE = text);
CREATE OPERATOR <<< (FUNCTION = less, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR FAMILY fam USING btree;
CREATE OPERATOR CLASS cls FOR TYPE int USING hash AS OPERATOR 1 =, FUNCTION 1 hashint4(int);
CREATE CAST (pair AS int) WITH FUNCTION of_pair(pair);
CREATE CONVERSION conv FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8;
CREATE LANGUAGE any_node_lang HANDLER plpgsql_call_handler;
CREATE TRANSFORM FOR pair LANGUAGE any_node_lang (FROM SQL WITH FUNCTION prsd_lextype(internal));
CREATE ACCESS METHOD any_node_am TYPE TABLE HANDLER heap_tableam_handler;
CREATE TEXT SEARCH TEMPLATE tmpl (LEXIZE = dsimple_lexize);
CREATE TEXT SEARCH PARSER pars (START = prsd_start, GETTOKEN = prsd_nexttoken, END = prsd_end, LEXTYPES = prsd_lextype);
CREATE TEXT SEARCH DICTIONARY dict (TEMPLATE = simple);
CREATE TEXT SEARCH CONFIGURATION conf (PARSER = default);
CREATE FOREIGN DATA WRAPPER any_node_fdw;
CREATE SERVER any_node_server FOREIGN DATA WRAPPER any_node_fdw;
CREATE PUBLICATION any_node_pub FOR TABLE d;
CREATE ROLE any_node_role;
CREATE FUNCTION event() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN NULL; END';
CREATE EVENT TRIGGER any_node_event ON sql_drop EXECUTE FUNCTION event();
COMMENT ON TABLE d IS 'note';
COMMENT ON COLUMN d.v IS 'note';
COMMENT ON INDEX by_v IS 'note';
COMMENT ON CONSTRAINT positive ON d IS 'note';
COMMENT ON POLICY seen ON d IS 'note';
COMMENT ON STATISTICS of_both IS 'note';
COMMENT ON VIEW w IS 'note';
COMMENT ON COLUMN w.v IS 'note';
COMMENT ON RULE kept ON w IS 'note';
COMMENT ON TRIGGER instead ON w IS 'note';
COMMENT ON MATERIALIZED VIEW m IS 'note';
COMMENT ON COLUMN m.n IS 'note';
COMMENT ON INDEX by_n IS 'note';
COMMENT ON TYPE pair IS 'note';
COMMENT ON COLUMN pair.b IS 'note';
COMMENT ON TYPE mood IS 'note';
COMMENT ON TYPE span IS 'note';
COMMENT ON DOMAIN small IS 'note';
COMMENT ON CONSTRAINT tiny ON DOMAIN small IS 'note';
COMMENT ON COLLATION here IS 'note';
COMMENT ON FUNCTION less IS 'note';
COMMENT ON PROCEDURE work IS 'note';
COMMENT ON AGGREGATE least_of(text) IS 'note';
COMMENT ON OPERATOR <<< (text, text) IS 'note';
COMMENT ON OPERATOR FAMILY fam USING btree IS 'note';
COMMENT ON OPERATOR CLASS cls USING hash IS 'note';
COMMENT ON CAST (pair AS int) IS 'note';
COMMENT ON CONVERSION conv IS 'note';
COMMENT ON LANGUAGE any_node_lang IS 'note';
COMMENT ON TRANSFORM FOR pair LANGUAGE any_node_lang IS 'note';
COMMENT ON ACCESS METHOD any_node_am IS 'note';
COMMENT ON TEXT SEARCH TEMPLATE tmpl IS 'note';
COMMENT ON TEXT SEARCH PARSER pars IS 'note';
COMMENT ON TEXT SEARCH DICTIONARY dict IS 'note';
COMMENT ON TEXT SEARCH CONFIGURATION conf IS 'note';
COMMENT ON FOREIGN DATA WRAPPER any_node_fdw IS 'note';
COMMENT ON SERVER any_node_server IS 'note';
COMMENT ON PUBLICATION any_node_pub IS 'note';
COMMENT ON ROLE any_node_role IS 'note';
COMMENT ON EVENT TRIGGER any_node_event IS 'note';
COMMENT ON SCHEMA any_node IS 'note';
COMMENT ON EXTENSION plpgsql IS 'note';
SELECT notes();
COMMENT ON EXTENSION plpgsql IS 'PL/pgSQL procedural language';
-- Privileges on what is built in, an extension's, or a setting.
GRANT EXECUTE ON FUNCTION pg_ls_logdir() TO any_node_role;
GRANT EXECUTE ON FUNCTION citus_check_cluster_node_health() TO any_node_role;
GRANT SELECT ON pg_authid TO any_node_role;
GRANT SELECT ON pando.node_secret TO any_node_role;
REVOKE SELECT ON pando.node_secret FROM any_node_role;
GRANT USAGE ON LANGUAGE plpgsql TO any_node_role WITH GRANT OPTION;
GRANT SET, ALTER SYSTEM ON PARAMETER log_statement TO any_node_role;
REVOKE ALTER SYSTEM ON PARAMETER log_statement FROM any_node_role;
SELECT everywhere('SELECT string_agg(c, '' '' ORDER BY c) FROM pando.found_privileges_commands() c WHERE c ~ ''any_node''');
REVOKE ALL ON FUNCTION citus_check_cluster_node_health() FROM any_node_role;
DROP EVENT TRIGGER any_node_event;
-- All that a role has, in objects of all sorts.
CREATE ROLE any_node_heir LOGIN;
CREATE SCHEMA any_node_own AUTHORIZATION any_node_role;
ALTER TABLE d OWNER TO any_node_role;
ALTER VIEW w OWNER TO any_node_role;
ALTER MATERIALIZED VIEW m OWNER TO any_node_role;
ALTER TYPE pair OWNER TO any_node_role;
ALTER DOMAIN small OWNER TO any_node_role;
ALTER FUNCTION less OWNER TO any_node_role;
ALTER OPERATOR <<< (text, text) OWNER TO any_node_role;
ALTER OPERATOR CLASS cls USING hash OWNER TO any_node_role;
ALTER TEXT SEARCH DICTIONARY dict OWNER TO any_node_role;
ALTER SERVER any_node_server OWNER TO any_node_role;
CREATE USER MAPPING FOR any_node_role SERVER any_node_server;
ALTER PUBLICATION any_node_pub OWNER TO any_node_role;
CREATE FUNCTION owned() RETURNS text LANGUAGE sql AS $$
	SELECT everywhere('SELECT string_agg(concat_ws('' '', refobjid::regrole, deptype, i.type, i.identity), '', '' ORDER BY refobjid::regrole::text, deptype, i.type, i.identity)
		FROM pg_shdepend d, LATERAL pg_identify_object(classid, objid, objsubid) i WHERE refclassid = ''pg_authid''::regclass
		AND refobjid::regrole::text ~ ''^any_node'' AND i.identity !~ ''_\d{6}''')
$$;
SELECT owned();
REASSIGN OWNED BY any_node_role TO any_node_heir;
SELECT owned();
DROP OWNED BY any_node_role;
SELECT owned();
ALTER DEFAULT PRIVILEGES IN SCHEMA any_node_own GRANT SELECT ON TABLES TO any_node_role;
GRANT SELECT ON d TO any_node_role;
GRANT any_node_role TO any_node_heir WITH ADMIN OPTION;
DROP OWNED BY any_node_heir, any_node_role CASCADE;
SELECT owned();
SELECT everywhere('SELECT count(*) FROM pg_class WHERE relname ~ ''^d(_\d+)?$'' AND relnamespace = ''any_node''::regnamespace');
DROP ROLE any_node_heir, any_node_role;
SELECT everywhere('SELECT count(*) FROM pg_roles WHERE rolname ~ ''any_node''');
DROP ACCESS METHOD any_node_am;
DROP LANGUAGE any_node_lang CASCADE;
DROP FOREIGN DATA WRAPPER any_node_fdw CASCADE;
DROP SCHEMA any_node CASCADE;
