-- A call of a distributed function that is all of its transaction runs on the node that has the rows of its
-- argument, from whichever node; in anything larger it runs where the client is. What it does is the same.
CREATE SCHEMA dist_function;
SET search_path TO dist_function;
SET citus.next_shard_id TO 1710000;
SET citus.shard_replication_factor TO 1;
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
SELECT create_distributed_table('account', 'id', shard_count := 8, colocate_with := 'none');
CREATE TABLE log (id int, note text);
SELECT create_distributed_table('log', 'id', colocate_with := 'account');
CREATE TABLE rate (name text PRIMARY KEY, value int);
SELECT create_reference_table('rate');
CREATE TABLE single (a int);
SELECT create_distributed_table('single', NULL, colocate_with := 'none');
INSERT INTO account SELECT i, 100 FROM generate_series(1, 20) i;
INSERT INTO rate VALUES ('fee', 1);

-- Is this the node that has the account's shard?
CREATE FUNCTION here(k int) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN p.groupid = l.groupid THEN 'here' ELSE 'elsewhere' END
	FROM pg_dist_placement p, pg_dist_local_group l
	WHERE p.shardid = get_shard_id_for_distribution_column('dist_function.account', k) $$;

-- Keys of which this node has no shard, so that a call has somewhere to go.
CREATE FUNCTION away(n int) RETURNS int LANGUAGE sql STABLE AS $$
	SELECT id FROM generate_series(1, 1000) id WHERE dist_function.here(id) = 'elsewhere' ORDER BY id LIMIT 1 OFFSET n $$;
SELECT away(0) AS k, away(1) AS k2, away(20) AS new_key \gset

CREATE PROCEDURE pay(k int, amount int, INOUT total int, OUT place text) LANGUAGE plpgsql AS $$
BEGIN
	UPDATE dist_function.account SET balance = balance + amount WHERE id = k RETURNING balance + total INTO total;
	INSERT INTO dist_function.log VALUES (k, 'pay');
	place := dist_function.here(k);
