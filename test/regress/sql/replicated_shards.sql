-- Shards with two copies: every write gives the rows and counts of a plain table, and the copies
-- agree; lost copies are passed over and can be repaired. Only differences are shown.
\set VERBOSITY terse
SET client_min_messages TO warning;
SET citus.shard_replication_factor TO 2;
SET citus.shard_count TO 4;
SET citus.next_shard_id TO 1760000;
CREATE SCHEMA replicated;
SET search_path TO replicated;
CREATE TABLE d (k int PRIMARY KEY, v int DEFAULT 7, t text, at timestamptz DEFAULT now());
CREATE TABLE e (k int, w int);
CREATE TABLE r (id int PRIMARY KEY, x text);
SELECT create_distributed_table('d', 'k');
SELECT create_distributed_table('e', 'k', colocate_with => 'd');
SELECT create_reference_table('r');
CREATE TABLE p_d (LIKE d INCLUDING ALL);
CREATE TABLE p_e (LIKE e INCLUDING ALL);
CREATE TABLE p_r (LIKE r INCLUDING ALL);

-- Copies of one shard that differ from another copy of it.
CREATE FUNCTION differing(rel text) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM (SELECT shardid FROM run_command_on_placements(rel::regclass,
		'SELECT coalesce(md5(string_agg(x::text, '';'' ORDER BY x::text)), '''') FROM %s x') GROUP BY shardid HAVING count(DISTINCT result) > 1) s
$$;

-- Runs a statement on the distributed tables and on the plain ones; {x} stands for a table.
CREATE FUNCTION each_way(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	here bigint; there bigint; here_error text := ''; there_error text := ''; name text; differs bigint;
BEGIN
	BEGIN
		EXECUTE regexp_replace(statement, '\{(\w)\}', '\1', 'g');
		GET DIAGNOSTICS here = ROW_COUNT;
	EXCEPTION WHEN OTHERS THEN here_error := SQLSTATE;
	END;
	BEGIN
		EXECUTE regexp_replace(statement, '\{(\w)\}', 'p_\1', 'g');
		GET DIAGNOSTICS there = ROW_COUNT;
	EXCEPTION WHEN OTHERS THEN there_error := SQLSTATE;
	END;
	IF here IS DISTINCT FROM there OR here_error <> there_error THEN
		RETURN NEXT format('%s: %s rows %s, but %s rows %s', statement, here, here_error, there, there_error);
	END IF;
	FOREACH name IN ARRAY ARRAY['d', 'e', 'r'] LOOP
		EXECUTE format('SELECT count(*) FROM ((TABLE %1$I EXCEPT ALL TABLE p_%1$I) UNION ALL (TABLE p_%1$I EXCEPT ALL TABLE %1$I)) s', name) INTO differs;
		IF differs > 0 THEN RETURN NEXT format('%s: %s rows of %s differ', statement, differs, name); END IF;
		IF differing(name) > 0 THEN RETURN NEXT format('%s: copies of %s differ', statement, name); END IF;
	END LOOP;
END $$;

CREATE TABLE statements (n serial, statement text);
INSERT INTO statements (statement) VALUES
	('INSERT INTO {r} SELECT i, ''r'' || i FROM generate_series(1, 5) i'),
	('INSERT INTO {d} SELECT i, i, ''t'' || i FROM generate_series(1, 60) i'),
	('INSERT INTO {d} (k, t) VALUES (101, ''a''), (102, ''b''), (103, NULL)'),
	('INSERT INTO {d} (k) VALUES (104)'),
	('INSERT INTO {d} (k) VALUES (104)'),
	('INSERT INTO {d} (k, v) VALUES (104, 1), (105, 1) ON CONFLICT (k) DO UPDATE SET v = {d}.v + EXCLUDED.v'),
	('INSERT INTO {d} (k, v) VALUES (104, 1), (106, 1) ON CONFLICT DO NOTHING'),
	('INSERT INTO {e} SELECT k, v FROM {d} WHERE k % 2 = 0'),
	('INSERT INTO {e} SELECT v, k FROM {d} WHERE k < 20'),
	('INSERT INTO {e} SELECT id, 5 FROM {r}'),
	('UPDATE {d} SET v = v + 1'),
	('UPDATE {d} SET v = v * 2, t = upper(t) WHERE k = 7'),
	('UPDATE {d} SET v = NULL WHERE k IN (1, 2, 3)'),
	('UPDATE {d} SET v = 1 / (k - 30)'),
	('UPDATE {d} SET at = now()'),
	('UPDATE {d} SET v = w FROM {e} WHERE {e}.k = {d}.k AND w > 20'),
	('UPDATE {d} SET t = x FROM {r} WHERE id = v'),
	('UPDATE {d} SET v = (SELECT max(w) FROM {e}) WHERE k < 5'),
	('UPDATE {e} SET w = w + 1 WHERE k IN (SELECT k FROM {d} WHERE v > 30)'),
	('DELETE FROM {d} WHERE k = 8'),
	('DELETE FROM {d} WHERE v % 3 = 0'),
	('DELETE FROM {e} USING {d} WHERE {d}.k = {e}.k AND t LIKE ''T%%'''),
	('WITH gone AS (DELETE FROM {e} WHERE k = 10 RETURNING *) INSERT INTO {d} (k, v) SELECT k + 200, w FROM gone'),
	('COPY {e} FROM PROGRAM ''seq 1 40 | sed "s/.*/&,&/"'' (FORMAT csv)'),
	('ALTER TABLE {e} ADD COLUMN more text DEFAULT ''m'''),
	('UPDATE {e} SET more = k::text WHERE k > 20'),
	('TRUNCATE {e}'),
	('INSERT INTO {e} VALUES (1, 1), (2, 2), (NULL, 3)'),
	('INSERT INTO {e} VALUES (1, 1), (2, 2), (3, 3)');
SELECT each_way(statement) FROM statements WHERE n NOT IN (SELECT n FROM statements WHERE statement LIKE '%(NULL, 3)%') ORDER BY n;
SELECT count(*) > 10 AS d, (SELECT count(*) FROM e) AS e, (SELECT count(*) FROM r) AS r FROM d;

-- Copies that are marked as lost: as if worker 2 had been away during a write.
SELECT success, result FROM run_command_on_all_nodes($$
	UPDATE pg_dist_placement SET shardstate = 3 WHERE shardid BETWEEN 1760000 AND 1760099 AND groupid = (SELECT max(groupid) FROM pg_dist_node)
	AND shardid IN (SELECT shardid FROM pg_dist_shard WHERE logicalrelid IN ('replicated.d'::regclass, 'replicated.e'::regclass))$$);
SELECT each_way('UPDATE {d} SET v = v + 1000');
SELECT each_way('INSERT INTO {d} (k, v) VALUES (300, 1), (301, 2), (302, 3), (303, 4)');
SELECT each_way('DELETE FROM {d} WHERE k BETWEEN 20 AND 25');
SELECT each_way('COPY {e} FROM PROGRAM ''seq 1 40 | sed "s/.*/&,&,c/"'' (FORMAT csv)');
SELECT shardstate, count(*) FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) WHERE logicalrelid IN ('d'::regclass, 'e'::regclass) GROUP BY 1 ORDER BY 1;
-- A lost copy is not copied from, and is what a repair replaces.
DO $$
DECLARE
	shard bigint = 1760000;
