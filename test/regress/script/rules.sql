-- Rules of tables and of views: statements are rewritten as PostgreSQL rewrites them, and what comes of
-- them is planned as any statement.
CREATE TABLE log (n serial, line text);
CREATE TABLE t (k int NOT NULL, id int, v int, w text DEFAULT 'w', PRIMARY KEY (k, id));
CREATE TABLE other (k int, id int, v int);
CREATE TABLE far (id int PRIMARY KEY, n int);
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE s (id int PRIMARY KEY, v int);
SELECT distribute('t', 'k');
SELECT distribute('other', 'k', 't');
SELECT distribute('far', 'id');
SELECT distribute('log', 'n');
SELECT reference('r');
SELECT single('s');
INSERT INTO t SELECT i % 7, i, i * 10 FROM generate_series(1, 20) i;
INSERT INTO r SELECT i, i * 100 FROM generate_series(0, 6) i;
INSERT INTO far SELECT i, 0 FROM generate_series(0, 30) i;

-- DO ALSO
CREATE RULE note_insert AS ON INSERT TO t DO ALSO INSERT INTO log (line) VALUES (concat_ws(' ', 'insert', new.k, new.id, new.v, new.w));
CREATE RULE note_update AS ON UPDATE TO t WHERE old.v IS DISTINCT FROM new.v DO ALSO
	INSERT INTO log (line) SELECT concat_ws(' ', 'update', old.k, old.id, old.v, new.v);
CREATE RULE note_delete AS ON DELETE TO t DO ALSO (
	INSERT INTO log (line) VALUES (concat_ws(' ', 'delete', old.k, old.id));
	UPDATE far SET n = n + 1 WHERE id = old.k);
INSERT INTO t VALUES (1, 100, 5);
INSERT INTO t VALUES (2, 100, 5, 'x'), (3, 100, 6, DEFAULT) RETURNING *;
INSERT INTO t (id, k) SELECT id + 200, k FROM t WHERE k = 1;
UPDATE t SET v = v + 1 WHERE k = 3;
UPDATE t SET v = r.v FROM r WHERE r.id = t.k AND t.id = 3 RETURNING t.k, t.id, t.v, r.id;
UPDATE t SET w = 'same' WHERE k = 2 RETURNING id;
UPDATE t SET v = (SELECT count(*) FROM far) WHERE k = 5;
DELETE FROM t WHERE k = 4;
DELETE FROM t USING far WHERE far.id = t.id AND t.k = 5 AND t.id < 10 RETURNING t.id;
WITH x AS (SELECT 6 AS k) DELETE FROM t USING x WHERE t.k = x.k;
SELECT count(*), string_agg(line, ',' ORDER BY line COLLATE "C") FROM log;
SELECT * FROM t ORDER BY k, id;
SELECT * FROM far WHERE n > 0 ORDER BY id;
PREPARE p (int, int) AS UPDATE t SET v = $2 WHERE k = $1;
EXECUTE p (1, 77);
EXECUTE p (2, 78);
SELECT count(*), string_agg(line, ',' ORDER BY line COLLATE "C") FROM log;
ALTER TABLE t DISABLE RULE note_update;
EXECUTE p (1, 79);
SELECT count(*) FROM log;
ALTER TABLE t ENABLE RULE note_update;
EXECUTE p (1, 80);
SELECT count(*) FROM log;
ALTER RULE note_update ON t RENAME TO note_change;
COMMENT ON RULE note_change ON t IS 'writes a line';
DROP RULE note_change ON t;
EXECUTE p (1, 81);
SELECT count(*) FROM log;
DROP RULE note_insert ON t;
DROP RULE note_delete ON t;

-- DO INSTEAD, with conditions and without
CREATE RULE keep AS ON DELETE TO t WHERE old.v > 50 DO INSTEAD NOTHING;
DELETE FROM t WHERE k IN (1, 2) RETURNING k, id;
DELETE FROM t WHERE k IN (1, 2);
SELECT * FROM t ORDER BY k, id;
CREATE RULE moved AS ON INSERT TO t WHERE new.v < 0 DO INSTEAD INSERT INTO other VALUES (new.k, new.id, new.v);
INSERT INTO t VALUES (1, 300, -1), (2, 300, 1), (3, 300, -3);
INSERT INTO t SELECT k, id + 400, id - 15 FROM t WHERE id < 20;
SELECT * FROM t ORDER BY k, id;
SELECT * FROM other ORDER BY k, id;
CREATE RULE soft AS ON DELETE TO other DO INSTEAD UPDATE other SET v = NULL WHERE k = old.k AND id = old.id RETURNING old.k, old.id, other.v;
DELETE FROM other WHERE k = 1 RETURNING *;
DELETE FROM other WHERE v < -5;
SELECT * FROM other ORDER BY k, id;
CREATE RULE elsewhere AS ON UPDATE TO other DO INSTEAD UPDATE far SET n = new.v WHERE id = old.id - 400;
UPDATE other SET v = 1000 + k;
SELECT * FROM far WHERE n > 0 ORDER BY id;
INSERT INTO other VALUES (1, 1, 1) ON CONFLICT DO NOTHING;
DROP RULE soft ON other;
DROP RULE elsewhere ON other;
DROP RULE keep ON t;
DROP RULE moved ON t;

