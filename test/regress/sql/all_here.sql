-- Queries whose shards are all on this node run by PostgreSQL's own plan, without tasks.
-- The tables of the comparisons are moved here for it, and back at the end.
SET client_min_messages = warning;
\set VERBOSITY terse
SET search_path = dist, public;
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true) FROM pg_dist_node WHERE groupid = 0;
CREATE TEMP TABLE came_from AS
	SELECT DISTINCT ON (colocationid, shardminvalue) shardid, nodename, nodeport
	FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) JOIN pg_dist_partition USING (logicalrelid)
		JOIN pg_dist_node USING (groupid)
	WHERE logicalrelid::text = ANY ('{a,b,c,d,e,s1,s2,tree}') AND groupid <> 0
	ORDER BY colocationid, shardminvalue, shardid;
SELECT count(citus_move_shard_placement(shardid, m.nodename, m.nodeport, n.nodename, n.nodeport, 'block_writes')) > 0
	FROM came_from m, pg_dist_node n WHERE n.groupid = 0;
ANALYZE a;
ANALYZE b;

SELECT compare($$
SELECT * FROM a;
SELECT count(*), sum(v), min(ts), max(y), avg(x) FROM a;
SELECT x, count(*), count(DISTINCT y), array_agg(id ORDER BY id DESC) FROM a GROUP BY x;
SELECT /* ordered */ k, id, y FROM a ORDER BY y DESC NULLS LAST, id LIMIT 7 OFFSET 2;
SELECT DISTINCT ON (x) x, id, k FROM a ORDER BY x, id DESC, k;
SELECT count(*) FROM a JOIN b ON a.x = b.id;
SELECT a.x, b.x, count(*) FROM a FULL JOIN b ON a.x = b.x AND b.id < 9 GROUP BY a.x, b.x;
SELECT a.id, b.id, r.name FROM a JOIN b USING (k) JOIN r ON r.id = a.x WHERE b.x > a.x;
SELECT a.id FROM a LEFT JOIN b ON a.k = b.k AND b.x = 1 WHERE b.k IS NULL;
SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.x = a.id);
SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.x = a.x AND b.id > a.id);
SELECT id, (SELECT count(*) FROM b WHERE b.k = a.k) FROM a;
SELECT id FROM a WHERE v > (SELECT avg(v) FROM a);
SELECT id FROM a WHERE x NOT IN (SELECT x FROM b WHERE x IS NOT NULL);
SELECT a.id, l.id FROM a, LATERAL (SELECT id FROM b WHERE b.x = a.x ORDER BY id LIMIT 2) l;
SELECT x FROM a UNION SELECT x FROM b EXCEPT SELECT x FROM e;
SELECT id FROM a UNION ALL SELECT x FROM d;
SELECT x, id, rank() OVER (PARTITION BY x ORDER BY id) FROM a;
SELECT x, y, count(*) FROM a GROUP BY CUBE (x, y);
WITH RECURSIVE up AS (SELECT id, parent FROM tree WHERE id = 9 AND k = 1 UNION ALL SELECT t.id, t.parent FROM tree t JOIN up ON t.id = up.parent AND t.k = 1) SELECT * FROM up;
WITH m AS MATERIALIZED (SELECT x, count(*) AS n FROM a GROUP BY x) SELECT * FROM m m1 JOIN m m2 ON m1.n = m2.n;
SELECT count(*) FROM a JOIN loc ON a.x = loc.x LEFT JOIN s1 ON s1.id = loc.id;
SELECT s1.id, s2.x FROM s1 JOIN s2 USING (id) JOIN a ON a.id = s2.x;
SELECT coalesce(a.k, e.k), count(*) FROM a FULL JOIN e ON a.k = e.k GROUP BY 1;
SELECT count(*) FROM a WHERE k IN (SELECT k FROM b GROUP BY k HAVING count(*) > 2);
SELECT s.n, count(*) FROM (SELECT k, x, count(*) AS n FROM a GROUP BY k, x) s GROUP BY s.n;
SELECT s.n + 1 FROM (SELECT count(*) AS n FROM a GROUP BY k) s WHERE s.n > 1;
SELECT count(*) FROM (SELECT DISTINCT k, y FROM a) s JOIN b ON b.x = s.k;
SELECT s.*, r.name FROM (SELECT a.k, sum(b.id) AS n FROM a JOIN b USING (k) GROUP BY a.k HAVING sum(b.id) > 5) s LEFT JOIN r ON r.id = s.k;
SELECT b.id, (SELECT max(n) FROM (SELECT k, count(*) AS n FROM a GROUP BY k) s WHERE s.k = b.x) FROM b;
$$);

