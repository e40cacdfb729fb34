-- Check constraints, generated columns and policies are evaluated on shards, where tableoid is another: they can't refer to it,
-- whether they come with the table or later, through the coordinator or a worker; nothing is left on any node.
\set VERBOSITY default
CREATE SCHEMA row_expressions;
SET search_path TO row_expressions;
SET citus.shard_count = 4;
CREATE TABLE checked (k int, CONSTRAINT of_table CHECK (tableoid = 1 OR k > 0));
SELECT create_distributed_table('checked', 'k');
SELECT create_reference_table('checked');
CREATE TABLE generated (k int, t regclass GENERATED ALWAYS AS (tableoid::regclass) STORED);
SELECT create_distributed_table('generated', 'k');
CREATE TABLE guarded (k int);
CREATE POLICY by_table ON guarded USING (tableoid <> 1);
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
SELECT create_distributed_table('guarded', 'k');
SELECT count(*) FROM pg_dist_partition WHERE logicalrelid::text IN ('checked', 'generated', 'guarded');

CREATE TABLE fine (k int CHECK (k > 0), d int GENERATED ALWAYS AS (k * 2) STORED);
CREATE POLICY even ON fine USING (k % 2 = 0);
ALTER TABLE fine ENABLE ROW LEVEL SECURITY;
SELECT create_distributed_table('fine', 'k');
ALTER TABLE fine ADD CONSTRAINT of_table CHECK (tableoid <> 1);
ALTER TABLE fine ADD COLUMN t oid GENERATED ALWAYS AS (tableoid) STORED;
CREATE POLICY by_table ON fine FOR INSERT WITH CHECK (tableoid <> 1);
ALTER POLICY even ON fine USING (tableoid <> 1);
-- A policy that isn't in force is looked at when it is to be.
ALTER TABLE fine DISABLE ROW LEVEL SECURITY;
ALTER POLICY even ON fine USING (tableoid <> 2);
ALTER TABLE fine ENABLE ROW LEVEL SECURITY;
ALTER POLICY even ON fine USING (k % 2 = 1);
ALTER TABLE fine ENABLE ROW LEVEL SECURITY;
ALTER TABLE fine ADD CONSTRAINT small CHECK (k < 1000);
SELECT result FROM run_command_on_all_nodes($$ SELECT count(*) FROM pg_constraint WHERE conrelid = 'row_expressions.fine'::regclass $$);
SELECT result FROM run_command_on_all_nodes($$ SELECT pg_get_expr(polqual, polrelid) FROM pg_policy WHERE polrelid = 'row_expressions.fine'::regclass $$);

-- A table of the coordinator is itself.
SELECT citus_add_local_table_to_metadata('checked');
INSERT INTO checked VALUES (1);
ALTER TABLE checked ADD CONSTRAINT itself CHECK (tableoid = 'row_expressions.checked'::regclass);
INSERT INTO checked VALUES (2);
SELECT create_distributed_table('checked', 'k');
SELECT count(*) FROM checked;
SET client_min_messages = warning;
DROP SCHEMA row_expressions CASCADE;
