-- UPDATE triggers of rows that get another value of the distribution column, by the statement or by a trigger: they fire as
-- those of any UPDATE, with the old row and the new one; those of DELETE and INSERT don't.
CREATE TABLE log (n serial, line text);
CREATE TABLE t (k int NOT NULL, id int, v int, w text DEFAULT 'w', PRIMARY KEY (k, id));
CREATE TABLE g (k int, v int, dbl int GENERATED ALWAYS AS (v * 2) STORED, gone int, last text);
CREATE TABLE other (k int PRIMARY KEY, n int);
CREATE TABLE p (k int, d int, w text) PARTITION BY RANGE (d);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 (w text, d int, k int);
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20);
ALTER TABLE g DROP gone;
SELECT distribute('t', 'k');
SELECT distribute('g', 'k', 't');
SELECT distribute('other', 'k', 't');
SELECT distribute('p', 'k', 't');
\i :trigger_log
CREATE TRIGGER a_note BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER c_note AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER d_of AFTER UPDATE OF k ON t FOR EACH ROW WHEN (OLD.k <> NEW.k) EXECUTE FUNCTION note('of k');
CREATE TRIGGER e_before BEFORE INSERT OR UPDATE OR DELETE ON t EXECUTE FUNCTION note();
CREATE TRIGGER f_after AFTER INSERT OR UPDATE OR DELETE ON t EXECUTE FUNCTION note();
CREATE TRIGGER note BEFORE UPDATE ON g FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER note2 AFTER INSERT OR UPDATE OR DELETE ON g FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO t SELECT i, i, i FROM generate_series(1, 8) i;
INSERT INTO g SELECT i, i FROM generate_series(1, 8) i;
DELETE FROM log;

-- To another shard, the same one, the same value; one row, several, none.
UPDATE t SET k = 100 WHERE k = 1;
SELECT what();
UPDATE t SET k = k + 1000, v = -v WHERE id = 2 RETURNING *;
SELECT what();
UPDATE t SET k = 3 WHERE k = 3 RETURNING k, w;
SELECT what();
UPDATE t SET k = k WHERE id = 4;
UPDATE t SET k = k + 1 WHERE false;
SELECT what();
UPDATE t SET k = x.k, w = 'x' FROM (VALUES (5, 500)) x (id, k) WHERE x.id = t.id RETURNING t.*, x.*;
SELECT what();
UPDATE g SET k = k + 10, v = v + 1 WHERE k = 1 RETURNING *;
UPDATE g SET k = NULL WHERE k = 2 RETURNING *;
UPDATE g SET k = 77 WHERE k IS NULL RETURNING *;
SELECT what();
SELECT * FROM t ORDER BY id;
SELECT * FROM g ORDER BY v, k;
-- What fails leaves nothing.
UPDATE t SET k = NULL WHERE id = 6;
UPDATE t SET k = 7, id = 7 WHERE id = 6;
UPDATE t SET k = 1 / (id - 6) WHERE id = 6;
SELECT what();
SELECT * FROM t ORDER BY id;
-- Prepared; in functions; in transactions.
PREPARE move (int, int) AS UPDATE t SET k = $1 WHERE id = $2 RETURNING k, v;
EXECUTE move(1, 8);
EXECUTE move(2, 8);
EXECUTE move(3, 8);
EXECUTE move(4, 8);
EXECUTE move(5, 8);
EXECUTE move(6, 8);
EXECUTE move(7, 8);
DELETE FROM log;
BEGIN;
UPDATE t SET k = k + 1;
SAVEPOINT sp;
UPDATE t SET k = k * 2;
ROLLBACK TO sp;
UPDATE t SET k = k + 7 WHERE id < 4;
COMMIT;
SELECT count(*) FROM log;
DELETE FROM log;
SELECT * FROM t ORDER BY id;