-- Keys choose shards: constants in a filter, and values in a nested loop.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT compare($$
SELECT id FROM a WHERE k IN (1, 5) AND x > 0;
SELECT a.id, b.id FROM a JOIN b ON b.k = a.x AND b.id = a.id + 1;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.x AND b.id = a.id + 1;
SELECT id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.x AND b.id = a.id);
SELECT e.x, a.id FROM e JOIN a ON a.k = e.x WHERE e.k < 3;
SELECT e.x, (SELECT max(id) FROM a WHERE a.k = e.x) FROM e;
SELECT a.id, l.n FROM a, LATERAL (SELECT count(*) AS n FROM b WHERE b.k = a.x AND b.id > a.id) l;
SELECT count(*) FROM a WHERE k = 3 AND x < ANY (SELECT x FROM b WHERE k = 5);
SELECT count(*) FROM a a1 JOIN a a2 ON a2.k = a1.k AND a2.id = a1.id JOIN b ON b.k = a2.k AND b.id = a2.id;
$$);
RESET enable_hashjoin;
RESET enable_mergejoin;
PREPARE of_key(int) AS SELECT count(*) FROM a JOIN d ON d.x = a.x WHERE a.k = $1;
EXECUTE of_key(3);
EXECUTE of_key(4);
EXECUTE of_key(NULL);


-- In a UNION ALL of shards the key of a lookup chooses the one to read.
CREATE FUNCTION shards_of(name text) RETURNS text LANGUAGE sql AS $$
	SELECT '(' || string_agg('SELECT * FROM dist.' || name || '_' || shardid, ' UNION ALL ' ORDER BY shardid) || ') ' || name
	FROM pg_dist_shard WHERE logicalrelid = ('dist.' || name)::regclass
