-- Distributed schemas: all tables of one are together on a node, in a colocation group of their own, whether they were
-- there before, are made in it, by whatever statement and on whichever node, or come to it; they leave it as local tables.
\set SHOW_CONTEXT never
SET client_min_messages TO notice;
SET citus.next_shard_id = 3100000;
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
SELECT nodeport AS coordinator FROM pg_dist_node WHERE groupid = 0 \gset
-- A schema's tables by name, and on how many nodes they are.
CREATE VIEW public.tenant_tables AS
	SELECT n.nspname AS schema, string_agg(DISTINCT c.relname || ' ' || t.citus_table_type, ', ' ORDER BY c.relname || ' ' || t.citus_table_type) AS tables,
		count(DISTINCT s.nodeport) AS nodes, bool_and(d.colocationid IS NOT DISTINCT FROM p.colocationid) AS of_schema
	FROM public.citus_tables t JOIN pg_class c ON c.oid = t.table_name JOIN pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_dist_partition p ON p.logicalrelid = c.oid LEFT JOIN pg_dist_schema d ON d.schemaid = n.oid
		JOIN citus_shards s ON s.table_name = t.table_name
	WHERE n.nspname LIKE 'tenant%' GROUP BY 1 ORDER BY 1;
CREATE TABLE public.tenant_country (id int PRIMARY KEY, name text);
SELECT create_reference_table('public.tenant_country');
INSERT INTO public.tenant_country VALUES (1, 'one'), (2, 'two');

-- New schemas and what is made in them.
SET citus.enable_schema_based_sharding TO on;
CREATE SCHEMA tenant_a;
CREATE SCHEMA IF NOT EXISTS tenant_a;
CREATE SCHEMA tenant_b CREATE TABLE item (a int PRIMARY KEY) CREATE TABLE part (b int REFERENCES tenant_b.item) CREATE VIEW both_of AS SELECT * FROM item, part;
CREATE TABLE tenant_a.person (id serial PRIMARY KEY, country int REFERENCES public.tenant_country, name text);
CREATE TABLE tenant_a.purchase (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, person int REFERENCES tenant_a.person, at date);
INSERT INTO tenant_a.person (country, name) SELECT 1 + i % 2, 'name ' || i FROM generate_series(1, 10) i;
INSERT INTO tenant_a.purchase (person, at) SELECT 1 + i % 10, date '2024-01-01' + i FROM generate_series(1, 20) i;
INSERT INTO tenant_a.purchase (person) VALUES (99);
INSERT INTO tenant_a.person (country) VALUES (99);
CREATE TABLE tenant_a.summary AS SELECT person, count(*) FROM tenant_a.purchase GROUP BY 1;
SELECT person, at INTO tenant_a.late FROM tenant_a.purchase WHERE at > '2024-01-15';
CREATE TABLE tenant_a.event (at date, v int) PARTITION BY RANGE (at);
CREATE TABLE tenant_a.event_2024 PARTITION OF tenant_a.event FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
INSERT INTO tenant_a.event VALUES ('2024-03-03', 1);
CREATE TEMP TABLE own (a int);
CREATE UNLOGGED TABLE tenant_a.staging (LIKE tenant_a.person INCLUDING CONSTRAINTS);
SELECT * FROM public.tenant_tables;
SELECT schema_name, schema_owner = current_user AS owned FROM public.citus_schemas ORDER BY 1;
-- All that a tenant asks is one task; tenants and others can be joined.
SET search_path = tenant_a;
DO $$
DECLARE
	line text;
BEGIN
	FOR line IN EXPLAIN (COSTS OFF) SELECT c.name, count(*) FROM person p JOIN purchase u ON u.person = p.id JOIN public.tenant_country c ON c.id = p.country GROUP BY 1 LOOP
		IF line ~ 'Task Count|^ *->  (HashAggregate|Hash Join)' THEN RAISE NOTICE '%', line; END IF;
	END LOOP;
END $$;
SELECT c.name, count(*) FROM person p JOIN purchase u ON u.person = p.id JOIN public.tenant_country c ON c.id = p.country GROUP BY 1 ORDER BY 1;
INSERT INTO tenant_b.item SELECT id FROM person;
SELECT count(*) FROM person JOIN tenant_b.item ON a = id;
RESET search_path;

