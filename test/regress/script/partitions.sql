-- By range, list and hash, in two levels, with a default partition; columns of a partition in
-- another order and with a dropped one; rows before the table is distributed.
CREATE TABLE ref (id int PRIMARY KEY, name text);
INSERT INTO ref SELECT i, 'n' || i FROM generate_series(0, 9) i;
SELECT reference('ref');
CREATE TABLE owner (k int PRIMARY KEY, t text);
INSERT INTO owner SELECT i, 'o' || i FROM generate_series(1, 40) i;
SELECT distribute('owner', 'k');
CREATE TABLE p (k int NOT NULL, d date NOT NULL, kind text DEFAULT 'x', v int CHECK (v < 100000), PRIMARY KEY (k, d, v)) PARTITION BY RANGE (d);
CREATE TABLE p_2024 PARTITION OF p FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE p_2025 (gone int, v int NOT NULL, kind text, d date NOT NULL, k int NOT NULL, CONSTRAINT p_v_check CHECK (v < 100000), CONSTRAINT own CHECK (kind <> 'bad'));
ALTER TABLE p_2025 DROP gone;
ALTER TABLE p ATTACH PARTITION p_2025 FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
CREATE TABLE p_2026 PARTITION OF p FOR VALUES FROM ('2026-01-01') TO ('2027-01-01') PARTITION BY RANGE (v);
CREATE TABLE p_2026_a PARTITION OF p_2026 FOR VALUES FROM (0) TO (200);
CREATE TABLE p_2026_rest PARTITION OF p_2026 DEFAULT;
CREATE TABLE p_rest PARTITION OF p DEFAULT;
CREATE INDEX p_kind ON p (kind);
INSERT INTO p SELECT i % 40 + 1, date '2023-06-01' + i * 5, chr(97 + i % 5), i FROM generate_series(1, 300) i;
SELECT distribute('p', 'k', 'owner');
CREATE TABLE h (id int, w text, n int) PARTITION BY HASH (n);
CREATE TABLE h0 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE h1 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO h SELECT i, 'w' || i, i % 7 FROM generate_series(1, 50) i;
SELECT distribute('h', 'id', 'none');
CREATE TABLE pr (id int PRIMARY KEY, t text) PARTITION BY RANGE (id);
CREATE TABLE pr1 PARTITION OF pr FOR VALUES FROM (0) TO (10);
INSERT INTO pr SELECT i, 't' || i FROM generate_series(0, 9) i;
SELECT reference('pr');
CREATE TABLE prv (id int, v int, t text, PRIMARY KEY (id, v)) PARTITION BY LIST (v);
CREATE TABLE prv0 PARTITION OF prv FOR VALUES IN (0);
CREATE TABLE prv1 PARTITION OF prv DEFAULT;
INSERT INTO prv SELECT i / 2, i % 2 FROM generate_series(0, 9) i;
SELECT reference('prv');
CREATE TABLE ps (id int, t text) PARTITION BY LIST (t);
CREATE TABLE ps1 PARTITION OF ps FOR VALUES IN ('a');
CREATE TABLE ps2 PARTITION OF ps DEFAULT;
INSERT INTO ps SELECT i, chr(97 + i % 3) FROM generate_series(0, 9) i;
SELECT single('ps');