END $$;
CREATE FUNCTION balance_of(k int) RETURNS TABLE (balance int, place text) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT a.balance, dist_function.here(k) FROM dist_function.account a WHERE id = k;
END $$;
CREATE FUNCTION place_of(k bigint DEFAULT 3, VARIADIC others int[] DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN dist_function.here(k::int) || cardinality(others);
END $$;

-- What is refused.
SELECT create_distributed_function('pay(int, int, int)', 'nobody', colocate_with := 'account');
SELECT create_distributed_function('pay(int, int, int)', '$4', colocate_with := 'account');
SELECT create_distributed_function('pay(int, int, int)', 'k', colocate_with := 'none');
SELECT create_distributed_function('pay(int, int, int)', 'k', colocate_with := 'rate');
SELECT create_distributed_function('pay(int, int, int)', colocate_with := 'account');
SELECT create_distributed_function('pay(int, int, int)', 'k', colocate_with := 'nothing');
SELECT create_distributed_function('place_of(bigint, int[])', 'k', colocate_with := 'account');
SELECT create_distributed_function('place_of(bigint, int[])', 'others', colocate_with := 'account');
SELECT create_distributed_function('sum(int)', '$1', colocate_with := 'account');
SELECT create_distributed_function(NULL);
SELECT create_distributed_function('pay(int, int, int)', 'k', colocate_with := NULL);
CREATE FUNCTION of_no_table(t timetz) RETURNS void LANGUAGE sql AS '';
SELECT create_distributed_function('of_no_table(timetz)', 't');

SELECT create_distributed_function('pay(int, int, int)', 'k', colocate_with := 'account');
SELECT create_distributed_function('balance_of(int)', '$1', colocate_with := 'account');
CREATE FUNCTION place_of(k int, VARIADIC others int[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN dist_function.here(k) || cardinality(others);
END $$;
SELECT create_distributed_function('place_of(int, int[])', 'k', colocate_with := 'account');
SELECT object_names, distribution_argument_index, colocationid > 0 AS colocated, force_delegation
	FROM pg_dist_object WHERE colocationid IS NOT NULL AND object_names[1] = 'dist_function' ORDER BY 1;
SELECT count(DISTINCT result) FROM run_command_on_all_nodes($$SELECT array_agg((object_names, distribution_argument_index, colocationid, force_delegation)::text ORDER BY object_names, object_args)
	FROM pg_dist_object WHERE colocationid IS NOT NULL$$);

-- On its own, through every kind of call.
CALL pay(:k, 5, 1000, NULL);
CALL pay(amount => 5, k => :k, total => 1000, place => NULL);
CALL pay(NULL, 5, 0, NULL);
SELECT * FROM balance_of(:k);
SELECT balance_of(:k);
SELECT place, count(*), sum(balance) FROM balance_of(:k) WHERE balance > 0 GROUP BY place;
SELECT place_of(:k, 1, 2, 3), place_of(:k, VARIADIC '{4, 5}');
SELECT place_of(:k, 1, 2, 3);
SELECT place_of(:k, VARIADIC ARRAY[4, 5]) AS "some name";
SELECT * FROM balance_of(NULL);
PREPARE by_key AS SELECT * FROM balance_of($1);
EXECUTE by_key(:k);
EXECUTE by_key(:k2);
-- In something larger.
BEGIN;
CALL pay(:k, 1, 0, NULL);
SELECT * FROM balance_of(:k);
ROLLBACK;
SELECT * FROM balance_of(:k);
DO $$ BEGIN PERFORM * FROM dist_function.balance_of(dist_function.away(0)); END $$;
SELECT (SELECT place FROM balance_of(:k)), a.balance FROM account a WHERE id = :k;
BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM balance_of(:k);
COMMIT;
BEGIN READ ONLY;
CALL pay(:k, 1, 0, NULL);
ROLLBACK;
CREATE TABLE made AS SELECT * FROM balance_of(:k);
SELECT * FROM made;
DECLARE c CURSOR WITH HOLD FOR SELECT * FROM balance_of(:k);
FETCH ALL FROM c;
CLOSE c;

-- EXPLAIN says where.
\set VERBOSITY terse
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
		RETURN NEXT regexp_replace(regexp_replace(line, 'balance_of\(\d+\)', 'balance_of(k)'), 'host=.*', CASE WHEN line ~ ('port=' || current_setting('port')) THEN 'this' ELSE 'another' END);
	END LOOP;
END $$;
SELECT plan_of(format('SELECT * FROM dist_function.balance_of(%s)', :k));
SELECT plan_of('SELECT now(), dist_function.balance_of(1)');

-- Transactions inside of a procedure; writes on other nodes; schema changes reach all nodes and shards.
CREATE PROCEDURE in_parts(k int, other int) LANGUAGE plpgsql AS $$
BEGIN
	UPDATE dist_function.account SET balance = 0 WHERE id = k;
	UPDATE dist_function.account SET balance = 1 WHERE id = other;
	COMMIT;
	UPDATE dist_function.account SET balance = balance + 7;
	UPDATE dist_function.rate SET value = value + 1;
	ROLLBACK;
	INSERT INTO dist_function.log VALUES (k, 'rolled back');
	RAISE EXCEPTION 'the end on %', dist_function.here(k);
END $$;
SELECT create_distributed_function('in_parts(int, int)', 'k', 'account');
CALL in_parts(:k, :k2);
SELECT id = :k AS first, balance FROM account WHERE id IN (:k, :k2) ORDER BY balance;
SELECT count(*), sum(balance) FROM account;
BEGIN;
CALL in_parts(:k, :k2);
ROLLBACK;
CREATE PROCEDURE all_of_them(k int, INOUT place text) LANGUAGE plpgsql AS $$
DECLARE
	total int := 0;
BEGIN
	UPDATE dist_function.account SET balance = balance + 1;
	UPDATE dist_function.rate SET value = value + 1;
	INSERT INTO dist_function.single VALUES (k);
	TRUNCATE dist_function.log;
	ALTER TABLE dist_function.log ADD COLUMN made_on int;
	INSERT INTO dist_function.log SELECT id, 'all', 1 FROM dist_function.account;
	CALL dist_function.pay(k, 0, total, place);
	place := dist_function.here(k);
END $$;
SELECT create_distributed_function('all_of_them(int, text)', 'k', 'account');
CALL all_of_them(:k, NULL);
SELECT sum(balance), count(*) FROM account;
SELECT note, made_on, count(*) FROM log GROUP BY note, made_on ORDER BY note;
SELECT * FROM rate;
SELECT count(*) FROM single WHERE a = :k;
SELECT DISTINCT result FROM run_command_on_all_nodes('SELECT value FROM dist_function.rate');

-- Settings and the role are the client's; the right to execute is asked where he is and where it runs.
CREATE ROLE dist_function_user;
GRANT USAGE ON SCHEMA dist_function TO dist_function_user;
CREATE FUNCTION who(k int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN format('%s %s %s %s', current_user, current_setting('search_path'), current_setting('work_mem'), dist_function.here(k));
END $$;
CREATE FUNCTION who_owns(k int) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path TO pg_catalog, pg_temp SET work_mem TO '5MB' AS $$
BEGIN
	RETURN format('%s %s %s %s', current_user = 'dist_function_user', current_setting('search_path'), current_setting('work_mem'), dist_function.here(k));
END $$;
SELECT create_distributed_function('who(int)', 'k', 'account'), create_distributed_function('who_owns(int)', 'k', 'account');
GRANT SELECT ON account TO dist_function_user;
SET work_mem TO '7MB';
SET ROLE dist_function_user;
SELECT who(:k);
SELECT who_owns(:k);
CALL pay(:k, 1, 0, NULL);
SELECT create_distributed_function('who(int)', 'k', 'account');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION who(int) FROM public;
SET ROLE dist_function_user;
SELECT who(:k);
RESET ROLE;
RESET work_mem;

-- Changes of the function follow; it stays distributed.
CREATE OR REPLACE FUNCTION who(k int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN 'replaced ' || dist_function.here(k);
END $$;
SELECT who(:k);
ALTER FUNCTION who(int) RENAME TO who_now;
SELECT who_now(:k);
SELECT create_distributed_function('who_now(int)');
SELECT who_now(:k);
SELECT create_distributed_function('who_now(int)', 'k', 'account', true);
SELECT who_now(:k);
DROP FUNCTION who_now(int);
SELECT count(*) FROM pg_dist_object WHERE object_names[2] LIKE 'who_now%';
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_dist_object WHERE objid NOT IN (SELECT oid FROM pg_proc) AND classid = 'pg_proc'::regclass$$);

-- Without an argument: the only shard's node. A reference table has a copy here.
CREATE FUNCTION at_single() RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT p.groupid = l.groupid FROM pg_dist_placement p JOIN pg_dist_shard s USING (shardid), pg_dist_local_group l WHERE s.logicalrelid = 'dist_function.single'::regclass $$;
SELECT create_distributed_function('at_single()', colocate_with := 'single');
SELECT at_single();
CREATE FUNCTION at_reference() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT count(*) FROM dist_function.rate';
SELECT create_distributed_function('at_reference()', colocate_with := 'rate');
SELECT at_reference();

-- Through a worker.
SELECT result FROM run_command_on_workers(format('CALL dist_function.pay(%s, 1, 0, NULL)', :k)) ORDER BY 1;

-- The table goes, the function stays.
DROP TABLE account CASCADE;
DROP TABLE log;
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
CREATE OR REPLACE FUNCTION balance_of(k int) RETURNS TABLE (balance int, place text) LANGUAGE sql VOLATILE AS
	$$ SELECT balance, 'anywhere' FROM dist_function.account WHERE id = k $$;
INSERT INTO account VALUES (:k, 3);
SELECT * FROM balance_of(:k);
SET client_min_messages TO warning;
DROP SCHEMA dist_function CASCADE;
DROP ROLE dist_function_user;
