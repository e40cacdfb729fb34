-- UPDATE and DELETE with what no shard can compute: sequences, functions of users, subqueries of
-- any kind. The same rows change as in plain tables, each value is computed once.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" computed_change

SET search_path = twice;
SET client_min_messages = warning;
SELECT count(DISTINCT result) FROM run_command_on_placements('r', 'SELECT md5(string_agg(t::text, ''|'' ORDER BY id)) FROM %s t');

-- Only the shards that can have the rows take part.
CREATE FUNCTION tasks(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || statement LOOP
		IF line ~ 'Task Count|Subplan|LockRows' THEN RETURN NEXT trim(regexp_replace(line, '\d+_\d+', 'N')); END IF;
	END LOOP;
END $$;
SELECT tasks('UPDATE a SET v = later(v) WHERE k = 5');
SELECT tasks('UPDATE a SET v = later(v) WHERE id = 5');
SELECT tasks('DELETE FROM r WHERE later(id) = 5');

-- What is refused.
CREATE TABLE bare (id int, v int);
SELECT create_reference_table('bare');
UPDATE bare SET v = later(id);
UPDATE a SET k = later(k);
UPDATE a SET k = k, v = later(1) WHERE k = 1 AND id = 1;
UPDATE a SET k = 1, v = later(1) WHERE k = 1 AND id = 1;
UPDATE a SET k = 2, v = later(1) WHERE k = 1;
BEGIN;
DECLARE here CURSOR FOR SELECT * FROM a WHERE k = 1;
FETCH 0 FROM here;
UPDATE a SET v = later(1) WHERE CURRENT OF here;
ROLLBACK;
CREATE VIEW lv AS SELECT id, w FROM l;
UPDATE a SET v = 1 FROM b LEFT JOIN lv ON lv.id = b.id WHERE a.id = b.id AND a.k = b.k RETURNING lv;
\set VERBOSITY terse
SELECT id FROM a WHERE touched('a', id) FOR UPDATE;
SELECT id FROM a WHERE touched('a', id) FOR UPDATE SKIP LOCKED;
\set VERBOSITY default

-- Row-level security: the rows are those that UPDATE may see and change.
CREATE ROLE computed_change_rls;
GRANT USAGE ON SCHEMA twice TO computed_change_rls;
GRANT ALL ON a, numbers TO computed_change_rls;
ALTER TABLE a ENABLE ROW LEVEL SECURITY;
CREATE POLICY see ON a FOR SELECT USING (id < 50);
CREATE POLICY change ON a FOR UPDATE USING (k < 4) WITH CHECK (v < 1000);
CREATE POLICY remove ON a FOR DELETE USING (true);
UPDATE a SET v = 0;
SET ROLE computed_change_rls;
UPDATE a SET v = later(1) WHERE id > 0;
\set VERBOSITY sqlstate
UPDATE a SET v = later(1000) WHERE id > 0;
\set VERBOSITY default
UPDATE a SET v = later(1);
MERGE INTO a USING (VALUES (1)) s (x) ON true WHEN MATCHED THEN UPDATE SET v = later(1);
MERGE INTO a USING (VALUES (1)) s (x) ON a.id > 0 WHEN MATCHED THEN UPDATE SET v = later(1);
DELETE FROM a WHERE later(id) = 10;
RESET ROLE;
SELECT count(*), max(k), max(id) FROM a WHERE v = 10;
DROP SCHEMA twice CASCADE;
DROP ROLE computed_change_rls;