-- From a worker.
\c - - - :worker
SET citus.enable_schema_based_sharding TO on;
CREATE SCHEMA tenant_w;
CREATE TABLE tenant_w.a (i int PRIMARY KEY, t text);
INSERT INTO tenant_w.a VALUES (1, 'x'), (2, 'y');
CREATE TABLE tenant_w.b AS TABLE tenant_w.a;
CREATE TABLE tenant_b.more (a int REFERENCES tenant_b.item);
SELECT * FROM public.tenant_tables WHERE schema <> 'tenant_a';
\c - - - :coordinator
SELECT * FROM public.tenant_tables WHERE schema <> 'tenant_a';
SELECT count(*) FROM tenant_w.b;
SET citus.next_shard_id = 3100100;

-- Without the setting a schema is like others, until it is distributed.
CREATE SCHEMA tenant_c;
CREATE TABLE tenant_c.parent (id int PRIMARY KEY, name text);
CREATE TABLE tenant_c.child (id int REFERENCES tenant_c.parent, other int REFERENCES public.tenant_country);
CREATE TABLE tenant_c.log (at date) PARTITION BY RANGE (at);
CREATE TABLE tenant_c.log_rest PARTITION OF tenant_c.log DEFAULT;
INSERT INTO tenant_c.parent SELECT i FROM generate_series(1, 5) i;
INSERT INTO tenant_c.child SELECT i, 1 FROM generate_series(1, 5) i;
CREATE TABLE tenant_c.log_of (at date, c int REFERENCES public.tenant_country) PARTITION BY RANGE (at);
INSERT INTO tenant_c.log VALUES ('2024-05-05');
SELECT * FROM public.tenant_tables WHERE schema = 'tenant_c';
SELECT citus_schema_distribute('tenant_c');
SELECT citus_schema_distribute('tenant_c');
SELECT * FROM public.tenant_tables WHERE schema = 'tenant_c';
SELECT (SELECT count(*) FROM tenant_c.parent), (SELECT count(*) FROM tenant_c.child), (SELECT count(*) FROM tenant_c.log);
-- And back: what refers to a reference table goes on doing so.
SELECT citus_schema_undistribute('tenant_c');
SELECT * FROM public.tenant_tables WHERE schema = 'tenant_c';
SELECT (SELECT count(*) FROM tenant_c.parent), (SELECT count(*) FROM tenant_c.child), (SELECT count(*) FROM tenant_c.log);
INSERT INTO tenant_c.child VALUES (1, 99);
DELETE FROM public.tenant_country WHERE id = 1;
SELECT citus_schema_undistribute('tenant_c');

-- Tables that come and go.
CREATE TABLE public.tenant_guest (a int, b text);
INSERT INTO public.tenant_guest VALUES (1, 'one');
ALTER TABLE public.tenant_guest SET SCHEMA tenant_a;
ALTER TABLE tenant_a.tenant_guest SET SCHEMA tenant_b;
SELECT * FROM public.tenant_tables WHERE schema IN ('tenant_a', 'tenant_b');
SELECT * FROM tenant_b.tenant_guest;
ALTER TABLE tenant_b.tenant_guest SET SCHEMA public;
SELECT * FROM public.tenant_guest;
SELECT * FROM public.tenant_tables WHERE schema = 'tenant_b';
ALTER TABLE tenant_a.person SET SCHEMA public;
ALTER TABLE tenant_a.event SET SCHEMA public;
ALTER TABLE tenant_a.event_2024 SET SCHEMA public;
SELECT create_distributed_table('public.tenant_guest', 'a');
ALTER TABLE public.tenant_guest SET SCHEMA tenant_a;
ALTER TABLE public.tenant_nothing SET SCHEMA tenant_a;
ALTER TABLE IF EXISTS public.tenant_nothing SET SCHEMA tenant_a;
CREATE TABLE public.event_2025 (at date, v int);
ALTER TABLE tenant_a.event ATTACH PARTITION public.event_2025 FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
CREATE TABLE public.event_2026 PARTITION OF tenant_a.event FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
ALTER TABLE public.event_2025 SET SCHEMA tenant_a;
ALTER TABLE tenant_a.event ATTACH PARTITION tenant_a.event_2025 FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
ALTER TABLE tenant_a.event DETACH PARTITION tenant_a.event_2025;
ALTER TABLE tenant_a.event_2025 SET SCHEMA public;
DROP TABLE public.event_2025;

