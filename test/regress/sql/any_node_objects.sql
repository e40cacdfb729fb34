-- Operators, casts, text search, languages, foreign data, publications, default privileges and the rest are on all nodes,
-- whichever node they are made, changed and dropped on, and defined alike.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
\setenv PGDATABASE :DBNAME
\setenv WORKER :worker
\! sh "$PG_ABS_SRCDIR/any_node.sh" any_node_objects
