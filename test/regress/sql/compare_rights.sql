-- Rights on columns, and those of a view's owner, allow and refuse what they do on plain tables,
-- however a statement is taken apart.
\t on
SET client_min_messages = warning;
CREATE ROLE rights_user;
CREATE ROLE rights_owner;
GRANT USAGE ON SCHEMA plain, dist TO rights_user, rights_owner;
DO $$ DECLARE
	path text;
BEGIN
	FOREACH path IN ARRAY ARRAY['plain', 'dist'] LOOP
		PERFORM set_config('search_path', path, true);
		GRANT SELECT (k, x), UPDATE (x) ON a TO rights_user;
		GRANT SELECT (k) ON b TO rights_user;
		GRANT SELECT, INSERT, UPDATE, DELETE ON c, loc, r TO rights_user;
		GRANT SELECT, INSERT, UPDATE, DELETE ON a, b, c, e, r, loc TO rights_owner;
		CREATE VIEW ov AS SELECT k, id, x, y FROM a WHERE x > 1;
		CREATE VIEW ovj AS SELECT a.k, e.x, e.name FROM a JOIN e ON e.x = a.x;
		CREATE VIEW oe AS SELECT k, x FROM e WHERE k IN (SELECT x FROM a);
		CREATE VIEW orv AS SELECT id, x FROM r;
		CREATE VIEW oc AS SELECT k, ak, x FROM c;
		ALTER VIEW ov OWNER TO rights_owner;
		ALTER VIEW ovj OWNER TO rights_owner;
		ALTER VIEW oe OWNER TO rights_owner;
		ALTER VIEW orv OWNER TO rights_owner;
		ALTER VIEW oc OWNER TO rights_owner;
		GRANT SELECT (k, x), UPDATE (x), DELETE ON ov TO rights_user;
		GRANT SELECT ON ovj TO rights_user;
		GRANT SELECT (k), INSERT, UPDATE ON oe TO rights_user;
		GRANT INSERT ON orv TO rights_user;
		GRANT SELECT, INSERT ON oc TO rights_user;
	END LOOP;
END $$;

