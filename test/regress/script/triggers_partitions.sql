-- Triggers of partitioned tables: those of rows are the partitions', those of statements
-- the table's that the statement names.
CREATE TABLE log (n serial, line text);
CREATE TABLE p (k int NOT NULL, d int NOT NULL, v int, w text, dbl int GENERATED ALWAYS AS (v * 2) STORED) PARTITION BY RANGE (d);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20) PARTITION BY LIST (w);
CREATE TABLE p2a PARTITION OF p2 FOR VALUES IN ('a');
CREATE TABLE p2rest (w text, gone int, v int, d int NOT NULL, dbl int GENERATED ALWAYS AS (v * 2) STORED, k int NOT NULL);
ALTER TABLE p2rest DROP gone;
ALTER TABLE p2 ATTACH PARTITION p2rest DEFAULT;
CREATE TABLE o (k int PRIMARY KEY, v int) PARTITION BY HASH (k);
CREATE TABLE o1 PARTITION OF o FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE o2 PARTITION OF o FOR VALUES WITH (MODULUS 2, REMAINDER 1);
\i :trigger_log
-- Some before, some after the table is distributed.
CREATE TRIGGER a_before BEFORE INSERT OR UPDATE OR DELETE ON p FOR EACH ROW EXECUTE FUNCTION note('root');
CREATE TRIGGER of_leaf AFTER INSERT ON p2a FOR EACH ROW EXECUTE FUNCTION note('leaf');
SELECT distribute('p', 'k');
SELECT distribute('o', 'k');
CREATE TRIGGER b_after AFTER INSERT OR UPDATE OR DELETE ON p FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER s_before BEFORE INSERT OR UPDATE OR DELETE ON p EXECUTE FUNCTION note();
CREATE TRIGGER s_after AFTER INSERT OR UPDATE OR DELETE ON p EXECUTE FUNCTION note();
CREATE TRIGGER u_of AFTER UPDATE OF w ON p FOR EACH ROW EXECUTE FUNCTION note('of w');
CREATE TRIGGER s_leaf AFTER INSERT OR UPDATE OR DELETE ON p1 EXECUTE FUNCTION note();

INSERT INTO p VALUES (1, 1, 1, 'a'), (2, 11, 2, 'a'), (3, 12, 3, 'b') RETURNING *;
SELECT what();
INSERT INTO p1 VALUES (4, 2, 4, 'x');
SELECT what();
INSERT INTO p VALUES (90, 3, 1, 'a'), (91, 13, 2, 'z') RETURNING tableoid::regclass, k;
UPDATE p SET v = 0 WHERE k = 90 RETURNING tableoid::regclass::text || '!' AS t, k;
DELETE FROM p WHERE k IN (90, 91) AND tableoid = 'p1'::regclass RETURNING tableoid::regclass, *;
DELETE FROM p WHERE k = 91;
DELETE FROM log;
INSERT INTO p2 (v, w, d, k) SELECT 5, w, 13, 5 FROM (VALUES ('a'), ('c')) x (w);
SELECT what();
INSERT INTO p VALUES (1, 100, 1, 'nowhere');
INSERT INTO p2 VALUES (1, 5, 1, 'elsewhere');
SELECT what();
UPDATE p SET v = v + 1 WHERE k = 2 RETURNING v, w;
SELECT what();
UPDATE p1 SET v = 0 WHERE k = 4;
SELECT what();
DELETE FROM p WHERE k = 3 RETURNING *;
SELECT what();
COPY p (k, d, v, w) FROM stdin;
7	7	7	x
8	18	8	a
\.
SELECT what();
-- A row moves: between leaves, in a level below, and not out of the table that is named.
UPDATE p SET d = 15 WHERE k = 1 RETURNING *;
SELECT what();
UPDATE p2 SET w = 'z' WHERE k = 8;
SELECT what();
UPDATE p2 SET d = 5 WHERE k = 8;
UPDATE p1 SET d = 15 WHERE k = 7;
SELECT what();
UPDATE p SET d = 19, w = 'a', v = 77 FROM (VALUES (7, 1)) x (k, i) WHERE x.k = p.k RETURNING p.*, x.*;
SELECT what();
SELECT * FROM p1 ORDER BY k;
SELECT * FROM p2a ORDER BY k;
SELECT * FROM p2rest ORDER BY k;
UPDATE p SET v = 78, w = 'q' WHERE k = 7 RETURNING w, v, d, dbl;
UPDATE p SET w = 'r' WHERE k = 7 RETURNING p.*;
DELETE FROM p WHERE k = 7 RETURNING w, k;
SELECT what();
-- New partitions, and some that come and go.
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (20) TO (30);
INSERT INTO p VALUES (20, 20, 1, 'new');
SELECT what();
CREATE TABLE p4 (k int NOT NULL, d int NOT NULL, v int, w text, dbl int GENERATED ALWAYS AS (v * 2) STORED);
CREATE TRIGGER own BEFORE INSERT ON p4 FOR EACH ROW EXECUTE FUNCTION note('own');
ALTER TABLE p ATTACH PARTITION p4 FOR VALUES FROM (30) TO (40);
INSERT INTO p VALUES (30, 30, 1, 'attached');
SELECT what();
ALTER TABLE p DETACH PARTITION p3;
INSERT INTO p3 VALUES (21, 21, 1, 'detached');
SELECT what();
-- Changes of values; a partition that another one is in the end; rows that are given up.
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.v = -1 THEN RETURN NULL; END IF;
	IF NEW.v = -2 THEN NEW.d := 5; END IF;
	IF NEW.v = -3 THEN NEW.w := 'a'; END IF;
	NEW.v := NEW.v * 10;
	RETURN NEW;
