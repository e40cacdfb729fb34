-- Statements with several writes, and RETURNING that shards can't compute, do what they do on
-- plain tables: all parts see the tables as they were before, and RETURNING tells the others.
SET client_min_messages = warning;

-- What one part changes others read.
SELECT public.compare_writes($$
WITH x AS (DELETE FROM a WHERE x = 2 RETURNING *) SELECT count(*), (SELECT count(*) FROM a) FROM x;
WITH x AS (UPDATE a SET x = x + 1 WHERE x < 3 RETURNING k, id, x) SELECT a.id, a.x, x.x FROM a JOIN x USING (k, id);
WITH x AS (UPDATE a SET x = 100 WHERE k = 3 RETURNING k, x) SELECT * FROM a WHERE k IN (3, 4);
WITH x AS (INSERT INTO c VALUES (1001, 1, 1), (1002, 2, 2) RETURNING *) SELECT * FROM x UNION ALL SELECT * FROM c WHERE k > 10;
WITH x AS (DELETE FROM a WHERE x = 2 RETURNING *) SELECT y, count(*), (SELECT count(*) FROM x) FROM a WHERE EXISTS (SELECT FROM x WHERE x.y = a.y) GROUP BY y;
WITH x AS (DELETE FROM a WHERE x = 2 RETURNING *) SELECT (SELECT array_agg(z ORDER BY z) FROM a z WHERE z.x = x.x AND z.k = x.k) FROM x;
WITH x AS (DELETE FROM a WHERE x = 2 RETURNING *) SELECT z, x.id FROM a z JOIN x USING (k, id);
WITH x AS (DELETE FROM b WHERE x = 2 RETURNING id) SELECT a.id, b.id AS bid, b.y, r.name, (SELECT count(*) FROM x) FROM a LEFT JOIN b ON a.k = b.k AND b.x > 2 JOIN r ON r.id = a.x;
WITH x AS (UPDATE b SET x = x + 1 RETURNING id) SELECT k, a.id, o.id AS oid, o.y, (SELECT count(*) FROM x) FROM a FULL JOIN b o USING (k) WHERE o.x = 3;
DELETE FROM b WHERE x = 2 RETURNING id, (SELECT count(*) FROM a JOIN b o USING (k) JOIN r ON r.id = o.x WHERE o.x > b.x);
WITH x AS (DELETE FROM r WHERE id = 3 RETURNING *) SELECT * FROM r JOIN x USING (id);
WITH x AS (INSERT INTO r VALUES (100, 1, 'x') RETURNING *) INSERT INTO c SELECT id, 1, x FROM x UNION ALL SELECT id, 2, x FROM r;
WITH x AS (DELETE FROM loc WHERE x = 1 RETURNING *) SELECT count(*), (SELECT count(*) FROM loc), (SELECT count(*) FROM a) FROM x;
WITH x AS (DELETE FROM a WHERE k < 3), y AS (DELETE FROM b WHERE k < 3), z AS (DELETE FROM s1 WHERE id < 3) SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b), (SELECT count(*) FROM s1);
WITH x AS (UPDATE a SET x = x + 1 WHERE x < 3 RETURNING k) UPDATE b SET f = (SELECT sum(x) FROM a) WHERE k IN (SELECT k FROM x);
WITH x AS (DELETE FROM a WHERE k < 4) INSERT INTO loc SELECT id, x, y FROM a WHERE k < 4;
WITH q AS (SELECT max(id) AS m FROM a), x AS (DELETE FROM a USING q WHERE id = q.m RETURNING id) SELECT x.id, q.m FROM x, q;
WITH x AS (DELETE FROM a WHERE x = 2 RETURNING k) SELECT 1 WHERE false;
WITH x AS (DELETE FROM a WHERE x = 2 RETURNING k) SELECT k FROM x LIMIT 0;
WITH x AS (DELETE FROM a WHERE x = 2 RETURNING k) VALUES (1), (2);
WITH x AS (DELETE FROM a WHERE x = 2 RETURNING *) SELECT b.id FROM b, x WHERE b.k = x.k AND b.id = x.id FOR UPDATE OF b;
$$);

