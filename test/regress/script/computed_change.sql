\i :tables
CREATE SEQUENCE numbers;
CREATE FUNCTION later(i bigint) RETURNS int LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN i * 10; END';
CREATE FUNCTION later(t text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$BEGIN RETURN t || '+'; END$$;
CREATE FUNCTION calls() RETURNS bigint LANGUAGE sql AS 'SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM numbers';

-- Sequences: one value for each row that is changed.
UPDATE a SET v = nextval('numbers') WHERE k IN (1, 2) AND id < 50;
SELECT count(*), count(DISTINCT v), min(v), max(v), calls() FROM a WHERE k IN (1, 2) AND id < 50;
UPDATE a SET v = nextval('numbers') WHERE k = 3 AND id = 13 RETURNING v;
UPDATE a SET v = nextval('numbers') WHERE k = 300;
UPDATE a SET v = nextval('numbers') WHERE false;
UPDATE a SET v = nextval('numbers') WHERE k = NULL;
UPDATE s SET v = nextval('numbers') WHERE id = 4 RETURNING v;
UPDATE r SET v = nextval('numbers') WHERE id > 4;
SELECT count(*), count(DISTINCT v), calls() FROM r WHERE id > 4;
UPDATE a SET v = 0;
DELETE FROM a WHERE nextval('numbers') = 1;
SELECT calls();
UPDATE g SET v = nextval('numbers') WHERE k < 3;
UPDATE g SET v = nextval('numbers') - calls(), d = DEFAULT WHERE k = 3 RETURNING v <= 0, twice = 2 * v, d;

-- Functions of users: in values, in conditions, in what is returned.
UPDATE a SET v = later(id), w = later(w) WHERE k = 4 RETURNING id, v, w \g |sort
UPDATE a SET v = id WHERE later(id) BETWEEN 100 AND 200 RETURNING * \g |sort
UPDATE a SET v = later(v) WHERE later(id) < 100 AND v > 5 AND k < 8 RETURNING later(v), later(w), id \g |sort
UPDATE a SET v = v + 1, n = n * 2, w = later('x'), at = at + interval '1 day' WHERE id = 70 RETURNING *;
UPDATE a al SET v = later(al.v) WHERE al.k = 7 RETURNING al.id, al.v, al \g |sort
UPDATE ONLY a SET v = later(1) WHERE k = 2 AND id = 22 RETURNING v;
UPDATE c SET tags[2] = later('new'), tags[4] = later('more') WHERE k IN ('c1', 'c2') RETURNING * \g |sort
UPDATE c SET doc['m'] = to_jsonb(later('"sub"')) WHERE v = 6 RETURNING doc;
UPDATE c SET v = later(v), doc = doc || jsonb_build_object('v', later(v)) WHERE doc @> '{"m": 2}' RETURNING k, doc \g |sort
UPDATE s SET v = later(id), w = later(w) RETURNING * \g |sort
UPDATE r SET v = later(id), w = later(w) RETURNING * \g |sort
UPDATE r SET v = random() * 5 + 1, w = clock_timestamp() WHERE id < 5 RETURNING v > 0, w > '2' \g |sort
UPDATE r SET v = 1, w = 'same';
DELETE FROM a WHERE later(id) IN (110, 120, 130) RETURNING * \g |sort
DELETE FROM b WHERE k = 3 AND later(v) > 30 RETURNING * \g |sort
DELETE FROM r WHERE later(id) = 30 RETURNING *;
DELETE FROM s WHERE later(id) > 80 RETURNING id \g |sort
SELECT * FROM digest();

-- From other tables.
UPDATE a SET v = later(b.v), w = b.w FROM b WHERE a.id = b.id AND a.id < 9 RETURNING a.*, b.* \g |sort
UPDATE a SET v = later(b.v) FROM b WHERE a.k = b.k AND a.id = b.id AND a.id > 50 RETURNING a.id, b.w, later(b.id) \g |sort
UPDATE a SET v = later(l.v) FROM l WHERE a.id = l.id RETURNING a.id, l.w, l \g |sort
UPDATE a SET v = later(r.id) FROM r JOIN r2 USING (id) WHERE a.k = r.id RETURNING a.id, a.v, r2.v \g |sort
UPDATE a SET v = later(1) FROM b LEFT JOIN l ON l.id = b.id AND l.id < 4 WHERE a.id = b.id AND a.id < 7 RETURNING a.id, l.w, l.id, l, b \g |sort
UPDATE a SET v = 1 FROM b LEFT JOIN l ON l.id = b.id AND l.id < 4 WHERE a.id = b.id AND a.k = b.k AND a.id < 7 RETURNING a.id, l, l IS NULL, b, to_jsonb(a) \g |sort
UPDATE a SET v = q.x FROM (SELECT id, later(v) AS x FROM b) q WHERE q.id = a.id AND a.id < 7 RETURNING a.id, q \g |sort
UPDATE s SET v = later(a.v) FROM a WHERE a.id = s.id RETURNING * \g |sort
UPDATE r SET v = later(l.v), w = l.w FROM l WHERE l.id = r.id RETURNING * \g |sort
UPDATE a source SET v = later(found.id) FROM l found WHERE found.id = source.id AND source.k = 8 RETURNING source.v, found.id;
DELETE FROM a USING l WHERE l.id = a.id AND later(l.v) = 30 RETURNING a.id, l.* \g |sort
DELETE FROM b USING a, r WHERE a.k = b.k AND a.id = b.id AND r.id = b.k AND later(r.id) < 20 RETURNING b.id, r.w \g |sort

-- Subqueries of any kind.
UPDATE a SET v = (SELECT max(b.v) FROM b WHERE b.id < a.id) WHERE a.id BETWEEN 20 AND 30 RETURNING id, v \g |sort
UPDATE a SET v = (SELECT b.id FROM b WHERE b.id > a.id ORDER BY b.id LIMIT 1) WHERE k < 4 RETURNING id, v \g |sort
UPDATE a SET (v, w) = (SELECT b.id, b.w || a.id FROM b WHERE b.id = a.id + 1) WHERE k = 5 RETURNING id, v, w \g |sort
UPDATE a SET (v, w) = (SELECT count(*), string_agg(b.w, ',' ORDER BY b.id) FROM b WHERE b.v = a.k), n = later(a.k) WHERE id BETWEEN 30 AND 36 RETURNING id, v, w, n \g |sort
UPDATE a SET (v, n) = (SELECT id, v FROM b ORDER BY id LIMIT 1), (w, at) = (SELECT w, '2024-01-01'::timestamptz FROM l WHERE l.id = a.k) WHERE id > 90 RETURNING * \g |sort
UPDATE a SET (v, w) = (SELECT id, w FROM b WHERE false) WHERE id = 99 RETURNING id, v, w;
UPDATE a SET (v, w) = (SELECT id, w FROM b) WHERE id = 99;
UPDATE a SET (v, w) = (SELECT b.id, b.w FROM b WHERE b.v = a.k) WHERE k = 1;
UPDATE a SET (w) = (SELECT later(b.w) FROM b WHERE b.id = a.id) WHERE k = 6 AND id < 40 RETURNING id, w \g |sort
UPDATE r SET (v, w) = (SELECT o.id, o.w FROM l o WHERE o.id > r.id ORDER BY o.id LIMIT 1) RETURNING * \g |sort
UPDATE r SET v = (SELECT o.id FROM r o WHERE o.id > r.id ORDER BY o.id LIMIT 1) RETURNING * \g |sort
UPDATE r SET v = 5 WHERE id IN (SELECT id FROM a ORDER BY id LIMIT 3) RETURNING id \g |sort
UPDATE r SET v = x.n FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS n FROM r) x WHERE x.id = r.id RETURNING r.id, r.v \g |sort
UPDATE r SET id = id + later(10) RETURNING id \g |sort
DELETE FROM r WHERE id IN (SELECT id FROM r ORDER BY id DESC LIMIT 2) RETURNING id \g |sort
DELETE FROM a WHERE (SELECT count(*) FROM b WHERE b.v = a.v AND later(b.k) > 30) = 1 RETURNING id \g |sort