END $$;
CREATE TRIGGER c_change BEFORE INSERT OR UPDATE ON p FOR EACH ROW EXECUTE FUNCTION change();
INSERT INTO p VALUES (40, 2, 2, 'x'), (41, 2, -1, 'not');
UPDATE p SET v = 9 WHERE k = 8;
UPDATE p SET v = -1 WHERE k = 2;
UPDATE p SET v = -2 WHERE k = 8;
UPDATE p2 SET v = -3 WHERE k = 5 AND w = 'c';
SELECT what();
INSERT INTO p VALUES (42, 12, -2, 'x');
SELECT what();
DROP TRIGGER c_change ON p;
-- ON DELETE of a row that would move is refused by a trigger.
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER keep BEFORE DELETE ON p1 FOR EACH ROW EXECUTE FUNCTION keep();
UPDATE p SET d = 12 WHERE k = 40 RETURNING *;
DELETE FROM p WHERE k = 40;
SELECT what();
SELECT k, d, v, w, dbl FROM p ORDER BY k, w, v;
DROP TRIGGER keep ON p1;
-- Nor is it anywhere when it has been deleted, and a trigger of the partition where it would come gives it up.
CREATE TRIGGER keep BEFORE INSERT ON p2rest FOR EACH ROW EXECUTE FUNCTION keep();
CREATE FUNCTION count_old() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log (line) SELECT concat_ws(' ', 'old', count(*), sum(v), 'new', (SELECT count(*) FROM n), (SELECT sum(v) FROM n)) FROM o;
	RETURN NULL;