$$;
CREATE FUNCTION plan_of(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || statement LOOP
		RETURN NEXT regexp_replace(line, '_\d+', '_N', 'g');
	END LOOP;
END $$;
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT plan_of('SELECT b.id FROM r LEFT JOIN ' || shards_of('b') || ' ON b.k = r.id');
-- By another column many rows are looked up in a shard before the next one.
CREATE INDEX b_x ON b (x, id);
CREATE INDEX b_x ON plain.b (x, id);
SET enable_memoize = off;
SELECT plan_of('SELECT r.id, b.id FROM r LEFT JOIN ' || shards_of('b') || ' ON b.x = r.id AND b.id > r.x ORDER BY r.id');
CREATE FUNCTION times_run(statement text) RETURNS TABLE (node text, times int, number int) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || statement LOOP
		node := (regexp_match(line, 'Custom Scan|Nested Loop|Append'))[1];
		times := (regexp_match(line, 'loops=(\d+)'))[1];
		number := (regexp_match(line, 'rows=(\d+)'))[1];
		IF node IS NOT NULL THEN RETURN NEXT; END IF;
	END LOOP;
END $$;
SELECT * FROM times_run('SELECT b.id FROM r LEFT JOIN ' || shards_of('b') || ' ON b.x = r.id AND b.id > r.x');
DROP FUNCTION times_run(text);
CREATE FUNCTION compare_lookups() RETURNS SETOF text LANGUAGE sql AS $$ SELECT compare($q$
SELECT a.id, b.id, b.y FROM a JOIN b ON b.x = a.id;
SELECT a.id, b.id FROM a JOIN b ON b.x = a.x AND b.id % 3 = a.id % 5;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.x = a.x AND b.id > a.id AND b.y = a.y;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.x = a.id WHERE b.id IS NULL OR b.id > 50;
SELECT /* ordered */ r.id FROM r JOIN b ON b.x = r.id AND b.id > r.x ORDER BY r.id;
SELECT /* ordered */ r.id, r.name FROM r LEFT JOIN b ON b.x = r.x AND b.y = r.name ORDER BY r.id;
SELECT id FROM a WHERE EXISTS (SELECT FROM b WHERE b.x = a.id AND b.id > 20);
SELECT id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.x = a.x AND b.id % 7 = a.id % 3);
SELECT id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.x = a.id);
SELECT count(*), count(a.y), count(b.j), count(b.arr), sum(length(a.y || b.y)) FROM a JOIN b ON b.x = a.x AND b.id <> a.id;
SELECT count(*) FROM (SELECT FROM a JOIN b ON b.x = a.x LIMIT 10) s;
SELECT e.x, l.* FROM e, LATERAL (SELECT count(*), sum(b.id) FROM a LEFT JOIN b ON b.x = a.x AND b.id > e.x WHERE a.k = e.k) l;
SELECT a.id, b.id, c.id FROM a JOIN b ON b.x = a.id LEFT JOIN b c ON c.x = b.id AND c.id > a.id;
SELECT id, (SELECT max(b.id) FROM r JOIN b ON b.x = r.id WHERE r.x = a.x) FROM a;
SELECT r.id, b.id FROM r JOIN b ON b.x = r.id WHERE r.x > 100;
SELECT a.id, b.id FROM a JOIN b ON b.x = a.x AND a.v > (SELECT avg(f) FROM b c WHERE c.id < a.id);
$q$) $$;
SELECT compare_lookups();
SET work_mem = '64kB';
SELECT compare_lookups();
RESET work_mem;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT compare_lookups();
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET enable_memoize;
DROP FUNCTION compare_lookups();
DROP INDEX b_x, plain.b_x;
-- So are partitions, but of a table that is changed.
CREATE TABLE months (k int, month int, n int) PARTITION BY LIST (month);
CREATE TABLE months_1 PARTITION OF months FOR VALUES IN (1);
CREATE TABLE months_2 PARTITION OF months FOR VALUES IN (2, 3);
CREATE INDEX ON months (n);
SELECT create_distributed_table('months', 'k', colocate_with => 'a');
INSERT INTO months SELECT i, i % 3 + 1, i % 12 FROM generate_series(1, 60) i;
SELECT count(*), sum(k), sum(month) FROM r JOIN months ON n = id WHERE month < 3;
UPDATE months SET month = 4 - month, n = months.n + r.id FROM r WHERE n = r.id AND r.id > 3;
DELETE FROM months USING r WHERE n = r.id AND month = 1;
SELECT count(*), sum(k), sum(month), sum(n) FROM months;
DROP TABLE months;
RESET enable_seqscan;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- Such a UNION ALL is as large as the table: each shard's least row does not count.
CREATE FUNCTION rows_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || statement INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
SELECT rows_of('SELECT FROM ' || shards_of('b') || ' WHERE id = 3 AND x = 2 AND k = 3');

-- A correlated aggregate by another column than the key: not looked up in each shard for each row.
CREATE TABLE lookups (k int, part int, n int);
SELECT create_distributed_table('lookups', 'k', colocate_with => 'a');
INSERT INTO lookups SELECT i, i % 2000, i % 7 FROM generate_series(1, 40000) i;
CREATE INDEX lookups_part ON lookups (part);
CREATE TABLE local_lookups AS SELECT * FROM lookups;
CREATE INDEX ON local_lookups (part);
SET default_statistics_target = 150; -- a sample of all rows: estimates don't depend on chance
VACUUM ANALYZE lookups, local_lookups;
RESET default_statistics_target;
BEGIN;
SELECT count(*), sum(k) FROM lookups l WHERE part < 40 AND n < (SELECT 0.5 * avg(n) FROM lookups i WHERE i.part = l.part);
SELECT sum(pg_stat_get_xact_numscans(('dist.lookups_part_' || shardid)::regclass)) <= 2 * 40 * count(*) AS once_for_each_part
	FROM pg_dist_shard WHERE logicalrelid = 'lookups'::regclass;
COMMIT;
SELECT count(*), sum(k) FROM local_lookups l WHERE part < 40 AND n < (SELECT 0.5 * avg(n) FROM local_lookups i WHERE i.part = l.part);
-- Whatever else the statement costs.
BEGIN;
SELECT count(*), sum(k), max(c) FROM lookups l, (SELECT count(*) AS c FROM lookups JOIN lookups i USING (part)) s
	WHERE part < 40 AND n < (SELECT 0.5 * avg(i.n) FROM lookups i JOIN lookups j USING (part) WHERE i.part = l.part);
