-- Savepoints, exception blocks, schema changes, COPY, reads and writes in any order in one transaction,
-- on distributed, reference and local tables: what PostgreSQL does on one server happens on all.
\set SHOW_CONTEXT never
SET client_min_messages TO warning;
SET citus.next_shard_id TO 1700000;
SET citus.shard_count TO 8;
CREATE SCHEMA sp;
SET search_path TO sp;
CREATE TABLE dist (k int PRIMARY KEY, v int);
SELECT create_distributed_table('dist', 'k');
CREATE TABLE ref (k int PRIMARY KEY, v int);
SELECT create_reference_table('ref');
CREATE TABLE child (k int, r int REFERENCES ref, PRIMARY KEY (k, r));
SELECT create_distributed_table('child', 'k', colocate_with => 'dist');
CREATE TABLE loc (k int PRIMARY KEY, v int);
INSERT INTO dist SELECT k, 0 FROM generate_series(1, 20) k;
INSERT INTO ref SELECT k, 0 FROM generate_series(1, 3) k;
CREATE FUNCTION state() RETURNS text LANGUAGE sql AS $$
	SELECT format('dist %s/%s ref %s/%s loc %s/%s', (SELECT count(*) FROM sp.dist), (SELECT sum(v) FROM sp.dist),
		(SELECT count(*) FROM sp.ref), (SELECT sum(v) FROM sp.ref), (SELECT count(*) FROM sp.loc), (SELECT sum(v) FROM sp.loc))
$$;

-- Nested savepoints over all kinds of tables.
BEGIN;
UPDATE dist SET v = v + 1;
SAVEPOINT a;
INSERT INTO loc VALUES (1, 1);
UPDATE ref SET v = v + 1;
SAVEPOINT b;
DELETE FROM dist WHERE k > 10;
SELECT state();
ROLLBACK TO b;
SELECT state();
INSERT INTO dist VALUES (1, 1);
ROLLBACK TO a;
SELECT state();
RELEASE a;
INSERT INTO loc VALUES (2, 2);
COMMIT;
SELECT state();

-- A failure on one node of several; the same name again; an inner one released.
BEGIN;
SAVEPOINT a;
UPDATE dist SET v = 1 / (k - 7);
ROLLBACK TO a;
SAVEPOINT a;
SAVEPOINT c;
UPDATE dist SET v = v + 10;
RELEASE c;
ROLLBACK TO a;
RELEASE a;
UPDATE dist SET v = v + 100 WHERE k <= 2;
COMMIT;
SELECT state();

-- PL/pgSQL exception blocks, also in loops and nested.
DO $$
DECLARE
	n int := 0;
BEGIN
	FOR i IN 18..23 LOOP
		BEGIN
			INSERT INTO sp.dist VALUES (i, 0);
			INSERT INTO sp.ref VALUES (i, 0);
			BEGIN
				UPDATE sp.ref SET v = v / 0 WHERE k = i;
			EXCEPTION WHEN division_by_zero THEN
				n := n + 1;
			END;
			IF i = 23 THEN RAISE EXCEPTION 'not this one'; END IF;
		EXCEPTION WHEN unique_violation OR raise_exception THEN
			n := n + 100;
		END;
	END LOOP;
	RAISE WARNING 'caught %', n;
END $$;
SELECT state();

-- T7: a read over all shards, then a change of a reference table that a foreign key points to.
BEGIN;
SELECT count(*) FROM child;
UPDATE ref SET v = 5 WHERE k = 1;
INSERT INTO child VALUES (1, 1), (2, 1), (3, 2);
DELETE FROM ref WHERE k = 3;
SELECT count(*) FROM child JOIN ref ON ref.k = child.r;
SAVEPOINT s;
DELETE FROM ref WHERE k = 1;
ROLLBACK TO s;
COMMIT;
SELECT count(*) FROM child;