END $$;
CREATE TRIGGER tables AFTER UPDATE ON p REFERENCING OLD TABLE AS o NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION count_old();
INSERT INTO p VALUES (60, 4, 1, 'x'), (60, 4, 2, 'x'), (60, 4, 3, 'x'), (63, 4, 4, 'a');
UPDATE p SET d = 14, w = CASE v WHEN 3 THEN 'a' ELSE 'y' END WHERE k = 60 RETURNING *;
SELECT what();
UPDATE p SET d = 14, k = 64 WHERE k = 63;
UPDATE p SET d = 14, k = 65, w = 'y' WHERE k = 64;
UPDATE p SET k = 66, w = 'y' WHERE k = 64 RETURNING k;
SELECT what();
DROP TRIGGER tables ON p;
BEGIN;
SAVEPOINT a;
MERGE INTO p USING (VALUES (60)) s (i) ON k = i WHEN MATCHED THEN UPDATE SET w = 'z';
MERGE INTO p USING (VALUES (63)) s (i) ON k = i WHEN NOT MATCHED THEN INSERT VALUES (i, 14, 1, 'y');
SELECT what();
SELECT k, d, v, w, dbl FROM p WHERE k BETWEEN 60 AND 70 ORDER BY k, w, v;
ROLLBACK TO a;
SELECT k, d, v, w, dbl FROM p WHERE k BETWEEN 60 AND 70 ORDER BY k, w, v;
COMMIT;
DROP TRIGGER keep ON p2rest;
DELETE FROM p WHERE k >= 60;
DELETE FROM log;
-- Off and on again.
ALTER TABLE p DISABLE TRIGGER USER;
UPDATE p SET v = 1 WHERE k = 40;
SELECT what();
ALTER TABLE p2a ENABLE TRIGGER of_leaf;
INSERT INTO p VALUES (50, 10, 0, 'a');
SELECT what();
ALTER TABLE p ENABLE TRIGGER b_after;
UPDATE p SET v = 2 WHERE k = 40;
SELECT what();
DROP TRIGGER a_before ON p;
DROP TRIGGER b_after ON p1;
DROP TRIGGER b_after ON p;
-- Deferred; transition tables.
CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE OR DELETE ON p DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note('late');
BEGIN;
INSERT INTO p VALUES (60, 0, 6, 'x');
UPDATE p SET d = 12 WHERE k = 60;
UPDATE p SET v = 3 WHERE k = 60;
SELECT what();
SET CONSTRAINTS late IMMEDIATE;
SELECT what();
SET CONSTRAINTS late DEFERRED;
DELETE FROM p WHERE k = 60;
COMMIT;
SELECT what();
DROP TRIGGER late ON p;
CREATE FUNCTION tables() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN INSERT INTO twice.log (line) SELECT TG_NAME || ' old ' || o::text FROM o ORDER BY o::text; END IF;
	IF TG_OP <> 'DELETE' THEN INSERT INTO twice.log (line) SELECT TG_NAME || ' new ' || n::text FROM n ORDER BY n::text; END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER t_ins AFTER INSERT ON p REFERENCING NEW TABLE AS n EXECUTE FUNCTION tables();
