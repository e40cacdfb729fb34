\set VERBOSITY terse
\pset tuples_only on
\pset format unaligned
SET client_min_messages TO warning;
SET search_path = any_node, public;
CREATE FUNCTION triggers() RETURNS text LANGUAGE sql AS $$
	SELECT everywhere('SELECT string_agg(concat_ws('' '', evtname, evtevent, evtenabled, evttags, evtfoid::regproc, evtowner::regrole,
		obj_description(oid)), '', '' ORDER BY evtname) FROM pg_event_trigger')
$$;
-- Each node has such a table, of its own: who fires, writes where he is.
SELECT count(*) FROM run_command_on_all_nodes('CREATE TABLE public.fired (n serial, here bool DEFAULT true, event text, tag text, object text)');
CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF tg_event = 'ddl_command_end' THEN
		INSERT INTO public.fired (event, tag, object) SELECT tg_event, tg_tag, object_identity FROM pg_event_trigger_ddl_commands();
	ELSIF tg_event = 'sql_drop' THEN
		INSERT INTO public.fired (event, tag, object) SELECT tg_event, tg_tag, object_identity FROM pg_event_trigger_dropped_objects()
			WHERE object_type NOT IN ('type', 'rule');
	ELSE
		INSERT INTO public.fired (event, tag) VALUES (tg_event, tg_tag);
	END IF;
END $$;
CREATE EVENT TRIGGER any_node_start ON ddl_command_start EXECUTE FUNCTION note();
CREATE EVENT TRIGGER any_node_end ON ddl_command_end EXECUTE FUNCTION note();
CREATE EVENT TRIGGER any_node_drop ON sql_drop WHEN TAG IN ('DROP TABLE', 'DROP INDEX', 'DROP FUNCTION') EXECUTE FUNCTION note();
CREATE EVENT TRIGGER any_node_rewrite ON table_rewrite EXECUTE FUNCTION note();
ALTER EVENT TRIGGER any_node_start ENABLE ALWAYS;
ALTER EVENT TRIGGER any_node_rewrite ENABLE REPLICA;
COMMENT ON EVENT TRIGGER any_node_start IS 'first';
CREATE ROLE any_node_super SUPERUSER;
ALTER EVENT TRIGGER any_node_rewrite OWNER TO any_node_super;
SELECT triggers();
ALTER EVENT TRIGGER any_node_rewrite ENABLE;
ALTER EVENT TRIGGER any_node_rewrite RENAME TO any_node_written;
SELECT triggers();
-- They fire once, here, for what the client says; not for shards and for what nodes are told.
TRUNCATE public.fired;
CREATE TABLE d (k int PRIMARY KEY, v int);
SELECT create_distributed_table('d', 'k', shard_count := 4);
INSERT INTO d SELECT i, i FROM generate_series(1, 9) i;
ALTER TABLE d ALTER COLUMN v TYPE bigint;
CREATE INDEX i ON d (v);
CREATE INDEX CONCURRENTLY j ON d (v);
CREATE VIEW seen AS SELECT * FROM d;
CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM d;
REFRESH MATERIALIZED VIEW counted;
CREATE TYPE kind AS ENUM ('x');
ALTER TYPE kind ADD VALUE 'y';
GRANT SELECT ON d TO any_node_super;
VACUUM d;
TRUNCATE d;
SELECT alter_distributed_table('d', shard_count := 2, cascade_to_colocated := false);
SELECT undistribute_table('d');
SELECT create_reference_table('d');
DROP INDEX i;
DROP TABLE d CASCADE;
DROP TYPE kind;
SELECT event, tag, object FROM public.fired ORDER BY n;
SELECT everywhere('SELECT count(*) FROM public.fired WHERE tag = ''CREATE VIEW''');
DROP EVENT TRIGGER any_node_start, any_node_end, any_node_written;
DROP FUNCTION note CASCADE;
SELECT triggers();
-- At the end of a statement all nodes have it: the function may change and read what it is about.
CREATE TABLE d (k int PRIMARY KEY, v int);
SELECT create_distributed_table('d', 'k', shard_count := 4);
INSERT INTO d SELECT i, i FROM generate_series(1, 9) i;
CREATE FUNCTION go_on() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	COMMENT ON COLUMN any_node.d.w IS 'new';
	UPDATE any_node.d SET w = k + 1;
	RAISE WARNING '% rows, % in all', (SELECT count(*) FROM any_node.d), (SELECT sum(w) FROM any_node.d);
	RAISE WARNING '%', (SELECT string_agg(object_identity, ', ') FROM pg_event_trigger_ddl_commands());
