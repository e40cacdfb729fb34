-- An ordinary role on the coordinator and on a worker: the functions that nodes call on each other, those for
-- administrators and those that reach backends, against what isn't the role's. Each call is allowed (and does no harm:
-- then it touches nothing of others) or refused with that SQLSTATE.
\set VERBOSITY terse
SET client_min_messages TO warning;
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
SELECT nodeport AS coordinator FROM pg_dist_node WHERE groupid = 0 \gset
SET citus.shard_count TO 2;
CREATE ROLE doors_guest LOGIN;
CREATE ROLE doors_victim LOGIN;
CREATE SCHEMA doors AUTHORIZATION doors_victim;
GRANT ALL ON SCHEMA doors TO doors_guest;
-- What comes of a statement, which leaves nothing behind.
CREATE FUNCTION doors.attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state text;
BEGIN
	EXECUTE statement;
	RAISE SQLSTATE 'OPEN0';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE;
	RETURN CASE state WHEN 'OPEN0' THEN 'allowed' ELSE state END;
END $$;
-- A superuser's backend.
CREATE FUNCTION doors.other_pid() RETURNS int LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
	$$SELECT pid FROM pg_stat_activity WHERE backend_type LIKE 'pando%' ORDER BY backend_start DESC LIMIT 1$$;
SET SESSION AUTHORIZATION doors_victim;
CREATE TABLE doors.shared (k int, secret text);
SET citus.next_shard_id TO 1470200;
SELECT create_distributed_table('doors.shared', 'k');
INSERT INTO doors.shared VALUES (1, 'one'), (2, 'two');
CREATE TABLE doors.read (k int, secret text);
SELECT create_distributed_table('doors.read', 'k');
GRANT SELECT ON doors.read TO doors_guest;
CREATE FUNCTION doors.of_victim() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE TABLE doors.plain (k int);
CREATE SEQUENCE doors.numbers;
SET SESSION AUTHORIZATION doors_guest;
CREATE TABLE doors.mine (k int PRIMARY KEY, v int);
CREATE INDEX mine_v ON doors.mine (v);
SET citus.next_shard_id TO 1470300;
SELECT create_distributed_table('doors.mine', 'k');
INSERT INTO doors.mine VALUES (1, 1), (2, 2), (3, 3), (4, 4);
RESET SESSION AUTHORIZATION;

\getenv directory PG_ABS_SRCDIR
\set script :directory '/script/doors_nodes.sql'
\c - doors_guest - :coordinator
\set ECHO none
\i :script
\c - doors_guest - :worker
\i :script
\set ECHO all

