-- Views, run once through the coordinator and once through a worker.
\set VERBOSITY terse
\pset tuples_only on
\pset format unaligned
SET client_min_messages TO warning;
SET search_path = any_node;
-- Names and definitions of all views of the schema, in one value per node.
CREATE FUNCTION views() RETURNS text LANGUAGE sql AS $$
	SELECT everywhere('SELECT string_agg(DISTINCT relname || relkind::text, '','' ORDER BY relname || relkind::text)
			|| md5(string_agg(x, '';'' ORDER BY x))
		FROM pg_class c, pando.object_definition(''pg_class''::regclass, c.oid) x
		WHERE relnamespace = ''any_node''::regnamespace AND relkind IN (''v'', ''m'')')
$$;
CREATE FUNCTION same() RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN v ~ '<>' THEN v ELSE regexp_replace(v, '[0-9a-f]{32}', ' alike') END FROM views() v
$$;
CREATE TABLE d (k int PRIMARY KEY, v int);
SELECT create_distributed_table('d', 'k', shard_count := 4);
CREATE TABLE r (k int PRIMARY KEY, t text);
SELECT create_reference_table('r');
INSERT INTO d SELECT i, i FROM generate_series(1, 10) i;
INSERT INTO r SELECT i, 'row ' || i FROM generate_series(1, 10) i;
CREATE VIEW low AS SELECT k, v * 2 AS w FROM d WHERE v > 3;
CREATE VIEW high WITH (security_barrier) AS SELECT low.k, w, t FROM low JOIN r ON low.k = r.k;
CREATE VIEW checked AS SELECT * FROM d WHERE k < 100 WITH LOCAL CHECK OPTION;
CREATE RECURSIVE VIEW counted (n) AS VALUES (1) UNION ALL SELECT n + 1 FROM counted WHERE n < 5;
SELECT same();
SELECT everywhere('SELECT count(*)::text || max(t) FROM any_node.high');
INSERT INTO checked VALUES (101, 1);
-- Changes.
CREATE OR REPLACE VIEW low AS SELECT k, v * 2 AS w FROM d WHERE v > 4;
CREATE OR REPLACE VIEW checked AS SELECT k, v, -v AS minus FROM d WHERE k < 100;
CREATE OR REPLACE VIEW low AS SELECT k FROM d;
ALTER VIEW low RENAME COLUMN w TO twice;
ALTER VIEW low RENAME TO lower;
ALTER TABLE lower RENAME TO lowest;
ALTER VIEW lowest ALTER COLUMN twice SET DEFAULT 7;
ALTER VIEW lowest SET (security_barrier = on);
ALTER VIEW high RESET (security_barrier);
ALTER TABLE high OWNER TO pg_monitor;
GRANT SELECT ON high TO public;
GRANT UPDATE (t) ON high TO pg_monitor WITH GRANT OPTION;
COMMENT ON VIEW high IS 'high';
COMMENT ON COLUMN high.t IS 'text';
SELECT everywhere('SELECT obj_description(''any_node.high''::regclass) || col_description(''any_node.high''::regclass, 3)');
CREATE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER refused INSTEAD OF DELETE ON lowest FOR EACH ROW EXECUTE FUNCTION refused();
CREATE RULE ignored AS ON UPDATE TO lowest DO INSTEAD NOTHING;
SELECT same();
DROP RULE ignored ON lowest;
DROP TRIGGER refused ON lowest;
SELECT same();
ALTER VIEW high OWNER TO CURRENT_USER;
SELECT everywhere('SELECT count(*)::text || sum(w) FROM any_node.high');
-- Of one node: temporary, or over what is there only.
CREATE TABLE plain (k int);
CREATE TEMP VIEW passing AS SELECT * FROM lowest;
CREATE VIEW here AS SELECT d.k FROM d JOIN plain ON d.k = plain.k;
CREATE VIEW on_here AS SELECT * FROM here;
SELECT everywhere('SELECT count(*) FROM pg_class WHERE relname IN (''passing'', ''here'', ''on_here'')');
CREATE OR REPLACE VIEW checked AS SELECT k, 1 AS v, 2 AS minus FROM plain;
-- The table below comes and goes.
SELECT create_distributed_table('plain', 'k', colocate_with := 'd');
SELECT same();
SELECT undistribute_table('plain');
SELECT everywhere('SELECT count(*) FROM pg_dist_object WHERE object_names[2] IN (''here'', ''on_here'')');
SELECT everywhere('SELECT count(*) FROM pg_class WHERE relname IN (''here'', ''on_here'')');
DROP VIEW on_here, here;
SELECT same();
-- Materialized views.
CREATE MATERIALIZED VIEW kept AS SELECT k % 3 AS g, count(*), max(t) FROM high GROUP BY 1;
CREATE MATERIALIZED VIEW later AS SELECT sum(count) FROM kept WITH NO DATA;
CREATE UNIQUE INDEX kept_g ON kept (g);
SELECT everywhere('SELECT string_agg(kept::text, '' '' ORDER BY g) FROM any_node.kept');
SELECT everywhere('SELECT sum FROM any_node.later') ~ 'has not been populated';
INSERT INTO d VALUES (11, 11);
INSERT INTO r VALUES (11, NULL);
REFRESH MATERIALIZED VIEW kept;
REFRESH MATERIALIZED VIEW later;
SELECT everywhere('SELECT string_agg(kept::text, '' '' ORDER BY g) FROM any_node.kept');
SELECT everywhere('SELECT sum FROM any_node.later');
INSERT INTO d VALUES (12, 12);
INSERT INTO r VALUES (12, 'a "quoted", (text) \ of '' row 12');
BEGIN;
UPDATE d SET v = 13 WHERE k = 12;
REFRESH MATERIALIZED VIEW kept;
ROLLBACK;
SELECT everywhere('SELECT string_agg(kept::text, '' '' ORDER BY g) FROM any_node.kept WHERE g = 0');
REFRESH MATERIALIZED VIEW CONCURRENTLY kept;
SELECT everywhere('SELECT string_agg(kept::text, '' '' ORDER BY g) FROM any_node.kept WHERE g = 0');
SELECT everywhere('SELECT relpages >= 0 FROM pg_class WHERE relname = ''kept_g''');
CREATE MATERIALIZED VIEW named AS SELECT k, k + 1 AS v FROM d;
SELECT everywhere('SELECT sum(v) FROM any_node.named');
DROP MATERIALIZED VIEW named;
REFRESH MATERIALIZED VIEW later WITH NO DATA;
SELECT everywhere('SELECT count(*) FROM pg_class WHERE relname = ''later'' AND relispopulated');
ALTER MATERIALIZED VIEW kept RENAME TO stored;
ALTER INDEX kept_g RENAME TO stored_g;
ALTER MATERIALIZED VIEW stored SET (autovacuum_enabled = off);
SELECT same();
DROP INDEX stored_g;
SELECT same();
-- In a block, rolled back.
BEGIN;
CREATE VIEW gone AS SELECT * FROM d;
SAVEPOINT s;
DROP VIEW lowest CASCADE;
ROLLBACK TO s;
SELECT count(*) FROM gone;
ROLLBACK;
SELECT same();
-- A view that is joined by another one gets a column.
CREATE TABLE stretched (k int, w int, x int);
SELECT create_distributed_table('stretched', 'k');
CREATE TABLE names (k int, name text);
SELECT create_reference_table('names');
INSERT INTO stretched SELECT i, i * 2, i * 3 FROM generate_series(1, 10) i;
INSERT INTO names SELECT i, 'name ' || i FROM generate_series(1, 5) i;
CREATE VIEW narrow AS SELECT k, w FROM stretched;
CREATE VIEW joined AS SELECT narrow.k, narrow.w, names.name FROM narrow JOIN names USING (k);
CREATE OR REPLACE VIEW narrow AS SELECT k, w, x FROM stretched;
SELECT sum(w) FROM joined;
SELECT sum(narrow.x) FROM narrow JOIN joined USING (k);
DROP TABLE stretched, names CASCADE;
-- What depends on them.
ALTER TABLE d ALTER COLUMN v TYPE bigint;
DROP VIEW lowest;
DROP VIEW nothing;
ALTER TABLE d DROP COLUMN v CASCADE;
SELECT same();
CREATE VIEW again AS SELECT k FROM d;
CREATE SCHEMA any_node_2 CREATE VIEW inside AS SELECT * FROM any_node.again;
SELECT everywhere('SELECT count(*) FROM any_node_2.inside');
ALTER VIEW again SET SCHEMA any_node_2;
SELECT everywhere('SELECT count(*) FROM any_node_2.again');
DROP SCHEMA any_node_2 CASCADE;
DROP TABLE d CASCADE;
SELECT same();
SELECT everywhere('SELECT count(*) FROM pg_dist_object WHERE type ~ ''view''');
SELECT everywhere('SELECT count(*) FROM pg_class WHERE relnamespace = ''any_node''::regnamespace AND relkind IN (''v'', ''m'')');
DROP SCHEMA any_node CASCADE;
