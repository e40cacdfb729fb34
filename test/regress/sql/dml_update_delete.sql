-- UPDATE and DELETE by key and without, with joins, subqueries, RETURNING, WITH and
-- parameters change the rows that they change in plain tables, and count them alike.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" dml_update_delete

-- All copies of a reference table have the same rows, after changes of every kind.
SET search_path = twice;
INSERT INTO r SELECT i, i % 3, 'r' || i FROM generate_series(0, 9) i;
INSERT INTO a VALUES (1, 1, 1), (2, 2, 2);
UPDATE r SET v = v + 1, w = now()::text WHERE id > 4;
UPDATE r SET v = r2.v FROM r2 WHERE r2.id = r.id;
DELETE FROM r WHERE id IN (1, 7);
UPDATE r SET w = w || id WHERE v IN (SELECT v FROM r2);
SELECT count(*) > 1, count(DISTINCT result) FROM run_command_on_placements('r', 'SELECT md5(string_agg(t::text, ''|'' ORDER BY id)) FROM %s t');

-- A ctid names another row on each copy.
\set VERBOSITY terse
UPDATE r SET v = 0 WHERE ctid = '(0,1)';
UPDATE r SET v = 0 WHERE id = 2 AND xmin <> '0';
UPDATE r SET v = 0 FROM r2 WHERE r2.id = r.id AND r2.ctid = '(0,1)';
\set VERBOSITY default
RESET search_path;

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