END $$;
CREATE EVENT TRIGGER any_node_on ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION go_on();
ALTER TABLE d ADD COLUMN w int;
SELECT everywhere('SELECT col_description(attrelid, attnum) FROM pg_attribute WHERE attrelid = ''any_node.d''::regclass AND attname = ''w''');
DROP EVENT TRIGGER any_node_on;
CREATE OR REPLACE FUNCTION go_on() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	ALTER VIEW any_node.seen SET (security_barrier = true);
	CREATE TABLE IF NOT EXISTS any_node.aside (a int);
END $$;
CREATE EVENT TRIGGER any_node_on ON ddl_command_end WHEN TAG IN ('CREATE VIEW') EXECUTE FUNCTION go_on();
CREATE VIEW seen AS SELECT * FROM d;
SELECT everywhere('SELECT reloptions FROM pg_class WHERE oid = ''any_node.seen''::regclass');
DROP EVENT TRIGGER any_node_on;
CREATE OR REPLACE FUNCTION go_on() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING '% %: % rows', tg_event, tg_tag, (SELECT count(*) FROM any_node.d);
	CREATE TABLE IF NOT EXISTS any_node.before (a int);
END $$;
CREATE EVENT TRIGGER any_node_on ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION go_on();
ALTER TABLE d DROP COLUMN w CASCADE;
DROP EVENT TRIGGER any_node_on;
-- What forbids, forbids for all, and nobody escapes by saying that he is a node.
CREATE ROLE any_node_user LOGIN;
GRANT ALL ON SCHEMA any_node TO any_node_user;
ALTER TABLE d OWNER TO any_node_user;
CREATE FUNCTION forbid() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE '% is forbidden', tg_tag; END $$;
CREATE EVENT TRIGGER any_node_forbid ON ddl_command_start WHEN TAG IN ('ALTER TABLE', 'CREATE TABLE') EXECUTE FUNCTION forbid();
SET ROLE any_node_user;
ALTER TABLE d ADD COLUMN x int;
SELECT pando.ddl_apply('ALTER TABLE any_node.d ADD COLUMN x int', '{}', 'public');
SELECT pando.object_create('NULL', ARRAY['CREATE TABLE any_node.e (a int)'], '{}');
SELECT everywhere('CREATE TABLE any_node.e (a int)');
SET application_name = 'citus_internal gpid=10000000001';
ALTER TABLE d ADD COLUMN x int;
SELECT pando.ddl_apply('ALTER TABLE any_node.d ADD COLUMN x int', '{}', 'public');
RESET application_name;
RESET ROLE;
SELECT everywhere('SELECT count(*) FROM pg_attribute WHERE attrelid = ''any_node.d''::regclass AND attname = ''x''');
-- One whose function is on one node only stays there, and so does one that is made while nothing is sent.
SET citus.enable_ddl_propagation = off;
CREATE EVENT TRIGGER any_node_here ON ddl_command_start WHEN TAG IN ('CREATE RULE') EXECUTE FUNCTION forbid();
RESET citus.enable_ddl_propagation;
SELECT everywhere('SELECT count(*) FROM pg_event_trigger');
DROP EVENT TRIGGER any_node_here;
DROP EVENT TRIGGER any_node_forbid;
SELECT count(*) FROM run_command_on_all_nodes('DROP TABLE public.fired');
DROP SCHEMA any_node CASCADE;
DROP ROLE any_node_super, any_node_user;
