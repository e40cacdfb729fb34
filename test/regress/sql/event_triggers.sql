-- Event triggers are on all nodes, whichever node they are made, changed and dropped on. They fire once, on the node where the
-- client is, and not for what the cluster does for his statement.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
\setenv PGDATABASE :DBNAME
\setenv WORKER :worker
\! sh "$PG_ABS_SRCDIR/any_node.sh" event_triggers
