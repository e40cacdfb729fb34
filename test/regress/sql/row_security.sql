-- Policies decide on distributed, single-shard and reference tables which rows a role reads,
-- changes and adds, as on plain ones, through settings that differ from statement to statement.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" row_security
\! sh "$PG_ABS_SRCDIR/twice.sh" forced_policies
\! sh "$PG_ABS_SRCDIR/twice.sh" blind_policies
\! sh "$PG_ABS_SRCDIR/twice.sh" policies_and_triggers

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
\! sh "$PG_ABS_SRCDIR/twice.sh" merge_policies
\! sh "$PG_ABS_SRCDIR/twice.sh" merge_policies force
