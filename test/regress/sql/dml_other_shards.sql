-- UPDATE and DELETE that compare rows with those of other shards, of local tables or of
-- themselves, on tables of every kind, change what they change in plain tables.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" dml_other_shards

-- All copies of the reference table have the same rows.
SELECT count(*) > 1, count(DISTINCT result) FROM run_command_on_placements('twice.r', 'SELECT md5(string_agg(t::text, ''|'' ORDER BY id)) FROM %s t');

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
