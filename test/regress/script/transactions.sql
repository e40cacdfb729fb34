CREATE TABLE a (k int PRIMARY KEY, v int CHECK (v < 1000), w text);
CREATE TABLE b (k int NOT NULL, id int, v int);
CREATE TABLE s (id int PRIMARY KEY, v int);
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE l (id int PRIMARY KEY, v int);
SELECT distribute('a', 'k');
SELECT distribute('b', 'k', 'a');
SELECT single('s');
SELECT reference('r');
INSERT INTO a SELECT i, i, 'w' || i FROM generate_series(1, 20) i;
INSERT INTO b SELECT i % 15, i, i FROM generate_series(1, 60) i;
INSERT INTO s SELECT i, i FROM generate_series(1, 10) i;
INSERT INTO r SELECT i, i FROM generate_series(1, 5) i;
INSERT INTO l SELECT i, i FROM generate_series(1, 5) i;
CREATE FUNCTION state() RETURNS text LANGUAGE sql AS $$
	SELECT format('a %s/%s b %s/%s s %s/%s r %s/%s l %s/%s', (SELECT count(*) FROM twice.a), (SELECT sum(v) FROM twice.a),
		(SELECT count(*) FROM twice.b), (SELECT sum(v) FROM twice.b), (SELECT count(*) FROM twice.s), (SELECT sum(v) FROM twice.s),
		(SELECT count(*) FROM twice.r), (SELECT sum(v) FROM twice.r), (SELECT count(*) FROM twice.l), (SELECT sum(v) FROM twice.l)) $$;
SELECT state();

-- Reads and writes on several nodes: own writes are seen, rolled back, committed.
BEGIN;
UPDATE a SET v = v + 1;
INSERT INTO a VALUES (101, 1), (102, 2), (103, 3);
SELECT state();
DELETE FROM b WHERE k < 5;
UPDATE r SET v = v + 1;
UPDATE l SET v = v + 1;
UPDATE s SET v = v + 1 WHERE id = 1;
SELECT state();
SELECT count(*) FROM a JOIN b USING (k) JOIN r ON r.id = a.k - 5;
SELECT a.k, l.v FROM a JOIN l ON l.id = a.k ORDER BY 1;
ROLLBACK;
SELECT state();
BEGIN;
SELECT count(*) FROM a;
UPDATE a SET v = 0 WHERE k = 1;
SELECT v FROM a WHERE k = 1;
UPDATE a SET v = 0 WHERE k = 2;
SELECT sum(v) FROM a;
INSERT INTO r VALUES (6, 6);
SELECT count(*) FROM r;
COMMIT;
SELECT state();
BEGIN;
INSERT INTO a VALUES (200, 1);
SELECT 1/0;
SELECT count(*) FROM a;
COMMIT;
SELECT count(*) FROM a WHERE k = 200;
BEGIN; COMMIT;
BEGIN; SELECT 1; ROLLBACK;
COMMIT;
START TRANSACTION; UPDATE a SET v = 5 WHERE k = 5; END;
BEGIN; UPDATE a SET v = 6 WHERE k = 5; ABORT;
SELECT v FROM a WHERE k = 5;
BEGIN; UPDATE a SET v = 7 WHERE k = 5; COMMIT AND CHAIN; UPDATE a SET v = 8 WHERE k = 5; ROLLBACK AND CHAIN; SELECT v FROM a WHERE k = 5; COMMIT;
UPDATE a SET v = 9 WHERE k = 5\; UPDATE a SET v = 10 WHERE k = 6;
UPDATE a SET v = 11 WHERE k = 5\; UPDATE a SET v = 1000 WHERE k = 6;
SELECT k, v FROM a WHERE k IN (5, 6) ORDER BY k;
SELECT count(*) FROM a\; SELECT count(*) FROM b;