-- A trigger that changes it.
CREATE FUNCTION shift() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.k := NEW.k + 3; RETURN NEW; END $$;
CREATE TRIGGER b_shift BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION shift();
CREATE TRIGGER z_shift BEFORE INSERT OR UPDATE ON g FOR EACH ROW EXECUTE FUNCTION shift();
INSERT INTO t VALUES (200, 20, 1), (201, 21, 2) RETURNING *;
INSERT INTO t SELECT k + 1000, id + 20, v FROM t WHERE id >= 20;
SELECT what();
SELECT * FROM t WHERE k = 203;
SELECT * FROM t WHERE k = 200;
UPDATE t SET v = v + 1 WHERE id = 20 RETURNING *;
UPDATE t SET k = k + 1 WHERE id = 21 RETURNING *;
SELECT what();
UPDATE g SET last = 'x' RETURNING * \g |sort
SELECT what() \g |sort
COPY t (k, id, v) FROM stdin;
300	30	1
\.
SELECT * FROM t WHERE k = 303;
SELECT what();
SELECT * FROM t ORDER BY id;
SELECT * FROM g ORDER BY v, k;
-- ON CONFLICT.
INSERT INTO t VALUES (200, 20, 1) ON CONFLICT (k, id) DO UPDATE SET v = 100;
INSERT INTO t VALUES (300, 30, 9) ON CONFLICT (k, id) DO UPDATE SET k = t.k + 5, v = excluded.v RETURNING *;
INSERT INTO t VALUES (313, 30, 9), (308, 30, 10) ON CONFLICT (k, id) DO UPDATE SET k = excluded.k + 1000, v = excluded.v RETURNING *;
SELECT what();
SELECT * FROM t WHERE id >= 20 ORDER BY id, k;
DROP TRIGGER b_shift ON t;
-- MERGE, WITH.
MERGE INTO t USING (VALUES (6, 600), (7, 7), (70, 70)) x (id, k) ON x.id = t.id WHEN MATCHED THEN UPDATE SET k = x.k, w = 'm' WHEN NOT MATCHED THEN INSERT VALUES (x.k, x.id);
SELECT count(*) FROM log;
DELETE FROM log;
WITH moved AS (UPDATE t SET k = k + 10000 WHERE id < 4 RETURNING *), noted AS (INSERT INTO other SELECT k, id FROM moved RETURNING n) SELECT sum(n) FROM noted;
SELECT count(*) FROM log;
SELECT * FROM t ORDER BY id, k;
SELECT * FROM other ORDER BY k;
DELETE FROM log;
-- A trigger that gives the row up, one that raises, one that looks.
CREATE FUNCTION decide() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.k % 10 = 0 THEN RETURN NULL; END IF;
	IF NEW.k % 10 = 1 THEN RAISE EXCEPTION 'not %', NEW.k; END IF;
	INSERT INTO twice.log (line) SELECT 'now ' || string_agg(k || ' ' || id, ', ' ORDER BY id, k) FROM twice.t WHERE id IN (OLD.id, NEW.id);
	RETURN NEW;
END $$;
CREATE TRIGGER b_decide BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION decide();
CREATE TRIGGER z_decide AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION decide();
UPDATE t SET k = 40 WHERE id = 1;
UPDATE t SET k = 41 WHERE id = 1;
UPDATE t SET k = 42 WHERE id = 1;
SELECT what();
SELECT * FROM t WHERE id = 1;
DROP TRIGGER b_decide ON t;
DROP TRIGGER z_decide ON t;
-- Deferred.
CREATE CONSTRAINT TRIGGER later AFTER UPDATE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note('later');
BEGIN;
UPDATE t SET k = 52 WHERE id = 1;
UPDATE t SET k = 62 WHERE id = 1;
DELETE FROM log;
COMMIT;
SELECT what();
DROP TRIGGER later ON t;
-- Transition tables.
CREATE FUNCTION tables() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO twice.log (line) SELECT 'old ' || o::text FROM o ORDER BY k, id;
	INSERT INTO twice.log (line) SELECT 'new ' || n::text FROM n ORDER BY k, id;
	RETURN NULL;
