-- Managed local tables: ordinary tables of the coordinator that every node can use. They keep what
-- they have (triggers, policies, foreign keys), and statements through a worker give the rows and
-- errors that they give on the coordinator.
\set VERBOSITY terse
SET client_min_messages TO warning;
CREATE SCHEMA managed;
SET search_path = managed;
SET citus.next_shard_id = 2300000;
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
SELECT nodeport AS coordinator FROM pg_dist_node WHERE groupid = 0 \gset

CREATE TABLE ref (id int PRIMARY KEY, name text);
SELECT create_reference_table('ref');
INSERT INTO ref SELECT i, 'ref ' || i FROM generate_series(1, 9) i;
CREATE TABLE dist (k int PRIMARY KEY, v text);
SELECT create_distributed_table('dist', 'k');
INSERT INTO dist SELECT i, 'dist ' || i FROM generate_series(1, 50) i;

CREATE TABLE item (id serial PRIMARY KEY, r int REFERENCES ref, v text DEFAULT 'none',
	twice int GENERATED ALWAYS AS (r * 2) STORED, UNIQUE (v, id));
CREATE TABLE part (id bigint GENERATED ALWAYS AS IDENTITY, item int REFERENCES item ON DELETE CASCADE, n int);
CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN new.v := new.v || '.'; RETURN new; END $$;
CREATE TRIGGER mark BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION mark();
INSERT INTO item (r) SELECT 1 + i % 9 FROM generate_series(1, 12) i;
SELECT citus_add_local_table_to_metadata('item', cascade_via_foreign_keys => true);
SELECT table_name, citus_table_type, colocation_id, shard_count FROM public.citus_tables WHERE citus_table_type = 'local';
SELECT shard_name, nodeport = :coordinator AS here FROM citus_shards WHERE citus_table_type = 'local' ORDER BY 1;
-- Once more is no error.
SELECT citus_add_local_table_to_metadata('item');

-- On the coordinator nothing is between the table and PostgreSQL.
EXPLAIN (COSTS OFF) SELECT v FROM item WHERE id = 1;
EXPLAIN (COSTS OFF) UPDATE item SET v = 'x' WHERE id = 1;
MERGE INTO part USING (VALUES (1, 5)) s (i, n) ON part.item = s.i WHEN NOT MATCHED THEN INSERT (item, n) VALUES (s.i, s.n);

\c - - - :worker
\set VERBOSITY terse
SET search_path = managed;
SELECT id, r, v, twice FROM item ORDER BY id LIMIT 3;
SELECT count(*), sum(r), min(v) FROM item;
SELECT i.id, ref.name, dist.v FROM item i JOIN ref ON i.r = ref.id JOIN dist ON dist.k = i.id WHERE i.id < 4 ORDER BY 1;
SELECT i.id, p.n FROM item i LEFT JOIN part p ON p.item = i.id WHERE i.id < 3 ORDER BY 1;
SELECT count(*) FROM dist WHERE EXISTS (SELECT FROM item WHERE item.id = dist.k);
SELECT count(*) FROM (SELECT k FROM dist UNION SELECT id FROM item) u;
INSERT INTO item (r) VALUES (3) RETURNING id, r, v, twice;
INSERT INTO item VALUES (100, 4, DEFAULT), (101, 5, 'given') RETURNING *;
INSERT INTO item VALUES (100, 1, 'again') ON CONFLICT (id) DO UPDATE SET v = excluded.v || '!' RETURNING *;
WITH new AS (INSERT INTO item (id, r) SELECT k + 1000, 1 FROM dist WHERE k < 4 RETURNING id) SELECT count(*), sum(id) FROM new;
INSERT INTO dist SELECT id, v FROM item WHERE id = 100 RETURNING *;
UPDATE item SET v = dist.v FROM dist WHERE dist.k = item.id AND k = 2 RETURNING item.id, item.v;
DELETE FROM item WHERE id > 1000 RETURNING id > 1000;
INSERT INTO part (item, n) VALUES (2, 1), (2, 2);
INSERT INTO part VALUES (7, 2, 1);
INSERT INTO part OVERRIDING SYSTEM VALUE VALUES (7, 2, 3) RETURNING *;
DELETE FROM item WHERE id = 2;
SELECT item, n FROM part ORDER BY 1, 2;
COPY item (id, r, v) FROM stdin;
200	1	copied
201	2	\N
\.
COPY part (item, n) FROM stdin;
200	1
\.
COPY (SELECT * FROM item WHERE id >= 200 ORDER BY id) TO stdout;
SELECT i.id FROM item i, dist d WHERE i.r = d.k ORDER BY i.id LIMIT 2 FOR UPDATE OF i;
WITH gone AS (DELETE FROM item WHERE id = 101 RETURNING *) INSERT INTO dist SELECT id, v FROM gone RETURNING *;
PREPARE by_id AS SELECT r, v FROM item WHERE id = $1;
EXECUTE by_id(1);
EXECUTE by_id(200);

