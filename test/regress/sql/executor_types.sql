-- Values of all kinds of types come back as they are, in binary and as text.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET citus.shard_count = 4;
CREATE SCHEMA kinds;
SET search_path = kinds;
CREATE TYPE pair AS (a int, b text);
CREATE TYPE mood AS ENUM ('x', 'y');
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE TABLE ty (k int, a int[], ta text[], c pair, m mood, ma mood[], d positive, r int4range,
	j jsonb, ts timestamptz, iv interval, f float8, b bytea, rc regclass, ip inet, mr int4multirange,
	ca pair[], tsv tsvector, ch char(5), bt bit(3), o oid);
CREATE TABLE plain (LIKE ty);
INSERT INTO plain VALUES (1, '{1,2}', '{a,"b c"}', '(1,x)', 'x', '{x,y}', 5, '[1,5)', '{"a":1}', '2020-01-01 10:00',
	'1 mon 2 days 3.5 s', 0.1::float8 + 0.2::float8, '\x00ff', 'pg_class', '1.2.3.4', '{[1,3),[5,7)}', array['(1,a)'::pair], 'a b', 'ab', '101', 77);
INSERT INTO plain (k) VALUES (2), (3);
SELECT create_distributed_table('ty', 'k');
INSERT INTO ty SELECT * FROM plain;
SELECT count(*) FROM (SELECT ty::text FROM ty INTERSECT SELECT plain::text FROM plain) s;
SELECT ty FROM ty WHERE k = 1;
SET citus.enable_binary_protocol = off;
SELECT count(*) FROM (SELECT ty::text FROM ty INTERSECT SELECT plain::text FROM plain) s;
SELECT ty FROM ty WHERE k = 1;
RESET citus.enable_binary_protocol;

-- Parameters and written values take the same ways.
PREPARE put AS INSERT INTO ty (k, iv, f, ts, ma, c) VALUES ($1, $2, $3, $4, $5, $6);
SET DateStyle = 'SQL, DMY';
SET IntervalStyle = 'iso_8601';
SET extra_float_digits = 0;
EXECUTE put(10, 'P1Y2M', 1.0 / 3, '2024-12-01 00:00', '{y}', '(2,z)');
RESET DateStyle;
RESET IntervalStyle;
RESET extra_float_digits;
SELECT k, iv, f, ts, ma, c FROM ty WHERE k = 10;

-- Anonymous records and whole rows.
SELECT k, (k, 'x'::text, array[1]) FROM ty WHERE k < 3 ORDER BY k;
SELECT row(k, row(1, 'a'::text)) FROM ty WHERE k = 1;

-- Values that are older than a constraint of their domain.
INSERT INTO ty (k, d) VALUES (20, 500);
ALTER DOMAIN positive ADD CHECK (value < 100) NOT VALID;
SELECT k, d FROM ty WHERE k = 20;
SELECT d FROM ty WHERE d > 5;
SET citus.enable_binary_protocol = off;
SELECT ty FROM ty WHERE k = 20;
RESET citus.enable_binary_protocol;
UPDATE ty SET d = d WHERE k = 20;
UPDATE ty SET k = 21, d = 6 WHERE k = 20 RETURNING k, d;

DROP SCHEMA kinds CASCADE;
