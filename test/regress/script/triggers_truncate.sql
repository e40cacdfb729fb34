-- Triggers of TRUNCATE: once, where the client is; those BEFORE it see all rows, those AFTER it none, and what either of
-- them writes is there afterwards.
CREATE TABLE log (n serial, line text);
CREATE TABLE t (k int PRIMARY KEY, v int, i int GENERATED ALWAYS AS IDENTITY);
CREATE TABLE child (k int PRIMARY KEY REFERENCES t, v int);
CREATE TABLE grandchild (k int PRIMARY KEY REFERENCES child, v int);
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE of_r (k int PRIMARY KEY, r int REFERENCES r);
CREATE TABLE s (id int, v int);
CREATE TABLE kept (k int, why text);
CREATE TABLE kept_r (k int PRIMARY KEY, why text);
CREATE TABLE plain (k int, v int);
CREATE TABLE p (k int, d int) PARTITION BY RANGE (d);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20);
\i :trigger_log
CREATE TRIGGER a_before BEFORE TRUNCATE ON t EXECUTE FUNCTION note('made before');
SELECT distribute('t', 'k');
SELECT distribute('child', 'k', 't');
SELECT distribute('grandchild', 'k', 't');
SELECT reference('r');
SELECT distribute('of_r', 'k', 't');
SELECT single('s');
SELECT distribute('kept', 'k');
SELECT reference('kept_r');
SELECT distribute('p', 'k', 't');
-- What is there, and what is written, while it fires.
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM %s', TG_RELID::regclass) INTO n;
	INSERT INTO twice.log (line) VALUES (format('%s %s %s of %s: %s, %s children, %s plain', TG_NAME, TG_WHEN, TG_OP, TG_RELID::regclass, n, (SELECT count(*) FROM twice.child), (SELECT count(*) FROM twice.plain)));
	INSERT INTO twice.kept VALUES (n, TG_WHEN || ' ' || TG_TABLE_NAME);
	INSERT INTO twice.kept_r VALUES ((SELECT coalesce(max(k), 0) + 1 FROM twice.kept_r), TG_WHEN || ' ' || TG_TABLE_NAME);
	RETURN NULL;
END $$;
CREATE FUNCTION fill() RETURNS void LANGUAGE sql AS $$
	INSERT INTO twice.t SELECT g, g FROM generate_series(1, 20) g;
	INSERT INTO twice.child SELECT g, g FROM generate_series(1, 10) g;
	INSERT INTO twice.grandchild SELECT g, g FROM generate_series(1, 5) g;
	INSERT INTO twice.r SELECT g, g FROM generate_series(1, 4) g;
	INSERT INTO twice.of_r SELECT g, g FROM generate_series(1, 4) g;
	INSERT INTO twice.s SELECT g, g FROM generate_series(1, 4) g;
	INSERT INTO twice.plain SELECT g, g FROM generate_series(1, 4) g;
	INSERT INTO twice.p SELECT g, g FROM generate_series(0, 19) g;
$$;
CREATE FUNCTION counts(OUT t bigint, OUT child bigint, OUT grandchild bigint, OUT r bigint, OUT of_r bigint, OUT s bigint, OUT plain bigint, OUT p bigint) LANGUAGE sql AS $$
	SELECT (SELECT count(*) FROM twice.t), (SELECT count(*) FROM twice.child), (SELECT count(*) FROM twice.grandchild), (SELECT count(*) FROM twice.r),
		(SELECT count(*) FROM twice.of_r), (SELECT count(*) FROM twice.s), (SELECT count(*) FROM twice.plain), (SELECT count(*) FROM twice.p)