-- Writes of both kinds in one transaction.
BEGIN;
INSERT INTO item (id, r) VALUES (300, 1);
INSERT INTO dist VALUES (300, 'with item');
UPDATE ref SET name = 'changed' WHERE id = 1;
SELECT item.id, dist.v, ref.name FROM item JOIN dist ON k = item.id JOIN ref ON ref.id = item.r WHERE k = 300;
SAVEPOINT s;
DELETE FROM item WHERE id = 300;
ROLLBACK TO s;
COMMIT;
BEGIN;
INSERT INTO item (id, r) VALUES (301, 1);
INSERT INTO dist VALUES (301, 'with item');
ROLLBACK;
SELECT item.id, v FROM item WHERE id >= 300;
SELECT k FROM dist WHERE k > 299;

-- Errors are the table's own.
INSERT INTO item (id, r) VALUES (1, 1);
INSERT INTO item (r) VALUES (77);
INSERT INTO part (item) VALUES (555);
DELETE FROM ref WHERE id = 2;
UPDATE item SET id = 1 WHERE id = 3;
SELECT nothing FROM item;
-- Schema changes are run on the coordinator (any_node_local), but for those that name tables of this node, and within a transaction others as well.
BEGIN;
TRUNCATE item, dist;
ROLLBACK;
BEGIN;
CREATE INDEX CONCURRENTLY ON item (r);
ROLLBACK;
CREATE TABLE of_worker (a int);
SELECT citus_add_local_table_to_metadata('of_worker');
DROP TABLE of_worker, item;
TRUNCATE of_worker, item;
ALTER TABLE item ADD FOREIGN KEY (r) REFERENCES of_worker;
DROP TABLE of_worker;
SELECT citus_add_local_table_to_metadata('item');

\c - - - :coordinator
\set VERBOSITY terse
SET client_min_messages TO warning;
SET search_path = managed;
-- Foreign keys with a reference table hold both ways.
DELETE FROM ref WHERE id = 2;
UPDATE ref SET id = 20 WHERE id = 2;
ALTER TABLE item ADD COLUMN s int REFERENCES ref ON DELETE SET NULL ON UPDATE CASCADE;
INSERT INTO ref VALUES (30, 'thirty'), (31, 'thirty-one');
UPDATE item SET s = 29 + id % 3 WHERE id IN (1, 14, 5);
UPDATE item SET s = 31 WHERE id = 4;
UPDATE ref SET id = 40 WHERE id = 30;
DELETE FROM ref WHERE id = 31;
SELECT id, s FROM item WHERE id < 6 ORDER BY 1;
ALTER TABLE item RENAME CONSTRAINT item_r_fkey TO kind_exists;
ALTER TABLE item ALTER CONSTRAINT kind_exists DEFERRABLE INITIALLY DEFERRED;
BEGIN;
DELETE FROM ref WHERE id = 9;
DELETE FROM item WHERE r = 9;
COMMIT;
BEGIN;
DELETE FROM ref WHERE id = 8;
COMMIT;
SELECT conname, confrelid::regclass::text ~ '_' AS to_copy, condeferred FROM pg_constraint
WHERE conrelid = 'item'::regclass AND contype = 'f' ORDER BY confrelid::regclass::text ~ '_', regexp_replace(conname, '_\d+$', '');
ALTER TABLE item DROP CONSTRAINT kind_exists;
DELETE FROM ref WHERE id = 8;
ALTER TABLE item ADD CONSTRAINT kind_exists FOREIGN KEY (r) REFERENCES ref;
ALTER TABLE item ADD CONSTRAINT kind_exists FOREIGN KEY (r) REFERENCES ref NOT VALID;
DELETE FROM ref WHERE id = 7;

