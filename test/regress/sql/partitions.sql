-- Partitioned tables: the same on distributed tables as on plain ones; nothing of one stays behind.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" partitions
\! sh "$PG_ABS_SRCDIR/twice.sh" detach

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;

-- After a move, altered, and back; refused by name where there is no way.
\set VERBOSITY terse
CREATE SCHEMA parts;
SET search_path TO parts;
CREATE TABLE p (k int, d int, v int, PRIMARY KEY (k, d)) PARTITION BY RANGE (d);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
INSERT INTO p SELECT i, i % 10, i FROM generate_series(1, 100) i;
SELECT create_distributed_table('p', 'k', shard_count := 4, colocate_with := 'none');
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20) PARTITION BY HASH (k);
CREATE TABLE p20 PARTITION OF p2 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO p SELECT i, i % 10 + 10, i FROM generate_series(1, 100) i;
SELECT count(*) FROM citus_shards WHERE table_name::text IN ('p', 'p1', 'p2', 'p20');
SELECT citus_total_relation_size('p') = citus_total_relation_size('p1') + citus_total_relation_size('p20') AS sum, citus_table_size('p') > 0 AS some, citus_relation_size('p2') = citus_relation_size('p20') AS same;
SELECT s.shardid, n.nodeid AS source, (SELECT min(nodeid) FROM pg_dist_node m WHERE m.groupid > 0 AND m.groupid <> n.groupid) AS target
	FROM pg_dist_shard s JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node n USING (groupid)
	WHERE logicalrelid = 'p1'::regclass ORDER BY shardid LIMIT 1 \gset
SELECT citus_move_shard_placement(:shardid, :source, :target, 'block_writes');
SELECT count(*), sum(v) FROM p;
SELECT count(*), sum(v) FROM p1;
SELECT count(*), sum(v) FROM p20;
INSERT INTO p SELECT i, i % 20, i FROM generate_series(101, 200) i;
SELECT count(*), sum(v) FROM p20;
SELECT alter_distributed_table('p', shard_count := 6, cascade_to_colocated := false);
SELECT count(*), sum(v) FROM p20;
SELECT DISTINCT result FROM run_command_on_all_nodes('SELECT string_agg(t, '' '' ORDER BY t) FROM (SELECT tableoid::regclass || '':'' || count(*) AS t FROM parts.p WHERE tableoid <> ''parts.p2''::regclass GROUP BY tableoid) q');
SELECT pando.row_tableoid('pg_class'::regclass, '{1}', '{2}');
SELECT count(DISTINCT tableoid) FROM p1;
SELECT undistribute_table('p1');
SELECT alter_distributed_table('p1', shard_count := 2);
CREATE TABLE q (k int, d int, v int NOT NULL) PARTITION BY RANGE (d);
CREATE TABLE q1 PARTITION OF q FOR VALUES FROM (0) TO (10);
SELECT create_distributed_table('q1', 'k');
SELECT create_distributed_table('q', 'k', colocate_with := 'none');
CREATE TABLE other (k int, d int, v int NOT NULL);
SELECT create_distributed_table('other', 'd', colocate_with := 'none');
ALTER TABLE q ATTACH PARTITION other FOR VALUES FROM (20) TO (30);
CREATE TABLE unique_v (k int, d int, v int NOT NULL UNIQUE);
ALTER TABLE q ATTACH PARTITION unique_v FOR VALUES FROM (20) TO (30);
CREATE TABLE l (k int) PARTITION BY LIST (k);
SELECT citus_add_local_table_to_metadata('l');
-- Indexes of shells and shards on all nodes are made anew; clustered by one.
CREATE INDEX p_v ON p (v);
CREATE FUNCTION files() RETURNS TABLE (node int, name text, file text) LANGUAGE sql AS $$
SELECT nodeid, l->>0, l->>1 FROM run_command_on_all_nodes($r$SELECT jsonb_agg(jsonb_build_array(relname, pg_relation_filenode(oid))) FROM pg_class WHERE relkind = 'i' AND relname ~ '^p(1|20)_v_idx'$r$), jsonb_array_elements(result::jsonb) l $$;
CREATE TABLE before (node int, name text, file text);
INSERT INTO before SELECT * FROM files();
CREATE FUNCTION made_anew() RETURNS TABLE (made bigint, kept bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT count(*) FILTER (WHERE b.file <> f.file), count(*) FILTER (WHERE b.file = f.file OR b.file IS NULL OR f.file IS NULL) FROM parts.before b FULL JOIN parts.files() f USING (node, name);
	DELETE FROM parts.before;
	INSERT INTO parts.before SELECT * FROM parts.files();
END $$;
REINDEX TABLE p;
SELECT * FROM made_anew();
REINDEX INDEX p_v;
SELECT * FROM made_anew();
REINDEX (VERBOSE off) TABLE CONCURRENTLY p;
SELECT * FROM made_anew();
REINDEX INDEX CONCURRENTLY p_v;
SELECT * FROM made_anew();
CLUSTER p USING p_v;
SELECT * FROM made_anew();
SELECT result FROM run_command_on_all_nodes('SELECT count(*) > 1 FROM pg_index WHERE indisclustered AND indexrelid::regclass::text ~ ''p(1|20)_v_idx''');
BEGIN;
REINDEX TABLE p;
ROLLBACK;
BEGIN;
CLUSTER p USING p_v;
ROLLBACK;
CLUSTER p;
REINDEX (TABLESPACE "no such") TABLE p;
SELECT undistribute_table('p');
SELECT count(*), sum(v) FROM p;
SELECT count(*) FROM ONLY p1;
SELECT logicalrelid FROM pg_dist_partition WHERE logicalrelid::text ~ '^p' ORDER BY 1;
SET client_min_messages = warning;
DROP SCHEMA parts CASCADE;
