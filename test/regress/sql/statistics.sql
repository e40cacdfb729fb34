-- ANALYZE of a distributed table gives it the statistics that a plain table with the same rows has; without
-- ANALYZE the planner counts on the shards' sizes. Fragments in a plan have the expected numbers of rows.
\t on
SET citus.shard_count = 4;
SET client_min_messages = warning;
CREATE SCHEMA statistics;
SET search_path = statistics, public;
SET default_statistics_target = 50;
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE TYPE pair AS (a int, b text);
CREATE TABLE plain (k int, few int, "null" int, name text, wide text, tags text[], d positive, p pair, f float, gone int, same_as_few int);
ALTER TABLE plain DROP COLUMN gone;
ALTER TABLE plain ALTER f SET (n_distinct = -0.25);
ALTER TABLE plain ALTER same_as_few SET STATISTICS 10;
CREATE TABLE dist (LIKE plain INCLUDING ALL);
ALTER TABLE dist ALTER f SET (n_distinct = -0.25);
ALTER TABLE dist ALTER same_as_few SET STATISTICS 10;
SELECT create_distributed_table('dist', 'k');
CREATE STATISTICS plain_few (dependencies, ndistinct, mcv) ON few, same_as_few FROM plain;
CREATE STATISTICS dist_few (dependencies, ndistinct, mcv) ON few, same_as_few FROM dist;

-- Never analysed.
CREATE FUNCTION rows_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		RETURN substring(line FROM 'rows=(\d+)');
	END LOOP;
END $$;
INSERT INTO plain SELECT i, i % 7, CASE WHEN i % 4 = 0 THEN i END, 'name' || i % 100,
	CASE WHEN i % 2 = 0 THEN repeat(md5(i::text), 50) ELSE 'short' END, ARRAY['t' || i % 3, 'u' || i % 5],
	i % 10 + 1, (i % 3, 'x')::pair, i / 10.0, (i % 7) * 2 FROM generate_series(1, 5000) i;
INSERT INTO dist SELECT * FROM plain;
SELECT rows_of('SELECT * FROM dist')::int BETWEEN 500 AND 50000 AS by_size;

-- The same as a plain table's, order of equal frequencies aside.
ANALYZE plain, dist;
CREATE VIEW facts AS SELECT tablename, attname, inherited, round(null_frac::numeric, 4) AS nulls, n_distinct,
	(SELECT array_agg(v ORDER BY v) FROM unnest(most_common_vals::text::text[]) v) AS common,
	(SELECT array_agg(round(v::numeric, 4) ORDER BY v) FROM unnest(most_common_freqs) v) AS frequencies,
	histogram_bounds::text AS histogram,
	(SELECT array_agg(v ORDER BY v) FROM unnest(most_common_elems::text::text[]) v) AS elements
	FROM pg_stats WHERE schemaname = 'statistics';
SELECT attname, nulls, n_distinct, common, frequencies FROM facts WHERE tablename = 'dist' AND attname IN ('few', 'null', 'd', 'f') ORDER BY 1;
SELECT p.attname FROM facts p FULL JOIN facts d ON p.attname = d.attname AND d.tablename = 'dist'
WHERE p.tablename = 'plain' AND (p.nulls, p.n_distinct, p.common, p.frequencies, p.histogram, p.elements) IS DISTINCT FROM
	(d.nulls, d.n_distinct, d.common, d.frequencies, d.histogram, d.elements);
SELECT p.attname FROM pg_stats p JOIN pg_stats d USING (schemaname, attname)
WHERE schemaname = 'statistics' AND p.tablename = 'plain' AND d.tablename = 'dist' AND p.attname <> 'wide' AND p.avg_width <> d.avg_width;
SELECT avg_width > 500 AS counts_what_moves FROM pg_stats WHERE tablename = 'dist' AND attname = 'wide';
SELECT correlation > 0.9 AS in_order FROM pg_stats WHERE tablename = 'dist' AND attname = 'k';
SELECT n_distinct, dependencies, array_length(most_common_vals, 1) FROM pg_stats_ext WHERE tablename IN ('plain', 'dist');
SELECT relname, reltuples FROM pg_class WHERE relname IN ('plain', 'dist') ORDER BY 1;

