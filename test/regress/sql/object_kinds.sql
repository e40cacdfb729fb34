-- Every kind of object that PostgreSQL has (ObjectType) is on every node, goes with a table, is part of something, or stays
-- on its node for a reason. So does every statement that changes such an object: there is a sample here for each command tag of
-- this server, and it has a handler, or a reason why not.
\t on
\a
SELECT kind, place, reason FROM pando.object_kinds() ORDER BY kind COLLATE "C";
SELECT number AS without_a_row FROM pando.object_kinds() WHERE kind IS NULL OR (place IN ('local', 'part') AND reason IS NULL);

CREATE TEMP TABLE samples (statement text, reason text);
INSERT INTO samples VALUES
	('ALTER AGGREGATE f(int) RENAME TO g'), ('ALTER COLLATION c RENAME TO d'), ('ALTER CONVERSION c RENAME TO d'), ('ALTER DATABASE d SET work_mem = 1'),
	('ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO r'), ('ALTER DOMAIN d SET NOT NULL'), ('ALTER EVENT TRIGGER e DISABLE'), ('ALTER EXTENSION e UPDATE'),
	('ALTER FOREIGN DATA WRAPPER w OPTIONS (a ''1'')'), ('ALTER FUNCTION f() STABLE'), ('ALTER INDEX i RENAME TO j'),
	('ALTER LANGUAGE l RENAME TO m'), ('ALTER MATERIALIZED VIEW m RENAME TO n'), ('ALTER OPERATOR +(int, int) OWNER TO r'),
	('ALTER OPERATOR CLASS c USING btree RENAME TO d'), ('ALTER OPERATOR FAMILY c USING btree RENAME TO d'),
	('ALTER POLICY p ON t USING (true)'), ('ALTER PROCEDURE p() RENAME TO q'), ('ALTER PUBLICATION p ADD TABLE t'),
	('ALTER ROLE r NOLOGIN'), ('ALTER ROLE r SET work_mem = 1'), ('ALTER ROUTINE p() RENAME TO q'), ('ALTER RULE r ON t RENAME TO s'),
	('ALTER SCHEMA s RENAME TO t'), ('ALTER SEQUENCE s INCREMENT 2'), ('ALTER SERVER s VERSION ''1'''),
	('ALTER STATISTICS s SET STATISTICS 1'), ('ALTER TABLE t ADD COLUMN c int'),
	('ALTER TEXT SEARCH CONFIGURATION c DROP MAPPING FOR word'), ('ALTER TEXT SEARCH DICTIONARY d (a = 1)'),
	('ALTER TEXT SEARCH PARSER p RENAME TO q'), ('ALTER TEXT SEARCH TEMPLATE p RENAME TO q'), ('ALTER TRIGGER t ON u RENAME TO v'),
	('ALTER TYPE t ADD VALUE ''x'''), ('ALTER USER MAPPING FOR r SERVER s OPTIONS (a ''1'')'), ('ALTER VIEW v RENAME TO w'),
	('ANALYZE t'), ('CLUSTER t'), ('COMMENT ON VIEW v IS NULL'), ('CREATE ACCESS METHOD m TYPE TABLE HANDLER h'),
	('CREATE AGGREGATE a(int) (SFUNC = f, STYPE = int)'), ('CREATE CAST (a AS b) WITHOUT FUNCTION'), ('CREATE COLLATION c FROM d'),
	('CREATE CONVERSION c FOR ''a'' TO ''b'' FROM f'), ('CREATE DATABASE d'), ('CREATE DOMAIN d AS int'), ('CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION f()'), ('CREATE EXTENSION e'),
	('CREATE FOREIGN DATA WRAPPER w'), ('CREATE FUNCTION f() RETURNS int LANGUAGE sql AS ''SELECT 1'''), ('CREATE INDEX ON t (a)'),
	('CREATE LANGUAGE l HANDLER h'), ('CREATE MATERIALIZED VIEW m AS SELECT 1'), ('CREATE OPERATOR + (FUNCTION = f, LEFTARG = int)'),
	('CREATE OPERATOR CLASS c FOR TYPE t USING btree AS FUNCTION 1 f'), ('CREATE OPERATOR FAMILY f USING btree'),
	('CREATE POLICY p ON t'), ('CREATE PROCEDURE p() LANGUAGE sql AS '''''), ('CREATE PUBLICATION p'), ('CREATE ROLE r'),
	('CREATE RULE r AS ON DELETE TO t DO INSTEAD NOTHING'), ('CREATE SCHEMA s'), ('CREATE SERVER s FOREIGN DATA WRAPPER w'),
	('CREATE STATISTICS s ON a, b FROM t'), ('CREATE TABLE t (a int)'), ('CREATE TEXT SEARCH CONFIGURATION c (PARSER = p)'),
	('CREATE TEXT SEARCH DICTIONARY d (TEMPLATE = t)'), ('CREATE TEXT SEARCH PARSER p (START = s)'),
	('CREATE TEXT SEARCH TEMPLATE t (LEXIZE = l)'), ('CREATE TRANSFORM FOR t LANGUAGE l (FROM SQL WITH FUNCTION f(internal))'),
	('CREATE TRIGGER t AFTER INSERT ON u EXECUTE FUNCTION f()'), ('CREATE TYPE t AS ENUM ()'), ('CREATE TYPE t AS (a int)'),
	('CREATE TYPE t AS RANGE (SUBTYPE = int)'), ('CREATE USER MAPPING FOR r SERVER s'), ('CREATE VIEW v AS SELECT 1'),
	('DROP ACCESS METHOD m'), ('DROP AGGREGATE a(int)'), ('DROP CAST (a AS b)'), ('DROP COLLATION c'), ('DROP CONVERSION c'), ('DROP DATABASE d'), ('DROP DOMAIN d'),
	('DROP EVENT TRIGGER e'),
	('DROP EXTENSION e'), ('DROP FOREIGN DATA WRAPPER w'), ('DROP FUNCTION f'), ('DROP INDEX i'), ('DROP LANGUAGE l'),
	('DROP MATERIALIZED VIEW m'), ('DROP OPERATOR +(int, int)'), ('DROP OPERATOR CLASS c USING btree'), ('DROP OPERATOR FAMILY f USING btree'),
	('ALTER FOREIGN TABLE t OPTIONS (a ''1'')'), ('CREATE FOREIGN TABLE t (a int) SERVER s'), ('DROP FOREIGN TABLE t'),
	('DROP OWNED BY r'), ('DROP POLICY p ON t'), ('DROP PROCEDURE p'), ('DROP PUBLICATION p'), ('DROP ROLE r'), ('DROP ROUTINE r'),
	('DROP RULE r ON t'), ('DROP SCHEMA s'), ('DROP SEQUENCE s'), ('DROP SERVER s'), ('DROP STATISTICS s'), ('DROP TABLE t'),
	('DROP TEXT SEARCH CONFIGURATION c'), ('DROP TEXT SEARCH DICTIONARY d'), ('DROP TEXT SEARCH PARSER p'), ('DROP TEXT SEARCH TEMPLATE t'),
	('DROP TRANSFORM FOR t LANGUAGE l'), ('DROP TRIGGER t ON u'), ('DROP TYPE t'), ('DROP USER MAPPING FOR r SERVER s'), ('DROP VIEW v'),
	('GRANT SELECT ON t TO r'), ('GRANT r TO s'), ('LOCK TABLE t'), ('REASSIGN OWNED BY r TO s'), ('REFRESH MATERIALIZED VIEW m'),
	('REINDEX TABLE t'), ('REVOKE SELECT ON t FROM r'), ('REVOKE r FROM s'), ('SECURITY LABEL ON TABLE t IS ''x'''),
	('SET CONSTRAINTS ALL DEFERRED'), ('TRUNCATE t'), ('VACUUM t');
