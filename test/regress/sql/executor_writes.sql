-- Writes: RETURNING, command tags, rows of INSERT, copies, errors with PostgreSQL's SQLSTATE.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET citus.shard_count = 6;
CREATE SCHEMA writes;
SET search_path = writes;
CREATE FUNCTION sqlstate_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'none';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE TABLE t (k bigserial PRIMARY KEY, v int DEFAULT 7 CHECK (v < 100), g int GENERATED ALWAYS AS (v * 2) STORED);
CREATE TABLE r (id int PRIMARY KEY, name text);
SELECT create_distributed_table('t', 'k');
SELECT create_reference_table('r');

INSERT INTO t DEFAULT VALUES RETURNING *;
-- Rows come back in the order of the VALUES list, and sequences count once per row.
INSERT INTO t (v) VALUES (1), (DEFAULT), (3), (4), (5) RETURNING *;
INSERT INTO t VALUES (1, 50) ON CONFLICT (k) DO UPDATE SET v = excluded.v + t.v RETURNING *;
INSERT INTO t VALUES (1, 5), (100, 9) ON CONFLICT DO NOTHING RETURNING *;
\set QUIET off
INSERT INTO t VALUES (200, 1), (201, 2);
UPDATE t SET v = v + 1 WHERE k > 100;
UPDATE t SET v = v WHERE k = 200;
DELETE FROM t WHERE k IN (200, 201, 999);
DELETE FROM t WHERE k = NULL;
\set QUIET on
SET citus.sort_returning = on;
UPDATE t SET v = v + 1 WHERE k < 5 RETURNING k, v;
RESET citus.sort_returning;

SELECT sqlstate_of('INSERT INTO t VALUES (1, 1)');
SELECT sqlstate_of('INSERT INTO t VALUES (300, 1), (1, 1)');
SELECT sqlstate_of('INSERT INTO t VALUES (NULL, 1)');
SELECT sqlstate_of('UPDATE t SET v = 1000');
SELECT sqlstate_of('UPDATE t SET v = v / 0');
SELECT count(*) FROM t;

-- Reference tables: all copies, and the same values in each.
INSERT INTO r VALUES (1, md5(random()::text)), (2, 'two') RETURNING id;
UPDATE r SET name = name || '!' WHERE id = 2 RETURNING *;
SELECT sqlstate_of('INSERT INTO r VALUES (2, NULL)');
SELECT count(DISTINCT result) FROM run_command_on_placements('r', 'SELECT string_agg(name, '','' ORDER BY id) FROM %s');

-- Statement-based copies.
SET citus.shard_replication_factor = 2;
CREATE TABLE two (k int PRIMARY KEY, v text);
SELECT create_distributed_table('two', 'k', colocate_with => 'none');
RESET citus.shard_replication_factor;
INSERT INTO two SELECT i, 'v' FROM generate_series(1, 50) i;
INSERT INTO two VALUES (51, 'a'), (52, 'b') RETURNING *;
UPDATE two SET v = 'odd' WHERE k % 2 = 1;
DELETE FROM two WHERE k = 1 RETURNING *;
SELECT sum(result::int) FROM run_command_on_placements('two', 'SELECT count(*) FROM %s');
SELECT count(*) FROM two;
SET citus.task_assignment_policy = 'first-replica';
SELECT count(*) FROM two;
SET citus.task_assignment_policy = 'round-robin';
SELECT count(*) FROM two;
RESET citus.task_assignment_policy;

-- Prepared, with keys that are NULL, arrays, other types.
PREPARE ins(bigint, int) AS INSERT INTO t VALUES ($1, $2);
EXECUTE ins(400, 1);
EXECUTE ins(401, 2);
PREPARE upd(int, bigint) AS UPDATE t SET v = $1 WHERE k = $2 RETURNING v;
EXECUTE upd(11, 400);
EXECUTE upd(12, NULL);
PREPARE sel(bigint[]) AS SELECT k, v FROM t WHERE k = ANY ($1) ORDER BY k;
EXECUTE sel('{400,401,999}');
EXECUTE sel('{}');
EXECUTE sel(NULL);

-- A changed column type does not break what nodes have prepared.
CREATE TABLE w (k int, v varchar(10));
SELECT create_distributed_table('w', 'k');
INSERT INTO w VALUES (1, 'one');
PREPARE star(int) AS SELECT * FROM w WHERE k = $1;
EXECUTE star(1);
ALTER TABLE w ALTER v TYPE text;
DEALLOCATE star;
PREPARE star(int) AS SELECT * FROM w WHERE k = $1;
EXECUTE star(1);

DROP SCHEMA writes CASCADE;
