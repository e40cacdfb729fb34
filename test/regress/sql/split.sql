-- A shard becomes several, with all that is colocated with it: rows, constraints, indexes, partitions, rights; and a tenant gets a
-- shard of its own. What can't be split is refused, and nothing has changed then.
\set VERBOSITY terse
SET client_min_messages TO warning;
CREATE SCHEMA split;
SET search_path TO split;
SET citus.next_shard_id TO 1480000;
CREATE TABLE ref (a int PRIMARY KEY);
SELECT create_reference_table('ref');
INSERT INTO ref SELECT generate_series(0, 9);
CREATE ROLE split_reader;
CREATE ROLE split_owner LOGIN;
GRANT USAGE, CREATE ON SCHEMA split TO split_owner;
CREATE TABLE p (gone int, id int, b text DEFAULT 'none', g int GENERATED ALWAYS AS (id * 2) STORED, also int, PRIMARY KEY (id));
CREATE INDEX p_b ON p (lower(b)) WHERE id > 5;
ALTER TABLE p DROP gone;
SELECT create_distributed_table('p', 'id', shard_count := 2, colocate_with := 'none');
ALTER TABLE p DROP also;
CREATE TABLE c (id int REFERENCES p ON DELETE CASCADE, n int REFERENCES ref, serial bigserial, CHECK (n < 100));
SELECT create_distributed_table('c', 'id', colocate_with := 'p');
GRANT SELECT ON c TO split_reader;
CREATE TABLE parts (id int, n int) PARTITION BY RANGE (n);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (5);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (5) TO (MAXVALUE);
CREATE INDEX ON parts (n);
SELECT create_distributed_table('parts', 'id', colocate_with := 'p');
CREATE POLICY mine ON parts USING (n <> 3);
INSERT INTO p SELECT i, 'x' || i FROM generate_series(1, 1000) i;
INSERT INTO c SELECT i, i % 9 + 1 FROM generate_series(1, 1000) i;
INSERT INTO parts SELECT NULLIF(i, 1000), i % 9 + 1 FROM generate_series(1, 1000) i;

SELECT nodeid AS n0 FROM pg_dist_node WHERE groupid = 0 \gset
SELECT nodeid AS n1 FROM pg_dist_node WHERE groupid = 1 \gset
SELECT nodeid AS n2 FROM pg_dist_node WHERE groupid = 2 \gset
CREATE VIEW shards AS SELECT logicalrelid, shardid, shardminvalue, shardmaxvalue, groupid
	FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
	WHERE logicalrelid IN ('p'::regclass, 'c', 'parts', 'parts_low', 'parts_high', 'ref') ORDER BY logicalrelid::text, shardminvalue::int, groupid;
CREATE VIEW sums AS SELECT (SELECT count(*) || ' ' || sum(id) || ' ' || sum(g) FROM p) AS p, (SELECT count(*) || ' ' || sum(n) || ' ' || count(DISTINCT serial) FROM c) AS c,
	(SELECT count(*) || ' ' || sum(id) || ' ' || sum(n) FROM parts) AS parts, (SELECT count(*) FROM p JOIN c USING (id) JOIN parts USING (id)) AS joined;
-- Rows that are where nobody looks for them, and where columns say something else.
CREATE FUNCTION lost(t text) RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(result::int) FROM run_command_on_shards(t, format('SELECT count(*) FROM ONLY %%s WHERE get_shard_id_for_distribution_column(%L, id) <> (regexp_match(''%%s'', ''\d+$''))[1]::bigint', t)) $$;
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$ DECLARE line text; BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line !~ 'Node:' THEN RETURN NEXT line; END IF;
	END LOOP;
END $$;
CREATE VIEW losts AS SELECT split.lost('split.p') AS p, split.lost('split.c') AS c, split.lost('split.parts_low') AS low, split.lost('split.parts_high') AS high;
TABLE sums;
PREPARE one(int) AS SELECT p.b, c.n FROM p JOIN c USING (id) WHERE id = $1;
PREPARE put(int, int) AS INSERT INTO parts VALUES ($1, $2);
EXECUTE one(7); EXECUTE one(7); EXECUTE one(7); EXECUTE one(7); EXECUTE one(7); EXECUTE one(7);