-- Columns, names, constraints, privileges.
ALTER TABLE item DROP COLUMN s, ADD COLUMN price numeric DEFAULT 1.5 NOT NULL, ADD COLUMN num smallserial,
	ADD CONSTRAINT positive CHECK (price > 0);
DROP TRIGGER mark ON item;
ALTER TABLE item RENAME COLUMN v TO label;
ALTER TABLE item ALTER COLUMN price TYPE int, ALTER COLUMN label SET DEFAULT 'new';
CREATE UNIQUE INDEX item_num ON item (num);
CREATE UNIQUE INDEX CONCURRENTLY item_both ON item (num, r);
DROP INDEX CONCURRENTLY item_both;
ALTER TABLE item RENAME TO thing;
CREATE SCHEMA managed_too;
ALTER TABLE thing SET SCHEMA managed_too;
CREATE ROLE managed_user;
GRANT USAGE ON SCHEMA managed_too TO managed_user;
GRANT SELECT, INSERT ON managed_too.thing TO managed_user;
ALTER TABLE managed_too.thing ENABLE ROW LEVEL SECURITY;
CREATE POLICY cheap ON managed_too.thing USING (price < 10);
ALTER TABLE managed_too.thing INHERIT part;
CREATE RULE kept AS ON DELETE TO managed_too.thing WHERE old.id = 3 DO INSTEAD NOTHING;

\c - - - :worker
\set VERBOSITY terse
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute
WHERE attrelid = 'managed_too.thing'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum;
INSERT INTO managed_too.thing (id, r, price) VALUES (400, 1, 9), (401, 1, 11) RETURNING id, r, label, twice, price, num > 0;
INSERT INTO managed_too.thing (id, r, price) VALUES (402, 1, -1);
INSERT INTO managed_too.thing (id, r, num) VALUES (403, 1, 1) ON CONFLICT (num) DO NOTHING;
DELETE FROM managed_too.thing WHERE id IN (3, 5);
SELECT id FROM managed_too.thing WHERE id IN (3, 5);
SET ROLE managed_user;
SELECT id, price FROM managed_too.thing WHERE id >= 400 ORDER BY id;
INSERT INTO managed_too.thing (id, num, price) VALUES (404, 999, 12);
COPY managed_too.thing (id, num) FROM stdin;
405	1000
\.
UPDATE managed_too.thing SET price = 1;
RESET ROLE;

