CREATE TABLE a (k int PRIMARY KEY, gone int, v int, w text);
ALTER TABLE a DROP COLUMN gone;
CREATE TABLE r (k int PRIMARY KEY, v int);
SELECT distribute('a', 'k');
ALTER TABLE a ADD COLUMN z text DEFAULT 'zz';
SELECT reference('r');
INSERT INTO a VALUES (1, 1, 'a') RETURNING a;
INSERT INTO a VALUES (2, 1, 'a'), (3, 2, 'b"c') RETURNING to_jsonb(a), k;
INSERT INTO a SELECT i, i, 'gs' FROM generate_series(4, 6) i RETURNING row_to_json(a) \g |sort
INSERT INTO a SELECT k + 10, v, w FROM a RETURNING (a).w, a \g |sort
INSERT INTO a VALUES (1) ON CONFLICT (k) DO UPDATE SET v = 9 RETURNING to_jsonb(a.*) || '{"x": 1}';
UPDATE a SET v = v + 1 WHERE k = 1 RETURNING a;
UPDATE a x SET v = v + 1 WHERE k < 3 RETURNING x, to_json(x) ->> 'w' \g |sort
DELETE FROM a WHERE k = 1 RETURNING row_to_json(a), hash_record(a) IS NULL;
DELETE FROM a USING r WHERE a.k = r.k RETURNING a;
WITH d AS (DELETE FROM a WHERE k > 12 RETURNING a AS row, k) SELECT (row).w, k FROM d ORDER BY k;
INSERT INTO r VALUES (1, 1), (2, 2) RETURNING r \g |sort
UPDATE r SET v = v + 1 RETURNING to_jsonb(r) \g |sort
PREPARE p(int) AS UPDATE a SET v = $1 WHERE k = $1 RETURNING a, to_jsonb(a);
EXECUTE p(2);
EXECUTE p(3);
EXECUTE p(4);
EXECUTE p(5);
EXECUTE p(6);
EXECUTE p(2);
EXECUTE p(3);
DO $$ DECLARE x a; BEGIN UPDATE a SET v = 100 WHERE k = 2 RETURNING a.* INTO x; RAISE WARNING '%', x; INSERT INTO a VALUES (77) RETURNING * INTO x; RAISE WARNING '%', x; END $$;
