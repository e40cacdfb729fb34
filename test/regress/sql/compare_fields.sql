-- Clauses that are a field of their own in the query tree: none is lost, or done twice, where a query is taken apart.
\t on
SET client_min_messages = warning;
SET search_path = dist, public;

-- Columns that a primary key determines, which GROUP BY doesn't name, also over all shards of a node at once.
SELECT * FROM compare($$
SELECT k, id, y, count(*) FROM a GROUP BY k, id;
SELECT sum(n) FROM (SELECT k, id, y, count(*) AS n FROM a GROUP BY k, id) s;
SELECT count(*) FROM (SELECT a.k, a.id, a.y || a.x AS yx FROM a JOIN r ON r.id = a.x GROUP BY a.k, a.id HAVING a.y <> 'y1') s;
SELECT sum(n) FROM (SELECT b.k, b.id, b.j, b.arr, count(*) AS n FROM a JOIN b USING (k) GROUP BY b.k, b.id) s;
SELECT sum(n) FROM (SELECT r.id, r.name, count(*) AS n FROM r JOIN a ON a.x = r.id GROUP BY r.id) s;
SELECT r.id, r.name, (SELECT count(*) FROM a WHERE a.x = r.id) FROM r GROUP BY r.id;
$$);

-- GROUP BY DISTINCT
SELECT * FROM compare($$
SELECT x, k % 3 AS m, count(*) FROM a GROUP BY DISTINCT ROLLUP (x, k % 3), ROLLUP (x);
SELECT x, k % 3 AS m, count(*) FROM a GROUP BY ALL ROLLUP (x, k % 3), ROLLUP (x);
SELECT k, id, count(*) FROM a GROUP BY DISTINCT CUBE (k, id), CUBE (k);
SELECT s.x, n, r.name FROM (SELECT x, count(DISTINCT y) AS n FROM a GROUP BY DISTINCT ROLLUP (x, k % 3), ROLLUP (x)) s JOIN r ON r.id = s.x;
SELECT a.x, c.x AS cx, count(*) FROM a JOIN c ON c.ak = a.k GROUP BY DISTINCT CUBE (a.x, c.x), CUBE (a.x);
$$);

-- WITH TIES
SELECT * FROM compare($$
SELECT x FROM a ORDER BY x FETCH FIRST 3 ROWS WITH TIES;
SELECT x FROM a ORDER BY x OFFSET 2 FETCH FIRST 3 ROWS WITH TIES;
SELECT DISTINCT x FROM a ORDER BY x FETCH FIRST 2 ROWS WITH TIES;
SELECT x, count(*) FROM a GROUP BY x ORDER BY 2, 1 FETCH FIRST 1 ROW WITH TIES;
SELECT s.x, r.name FROM (SELECT x FROM a ORDER BY x FETCH FIRST 3 ROWS WITH TIES) s JOIN r ON r.id = s.x;
SELECT id, (SELECT count(*) FROM (SELECT x FROM a WHERE a.x = r.x ORDER BY x FETCH FIRST 1 ROW WITH TIES) s) FROM r;
SELECT id FROM r WHERE id IN (SELECT x FROM a ORDER BY x FETCH FIRST 1 ROW WITH TIES);
SELECT id FROM r WHERE EXISTS (SELECT 1 FROM a WHERE a.x = r.id ORDER BY y FETCH FIRST 1 ROW WITH TIES);
(SELECT x FROM a) UNION ALL (SELECT x FROM c) ORDER BY 1 FETCH FIRST 1 ROW WITH TIES;
$$);

-- TABLESAMPLE
SELECT * FROM compare($$
SELECT count(*) FROM a TABLESAMPLE bernoulli (100) REPEATABLE (3) JOIN b TABLESAMPLE system (100) USING (k);
SELECT count(*) FROM a TABLESAMPLE bernoulli (0) JOIN b USING (k);
SELECT count(*) FROM c WHERE ak IN (SELECT k FROM a TABLESAMPLE bernoulli (0));
SELECT count(*) FROM a LEFT JOIN r TABLESAMPLE bernoulli (0) ON r.id = a.x WHERE r.id IS NULL;
SELECT count(*) FROM r LEFT JOIN (SELECT * FROM a TABLESAMPLE bernoulli (0)) s ON s.x = r.id;
WITH w AS (SELECT * FROM a TABLESAMPLE bernoulli (0)) SELECT count(*) FROM w JOIN w w2 USING (k);
$$);