-- What the user gets of each statement, on plain tables and on distributed ones; it is undone.
CREATE FUNCTION compare_as_user(statements text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	statement text;
	path text;
	said text[];
	total int := 0;
	different int := 0;
BEGIN
	FOREACH statement IN ARRAY regexp_split_to_array(statements, ';\s*\n') LOOP
		CONTINUE WHEN statement !~ '\S';
		said := '{}';
		FOREACH path IN ARRAY ARRAY['plain', 'dist'] LOOP
			BEGIN
				PERFORM set_config('search_path', path, true);
				SET LOCAL ROLE rights_user;
				IF statement ~* 'returning|^\s*select|\) select' THEN
					said := said || (SELECT string_agg(line, '|' ORDER BY line) FROM unnest(public.rows_of(statement, path)) line WHERE line <> path);
				ELSE
					EXECUTE statement;
					said := said || 'done'::text;
				END IF;
				RAISE EXCEPTION 'undo';
			EXCEPTION WHEN raise_exception THEN
			WHEN OTHERS THEN
				said := said || (SQLSTATE || SQLERRM);
			END;
			RESET ROLE;
		END LOOP;
		total := total + 1;
		IF said[1] IS DISTINCT FROM said[2] THEN
			different := different + 1;
			RETURN NEXT 'differs: ' || statement;
			RETURN NEXT '  plain: ' || left(said[1], 300);
			RETURN NEXT '  dist: ' || left(said[2], 300);
		END IF;
	END LOOP;
	RETURN NEXT format('%s statements, %s differ', total, different);
END $$;
SELECT compare_as_user($$
SELECT k, x FROM a;
SELECT y FROM a;
SELECT count(*) FROM a;
SELECT count(*) FROM a WHERE y = 'y1';
SELECT count(*) FROM a JOIN b USING (k);
SELECT count(*) FROM a JOIN b USING (k, id);
SELECT count(*) FROM c WHERE EXISTS (SELECT 1 FROM b WHERE b.k = c.ak);
SELECT count(*) FROM c WHERE EXISTS (SELECT 1 FROM b WHERE b.x = c.ak);
SELECT count(*) FROM c WHERE EXISTS (SELECT b.x FROM b WHERE b.k = c.ak);
SELECT count(*) FROM c WHERE ak IN (SELECT max(k) FROM b GROUP BY x);
SELECT count(*) FROM c WHERE ak < (SELECT max(k) FROM b WHERE b.k = c.x);
SELECT count(*) FROM c WHERE ak < (SELECT max(k) FROM b WHERE b.id = c.x);
SELECT count(*) FROM c, LATERAL (SELECT k FROM b WHERE b.k = c.x ORDER BY id LIMIT 1) l;
SELECT count(*) FROM c, LATERAL (SELECT k FROM b WHERE b.k = c.x ORDER BY k LIMIT 1) l;
SELECT k, count(*) FROM a GROUP BY k;
SELECT y, count(*) FROM a GROUP BY y;
SELECT x, avg(k) FROM a GROUP BY x HAVING max(id) > 3;
SELECT x, avg(k) FROM a GROUP BY x ORDER BY max(k);
SELECT a FROM a;
SELECT count(a) FROM a;
SELECT count(a.*) FROM a JOIN r ON r.id = a.x;
SELECT k FROM ov;
SELECT k FROM ov WHERE y = 'y1';
SELECT id FROM ov;
SELECT * FROM ovj;
SELECT count(*) FROM ovj JOIN r ON r.id = ovj.x;
SELECT k FROM oe;
SELECT x FROM oe;
SELECT sum(k) FROM oe WHERE k IN (SELECT k FROM ov);
SELECT k FROM a FOR UPDATE;
SELECT k FROM c FOR UPDATE;
SELECT k FROM b FOR SHARE;
UPDATE a SET x = 1;
UPDATE a SET x = x + 1 WHERE k = 2;
UPDATE a SET x = 1 WHERE id = 2;
UPDATE a SET y = 'q';
UPDATE a SET x = (SELECT max(k) FROM b);
UPDATE a SET x = (SELECT max(id) FROM b);
UPDATE a SET x = b.k FROM b WHERE b.k = a.k;
UPDATE a SET x = b.k FROM b WHERE b.id = a.k;
UPDATE a SET x = loc.x FROM loc WHERE loc.id = a.k RETURNING a.k;
UPDATE a SET x = loc.x FROM loc WHERE loc.id = a.k RETURNING a.id;
UPDATE a SET x = loc.x FROM loc WHERE loc.id = a.k RETURNING a.*;
UPDATE ov SET x = 3;
UPDATE ov SET y = 'z';
UPDATE ov SET x = 3 WHERE y = 'y1';
UPDATE ov SET x = loc.x FROM loc WHERE loc.id = ov.k RETURNING ov.k;
UPDATE ov SET x = loc.x FROM loc WHERE loc.id = ov.k RETURNING ov.id;
UPDATE ov SET x = (SELECT max(x) FROM e);
DELETE FROM ov WHERE k = 2;
DELETE FROM ov WHERE id = 2;
DELETE FROM ov USING loc WHERE loc.id = ov.k RETURNING ov.x, loc.id;
DELETE FROM a;
DELETE FROM ov RETURNING y;
INSERT INTO oe VALUES (1, 1);
INSERT INTO oe VALUES (1, 1) RETURNING k;
INSERT INTO oe VALUES (1, 1) RETURNING x;
INSERT INTO oe SELECT k, x FROM a;
INSERT INTO oe SELECT k, x FROM a RETURNING k;
INSERT INTO oe SELECT k, id FROM b;
INSERT INTO oe SELECT k, k FROM b RETURNING k;
INSERT INTO e SELECT k, k FROM b;
INSERT INTO c SELECT k, k FROM b;
INSERT INTO c SELECT k, x FROM b;
INSERT INTO c (k) SELECT k FROM ovj RETURNING *;
INSERT INTO c (k) SELECT y::int FROM ov;
INSERT INTO oe SELECT id, x FROM loc;
INSERT INTO oe SELECT k, x FROM e ON CONFLICT DO NOTHING;
INSERT INTO ov (k, x) SELECT id, x FROM loc;
INSERT INTO orv SELECT id + 100, x FROM loc;
INSERT INTO orv SELECT k + 100, x FROM c WHERE k = 1 AND ak = 1 LIMIT 1;
INSERT INTO oc SELECT k, ak, x FROM c;
INSERT INTO oc SELECT k, ak, x FROM c WHERE k = 2 RETURNING *;
UPDATE oe SET x = 1;
UPDATE oe SET x = 1 WHERE x = 2;
UPDATE oe SET x = 1 WHERE k = 2;
WITH w AS (UPDATE a SET x = 1 WHERE k = 2 RETURNING k) SELECT count(*) FROM w;
WITH w AS (UPDATE a SET x = 1 WHERE k = 2 RETURNING id) SELECT count(*) FROM w;
WITH w AS (DELETE FROM c RETURNING *), v AS (UPDATE ov SET x = 2 FROM w WHERE w.k = ov.k RETURNING ov.k) SELECT count(*) FROM v;
WITH w AS (DELETE FROM c RETURNING *), v AS (UPDATE ov SET x = 2 FROM w WHERE w.k = ov.id RETURNING ov.k) SELECT count(*) FROM v;
WITH q AS (SELECT id FROM b) SELECT 1;
WITH q AS MATERIALIZED (SELECT k FROM b) SELECT count(*) FROM q, r;
SELECT k FROM a TABLESAMPLE bernoulli (100);
SELECT k FROM a TABLESAMPLE bernoulli ((SELECT count(*) FROM b));
SELECT k FROM a TABLESAMPLE bernoulli ((SELECT max(id) FROM b));
SELECT count(*) FROM a FULL JOIN b USING (k);
SELECT ctid IS NULL FROM a;
$$);
-- PostgreSQL asks no rights for a subquery that goes when constants are folded, but for one that becomes a join;
-- nor for one in a column that nobody reads.
SELECT compare_as_user($$
SELECT count(*) FROM c WHERE 1 = 2 AND ak < (SELECT max(id) FROM b);
SELECT count(*) FROM c WHERE 1 = 1 AND ak < (SELECT max(id) FROM b);
SELECT k FROM c WHERE ak = 1 OR (false AND x < (SELECT max(id) FROM b));
SELECT k FROM c WHERE false AND EXISTS (SELECT FROM b WHERE b.id = c.x);
SELECT k FROM c WHERE false AND c.x IN (SELECT id FROM b);
SELECT k FROM c WHERE ak = 1 OR (false AND EXISTS (SELECT FROM b WHERE b.id = c.x));
SELECT k, CASE WHEN 1 = 2 THEN (SELECT max(id) FROM b) ELSE x END FROM c;
SELECT k, CASE WHEN x = 2 THEN (SELECT max(id) FROM b) ELSE x END FROM c;
SELECT sum(CASE WHEN 1 = 2 THEN (SELECT max(id) FROM b) ELSE x END) FROM c;
SELECT 1 FROM c HAVING 1 = 2 AND (SELECT max(id) FROM b) > 1;
SELECT k, (SELECT count(*) FROM c c2 WHERE c2.x = c.x AND (1 = 1 OR c2.ak > (SELECT max(id) FROM b))) FROM c;
SELECT COALESCE(1, (SELECT id FROM b)), k FROM c JOIN r ON r.id = c.x AND (1 = 2 OR r.id > COALESCE(3, (SELECT max(id) FROM b)));
SELECT c.k, v.m FROM c, (VALUES (3, 4)) v (m, n) WHERE c.x = m AND (v.n = 4 OR c.ak = (SELECT max(id) FROM b));
SELECT c.k, v.m FROM c LEFT JOIN (VALUES (3, 4)) v (m, n) ON c.x = m WHERE v.n = 4 OR c.ak = (SELECT max(id) FROM b);
UPDATE c SET x = CASE WHEN true THEN 3 ELSE (SELECT max(id) FROM b) END WHERE k = 1;
UPDATE c SET x = 3 WHERE k = 1 OR (k = 2 AND 1 = 2 AND x = (SELECT max(id) FROM b));
DELETE FROM c USING (SELECT 7 AS m) s WHERE k = 1 AND (s.m = 8 AND ak = (SELECT max(id) FROM b) OR x = 1) RETURNING *;
INSERT INTO c VALUES (1, COALESCE(2, (SELECT max(id) FROM b)), 3);
INSERT INTO c VALUES (1, COALESCE(2, (SELECT max(id) FROM b)), 3), (2, 3, 4);
INSERT INTO c SELECT k, x, ak FROM c WHERE k < 3 AND (1 = 1 OR x = (SELECT max(id) FROM b));
MERGE INTO c USING (VALUES (1, 8)) v (q, m) ON c.k = v.q WHEN MATCHED AND c.x > (SELECT count(id) FROM b) AND v.m = 3 THEN UPDATE SET x = NULL WHEN MATCHED THEN DELETE;
MERGE INTO c USING (VALUES (1, 8)) v (q, m) ON c.k = v.q WHEN MATCHED AND c.x > (SELECT count(id) FROM b) AND v.m = 8 THEN UPDATE SET x = NULL WHEN MATCHED THEN DELETE;
MERGE INTO c USING (SELECT 1 AS q, 8 AS m) v ON c.k = v.q WHEN MATCHED AND c.x > (SELECT count(id) FROM b) AND v.m = 3 THEN UPDATE SET x = NULL WHEN NOT MATCHED THEN INSERT VALUES (q, m, 1);
MERGE INTO c USING a ON c.k = a.k WHEN MATCHED AND 1 = 2 THEN UPDATE SET x = (SELECT count(id) FROM b) WHEN MATCHED AND false AND a.x > (SELECT count(id) FROM b) THEN DELETE;
SELECT k FROM c WHERE (SELECT max(id) FROM b) IS NOT NULL AND NULL;
SELECT k FROM c WHERE x = ANY (CASE WHEN 1 = 1 THEN '{1,2}'::int[] ELSE ARRAY(SELECT id FROM b) END);
SELECT k, x + NULL + (SELECT max(id) FROM b) FROM c;
SELECT k FROM (SELECT k, (SELECT max(id) FROM b) AS m FROM c) s;
SELECT k FROM (SELECT k, (SELECT max(id) FROM b) AS m FROM c OFFSET 0) s WHERE m IS NOT NULL;
SELECT s.k FROM (SELECT k, (SELECT max(id) FROM b WHERE b.k = c.x) AS m FROM c) s JOIN r ON r.id = s.k;
SELECT k FROM (SELECT k, (SELECT max(id) FROM b) AS m FROM c) s JOIN r ON r.id = k WHERE m > 1;
SELECT k FROM (SELECT k, x FROM c UNION ALL SELECT k, (SELECT max(id) FROM b) FROM c) s;
SELECT k, x FROM (SELECT k, x FROM c UNION ALL SELECT k, (SELECT 3) FROM c) s;
SELECT k FROM c WHERE EXISTS (SELECT (SELECT max(id) FROM b) FROM r WHERE r.id = c.x);
SELECT k FROM c WHERE x = 1 OR EXISTS (SELECT (SELECT max(id) FROM b) FROM r WHERE r.id = c.x);
SELECT c.k FROM c LEFT JOIN LATERAL (SELECT (SELECT max(id) FROM b) AS m) s ON true;
INSERT INTO c SELECT k, x, x FROM (SELECT k, x, (SELECT max(id) FROM b) FROM c) s WHERE k = 3;
UPDATE c SET x = s.n FROM (SELECT 3 AS n, (SELECT max(id) FROM b) AS m) s WHERE c.k = 1;
$$);
-- Policies filter a table's rows before it is joined, outer joins included.
DO $$ DECLARE
	path text;
BEGIN
	FOREACH path IN ARRAY ARRAY['plain', 'dist'] LOOP
		PERFORM set_config('search_path', path, true);
		GRANT SELECT, INSERT, UPDATE, DELETE ON a, b, e, loc, r, s1, c TO rights_user;
		CREATE POLICY filtered ON a USING (x > 1 OR k = 3);
		CREATE POLICY filtered ON b USING (id % 3 <> 0);
		CREATE POLICY filtered ON r USING (CASE WHEN current_user = 'rights_user' THEN id % 2 = 0 ELSE false END);
		CREATE POLICY filtered ON loc USING (x IN (SELECT x FROM r));
		CREATE POLICY filtered ON s1 USING (x IS NULL OR x < 4);
		ALTER TABLE a ENABLE ROW LEVEL SECURITY;
		ALTER TABLE b ENABLE ROW LEVEL SECURITY;
		ALTER TABLE r ENABLE ROW LEVEL SECURITY;
		ALTER TABLE loc ENABLE ROW LEVEL SECURITY;
		ALTER TABLE s1 ENABLE ROW LEVEL SECURITY;
	END LOOP;
END $$;
SELECT compare_as_user($$
SELECT a.k, a.id, b.id FROM a LEFT JOIN b USING (k, id);
SELECT a.k, a.id, b.id FROM a RIGHT JOIN b USING (k, id);
SELECT a.k, a.id, b.id, id, k FROM a FULL JOIN b USING (k, id);
SELECT a.*, r.* FROM a LEFT JOIN r ON r.id = a.x;
SELECT a.*, r.* FROM r LEFT JOIN a ON r.id = a.x;
SELECT a.k, r.id FROM a FULL JOIN r ON r.id = a.x;
SELECT a.k, b.k FROM a LEFT JOIN b ON a.x = b.id;
SELECT a.k, b.k FROM a FULL JOIN b ON a.x = b.id;
SELECT r.id, s1.x FROM r LEFT JOIN s1 ON r.x = s1.id;
SELECT r.id, s1.x FROM s1 FULL JOIN r ON r.x = s1.id;
SELECT loc.id, a.id FROM loc LEFT JOIN a ON loc.id = a.id;
SELECT loc.id, a.id FROM a LEFT JOIN loc ON loc.id = a.id;
SELECT e.k, t.* FROM e LEFT JOIN (a JOIN b USING (k, id)) t ON t.k = e.k;
SELECT e.k, a.id, b.id, r.id FROM e LEFT JOIN (a LEFT JOIN b USING (k, id) RIGHT JOIN r ON r.id = b.x) ON e.x = r.x;
SELECT e.k, a, b IS NULL FROM e LEFT JOIN a ON a.k = e.k LEFT JOIN b ON b.k = a.k;
SELECT count(*), count(b.k), a.x FROM a LEFT JOIN b ON b.k = a.k GROUP BY a.x;
SELECT k, (SELECT count(b.id) FROM r LEFT JOIN b ON b.x = r.x WHERE r.x = e.x) FROM e;
SELECT k FROM e WHERE EXISTS (SELECT FROM r LEFT JOIN b ON b.x = r.x WHERE r.x = e.x AND b.k IS NULL);
WITH w AS MATERIALIZED (SELECT e.k, b.id FROM e LEFT JOIN b ON b.k = e.k) SELECT count(*), count(id) FROM w;
SELECT e.k, l.* FROM e LEFT JOIN LATERAL (SELECT a.id FROM a WHERE a.k = e.k AND a.x > e.x) l ON true;
UPDATE e SET x = t.n FROM (SELECT r.x, count(b.k) AS n FROM r LEFT JOIN b ON b.x = r.x GROUP BY r.x) t WHERE t.x = e.x RETURNING e.k, e.x;
UPDATE c SET x = COALESCE(b.id, -1) FROM a LEFT JOIN b USING (k, id) WHERE a.k = c.k AND a.id = c.ak RETURNING c.*, b.id;
DELETE FROM e USING r LEFT JOIN a ON a.x = r.x WHERE r.x = e.x AND a.k IS NULL RETURNING e.k;
INSERT INTO c SELECT e.k, b.id, a.id FROM e LEFT JOIN b ON b.k = e.k LEFT JOIN a ON a.k = e.k AND a.x = b.x RETURNING *;
MERGE INTO c USING (SELECT e.k, max(b.id) AS id FROM e LEFT JOIN b ON b.k = e.k GROUP BY e.k) s ON s.k = c.k WHEN MATCHED THEN UPDATE SET x = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.id, 0);
SELECT a.k, b.id FROM a LEFT JOIN b USING (k, id) FOR UPDATE OF a;
SELECT a.k, a.ctid IS NULL AS gone, b.tableoid IS NULL AS none FROM e LEFT JOIN a ON a.k = e.k LEFT JOIN b ON b.k = e.k;
SELECT r.id, a.k FROM r JOIN a ON r.tableoid::regclass::text = 'r' AND a.x = r.id AND (r.tableoid IS NOT NULL) = (a.k > 1);
SELECT r.id, a.k FROM r, a WHERE a.x = r.id AND (r.tableoid = 'r'::regclass) = (a.k > 1) AND r.ctid IS NOT NULL FOR UPDATE OF r;
SELECT r, r.tableoid::regclass::text, a.k FROM r JOIN a ON a.x = r.x AND r IS NOT NULL AND (r.tableoid IS NULL) < (a.k > 1);
SELECT loc, loc.ctid IS NULL, a.k FROM loc JOIN a ON a.x = loc.id AND (loc.ctid IS NULL) < (a.k > 1) AND (loc.xmin IS NULL) < (a.k > 1);
SELECT count(*) FROM loc LEFT JOIN a ON a.x = loc.x AND (loc.tableoid = 'loc'::regclass) = (a.k > 1);
SELECT count(*), count(r.tableoid) FROM a LEFT JOIN r ON a.x = r.x AND (r.tableoid = 'r'::regclass) = (a.k > 1);
SELECT count(*) FROM loc, r, a WHERE loc.id = r.id AND (loc.tableoid <> r.tableoid) = (a.k > 1) AND a.x = r.x;
UPDATE e SET x = r.id FROM r WHERE r.id = e.x AND (r.tableoid = 'r'::regclass) = (e.k > 1) RETURNING e.k, e.x, r.tableoid = 'r'::regclass AS r;
DELETE FROM e USING loc WHERE loc.id = e.x AND (loc.ctid IS NULL) < (e.k > 1) RETURNING e.k;
$$);
DO $$
DECLARE side text; name text;
BEGIN
	FOREACH side IN ARRAY ARRAY['plain', 'dist'] LOOP
		FOREACH name IN ARRAY ARRAY['a', 'b', 'r', 'loc', 's1'] LOOP
			EXECUTE format('DROP POLICY filtered ON %I.%I', side, name);
			EXECUTE format('ALTER TABLE %I.%I DISABLE ROW LEVEL SECURITY', side, name);
		END LOOP;
	END LOOP;
END $$;
DROP FUNCTION compare_as_user(text);
DROP OWNED BY rights_user, rights_owner;
DROP ROLE rights_user, rights_owner;