\c - - - :coordinator
\set VERBOSITY terse
SET client_min_messages TO warning;
SET search_path = managed;
SET citus.next_shard_id = 2310000;
-- It never moves, and the coordinator can't go.
SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'managed_too.thing'::regclass \gset
SELECT citus_move_shard_placement(:shardid, '127.0.0.1', :coordinator, '127.0.0.1', :worker);
\set VERBOSITY sqlstate
SELECT citus_remove_node('127.0.0.1', :coordinator);
\set VERBOSITY terse
SELECT count(*) FROM get_rebalance_table_shards_plan() WHERE table_name::text ~ 'thing|part';
-- A view, and the way to another kind of table.
CREATE VIEW view_of AS SELECT id, n FROM part;
CREATE TABLE other (a int, b int);
INSERT INTO other VALUES (1, 2), (3, 4);
SELECT citus_add_local_table_to_metadata('other');
SELECT create_distributed_table('other', 'a');
SELECT * FROM other ORDER BY 1;
SELECT undistribute_table('other');
SELECT citus_add_local_table_to_metadata('other');
SELECT create_reference_table('other');
SELECT citus_add_local_table_to_metadata('other');
SELECT undistribute_table('other');
SELECT citus_add_local_table_to_metadata('other');
SELECT undistribute_table('other');
SELECT result FROM run_command_on_all_nodes($$SELECT to_regclass('managed.other') IS NOT NULL$$) ORDER BY 1;
SELECT * FROM other ORDER BY 1;

-- A reference table that comes later; and one that goes.
CREATE TABLE late (id int PRIMARY KEY);
CREATE TABLE early (id int REFERENCES late);
INSERT INTO late VALUES (1), (2);
INSERT INTO early VALUES (1);
SELECT citus_add_local_table_to_metadata('early');
SELECT create_reference_table('late');
DELETE FROM late WHERE id = 1;
SELECT undistribute_table('late');
DELETE FROM late WHERE id = 1;
SELECT create_reference_table('late');
SELECT undistribute_table('early');
SELECT conname FROM pg_constraint WHERE conrelid = 'early'::regclass;
SELECT citus_add_local_table_to_metadata('early');
DROP TABLE late CASCADE;
SELECT conname FROM pg_constraint WHERE conrelid = 'early'::regclass;

-- New tables at once, if the user says so; those that can't be are left local.
SET citus.use_citus_managed_tables TO on;
CREATE TABLE new_one (id int PRIMARY KEY);
CREATE TABLE new_two AS SELECT 1 AS a, 'x' AS b;
CREATE TABLE IF NOT EXISTS early (id int);
CREATE TEMPORARY TABLE new_temporary (a int);
CREATE TABLE new_parts (a int) PARTITION BY LIST (a);
CREATE TABLE new_part PARTITION OF new_parts FOR VALUES IN (1);
CREATE TABLE new_child () INHERITS (other);
CREATE MATERIALIZED VIEW new_matview AS SELECT 1 AS a;
SELECT new_three INTO new_three FROM (SELECT 3) AS s (new_three);
BEGIN;
CREATE TABLE new_gone (a int);
ROLLBACK;
RESET citus.use_citus_managed_tables;
CREATE TABLE not_managed (a int);
SELECT table_name FROM public.citus_tables WHERE citus_table_type = 'local' AND table_name::text ~ '^(new|not)' ORDER BY 1;
SELECT result FROM run_command_on_workers($$SELECT count(*) FROM managed.new_one RIGHT JOIN managed.new_two ON id = a, managed.new_three$$);
DROP TABLE new_one, new_two, new_three;

