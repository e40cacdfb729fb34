-- Triggers of distributed, reference and single-shard tables fire as those of plain tables: in the
-- client's backend, once for each row, in the same order and with the same rows.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" triggers
\! sh "$PG_ABS_SRCDIR/twice.sh" triggers_deferred
\! sh "$PG_ABS_SRCDIR/twice.sh" triggers_partitions
\! sh "$PG_ABS_SRCDIR/twice.sh" triggers_steps
\! sh "$PG_ABS_SRCDIR/twice.sh" triggers_conflict
\! sh "$PG_ABS_SRCDIR/twice.sh" triggers_keys
\! sh "$PG_ABS_SRCDIR/twice.sh" triggers_truncate
\! sh "$PG_ABS_SRCDIR/twice.sh" triggers_bare
-- The copies are the same after it.
SELECT t, count(*), count(DISTINCT result) FROM unnest('{twice.r,twice.u}'::regclass[]) t,
	run_command_on_placements(t, 'SELECT array_agg(r::text ORDER BY r::text) FROM %s r') GROUP BY t;
SET client_min_messages = warning;
SELECT inet_server_port() AS first_port \gset
DROP SCHEMA twice CASCADE;
CREATE SCHEMA triggers;
SET search_path = triggers;
SET citus.shard_count = 4;

-- A table that has triggers when it is distributed, and rows; the log is a local table.
CREATE TABLE log (n serial, line text);
CREATE TABLE t (k int PRIMARY KEY, v int);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO triggers.log (line) VALUES (concat_ws(' ', TG_NAME, TG_OP, OLD::text, NEW::text));
	RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO t VALUES (1, 1);
SELECT create_distributed_table('t', 'k');
INSERT INTO t VALUES (2, 2), (3, 3);
UPDATE t SET v = v + 1 WHERE k = 1;
SELECT line FROM log ORDER BY n;
-- Every node has it, on its shell, and no shard has.
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT string_agg(tgname || ' ' || (tgrelid = 'triggers.t'::regclass), ',') FROM pg_trigger WHERE NOT tgisinternal AND tgrelid::regclass::text LIKE 'triggers.t%'$$);

-- Without it nothing fires.
DROP TRIGGER note ON t;
SELECT count(*) FROM run_command_on_all_nodes($$SELECT 1 FROM pg_trigger WHERE tgname = 'note'$$) WHERE result <> '';
DELETE FROM t WHERE k = 1;
SELECT count(*) FROM log;

-- citus.enable_unsafe_triggers: on the shards, also after a replacement.
CREATE FUNCTION ten() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := NEW.v * 10; RETURN NEW; END $$;
SET citus.enable_unsafe_triggers = on;
CREATE TRIGGER ten BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION ten();
RESET citus.enable_unsafe_triggers;
INSERT INTO t VALUES (4, 4);
SELECT v FROM t WHERE k = 4;
CREATE OR REPLACE TRIGGER ten BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION ten();
UPDATE t SET v = 1 WHERE k = 4;
SELECT v FROM t WHERE k = 4;
-- Both kinds at once.
CREATE TRIGGER note AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();
TRUNCATE log;
UPDATE t SET v = 2 WHERE k = 4 RETURNING *;
SELECT line FROM log;
SELECT v FROM t WHERE k = 4;
ALTER TRIGGER ten ON t RENAME TO tenfold;
ALTER TABLE t DISABLE TRIGGER tenfold, DISABLE TRIGGER note;
UPDATE t SET v = 3 WHERE k = 4;
SELECT v FROM t WHERE k = 4;
DROP TRIGGER tenfold ON t;
SELECT undistribute_table('t');
ALTER TABLE t ENABLE TRIGGER note;
UPDATE t SET v = 5 WHERE k = 4;
SELECT line FROM log;

-- Functions run as the client; who may not write the table fires nothing.
CREATE TABLE owned (k int PRIMARY KEY, v text);
SELECT create_distributed_table('owned', 'k');
CREATE FUNCTION who() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := current_user; RETURN NEW; END $$;
CREATE TRIGGER who BEFORE INSERT OR UPDATE ON owned FOR EACH ROW EXECUTE FUNCTION who();
CREATE ROLE trigger_client;
GRANT USAGE ON SCHEMA triggers TO trigger_client;
SET ROLE trigger_client;
INSERT INTO owned VALUES (1);
RESET ROLE;
GRANT SELECT, INSERT, UPDATE ON owned TO trigger_client;
SET ROLE trigger_client;
INSERT INTO owned VALUES (1) RETURNING v;
UPDATE owned SET v = 'x' RETURNING v;
DELETE FROM owned;
RESET ROLE;

-- TRUNCATE: each table's triggers once, with PostgreSQL's notices.
DELETE FROM log;
CREATE TABLE emptied (k int PRIMARY KEY);
CREATE TABLE follows (k int PRIMARY KEY REFERENCES emptied);
SELECT create_distributed_table('emptied', 'k', shard_count => 4);
SELECT create_distributed_table('follows', 'k', colocate_with => 'emptied');
CREATE TRIGGER before_all BEFORE TRUNCATE ON follows EXECUTE FUNCTION note();
CREATE TRIGGER after_all AFTER TRUNCATE ON emptied EXECUTE FUNCTION note();
SET client_min_messages = notice;
TRUNCATE emptied CASCADE;
SET client_min_messages = warning;
SELECT line FROM log ORDER BY n;
DELETE FROM log;
DROP TABLE follows, emptied;

