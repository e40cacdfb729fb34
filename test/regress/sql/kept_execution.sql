-- The executor's state of a prepared statement for one row stays from one execution to the next,
-- on the node that has the shard as on the one that asks for it.
\set SHOW_CONTEXT never
SET client_min_messages TO warning;
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true) FROM pg_dist_node WHERE groupid = 0;
CREATE SCHEMA kept;
SET search_path TO kept;
SET citus.next_shard_id TO 7750000;
-- What vacuum or analyze changes would be made anew.
CREATE TABLE t (k int PRIMARY KEY, v bigint NOT NULL, s text) WITH (autovacuum_enabled = off);
SELECT create_distributed_table('t', 'k', shard_count => 6, colocate_with => 'none');
INSERT INTO t SELECT i, i * 10, 'row ' || i FROM generate_series(1, 30) i;
CREATE TABLE log (k int, v bigint) WITH (autovacuum_enabled = off);
SELECT create_distributed_table('log', 'k', colocate_with => 't');

-- Each statement for all keys, some of which are here, and some of which nobody has.
CREATE FUNCTION run(name text, rest text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text; one text;
BEGIN
	FOR i IN 1 .. 33 LOOP
		one := NULL;
		EXECUTE format('EXECUTE %I(%s%s)', name, i, rest) INTO one;
		result := concat_ws(' ', result, one);
	END LOOP;
	RETURN result;
END $$;
CREATE FUNCTION repeat_run(name text, rest text DEFAULT '') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 33 LOOP
		EXECUTE format('EXECUTE %I(%s%s)', name, i, rest);
	END LOOP;
END $$;
PREPARE read(int) AS SELECT v FROM t WHERE k = $1;
PREPARE computed(int, bigint) AS SELECT v / $2 + 1, upper(s), ctid IS NOT NULL FROM t WHERE k = $1 AND v >= $2;
PREPARE ordered(int) AS SELECT v FROM t WHERE k = $1 ORDER BY k;
PREPARE tested(int) AS SELECT v FROM t WHERE k = $1 AND s IS NOT NULL AND (v > 20 OR current_user IS NULL);
PREPARE change(int, bigint) AS UPDATE t SET v = v + $2 WHERE k = $1;
PREPARE remove(int) AS DELETE FROM t WHERE k = $1;
PREPARE add(int, bigint) AS INSERT INTO t VALUES ($1, $1 * 1000 + $2, 'added');
PREPARE note(int, bigint) AS INSERT INTO log VALUES ($1, $2);
SELECT run('read'), run('read') = run('read') AS same;
SELECT run('computed', ', 100');
SELECT run('ordered'), run('ordered') = run('read') AS same;
SELECT run('tested'), run('tested') = run('tested') AS same;
-- Nothing is changed at first.
SELECT repeat_run('change', ', 1') FROM generate_series(1, 4);
SELECT run('read');
SELECT repeat_run('note', ', 7') FROM generate_series(1, 3);
SELECT count(*), sum(v), count(DISTINCT k) FROM log;
SELECT repeat_run('remove') FROM generate_series(1, 2);
SELECT count(*) FROM t;
SELECT repeat_run('add', ', 5');
SELECT run('read');
EXECUTE read(NULL);
EXECUTE change(NULL, 1);
EXECUTE remove(NULL);

-- Errors, then rows again.
SELECT run('computed', ', 0');
SELECT run('computed', ', 5');
SELECT repeat_run('add', ', 6');
SELECT repeat_run('change', ', 9223372036854775807');
EXECUTE add(NULL, 1);
EXECUTE add(50, NULL);
SELECT repeat_run('change', ', 1');
SELECT run('read');
BEGIN;
SELECT repeat_run('change', ', 1');
SAVEPOINT a;
SELECT run('read');
SELECT run('computed', ', 0');
ROLLBACK TO a;
SELECT repeat_run('change', ', 1');
SAVEPOINT b;
SELECT repeat_run('change', ', 100');
ROLLBACK TO b;
SELECT run('read');
ROLLBACK;
SELECT run('read');
BEGIN READ ONLY;
SELECT run('read');
SELECT repeat_run('change', ', 1');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT repeat_run('change', ', 1');
SELECT run('read');
COMMIT;

-- In use more than once, by a cursor and by functions that call themselves.
CREATE FUNCTION chain(key int, steps int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE one bigint;
BEGIN
	EXECUTE format('EXECUTE read(%s)', key) INTO one;
	IF steps > 0 THEN
		one := one * 2 + kept.chain(key, steps - 1);
	END IF;
	RETURN one;
END $$;
PREPARE chained(int) AS SELECT v, chain($1, 3) FROM t WHERE k = $1;
SELECT run('chained');
CREATE FUNCTION by_sql(key int) RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT v FROM kept.t WHERE k = $1';
SELECT sum(by_sql(i % 30 + 1) + by_sql(i % 7 + 1)) FROM generate_series(1, 200) i;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE change(1, 0) \g /dev/null
SELECT run('read');

-- A cursor reads as of when it is opened, each time.
CREATE FUNCTION by_cursor(key int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT v FROM kept.t WHERE k = key; one bigint;
BEGIN
	OPEN c;
	UPDATE kept.t SET v = v + 1 WHERE k = key;
	FETCH c INTO one;
	CLOSE c;
	RETURN one;
END $$;
SELECT by_cursor(1), by_cursor(2), by_cursor(3), by_cursor(4) FROM generate_series(1, 8);

-- The table is another one.
ALTER TABLE t ADD COLUMN more int DEFAULT 3;
PREPARE more(int) AS SELECT more, s, v FROM t WHERE k = $1;
SELECT run('more');
SELECT repeat_run('change', ', 1');
SELECT run('read');
ALTER TABLE t DROP COLUMN s;
SELECT run('read');
SELECT repeat_run('change', ', 1');
SELECT run('more');
ALTER TABLE t ADD COLUMN s text DEFAULT 'new';
SELECT run('more');
SELECT run('more');
ALTER TABLE t ADD CONSTRAINT small CHECK (v % 1000 < 20);
SELECT repeat_run('change', ', 1');
SELECT repeat_run('change', ', 100');
ALTER TABLE t DROP CONSTRAINT small;
SELECT repeat_run('change', ', 100');
SELECT run('read');
CREATE INDEX ON t (v);
SELECT repeat_run('change', ', 1') FROM generate_series(1, 3);
REINDEX TABLE t;
SELECT run('read');
SELECT count(*) FROM t WHERE v = 7113;
ALTER TABLE t DROP CONSTRAINT t_pkey;
SELECT run('read');
ALTER TABLE t ADD PRIMARY KEY (k);
SELECT run('read');
VACUUM (FULL) t;
SELECT run('read');
ALTER TABLE t ADD COLUMN twice bigint GENERATED ALWAYS AS (v * 2) STORED;
SELECT repeat_run('change', ', 1') FROM generate_series(1, 3);
SELECT count(*), sum(v), sum(twice) FROM t;
TRUNCATE log;
SELECT repeat_run('note', ', 1');
SELECT sum(v) FROM log;

-- Rights are those of the one who executes.
CREATE USER kept_user;
GRANT USAGE ON SCHEMA kept TO kept_user;
SELECT run('read') = run('read') AS same;
SET ROLE kept_user;
SELECT run('read');
RESET ROLE;
GRANT SELECT ON t TO kept_user;
SET ROLE kept_user;
SELECT run('computed', ', 100') = run('computed', ', 100') AS same;
SELECT repeat_run('change', ', 1');
RESET ROLE;
SELECT run('computed', ', 100') = run('computed', ', 100') AS same;
REVOKE EXECUTE ON FUNCTION int84pl(bigint, int) FROM PUBLIC;
SET ROLE kept_user;
SELECT run('computed', ', 100');
RESET ROLE;
SELECT run('computed', ', 100') = run('computed', ', 100') AS same;
GRANT EXECUTE ON FUNCTION int84pl(bigint, int) TO PUBLIC;
SET ROLE kept_user;
SELECT run('computed', ', 100') = run('computed', ', 100') AS same;
RESET ROLE;

-- What is kept does not grow with executions, and not beyond a number of statements.
SELECT repeat_run('read'), repeat_run('change', ', 1'), repeat_run('note', ', 1') FROM generate_series(1, 3) \g /dev/null
SELECT count(*) AS kept, sum(total_bytes) AS bytes FROM pg_backend_memory_contexts WHERE name LIKE 'pando kept%' \gset
SELECT :kept > 0 AS some;
SELECT repeat_run('read'), repeat_run('change', ', 1'), repeat_run('note', ', 1') FROM generate_series(1, 100) \g /dev/null
SELECT count(*) - :kept AS more, sum(total_bytes) - :bytes AS more_bytes FROM pg_backend_memory_contexts WHERE name LIKE 'pando kept%';
DO $$
BEGIN
	FOR i IN 1 .. 300 LOOP
		EXECUTE format('PREPARE many_%s(int) AS SELECT v + %s FROM t WHERE k = $1', i, i);
	END LOOP;
END $$;
CREATE FUNCTION run_many() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint := 0; one bigint;
BEGIN
	FOR i IN 1 .. 300 LOOP
		EXECUTE format('EXECUTE many_%s(%s)', i, i % 30 + 1) INTO one;
		result := result + one;
	END LOOP;
	RETURN result;
END $$;
SELECT bool_and(run_many() = (SELECT 10 * sum(v) FROM t WHERE k <= 30) + 45150) AS right FROM generate_series(1, 8);
SELECT count(*) <= 128 AS bounded, count(*) > 100 AS many FROM pg_backend_memory_contexts WHERE name = 'pando kept execution';
DEALLOCATE ALL;

-- In PL/pgSQL its variables are the parameters: as on plain tables.
CREATE SCHEMA kept_plain;
CREATE TABLE kept_plain.t AS SELECT * FROM t;
ALTER TABLE kept_plain.t ADD PRIMARY KEY (k);
CREATE TABLE kept_plain.log AS SELECT * FROM log;
CREATE FUNCTION in_language(times int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	seen bigint[] := '{}';
	one bigint;
	rows int;
	changed int := 0;
	word text := 'word';
BEGIN
	FOR i IN 1 .. times LOOP
		UPDATE t SET v = v + i, s = left(word || i, 20) WHERE k = i % 35 + 1;
		GET DIAGNOSTICS rows = ROW_COUNT;
		changed := changed + rows;
		SELECT v INTO one FROM t WHERE k = i % 35 + 1;
		seen := seen || one;
		SELECT * INTO r FROM t WHERE k = i % 35 + 1;
		UPDATE t SET v = r.v + 1 WHERE k = r.k;
		INSERT INTO log VALUES (i, coalesce(one, -1));
		word := coalesce(r.s, 'none');
		BEGIN
			UPDATE t SET v = v / (i % 5 - 1) WHERE k = i % 35 + 1;
		EXCEPTION WHEN division_by_zero THEN changed := changed + 1000;
		END;
		IF i % 7 = 0 THEN
			DELETE FROM t WHERE k = i % 35 + 1;
			INSERT INTO t (k, v, s) VALUES (i % 35 + 1, i, word);
		END IF;
	END LOOP;
	RETURN concat_ws(' ', changed, md5(seen::text), (SELECT md5(string_agg(concat_ws(' ', k, v, s), ',' ORDER BY k)) FROM t), (SELECT sum(v) FROM log));
END $$;
SELECT in_language(200) AS one, in_language(200) AS two, in_language(200) AS three \gset kept_
SET search_path TO kept_plain, kept;
SELECT in_language(200) AS one, in_language(200) AS two, in_language(200) AS three \gset plain_
SELECT :'kept_one' = :'plain_one' AS one, :'kept_two' = :'plain_two' AS two, :'kept_three' = :'plain_three' AS three;
SET search_path TO kept;
DROP SCHEMA kept_plain CASCADE;

DROP SCHEMA kept CASCADE;
DROP USER kept_user;
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false) FROM pg_dist_node WHERE groupid = 0;