-- Partitioned tables are managed with all their partitions, those that come later as well; shells are partitioned as they are.
CREATE TABLE many (id serial, d int, v int DEFAULT 7, r int REFERENCES ref ON UPDATE CASCADE, PRIMARY KEY (id, d), CONSTRAINT positive CHECK (v >= 0)) PARTITION BY RANGE (d);
CREATE TABLE many_1 PARTITION OF many FOR VALUES FROM (0) TO (10);
CREATE TABLE many_2 PARTITION OF many FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (d);
CREATE TABLE many_21 PARTITION OF many_2 FOR VALUES FROM (10) TO (20);
CREATE TABLE of_many (id int, d int, FOREIGN KEY (id, d) REFERENCES many ON DELETE CASCADE);
INSERT INTO many (d, r) SELECT i % 20, 3 + i % 4 FROM generate_series(1, 40) i;
INSERT INTO of_many SELECT id, d FROM many WHERE id < 6;
SELECT citus_add_local_table_to_metadata('of_many', cascade_via_foreign_keys => true);
SELECT table_name FROM public.citus_tables WHERE citus_table_type = 'local' AND table_name::text ~ 'many' ORDER BY table_name::text;
CREATE TABLE many_3 PARTITION OF many FOR VALUES FROM (20) TO (30);
CREATE TABLE many_4 (id int NOT NULL, d int NOT NULL, v int, r int, CONSTRAINT positive CHECK (v >= 0));
INSERT INTO many_4 VALUES (100, 35, 1, 4);
ALTER TABLE many ATTACH PARTITION many_4 FOR VALUES FROM (30) TO (40);
CREATE TABLE many_5 (id int NOT NULL, d int NOT NULL, v int, r int, CONSTRAINT positive CHECK (v >= 0));
SELECT citus_add_local_table_to_metadata('many_5');
ALTER TABLE many ATTACH PARTITION many_5 FOR VALUES FROM (40) TO (50);
CREATE INDEX ON many (v);
ALTER TABLE many ADD extra int DEFAULT 3;
ALTER TABLE many RENAME v TO value;
CREATE TABLE many_dist (id int, d int, value int, r int, extra int);
SELECT create_distributed_table('many_dist', 'id');
ALTER TABLE many ATTACH PARTITION many_dist FOR VALUES FROM (90) TO (99);
CREATE FUNCTION tree() RETURNS TABLE (partitions text, nodes bigint) LANGUAGE sql AS $$
SELECT result, count(*) FROM run_command_on_all_nodes($r$SELECT string_agg(concat_ws(' ', relname, inhdetachpending, pg_get_expr(relpartbound, c.oid)), '; ' ORDER BY relname) FROM pg_class c JOIN pg_inherits ON inhrelid = c.oid WHERE relname ~ '^many'$r$) GROUP BY 1 $$;
SELECT * FROM tree();
\c - - - :worker
\set VERBOSITY terse
SET search_path = managed;
SELECT count(*), sum(extra), min(id) FROM many;
SELECT count(*) FROM many_21;
SELECT * FROM many_4;
INSERT INTO ref VALUES (50, 'fifty');
INSERT INTO many (d, r) VALUES (25, 50), (1, 50), (45, 5) RETURNING id, d, value, extra;
INSERT INTO many (d, r) VALUES (55, 3);
INSERT INTO many_1 (d, r) VALUES (5, 11);
INSERT INTO many (id, d, r) VALUES (7, 7, 3) ON CONFLICT (id, d) DO UPDATE SET value = many.value + 1 RETURNING *;
UPDATE many SET d = 36 WHERE id = 10 RETURNING tableoid::regclass, *;
DELETE FROM many WHERE id = 2 RETURNING d;
SELECT count(*) FROM of_many;
UPDATE ref SET id = 103 WHERE id = 50;
SELECT r, count(*) FROM many GROUP BY r ORDER BY r;
COPY many (d, r) FROM stdin;
3	103
44	4
\.
SELECT tableoid::regclass::text, count(*) FROM many GROUP BY 1 ORDER BY 1;
SET client_min_messages TO warning;
CREATE TABLE many_6 PARTITION OF many FOR VALUES FROM (50) TO (60);
DROP TABLE many_6;
ALTER TABLE many DETACH PARTITION many_6;
DROP TABLE many_6;
CREATE TABLE many_6 (LIKE many);
ALTER TABLE many ATTACH PARTITION many_6 FOR VALUES FROM (50) TO (60);
DROP TABLE many_6;
\c - - - :coordinator
\set VERBOSITY terse
SET client_min_messages TO warning;
SET search_path = managed;
ALTER TABLE many DETACH PARTITION many_4;
DELETE FROM of_many;
INSERT INTO of_many SELECT id, d FROM many_3;
ALTER TABLE many DETACH PARTITION many_3 CONCURRENTLY;
DELETE FROM of_many;
ALTER TABLE many DETACH PARTITION many_3 CONCURRENTLY;
ALTER TABLE many DETACH PARTITION many_3 FINALIZE;
UPDATE ref SET id = 50 WHERE id = 103;
SELECT r, count(*) FROM (SELECT r FROM many UNION ALL SELECT r FROM many_3 UNION ALL SELECT r FROM many_4) a GROUP BY r ORDER BY r;
ALTER TABLE many ATTACH PARTITION many_4 FOR VALUES FROM (30) TO (40);
DROP TABLE many_1 CASCADE;
SELECT * FROM tree();
SELECT undistribute_table('many_21');
SELECT undistribute_table('many');
SELECT * FROM tree();
SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE contype = 'f' AND conrelid::regclass::text ~ 'many' AND conname !~ '\d{6}$' ORDER BY 1, 2;
SELECT citus_add_local_table_to_metadata('many_21');
SELECT table_name FROM public.citus_tables WHERE citus_table_type = 'local' AND table_name::text ~ 'many' ORDER BY table_name::text;
SELECT create_distributed_table('many', 'id');
SELECT table_name, citus_table_type FROM public.citus_tables WHERE table_name::text ~ 'many' ORDER BY table_name::text;
SELECT count(*), sum(value) FROM many;
DROP TABLE many, many_3, of_many, many_dist;
DELETE FROM ref WHERE id = 50;
SELECT result FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_class WHERE relname ~ '^(of_)?many' AND relkind IN ('r', 'p')$$);

