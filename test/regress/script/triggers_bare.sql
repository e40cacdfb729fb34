-- Triggers of reference tables without a primary key: rows that have the same in all columns are changed one by one.
CREATE TABLE log (n serial, line text);
CREATE TABLE r (gone int, v int, w text, twice int GENERATED ALWAYS AS (v * 2) STORED);
ALTER TABLE r DROP gone;
CREATE TABLE u (id int UNIQUE, w text);
CREATE TABLE t (k int, v int);
SELECT reference('r');
SELECT reference('u');
SELECT distribute('t', 'k');
\i :trigger_log
-- Each row gets another number, by the order of calls.
CREATE SEQUENCE calls;
CREATE FUNCTION number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.w := concat(NEW.w, '/', nextval('calls'));
	RETURN CASE WHEN NEW.w LIKE 'none%' THEN NULL ELSE NEW END;
END $$;
INSERT INTO r VALUES (1, 'a'), (1, 'a'), (1, 'a'), (2, 'b'), (3, NULL), (3, NULL), (NULL, NULL), (4, 'd''"\');
INSERT INTO u VALUES (1, 'a'), (2, 'b'), (NULL, 'n'), (NULL, 'n');
INSERT INTO t SELECT i, i % 3 FROM generate_series(1, 9) i;
CREATE TRIGGER number BEFORE UPDATE ON r FOR EACH ROW EXECUTE FUNCTION number();
CREATE TRIGGER after_row AFTER UPDATE OR DELETE ON r FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER after_all AFTER UPDATE OR DELETE ON r EXECUTE FUNCTION note();
UPDATE r SET v = v + 1 WHERE v = 1;
SELECT * FROM r ORDER BY v, w;
SELECT what();
-- Rows that become like rows that are still to be changed.
UPDATE r SET v = v + 1, w = NULL WHERE v IN (2, 3);
SELECT * FROM r ORDER BY v, w;
UPDATE r SET w = 'none' WHERE v = 3;
UPDATE r SET w = 'same';
SELECT v, count(*), count(DISTINCT w) FROM r GROUP BY v ORDER BY v;
ALTER TABLE r DISABLE TRIGGER number;
UPDATE r SET w = 'same' WHERE v IN (3, 4) OR v IS NULL;
ALTER TABLE r ENABLE TRIGGER number;
TRUNCATE log;
UPDATE r SET w = upper(w) WHERE v = 4 RETURNING v, w LIKE 'SAME/%', twice;
SELECT what() LIKE '%SAME%';
SELECT v, count(*), count(DISTINCT w) FROM r GROUP BY v ORDER BY v;
-- Rows of FROM, of other tables, and none.
UPDATE r SET w = t.v::text FROM t WHERE t.k = r.v AND t.k = 3 RETURNING r.v, t.k, r.w LIKE '0/%';
UPDATE r SET w = (SELECT count(*)::text FROM t WHERE t.k > r.v) WHERE v > 3 RETURNING v, left(w, 1);
UPDATE r SET w = 'no' WHERE v = 77;
SELECT v, count(*), count(DISTINCT w) FROM r GROUP BY v ORDER BY v;
TRUNCATE log;
DELETE FROM r WHERE v IS NULL RETURNING twice;
SELECT what() LIKE '%DELETE%';
DELETE FROM r USING t WHERE t.k = r.v AND t.k = 3 RETURNING t.k, r.v;
SELECT v, count(*), count(DISTINCT w) FROM r GROUP BY v ORDER BY v;
-- In a function, and rolled back.
CREATE FUNCTION change(int) RETURNS bigint LANGUAGE sql AS $$ WITH x AS (UPDATE r SET v = v + 1 WHERE v = $1 RETURNING 1) SELECT count(*) FROM x $$;
SELECT change(4), change(5);
BEGIN;
UPDATE r SET v = 0;
SAVEPOINT a;
DELETE FROM r;
ROLLBACK TO a;
SELECT v, count(*), count(DISTINCT w) FROM r GROUP BY v ORDER BY v;
ROLLBACK;
SELECT v, count(*), count(DISTINCT w) FROM r GROUP BY v ORDER BY v;
-- A row that its trigger changes, and one that it deletes.
CREATE FUNCTION change_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE u SET w = 'mine' WHERE id = OLD.id; RETURN NEW; END $$;
CREATE TRIGGER change_it BEFORE UPDATE ON u FOR EACH ROW WHEN (NEW.w = 'change') EXECUTE FUNCTION change_it();
UPDATE u SET w = 'change' WHERE id = 1;
SELECT * FROM u ORDER BY id, w;
-- ON CONFLICT with values that each copy would compute another way.
INSERT INTO u VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET w = excluded.w || (random() >= 0)::text RETURNING *;
INSERT INTO u VALUES (2, 'y'), (3, 'z') ON CONFLICT (id) DO UPDATE SET w = u.w || (SELECT count(*) FROM t WHERE random() >= 0) RETURNING *;
INSERT INTO u VALUES (2, 'y') ON CONFLICT (id) DO UPDATE SET id = 9 WHERE random() >= 0 RETURNING *;
INSERT INTO u VALUES (9, 'y'), (9, 'y') ON CONFLICT (id) DO UPDATE SET w = clock_timestamp()::text;
SELECT * FROM u ORDER BY id, w;
CREATE TRIGGER u_note AFTER INSERT OR UPDATE ON u FOR EACH ROW EXECUTE FUNCTION note();
TRUNCATE log;
INSERT INTO u VALUES (9, 'q'), (10, 'q') ON CONFLICT (id) DO UPDATE SET w = excluded.w RETURNING *;
UPDATE u SET w = w || '!' WHERE id IS NULL OR id = 9 RETURNING *;
SELECT what();
UPDATE u SET w = random()::text;
UPDATE r SET w = random()::text;