-- Through the parent, through a level, on one alone.
SELECT count(*), sum(v), min(d), max(d) FROM p;
SELECT count(*), sum(v) FROM p_2024;
SELECT count(*), sum(v) FROM p_2025;
SELECT count(*), sum(v) FROM p_2026;
SELECT count(*), sum(v) FROM p_2026_a;
SELECT count(*), sum(v) FROM p_rest;
SELECT * FROM p WHERE k = 7 ORDER BY d;
SELECT * FROM p_2025 WHERE k = 7 ORDER BY d;
SELECT k, v FROM p WHERE d BETWEEN '2025-02-01' AND '2025-02-20' ORDER BY d;
SELECT kind, count(*), sum(v) FROM p GROUP BY kind ORDER BY kind;
SELECT k, count(*) FROM p WHERE d >= '2026-01-01' GROUP BY k ORDER BY k;
SELECT o.t, count(*), sum(p.v) FROM owner o JOIN p USING (k) GROUP BY o.t ORDER BY o.t;
SELECT a.v, b.v FROM p_2024 a JOIN p_2025 b ON a.k = b.k AND a.v + 80 = b.v ORDER BY 1;
SELECT h.w, p.v FROM h JOIN p ON h.n = p.k WHERE p.d < '2024-03-01' ORDER BY 2, 1 LIMIT 20;
SELECT to_jsonb(pr), pr FROM pr ORDER BY id;
SELECT h.id, to_jsonb(r) FROM h LEFT JOIN pr r ON h.n = r.id + 3 WHERE h.id < 8 ORDER BY 1;
SELECT x FROM (SELECT p FROM p WHERE v < 4) x ORDER BY (p).v;
SELECT (SELECT q FROM pr q WHERE q.id = h.n) FROM h WHERE id = 5;
SELECT w, n FROM h WHERE n = 3 ORDER BY id;
SELECT * FROM h WHERE id = 17;
SELECT pr.t, r.name FROM pr JOIN ref r USING (id) ORDER BY id;
SELECT t, count(*) FROM ps GROUP BY t ORDER BY t;
SELECT * FROM ps1 ORDER BY id;

-- Which partition a row is of.
SELECT tableoid::regclass, count(*), sum(v) FROM p GROUP BY tableoid ORDER BY sum(v);
SELECT tableoid::regclass, tableoid = 'p_2024'::regclass, v FROM p WHERE k = 7 ORDER BY d;
SELECT count(*) FROM p WHERE tableoid = 'p_2025'::regclass;
SELECT count(*) FROM p WHERE tableoid IN ('p_2025'::regclass, 'p_2026_a'::regclass);
SELECT count(*) FROM p WHERE tableoid::regclass::text ~ '2026';
SELECT count(*) FROM p WHERE tableoid = 'p_2026'::regclass;
SELECT count(*) FROM p WHERE k = 8 AND tableoid <> 'p_2026_a'::regclass;
SELECT count(DISTINCT tableoid), min(tableoid) = max(tableoid) FROM p_2026;
SELECT tableoid::regclass FROM p_2025 LIMIT 1;
SELECT a.v, a.tableoid::regclass, b.tableoid::regclass FROM p a JOIN p b ON a.k = b.k AND a.v + 80 = b.v WHERE a.tableoid <> b.tableoid ORDER BY 1;
SELECT o.k, p.tableoid::regclass, p FROM owner o LEFT JOIN p ON p.k = o.k AND p.v < 20 WHERE o.k < 25 ORDER BY 1;
SELECT o.t, (SELECT string_agg(tableoid::regclass::text, ' ' ORDER BY v) FROM p WHERE p.k = o.k) FROM owner o WHERE o.k IN (4, 14) ORDER BY 1;
SELECT o.k, q.n FROM owner o, LATERAL (SELECT count(*) AS n FROM h WHERE h.n = o.k AND h.tableoid = 'h1'::regclass) q WHERE o.k < 8 ORDER BY 1;
SELECT tableoid::regclass, count(*) OVER (PARTITION BY tableoid), id FROM h ORDER BY id LIMIT 7;
SELECT DISTINCT tableoid::regclass FROM h ORDER BY 1;
SELECT h.tableoid::regclass, pr.tableoid::regclass, count(*) FROM h JOIN pr ON h.n = pr.id GROUP BY h.tableoid, pr.tableoid ORDER BY 3;
SELECT tableoid::regclass, * FROM pr ORDER BY id LIMIT 3;
SELECT tableoid::regclass, count(*) FROM ps GROUP BY tableoid ORDER BY 2;
SELECT tableoid::regclass, id FROM h WHERE id < 4 ORDER BY id FOR UPDATE;
SELECT tableoid::regclass, id FROM h ORDER BY n, id LIMIT 4 FOR UPDATE;
SELECT tableoid::regclass FROM h WHERE id = 3 UNION ALL SELECT tableoid::regclass FROM ps WHERE id < 2;
WITH q AS MATERIALIZED (SELECT tableoid AS part, n FROM h) SELECT part::regclass, sum(n) FROM q GROUP BY part ORDER BY 2;
SELECT count(*) FROM ONLY p WHERE tableoid = 'p'::regclass;
SELECT ctid IS NULL, tableoid::regclass, xmin IS NULL, k FROM p WHERE v < 4 ORDER BY v;
CREATE VIEW parts AS SELECT tableoid AS part, * FROM h;
SELECT part::regclass, count(*) FROM parts WHERE n < 4 GROUP BY part ORDER BY 2;
DROP VIEW parts;
PREPARE of_part(regclass) AS SELECT count(*) FROM p WHERE tableoid = $1;
EXECUTE of_part('p_2024');
EXECUTE of_part('p_rest');
SET plan_cache_mode = force_generic_plan;
EXECUTE of_part('p_2024');
EXECUTE of_part('p_rest');
PREPARE of_row(int) AS SELECT tableoid::regclass, v FROM p WHERE k = $1 ORDER BY v;
EXECUTE of_row(3);
EXECUTE of_row(4);
RESET plan_cache_mode;
DEALLOCATE ALL;
BEGIN;
INSERT INTO h VALUES (101, 'ret', 3), (102, 'ret', 4) RETURNING id, tableoid::regclass \g |sort
INSERT INTO p (k, d, v) SELECT k, d + 1000, v + 2000 FROM p WHERE v < 5 RETURNING v, tableoid::regclass \g |sort
INSERT INTO pr VALUES (3, 'again') ON CONFLICT (id) DO UPDATE SET t = pr.tableoid = 'pr1'::regclass RETURNING *, tableoid::regclass;
UPDATE h SET n = n + 1 WHERE tableoid = 'h0'::regclass AND id < 20 RETURNING id, tableoid::regclass \g |sort
UPDATE h SET w = h.tableoid::regclass::text || pr.tableoid::regclass FROM pr WHERE pr.id = h.n AND h.id < 9 RETURNING h.* \g |sort
UPDATE pr SET t = tableoid::regclass WHERE id = 4 RETURNING tableoid::regclass, *;
DELETE FROM p WHERE tableoid = 'p_2026_a'::regclass AND k = 3;
DELETE FROM ps WHERE tableoid = 'ps2'::regclass AND id = 1 RETURNING tableoid::regclass, id;
MERGE INTO h USING generate_series(1, 60) l ON h.id = l WHEN MATCHED AND h.tableoid = 'h1'::regclass THEN UPDATE SET w = 'in h1' WHEN NOT MATCHED AND l < 54 THEN INSERT VALUES (l, 'new', l);
SELECT tableoid::regclass, * FROM h ORDER BY id;
SELECT tableoid::regclass, count(*), sum(v) FROM p GROUP BY tableoid ORDER BY sum(v);
ROLLBACK;

