-- Users' aggregates, strict and not, with and without an initial state and a final function:
-- whole on the shards, in parts and over gathered rows they yield what they yield on plain tables.
SET client_min_messages = warning;
SET search_path = public;
CREATE FUNCTION ua_plus(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + $2';
CREATE FUNCTION ua_plus_strict(int, int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 + $2';
CREATE FUNCTION ua_plus_null(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT coalesce($1, 0) + coalesce($2, 100)';
CREATE FUNCTION ua_text(int) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT coalesce(''f'' || $1, ''none'')';
CREATE FUNCTION ua_text_strict(int) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS 'SELECT ''f'' || $1';
CREATE FUNCTION ua_text_extra(int, int) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT coalesce(''f'' || $1, ''none'')';
CREATE FUNCTION ua_word(text, int) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN $1 IS NOT NULL AND $2 IS NOT NULL THEN greatest($1, $2::text) END';
CREATE FUNCTION ua_words(text, text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN $1 IS NOT NULL AND $2 IS NOT NULL THEN greatest($1, $2) END';
CREATE AGGREGATE ua0(int) (sfunc = ua_plus, stype = int, combinefunc = ua_plus, initcond = 0);
CREATE AGGREGATE ua1(int) (sfunc = ua_plus, stype = int, combinefunc = ua_plus);
CREATE AGGREGATE ua3(int) (sfunc = ua_plus_strict, stype = int, combinefunc = ua_plus, initcond = 0);
CREATE AGGREGATE ua4(int) (sfunc = ua_plus_strict, stype = int, combinefunc = ua_plus);
CREATE AGGREGATE ua5(int) (sfunc = ua_plus_strict, stype = int, combinefunc = ua_plus_strict);
CREATE AGGREGATE ua6(int) (sfunc = ua_plus, stype = int, combinefunc = ua_plus, initcond = 0, finalfunc = ua_text);
CREATE AGGREGATE ua7(int) (sfunc = ua_plus, stype = int, combinefunc = ua_plus, initcond = 0, finalfunc = ua_text_strict);
CREATE AGGREGATE ua8(int) (sfunc = ua_plus, stype = int, combinefunc = ua_plus, initcond = 0, finalfunc = ua_text_extra, finalfunc_extra);
CREATE AGGREGATE ua9(int) (sfunc = ua_word, stype = text, combinefunc = ua_words, initcond = '');
CREATE AGGREGATE ua10(int) (sfunc = ua_plus_strict, stype = int, combinefunc = ua_plus, finalfunc = ua_text);
CREATE AGGREGATE ua11(int) (sfunc = ua_plus_null, stype = int, initcond = 0);
SELECT string_agg(call, ', ' ORDER BY n) AS calls, string_agg(replace(call, '(x)', '(x) FILTER (WHERE x < 4 OR id < 20)'), ', ' ORDER BY n) AS filtered,
	string_agg(replace(call, '(x)', '(x ORDER BY id)'), ', ' ORDER BY n) AS ordered, string_agg(call || ' OVER w', ', ' ORDER BY n) AS windowed
FROM (SELECT n, format('ua%s(x)', n) AS call FROM generate_series(0, 10) n WHERE n <> 2) c \gset
CREATE FUNCTION ua_compare(lists text[]) RETURNS SETOF text LANGUAGE sql AS $$
SELECT public.compare(string_agg(format(pattern, list), E';\n'))
FROM unnest(lists) list, unnest(ARRAY['SELECT %s FROM a', 'SELECT %s FROM a WHERE x IS NOT NULL', 'SELECT %s FROM a WHERE x IS NULL',
	'SELECT %s FROM a WHERE false', 'SELECT %s FROM a WHERE k = 3', 'SELECT %s FROM a WHERE k = 3 AND x IS NOT NULL', 'SELECT k, %s FROM a GROUP BY k',
	'SELECT x, %s FROM a GROUP BY x', 'SELECT id %% 5, %s FROM a GROUP BY 1', 'SELECT id %% 5, count(DISTINCT y), %s FROM a GROUP BY 1',
	'SELECT id %% 50, %s FROM a WHERE x IS NOT NULL GROUP BY 1', 'SELECT y, k, %s FROM a GROUP BY ROLLUP (y, k)', 'SELECT %s FROM r',
	'SELECT y, %s FROM a GROUP BY y HAVING ua0(x) IS NULL', 'SELECT e.name, %s FROM e JOIN (SELECT x AS z, id, x FROM a) q USING (x) GROUP BY 1']) pattern
$$;
SELECT ua_compare(ARRAY[:'calls', :'filtered']);
SELECT ua_compare(ARRAY[:'ordered']);
SELECT compare('SELECT id, ' || replace(:'windowed', 'x)', 'x)') || ' FROM a WINDOW w AS (PARTITION BY y ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)');
SELECT compare('SELECT y, ua11(x) FROM a GROUP BY y');
DROP FUNCTION ua_compare;
