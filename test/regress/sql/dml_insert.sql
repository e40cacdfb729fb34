-- INSERT of one row, of many, of what a query finds, with defaults, sequences, generated
-- columns, RETURNING, ON CONFLICT and parameters does on distributed, single-shard and
-- reference tables what it does on plain ones, errors included.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" dml_insert

-- All copies of the reference table have the same rows.
SELECT count(*) > 1, count(DISTINCT result) FROM run_command_on_placements('twice.r', 'SELECT md5(string_agg(t::text, ''|'' ORDER BY k)) FROM %s t');

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
