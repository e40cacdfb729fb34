-- Indexes of all kinds on distributed and reference tables: the same index is on every node's shell and
-- on every shard, is used there, and goes away everywhere; CONCURRENTLY too, also when it fails.
\t on
SET citus.shard_count = 4;
SET client_min_messages = warning;
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true) FROM pg_dist_node WHERE groupid = 0;
CREATE SCHEMA ddl_index;
SET search_path = ddl_index, public;
CREATE TABLE t (k int, n int, note text, tags int[], span int4range, doc jsonb, made timestamptz, "Odd name" text);
SELECT create_distributed_table('t', 'k');
CREATE TABLE r (id int, note text);
SELECT create_reference_table('r');
INSERT INTO t SELECT i, i % 5, 'note ' || i, ARRAY[i, i + 1], int4range(i, i + 5), jsonb_build_object('a', i), '2020-01-01', NULL FROM generate_series(1, 100) i;
INSERT INTO r SELECT i, 'r' || i FROM generate_series(1, 10) i;

-- Kinds.
SELECT ddl('CREATE INDEX plain ON t (n)');
SELECT ddl('CREATE INDEX hashed ON t USING hash (note)');
SELECT ddl('CREATE INDEX gin_tags ON t USING gin (tags)');
SELECT ddl('CREATE INDEX gin_doc ON t USING gin (doc jsonb_path_ops) WITH (fastupdate = off)');
SELECT ddl('CREATE INDEX gist_span ON t USING gist (span)');
SELECT ddl('CREATE INDEX spgist_note ON t USING spgist (note)');
SELECT ddl('CREATE INDEX brin_made ON t USING brin (made) WITH (pages_per_range = 16)');
SELECT ddl('CREATE INDEX partial ON t (note) WHERE t.n > 2 AND note IS NOT NULL');
SELECT ddl('CREATE INDEX expressions ON t (lower(note), (n + t.k), date_trunc(''day'', made AT TIME ZONE ''UTC''))');
SELECT ddl('CREATE INDEX including ON t (k) INCLUDE (n, note)');
SELECT ddl('CREATE INDEX classes ON t (note text_pattern_ops DESC NULLS LAST, n ASC NULLS FIRST)');
SELECT ddl('CREATE INDEX collated ON t (note COLLATE "C", "Odd name")');
SELECT ddl('CREATE INDEX filled ON t (n) WITH (fillfactor = 50, deduplicate_items = off)');
SELECT ddl('CREATE UNIQUE INDEX with_key ON t (note, k)');
SELECT ddl('CREATE UNIQUE INDEX no_nulls ON t (k, "Odd name") NULLS NOT DISTINCT');
SELECT ddl('CREATE INDEX "Odd Index ""name""" ON t ("Odd name")');
SELECT ddl('CREATE INDEX ON ONLY t (made)');
SELECT ddl('CREATE UNIQUE INDEX ON r (note)');
SELECT ddl('CREATE INDEX ON r USING hash (id)');
-- PostgreSQL's own names.
SELECT ddl('CREATE INDEX ON t (n)');
SELECT ddl('CREATE INDEX ON t (n)');
SELECT ddl('CREATE INDEX ON t (lower(note), note)');
SELECT ddl('CREATE INDEX ON t (("Odd name" || ''x''))');
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 't'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";

-- Refused, without a trace.
SELECT ddl('CREATE UNIQUE INDEX ON t (n)');
SELECT ddl('CREATE UNIQUE INDEX ON t ((k + 1))');
SELECT ddl('CREATE UNIQUE INDEX twice ON t (k, n); CREATE UNIQUE INDEX twice ON t (k, n)');
SELECT ddl('CREATE INDEX plain ON t (note)');
SELECT ddl('CREATE INDEX ON t (nowhere)');
SELECT ddl('CREATE INDEX ON t (now())');
SELECT ddl('CREATE UNIQUE INDEX ON r ((1))');
DROP INDEX no_nulls;
INSERT INTO t (k, n) VALUES (1000, 1), (1000, 1);
SELECT ddl('CREATE UNIQUE INDEX duplicates ON t (k, n)');
DELETE FROM t WHERE k = 1000 AND n = 1;
SELECT ddl('CREATE INDEX IF NOT EXISTS plain ON t (note)');
SELECT ddl('CREATE INDEX IF NOT EXISTS new_one ON t (note)');
-- What has the name need not be the table's index.
CREATE TABLE named (i int);
SELECT ddl('CREATE INDEX IF NOT EXISTS plain ON r (note)');
SELECT ddl('CREATE INDEX IF NOT EXISTS named ON r (note)');
CREATE INDEX CONCURRENTLY IF NOT EXISTS plain ON r (note);
CREATE INDEX CONCURRENTLY IF NOT EXISTS named ON r (note);
SELECT * FROM ddl_check();
SELECT result FROM run_command_on_placements('r', $$SELECT count(*) FROM pg_index WHERE indrelid = '%s'::regclass$$);

