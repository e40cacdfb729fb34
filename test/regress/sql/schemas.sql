-- Distributed schemas: all tables of one are single-shard tables on one node, whatever way they come into it: made, filled
-- by a query, moved there, or there already; those that leave it become local ones. search_path says whose rows a
-- query sees.
SET citus.next_shard_id TO 1980000;
SET client_min_messages TO warning;
\set SHOW_CONTEXT never
CREATE ROLE schemas_owner LOGIN;
CREATE ROLE schemas_other LOGIN;
CREATE TABLE public.schemas_kinds (id int PRIMARY KEY, name text);
SELECT create_reference_table('public.schemas_kinds');
INSERT INTO public.schemas_kinds VALUES (1, 'one'), (2, 'two');
GRANT ALL ON public.schemas_kinds TO schemas_owner;

-- Made under the setting, empty at first.
SET citus.enable_schema_based_sharding TO on;
CREATE SCHEMA tenant_a AUTHORIZATION schemas_owner;
CREATE SCHEMA tenant_b CREATE TABLE accounts (id int PRIMARY KEY, v int) CREATE TABLE entries (id int REFERENCES accounts, w int);
RESET citus.enable_schema_based_sharding;
CREATE SCHEMA tenant_c;
SELECT schema_name FROM citus_schemas WHERE schema_name::text LIKE 'tenant%' ORDER BY 1;
SELECT table_name, citus_table_type, shard_count FROM citus_tables WHERE table_name::text LIKE 'tenant%' ORDER BY table_name::text;

-- Tables come by themselves, as their owner.
SET ROLE schemas_owner;
SET search_path TO tenant_a;
CREATE TABLE accounts (id bigserial PRIMARY KEY, kind int REFERENCES public.schemas_kinds, v int);
CREATE TABLE entries (id int PRIMARY KEY, account bigint REFERENCES accounts, w int);
CREATE TABLE days (d date, v int) PARTITION BY RANGE (d);
CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
INSERT INTO accounts (kind, v) SELECT g % 2 + 1, g FROM generate_series(1, 10) g;
INSERT INTO entries SELECT g, g, g FROM generate_series(1, 10) g;
INSERT INTO days SELECT '2026-01-01'::date + g, g FROM generate_series(1, 10) g;
CREATE TABLE sums AS SELECT a.kind, sum(w) AS w FROM accounts a JOIN entries e ON e.account = a.id GROUP BY 1;
SELECT kind, k.name, s.w, (SELECT sum(v) FROM days) FROM sums s JOIN public.schemas_kinds k ON k.id = kind ORDER BY 1;
INSERT INTO entries VALUES (11, 99, 1);
INSERT INTO accounts (kind) VALUES (9);
CREATE TEMP TABLE scratch (a int);
DROP TABLE scratch;
RESET ROLE;
SELECT relation, count(DISTINCT nodeport) FROM (SELECT logicalrelid::text AS relation, shardid FROM pg_dist_shard WHERE logicalrelid::text IN ('accounts', 'entries', 'days', 'days_1', 'sums', 'scratch')) s
	JOIN pg_dist_shard_placement USING (shardid) GROUP BY 1 ORDER BY 1;
SELECT count(DISTINCT colocationid), count(DISTINCT nodeport) FROM pg_dist_partition JOIN pg_dist_shard USING (logicalrelid) JOIN pg_dist_shard_placement USING (shardid)
	JOIN pg_class c ON c.oid = logicalrelid WHERE relnamespace = 'tenant_a'::regnamespace;
-- Another tenant has other rows.
SET search_path TO tenant_b;
INSERT INTO accounts VALUES (1, 100);
PREPARE of_tenant AS SELECT sum(v) FROM accounts;
EXECUTE of_tenant;
SET search_path TO tenant_a;
EXECUTE of_tenant;
DEALLOCATE of_tenant;
RESET search_path;

-- A table that references a reference table can't be a local one.
ALTER TABLE tenant_a.accounts SET SCHEMA public;
SELECT citus_schema_undistribute('tenant_a');

