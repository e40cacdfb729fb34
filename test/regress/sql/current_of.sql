-- WHERE CURRENT OF: the row that a cursor is at, in distributed, single-shard and reference
-- tables; as in plain tables.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" current_of

-- One task, on the shard that has the row.
SET search_path = twice;
SET client_min_messages = warning;
BEGIN;
DECLARE c CURSOR FOR SELECT v FROM a WHERE id = 25;
FETCH c;
SET LOCAL citus.explain_all_tasks = on;
DO $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) DELETE FROM a WHERE CURRENT OF c' LOOP
		IF line ~ 'Task Count|Tid' THEN RAISE WARNING '%', regexp_replace(trim(line), '_\d+', ''); END IF;
	END LOOP;
END $$;
SELECT pg_typeof(pando.cursor_row('c', 'a'::regclass, -1, 0, NULL::tid));
-- By hand nothing but what is there.
SELECT pando.cursor_row(NULL, 'a'::regclass, -1, 0, NULL::tid);
SAVEPOINT one;
SELECT pando.cursor_row('c', 'a'::regclass, -1, 0, NULL::text);
ROLLBACK TO one;
SELECT pando.cursor_row('c', 'a'::regclass, 1, 0, NULL::text);
ROLLBACK TO one;
SELECT pando.cursor_row('c', 'a'::regclass, 3, 0, NULL::int);
ROLLBACK TO one;
SELECT pando.cursor_row('c', 1, -1, 0, NULL::tid);
ROLLBACK TO one;
SELECT pando.cursor_row('c', 'a'::regclass, -1, 17, NULL::tid);
ROLLBACK TO one;
-- A row that went to another shard isn't followed.
UPDATE a SET k = 6 WHERE CURRENT OF c;
\set VERBOSITY terse
UPDATE a SET v = 7 WHERE CURRENT OF c;
\set VERBOSITY default
ROLLBACK;
CREATE TABLE here (id int);
INSERT INTO here VALUES (1);
SELECT pando.row_version('here', ctid, xmin) FROM here;
SELECT pando.row_version('here', '(0,1)', '1');
SELECT pando.row_version('here', '(7000,1)', '1');
SELECT pando.row_version('pg_tables', '(0,1)', '1');
CREATE ROLE curious;
GRANT USAGE ON SCHEMA twice TO curious;
SET ROLE curious;
SELECT pando.row_version('here', '(0,1)', '1');
RESET ROLE;
-- Rows of several copies need a key.
CREATE TABLE bare (id int);
INSERT INTO bare VALUES (1);
SELECT create_reference_table('bare');
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM bare;
FETCH c;
DELETE FROM bare WHERE CURRENT OF c;
ROLLBACK;
REVOKE USAGE ON SCHEMA twice FROM curious;
DROP ROLE curious;