-- Rows come.
INSERT INTO p VALUES (1, '2024-05-05', 'a', 1001), (2, '2025-05-05', 'b', 1002), (3, '2026-05-05', 'a', 1003), (4, '2030-01-01', 'q', 1004);
INSERT INTO p (k, d, v) SELECT k, d + 1000, v + 2000 FROM p WHERE v < 50;
INSERT INTO p_2024 VALUES (5, '2024-07-07', 'c', 1005);
INSERT INTO p_2025 (k, d, kind, v) VALUES (5, '2025-07-07', 'c', 1006);
INSERT INTO p_2024 VALUES (5, '2025-07-07', 'c', 1007);
INSERT INTO p VALUES (5, '2025-08-07', 'bad', 1008);
INSERT INTO p VALUES (5, '2025-08-07', 'c', 100008);
INSERT INTO p VALUES (1, '2024-05-05', 'a', 1001);
INSERT INTO p VALUES (1, '2024-05-05', 'a', 1001) ON CONFLICT DO NOTHING;
INSERT INTO p VALUES (1, '2024-05-05', 'a', 1001) ON CONFLICT (k, d, v) DO UPDATE SET kind = 'upd' RETURNING *;
INSERT INTO pr VALUES (100, 'none');
INSERT INTO ps VALUES (20, 'a'), (21, 'z') RETURNING *;
COPY p (v, k, d, kind) FROM stdin;
1009	6	2024-09-09	a
1010	6	2025-09-09	b
1011	6	2026-09-09	c
1012	6	2027-09-09	d
\.
COPY p_2024 FROM stdin;
9	2026-09-09	a	1
\.
COPY (SELECT * FROM p ORDER BY v DESC LIMIT 5) TO stdout;
COPY p TO stdout;
SELECT count(*), sum(v) FROM p_2024;
SELECT count(*), sum(v) FROM p_2025;
SELECT count(*), sum(v) FROM p_2026_a;
SELECT count(*), sum(v) FROM p_2026_rest;
SELECT count(*), sum(v) FROM p_rest;

