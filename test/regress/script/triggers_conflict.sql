-- Triggers and INSERT ... ON CONFLICT: a row that is in the way fires those of an UPDATE.
CREATE TABLE log (n serial, line text);
CREATE TABLE t (gone int, k int NOT NULL, id int, v int, w text DEFAULT 'w', dbl int GENERATED ALWAYS AS (v * 2) STORED, CONSTRAINT t_key PRIMARY KEY (k, id));
ALTER TABLE t DROP gone;
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE q (k int, at text, CONSTRAINT q_key UNIQUE (k, at));
SELECT distribute('t', 'k');
SELECT distribute('q', 'k', 't');
SELECT reference('r');
\i :trigger_log
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.v = -1 THEN RETURN NULL; END IF;
	IF NEW.v = -3 THEN NEW.id := 2; END IF;
	NEW.v := NEW.v * 10;
	RETURN NEW;
END $$;
CREATE TRIGGER a_before BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER b_change BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER c_after AFTER INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER d_of AFTER UPDATE OF w ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER s_before BEFORE INSERT OR UPDATE ON t EXECUTE FUNCTION note();
CREATE TRIGGER s_after AFTER INSERT OR UPDATE ON t EXECUTE FUNCTION note();
INSERT INTO t VALUES (1, 1, 5), (1, 2, 6) ON CONFLICT (k, id) DO UPDATE SET v = 0;
SELECT what();
INSERT INTO t VALUES (1, 1, 7), (1, 3, 8) ON CONFLICT (k, id) DO UPDATE SET v = t.v + excluded.v RETURNING *;
SELECT what();
INSERT INTO t VALUES (1, 1, 1, 'x') ON CONFLICT (id, k) DO UPDATE SET w = excluded.w || t.w WHERE t.v > 0 RETURNING id, w, dbl;
SELECT what();
INSERT INTO t VALUES (1, 1, 1, 'x') ON CONFLICT (k, id) DO UPDATE SET w = 'no' WHERE t.v < 0 RETURNING id, w;
SELECT what();
INSERT INTO t VALUES (1, 1, -1), (1, 2, 3) ON CONFLICT ON CONSTRAINT t_key DO UPDATE SET (v, w) = (4, DEFAULT);
SELECT what();
INSERT INTO t VALUES (1, 1, 1) ON CONFLICT (k, id) DO UPDATE SET v = -1;
SELECT what();
-- A BEFORE trigger moves the row to another that is there.
INSERT INTO t VALUES (1, 77, -3) ON CONFLICT (k, id) DO UPDATE SET v = 1, w = 'moved' RETURNING *;
SELECT what();
-- Twice the same row.
INSERT INTO t VALUES (2, 1, 1), (2, 1, 2) ON CONFLICT (k, id) DO UPDATE SET v = 3;
INSERT INTO t VALUES (1, 1, 1), (1, 1, 2) ON CONFLICT (k, id) DO UPDATE SET v = 3;
INSERT INTO t VALUES (2, 1, 1), (2, 1, 2) ON CONFLICT DO NOTHING RETURNING v;
SELECT what();
BEGIN;
INSERT INTO t VALUES (3, 1, 1) ON CONFLICT (k, id) DO UPDATE SET v = t.v + 1;
INSERT INTO t VALUES (3, 1, 1) ON CONFLICT (k, id) DO UPDATE SET v = t.v + 1;
SAVEPOINT s;
INSERT INTO t VALUES (3, 1, 1), (3, 2, 1) ON CONFLICT (k, id) DO UPDATE SET v = t.v + 1;
ROLLBACK TO s;
COMMIT;
SELECT what();
-- Prepared, from a query, in a loop.
PREPARE up AS INSERT INTO t (k, id, v) VALUES ($1, $2, $3) ON CONFLICT (k, id) DO UPDATE SET v = excluded.v, w = $4 RETURNING v, w;
EXECUTE up (5, 1, 1, 'a');
EXECUTE up (5, 1, 2, 'b');
EXECUTE up (5, 1, 3, 'c');
SELECT what();
INSERT INTO t (k, id, v) SELECT 5, i, i FROM generate_series(1, 3) i ORDER BY i ON CONFLICT (k, id) DO UPDATE SET v = excluded.v + 100;
SELECT what();
DO $$ BEGIN FOR i IN 1 .. 7 LOOP INSERT INTO twice.t VALUES (6, 1, 1) ON CONFLICT (k, id) DO UPDATE SET v = 1, w = t.w || i; END LOOP; END $$;
SELECT * FROM t ORDER BY k, id;
SELECT count(*) FROM what();
DEALLOCATE up;
-- NULL in the arbiter conflicts with nothing.
CREATE TRIGGER c_after AFTER INSERT OR UPDATE ON q FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO q VALUES (1, NULL), (1, 'a') ON CONFLICT (k, at) DO UPDATE SET at = 'b';
INSERT INTO q VALUES (1, NULL), (1, 'a') ON CONFLICT ON CONSTRAINT q_key DO UPDATE SET at = 'b';
SELECT what();
SELECT * FROM q ORDER BY k, at;
-- Reference tables; deferred triggers; transition tables.
CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE ON r DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();
BEGIN;
INSERT INTO r VALUES (1, 1), (2, 2) ON CONFLICT (id) DO UPDATE SET v = r.v + excluded.v;
INSERT INTO r VALUES (1, 5), (3, 2) ON CONFLICT (id) DO UPDATE SET v = r.v + excluded.v RETURNING *;
SELECT what();
COMMIT;
SELECT what();
CREATE FUNCTION tables() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN INSERT INTO twice.log (line) SELECT TG_NAME || ' old ' || o::text FROM o ORDER BY o::text; END IF;
	INSERT INTO twice.log (line) SELECT TG_NAME || ' new ' || n::text FROM n ORDER BY n::text;
	RETURN NULL;