-- They are used on the shards.
SET enable_seqscan = off;
SELECT ddl_plan('SELECT count(*) FROM t WHERE tags @> ARRAY[5]');
SELECT ddl_plan('SELECT * FROM t WHERE k = 7 AND note = ''note 7''');
SELECT count(*) FROM t WHERE tags @> ARRAY[5];
SELECT k FROM t WHERE lower(note) = 'note 9' AND n > 2;
RESET enable_seqscan;

-- CONCURRENTLY.
CREATE INDEX CONCURRENTLY slowly ON t (n, note);
CREATE INDEX CONCURRENTLY ON t (n, note, made);
CREATE INDEX CONCURRENTLY IF NOT EXISTS slowly ON t (n, note);
CREATE INDEX CONCURRENTLY slowly_r ON r (note);
SELECT * FROM ddl_check();
BEGIN;
CREATE INDEX CONCURRENTLY in_block ON t (n);
ROLLBACK;
SELECT * FROM ddl_check();
INSERT INTO t (k, n) VALUES (1000, 1), (1000, 1);
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX CONCURRENTLY fails ON t (k, n);
\set VERBOSITY default
DELETE FROM t WHERE k = 1000;
DROP INDEX CONCURRENTLY IF EXISTS fails;
SELECT * FROM ddl_check();
CREATE UNIQUE INDEX CONCURRENTLY fails ON t (k, n);
SELECT * FROM ddl_check();
REINDEX INDEX CONCURRENTLY fails;
REINDEX TABLE CONCURRENTLY t;
SELECT * FROM ddl_check();
DROP INDEX CONCURRENTLY fails;
DROP INDEX CONCURRENTLY slowly;
DROP INDEX CONCURRENTLY slowly_r;
DROP INDEX CONCURRENTLY IF EXISTS nowhere;
DROP INDEX CONCURRENTLY nowhere;
SELECT * FROM ddl_check();

-- REINDEX, ALTER INDEX, COMMENT.
SELECT ddl('REINDEX INDEX plain');
SELECT ddl('REINDEX TABLE t');
SELECT ddl('REINDEX (TABLESPACE pg_default) TABLE r');
REINDEX SCHEMA ddl_index;
SELECT ddl('ALTER INDEX plain RENAME TO "Plainer"');
SELECT ddl('ALTER TABLE "Plainer" RENAME TO plain');
SELECT ddl('ALTER INDEX plain SET (fillfactor = 70)');
SELECT ddl('ALTER INDEX plain RESET (fillfactor)');
SELECT ddl('ALTER INDEX expressions ALTER COLUMN 2 SET STATISTICS 200');
SELECT ddl('ALTER INDEX plain SET TABLESPACE pg_default');
SELECT ddl('ALTER INDEX plain RENAME TO including');
SELECT ddl('ALTER INDEX IF EXISTS nowhere RENAME TO somewhere');
SELECT ddl('COMMENT ON INDEX plain IS ''for n''');
SELECT DISTINCT success, result FROM run_command_on_all_nodes($$SELECT obj_description('ddl_index.plain'::regclass)$$);

-- DROP.
SELECT ddl('DROP INDEX plain, hashed, "Odd Index ""name"""');
SELECT ddl('DROP INDEX plain');
SELECT ddl('DROP INDEX IF EXISTS plain, gin_doc');
SELECT ddl('DROP INDEX gin_tags, nowhere');
BEGIN;
DROP INDEX gin_tags;
CREATE INDEX gin_tags ON t (n);
ROLLBACK;
SELECT * FROM ddl_check();
ALTER TABLE t ADD UNIQUE (k);
SELECT ddl('DROP INDEX t_k_key');
SELECT ddl('ALTER TABLE t DROP COLUMN n');
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 't'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";
SELECT count(*) FROM t;

SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false) FROM pg_dist_node WHERE groupid = 0;
DROP SCHEMA ddl_index CASCADE;
SELECT DISTINCT success, result FROM run_command_on_all_nodes('SELECT public.ddl_leftovers()');
