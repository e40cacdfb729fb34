\i :tables
CREATE FUNCTION later(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN i * 10; END';
CREATE SEQUENCE numbers;

-- One row, some, all; to the same value, to another one of the same shard, to another shard.
UPDATE a SET k = 77 WHERE k = 1 AND id = 11;
SELECT * FROM a WHERE k = 77;
SELECT * FROM a WHERE k = 1 AND id = 11;
UPDATE a SET k = 77 WHERE id = 11;
UPDATE a SET k = k + 100 WHERE id < 20;
SELECT * FROM digest();
UPDATE a SET k = id, v = v + 1;
SELECT * FROM digest();
SELECT count(*), count(DISTINCT k) FROM a;
UPDATE a SET k = id % 10;
UPDATE a SET k = 3 WHERE k = 300;
UPDATE a SET k = 3 WHERE false;
UPDATE a SET k = 1 WHERE k = 1 AND id = 1;
UPDATE a SET k = k, v = 0 WHERE k = 2;
SELECT * FROM digest();

-- Of whatever is given: other columns, rows, subqueries, sequences, functions of users, defaults.
UPDATE a SET (k, v) = (id + 1000, k) WHERE k = 5;
UPDATE a SET (v, k) = (SELECT max(b.v), count(*) FROM b WHERE b.id < a.id) WHERE a.k = 6;
UPDATE a SET k = (SELECT min(id) FROM l WHERE l.v = a.v) WHERE v IN (1, 2) AND k = 7;
UPDATE a SET k = 500 + later(id) WHERE k = 8;
UPDATE a SET k = nextval('numbers') + 2000 WHERE k = 9;
SELECT count(*), count(DISTINCT k), min(k), max(k) FROM a WHERE k BETWEEN 2001 AND 2100;
UPDATE a SET k = 9 WHERE k BETWEEN 2001 AND 2100;
UPDATE a SET k = id % 10 WHERE later(id) > 0;
SELECT * FROM digest();
UPDATE g SET k = k + 50, d = DEFAULT WHERE k < 6;
UPDATE g SET k = DEFAULT WHERE k = 7;
UPDATE c SET k = k || '+', tags[2] = v::text WHERE v < 9;
UPDATE c SET k = upper(k) WHERE v > 25;
SELECT * FROM digest();

-- Joined, with rows that match several times.
UPDATE a SET k = a.k + 100 FROM b WHERE a.k = b.k AND a.id = b.id;
UPDATE a SET k = a.k - 100 FROM b WHERE a.k = b.k + 100 AND a.id = b.id AND a.k > 99;
SELECT * FROM digest();
UPDATE a SET k = r.id + 20, w = r.w FROM r WHERE r.id = a.v;
UPDATE a SET k = l.id FROM l LEFT JOIN r USING (id) WHERE l.id = a.id AND r.w IS NOT NULL;
UPDATE a SET k = s.id * 100 FROM s WHERE s.id = a.id RETURNING a.id, a.k, s.w \g |sort
UPDATE a SET k = x.k FROM (VALUES (31, 7000), (32, 7001), (33, 7002)) x (id, k) WHERE x.id = a.id RETURNING a.*, x \g |sort
UPDATE a SET k = o.k FROM a o WHERE o.id = a.id + 1 AND a.id < 10 RETURNING a.k, o.id \g |sort
UPDATE a SET k = id % 10 WHERE id IN (SELECT id FROM b);
UPDATE a SET k = k + 5 WHERE EXISTS (SELECT 1 FROM b WHERE b.v = a.v) AND id > 90;
SELECT * FROM digest();
UPDATE a SET k = id % 10;

-- RETURNING: rows as they are afterwards.
UPDATE a SET k = k + 30, v = id WHERE id < 4 RETURNING * \g |sort
UPDATE a SET k = k + 30 WHERE id = 1 RETURNING k, id * 2 AS twice, (SELECT count(*) FROM b o WHERE o.k = a.k) AS others, (SELECT max(id) FROM l);
UPDATE a SET k = k + 30 WHERE id = 1 RETURNING later(k), w || '!' AS w;
UPDATE g SET k = k + 1000, v = v + 1 WHERE k = 10 RETURNING *, twice / 2 = v AS same;
UPDATE a SET k = k WHERE id = 2 RETURNING tableoid::regclass;
UPDATE a SET k = k + 1 WHERE id = 2 RETURNING tableoid::regclass;
WITH moved AS (UPDATE a SET k = k + 10 WHERE id < 6 RETURNING *) SELECT id, k FROM moved ORDER BY id;
WITH moved AS (UPDATE a SET k = k + 10 WHERE id < 6 RETURNING id, k), log AS (INSERT INTO b SELECT k, id, 0, 'moved' FROM moved RETURNING k) SELECT count(*) FROM log;
WITH x AS (SELECT id, v FROM l) UPDATE a SET k = x.v FROM x WHERE x.id = a.id RETURNING a.id, a.k, x.v \g |sort
WITH gone AS (DELETE FROM a WHERE id = 50 RETURNING *) UPDATE b SET k = gone.k + 40 FROM gone WHERE b.id = gone.id RETURNING b.* \g |sort
SELECT * FROM digest();

-- Prepared.
PREPARE move (int, int, text) AS UPDATE a SET k = $1, w = $3 WHERE id = $2 RETURNING *;
EXECUTE move(1, 60, 'a');
EXECUTE move(1, 60, 'b');
EXECUTE move(2, 60, 'c');
EXECUTE move(3, 60, 'd');
EXECUTE move(4, 60, 'e');
EXECUTE move(5, 60, 'f');
EXECUTE move(6, 60, 'g');
EXECUTE move(6, 600, 'h');
EXECUTE move(NULL, 60, 'i');
PREPARE stay (int, text) AS UPDATE a SET k = $1, w = $2 WHERE k = $1 AND id = 60;
EXECUTE stay(6, 'j');
EXECUTE stay(6, 'k');
EXECUTE stay(7, 'l');
SELECT * FROM a WHERE id = 60;
CREATE FUNCTION move_it(int, int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
	UPDATE a SET k = $2 WHERE id = $1;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;
SELECT move_it(i, i + 300) FROM generate_series(61, 67) i;
SELECT move_it(1000, 3);
SELECT * FROM digest();

-- What fails changes nothing.
INSERT INTO a (k, id) VALUES (901, 1), (902, 2), (903, 3);
UPDATE a SET k = 901 WHERE k = 902 AND id = 2;
UPDATE a SET k = 903, id = 3 WHERE k = 902 AND id = 1;
UPDATE a SET k = NULL WHERE k = 901;
UPDATE a SET k = 901, id = 1 WHERE k = 902;
UPDATE g SET k = k + 500, v = 100 WHERE k = 12;
UPDATE a SET k = 1 / (id - 3) WHERE k = 903;
UPDATE a SET k = 3000000000 WHERE k = 903;
SELECT * FROM digest();

-- In transactions, with savepoints.
BEGIN;
UPDATE a SET k = k + 1 WHERE id < 30;
SAVEPOINT one;
UPDATE a SET k = k + 1 WHERE id < 30;
DELETE FROM a WHERE id = 5;
ROLLBACK TO one;
UPDATE a SET k = k * 2 WHERE id < 30;
UPDATE a SET k = k / 2, v = 1 WHERE id < 30;
SELECT sum(k), count(*) FROM a WHERE id < 30;
COMMIT;
BEGIN;
UPDATE a SET k = -id;
ROLLBACK;
SELECT * FROM digest();

-- MERGE: by one action or several, with rows that stay.
UPDATE a SET k = id % 10;
MERGE INTO a USING (SELECT id, v FROM l) s ON s.id = a.id WHEN MATCHED AND s.id > 6 THEN UPDATE SET k = a.k + 70, v = s.v WHEN MATCHED THEN UPDATE SET k = s.v;
MERGE INTO a USING l s ON s.id = a.id AND a.k = s.v WHEN MATCHED AND s.id = 5 THEN DELETE WHEN MATCHED THEN UPDATE SET k = s.id + 60, w = s.w WHEN NOT MATCHED THEN INSERT (k, id) VALUES (88, s.id + 1000);
MERGE INTO a USING b ON a.k = b.k AND a.id = b.id WHEN MATCHED AND b.v < 3 THEN UPDATE SET k = b.k + 1 WHEN MATCHED AND b.v = 4 THEN UPDATE SET k = b.k WHEN NOT MATCHED AND b.v = 5 THEN INSERT (k, id) VALUES (b.k + 30, b.id + 2000);
MERGE INTO a USING (SELECT 64 AS id, 5 AS k) s ON s.id = a.id WHEN MATCHED THEN UPDATE SET k = s.k;
MERGE INTO a USING (VALUES (71, 5), (71, 6)) s (id, k) ON s.id = a.id WHEN MATCHED THEN UPDATE SET k = s.k;
MERGE INTO g USING l ON g.k = l.id WHEN MATCHED THEN UPDATE SET k = g.k + 2000;
SELECT * FROM digest();

-- Views.
CREATE VIEW plain_view AS SELECT k, id, v FROM a WHERE v < 5;
CREATE VIEW checked AS SELECT k AS key, id, v FROM a WHERE k < 1000 WITH CHECK OPTION;
CREATE VIEW barrier WITH (security_barrier) AS SELECT k, id, v FROM a WHERE k < 1000;
UPDATE plain_view SET k = k + 200 WHERE id BETWEEN 70 AND 80 RETURNING * \g |sort
UPDATE checked SET key = key + 1 WHERE id BETWEEN 70 AND 80 RETURNING * \g |sort
UPDATE checked SET key = key + 1000 WHERE id = 81;
UPDATE checked SET key = 999, v = v WHERE id = 81;
UPDATE barrier SET k = k + 2000 WHERE id > 95;
UPDATE barrier SET k = k + 1 WHERE later(id) > 900 RETURNING k, id, v \g |sort
MERGE INTO plain_view p USING l ON l.id = p.id WHEN MATCHED THEN UPDATE SET k = 5000 + l.id;
SELECT * FROM digest();

-- Generated columns, identities, columns that are gone.
CREATE TABLE odd (gone int, i int GENERATED ALWAYS AS IDENTITY, k bigint NOT NULL, away text, v text DEFAULT 'd', up text GENERATED ALWAYS AS (upper(v) || k::text) STORED, also int[]);
ALTER TABLE odd DROP gone;
SELECT distribute('odd', 'k', 'none');
INSERT INTO odd (k, away, v, also) SELECT i, 'x', 'v' || i, ARRAY[i, i] FROM generate_series(1, 20) i;
ALTER TABLE odd DROP away;
ALTER TABLE odd ADD late int DEFAULT 7;
UPDATE odd SET k = k + 100 WHERE i < 8;
UPDATE odd SET k = k * 3, v = 'new', also[2] = 5 WHERE i BETWEEN 5 AND 10 RETURNING * \g |sort
UPDATE odd SET k = DEFAULT WHERE i = 1;
UPDATE odd o SET k = 5, i = DEFAULT WHERE o.i = 3 RETURNING o.i > 20 AS new, o.k;
UPDATE odd SET k = k + 1 RETURNING odd \g |sed s/,2[1-9],//|sort
SELECT k, v, up, also, late FROM odd ORDER BY k, v;

-- Partitioned tables: to other shards, to other partitions, both.
CREATE TABLE p (k int, d int, w text) PARTITION BY RANGE (d);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 (w text, d int, k int);
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20);
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (20) TO (30) PARTITION BY LIST (w);
CREATE TABLE p3a PARTITION OF p3 FOR VALUES IN ('w0', 'w1');
CREATE TABLE p3b PARTITION OF p3 DEFAULT;
ALTER TABLE p ALTER k SET NOT NULL;
SELECT distribute('p', 'k', 'none');
INSERT INTO p SELECT i % 8, i, 'w' || i % 4 FROM generate_series(0, 29) i;
UPDATE p SET k = k + 50 WHERE d % 3 = 0;
SELECT k, d, w FROM p ORDER BY d, k;
UPDATE p SET d = (d + 10) % 30, k = k + 3 WHERE w IN ('w1', 'w3') RETURNING * \g |sort
UPDATE p SET w = 'w9', k = k FROM r WHERE r.id = p.k;
UPDATE p SET k = p.k + r.v, w = 'w0' FROM r WHERE r.id = p.d RETURNING p.k, d, r.id, p.w \g |sort
UPDATE p SET k = k + 1, d = 40 WHERE d = 3;
UPDATE p3 SET k = k + 7 WHERE d < 26;
UPDATE p3a SET k = k + 7, w = 'w1' WHERE d < 26;
UPDATE p3a SET k = k + 7, w = 'w3' WHERE d < 26;
SELECT p3a.* FROM p3a ORDER BY d, k, w;
SELECT p.* FROM p ORDER BY d, k, w;
