-- Rows of other nodes that a correlated subquery is after are found by the hash of what it compares with, not by walking over all of them: in memory
-- and, past work_mem, in files; by values of other types and collations, never by NULL; other filters see the rows that were found.
\set VERBOSITY terse
SET client_min_messages = warning;

-- What EXPLAIN ANALYZE says of the lookups of a statement.
SET search_path = dist, public;
CREATE FUNCTION public.lookups(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || statement LOOP
		IF line ~ 'Lookup Key|Rows Kept|Files' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;
SELECT public.lookups('SELECT id, (SELECT sum(b.id) FROM b WHERE b.x = a.x AND b.y = a.y) FROM a');
-- Other values than those of outer rows are the shards' business, or the filter's.
SELECT public.lookups('SELECT id, (SELECT sum(b.id) FROM b WHERE b.x = a.x AND b.id > a.id AND b.k > 3 AND b.f = 1 + (SELECT min(x) FROM a)) FROM a');
SELECT public.lookups('SELECT id, (SELECT sum(b.id) FROM b WHERE b.x + 1 = a.x) FROM a');
SELECT public.lookups('SELECT id, (SELECT sum(b.id) FROM b WHERE b.id < a.x AND b.x = (random() * 0)::int + a.x) FROM a');
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT public.lookups('SELECT count((SELECT sum(b.id) FROM a b, generate_series(1, 20) WHERE b.x = a.x)) FROM a');
CREATE TABLE plain.wide (k int, x int, t text);
CREATE TABLE dist.wide (k int, x int, t text);
SELECT create_distributed_table('dist.wide', 'k', colocate_with => 'none');
INSERT INTO plain.wide SELECT i, nullif(i % 100, 7), 't' || i FROM generate_series(1, 2000) i;
INSERT INTO dist.wide SELECT * FROM plain.wide;
SELECT public.lookups('SELECT id, (SELECT count(*) FROM wide WHERE wide.x = a.id % 100) FROM a');
RESET work_mem;
RESET hash_mem_multiplier;

CREATE FUNCTION public.compare_lookups() RETURNS SETOF text LANGUAGE sql AS $outer$
SELECT public.compare($$
SELECT id, (SELECT sum(b.id) FROM b WHERE b.x = a.x AND b.y = a.y) FROM a;
SELECT id, (SELECT array_agg(b.id ORDER BY b.id) FROM b WHERE b.x = a.x AND b.id > a.id) FROM a;
SELECT id, (SELECT count(*) FROM e WHERE e.k = a.x) FROM a;
SELECT id, (SELECT count(*) FROM e WHERE a.id = e.k) FROM a;
SELECT id, (SELECT count(*) FROM b WHERE b.id = d.big / 1000000000 AND b.x = d.x) FROM b JOIN d ON b.y = d.t;
SELECT id, (SELECT count(*) FROM e WHERE e.name = 'n' || a.x) FROM a;
SELECT id, (SELECT count(*) FROM e WHERE e.name = ('n' || a.x)::varchar) FROM a;
SELECT id, (SELECT count(*) FROM e WHERE e.name = ('n' || a.x)::char(2)) FROM a;
SELECT id, (SELECT count(*) FROM a x WHERE x.v = a.x * 2.50) FROM a;
SELECT id, (SELECT count(*) FROM b x WHERE x.f = a.v) FROM a;
SELECT id, (SELECT count(*) FROM b x WHERE x.arr = ARRAY[a.x % 3, a.id % 5, NULL]) FROM a;
SELECT id, (SELECT count(*) FROM b x WHERE x.j = jsonb_build_object('n', a.x, 'w', 'w' || a.x)) FROM a;
SELECT id, (SELECT count(*) FROM a x WHERE x.ts = a.ts + interval '7 min') FROM a;
SELECT id, (SELECT count(*) FROM d WHERE d.flag = (a.x > 3)) FROM a;
SELECT id, (SELECT count(*) FROM b x WHERE x.x = NULL::int + a.x) FROM a;
SELECT id, (SELECT count(*) FROM b x WHERE x.x = a.x AND x.x = a.id % 5) FROM a;
SELECT id, (SELECT count(*) FROM b x WHERE x.x = a.x AND (x.y = 'y1' OR x.id = a.id)) FROM a;
SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.x = a.x AND b.id > a.id) OR a.id < 5;
SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.x = a.x AND b.y < a.y) OR a.id < 5;
SELECT id FROM a WHERE a.k > ALL (SELECT b.k FROM b WHERE b.x = a.x AND b.y = a.y);
SELECT id FROM a WHERE (a.k, a.id) IN (SELECT b.k, b.id FROM b WHERE b.x = a.x OFFSET 0);
SELECT a.id, s.id FROM a, LATERAL (SELECT b.id FROM b WHERE b.x = a.x ORDER BY b.f DESC NULLS LAST, b.id LIMIT 2) s;
SELECT a.id, s.n FROM a LEFT JOIN LATERAL (SELECT count(*) AS n FROM b WHERE b.x = a.x AND b.y = a.y GROUP BY b.k % 2 ORDER BY 1 LIMIT 1) s ON true;
SELECT id, (SELECT sum((SELECT count(*) FROM c WHERE c.x = b.x AND c.ak = a.id % 5)) FROM b WHERE b.x = a.x) FROM a;
SELECT id, (SELECT sum(b.id) FROM b JOIN e ON b.x = e.x AND e.k = a.k AND b.id = a.id) FROM a;
SELECT id, (SELECT count(*) FROM (SELECT x, count(*) AS n FROM b GROUP BY x) g WHERE g.x = a.x AND g.n > 3) FROM a;
SELECT id, (SELECT count(*) FROM loc WHERE loc.x = a.x AND loc.id IN (SELECT x FROM b)) FROM a;
SELECT id, (SELECT b FROM b WHERE b.x = a.x ORDER BY id LIMIT 1) FROM a;
SELECT id, (WITH w AS MATERIALIZED (SELECT id, x FROM b WHERE b.x = a.x) SELECT count(*) FROM w JOIN w v ON w.id = v.x) FROM a;
SELECT x.id, (SELECT count(*) FROM b WHERE b.x = x.x AND b.y = x.y) FROM (SELECT DISTINCT ON (x) * FROM a ORDER BY x, id) x ORDER BY 1;
SELECT id, (SELECT count(*) FROM b x WHERE x.y COLLATE "C" = a.y COLLATE "C") FROM a;
SELECT id, (SELECT sum(b.id) FROM b WHERE b.x = a.x AND a.id > 50) FROM a;
SELECT id, CASE WHEN id > 5 THEN (SELECT min(b.id) FROM b WHERE b.x = 10 / (a.id - 5)) END FROM a;
SELECT id, (SELECT array_agg(t ORDER BY t) FROM wide WHERE wide.x = a.id % 100) FROM a;
SELECT id FROM a WHERE EXISTS (SELECT FROM wide WHERE wide.x = a.id AND wide.k > 1950) OR id < 3;
SELECT id, (SELECT string_agg(y, ',' ORDER BY y, n) FROM (SELECT repeat(b.y, 50) AS y, b.x, n FROM b, generate_series(1, 5) n) b WHERE b.x = a.x) FROM a;
$$) $outer$;
SELECT public.compare_lookups();
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT public.compare_lookups();
RESET work_mem;
RESET hash_mem_multiplier;

