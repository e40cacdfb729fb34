-- RETURNING gives rows as values of the table's row type, also after a column was dropped.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" dml_returning

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
