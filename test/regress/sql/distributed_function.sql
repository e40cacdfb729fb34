-- A call of a distributed function runs on the node that has the rows of its argument, from whichever node: by itself if it is all
-- of its transaction, else within the client's transaction; what can't be done so runs where the client is. What it does is the same.
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
-- Whoever measures plans, but EXPLAIN, doesn't keep it here.
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_analyze = on;
SELECT balance_of(:k);
RESET auto_explain.log_min_duration;
SELECT place_of(:k, 1, 2, 3), place_of(:k, VARIADIC '{4, 5}');
SELECT place_of(:k, 1, 2, 3);
SELECT place_of(:k, VARIADIC ARRAY[4, 5]) AS "some name";
SELECT * FROM balance_of(NULL);
PREPARE by_key AS SELECT * FROM balance_of($1);
EXECUTE by_key(:k);
EXECUTE by_key(:k2);
-- In something larger.
\set VERBOSITY terse
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

-- What a call sets on its node is not there for what comes after it.
CREATE TABLE stamped (id int, at timestamptz);
SELECT create_distributed_table('stamped', 'id', colocate_with := 'account');
INSERT INTO stamped VALUES (:k, '2020-01-01 00:00+00');
CREATE PROCEDURE moves_clock(k int, INOUT place text) LANGUAGE plpgsql AS $$
BEGIN
	SET timezone TO 'Asia/Tokyo';
	COMMIT;
	place := dist_function.here(k);
END $$;
SELECT create_distributed_function('moves_clock(int, text)', 'k', 'account');
SET timezone TO 'UTC';
SELECT at::text FROM stamped WHERE id = :k;
CALL moves_clock(:k, NULL);
SELECT at::text FROM stamped WHERE id = :k;
RESET timezone;
DROP TABLE stamped;

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

-- Within the client's transaction: what it wrote on the node is seen, what the call writes ends with it.
CREATE FUNCTION node_of(k int) RETURNS int LANGUAGE sql STABLE AS $$
	SELECT groupid FROM pg_dist_placement WHERE shardid = get_shard_id_for_distribution_column('dist_function.account', k) $$;
SELECT id AS far FROM generate_series(1, 1000) id WHERE here(id) = 'elsewhere' AND node_of(id) <> node_of(:k) ORDER BY id LIMIT 1 \gset
CREATE FUNCTION sum_of(k int, OUT total bigint, OUT place text) LANGUAGE plpgsql AS $$
BEGIN
	SELECT sum(balance), dist_function.here(k) INTO total, place FROM dist_function.account WHERE id = k;
END $$;
SELECT create_distributed_function('sum_of(int)', 'k', 'account');
SELECT balance AS before FROM account WHERE id = :k \gset
BEGIN;
UPDATE account SET balance = 1000 WHERE id = :k;
SELECT * FROM balance_of(:k);
SELECT sum_of(:k);
CALL pay(:k, 1, 0, NULL);
CALL pay(:far, 1, 0, NULL);
SAVEPOINT one;
CALL pay(:k, 1, 0, NULL);
INSERT INTO account VALUES (:k, 1);
ROLLBACK TO one;
SELECT * FROM balance_of(:k);
SELECT balance FROM account WHERE id = :k;
SAVEPOINT two;
CALL pay(:k, 10, 0, NULL);
RELEASE two;
SELECT sum_of(:k);
COMMIT;
SELECT balance FROM account WHERE id = :k;
SELECT count(*) FROM log WHERE note = 'pay' AND id IN (:k, :far);
UPDATE account SET balance = :before WHERE id = :k;
PREPARE of_key AS SELECT * FROM sum_of($1);
BEGIN ISOLATION LEVEL REPEATABLE READ;
EXECUTE of_key(:k);
EXECUTE of_key(:far);
COMMIT;