BEGIN
	BEGIN
		PERFORM citus_copy_shard_placement(shard, source.nodeid, target.nodeid)
		FROM pg_dist_node source, pg_dist_node target WHERE source.groupid = 2 AND target.groupid = 0;
	EXCEPTION WHEN undefined_object THEN RAISE WARNING 'a lost copy is no source';
	END;
	PERFORM citus_copy_shard_placement(shardid, source.nodeid, target.nodeid)
	FROM pg_dist_node source, pg_dist_node target, pg_dist_shard
	WHERE source.groupid = 1 AND target.groupid = 2 AND logicalrelid = 'd'::regclass;
END $$;
SELECT shardstate, count(*) FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) WHERE logicalrelid IN ('d'::regclass, 'e'::regclass) GROUP BY 1 ORDER BY 1;
SELECT each_way('UPDATE {d} SET v = v - 1000');
SELECT each_way('UPDATE {e} SET w = w + 1');
-- Splits: pieces have two copies, too, on the node that was asked for and those that have the shard.
SELECT nodeid AS n0 FROM pg_dist_node WHERE groupid = 0 \gset
SELECT nodeid AS n1 FROM pg_dist_node WHERE groupid = 1 \gset
SELECT nodeid AS n2 FROM pg_dist_node WHERE groupid = 2 \gset
SELECT citus_split_shard_by_split_points(1760000, ARRAY['-1500000000'], ARRAY[:n1, :n0], 'force_logical');
SELECT each_way('UPDATE {d} SET v = v + 3');
SELECT citus_split_shard_by_split_points(1760001, ARRAY['-500000000'], ARRAY[:n0, :n2], 'block_writes');
SELECT each_way('UPDATE {d} SET v = v + 4');
SELECT isolate_tenant_to_new_shard('e', 7, 'CASCADE') > 0 AS done;
SELECT each_way('UPDATE {e} SET w = w + 5');
SELECT each_way('DELETE FROM {e} WHERE k < 8');
SELECT logicalrelid, shardminvalue::int, shardmaxvalue::int, string_agg(groupid::text, ' ' ORDER BY groupid) AS groups
FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) WHERE logicalrelid IN ('d'::regclass, 'e'::regclass)
GROUP BY 1, 2, 3 ORDER BY 1, 2;
SELECT result FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_class WHERE relname ~ '^[de]_1760(000|001|004|005)$'$$);
-- Not while a copy is lost.
SELECT success, result FROM run_command_on_all_nodes('UPDATE pg_dist_placement SET shardstate = 3 WHERE shardid = 1760006 AND groupid = 2');
SELECT citus_split_shard_by_split_points(1760002, ARRAY['1000000000'], ARRAY[:n1, :n2]);
SELECT success, result FROM run_command_on_all_nodes('UPDATE pg_dist_placement SET shardstate = 1 WHERE shardid = 1760006 AND groupid = 2');
SELECT each_way('UPDATE {e} SET w = w + 1');

-- Nobody but who may write marks copies.
CREATE ROLE replicated_reader;
GRANT USAGE ON SCHEMA replicated TO replicated_reader;
GRANT SELECT ON d TO replicated_reader;
SET ROLE replicated_reader;
SELECT pando.copies_lost('{1760000}', '{2}', '{2}');
RESET ROLE;
-- Nor is the last one marked.
SELECT pando.copies_lost('{1760002}', '{1, 2}', '{}');

DROP SCHEMA replicated CASCADE;
DROP ROLE replicated_reader;
SELECT result FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_class WHERE relname ~ '^[de]_17600'$$);
