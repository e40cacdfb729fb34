-- Tables twice, distributed in schema dist and plain in schema plain, with the same rows,
-- and compare(), which runs statements on both and shows only what differs. Most tables
-- have lost columns: the first, in the middle, the last; before they were distributed, so that
-- shards number their columns otherwise than the shell, and after.
SET client_min_messages = warning;
CREATE SCHEMA dist;
CREATE SCHEMA plain;

CREATE FUNCTION make_tables() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE a (gone int, k int NOT NULL, id int NOT NULL, x int, gone2 text, y text, v numeric(10,2), ts timestamptz, PRIMARY KEY (k, id));
	CREATE TABLE b (k int NOT NULL, id int NOT NULL, gone int, x int, y text, f float8, gone2 point, j jsonb, arr int[], PRIMARY KEY (k, id));
	CREATE TABLE c (gone text, k int, ak int, x int);
	CREATE TABLE d (gone2 jsonb, t text, x int, gone int, big bigint, flag boolean);
	CREATE TABLE e (k bigint, x int, name varchar(20), gone int);
	CREATE TABLE r (gone2 text, id int PRIMARY KEY, gone int, x int, name text);
	CREATE TABLE r2 (id int PRIMARY KEY, gone2 timestamptz, rid int, name text);
	CREATE TABLE s1 (gone text, id int, gone2 int, x int);
	CREATE TABLE s2 (id int, x int);
	CREATE TABLE loc (gone2 text, id int, gone int, x int, name text);
	CREATE TABLE tree (k int, gone int, id int, parent int, PRIMARY KEY (k, id));
	ALTER TABLE a DROP gone;
	ALTER TABLE b DROP gone;
	ALTER TABLE c DROP gone;
	ALTER TABLE d DROP gone;
	ALTER TABLE e DROP gone;
	ALTER TABLE r DROP gone;
	ALTER TABLE s1 DROP gone;
	ALTER TABLE loc DROP gone;
	ALTER TABLE tree DROP gone;
END $$;

CREATE FUNCTION drop_columns() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE a DROP gone2;
	ALTER TABLE b DROP gone2;
	ALTER TABLE d DROP gone2;
	ALTER TABLE r DROP gone2;
	ALTER TABLE r2 DROP gone2;
	ALTER TABLE s1 DROP gone2;
	ALTER TABLE loc DROP gone2;
END $$;

-- Rows that were written with a column which is gone.
CREATE FUNCTION drop_last_columns() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE a DROP gone3;
	ALTER TABLE c DROP gone3;
	ALTER TABLE e DROP gone3;
	ALTER TABLE r2 DROP gone3;
	ALTER TABLE loc DROP gone3;
END $$;

CREATE FUNCTION add_last_columns() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE a ADD gone3 int DEFAULT 3;
	ALTER TABLE c ADD gone3 text DEFAULT 'gone';
	ALTER TABLE e ADD gone3 int DEFAULT 3;
	ALTER TABLE r2 ADD gone3 int DEFAULT 3;
	ALTER TABLE loc ADD gone3 int DEFAULT 3;
END $$;

CREATE FUNCTION fill_tables() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO a SELECT i % 13, i, CASE WHEN i % 11 = 0 THEN NULL ELSE i % 7 END, CASE WHEN i % 9 = 0 THEN NULL ELSE 'y' || i % 5 END, CASE WHEN i % 8 = 0 THEN NULL ELSE (i * 37 % 100) / 4.0 END, timestamptz '2024-01-01 00:00+00' + i * interval '7 min' FROM generate_series(1, 150) i;
	INSERT INTO b SELECT i % 17, i, CASE WHEN i % 6 = 0 THEN NULL ELSE i % 8 END, CASE WHEN i % 10 = 0 THEN NULL ELSE 'y' || i % 7 END, CASE WHEN i % 7 = 0 THEN NULL ELSE i / 4.0 END, jsonb_build_object('n', i % 4, 'w', 'w' || i % 3), ARRAY[i % 3, i % 5, NULL] FROM generate_series(1, 120) i;
	INSERT INTO c SELECT CASE WHEN i % 8 > 0 THEN i % 20 END, i % 5, NULLIF(i % 4, 3) FROM generate_series(1, 60) i;
	INSERT INTO d SELECT NULLIF('y' || i % 9, 'y8'), NULLIF(i % 5, 2), i * 1000000000::bigint, CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END FROM generate_series(1, 70) i;
	INSERT INTO e SELECT CASE WHEN i % 7 > 0 THEN i % 15 END, NULLIF(i % 6, 5), 'n' || i % 4 FROM generate_series(1, 80) i;
	INSERT INTO r SELECT i, NULLIF(i % 4, 3), CASE WHEN i % 5 = 0 THEN NULL ELSE 'y' || i END FROM generate_series(0, 11) i;
	INSERT INTO r2 SELECT i, NULLIF(i % 5, 4), 'r' || i % 3 FROM generate_series(0, 8) i;
	INSERT INTO s1 SELECT i % 5, i FROM generate_series(1, 20) i;
	INSERT INTO s2 SELECT i % 4, NULLIF(i, 7) FROM generate_series(1, 12) i;
	INSERT INTO loc SELECT i, NULLIF(i % 4, 2), CASE WHEN i % 4 = 1 THEN NULL ELSE 'y' || i % 6 END FROM generate_series(1, 15) i;
	INSERT INTO tree SELECT t, i, CASE WHEN i > 1 THEN i / 2 END FROM generate_series(1, 4) t, generate_series(1, 10) i;
