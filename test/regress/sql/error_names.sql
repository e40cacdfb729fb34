-- Errors that shards raise say the names of their table, its indexes and constraints, in the message, the detail and
-- the fields, as plain tables do, from every node; what rows hold stays as it is; the shard is in the context.
\set SHOW_CONTEXT never
SET client_min_messages TO warning;
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
SELECT nodeport AS coordinator FROM pg_dist_node WHERE groupid = 0 \gset
SET citus.shard_count TO 8;
SET citus.next_shard_id TO 1478000;
CREATE ROLE names_guest LOGIN;
CREATE SCHEMA names_plain;
CREATE SCHEMA names;
CREATE SCHEMA names_types;
CREATE DOMAIN names_types.positive AS int CONSTRAINT is_positive CHECK (VALUE > 0);
GRANT USAGE ON SCHEMA names, names_plain TO names_guest;
SELECT format($$
	CREATE TABLE %1$I.kind (k int PRIMARY KEY);
	CREATE TABLE %1$I.t (k int PRIMARY KEY, v int NOT NULL, note text, kind int CONSTRAINT kind_exists REFERENCES %1$I.kind,
		CONSTRAINT small CHECK (v < 100), CONSTRAINT no_two EXCLUDE USING btree (k WITH =, note WITH =));
	CREATE UNIQUE INDEX by_note ON %1$I.t (k, note);
	CREATE TABLE %1$I.child (k int REFERENCES %1$I.t, n int, PRIMARY KEY (k, n),
		CONSTRAINT late FOREIGN KEY (k) REFERENCES %1$I.t DEFERRABLE INITIALLY DEFERRED);
	CREATE TABLE %1$I."Ein langer Name, länger als alles, was noch eine Nummer hinter sich" (k int,
		CONSTRAINT "an even longer name of a constraint, which has to be cut as well" UNIQUE (k));
	CREATE TABLE %1$I.only_late (k int, CONSTRAINT very_late FOREIGN KEY (k) REFERENCES %1$I.t DEFERRABLE INITIALLY DEFERRED);
	CREATE TABLE %1$I.typed (k int, p names_types.positive);
	CREATE TABLE %1$I.guarded (k int, v int);
	ALTER TABLE %1$I.guarded ENABLE ROW LEVEL SECURITY;
	CREATE POLICY many ON %1$I.guarded USING (v < 10);
	CREATE POLICY few ON %1$I.guarded AS RESTRICTIVE FOR INSERT WITH CHECK (v <> 5);
	GRANT ALL ON ALL TABLES IN SCHEMA %1$I TO names_guest$$, place)
FROM unnest('{names_plain,names}'::text[]) place \gexec
SET search_path TO names;
SELECT create_reference_table('kind');
SELECT create_distributed_table('t', 'k');
SELECT create_distributed_table('child', 'k', colocate_with => 't');
SELECT create_distributed_table('only_late', 'k', colocate_with => 't');
SELECT create_distributed_table('guarded', 'k');
SELECT create_distributed_table('typed', 'k');
SELECT create_distributed_table(c.oid, 'k') FROM pg_class c WHERE relname LIKE 'Ein%' AND relnamespace = 'names'::regnamespace;
-- Where the keys are, on either side of the network.
SELECT count(DISTINCT get_shard_id_for_distribution_column('t', k)) > 5 AS many_shards FROM generate_series(1, 20) k;

