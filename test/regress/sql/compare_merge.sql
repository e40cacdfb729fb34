-- MERGE changes distributed, reference and local tables as it changes plain ones, whatever
-- its source is: the same number of rows, the same SQLSTATE, the same content afterwards.
SET client_min_messages = warning;

CREATE FUNCTION public.volatile_of(x int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN x + 1; END $$;

-- Both sides join by the key: whole on the shards.
SELECT public.compare_writes($$
MERGE INTO a USING b ON a.k = b.k AND a.id = b.id WHEN MATCHED THEN UPDATE SET x = b.x;
MERGE INTO a USING b ON a.k = b.k AND a.id = b.id WHEN MATCHED THEN UPDATE SET x = b.x, y = a.y || b.y WHEN NOT MATCHED THEN INSERT (k, id, x, y) VALUES (b.k, b.id, b.x, b.y);
MERGE INTO a USING b ON a.k = b.k AND a.id = b.id WHEN MATCHED THEN DELETE;
MERGE INTO a USING b ON a.k = b.k AND a.id = b.id WHEN MATCHED AND b.x > 5 THEN DELETE WHEN MATCHED AND a.x < 3 THEN UPDATE SET y = 'small' WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED AND b.x IS NULL THEN DO NOTHING WHEN NOT MATCHED THEN INSERT VALUES (b.k, b.id, b.x, 'new');
MERGE INTO a t USING (SELECT k, max(x) AS x, count(*) AS n FROM b GROUP BY k) s ON t.k = s.k AND t.id = s.n WHEN MATCHED THEN UPDATE SET x = s.x WHEN NOT MATCHED THEN INSERT (k, id, x) VALUES (s.k, 1000 + s.n, s.x);
MERGE INTO a USING b ON a.k = b.k AND a.id = b.id AND b.x > 3 WHEN NOT MATCHED THEN INSERT (k, id, x) VALUES (b.k, b.id + 2000, b.x);
MERGE INTO a USING r ON a.x = r.id WHEN MATCHED THEN UPDATE SET y = r.name;
MERGE INTO a USING (SELECT * FROM b WHERE x < 4) s ON s.k = a.k AND s.id = a.id WHEN MATCHED THEN UPDATE SET k = s.k, x = a.x + 1 WHEN NOT MATCHED THEN INSERT (k, id) VALUES (s.k, s.id);
MERGE INTO a USING a AS s ON a.k = s.k AND a.id = s.id WHEN MATCHED THEN UPDATE SET x = s.x + a.x;
MERGE INTO a USING b JOIN c ON b.k = c.k ON a.k = b.k AND a.id = b.id AND a.id = -1 WHEN MATCHED THEN DELETE;
MERGE INTO a USING b ON a.k = b.k AND a.id = b.id WHEN MATCHED AND EXISTS (SELECT FROM c WHERE c.k = a.k) THEN UPDATE SET x = (SELECT count(*) FROM c WHERE c.k = b.k);
MERGE INTO w USING a ON w.k = a.k AND a.id = 1 WHEN MATCHED THEN UPDATE SET arr[1] = 5, p.x = 6 WHEN NOT MATCHED THEN DO NOTHING;
$$);

-- One shard.
SELECT public.compare_writes($$
MERGE INTO w USING (SELECT 5 AS k, 'five' AS t) s ON w.k = s.k WHEN MATCHED THEN UPDATE SET t = s.t WHEN NOT MATCHED THEN INSERT (k, t) VALUES (s.k, s.t);
MERGE INTO w USING (SELECT 5000 AS k, 'five' AS t) s ON w.k = s.k WHEN MATCHED THEN UPDATE SET t = s.t WHEN NOT MATCHED THEN INSERT (k, t) VALUES (s.k, s.t);
MERGE INTO w USING (VALUES (5, 'five')) s (k, t) ON w.k = s.k WHEN MATCHED THEN UPDATE SET t = s.t, k = s.k WHEN NOT MATCHED THEN INSERT (k, t) VALUES (s.k, s.t);
MERGE INTO w USING (VALUES (5001, 'five')) s (k, t) ON w.k = s.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k, t) VALUES (s.k, s.t);
MERGE INTO w USING (VALUES (5001, 'five')) s (k, t) ON w.k = s.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k, t) VALUES (s.k + 1, s.t);
MERGE INTO w USING (SELECT 5 AS k WHERE false) s ON w.k = s.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k);
MERGE INTO e USING (SELECT 5 AS k) s ON e.k = s.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k);
MERGE INTO e USING (SELECT 50001 AS k) s ON e.k = s.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k);
MERGE INTO w USING (SELECT 5 AS k) s ON w.k = s.k AND w.k = 6 WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN DO NOTHING;
MERGE INTO w USING b ON w.k = 7 AND b.k = 7 AND b.id = 1 WHEN MATCHED THEN UPDATE SET t = b.y;
$$);

