-- Rows that have several copies and no primary key: what changes them has to find the same ones on each copy, or any of those that are the same.
SET citus.shard_replication_factor = 2;
CREATE TABLE h (k int, x int, w text);
CREATE TABLE p (k int, x int, w text) PARTITION BY LIST (x);
CREATE TABLE p_low PARTITION OF p FOR VALUES IN (0, 1, 2);
CREATE TABLE p_rest (w text, gone int, x int, k int);
ALTER TABLE p_rest DROP gone;
ALTER TABLE p ATTACH PARTITION p_rest DEFAULT;
CREATE TABLE pr (id int, x int) PARTITION BY RANGE (x);
CREATE TABLE pr_0 PARTITION OF pr FOR VALUES FROM (MINVALUE) TO (3);
CREATE TABLE pr_1 PARTITION OF pr DEFAULT;
CREATE TABLE src (id int PRIMARY KEY, v int);
SELECT distribute('h', 'k'); SELECT distribute('p', 'k'); SELECT reference('pr'); SELECT distribute('src', 'id');
CREATE FUNCTION later(int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN $1 + 1; END $$;
INSERT INTO h SELECT i % 4, i % 3, 'w' || i % 2 FROM generate_series(1, 48) i;
INSERT INTO p SELECT i % 4, NULLIF(i % 5, 3), 'w' || i % 2 FROM generate_series(1, 40) i;
INSERT INTO pr SELECT i % 4, i % 5 FROM generate_series(1, 40) i;
INSERT INTO src SELECT i, i * 2 FROM generate_series(0, 7) i;
CREATE FUNCTION show() RETURNS TABLE (t text, n bigint) LANGUAGE sql AS $$
	SELECT 'h ' || h::text, count(*) FROM twice.h GROUP BY h::text UNION ALL SELECT tableoid::regclass || ' ' || p::text, count(*) FROM twice.p GROUP BY tableoid, p::text
	UNION ALL SELECT tableoid::regclass || ' ' || pr::text, count(*) FROM twice.pr GROUP BY tableoid, pr::text ORDER BY 1 $$;
-- What is computed here
UPDATE h SET x = later(x) WHERE k = 2;
UPDATE p SET w = 'v' || later(k) WHERE x < 2;
UPDATE p SET x = later(x) WHERE k = 1;
UPDATE pr SET x = later(x) WHERE id < 3;
UPDATE pr SET id = s.v FROM (SELECT DISTINCT ON (v) * FROM src ORDER BY v) s WHERE s.id = pr.id AND pr.x = 4;
DELETE FROM p WHERE k = 3 AND x IN (SELECT x FROM h ORDER BY x LIMIT 5) AND later(x) > 0;
DELETE FROM pr WHERE x = 1 AND later(id) = 3;
SELECT * FROM show();
-- Rows that move
UPDATE h SET k = later(k) WHERE x = 1;
UPDATE h SET k = k + 1, x = 10 WHERE k < 2 RETURNING x;
UPDATE p SET k = later(k) WHERE w = 'w1';
UPDATE p SET k = 7, x = NULL WHERE x = 4 RETURNING k, x;
UPDATE h SET k = CASE WHEN k = 5 THEN k ELSE k + 2 END, w = 'moved' FROM src WHERE src.id = h.x;
SELECT * FROM show();
-- MERGE
MERGE INTO h USING src ON src.id = h.x WHEN MATCHED AND src.v > 2 THEN DELETE WHEN MATCHED THEN UPDATE SET w = 'm' || src.v WHEN NOT MATCHED THEN INSERT VALUES (src.id, src.v, 'new');
MERGE INTO p USING src ON src.id = p.x WHEN MATCHED AND p.k = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET x = p.x + 1 WHEN NOT MATCHED THEN INSERT VALUES (src.id, src.v, 'new');
MERGE INTO pr USING src ON src.id = pr.id WHEN MATCHED AND later(pr.x) < 3 THEN DELETE WHEN MATCHED THEN UPDATE SET x = src.v WHEN NOT MATCHED THEN INSERT VALUES (src.id, src.v);
MERGE INTO h USING (SELECT * FROM src, generate_series(1, 2)) s ON s.id = h.x AND h.k = 3 WHEN MATCHED THEN UPDATE SET w = 'twice';
SELECT * FROM show();
-- Triggers
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING '% % %', TG_TABLE_NAME, TG_OP, coalesce(NEW, OLD); RETURN coalesce(NEW, OLD); END $$;
CREATE TRIGGER note AFTER UPDATE OR DELETE ON p FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER note BEFORE UPDATE OR DELETE ON pr_1 FOR EACH ROW EXECUTE FUNCTION note();
UPDATE p SET w = 't' WHERE k = 7;
UPDATE p SET x = 3 WHERE x = 2 AND k < 2;
DELETE FROM p WHERE k = 2 AND x IS NOT NULL;
UPDATE pr SET x = x + 1 WHERE id = 2;
DELETE FROM pr WHERE x > 4 AND id = 3;
SELECT * FROM show();
