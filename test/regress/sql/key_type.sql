-- ALTER TABLE ... TYPE of a distribution column: as long as each value stays what it is and where it is. Tables of a composite
-- type follow it, shards as well.
CREATE SCHEMA key_type;
SET search_path TO key_type;
SET citus.next_shard_id TO 2020000;
SET citus.shard_count TO 4;
CREATE DOMAIN word AS text CHECK (VALUE <> 'bad');
CREATE TABLE a (k int PRIMARY KEY, c varchar(20));
CREATE TABLE b (k int REFERENCES a, v int);
CREATE TABLE t (k varchar(20), v int);
CREATE TABLE n (k numeric(6, 2), v int);
CREATE TABLE p (k int, at int) PARTITION BY RANGE (at);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
SELECT create_distributed_table('a', 'k', colocate_with := 'none'), create_distributed_table('b', 'k', colocate_with := 'a'),
	create_distributed_table('t', 'k', colocate_with := 'none'), create_distributed_table('n', 'k', colocate_with := 'none'),
	create_distributed_table('p', 'k', colocate_with := 'none');
INSERT INTO a SELECT i, i FROM generate_series(-20, 20) i;
INSERT INTO b SELECT i, i FROM generate_series(-20, 20) i;
INSERT INTO t SELECT i, i FROM generate_series(-20, 20) i;
INSERT INTO n SELECT i, i FROM generate_series(-20, 20) i;
INSERT INTO p SELECT i, 1 FROM generate_series(-20, 20) i;
-- Each row found by its key, and where it is found among all.
CREATE FUNCTION found(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	one bigint;
	n int := 0;
BEGIN
	FOR i IN -20 .. 20 LOOP
		EXECUTE format('SELECT count(*) FROM key_type.%I WHERE k = %L', name, i) INTO one;
		n := n + one;
	END LOOP;
	RETURN concat_ws(' ', n, (SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = name::regclass AND attname = 'k'),
		(SELECT distributioncolumntype::regtype FROM pg_dist_colocation JOIN pg_dist_partition USING (colocationid) WHERE logicalrelid = name::regclass),
		(SELECT string_agg(DISTINCT result, ',') FROM run_command_on_shards(name::regclass, 'SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = ''%s''::regclass AND attname = ''k''')),
		(SELECT string_agg(DISTINCT result, ',') FROM run_command_on_all_nodes(format('SELECT distributioncolumntype::regtype FROM pg_dist_colocation JOIN pg_dist_partition USING (colocationid) WHERE logicalrelid = ''key_type.%s''::regclass', name))));
END $$;
-- One table of a group after the other: the group has the type once all have it.
ALTER TABLE a ALTER k TYPE bigint;
SELECT found('a'), found('b');
SELECT count(*) FROM a JOIN b USING (k);
SELECT count(*) FROM a LEFT JOIN b ON b.k = a.k AND b.v > 0 WHERE a.k = 3;
\set VERBOSITY sqlstate
INSERT INTO b VALUES (100, 1);
INSERT INTO a VALUES (100, 'x');
INSERT INTO b VALUES (100, 1);
SELECT count(*) FROM a JOIN b USING (k) WHERE a.k = 100;
ALTER TABLE b ALTER k TYPE bigint, ADD w int DEFAULT 7;
SELECT found('a'), found('b');
INSERT INTO a VALUES (10000000000, 'far');
ALTER TABLE a ALTER k TYPE int;
\set VERBOSITY default
ALTER TABLE b ALTER k TYPE smallint;
SELECT found('b');
CREATE TABLE c (k bigint);
SELECT create_distributed_table('c', 'k', colocate_with := 'b');
SELECT create_distributed_table('c', 'k', colocate_with := 'a');
-- Strings and numbers.
ALTER TABLE t ALTER k TYPE varchar(30);
ALTER TABLE t ALTER k TYPE text;
ALTER TABLE t ALTER k TYPE word;
INSERT INTO t VALUES ('bad', 1);
SELECT found('t');
ALTER TABLE t ALTER k TYPE text COLLATE "C";
SELECT found('t');
ALTER TABLE n ALTER k TYPE numeric(12, 2);
ALTER TABLE n ALTER k TYPE numeric;
SELECT found('n');
ALTER TABLE p ALTER k TYPE bigint;
SELECT found('p'), found('p1');
-- USING may say what PostgreSQL does by itself.
ALTER TABLE p ALTER k TYPE int USING k::int;
SELECT found('p'), found('p1');
ALTER TABLE p ALTER k TYPE bigint USING (CAST(k AS bigint));
ALTER TABLE t ALTER k TYPE varchar USING "k";
SELECT found('p'), found('p1'), found('t');
-- What might change values, or where they belong.
ALTER TABLE t ALTER k TYPE varchar(3);
ALTER TABLE t ALTER k TYPE char(30);
ALTER TABLE t ALTER k TYPE int USING k::int;
ALTER TABLE a ALTER k TYPE bigint USING k + 1;
ALTER TABLE b ALTER k TYPE bigint USING v;
ALTER TABLE b ALTER k TYPE bigint USING nothing;
ALTER TABLE a ALTER k TYPE text;
ALTER TABLE a ALTER k TYPE nothing;
ALTER TABLE n ALTER k TYPE numeric(12, 1);
ALTER TABLE n ALTER k TYPE int;
ALTER TABLE n ALTER k TYPE date;
SELECT found('t'), found('n');

-- Tables of a composite type.
CREATE TYPE row_type AS (k int, v text);
CREATE TYPE like_a AS (k bigint, c varchar(20));
CREATE TABLE typed OF row_type (PRIMARY KEY (k));
CREATE TABLE typed_ref OF row_type;
SELECT create_distributed_table('typed', 'k', colocate_with := 'none'), create_reference_table('typed_ref');
INSERT INTO typed SELECT i, i FROM generate_series(-20, 20) i;
CREATE FUNCTION everywhere() RETURNS TABLE (columns text, n bigint) LANGUAGE sql AS $$
	SELECT result, count(*) FROM (
		SELECT result FROM run_command_on_all_nodes('SELECT reloftype::regtype || '' '' || string_agg(attname || '' '' || format_type(atttypid, atttypmod), '', '' ORDER BY attnum) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
			WHERE attrelid = ''key_type.typed''::regclass AND attnum > 0 AND NOT attisdropped GROUP BY reloftype')
		UNION ALL SELECT result FROM run_command_on_shards('key_type.typed', 'SELECT reloftype::regtype || '' '' || string_agg(attname || '' '' || format_type(atttypid, atttypmod), '', '' ORDER BY attnum) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
			WHERE attrelid = ''%s''::regclass AND attnum > 0 AND NOT attisdropped GROUP BY reloftype')) x GROUP BY 1 ORDER BY 1 $$;
SELECT * FROM everywhere();
ALTER TYPE row_type ADD ATTRIBUTE w int;
ALTER TYPE row_type ADD ATTRIBUTE w int CASCADE;
ALTER TYPE row_type ALTER ATTRIBUTE k TYPE bigint CASCADE, DROP ATTRIBUTE v CASCADE;
SELECT * FROM everywhere();
SELECT found('typed'), (SELECT count(*) FROM typed_ref);
ALTER TYPE row_type DROP ATTRIBUTE k CASCADE;
ALTER TYPE row_type ALTER ATTRIBUTE k TYPE text CASCADE;
ALTER TYPE row_type RENAME ATTRIBUTE k TO key CASCADE;
SELECT * FROM everywhere();
SELECT relation, distribution_column FROM pando.distribution WHERE relation = 'typed'::regclass;
SELECT w FROM typed WHERE key = 5;
ALTER TABLE typed ADD x int;
ALTER TABLE typed NOT OF;
ALTER TABLE typed ADD x int;
SELECT * FROM everywhere();
ALTER TABLE typed OF row_type;
ALTER TABLE typed DROP x, OF row_type;
SELECT * FROM everywhere();
SELECT alter_distributed_table('typed', shard_count := 2);
SELECT * FROM everywhere();
SELECT undistribute_table('typed');
SELECT reloftype::regtype FROM pg_class WHERE oid = 'typed'::regclass;
ALTER TABLE a OF like_a;
ALTER TABLE a INHERIT t;
SET client_min_messages TO error;
DROP SCHEMA key_type CASCADE;