-- All that a client learns of an error.
CREATE FUNCTION attempt(place text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state text; message text; detail text; sch text; tab text; col text; con text; typ text;
	context text;
BEGIN
	PERFORM set_config('search_path', place, true);
	EXECUTE statement;
	SET CONSTRAINTS ALL IMMEDIATE;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
		sch = SCHEMA_NAME, tab = TABLE_NAME, col = COLUMN_NAME, con = CONSTRAINT_NAME, typ = PG_DATATYPE_NAME,
		context = PG_EXCEPTION_CONTEXT;
	IF place = 'names' AND tab <> '' AND context !~ 'shard ".*_14780\d\d"' THEN
		RETURN 'no shard in ' || context;
	END IF;
	RETURN concat_ws(' | ', state, message, detail, replace(sch, 'names_plain', 'names'), tab, col, con, typ);
END $$;
-- With keys of all nodes; what a plain table says, and where the distributed one says something else.
CREATE FUNCTION same(statement text) RETURNS TABLE (said text, otherwise text) LANGUAGE sql AS $$
	SELECT min(p) FILTER (WHERE k = 1), string_agg(DISTINCT d, ' // ') FILTER (WHERE d IS DISTINCT FROM p)
	FROM generate_series(1, 12) k,
		LATERAL (SELECT names.attempt('names_plain', format(statement, k)) AS p,
			names.attempt('names', format(statement, k)) AS d) a
$$;
INSERT INTO names_plain.kind VALUES (1), (2);
INSERT INTO kind VALUES (1), (2);
INSERT INTO names_plain.t SELECT k, k, 'note', 1 FROM generate_series(1, 40) k;
INSERT INTO t SELECT k, k, 'note', 1 FROM generate_series(1, 40) k;
INSERT INTO names_plain.child SELECT k, 1 FROM generate_series(1, 12) k;
INSERT INTO child SELECT k, 1 FROM generate_series(1, 12) k;
\x on
SELECT * FROM same('INSERT INTO t VALUES (%s, 1, null)');
SELECT * FROM same('INSERT INTO t VALUES (%s + 100, null)');
SELECT * FROM same('INSERT INTO t (v) VALUES (%s * 0)');
SELECT * FROM same('INSERT INTO t SELECT NULL, 5 FROM t WHERE k = %s');
SELECT * FROM same('INSERT INTO t VALUES (%s + 100, 100, ''note of t_1478001, small_1478001'')');
SELECT * FROM same('UPDATE t SET v = v + 100 WHERE k = %s');
SELECT * FROM same('INSERT INTO t VALUES (%s + 100, 1, null, 7)');
SELECT * FROM same('INSERT INTO t VALUES (%1$s + 100, 1), (%1$s + 200, 101)');
SELECT * FROM same('INSERT INTO child VALUES (%s + 100, 1)');
SELECT * FROM same('INSERT INTO child SELECT k + 100, 1 FROM child WHERE k = %s');
SELECT * FROM same('DELETE FROM t WHERE k = %s');
SELECT * FROM same('DELETE FROM kind WHERE k = 1 AND %s > 0');
SELECT * FROM same('INSERT INTO kind VALUES (2 - 0 * %s)');
SELECT * FROM same('INSERT INTO only_late VALUES (%s + 100)');
SELECT * FROM same('INSERT INTO "Ein langer Name, länger als alles, was noch eine Nummer hinter sich" VALUES (%1$s), (%1$s)');
SELECT * FROM same('INSERT INTO typed VALUES (%s, 0)');
\x off
-- Policies: by themselves, as the role.
SET ROLE names_guest;
INSERT INTO names_plain.guarded VALUES (1, 11);
INSERT INTO guarded VALUES (1, 11);
INSERT INTO guarded VALUES (2, 11);
INSERT INTO guarded VALUES (3, 5);
INSERT INTO guarded VALUES (4, 5);
RESET ROLE;
-- COPY and what is checked at the end of the transaction.
COPY t FROM STDIN;
101	1	\N	1
1	1	(t_1478001)	1
\.
COPY t FROM STDIN;
102	1000	t_1478001	1
\.
-- Whatever the server's log is to have of errors.
SET log_min_messages TO fatal;
INSERT INTO only_late VALUES (101);
SET log_min_messages TO log;
SHOW log_min_messages;
INSERT INTO t VALUES (1, 1);
SET log_min_messages TO panic;
BEGIN;
SET LOCAL log_min_messages TO debug1;
ROLLBACK;
SHOW log_min_messages;
RESET log_min_messages;
SHOW log_min_messages;
INSERT INTO only_late VALUES (102);
INSERT INTO only_late VALUES (103);
BEGIN;
INSERT INTO only_late VALUES (5), (6), (7), (104);
COMMIT;
-- Schema changes that rows don't fit.
CREATE UNIQUE INDEX never ON child (k, (n / 10), (n * 0));
INSERT INTO child VALUES (1, 2);
CREATE UNIQUE INDEX by_tens ON child (k, (n / 10));
ALTER TABLE child ADD CONSTRAINT ones CHECK (n = 1);
-- And those that are in use.
BEGIN;
INSERT INTO only_late VALUES (5);
ALTER TABLE only_late ADD COLUMN more int;
ROLLBACK;
BEGIN;
INSERT INTO only_late VALUES (5);
TRUNCATE only_late;
ROLLBACK;
-- Foreign keys to partitions of the referenced table, which PostgreSQL names itself.
CREATE TABLE parted_pk (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE parted_pk_low PARTITION OF parted_pk FOR VALUES FROM (0) TO (100);
CREATE TABLE parted_pk_high PARTITION OF parted_pk FOR VALUES FROM (100) TO (1000) PARTITION BY RANGE (id);
CREATE TABLE parted_pk_higher PARTITION OF parted_pk_high DEFAULT;
CREATE TABLE parted_fk_whose_name_is_so_long_that_it_cannot_stand_in_full (id int PRIMARY KEY REFERENCES parted_pk, CONSTRAINT twice FOREIGN KEY (id) REFERENCES parted_pk);
SELECT create_distributed_table('parted_pk', 'id');
SELECT create_distributed_table('parted_fk_whose_name_is_so_long_that_it_cannot_stand_in_full', 'id');
INSERT INTO parted_pk VALUES (1), (200);
INSERT INTO parted_fk_whose_name_is_so_long_that_it_cannot_stand_in_full VALUES (1), (200);
DELETE FROM parted_pk WHERE id = 1;
DELETE FROM parted_pk WHERE id = 200;
ALTER TABLE parted_fk_whose_name_is_so_long_that_it_cannot_stand_in_full DROP CONSTRAINT twice;
DELETE FROM parted_pk WHERE id = 1;
DO $$DECLARE c text; t text; BEGIN DELETE FROM parted_pk WHERE id = 200; EXCEPTION WHEN foreign_key_violation THEN GET STACKED DIAGNOSTICS c = CONSTRAINT_NAME, t = TABLE_NAME; RAISE EXCEPTION '%, %', c, t; END$$;
-- What hinders DROP is tables, not their shards, which are here as well.
CREATE TYPE mood AS ENUM ('calm', 'busy');
CREATE FUNCTION half(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 / 2';
CREATE TABLE "Mood of_1" (id int PRIMARY KEY DEFAULT half(2), m mood DEFAULT 'calm', CONSTRAINT halves CHECK (half(id) < 1000));
CREATE INDEX "half of_1" ON "Mood of_1" (half(id));
SELECT create_reference_table('"Mood of_1"');
CREATE TABLE moods (id int PRIMARY KEY, m mood);
SELECT create_distributed_table('moods', 'id');
DROP TYPE mood;
DROP FUNCTION half(int);
DO $$DECLARE told text; BEGIN DROP TYPE mood; EXCEPTION WHEN dependent_objects_still_exist THEN GET STACKED DIAGNOSTICS told = PG_EXCEPTION_DETAIL; RAISE EXCEPTION '%', told; END$$;
-- What goes with CASCADE is tables, and is told so.
CREATE SCHEMA going;
CREATE DOMAIN going.word AS text;
CREATE TABLE going.one (id int PRIMARY KEY, w going.word);
CREATE TABLE going.other (id int PRIMARY KEY);
SELECT create_reference_table('going.one'), create_reference_table('going.other');
SET client_min_messages TO notice;
DROP DOMAIN going.word CASCADE;
DROP SCHEMA going CASCADE;
SET client_min_messages TO warning;
CREATE SCHEMA going;
DO $$BEGIN FOR n IN 100..201 LOOP EXECUTE format('CREATE TABLE going.t%s (id int)', n); PERFORM create_reference_table('going.t' || n); END LOOP; END$$;
SET client_min_messages TO notice;
DROP SCHEMA going CASCADE;
SET client_min_messages TO warning;
CREATE TABLE deferred (k int CONSTRAINT later UNIQUE DEFERRABLE);
SELECT create_distributed_table('deferred', 'k');
INSERT INTO deferred VALUES (1) ON CONFLICT (k) DO NOTHING;
DO $$DECLARE c text; t text; BEGIN INSERT INTO deferred VALUES (1) ON CONFLICT (k) DO NOTHING; EXCEPTION WHEN object_not_in_prerequisite_state THEN GET STACKED DIAGNOSTICS c = CONSTRAINT_NAME, t = TABLE_NAME; RAISE EXCEPTION '%, %', c, t; END$$;
-- From a worker.
\c - - - :worker
\set SHOW_CONTEXT never
SET search_path TO names;
DROP TYPE mood;
INSERT INTO t VALUES (1, 1);
INSERT INTO t VALUES (2, 1);
INSERT INTO t VALUES (3, 1);
INSERT INTO t VALUES (4, 1);
INSERT INTO child VALUES (101, 1);
INSERT INTO child VALUES (102, 1);
INSERT INTO kind VALUES (1);
BEGIN;
INSERT INTO only_late VALUES (5);
ALTER TABLE only_late ADD COLUMN more int;
ROLLBACK;
BEGIN;
INSERT INTO only_late VALUES (5);
TRUNCATE only_late;
ROLLBACK;
\c - - - :coordinator
-- What users raise is theirs.
DO $$BEGIN RAISE EXCEPTION 'about t_1478001' USING ERRCODE = '42501', DETAIL = 't_1478001'; END$$;
SET client_min_messages TO error;
DROP SCHEMA names CASCADE;
DROP SCHEMA names_plain CASCADE;
DROP SCHEMA names_types CASCADE;
DROP ROLE names_guest;
