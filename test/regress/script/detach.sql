-- DETACH PARTITION CONCURRENTLY and FINALIZE, with what the partition keeps of its parent.
CREATE TABLE ref (id int PRIMARY KEY);
INSERT INTO ref SELECT generate_series(0, 9);
SELECT reference('ref');
CREATE TABLE p (k int, d int, v int, r int CONSTRAINT to_ref REFERENCES ref, PRIMARY KEY (k, d, r), CONSTRAINT positive CHECK (v >= 0)) PARTITION BY RANGE (d);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20) PARTITION BY LIST (r);
CREATE TABLE p2_low PARTITION OF p2 FOR VALUES IN (0, 1, 2, 3, 4);
CREATE TABLE p2_high PARTITION OF p2 FOR VALUES IN (5, 6, 7, 8, 9);
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (20) TO (30);
CREATE TABLE p4 PARTITION OF p FOR VALUES FROM (30) TO (40);
ALTER TABLE p4 ADD CONSTRAINT as_bounds CHECK (d IS NOT NULL AND d >= 30 AND d < 40);
CREATE TABLE "P 5""x" PARTITION OF p FOR VALUES FROM (40) TO (50);
CREATE INDEX p_v ON p (v);
SELECT distribute('p', 'k');
INSERT INTO p SELECT i, i % 50, i, i % 10 FROM generate_series(1, 500) i;
CREATE VIEW state AS SELECT c.relname, c.relispartition, h.inhdetachpending, pg_get_expr(c.relpartbound, c.oid) AS bounds,
	(SELECT string_agg(n.conname || ' ' || pg_get_constraintdef(n.oid), '; ' ORDER BY n.conname) FROM pg_constraint n WHERE n.conrelid = c.oid) AS constraints,
	(SELECT string_agg(i.indexrelid::regclass::text || coalesce(' of ' || o.inhparent::regclass, ''), '; ' ORDER BY i.indexrelid::regclass::text) FROM pg_index i LEFT JOIN pg_inherits o ON o.inhrelid = i.indexrelid WHERE i.indrelid = c.oid) AS indexes
	FROM pg_class c LEFT JOIN pg_inherits h ON h.inhrelid = c.oid
	WHERE c.relnamespace = 'twice'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname !~ '[0-9]{6}$';

-- One goes; nobody writes through the parent what was its, and it takes nothing else.
ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY;
SELECT * FROM state ORDER BY relname;
SELECT count(*), min(d), max(d) FROM p;
SELECT count(*), min(d), max(d) FROM p1;
INSERT INTO p VALUES (1, 5, 1, 1);
INSERT INTO p1 VALUES (1, 15, 1, 1);
INSERT INTO p1 VALUES (1, 5, -1, 1);
INSERT INTO p1 VALUES (1, 5, 1, 11);
INSERT INTO p1 VALUES (1, 1, 1, 1);
INSERT INTO p1 VALUES (1001, 1, 1, 1);
ALTER TABLE p1 RENAME CONSTRAINT positive TO still_positive;
ALTER TABLE p1 DROP CONSTRAINT to_ref;
INSERT INTO p1 VALUES (1002, 1, 1, 11);
DELETE FROM p1 WHERE r = 11;

-- One with partitions of its own; one with a check that says the same; a name to quote.
ALTER TABLE p DETACH PARTITION p2 CONCURRENTLY;
ALTER TABLE p DETACH PARTITION p4 CONCURRENTLY;
ALTER TABLE p DETACH PARTITION "P 5""x" CONCURRENTLY;
SELECT * FROM state ORDER BY relname;
SELECT count(*), min(d), max(d) FROM p;
SELECT count(*), min(d), max(d) FROM p2;
ALTER TABLE p2 RENAME CONSTRAINT positive TO still_positive;
ALTER TABLE p2 DROP CONSTRAINT to_ref;
ALTER TABLE p2 ADD CONSTRAINT to_ref FOREIGN KEY (r) REFERENCES ref;
INSERT INTO p2 VALUES (1, 11, 1, 11);
INSERT INTO p2 VALUES (1, 21, 1, 1);

