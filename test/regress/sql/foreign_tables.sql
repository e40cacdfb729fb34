-- Foreign tables as managed local ones: every node reads and changes them, joined with distributed tables, with the
-- coordinator's server options and the client's own user mapping; schema changes follow on all nodes.
\set VERBOSITY terse
SET client_min_messages TO warning;
SET citus.next_shard_id = 2350000;
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
SELECT nodeport AS coordinator FROM pg_dist_node WHERE groupid = 0 \gset
SELECT current_database() AS db, current_setting('data_directory') || '/foreign.csv' AS file \gset
CREATE SCHEMA abroad;
SET search_path = abroad;
CREATE EXTENSION postgres_fdw;
CREATE EXTENSION file_fdw;
CREATE SCHEMA far;
CREATE TABLE far.thing (id int PRIMARY KEY, v text, n int DEFAULT 7);
INSERT INTO far.thing SELECT i, 'thing ' || i, i % 3 FROM generate_series(1, 20) i;
CREATE TABLE far.other (id int, at date);
INSERT INTO far.other VALUES (1, '2024-01-01'), (2, '2024-02-02');
CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port :'coordinator', dbname :'db');
CREATE USER MAPPING FOR postgres SERVER loop OPTIONS (user 'postgres');
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
COPY (SELECT i, 'line ' || i FROM generate_series(1, 5) i) TO :'file' (FORMAT csv);

CREATE TABLE dist (k int PRIMARY KEY, v text);
SELECT create_distributed_table('dist', 'k');
INSERT INTO dist SELECT i, 'dist ' || i FROM generate_series(1, 30) i;
CREATE TABLE ref (id int PRIMARY KEY, name text);
SELECT create_reference_table('ref');
INSERT INTO ref VALUES (0, 'zero'), (1, 'one'), (2, 'two');

CREATE FOREIGN TABLE thing (id int NOT NULL, gone int, v text, n int DEFAULT 8, CHECK (id > 0))
	SERVER loop OPTIONS (schema_name 'far');
ALTER FOREIGN TABLE thing DROP COLUMN gone;
CREATE FOREIGN TABLE line (i int, v text) SERVER files OPTIONS (filename :'file', format 'csv');
SELECT create_distributed_table('thing', 'id');
SELECT create_reference_table('thing');
SELECT citus_add_local_table_to_metadata('thing');
SELECT citus_add_local_table_to_metadata('line');
SELECT citus_add_local_table_to_metadata('line');
SELECT table_name, citus_table_type, shard_count FROM public.citus_tables WHERE citus_table_type = 'local' ORDER BY 1::text;
-- On the coordinator it is what it was.
EXPLAIN (COSTS OFF) SELECT v FROM thing WHERE id = 1;

-- The same on the coordinator and on a worker.
\set script 'SELECT count(*), sum(id), min(v) FROM thing; SELECT * FROM line ORDER BY i LIMIT 2; SELECT t.id, d.v, r.name FROM thing t JOIN dist d ON d.k = t.id JOIN ref r ON r.id = t.n WHERE t.id < 4 ORDER BY 1; SELECT count(*) FROM dist WHERE EXISTS (SELECT FROM line WHERE i = k); SELECT count(*) FROM (SELECT k FROM dist UNION SELECT id FROM thing UNION ALL SELECT i FROM line) u; SELECT d.k, l.v FROM dist d LEFT JOIN line l ON l.i = d.k WHERE d.k BETWEEN 4 AND 6 ORDER BY 1;'
:script
\c - - - :worker
\set VERBOSITY terse
SET search_path = abroad;
:script
PREPARE by_id AS SELECT v FROM thing WHERE id = $1;
EXECUTE by_id(2);
EXECUTE by_id(3);
INSERT INTO thing VALUES (100, 'from a worker') RETURNING *;
INSERT INTO thing VALUES (101, 'a', 1), (102, 'b', DEFAULT);
UPDATE thing SET v = v || '!' WHERE id > 100 RETURNING id, v;
UPDATE thing SET v = d.v FROM dist d WHERE d.k = thing.id AND d.k < 3 RETURNING thing.id, thing.v;
DELETE FROM thing USING dist d WHERE d.k = thing.id AND d.k = 20 RETURNING thing.id;
DELETE FROM thing WHERE id = 102;
INSERT INTO thing (id, v) SELECT k + 200, v FROM dist WHERE k <= 3;
INSERT INTO dist SELECT id, v FROM thing WHERE id > 200;
COPY thing (id, v) FROM stdin;
300	copied
301	\N
\.
COPY (SELECT * FROM thing WHERE id >= 200 ORDER BY id) TO stdout;
INSERT INTO line VALUES (1, 'no');
INSERT INTO thing (id) VALUES (1);
INSERT INTO thing (id) VALUES (NULL);
-- A transaction block with both; and one that is rolled back.
BEGIN;
INSERT INTO thing (id, v) VALUES (400, 'in a block');
SELECT t.v, d.v FROM thing t, dist d WHERE t.id = 400 AND d.k = 1;
COMMIT;
BEGIN;
DELETE FROM thing;
ROLLBACK;
SELECT count(*) FROM thing;
-- What the foreign server can't prepare is written on one node alone.
BEGIN;
INSERT INTO thing (id, v) VALUES (500, 'and others');
INSERT INTO dist VALUES (500, 'a'), (501, 'b'), (502, 'c'), (503, 'd');
COMMIT;
SELECT count(*) FROM thing WHERE id = 500;
SELECT count(*) FROM dist WHERE k >= 500;
BEGIN;
ALTER FOREIGN TABLE thing ADD COLUMN x int, OPTIONS (ADD fetch_size '7');
DROP FOREIGN TABLE thing;
SELECT to_regclass('thing');
ROLLBACK;
DROP SERVER files CASCADE;