-- T8: schema changes before, between and after reads and writes; of distributed and reference tables.
BEGIN;
SELECT count(*) FROM dist;
ALTER TABLE dist ADD COLUMN w int DEFAULT 7;
UPDATE dist SET w = w + 1 WHERE k = 1;
ALTER TABLE ref ADD COLUMN w int DEFAULT 8;
SELECT sum(d.w), max(r.w) FROM dist d, ref r;
SAVEPOINT s;
ALTER TABLE dist DROP COLUMN w;
CREATE INDEX ON dist (v);
SELECT * FROM dist WHERE k = 1;
ROLLBACK TO s;
SELECT * FROM dist WHERE k = 1;
CREATE TABLE late (k int, v int);
SELECT create_distributed_table('late', 'k', colocate_with => 'dist');
INSERT INTO late SELECT k, v FROM dist;
TRUNCATE dist CASCADE;
SELECT count(*) FROM dist, late;
SELECT count(*) FROM late;
SAVEPOINT s2;
DROP TABLE late;
ROLLBACK TO s2;
SELECT count(*) FROM late;
ROLLBACK;
SELECT state(), to_regclass('late') IS NULL AS gone;

-- T9: another role in the same transaction.
CREATE ROLE sp_reader;
GRANT USAGE ON SCHEMA sp TO sp_reader;
GRANT SELECT ON dist TO sp_reader;
BEGIN;
UPDATE dist SET v = 1000 WHERE k = 1;
SET LOCAL ROLE sp_reader;
SELECT v FROM dist WHERE k = 1;
SELECT max(v) FROM dist;
SAVEPOINT s;
UPDATE dist SET v = 0;
ROLLBACK TO s;
RESET ROLE;
UPDATE dist SET v = 0 WHERE k = 1;
COMMIT;

-- T13: sizes after a change of many shards.
BEGIN;
UPDATE dist SET v = v + 1;
SELECT citus_table_size('dist') > 0, citus_total_relation_size('ref') > 0;
ROLLBACK;

-- Cursors live across savepoints.
BEGIN;
DECLARE c CURSOR FOR SELECT k FROM dist ORDER BY k;
FETCH 2 FROM c;
SAVEPOINT s;
FETCH 1 FROM c;
UPDATE dist SET v = v + 1 WHERE k = 5;
FETCH 1 FROM c;
ROLLBACK TO s;
FETCH 1 FROM c;
INSERT INTO ref VALUES (50, 0);
FETCH 1 FROM c;
CLOSE c;
ROLLBACK;

-- COPY inside, which fails and is taken back.
BEGIN;
SAVEPOINT s;
COPY dist (k, v) FROM STDIN;
101	1
102	1
1	1
\.
ROLLBACK TO s;
COPY dist (k, v) FROM STDIN;
103	1
104	1
\.
SELECT count(*) FROM dist WHERE k > 100;
COPY (SELECT k FROM dist WHERE k > 100 ORDER BY k) TO STDOUT;
ROLLBACK;
SELECT state();

-- Isolation, read-only and deferrable transactions are so on every node.
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT count(*) FROM dist;
SELECT DISTINCT result FROM run_command_on_shards('dist', $$SELECT 'own transactions'$$);
INSERT INTO dist VALUES (200, 0);
ROLLBACK;
CREATE FUNCTION level(int) RETURNS text LANGUAGE sql STABLE AS
	$$ SELECT concat_ws(' ', current_setting('transaction_isolation'), current_setting('transaction_read_only'),
		current_setting('transaction_deferrable')) WHERE $1 IS NOT NULL $$;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT DISTINCT level(v) FROM dist WHERE k <= 10;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT DISTINCT level(v) FROM dist WHERE k <= 10;
SAVEPOINT s;
SET TRANSACTION READ ONLY;
SELECT DISTINCT level(v) FROM dist WHERE k <= 10;
UPDATE dist SET v = 1;
ROLLBACK TO s;
UPDATE dist SET v = v WHERE k = 1;
COMMIT;

-- What is rolled back to a savepoint is not part of what the client prepares.
BEGIN;
INSERT INTO loc VALUES (70, 0);
INSERT INTO dist VALUES (70, 0), (71, 0), (72, 0);
SAVEPOINT s;
DELETE FROM dist;
ROLLBACK TO s;
PREPARE TRANSACTION 'mine';
SELECT state();
COMMIT PREPARED 'mine';
SELECT state();
SELECT count(*) FROM pg_prepared_xacts WHERE gid = 'mine';

SET search_path TO public;
DROP SCHEMA sp CASCADE;
DROP ROLE sp_reader;