-- What the planner makes of it.
SELECT q, rows_of(replace(q, 'tab', 'plain')), rows_of(replace(q, 'tab', 'dist')) FROM (VALUES
	('SELECT * FROM tab'), ('SELECT * FROM tab WHERE few = 3'), ('SELECT * FROM tab WHERE name = ''name5'''),
	('SELECT * FROM tab WHERE "null" IS NULL'), ('SELECT * FROM tab WHERE few = 3 AND same_as_few = 6'),
	('SELECT few, count(*) FROM tab GROUP BY few'), ('SELECT k, count(*) FROM tab GROUP BY k'),
	('SELECT DISTINCT name FROM tab'), ('SELECT * FROM tab ORDER BY f LIMIT 7'), ('SELECT count(*) FROM tab'),
	('SELECT * FROM tab a JOIN tab b USING (k)'), ('SELECT * FROM tab a JOIN tab b ON a.k = b.k WHERE b.few = 3'),
	('SELECT * FROM tab a JOIN tab b ON a.name = b.name'), ('SELECT * FROM tab WHERE k IN (1, 2, 3)')) v(q);

-- A node groups by a column of its shards together: few values, though many for one shard's rows.
CREATE TABLE spread (id int, k int);
SELECT create_distributed_table('spread', 'id', shard_count => 32);
INSERT INTO spread SELECT i, abs(hashint4(i)) % 100 FROM generate_series(1, 9600) i;
ANALYZE spread;
SELECT success, result::int < 200 AS known FROM run_command_on_workers($$CREATE FUNCTION pg_temp.groups() RETURNS int LANGUAGE plpgsql AS $f$
	DECLARE line text;
	BEGIN
		FOR line IN EXECUTE (SELECT 'EXPLAIN SELECT k FROM (' || string_agg('SELECT k FROM statistics.spread_' || shardid, ' UNION ALL ') || ') s GROUP BY k'
				FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_local_group USING (groupid)
				WHERE logicalrelid = 'statistics.spread'::regclass) LOOP
			RETURN substring(line FROM 'rows=(\d+)');
		END LOOP;
	END $f$;
	SELECT pg_temp.groups()$$);

-- What is sent for a sublink is a set: its thousands of values are not looked up in each shard one by one.
CREATE TABLE keyed (id int, k int, filler text);
SELECT create_distributed_table('keyed', 'id');
INSERT INTO keyed SELECT i, i, repeat('x', 50) FROM generate_series(1, 40000) i;
CREATE INDEX ON keyed (k);
VACUUM ANALYZE keyed;
CREATE FUNCTION joins(query text) RETURNS TABLE (kind text, rows_near_expected bool) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF) ' || query LOOP
		IF line ~ 'Join|Nested Loop' THEN
			kind = substring(line FROM '-> *([[:alpha:] ]*[[:alpha:]])');
			rows_near_expected = substring(line FROM 'rows=(\d+) w')::numeric / substring(line FROM 'actual rows=(\d+)')::numeric BETWEEN 1.0 / 3 AND 3;
			RETURN NEXT;
		END IF;
	END LOOP;
END $$;
SELECT kind FROM joins('SELECT count(*) FROM keyed WHERE k IN (SELECT k + 5 FROM keyed WHERE k % 5 = 0 LIMIT 100000)');

-- Nodes are told how many values the columns of rows that come from others have, and how many of them are one shard's.
CREATE TABLE few (id int, k int);
SELECT create_distributed_table('few', 'id');
INSERT INTO few SELECT i, i % 5 FROM generate_series(1, 1000) i;
ANALYZE few;
SELECT * FROM joins('SELECT count(*) FROM spread JOIN few USING (k)');
CREATE TABLE many (id int, k int, filler text);
SELECT create_distributed_table('many', 'id');
INSERT INTO many SELECT i, i / 4, repeat('x', 50) FROM generate_series(1, 40000) i;
ANALYZE many;
SELECT * FROM joins('SELECT count(*), min(keyed.filler), min(many.filler) FROM many JOIN keyed ON many.k = keyed.id');

-- In a transaction, and what a reader may not see.
TRUNCATE dist;
INSERT INTO dist SELECT i, 1 FROM generate_series(1, 100) i;
BEGIN;
ANALYZE dist;
SELECT reltuples FROM pg_class WHERE relname = 'dist';
ROLLBACK;
SELECT reltuples FROM pg_class WHERE relname = 'dist';
CREATE ROLE analyst;
ALTER TABLE dist OWNER TO analyst;
REVOKE SELECT ON dist FROM analyst;
GRANT USAGE ON SCHEMA statistics TO analyst;
SET ROLE analyst;
ANALYZE dist;
RESET ROLE;
SELECT reltuples FROM pg_class WHERE relname = 'dist';
TRUNCATE dist;
ANALYZE dist;
SELECT rows_of('SELECT * FROM dist');
DROP SCHEMA statistics CASCADE;
DROP ROLE analyst;