\c - - - :coordinator
\set VERBOSITY terse
SET client_min_messages TO warning;
SET search_path = abroad;
SELECT id, v, n FROM thing WHERE id >= 100 ORDER BY id;
INSERT INTO thing SELECT k, v FROM dist WHERE k = 30;
BEGIN;
INSERT INTO thing (id, v) VALUES (600, 'on the coordinator');
INSERT INTO dist VALUES (600, 'a'), (601, 'b'), (602, 'c'), (603, 'd');
COMMIT;
SELECT count(*) FROM thing WHERE id = 600;

-- Rights are the role's, and so is the user mapping.
CREATE ROLE abroad_user LOGIN;
CREATE ROLE abroad_none LOGIN;
GRANT USAGE ON SCHEMA abroad TO abroad_user, abroad_none;
GRANT SELECT ON thing TO abroad_user;
GRANT ALL ON thing TO abroad_none;
CREATE ROLE far_reader LOGIN;
GRANT USAGE ON SCHEMA abroad, far TO far_reader;
GRANT SELECT ON far.thing TO far_reader;
CREATE USER MAPPING FOR abroad_user SERVER loop OPTIONS (user 'far_reader', password_required 'false');
\c - abroad_user - :worker
\set VERBOSITY terse
SELECT count(*) > 10 FROM abroad.thing;
DELETE FROM abroad.thing;
SELECT count(*) FROM abroad.line;
\c - abroad_none - :worker
\set VERBOSITY sqlstate
SELECT count(*) FROM abroad.thing;
INSERT INTO abroad.thing (id) VALUES (900);
UPDATE abroad.thing SET v = v;
DELETE FROM abroad.thing WHERE random() < 0;
\c - abroad_none - :coordinator
\set VERBOSITY sqlstate
SELECT count(*) FROM abroad.thing;
INSERT INTO abroad.thing (id) VALUES (900);
UPDATE abroad.thing SET v = v;
DELETE FROM abroad.thing WHERE random() < 0;
\c - postgres - :coordinator
\set VERBOSITY terse
SET client_min_messages TO warning;
SET search_path = abroad;

-- Schema changes.
ALTER FOREIGN TABLE thing ADD COLUMN num int OPTIONS (column_name 'n'), ALTER COLUMN v SET DEFAULT 'new';
ALTER FOREIGN TABLE thing RENAME COLUMN v TO label;
ALTER FOREIGN TABLE thing ALTER COLUMN label OPTIONS (ADD column_name 'v');
ALTER FOREIGN TABLE thing OPTIONS (ADD table_name 'thing');
ALTER FOREIGN TABLE thing RENAME TO matter;
ALTER FOREIGN TABLE matter ADD CONSTRAINT few CHECK (n < 100);
ALTER TABLE matter RENAME CONSTRAINT few TO bounded;
ALTER FOREIGN TABLE matter DROP CONSTRAINT bounded;
CREATE SCHEMA abroad_too;
ALTER FOREIGN TABLE matter SET SCHEMA abroad_too;
ALTER FOREIGN TABLE abroad_too.matter OWNER TO abroad_user;
ALTER TABLE abroad_too.matter ALTER COLUMN n DROP DEFAULT;
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT (relowner::regrole, relnatts, (SELECT string_agg(attname, ',' ORDER BY attnum)
	FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped)) FROM pg_class c WHERE oid = 'abroad_too.matter'::regclass$$);
\c - - - :worker
SELECT id, n, label, num FROM abroad_too.matter WHERE id < 3 ORDER BY id;
\c - - - :coordinator
\set VERBOSITY terse
SET client_min_messages TO warning;
SET search_path = abroad;

-- No partition of a distributed table.
CREATE TABLE parted (id int, v text, n int) PARTITION BY RANGE (id);
SELECT create_distributed_table('parted', 'id');
CREATE FOREIGN TABLE parted_far PARTITION OF parted FOR VALUES FROM (0) TO (10) SERVER loop;
CREATE FOREIGN TABLE parted_far (id int, v text, n int) SERVER loop OPTIONS (schema_name 'far', table_name 'thing');
ALTER TABLE parted ATTACH PARTITION parted_far FOR VALUES FROM (0) TO (10);
SELECT count(*) FROM pg_inherits WHERE inhparent = 'parted'::regclass;

-- New ones at once, also imported ones; and back.
SET citus.use_citus_managed_tables TO on;
CREATE SCHEMA imported;
IMPORT FOREIGN SCHEMA far FROM SERVER loop INTO imported;
CREATE FOREIGN TABLE again (i int, v text) SERVER files OPTIONS (filename :'file', format 'csv');
RESET citus.use_citus_managed_tables;
\c - - - :worker
SELECT * FROM imported.other ORDER BY id;
SELECT count(*) FROM abroad.again;
\c - - - :coordinator
\set VERBOSITY terse
SET client_min_messages TO warning;
SET search_path = abroad;
SELECT undistribute_table('again');
SELECT count(*) FROM again;
DROP FOREIGN TABLE line;
DROP SERVER loop CASCADE;
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT array[to_regclass('abroad.line'), to_regclass('abroad.again'),
	to_regclass('imported.other'), to_regclass('abroad_too.matter')]::text$$) ORDER BY 1;
SELECT logicalrelid FROM pg_dist_partition WHERE logicalrelid::text ~ 'line|again|other|matter|thing';

DROP SCHEMA abroad, abroad_too, imported, far CASCADE;
DROP OWNED BY abroad_user, abroad_none, far_reader;
DROP ROLE abroad_user, abroad_none, far_reader;