-- What is there already, parents and children; the same the other way.
CREATE TABLE tenant_c.child (id int PRIMARY KEY, parent int);
CREATE TABLE tenant_c.parent (id int PRIMARY KEY);
ALTER TABLE tenant_c.child ADD FOREIGN KEY (parent) REFERENCES tenant_c.parent;
INSERT INTO tenant_c.parent SELECT generate_series(1, 5);
INSERT INTO tenant_c.child SELECT g, g FROM generate_series(1, 5) g;
SELECT citus_schema_distribute('tenant_c');
SELECT count(*) FROM tenant_c.child JOIN tenant_c.parent ON parent.id = parent;
INSERT INTO tenant_c.child VALUES (6, 6);
SELECT table_name, citus_table_type FROM citus_tables WHERE table_name::text LIKE 'tenant_c%' ORDER BY table_name::text;
SET client_min_messages TO notice;
SELECT citus_schema_distribute('tenant_c');
SET client_min_messages TO warning;
SELECT citus_schema_undistribute('tenant_c');
SELECT count(*) FROM tenant_c.child JOIN tenant_c.parent ON parent.id = parent;
SELECT table_name, citus_table_type FROM citus_tables WHERE table_name::text LIKE 'tenant_c%' ORDER BY table_name::text;
SELECT citus_schema_undistribute('tenant_c');
INSERT INTO tenant_c.child VALUES (6, 6);

-- SET SCHEMA in and out, from one to another; renames.
ALTER TABLE tenant_c.child DROP CONSTRAINT child_parent_fkey;
ALTER TABLE tenant_c.child SET SCHEMA tenant_b;
SELECT table_name, citus_table_type FROM citus_tables WHERE table_name::text LIKE '%child' ORDER BY table_name::text;
SELECT count(*) FROM tenant_b.child;
ALTER TABLE tenant_b.child SET SCHEMA tenant_a;
SELECT p.colocationid = d.colocationid FROM pg_dist_partition p, pg_dist_schema d WHERE logicalrelid = 'tenant_a.child'::regclass AND schemaid = 'tenant_a'::regnamespace;
ALTER TABLE tenant_a.child SET SCHEMA public;
SELECT table_name, citus_table_type FROM citus_tables WHERE table_name::text LIKE '%child' ORDER BY table_name::text;
SELECT count(*) FROM public.child;
SELECT create_distributed_table('public.child', 'id', shard_count => 2, colocate_with => 'none');
ALTER TABLE public.child SET SCHEMA tenant_a;
ALTER SCHEMA tenant_a RENAME TO tenant_z;
CREATE TABLE tenant_z.late (a int);
SELECT table_name, citus_table_type FROM citus_tables WHERE table_name::text LIKE 'tenant_z%' ORDER BY table_name::text;
SELECT sum(v) FROM tenant_z.accounts;

-- Moves, with all of it.
SELECT citus_schema_move('tenant_z', (SELECT min(nodeid) FROM pg_dist_node WHERE groupid > 0 AND groupid NOT IN (SELECT groupid FROM pg_dist_placement JOIN pg_dist_shard USING (shardid)
	WHERE logicalrelid = 'tenant_z.accounts'::regclass)), 'block_writes');
SELECT count(DISTINCT nodeport), (SELECT sum(v) FROM tenant_z.accounts) FROM pg_dist_partition JOIN pg_dist_shard USING (logicalrelid) JOIN pg_dist_shard_placement USING (shardid)
	JOIN pg_class c ON c.oid = logicalrelid WHERE relnamespace = 'tenant_z'::regnamespace;

-- Refusals.
SELECT citus_schema_move('tenant_c', 1);
SELECT citus_schema_move('tenant_b', 'nowhere', 1);
SELECT create_distributed_table('tenant_b.accounts', 'id');
SELECT citus_schema_distribute('pg_catalog');
SELECT citus_schema_distribute('citus');
CREATE TABLE tenant_c.h (a int);
SELECT create_distributed_table('tenant_c.h', 'a');
SELECT citus_schema_distribute('tenant_c');
SET ROLE schemas_other;
SELECT citus_schema_distribute('tenant_c');
SELECT citus_schema_undistribute('tenant_b');
SELECT citus_schema_move('tenant_b', 1);
SELECT pando.schema_register('tenant_b', 0);
RESET ROLE;

-- All nodes know the same; what is dropped is forgotten.
SELECT count(DISTINCT result) FROM run_command_on_all_nodes($$SELECT string_agg(schemaid::regnamespace || ' ' || colocationid, ', ' ORDER BY schemaid::regnamespace::text) FROM pg_dist_schema$$);
DROP SCHEMA tenant_z CASCADE;
DROP SCHEMA tenant_b CASCADE;
DROP SCHEMA tenant_c CASCADE;
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_dist_schema$$);
DROP TABLE public.child, public.schemas_kinds;
DROP ROLE schemas_owner, schemas_other;
