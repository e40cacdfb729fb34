-- Constraint triggers, deferred or not: they get the rows as they were, at COMMIT, at SET
-- CONSTRAINTS or at the end of the statement.
CREATE TABLE log (n serial, line text);
CREATE TABLE t (k int NOT NULL, id int, v int, w text, PRIMARY KEY (k, id));
CREATE TABLE other (k int PRIMARY KEY, n int);
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE g (gone int, k int, dbl int GENERATED ALWAYS AS (k * 2) STORED, v int);
ALTER TABLE g DROP gone;
SELECT distribute('t', 'k');
SELECT distribute('other', 'k', 't');
SELECT distribute('g', 'k', 't');
SELECT reference('r');
\i :trigger_log
CREATE CONSTRAINT TRIGGER b_late AFTER INSERT OR UPDATE OR DELETE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note('x');
CREATE CONSTRAINT TRIGGER c_may AFTER INSERT OR UPDATE OR DELETE ON t DEFERRABLE FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER a_now AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER d_now AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE CONSTRAINT TRIGGER e_when AFTER UPDATE OF v ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.v IS DISTINCT FROM NEW.v) EXECUTE FUNCTION note();

-- Statements alone: at their COMMIT.
INSERT INTO t VALUES (1, 1, 1, 'a'), (2, 1, 2, repeat('long', 10000)), (2, 2, 2, 'b');
SELECT what();
UPDATE t SET v = v + 1 WHERE k = 2 RETURNING k, v;
SELECT what();
UPDATE t SET w = 'b', v = v WHERE k = 2 AND id = 1;
SELECT what();
DELETE FROM t WHERE k = 1 RETURNING *;
SELECT what();
COPY t FROM stdin;
3	1	1	\N
4	1	1	x
\.
SELECT what();

-- Blocks, SET CONSTRAINTS, savepoints.
BEGIN;
INSERT INTO t VALUES (10, 1, 1, 'a');
UPDATE t SET v = 5 WHERE k = 10;
DELETE FROM t WHERE k = 10;
SELECT what();
SET CONSTRAINTS b_late IMMEDIATE;
SELECT what();
INSERT INTO t VALUES (10, 1, 1, 'b');
SELECT what();
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO t VALUES (11, 1, 1, 'b');
SELECT what();
COMMIT;
SELECT what();
BEGIN;
SAVEPOINT one;
INSERT INTO t VALUES (20, 1, 1, 'undone');
ROLLBACK TO one;
INSERT INTO t VALUES (21, 1, 1, 'done');
SAVEPOINT two;
INSERT INTO t VALUES (22, 1, 1, 'done, too');
SAVEPOINT three;
SET CONSTRAINTS ALL IMMEDIATE;
SELECT what();
INSERT INTO t VALUES (23, 1, 1, 'undone');
ROLLBACK TO three;
RELEASE two;
DELETE FROM t WHERE k = 21;
COMMIT;
SELECT what();
BEGIN;
INSERT INTO t VALUES (30, 1, 1, 'never');
ROLLBACK;
SELECT what();
-- A function with a subtransaction; a procedure that commits.
DO $$ BEGIN
	INSERT INTO twice.t VALUES (31, 1, 1, 'kept');
	BEGIN
		INSERT INTO twice.t VALUES (32, 1, 1, 'not kept');
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN NULL;
	END;
	BEGIN
		INSERT INTO twice.t VALUES (33, 1, 1, 'kept');
	EXCEPTION WHEN division_by_zero THEN NULL;
	END;
END $$;
SELECT what();
CREATE PROCEDURE two_transactions() LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO twice.t VALUES (34, 1, 1, 'first');
	COMMIT;
	INSERT INTO twice.t VALUES (35, 1, 1, 'second');
	ROLLBACK;
	INSERT INTO twice.t VALUES (36, 1, 1, 'third');
END $$;
CALL two_transactions();
SELECT what();

