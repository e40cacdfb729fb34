-- Local tables that all nodes can use are the coordinator's, whichever node they are made, changed and dropped on.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
\setenv PGDATABASE :DBNAME
\setenv WORKER :worker
\! sh "$PG_ABS_SRCDIR/any_node.sh" any_node_local
