-- Names of objects (regclass and the like) and Oids are the client's: each node has Oids of its
-- own, so that what takes a name for its Oid is not left to nodes, but for names that are compared
-- with names.
SET client_min_messages = warning;
CREATE SCHEMA objects;
CREATE TABLE objects.one (k int);
CREATE TABLE objects.two (k int);
CREATE TABLE objects.three (k int);
SELECT create_distributed_table('objects.one', 'k');
SELECT create_distributed_table('objects.two', 'k');
SELECT create_reference_table('objects.three');
CREATE TYPE objects.mood AS ENUM ('low', 'high');
CREATE FUNCTION objects.oid_of(text) RETURNS oid LANGUAGE sql STABLE AS 'SELECT $1::regclass::oid';
CREATE TABLE plain.named (k int, c regclass, o oid, ty regtype, ns regnamespace, m objects.mood);
INSERT INTO plain.named SELECT i, (ARRAY['objects.one', 'objects.two', 'objects.three', 'pg_class'])[i % 4 + 1]::regclass, (ARRAY['objects.one', 'objects.two', 'objects.three'])[i % 3 + 1]::regclass::oid, CASE i % 2 WHEN 0 THEN 'int4'::regtype ELSE 'objects.mood'::regtype END, CASE i % 3 WHEN 0 THEN 'objects' ELSE 'pg_catalog' END::regnamespace, CASE i % 3 WHEN 0 THEN 'low' ELSE 'high' END::objects.mood FROM generate_series(1, 20) i;
CREATE TABLE plain.named_r AS SELECT k, c, o FROM plain.named;
CREATE TABLE dist.named (LIKE plain.named);
CREATE TABLE dist.named_r (LIKE plain.named_r);
SELECT create_distributed_table('dist.named', 'k');
SELECT create_reference_table('dist.named_r');
INSERT INTO dist.named SELECT * FROM plain.named;
INSERT INTO dist.named_r SELECT * FROM plain.named_r;
CREATE TABLE objects.here (k int);
SELECT public.compare($$
SELECT * FROM named;
SELECT k FROM named WHERE c = 'objects.one'::regclass;
SELECT k FROM named WHERE c <> 'objects.one'::regclass AND k > 3;
SELECT k FROM named WHERE c IS DISTINCT FROM 'objects.one'::regclass;
SELECT k FROM named WHERE c IN ('objects.one'::regclass, 'objects.two'::regclass);
SELECT k FROM named WHERE c = (SELECT oid FROM pg_class WHERE oid = 'objects.one'::regclass);
SELECT k FROM named WHERE c = objects.oid_of('objects.two');
SELECT k FROM named WHERE c = ANY (ARRAY[objects.oid_of('objects.two'), 1::oid]);
SELECT k FROM named WHERE k = 4 AND c = objects.oid_of('objects.one');
SELECT k FROM named WHERE (c, k) = (objects.oid_of('objects.one'), 4);
SELECT k FROM named WHERE c > 'pg_class'::regclass;
SELECT k FROM named WHERE c BETWEEN objects.oid_of('objects.one') AND objects.oid_of('objects.one');
SELECT k FROM named WHERE o = 'objects.one'::regclass;
SELECT k FROM named WHERE o IN ('objects.one'::regclass, 'objects.two'::regclass);
SELECT k FROM named WHERE o = ANY (ARRAY['objects.one'::regclass, 'objects.two'::regclass]);
SELECT k FROM named WHERE o = ANY (ARRAY['objects.one'::regclass, 'objects.two'::regclass]::oid[]);
SELECT k FROM named WHERE o = (SELECT 'objects.one'::regclass);
SELECT k FROM named WHERE ARRAY[c] = ARRAY['objects.one'::regclass];
SELECT k FROM named WHERE ty = 'objects.mood'::regtype;
SELECT k FROM named WHERE ty = 'objects.mood'::regtype::oid;
SELECT k FROM named WHERE ns = (SELECT oid FROM pg_namespace WHERE nspname = 'objects');
SELECT k FROM named WHERE c = o;
SELECT k FROM named WHERE o = c AND k < 13;
SELECT k FROM named WHERE c IS DISTINCT FROM o;
SELECT k FROM named WHERE c IN (SELECT oid FROM pg_class WHERE relname IN ('one', 'two'));
SELECT k, relname FROM named JOIN pg_class p ON p.oid = c;
SELECT k, relname FROM named JOIN pg_class p ON p.oid = o;
SELECT k, c = objects.oid_of('objects.one'), o = 'objects.one'::regclass, 'objects.one'::regclass = objects.oid_of('objects.one') FROM named;
SELECT k, (VALUES ('objects.one'::regclass)) = o FROM named;
SELECT k FROM named, (VALUES ('objects.one'::regclass)) v(name) WHERE name = o;
SELECT k, nullif(c, 'objects.one'::regclass), coalesce(o, c), greatest(c, 'objects.one'::regclass) FROM named;
SELECT k, CASE WHEN k > 3 THEN c ELSE o END, CASE WHEN k > 3 THEN 'objects.one'::regclass ELSE o END FROM named;
SELECT k, ARRAY[c, o], ARRAY['objects.one'::regclass, o], ARRAY[c::oid] @> ARRAY[objects.oid_of('objects.one')] FROM named;
SELECT k, hashoid(c), oideq(c, objects.oid_of('objects.one')), c::oid, c::bigint, c::text FROM named;
SELECT max(c), min(c), max(o), count(DISTINCT c) FROM named;
SELECT o, max('objects.one'::regclass) FROM named GROUP BY o;
SELECT count(*) FILTER (WHERE c = objects.oid_of('objects.one')), sum(CASE WHEN o = 'objects.one'::regclass THEN 1 END) FROM named;
SELECT c, count(*) FROM named GROUP BY c ORDER BY c /* ordered */;
SELECT DISTINCT c FROM named ORDER BY c DESC LIMIT 2 /* ordered */;
SELECT c, k FROM named ORDER BY c, k LIMIT 3 /* ordered */;
SELECT c, k FROM named WHERE k = 3 ORDER BY c LIMIT 1;
SELECT DISTINCT ON (m) m, c, k FROM named ORDER BY m, c DESC, k /* ordered */;
SELECT k, array_agg(c ORDER BY c) FROM (SELECT k / 10 AS k, c FROM named) n GROUP BY k;
SELECT k, (SELECT array_agg(b.c ORDER BY b.c) FROM named b WHERE b.k = named.k), rank() OVER (PARTITION BY k ORDER BY c) FROM named;
SELECT c, rank() OVER (ORDER BY c) FROM named;
SELECT a.k, b.k FROM named a JOIN named b ON a.c = b.c;
SELECT a.k, b.k FROM named a JOIN named b ON a.c = b.o;
SELECT a.k, b.k FROM named a JOIN named b ON a.k = b.k AND a.c = b.o;
SELECT a.k, b.k FROM named a JOIN named b ON a.k = b.k AND a.c = b.c;
SELECT a.k, b.k FROM named a JOIN named_r b ON a.c = b.o;
SELECT a.k, b.k FROM named a LEFT JOIN named_r b ON a.c = b.c AND a.k < b.k;
SELECT k FROM named WHERE EXISTS (SELECT 1 FROM named_r WHERE named_r.o = 'objects.one'::regclass AND named_r.k = named.k);
SELECT k FROM named_r WHERE c = objects.oid_of('objects.one') OR o = 'objects.two'::regclass;
SELECT c FROM named UNION SELECT o FROM named;
SELECT c FROM named EXCEPT SELECT objects.oid_of('objects.one');
SELECT count(n) FROM (SELECT k, ROW(c, o) FROM named) n;
SELECT n FROM (SELECT k, ROW(o, k) FROM named) n;
$$);
-- Names of what is only here stay here.
SELECT public.compare($$
SELECT named.k, n.name FROM named JOIN (SELECT oid::regclass AS name, 3 AS k FROM pg_class WHERE oid = 'objects.here'::regclass LIMIT 5) n USING (k);
SELECT named.k, n.name FROM named LEFT JOIN (SELECT oid::regclass AS name, 3 AS k FROM pg_class WHERE oid = 'objects.here'::regclass OFFSET 0) n USING (k);
SELECT n.name FROM (SELECT ARRAY[oid::regclass] AS name FROM pg_class WHERE oid = 'objects.here'::regclass) n WHERE EXISTS (SELECT n.name FROM (SELECT k FROM named LIMIT 3) l WHERE k > 0);
SELECT k FROM named WHERE c IN (SELECT oid::regclass FROM pg_class WHERE relname IN ('one', 'here') LIMIT 10);
SELECT count(*) FROM named a, named b, (SELECT oid::regclass AS name FROM pg_class WHERE relname = 'here') n WHERE a.m = b.m AND a.c <> n.name;
$$);
-- Nor by a hash that is made of Oids: rows would not meet.
SET pando.exchange_cost = 0;
SET citus.max_intermediate_result_size = 1;
SELECT public.compare($$
SELECT count(*) FROM named a JOIN named b ON a.m = b.m AND a.k < b.k;
SELECT count(*) FROM named a JOIN named b ON a.c = b.c AND a.k < b.k;
$$);
RESET pando.exchange_cost;
RESET citus.max_intermediate_result_size;
-- What nodes are told.
SELECT condition, pando.query_fragments('SELECT k FROM dist.named WHERE ' || condition) FROM regexp_split_to_table('c = ''objects.one''::regclass|o = ''pg_class''::regclass|c = 1::oid|''pg_class''::regclass = 1259', '\|') condition;
\set VERBOSITY terse
BEGIN;
SET LOCAL citus.sort_returning = on;
UPDATE dist.named SET o = 'objects.two'::regclass WHERE c = 'objects.one'::regclass RETURNING k, c, o = 'objects.two'::regclass AS same;
DELETE FROM dist.named WHERE o = 'objects.two'::regclass;
ROLLBACK;
\set VERBOSITY default
-- Nor what is written.
UPDATE plain.named SET o = c, c = o::regclass WHERE c <> 1::oid;
UPDATE dist.named SET o = c, c = o::regclass WHERE c <> 1::oid;
SELECT public.compare('SELECT * FROM named');
DELETE FROM plain.named WHERE c::oid = 'objects.one'::regclass AND ns::text = 'objects';
DELETE FROM dist.named WHERE c::oid = 'objects.one'::regclass AND ns::text = 'objects';
SELECT public.compare('SELECT k, c::text FROM named');
DROP TABLE plain.named, plain.named_r, dist.named, dist.named_r;
DROP SCHEMA objects CASCADE;