-- What a table of such a schema can't be.
SELECT undistribute_table('tenant_a.late');
SELECT create_reference_table('tenant_a.late');
SELECT create_distributed_table('tenant_a.late', 'person');
SELECT alter_distributed_table('tenant_a.late', shard_count => 4);
CREATE TABLE public.tenant_other (a int);
SELECT create_distributed_table('public.tenant_other', NULL, colocate_with => 'tenant_a.late');
ALTER TABLE tenant_a.late ADD FOREIGN KEY (person) REFERENCES tenant_b.item;
SELECT citus_schema_distribute('public');
SELECT citus_schema_distribute('pg_catalog');
SELECT citus_schema_distribute('pando');
SELECT citus_schema_distribute(0);
SELECT citus_schema_distribute('tenant_nowhere');
SELECT create_distributed_table('tenant_c.parent', 'id');
SELECT undistribute_table('tenant_c.child');
SELECT create_distributed_table('tenant_c.log', 'at');
SELECT citus_schema_distribute('tenant_c');
SELECT * FROM public.citus_schemas WHERE schema_name = 'tenant_c'::regnamespace;

-- A schema moves whole.
SELECT min(nodeid) AS target FROM pg_dist_node WHERE nodeid <> (SELECT nodeid FROM pando.schema_place('tenant_a')) \gset
SELECT citus_schema_move('tenant_a', :target);
SELECT nodeid = :target AS there FROM pando.schema_place('tenant_a');
SELECT * FROM public.tenant_tables WHERE schema = 'tenant_a';
SELECT nodename AS host, nodeport AS port FROM pg_dist_node WHERE nodeid = (SELECT max(nodeid) FROM pg_dist_node WHERE nodeid <> :target) \gset
SELECT citus_schema_move('tenant_a', :'host', :port, 'block_writes');
SELECT count(*) FROM tenant_a.purchase;
SELECT citus_schema_move('tenant_c', :target);
CREATE SCHEMA tenant_e;
SELECT citus_schema_distribute('tenant_e');
SELECT citus_schema_move('tenant_e', :target);

-- Roles: a schema is its owner's to distribute, and a table its owner's.
CREATE ROLE tenant_owner;
CREATE ROLE tenant_guest;
GRANT CREATE ON DATABASE regression TO tenant_owner;
SET ROLE tenant_owner;
SELECT citus_schema_undistribute('tenant_a');
SELECT citus_schema_distribute('tenant_c');
SELECT citus_schema_move('tenant_a', :target);
SELECT pando.schema_register('tenant_a', 1);
SELECT pando.schema_unregister('tenant_a');
SET citus.enable_schema_based_sharding TO on;
CREATE SCHEMA tenant_own;
CREATE TABLE tenant_own.t (a int);
INSERT INTO tenant_own.t VALUES (1);
GRANT ALL ON SCHEMA tenant_own TO tenant_guest;
SET ROLE tenant_guest;
CREATE TABLE tenant_own.theirs (a int);
SELECT count(*) FROM tenant_own.t;
SELECT citus_schema_undistribute('tenant_own');
SET ROLE tenant_owner;
SELECT citus_schema_undistribute('tenant_own');
SELECT citus_schema_move('tenant_own', :target);
RESET ROLE;
SELECT * FROM public.tenant_tables WHERE schema = 'tenant_own';
RESET citus.enable_schema_based_sharding;

-- Names follow on all nodes, and nothing stays of what is dropped.
ALTER SCHEMA tenant_w RENAME TO "tenant W";
SELECT * FROM run_command_on_all_nodes($$SELECT string_agg(name, ', ' ORDER BY name) FROM pando.distributed_schema
	WHERE colocation IN (SELECT colocationid FROM pg_dist_schema JOIN pg_namespace n ON n.oid = schemaid AND nspname = name)$$);
CREATE TABLE "tenant W".c (a int);
BEGIN;
DROP SCHEMA tenant_b CASCADE;
ROLLBACK;
SELECT count(*) FROM tenant_b.item;
SET client_min_messages TO warning;
SELECT string_agg(colocationid::text, ', ') AS groups FROM pg_dist_schema \gset
DROP SCHEMA tenant_a, tenant_b, tenant_c, tenant_e, tenant_own, "tenant W" CASCADE;
SELECT format('SELECT count(*) FROM pg_dist_colocation WHERE colocationid IN (%s)', :'groups') AS groups_left \gset
SELECT * FROM run_command_on_all_nodes(:'groups_left');
SELECT * FROM run_command_on_all_nodes($$SELECT concat_ws(' ', (SELECT count(*) FROM pando.distributed_schema), (SELECT count(*) FROM pg_dist_schema),
	(SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'tenant%'))$$);
DROP VIEW public.tenant_tables;
DROP TABLE public.tenant_country, public.tenant_guest, public.tenant_other;
REVOKE CREATE ON DATABASE regression FROM tenant_owner;
DROP ROLE tenant_owner, tenant_guest;
RESET client_min_messages;
