-- Subqueries in ON CONFLICT DO UPDATE where the row that is in the way is updated in the client's backend: its
-- triggers fire, its distribution column changes, or a function of users is beside them.
CREATE TABLE t (k int PRIMARY KEY, v int CHECK (v < 5000), n text, dropped int);
ALTER TABLE t DROP COLUMN dropped;
CREATE TABLE m (k int PRIMARY KEY, v int CHECK (v < 5000));
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE rr (id int PRIMARY KEY, v int);
CREATE TABLE pt (k int, at int, v int, PRIMARY KEY (k, at)) PARTITION BY RANGE (at);
CREATE TABLE pt_0 PARTITION OF pt FOR VALUES FROM (0) TO (10);
CREATE TABLE pt_1 (v int, at int NOT NULL, k int NOT NULL);
ALTER TABLE pt ATTACH PARTITION pt_1 FOR VALUES FROM (10) TO (20);
CREATE TABLE o (k int, x int);
CREATE TABLE own (k int, x int);
SELECT distribute('t', 'k');
SELECT distribute('m', 'k');
SELECT distribute('pt', 'k');
SELECT distribute('o', 'x');
SELECT reference('r');
SELECT reference('rr');
INSERT INTO t SELECT i, i, 'a' FROM generate_series(1, 10) i;
INSERT INTO m SELECT i, i FROM generate_series(1, 10) i;
INSERT INTO r SELECT i, i * 100 FROM generate_series(1, 10) i;
INSERT INTO pt SELECT i, i, i FROM generate_series(1, 19) i;
INSERT INTO o SELECT i % 10, i FROM generate_series(1, 50) i;
INSERT INTO own SELECT i % 10, i FROM generate_series(1, 20) i;
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.n := coalesce(NEW.n, '') || ' ' || TG_OP; RETURN NEW; END $$;
CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := NEW.v + 1; RETURN NEW; END $$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION stamp();
CREATE TRIGGER more BEFORE UPDATE ON r FOR EACH ROW EXECUTE FUNCTION more();
CREATE TRIGGER more BEFORE UPDATE ON pt FOR EACH ROW EXECUTE FUNCTION more();
CREATE FUNCTION plus(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN i + 1; END $$;
-- Correlated with the row, with what it was to be, with neither.
INSERT INTO t VALUES (1, 5), (11, 6) ON CONFLICT (k) DO UPDATE SET v = (SELECT sum(x) FROM o WHERE o.k = t.k) RETURNING *;
INSERT INTO t VALUES (2, 5), (12, 6) ON CONFLICT (k) DO UPDATE SET v = (SELECT sum(x) FROM o WHERE o.k = excluded.k) + excluded.v, n = (SELECT 'r' || v FROM r WHERE id = t.k) WHERE EXISTS (SELECT FROM own WHERE own.k = t.v) RETURNING *;
INSERT INTO t VALUES (4, 6) ON CONFLICT ON CONSTRAINT t_pkey DO UPDATE SET v = DEFAULT, n = (SELECT string_agg(n, ',' ORDER BY k) FROM t) RETURNING *;
INSERT INTO t AS x VALUES (5, 5), (6, 6) ON CONFLICT (k) DO UPDATE SET v = (SELECT max(i) FROM (SELECT o.x + x.v AS i FROM o WHERE o.k IN (SELECT own.k FROM own WHERE own.x = excluded.v + x.k)) s);
INSERT INTO t SELECT k, count(*) FROM o GROUP BY k ON CONFLICT (k) DO UPDATE SET v = (SELECT max(x) FROM o WHERE o.k = excluded.k) WHERE (SELECT t.k % 2 = 0);
-- What WHERE leaves out isn't computed.
INSERT INTO t VALUES (7, 5), (8, 6) ON CONFLICT (k) DO UPDATE SET v = (SELECT sum(x / (t.k - 7)) FROM o) WHERE t.k <> 7;
INSERT INTO t VALUES (7, 5), (8, 6) ON CONFLICT (k) DO UPDATE SET v = (SELECT sum(x / (t.k - 7)) FROM o) WHERE t.k < 100;
-- Rows move; the same row twice; a check; several rows of a subquery.
INSERT INTO m VALUES (1, 1), (2, 2) ON CONFLICT (k) DO UPDATE SET k = (SELECT 100 + max(x) + excluded.k FROM o), v = (SELECT count(*) FROM r) RETURNING *;
INSERT INTO m VALUES (7, 1) ON CONFLICT (k) DO UPDATE SET k = (SELECT max(k) + 1 FROM m) RETURNING *;
INSERT INTO m VALUES (3, 1), (3, 2) ON CONFLICT (k) DO UPDATE SET k = (SELECT 300), v = 1;
INSERT INTO t VALUES (9, 9), (9, 9) ON CONFLICT (k) DO UPDATE SET v = (SELECT 1);
INSERT INTO t VALUES (9, 9) ON CONFLICT (k) DO UPDATE SET v = (SELECT 10000 + count(*) FROM o);
INSERT INTO t VALUES (9, 9) ON CONFLICT (k) DO UPDATE SET v = (SELECT x FROM o);
INSERT INTO m VALUES (4, 1) ON CONFLICT (k) DO UPDATE SET v = plus((SELECT count(*) FROM o WHERE o.k = m.k)::int) RETURNING *;
-- A constraint without an index, of a table with triggers and of one without.
INSERT INTO t VALUES (4, 1) ON CONFLICT ON CONSTRAINT t_v_check DO UPDATE SET v = 1;
INSERT INTO m VALUES (4, 1) ON CONFLICT ON CONSTRAINT m_v_check DO UPDATE SET v = 1;
INSERT INTO m VALUES (4, 1), (5, 1) ON CONFLICT ON CONSTRAINT m_v_check DO NOTHING;
-- Copies, partitions.
INSERT INTO r VALUES (1, 1), (20, 20) ON CONFLICT (id) DO UPDATE SET v = (SELECT count(*) FROM o WHERE o.k = r.id + excluded.v) RETURNING *;
INSERT INTO pt VALUES (12, 12, 0), (3, 3, 0), (3, 4, 0) ON CONFLICT (k, at) DO UPDATE SET v = (SELECT count(*) FROM o WHERE o.x > pt.at) + excluded.at RETURNING *;
INSERT INTO pt VALUES (13, 13, 0) ON CONFLICT (k, at) DO UPDATE SET v = (SELECT count(*) FROM pt p WHERE p.at > pt.at) + excluded.at RETURNING *;
-- Copies without triggers: rows of a query with LIMIT, which is run once.
INSERT INTO rr SELECT i, i FROM generate_series(1, 3) i;
INSERT INTO rr SELECT k, count(*) FROM o GROUP BY k ORDER BY 1 LIMIT 4 ON CONFLICT (id) DO UPDATE SET v = (SELECT count(*) FROM o z WHERE z.k <> rr.id OR z.k = excluded.id);
SELECT * FROM rr ORDER BY id;
-- Beside another change, of what they read.
WITH u AS (UPDATE o SET x = x + 1 WHERE k = 9 RETURNING k) INSERT INTO t SELECT max(k), 1 FROM u ON CONFLICT (k) DO UPDATE SET v = (SELECT sum(x) FROM o WHERE k = t.k) RETURNING *;
-- Parameters: of a client, of a function; a transaction; a savepoint.
PREPARE p (int, int) AS INSERT INTO t VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = (SELECT sum(x) + $2 FROM o WHERE o.k = $1), n = 'p' RETURNING *;
EXECUTE p (3, 1000);
EXECUTE p (3, 2000);
EXECUTE p (4, 3000);
EXECUTE p (30, 4000);
EXECUTE p (3, 4);
EXECUTE p (3, 5);
EXECUTE p (3, 6);
CREATE FUNCTION upsert(i int, j int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE z int := i * 2; r int; BEGIN INSERT INTO t VALUES (i, z) ON CONFLICT (k) DO UPDATE SET v = (SELECT count(*) + z + j FROM o WHERE o.k < z AND t.k = i) RETURNING v INTO r; RETURN r; END $$;
SELECT upsert(i, 3) FROM generate_series(1, 8) i;
BEGIN;
INSERT INTO t VALUES (10, 1) ON CONFLICT (k) DO UPDATE SET v = (SELECT max(v) + 1 FROM t);
SAVEPOINT s;
INSERT INTO t VALUES (10, 1) ON CONFLICT (k) DO UPDATE SET v = (SELECT t.v + 1 FROM t y WHERE y.k = t.k);
ROLLBACK TO s;
INSERT INTO t VALUES (10, 1) ON CONFLICT (k) DO UPDATE SET n = (SELECT n || v FROM t y WHERE y.k = t.k);
COMMIT;
SELECT * FROM t ORDER BY k;
SELECT * FROM m ORDER BY k;
SELECT * FROM r ORDER BY id;
SELECT * FROM pt ORDER BY k, at;