-- What is pending is in the way of DDL, what is done is not.
BEGIN;
INSERT INTO t VALUES (40, 1, 1, 'x');
ALTER TABLE t ADD more int;
ROLLBACK;
BEGIN;
INSERT INTO t VALUES (40, 1, 1, 'x');
TRUNCATE t;
ROLLBACK;
BEGIN;
INSERT INTO t VALUES (40, 1, 1, 'x');
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE t ADD more int DEFAULT 3;
SET CONSTRAINTS ALL DEFERRED;
UPDATE t SET w = 'y' WHERE k = 40;
COMMIT;
SELECT what();
ALTER TABLE t DROP more;
-- The relation cache is loaded anew in between.
BEGIN;
INSERT INTO t VALUES (41, 1, 1, 'x');
CREATE TABLE between (a int);
GRANT SELECT ON t TO public;
COMMENT ON TABLE t IS 'commented';
INSERT INTO t VALUES (42, 1, 1, 'x');
COMMIT;
SELECT what();

-- A check of the whole, at the end: one that fails takes all with it.
CREATE FUNCTION balanced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT sum(n) FROM twice.other) <> 0 THEN RAISE EXCEPTION 'sum is not 0'; END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER balanced AFTER INSERT OR UPDATE OR DELETE ON other DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION balanced();
INSERT INTO other VALUES (1, 5);
INSERT INTO other VALUES (1, 5), (2, -5);
BEGIN;
UPDATE other SET n = n + 7 WHERE k = 1;
UPDATE other SET n = n - 7 WHERE k = 2;
COMMIT;
BEGIN;
UPDATE other SET n = n + 1 WHERE k = 1;
COMMIT;
BEGIN;
DELETE FROM other WHERE k = 1;
SET CONSTRAINTS balanced IMMEDIATE;
ROLLBACK;
SELECT * FROM other ORDER BY k;

-- A deferred trigger that writes: distributed tables, and the one that it is of.
CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO twice.r VALUES (NEW.k, NEW.v);
	UPDATE twice.t SET w = 'seen' WHERE k = NEW.k;
	IF NEW.v > 0 THEN INSERT INTO twice.g (k, v) VALUES (NEW.k + 1, NEW.v - 1); END IF;
	IF NEW.v = 7 THEN RAISE EXCEPTION 'seven'; END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER more AFTER INSERT ON g DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION more();
CREATE CONSTRAINT TRIGGER note AFTER UPDATE OR DELETE ON g DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();
CREATE CONSTRAINT TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON r DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO g (k, v) VALUES (40, 2);
SELECT what();
INSERT INTO g (k, v) VALUES (50, 8);
SELECT what();
UPDATE g SET v = v * 10 WHERE k = 40;
DELETE FROM g WHERE k = 42;
SELECT what();
SELECT * FROM g ORDER BY k;
SELECT * FROM r ORDER BY 1;
SELECT k, id, v, left(w, 10) FROM t ORDER BY k, id;

-- With transition tables on the same table; many rows, of which some come from disk.
CREATE FUNCTION tables() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO twice.log (line) SELECT TG_NAME || ' ' || count(*) || ' ' || sum(v) FROM n;
	RETURN NULL;
END $$;
CREATE TRIGGER tables AFTER INSERT ON r REFERENCING NEW TABLE AS n EXECUTE FUNCTION tables();
CREATE FUNCTION add_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE twice.log SET n = n + NEW.v, line = 'sum' WHERE line LIKE 'sum%';
	RETURN NULL;
END $$;
INSERT INTO log VALUES (0, 'sum');
DROP TRIGGER note ON r;
CREATE CONSTRAINT TRIGGER add_up AFTER INSERT ON r DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION add_up();
SET work_mem = 64;
BEGIN;
INSERT INTO r SELECT i, i FROM generate_series(1001, 3000) i;
SELECT n, line FROM log ORDER BY n;
INSERT INTO r SELECT i, i FROM generate_series(3001, 3010) i;
COMMIT;
RESET work_mem;
SELECT n, line FROM log ORDER BY n;
TRUNCATE log;
ALTER TABLE t DISABLE TRIGGER b_late;
BEGIN;
INSERT INTO t VALUES (60, 1, 1, 'x');
SET CONSTRAINTS ALL DEFERRED;
UPDATE t SET v = 2 WHERE k = 60;
COMMIT;
SELECT what();
