-- Functions that move shards, change nodes and run jobs are called on any node, with the same effects.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
\setenv PGDATABASE :DBNAME
\setenv WORKER :worker
\! sh "$PG_ABS_SRCDIR/any_node.sh" any_node_moves
DELETE FROM pg_dist_rebalance_strategy WHERE name ~ '^any_node';
