-- Rows whose distribution column is NULL are in one shard group, and every statement treats
-- them as on plain tables.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" nullable_key

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;

-- One shard has them, and IS NULL reads that one alone.
CREATE SCHEMA nullable_key;
SET search_path = nullable_key;
SET citus.shard_count = 6;
SET citus.next_shard_id = 1481000;
CREATE TABLE n (k int, v int);
INSERT INTO n SELECT NULLIF(i % 7, 3), i FROM generate_series(1, 70) i;
SELECT create_distributed_table('n', 'k');
SELECT get_shard_id_for_distribution_column('n', NULL) AS shard, (SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'n'::regclass
	AND 0 BETWEEN shardminvalue::int AND shardmaxvalue::int) AS has_zero;
SELECT shardid, result FROM run_command_on_shards('n', 'SELECT count(*) FROM %s WHERE k IS NULL') WHERE result <> '0';
SELECT statement, query_distribution FROM unnest(ARRAY['k IS NULL', 'k IS NULL OR k = 5', 'k IS NOT DISTINCT FROM 5', '5 IS NOT DISTINCT FROM k',
	'k IS NOT DISTINCT FROM NULL', 'k IS NOT NULL', 'k IS DISTINCT FROM 5', 'k NOT IN (SELECT k FROM n)', 'k IS NOT NULL AND k NOT IN (SELECT k FROM n WHERE k IS NOT NULL)'])
	WITH ORDINALITY c(condition, number), LATERAL (SELECT 'SELECT v FROM n WHERE ' || condition AS statement) s, pando.query_distribution(statement) ORDER BY number;
-- They follow the table.
SELECT alter_distributed_table('n', shard_count => 3, cascade_to_colocated => false);
SELECT count(*), count(k), sum(v) FROM n;
SELECT count(*) FROM n WHERE k IS NULL;
SELECT undistribute_table('n');
SELECT count(*), count(k), sum(v) FROM n;
SELECT create_distributed_table('n', 'k');
SELECT count(*) FROM n WHERE k IS NULL;
DROP SCHEMA nullable_key CASCADE;