-- In two, online; in three, one of them on the coordinator, blocking, after changes of the transaction's own.
SELECT citus_split_shard_by_split_points(1480001, ARRAY['-1073741824'], ARRAY[:n1, :n2], 'force_logical');
TABLE shards;
TABLE sums;
TABLE losts;
EXECUTE one(7);
BEGIN;
DELETE FROM p WHERE id <= 10;
SELECT citus_split_shard_by_split_points(1480002, ARRAY['1000', '2000000000'], ARRAY[:n2, :n0, :n1]);
TABLE sums;
TABLE losts;
EXECUTE one(70);
ROLLBACK;
TABLE sums;
TABLE losts;
SELECT citus_split_shard_by_split_points(1480002, ARRAY['1000', '2000000000'], ARRAY[:n2, :n0, :n1], 'block_writes');
TABLE sums;
TABLE losts;
EXECUTE one(7);
EXECUTE put(7, 1);
EXECUTE put(NULL, 9);
SELECT count(*) FROM parts WHERE id IS NULL;
-- From the coordinator, in both ways.
SELECT shardid AS here FROM shards WHERE logicalrelid = 'p'::regclass AND groupid = 0 \gset
SELECT citus_split_shard_by_split_points(:here, ARRAY['500000000', '500000001', '1000000000'], ARRAY[:n0, :n1, :n2, :n0], 'block_writes');
SELECT shardid AS here FROM shards WHERE logicalrelid = 'c'::regclass AND groupid = 0 ORDER BY shardid DESC LIMIT 1 \gset
SELECT citus_split_shard_by_split_points(:here, ARRAY['1500000000'], ARRAY[:n1, :n0], 'auto');
TABLE shards;
TABLE sums;
TABLE losts;
SELECT count(*) FROM parts WHERE id IS NULL;

-- What comes along.
INSERT INTO c VALUES (5000, 1);
INSERT INTO c VALUES (7, 77);
INSERT INTO c VALUES (7, 177);
INSERT INTO p (id) VALUES (7);
SELECT result, count(*) FROM run_command_on_placements('p', $$SELECT count(*) FROM pg_index WHERE indrelid = '%s'::regclass$$) GROUP BY 1;
SELECT result, count(*) FROM run_command_on_placements('c', $$SELECT count(*) FROM pg_constraint WHERE conrelid = '%s'::regclass AND convalidated$$) GROUP BY 1;
SELECT result, count(*) FROM run_command_on_placements('parts', $$SELECT count(*) FROM pg_inherits WHERE inhparent = '%s'::regclass$$) GROUP BY 1;
SELECT result, count(*) FROM run_command_on_placements('parts', $$SELECT count(*) FROM pg_policy WHERE polrelid = '%s'::regclass$$) GROUP BY 1;
SELECT result, count(*) FROM run_command_on_placements('c', $$SELECT has_table_privilege('split_reader', '%s', 'SELECT')$$) GROUP BY 1;
DELETE FROM p WHERE id = 8;
SELECT count(*) FROM c WHERE id = 8;
ALTER TABLE c ADD late int DEFAULT 4;
CREATE INDEX ON c (late);
SELECT count(late) FROM c;
CREATE TABLE joins (id int, v int);
INSERT INTO joins SELECT i, i FROM generate_series(1, 100) i;
SELECT create_distributed_table('joins', 'id', colocate_with := 'p');
SELECT count(*) FROM joins JOIN c USING (id);
INSERT INTO joins SELECT id, n FROM c WHERE id > 900;
SELECT count(*) FROM joins;
CREATE TABLE parts_more PARTITION OF parts DEFAULT;
DROP TABLE joins;
SELECT success, result FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_class WHERE relnamespace = 'split'::regnamespace AND relname ~ '_148000[1-9]$' AND relkind = 'r'$$);

-- A tenant of its own, of two columns' types; pruning finds it.
SELECT isolate_tenant_to_new_shard('p', 17, 'CASCADE') AS tenant \gset
SELECT shardminvalue = shardmaxvalue AS alone, shardid = get_shard_id_for_distribution_column('p', 17) AS found FROM pg_dist_shard WHERE shardid = :tenant;
SELECT * FROM explained('SELECT * FROM p WHERE id = 17');
SELECT * FROM explained('SELECT * FROM p WHERE id IN (17, 18)');
SELECT isolate_tenant_to_new_shard('c', '18'::text, 'cascade', 'block_writes') AS tenant \gset
SELECT shardminvalue = shardmaxvalue AS alone, shardid = get_shard_id_for_distribution_column('c', 18) AS found FROM pg_dist_shard WHERE shardid = :tenant;
TABLE sums;
TABLE losts;
CREATE TABLE names (name varchar(20), v int);
SELECT create_distributed_table('names', 'name', shard_count := 1, colocate_with := 'none');
INSERT INTO names SELECT 'n' || i, i FROM generate_series(1, 50) i;
INSERT INTO names VALUES (NULL, 51);
SELECT isolate_tenant_to_new_shard('names', 'n7') > 0 AS done;
SELECT count(*), sum(v), count(name) FROM names;
SELECT v FROM names WHERE name = 'n7';
SELECT v FROM names WHERE name IS NULL;

