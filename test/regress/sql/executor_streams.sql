-- Rows stream from nodes: cursors, nested queries and errors leave every session usable, and
-- statements that share a session don't disturb each other.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET citus.shard_count = 6;
CREATE SCHEMA streams;
SET search_path = streams;
CREATE TABLE t (k int PRIMARY KEY, v text, n numeric);
CREATE TABLE u (a int, b int);
SELECT create_distributed_table('t', 'k');
SELECT create_distributed_table('u', 'a', colocate_with => 'none');
INSERT INTO t SELECT i, 'v' || i, i * 1.5 FROM generate_series(1, 1000) i;
INSERT INTO u SELECT i, i % 10 FROM generate_series(1, 300) i;

-- Two fragments of one plan share the sessions.
SELECT count(*) FROM t JOIN u ON t.k = u.b;
SELECT k, (SELECT count(*) FROM u WHERE u.b = t.k) FROM t WHERE k < 4 ORDER BY k;
SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.k AND u.a > t.n);

-- Two cursors and other statements in turn; an error to a savepoint in between.
BEGIN;
DECLARE c CURSOR FOR SELECT k FROM t ORDER BY k;
DECLARE d CURSOR FOR SELECT a FROM u;
FETCH 2 FROM c;
MOVE 10 FROM d;
INSERT INTO t VALUES (5000, 'x', 1);
FETCH 2 FROM c;
SAVEPOINT s;
SELECT 1 / (k - 500) FROM t;
ROLLBACK TO s;
MOVE 10 FROM d;
SELECT count(*) FROM t;
MOVE ALL FROM d;
FETCH 1 FROM c;
ROLLBACK;
SELECT count(*) FROM t;

-- A cursor that scrolls, one that outlives its transaction.
BEGIN;
DECLARE e SCROLL CURSOR FOR SELECT k FROM t WHERE k = ANY ('{7,8,9}') ORDER BY k;
FETCH LAST FROM e;
FETCH BACKWARD 1 FROM e;
FETCH FIRST FROM e;
COMMIT;
DECLARE f CURSOR WITH HOLD FOR SELECT k FROM t WHERE k < 4 ORDER BY k;
SELECT count(*) FROM u;
FETCH ALL FROM f;
CLOSE f;

-- A loop over a streaming query whose body reads, writes and fails.
DO $$
DECLARE
	row record;
	found bigint;
	good int := 0;
	bad int := 0;
BEGIN
	FOR row IN SELECT k FROM t LOOP
		BEGIN
			SELECT count(*) INTO found FROM u WHERE a = row.k;
			IF row.k % 7 = 0 THEN
				RAISE EXCEPTION 'no';
			END IF;
			UPDATE t SET v = 'loop' WHERE k = row.k;
			good := good + 1;
		EXCEPTION WHEN raise_exception THEN
			bad := bad + 1;
		END;
	END LOOP;
	RAISE WARNING 'good %, bad %', good, bad;
END $$;
SELECT count(*) FROM t WHERE v = 'loop';

-- Rows of an Append go to other nodes while its next part is read from them: more than one message (512 kB) for each.
ANALYZE t, u;
SELECT count(*), sum(count), max(longest) FROM (
	SELECT x.v, s.k, count(*), max(length(s.v)) AS longest FROM (
		SELECT t.k, repeat(t.v, 4000) AS v FROM t JOIN u ON t.k = u.b
		UNION ALL SELECT u.a, 'v' FROM u JOIN t ON u.a = t.k + 1
		UNION ALL SELECT t.k, 'v' FROM t JOIN u ON t.k = u.a + 1) s
	JOIN t x ON x.k = s.k JOIN u c ON c.b = s.k GROUP BY 1, 2) q;

-- Stopped early, alone and in a block.
SELECT 1 AS one FROM (SELECT k FROM t OFFSET 0) s LIMIT 1;
BEGIN;
SELECT 1 AS one FROM (SELECT k FROM t OFFSET 0) s LIMIT 1;
UPDATE t SET n = 0 WHERE k = 3;
COMMIT;
SELECT n FROM t WHERE k = 3;

-- An error of one node ends the statement, not the sessions.
SELECT 1 / (k - 500) FROM t;
BEGIN;
SELECT 1 / (k - 500) FROM t;
SELECT 1;
ROLLBACK;
SELECT count(*) FROM t;

SET statement_timeout = '300ms';
SELECT count(*) FROM t a JOIN t b USING (k) WHERE md5(repeat(a.v, 10000000)) <> a.v;
RESET statement_timeout;
SELECT count(*) FROM t;

-- A statement reads the tables as they were when it began, whatever its functions write; so does a cursor.
CREATE FUNCTION add_rows() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO streams.u SELECT 1000 + i, 0 FROM generate_series(1, 20) i;
	RETURN 20;
END $$;
BEGIN;
SELECT add_rows(), (SELECT count(*) FROM u);
SELECT count(*) FROM u;
DECLARE c CURSOR FOR SELECT count(*) FROM u;
DECLARE d CURSOR FOR SELECT b FROM u WHERE a = 300;
DELETE FROM u;
FETCH c;
FETCH d;
SELECT count(*) FROM u;
ROLLBACK;

-- Who fails takes with it what other nodes still want to read: of two errors the reason is told, not that something is missing,
-- whichever is seen first.
CREATE FUNCTION fails(k int, reason int, consequence int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF k = reason THEN
		RAISE 'the reason';
	ELSIF k = consequence THEN
		RAISE undefined_object USING MESSAGE = 'the consequence';
	END IF;
	RETURN repeat('x', 1000);
END $$;
SELECT min(last) AS one, max(last) AS two FROM (
	SELECT groupid, max(k) AS last FROM (SELECT k, get_shard_id_for_distribution_column('t', k) AS shardid FROM t) s
	JOIN pg_dist_placement USING (shardid) GROUP BY groupid ORDER BY groupid) n \gset
BEGIN;
DECLARE g CURSOR FOR SELECT fails(k, :one, :two) FROM t;
MOVE FROM g;
SELECT pg_sleep(0.3);
MOVE ALL FROM g;
ROLLBACK;
BEGIN;
DECLARE g CURSOR FOR SELECT fails(k, :two, :one) FROM t;
MOVE FROM g;
SELECT pg_sleep(0.3);
MOVE ALL FROM g;
ROLLBACK;

DROP SCHEMA streams CASCADE;
