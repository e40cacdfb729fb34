-- What PostgreSQL does with plain tables is its own: its callers of the hooks that a cluster needs set less than others.
CREATE SCHEMA plain_tables;
SET search_path = plain_tables;

-- Cost of a BRIN index, of several columns, before and after ANALYZE; of an expression; of a partition.
CREATE TABLE blocks (i int, t text, f float);
CREATE INDEX ON blocks USING brin (i, t, (f + 1));
INSERT INTO blocks SELECT i, 'text' || i, i / 2.0 FROM generate_series(1, 10000) i;
SELECT count(*) FROM blocks WHERE i < 5;
ANALYZE blocks;
SELECT count(*) FROM blocks WHERE i < 5;
SELECT count(*) FROM blocks WHERE i < 5 AND t < 'text3';
SELECT count(*) FROM blocks WHERE i < 5 AND t < 'text3' AND f + 1 < 2;
SELECT count(*) FROM blocks a JOIN blocks b USING (i) WHERE a.i < 5 AND b.t < 'text3' AND a.f + 1 < 2;
PREPARE few AS SELECT count(*) FROM blocks WHERE i < $1 AND t < $2;
EXECUTE few (5, 'text3');
UPDATE blocks SET f = 0 WHERE i < 3 AND t < 'text3';
CREATE TABLE parts (i int, t text) PARTITION BY RANGE (i);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (100) TO (200);
CREATE INDEX ON parts USING brin (i, t);
INSERT INTO parts SELECT i, 'text' || i FROM generate_series(1, 199) i;
ANALYZE parts;
SELECT count(*) FROM parts WHERE i < 120 AND t < 'text11';

-- The same of shards.
CREATE TABLE spread (LIKE blocks INCLUDING INDEXES);
SELECT create_distributed_table('spread', 'i', shard_count => 2);
INSERT INTO spread SELECT * FROM blocks;
ANALYZE spread;
SELECT count(*) FROM spread WHERE i < 5 AND t < 'text3' AND f + 1 < 2;
SELECT count(*) FROM spread WHERE i = 4 AND t < 'text5';

-- Other kinds of index whose cost asks for statistics.
CREATE INDEX ON blocks USING gist (point(i, f));
CREATE INDEX ON blocks USING gin (to_tsvector('simple', t));
CREATE INDEX ON blocks USING hash (t);
CREATE INDEX ON blocks USING spgist (t);
CREATE INDEX ON blocks (i, t, (f + 1)) WHERE f > 1;
ANALYZE blocks;
SELECT count(*) FROM blocks WHERE point(i, f) <@ box(point(0, 0), point(9, 9));
SELECT count(*) FROM blocks WHERE to_tsvector('simple', t) @@ 'text77'::tsquery;
SELECT count(*) FROM blocks WHERE t = 'text77';
SELECT count(*) FROM blocks WHERE t ^@ 'text77';
SELECT count(*) FROM blocks WHERE i < 50 AND f > 1 AND f + 1 < 20;

SET client_min_messages = warning;
DROP SCHEMA plain_tables CASCADE;
