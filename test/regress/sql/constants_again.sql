-- Statements that come again with other constants, by shards that are here, elsewhere and the only one of a table: each
-- does what it does on a plain table.
\set SHOW_CONTEXT never
SET client_min_messages TO warning;
\pset format unaligned
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true) FROM pg_dist_node WHERE groupid = 0;
CREATE SCHEMA again;
SET search_path TO again;
SET citus.next_shard_id TO 7760000;
CREATE DOMAIN small AS smallint;
CREATE TYPE mood AS ENUM ('bad', 'good');
CREATE TABLE plain (k bigint PRIMARY KEY, i int DEFAULT 7, s smallint, n numeric(8, 2), t text COLLATE "C", v varchar(4), d date, b boolean, m mood, x small,
	g bigint GENERATED ALWAYS AS (k * 2) STORED);
CREATE TABLE spread (LIKE plain INCLUDING ALL);
CREATE TABLE only_here (LIKE plain INCLUDING ALL);
CREATE TABLE only_there (LIKE plain INCLUDING ALL);
SELECT create_distributed_table('spread', 'k', shard_count => 6, colocate_with => 'none');
SELECT create_distributed_table(name, NULL, colocate_with => 'none') FROM unnest(ARRAY['only_here', 'only_there']) name;
-- The single shards are where their names say.
CREATE FUNCTION put(name text, here boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE place record; target record;
BEGIN
	SELECT shardid, nodename, nodeport, groupid INTO place FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
		WHERE logicalrelid = name::regclass;
	SELECT nodename, nodeport INTO target FROM pg_dist_node WHERE (groupid = 0) = here ORDER BY groupid LIMIT 1;
	IF (place.groupid = 0) <> here THEN
		PERFORM citus_move_shard_placement(place.shardid, place.nodename, place.nodeport, target.nodename, target.nodeport, 'block_writes');
	END IF;
END $$;
SELECT put('only_here', true);
SELECT put('only_there', false);
SELECT count(DISTINCT groupid) > 1 AS here_and_elsewhere FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) WHERE logicalrelid = 'spread'::regclass;