-- What is refused.
\set VERBOSITY default
SELECT max(shardid) AS last FROM shards WHERE logicalrelid = 'p'::regclass AND shardmaxvalue = '2147483647' \gset
SELECT count(*) AS shards_before FROM pg_dist_shard \gset
SELECT citus_split_shard_by_split_points(1, ARRAY['1'], ARRAY[:n1, :n2]);
SELECT citus_split_shard_by_split_points(1480000, ARRAY['1'], ARRAY[:n1, :n2]);
SELECT citus_split_shard_by_split_points(:last, ARRAY['2147483647'], ARRAY[:n1, :n2]);
SELECT citus_split_shard_by_split_points(:last, ARRAY['7'], ARRAY[:n1, :n2]);
SELECT citus_split_shard_by_split_points(:last, ARRAY['2147483000', '2147483000'], ARRAY[:n1, :n2, :n1]);
SELECT citus_split_shard_by_split_points(:last, ARRAY['2147483001', '2147483000'], ARRAY[:n1, :n2, :n1]);
SELECT citus_split_shard_by_split_points(:last, ARRAY['twenty'], ARRAY[:n1, :n2]);
SELECT citus_split_shard_by_split_points(:last, ARRAY['99999999999'], ARRAY[:n1, :n2]);
SELECT citus_split_shard_by_split_points(:last, ARRAY[NULL]::text[], ARRAY[:n1, :n2]);
SELECT citus_split_shard_by_split_points(:last, ARRAY[['2147483000']], ARRAY[:n1, :n2]);
SELECT citus_split_shard_by_split_points(:last, '{}', ARRAY[:n1]);
SELECT citus_split_shard_by_split_points(:last, ARRAY['2147483000'], ARRAY[:n1]);
SELECT citus_split_shard_by_split_points(:last, ARRAY['2147483000'], ARRAY[:n1, 777777]);
SELECT citus_split_shard_by_split_points(:last, ARRAY['2147483000'], ARRAY[:n1, NULL]);
SELECT citus_split_shard_by_split_points(:tenant, ARRAY['1'], ARRAY[:n1, :n2]);
BEGIN;
INSERT INTO ref VALUES (77);
SELECT citus_split_shard_by_split_points(:last, ARRAY['2147483000'], ARRAY[:n1, :n2], 'force_logical');
ROLLBACK;
SELECT isolate_tenant_to_new_shard('p', 20);
SELECT isolate_tenant_to_new_shard('p', 20, 'sometimes');
SELECT isolate_tenant_to_new_shard('p', 'twenty', 'CASCADE');
SELECT isolate_tenant_to_new_shard('p', NULL, 'CASCADE');
SELECT isolate_tenant_to_new_shard('p', 17, 'CASCADE');
SELECT isolate_tenant_to_new_shard('ref', 1);
CREATE TABLE plain (a int);
SELECT isolate_tenant_to_new_shard('plain', 1);
SELECT create_distributed_table('plain', NULL, colocate_with := 'none');
SELECT citus_split_shard_by_split_points(shardid, ARRAY['1'], ARRAY[:n1, :n2]) FROM pg_dist_shard WHERE logicalrelid = 'plain'::regclass;
CREATE TABLE ranges (a int);
SELECT create_distributed_table('ranges', 'a', 'append');
SELECT isolate_tenant_to_new_shard('ranges', 1);
CREATE TABLE copies (a int);
SET citus.shard_replication_factor TO 2;
SELECT create_distributed_table('copies', 'a', colocate_with := 'none', shard_count := 1);
RESET citus.shard_replication_factor;
SELECT isolate_tenant_to_new_shard('copies', 1) > 0 AS done;
SET ROLE split_owner;
SELECT citus_split_shard_by_split_points(:last, ARRAY['2147483000'], ARRAY[:n1, :n2]);
SELECT isolate_tenant_to_new_shard('split.p', 20, 'CASCADE');
-- His own he can split.
CREATE TABLE split.own (a int);
SELECT create_distributed_table('split.own', 'a', shard_count := 1, colocate_with := 'none');
INSERT INTO split.own SELECT generate_series(1, 30);
SELECT isolate_tenant_to_new_shard('split.own', 3, shard_transfer_mode := 'force_logical') > 0 AS done;
SELECT count(*), sum(a) FROM split.own;
RESET ROLE;
SELECT DISTINCT result FROM run_command_on_placements('split.own', $$SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = '%s'::regclass$$);
TABLE sums;
SELECT success, result FROM run_command_on_all_nodes('SELECT count(*) FROM pando.move_part');
SELECT count(*) FROM pg_dist_cleanup;
SELECT shard_count FROM public.citus_tables WHERE table_name = 'p'::regclass;
\set VERBOSITY terse
DROP SCHEMA split CASCADE;
DROP ROLE split_reader;
DROP ROLE split_owner;
SELECT success, result FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_class WHERE relname ~ '_148\d{4}$'$$);
