-- INSTEAD OF triggers of views over distributed, reference and single-shard tables.
CREATE TABLE t (k int NOT NULL, id int, v int, w text DEFAULT 'w', PRIMARY KEY (k, id));
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE s (id int PRIMARY KEY, v int);
CREATE TABLE log (n serial, line text);
SELECT distribute('t', 'k');
SELECT reference('r');
SELECT single('s');
SELECT distribute('log', 'n');
INSERT INTO t SELECT i % 5, i, i * 10 FROM generate_series(1, 20) i;
INSERT INTO r SELECT i, i * 100 FROM generate_series(0, 6) i;
INSERT INTO s SELECT i, i FROM generate_series(0, 6) i;
CREATE VIEW tv AS SELECT t.k, t.id, t.v, r.v AS rv FROM t JOIN r ON r.id = t.k WHERE t.id < 100;
CREATE FUNCTION tv_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log (line) VALUES (concat_ws(' ', TG_NAME, TG_WHEN, TG_LEVEL, TG_OP, OLD::text, NEW::text));
	IF TG_OP = 'INSERT' THEN
		IF NEW.k IS NULL THEN RETURN NULL; END IF;
		INSERT INTO t (k, id, v) VALUES (NEW.k, NEW.id, NEW.v);
		NEW.rv := (SELECT v FROM r WHERE id = NEW.k);
		RETURN NEW;
	ELSIF TG_OP = 'UPDATE' THEN
		UPDATE t SET v = NEW.v, k = NEW.k WHERE k = OLD.k AND id = OLD.id;
		IF NEW.rv IS DISTINCT FROM OLD.rv THEN UPDATE r SET v = NEW.rv WHERE id = OLD.k; END IF;
		IF NOT FOUND THEN RETURN NULL; END IF;
		RETURN NEW;
	END IF;
	DELETE FROM t WHERE k = OLD.k AND id = OLD.id;
	IF NOT FOUND OR OLD.id = 7 THEN RETURN NULL; END IF;
	RETURN OLD;
END $$;
CREATE TRIGGER change INSTEAD OF INSERT OR UPDATE OR DELETE ON tv FOR EACH ROW EXECUTE FUNCTION tv_change();
INSERT INTO tv VALUES (1, 50, 5, NULL), (2, 51, 6, 0), (NULL, 52, 7, 0) RETURNING *, rv + 1;
INSERT INTO tv (id, k, v) SELECT id + 60, id, v FROM r WHERE id < 4 ORDER BY id;
INSERT INTO tv (id, k, v) SELECT 70, k, count(*) FROM t GROUP BY k ORDER BY k;
UPDATE tv SET v = v + 1 WHERE k = 3 AND id = 3 RETURNING *;
UPDATE tv SET v = v + 1 WHERE k = 2;
UPDATE tv SET rv = rv + s.v FROM s WHERE s.id = tv.k AND tv.id = 51 RETURNING tv.*, s.v;
UPDATE tv SET k = 4 WHERE id = 50 RETURNING k, id;
UPDATE tv SET v = (SELECT max(v) FROM s WHERE s.id <= tv.k) WHERE id = 9 RETURNING v;
UPDATE tv x SET v = y.c FROM (SELECT k, count(*) AS c FROM tv GROUP BY k) y WHERE y.k = x.k AND x.id IN (10, 11);
DELETE FROM tv WHERE id IN (7, 8) RETURNING id;
DELETE FROM tv USING s WHERE s.id = tv.k AND s.v = 4;
DELETE FROM tv WHERE EXISTS (SELECT 1 FROM r WHERE r.id = tv.k AND r.id = 0);
WITH d AS (DELETE FROM tv WHERE id = 51 RETURNING *) SELECT * FROM d;
WITH u AS (UPDATE tv SET v = 0 WHERE id = 61 RETURNING *) INSERT INTO s SELECT id, v FROM u RETURNING *;
PREPARE p (int, int) AS UPDATE tv SET v = $2 WHERE id = $1 RETURNING v;
EXECUTE p (11, 1000);
EXECUTE p (12, 1001);
COPY tv FROM stdin;
1	80	8	\N
3	81	8	\N
\.
SELECT * FROM t ORDER BY k, id;
SELECT * FROM r ORDER BY id;
SELECT * FROM s ORDER BY id;
SELECT count(*), string_agg(line, ',' ORDER BY line COLLATE "C") FROM log;
-- A view over a view, statement triggers, aggregates
CREATE VIEW ts AS SELECT k, sum(v) AS total, max(w) AS w FROM t GROUP BY k;
CREATE FUNCTION ts_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE t SET v = v + NEW.total - OLD.total, w = NEW.w WHERE k = OLD.k AND id = (SELECT min(id) FROM t WHERE k = OLD.k);
	RETURN NEW;
END $$;
CREATE TRIGGER ts_change INSTEAD OF UPDATE ON ts FOR EACH ROW EXECUTE FUNCTION ts_change();
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (line) VALUES (concat_ws(' ', TG_NAME, TG_WHEN, TG_OP)); RETURN NULL; END $$;
CREATE TRIGGER ts_before BEFORE UPDATE ON ts EXECUTE FUNCTION note();
CREATE TRIGGER ts_after AFTER UPDATE ON ts EXECUTE FUNCTION note();
CREATE VIEW ts2 AS SELECT k AS kk, total FROM ts WHERE total > 0 WITH LOCAL CHECK OPTION;
UPDATE ts SET total = total + 1, w = 'changed' WHERE k = 1 RETURNING *;
UPDATE ts2 SET total = 5 WHERE kk = 2 RETURNING *;
UPDATE ts2 SET total = -5 WHERE kk = 3 RETURNING *;
UPDATE ts2 SET total = total + kk;
SELECT * FROM ts ORDER BY k;
SELECT count(*) FROM log;
DELETE FROM ts WHERE k = 1;
INSERT INTO ts VALUES (1, 2);
CREATE VIEW vr AS SELECT * FROM r;
CREATE TRIGGER vr_change INSTEAD OF DELETE ON vr FOR EACH ROW EXECUTE FUNCTION tv_change();
DROP TRIGGER vr_change ON vr;
CREATE FUNCTION vr_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE r SET v = NULL WHERE id = OLD.id; RETURN OLD; END $$;
CREATE TRIGGER vr_change INSTEAD OF DELETE ON vr FOR EACH ROW EXECUTE FUNCTION vr_change();
DELETE FROM vr WHERE id IN (1, 2) RETURNING *;
UPDATE vr SET v = v + 1 WHERE id = 4 RETURNING *;
INSERT INTO vr VALUES (90, 90) ON CONFLICT (id) DO UPDATE SET v = 91 RETURNING *;
SELECT * FROM r ORDER BY id;
DELETE FROM vr v USING t WHERE t.k = v.id AND t.id = 12;
SELECT * FROM r ORDER BY id;