$$;
CREATE TRIGGER b_look BEFORE TRUNCATE ON t EXECUTE FUNCTION look();
CREATE TRIGGER c_look AFTER TRUNCATE ON t EXECUTE FUNCTION look();
CREATE TRIGGER look BEFORE TRUNCATE ON grandchild EXECUTE FUNCTION look();
CREATE TRIGGER look_after AFTER TRUNCATE ON grandchild EXECUTE FUNCTION look();
CREATE TRIGGER look BEFORE TRUNCATE ON s EXECUTE FUNCTION look();
CREATE TRIGGER look_after AFTER TRUNCATE ON r EXECUTE FUNCTION look();
CREATE TRIGGER look_before BEFORE TRUNCATE ON of_r EXECUTE FUNCTION look();
CREATE TRIGGER look BEFORE TRUNCATE ON plain EXECUTE FUNCTION look();
CREATE TRIGGER look_after AFTER TRUNCATE ON plain EXECUTE FUNCTION look();
CREATE TRIGGER look BEFORE TRUNCATE ON p EXECUTE FUNCTION look();
CREATE TRIGGER look_after AFTER TRUNCATE ON p EXECUTE FUNCTION look();
CREATE TRIGGER look BEFORE TRUNCATE ON p2 EXECUTE FUNCTION look();
CREATE TRIGGER look_after AFTER INSERT OR TRUNCATE ON p2 EXECUTE FUNCTION note();

SELECT fill();
DELETE FROM log;
TRUNCATE t;
TRUNCATE t, child;
TRUNCATE ONLY p;
TRUNCATE p, missing;
SELECT what();
SELECT counts();
TRUNCATE t CASCADE;
SELECT what();
SELECT counts();
SELECT * FROM kept ORDER BY k, why;
SELECT * FROM kept_r ORDER BY k;
TRUNCATE r CASCADE;
SELECT what();
TRUNCATE s, plain, s;
SELECT what();
TRUNCATE p1;
SELECT what();
TRUNCATE p;
SELECT what();
SELECT counts();
SELECT * FROM kept ORDER BY k, why;
SELECT * FROM kept_r ORDER BY k;

-- In transactions, with savepoints; identities.
BEGIN;
SELECT fill();
SAVEPOINT sp;
TRUNCATE t RESTART IDENTITY CASCADE;
SELECT counts();
ROLLBACK TO sp;
SELECT counts();
TRUNCATE plain, grandchild, child, t RESTART IDENTITY;
INSERT INTO t VALUES (100, 1), (101, 2) RETURNING *;
SELECT counts();
COMMIT;
SELECT what();
SELECT counts();
SELECT * FROM kept ORDER BY k, why;
-- An error takes all back.
CREATE FUNCTION raise() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not %', TG_TABLE_NAME; END $$;
CREATE TRIGGER z_raise AFTER TRUNCATE ON t EXECUTE FUNCTION raise();
TRUNCATE t, plain, grandchild, child;
SELECT what();
SELECT counts();
ALTER TABLE t DISABLE TRIGGER z_raise;
ALTER TABLE t ENABLE ALWAYS TRIGGER b_look;
-- A trigger that fills the table that it is emptied for; one that truncates others; replica.
CREATE FUNCTION refill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO twice.s VALUES (1000, pg_trigger_depth()); TRUNCATE twice.plain; RETURN NULL; END $$;
CREATE TRIGGER refill AFTER TRUNCATE ON s EXECUTE FUNCTION refill();
CREATE TRIGGER refill_before BEFORE TRUNCATE ON s EXECUTE FUNCTION refill();
INSERT INTO plain VALUES (1, 1);
TRUNCATE s;
SELECT what();
SELECT * FROM s;
SET session_replication_role = replica;
TRUNCATE t, child, grandchild;
TRUNCATE s;
RESET session_replication_role;
SELECT what();
SELECT counts();
-- In a function, prepared.
DO $$ BEGIN PERFORM twice.fill(); TRUNCATE twice.s; EXECUTE 'TRUNCATE twice.t CASCADE'; END $$;
SELECT what();
SELECT counts();
-- Who may not.
CREATE ROLE truncating;
GRANT USAGE ON SCHEMA twice TO truncating;
GRANT TRUNCATE ON plain TO truncating;
SET ROLE truncating;
TRUNCATE plain, s;
TRUNCATE t;
RESET ROLE;
SELECT what();
REVOKE ALL ON SCHEMA twice FROM truncating;
REVOKE ALL ON plain FROM truncating;
DROP ROLE truncating;
-- Renamed, replaced, dropped.
ALTER TRIGGER refill ON s RENAME TO again;
CREATE OR REPLACE TRIGGER again BEFORE TRUNCATE ON s EXECUTE FUNCTION note('replaced');
TRUNCATE s;
SELECT what();
SELECT * FROM s;
DROP TRIGGER again ON s;
DROP TRIGGER refill_before ON s;
DROP TRIGGER look ON s;
TRUNCATE s;
SELECT what();
SELECT counts();