CREATE TRIGGER t_upd AFTER UPDATE ON p REFERENCING OLD TABLE AS o NEW TABLE AS n EXECUTE FUNCTION tables();
CREATE TRIGGER t_del AFTER DELETE ON p REFERENCING OLD TABLE AS o EXECUTE FUNCTION tables();
INSERT INTO p SELECT 70 + i, i * 9, i, 'a' FROM generate_series(0, 2) i;
UPDATE p SET d = d + 1 WHERE k BETWEEN 70 AND 72;
DELETE FROM p WHERE k BETWEEN 70 AND 72;
SELECT what();
-- Partitions by the key; prepared.
CREATE TRIGGER note BEFORE INSERT OR UPDATE OR DELETE ON o FOR EACH ROW EXECUTE FUNCTION note();
PREPARE ins AS INSERT INTO o VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING *;
EXECUTE ins (1, 1);
EXECUTE ins (2, 2);
EXECUTE ins (2, 3);
UPDATE o SET v = v + 1 WHERE k = 2;
DELETE FROM o WHERE k = 1;
SELECT what();
DEALLOCATE ins;
-- A row that moves is deleted and inserted, whatever else fires.
CREATE TABLE m (k int, d int) PARTITION BY RANGE (d);
CREATE TABLE m1 PARTITION OF m FOR VALUES FROM (0) TO (1);
CREATE TABLE m2 PARTITION OF m FOR VALUES FROM (1) TO (2);
SELECT distribute('m', 'k');
CREATE TRIGGER coming AFTER INSERT ON m2 FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO m VALUES (1, 0);
UPDATE m SET d = 1;
SELECT what();
-- Partitions have no triggers of their own when their parent has transition tables.
CREATE TABLE only_tables (k int PRIMARY KEY, v text) PARTITION BY LIST (k);
CREATE TABLE only_tables1 PARTITION OF only_tables FOR VALUES IN (1, 3);
CREATE TABLE only_tables2 PARTITION OF only_tables FOR VALUES IN (2, 4);
SELECT distribute('only_tables', 'k');
CREATE TRIGGER t_ins AFTER INSERT ON only_tables REFERENCING NEW TABLE AS n EXECUTE FUNCTION tables();
CREATE TRIGGER t_upd AFTER UPDATE ON only_tables REFERENCING OLD TABLE AS o NEW TABLE AS n EXECUTE FUNCTION tables();
INSERT INTO only_tables VALUES (1, 'a'), (2, 'b') ON CONFLICT (k) DO UPDATE SET v = only_tables.v || excluded.v;
INSERT INTO only_tables VALUES (1, 'c'), (2, 'd'), (3, 'e') ON CONFLICT (k) DO UPDATE SET v = only_tables.v || excluded.v;
MERGE INTO only_tables USING (VALUES (1), (4)) s (i) ON k = i WHEN MATCHED THEN UPDATE SET v = 'f' WHEN NOT MATCHED THEN INSERT VALUES (i, 'g');
UPDATE only_tables SET v = v || 'h' WHERE k > 2;
SELECT what();
-- ON CONFLICT DO UPDATE fires the partition's triggers of an UPDATE.
CREATE TABLE q (k int, d int, v int, w text, dbl int GENERATED ALWAYS AS (v * 2) STORED, CONSTRAINT q_key PRIMARY KEY (k, d)) PARTITION BY RANGE (d);
CREATE TABLE q1 PARTITION OF q FOR VALUES FROM (0) TO (10);
CREATE TABLE q2 (w text, gone int, v int, d int NOT NULL, dbl int GENERATED ALWAYS AS (v * 2) STORED, k int NOT NULL);
ALTER TABLE q2 DROP gone;
ALTER TABLE q ATTACH PARTITION q2 FOR VALUES FROM (10) TO (20);
SELECT distribute('q', 'k');
CREATE TRIGGER a_before BEFORE INSERT OR UPDATE OR DELETE ON q FOR EACH ROW EXECUTE FUNCTION note('root');
CREATE TRIGGER b_after AFTER INSERT OR UPDATE OR DELETE ON q FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER of_leaf AFTER UPDATE ON q2 FOR EACH ROW EXECUTE FUNCTION note('leaf');
CREATE TRIGGER s_after AFTER INSERT OR UPDATE ON q EXECUTE FUNCTION note();
INSERT INTO q VALUES (1, 1, 1, 'a'), (2, 11, 2, 'b'), (3, 12, 3, 'c');
SELECT what();
INSERT INTO q VALUES (1, 1, 10, 'x'), (2, 11, 20, 'y'), (4, 13, 4, 'd') ON CONFLICT (k, d) DO UPDATE SET v = q.v + excluded.v, w = excluded.w RETURNING tableoid::regclass, *;
SELECT what();
INSERT INTO q VALUES (3, 12, 30, 'x') ON CONFLICT ON CONSTRAINT q_key DO UPDATE SET v = excluded.v WHERE q.v > 5 RETURNING *;
INSERT INTO q VALUES (3, 12, 30, 'x') ON CONFLICT ON CONSTRAINT q_key DO UPDATE SET v = excluded.v WHERE q.v < 5 RETURNING *;
SELECT what();
INSERT INTO q (w, d, k) VALUES ('p', 15, 5), ('q', 15, 5) ON CONFLICT (k, d) DO UPDATE SET v = 1;
INSERT INTO q VALUES (1, 1, 1, 'a') ON CONFLICT (k, d) DO UPDATE SET d = 11;
INSERT INTO q VALUES (2, 11, 1, 'a') ON CONFLICT (k, d) DO UPDATE SET d = 14 RETURNING *;
INSERT INTO q VALUES (2, 14, 1, 'a') ON CONFLICT (k, d) DO UPDATE SET k = q.k + 50, v = excluded.v RETURNING *;
INSERT INTO q1 VALUES (1, 1, 5, 'leaf') ON CONFLICT (k, d) DO UPDATE SET w = excluded.w || q1.w RETURNING *;
INSERT INTO q1 VALUES (1, 1, 5, 'leaf') ON CONFLICT (k, d) DO UPDATE SET d = 10;
INSERT INTO q2 VALUES ('two', 5, 12, 3) ON CONFLICT (k, d) DO UPDATE SET w = excluded.w, d = q2.d + 1 RETURNING *;
SELECT what();
INSERT INTO q SELECT k, d, -1, 'all' FROM q ORDER BY k ON CONFLICT (k, d) DO UPDATE SET w = excluded.w;
SELECT what();
ALTER TABLE q DISABLE TRIGGER USER;
INSERT INTO q VALUES (1, 1, 1, 'a'), (52, 14, 1, 'a') ON CONFLICT (k, d) DO UPDATE SET k = q.k + 100, w = 'moved' RETURNING *;
SELECT * FROM q ORDER BY k;
CREATE FUNCTION plus(x int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$BEGIN RETURN x + 1; END$$;
INSERT INTO q VALUES (101, 1, 1, 'a'), (4, 13, 1, 'a'), (8, 8, 8, 'new') ON CONFLICT (k, d) DO UPDATE SET v = plus(q.v) WHERE plus(excluded.v) = 2 RETURNING *;
-- A trigger after which PostgreSQL reads its tables anew.
CREATE TABLE anew (k int, d int, w text) PARTITION BY LIST (d);
CREATE TABLE anew1 PARTITION OF anew FOR VALUES IN (1);
CREATE TABLE anew_rest PARTITION OF anew DEFAULT;
SELECT distribute('anew', 'k');
CREATE FUNCTION read_anew() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	UPDATE pg_attribute SET attname = attname WHERE attnum = 1 AND attrelid::regclass::text LIKE 'anew%';
	RETURN NEW;
END $$;
CREATE TRIGGER before BEFORE INSERT OR UPDATE ON anew FOR EACH ROW EXECUTE FUNCTION read_anew();
CREATE TRIGGER after AFTER INSERT OR UPDATE ON anew FOR EACH ROW EXECUTE FUNCTION read_anew();
INSERT INTO anew SELECT i, i % 3 FROM generate_series(1, 9) i;
UPDATE anew SET k = k + 10 WHERE d = 1;
UPDATE anew SET d = d + 1;
INSERT INTO anew1 VALUES (1, 1), (2, 1);
UPDATE anew1 SET k = k + 10, w = 'moved';
INSERT INTO anew1 VALUES (3, 2);
SELECT tableoid::regclass, * FROM anew ORDER BY k, d;
-- And what it reads anew since a subtransaction has rolled back, while rows wait for triggers of the table.
CREATE TABLE seen (d int, k int);
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (NEW.d, NEW.k); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE ON anew DEFERRABLE FOR EACH ROW EXECUTE FUNCTION see();
BEGIN;
UPDATE anew SET k = k + 100 WHERE d = 1;
SAVEPOINT s;
INSERT INTO anew VALUES (50, 1), (51, 2);
ROLLBACK TO s;
INSERT INTO anew VALUES (60, 1), (61, 2);
COMMIT;
BEGIN;
SET CONSTRAINTS see DEFERRED;
UPDATE anew SET k = k + 1000 WHERE d = 1;
SAVEPOINT s;
INSERT INTO anew VALUES (50, 1), (51, 2);
ROLLBACK TO s;
COMMIT;
DO $$ BEGIN
	SET CONSTRAINTS see DEFERRED;
	UPDATE anew SET k = k + 5000 WHERE d = 2;
	BEGIN
		INSERT INTO anew VALUES (50, 1), (51, 2);
		RAISE 'undo this';
	EXCEPTION WHEN raise_exception THEN NULL;
	END;
END $$;
SELECT * FROM seen ORDER BY d, k;
