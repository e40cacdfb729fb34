-- Rights on single columns are for distributed tables what they are for plain ones.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" column_rights

-- On a node, by himself, a user may name no more columns of a shard than he may of the table.
SELECT nodeport AS worker, current_user AS me FROM pg_dist_node WHERE groupid = 1 \gset
\set here :PORT
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS twice CASCADE;
CREATE TABLE col_t (k int PRIMARY KEY, v int, w int DEFAULT 5);
SELECT create_distributed_table('col_t', 'k', shard_count := 2);
CREATE ROLE col_writer LOGIN;
GRANT INSERT (k, v), SELECT ON col_t TO col_writer;
SELECT shardid FROM citus_shards WHERE table_name = 'col_t'::regclass AND nodeport = :worker LIMIT 1 \gset
\c - col_writer - :worker
SET citus.override_table_visibility = off;
\set VERBOSITY terse
\set shard col_t_ :shardid
SELECT set_config('col.shard', :'shard', false) IS NOT NULL AS set;
DO $$ BEGIN EXECUTE format('INSERT INTO %s (k, v) VALUES (-1, 1)', current_setting('col.shard')); END $$;
CREATE FUNCTION pg_temp.try(mark text, into_columns text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('%s INSERT INTO %s (%s) VALUES (-2, 1)', mark, current_setting('col.shard'), into_columns);
	RETURN 'inserted';
EXCEPTION WHEN OTHERS THEN
	RETURN regexp_replace(SQLERRM, '_\d+', '');
END $$;
SELECT pg_temp.try('', 'k, w');
SELECT pg_temp.try('/*pando_access 99999999999 0000000000000000000000000000000000000000000000000000000000000000 636f6c5f777269746572*/', 'k, w');
SELECT pg_temp.try('/*pando_access */', 'k, w');
-- As the statement itself, not a function's.
/*pando_access 99999999999 0000000000000000000000000000000000000000000000000000000000000000 636f6c5f777269746572*/ INSERT INTO col_t (k, w) VALUES (-3, 1);
COPY col_t (k, w) FROM stdin WITH (pando_rows);
\.
/*pando_access 99999999999 0000000000000000000000000000000000000000000000000000000000000000 order*/ COPY col_t (k, w) FROM stdin WITH (pando_rows);
\.
\c - :me - :here
SELECT * FROM col_t;
SET client_min_messages = warning;
DROP TABLE col_t;
DROP ROLE col_writer;