-- Reference tables, single-shard tables
CREATE RULE to_s AS ON INSERT TO r DO ALSO INSERT INTO s VALUES (new.id, new.v);
CREATE RULE with_s AS ON UPDATE TO r DO ALSO UPDATE s SET v = new.v WHERE s.id = old.id;
CREATE RULE nothing AS ON DELETE TO s DO INSTEAD NOTHING;
INSERT INTO r VALUES (50, 1), (51, 2);
UPDATE r SET v = v + 1 WHERE id >= 50;
DELETE FROM s;
DELETE FROM s WHERE id = 50 RETURNING *;
SELECT * FROM r ORDER BY id;
SELECT * FROM s ORDER BY id;
CREATE RULE count_t AS ON DELETE TO r DO ALSO UPDATE t SET v = -old.v WHERE t.k = old.id;
DELETE FROM r WHERE id < 4;
SELECT * FROM t ORDER BY k, id;

-- Views
CREATE VIEW tv AS SELECT t.k, t.id, t.v, r.v AS rv FROM t JOIN r ON r.id = t.k;
CREATE RULE tv_insert AS ON INSERT TO tv DO INSTEAD INSERT INTO t (k, id, v) VALUES (new.k, new.id, new.v) RETURNING t.k, t.id, t.v, 0;
CREATE RULE tv_update AS ON UPDATE TO tv DO INSTEAD (
	UPDATE t SET v = new.v WHERE t.k = old.k AND t.id = old.id;
	UPDATE r SET v = new.rv WHERE r.id = old.k AND old.rv IS DISTINCT FROM new.rv);
CREATE RULE tv_delete AS ON DELETE TO tv DO INSTEAD DELETE FROM t WHERE k = old.k AND id = old.id RETURNING old.*;
INSERT INTO tv VALUES (4, 500, 1, 2), (5, 500, 3, 4) RETURNING *;
INSERT INTO tv SELECT k, id + 100, v FROM tv WHERE id = 500;
UPDATE tv SET v = v + 1 WHERE k = 4;
UPDATE tv SET rv = 4000 WHERE k = 4 AND id = 500;
DELETE FROM tv WHERE id = 500 RETURNING *;
DELETE FROM tv WHERE rv = 4000;
SELECT * FROM tv ORDER BY k, id;
SELECT * FROM r ORDER BY id;
CREATE VIEW tsum AS SELECT k, sum(v) AS total FROM t GROUP BY k;
CREATE RULE tsum_update AS ON UPDATE TO tsum DO INSTEAD UPDATE t SET v = new.total / (SELECT count(*) FROM t c WHERE c.k = old.k) WHERE t.k = old.k;
CREATE RULE tsum_also AS ON DELETE TO tsum DO ALSO INSERT INTO far VALUES (old.k + 1000, old.total);
UPDATE tsum SET total = total * 2 WHERE k = 3;
DELETE FROM tsum;
SELECT * FROM tsum ORDER BY k;
CREATE RULE tsum_instead AS ON DELETE TO tsum DO INSTEAD DELETE FROM t WHERE t.k = old.k;
DELETE FROM tsum WHERE total > 300;
SELECT * FROM tsum ORDER BY k;
SELECT * FROM far WHERE id >= 1000 ORDER BY id;
DROP VIEW tv, tsum;

-- Whole rows, and notices
CREATE RULE whole AS ON UPDATE TO t DO ALSO INSERT INTO log (line) VALUES ((old.*)::text || (new.*)::text), ((old)::text);
UPDATE t SET v = 9 WHERE k = 0 AND id < 10;
SELECT string_agg(line, ',' ORDER BY line COLLATE "C") FROM log WHERE line LIKE '(%';
-- The action's VALUES refer to what the rewriter puts behind them; the order of its rows is open.
CREATE TABLE told (k int, v int);
SELECT distribute('told', 'v');
INSERT INTO told SELECT i, i FROM generate_series(1, 4) i;
CREATE RULE tell_values AS ON UPDATE TO told DO ALSO VALUES (old.k, old.v, 'old'), (new.k, new.v, 'new');
UPDATE told SET v = v + 10 \g |sort
UPDATE told SET k = k + 10 WHERE v = 12;
CREATE RULE tell_deleted AS ON DELETE TO told DO ALSO SELECT * FROM (VALUES (old.k, 'a'), (old.v, 'b')) x (n, t), LATERAL (SELECT x.n + old.k AS y) z;
DELETE FROM told WHERE v = 12 \g |sort
DELETE FROM told \g |sort
DROP TABLE told;
CREATE RULE tell AS ON INSERT TO far DO NOTIFY far;
INSERT INTO far VALUES (2000, 1);
MERGE INTO t USING r ON r.id = t.k WHEN MATCHED THEN DELETE;
COPY (DELETE FROM t WHERE id = 300 AND k = 1 RETURNING *) TO stdout;
DROP RULE tell ON far;

-- What depends on tables
CREATE RULE needs AS ON INSERT TO far DO ALSO INSERT INTO other VALUES (new.id);
DROP TABLE other;
ALTER TABLE other DROP COLUMN v;
DROP TABLE other CASCADE;
INSERT INTO far VALUES (2001, 1);
CREATE TABLE p (k int, v int) PARTITION BY RANGE (v);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
SELECT distribute('p', 'k');
CREATE RULE pr AS ON INSERT TO p DO ALSO INSERT INTO far VALUES (new.k + 3000, new.v);
CREATE RULE p1r AS ON INSERT TO p1 DO ALSO INSERT INTO far VALUES (new.k + 4000, new.v);
INSERT INTO p VALUES (1, 1);
INSERT INTO p1 VALUES (2, 1);
SELECT * FROM far WHERE id > 3000 ORDER BY id;
