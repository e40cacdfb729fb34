-- Statements that come again with other values: what is kept of them, and when it goes.
CREATE SCHEMA again;
SET search_path TO again;
SET citus.next_shard_id TO 7600000;
CREATE TABLE t (k int PRIMARY KEY, v int, s text DEFAULT 'x', c varchar(5));
SELECT create_distributed_table('t', 'k', shard_count => 4, colocate_with => 'none');
INSERT INTO t SELECT i, i * 10, 'a' || i, 'c' FROM generate_series(1, 20) i;

-- The text that goes to a node has constants at first, parameters from then on.
SET citus.log_remote_commands TO on;
\set VERBOSITY terse
SELECT v FROM t WHERE k = 1;
SELECT v FROM t WHERE k = 2;
SELECT v FROM t WHERE k = 3;
SELECT v FROM t WHERE k = 4 AND s = 'a4';
SELECT v FROM t WHERE k = 5 AND s = 'a5';
SELECT v FROM t WHERE k = 5 AND s = 'a4';
UPDATE t SET v = v + 1 WHERE k = 1 RETURNING v;
UPDATE t SET v = v + 2 WHERE k = 1 RETURNING v;
UPDATE t SET v = v + 3 WHERE k = 6 RETURNING v;
INSERT INTO t (k, v, c) VALUES (101, 5, 'abcde');
INSERT INTO t (k, v, c) VALUES (102, 6, 'abc');
INSERT INTO t (k, v, c) VALUES (103, NULL, 'abc');
INSERT INTO t (k, v, c) VALUES (104, 6, 'too long');
DELETE FROM t WHERE k = 101;
DELETE FROM t WHERE k = 102;
RESET citus.log_remote_commands;
\set VERBOSITY default

-- Equal constants that make a join one for a single shard group, and others that don't.
SELECT a.v, b.s FROM t a JOIN t b ON a.v > b.v - 1 WHERE a.k = 7 AND b.k = 7;
SELECT a.v, b.s FROM t a JOIN t b ON a.v > b.v - 1 WHERE a.k = 8 AND b.k = 8;
SELECT a.v, b.s FROM t a JOIN t b ON a.v > b.v - 1 WHERE a.k = 9 AND b.k = 9;
SELECT a.v, b.s FROM t a JOIN t b ON a.v > b.v - 1 WHERE a.k = 9 AND b.k = 8;
SELECT a.v, b.s FROM t a JOIN t b ON a.v > b.v - 1 WHERE a.k = 9 AND b.k = 7;

-- The key in other types, out of range, and NULL.
SELECT v FROM t WHERE k = 7::bigint;
SELECT v FROM t WHERE k = 8::bigint;
SELECT v FROM t WHERE k = 60000000000;
SELECT v FROM t WHERE k = 70000000000;
SELECT v FROM t WHERE k = NULL;

-- Constants where their value is part of the statement.
SELECT count(*), v > 50 AS large FROM t WHERE k = 7 GROUP BY v > 50;
SELECT count(*), v > 100 AS large FROM t WHERE k = 7 GROUP BY v > 100;
SELECT count(*), v > 100 AS large FROM t WHERE k = 8 GROUP BY v > 100;
SELECT v FROM t WHERE k = 7 ORDER BY 1 LIMIT 1;
SELECT v FROM t WHERE k = 7 ORDER BY 1 LIMIT 0;
SELECT v, 1 AS one FROM t WHERE k = 7;
SELECT v, 2 AS one FROM t WHERE k = 8;
UPDATE t SET k = 7 WHERE k = 7;
UPDATE t SET k = 8 WHERE k = 8;
UPDATE t SET k = 900 WHERE k = 8;
UPDATE t SET k = 8 WHERE k = 900;

-- It follows what is done to the table.
ALTER TABLE t RENAME COLUMN v TO w;
SELECT w FROM t WHERE k = 1;
SELECT v FROM t WHERE k = 1;
ALTER TABLE t RENAME COLUMN w TO v;
ALTER TABLE t DROP COLUMN c;
SELECT * FROM t WHERE k = 1;
SELECT * FROM t WHERE k = 2;
ALTER TABLE t ADD COLUMN d int DEFAULT 7;
SELECT * FROM t WHERE k = 1;
SELECT * FROM t WHERE k = 2;
ALTER TABLE t ALTER COLUMN v TYPE bigint;
SELECT v FROM t WHERE k = 1;
SELECT v FROM t WHERE k = 2;
ALTER TABLE t RENAME TO u;
SELECT v FROM u WHERE k = 1;
SELECT v FROM t WHERE k = 2;
CREATE TABLE t (k int, v text);
SELECT create_distributed_table('t', 'k', shard_count => 4, colocate_with => 'none');
INSERT INTO t VALUES (1, 'other');
SELECT v FROM t WHERE k = 1;
SELECT v FROM t WHERE k = 2;
CREATE SCHEMA again2;
ALTER TABLE t SET SCHEMA again2;
SET search_path TO again2;
SELECT v FROM t WHERE k = 1;
SET search_path TO again;
ALTER TABLE u RENAME TO t;
SELECT v FROM t WHERE k = 1;

-- What is computed here, above the rows that come from the node, has its own values each time.
CREATE FUNCTION here(i bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN i; END';
SELECT k FROM t WHERE k = 3 AND here(k) = 3;
SELECT k FROM t WHERE k = 3 AND here(k) = 3;
SELECT k FROM t WHERE k = 4 AND here(k) = 4;
SELECT k FROM t WHERE k = 5 AND here(k) = 4;
SELECT here(k) + 1 AS next FROM t WHERE k = 3 AND here(k) = 3;
SELECT here(k) + 1 AS next FROM t WHERE k = 4 AND here(k) = 4;

-- Roles see what they may.
CREATE ROLE again_reader;
GRANT USAGE ON SCHEMA again TO again_reader;
SET ROLE again_reader;
SELECT v FROM t WHERE k = 1;
RESET ROLE;
GRANT SELECT ON t TO again_reader;
SET ROLE again_reader;
SELECT v FROM t WHERE k = 1;
UPDATE t SET v = v + 1 WHERE k = 1;
RESET ROLE;

-- In functions, where PostgreSQL keeps plans itself.
CREATE FUNCTION add_up(n int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE total bigint := 0; one bigint;
BEGIN
	FOR i IN 1 .. n LOOP
		SELECT v INTO one FROM t WHERE k = i;
		total := total + one;
	END LOOP;
	RETURN total;
END $$;
SELECT add_up(12);
SELECT add_up(12);

SET client_min_messages TO warning;
DROP OWNED BY again_reader;
DROP ROLE again_reader;
DROP SCHEMA again CASCADE;
DROP SCHEMA again2 CASCADE;