END $$;
CREATE TRIGGER t_ins AFTER INSERT ON r REFERENCING NEW TABLE AS n EXECUTE FUNCTION tables();
CREATE TRIGGER t_upd AFTER UPDATE ON r REFERENCING OLD TABLE AS o NEW TABLE AS n EXECUTE FUNCTION tables();
INSERT INTO r VALUES (7, 1), (1, 5), (8, 1), (2, 1), (9, 1) ON CONFLICT (id) DO UPDATE SET v = r.v * 10;
SELECT what();
SELECT * FROM r ORDER BY id;
WITH x AS (INSERT INTO t VALUES (1, 1, 9) ON CONFLICT (k, id) DO UPDATE SET v = excluded.v RETURNING id) INSERT INTO q SELECT id, 'with' FROM x;
SELECT line FROM log ORDER BY line;
-- Keys that are equal and don't look the same.
CREATE TABLE same (k numeric, f float8, v int, CONSTRAINT same_key UNIQUE (k, f));
SELECT distribute('same', 'k', 'none');
CREATE TRIGGER note AFTER INSERT OR UPDATE ON same FOR EACH ROW EXECUTE FUNCTION note();
DELETE FROM log;
INSERT INTO same VALUES (1.0, 0, 1), (1.00, '-0', 2) ON CONFLICT (k, f) DO UPDATE SET v = 3;
INSERT INTO same VALUES (1.0, 0, 1), (1.0, 1, 2) ON CONFLICT (k, f) DO UPDATE SET v = 3;
INSERT INTO same VALUES (1.000, '-0', 1) ON CONFLICT (k, f) DO UPDATE SET v = 3 RETURNING *;
INSERT INTO same VALUES (1.000, '-0', 1), (1, 0, 1) ON CONFLICT (k, f) DO UPDATE SET v = 4;
SELECT what();
SELECT * FROM same ORDER BY k, f;