END $$;

SET search_path = plain, public;
SELECT make_tables();
SELECT drop_columns();
SELECT add_last_columns();
SELECT fill_tables();
SELECT drop_last_columns();
SET search_path = dist, public;
SELECT make_tables();
SET citus.shard_count = 6;
SELECT create_distributed_table('a', 'k');
SELECT create_distributed_table('b', 'k', colocate_with => 'a');
SELECT create_distributed_table('c', 'k', colocate_with => 'a');
SELECT create_distributed_table('tree', 'k', colocate_with => 'a');
SELECT create_distributed_table('d', 't');
SELECT create_distributed_table('e', 'k');
SELECT create_reference_table('r');
SELECT create_reference_table('r2');
SELECT create_distributed_table('s1', NULL, colocate_with => 'none');
SELECT create_distributed_table('s2', NULL, colocate_with => 's1');
SELECT drop_columns();
SELECT add_last_columns();
SELECT fill_tables();
SELECT drop_last_columns();

-- A user's own aggregate, with all that two phases need.
CREATE FUNCTION public.product_step(numeric, numeric) RETURNS numeric
	LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 * $2';
CREATE AGGREGATE public.product(numeric) (SFUNC = public.product_step, STYPE = numeric,
	COMBINEFUNC = public.product_step);
-- And one that lacks a combine function.
CREATE AGGREGATE public.product_here(numeric) (SFUNC = public.product_step, STYPE = numeric);

-- The rows of a statement as text, sorted unless it has the comment /* ordered */; its
-- error instead, if it fails.
CREATE FUNCTION public.rows_of(statement text, path text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	found record;
	result text[] := '{}';
BEGIN
	PERFORM set_config('search_path', path || ', public', true);
	FOR found IN EXECUTE statement LOOP
		result := result || found::text;
	END LOOP;
	IF statement !~ '/\* ordered \*/' THEN
		SELECT array_agg(line ORDER BY line COLLATE "C") INTO result FROM unnest(result) line;
	END IF;
	RETURN coalesce(result, '{}');
EXCEPTION WHEN division_by_zero OR cardinality_violation THEN
	RETURN ARRAY['error: ' || SQLERRM];
WHEN OTHERS THEN
	RETURN ARRAY['error: ' || SQLERRM, path];
END $$;

-- Statements are separated by a semicolon at the end of a line.
CREATE FUNCTION public.compare(statements text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	statement text;
	here text[];
	there text[];
	total int := 0;
	different int := 0;
BEGIN
	FOREACH statement IN ARRAY regexp_split_to_array(statements, ';\s*\n') LOOP
		CONTINUE WHEN statement !~ '\S';
		total := total + 1;
		here := public.rows_of(statement, 'plain');
		there := public.rows_of(statement, 'dist');
		IF here IS DISTINCT FROM there THEN
			different := different + 1;
			RETURN NEXT 'differs: ' || btrim(statement, E' \n\t');
			RETURN NEXT '  only plain: ' || (SELECT coalesce(string_agg(line, ' ' ORDER BY line), 'another order') FROM (SELECT unnest(here) EXCEPT ALL SELECT unnest(there) LIMIT 5) l(line));
			RETURN NEXT '  only dist: ' || (SELECT coalesce(string_agg(line, ' ' ORDER BY line), 'another order') FROM (SELECT unnest(there) EXCEPT ALL SELECT unnest(here) LIMIT 5) l(line));
		END IF;
	END LOOP;
	RETURN NEXT format('%s statements, %s differ', total, different);
END $$;

SELECT public.compare($$
SELECT * FROM a;
SELECT * FROM b;
SELECT * FROM c;
SELECT * FROM d;
SELECT * FROM e;
SELECT * FROM r;
SELECT * FROM s1;
SELECT * FROM tree;
$$);
