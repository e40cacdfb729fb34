-- Rules of distributed tables rewrite statements on every node as those of plain tables do.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" rules
SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
CREATE SCHEMA rules;
SET search_path = rules;
SET citus.shard_count = 4;

-- A table that has rules when it is distributed: they go to all nodes, with what they need.
CREATE TABLE log (line text);
CREATE TABLE t (k int PRIMARY KEY, v int);
CREATE FUNCTION twice(i int) RETURNS int LANGUAGE sql AS 'SELECT i * 2';
CREATE VIEW v AS SELECT k, twice(v) AS v2 FROM t;
CREATE RULE note AS ON INSERT TO t DO ALSO INSERT INTO log SELECT concat_ws(' ', new.k, twice(new.v), (SELECT count(*) FROM v));
CREATE RULE quiet AS ON DELETE TO t DO INSTEAD NOTHING;
ALTER TABLE t DISABLE RULE quiet;
COMMENT ON RULE note ON t IS 'writes a line';
SELECT create_distributed_table('t', 'k');
SELECT create_reference_table('log');
SELECT create_distributed_table('t', 'k');
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT string_agg(concat_ws(' ', rulename, ev_enabled, obj_description(oid, 'pg_rewrite')), ',' ORDER BY rulename) FROM pg_rewrite WHERE ev_class = 'rules.t'::regclass$$);
SELECT count(*) FROM run_command_on_shards('t', 'SELECT 1 FROM pg_rewrite WHERE ev_class = ''%s''::regclass') WHERE result <> '';
INSERT INTO t VALUES (1, 1), (2, 2);
DELETE FROM t WHERE k = 1;
SELECT * FROM t ORDER BY k;
SELECT * FROM log ORDER BY line;

-- From another node: there too, and made there.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid > 0 ORDER BY nodeid LIMIT 1 \gset
SELECT setting AS coordinator FROM pg_settings WHERE name = 'port' \gset
\c - - - :worker
SET search_path = rules;
INSERT INTO t VALUES (5, 5), (6, 6), (7, 7);
CREATE RULE keep AS ON UPDATE TO t WHERE old.k = 7 DO INSTEAD NOTHING;
UPDATE t SET v = -7 WHERE k = 7;
ALTER TABLE t ENABLE RULE quiet;
ALTER RULE keep ON t RENAME TO kept;
CREATE OR REPLACE RULE note AS ON INSERT TO t DO ALSO INSERT INTO log VALUES ('changed');
\c - - - :coordinator
SET search_path = rules;
SET client_min_messages = warning;
INSERT INTO t VALUES (8, 8);
UPDATE t SET v = -1 WHERE k IN (7, 8);
DELETE FROM t WHERE k = 8;
SELECT * FROM t WHERE k > 6 ORDER BY k;
SELECT count(*) FROM log WHERE line = 'changed';
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT string_agg(pg_get_ruledef(oid), ',' ORDER BY rulename) FROM pg_rewrite WHERE ev_class = 'rules.t'::regclass$$);

-- What a rule names stays on all nodes as long as it does.
CREATE TABLE here (k int);
CREATE RULE locally AS ON DELETE TO t DO ALSO INSERT INTO here VALUES (old.k);
CREATE SEQUENCE seq;
CREATE RULE numbered AS ON DELETE TO t DO ALSO INSERT INTO log VALUES (nextval('seq'));
CREATE RULE "_RETURN" AS ON SELECT TO t DO INSTEAD SELECT 1 AS k, 2 AS v;
CREATE RULE viewed AS ON UPDATE TO t DO ALSO INSERT INTO log SELECT v2::text FROM v WHERE v.k = old.k;
DROP RULE note ON t;
SELECT undistribute_table('log');
DROP RULE viewed ON t;
SELECT undistribute_table('log');
SELECT citus_add_local_table_to_metadata('here');
CREATE RULE locally AS ON DELETE TO t DO ALSO INSERT INTO here VALUES (old.k);
DROP RULE quiet ON t;
DELETE FROM t WHERE k = 7;
SELECT * FROM here;
DROP TABLE here;
DROP TABLE here CASCADE;
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_rewrite WHERE ev_class = 'rules.t'::regclass$$);
DELETE FROM t WHERE k = 8;

-- They stay when the table becomes a plain one.
SELECT undistribute_table('t');
UPDATE t SET v = -7 WHERE k IN (5, 6);
CREATE RULE one_more AS ON DELETE TO t DO INSTEAD NOTHING;
DELETE FROM t;
SELECT count(*) FROM t;

-- For the owner alone.
SELECT create_distributed_table('t', 'k');
CREATE ROLE rule_user;
GRANT USAGE ON SCHEMA rules TO rule_user;
GRANT ALL ON t TO rule_user;
SET ROLE rule_user;
CREATE RULE two_more AS ON DELETE TO t DO INSTEAD NOTHING;
DROP RULE one_more ON t;
ALTER RULE one_more ON t RENAME TO two_more;
RESET ROLE;
-- A rule's action has the rights of the table's owner.
CREATE TABLE secret (k int);
SELECT create_distributed_table('secret', 'k');
CREATE RULE note AS ON INSERT TO t DO ALSO INSERT INTO secret VALUES (new.k);
SET ROLE rule_user;
INSERT INTO t VALUES (50, 1), (51, 1);
INSERT INTO t SELECT k + 10, v FROM t WHERE k = 50;
SELECT * FROM secret;
RESET ROLE;
SELECT * FROM secret ORDER BY k;
DROP SCHEMA rules CASCADE;
DROP ROLE rule_user;