-- Rows change, and move between partitions.
UPDATE p SET kind = 'm' WHERE k = 7;
UPDATE p SET d = d + 365 WHERE v BETWEEN 100 AND 120 RETURNING k, d, v \g |sort
UPDATE p SET d = '2024-02-02' WHERE k = 3 AND v = 1003 RETURNING *;
UPDATE p_2024 SET d = '2025-02-02' WHERE v = 1003 AND k = 3;
UPDATE p_2026 SET v = v - 150 WHERE v > 250;
UPDATE h SET n = n + 1;
UPDATE ps SET t = 'b' WHERE id = 0;
UPDATE p SET kind = o.t FROM owner o WHERE o.k = p.k AND p.v < 30;
DELETE FROM p WHERE v BETWEEN 40 AND 45 RETURNING v \g |sort
DELETE FROM p_rest WHERE v = 1004;
DELETE FROM p USING owner o WHERE o.k = p.k AND o.t = 'o9';
SELECT count(*), sum(v), count(DISTINCT kind) FROM p_2024;
SELECT count(*), sum(v), count(DISTINCT kind) FROM p_2025;
SELECT count(*), sum(v), count(DISTINCT kind) FROM p_2026_a;
SELECT count(*), sum(v), count(DISTINCT kind) FROM p_2026_rest;
SELECT count(*), sum(v), count(DISTINCT kind) FROM p_rest;
SELECT n, count(*) FROM h0 GROUP BY n ORDER BY n;
SELECT n, count(*) FROM h1 GROUP BY n ORDER BY n;
SELECT * FROM ps2 ORDER BY id;

-- What is computed elsewhere changes the row that was found, not one with its number in another partition.
CREATE TABLE log (id int, v int);
INSERT INTO log SELECT i, i * 10 FROM generate_series(1, 60) i;
UPDATE h SET w = (SELECT 'l' || v FROM log WHERE log.id = h.id) WHERE n < 4;
SELECT * FROM h ORDER BY id;
UPDATE h SET w = w || log.v FROM log WHERE log.id = h.n + 1;
DELETE FROM h WHERE (w, n) IN (SELECT 'l' || v || 20, 1 FROM log);
SELECT * FROM h ORDER BY id;
MERGE INTO h USING log l ON h.n = l.id WHEN MATCHED AND h.id % 2 = 0 THEN UPDATE SET n = l.id + 1, w = 'm' || l.v WHEN MATCHED AND h.id % 3 = 0 THEN DELETE WHEN NOT MATCHED AND l.id < 12 THEN INSERT (id, n) VALUES (100 + l.id, l.v);
SELECT * FROM h ORDER BY id;
UPDATE prv SET t = ref.name FROM ref WHERE ref.id = prv.id;
MERGE INTO prv USING (SELECT n, count(*) AS c FROM h GROUP BY n) s ON s.n = prv.id WHEN MATCHED THEN UPDATE SET t = 'c' || c;
SELECT * FROM prv ORDER BY id, v;
WITH q AS (SELECT id FROM h ORDER BY id LIMIT 3 FOR UPDATE) DELETE FROM h USING q WHERE h.id = q.id RETURNING h.id \g |sort
BEGIN;
SELECT id, n FROM h ORDER BY n, id LIMIT 4 FOR UPDATE;
SELECT id, n FROM h WHERE n < 3 ORDER BY id FOR SHARE;
UPDATE p SET kind = 'found' WHERE (k, v) IN (SELECT k, v FROM p ORDER BY v LIMIT 9 FOR UPDATE);
COMMIT;
SELECT * FROM p WHERE kind = 'found' ORDER BY v;