-- Writes that read what others return.
SELECT public.compare_writes($$
WITH x AS (DELETE FROM a WHERE x = 2 RETURNING *), y AS (INSERT INTO c SELECT k, id, x FROM x RETURNING *) SELECT count(*) FROM y;
WITH x AS (DELETE FROM a WHERE x = 2 RETURNING *), y AS (INSERT INTO c SELECT k, id, x FROM x RETURNING *) SELECT * FROM y JOIN x ON x.id = y.ak;
WITH x AS (INSERT INTO c SELECT id + 1000, k, x FROM b RETURNING k) SELECT count(*), sum(k) FROM x;
WITH x AS (INSERT INTO c SELECT id + 1000, k, x FROM a RETURNING k), y AS (INSERT INTO e SELECT k, 1, 'z' FROM x RETURNING k) SELECT count(*), sum(k) FROM y;
WITH x AS (DELETE FROM a WHERE k < 4 RETURNING *) DELETE FROM b USING x WHERE x.x = b.x AND x.id > b.id;
WITH x AS (DELETE FROM s1 RETURNING *), y AS (INSERT INTO r SELECT x + 100, id, 's' FROM x RETURNING id) SELECT count(*) FROM y JOIN x ON x.x + 100 = y.id;
WITH x AS (INSERT INTO loc VALUES (100, 1, 'l'), (101, 2, 'l') RETURNING id) DELETE FROM a USING x WHERE a.x = x.id - 100;
WITH x AS (UPDATE loc SET x = id RETURNING *) UPDATE a SET v = x.x FROM x WHERE a.id = x.id;
WITH x AS (UPDATE r SET name = name || '!' WHERE id IN (SELECT x FROM a) RETURNING *), y AS (UPDATE s1 SET x = x.id FROM x WHERE s1.x = x.id RETURNING s1.*) INSERT INTO loc SELECT id, x, 'y' FROM y;
WITH q AS (SELECT k, id FROM b WHERE x = 2), x AS (UPDATE a SET v = q.id FROM q WHERE q.id = a.id RETURNING a.*), y AS (UPDATE r SET x = x.id FROM (SELECT max(id) AS id, k FROM x GROUP BY k) x WHERE x.k = r.id RETURNING r.*) SELECT (SELECT count(*) FROM x), (SELECT count(*) FROM y), (SELECT sum(x) FROM r), (SELECT sum(v) FROM a), (SELECT count(*) FROM q);
WITH q AS (SELECT x, count(*) AS n FROM a GROUP BY x), u AS (UPDATE b SET f = q.n FROM q WHERE q.x = b.x RETURNING b.*), i AS (INSERT INTO c SELECT n, x FROM q WHERE n > 3) SELECT (SELECT count(*) FROM q), (SELECT sum(f) FROM u);
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < (SELECT max(x) FROM a)), i AS (INSERT INTO c SELECT n, n, n FROM t RETURNING *), d AS (DELETE FROM a WHERE x IN (SELECT n FROM t WHERE n > 2) RETURNING *) SELECT (SELECT count(*) FROM i), (SELECT count(*) FROM d), (SELECT max(n) FROM t);
WITH q AS (SELECT 5 AS x), d AS (WITH z AS (SELECT b.k FROM b, q WHERE b.x = q.x) DELETE FROM a WHERE k IN (SELECT k FROM z) RETURNING *) SELECT d.id, q.x FROM d, q;
WITH q AS (SELECT 1 AS k), d AS (WITH q AS (SELECT k FROM b WHERE x = 2) DELETE FROM a WHERE k IN (SELECT k FROM q) RETURNING *) SELECT d.id, q.k FROM d, q;
WITH i AS (INSERT INTO loc SELECT i, i, repeat('z', 100) FROM generate_series(10000, 13000) i RETURNING *), d AS (DELETE FROM b RETURNING *) SELECT count(*), sum(length(i.name)) FROM i LEFT JOIN d ON d.id + 10000 = i.id;
$$);

