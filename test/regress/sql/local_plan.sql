-- Statements whose shard group is on this node run by PostgreSQL's own plan.
\set SHOW_CONTEXT never
SET client_min_messages TO warning;
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true) FROM pg_dist_node WHERE groupid = 0;
CREATE SCHEMA here;
SET search_path TO here;
SET citus.next_shard_id TO 7700000;
CREATE TABLE t (k int PRIMARY KEY, v int CHECK (v < 1000), s text DEFAULT 'x', g int GENERATED ALWAYS AS (v * 2) STORED);
SELECT create_distributed_table('t', 'k', shard_count => 6, colocate_with => 'none');
CREATE TABLE u (k int REFERENCES t, n int);
SELECT create_distributed_table('u', 'k', colocate_with => 't');
CREATE TABLE r (id int PRIMARY KEY, name text);
SELECT create_reference_table('r');
INSERT INTO t SELECT i, i * 10 FROM generate_series(1, 30) i;
INSERT INTO u SELECT i, i FROM generate_series(1, 30) i;
INSERT INTO r SELECT i, 'name ' || i FROM generate_series(1, 30) i;

-- Some keys of this node, and some of others.
SELECT groupid, array_agg(i ORDER BY i) FROM generate_series(1, 30) i, pg_dist_placement
	WHERE shardid = get_shard_id_for_distribution_column('t', i) GROUP BY groupid ORDER BY groupid;

-- With parameters the shard is chosen at each execution.
PREPARE read(int) AS SELECT v, s, g FROM t WHERE k = $1;
PREPARE wide(bigint) AS SELECT v FROM t WHERE k = $1;
PREPARE joined(int) AS SELECT t.v, u.n, r.name FROM t JOIN u USING (k) JOIN r ON r.id = u.n WHERE t.k = $1;
PREPARE change(int, int) AS UPDATE t SET v = v + $2 WHERE k = $1 RETURNING *;
PREPARE add(int, int) AS INSERT INTO t (k, v) VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v + 1 RETURNING *;
PREPARE remove(int) AS DELETE FROM u WHERE k = $1 RETURNING n;
PREPARE lock(int) AS SELECT v FROM t WHERE k = $1 FOR UPDATE;
CREATE FUNCTION all_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text; one text;
BEGIN
	FOR i IN 1 .. 30 LOOP
		EXECUTE format('EXECUTE %s', format(statement, i)) INTO one;
		result := concat_ws(' ', result, one);
	END LOOP;
	RETURN result;
END $$;
SELECT all_of('read(%s)');
SELECT all_of('wide(%s)');
SELECT all_of('joined(%s)');
SELECT all_of('change(%s, 1)');
SELECT all_of('add(%s, 5)');
SELECT all_of('lock(%s)');
SELECT all_of('remove(%s)');
EXECUTE wide(60000000000);
EXECUTE wide(NULL);
EXECUTE add(NULL, 1);
EXECUTE add(1, 5000);
EXECUTE change(NULL, 1);
SELECT count(*), sum(v), sum(g) FROM t;
SELECT count(*) FROM u;

-- What this node alone can evaluate: ON CONFLICT, on the shards of this node by PostgreSQL's own plan.
CREATE FUNCTION next(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN i + 1; END';
PREPARE next_of(int, int) AS INSERT INTO t (k, v) VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = next(t.v) RETURNING v, next(k);
CREATE FUNCTION here_and_elsewhere() RETURNS TABLE (here bool, result text, n bigint) LANGUAGE plpgsql AS $$
DECLARE one record; key int;
BEGIN
	CREATE TEMP TABLE got (key int, result text);
	FOR turn IN 1 .. 2 LOOP
		FOR key IN 1 .. 30 LOOP
			BEGIN
				EXECUTE format('EXECUTE next_of(%s, 1)', key) INTO one;
				INSERT INTO got VALUES (key, CASE WHEN one.v > 1 AND one.next = key + 1 THEN 'changed' END);
			EXCEPTION WHEN feature_not_supported THEN INSERT INTO got VALUES (key, SQLERRM);
			END;
		END LOOP;
	END LOOP;
	RETURN QUERY SELECT groupid = 0, got.result, count(*) FROM got JOIN pg_dist_placement
		ON shardid = get_shard_id_for_distribution_column('t', got.key) GROUP BY 1, 2 ORDER BY 1, 2;
	DROP TABLE got;
END $$;
SELECT * FROM here_and_elsewhere();
SET plan_cache_mode = force_generic_plan;
SELECT * FROM here_and_elsewhere();
RESET plan_cache_mode;
EXECUTE next_of(NULL, 1);
PREPARE next_for(int) AS UPDATE t SET v = next(v) WHERE k = $1 RETURNING v;
SELECT all_of('next_for(%s)');
SELECT k AS key_here FROM t JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('t', k) AND groupid = 0 ORDER BY k LIMIT 1 \gset
SET plan_cache_mode = force_custom_plan;
EXPLAIN (COSTS off) EXECUTE next_of(:key_here, 1);
RESET plan_cache_mode;
EXPLAIN (COSTS off) INSERT INTO t (k, v) VALUES (:key_here, 1) ON CONFLICT (k) DO UPDATE SET v = next(t.v);

-- Constants: the plan is made for the shard at once.
UPDATE t SET v = 1 WHERE k = 1 RETURNING *;
UPDATE t SET v = 2, k = 1 WHERE k = 1 RETURNING *;
UPDATE t SET g = 2 WHERE k = 1;
DELETE FROM t WHERE k = 1 AND v = 1;
INSERT INTO t (k, v) VALUES (1, 3) ON CONFLICT ON CONSTRAINT t_pkey DO NOTHING RETURNING v;
INSERT INTO t (k, v) VALUES (1, 3);
INSERT INTO t (k, v) VALUES (1, 3) ON CONFLICT DO NOTHING;
INSERT INTO t (k, v) VALUES (31, 3), (32, 4) RETURNING k, v, s, g;
INSERT INTO u VALUES (1, 1), (99, 1);
SELECT t, t.tableoid::regclass FROM t WHERE k = 1;
SELECT (t).v FROM t WHERE k = 2;
SELECT random() < 1, v FROM t WHERE k = 2;

-- All levels are this node's.
CREATE FUNCTION grouped(key int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
	EXECUTE format('SELECT n FROM (SELECT k, count(*) AS n FROM t WHERE k = %s GROUP BY k) s', key) INTO result;
	RETURN result;
END $$;
SELECT string_agg(grouped(i)::text, ' ') FROM generate_series(1, 9) i;

-- A transaction over this node and others, and rollback of a part.
BEGIN;
SELECT all_of('change(%s, 10)') IS NOT NULL;
SAVEPOINT s;
SELECT all_of('change(%s, 10)') IS NOT NULL;
ROLLBACK TO s;
COMMIT;
SELECT count(*), sum(v) FROM t;

-- Shards that move take the plans with them.
SELECT nodename AS host0, nodeport AS port0 FROM pg_dist_node WHERE groupid = 0 \gset
SELECT nodename AS host1, nodeport AS port1 FROM pg_dist_node WHERE groupid = 1 \gset
CREATE TABLE before AS SELECT all_of('read(%s)');
SELECT count(citus_move_shard_placement(shardid, :'host0', :port0, :'host1', :port1, 'block_writes'))
	FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) WHERE groupid = 0 AND logicalrelid = 't'::regclass;
SELECT all_of('read(%s)') = (TABLE before);
SELECT count(citus_move_shard_placement(shardid, :'host1', :port1, :'host0', :port0, 'block_writes'))
	FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) WHERE groupid = 1 AND logicalrelid = 't'::regclass;
