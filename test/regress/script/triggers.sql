-- What the triggers were given goes into a log, in order.
CREATE TABLE log (n serial, line text);
CREATE TABLE t (k int NOT NULL, id int, v int, w text DEFAULT 'w', PRIMARY KEY (k, id));
CREATE TABLE other (k int PRIMARY KEY, n int);
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE s (id int PRIMARY KEY, v int);
CREATE TABLE g (k int, v int, dbl int GENERATED ALWAYS AS (v * 2) STORED);
ALTER TABLE g ADD gone int, ADD last text;
ALTER TABLE g DROP gone;
SELECT distribute('t', 'k');
SELECT distribute('other', 'k', 't');
SELECT distribute('g', 'k', 't');
SELECT reference('r');
SELECT single('s');
\i :trigger_log
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.v = -1 THEN RETURN NULL; END IF;
	IF NEW.v = -2 THEN RAISE EXCEPTION 'no % here', NEW.v; END IF;
	NEW.v := NEW.v * 10;
	RETURN NEW;
END $$;
CREATE TRIGGER a_note BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note('one', 'two');
CREATE TRIGGER b_change BEFORE INSERT OR UPDATE OF v ON t FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER c_note AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER d_when AFTER UPDATE ON t FOR EACH ROW WHEN (OLD.v IS DISTINCT FROM NEW.v) EXECUTE FUNCTION note();
CREATE TRIGGER e_before BEFORE INSERT OR UPDATE OR DELETE ON t EXECUTE FUNCTION note();
CREATE TRIGGER f_after AFTER INSERT OR UPDATE OR DELETE ON t EXECUTE FUNCTION note();
CREATE TRIGGER g_of AFTER UPDATE OF w ON t FOR EACH ROW EXECUTE FUNCTION note();

INSERT INTO t VALUES (1, 1, 5, DEFAULT), (2, 1, -1, 'y'), (3, 1, 7, 'x');
SELECT what();
SELECT * FROM t ORDER BY k;
INSERT INTO t (id, k) SELECT i, 4 FROM generate_series(1, 2) i RETURNING k, id, v, w, t.v + 1;
SELECT what();
INSERT INTO t SELECT k, id + 10, v, 'again' FROM t WHERE k = 4 ORDER BY id;
SELECT what();
UPDATE t SET v = v + 1 WHERE k = 1;
SELECT what();
UPDATE t SET w = 'new', v = 3 WHERE k = 3 RETURNING *;
SELECT what();
UPDATE t SET w = w || id WHERE id = 2;
SELECT what();
UPDATE t SET v = -1 WHERE k = 1 RETURNING *;
SELECT what();
UPDATE t SET v = x.i FROM (VALUES (1, 8)) x (k, i) WHERE t.k = x.k RETURNING t.v, x.i, w;
SELECT what();
UPDATE t SET v = x.i FROM (VALUES (1, 8)) x (k, i) WHERE t.k = x.k RETURNING x.i;
SELECT what();
UPDATE t SET v = x.c FROM (SELECT k, count(*) AS c FROM t GROUP BY k) x WHERE t.k = x.k AND t.k = 1 RETURNING x.c;
SELECT what();
UPDATE t SET v = 1 FROM generate_series(1, 3) WHERE k = 1;
SELECT what();
WITH x AS (SELECT 1 AS i, 'y' AS y) UPDATE t SET v = 100 FROM x WHERE x.i = t.k RETURNING t.*, x.*;
SELECT what();
DELETE FROM t WHERE k = 3 RETURNING *;
SELECT what();
DELETE FROM t WHERE k = 4 AND id > 100;
SELECT what();
-- One that raises leaves nothing.
INSERT INTO t VALUES (20, 1, 5), (21, 1, -2);
UPDATE t SET v = -2;
SELECT what();
SELECT * FROM t ORDER BY k, id;
-- COPY
COPY t (k, id, v) FROM stdin;
30	1	1
31	1	-1
\.
SELECT what();
-- Conflicts, prepared statements.
INSERT INTO t VALUES (1, 1, 5), (40, 1, 1) ON CONFLICT DO NOTHING;
SELECT what();
PREPARE one AS INSERT INTO t VALUES ($1, $2, $3) RETURNING *;
EXECUTE one (50, 1, 1);
EXECUTE one (51, 1, 1);
PREPARE two AS UPDATE t SET v = $2 WHERE k = $1 AND id = 1;
EXECUTE two (50, 6);
EXECUTE two (51, 7);
SELECT what();
SELECT * FROM t ORDER BY k, id;

