-- Policies decide the same when the statement comes from a worker, which has some of the shards itself.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
\setenv PGPORT :worker
\getenv sources PG_ABS_SRCDIR
\set script :sources '/sql/row_security.sql'
\i :script

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