INSERT INTO samples VALUES
	('IMPORT FOREIGN SCHEMA s FROM SERVER t INTO u', 'it makes foreign tables'),
	('ALTER LARGE OBJECT 1 OWNER TO r', 'data of one node'), ('ALTER SYSTEM SET work_mem = 1', 'each server''s file'),
	('ALTER SUBSCRIPTION s DISABLE', 'one node receives'), ('CREATE SUBSCRIPTION s CONNECTION '''' PUBLICATION p', 'one node receives'),
	('DROP SUBSCRIPTION s', 'one node receives'), ('ALTER TABLESPACE t RENAME TO u', 'directories of one server'),
	('CREATE TABLESPACE t LOCATION ''/''', 'directories of one server'), ('DROP TABLESPACE t', 'directories of one server'),
	('CREATE SEQUENCE s', 'on all nodes once a table that is distributed uses it'), ('CREATE TABLE t AS SELECT 1', 'a table is local until it is distributed'),
	('SELECT 1 INTO t', 'a table is local until it is distributed'),
	('CREATE TYPE t', 'a shell type goes with the type that fills it'), ('ALTER TABLE ALL IN TABLESPACE a SET TABLESPACE b', 'directories of one server'),
	('COMMENT ON TABLESPACE t IS NULL', 'directories of one server'), ('CHECKPOINT', 'each server''s own'), ('LOAD ''x''', 'each session''s own');