-- Several changes of one table.
SELECT public.compare_writes($$
WITH x AS (DELETE FROM a WHERE x = 2 RETURNING id), y AS (DELETE FROM a WHERE x = 3 RETURNING id) SELECT (SELECT sum(id) FROM x), (SELECT sum(id) FROM y), (SELECT sum(id) FROM a);
WITH x AS (UPDATE a SET v = 99 WHERE k = 5 RETURNING id) INSERT INTO a SELECT 500, n, 1 FROM generate_series(1, 5) n WHERE NOT EXISTS (SELECT FROM x WHERE x.id = n);
WITH x AS (INSERT INTO a VALUES (5000, 1, 0)), y AS (UPDATE a SET x = x + 100 WHERE x = 0 RETURNING id) SELECT count(*) FROM y;
WITH x AS (DELETE FROM a WHERE x = 0 RETURNING k), y AS (UPDATE a SET x = x + 100 WHERE x = 1 RETURNING k) SELECT count(*), (SELECT count(*) FROM y) FROM x;
WITH x AS (UPDATE a SET x = 1 WHERE x = 0 RETURNING k), y AS (UPDATE a SET x = 2 WHERE x = 1 RETURNING k) SELECT (SELECT count(*) FROM x), (SELECT count(*) FROM y);
WITH x AS (UPDATE a SET x = 1 WHERE x = 0 RETURNING k) DELETE FROM a WHERE x = 1 RETURNING k, id;
WITH x AS (UPDATE a SET x = 1 WHERE k = 3), y AS (UPDATE a SET v = b.f FROM b WHERE b.id = a.id AND a.k <> 3 RETURNING a.*), z AS (UPDATE a SET x = (SELECT max(x) FROM b) WHERE k IN (3, 4) AND a.v IS NULL AND k <> 3) SELECT count(*), sum(v) FROM y;
WITH x AS (UPDATE a SET x = 77 RETURNING k), y AS (UPDATE a SET x = 77 WHERE x IN (0, 1) RETURNING id) SELECT (SELECT count(*) FROM x) + (SELECT count(*) FROM y), (SELECT sum(x) FROM a);
WITH x AS (INSERT INTO a VALUES (5000, 1, 0), (5001, 1, 0)) UPDATE a SET x = x + 100 WHERE x = 0 RETURNING id;
WITH x AS (INSERT INTO c VALUES (5000, 1, 0), (5001, 1, 0)) DELETE FROM c WHERE x = 0 RETURNING *;
WITH x AS (UPDATE s1 SET x = 5 WHERE id = 1), y AS (UPDATE s1 SET x = 6 WHERE id = 2 AND EXISTS (SELECT FROM a WHERE a.x = 2)) DELETE FROM s1 WHERE id > 4 RETURNING *;
WITH x AS (UPDATE c SET x = 50 WHERE x = 1), y AS (INSERT INTO c SELECT 8, 8, 8 FROM b) DELETE FROM c WHERE x IN (2, 8) RETURNING *;
WITH x AS (UPDATE r SET x = 1 WHERE x = 0 RETURNING id), y AS (UPDATE r SET x = 2 WHERE x = 1 RETURNING id) SELECT (SELECT array_agg(id ORDER BY id) FROM x), (SELECT array_agg(id ORDER BY id) FROM y);
WITH x AS (UPDATE r SET x = 1, name = name || 'x' WHERE x = 0), y AS (UPDATE r SET x = r.x + a.x FROM a WHERE a.id = r.id AND r.x > 1 AND a.k = 3), z AS (UPDATE r SET name = (SELECT max(y) FROM b WHERE b.x = r.x) WHERE x = 1 RETURNING *) SELECT * FROM z;
WITH x AS (UPDATE r SET x = 77 WHERE id < 5 RETURNING id), y AS (UPDATE r SET x = 77 WHERE id < 8 RETURNING id) SELECT (SELECT count(*) FROM x) + (SELECT count(*) FROM y), (SELECT sum(x) FROM r);
WITH x AS (UPDATE r SET x = id + 50 WHERE x = 1), y AS (INSERT INTO r VALUES (5000, 3, 'new')) DELETE FROM r WHERE x IN (2, 3, 51) RETURNING *;
WITH x AS (INSERT INTO r VALUES (5000, 3, 'new')), y AS (UPDATE r SET name = x || 'y' WHERE x = 2) UPDATE r SET name = x || 'main' WHERE x IN (1, 3) RETURNING *;
WITH x AS (UPDATE a SET x = 1 WHERE x = 0 RETURNING k, id) UPDATE a SET x = x.id + 2 FROM x WHERE a.k = x.k AND a.id = x.id + 5 RETURNING a.*, x.*;
WITH x AS (UPDATE a SET v = 7 WHERE id % 2 = 0 RETURNING *), y AS (UPDATE a SET v = (SELECT count(*) FROM x WHERE x.k = a.k) WHERE id % 3 = 0 AND id % 2 = 1 RETURNING id) DELETE FROM a USING y WHERE a.id = y.id + 2 AND a.k <> 4 AND a.id % 2 = 1 AND a.id % 3 <> 0 RETURNING a.k, a.id;
WITH x AS (UPDATE c SET x = x + 1 WHERE k = 2 RETURNING *) DELETE FROM c USING (SELECT DISTINCT x FROM x) y WHERE c.x = y.x RETURNING c.*;
WITH x AS (UPDATE s1 SET x = 5 WHERE id = 1 RETURNING *) UPDATE s1 SET x = (SELECT sum(id) FROM x) WHERE id IN (SELECT id + 1 FROM x) RETURNING *;
WITH x AS (INSERT INTO a VALUES (5000, 1, 0), (5001, 2, 0) RETURNING *) UPDATE a SET x = x.k FROM x WHERE x.id = a.id AND x.id = 2 RETURNING a.*;
WITH x AS (INSERT INTO r VALUES (5000, 3, 'new') RETURNING *) DELETE FROM r USING x WHERE r.x = x.x RETURNING *;
WITH x AS (UPDATE r SET x = x + 10 WHERE id < 3 RETURNING *), y AS (UPDATE r SET name = x.name || 'y' FROM x WHERE x.id + 3 = r.id RETURNING r.*) UPDATE r SET x = y.x FROM y WHERE r.id = y.id + 3 RETURNING r.*, y::text;
WITH x AS (INSERT INTO r VALUES (1, 1, 'again'), (5000, 2, 'new') ON CONFLICT (id) DO UPDATE SET name = 'conflict' RETURNING *) UPDATE r SET x = x.id FROM x WHERE r.id = x.id - 4998 OR r.id = x.id RETURNING r.*;
WITH x AS (DELETE FROM loc WHERE id < 5 RETURNING *), y AS (INSERT INTO loc SELECT id + 50, x FROM x RETURNING id) SELECT (SELECT count(*) FROM loc), (SELECT count(*) FROM a), (SELECT sum(id) FROM y);
$$);
SET search_path = dist, public;
BEGIN;
CREATE TABLE unnamed (x int);
SELECT create_reference_table('unnamed');
WITH x AS (UPDATE unnamed SET x = 1 WHERE x = 0) UPDATE unnamed SET x = 2 WHERE x = 1;
ROLLBACK;
WITH x AS (UPDATE a SET k = k + 1 WHERE x = 0 RETURNING k) UPDATE a SET x = 2 FROM x WHERE a.k = x.k;
-- Whoever returns rows, or says which ones to leave out, is asked the policies of SELECT.
BEGIN;
CREATE ROLE compare_steps;
GRANT USAGE ON SCHEMA dist TO compare_steps;
GRANT SELECT, UPDATE ON a TO compare_steps;
GRANT SELECT, DELETE ON b TO compare_steps;
CREATE POLICY seen ON a FOR SELECT USING (x > 1);
CREATE POLICY changed ON a FOR UPDATE USING (true);
ALTER TABLE a ENABLE ROW LEVEL SECURITY;
SET ROLE compare_steps;
SAVEPOINT s;
WITH x AS (UPDATE a SET x = 5 WHERE k = 3 RETURNING x) UPDATE a SET x = 0 FROM x;
ROLLBACK TO s;
WITH x AS (UPDATE a SET x = 5 WHERE k = 3), y AS (DELETE FROM b WHERE false RETURNING k) UPDATE a SET x = 6 FROM y WHERE a.k = y.k;
ROLLBACK;
-- A row that two parts would change is changed by one of them.
BEGIN;
WITH x AS (UPDATE a SET x = 1000 WHERE k = 3 RETURNING id), y AS (UPDATE a SET x = 2000 WHERE k IN (3, 4) RETURNING k, id) SELECT DISTINCT k, (SELECT count(*) FROM x) = (SELECT count(*) FROM a WHERE k = 3) FROM y;
SELECT DISTINCT k, x FROM a WHERE k IN (3, 4) ORDER BY k;
ROLLBACK;
WITH x AS (DELETE FROM a WHERE x = 1 RETURNING *) SELECT * FROM a FOR UPDATE;
WITH x AS (DELETE FROM a WHERE x = 1 RETURNING *) SELECT ctid FROM a;

