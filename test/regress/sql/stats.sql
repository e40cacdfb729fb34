-- Distributed statements and tenants are counted when that is switched on, each where it runs; what others did is seen by members of
-- pg_read_all_stats alone.
CREATE SCHEMA stats;
SET search_path TO stats;
SET citus.next_shard_id TO 1730000;
SET citus.shard_replication_factor TO 1;
CREATE TABLE orders (tenant text, id int, amount int, PRIMARY KEY (tenant, id));
SELECT create_distributed_table('orders', 'tenant', colocate_with := 'none', shard_count := 4);
CREATE TABLE rate (name text PRIMARY KEY, value int);
SELECT create_reference_table('rate');
CREATE TABLE plain (a int);
CREATE ROLE stats_user LOGIN;
GRANT USAGE ON SCHEMA stats TO stats_user;
GRANT ALL ON orders TO stats_user;
CREATE VIEW counted AS SELECT CASE WHEN pg_get_userbyid(userid) = 'stats_user' THEN 'user' ELSE 'other' END AS who,
	executor, partition_key, count(*) AS statements, sum(calls) AS calls FROM pando.statement_counts() GROUP BY 1, 2, 3;
GRANT SELECT ON counted TO stats_user;

-- Statements.
SELECT * FROM citus_stat_statements;
SELECT citus_stat_statements_reset();
SET compute_query_id TO on;
INSERT INTO orders VALUES ('acme', 0, 0);
SELECT * FROM counted;
SET citus.stat_statements_track TO 'all';
INSERT INTO orders VALUES ('acme', 1, 10);
INSERT INTO orders VALUES ('acme', 2, 20);
INSERT INTO orders VALUES ('other', 1, 30), ('third', 1, 40);
SELECT sum(amount) FROM orders WHERE tenant = 'acme';
SELECT sum(amount) FROM orders WHERE tenant = 'acme';
SELECT sum(amount * coalesce(value, 1)) FROM orders LEFT JOIN rate ON name = 'fee' WHERE tenant = 'other';
UPDATE orders SET amount = 1 WHERE tenant = 'third';
SELECT count(*) FROM orders;
INSERT INTO orders SELECT 'made', i, 0 FROM generate_series(1, 3) i;
PREPARE of_tenant AS SELECT count(*) FROM orders WHERE tenant = $1;
EXECUTE of_tenant('acme');
EXECUTE of_tenant('it''s "long" ' || repeat('x', 200));
INSERT INTO plain VALUES (1);
SELECT count(*) FROM rate;
SET ROLE stats_user;
DELETE FROM orders WHERE tenant = 'other';
SELECT * FROM counted ORDER BY 1, 2, 3;
SELECT citus_stat_statements_reset();
RESET ROLE;
SELECT * FROM counted ORDER BY 1, 2, 3;
SELECT citus_stat_statements_reset();
SELECT * FROM counted;

-- Tenants. Those of all nodes.
SELECT bool_and(success) FROM run_command_on_all_nodes('ALTER SYSTEM SET citus.stat_tenants_track TO ''all''');
SELECT bool_and(success) FROM run_command_on_all_nodes('SELECT pg_reload_conf()');
DO $$ BEGIN
	WHILE EXISTS (SELECT FROM run_command_on_all_nodes('SHOW citus.stat_tenants_track') WHERE result <> 'all') LOOP END LOOP;
END $$;
\c
SET search_path TO stats;
SELECT citus_stat_tenants_reset();
CREATE VIEW tenants AS SELECT tenant_attribute, read_count_in_this_period + read_count_in_last_period AS reads,
	query_count_in_this_period + query_count_in_last_period AS statements,
	cpu_usage_in_this_period + cpu_usage_in_last_period BETWEEN 0 AND 60 AS has_time
	FROM citus_stat_tenants JOIN pg_dist_partition ON colocation_id = colocationid
	WHERE logicalrelid IN (SELECT oid FROM pg_class WHERE relname IN ('orders', 'invoice'));
GRANT SELECT ON tenants TO stats_user;
INSERT INTO orders VALUES ('acme', 5, 10);
INSERT INTO orders VALUES ('other', 5, 10);
SELECT sum(amount) FROM orders WHERE tenant = 'acme';
SELECT count(*) FROM orders a JOIN orders b USING (tenant) WHERE a.tenant = 'acme';
UPDATE orders SET amount = 1 WHERE tenant = 'acme' AND id = 5;
DELETE FROM orders WHERE tenant = 'nobody';
PREPARE of_tenant AS SELECT count(*) FROM orders WHERE tenant = $1;
EXECUTE of_tenant('third');
EXECUTE of_tenant('acme');
SELECT count(*) FROM orders;
SELECT count(*) FROM orders WHERE tenant IN ('acme', 'other');
SELECT count(*) FROM rate;
SET citus.enable_schema_based_sharding TO on;
CREATE SCHEMA stats_tenant;
CREATE TABLE stats_tenant.invoice (id int);
INSERT INTO stats_tenant.invoice VALUES (1), (2);
SELECT count(*) FROM stats_tenant.invoice;
SELECT * FROM tenants ORDER BY 1;
SELECT count(DISTINCT nodeid) > 0 AS nodes, count(score) = count(*) AS scores FROM citus_stat_tenants(true);
SET ROLE stats_user;
SELECT count(*) FROM tenants;
SELECT count(*) FROM citus_stat_tenants_local(true);
SELECT citus_stat_tenants_reset();
SELECT citus_stat_tenants_local_reset();
RESET ROLE;
GRANT pg_read_all_stats TO stats_user;
SET ROLE stats_user;
SELECT count(*) FROM tenants;
RESET ROLE;
SELECT citus_stat_tenants_reset();
SELECT count(*) FROM tenants;
SELECT bool_and(success) FROM run_command_on_all_nodes('ALTER SYSTEM RESET citus.stat_tenants_track');
SELECT bool_and(success) FROM run_command_on_all_nodes('SELECT pg_reload_conf()');
SET client_min_messages TO warning;
DROP SCHEMA stats, stats_tenant CASCADE;
DROP ROLE stats_user;