-- TRUNCATE of a reference table and of a local one that refers to it, whose triggers fire once.
CREATE TABLE base (id int PRIMARY KEY);
SELECT create_reference_table('base');
CREATE TABLE user_of (id int REFERENCES base);
SELECT citus_add_local_table_to_metadata('user_of');
CREATE TABLE fired (what text);
CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO managed.fired VALUES (TG_WHEN || ' ' || TG_TABLE_NAME || (SELECT count(*) FROM managed.base)); RETURN NULL; END$$;
INSERT INTO base VALUES (1);
INSERT INTO user_of VALUES (1);
TRUNCATE base;
TRUNCATE user_of, base;
SELECT (SELECT count(*) FROM base), (SELECT count(*) FROM user_of);
CREATE TRIGGER before BEFORE TRUNCATE ON user_of EXECUTE FUNCTION fire();
CREATE TRIGGER after AFTER TRUNCATE ON user_of EXECUTE FUNCTION fire();
INSERT INTO base VALUES (1);
INSERT INTO user_of VALUES (1);
TRUNCATE base CASCADE;
TABLE fired;
SELECT (SELECT count(*) FROM base), (SELECT count(*) FROM user_of);
INSERT INTO base VALUES (1);
BEGIN;
TRUNCATE base, user_of;
SELECT (SELECT count(*) FROM base), (SELECT count(*) FROM user_of);
ROLLBACK;
SELECT (SELECT count(*) FROM base), (SELECT count(*) FROM fired);
DROP TABLE base, user_of, fired;

DROP TABLE managed_too.thing CASCADE;
SELECT result FROM run_command_on_all_nodes($$SELECT to_regclass('managed_too.thing') IS NULL$$);
SELECT remove_local_tables_from_metadata();
SELECT count(*) FROM public.citus_tables WHERE citus_table_type = 'local';
SELECT result FROM run_command_on_workers($$SELECT count(*) FROM pg_class WHERE relnamespace = 'managed'::regnamespace AND relname IN ('part', 'early', 'other')$$);
SELECT * FROM view_of ORDER BY 1, 2;
SET client_min_messages TO error;
DROP SCHEMA managed, managed_too CASCADE;
DROP ROLE managed_user;
