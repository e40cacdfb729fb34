-- INSTEAD OF triggers of views over distributed tables fire as those of views over plain ones.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" instead_of
SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