-- WITH.
WITH q AS (SELECT id, w FROM b WHERE id < 9) UPDATE a SET v = later(q.id), w = q.w FROM q WHERE q.id = a.id RETURNING a.id, a.v, a.w \g |sort
WITH q AS (SELECT id, w FROM b WHERE id < 9) UPDATE a SET v = later(1), (w, n) = (SELECT q.w, q.id FROM q WHERE q.id = a.id) WHERE EXISTS (SELECT FROM q WHERE q.id = a.id + 1) RETURNING id, w, n \g |sort
WITH q AS (SELECT id FROM l), p AS (SELECT id FROM q WHERE id < 5) UPDATE a SET v = (SELECT max(id) FROM p WHERE p.id < a.id) + later(0) WHERE id IN (SELECT id FROM q) RETURNING id, v \g |sort
WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q WHERE n < 4) UPDATE a SET v = later(n) FROM q WHERE q.n = a.id RETURNING id, v \g |sort
WITH u AS (UPDATE a SET v = later(id) WHERE k = 1 RETURNING id, v) SELECT count(*), sum(v) FROM u;
WITH u AS (UPDATE a SET v = later(id) WHERE k = 1 RETURNING id) DELETE FROM b USING u WHERE b.id = u.id AND later(b.id) < 300 RETURNING b.id \g |sort
SELECT * FROM digest();