-- Handlers and reasons agree.
SELECT statement, leaves, reason FROM samples, LATERAL pando.statement_reach(statement) WHERE leaves = (reason IS NOT NULL);
-- Tags without a sample. Those of PostgreSQL's grammar that no statement gives are named; the rest changes no object.
SELECT t FROM pando.command_tags() t
WHERE t NOT IN (SELECT tag FROM samples, LATERAL pando.statement_reach(statement))
	AND t NOT IN ('ALTER ACCESS METHOD', 'ALTER CAST', 'ALTER CONSTRAINT', 'ALTER TRANSFORM', 'CREATE CONSTRAINT', 'CREATE ROUTINE', 'DROP CONSTRAINT')
	AND t !~ '^(\?|BEGIN|CALL|CLOSE|COMMIT|COPY|DEALLOCATE|DECLARE|DELETE|DISCARD|DO$|EXECUTE|EXPLAIN|FETCH|INSERT|LISTEN|LOGIN|MERGE|MOVE|NOTIFY|PREPARE|RELEASE|RESET|ROLLBACK|SAVEPOINT|SELECT|SET$|SHOW|START|UNLISTEN|UPDATE)'
ORDER BY 1;

-- Verbs by kinds. What the grammar doesn't take is left out.
CREATE TEMP TABLE named (kind text, name text);
INSERT INTO named VALUES ('ACCESS_METHOD', 'ACCESS METHOD m'), ('AGGREGATE', 'AGGREGATE f(int)'), ('CAST', 'CAST (a AS b)'), ('COLLATION', 'COLLATION c'), ('COLUMN', 'COLUMN t.c'),
	('CONVERSION', 'CONVERSION c'), ('DATABASE', 'DATABASE d'), ('DOMAIN', 'DOMAIN d'), ('DOMCONSTRAINT', 'CONSTRAINT c ON DOMAIN d'), ('EVENT_TRIGGER', 'EVENT TRIGGER e'),
	('EXTENSION', 'EXTENSION e'), ('FDW', 'FOREIGN DATA WRAPPER w'), ('FOREIGN_SERVER', 'SERVER s'), ('FOREIGN_SERVER', 'FOREIGN SERVER s'), ('FOREIGN_TABLE', 'FOREIGN TABLE t'),
	('FUNCTION', 'FUNCTION f(int)'), ('INDEX', 'INDEX i'), ('LANGUAGE', 'LANGUAGE l'), ('LARGEOBJECT', 'LARGE OBJECT 1'), ('MATVIEW', 'MATERIALIZED VIEW m'),
	('OPCLASS', 'OPERATOR CLASS c USING btree'), ('OPERATOR', 'OPERATOR +(int, int)'), ('OPFAMILY', 'OPERATOR FAMILY f USING btree'), ('PARAMETER_ACL', 'PARAMETER p'), ('POLICY', 'POLICY p ON t'),
	('PROCEDURE', 'PROCEDURE p(int)'), ('PUBLICATION', 'PUBLICATION p'), ('ROLE', 'ROLE r'), ('ROUTINE', 'ROUTINE f(int)'), ('RULE', 'RULE r ON t'), ('SCHEMA', 'SCHEMA s'), ('SEQUENCE', 'SEQUENCE s'),
	('STATISTIC_EXT', 'STATISTICS s'), ('SUBSCRIPTION', 'SUBSCRIPTION s'), ('TABCONSTRAINT', 'CONSTRAINT c ON t'), ('TABLE', 'TABLE t'), ('TABLE', 'ALL TABLES IN SCHEMA s'), ('TABLESPACE', 'TABLESPACE t'),
	('TRANSFORM', 'TRANSFORM FOR t LANGUAGE l'), ('TRIGGER', 'TRIGGER t ON u'), ('TSCONFIGURATION', 'TEXT SEARCH CONFIGURATION c'), ('TSDICTIONARY', 'TEXT SEARCH DICTIONARY d'),
	('TSPARSER', 'TEXT SEARCH PARSER p'), ('TSTEMPLATE', 'TEXT SEARCH TEMPLATE t'), ('TYPE', 'TYPE t'), ('USER_MAPPING', 'USER MAPPING FOR r SERVER s'), ('VIEW', 'VIEW v');