-- Set-returning functions, windows and SEARCH, CYCLE.
SELECT * FROM compare($$
SELECT k, id, generate_series(1, k % 3) AS g, row_number() OVER (PARTITION BY x ORDER BY k, id) FROM a WHERE k < 9;
SELECT x, generate_series(1, count(*)::int) FROM a GROUP BY x;
SELECT x, sum(sum(k)) OVER (ORDER BY x) FROM a GROUP BY x;
SELECT id FROM r WHERE EXISTS (SELECT generate_series(1, 0) FROM a);
SELECT id FROM r WHERE id IN (SELECT generate_series(1, 2) FROM a WHERE k < 3);
WITH RECURSIVE w (id) AS (SELECT 1 UNION ALL SELECT r.x FROM w JOIN r ON r.id = w.id) CYCLE id SET c USING path SELECT id, c, path::text FROM w;
WITH RECURSIVE w (k, id) AS (SELECT k, id FROM tree WHERE parent IS NULL UNION ALL SELECT t.k, t.id FROM w JOIN tree t ON t.parent = w.id AND t.k = w.k)
SEARCH DEPTH FIRST BY id SET o SELECT k, id, o::text FROM w;
$$);

-- Columns that a primary key determines, where the table becomes a subquery.
SELECT * FROM compare($$
SELECT a.k, a.id, a.y, a.ctid IS NULL FROM a GROUP BY a.k, a.id;
SELECT a.k, a.y || 'z', max(a.ctid) IS NULL, count(*) FROM a GROUP BY a.k, a.id HAVING a.x > 2;
SELECT a.id, a.y, (SELECT count(*) FROM b WHERE b.x = a.x) FROM a TABLESAMPLE bernoulli ((SELECT 100)) GROUP BY a.k, a.id ORDER BY a.x, a.id LIMIT 7 /* ordered */;
SELECT r.id, r.name, count(a.ctid), sum(a.x) FROM r LEFT JOIN a ON a.x = r.id GROUP BY r.id;
SELECT a, count(*), min(ctid) IS NULL FROM a GROUP BY a.k, a.id;
SELECT a.k, a.x, sum(b.f) FROM a TABLESAMPLE bernoulli ((SELECT 100)) JOIN b USING (k) GROUP BY a.k, a.id HAVING count(b.ctid) > 1 AND a.y <> 'q';
$$);

