-- SET of fields and array elements, and RETURNING of whole rows, do to distributed tables what they do to plain ones.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" assigned_parts
SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