SELECT kind AS without_a_name FROM pando.object_kinds() WHERE kind NOT IN (SELECT kind FROM named)
	AND kind NOT IN ('AMOP', 'AMPROC', 'ATTRIBUTE', 'DEFACL', 'DEFAULT', 'PUBLICATION_NAMESPACE', 'PUBLICATION_REL') ORDER BY 1;
-- NULL: there is no such statement.
CREATE FUNCTION pg_temp.leaves(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RETURN (pando.statement_reach(statement)).leaves;
EXCEPTION WHEN syntax_error OR feature_not_supported THEN
	RETURN NULL;
END $$;
CREATE TEMP TABLE said AS SELECT verb, kind, place, format(verb, name) AS statement, pg_temp.leaves(format(verb, name)) AS leaves
FROM named JOIN pando.object_kinds() USING (kind),
	unnest(ARRAY['ALTER %s RENAME TO x', 'ALTER %s OWNER TO r', 'ALTER %s SET SCHEMA s', 'ALTER %s SET (a = 1)', 'ALTER %s OPTIONS (a ''1'')', 'ALTER %s DEPENDS ON EXTENSION e', 'ALTER %s NO DEPENDS ON EXTENSION e',
		'ALTER %s SET TABLESPACE x', 'ALTER %s REFRESH VERSION', 'ALTER EXTENSION e ADD %s', 'ALTER EXTENSION e DROP %s', 'COMMENT ON %s IS NULL', 'SECURITY LABEL ON %s IS NULL', 'DROP %s', 'DROP %s CASCADE',
		'GRANT ALL ON %s TO r', 'REVOKE ALL ON %s FROM r CASCADE']) verb;
SELECT verb, count(*), string_agg(DISTINCT kind COLLATE "C", ' ' ORDER BY kind COLLATE "C") FROM said WHERE leaves IS NOT NULL GROUP BY 1 ORDER BY verb COLLATE "C";
-- (PostgreSQL takes none of the local ones into an extension.)
SELECT statement, leaves, place FROM said WHERE leaves = (place = 'local') AND statement !~ '^ALTER EXTENSION';