-- Prepared, in functions, in transactions.
PREPARE one(int) AS UPDATE a SET v = later(id) WHERE k = $1 AND id < 30 RETURNING id, v;
EXECUTE one(1) \g |sort
EXECUTE one(2) \g |sort
EXECUTE one(3) \g |sort
EXECUTE one(4) \g |sort
EXECUTE one(5) \g |sort
EXECUTE one(6) \g |sort
EXECUTE one(7) \g |sort
EXECUTE one(NULL);
PREPARE all_of(int, text) AS DELETE FROM b WHERE later(v) = $1 AND w = $2;
EXECUTE all_of(20, 'w1');
EXECUTE all_of(20, 'w2');
CREATE PROCEDURE several() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..12 LOOP
		UPDATE a SET v = later(v + i) WHERE k = i;
		UPDATE a SET w = later(w) WHERE id = i;
		UPDATE r SET v = later(i) WHERE id = i;
		DELETE FROM b WHERE later(id) = i * 10;
	END LOOP;
END $$;
CALL several();
SELECT * FROM digest();
BEGIN;
UPDATE a SET v = 3 WHERE k = 1;
UPDATE a SET v = later(v) WHERE k = 1 RETURNING v \g |sort
SAVEPOINT p;
DELETE FROM a WHERE later(v) = 300;
ROLLBACK TO p;
SELECT count(*), sum(v) FROM a WHERE k = 1;
ROLLBACK;

-- System columns name the row that is changed.
UPDATE a SET v = later(7) WHERE ctid = (SELECT min(ctid) FROM a WHERE id = 44) RETURNING id, v, tableoid = 'a'::regclass;
UPDATE a SET w = tableoid::regclass, v = later(7) WHERE id = 45 RETURNING id, w, v;
UPDATE a SET w = a::text, v = later(7) WHERE id = 46 RETURNING w;
DELETE FROM a WHERE ctid = ANY (ARRAY(SELECT ctid FROM a WHERE later(id) = 470)) RETURNING id;

-- Errors leave all as it was.
UPDATE g SET v = later(k);
UPDATE g SET v = 1 / (k - 11) + later(0);
UPDATE a SET id = later(0) WHERE k = 2;
UPDATE a SET id = NULLIF(later(0), 0) WHERE k = 2;
UPDATE a SET n = later(12345678) WHERE k = 2;
UPDATE r SET id = later(1);
UPDATE g SET twice = later(1);

-- A function that changes the rows that it decides about, or computes.
CREATE FUNCTION touched(t regclass, i bigint) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('UPDATE %s SET v = v WHERE id = $1', t) USING i;
	RETURN true;
EXCEPTION WHEN division_by_zero THEN RETURN false;
END $$;
DELETE FROM a WHERE touched('a', id) AND k = 2;
UPDATE a SET v = v + 1 WHERE touched('a', id);
UPDATE a SET v = touched('a', id)::int WHERE k = 2;
UPDATE a SET v = touched('a', id)::int FROM b WHERE a.id = b.id;
UPDATE r SET v = touched('r', id)::int;
DELETE FROM s WHERE touched('s', id);
UPDATE r SET v = 0 WHERE touched('r', id);
BEGIN ISOLATION LEVEL REPEATABLE READ;
DELETE FROM a WHERE touched('a', id);
ROLLBACK;
CREATE FUNCTION touched_again(i bigint) RETURNS int LANGUAGE sql AS
	'WITH x AS (UPDATE a SET v = v + 1 WHERE id = i RETURNING 1), y AS (DELETE FROM b WHERE id = i RETURNING 1) SELECT count(*)::int FROM x, y';
UPDATE a SET v = touched_again(id) WHERE k = 4;
CREATE FUNCTION locked(i bigint) RETURNS int LANGUAGE sql AS 'SELECT v FROM a WHERE id = i FOR UPDATE';
UPDATE a SET v = v + locked(id) WHERE k = 4;
CREATE FUNCTION added(i bigint) RETURNS int LANGUAGE sql AS 'INSERT INTO b (k, id, v) VALUES (77, i + 7000, 1) RETURNING v';
UPDATE b SET v = added(id) WHERE k = 4;
BEGIN;
UPDATE a SET v = v + 1;
UPDATE a SET v = v + 1 WHERE touched('b', id) AND k = 4;
ROLLBACK;
SELECT * FROM digest();