END $$;
CREATE TRIGGER tables AFTER UPDATE ON t REFERENCING OLD TABLE AS o NEW TABLE AS n EXECUTE FUNCTION tables();
UPDATE t SET k = k + 10 WHERE id BETWEEN 3 AND 5;
SELECT line FROM log WHERE line ~ '^(old|new)' ORDER BY line;
DELETE FROM log;
DROP TRIGGER tables ON t;
-- Only triggers of other changes: none fires.
DROP TRIGGER a_note ON t;
DROP TRIGGER c_note ON t;
DROP TRIGGER d_of ON t;
DROP TRIGGER e_before ON t;
DROP TRIGGER f_after ON t;
CREATE TRIGGER of_others BEFORE INSERT OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note('never');
CREATE TRIGGER of_others2 AFTER INSERT OR DELETE ON t EXECUTE FUNCTION note('never');
UPDATE t SET k = k + 10 WHERE id < 10 RETURNING id, k \g |sort
SELECT what();

-- ON CONFLICT without any trigger.
CREATE TABLE c (k int, id int, v int DEFAULT 0, w text, PRIMARY KEY (k, id));
SELECT distribute('c', 'k', 't');
INSERT INTO c (k, id) SELECT i, i FROM generate_series(1, 6) i;
INSERT INTO c VALUES (1, 1) ON CONFLICT (k, id) DO UPDATE SET k = 100;
INSERT INTO c VALUES (1, 1) ON CONFLICT (k, id) DO UPDATE SET k = 100;
INSERT INTO c VALUES (1, 1) ON CONFLICT (k, id) DO UPDATE SET k = 101, v = c.v + 1 RETURNING *, (SELECT count(*) FROM c o WHERE o.k > 50);
INSERT INTO c SELECT i, i, i FROM generate_series(1, 8) i ON CONFLICT ON CONSTRAINT c_pkey DO UPDATE SET k = excluded.k + 1000, v = excluded.v WHERE c.id <> 3 RETURNING k, id \g |sort
INSERT INTO c VALUES (2, 2), (2, 2) ON CONFLICT (k, id) DO UPDATE SET k = c.k + 1;
INSERT INTO c VALUES (7, 7) ON CONFLICT (k, id) DO UPDATE SET k = 8, id = 8;
INSERT INTO c VALUES (7, 7) ON CONFLICT (k, id) DO UPDATE SET k = NULL;
PREPARE up (int, int) AS INSERT INTO c VALUES ($1, $1) ON CONFLICT (k, id) DO UPDATE SET k = $2 RETURNING k, id;
EXECUTE up(7, 70);
EXECUTE up(7, 71);
EXECUTE up(8, 80);
EXECUTE up(8, 81);
EXECUTE up(8, 82);
EXECUTE up(8, 8);
EXECUTE up(9, 9);
WITH x AS (INSERT INTO c VALUES (9, 9) ON CONFLICT (k, id) DO UPDATE SET k = 90 RETURNING k) SELECT * FROM x;
INSERT INTO c VALUES (3, 3) ON CONFLICT (k, id) DO UPDATE SET k = c.k, v = 33;
SELECT * FROM c ORDER BY id, k;

-- Partitions: the row may move there, too.
CREATE TRIGGER a BEFORE INSERT OR UPDATE OR DELETE ON p FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER b AFTER INSERT OR UPDATE OR DELETE ON p FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO p VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 13, 'c');
DELETE FROM log;
UPDATE p SET k = 50 WHERE k = 1 RETURNING *;
SELECT what();
UPDATE p SET k = 60, d = 15 WHERE k = 2 RETURNING *;
SELECT what();
UPDATE p2 SET k = 70 WHERE k = 3;
SELECT what();
CREATE TRIGGER shift BEFORE INSERT OR UPDATE ON p2 FOR EACH ROW EXECUTE FUNCTION shift();
INSERT INTO p VALUES (100, 10, 'z') RETURNING *;
UPDATE p SET w = 'y' RETURNING * \g |sort
DELETE FROM log;
CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.d := 5; RETURN NEW; END $$;
CREATE TRIGGER leave BEFORE INSERT OR UPDATE ON p2 FOR EACH ROW EXECUTE FUNCTION leave();
INSERT INTO p VALUES (101, 11, 'z');
UPDATE p SET d = 12 WHERE k = 50;
UPDATE p SET w = 'moved' WHERE k = 103 RETURNING *;
SELECT what();
SELECT tableoid::regclass, * FROM p ORDER BY k, d;
