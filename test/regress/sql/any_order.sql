-- Reads, writes, COPY, savepoints and schema changes of distributed, single-shard, reference, local and temporary tables in one
-- transaction, each right after each other, give what they give for plain tables.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" any_order
SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
