\i :tables

-- By key, by other columns, on all shards.
UPDATE a SET v = v + 1 WHERE k = 3;
UPDATE a SET v = v + 1 WHERE k = 3 AND id = 13;
UPDATE a SET v = v + 1 WHERE k = 3 AND id = 14;
UPDATE a SET v = v + 1 WHERE k = 300;
UPDATE a SET v = v + 1 WHERE k = NULL;
UPDATE a SET v = v + 1 WHERE k IN (1, 2, 3);
UPDATE a SET v = v + 1 WHERE k = ANY ('{4,5}') OR k = 6;
UPDATE a SET v = v + 1 WHERE id = 50;
UPDATE a SET v = v + 1 WHERE v > 5;
UPDATE a SET v = v + 1;
UPDATE a SET v = v WHERE false;
UPDATE ONLY a SET v = v + 1 WHERE k = 2;
UPDATE a AS al SET v = al.v * 2, w = al.w || '!' WHERE al.k = 7;
UPDATE a SET (v, w) = (5, 'pair') WHERE k = 8 AND id = 8;
UPDATE a SET (v, w) = ROW(6, upper(w)) WHERE k = 8 AND id = 18;
UPDATE a SET (v, w) = (SELECT 7, 'sub') WHERE k = 8 AND id = 28;
UPDATE a SET v = NULL, n = n / 3 WHERE k = 9 RETURNING id, n \g |sort
UPDATE a SET v = DEFAULT WHERE k = 9 AND id = 9 RETURNING *;
UPDATE a SET v = CASE WHEN v IS NULL THEN 0 ELSE -v END WHERE id < 20;
UPDATE c SET tags[2] = 'new' WHERE k = 'c1' RETURNING *;
UPDATE c SET tags = tags || 'more'::text, doc = doc || '{"x": [1]}' WHERE v < 5;
UPDATE c SET doc['m'] = '"sub"' WHERE v = 6 RETURNING doc;
UPDATE c SET v = (doc->>'n')::int + 1000 WHERE doc @> '{"m": 2}';
UPDATE s SET v = v + 1;
UPDATE s SET v = v + 1 WHERE id = 4 RETURNING *;
UPDATE r SET v = v + 1;
UPDATE r SET v = v + 1 WHERE id = 4 RETURNING *;
UPDATE r SET w = w || id WHERE id < 3 RETURNING id, w \g |sort
UPDATE g SET v = v + 1 WHERE k < 5;
UPDATE g SET v = v + 1, d = DEFAULT WHERE k = 6 RETURNING *;
UPDATE g SET twice = 1;
UPDATE g SET twice = DEFAULT WHERE k = 7;
SELECT * FROM digest();

-- Errors leave all as it was.
UPDATE g SET v = v * 50;
UPDATE g SET v = 1 / (k - 11);
UPDATE g SET v = 'x' WHERE k = 1;
UPDATE g SET nothing = 1;
UPDATE g SET v = 1, v = 2;
UPDATE a SET id = NULL WHERE k = 2;
UPDATE a SET id = 1 WHERE k = 2;
UPDATE a SET n = 12345678 WHERE k = 2;
DELETE FROM a WHERE 1 / (id - 55) = 5;
DELETE FROM nothing;
SELECT * FROM digest();

