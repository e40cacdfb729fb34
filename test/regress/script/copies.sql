-- Changes of tables with several copies: all copies get the same rows, whatever the values come from.
CREATE TABLE r (id int PRIMARY KEY, v float, w text);
CREATE TABLE n (id int, v float, w text); -- no key
CREATE TABLE u (a int, b int, v float, UNIQUE (a, b));
CREATE TABLE d (k int, x int, y text, PRIMARY KEY (k, x));
CREATE TABLE g (id int PRIMARY KEY, v int, dbl int GENERATED ALWAYS AS (v * 2) STORED);
SELECT reference('r'); SELECT reference('n'); SELECT reference('u'); SELECT reference('g');
SELECT distribute('d', 'k');
CREATE SEQUENCE q;
CREATE FUNCTION next() RETURNS int LANGUAGE sql VOLATILE AS $$ SELECT nextval('twice.q')::int $$;
INSERT INTO r SELECT i, i, 'r' FROM generate_series(1, 10) i;
INSERT INTO n SELECT i / 2, i, 'n' FROM generate_series(1, 10) i;
INSERT INTO n SELECT * FROM n WHERE v = 4;
INSERT INTO u SELECT i / 2, CASE WHEN i % 3 > 0 THEN i END, i FROM generate_series(1, 10) i;
INSERT INTO d SELECT i % 5, i, 'd' || i FROM generate_series(1, 20) i;
INSERT INTO g SELECT i, i FROM generate_series(1, 10) i;
-- LIMIT
UPDATE r SET v = (SELECT x FROM d WHERE k = 1 ORDER BY x LIMIT 1);
UPDATE r SET v = (SELECT x FROM d WHERE d.k = r.id ORDER BY x LIMIT 1);
UPDATE r SET w = 'limit' WHERE id IN (SELECT id FROM r ORDER BY id LIMIT 3);
UPDATE n SET w = 'limit' WHERE id IN (SELECT id FROM n ORDER BY v LIMIT 3);
DELETE FROM n WHERE v = (SELECT v FROM n ORDER BY v OFFSET 5 LIMIT 1);
DELETE FROM u WHERE (a, b) IN (SELECT a, b FROM u WHERE b IS NOT NULL ORDER BY a, b LIMIT 2);
UPDATE n SET v = s.x FROM (SELECT * FROM d ORDER BY x LIMIT 2) s WHERE s.x = n.id;
UPDATE n SET v = (SELECT v FROM u WHERE u.a = n.id ORDER BY v LIMIT 1) WHERE v < 5;
DELETE FROM n USING (SELECT a FROM u ORDER BY a LIMIT 2) s WHERE s.a = n.id;
SELECT * FROM r ORDER BY id; SELECT * FROM n ORDER BY v, id, w; SELECT * FROM u ORDER BY v, a, b;
-- DISTINCT ON, window functions
UPDATE r SET v = s.x FROM (SELECT DISTINCT ON (k) k, x FROM d ORDER BY k, x) s WHERE s.k = r.id;
UPDATE n SET v = s.x FROM (SELECT DISTINCT ON (k) k, x FROM d ORDER BY k, x DESC) s WHERE s.k = n.id;
UPDATE n SET v = s.v FROM (SELECT DISTINCT ON (a) a, v FROM u ORDER BY a, v) s WHERE s.a = n.id;
UPDATE u SET v = s.no FROM (SELECT id, row_number() OVER (ORDER BY id) AS no FROM r) s WHERE s.id = u.a;
DELETE FROM r WHERE id IN (SELECT id FROM (SELECT id, rank() OVER (ORDER BY v) AS no FROM r) s WHERE no = 1);
DELETE FROM n WHERE w IN (SELECT w FROM (SELECT w, sum(v) OVER (ORDER BY v) AS no FROM n) s WHERE no > 20 AND no < 40);
SELECT * FROM r ORDER BY id; SELECT * FROM n ORDER BY v, id, w; SELECT * FROM u ORDER BY v, a, b;
-- Volatile functions
UPDATE r SET v = next() WHERE id = 3 RETURNING *;
UPDATE r SET v = random() WHERE id > 8;
UPDATE n SET v = random() WHERE id = 2;
UPDATE n SET v = next() + 100 WHERE v = 7 RETURNING v;
UPDATE n SET v = nextval('q') + 1000, w = 'seq' WHERE v > 8 RETURNING v > 1000;
UPDATE u SET v = random() WHERE b IS NULL;
UPDATE u SET v = next() WHERE a = 4 AND b = 8;
UPDATE g SET v = (random() * 100)::int WHERE id < 5;
DELETE FROM n WHERE id = 1 AND random() < 2 RETURNING id;
DELETE FROM u WHERE b IS NULL AND random() >= 0;
DELETE FROM r WHERE id = 9 AND next() > 0;
UPDATE n SET w = gen_random_uuid()::text WHERE id = 3;
UPDATE n SET w = clock_timestamp()::text FROM r WHERE r.id = n.id AND n.id = 4;
UPDATE n SET v = next() FROM d WHERE d.x = n.id AND d.k = 2 RETURNING d.x;
UPDATE n SET v = -1 WHERE id = 2 RETURNING next() > 0, v, random() < 2;
DELETE FROM n WHERE id = 2 RETURNING next() > 0, v;
-- INSERT
INSERT INTO r SELECT x + 100, random(), 'ins' FROM d;
INSERT INTO n SELECT x, random(), 'ins' FROM d RETURNING id > 0;
INSERT INTO r SELECT DISTINCT ON (k) k + 200, x, y FROM d ORDER BY k, x;
INSERT INTO r SELECT x + 300, k, y FROM d ORDER BY x LIMIT 3 RETURNING *;
INSERT INTO r (id, v) VALUES (1000, random()), (1001, next()) RETURNING id;
INSERT INTO r (id, v) VALUES (1, 1), (1002, 2) ON CONFLICT (id) DO UPDATE SET v = random();
INSERT INTO r (id, v) VALUES (2, 1), (1003, 2) ON CONFLICT (id) DO UPDATE SET v = next() + 5000 RETURNING v > 5000;
INSERT INTO r (id, v) SELECT id, 1 FROM r WHERE id < 5 ON CONFLICT (id) DO UPDATE SET v = random() + r.v, w = 'conflict';
INSERT INTO r (id, v) VALUES (2, 1) ON CONFLICT (id) DO UPDATE SET v = (SELECT x FROM d ORDER BY x LIMIT 1), w = (SELECT w FROM n ORDER BY v LIMIT 1);
INSERT INTO r (id, v) VALUES (2, 1), (3, 7) ON CONFLICT (id) DO UPDATE SET v = 9 WHERE random() < 2 RETURNING id, v, random() < 2;
INSERT INTO g (id, v) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET v = (random() * 10)::int RETURNING dbl = v * 2;
-- MERGE
MERGE INTO r USING d ON d.x = r.id WHEN MATCHED THEN UPDATE SET v = random() WHEN NOT MATCHED THEN INSERT VALUES (d.x + 2000, random(), 'm');
MERGE INTO n USING r ON r.id = n.id AND r.id = 4 WHEN MATCHED THEN DELETE;
-- Rows that are the same, of which some are changed, in other ways each.
CREATE TABLE same (id int, w text);
SELECT reference('same');
INSERT INTO same SELECT i % 3, 'same' FROM generate_series(1, 12) i;
MERGE INTO same USING d ON d.x = same.id AND d.k = 2 WHEN MATCHED THEN UPDATE SET w = d.y WHEN NOT MATCHED THEN INSERT VALUES (d.x + 10, random()::text);
SELECT id, w FROM same WHERE id < 10 ORDER BY 1, 2;
SELECT count(*) FROM same WHERE id > 10;
MERGE INTO same USING (SELECT k, min(x) AS x FROM d GROUP BY k) s ON s.k = same.id WHEN MATCHED AND next() % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET w = 'left ' || s.x;
SELECT id, w FROM same WHERE id < 10 ORDER BY 1, 2;
MERGE INTO same USING (SELECT k, min(x) AS x FROM d GROUP BY k) s ON s.k = same.id WHEN MATCHED AND same.w IS NULL THEN DO NOTHING WHEN MATCHED AND s.k = 2 THEN DELETE
	WHEN MATCHED AND random() < 2 THEN UPDATE SET id = same.id + 2, w = NULL WHEN NOT MATCHED AND random() < 2 THEN INSERT VALUES (s.k, s.x::text);
SELECT * FROM same WHERE id < 10 ORDER BY 1, 2;
MERGE INTO same USING d ON d.k = same.id AND d.k < 5 WHEN MATCHED THEN UPDATE SET w = d.y;
SELECT * FROM same WHERE id < 10 ORDER BY 1, 2;
-- From one of several rows
UPDATE r SET w = s.y FROM (SELECT * FROM d WHERE k = 2 ORDER BY x) s WHERE s.k = r.id;
UPDATE n SET w = 'one' FROM d WHERE d.k = n.id;
-- More than one in a statement
WITH x AS (DELETE FROM n WHERE id = 5 RETURNING *) UPDATE r SET v = x.v FROM x WHERE r.id = x.id;
WITH x AS (DELETE FROM n WHERE id = 3 RETURNING *) INSERT INTO n SELECT id, random(), 'back' FROM x;
SELECT id, w FROM n WHERE w NOT LIKE '____-%' ORDER BY id, w;
SELECT id, w FROM r WHERE w <> 'ins' ORDER BY id;
SELECT count(*), count(v), max(length(w)) FROM r;
SELECT count(*), count(v) FROM n;
SELECT a, b FROM u ORDER BY a, b;
