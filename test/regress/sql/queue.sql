-- Queues, cursors, locks in subqueries of writes, results that become tables: the same on
-- distributed tables as on plain ones.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" queue

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
