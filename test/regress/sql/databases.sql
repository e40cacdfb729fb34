-- Databases: one that is created with citus.enable_create_database_propagation is on all nodes, and changes, moves and goes there,
-- whichever node that is said on; so is what is said of the session's own.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
SELECT max(nodeport) AS other FROM pg_dist_node WHERE groupid > 1 \gset
\setenv PGDATABASE :DBNAME
\setenv WORKER :worker
\setenv OTHER :other
\! sh "$PG_ABS_SRCDIR/any_node.sh" databases