-- The statement on a table for @, with 1, 2, 3 ... for #: what each returned, or the error.
CREATE FUNCTION each(statement text, name text, n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text; one text;
BEGIN
	FOR i IN 1 .. n LOOP
		BEGIN
			one := NULL;
			EXECUTE replace(replace(statement, '@', name), '#', i::text) INTO one;
		EXCEPTION WHEN OTHERS THEN
			one := sqlstate || ' ' || regexp_replace(replace(sqlerrm, name, 'plain'), '_[0-9]{7}', '', 'g');
		END;
		result := concat_ws(' | ', result, coalesce(one, '-'));
	END LOOP;
	RETURN result;
END $$;
-- What it came to on the plain table, and which of the others differ.
CREATE FUNCTION same(statement text, n int DEFAULT 12, tables text[] DEFAULT '{spread,only_here,only_there}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE expected text := each(statement, 'plain', n); name text; actual text;
BEGIN
	RETURN NEXT expected;
	FOREACH name IN ARRAY tables LOOP
		actual := each(statement, name, n);
		IF actual IS DISTINCT FROM expected THEN
			RETURN NEXT format('%s: %s', name, actual);
		END IF;
	END LOOP;
END $$;

-- Rows, with constants of other types than the columns'.
SELECT same('INSERT INTO @ (k, i, s, n, t, v, d, b, m, x) VALUES (#, #, #, #.5, ''t#'', ''v#'', ''2026-01-01''::date + #, # > 3, ''good'', #) RETURNING concat_ws('' '', k, i, s, n, t, v, d, b, m, x, g)');
SELECT same('INSERT INTO @ (k, t) VALUES (#, ''twice'') RETURNING k', 3);
SELECT same('INSERT INTO @ (k, n) VALUES (2#::smallint, ''1#.126'') RETURNING (k, i, n, g)');
SELECT same('INSERT INTO @ (k, n) VALUES (3000000000#, 123456#) RETURNING k', 3);
SELECT same('INSERT INTO @ (k, v) VALUES (4#, ''long#'') RETURNING k', 3);
SELECT same('INSERT INTO @ (k, x) VALUES (4#, 4000#) RETURNING k', 3);
SELECT same('INSERT INTO @ (k, m) VALUES (4#, ''mood #'') RETURNING k', 3);
SELECT same('INSERT INTO @ (k, i) VALUES (5#, 10 / (# - 2)) RETURNING (k, i)', 4);
SELECT same('INSERT INTO @ (k, i) VALUES (NULL, #)', 3);
SELECT same('INSERT INTO @ (k, i) VALUES (#, 9#) ON CONFLICT (k) DO UPDATE SET i = excluded.i + # RETURNING (k, i, t)');
SELECT same('INSERT INTO @ AS old (k, i) VALUES (6#, #) ON CONFLICT (k) DO UPDATE SET i = old.i * 10 WHERE old.i < # RETURNING (k, i)', 3);
SELECT same('INSERT INTO @ AS old (k, i) VALUES (6#, #) ON CONFLICT (k) DO UPDATE SET i = old.i * 10 WHERE old.i < 2 RETURNING (k, i)', 3);

SELECT same('SELECT concat_ws('' '', i, s, n, t, v, d, b, m, x) FROM @ WHERE k = #');
SELECT same('SELECT i FROM @ WHERE k = #::smallint');
SELECT same('SELECT i FROM @ WHERE k = #.0');
SELECT same('SELECT i FROM @ WHERE k = ''#''');
SELECT same('SELECT i FROM @ WHERE # = k AND i > 92');
SELECT same('SELECT i FROM @ WHERE k = # AND k = 3');
SELECT same('SELECT i FROM @ WHERE k = 99999999999999999999#', 3);
SELECT same('SELECT i + #, ''#'' FROM @ WHERE k = # AND n = #.50 AND t = ''t#'' AND v < ''v9'' AND d > ''2026-01-03'' AND b AND m = ''good'' AND x = #');
SELECT same('SELECT i / (# - 2) FROM @ WHERE k = # AND i / (# - 3) > 0', 5);
SELECT same('SELECT t FROM @ WHERE k = # AND t LIKE ''t%'' AND i IN (9#, 10#) ORDER BY k LIMIT 1');
SELECT same('SELECT t FROM @ WHERE k = # AND t > ''t3'' COLLATE "C" FOR UPDATE');
SELECT same('SELECT count(*), sum(i) FROM @ WHERE k > # AND k < 10', 3);
SELECT same('SELECT count(*) FROM @ WHERE k = # OR k = 1#', 5);
SELECT same('SELECT a.i + b.i FROM @ a JOIN @ b USING (k) WHERE a.k = # AND b.k = #');

SELECT same('UPDATE @ SET i = i + #, n = #.25, t = ''new#'', v = ''u#'', s = s + 1::smallint WHERE k = # RETURNING (i, s, n, t, v)');
SELECT same('UPDATE @ SET i = 10 / (# - 2) WHERE k = # RETURNING i', 4);
SELECT same('UPDATE @ SET s = 3000# WHERE k = # RETURNING s', 12);
SELECT same('UPDATE @ SET g = # WHERE k = #', 3);
SELECT same('DELETE FROM @ WHERE k = 2# AND n > 11 RETURNING n');
SELECT same('SELECT (count(*), sum(i), sum(n), min(t), max(s), sum(g)) FROM @', 1);

-- By functions, whose variables are parameters beside the constants.
CREATE FUNCTION make(name text) RETURNS void LANGUAGE plpgsql AS $make$
BEGIN
	EXECUTE format($$CREATE OR REPLACE FUNCTION by_plpgsql(key int) RETURNS text LANGUAGE plpgsql AS '
		DECLARE old int; new int; fixed int;
		BEGIN
			SELECT i INTO old FROM %1$I WHERE k = key AND i > 2;
			UPDATE %1$I SET i = i + 1, t = ''plpgsql'' WHERE k = key AND i < 1000 RETURNING i INTO new;
			UPDATE %1$I SET i = i + key WHERE k = 3 RETURNING i INTO fixed;
			RETURN concat_ws('' '', old, new, fixed);
		END'$$, name);
	EXECUTE format($$CREATE OR REPLACE FUNCTION by_sql(key int) RETURNS text LANGUAGE sql VOLATILE AS '
		UPDATE %1$I SET i = i + 1 WHERE k = 4; SELECT concat(i, t) FROM %1$I WHERE k = key AND i > 1'$$, name);
END $make$;
CREATE FUNCTION by_functions(name text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM make(name);
	FOR key IN 1 .. 9 LOOP
		RETURN NEXT (by_plpgsql(key), by_sql(key), by_plpgsql(key + 1), by_sql(4))::text;
	END LOOP;
END $$;
SELECT string_agg(f, ' ') FROM by_functions('plain') f \gset plain_
SELECT name, string_agg(f, ' ') = :'plain_string_agg' AS same FROM unnest(ARRAY['spread', 'only_here', 'only_there']) name, by_functions(name) f GROUP BY name ORDER BY name;

-- Plans that PostgreSQL keeps, of statements that came before.
CREATE FUNCTION prepared(name text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE one text;
BEGIN
	PERFORM each('SELECT i FROM @ WHERE k = #', name, 3), each('UPDATE @ SET i = # WHERE k = # RETURNING i', name, 3);
	EXECUTE format('PREPARE fixed AS SELECT i FROM %I WHERE k = 5', name);
	EXECUTE format('PREPARE half(int) AS UPDATE %I SET i = $1 WHERE k = 5 RETURNING i', name);
	EXECUTE format('PREPARE other_half(int) AS UPDATE %I SET i = 40 WHERE k = $1 RETURNING k', name);
	FOR n IN 1 .. 8 LOOP
		EXECUTE format('EXECUTE half(%s)', n) INTO one;
		RETURN NEXT one;
		EXECUTE format('EXECUTE other_half(%s)', n) INTO one;
		RETURN NEXT one;
		PERFORM each('UPDATE @ SET i = 1# WHERE k = # RETURNING i', name, n);
		EXECUTE 'EXECUTE fixed' INTO one;
		RETURN NEXT one;
	END LOOP;
	DEALLOCATE ALL;
END $$;
SELECT string_agg(f, ' ') FROM prepared('plain') f \gset plain_
SELECT name, string_agg(f, ' ') = :'plain_string_agg' AS same FROM unnest(ARRAY['spread', 'only_here', 'only_there']) name, prepared(name) f GROUP BY name ORDER BY name;
PREPARE fixed AS SELECT i FROM spread WHERE k = 5;
EXECUTE fixed;
EXPLAIN (COSTS OFF) EXECUTE fixed \g /dev/null
EXECUTE fixed;

-- Other ways to run a plan than at once and to its end.
SELECT same('WITH w AS (UPDATE @ SET i = # WHERE k = # RETURNING i) SELECT i FROM w', 4);
SELECT same('SELECT (SELECT i FROM @ WHERE k = #)', 4);
CREATE FUNCTION others(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE one record; result text; c refcursor;
BEGIN
	FOR key IN 1 .. 6 LOOP
		EXECUTE format('CREATE TEMP TABLE made AS SELECT k, i FROM %I WHERE k = %s', name, key);
		EXECUTE format('COPY (SELECT k, i FROM %I WHERE k = %s) TO %L', name, key, '/dev/null');
		OPEN c FOR EXECUTE format('SELECT k, i FROM %I WHERE k = %s', name, key);
		EXECUTE format('UPDATE %I SET i = i + 1 WHERE k = %s', name, key);
		FETCH c INTO one;
		result := concat_ws(' ', result, (SELECT m FROM made m), one);
		CLOSE c;
		-- Once more while it runs.
		FOR one IN EXECUTE format('SELECT k, i FROM %I WHERE k = %s', name, key) LOOP
			EXECUTE format('SELECT %s + i AS i FROM %I WHERE k = %s', one.i, name, key) INTO one;
			result := concat_ws(' ', result, one);
			EXECUTE format('SELECT k, i FROM %I WHERE k = %s', name, key % 6 + 1) INTO one;
			result := concat_ws(' ', result, one);
		END LOOP;
		DROP TABLE made;
	END LOOP;
	RETURN result;
END $$;
SELECT others('plain') AS expected \gset
SELECT :'expected';
SELECT name, others(name) = :'expected' AS same FROM unnest(ARRAY['spread', 'only_here', 'only_there']) name;

-- What only PostgreSQL itself does, on shards that are here.
CREATE SEQUENCE plain_seq;
CREATE SEQUENCE only_here_seq;
CREATE SEQUENCE only_there_seq;
CREATE SEQUENCE spread_seq;
CREATE FUNCTION next(i bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN i + 1; END';
SELECT same(statement, 4) FROM unnest(ARRAY['UPDATE @ SET i = nextval(''@_seq'') WHERE k = # RETURNING i',
	'UPDATE @ SET i = i + 1 WHERE k = # AND next(i) > 1 RETURNING next(i)', 'DELETE FROM @ WHERE k = 6# AND next(k) > 1 RETURNING nextval(''@_seq'')']) statement;
SELECT same(statement, 4, '{only_here}') FROM unnest(ARRAY[
	'INSERT INTO @ (k, i) VALUES (7#, next(#)) RETURNING next(i)', 'INSERT INTO @ (k, i) VALUES (7#, #) ON CONFLICT (k) DO UPDATE SET i = next(excluded.i) RETURNING i',
	'INSERT INTO @ (k, i) VALUES (7#, #) ON CONFLICT ON CONSTRAINT @_pkey DO UPDATE SET i = # + 1 RETURNING i',
	'INSERT INTO @ (k) VALUES (8#) RETURNING concat(ctid IS NULL, xmin = ''0'', next(k))', 'UPDATE @ SET i = 3 WHERE k = # AND xmin <> ''0'' RETURNING next(i)',
	'SELECT nextval(''@_seq'') + next(i) FROM @ WHERE k = # FOR UPDATE', 'SELECT @.i FROM ONLY @ WHERE k = # AND (@).k > 1']) statement;

-- What is kept are executions too, and no more of them for more constants.
CREATE VIEW kept AS SELECT count(*), sum(total_bytes) AS bytes FROM pg_backend_memory_contexts
	WHERE name IN ('pando plan', 'pando mould', 'pando kept execution', 'pando kept run');
DISCARD PLANS;
CREATE FUNCTION several(name text, n int) RETURNS int LANGUAGE sql AS $$
	SELECT length(each('SELECT i FROM @ WHERE k = #', name, n)) + length(each('UPDATE @ SET i = # WHERE k = #', name, n))
		+ length(each('INSERT INTO @ (k, i) VALUES (#00, #) ON CONFLICT DO NOTHING', name, n))
$$;
SELECT several(name, 100) > 0 AS run FROM unnest(ARRAY['spread', 'only_here', 'only_there']) name;
TABLE kept \gset before_
SELECT several(name, 1000) > 0 AS run FROM unnest(ARRAY['spread', 'only_here', 'only_there']) name;
TABLE kept \gset after_
SELECT :after_count <= :before_count AS no_more, :after_bytes <= :before_bytes * 1.1 AS no_more_bytes;
SELECT count(*) > 6 AS kept FROM pg_backend_memory_contexts WHERE name = 'pando kept execution';

-- Whose plan is not for one row is planned each time, until there is an index by which it is.
CREATE TABLE late (k bigint, i int);
SELECT create_distributed_table('late', NULL, colocate_with => 'none');
SELECT put('late', true);
INSERT INTO late SELECT k, k FROM generate_series(1, 2000) k;
CREATE FUNCTION kept_by(n int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE before bigint := (SELECT count FROM kept);
BEGIN
	PERFORM each('SELECT i FROM @ WHERE k = #', 'late', n);
	RETURN (SELECT count FROM kept) - before;
END $$;
SELECT kept_by(1100);
CREATE UNIQUE INDEX ON late (k);
SELECT kept_by(3), kept_by(1100) > 0 AS later;

DROP SCHEMA again CASCADE;
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false) FROM pg_dist_node WHERE groupid = 0;
