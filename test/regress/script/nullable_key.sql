CREATE TABLE n (k int, id int, x int, w text);
CREATE TABLE o (k int, id int, x int);
CREATE TABLE h (k int NOT NULL, id int, x int);
CREATE TABLE e (k bigint, id int);
CREATE TABLE t (k text, id int);
CREATE TABLE r (id int PRIMARY KEY, x int);
-- rows with NULL that are there before
INSERT INTO n SELECT CASE WHEN i % 5 > 0 THEN i % 9 END, i, i % 4, 'w' || i FROM generate_series(1, 40) i;
INSERT INTO t SELECT CASE WHEN i % 4 > 0 THEN 't' || i % 6 END, i FROM generate_series(1, 20) i;
SELECT distribute('n', 'k');
SELECT distribute('o', 'k', 'n');
SELECT distribute('h', 'k', 'n');
SELECT distribute('e', 'k', 'none');
SELECT distribute('t', 'k', 'none');
SELECT reference('r');
SELECT count(*), count(k), sum(id) FROM n;
SELECT count(*), count(k), sum(id) FROM t;
-- every way to write one
INSERT INTO o VALUES (NULL, 1, 1), (1, 2, NULL), (NULL, 3, 3), (7, 4, 4) RETURNING *;
INSERT INTO o (id) VALUES (5) RETURNING *;
INSERT INTO o DEFAULT VALUES RETURNING *;
INSERT INTO o (id, x) SELECT id, x FROM n WHERE k IS NULL AND id < 20;
INSERT INTO o SELECT k, id + 100, x FROM n WHERE id < 15;
INSERT INTO o SELECT NULLIF(x, 2), id + 200, k FROM n WHERE id > 30;
INSERT INTO o SELECT NULL, id + 300, x FROM n WHERE k IS NULL;
PREPARE put(int, int) AS INSERT INTO o VALUES ($1, $2, $1) RETURNING k, id;
EXECUTE put(NULL, 401); EXECUTE put(3, 402); EXECUTE put(NULL, 403); EXECUTE put(NULL, 404); EXECUTE put(NULL, 405); EXECUTE put(NULL, 406); EXECUTE put(3, 407);
INSERT INTO o VALUES (NULL, 408, 1);
INSERT INTO o VALUES (NULL, 409, 1);
INSERT INTO o VALUES (NULL, 410, 1);
COPY o FROM stdin;
\N	501	1
4	502	\N
\N	503	3
\.
COPY o (id, x) FROM stdin WITH (FORMAT csv);
504,1
505,
\.
INSERT INTO h SELECT coalesce(k, 4), id, x FROM n WHERE id < 25;
INSERT INTO e SELECT k, id FROM n;
INSERT INTO e VALUES (10000000000, 100);
INSERT INTO r SELECT i, NULLIF(i % 4, 3) FROM generate_series(0, 8) i;
SELECT * FROM o ORDER BY id, k, x;
SELECT count(*) FROM h;
-- a key that is NOT NULL
INSERT INTO h VALUES (NULL, 1, 2);
INSERT INTO h (id, x) VALUES (1, 2);
INSERT INTO h (id) SELECT id FROM n WHERE id = 3;
INSERT INTO h DEFAULT VALUES;
COPY h FROM stdin;
\N	1	2
\.
PREPARE into_h(int) AS INSERT INTO h VALUES ($1, 1, 2);
EXECUTE into_h(NULL);
\set VERBOSITY default
\set SHOW_CONTEXT never
INSERT INTO h (x) VALUES (1);
INSERT INTO h VALUES (NULL, 5, 6);
\set VERBOSITY sqlstate
-- found
SELECT id FROM n WHERE k IS NULL ORDER BY id;
SELECT count(*) FROM n WHERE k IS NOT NULL;
SELECT id FROM n WHERE k IS NULL OR k = 3 ORDER BY id;
SELECT id FROM n WHERE k IN (3, NULL) ORDER BY id;
SELECT count(*), sum(id) FROM n WHERE k = NULL;
SELECT count(*), sum(id) FROM n WHERE k IS NOT DISTINCT FROM NULL;
SELECT count(*), sum(id) FROM n WHERE k IS NOT DISTINCT FROM 3;
SELECT count(*), sum(id) FROM n WHERE 3 IS NOT DISTINCT FROM k;
SELECT count(*), sum(id) FROM n WHERE k IS DISTINCT FROM 3;
SELECT count(*), sum(id) FROM n WHERE NOT (k IS NOT NULL);
SELECT count(*), sum(id) FROM n WHERE (k, x) IS NOT DISTINCT FROM (NULL, 1);
SELECT count(*), sum(id) FROM n WHERE (k, x) = (NULL, 1);
SELECT count(*), sum(id) FROM n WHERE (k, x) < (2, 1);
SELECT count(*), sum(id) FROM n WHERE ROW(k, x) IS NULL;
SELECT count(*), sum(id) FROM n WHERE k IS NULL AND k = 3;
SELECT count(*), sum(id) FROM n WHERE coalesce(k, 3) = 3;
SELECT count(*) FROM e WHERE k = 10000000000;
SELECT count(*) FROM n WHERE k = 10000000000;
SELECT count(*) FROM n WHERE k IS NOT DISTINCT FROM 10000000000;
SELECT count(*) FROM n WHERE k = ALL ('{}');
SELECT count(*) FROM t WHERE k IS NULL;
SELECT count(*) FROM t WHERE k::varchar IS NULL OR k = 't1';
PREPARE same(int) AS SELECT count(*), sum(id) FROM n WHERE k IS NOT DISTINCT FROM $1;
EXECUTE same(NULL); EXECUTE same(3); EXECUTE same(NULL); EXECUTE same(4); EXECUTE same(NULL); EXECUTE same(NULL); EXECUTE same(NULL); EXECUTE same(3);
PREPARE equal(int) AS SELECT count(*), sum(id) FROM n WHERE k = $1;
EXECUTE equal(NULL); EXECUTE equal(3); EXECUTE equal(NULL); EXECUTE equal(4); EXECUTE equal(NULL); EXECUTE equal(NULL); EXECUTE equal(NULL); EXECUTE equal(3);
PREPARE one_of(int, int) AS SELECT count(*), sum(id) FROM n WHERE k IN ($1, $2);
EXECUTE one_of(NULL, 3); EXECUTE one_of(NULL, NULL); EXECUTE one_of(3, 4); EXECUTE one_of(3, NULL); EXECUTE one_of(NULL, 3); EXECUTE one_of(NULL, NULL); EXECUTE one_of(NULL, NULL);
PREPARE wide(bigint) AS SELECT count(*), sum(id) FROM n WHERE k IS NOT DISTINCT FROM $1;
EXECUTE wide(NULL); EXECUTE wide(3); EXECUTE wide(10000000000); EXECUTE wide(4); EXECUTE wide(NULL); EXECUTE wide(10000000000); EXECUTE wide(NULL);
PREPARE changed(int, int) AS UPDATE n SET x = x + $2 WHERE k IS NOT DISTINCT FROM $1;
BEGIN; EXECUTE changed(NULL, 100); EXECUTE changed(3, 100); SELECT k, id, x FROM n WHERE x > 50 ORDER BY id; ROLLBACK;
-- NOT IN
SELECT count(*) FROM h WHERE k NOT IN (SELECT k FROM n);
SELECT count(*) FROM h WHERE k NOT IN (SELECT k FROM n WHERE k IS NOT NULL);
SELECT count(*) FROM h WHERE k NOT IN (SELECT k FROM n WHERE k = 3);
SELECT count(*) FROM n WHERE k NOT IN (SELECT k FROM h);
SELECT count(*) FROM n WHERE k NOT IN (SELECT k FROM h WHERE id < 0);
SELECT count(*) FROM n WHERE k NOT IN (SELECT k FROM h WHERE id < 5);
SELECT count(*) FROM n WHERE k IS NOT NULL AND k NOT IN (SELECT k FROM h WHERE id < 5);
SELECT count(*) FROM n WHERE (k IN (SELECT k FROM o)) IS NULL;
SELECT id, k IN (SELECT k FROM o) FROM n ORDER BY id;
SELECT id, k IN (SELECT k FROM h WHERE x = 9) FROM n ORDER BY id;
SELECT id, k IN (SELECT k FROM h) FROM n WHERE k IS NOT NULL ORDER BY id;
SELECT id, (k, x) IN (SELECT k, x FROM o) FROM n ORDER BY id;
SELECT count(*) FROM n WHERE k <> ALL (SELECT k FROM o WHERE id < 4);
SELECT count(*) FROM n WHERE k IN (SELECT k FROM o);
SELECT count(*) FROM n WHERE EXISTS (SELECT FROM o WHERE o.k = n.k);
SELECT count(*) FROM n WHERE NOT EXISTS (SELECT FROM o WHERE o.k = n.k);
SELECT count(*) FROM n WHERE NOT EXISTS (SELECT FROM o WHERE o.k IS NOT DISTINCT FROM n.k AND o.id < 3);
SELECT count(*) FROM n LEFT JOIN h ON n.k = h.k WHERE n.k NOT IN (SELECT k FROM h WHERE id < 5);
SELECT count(*) FROM h LEFT JOIN n ON n.k = h.k AND n.id < 9 WHERE n.k NOT IN (SELECT k FROM h WHERE id < 5);
SELECT count(*) FROM (SELECT k FROM n UNION ALL SELECT k FROM h) u WHERE k NOT IN (SELECT k FROM h WHERE id < 5);
SELECT count(*) FROM (SELECT k FROM h UNION ALL SELECT k FROM h) u WHERE k NOT IN (SELECT k FROM h WHERE id < 5);
SELECT count(*) FROM h WHERE k NOT IN (SELECT k FROM h WHERE id < 5 GROUP BY ROLLUP (k));
WITH RECURSIVE q(k, n) AS (SELECT k, 1 FROM h UNION SELECT n.k, q.n + 1 FROM n JOIN q ON n.k = q.k WHERE q.n < 3) SELECT count(*) FROM h WHERE k NOT IN (SELECT k FROM q WHERE n < 0);
-- joins
SELECT count(*), sum(n.id), sum(o.id) FROM n JOIN o ON n.k = o.k;
SELECT count(*), sum(n.id), sum(o.id) FROM n LEFT JOIN o ON n.k = o.k;
SELECT count(*), sum(n.id), sum(o.id) FROM n RIGHT JOIN o ON n.k = o.k AND n.x = o.x;
SELECT count(*), sum(n.id), sum(o.id) FROM n FULL JOIN o ON n.k = o.k;
SELECT k, count(*), sum(n.id), sum(o.id) FROM n FULL JOIN o USING (k) GROUP BY k ORDER BY k;
SELECT k, count(*), sum(n.id), sum(o.id) FROM n FULL JOIN o USING (k) WHERE k IS NULL GROUP BY k;
SELECT DISTINCT k FROM n FULL JOIN o USING (k) ORDER BY k;
SELECT n.k, count(*) FROM n LEFT JOIN o USING (k) GROUP BY n.k ORDER BY 1;
SELECT o.k, count(*) FROM n LEFT JOIN o USING (k) GROUP BY o.k ORDER BY 1;
SELECT count(*), sum(n.id) FROM n LEFT JOIN o ON n.k = o.k WHERE o.k IS NULL;
SELECT count(*), sum(n.id) FROM n LEFT JOIN o ON n.k = o.k WHERE n.k IS NULL;
SELECT count(*), sum(n.id), sum(o.id) FROM n JOIN o ON n.k IS NOT DISTINCT FROM o.k;
SELECT count(*), sum(n.id), sum(o.id) FROM n JOIN o ON n.k = o.k OR (n.k IS NULL AND o.k IS NULL);
SELECT count(*), sum(n.id), sum(o.id) FROM n, o WHERE n.k IS NULL AND o.k IS NULL;
SELECT count(*), sum(n.id), sum(o.id) FROM n, o WHERE n.k IS NOT DISTINCT FROM 3 AND o.k = 3;
SELECT count(*), sum(n.id), sum(o.id) FROM n LEFT JOIN o ON n.k = o.k AND o.k IS NULL;
SELECT count(*), sum(n.id), sum(o.id) FROM n LEFT JOIN o ON o.k IS NULL;
SELECT count(*), sum(n.id), sum(o.id) FROM (SELECT * FROM n WHERE k IS NULL) n FULL JOIN (SELECT * FROM o WHERE k IS NULL) o ON n.id = o.id;
SELECT count(*), sum(n.id), sum(o.id) FROM n JOIN o ON n.k = o.k JOIN h ON h.k = o.k LEFT JOIN t ON t.id = n.k;
SELECT count(*), sum(n.id), sum(r.x) FROM n JOIN r ON n.k = r.id;
SELECT count(*), sum(n.id), sum(r.x) FROM n LEFT JOIN r ON n.k = r.id;
SELECT count(*), sum(n.id), sum(r.x) FROM n FULL JOIN r ON n.k = r.id;
-- rows that are moved
SET pando.exchange_cost = 0;
SELECT count(*), sum(n.id), sum(e.id) FROM n JOIN e ON n.k = e.k;
SELECT count(*), sum(n.id), sum(e.id) FROM n LEFT JOIN e ON n.k = e.k;
SELECT count(*), sum(n.id), sum(e.id) FROM n FULL JOIN e ON n.k = e.k;
SELECT n.k, e.k, count(*) FROM n FULL JOIN e ON n.k = e.k GROUP BY n.k, e.k ORDER BY 1, 2;
SELECT n.x, count(*) FROM n LEFT JOIN o ON n.x = o.k GROUP BY n.x ORDER BY 1;
SELECT o.x, count(*), sum(n.id) FROM o LEFT JOIN n ON o.x = n.k GROUP BY o.x ORDER BY 1;
SELECT o.x, n.k, count(*) FROM o FULL JOIN n ON o.x = n.k GROUP BY o.x, n.k ORDER BY 1, 2;
SELECT DISTINCT o.x FROM o LEFT JOIN n ON o.x = n.k ORDER BY 1;
SELECT x, rank() OVER (PARTITION BY x ORDER BY id, i) FROM (SELECT o.x, o.id, n.id AS i FROM o LEFT JOIN n ON o.x = n.k) s ORDER BY 1, 2 LIMIT 20;
SELECT count(*) FROM o LEFT JOIN h ON o.x = h.id WHERE o.x NOT IN (SELECT k FROM h);
SELECT count(*) FROM o LEFT JOIN t ON o.x = t.id WHERE o.x IS NULL;
SELECT a.x, b.x, count(*) FROM o a FULL JOIN n b ON a.x = b.x GROUP BY 1, 2 ORDER BY 1, 2;
SELECT a.w, b.k, count(*) FROM (SELECT NULLIF('t' || x, 't2') AS w FROM n) a FULL JOIN t b ON a.w = b.k GROUP BY 1, 2 ORDER BY 1, 2;
SELECT o.x, count(*) FROM o LEFT JOIN n ON o.x = n.k GROUP BY o.x UNION SELECT k, count(*) FROM n GROUP BY k ORDER BY 1, 2;
SELECT k, (SELECT count(*) FROM o WHERE o.x = n.k), (SELECT count(*) FROM o WHERE o.x IS NOT DISTINCT FROM n.k) FROM n ORDER BY id;
BEGIN;
INSERT INTO n (k, id, x) SELECT x, id + 1000, k FROM n;
INSERT INTO n (k, id, x) SELECT NULLIF(o.x, 3), o.id + 2000, n.k FROM o LEFT JOIN n ON o.x = n.k RETURNING k, id, x \g |sort
INSERT INTO n (id, x) SELECT id + 3000, k FROM o;
SELECT k, count(*), sum(id), sum(x) FROM n GROUP BY k ORDER BY k;
SELECT count(*) FROM n WHERE k IS NULL;
ROLLBACK;
RESET pando.exchange_cost;
-- groups
SELECT k, count(*), sum(id) FROM n GROUP BY k ORDER BY k;
SELECT k, count(*), sum(id) FROM n GROUP BY k HAVING k IS NULL;
SELECT k, x, count(*) FROM n GROUP BY CUBE (k, x) ORDER BY k, x, 3;
SELECT DISTINCT k FROM n ORDER BY k;
SELECT DISTINCT ON (k) k, id FROM n ORDER BY k, id;
SELECT count(DISTINCT k), count(DISTINCT coalesce(k, -1)), count(DISTINCT (k, x)) FROM n;
SELECT id, k, count(*) OVER (PARTITION BY k), row_number() OVER (PARTITION BY k ORDER BY id) FROM n ORDER BY id;
SELECT k FROM n UNION SELECT k FROM o ORDER BY k;
SELECT k FROM n INTERSECT SELECT k FROM o ORDER BY k;
SELECT k FROM n EXCEPT SELECT k FROM o ORDER BY k;
SELECT k FROM n EXCEPT ALL SELECT k FROM o WHERE id < 5 ORDER BY k;
SELECT k FROM n WHERE k IS NULL UNION SELECT k FROM o WHERE k = 3 ORDER BY 1;
SELECT s.k, s.n, o.id FROM (SELECT k, count(*) AS n FROM n GROUP BY k) s LEFT JOIN o ON o.k = s.k AND o.id < 5 ORDER BY 1, 3;
SELECT count(*) FROM (SELECT k, count(*) AS n FROM n GROUP BY k) s WHERE k IS NULL AND n > 1;
SELECT n.k, l.n FROM n, LATERAL (SELECT count(*) AS n FROM o WHERE o.k = n.k) l ORDER BY n.id;
CREATE VIEW vn AS SELECT k, x, count(*) AS n FROM n GROUP BY k, x;
CREATE VIEW vb WITH (security_barrier) AS SELECT k, id, x FROM n WHERE x > 0;
SELECT * FROM vn WHERE k IS NULL ORDER BY x;
SELECT * FROM vb WHERE k IS NULL ORDER BY id;
SELECT count(*) FROM vn WHERE k NOT IN (SELECT k FROM vb WHERE id < 3);
-- aggregates of nothing, whose row belongs to a value
INSERT INTO o SELECT 5, count(*) + 600, 1 FROM n WHERE k = 5 AND k IS NULL;
INSERT INTO o SELECT 6, count(*) + 601, 1 FROM n WHERE k = 5 AND k = 6;
INSERT INTO o SELECT NULL, count(*) + 602, 1 FROM n WHERE k IS NULL AND k = 7;
PREPARE nothing(int, int) AS INSERT INTO o SELECT $1, count(*) + 603, 1 FROM n WHERE k = $1 AND k = $2;
EXECUTE nothing(1, 2); EXECUTE nothing(2, 1); EXECUTE nothing(NULL, 1); EXECUTE nothing(8, NULL); EXECUTE nothing(NULL, NULL); EXECUTE nothing(7, 2); EXECUTE nothing(2, 7);
SELECT k, id FROM o WHERE id >= 600 ORDER BY id, k;
SELECT id FROM o WHERE k IS NULL AND id >= 600 ORDER BY id;
SELECT count(*) FROM o WHERE k = 5 AND id >= 600;
SELECT count(*) FROM o WHERE k = 6 AND id >= 600;
SELECT count(*) FROM o WHERE k = 1 AND id >= 600;
SELECT count(*) FROM o WHERE k = 2 AND id >= 600;
SELECT count(*) FROM o WHERE k = 7 AND id >= 600;
SELECT count(*) FROM o WHERE k = 8 AND id >= 600;
-- and what it is joined with
SELECT n.id, z.c FROM n, LATERAL (SELECT count(*) AS c FROM o WHERE o.k = n.k AND o.k = 6) z ORDER BY 1;
SELECT n.id, z.c FROM n, LATERAL (SELECT count(*) AS c FROM o WHERE o.k = n.k AND o.k IN (6, 7)) z ORDER BY 1;
SELECT n.id, z.c FROM n, LATERAL (SELECT count(*) AS c FROM o WHERE o.k = n.k AND o.k IS NULL) z ORDER BY 1;
SELECT n.id, z.c FROM n, LATERAL (SELECT k, count(*) AS c FROM o WHERE o.k = n.k AND o.k = 6 GROUP BY ROLLUP (k)) z ORDER BY 1, 2;
SELECT n.id, h.id, z.c FROM n, h, LATERAL (SELECT count(*) AS c FROM o WHERE o.k = n.k AND o.k = h.k) z WHERE n.id < 6 AND h.id < 6 ORDER BY 1, 2;
SELECT n.id, z.c FROM n, LATERAL (SELECT r.id AS c FROM r LEFT JOIN o ON o.k = n.k AND o.k = 6 WHERE r.id = 1) z ORDER BY 1, 2;
SELECT n.id, z.c FROM n, LATERAL (SELECT r.id AS c FROM r WHERE r.id = 1 AND NOT EXISTS (SELECT FROM o WHERE o.k = n.k AND o.k = 6)) z ORDER BY 1, 2;
SELECT n.id, z.c FROM n, (SELECT count(*) AS c FROM o WHERE k = 1 AND k = 2) z WHERE n.k = 1 ORDER BY 1;
SELECT n.id, z.c FROM n, (SELECT count(*) AS c FROM o WHERE k = 1 AND k = 2) z WHERE n.k = 2 ORDER BY 1;
SELECT n.id, z.c FROM n, (SELECT count(*) AS c FROM o WHERE k = 3 AND k IS NULL) z WHERE n.k IS NULL ORDER BY 1;
SELECT n.id, z.c FROM n, (SELECT count(*) AS c FROM o WHERE k = 3 AND k IS NULL) z WHERE n.k = 3 ORDER BY 1;
SELECT count(*), (SELECT count(*) FROM o WHERE k = 1), (SELECT count(*) FROM o WHERE k = 2) FROM n WHERE k = 1 AND k = 2;
-- changes
UPDATE n SET x = -1 WHERE k IS NULL AND id < 12 RETURNING k, id, x;
UPDATE n SET x = -2 WHERE k IS NOT DISTINCT FROM 3 RETURNING k, id, x;
UPDATE n SET x = o.x FROM o WHERE o.k = n.k AND o.id = 4;
UPDATE n SET x = 99 WHERE k NOT IN (SELECT k FROM o WHERE id < 3);
UPDATE n SET x = 98 FROM r WHERE r.id = n.k AND r.x IS NULL;
DELETE FROM n WHERE k IS NULL AND id > 30 RETURNING id;
DELETE FROM n USING o WHERE n.k IS NOT DISTINCT FROM o.k AND n.x = 99;
DELETE FROM n WHERE k = NULL;
SELECT * FROM n ORDER BY id;
SELECT k, id FROM n WHERE k IS NULL ORDER BY id FOR UPDATE;
MERGE INTO n USING o ON n.k = o.k AND n.id = o.id WHEN MATCHED THEN UPDATE SET x = 50 WHEN NOT MATCHED AND o.id < 420 THEN INSERT VALUES (o.k, o.id + 1000, o.x, 'm');
MERGE INTO n USING (SELECT k, id FROM o WHERE k IS NULL AND id < 6) o ON n.k IS NULL AND n.id = o.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (o.k, o.id + 2000, 1, 'null');
MERGE INTO n USING (VALUES (NULL::int, 5), (3, 6)) v(k, id) ON n.k = v.k AND n.id = v.id WHEN NOT MATCHED THEN INSERT VALUES (v.k, v.id + 3000, 1, 'values');
MERGE INTO n USING e ON n.k = e.k AND n.id = e.id WHEN NOT MATCHED AND e.id < 9 THEN INSERT VALUES (NULLIF(e.k, 3), e.id + 4000, 1, 'other') WHEN MATCHED THEN DO NOTHING;
MERGE INTO h USING o ON h.k = o.k AND h.id = o.id WHEN NOT MATCHED AND o.id = 1 THEN INSERT VALUES (o.k, 1, 1);
SELECT * FROM n ORDER BY id, k, x, w;
SELECT id FROM n WHERE k IS NULL ORDER BY id;
-- rows that move
BEGIN;
WITH u AS (UPDATE n SET k = NULL WHERE k = 4 RETURNING k, id) SELECT * FROM u ORDER BY id;
WITH u AS (UPDATE n SET k = id % 7 WHERE k IS NULL AND id < 40 RETURNING k, id) SELECT * FROM u ORDER BY id;
UPDATE n SET k = NULLIF(k, 1);
UPDATE n SET k = NULL WHERE k IS NULL;
UPDATE n SET k = coalesce(k, 12) WHERE id > 1000 AND id % 2 = 0;
SELECT id FROM n WHERE k IS NULL ORDER BY id;
SELECT k, count(*), sum(id) FROM n GROUP BY k ORDER BY k;
MERGE INTO n USING o ON n.id = o.id AND o.id < 4 WHEN MATCHED THEN UPDATE SET k = o.k;
SELECT k, count(*), sum(id) FROM n GROUP BY k ORDER BY k;
ROLLBACK;
UPDATE h SET k = NULL WHERE k = 4 AND id = 4;
-- unique constraints
CREATE TABLE u (k int, id int, x int, UNIQUE (k, id));
CREATE TABLE un (k int, id int, x int, UNIQUE NULLS NOT DISTINCT (k, id));
SELECT distribute('u', 'k', 'n');
SELECT distribute('un', 'k', 'n');
INSERT INTO u VALUES (NULL, 1, 1), (NULL, 1, 2), (1, NULL, 3), (1, NULL, 4), (2, 2, 5);
INSERT INTO u VALUES (NULL, 1, 3) ON CONFLICT (k, id) DO UPDATE SET x = 100 RETURNING *;
INSERT INTO u VALUES (2, 2, 6);
INSERT INTO un VALUES (NULL, 1, 1), (1, NULL, 3), (2, 2, 5), (NULL, NULL, 7);
INSERT INTO un VALUES (NULL, 1, 2);
INSERT INTO un VALUES (1, NULL, 2);
INSERT INTO un VALUES (NULL, NULL, 2);
INSERT INTO un VALUES (NULL, 1, 9) ON CONFLICT (k, id) DO UPDATE SET x = excluded.x RETURNING *;
INSERT INTO un SELECT NULL, 1, 10 FROM o WHERE id = 1 ON CONFLICT (k, id) DO UPDATE SET x = excluded.x;
INSERT INTO un SELECT k, id, 11 FROM u WHERE x = 1 ON CONFLICT DO NOTHING;
SELECT * FROM u ORDER BY k, id, x;
SELECT * FROM un ORDER BY k, id, x;
-- foreign keys
CREATE TABLE parent (k int PRIMARY KEY);
CREATE TABLE child (k int REFERENCES parent ON DELETE CASCADE, id int);
SELECT distribute('parent', 'k', 'n');
SELECT distribute('child', 'k', 'n');
INSERT INTO parent VALUES (1), (2);
INSERT INTO child VALUES (1, 1), (NULL, 2), (2, 3);
INSERT INTO child VALUES (9, 1);
DELETE FROM parent WHERE k = 1;
SELECT * FROM child ORDER BY id;
-- partitions
CREATE TABLE p (k int, id int, x int) PARTITION BY LIST (k);
CREATE TABLE p_1 PARTITION OF p FOR VALUES IN (1, 2, NULL);
CREATE TABLE p_rest PARTITION OF p DEFAULT;
SELECT distribute('p', 'k', 'n');
INSERT INTO p SELECT CASE WHEN i % 3 > 0 THEN i % 5 END, i, i FROM generate_series(1, 20) i;
SELECT count(*), sum(id) FROM p WHERE k IS NULL;
SELECT count(*), sum(id) FROM p_1 WHERE k IS NULL;
SELECT count(*), sum(id) FROM p_1;
SELECT k, count(*) FROM p GROUP BY k ORDER BY k;
UPDATE p SET x = 0 WHERE k IS NULL;
DELETE FROM p WHERE k IS NULL AND id < 10;
SELECT count(*), sum(x) FROM p;
-- triggers
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.x = coalesce(NEW.k, -7); RETURN NEW; END';
CREATE TABLE tr (k int, id int, x int);
SELECT distribute('tr', 'k', 'n');
CREATE TRIGGER note BEFORE INSERT OR UPDATE ON tr FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO tr VALUES (NULL, 1), (2, 2);
INSERT INTO tr (id) SELECT id FROM n WHERE id IN (3, 4);
UPDATE tr SET id = id + 10 WHERE k IS NULL;
DELETE FROM tr WHERE k IS NULL AND id = 11;
SELECT * FROM tr ORDER BY id;
-- alter
ALTER TABLE h ALTER k DROP NOT NULL;
INSERT INTO h VALUES (NULL, 1, 2);
SELECT count(*) FROM h WHERE k NOT IN (SELECT k FROM h WHERE id < 2);
SELECT count(*) FROM h WHERE k IS NULL;
ALTER TABLE h ALTER k SET NOT NULL;
DELETE FROM h WHERE k IS NULL;
ALTER TABLE h ALTER k SET NOT NULL;
INSERT INTO h VALUES (NULL, 1, 2);
ALTER TABLE n ADD PRIMARY KEY (k, id);
ALTER TABLE o ALTER k SET DEFAULT 4;
INSERT INTO o (id) VALUES (700) RETURNING k;