-- The same in what is read first, correlated, grouped twice or turned into a join.
SELECT * FROM compare($$
SELECT t.id, t.name, t.ctid IS NULL FROM r t GROUP BY t.id;
SELECT t.k, t.id, t.x, t.ctid IS NULL FROM a t GROUP BY t.k, t.id;
SELECT t.k, t.id, t.x, t.ctid IS NULL, t.y FROM a t JOIN r ON r.id = t.x GROUP BY t.k, t.id;
WITH RECURSIVE w (id) AS (SELECT 1 UNION ALL SELECT r.x FROM w JOIN r ON r.id = w.id) CYCLE id SET c USING path SELECT a.k, w.id, w.c, w.path::text FROM w JOIN a ON a.x = w.id;
WITH RECURSIVE w (id) AS (SELECT x FROM e WHERE x = 1 UNION ALL SELECT r.x FROM w JOIN r ON r.id = w.id) CYCLE id SET c USING path SELECT a.k, w.id, w.c, w.path::text FROM w JOIN a ON a.x = w.id;
WITH RECURSIVE w (id) AS (SELECT x FROM e WHERE x = 1 UNION ALL SELECT r.x FROM w JOIN r ON r.id = w.id AND r.x <> 1) SEARCH DEPTH FIRST BY id SET o SELECT a.k, w.id, w.o::text FROM a JOIN w ON a.x = w.id;
WITH RECURSIVE w (k, id) AS (SELECT k, id FROM tree WHERE parent IS NULL UNION ALL SELECT t.k, t.id FROM w JOIN tree t ON t.parent = w.id) CYCLE id SET c USING path SELECT a.k, w.id, w.c, w.path::text FROM a JOIN w ON a.x = w.id;
WITH RECURSIVE w (id, n) AS (SELECT x, 1 FROM loc UNION ALL SELECT loc.x, n + 1 FROM w JOIN loc ON loc.id = w.id WHERE n < 4) CYCLE id SET c USING path SELECT count(*), w.c FROM a JOIN w ON a.k = w.id WHERE w.c GROUP BY w.c;
WITH RECURSIVE w (id, n) AS (SELECT x, 1 FROM loc UNION ALL SELECT loc.x, n + 1 FROM w JOIN loc ON loc.id = w.id WHERE n < 4) SEARCH BREADTH FIRST BY id SET o SELECT a.k, w.o::text FROM a JOIN w ON a.k = w.id;
WITH RECURSIVE w (id, n) AS (SELECT x, 1 FROM loc UNION ALL SELECT loc.x, n + 1 FROM w JOIN loc ON loc.id = w.id WHERE n < 4) CYCLE id SET c TO 'y' DEFAULT 'n' USING path SELECT a.k FROM a WHERE a.k IN (SELECT w.id FROM w WHERE c = 'y');
SELECT id FROM r WHERE EXISTS (SELECT DISTINCT ON (x) x FROM a WHERE k = r.id ORDER BY x);
SELECT id FROM r WHERE EXISTS (SELECT x, row_number() OVER (ORDER BY x) FROM a WHERE a.x = r.id ORDER BY 2);
SELECT id FROM loc WHERE EXISTS (SELECT x, row_number() OVER (ORDER BY x) FROM a WHERE a.x = loc.id ORDER BY 2);
SELECT id FROM loc WHERE EXISTS (SELECT x, sum(x) OVER w FROM a WINDOW w AS (PARTITION BY x));
SELECT k FROM a WHERE EXISTS (SELECT x, sum(x) OVER w FROM e WHERE x > 3 WINDOW w AS (PARTITION BY x));
SELECT k FROM a WHERE EXISTS (SELECT generate_series(1, x) FROM e WHERE x = 0);
SELECT k FROM a WHERE EXISTS (SELECT generate_series(1, 0) FROM e);
SELECT k FROM a WHERE x IN (SELECT generate_series(1, x) FROM e);
SELECT k FROM a WHERE (x, x) IN (SELECT x, count(*) OVER () FROM e WHERE x = 2);
SELECT k FROM a WHERE x IN (SELECT x FROM e ORDER BY name);
SELECT k FROM a WHERE x NOT IN (SELECT x FROM e WHERE x > 2 ORDER BY x);
SELECT k FROM a WHERE x IN (SELECT x FROM e ORDER BY x FETCH FIRST 3 ROWS WITH TIES);
SELECT k FROM a WHERE x IN (SELECT max(x) FROM e GROUP BY DISTINCT ROLLUP (name), ROLLUP (name));
SELECT count(*) FROM a WHERE x > ALL (SELECT x FROM e WHERE x < 2 UNION ALL SELECT 1);
SELECT r.id, (SELECT max(x) FROM a WHERE a.x = r.id HAVING count(*) > 100) FROM r;
SELECT r.id FROM r WHERE 3 > (SELECT max(k) FROM a WHERE a.x = r.id);
SELECT c.k, c.x FROM c WHERE c.ak < (SELECT max(a.k) FROM a WHERE a.x = c.x ORDER BY 1);
SELECT c.k, c.x FROM c WHERE EXISTS (SELECT DISTINCT a.k FROM a WHERE a.x = c.x ORDER BY a.k);
SELECT c.k FROM c TABLESAMPLE bernoulli (100) WHERE EXISTS (SELECT 1 FROM a TABLESAMPLE bernoulli (0) WHERE a.x = c.x);
SELECT c.k FROM c TABLESAMPLE bernoulli (0) WHERE c.ak > 0 AND c.ak < (SELECT max(k) FROM a WHERE a.x = c.x);
SELECT c.k FROM c WHERE c.ak > 0 AND c.ak < (SELECT max(k) FROM a TABLESAMPLE bernoulli (0) WHERE a.x = c.x);
SELECT c.k, l.n FROM c, LATERAL (SELECT max(k) n FROM a WHERE a.x = c.x GROUP BY GROUPING SETS ((), (y))) l;
SELECT x, count(*) FILTER (WHERE y > 'y1') FROM a GROUP BY DISTINCT CUBE (x, y), CUBE (x) HAVING count(*) > 2;
SELECT x, grouping(x), count(DISTINCT y), generate_series(1, 2) FROM a GROUP BY GROUPING SETS ((x), (x), ());
SELECT DISTINCT ON (x) x, count(*) FROM a GROUP BY x, y ORDER BY x, 2 DESC;
SELECT x, count(*) FROM a GROUP BY x ORDER BY count(*) DESC FETCH FIRST 2 ROWS WITH TIES;
$$);
