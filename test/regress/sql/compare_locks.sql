-- FOR UPDATE and its relatives give the rows that they give on plain tables, in joins of all
-- kinds of tables, subqueries and WITH, with ORDER BY and LIMIT.
SET client_min_messages = warning;
CREATE FUNCTION public.plus_one(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN $1 + 1; END $$;
SET search_path = plain;
CREATE VIEW lockable AS SELECT * FROM a;
CREATE VIEW lockable_with_local AS SELECT a.k, a.id, loc.name FROM a JOIN loc ON a.x = loc.id;
CREATE FUNCTION lockable_rows() RETURNS SETOF a LANGUAGE sql STABLE AS 'SELECT * FROM plain.a';
SET search_path = dist;
CREATE VIEW lockable AS SELECT * FROM a;
CREATE VIEW lockable_with_local AS SELECT a.k, a.id, loc.name FROM a JOIN loc ON a.x = loc.id;
CREATE FUNCTION lockable_rows() RETURNS SETOF a LANGUAGE sql STABLE AS 'SELECT * FROM dist.a';
RESET search_path;
SELECT public.compare($$
SELECT id FROM a ORDER BY id FOR UPDATE;
SELECT id FROM a ORDER BY id LIMIT 4 FOR UPDATE /* ordered */;
SELECT id FROM a WHERE k = 4 ORDER BY id LIMIT 4 FOR UPDATE /* ordered */;
SELECT id FROM a FOR SHARE;
SELECT id FROM a FOR NO KEY UPDATE SKIP LOCKED;
SELECT id FROM a FOR KEY SHARE NOWAIT;
SELECT a.id, b.x FROM a JOIN b USING (k, id) FOR UPDATE;
SELECT loc.id, s.a FROM loc, (SELECT a FROM a WHERE id < 7) s FOR UPDATE OF s;
SELECT a.id, b.x FROM a JOIN b USING (k, id) FOR UPDATE OF a;
SELECT a.id, b.x FROM a JOIN b USING (k, id) FOR UPDATE OF a FOR SHARE OF b NOWAIT;
SELECT a.id, b.x FROM a LEFT JOIN b USING (k, id) FOR UPDATE OF a;
SELECT a.id, b.x FROM a JOIN b ON a.id = b.x FOR UPDATE OF b;
SELECT a.id, b.x FROM a JOIN b ON a.id = b.x FOR UPDATE;
SELECT a.id, r.x FROM a JOIN r ON a.id = r.x FOR UPDATE OF a;
SELECT a.id, r.x FROM a JOIN r ON a.id = r.x FOR UPDATE;
SELECT a.id, r.x FROM a JOIN r ON a.id = r.x FOR UPDATE OF r;
SELECT r.id FROM r FOR UPDATE;
SELECT r.id FROM r JOIN r2 ON r.id = r2.rid FOR UPDATE OF r2;
SELECT r.id FROM r JOIN loc ON r.id = loc.x FOR UPDATE;
SELECT a.id, loc.x FROM a JOIN loc ON a.id = loc.id FOR UPDATE OF loc;
SELECT a.id, loc.x FROM a JOIN loc ON a.id = loc.id FOR UPDATE OF a;
SELECT a.id, loc.x FROM a JOIN loc ON a.id = loc.id FOR UPDATE;
SELECT loc.x FROM loc WHERE id IN (SELECT k FROM a) FOR UPDATE;
SELECT s1.x FROM s1 FOR UPDATE;
SELECT s1.x FROM s1 JOIN s2 USING (id) FOR UPDATE OF s2;
SELECT s1.x FROM s1 JOIN a ON a.id = s1.id FOR UPDATE OF a;
SELECT * FROM (SELECT id, x FROM a WHERE x = 3 FOR UPDATE) q ORDER BY id /* ordered */;
SELECT * FROM (SELECT id, x FROM a WHERE x = 3) q FOR UPDATE;
WITH q AS (SELECT id, k FROM a WHERE x = 3 FOR UPDATE) SELECT count(*) FROM q;
WITH q AS MATERIALIZED (SELECT id, k FROM a ORDER BY id LIMIT 7 FOR UPDATE SKIP LOCKED) SELECT q.id, b.x FROM q JOIN b USING (k, id);
SELECT id FROM a WHERE k IN (SELECT k FROM b WHERE x = 3 FOR UPDATE);
SELECT id FROM a WHERE k IN (SELECT k FROM b WHERE x = 3) FOR UPDATE;
SELECT id FROM a WHERE x IN (SELECT x FROM b WHERE f = 3) FOR UPDATE;
SELECT id FROM a WHERE EXISTS (SELECT 1 FROM d WHERE d.x = a.x) ORDER BY id LIMIT 5 FOR UPDATE;
SELECT id, (SELECT max(x) FROM b WHERE b.x = a.x) FROM a WHERE x = 3 FOR UPDATE;
SELECT id, plus_one(x) FROM a WHERE x = 3 FOR UPDATE;
SELECT id FROM a WHERE plus_one(x) = 3 FOR UPDATE;
SELECT a FROM a WHERE x = 3 FOR UPDATE;
SELECT a, r FROM a, r WHERE a.x = r.x AND a.k = 4 FOR UPDATE;
SELECT id FROM a TABLESAMPLE bernoulli (100) FOR UPDATE;
SELECT id FROM a ORDER BY x, id OFFSET 3 FETCH FIRST 2 ROWS ONLY FOR UPDATE;
SELECT ctid IS NULL, tableoid = 'a'::regclass FROM a FOR UPDATE;
SELECT a.id FROM a, generate_series(1,2) g WHERE a.x = 4 FOR UPDATE OF a;
SELECT a.id FROM a, (VALUES (3), (4)) v(x) WHERE a.x = v.x FOR UPDATE OF a;
SELECT x FROM a WHERE id < 0 FOR UPDATE;
SELECT 1 FROM a WHERE x = 4 FOR UPDATE;
SELECT a.x, d.x FROM a CROSS JOIN d WHERE a.k = 3 AND d.t = 'y3' FOR UPDATE;
SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.x = a.x ORDER BY b.k, b.id LIMIT 2 FOR UPDATE) q WHERE a.id < 5;
SELECT id, (SELECT id FROM b WHERE b.x = a.x ORDER BY id LIMIT 1 FOR SHARE) FROM a WHERE id < 20;
SELECT * FROM (SELECT id, x FROM a ORDER BY id LIMIT 5) q FOR UPDATE;
SELECT * FROM (SELECT q.id, r.name FROM (SELECT * FROM a) q JOIN r ON r.id = q.x) p ORDER BY id LIMIT 6 FOR NO KEY UPDATE;
SELECT id FROM a ORDER BY x DESC NULLS LAST, id LIMIT 5 OFFSET 3 FOR UPDATE SKIP LOCKED /* ordered */;
SELECT id FROM a ORDER BY x, id FETCH FIRST 3 ROWS WITH TIES FOR UPDATE /* ordered */;
SELECT id FROM a ORDER BY id LIMIT (SELECT max(x) FROM b) FOR UPDATE /* ordered */;
SELECT id FROM a ORDER BY id LIMIT NULL FOR UPDATE;
SELECT id FROM a ORDER BY id LIMIT 0 FOR UPDATE;
SELECT count(*) FROM a WHERE id IN (SELECT id FROM b ORDER BY id LIMIT 10 FOR UPDATE);
SELECT q.id, r.x FROM (SELECT id, k, x FROM a) q JOIN r ON q.x = r.id JOIN b ON b.k = q.k ORDER BY 1, 2 LIMIT 9 FOR UPDATE;
SELECT count(*) FROM (SELECT 1 FROM (SELECT id, k, x FROM a) q JOIN (b JOIN (SELECT k, id FROM c JOIN tree USING (k)) z USING (k)) USING (k) LIMIT 9 FOR UPDATE) p;
SELECT * FROM (SELECT id, k FROM a) q LEFT JOIN r ON r.id = q.k ORDER BY 1, 2, 3 LIMIT 9 FOR UPDATE OF q;
SELECT x.id, y.id FROM a x JOIN a y ON x.id = y.x ORDER BY 1, 2 LIMIT 20 FOR UPDATE;
SELECT q FROM (SELECT * FROM a) q ORDER BY id LIMIT 3 FOR UPDATE /* ordered */;
SELECT q, to_jsonb(q), r FROM (SELECT * FROM a WHERE x = 3) q, r WHERE r.id = q.k FOR UPDATE;
SELECT q.*::text, (SELECT q FROM b WHERE b.id = q.id) FROM (SELECT * FROM a WHERE x = 3) q, r WHERE r.id = q.k FOR UPDATE OF q;
SELECT lockable FROM lockable ORDER BY id LIMIT 3 FOR UPDATE /* ordered */;
SELECT (v).id FROM (SELECT lockable FROM lockable WHERE x = 3 ORDER BY id LIMIT 3 FOR UPDATE) q(v);
SELECT id FROM lockable_with_local ORDER BY id LIMIT 3 FOR UPDATE /* ordered */;
SELECT w FROM lockable_with_local w ORDER BY id LIMIT 3 FOR UPDATE /* ordered */;
SELECT f FROM lockable_rows() f ORDER BY id LIMIT 3 FOR UPDATE /* ordered */;
SELECT f.id, r.id FROM lockable_rows() f, r WHERE r.id = f.k ORDER BY 1 LIMIT 3 FOR UPDATE /* ordered */;
SELECT r, tableoid = 'r'::regclass, ctid IS NULL FROM r FOR UPDATE;
$$);
\set VERBOSITY terse
-- A row that an outer join may leave out can't be locked.
SET search_path = dist;
SELECT a.id FROM a LEFT JOIN d ON a.x = d.x ORDER BY 1 LIMIT 1 FOR UPDATE;
SELECT a.id FROM a LEFT JOIN d ON a.x = d.x WHERE d.t = 'y3' ORDER BY 1 LIMIT 1 FOR UPDATE;
SELECT a.id FROM a LEFT JOIN b USING (k, id) FOR UPDATE;