SELECT sum(pg_stat_get_xact_numscans(('dist.lookups_part_' || shardid)::regclass)) <= 3 * 40 * count(*) AS once_for_each_part
	FROM pg_dist_shard WHERE logicalrelid = 'lookups'::regclass;
COMMIT;

-- Aggregates of few rows, of those that other joins leave: an index finds what they are made of.
BEGIN;
SELECT count(*), sum(l.k) FROM lookups l, (VALUES (2001), (12002), (38003)) v (k)
	WHERE part < 4 AND l.k = v.k AND n <= (SELECT 2 * avg(n) FROM lookups i WHERE i.part = l.part AND i.n = l.n);
SELECT sum(pg_stat_get_xact_numscans(('dist.lookups_part_' || shardid)::regclass)) <= 20 * count(*) AS of_three_rows
	FROM pg_dist_shard WHERE logicalrelid = 'lookups'::regclass;
COMMIT;
SELECT count(*), sum(l.k) FROM local_lookups l, (VALUES (2001), (12002), (38003)) v (k)
	WHERE part < 4 AND l.k = v.k AND n <= (SELECT 2 * avg(n) FROM local_lookups i WHERE i.part = l.part AND i.n = l.n);

-- Nor EXISTS below OR, where rows come from a join's inner side.
BEGIN;
SELECT count(*), sum(l.k) FROM generate_series(1, 200) g JOIN lookups l ON l.part = g
	WHERE EXISTS (SELECT FROM lookups i WHERE i.part = l.k AND i.n = 3) OR EXISTS (SELECT FROM lookups i WHERE i.part = l.k AND i.n < 2);
SELECT sum(pg_stat_get_xact_numscans(('dist.lookups_part_' || shardid)::regclass)) <= 200 * count(*) AS at_once
	FROM pg_dist_shard WHERE logicalrelid = 'lookups'::regclass;
COMMIT;
SELECT count(*), sum(l.k) FROM generate_series(1, 200) g JOIN local_lookups l ON l.part = g
	WHERE EXISTS (SELECT FROM local_lookups i WHERE i.part = l.k AND i.n = 3) OR EXISTS (SELECT FROM local_lookups i WHERE i.part = l.k AND i.n < 2);

-- What OR conditions say of the UNION ALL alone, which the core takes out of them before it looks at shards, and what
-- a lookup by another column finds in all of them, is expected as of a plain table.
CREATE FUNCTION rows_found(source text, condition text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) SELECT FROM generate_series(1, 2) g, ' || source || ' WHERE ' || condition INTO plan;
	RETURN (jsonb_path_query_first(plan, 'strict $.** ? (@."Node Type" == "Append" || @."Relation Name" == "local_lookups")') ->> 'Plan Rows')::numeric;
END $$;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_bitmapscan = off;
SELECT condition, rows_found('local_lookups lookups', condition) AS plain, rows_found(shards_of('lookups'), condition) AS shards
	FROM (VALUES ('part = 3 AND g = 1 OR part = 5 AND g = 2'), ('k = 3 AND g = 1 OR k = 5 AND g = 2'), ('part = g AND n = g AND k % 10 = g')) c (condition);
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_bitmapscan;
DROP FUNCTION shards_of(text), rows_of(text), rows_found(text, text);

-- Groups of shard groups are made once, not by each process of a parallel plan.
CREATE FUNCTION groups_of(name text) RETURNS text LANGUAGE sql AS $$
	SELECT '(' || string_agg('SELECT k FROM dist.' || name || '_' || shardid || ' GROUP BY k', ' UNION ALL ' ORDER BY shardid) || ')'
	FROM pg_dist_shard WHERE logicalrelid = ('dist.' || name)::regclass
$$;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET enable_hashjoin = off;
ALTER TABLE local_lookups SET (parallel_workers = 2);
SELECT line ~ 'Parallel' AS shared, count(*)
FROM plan_of('SELECT count(*) FROM local_lookups l LEFT JOIN ' || groups_of('lookups') || ' g USING (k)') line
WHERE line ~ 'Append' GROUP BY 1;
-- A node's tasks share processes: none of them starts some of its own.
SET min_parallel_table_scan_size = 0;
SELECT count(*) FILTER (WHERE line ~ 'Gather') AS gathers, count(*) FILTER (WHERE line ~ 'Parallel Append') AS shared
FROM plan_of((SELECT string_agg('SELECT n, count(*) FROM dist.lookups_' || shardid || ' GROUP BY n', ' UNION ALL ' ORDER BY shardid)
	FROM pg_dist_shard, generate_series(1, 2) WHERE logicalrelid = 'dist.lookups'::regclass)) line;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET enable_hashjoin;