-- RETURNING.
UPDATE a SET v = 1 WHERE k = 2 AND id = 2 RETURNING a.*, v + 1 AS more, w || 'x', now() > at;
UPDATE a SET v = 1 WHERE k = 2 AND id = 2 RETURNING (SELECT 5) AS five;
UPDATE a SET v = 1 WHERE k = 2 AND id = 2 RETURNING (SELECT w FROM r WHERE r.id = a.k);
UPDATE a SET v = 1 WHERE k = 2 AND id = 2 RETURNING (SELECT count(*) FROM b WHERE b.k = a.k);
UPDATE a SET v = 2 WHERE id < 10 RETURNING id, v, k \g |sort
DELETE FROM a WHERE k = 2 AND id = 2 RETURNING *;
DELETE FROM a WHERE id IN (3, 4) RETURNING id, w \g |sort
DELETE FROM r WHERE id = 9 RETURNING *;
WITH u AS (UPDATE a SET v = v + 1 WHERE k = 3 RETURNING *) SELECT count(*), sum(v) FROM u;
WITH u AS (UPDATE a SET v = v + 1 WHERE id < 30 RETURNING *) SELECT count(*), sum(v) FROM u;
WITH d AS (DELETE FROM a WHERE id IN (15, 16) RETURNING *) SELECT k, id, v FROM d ORDER BY id;
WITH u AS (UPDATE a SET v = 0 WHERE k = 4 RETURNING id), u2 AS (UPDATE b SET v = 0 WHERE k = 5 RETURNING id) SELECT (SELECT count(*) FROM u), (SELECT count(*) FROM u2);
SELECT * FROM digest();

-- FROM and USING: colocated, reference tables, the key bound through the join.
UPDATE a SET v = b.v FROM b WHERE a.k = b.k AND a.id = b.id;
UPDATE a SET v = a.v + b.v FROM b WHERE a.k = b.k AND a.id = b.id AND b.k = 5 RETURNING a.id, a.v, b.id \g |sort
UPDATE a SET w = r.w FROM r WHERE a.v = r.id;
UPDATE a SET w = r.w || b.w FROM b JOIN r ON b.v = r.id WHERE a.k = b.k AND a.id = b.id;
UPDATE a SET w = x.w FROM (VALUES (1, 'one'), (2, 'two')) x(v, w) WHERE a.v = x.v;
UPDATE a SET v = g FROM generate_series(50, 60) g WHERE a.id = g;
UPDATE a SET v = s.n FROM (SELECT k, count(*) n FROM b GROUP BY k) s WHERE a.k = s.k;
UPDATE a SET v = s.n FROM (SELECT id, count(*) n FROM r GROUP BY id) s WHERE a.k = s.id AND s.n = 1;
UPDATE a SET v = a2.v + 1 FROM a a2 WHERE a2.k = a.k AND a2.id = a.id + 10;
UPDATE a SET v = v + 100 FROM b LEFT JOIN r ON r.id = b.v WHERE a.k = b.k AND a.id = b.id AND r.id IS NOT NULL;
DELETE FROM a USING b WHERE a.k = b.k AND a.id = b.id AND b.v = 3;
DELETE FROM a USING r WHERE a.v = r.id AND r.w = 'r5' RETURNING a.id, r.w \g |sort
DELETE FROM b USING a JOIN r ON r.id = a.v WHERE b.k = a.k AND a.id = b.id AND a.k = 1;
UPDATE r SET v = r2.v * 10 FROM r2 WHERE r.id = r2.id;
DELETE FROM r USING r2 WHERE r.id = r2.id AND r2.v = 2;
UPDATE s SET v = r.v FROM r WHERE r.id = s.id;
SELECT * FROM digest();

-- Subqueries whole on the shards.
UPDATE a SET v = 9 WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.id = a.id);
UPDATE a SET v = (SELECT max(b.v) FROM b WHERE b.k = a.k);
UPDATE a SET v = (SELECT max(r.v) FROM r WHERE r.id < a.k) WHERE k < 8;
UPDATE a SET v = 10 WHERE k IN (SELECT k FROM b WHERE v = 2);
UPDATE a SET v = 11 WHERE id IN (SELECT id FROM r);
UPDATE a SET v = 12 WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.v = a.v);
UPDATE a SET (v, w) = (SELECT count(*), max(w) FROM b WHERE b.k = a.k) WHERE id > 80;
DELETE FROM a WHERE id = (SELECT max(x.id) FROM a x WHERE x.k = a.k);
DELETE FROM a WHERE k = 4 AND id > (SELECT avg(id) FROM a x WHERE x.k = 4);
WITH q AS (SELECT k, min(id) id FROM a GROUP BY k) DELETE FROM a USING q WHERE a.k = q.k AND a.id = q.id;
WITH q AS (SELECT id FROM r WHERE v > 1) UPDATE a SET w = 'q' FROM q WHERE a.v = q.id;
SELECT * FROM digest();