-- Several sources of one row.
SELECT public.compare_writes($$
MERGE INTO w USING (VALUES (3, 1), (3, 2), (900, 3)) s (k, d) ON w.k = s.k WHEN MATCHED THEN UPDATE SET d = s.d;
MERGE INTO w USING (VALUES (3, 1), (3, 2), (900, 3)) s (k, d) ON w.k = s.k WHEN MATCHED THEN DELETE;
MERGE INTO w USING (VALUES (3, 1), (3, 2), (900, 3)) s (k, d) ON w.k = s.k WHEN MATCHED AND s.d = 1 THEN DELETE WHEN MATCHED THEN DO NOTHING;
MERGE INTO w USING (VALUES (3, 1), (3, 2), (900, 3)) s (k, d) ON w.k = s.k WHEN MATCHED AND s.d = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET t = 'x';
MERGE INTO w USING (VALUES (900, 1), (900, 2)) s (k, d) ON w.k = s.k WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s.k, s.d);
MERGE INTO c USING b ON c.k = b.k WHEN MATCHED THEN UPDATE SET x = b.x;
MERGE INTO c USING b ON c.k = b.k AND b.id = 1 WHEN MATCHED THEN UPDATE SET x = b.x;
$$);

-- Computed here.
SELECT public.compare_writes($$
MERGE INTO w USING (VALUES (3, 1), (4, 2), (900, 3)) s (k, d) ON w.k = s.k WHEN MATCHED THEN UPDATE SET d = s.d WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s.k, s.d);
MERGE INTO w USING (SELECT i AS k, i * 2 AS d FROM generate_series(25, 40) i) s ON w.k = s.k WHEN MATCHED AND w.d > 1 THEN DELETE WHEN MATCHED THEN UPDATE SET d = s.d, t = w.t || s.k WHEN NOT MATCHED AND s.k % 2 = 0 THEN INSERT (k, d) VALUES (s.k, s.d) WHEN NOT MATCHED AND s.k % 3 = 0 THEN INSERT (k, t) VALUES (s.k, 'third');
MERGE INTO w USING loc ON w.k = loc.id WHEN MATCHED THEN UPDATE SET t = loc.name WHEN NOT MATCHED THEN INSERT (k, t) VALUES (loc.id, loc.name);
MERGE INTO w USING r ON w.k = r.id WHEN MATCHED THEN UPDATE SET t = r.name WHEN NOT MATCHED THEN INSERT (k, t) VALUES (r.id, r.name);
MERGE INTO w USING (SELECT DISTINCT ON (x) x, y FROM a WHERE x IS NOT NULL ORDER BY x, k, id) s ON w.k = s.x WHEN MATCHED THEN UPDATE SET t = s.y WHEN NOT MATCHED THEN INSERT (k, t) VALUES (s.x + 100, s.y);
MERGE INTO w USING (SELECT DISTINCT k FROM e) s ON w.k = s.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.k IS NOT NULL THEN INSERT (k, t) VALUES (s.k, 'from e');
MERGE INTO w USING (SELECT DISTINCT id FROM s1 WHERE id IS NOT NULL) s ON w.k = s.id WHEN MATCHED THEN UPDATE SET d = s.id WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s.id, 1);
MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k = s.k WHEN MATCHED AND (SELECT count(*) FROM b) > 0 THEN UPDATE SET d = (SELECT max(x) FROM b WHERE b.x <> w.d) WHEN NOT MATCHED AND EXISTS (SELECT FROM a) THEN INSERT (k, d) VALUES (s.k, (SELECT count(*) FROM e));
MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k = s.k WHEN MATCHED THEN UPDATE SET d = public.volatile_of(w.d) WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s.k, public.volatile_of(s.k));
MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k = public.volatile_of(s.k) WHEN MATCHED THEN UPDATE SET d = 77 WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s.k, 78);
MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k > s.k AND w.k < 10 WHEN MATCHED THEN UPDATE SET d = 77 WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s.k, 78);
MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k > s.k AND w.k < 10 WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s.k, 78);
MERGE INTO w USING (VALUES (3), (901)) s (k) ON false WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k + 1000);
MERGE INTO w USING (VALUES (3), (901)) s (k) ON true WHEN MATCHED AND s.k = 3 THEN UPDATE SET d = 1;
MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k = s.k WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN DO NOTHING;
MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k = s.k WHEN MATCHED THEN UPDATE SET p.x = 1, arr[2] = s.k, p.y = w.d WHEN NOT MATCHED THEN INSERT (k, arr[1]) VALUES (s.k, 5);
MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k = s.k WHEN NOT MATCHED THEN INSERT (k, d, t, i) VALUES (s.k, DEFAULT, DEFAULT, DEFAULT);
MERGE INTO w USING (VALUES (3), (NULL)) s (k) ON w.k = s.k WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k);
MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k = s.k WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s.k, 1 / (s.k - 901));
MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k = s.k WHEN MATCHED THEN UPDATE SET d = 1 / (s.k - 901) WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s.k, 1 / (s.k - 3));
MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k = s.k WHEN MATCHED AND to_jsonb(w) ? 'k' AND to_jsonb(s) ? 'k' THEN UPDATE SET t = w::text || s::text WHEN NOT MATCHED THEN INSERT (k, t) VALUES (s.k, s::text);
WITH x AS (SELECT k, d FROM w WHERE k < 5) MERGE INTO w USING (SELECT k + 28 AS k, d FROM x) s ON w.k = s.k WHEN MATCHED THEN UPDATE SET d = s.d WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s.k, s.d);
MERGE INTO a USING b ON a.k = b.k AND a.id = b.id WHEN NOT MATCHED THEN INSERT (k, id, x) VALUES (b.k + 1, b.id + 1000, b.x);
MERGE INTO a USING b ON a.x = b.x AND a.k = 1 AND b.k = 2 WHEN MATCHED THEN DELETE;
MERGE INTO a USING (SELECT x, min(y) AS y FROM b GROUP BY x) s ON a.x = s.x WHEN MATCHED THEN UPDATE SET y = s.y WHEN NOT MATCHED THEN INSERT (k, id, y) VALUES (77, coalesce(s.x, 0) + 9000, s.y);
MERGE INTO a USING b LEFT JOIN c ON b.x = c.x AND c.k = 1 ON a.k = b.k AND a.id = b.id AND c.k IS NULL WHEN MATCHED THEN UPDATE SET x = coalesce(c.x, -1);
$$);