DROP FUNCTION groups_of(text), plan_of(text);
DROP TABLE lookups, local_lookups;
SELECT compare($$
SELECT id FROM a WHERE x > (SELECT avg(x) FROM b WHERE b.x = a.x + 1);
SELECT id FROM a WHERE id > 3 AND v < (SELECT 20 * max(f)::numeric FROM b WHERE b.x = a.x AND b.id <> 7);
SELECT id FROM a WHERE x IN (SELECT x FROM b WHERE b.id < (SELECT sum(e.k) FROM e WHERE e.x = b.x));
SELECT id FROM a LEFT JOIN b USING (id) WHERE a.x <= (SELECT min(x) FROM b c WHERE c.id = b.id);
SELECT id FROM a WHERE x > (SELECT count(*) FROM b WHERE b.x = a.id);
SELECT id, (SELECT count(*) FROM b WHERE b.x = a.x AND b.id < (SELECT max(e.k) FROM e WHERE e.x = b.x)) FROM a;
WITH w AS (SELECT * FROM b) SELECT id FROM a WHERE x < (SELECT sum(x) FROM w WHERE w.id = a.id);
$$);
-- EXISTS below OR is tested by values where lookups cost a lot.
SET enable_seqscan = off;
SELECT compare($$
SELECT id FROM a WHERE x IS NULL OR EXISTS (SELECT FROM b WHERE b.x = a.id AND b.id <> 7) OR NOT EXISTS (SELECT FROM b WHERE b.x = a.x AND b.id > 20);
SELECT id FROM a LEFT JOIN b USING (id) WHERE a.x < 5 AND (NOT EXISTS (SELECT FROM e WHERE e.x = b.x) OR b.k = 3 AND EXISTS (SELECT FROM r WHERE r.id = a.x));
SELECT id FROM a WHERE x = 3 OR EXISTS (SELECT FROM b WHERE b.x = a.x AND (b.id = 3 OR NOT EXISTS (SELECT FROM e WHERE e.x = b.id)));
SELECT id FROM a WHERE EXISTS (SELECT FROM b WHERE b.x = a.id AND b.id < 30) OR EXISTS (SELECT FROM e WHERE e.x = a.id AND e.k > 2);
WITH w AS MATERIALIZED (SELECT * FROM b) SELECT id FROM a WHERE EXISTS (SELECT FROM w WHERE w.x = a.x AND w.id < 30) OR EXISTS (SELECT FROM w WHERE w.id = a.x) OR EXISTS (SELECT FROM e WHERE e.x = a.id);
$$);
RESET enable_seqscan;

-- Rows of this transaction; rights of columns; a table's whole rows.
BEGIN;
INSERT INTO a (k, id, x) VALUES (1, 100001, 1), (2, 100001, 1), (3, 100001, 1);
SELECT count(*) FROM a JOIN e ON e.x = a.x WHERE a.id > 100000;
ROLLBACK;
CREATE ROLE all_here_user;
GRANT USAGE ON SCHEMA dist TO all_here_user;
GRANT SELECT (k, x) ON a TO all_here_user;
SET ROLE all_here_user;
SELECT count(*), sum(x) FROM a;
SELECT count(y) FROM a;
RESET ROLE;
REVOKE ALL ON a FROM all_here_user;
REVOKE ALL ON SCHEMA dist FROM all_here_user;
DROP ROLE all_here_user;
SELECT count(DISTINCT a) FROM a;
SELECT tableoid::regclass, count(*) FROM a GROUP BY 1;

-- A shard elsewhere: tasks again.
PREPARE both_ways AS SELECT count(*), sum(a.id) FROM a JOIN b ON a.x = b.id;
EXECUTE both_ways;
SELECT count(citus_move_shard_placement(shardid, n.nodename, n.nodeport, m.nodename, m.nodeport, 'block_writes')) > 0
	FROM came_from m, pg_dist_node n WHERE n.groupid = 0;
EXECUTE both_ways;
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false) FROM pg_dist_node WHERE groupid = 0;