-- What can't be.
ALTER TRIGGER who ON owned DEPENDS ON EXTENSION pando;
ALTER TRIGGER who ON owned DEPENDS ON EXTENSION plpgsql;
CREATE TABLE parts (k int PRIMARY KEY) PARTITION BY RANGE (k);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
SELECT create_distributed_table('parts', 'k', colocate_with => 'owned');
CREATE TABLE child (k int PRIMARY KEY REFERENCES parts ON DELETE CASCADE, v int);
CREATE TRIGGER note BEFORE UPDATE ON child FOR EACH ROW EXECUTE FUNCTION note();
SELECT create_distributed_table('child', 'k', colocate_with => 'owned');
CREATE TRIGGER gone AFTER DELETE ON child FOR EACH ROW EXECUTE FUNCTION note();
CREATE TABLE child2 (k int PRIMARY KEY);
CREATE TRIGGER gone AFTER DELETE ON child2 FOR EACH ROW EXECUTE FUNCTION note();
SELECT create_distributed_table('child2', 'k', colocate_with => 'owned');
ALTER TABLE child2 ADD CONSTRAINT key FOREIGN KEY (k) REFERENCES parts ON DELETE CASCADE;
ALTER TABLE child2 ADD CONSTRAINT key FOREIGN KEY (k) REFERENCES owned ON DELETE CASCADE;
-- Whoever says that actions are done elsewhere has the key checked; so is what another transaction has added, which the action doesn't see.
INSERT INTO owned VALUES (20), (21), (22);
INSERT INTO child2 VALUES (20), (21);
SELECT shard_name, nodeport FROM citus_shards WHERE table_name = 'triggers.owned'::regclass AND shardid = get_shard_id_for_distribution_column('owned', 20) \gset
\set VERBOSITY terse
\connect - - - :nodeport
DELETE FROM :shard_name WHERE k = 20 AND pando.row_acts_elsewhere(tableoid, ctid);
BEGIN;
SAVEPOINT s;
DELETE FROM :shard_name WHERE k = 20 AND pando.row_acts_elsewhere(tableoid, ctid);
ROLLBACK TO s;
COMMIT;
SET search_path = triggers;
CREATE TABLE mine (k int);
CREATE TRIGGER theirs AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION pando.action_elsewhere();
INSERT INTO mine VALUES (1);
\connect - - - :first_port
SET client_min_messages = warning;
SET search_path = triggers;
SET citus.shard_count = 4;
\set VERBOSITY default
SELECT k FROM owned WHERE k >= 20 ORDER BY k;
DROP TABLE child2;
CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.k := NEW.k + 1; RETURN NEW; END $$;
CREATE TRIGGER move BEFORE UPDATE ON owned FOR EACH ROW EXECUTE FUNCTION move();
WITH q AS (SELECT 1 AS one) INSERT INTO owned VALUES (1, 'y') ON CONFLICT (k) DO UPDATE SET v = (SELECT one FROM q);
INSERT INTO owned VALUES (1, 'y') ON CONFLICT (k) DO UPDATE SET (v) = (SELECT count(*) FROM t);
INSERT INTO owned VALUES (1, 'y') ON CONFLICT (k) DO UPDATE SET v = (SELECT excluded::text);
INSERT INTO owned VALUES (1, 'y') ON CONFLICT (k) DO UPDATE SET v = ctid::text;
-- A subquery would see what the statement, or a function that it calls, has done.
CREATE TABLE watched (k int PRIMARY KEY, v int);
CREATE TABLE noted (i int) PARTITION BY LIST (i);
CREATE TABLE noted_1 PARTITION OF noted FOR VALUES IN (1);
SELECT create_distributed_table('watched', 'k');
SELECT create_reference_table('noted');
INSERT INTO watched VALUES (1, 1), (2, 2);
CREATE FUNCTION note_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO noted_1 VALUES (1); RETURN NEW; END $$;
CREATE TRIGGER note_row BEFORE INSERT ON watched FOR EACH ROW EXECUTE FUNCTION note_row();
INSERT INTO watched VALUES (1, 5), (2, 5) ON CONFLICT (k) DO UPDATE SET v = (SELECT count(*) FROM watched);
INSERT INTO watched VALUES (1, 5) ON CONFLICT (k) DO UPDATE SET v = (SELECT count(*) FROM noted);
INSERT INTO watched VALUES (2, 5), (1, 5) ON CONFLICT (k) DO UPDATE SET v = (SELECT count(*) + watched.k + 100 FROM t WHERE false);
INSERT INTO watched VALUES (2, 5) ON CONFLICT (k) DO UPDATE SET v = watched.v + (SELECT count(*) FROM watched);
SELECT * FROM watched ORDER BY k;
CREATE TABLE follows (k int REFERENCES watched ON UPDATE CASCADE, i int);
SELECT create_distributed_table('follows', 'k', colocate_with => 'watched');
INSERT INTO watched VALUES (1, 5), (2, 5) ON CONFLICT (k) DO UPDATE SET v = (SELECT count(*) FROM follows);
DROP TABLE noted, watched, follows;

-- MERGE, by steps.
DROP TRIGGER move ON owned;
MERGE INTO owned USING (VALUES (1), (7)) s (i) ON k = i WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT VALUES (i, 'n');
SELECT k, v = current_user AS fired FROM owned WHERE k < 20 ORDER BY k;
CREATE TRIGGER tables AFTER UPDATE ON owned REFERENCING NEW TABLE AS n FOR EACH ROW EXECUTE FUNCTION note();
MERGE INTO owned USING (VALUES (1)) s (i) ON k = i WHEN MATCHED THEN UPDATE SET v = 'm';

DROP SCHEMA triggers CASCADE;
DROP ROLE trigger_client;
