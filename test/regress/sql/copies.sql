-- Changes of tables with several copies: what each row becomes is computed once, all copies have the same rows.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" copies
SET search_path = twice;
-- Each node's copy, without what makes rows the same twice.
SELECT logicalrelid, count(DISTINCT result) AS different, count(*) > 1 AS several FROM pg_dist_partition,
	LATERAL run_command_on_placements(logicalrelid, 'SELECT md5(string_agg(pando.row_line(x), '','' ORDER BY pando.row_line(x) COLLATE "C")) FROM %s x')
WHERE logicalrelid IN ('r'::regclass, 'n'::regclass, 'u'::regclass, 'g'::regclass) GROUP BY logicalrelid ORDER BY logicalrelid::text;
-- Hash-distributed, with two copies of each shard and no key.
SET citus.shard_replication_factor = 2;
CREATE TABLE two (k int, v float, j json);
SELECT create_distributed_table('two', 'k', colocate_with => 'none');
RESET citus.shard_replication_factor;
INSERT INTO two SELECT i % 5, i % 3, '{"a": 1}' FROM generate_series(1, 30) i;
UPDATE two SET v = v + random() WHERE v > 0;
UPDATE two SET v = d.x + random() FROM d WHERE d.k = two.k AND two.v = 0;
DELETE FROM two WHERE v > 2 AND random() < 0.5;
SELECT count(DISTINCT v) > 10, bool_and(v >= 1) FROM two;
SELECT count(DISTINCT result) FROM (SELECT shardid, result FROM run_command_on_placements('two', 'SELECT md5(string_agg(pando.row_line(x), '','' ORDER BY pando.row_line(x) COLLATE "C")) FROM %s x')) p GROUP BY shardid HAVING count(DISTINCT result) > 1;
-- Partitioned ones without a key.
CREATE TABLE parted (a int, b text) PARTITION BY LIST (a);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
SELECT create_reference_table('parted');
INSERT INTO parted VALUES (1, 'one'), (1, 'one'), (2, 'two'), (2, 'two');
UPDATE parted SET b = b || x FROM (VALUES (1), (2)) s (x) WHERE a = x;
SELECT *, tableoid::regclass FROM parted ORDER BY a;
UPDATE parted SET b = b || random();
DELETE FROM parted WHERE a = 2 AND random() < 2;
SELECT count(*), count(DISTINCT b) FROM parted;
SELECT count(DISTINCT result) FROM run_command_on_placements('parted', 'SELECT md5(string_agg(pando.row_line(x), '','' ORDER BY pando.row_line(x) COLLATE "C")) FROM %s x');
\! sh "$PG_ABS_SRCDIR/twice.sh" copies_without_key
SELECT count(DISTINCT result) FROM pg_dist_partition,
	LATERAL run_command_on_placements(logicalrelid, 'SELECT md5(string_agg(pando.row_line(x), '','' ORDER BY pando.row_line(x) COLLATE "C")) FROM %s x')
WHERE logicalrelid IN ('h'::regclass, 'p'::regclass, 'pr'::regclass, 'p_rest'::regclass) GROUP BY logicalrelid, shardid HAVING count(DISTINCT result) > 1;
-- Where triggers fire rows that are the same can't move, nor MERGE choose among them.
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER nothing BEFORE UPDATE ON h FOR EACH ROW EXECUTE FUNCTION nothing();
UPDATE h SET k = k + 1;
MERGE INTO h USING src ON src.id = h.x WHEN MATCHED THEN UPDATE SET w = 'merged';
\! sh "$PG_ABS_SRCDIR/twice.sh" conflict_functions
\! sh "$PG_ABS_SRCDIR/twice.sh" conflict_subqueries
\! sh "$PG_ABS_SRCDIR/twice.sh" conflict_policies
\! sh "$PG_ABS_SRCDIR/twice.sh" conflict_policies force
SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