-- New partitions, with what the parent has.
CREATE TABLE p_2028 PARTITION OF p FOR VALUES FROM ('2028-01-01') TO ('2029-01-01');
CREATE TABLE p_2028 PARTITION OF p FOR VALUES FROM ('2029-01-01') TO ('2030-01-01');
CREATE TABLE p_over PARTITION OF p FOR VALUES FROM ('2028-06-01') TO ('2029-06-01');
CREATE TABLE p_2027 PARTITION OF p FOR VALUES FROM ('2027-01-01') TO ('2028-01-01');
DELETE FROM p_rest WHERE d BETWEEN '2027-01-01' AND '2027-12-31';
CREATE TABLE p_2027 PARTITION OF p FOR VALUES FROM ('2027-01-01') TO ('2028-01-01') PARTITION BY HASH (k);
CREATE TABLE p_2027_0 PARTITION OF p_2027 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO p SELECT i, '2027-05-05', 'n', i FROM generate_series(1, 10) i;
INSERT INTO p SELECT i, '2028-05-05', 'n', i FROM generate_series(1, 10) i;
SELECT count(*) FROM p_2027_0;
SELECT count(*) FROM p_2028;
CREATE TABLE p_2029 (LIKE p INCLUDING ALL);
INSERT INTO p_2029 SELECT i, '2029-05-05', 'n', i FROM generate_series(1, 10) i;
INSERT INTO p_2029 VALUES (1, '2028-01-01', 'n', 1);
ALTER TABLE p ATTACH PARTITION p_2029 FOR VALUES FROM ('2029-01-01') TO ('2030-01-01');
DELETE FROM p_2029 WHERE d < '2029-01-01';
ALTER TABLE p ATTACH PARTITION p_2029 FOR VALUES FROM ('2029-01-01') TO ('2030-01-01');
SELECT * FROM p WHERE d > '2029-01-01' ORDER BY k, d;
ALTER TABLE p DETACH PARTITION p_2029;
SELECT count(*) FROM p WHERE d > '2029-01-01';
INSERT INTO p_2029 VALUES (11, '2031-01-01', 'n', 11), (12, '2029-01-01', 'n', 120000);
INSERT INTO p_2029 VALUES (11, '2031-01-01', 'n', 11);
ALTER TABLE p ATTACH PARTITION p_2029 FOR VALUES FROM ('2029-01-01') TO ('2030-01-01');
DELETE FROM p_2029 WHERE k = 11;
ALTER TABLE p ATTACH PARTITION p_2029 FOR VALUES FROM ('2029-01-01') TO ('2030-01-01');
SELECT count(*) FROM p_2029;
ALTER TABLE p DETACH PARTITION p_2026;
SELECT count(*), sum(v) FROM p;
SELECT count(*), sum(v) FROM p_2026;
ALTER TABLE p_2026 DROP CONSTRAINT p_v_check;
INSERT INTO p_2026 VALUES (1, '2040-01-01', 'q', 200000);
ALTER TABLE p ATTACH PARTITION p_2026 FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
DELETE FROM p_2026 WHERE v = 200000;
ALTER TABLE p_2026 ADD CONSTRAINT p_v_check CHECK (v < 100000);
ALTER TABLE p ATTACH PARTITION p_2026 FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
SELECT count(*), sum(v) FROM p;