-- Functions that are not immutable; parameters.
UPDATE a SET at = now() WHERE k = 5;
SELECT count(DISTINCT at), max(at) = now() FROM a WHERE k = 5;
BEGIN;
UPDATE a SET at = now(), n = 1;
SELECT count(DISTINCT at), min(at) = now() FROM a;
ROLLBACK;
BEGIN;
UPDATE a SET n = random() * 1000;
SELECT count(DISTINCT n) > 1, count(*) FROM a;
ROLLBACK;
UPDATE a SET n = 0 WHERE random() < 0;
UPDATE a SET w = current_user || current_setting('application_name') WHERE k = 5;
DELETE FROM a WHERE at < now() - interval '100 years';
CREATE FUNCTION add_one(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 + 1';
UPDATE a SET v = add_one(v) WHERE k = 5;
CREATE FUNCTION add_two(x int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN x + 2; END';
PREPARE up(int, int) AS UPDATE a SET v = $2 WHERE k = $1;
EXECUTE up(1, 1);
EXECUTE up(2, 2);
EXECUTE up(3, 3);
EXECUTE up(4, 4);
EXECUTE up(5, 5);
EXECUTE up(6, 6);
EXECUTE up(7, 7);
EXECUTE up(8, NULL);
EXECUTE up(NULL, 9);
EXECUTE up(100, 9);
PREPARE upall(int, text) AS UPDATE a SET v = v + $1, w = $2 WHERE v < $1 OR w = $2;
EXECUTE upall(1, 'x');
EXECUTE upall(2, 'x');
EXECUTE upall(3, 'y''s');
EXECUTE upall(4, NULL);
EXECUTE upall(NULL, 'x');
EXECUTE upall(6, 'x');
EXECUTE upall(7, 'x');
PREPARE del(int) AS DELETE FROM b WHERE k = $1 RETURNING id;
EXECUTE del(1) \g |sort
EXECUTE del(2) \g |sort
SET plan_cache_mode = force_generic_plan;
EXECUTE del(3) \g |sort
EXECUTE del(4) \g |sort
EXECUTE up(6, 66);
PREPARE upin(int[]) AS UPDATE a SET v = 0 WHERE k = ANY ($1);
EXECUTE upin('{1,2}');
EXECUTE upin('{}');
EXECUTE upin(NULL);
EXECUTE upin('{1,2,3,4,5,6,7,8,9,10}');
PREPARE upref(int, int) AS UPDATE r SET v = $2 WHERE id = $1;
EXECUTE upref(5, 55);
EXECUTE upref(6, 66);
RESET plan_cache_mode;
DEALLOCATE ALL;
SELECT count(*), sum(v), count(DISTINCT w) FROM a;
SELECT * FROM r ORDER BY id;

-- Assigning the key what it has.
UPDATE a SET k = k WHERE id = 20;
UPDATE a SET k = 3, v = 1 WHERE k = 3;
UPDATE s SET id = id + 100;
UPDATE r SET id = id + 100;
SELECT * FROM digest() WHERE t IN ('s', 'r');

-- Views, rules of the like, functions, cursors.
CREATE VIEW va AS SELECT k, id, v FROM a WHERE v < 50;
UPDATE va SET v = 30 WHERE k = 5;
UPDATE va SET v = 31 WHERE id = 25 RETURNING *;
DELETE FROM va WHERE id = 25;
DO $$
DECLARE row record; n int; total int := 0;
BEGIN
	FOR row IN SELECT k, id FROM a ORDER BY k, id LIMIT 20 LOOP
		UPDATE a SET v = row.id WHERE k = row.k AND id = row.id;
		GET DIAGNOSTICS n = ROW_COUNT;
		total := total + n;
	END LOOP;
	RAISE WARNING '%', total;
	UPDATE a SET v = 5 WHERE id = 5;
	IF FOUND THEN RAISE WARNING 'found'; END IF;
END $$;
CREATE FUNCTION bump(key int) RETURNS SETOF int LANGUAGE sql AS 'UPDATE twice.a SET v = v + 1 WHERE k = $1 RETURNING v';
SELECT sum(bump) FROM bump(6);
SELECT bump(7) \g |sort
SELECT count(*), sum(v) FROM a;

-- System columns: tableoid is the table's Oid, and ctid names a row wherever it is.
BEGIN;
UPDATE a SET v = 1 WHERE tableoid = 'a'::regclass AND k = 5;
UPDATE a SET v = 2 WHERE tableoid = 'b'::regclass;
UPDATE a SET v = 3 FROM r WHERE a.tableoid <> r.tableoid AND r.tableoid = 'r'::regclass AND r.id = a.k AND a.k > 3;
UPDATE r SET v = 4 WHERE tableoid = 'r'::regclass AND id > 3;
UPDATE s SET v = 5 WHERE tableoid::regclass::text = 's' AND id > 3;
SELECT md5(string_agg(format('%s,%s,%s,%s', k, id, v, w), '|' ORDER BY id)) FROM a;
UPDATE a SET w = 'some' WHERE ctid IN (SELECT ctid FROM a ORDER BY id LIMIT 7) RETURNING id \g |sort
UPDATE a SET w = 'same' WHERE ctid IN (SELECT ctid FROM a WHERE k = 5 OR w = 'some' ORDER BY id LIMIT 4) AND id > 2 RETURNING id \g |sort
UPDATE a SET w = 'others' WHERE ctid NOT IN (SELECT ctid FROM a WHERE id > 20) AND k < 7 RETURNING id \g |sort
UPDATE a SET w = 'one' WHERE ctid = (SELECT ctid FROM a ORDER BY id DESC LIMIT 1) RETURNING id;
UPDATE a SET w = 'joined' WHERE ctid IN (SELECT a.ctid FROM a JOIN b USING (k) JOIN r ON r.id = a.k WHERE a.id < 30) RETURNING id \g |sort
UPDATE a SET w = 'least' WHERE ctid > (SELECT min(other.ctid) FROM a other WHERE other.k = a.k) AND false;
UPDATE a SET w = 'self' FROM a other WHERE a.k = other.k AND a.ctid = other.ctid AND other.id = 12 RETURNING a.id;
DELETE FROM a WHERE ctid = ANY (ARRAY(SELECT ctid FROM a WHERE id > 10 ORDER BY id LIMIT 5)) RETURNING id \g |sort
DELETE FROM a WHERE ctid IN (SELECT ctid FROM a WHERE id > 10 ORDER BY id LIMIT 5 FOR UPDATE SKIP LOCKED) RETURNING id \g |sort
WITH gone AS (DELETE FROM a WHERE ctid IN (SELECT ctid FROM a ORDER BY id LIMIT 3) RETURNING id) SELECT * FROM gone ORDER BY id;
PREPARE some_rows(int) AS DELETE FROM a WHERE ctid IN (SELECT ctid FROM a WHERE id > $1 ORDER BY id LIMIT 2) RETURNING id;
EXECUTE some_rows(20) \g |sort
EXECUTE some_rows(20) \g |sort
EXECUTE some_rows(20) \g |sort
EXECUTE some_rows(20) \g |sort
EXECUTE some_rows(20) \g |sort
EXECUTE some_rows(20) \g |sort
EXECUTE some_rows(30) \g |sort
DELETE FROM s WHERE ctid IN (SELECT ctid FROM s ORDER BY id LIMIT 3) RETURNING id \g |sort
SELECT md5(string_agg(format('%s,%s,%s,%s', k, id, v, w), '|' ORDER BY id)) FROM a;
ROLLBACK;

-- All rows.
DELETE FROM a WHERE k = 6;
DELETE FROM a WHERE v > 1000000;
DELETE FROM a;
DELETE FROM a;
TRUNCATE b, c;
DELETE FROM r;
DELETE FROM s RETURNING id \g |sort
SELECT * FROM digest();