-- On a worker: the first copy of a reference table is on another node.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
\c - - - :worker
SET search_path = dist;
\set VERBOSITY terse
SELECT id, tableoid::regclass, ctid IS NULL, xmin IS NULL, xmax IS NULL, cmin = cmax FROM r WHERE x = 1 ORDER BY id FOR UPDATE;
SELECT r FROM r WHERE x = 1 ORDER BY id FOR UPDATE;
SELECT id FROM r WHERE tableoid = 'r'::regclass AND x = 1 ORDER BY id LIMIT 2 FOR SHARE;
SELECT id FROM r WHERE r = ROW(1, 1, 'y1')::r FOR UPDATE;
SELECT r.id, ctid = (SELECT ctid FROM r s WHERE s.id = r.id) FROM r WHERE r.ctid >= '(0,1)' AND r.id < 3 ORDER BY id FOR UPDATE;
SELECT a.id, r, r.tableoid::regclass FROM a JOIN r ON a.x = r.id WHERE a.id < 5 ORDER BY a.id FOR UPDATE;
SELECT a.id, q FROM a JOIN (SELECT r.*, r.ctid IS NULL AS c FROM r) q ON a.x = q.id WHERE a.id < 5 ORDER BY a.id FOR UPDATE OF q;
SELECT id, q.t FROM r, LATERAL (SELECT r.tableoid::regclass AS t FROM a WHERE a.id = r.id) q WHERE r.id < 4 ORDER BY id FOR UPDATE OF r;
SELECT id, (SELECT r FROM a WHERE a.id = r.id) FROM r WHERE random() >= 0 AND r.id < 4 ORDER BY id FOR UPDATE;
SELECT pct, count(*) FROM (SELECT pct, s.id FROM (VALUES (0), (100)) v(pct), LATERAL (SELECT * FROM r TABLESAMPLE bernoulli (pct)) s FOR UPDATE OF s) q GROUP BY pct;