-- ALTER, in the order of names; replica.
ALTER TRIGGER a_note ON t RENAME TO z_note;
ALTER TABLE t DISABLE TRIGGER c_note, DISABLE TRIGGER d_when, ENABLE REPLICA TRIGGER f_after;
INSERT INTO t VALUES (60, 1, 1);
SELECT what();
SET session_replication_role = replica;
INSERT INTO t VALUES (61, 1, 1);
RESET session_replication_role;
SELECT what();
ALTER TABLE t ENABLE ALWAYS TRIGGER c_note;
CREATE OR REPLACE TRIGGER c_note AFTER DELETE ON t FOR EACH ROW EXECUTE FUNCTION note('replaced');
DELETE FROM t WHERE k = 60;
SELECT what();
DROP TRIGGER z_note ON t;
DROP TRIGGER c_note ON t;
DROP TRIGGER d_when ON t;
DROP TRIGGER e_before ON t;
DROP TRIGGER f_after ON t;
DROP TRIGGER g_of ON t;
DELETE FROM t WHERE k = 61;
SELECT what();
DROP TRIGGER b_change ON t;
INSERT INTO t VALUES (70, 1, -1);

-- Transition tables, of statement and row triggers.
CREATE FUNCTION tables() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO twice.log (line) SELECT TG_NAME || ' old ' || o::text FROM o ORDER BY k, id;
	INSERT INTO twice.log (line) SELECT TG_NAME || ' new ' || n::text FROM n ORDER BY k, id;
	RETURN NULL;
END $$;
CREATE TRIGGER tables AFTER UPDATE ON t REFERENCING OLD TABLE AS o NEW TABLE AS n EXECUTE FUNCTION tables();
CREATE TRIGGER tables_row AFTER UPDATE ON t REFERENCING OLD TABLE AS o NEW TABLE AS n FOR EACH ROW WHEN (NEW.k = 50) EXECUTE FUNCTION tables();
UPDATE t SET v = v + 1 WHERE k >= 50;
SELECT what();
UPDATE t SET v = v + 1 WHERE false;
SELECT what();
DROP TRIGGER tables ON t;
DROP TRIGGER tables_row ON t;

-- Triggers that change other tables, and this one; that see the rows before theirs.
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO twice.other VALUES (NEW.k, 1) ON CONFLICT (k) DO UPDATE SET n = other.n + 1;
	NEW.id := (SELECT coalesce(max(id), 0) + 1 FROM twice.t WHERE k = NEW.k);
	RETURN NEW;
END $$;
CREATE TRIGGER number BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION count_rows();
INSERT INTO t (k, v) VALUES (80, 1), (80, 2), (81, 1), (80, 3);
SELECT * FROM t WHERE k >= 80 ORDER BY k, id;
SELECT * FROM other ORDER BY k;
BEGIN;
INSERT INTO t (k, v) VALUES (82, 1);
SAVEPOINT sp;
INSERT INTO t (k, v) VALUES (82, 2);
ROLLBACK TO sp;
INSERT INTO t (k, v) VALUES (83, 1);
COMMIT;
SELECT * FROM t WHERE k > 81 ORDER BY k, id;
SELECT * FROM other ORDER BY k;
DROP TRIGGER number ON t;
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE twice.t SET w = 'touched' WHERE k = OLD.k AND id = OLD.id;
	RETURN NEW;
END $$;
CREATE TRIGGER touch BEFORE UPDATE OF v ON t FOR EACH ROW EXECUTE FUNCTION touch();
UPDATE t SET v = 0 WHERE k = 83;
DROP TRIGGER touch ON t;
CREATE CONSTRAINT TRIGGER touch AFTER UPDATE OF v ON t FOR EACH ROW EXECUTE FUNCTION touch();
UPDATE t SET v = 0 WHERE k = 83 RETURNING *;
SELECT * FROM t WHERE k = 83;