SELECT all_of('read(%s)') = (TABLE before);
DROP TABLE before;

-- They follow changes of the table.
ALTER TABLE t DROP COLUMN s;
EXECUTE wide(2);
EXECUTE read(2);
ALTER TABLE t ADD COLUMN s text DEFAULT 'new';
EXECUTE read(2);
CREATE INDEX ON t (v);
EXECUTE read(2);

-- Shards of one table with their columns at other places, as a move makes the table anew without dropped ones.
SELECT shardid AS moved FROM pg_dist_placement JOIN pg_dist_shard USING (shardid)
	WHERE groupid = 0 AND logicalrelid = 't'::regclass ORDER BY shardid LIMIT 1 \gset
SELECT citus_move_shard_placement(:moved, :'host0', :port0, :'host1', :port1, 'block_writes');
SELECT citus_move_shard_placement(:moved, :'host1', :port1, :'host0', :port0, 'block_writes');
CREATE FUNCTION all_values() RETURNS text LANGUAGE sql AS 'SELECT string_agg(v::text, '' '' ORDER BY k) FROM t WHERE k <= 30';
SELECT all_of('wide(%s)') = all_values();
PREPARE add_s(int, text) AS UPDATE t SET v = v + 1, s = s || $2 WHERE k = $1 RETURNING v;
SELECT all_of('add_s(%s, ''!'')') = all_values();
SELECT all_of('add_s(%s, ''?'')') = all_values();
SELECT DISTINCT s FROM t WHERE k <= 30;
DO $$ BEGIN EXECUTE format('PREPARE long(int) AS SELECT v, %L AS text FROM t WHERE k = $1', repeat('x', 100000)); END $$;
SELECT all_of('long(%s)') = all_values();
PREPARE insert_s(int) AS INSERT INTO t (k, v, s) VALUES ($1 + 100, $1, 'added') RETURNING v;
SELECT all_of('insert_s(%s)');
SELECT s, count(*), sum(v), sum(g) FROM t WHERE k > 100 GROUP BY s;

-- A statement that starts again, for other shards, while it runs.
CREATE FUNCTION chain(first int, last int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE one record; rest text;
BEGIN
	FOR one IN SELECT k, s FROM t WHERE k = first LOOP
		IF first < last THEN rest := chain(first + 1, last); END IF;
		UPDATE t SET s = first::text WHERE k = one.k;
		RETURN concat_ws(' ', one.k || one.s, rest);
	END LOOP;
END $$;
SELECT chain(1, 12);
SELECT chain(1, 12);
CREATE FUNCTION fails(first int, last int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE one record;
BEGIN
	FOR one IN SELECT k / (last - k) AS bad FROM t WHERE k = first LOOP
		RETURN fails(first + 1, last);
	END LOOP;
END $$;
SELECT fails(1, 10);
SELECT chain(2, 9);
DELETE FROM t WHERE k > 100;

-- Rights and policies are those of the table.
CREATE ROLE here_user;
GRANT USAGE ON SCHEMA here TO here_user;
GRANT SELECT (k, v) ON t TO here_user;
SET ROLE here_user;
SELECT v FROM t WHERE k = 2;
SELECT s FROM t WHERE k = 2;
EXECUTE wide(2);
EXECUTE read(2);
EXECUTE change(2, 1);
RESET ROLE;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY small ON t FOR SELECT TO here_user USING (v < 100);
SET ROLE here_user;
SELECT count(*), max(v) < 100 FROM t;
SELECT string_agg(v::text, ' ') FROM generate_series(1, 3) i, LATERAL (SELECT v FROM t WHERE k = i) x;
EXECUTE wide(2);
RESET ROLE;
EXECUTE wide(2);

SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false) FROM pg_dist_node WHERE groupid = 0;
DROP OWNED BY here_user;
DROP ROLE here_user;
DROP SCHEMA here CASCADE;
