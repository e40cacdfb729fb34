-- Actions of foreign keys onto tables whose triggers fire: they see each row that an action
-- changes, in the order of changes, with what was changed before.
CREATE TABLE log (n serial, line text);
CREATE TABLE r (id int PRIMARY KEY, code int UNIQUE, v int);
CREATE TABLE p (k int PRIMARY KEY, v int);
CREATE TABLE c (k int REFERENCES p ON DELETE CASCADE, i int, v int, rid int REFERENCES r ON DELETE SET NULL ON UPDATE CASCADE, PRIMARY KEY (k, i));
CREATE TABLE g (k int, i int, n int, rid int DEFAULT 0 REFERENCES r (id) ON DELETE SET DEFAULT, rcode int REFERENCES r (code) ON DELETE CASCADE ON UPDATE SET NULL,
	PRIMARY KEY (k, n), FOREIGN KEY (k, i) REFERENCES c ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE plain (k int, n int,
	PRIMARY KEY (k, n), FOREIGN KEY (k) REFERENCES p ON DELETE CASCADE);
CREATE TABLE tree (k int, id int, up int, PRIMARY KEY (k, id), FOREIGN KEY (k, up) REFERENCES tree ON DELETE CASCADE ON UPDATE CASCADE);
\i :trigger_log
-- Some of all before, some after the tables are distributed.
CREATE TRIGGER a BEFORE DELETE OR UPDATE ON g FOR EACH ROW EXECUTE FUNCTION note();
SELECT reference('r');
SELECT distribute('p', 'k');
SELECT distribute('c', 'k');
SELECT distribute('g', 'k');
SELECT distribute('tree', 'k');
SELECT distribute('plain', 'k');

INSERT INTO r SELECT i, i * 10, 0 FROM generate_series(0, 9) i;
INSERT INTO p SELECT i, 0 FROM generate_series(1, 20) i;
INSERT INTO c SELECT k, i, 0, (k + i) % 9 + 1 FROM generate_series(1, 20) k, generate_series(1, 3) i;
INSERT INTO g SELECT k, i, i * 10 + n, (k + n) % 9 + 1, ((k + i) % 9 + 1) * 10 FROM generate_series(1, 20) k, generate_series(1, 3) i, generate_series(1, 2) n;
INSERT INTO plain SELECT k, k FROM generate_series(1, 20) k;

-- Through a table without triggers.
DELETE FROM p WHERE k = 1;
SELECT what();
SELECT count(*) FROM c WHERE k = 1;
SELECT count(*) FROM plain WHERE k = 1;
DELETE FROM c WHERE k = 2 AND i = 3;
SELECT what();
UPDATE c SET i = 7 WHERE k = 2 AND i = 2;
SELECT what();
SELECT * FROM g WHERE k = 2 ORDER BY n;
UPDATE c SET v = 1 WHERE k = 2;
SELECT what();
-- Several rows, prepared, in a block that is rolled back to where it was.
CREATE TRIGGER b AFTER DELETE OR UPDATE ON c FOR EACH ROW EXECUTE FUNCTION note();
PREPARE d(int) AS DELETE FROM p WHERE k = $1;
EXECUTE d(3);
SELECT what();
BEGIN;
SAVEPOINT s;
EXECUTE d(4);
SELECT what();
SELECT count(*) FROM c WHERE k = 4;
ROLLBACK TO s;
SELECT count(*) FROM c WHERE k = 4;
DELETE FROM p WHERE k = 5;
SELECT what();
SELECT count(*) FROM g WHERE k = 5;
INSERT INTO p VALUES (5, 5);
INSERT INTO c VALUES (5, 1, 5, 5);
COMMIT;
SELECT * FROM c WHERE k IN (4, 5) ORDER BY k, i;
-- What BEFORE triggers see: the row that is referred to is gone already.
CREATE FUNCTION sees() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log (line) SELECT 'sees ' || (SELECT count(*) FROM p WHERE p.k = OLD.k) || ' ' || (SELECT count(*) FROM c WHERE c.k = OLD.k);
	RETURN OLD;
END $$;
CREATE TRIGGER sees BEFORE DELETE ON c FOR EACH ROW EXECUTE FUNCTION sees();
DELETE FROM p WHERE k = 6;
SELECT what();
DROP TRIGGER sees ON c;
-- The row that is referred to is in a reference table.
UPDATE r SET id = 100 WHERE id = 1;
DELETE FROM log;
SELECT string_agg(k || '.' || i, ' ' ORDER BY k, i) FROM c WHERE rid = 100;
UPDATE g SET rid = 0 WHERE rid IN (1, 2);
DELETE FROM log;
UPDATE r SET id = 100 WHERE id = 1;
SELECT line FROM log ORDER BY line;
DELETE FROM log;
SELECT string_agg(k || '.' || i, ' ' ORDER BY k, i) FROM c WHERE rid = 100;
UPDATE r SET code = -1 WHERE id = 2;
SELECT line FROM log ORDER BY line;
DELETE FROM log;
DELETE FROM r WHERE id = 3;
SELECT line FROM log ORDER BY line;
DELETE FROM log;
SELECT * FROM c WHERE rid IS NULL ORDER BY k, i;
SELECT * FROM g WHERE rid = 0 OR rcode = 30 ORDER BY k, n;
-- A tree; its trigger keeps some of it.
INSERT INTO tree SELECT k, i, CASE WHEN i > 1 THEN i / 2 END FROM generate_series(1, 5) k, generate_series(1, 7) i;
CREATE TRIGGER t BEFORE DELETE OR UPDATE ON tree FOR EACH ROW EXECUTE FUNCTION note();
DELETE FROM tree WHERE k = 1 AND id = 2;
SELECT what();
SELECT id FROM tree WHERE k = 1 ORDER BY id;
UPDATE tree SET id = 20 WHERE k = 2 AND id = 2;
SELECT what();
SELECT id, up FROM tree WHERE k = 2 ORDER BY id;
DELETE FROM tree WHERE id = 1 AND k IN (3, 4);
SELECT line FROM log ORDER BY line;
DELETE FROM log;
SELECT count(*) FROM tree;
-- Other ways to change the row: WITH, MERGE, ON CONFLICT, a cursor, a function.
WITH d AS (DELETE FROM p WHERE k = 7 RETURNING k) SELECT * FROM d;
SELECT what();
MERGE INTO p USING (VALUES (8), (9)) x (k) ON x.k = p.k WHEN MATCHED AND p.k = 8 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 1;
SELECT what();
MERGE INTO c USING (VALUES (9)) x (k) ON x.k = c.k AND c.i = 1 WHEN MATCHED THEN UPDATE SET i = 11;
SELECT what();
INSERT INTO c VALUES (9, 2, 0, 9) ON CONFLICT (k, i) DO UPDATE SET i = 12;
SELECT what();
BEGIN;
DECLARE cur CURSOR FOR SELECT * FROM p WHERE k = 10 FOR UPDATE;
FETCH cur;
DELETE FROM p WHERE CURRENT OF cur;
COMMIT;
SELECT what();
CREATE FUNCTION gone(int) RETURNS bigint LANGUAGE sql AS $$ DELETE FROM p WHERE k = $1; SELECT count(*) FROM g WHERE k = $1 $$;
SELECT gone(11);
SELECT what();
DELETE FROM p USING c WHERE c.k = p.k AND c.i = 1 AND p.k IN (12, 13);
SELECT line FROM log ORDER BY line;
DELETE FROM log;
-- An error in one undoes all; an action that fails says so.
CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not this one'; END $$;
CREATE TRIGGER refuses BEFORE DELETE ON g FOR EACH ROW WHEN (OLD.n = 32) EXECUTE FUNCTION refuses();
DELETE FROM p WHERE k = 14;
SELECT count(*) FROM c WHERE k = 14;
DROP TRIGGER refuses ON g;
ALTER TABLE g ALTER rid SET DEFAULT 77;
DELETE FROM r WHERE id = 4;
SELECT count(*) FROM g WHERE rid = 4;
ALTER TABLE g ALTER rid SET DEFAULT 0;
DELETE FROM log;
-- Who has no right on the other tables has the actions done all the same; with a policy as well.
CREATE ROLE keys_user;
GRANT USAGE ON SCHEMA twice TO keys_user;
GRANT SELECT, DELETE ON p TO keys_user;
GRANT INSERT ON log TO keys_user;
GRANT USAGE ON log_n_seq TO keys_user;
ALTER TABLE c ENABLE ROW LEVEL SECURITY;
SET ROLE keys_user;
DELETE FROM c WHERE k = 15;
DELETE FROM p WHERE k = 15;
RESET ROLE;
SELECT what();
SELECT count(*) FROM c WHERE k = 15;
ALTER TABLE c DISABLE ROW LEVEL SECURITY;
-- Repeatable read, and when constraints are checked.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM p;
DELETE FROM p WHERE k = 16;
SELECT what();
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
DELETE FROM p WHERE k = 17;
SELECT what();
SELECT count(*) FROM c WHERE k = 17;
COMMIT;
-- Disabled, enabled, dropped: the rows go in any case.
ALTER TABLE c DISABLE TRIGGER b;
DELETE FROM p WHERE k = 18;
SELECT what();
ALTER TABLE c ENABLE TRIGGER b;
ALTER TABLE g DISABLE TRIGGER a;
DELETE FROM p WHERE k = 19;
SELECT what();
DROP TRIGGER a ON g;
DROP TRIGGER b ON c;
DELETE FROM p WHERE k = 20;
SELECT what();
SELECT k, i FROM c ORDER BY k, i;
SELECT k, n FROM g ORDER BY k, n;
SELECT * FROM plain ORDER BY k;
-- The distribution column changes, and with it that of the rows that refer to it; with no trigger at all, too.
INSERT INTO p VALUES (30, 0), (31, 0), (32, 0);
INSERT INTO c VALUES (30, 1, 1, 5), (30, 2, 1, 6), (31, 1, 1, 7);
INSERT INTO g VALUES (30, 1, 11, 5, 50), (30, 1, 12, 6, 60), (30, 2, 21, 7, 70);
INSERT INTO plain VALUES (30, 1), (31, 1);
UPDATE p SET k = 40 WHERE k = 30;
UPDATE c SET k = 32 WHERE k = 31;
SELECT c.*, g.n FROM c LEFT JOIN g USING (k, i) WHERE k > 20 ORDER BY k, i, n;
CREATE TABLE q (k int PRIMARY KEY, u int UNIQUE, v int);
CREATE TABLE qc (k int REFERENCES q ON UPDATE CASCADE ON DELETE RESTRICT, i int, PRIMARY KEY (k, i));
CREATE TABLE qn (k int REFERENCES q ON DELETE SET NULL ON UPDATE SET NULL, i int);
CREATE TABLE qd (k int DEFAULT 1 REFERENCES q ON DELETE SET DEFAULT ON UPDATE SET DEFAULT, i int);
ALTER TABLE q DROP CONSTRAINT q_u_key;
SELECT distribute('q', 'k');
SELECT distribute('qc', 'k');
SELECT distribute('qn', 'k');
SELECT distribute('qd', 'k');
INSERT INTO q SELECT i, i, 0 FROM generate_series(1, 12) i;
INSERT INTO qc SELECT i, i FROM generate_series(2, 7) i;
INSERT INTO qn SELECT i, i FROM generate_series(2, 9) i;
INSERT INTO qd SELECT i, i FROM generate_series(2, 9) i;
UPDATE q SET k = 102 WHERE k = 2;
UPDATE q SET k = k + 100, v = 1 WHERE k IN (3, 4);
BEGIN;
UPDATE q SET k = 105 WHERE k = 5;
UPDATE q SET k = 205 WHERE k = 105;
UPDATE q SET k = 106 WHERE k = 6;
INSERT INTO q VALUES (6);
INSERT INTO qc VALUES (6, 66);
COMMIT;
UPDATE q SET v = 2 WHERE k = 7;
UPDATE q SET k = 8 WHERE k = 7;
DELETE FROM q WHERE k = 7;
DELETE FROM q WHERE k = 8;
BEGIN;
UPDATE q SET k = 109 WHERE k = 9;
ROLLBACK;
MERGE INTO q USING (VALUES (10, 110)) x (k, n) ON q.k = x.k WHEN MATCHED THEN UPDATE SET k = n;
SELECT * FROM q ORDER BY k;
SELECT * FROM qc ORDER BY k, i;
SELECT * FROM qn ORDER BY k, i;
SELECT * FROM qd ORDER BY k, i;
-- What a key without action says stays: of a row that others refer to.
ALTER TABLE qc DROP CONSTRAINT qc_k_fkey, ADD FOREIGN KEY (k) REFERENCES q ON DELETE CASCADE;
UPDATE q SET k = 300 WHERE k = 102;
SELECT count(*) FROM qc WHERE k = 102;
UPDATE q SET k = 300 WHERE k = 11;
DROP TABLE q, qc, qn, qd;
DROP TABLE g, c, p, r, plain, tree CASCADE;
DROP OWNED BY keys_user;
DROP ROLE keys_user;