-- RETURNING that is computed here.
CREATE FUNCTION public.next_one(int) RETURNS int LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN $1 + 1; END';
SELECT public.compare_writes($$
INSERT INTO c VALUES (900, 1, 2) RETURNING k, (SELECT max(x) FROM b), (SELECT count(*) FROM c);
INSERT INTO c VALUES (900, 1, 2), (901, 2, 0) RETURNING k, (SELECT count(*) FROM b WHERE b.x = c.x), c;
INSERT INTO c VALUES (900, 1, 2) RETURNING *, (SELECT c.k), (SELECT 1);
INSERT INTO c VALUES (900, 1, 2) RETURNING (SELECT 1);
INSERT INTO c VALUES (900, 3, 1), (901, 2, 5) RETURNING k, EXISTS (SELECT 1 FROM r WHERE id = c.x);
INSERT INTO c SELECT id + 900, k, x FROM b RETURNING k, (SELECT name FROM r WHERE id = c.x);
INSERT INTO c SELECT id + 900, k, x FROM c c2 JOIN b USING (k, x) RETURNING k, (SELECT count(*) FROM b WHERE b.x = c.x);
INSERT INTO r VALUES (77, 2, 'u') RETURNING id, (SELECT count(*) FROM a);
INSERT INTO r SELECT x + 300, 2, 'u' FROM s1 RETURNING id, (SELECT count(*) FROM r);
INSERT INTO w (k, d) VALUES (1, 50), (120, 51) ON CONFLICT (k) DO UPDATE SET d = excluded.d + w.d RETURNING k, d, (SELECT max(id) FROM a WHERE a.k = w.k);
WITH q AS (SELECT max(id) AS m FROM b), d AS (DELETE FROM b WHERE id = (SELECT m FROM q) RETURNING *) INSERT INTO c SELECT d.id + 1000, k, x FROM d RETURNING k, (SELECT m FROM q), (SELECT count(*) FROM d), (SELECT count(*) FROM b);
WITH i AS (INSERT INTO c VALUES (555, 1, 1), (556, 2, 2) RETURNING public.next_one(x) AS n, k) SELECT n FROM i ORDER BY n LIMIT 1;
DELETE FROM a WHERE k = 5 RETURNING public.next_one(x), id;
UPDATE a SET x = 2 WHERE k = 6 RETURNING public.next_one(x), a.id, (SELECT count(*) FROM b WHERE b.x = a.x);
$$);
-- Subqueries in ON CONFLICT are read first, or what they read.
SELECT public.compare_writes($$
INSERT INTO w (k, d) VALUES (1, 50), (120, 51) ON CONFLICT (k) DO UPDATE SET d = excluded.d + (SELECT max(x) FROM b) RETURNING k, d;
INSERT INTO w (k, d) VALUES (1, 50), (2, 51) ON CONFLICT (k) DO UPDATE SET d = (SELECT count(*) FROM b WHERE b.x = w.d) RETURNING k, d;
INSERT INTO w (k, d) VALUES (1, 50), (2, 5) ON CONFLICT (k) DO UPDATE SET d = (SELECT count(*) FROM b JOIN c USING (k) LEFT JOIN r ON r.id = b.x WHERE b.x = w.d AND c.x < excluded.d) RETURNING k, d, (SELECT count(*) FROM a);
INSERT INTO w (k, d) VALUES (1, 50), (2, 51) ON CONFLICT (k) DO UPDATE SET d = 77 WHERE w.d IN (SELECT x FROM r) RETURNING k, d;
INSERT INTO w (k, d) VALUES (1, 50), (2, 51) ON CONFLICT (k) DO UPDATE SET d = 77 WHERE EXISTS (SELECT FROM loc WHERE loc.id = w.k) AND w.d < (SELECT avg(d) FROM w) RETURNING k, d;
INSERT INTO w (k, d) SELECT k, d FROM w ON CONFLICT (k) DO UPDATE SET t = (SELECT max(y) FROM b), d = (SELECT count(*) FROM w w2 WHERE w2.d = excluded.d OR w2.d = w.d + 1);
INSERT INTO w (k, d) SELECT id, x FROM loc ON CONFLICT (k) DO UPDATE SET (d, t) = (SELECT x + 1, y || '!' FROM b WHERE k = excluded.k ORDER BY id LIMIT 1) RETURNING k, d, t;
INSERT INTO w (k, d) VALUES (1, 50), (2, 51) ON CONFLICT (k) DO UPDATE SET d = (SELECT x FROM b);
INSERT INTO r (id, x) VALUES (1, 2), (1000, 3) ON CONFLICT (id) DO UPDATE SET name = (SELECT max(y) FROM b) RETURNING *;
INSERT INTO r (id, x) SELECT x, max(id) FROM a WHERE x IS NOT NULL GROUP BY x ON CONFLICT (id) DO UPDATE SET name = (SELECT max(y) FROM b WHERE b.x = r.id) RETURNING *, (SELECT count(*) FROM r);
WITH x AS (DELETE FROM b WHERE k < 5 RETURNING *) INSERT INTO w (k, d) SELECT DISTINCT k, 1 FROM x ON CONFLICT (k) DO UPDATE SET d = (SELECT count(*) FROM x WHERE x.k = w.k) + (SELECT count(*) FROM b WHERE b.k = w.k) RETURNING k, d;
$$);
SET search_path = dist, public;
WITH q AS (SELECT max(x) AS m FROM b) INSERT INTO w (k, d) VALUES (1, 50) ON CONFLICT (k) DO UPDATE SET d = (SELECT m FROM q);

