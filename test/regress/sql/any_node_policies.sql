-- Policies decide the same when the statement comes from a worker, which has some of the shards itself.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
\setenv PGDATABASE :DBNAME
\setenv PGPORT :worker
\! sh "$PG_ABS_SRCDIR/twice.sh" row_security
\! sh "$PG_ABS_SRCDIR/twice.sh" forced_policies
\! sh "$PG_ABS_SRCDIR/twice.sh" blind_policies
\! sh "$PG_ABS_SRCDIR/twice.sh" policies_and_triggers

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
\! sh "$PG_ABS_SRCDIR/twice.sh" merge_policies
\! sh "$PG_ABS_SRCDIR/twice.sh" merge_policies force
DROP SCHEMA twice CASCADE;