-- Called by other functions.
CREATE FUNCTION outer_call(a int, b int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	first text;
	second text;
	total int := 0;
	r record;
BEGIN
	CALL dist_function.pay(a, 1, total, first);
	BEGIN
		CALL dist_function.pay(a, 1000, total, second);
		RAISE EXCEPTION 'undone';
	EXCEPTION WHEN raise_exception THEN NULL;
	END;
	SELECT * INTO r FROM dist_function.sum_of(b);
	FOR r IN SELECT * FROM dist_function.balance_of(a) LOOP
		RETURN format('%s %s %s %s', first, second, r.place, r.balance);
	END LOOP;
END $$;
SELECT outer_call(:k, :far);
BEGIN;
SELECT outer_call(:k, :far);
ROLLBACK;
-- One procedure may end the transaction, so what it calls stays with it.
CREATE PROCEDURE outer_procedure(a int) LANGUAGE plpgsql AS $$
DECLARE
	place text;
	total int := 0;
BEGIN
	CALL dist_function.pay(a, 1, total, place);
	COMMIT;
	RAISE NOTICE '%', place;
END $$;
CALL outer_procedure(:k);
CREATE PROCEDURE failing_procedure(a int) LANGUAGE plpgsql AS $$
DECLARE
	place text;
	total int := 0;
BEGIN
	CALL dist_function.pay(a, 5000, total, place);
	PERFORM dist_function.sum_of(a);
	total := total + (dist_function.sum_of(a)).total * 0;
	RAISE EXCEPTION 'failed after %', total;
END $$;
CALL failing_procedure(:k);
DO $$ BEGIN CALL dist_function.failing_procedure(dist_function.away(0)); END $$;
SELECT max(balance) < 5000 AS undone FROM account;
-- For each row of a query, and in a trigger, it is PostgreSQL's own call.
SELECT count(*), sum(s.total) = sum(a.balance) AS same FROM account a, LATERAL sum_of(a.id) s;
BEGIN;
SELECT count(*), sum(sum_of.total) > 0 AS some FROM (SELECT id FROM account ORDER BY id LIMIT 3) a, LATERAL sum_of(a.id);
ROLLBACK;

CREATE FUNCTION notes(k int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO dist_function.log VALUES (k, 'row');
	RETURN k;
END $$;
SELECT create_distributed_function('notes(int)', 'k', 'account');
CREATE FUNCTION by_row(k int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	noted int;
	sum bigint;
BEGIN
	SELECT n INTO noted FROM dist_function.notes(k) n;
	SELECT total INTO sum FROM dist_function.sum_of(noted);
	RETURN sum;
END $$;
BEGIN;
UPDATE account SET balance = 1000 + id WHERE id <= 5;
SELECT sum(by_row(id)) FROM account WHERE id <= 5;
SELECT sum(by_row(i)) FROM generate_series(1, 5) i;
SELECT count(*) FROM account WHERE by_row(id) = balance;
UPDATE account SET balance = by_row(id) + 1 WHERE id <= 5;
SELECT sum(balance) FROM account WHERE id <= 5;
SELECT count(*) FROM log WHERE note = 'row';
ROLLBACK;
SELECT count(*) FROM log WHERE note = 'row';

-- What needs more than its node runs here, as if nothing had been, whatever it catches.
CREATE PROCEDURE transfer(a int, b int, INOUT place text) LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO dist_function.log VALUES (a, 'transfer');
	UPDATE dist_function.account SET balance = balance - 1 WHERE id = a;
	BEGIN
		UPDATE dist_function.account SET balance = balance + 1 WHERE id = b;
	EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'not to be seen: %', SQLERRM;
		WHEN query_canceled THEN NULL;
	END;
	place := dist_function.here(a);
END $$;
SELECT create_distributed_function('transfer(int, int, text)', 'a', 'account');
SELECT sum(balance) AS sum FROM account \gset
BEGIN;
CALL transfer(:k, :k, NULL);
CALL transfer(:k, :far, NULL);
CALL transfer(:k, :k, NULL);
CALL transfer(:k, :k, NULL);
CALL transfer(:k, :k, NULL);
SELECT sum(balance) - :sum AS difference FROM account;
SELECT count(*) FROM log WHERE note = 'transfer';
COMMIT;
SELECT sum(balance) - :sum AS difference FROM account;
SELECT count(*) FROM log WHERE note = 'transfer';
CREATE TABLE here_only (a int);
CREATE FUNCTION uses_local(k int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO dist_function.here_only VALUES (k);
	RETURN dist_function.here(k);
END $$;
CREATE FUNCTION sets(k int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('dist_function.tenant', k::text, true);
	RETURN dist_function.here(k);
END $$;
CREATE FUNCTION makes_temporary(k int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMPORARY TABLE kept AS SELECT 1;
	RETURN dist_function.here(k);
END $$;
CREATE FUNCTION notifies(k int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('dist_function', '');
	RETURN dist_function.here(k);
END $$;
CREATE FUNCTION opens(k int) RETURNS refcursor LANGUAGE plpgsql AS $$
DECLARE
	c refcursor := 'opened';
BEGIN
	OPEN c FOR SELECT dist_function.here(k);
	RETURN c;
END $$;
CREATE FUNCTION fails(k int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE dist_function.account SET balance = 0 WHERE id = k;
	RAISE EXCEPTION 'failed %', dist_function.here(k) USING ERRCODE = 'XY123';
END $$;
CREATE TABLE audit (id int, balance int);
SELECT create_distributed_table('audit', 'id', colocate_with := 'none');
CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO dist_function.audit VALUES (NEW.balance, NEW.balance);
	RETURN NULL;
END $$;
CREATE FUNCTION defers(k int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE dist_function.account SET balance = 77777 WHERE id = k;
	RETURN dist_function.here(k);
END $$;
SELECT create_distributed_function((f || '(int)')::regprocedure, 'k', 'account')
	FROM unnest('{uses_local,sets,makes_temporary,notifies,opens,fails,defers}'::text[]) f;
BEGIN;
SELECT uses_local(:k), current_setting('dist_function.tenant', true) = '' AS unset;
SELECT sets(:k);
SELECT current_setting('dist_function.tenant') = :'k' AS set;
SELECT notifies(:k), 1 AS two;
SELECT opens(:k);
FETCH ALL FROM opened;
SAVEPOINT s;
SELECT fails(:k);
ROLLBACK TO s;
SELECT sum_of(:k);
CALL pay(:k, 0, 0, NULL);
CALL pay(:far, 0, 0, NULL);
COMMIT;
SELECT count(*) FROM here_only;
BEGIN;
UPDATE account SET balance = balance WHERE id = :k;
SELECT makes_temporary(:k);
SELECT sum_of(:k);
DROP TABLE kept;
COMMIT;
\c
SET search_path TO dist_function;
SET client_min_messages TO notice;
\set VERBOSITY terse

-- Triggers that wait for the end of the transaction wait where the client is.
CREATE CONSTRAINT TRIGGER noted AFTER UPDATE ON account DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.balance = 77777) EXECUTE FUNCTION note_change();
BEGIN;
SELECT defers(:k);
CALL pay(:far, 0, 0, NULL);
COMMIT;
SELECT * FROM audit;
UPDATE account SET balance = 2 WHERE id = :k;
DROP TRIGGER noted ON account;

-- force_delegation: the argument's shard group and no other, wherever the call runs.
CREATE FUNCTION forced(k int, other int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	fee int;
BEGIN
	SELECT value INTO fee FROM dist_function.rate WHERE name = 'fee';
	UPDATE dist_function.account SET balance = balance + 1 WHERE id = k;
	UPDATE dist_function.account SET balance = balance - 1 WHERE id = other;
	RETURN dist_function.here(k);
END $$;
CREATE FUNCTION forced_rate(k int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN UPDATE dist_function.rate SET value = 5; END $$;
CREATE FUNCTION forced_all(k int) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT sum(balance) FROM dist_function.account); END $$;
SELECT create_distributed_function('forced(int, int)', 'k', 'account', true), create_distributed_function('forced_rate(int)', 'k', 'account', true),
	create_distributed_function('forced_all(int)', 'k', 'account', true);
SELECT forced(:k, :k);
SELECT forced(:k, :far);
SELECT id AS same_node FROM generate_series(1, 1000) id WHERE node_of(id) = node_of(:k)
	AND get_shard_id_for_distribution_column('account', id) <> get_shard_id_for_distribution_column('account', :k) LIMIT 1 \gset
SELECT forced(:k, :same_node);
SELECT forced_rate(:k);
SELECT forced_all(:k);
BEGIN;
SELECT forced(:k, :k);
SAVEPOINT s;
SELECT forced(:k, :far);
ROLLBACK TO s;
SELECT forced(:k, :same_node);
ROLLBACK TO s;
SELECT forced_rate(:k);
ROLLBACK TO s;
SELECT sum_of(:k);
COMMIT;
SELECT sum(balance) - :sum AS difference FROM account;
SELECT plan_of('SELECT * FROM dist_function.forced(1, 1)') LIMIT 1;
BEGIN;
SELECT plan_of(format('SELECT * FROM dist_function.balance_of(%s)', :k)) LIMIT 4;
ROLLBACK;

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
