-- What has a name on a node that an object of all nodes gets: it is left alone if it is the same, renamed aside with a notice if it isn't,
-- and an error where a name can't be had that way.
\set VERBOSITY terse
SET citus.shard_count TO 4;
SET citus.next_shard_id TO 1467000;
-- there(command): runs it on both workers as their own.
CREATE FUNCTION pg_temp.there(command text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT DISTINCT result FROM run_command_on_workers('SET citus.enable_ddl_propagation TO off; ' || command) $$;
CREATE FUNCTION pg_temp.see(query text) RETURNS SETOF text LANGUAGE sql AS $$ SELECT DISTINCT result FROM run_command_on_workers(query) $$;
CREATE SCHEMA way;
SET search_path = way, public;

-- The same: nothing happens.
SELECT pg_temp.there($$CREATE TYPE way.same AS ENUM ('a', 'b')$$);
CREATE TYPE same AS ENUM ('a', 'b');
SELECT pg_temp.see($$SELECT string_agg(typname, ' ' ORDER BY typname) FROM pg_type WHERE typnamespace = 'way'::regnamespace AND typname ~ 'same'$$);

-- Another one: with what is used of it there.
SELECT pg_temp.there($$CREATE TYPE way.mood AS ENUM ('sad')$$);
SELECT pg_temp.there($$CREATE TABLE way.moods (m way.mood)$$);
SELECT pg_temp.there($$INSERT INTO way.moods VALUES ('sad')$$);
CREATE TYPE mood AS ENUM ('happy', 'sad');
SELECT pg_temp.see($$SELECT concat(pg_typeof(m), ' ', m, ' ', enum_range(NULL::way.mood)) FROM way.moods$$);

-- An array type gives way by itself, as in PostgreSQL.
CREATE TYPE shape AS (a int);
CREATE TYPE _shape AS ENUM ('round');
SELECT pg_temp.see($$SELECT concat(string_agg(typname, ' ' ORDER BY typname COLLATE "C") FILTER (WHERE typcategory <> 'A'), ', arrays: ', count(*) FILTER (WHERE typcategory = 'A')) FROM pg_type WHERE typnamespace = 'way'::regnamespace AND typname ~ 'shape'$$);

-- What there is to say of an object is said once.
CREATE DOMAIN whole AS int;
CREATE FUNCTION text_of(int) RETURNS text LANGUAGE sql AS 'SELECT $1::text';
CREATE CAST (whole AS text) WITH FUNCTION text_of(int);
DROP CAST (whole AS text);
DROP FUNCTION text_of(int);

SELECT pg_temp.there($$CREATE DOMAIN way.low AS int CHECK (VALUE < 3)$$);
CREATE DOMAIN low AS int CHECK (VALUE < 4);
SELECT pg_temp.there($$CREATE TYPE way.pair AS (a int)$$);
CREATE TYPE pair AS (a int, b int);
SELECT pg_temp.there($$CREATE FUNCTION way.f(int) RETURNS int LANGUAGE sql AS 'SELECT -1'$$);
CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
SELECT pg_temp.there($$CREATE PROCEDURE way.p(int) LANGUAGE sql AS 'SELECT -1'$$);
CREATE PROCEDURE p(int) LANGUAGE sql AS 'SELECT 1';
SELECT pg_temp.there($$CREATE COLLATION way.c (LOCALE = 'C')$$);
CREATE COLLATION c (LOCALE = 'POSIX');
SELECT pg_temp.there($$CREATE TEXT SEARCH DICTIONARY way.d (TEMPLATE = simple)$$);
CREATE TEXT SEARCH DICTIONARY d (TEMPLATE = simple, STOPWORDS = english);
SELECT pg_temp.there($$CREATE VIEW way.v AS SELECT 1 AS x$$);
CREATE TABLE t (k int, m mood);
SELECT create_distributed_table('t', 'k');
CREATE VIEW v AS SELECT * FROM t;
SELECT pg_temp.see($$SELECT concat(way.f(1), ' ', (SELECT count(*) FROM way.v), ' ', (SELECT x FROM way.v_backup_1), ' ', way.f_backup_1(1))$$);

-- Changes of what all nodes have move nothing.
CREATE OR REPLACE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT 2';
CREATE OR REPLACE VIEW v AS SELECT k, m, 1 AS one FROM t;
ALTER TYPE mood ADD VALUE 'calm';
SELECT pg_temp.see($$SELECT string_agg(proname, ' ' ORDER BY proname) FROM pg_proc WHERE pronamespace = 'way'::regnamespace$$);

-- A table is nobody's to rename.
SELECT pg_temp.there($$CREATE TABLE way.row (a int)$$);
CREATE TYPE "row" AS (a int);
CREATE VIEW "row" AS SELECT 1 AS a;
SELECT to_regtype('way.row'), to_regclass('way.row');

-- An ordinary user renames what is his alone.
CREATE ROLE in_the_way;
GRANT ALL ON SCHEMA way TO in_the_way;
SELECT pg_temp.there($$CREATE TYPE way.his AS ENUM ('a')$$);
SET ROLE in_the_way;
CREATE TYPE his AS ENUM ('b');
RESET ROLE;

-- Extensions: of one version everywhere.
SELECT pg_temp.there($$CREATE EXTENSION hstore SCHEMA way VERSION '1.4'$$);
CREATE EXTENSION hstore SCHEMA way VERSION '1.5';
SELECT count(*) FROM pg_extension WHERE extname = 'hstore';
CREATE EXTENSION hstore SCHEMA way VERSION '1.4';
SELECT pg_temp.see($$SELECT extversion FROM pg_extension WHERE extname = 'hstore'$$);
SELECT count(*) FROM pg_dist_object WHERE classid = 'pg_extension'::regclass AND objid = (SELECT oid FROM pg_extension WHERE extname = 'hstore');

SET client_min_messages TO warning;
SELECT pg_temp.there('DROP TABLE way.moods, way.row');
DROP SCHEMA way CASCADE;
SELECT pg_temp.there('DROP SCHEMA IF EXISTS way CASCADE');
DROP OWNED BY in_the_way;
DROP ROLE in_the_way;