-- Reference tables and tables that are not distributed.
SELECT public.compare_writes($$
MERGE INTO r USING (VALUES (1, 'one'), (1001, 'new')) s (id, name) ON r.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name);
MERGE INTO r USING r2 ON r.id = r2.rid AND r2.id < 5 WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, name) VALUES (r2.id + 5000, r2.name);
MERGE INTO r USING (SELECT DISTINCT x FROM a WHERE x IS NOT NULL) s ON r.id = s.x WHEN MATCHED THEN UPDATE SET name = 'from a', x = s.x WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.x + 7000, 'from a');
MERGE INTO r USING loc ON r.id = loc.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, name) VALUES (loc.id, loc.name);
MERGE INTO r USING (VALUES (1, 'one'), (1001, 'new')) s (id, name) ON r.id = s.id WHEN MATCHED THEN UPDATE SET x = public.volatile_of(s.id) WHEN NOT MATCHED THEN INSERT (id, x) VALUES (s.id, public.volatile_of(s.id));
MERGE INTO r USING (VALUES (1, 'one'), (1, 'new')) s (id, name) ON r.id = s.id WHEN MATCHED THEN UPDATE SET x = s.id;
MERGE INTO s1 USING (SELECT DISTINCT x AS id FROM a WHERE x IS NOT NULL) s ON s1.id = s.id AND s1.x IS NULL WHEN MATCHED THEN UPDATE SET x = s.id WHEN NOT MATCHED THEN INSERT (id, x) VALUES (s.id, 1);
MERGE INTO s1 USING (VALUES (1, 10), (5000, 20)) s (id, x) ON s1.id = s.id AND s1.x > 0 WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, x) VALUES (s.id, s.x);
MERGE INTO loc USING (SELECT DISTINCT x FROM a WHERE x IS NOT NULL) s ON loc.id = s.x WHEN MATCHED THEN UPDATE SET name = 'from a' WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.x, 'new');
MERGE INTO loc USING a ON loc.id = a.id AND a.k = 1 AND a.x > 3 WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, name) VALUES (a.id, a.y);
MERGE INTO loc USING r ON loc.id = r.id WHEN MATCHED AND r.x > (SELECT count(*) FROM e) THEN DELETE WHEN MATCHED THEN UPDATE SET x = (SELECT sum(x) FROM b WHERE b.k = loc.id) WHEN NOT MATCHED THEN INSERT (id, name) VALUES (r.id, r.name);
MERGE INTO loc USING a JOIN b ON a.k = b.k AND a.id = b.id ON loc.id = a.id AND a.k = 3 WHEN MATCHED THEN UPDATE SET name = a.y || b.y;
MERGE INTO loc USING (VALUES (1), (2)) s (id) ON loc.id = s.id AND EXISTS (SELECT FROM a WHERE a.k = s.id) WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id + 100);
$$);

