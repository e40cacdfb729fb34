-- Views and materialized views are on all nodes, whichever node they are made, changed and dropped on; those that need
-- what is on one node only stay there.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
\setenv PGDATABASE :DBNAME
\setenv WORKER :worker
\! sh "$PG_ABS_SRCDIR/any_node.sh" any_node_views