-- Unharmed.
\c - postgres - :coordinator
SELECT rolname, rolsuper FROM pg_roles WHERE rolname LIKE 'doors%' ORDER BY 1;
SELECT * FROM doors.shared ORDER BY k;
SELECT result, count(*) FROM run_command_on_placements('doors.shared', 'SELECT relowner::regrole || '' '' ||
	relnatts FROM pg_class WHERE oid = ''%s''::regclass') GROUP BY 1;
SELECT count(*) FROM doors.mine;

-- A shell that its owner renamed without its shards, so that its shard has the name of another's table: who reads and
-- writes the shell is asked for his rights on that table.
SET client_min_messages TO warning;
SELECT citus_set_node_property('127.0.0.1', :coordinator, 'shouldhaveshards', true);
SET SESSION AUTHORIZATION doors_victim;
CREATE TABLE doors.bait_1470401 (k int PRIMARY KEY, secret text);
INSERT INTO doors.bait_1470401 VALUES (1, 'of the victim');
SET SESSION AUTHORIZATION doors_guest;
SET citus.shard_count TO 1;
SET citus.next_shard_id TO 1470401;
CREATE TABLE doors.hook (k int PRIMARY KEY, secret text);
SELECT create_distributed_table('doors.hook', 'k', colocate_with => 'none');
SELECT shardid, nodeport = :coordinator AS here FROM citus_shards WHERE table_name = 'doors.hook'::regclass;
SELECT count(*) FROM doors.hook;
SET citus.enable_ddl_propagation TO off;
ALTER TABLE doors.hook RENAME TO bait;
RESET citus.enable_ddl_propagation;
SELECT DISTINCT result FROM run_command_on_workers('ALTER TABLE doors.hook RENAME TO bait');
SELECT * FROM doors.bait;
SELECT * FROM doors.bait WHERE k = 1;
SELECT * FROM doors.bait a JOIN doors.bait b USING (k) ORDER BY a.secret LIMIT 3;
SELECT count(*) FROM doors.bait a, (SELECT max(k) FROM doors.bait) b;
SELECT k FROM doors.bait FOR UPDATE;
PREPARE again(int) AS SELECT secret FROM doors.bait WHERE k = $1;
EXECUTE again(1);
UPDATE doors.bait SET secret = 'of the guest';
UPDATE doors.bait SET secret = 'of the guest' WHERE k = 1;
UPDATE doors.bait SET secret = (SELECT max(secret) FROM doors.bait);
DELETE FROM doors.bait WHERE k = 1;
INSERT INTO doors.bait VALUES (7, 'of the guest');
INSERT INTO doors.bait SELECT i, 'of the guest' FROM generate_series(7, 8) i;
INSERT INTO doors.bait VALUES (1, 'x') ON CONFLICT (k) DO UPDATE SET secret = 'of the guest';
COPY doors.bait FROM STDIN;
7	of the guest
\.
COPY doors.bait TO STDOUT;
TRUNCATE doors.bait;
ALTER TABLE doors.bait ADD COLUMN x int;
CREATE INDEX ON doors.bait (secret);
SELECT citus_move_shard_placement(1470401, '127.0.0.1', :coordinator, '127.0.0.1', :worker, 'block_writes');
SELECT undistribute_table('doors.bait');
-- A superuser who works on it doesn't carry rows over.
RESET SESSION AUTHORIZATION;
SELECT undistribute_table('doors.bait');
SELECT citus_move_shard_placement(1470401, '127.0.0.1', :coordinator, '127.0.0.1', :worker, 'block_writes');
SET SESSION AUTHORIZATION doors_guest;
DROP TABLE doors.bait;
SET SESSION AUTHORIZATION doors_victim;
SELECT * FROM doors.bait_1470401;
RESET SESSION AUTHORIZATION;
SELECT citus_set_node_property('127.0.0.1', :coordinator, 'shouldhaveshards', false);
-- The same from worker to worker.
SELECT nodeport AS other FROM pg_dist_node WHERE groupid = 2 \gset
SET SESSION AUTHORIZATION doors_guest;
SET citus.next_shard_id TO 1470402;
CREATE TABLE doors.hook (k int PRIMARY KEY, secret text);
SELECT create_distributed_table('doors.hook', 'k', colocate_with => 'none');
RESET SESSION AUTHORIZATION;
SELECT nodeport AS source, CASE nodeport WHEN :worker THEN :other ELSE :worker END AS target FROM citus_shards WHERE shardid = 1470402 \gset
\c - postgres - :source
CREATE TABLE doors.bait_1470402 (k int PRIMARY KEY, secret text);
ALTER TABLE doors.bait_1470402 OWNER TO doors_victim;
\c - postgres - :coordinator
SET client_min_messages TO warning;
SET citus.enable_ddl_propagation TO off;
ALTER TABLE doors.hook RENAME TO bait;
RESET citus.enable_ddl_propagation;
SELECT DISTINCT result FROM run_command_on_workers('ALTER TABLE doors.hook RENAME TO bait');
\set VERBOSITY sqlstate
SELECT citus_move_shard_placement(1470402, '127.0.0.1', :source, '127.0.0.1', :target, 'block_writes');
\set VERBOSITY terse
\c - postgres - :source
DROP TABLE doors.bait_1470402;
\c - postgres - :coordinator
SET client_min_messages TO warning;
DROP SCHEMA doors CASCADE;
DROP OWNED BY doors_guest;
DROP ROLE doors_guest, doors_victim;