-- Steps around it, and prepared.
SELECT public.compare_writes($$
WITH gone AS (DELETE FROM b WHERE x < 3 RETURNING k, id) MERGE INTO a USING gone ON a.k = gone.k AND a.id = gone.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k, id, y) VALUES (gone.k, gone.id, 'gone');
$$);
SET search_path = dist, public;
PREPARE upsert(int, text) AS MERGE INTO w USING (SELECT $1 AS k, $2 AS t) s ON w.k = s.k WHEN MATCHED THEN UPDATE SET t = s.t WHEN NOT MATCHED THEN INSERT (k, t) VALUES (s.k, s.t);
BEGIN;
EXECUTE upsert(1, 'a');
EXECUTE upsert(2, 'b');
EXECUTE upsert(3, 'c');
EXECUTE upsert(4, 'd');
EXECUTE upsert(5, 'e');
EXECUTE upsert(6, 'f');
EXECUTE upsert(1001, 'g');
EXECUTE upsert(1002, 'h');
SELECT k, t FROM w WHERE k < 7 OR k > 1000 ORDER BY k;
ROLLBACK;
PREPARE several(int, text) AS MERGE INTO w USING (SELECT $1 + i AS k, $2 AS t FROM generate_series(1, 2) i) s ON w.k = s.k WHEN MATCHED THEN UPDATE SET t = s.t WHEN NOT MATCHED THEN INSERT (k, t) VALUES (s.k, s.t);
BEGIN;
EXECUTE several(1, 'a');
EXECUTE several(3, 'b');
EXECUTE several(5, 'c');
EXECUTE several(7, 'd');
EXECUTE several(9, 'e');
EXECUTE several(29, 'f');
EXECUTE several(1002, 'h');
SELECT k, t FROM w WHERE k < 12 OR k > 29 ORDER BY k;
ROLLBACK;

-- Errors.
\set SHOW_CONTEXT never
MERGE INTO w USING (VALUES (3, 1), (3, 2)) s (k, d) ON w.k = s.k WHEN MATCHED THEN UPDATE SET d = s.d;
MERGE INTO w USING (VALUES (3, 1), (3, 2)) s (k, d) ON w.k = s.k AND w.k = 3 WHEN MATCHED THEN DELETE;

-- What EXPLAIN shows: one task, all of them, or steps.
CREATE FUNCTION public.merge_plan(options text, statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS off %s) %s', options, statement) LOOP
		IF line ~ '(Step \w|Task Count|Merge on|Exchange:|Update on|INSERT/SELECT)' THEN
			RETURN NEXT regexp_replace(line, '_\d{3,}', '', 'g');
		END IF;
	END LOOP;
END $$;
SELECT public.merge_plan('', 'MERGE INTO e USING (SELECT 5::bigint AS k) s ON e.k = s.k WHEN MATCHED THEN UPDATE SET x = 1 WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)');
SELECT public.merge_plan('', 'MERGE INTO a USING b ON a.k = b.k AND a.id = b.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k, id) VALUES (b.k, b.id)');
SELECT public.merge_plan(', VERBOSE', 'MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k = s.k WHEN MATCHED THEN UPDATE SET t = ''a'' WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)');
BEGIN;
SELECT public.merge_plan(', ANALYZE, TIMING off, SUMMARY off', 'MERGE INTO a USING b ON a.k = b.k AND a.id = b.id WHEN MATCHED THEN DELETE');
SELECT public.merge_plan(', ANALYZE, TIMING off, SUMMARY off', 'MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k = s.k WHEN MATCHED THEN UPDATE SET t = ''a'' WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)');
SELECT k, t FROM w WHERE k IN (3, 901) ORDER BY k;
ROLLBACK;

