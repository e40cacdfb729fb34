-- COPY in and out in text, csv and binary, with options, files, programs, queries, defaults,
-- generated columns and many rows gives what it gives on plain tables; a failed COPY names
-- the line and leaves nothing behind.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" copy_formats

-- All copies of the reference table have the same rows.
SELECT count(*) > 1, count(DISTINCT result) FROM run_command_on_placements('twice.r', 'SELECT md5(string_agg(t::text, ''|'' ORDER BY k)) FROM %s t');

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