-- The parent's columns, constraints and indexes.
ALTER TABLE p ADD extra int DEFAULT 5;
UPDATE p SET extra = k WHERE d < '2025-06-01';
SELECT sum(extra), count(extra) FROM p;
SELECT sum(extra) FROM p_2025;
ALTER TABLE p ALTER extra TYPE bigint;
ALTER TABLE p RENAME extra TO more;
ALTER TABLE p ADD CONSTRAINT few CHECK (more < 1000);
INSERT INTO p VALUES (1, '2024-06-06', 'a', 1, 1001);
INSERT INTO p_2025 (k, d, kind, v, more) VALUES (1, '2025-06-06', 'a', 1, 1001);
ALTER TABLE p_2025 DROP CONSTRAINT few;
ALTER TABLE p DROP CONSTRAINT few;
INSERT INTO p VALUES (1, '2025-06-06', 'a', 2, 1001);
CREATE INDEX ON p (more);
CREATE UNIQUE INDEX p_un ON p (d, more, k, v);
SELECT c.relname, i.relname FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid WHERE c.relname ~ '^p(_|$)' AND c.relname !~ '[0-9]{6}$' ORDER BY 1, 2;
DROP INDEX p_2024_more_idx;
DROP INDEX p_more_idx;
SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE i.relname ~ 'more' AND i.relname !~ '[0-9]{6}$' ORDER BY 1;
ALTER TABLE p ADD CONSTRAINT to_ref FOREIGN KEY (more) REFERENCES ref;
UPDATE p SET more = more % 10;
ALTER TABLE p ADD CONSTRAINT to_ref FOREIGN KEY (more) REFERENCES ref;
INSERT INTO p VALUES (2, '2024-06-06', 'a', 77, 11);
INSERT INTO p_2025 (k, d, kind, v, more) VALUES (2, '2025-06-06', 'a', 77, 11);
CREATE TABLE p_2031 PARTITION OF p FOR VALUES FROM ('2031-01-01') TO ('2032-01-01');
INSERT INTO p VALUES (2, '2031-06-06', 'a', 77, 11);
ALTER TABLE p DETACH PARTITION p_2031;
INSERT INTO p_2031 VALUES (2, '2031-06-06', 'a', 77, 11);
ALTER TABLE p_2031 DROP CONSTRAINT to_ref;
INSERT INTO p_2031 VALUES (2, '2031-06-06', 'a', 77, 11);
DELETE FROM ref WHERE id = 1;
ALTER TABLE p DROP CONSTRAINT to_ref;
ALTER TABLE p ADD CONSTRAINT to_owner FOREIGN KEY (k) REFERENCES owner ON DELETE CASCADE;
DELETE FROM owner WHERE k = 12;
SELECT count(*) FROM p WHERE k = 12;
CREATE TABLE child (k int, d date, v int, FOREIGN KEY (k, d, v) REFERENCES p);
INSERT INTO child SELECT k, d, v FROM p WHERE v < 20;
SELECT distribute('child', 'k', 'p');
DELETE FROM p WHERE v = 10;
INSERT INTO child VALUES (1, '2024-01-01', -1);
ALTER TABLE p DETACH PARTITION p_2025;
DROP TABLE child;
ALTER TABLE p DROP kind;
SELECT * FROM p WHERE k = 2 ORDER BY d, v;
ALTER TABLE p RENAME TO q;
ALTER TABLE q RENAME CONSTRAINT p_v_check TO q_v;
INSERT INTO q VALUES (1, '2024-06-06', 100001, 1);
ALTER TABLE q DROP CONSTRAINT q_v;
INSERT INTO q VALUES (1, '2024-06-06', 100001, 1);
ANALYZE q;
VACUUM q;

-- They go.
TRUNCATE p_2024;
SELECT count(*), sum(v) FROM q;
DROP TABLE p_2025;
DROP TABLE p_2026;
SELECT count(*), sum(v) FROM q;
TRUNCATE q;
SELECT count(*) FROM q;
DROP TABLE q;
SELECT count(*) FROM p_rest;
SELECT relname FROM pg_class WHERE relname ~ '^p_' ORDER BY 1;
DROP TABLE h, pr, prv, ps, p_2031;
-- Rights to the partitioned table are enough, also to lock rows that the client's node has joined.
CREATE ROLE twice_app;
GRANT USAGE ON SCHEMA twice TO twice_app;
CREATE TABLE pl (k int, at int, v int, PRIMARY KEY (k, at)) PARTITION BY RANGE (at);
CREATE TABLE pl_0 PARTITION OF pl FOR VALUES FROM (0) TO (10);
CREATE TABLE pl_1 PARTITION OF pl FOR VALUES FROM (10) TO (20);
CREATE TABLE other (a int PRIMARY KEY, b int);
SELECT distribute('pl', 'k');
SELECT distribute('other', 'a');
INSERT INTO pl SELECT i, i, i FROM generate_series(0, 19) i;
INSERT INTO other SELECT i, i FROM generate_series(0, 19) i;
GRANT SELECT, UPDATE ON pl TO twice_app;
GRANT SELECT ON other TO twice_app;
SET ROLE twice_app;
SELECT * FROM pl JOIN other ON pl.v = other.b WHERE a IN (2, 12) ORDER BY 1 FOR UPDATE OF pl;
SELECT * FROM pl_1 JOIN other ON pl_1.v = other.b WHERE a IN (2, 12) ORDER BY 1 FOR UPDATE OF pl_1;
RESET ROLE;
DROP TABLE pl, other;
REVOKE ALL ON SCHEMA twice FROM twice_app;
DROP ROLE twice_app;