-- WITH queries that conditions and actions read.
SELECT public.compare_writes($$
WITH q AS (SELECT k, d FROM w WHERE k < 5) MERGE INTO w USING (VALUES (3), (901)) s (k) ON w.k = s.k WHEN MATCHED THEN UPDATE SET d = (SELECT max(d) FROM q) WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s.k, (SELECT count(*) FROM q));
WITH q AS (SELECT k, d FROM w WHERE k < 5), q2 AS (SELECT max(k) AS m FROM q) MERGE INTO w USING q ON w.k = q.k WHEN MATCHED AND w.k < (SELECT m FROM q2) THEN UPDATE SET t = 'less' WHEN MATCHED THEN DELETE;
WITH RECURSIVE q (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM q WHERE i < 5) MERGE INTO a USING b ON a.k = b.k AND a.id = b.id AND a.k IN (SELECT i FROM q) WHEN MATCHED THEN UPDATE SET x = (SELECT sum(i) FROM q WHERE i < a.x) WHEN NOT MATCHED AND EXISTS (SELECT FROM q WHERE i = b.x) THEN INSERT (k, id, x) VALUES (b.k, b.id + 3000, b.x);
WITH source AS (SELECT count(*) AS n FROM e) MERGE INTO r USING a ON a.id = r.id AND a.k = r.id % 7 WHEN MATCHED THEN UPDATE SET x = (SELECT n FROM source) WHEN NOT MATCHED THEN DO NOTHING;
WITH q AS MATERIALIZED (SELECT public.volatile_of(k) AS v FROM w WHERE k = 4) MERGE INTO w USING q ON w.k = q.v WHEN MATCHED THEN UPDATE SET d = (SELECT v FROM q) WHEN NOT MATCHED THEN INSERT (k, d) VALUES (q.v, (SELECT v FROM q));
$$);

-- Several columns from one subquery, on the shards and computed here.
SELECT public.compare_writes($$
MERGE INTO a USING b ON a.k = b.k AND a.id = b.id WHEN MATCHED THEN UPDATE SET (x, y) = (SELECT max(c.x), 'of ' || count(*) FROM c WHERE c.k = b.k);
MERGE INTO a USING (SELECT DISTINCT ON (x) x, id FROM b ORDER BY x, id) s ON a.id = s.x AND a.k = 3 WHEN MATCHED THEN UPDATE SET (y, x) = (SELECT 'n' || s.id, a.x + s.x) WHEN NOT MATCHED THEN INSERT (k, id, x) VALUES (77, s.id + 5000, s.x);
MERGE INTO a USING (SELECT DISTINCT x FROM b WHERE x > 2) s ON a.id = s.x WHEN MATCHED AND a.x > 3 THEN UPDATE SET (x, y) = (SELECT c.x, c.y FROM c WHERE c.k = a.k ORDER BY c.id, c.x, c.y LIMIT 1), (id) = ROW(a.id) WHEN MATCHED THEN UPDATE SET (x) = (SELECT count(*) FROM r WHERE r.id < a.id);
MERGE INTO a USING (SELECT DISTINCT x FROM b WHERE x > 2) s ON a.id = s.x WHEN MATCHED THEN UPDATE SET (x, y) = (SELECT c.x, 'several' FROM c);
MERGE INTO a USING (SELECT DISTINCT x FROM b WHERE x > 2) s ON a.id = s.x WHEN MATCHED THEN UPDATE SET (x, y) = (SELECT c.x, 'none' FROM c WHERE c.k < 0);
MERGE INTO r USING (SELECT DISTINCT x FROM b WHERE x > 2) s ON r.id = s.x WHEN MATCHED THEN UPDATE SET (x, name) = (SELECT max(id), min(name) FROM (SELECT id, name FROM r i WHERE i.id > s.x UNION ALL SELECT s.x, 'u') o);
$$);
