-- Deferred constraints, SET CONSTRAINTS, session settings, sequences, large values and
-- distribution columns of many types behave as on plain tables.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" constraints_keys

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