-- Nothing to end, and what can't be.
ALTER TABLE p DETACH PARTITION p3 FINALIZE;
ALTER TABLE p DETACH PARTITION p1 FINALIZE;
ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY;
ALTER TABLE p DETACH PARTITION none CONCURRENTLY;
ALTER TABLE p1 DETACH PARTITION p2 CONCURRENTLY;
ALTER TABLE p2 DETACH PARTITION p2_low CONCURRENTLY, ADD z int;
BEGIN;
ALTER TABLE p DETACH PARTITION p3 CONCURRENTLY;
ROLLBACK;
DO $$ BEGIN ALTER TABLE p DETACH PARTITION p3 CONCURRENTLY; END $$;
CREATE TABLE p_rest PARTITION OF p DEFAULT;
ALTER TABLE p DETACH PARTITION p3 CONCURRENTLY;
ALTER TABLE p DETACH PARTITION p_rest CONCURRENTLY;
DROP TABLE p_rest;
CREATE ROLE detach_other;
GRANT ALL ON SCHEMA twice TO detach_other;
GRANT ALL ON p, p3 TO detach_other;
SET ROLE detach_other;
ALTER TABLE p DETACH PARTITION p3 CONCURRENTLY;
ALTER TABLE p DETACH PARTITION p3 FINALIZE;
RESET ROLE;
SELECT * FROM state ORDER BY relname;

-- A row of another table needs one of the partition's.
CREATE TABLE child (k int, d int, r int, FOREIGN KEY (k, d, r) REFERENCES p);
SELECT distribute('child', 'k', 'p');
INSERT INTO child SELECT k, d, r FROM p3 ORDER BY k LIMIT 3;
ALTER TABLE p DETACH PARTITION p3 CONCURRENTLY;
SELECT count(*), min(d), max(d) FROM p;
DELETE FROM child;
ALTER TABLE p DETACH PARTITION p3 CONCURRENTLY;
SELECT count(*), min(d), max(d) FROM p;
INSERT INTO child SELECT k, d, r FROM p3 ORDER BY k LIMIT 3;
DROP TABLE child;

-- Back again, and by hash and by list.
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (20) TO (30);
ALTER TABLE p ATTACH PARTITION p4 FOR VALUES FROM (30) TO (40);
SELECT * FROM state ORDER BY relname;
SELECT count(*), min(d), max(d) FROM p;
ALTER TABLE p DETACH PARTITION p4;
DROP TABLE p3, p4;
CREATE TABLE h (k int, v int) PARTITION BY HASH (v);
CREATE TABLE h0 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE h1 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT distribute('h', 'k');
INSERT INTO h SELECT i, i FROM generate_series(1, 100) i;
ALTER TABLE h DETACH PARTITION h0 CONCURRENTLY;
SELECT * FROM state WHERE relname ~ '^h' ORDER BY relname;
SELECT count(*), (SELECT count(*) FROM h0) > 0 FROM h WHERE v IN (SELECT v FROM h0);
CREATE TABLE l (k int, d text) PARTITION BY LIST (d);
CREATE TABLE l_a PARTITION OF l FOR VALUES IN ('a', NULL);
CREATE TABLE l_b PARTITION OF l FOR VALUES IN ('b');
SELECT single('l');
INSERT INTO l VALUES (1, 'a'), (2, NULL), (3, 'b');
ALTER TABLE l DETACH PARTITION l_a CONCURRENTLY;
SELECT * FROM state WHERE relname ~ '^l' ORDER BY relname;
INSERT INTO l_a VALUES (4, 'b');
INSERT INTO l_a VALUES (5, NULL);
SELECT * FROM l ORDER BY k;
SELECT * FROM l_a ORDER BY k;
CREATE TABLE m (k int, d text) PARTITION BY LIST (d);
CREATE TABLE m_a PARTITION OF m FOR VALUES IN ('a');
SELECT reference('m');
INSERT INTO m VALUES (1, 'a');
ALTER TABLE m DETACH PARTITION m_a CONCURRENTLY;
SELECT (SELECT count(*) FROM m), (SELECT count(*) FROM m_a);

-- Prepared statements and open cursors see it go.
PREPARE through (int) AS SELECT count(*) FROM h WHERE v < $1;
EXECUTE through (1000);
EXECUTE through (1000);
ALTER TABLE h DETACH PARTITION h1 CONCURRENTLY;
EXECUTE through (1000);
SELECT count(*) FROM h1 WHERE v % 1 = 0;
DROP TABLE p, p1, p2, "P 5""x", h, h0, h1, l, l_a, m, m_a, ref CASCADE;
REVOKE ALL ON SCHEMA twice FROM detach_other;
DROP ROLE detach_other;
