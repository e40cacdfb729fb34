-- An application with tenants: its foreign keys, queries as ORMs write them, counters, queues,
-- optimistic locking, functions and views work on distributed tables as on plain ones.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" app

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