CREATE SEQUENCE public.returned;
WITH i AS (INSERT INTO c VALUES (555, 1), (556, 2) RETURNING nextval('public.returned')) SELECT 1 AS one;
SELECT nextval('public.returned');
DROP SEQUENCE public.returned;

-- In functions, prepared, below a trigger; all or nothing.
PREPARE steps (int) AS WITH x AS (DELETE FROM c WHERE x = $1 RETURNING k) SELECT $1 AS x, count(*) FROM x JOIN b USING (k);
BEGIN;
EXECUTE steps (0);
EXECUTE steps (1);
EXECUTE steps (2);
EXECUTE steps (0);
EXECUTE steps (1);
EXECUTE steps (2);
EXECUTE steps (3);
ROLLBACK;
DEALLOCATE steps;
CREATE FUNCTION public.move_rows(int) RETURNS bigint LANGUAGE sql AS
	'WITH x AS (DELETE FROM dist.c WHERE x = $1 RETURNING k), y AS (INSERT INTO dist.e SELECT k, 1, ''moved'' FROM x RETURNING k) SELECT count(*) FROM y';
BEGIN;
SELECT public.move_rows(1), public.move_rows(2);
SELECT sum(public.move_rows(id)) FROM generate_series(0, 2) id;
SELECT count(*) FROM e WHERE name = 'moved';
ROLLBACK;
DROP FUNCTION public.move_rows;
CREATE TABLE queue_of_keys (k int);
CREATE FUNCTION public.take_keys() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
	WITH x AS (DELETE FROM dist.c WHERE k IN (SELECT k FROM new_rows) RETURNING *) INSERT INTO dist.e SELECT n.k, x.x, 'taken' FROM x JOIN new_rows n USING (k);
	RETURN NULL;
