-- Statements for one row of this node that come again with other constants: PostgreSQL's plan for them is kept, and
-- does what a new one would.
\set SHOW_CONTEXT never
SET client_min_messages TO warning;
SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true) FROM pg_dist_node WHERE groupid = 0;
CREATE SCHEMA local_again;
SET search_path TO local_again;
SET citus.next_shard_id TO 7710000;
-- Found by a key of two columns, so that one shard has many rows.
CREATE TABLE t (tenant int, id int, v int CHECK (v < 1000), s varchar(8) DEFAULT 'x', g int GENERATED ALWAYS AS (v * 2) STORED,
	PRIMARY KEY (tenant, id));
SELECT create_distributed_table('t', 'tenant', shard_count => 3, colocate_with => 'none');
-- One tenant of this node.
SELECT tenant AS here, tenant + 100 AS there FROM generate_series(1, 50) tenant, pg_dist_placement
	WHERE groupid = 0 AND shardid = get_shard_id_for_distribution_column('t', tenant) ORDER BY 1 LIMIT 1 \gset
\o /dev/null
SELECT set_config('again.here', :'here', false);
\o
INSERT INTO t SELECT :here, i, i * 10, 'a' || i FROM generate_series(1, 30) i;
-- What is kept of such statements in this session: a plan for all shards, and one for each that is here.
CREATE VIEW kept AS SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'pando plan';
-- The statement with the tenant for @ and 1, 2, 3 ... for #: what each returned.
CREATE FUNCTION each(statement text, n int DEFAULT 8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text; one text;
BEGIN
	FOR i IN 1 .. n LOOP
		BEGIN
			one := NULL;
			EXECUTE replace(replace(statement, '@', current_setting('again.here')), '#', i::text) INTO one;
		EXCEPTION WHEN OTHERS THEN
			one := sqlerrm;
		END;
		result := concat_ws(' | ', result, coalesce(one, '-'));
	END LOOP;
	RETURN result;
END $$;

TABLE kept \gset before_
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = #');
TABLE kept \gset after_
SELECT :after_count - :before_count AS kept;
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = # AND v > 40');
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = # AND v > # * 10 - 1 AND s = ''a#''');
SELECT each('SELECT v, s, # AS n FROM t WHERE tenant = @ AND id = # ORDER BY id LIMIT 2');
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = # FOR UPDATE');
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = # AND id = 5');
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = # AND # = 5');
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = # AND # / (# - 3) > 0');
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = NULL');
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = #00000000000');
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = #.0');
SELECT each('SELECT id FROM t WHERE tenant = @ AND id = #');

-- A plan for more than one row may depend on the constants: it is made anew.
TABLE kept \gset before_
SELECT each('SELECT count(*) FROM t WHERE tenant = @ AND id > #');
SELECT each('SELECT v FROM t WHERE tenant = @ AND v = #0');
TABLE kept \gset after_
SELECT :after_count - :before_count AS kept;
-- So is one that shall not be kept, and one that returns what a shard's table can't tell.
SET plan_cache_mode TO force_custom_plan;
SELECT each('SELECT s FROM t WHERE tenant = @ AND id = #');
RESET plan_cache_mode;
SELECT each('SELECT tableoid::regclass FROM t WHERE tenant = @ AND id = #', 3);
TABLE kept \gset before_
SELECT :after_count - :before_count AS kept;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT s FROM t WHERE tenant = :here AND id = 3;
FETCH c;
FETCH BACKWARD c;
FETCH PRIOR c;
ROLLBACK;

SELECT each('UPDATE t SET v = v + #, s = ''b#'' WHERE tenant = @ AND id = # RETURNING format(''%s %s %s'', v, s, g)');
SELECT each('UPDATE t SET v = #00 WHERE tenant = @ AND id = 1 RETURNING v', 11);
SELECT each('UPDATE t SET s = repeat(''#'', # * 2) WHERE tenant = @ AND id = 1 RETURNING s');
SELECT each('UPDATE t SET tenant = @ WHERE tenant = @ AND id = # RETURNING v');
SELECT each('INSERT INTO t (tenant, id, v) VALUES (@, 10#, #) RETURNING format(''%s %s %s'', v, s, g)');
SELECT each('INSERT INTO t (tenant, id, v) VALUES (@, 10#, #) RETURNING v', 3);
SELECT each('INSERT INTO t (tenant, id, v) VALUES (@, 10#, #) ON CONFLICT (tenant, id) DO UPDATE SET v = t.v + excluded.v RETURNING v');
SELECT each('INSERT INTO t (tenant, id, v) VALUES (@, 10#, #) ON CONFLICT DO NOTHING RETURNING v', 3);
SELECT each('INSERT INTO t (tenant, id, v, s) VALUES (@, 11#, #000 / 4, upper(''q'') || #) RETURNING format(''%s %s'', v, s)');
SELECT each('INSERT INTO t (tenant, id, v, s) VALUES (@, NULL, #, NULL)', 3);
SELECT each('DELETE FROM t WHERE tenant = @ AND id = 10# AND v < 12 RETURNING v');
SELECT count(*), sum(v), sum(g), max(s) FROM t;

-- A block that is rolled back in part, and plans that PostgreSQL keeps itself.
BEGIN;
SELECT each('UPDATE t SET v = v + 1 WHERE tenant = @ AND id = 2 RETURNING v');
SAVEPOINT s;
SELECT each('UPDATE t SET v = v + 1 WHERE tenant = @ AND id = 2 RETURNING v');
ROLLBACK TO s;
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = 2', 3);
COMMIT;
PREPARE fixed AS SELECT v FROM t WHERE tenant = :here AND id = 2;
EXECUTE fixed;
UPDATE t SET v = v + 1 WHERE tenant = :here AND id = 2;
EXECUTE fixed;
PREPARE half(int) AS UPDATE t SET v = $1 WHERE tenant = :here AND id = 2 RETURNING v;
EXECUTE half(7);
EXECUTE half(8);

-- What is kept follows the table.
ALTER TABLE t RENAME COLUMN v TO w;
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = #', 2);
SELECT each('SELECT w FROM t WHERE tenant = @ AND id = #', 2);
ALTER TABLE t RENAME COLUMN w TO v;
ALTER TABLE t DROP CONSTRAINT t_pkey;
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = #', 3);
ALTER TABLE t ADD PRIMARY KEY (id, tenant);
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = #', 3);
ALTER TABLE t DROP COLUMN s;
SELECT each('SELECT t.* FROM t WHERE tenant = @ AND id = #', 3);
ALTER TABLE t ADD COLUMN s text DEFAULT 'new', ALTER COLUMN id TYPE bigint;
SELECT each('SELECT s FROM t WHERE tenant = @ AND id = #', 3);
CREATE FUNCTION times(i int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT i * 2';
SELECT each('INSERT INTO t (tenant, id, v) VALUES (@, 20#, times(#)) RETURNING v', 3);
CREATE OR REPLACE FUNCTION times(i int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT i * 3';
SELECT each('INSERT INTO t (tenant, id, v) VALUES (@, 30#, times(#)) RETURNING v', 3);
-- The names in its body are looked up when it becomes a part of the plan.
CREATE SCHEMA local_again2;
CREATE FUNCTION factor() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 2';
CREATE FUNCTION local_again2.factor() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 10';
CREATE OR REPLACE FUNCTION times(i int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT i * factor()';
SELECT each('INSERT INTO local_again.t (tenant, id, v) VALUES (@, 40#, local_again.times(#)) RETURNING v', 3);
SET search_path TO local_again2, local_again;
SELECT each('INSERT INTO local_again.t (tenant, id, v) VALUES (@, 50#, local_again.times(#)) RETURNING v', 3);
SET search_path TO local_again;

-- Rights and policies.
CREATE ROLE local_again_user;
GRANT USAGE ON SCHEMA local_again TO local_again_user;
GRANT SELECT (tenant, id, v) ON t TO local_again_user;
SET ROLE local_again_user;
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = #', 3);
SELECT each('SELECT s FROM t WHERE tenant = @ AND id = #', 3);
SELECT each('UPDATE t SET v = v + # WHERE tenant = @ AND id = # RETURNING v', 3);
RESET ROLE;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY small ON t FOR SELECT TO local_again_user USING (v < 100);
SET ROLE local_again_user;
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = #', 3);
RESET ROLE;
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = #', 3);

-- A shard that goes away takes its plans along.
CREATE TABLE before AS SELECT each('SELECT v FROM t WHERE tenant = @ AND id = #');
SELECT nodename AS host0, nodeport AS port0 FROM pg_dist_node WHERE groupid = 0 \gset
SELECT nodename AS host1, nodeport AS port1 FROM pg_dist_node WHERE groupid = 1 \gset
CALL citus_cleanup_orphaned_resources();
SELECT citus_move_shard_placement(get_shard_id_for_distribution_column('t', :here), :'host0', :port0, :'host1', :port1, 'block_writes');
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = #') = (TABLE before);
SELECT each('UPDATE t SET v = v + # WHERE tenant = @ AND id = # RETURNING v') = (TABLE before);
SELECT citus_move_shard_placement(get_shard_id_for_distribution_column('t', :here), :'host1', :port1, :'host0', :port0, 'block_writes');
SELECT each('UPDATE t SET v = v - # WHERE tenant = @ AND id = # RETURNING v') = (TABLE before);
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = #') = (TABLE before);
TRUNCATE t;
SELECT each('SELECT v FROM t WHERE tenant = @ AND id = #', 3);
DROP TABLE before;

SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false) FROM pg_dist_node WHERE groupid = 0;
DROP OWNED BY local_again_user;
DROP ROLE local_again_user;
DROP SCHEMA local_again, local_again2 CASCADE;
