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
DROP FUNCTION compare_as_user(text);
DROP OWNED BY rights_user, rights_owner;
DROP ROLE rights_user, rights_owner;