-- Savepoints.
BEGIN;
INSERT INTO a VALUES (301, 1);
SAVEPOINT one;
INSERT INTO a VALUES (302, 1), (303, 1), (304, 1);
UPDATE r SET v = 100;
SELECT state();
ROLLBACK TO one;
SELECT state();
INSERT INTO a VALUES (305, 1);
SAVEPOINT two;
DELETE FROM b;
SAVEPOINT three;
INSERT INTO b VALUES (1, 1, 1), (2, 2, 2);
RELEASE three;
SELECT count(*) FROM b;
ROLLBACK TO two;
SELECT count(*) FROM b;
RELEASE two;
ROLLBACK TO nothing;
ROLLBACK TO one;
SELECT state();
COMMIT;
SELECT count(*) FROM a WHERE k > 300;
BEGIN;
SAVEPOINT x;
INSERT INTO a VALUES (1, 1);
SELECT count(*) FROM a;
ROLLBACK TO x;
SELECT count(*) FROM a;
UPDATE a SET v = 2000;
ROLLBACK TO x;
UPDATE a SET v = v + 1 WHERE k < 5;
SAVEPOINT x;
UPDATE a SET v = v + 1 WHERE k < 5;
SELECT nothing FROM a;
ROLLBACK TO x;
RELEASE x;
SELECT state();
ROLLBACK TO x;
SELECT state();
COMMIT;
SELECT state();
BEGIN;
SAVEPOINT a1; UPDATE a SET v = v + 1 WHERE k = 1;
SAVEPOINT a2; UPDATE a SET v = v + 1 WHERE k = 2;
SAVEPOINT a3; UPDATE a SET v = v + 1 WHERE k = 3;
SAVEPOINT a4; UPDATE a SET v = v + 1 WHERE k = 4;
RELEASE a3;
ROLLBACK TO a2;
SAVEPOINT a5; UPDATE s SET v = v + 1;
RELEASE a1;
COMMIT;
SELECT k, v FROM a WHERE k < 5 ORDER BY k;
SELECT state();
BEGIN;
UPDATE a SET v = v + 1 WHERE k = 1;
SAVEPOINT q;
SELECT count(*) FROM a WHERE 1 / (k - k) = 1;
ROLLBACK TO q;
SELECT v FROM a WHERE k = 1;
INSERT INTO a VALUES (401, 1);
COMMIT;
SELECT state();

-- plpgsql: EXCEPTION blocks, loops, DO, procedures that commit.
DO $$
BEGIN
	FOR i IN 1 .. 8 LOOP
		BEGIN
			INSERT INTO a VALUES (500 + i, i);
			UPDATE b SET v = v + 1 WHERE k = i;
			IF i % 2 = 0 THEN RAISE EXCEPTION 'even'; END IF;
		EXCEPTION WHEN raise_exception THEN
			INSERT INTO l VALUES (500 + i, i);
		END;
	END LOOP;
END $$;
SELECT state();
SELECT k FROM a WHERE k > 500 ORDER BY k;
DO $$
DECLARE done int := 0;
BEGIN
	FOR i IN 1 .. 5 LOOP
		BEGIN
			INSERT INTO a VALUES (i * 100 + 10, 1), (i, 1);
			done := done + 1;
		EXCEPTION WHEN unique_violation THEN
			RAISE WARNING 'taken %', i;
			INSERT INTO a VALUES (i * 100 + 20, 1) ON CONFLICT DO NOTHING;
		END;
	END LOOP;
	RAISE WARNING 'done %', done;