END$$;
CREATE TRIGGER take AFTER INSERT ON queue_of_keys REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.take_keys();
BEGIN;
INSERT INTO queue_of_keys VALUES (3), (4), (777);
SELECT k, count(*) FROM e WHERE name = 'taken' GROUP BY k ORDER BY k;
ROLLBACK;
-- Its triggers come after the main query.
BEGIN;
WITH x AS (DELETE FROM queue_of_keys), y AS (INSERT INTO queue_of_keys VALUES (5)) SELECT count(*) FROM c;
SELECT k, count(*) FROM e WHERE name = 'taken' GROUP BY k;
ROLLBACK;
DROP TABLE queue_of_keys;
DROP FUNCTION public.take_keys;
SELECT count(*) FROM c;
WITH x AS (DELETE FROM c RETURNING *), y AS (INSERT INTO e SELECT 1 / (k - 5), x FROM x RETURNING k) SELECT count(*) FROM y;
SELECT count(*) FROM c;
BEGIN READ ONLY;
WITH x AS (DELETE FROM c RETURNING *) SELECT count(*) FROM x, c;
ROLLBACK;

-- What a cascade deletes the main query still sees.
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE);
SELECT create_reference_table('parent');
SELECT create_reference_table('child');
INSERT INTO parent SELECT generate_series(1, 5);
INSERT INTO child SELECT i, 1 + i % 5 FROM generate_series(1, 20) i;
WITH x AS (DELETE FROM parent WHERE id < 3 RETURNING *) SELECT count(*), (SELECT count(*) FROM child), (SELECT count(*) FROM a) FROM x;
SELECT count(*) FROM child;
DROP TABLE child, parent;

