\i :tables

-- Subqueries over other shards.
UPDATE a SET v = (SELECT max(v) FROM b) WHERE k = 1;
UPDATE a SET v = (SELECT max(v) FROM a) WHERE id < 40;
UPDATE a SET v = 20 WHERE id IN (SELECT id FROM b WHERE v = 1);
UPDATE a SET w = b.w FROM b WHERE a.id = b.id;
UPDATE a SET w = l.w FROM l WHERE a.v = l.id;
UPDATE a SET w = l.w FROM l WHERE a.k = l.id;
DELETE FROM b WHERE v IN (SELECT v FROM a WHERE id = 33);
BEGIN;
UPDATE a SET w = b.w || a.w FROM b WHERE a.k = b.v AND b.id = a.id RETURNING a.k, a.id, a.w, b.k \g |sort
UPDATE a SET v = q.n FROM (SELECT v, count(*) AS n FROM b GROUP BY v) q WHERE a.k = q.v RETURNING a.id, a.v \g |sort
UPDATE a SET v = c.v, w = b.w FROM b LEFT JOIN c ON c.v = b.id + 20 WHERE a.k = b.v AND a.id = b.id + 1 RETURNING a.id, a.v, a.w, c.k \g |sort
INSERT INTO b VALUES (1, 500, 7, 'own'), (2, 501, 8, 'own');
UPDATE a SET w = b.w FROM b, r WHERE a.k = b.v AND b.id >= 500 AND r.id = a.v RETURNING a.id, r.w \g |sort
DELETE FROM b USING a x WHERE b.k = x.v AND x.id = b.id + 2 RETURNING b.id, x.k \g |sort
UPDATE a SET w = x.w FROM a x WHERE a.k = x.v AND x.id = a.id + 5 AND a.v IN (SELECT v FROM b) RETURNING a.id, x.id \g |sort
DELETE FROM a USING b, c WHERE a.k = b.v AND c.v = b.id AND a.id = c.v + 10 RETURNING a.id, c.k, b \g |sort
SELECT * FROM digest();
ROLLBACK;
-- Sublinks that refer to the row, off the key.
BEGIN;
DELETE FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.v = a.k) AND a.v < 3 RETURNING a.id \g |sort
UPDATE a SET w = 'seen' WHERE EXISTS (SELECT FROM b JOIN c ON c.v = b.id WHERE b.v = a.v AND b.w = a.w) OR a.k = 3 RETURNING a.id, a.w \g |sort
UPDATE a SET v = 0 WHERE v < (SELECT avg(x.v) FROM a x WHERE x.w = a.w) RETURNING a.id \g |sort
UPDATE b SET w = a.w FROM a WHERE a.v = b.k AND a.id = b.id + 1 AND NOT EXISTS (SELECT FROM c WHERE c.v = b.id) RETURNING b.id, b.w \g |sort
DELETE FROM r WHERE NOT EXISTS (SELECT FROM a WHERE a.v = r.id AND a.k > 3) RETURNING r.id \g |sort
UPDATE r SET w = b.w FROM b JOIN a ON a.k = b.v AND a.id = b.id WHERE b.k = r.id AND b.id = (SELECT max(x.id) FROM b x JOIN a y ON y.k = x.v AND y.id = x.id WHERE x.k = r.id) RETURNING r.id, r.w \g |sort
UPDATE s SET w = b.w FROM b, c WHERE b.v = s.id AND c.v = b.id AND b.id = 4 RETURNING s.id, s.w \g |sort
SELECT * FROM digest();
ROLLBACK;
DELETE FROM b USING l WHERE b.id = l.id;
DELETE FROM a WHERE id IN (SELECT id FROM a ORDER BY id LIMIT 3);
WITH q AS (SELECT id FROM a ORDER BY id DESC LIMIT 3) DELETE FROM a USING q WHERE a.id = q.id RETURNING a.id \g |sort
UPDATE r SET v = (SELECT count(*) FROM a);
UPDATE r SET w = 'seen' WHERE id IN (SELECT v FROM a);
UPDATE r SET w = l.w FROM l WHERE l.id = r.id;
DELETE FROM r WHERE id IN (SELECT v FROM b);
UPDATE s SET v = (SELECT count(*) FROM b);
UPDATE s SET w = l.w FROM l WHERE l.id = s.id;
UPDATE l SET v = (SELECT count(*) FROM a WHERE a.k = l.id);
UPDATE l SET w = a.w FROM a WHERE a.id = l.id + 20;
UPDATE l SET w = r.w FROM r WHERE r.id = l.id RETURNING l.id, l.w \g |sort
DELETE FROM l USING b WHERE b.id = l.id AND b.v = 2;
DELETE FROM l WHERE id IN (SELECT k FROM a);
SELECT * FROM digest();

