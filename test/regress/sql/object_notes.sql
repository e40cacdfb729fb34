-- Comments on all kinds of objects, privileges on what every server has by itself, and REASSIGN and DROP OWNED of all that a role
-- may have reach all nodes, whichever node they are said on.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
\setenv PGDATABASE :DBNAME
\setenv WORKER :worker
\! sh "$PG_ABS_SRCDIR/any_node.sh" object_notes