-- A partition's rows are those of the tables above it: reads of either are as before, and changes of both are told apart.
CREATE TABLE parts (k int, x int, v int) PARTITION BY LIST (x);
CREATE TABLE parts_a (v int, gone int, x int, k int);
ALTER TABLE parts_a DROP gone;
ALTER TABLE parts ATTACH PARTITION parts_a FOR VALUES IN (1, 2);
CREATE TABLE parts_b PARTITION OF parts FOR VALUES IN (3, 4) PARTITION BY RANGE (k);
CREATE TABLE parts_b1 PARTITION OF parts_b FOR VALUES FROM (0) TO (50);
CREATE TABLE parts_b2 PARTITION OF parts_b DEFAULT;
SELECT create_distributed_table('parts', 'k');
INSERT INTO parts SELECT i, i % 4 + 1, i FROM generate_series(1, 100) i;
CREATE VIEW parts_now AS SELECT count(*), sum(v) FROM parts;
BEGIN;
WITH t AS (INSERT INTO parts_b1 VALUES (7, 3, 7), (8, 4, 8) RETURNING v) SELECT count(*), (SELECT count(*) FROM parts) AS p, (SELECT count(*) FROM parts_b) AS b, (SELECT count(*) FROM parts_a) AS a FROM t;
WITH t AS (UPDATE parts_b SET v = v + 1000 WHERE x = 3), u AS (UPDATE parts_a SET v = v + 1 RETURNING v)
SELECT (SELECT sum(v) FROM parts) AS p, (SELECT count(*) FROM parts_a WHERE v IN (SELECT v FROM u)) AS a, (SELECT sum(v) FROM parts_b) AS b;
TABLE parts_now;
WITH t AS (DELETE FROM parts_b RETURNING v) SELECT count(*) FROM parts WHERE v IN (SELECT v FROM t);
TABLE parts_now;
WITH t AS (DELETE FROM parts RETURNING v) INSERT INTO parts_a (k, x, v) SELECT k + 1000, x, v FROM parts_a;
TABLE parts_now;
ROLLBACK;
BEGIN;
WITH t AS (UPDATE parts SET v = v + 1000 WHERE x IN (1, 3) RETURNING v) UPDATE parts_b SET v = v + 10000 WHERE x = 4;
WITH t AS (UPDATE parts SET v = v + 1000 WHERE x IN (1, 3)) UPDATE parts_b1 SET v = v + 10000 WHERE x = 4;
WITH t AS (UPDATE parts_b2 SET v = v + 1000 WHERE x = 3 RETURNING v) UPDATE parts SET v = v + 10000 WHERE x = 4;
TABLE parts_now;
WITH t AS (INSERT INTO parts_a (k, x, v) SELECT k + 1000, 1, v + 500 FROM parts RETURNING v), u AS (DELETE FROM parts_b RETURNING v) UPDATE parts SET v = v + 1 WHERE x < 3;
TABLE parts_now;
WITH t AS (DELETE FROM parts_a WHERE v < 70 RETURNING v) DELETE FROM parts USING t WHERE parts.v = t.v + 100;
TABLE parts_now;
ROLLBACK;
-- Each row is changed once, by which of them nobody says.
BEGIN;
WITH t AS (UPDATE parts_b SET v = v + 1000) UPDATE parts SET v = v + 1000;
TABLE parts_now;
ROLLBACK;
-- The later one reads what the earlier one returns.
BEGIN;
WITH t AS (UPDATE parts_b SET v = v + 1 WHERE v % 2 = 0 RETURNING v) UPDATE parts SET v = parts.v + 1000 FROM t WHERE parts.v = t.v;
TABLE parts_now;
ROLLBACK;
BEGIN;
WITH t AS (UPDATE parts SET v = v + 1, x = 5 - x WHERE v % 4 = 1 RETURNING v) DELETE FROM parts_b USING t WHERE parts_b.v = t.v;
TABLE parts_now;
ROLLBACK;
BEGIN;
WITH t AS (UPDATE parts_a SET v = v + 2 WHERE v % 4 = 1 RETURNING v), u AS (UPDATE parts SET v = parts.v + 2000 FROM t WHERE parts.v = t.v RETURNING parts.v)
DELETE FROM parts_b1 WHERE v IN (SELECT v - 2001 FROM u);
TABLE parts_now;
ROLLBACK;
-- What a partition's key takes along.
CREATE TABLE tops (k int, x int, PRIMARY KEY (k, x)) PARTITION BY LIST (x);
CREATE TABLE tops_a PARTITION OF tops FOR VALUES IN (1);
CREATE TABLE tops_b PARTITION OF tops FOR VALUES IN (2);
CREATE TABLE below (k int, x int);
SELECT create_distributed_table('tops', 'k'), create_distributed_table('below', 'k', colocate_with => 'tops');
ALTER TABLE below ADD FOREIGN KEY (k, x) REFERENCES tops ON DELETE CASCADE;
INSERT INTO tops SELECT i, i % 2 + 1 FROM generate_series(1, 20) i;
INSERT INTO below TABLE tops;
BEGIN;
WITH t AS (DELETE FROM tops WHERE k < 10 RETURNING k) SELECT count(*), (SELECT count(*) FROM below) AS below, (SELECT count(*) FROM tops_a) AS a FROM t;
WITH t AS (DELETE FROM tops_b RETURNING k) SELECT count(*), (SELECT count(*) FROM below) AS below, (SELECT count(*) FROM tops) AS tops FROM t;
SELECT count(*) FROM below;
ROLLBACK;
DROP TABLE below;
-- A key that leads to one partition alone.
CREATE TABLE below_a (k int, x int);
SELECT create_distributed_table('below_a', 'k', colocate_with => 'tops');
ALTER TABLE below_a ADD FOREIGN KEY (k, x) REFERENCES tops_a ON DELETE CASCADE;
INSERT INTO below_a TABLE tops_a;
WITH t AS (DELETE FROM tops WHERE k < 10 RETURNING k) SELECT count(*), (SELECT count(*) FROM below_a) AS below FROM t;
WITH t AS (DELETE FROM tops_b RETURNING k) SELECT count(*), (SELECT count(*) FROM below_a) AS below FROM t;
SELECT count(*) FROM below_a;
DROP TABLE below_a, tops;
-- What ON CONFLICT DO UPDATE takes along.
CREATE TABLE tops (id int PRIMARY KEY, code int UNIQUE);
CREATE TABLE below (code int REFERENCES tops (code) ON UPDATE CASCADE);
SELECT create_reference_table('tops');
SELECT create_reference_table('below');
INSERT INTO tops SELECT i, i FROM generate_series(1, 5) i;
INSERT INTO below SELECT i FROM generate_series(1, 5) i;
WITH t AS (INSERT INTO tops VALUES (1, 10), (6, 6) ON CONFLICT (id) DO UPDATE SET code = excluded.code RETURNING id) SELECT count(*), (SELECT sum(code) FROM below) AS below, (SELECT count(*) FROM a) AS a FROM t;
SELECT sum(code) FROM below;
DROP TABLE below, tops;
-- Local tables that inherit, also one from two.
CREATE TABLE mother (m int);
CREATE TABLE father (f int);
CREATE TABLE child () INHERITS (mother, father);
INSERT INTO child VALUES (1, 1), (2, 2);
WITH t AS (INSERT INTO child VALUES (3, 3) RETURNING m) SELECT count(*), (SELECT count(*) FROM mother) AS m, (SELECT count(*) FROM a) AS a FROM t;
WITH t AS (DELETE FROM mother WHERE m = 1 RETURNING m) SELECT count(*), (SELECT count(*) FROM father) AS f, (SELECT count(*) FROM a) AS a FROM t;
WITH t AS (DELETE FROM father RETURNING f), i AS (INSERT INTO a (k) SELECT f FROM t WHERE f NOT IN (SELECT m FROM mother) RETURNING k) SELECT (SELECT count(*) FROM t) AS t, (SELECT count(*) FROM i) AS i;
SELECT count(*) FROM mother;
DROP TABLE child, mother, father;
DROP VIEW parts_now;
DROP TABLE parts;

-- How it is shown.
CREATE FUNCTION public.shown(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, ' || statement LOOP
		IF line !~ 'Node:' THEN
			RETURN NEXT regexp_replace(line, '_\d{6}| \(returns \$0\)', '', 'g');
		END IF;
	END LOOP;
END $$;
SELECT public.shown('VERBOSE) WITH x AS (DELETE FROM c WHERE k = 3 RETURNING k) SELECT c.x FROM c JOIN x USING (k) WHERE c.k = 4');
BEGIN;
SELECT public.shown('ANALYZE, TIMING OFF, SUMMARY OFF) WITH x AS (DELETE FROM c WHERE k = 3 RETURNING k) SELECT count(*), (SELECT min(id) FROM loc) FROM x');
ROLLBACK;

DROP FUNCTION public.compare_writes, public.more, public.result_of, public.content, public.next_one, public.shown;
