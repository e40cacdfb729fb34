-- Schema changes begin on any node: a script that is run through the coordinator and through a worker prints the same,
-- and leaves the same on all nodes.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
\setenv PGDATABASE :DBNAME
\setenv WORKER :worker
\! sh "$PG_ABS_SRCDIR/any_node.sh"