END $$;
SELECT state();
CREATE FUNCTION try_insert(key int, val int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO a VALUES (key, val);
	RETURN 'inserted';
EXCEPTION
	WHEN unique_violation THEN UPDATE a SET v = val WHERE k = key; RETURN 'updated';
	WHEN check_violation THEN RETURN 'check ' || SQLSTATE;
END $$;
SELECT try_insert(601, 1), try_insert(601, 2), try_insert(602, 5000), try_insert(603, 3);
SELECT k, v FROM a WHERE k > 600 AND k < 700 ORDER BY k;
BEGIN;
SELECT try_insert(604, 1);
SELECT try_insert(604, 2000);
SELECT try_insert(605, 2000);
SELECT k, v FROM a WHERE k > 600 AND k < 700 ORDER BY k;
ROLLBACK;
SELECT k, v FROM a WHERE k > 600 AND k < 700 ORDER BY k;
DO $$
DECLARE row record; total bigint := 0; n bigint;
BEGIN
	FOR row IN SELECT k, v FROM a ORDER BY k LOOP
		SELECT count(*) INTO n FROM b WHERE b.k = row.k;
		total := total + n;
		UPDATE a SET w = 'seen' WHERE k = row.k;
	END LOOP;
	FOR row IN SELECT b.k, count(*) c FROM b GROUP BY b.k ORDER BY b.k LOOP
		PERFORM 1 FROM a WHERE a.k = row.k;
		EXIT WHEN row.k > 3;
	END LOOP;
	RAISE WARNING 'total % found %', total, FOUND;
END $$;
SELECT count(*) FROM a WHERE w = 'seen';
CREATE PROCEDURE batches() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 4 LOOP
		INSERT INTO a VALUES (700 + i, i), (710 + i, i);
		IF i % 2 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
	END LOOP;
END $$;
CALL batches();
SELECT k FROM a WHERE k BETWEEN 700 AND 800 ORDER BY k;
CREATE FUNCTION total(text) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN EXECUTE format('SELECT sum(v) FROM %I', $1) INTO n; RETURN n; END $$;
SELECT total('a') = (SELECT sum(v) FROM a), total('b') = (SELECT sum(v) FROM b);
SELECT total('nothing');
CREATE FUNCTION dyn(key int) RETURNS SETOF a LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT * FROM a WHERE k = key; RETURN QUERY EXECUTE 'SELECT * FROM a WHERE k = $1' USING key + 1; END $$;
SELECT k, v FROM dyn(7);

-- Settings are followed on the nodes.
CREATE TABLE times (k int NOT NULL, at timestamptz, d text);
SELECT distribute('times', 'k');
INSERT INTO times SELECT i, '2024-03-01 12:00+00' FROM generate_series(1, 5) i;
BEGIN;
SET LOCAL TimeZone = 'Asia/Tokyo';
SELECT k, at, at::text, at::date FROM times WHERE k = 1;
SELECT DISTINCT at::text, date_trunc('day', at), extract(hour FROM at) FROM times;
UPDATE times SET d = at::text;
SELECT DISTINCT d FROM times;
SAVEPOINT tz;
SET LOCAL TimeZone = 'America/New_York';
SELECT DISTINCT at::text FROM times;
ROLLBACK TO tz;
SELECT DISTINCT at::text FROM times;
COMMIT;
SELECT DISTINCT at::text FROM times;
SET DateStyle = 'German';
SELECT DISTINCT at::text FROM times;
UPDATE times SET d = at::text WHERE k = 2;
INSERT INTO times VALUES (6, '31.12.2024 10:00', 'german');
SELECT k, at, d FROM times WHERE k IN (2, 6) ORDER BY k;
RESET DateStyle;
SET IntervalStyle = 'iso_8601';
SELECT DISTINCT (interval '1 day 2 hours' + (k - k) * interval '1 h')::text FROM times;
RESET IntervalStyle;
SET extra_float_digits = -5;
SELECT DISTINCT (pi() + k - k)::text FROM times;
RESET extra_float_digits;
SET bytea_output = 'escape';
SELECT DISTINCT convert_to(d, 'UTF8')::text FROM times WHERE k = 1;
RESET bytea_output;
CREATE SCHEMA twice_other;
CREATE TABLE twice_other.a (k int PRIMARY KEY, v int, w text);
SELECT distribute('twice_other.a', 'k');
INSERT INTO twice_other.a VALUES (1, 111), (2, 222);
CREATE FUNCTION twice_other.mark(x int) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'other ' || x $$;
CREATE FUNCTION twice.mark(x int) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'twice ' || x $$;
SELECT v, mark(v) FROM a WHERE k = 15;
BEGIN;
SET LOCAL search_path = twice_other, twice;
SELECT v, mark(v) FROM a WHERE k = 1;
SELECT k, mark(k) FROM a ORDER BY k;
UPDATE a SET v = v + 1;
COMMIT;
SELECT v, mark(v) FROM a WHERE k = 15;
SELECT * FROM twice_other.a ORDER BY k;
DROP SCHEMA twice_other CASCADE;
SHOW TimeZone;

-- Isolation levels and read only transactions.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM a;
UPDATE a SET v = 1 WHERE k = 1;
SHOW transaction_isolation;
SELECT v FROM a WHERE k = 1;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT sum(v) FROM b;
INSERT INTO b VALUES (1, 1000, 1);
SELECT sum(v) FROM b;
ROLLBACK;
BEGIN READ ONLY;
SELECT count(*) FROM a;
UPDATE a SET v = 1 WHERE k = 1;
ROLLBACK;
BEGIN READ ONLY; INSERT INTO a VALUES (2000, 1); ROLLBACK;
BEGIN READ ONLY; DELETE FROM a; ROLLBACK;
BEGIN READ ONLY; TRUNCATE a; ROLLBACK;
BEGIN READ ONLY; CREATE TABLE ro (k int); ROLLBACK;
BEGIN READ ONLY; COPY a FROM STDIN; ROLLBACK;
BEGIN READ ONLY; SELECT k FROM a WHERE k = 1 FOR UPDATE; ROLLBACK;
BEGIN READ ONLY; WITH x AS (UPDATE a SET v = 1 RETURNING 1) SELECT count(*) FROM x; ROLLBACK;
SET default_transaction_read_only = on;
UPDATE a SET v = 1 WHERE k = 1;
UPDATE r SET v = 1 WHERE id = 1;
SELECT count(*) FROM a;
RESET default_transaction_read_only;
BEGIN;
SELECT count(*) FROM a;
SET TRANSACTION READ ONLY;
UPDATE a SET v = 1 WHERE k = 1;
ROLLBACK;
BEGIN;
SELECT count(*) FROM a;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
ROLLBACK;
SET default_transaction_isolation = 'repeatable read';
SELECT count(*) FROM a;
UPDATE a SET v = 2 WHERE k = 2;
RESET default_transaction_isolation;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE; SELECT count(*) FROM a; COMMIT;
SELECT state();

-- Changes of schema and rows in one block.
BEGIN;
CREATE TABLE d (k int PRIMARY KEY, v int);
SELECT distribute('d', 'k');
INSERT INTO d SELECT i, i FROM generate_series(1, 30) i;
ALTER TABLE d ADD COLUMN x int DEFAULT 5;
UPDATE d SET x = k WHERE k < 10;
CREATE INDEX d_x ON d (x);
SELECT count(*), sum(x) FROM d;
SAVEPOINT before;
ALTER TABLE d DROP COLUMN v;
INSERT INTO d VALUES (100, 100);
SELECT * FROM d WHERE k = 100;
ROLLBACK TO before;
INSERT INTO d VALUES (100, 100);
SELECT * FROM d WHERE k = 100;
ALTER TABLE d ADD CONSTRAINT few CHECK (x < 50);
INSERT INTO d VALUES (101, 1, 51);
ROLLBACK;
SELECT * FROM d;
BEGIN;
CREATE TABLE d (k int PRIMARY KEY, v int);
INSERT INTO d SELECT i, i FROM generate_series(1, 30) i;
SELECT distribute('d', 'k');
SELECT count(*), sum(v) FROM d;
ALTER TABLE d RENAME COLUMN v TO vv;
ALTER TABLE d RENAME TO e;
UPDATE e SET vv = 1;
TRUNCATE e;
INSERT INTO e VALUES (1, 1);
COMMIT;
SELECT * FROM e;
BEGIN; DROP TABLE e; SELECT * FROM e; ROLLBACK;
SELECT * FROM e;
BEGIN; TRUNCATE a CASCADE; SELECT count(*) FROM a; INSERT INTO a VALUES (1, 1); ROLLBACK;
BEGIN; DROP TABLE e; CREATE TABLE e (k text); INSERT INTO e VALUES ('local'); SELECT * FROM e; COMMIT;
SELECT * FROM e;
SELECT state();

-- COPY in a block.
BEGIN;
COPY a FROM STDIN;
801	1	x
802	2	y
803	3	\N
\.
SELECT count(*) FROM a WHERE k > 800;
SAVEPOINT c;
COPY a FROM STDIN;
804	1	x
801	2	y
\.
ROLLBACK TO c;
COPY r FROM STDIN;
801	1
\.
COPY (SELECT k, v FROM a WHERE k > 800 ORDER BY k) TO STDOUT;
UPDATE a SET v = v + 1 WHERE k > 800;
COMMIT;
SELECT k, v, w FROM a WHERE k > 800 ORDER BY k;
SELECT count(*) FROM r;
BEGIN;
COPY a (k) FROM STDIN;
901
902
\.
ROLLBACK;
SELECT count(*) FROM a WHERE k > 900;

-- Cursors.
BEGIN;
DECLARE c1 CURSOR FOR SELECT k, v FROM a ORDER BY k;
DECLARE c2 CURSOR FOR SELECT k, count(*) FROM b GROUP BY k ORDER BY k;
FETCH 2 FROM c1;
FETCH 2 FROM c2;
FETCH 1 FROM c1;
FETCH NEXT FROM c2;
UPDATE a SET v = 555 WHERE k IN (4, 5);
INSERT INTO b VALUES (14, 9999, 1);
FETCH 3 FROM c1;
FETCH FORWARD ALL FROM c2;
MOVE 5 IN c1;
FETCH c1;
MOVE ALL IN c1;
FETCH c1;
CLOSE c1;
SELECT count(*) FROM a WHERE v = 555;
COMMIT;
FETCH c2;
BEGIN;
DECLARE sc SCROLL CURSOR FOR SELECT k FROM a ORDER BY k;
FETCH FIRST FROM sc;
FETCH LAST FROM sc;
FETCH PRIOR FROM sc;
FETCH ABSOLUTE 3 FROM sc;
FETCH RELATIVE -1 FROM sc;
FETCH BACKWARD 2 FROM sc;
FETCH ABSOLUTE -2 FROM sc;
MOVE FIRST IN sc;
FETCH 2 FROM sc;
ROLLBACK;
BEGIN;
DECLARE ns NO SCROLL CURSOR FOR SELECT k FROM a ORDER BY k;
FETCH 3 FROM ns;
FETCH BACKWARD 1 FROM ns;
ROLLBACK;
BEGIN;
DECLARE h CURSOR WITH HOLD FOR SELECT k, v FROM a WHERE k < 10 ORDER BY k;
FETCH 2 FROM h;
DELETE FROM a WHERE k = 7;
COMMIT;
FETCH ALL FROM h;
SELECT name, is_holdable FROM pg_cursors;
CLOSE h;
DECLARE h2 SCROLL CURSOR WITH HOLD FOR SELECT k, v FROM a WHERE k = 8;
FETCH h2;
FETCH BACKWARD 1 FROM h2;
FETCH h2;
CLOSE ALL;
BEGIN;
DECLARE c1 CURSOR FOR SELECT k FROM a ORDER BY k;
FETCH 1 FROM c1;
SAVEPOINT s1;
DECLARE c2 CURSOR FOR SELECT k FROM b ORDER BY k, id;
FETCH 2 FROM c2;
FETCH 1 FROM c1;
SELECT 1/0;
ROLLBACK TO s1;
FETCH 1 FROM c1;
FETCH 1 FROM c2;
ROLLBACK;
BEGIN;
DECLARE c1 CURSOR FOR SELECT k FROM a ORDER BY k;
FETCH 1 FROM c1;
DROP TABLE a;
CLOSE c1;
ROLLBACK;
DECLARE c1 CURSOR FOR SELECT k FROM a;
DO $$
DECLARE c CURSOR (key int) FOR SELECT k, v FROM a WHERE k > key ORDER BY k; row record; n int := 0; ref refcursor;
BEGIN
	FOR row IN c(10) LOOP n := n + row.k; EXIT WHEN n > 60; END LOOP;
	OPEN ref FOR SELECT k FROM b ORDER BY k DESC, id;
	FETCH ref INTO row;
	RAISE WARNING '% %', n, row.k;
	MOVE FORWARD 3 FROM ref;
	FETCH ref INTO row;
	RAISE WARNING '%', row.k;
	CLOSE ref;
END $$;
CREATE FUNCTION give_cursor(refcursor) RETURNS refcursor LANGUAGE plpgsql AS $$ BEGIN OPEN $1 FOR SELECT k, v FROM a ORDER BY k; RETURN $1; END $$;
BEGIN;
SELECT give_cursor('given');
FETCH 3 FROM given;
COMMIT;
BEGIN;
DECLARE cu CURSOR FOR SELECT k, v FROM a WHERE k = 8 FOR UPDATE;
FETCH cu;
UPDATE a SET v = 88 WHERE k = 8;
COMMIT;
SELECT state();

-- Temporary tables beside distributed ones.
CREATE TEMP TABLE tmp (k int, x text);
INSERT INTO tmp SELECT k, 'from a' FROM a WHERE k < 6;
SELECT tmp.k, a.v, x FROM tmp JOIN a USING (k) ORDER BY k;
INSERT INTO a SELECT k + 1000, k, x FROM tmp;
UPDATE a SET w = 'tmp' WHERE k > 1000 AND k < 1003;
UPDATE tmp SET x = a.w FROM a WHERE a.k = tmp.k + 1000;
SELECT * FROM tmp ORDER BY k;
DELETE FROM tmp WHERE k IN (SELECT k FROM b);
BEGIN;
CREATE TEMP TABLE tmp2 ON COMMIT DROP AS SELECT k, v FROM a WHERE k > 1000;
SELECT count(*) FROM tmp2 JOIN a USING (k, v);
INSERT INTO b SELECT k, 1, v FROM tmp2;
COMMIT;
SELECT * FROM tmp2;
SELECT count(*) FROM b WHERE k > 1000;
CREATE TEMP TABLE a (k int, v text);
INSERT INTO a VALUES (1, 'temporary');
SELECT * FROM a;
SELECT count(*) > 10 FROM twice.a;
DROP TABLE a;
SELECT count(*) > 10 FROM a;
CREATE TEMP VIEW tv AS SELECT k, v FROM a WHERE k > 1000;
SELECT * FROM tv ORDER BY k;
DROP VIEW tv;
DROP TABLE tmp;

-- Locks.
BEGIN; LOCK TABLE a; UPDATE a SET v = 1 WHERE k = 1; COMMIT;
BEGIN; LOCK TABLE a, r IN SHARE MODE; SELECT count(*) FROM a; COMMIT;
BEGIN; LOCK TABLE a IN ACCESS EXCLUSIVE MODE NOWAIT; INSERT INTO a VALUES (1100, 1); ROLLBACK;
LOCK TABLE a;
BEGIN;
SELECT v FROM a WHERE k = 1 FOR UPDATE;
SELECT v FROM a WHERE k = 1 FOR SHARE NOWAIT;
SELECT v FROM a WHERE k = 1 FOR NO KEY UPDATE SKIP LOCKED;
SELECT a.v FROM a JOIN b USING (k) WHERE k = 2 ORDER BY b.id LIMIT 1 FOR UPDATE OF a;
SELECT v FROM r WHERE id = 1 FOR UPDATE;
SELECT v FROM s WHERE id = 2 FOR KEY SHARE;
UPDATE a SET v = v + 1 WHERE k = 1;
COMMIT;
SELECT count(*) FROM a FOR UPDATE;
BEGIN;
SELECT pg_advisory_xact_lock(4242), pg_try_advisory_lock(4343);
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid IN (4242, 4343) AND pid = pg_backend_pid();
UPDATE a SET v = 3 WHERE k = 3;
COMMIT;
SELECT pg_advisory_unlock(4343), count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4242;

-- Time limits; the session goes on.
SET statement_timeout = '200ms';
SELECT count(*) FROM a WHERE pg_sleep(0.3) IS NOT NULL;
SELECT count(pg_sleep(2)) FROM a;
SELECT pg_sleep(2) FROM a WHERE k = 1;
SELECT count(*) FROM r, pg_sleep(2);
RESET statement_timeout;
SELECT state();
BEGIN;
UPDATE a SET v = 77 WHERE k = 2;
SAVEPOINT t;
SET LOCAL statement_timeout = '1s';
SELECT count(pg_sleep(2)) FROM a;
ROLLBACK TO t;
SELECT v FROM a WHERE k = 2;
UPDATE a SET v = 78 WHERE k = 3;
COMMIT;
SELECT k, v FROM a WHERE k IN (2, 3) ORDER BY k;
SET lock_timeout = '100ms';
SELECT count(*) > 0 FROM a;
RESET lock_timeout;

-- Roles.
CREATE ROLE twice_reader LOGIN;
CREATE ROLE twice_writer LOGIN;
GRANT USAGE ON SCHEMA twice TO twice_reader, twice_writer;
GRANT SELECT ON a, b, r TO twice_reader;
GRANT SELECT, INSERT, UPDATE ON a, r TO twice_writer;
GRANT SELECT (k), UPDATE (v) ON b TO twice_writer;
SET ROLE twice_reader;
SELECT count(*) > 0 FROM a;
SELECT count(*) > 0 FROM a JOIN b USING (k) JOIN r ON true;
SELECT v FROM a WHERE k = 2;
INSERT INTO a VALUES (3000, 1);
UPDATE a SET v = 1 WHERE k = 1;
UPDATE r SET v = 1 WHERE id = 1;
DELETE FROM a;
TRUNCATE a;
SELECT * FROM s;
SELECT * FROM s WHERE id = 1;
SELECT * FROM a JOIN s ON s.id = a.k;
\copy a FROM /dev/null
COPY s TO STDOUT;
ALTER TABLE a ADD COLUMN z int;
DROP TABLE a;
CREATE INDEX ON a (v);
SELECT k FROM a WHERE k = 1 FOR UPDATE;
LOCK TABLE a IN EXCLUSIVE MODE;
RESET ROLE;
SET ROLE twice_writer;
INSERT INTO a VALUES (3001, 1) RETURNING current_user;
INSERT INTO a VALUES (3001, 1) ON CONFLICT (k) DO UPDATE SET v = 2;
UPDATE a SET v = 3 WHERE k = 3001;
UPDATE a SET v = 3 WHERE v = 77;
DELETE FROM a WHERE k = 3001;
INSERT INTO r VALUES (3001, 1);
SELECT count(k) > 0 FROM b;
SELECT count(v) FROM b;
SELECT * FROM b WHERE k = 1;
UPDATE b SET v = 1 WHERE k = 1;
UPDATE b SET id = 1 WHERE k = 1;
UPDATE b SET v = 1 WHERE v = 1;
COPY a FROM STDIN;
3002	1	x
\.
INSERT INTO a SELECT id + 4000, v FROM r WHERE id < 3;
SELECT count(*) FROM a WHERE k > 3000;
RESET ROLE;
BEGIN;
UPDATE a SET v = 4 WHERE k = 3001;
SET LOCAL ROLE twice_reader;
SELECT v, current_user FROM a WHERE k = 3001;
SAVEPOINT p;
UPDATE a SET v = 5 WHERE k = 3001;
ROLLBACK TO p;
SET LOCAL ROLE twice_writer;
UPDATE a SET v = 6 WHERE k = 3001;
RESET ROLE;
SELECT v, current_user FROM a WHERE k = 3001;
COMMIT;
CREATE FUNCTION as_owner() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM twice.s';
CREATE VIEW vs AS SELECT id, v FROM s;
GRANT SELECT ON vs TO twice_reader;
SET ROLE twice_reader;
SELECT as_owner();
SELECT count(*) FROM s;
RESET ROLE;
SET SESSION AUTHORIZATION twice_reader;
SELECT count(*) > 0, session_user FROM a;
UPDATE a SET v = 1;
RESET SESSION AUTHORIZATION;
REVOKE SELECT ON a FROM twice_reader;
SET ROLE twice_reader;
SELECT count(*) FROM a;
RESET ROLE;
CREATE SCHEMA twice_own AUTHORIZATION twice_writer;
SET ROLE twice_writer;
CREATE TABLE twice_own.t (k int PRIMARY KEY, v int);
RESET ROLE;
GRANT USAGE ON SCHEMA twice_own TO twice_reader;
SET ROLE twice_writer;
SELECT twice.distribute('twice_own.t', 'k');
INSERT INTO twice_own.t VALUES (1, 1), (2, 2);
GRANT SELECT ON twice_own.t TO twice_reader;
SET ROLE twice_reader;
SELECT * FROM twice_own.t ORDER BY k;
DELETE FROM twice_own.t;
RESET ROLE;
DROP SCHEMA twice_own CASCADE;
DROP OWNED BY twice_reader, twice_writer;
DROP ROLE twice_reader, twice_writer;

-- Triggers of local tables that write distributed ones; constraint modes.
CREATE FUNCTION log_l() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO twice.b VALUES (NEW.id, 7777, NEW.v); RETURN NEW; END $$;
CREATE TRIGGER log_l AFTER INSERT ON l FOR EACH ROW EXECUTE FUNCTION log_l();
INSERT INTO l VALUES (5000, 1), (5001, 2);
SELECT k, v FROM b WHERE id = 7777 ORDER BY k;
BEGIN; INSERT INTO l VALUES (5002, 1); ROLLBACK;
SELECT count(*) FROM b WHERE id = 7777;
PREPARE TRANSACTION 'nothing';
SELECT count(*) FROM pg_prepared_xacts;

-- Transactions that the client prepares.
BEGIN; UPDATE a SET v = v + 1; SAVEPOINT s; DELETE FROM b; ROLLBACK TO s; INSERT INTO b VALUES (8000, 1, 1), (8001, 2, 2); PREPARE TRANSACTION 'held';
SELECT count(*) FROM pg_prepared_xacts WHERE gid = 'held';
SELECT state();
BEGIN; COMMIT PREPARED 'held'; ROLLBACK;
COMMIT PREPARED 'held';
SELECT state();
BEGIN; DELETE FROM b WHERE id >= 8000; PREPARE TRANSACTION 'held';
BEGIN; UPDATE a SET v = 0; PREPARE TRANSACTION 'held';
SET lock_timeout = '300ms'; DELETE FROM b WHERE id = 8000; RESET lock_timeout;
ROLLBACK PREPARED 'held';
SELECT state();
BEGIN; UPDATE a SET v = 1 / 0; PREPARE TRANSACTION 'held';
COMMIT PREPARED 'held'; ROLLBACK PREPARED 'held';
BEGIN; CREATE TEMP TABLE t_held (k int); UPDATE a SET v = 0; PREPARE TRANSACTION 'held';
BEGIN; DECLARE held CURSOR WITH HOLD FOR SELECT k FROM a; UPDATE a SET v = 0; PREPARE TRANSACTION 'held';
BEGIN READ ONLY; SELECT count(*) > 0 FROM a; PREPARE TRANSACTION 'held';
COMMIT PREPARED 'held';
SELECT state();
DELETE FROM b WHERE id >= 8000;
DISCARD ALL;
SET search_path = twice;
SELECT count(*) > 0 FROM a;
SELECT state();