-- Reference and single-shard tables; generated columns and dropped ones.
CREATE TRIGGER note BEFORE INSERT OR UPDATE OR DELETE ON r FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER note2 AFTER INSERT OR UPDATE OR DELETE ON r FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER note BEFORE INSERT OR UPDATE OR DELETE ON s FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER note2 AFTER INSERT OR UPDATE OR DELETE ON g FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO r VALUES (1, 1), (2, 2);
UPDATE r SET v = v + 1 WHERE id = 1 RETURNING *;
DELETE FROM r WHERE id = 2;
INSERT INTO s SELECT i, i FROM generate_series(1, 2) i;
UPDATE s SET v = 9 WHERE id = 2;
DELETE FROM s WHERE id = 1;
INSERT INTO g (k, v, last) VALUES (1, 2, 'a') RETURNING *;
UPDATE g SET v = 5 RETURNING *;
INSERT INTO g SELECT k + 1, v, last FROM g;
DELETE FROM g WHERE k = 1;
SELECT what();
SELECT * FROM r ORDER BY 1;
SELECT * FROM s ORDER BY 1;
SELECT * FROM g ORDER BY 1;
-- RETURNING with a subquery; in a function; in DO.
INSERT INTO s VALUES (5, 5) RETURNING (SELECT count(*) FROM r), id;
DO $$ BEGIN FOR i IN 10..12 LOOP INSERT INTO twice.s VALUES (i, i); UPDATE twice.s SET v = i + 1 WHERE id = i; END LOOP; END $$;
SELECT what();
SELECT * FROM s ORDER BY 1;
-- A reference table's trigger that changes distributed tables.
CREATE FUNCTION spread() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE twice.other SET n = n + NEW.v; INSERT INTO twice.t VALUES (NEW.id, NEW.id); RETURN NEW; END $$;
CREATE TRIGGER spread AFTER INSERT ON r FOR EACH ROW EXECUTE FUNCTION spread();
INSERT INTO r VALUES (100, 5), (101, 6);
SELECT what();
SELECT * FROM other ORDER BY k;
SELECT * FROM t WHERE k >= 100 ORDER BY k;
SELECT * FROM g ORDER BY 1;
-- Sorted by what is not inserted.
INSERT INTO s SELECT q.n, q.n + 100 FROM (SELECT k + 1000 AS n, count(*) AS c FROM t GROUP BY k ORDER BY 2 DESC, 1 LIMIT 3) q ORDER BY q.c, q.n RETURNING id;
INSERT INTO s SELECT n, c FROM (SELECT k + 2000 AS n, count(*) AS c FROM t GROUP BY k) q ORDER BY 1, 2 LIMIT 2 RETURNING *;
SELECT what();
-- A client needs the rights that PostgreSQL asks for, not those to lock, read or write whole rows.
CREATE ROLE triggers_user;
CREATE TABLE own (k int PRIMARY KEY, v int, w int);
SELECT distribute('own', 'k');
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; NEW.w := 100; RETURN NEW; END $$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE OR DELETE ON own FOR EACH ROW EXECUTE FUNCTION stamp();
INSERT INTO own SELECT i, i FROM generate_series(1, 12) i;
GRANT USAGE ON SCHEMA twice TO triggers_user;
GRANT UPDATE (v), INSERT (k, v), SELECT (k), DELETE ON own TO triggers_user;
SET ROLE triggers_user;
UPDATE own SET v = 5 WHERE k = 1;
UPDATE own SET w = 5 WHERE k = 1;
UPDATE own SET v = 5 WHERE v = 1;
DELETE FROM own WHERE k = 2;
DELETE FROM own WHERE k = 3 RETURNING k;
DELETE FROM own WHERE k = 3 RETURNING v;
INSERT INTO own (k, v) VALUES (50, 50);
INSERT INTO own (k, w) VALUES (51, 51);
INSERT INTO own (k, v) VALUES (50, 50) ON CONFLICT (k) DO NOTHING;
RESET ROLE;
REVOKE SELECT (k) ON own FROM triggers_user;
SET ROLE triggers_user;
DELETE FROM own WHERE k = 4;
UPDATE own SET v = 6;
RESET ROLE;
SELECT * FROM own ORDER BY k;
ALTER TABLE own ENABLE ROW LEVEL SECURITY;
CREATE POLICY gone ON own FOR DELETE USING (k > 5);
CREATE POLICY seen ON own FOR SELECT USING (k > 1);
SET ROLE triggers_user;
DELETE FROM own;
RESET ROLE;
GRANT SELECT ON own TO triggers_user;
SET ROLE triggers_user;
DELETE FROM own WHERE k < 9;
DELETE FROM own;
RESET ROLE;
SELECT * FROM own ORDER BY k;
DROP OWNED BY triggers_user;
DROP ROLE triggers_user;
DROP TABLE own;
