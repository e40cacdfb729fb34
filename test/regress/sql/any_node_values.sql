-- Values of sequences are given on whichever node a row is inserted, and none twice.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
SELECT nodeport AS other FROM pg_dist_node WHERE groupid = 2 \gset
\set here :PORT
\setenv PGDATABASE :DBNAME
\setenv WORKER :worker
\! sh "$PG_ABS_SRCDIR/any_node.sh" any_node_values

-- Ranges of the nodes: a table that goes and comes back begins past what each has given.
SET client_min_messages = warning;
CREATE TABLE ranged (id bigserial PRIMARY KEY, b bigint GENERATED ALWAYS AS IDENTITY, v int);
SELECT create_distributed_table('ranged', 'id', shard_count := 4);
INSERT INTO ranged (v) SELECT generate_series(1, 3);
\c - - - :worker
INSERT INTO ranged (v) SELECT generate_series(1, 5);
\c - - - :other
INSERT INTO ranged (v) VALUES (1);
\c - - - :here
SELECT undistribute_table('ranged');
INSERT INTO ranged (v) VALUES (1);
\set VERBOSITY terse
SELECT create_distributed_table('ranged', 'id', shard_count := 4);
INSERT INTO ranged (v) SELECT generate_series(1, 5);
\c - - - :worker
INSERT INTO ranged (v) SELECT generate_series(1, 5);
SELECT undistribute_table('ranged');
INSERT INTO ranged (v) VALUES (1);
SELECT create_distributed_table('ranged', 'id', shard_count := 4);
INSERT INTO ranged (v) VALUES (1);
\c - - - :other
INSERT INTO ranged (v) SELECT generate_series(1, 5);
\c - - - :here
INSERT INTO ranged (v) SELECT generate_series(1, 5);
SELECT count(*), count(DISTINCT id), count(DISTINCT b) FROM ranged;
SELECT id >> 48 AS node, count(*) FROM ranged GROUP BY 1 ORDER BY 1;
DROP TABLE ranged;
