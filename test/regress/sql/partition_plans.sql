-- Of a table with many partitions a node makes plans for the values at hand where they choose partitions, and
-- none for all values; otherwise its plan cache decides, as PostgreSQL's does. The rows are the same.
CREATE SCHEMA partition_plans;
SET search_path = partition_plans;
SET citus.next_shard_id = 1170000;
SET citus.shard_count = 4;
CREATE TABLE many (k int, t int, v int) PARTITION BY RANGE (t);
CREATE TABLE others (k int, t int, v int) PARTITION BY LIST ((t + 1));
SELECT create_distributed_table(name, 'k') FROM unnest('{many,others}'::regclass[]) name;
SELECT format('CREATE TABLE many_%s PARTITION OF many FOR VALUES FROM (%1$s) TO (%s)', t, t + 1) FROM generate_series(0, 32) t \gexec
SELECT format('CREATE TABLE others_%s PARTITION OF others FOR VALUES IN (%s)', t, t + 1) FROM generate_series(0, 32) t \gexec
INSERT INTO many SELECT k, t, 100 * k + t FROM generate_series(1, 4) k, generate_series(0, 32) t;
INSERT INTO others TABLE many;

-- What the session that has the rows of a key keeps: plans for all values.
CREATE FUNCTION node_plans(key int, of text) RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'CachedPlan' AND ident ~ of $$;
SELECT create_distributed_function('node_plans(int, text)', 'key', 'many');

BEGIN;
PREPARE chosen (int, int) AS SELECT v AS chosen FROM many WHERE k = $1 AND t = $2;
SELECT format('EXECUTE chosen (1, %s)', t) FROM generate_series(1, 7) t \gexec
SELECT node_plans(1, 'AS chosen');
PREPARE expression (int, int) AS SELECT v AS expression FROM others WHERE k = $1 AND t + 1 = $2;
SELECT format('EXECUTE expression (1, %s)', t) FROM generate_series(1, 7) t \gexec
SELECT node_plans(1, 'AS expression');
PREPARE today (int) AS SELECT v AS today FROM many WHERE k = $1 AND t = (extract(year FROM now()) * 0)::int + 3;
SELECT 'EXECUTE today (1)' FROM generate_series(1, 7) \gexec
SELECT node_plans(1, 'AS today');
PREPARE below (int, int) AS SELECT sum(v) AS below FROM (SELECT * FROM many WHERE t BETWEEN 3 AND $2 UNION ALL SELECT * FROM others) u WHERE k = $1;
SELECT format('EXECUTE below (1, %s)', t) FROM generate_series(1, 7) t \gexec
SELECT node_plans(1, 'AS below');
COMMIT;
BEGIN;
PREPARE changed (int, int) AS UPDATE many SET v = v + 1 WHERE k = $1 AND t = ANY (ARRAY[$2, 7]) RETURNING v AS changed;
SELECT format('EXECUTE changed (1, %s)', t) FROM generate_series(1, 7) t \gexec
SELECT node_plans(1, 'RETURNING');
ROLLBACK;
-- All partitions, whatever the values are.
BEGIN;
PREPARE all_of (int) AS SELECT sum(v) AS all_of FROM many WHERE k = $1;
SELECT 'EXECUTE all_of (1)' FROM generate_series(1, 7) \gexec
SELECT node_plans(1, 'AS all_of');
COMMIT;
-- What the client asks for is done.
BEGIN;
SET LOCAL plan_cache_mode = force_generic_plan;
PREPARE forced (int, int) AS SELECT v AS forced FROM many WHERE k = $1 AND t = $2;
SELECT format('EXECUTE forced (1, %s)', t) FROM generate_series(1, 7) t \gexec
SELECT node_plans(1, 'AS forced');
COMMIT;
SELECT pando.plan_with_values('no such');

SET client_min_messages = warning;
DROP SCHEMA partition_plans CASCADE;