-- Filters of a security barrier come first, the comparisons of others must not be told what they hide.
CREATE VIEW dist.few WITH (security_barrier) AS SELECT id, x, y FROM dist.b WHERE y > 'y3';
CREATE VIEW plain.few WITH (security_barrier) AS SELECT id, x, y FROM plain.b WHERE y > 'y3';
SELECT public.compare($$
SELECT id, (SELECT count(*) FROM few WHERE few.x = a.x) FROM a;
$$);

-- A cursor, a function called for each row, and rows that change between two statements of one transaction.
CREATE FUNCTION public.told() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found record;
	said text := '';
BEGIN
	FOR found IN SELECT id, (SELECT count(*) FROM b WHERE b.x = a.x) AS n FROM a ORDER BY id LIMIT 5 LOOP
		said := said || found.id || ':' || found.n || ' ';
	END LOOP;
	RETURN said;
END $$;
BEGIN;
SELECT public.told();
UPDATE b SET x = 1;
SELECT public.told();
ROLLBACK;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, (SELECT count(*) FROM b WHERE b.x = a.x) AS n FROM a ORDER BY id LIMIT 5;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ALL FROM c;
ROLLBACK;
DROP VIEW plain.few, dist.few;
DROP TABLE plain.wide, dist.wide;
DROP FUNCTION public.told, public.compare_lookups, public.lookups;
