-- A table is distributed by its owner, whoever owns the views that stand on it: these go to the other nodes as their owners'.
CREATE SCHEMA others_views;
SET search_path TO others_views;
SET citus.next_shard_id TO 2030000;
SET citus.shard_count TO 2;
CREATE ROLE others_table;
CREATE ROLE others_view;
GRANT ALL ON SCHEMA others_views TO others_table, others_view;
SET ROLE others_table;
CREATE TABLE t (k int, v int);
INSERT INTO t VALUES (1, 2);
GRANT SELECT ON t TO others_view;
SET ROLE others_view;
CREATE FUNCTION twice(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2';
CREATE VIEW v AS SELECT k, twice(v) FROM t;
CREATE MATERIALIZED VIEW m AS SELECT * FROM t;
CREATE INDEX ON m (twice(v));
SET ROLE others_table;
SET client_min_messages TO warning;
SELECT create_distributed_table('t', 'k', colocate_with := 'none');
RESET ROLE;
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT concat_ws(' ', (SELECT viewowner FROM pg_views WHERE viewname = 'v' AND schemaname = 'others_views'),
	(SELECT matviewowner FROM pg_matviews WHERE schemaname = 'others_views'), (SELECT v FROM others_views.m))$$);
-- What nodes ask of each other they do for nobody else.
SET ROLE others_table;
SELECT pando.run_as('others_view', 'DROP VIEW others_views.v');
SELECT pando.run_as('postgres', 'SELECT 1');
RESET ROLE;
DROP SCHEMA others_views CASCADE;
DROP OWNED BY others_table, others_view;
DROP ROLE others_table, others_view;
