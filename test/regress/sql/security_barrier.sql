-- UPDATE and DELETE through views WITH (security_barrier) change the rows that the view shows and no others, and
-- no function of the statement sees a row that the view hides, on tables of all kinds as on plain ones.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" security_barrier

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
