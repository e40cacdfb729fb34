-- UPDATE of the distribution column: the row moves, as one does between partitions. The same as
-- in plain tables.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" key_change_triggers
\! sh "$PG_ABS_SRCDIR/twice.sh" key_change_policies
\! sh "$PG_ABS_SRCDIR/twice.sh" key_change_policies force
\! sh "$PG_ABS_SRCDIR/twice.sh" key_change

SET search_path = twice;
SET client_min_messages = warning;
CREATE FUNCTION tasks(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || statement LOOP
		IF line ~ 'Task Count|Step ' THEN RETURN NEXT trim(line); END IF;
	END LOOP;
END $$;
-- Each row is in the shard of its value.
SELECT 'a' AS t, count(*) FROM run_command_on_shards('a', $$SELECT count(*) FROM %s WHERE get_shard_id_for_distribution_column('twice.a', k) <> split_part('%s', '_', 2)::int$$) WHERE result <> '0'
UNION ALL SELECT 'odd', count(*) FROM run_command_on_shards('odd', $$SELECT count(*) FROM %s WHERE get_shard_id_for_distribution_column('twice.odd', k) <> split_part('%s', '_', 2)::int$$) WHERE result <> '0'
UNION ALL SELECT 'p', count(*) FROM run_command_on_shards('p', $$SELECT count(*) FROM %s WHERE get_shard_id_for_distribution_column('twice.p', k) <> split_part('%s', '_', 2)::int$$) WHERE result <> '0';

-- Only the shards that can have the rows take part, and nothing more than before where the value can't change.
SELECT tasks('UPDATE a SET k = 5 WHERE k = 5');
SELECT tasks('UPDATE a SET k = k, v = 3 WHERE id = 5');
SELECT tasks('UPDATE a SET k = a.k FROM b WHERE a.k = b.k');
SELECT tasks('UPDATE a SET k = b.k FROM b WHERE a.k = b.k');
SELECT tasks('UPDATE a SET k = 6 WHERE k = 5');
SELECT tasks('UPDATE a SET k = 6 WHERE id = 5');

-- The right to UPDATE is enough, that to DELETE or INSERT no part of it.
CREATE ROLE mover;
GRANT USAGE ON SCHEMA twice TO mover;
GRANT UPDATE (k, v), SELECT (k, id) ON a TO mover;
GRANT UPDATE (v) ON b TO mover;
SET ROLE mover;
UPDATE a SET k = 1 WHERE id = 70 RETURNING k;
UPDATE a SET k = 2 WHERE id = 70 RETURNING k;
UPDATE a SET k = 2 WHERE id = 70 RETURNING v;
UPDATE a SET k = 2, w = '' WHERE id = 70;
UPDATE a SET k = 2 WHERE v = 1;
UPDATE b SET k = 2;
RESET ROLE;
SELECT k, id, v FROM a WHERE id = 70;
DROP OWNED BY mover;
DROP ROLE mover;

-- Each copy of a row moves.
SET citus.shard_replication_factor = 2;
CREATE TABLE copies (k int, id int, v text, PRIMARY KEY (k, id));
SELECT create_distributed_table('copies', 'k', shard_count => 4, colocate_with => 'none');
RESET citus.shard_replication_factor;
INSERT INTO copies SELECT i, i, 'v' || i FROM generate_series(1, 8) i;
UPDATE copies SET k = k + 1 WHERE id < 5;
CREATE FUNCTION further() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.k := NEW.k + 100; RETURN NEW; END $$;
CREATE TRIGGER further BEFORE UPDATE ON copies FOR EACH ROW EXECUTE FUNCTION further();
UPDATE copies SET v = 'new' WHERE id > 6;
SELECT * FROM copies ORDER BY id;
SELECT count(*) AS shards, sum(result::int) AS rows FROM (SELECT shardid, min(result) AS result, count(DISTINCT result) AS versions
	FROM run_command_on_placements('copies', 'SELECT count(*) FROM %s') GROUP BY shardid) s WHERE versions = 1;
DROP TABLE copies;

-- Functions that change rows of the table: those that have been found would be changed by what they were.
CREATE TABLE called (k int PRIMARY KEY, v int);
CREATE TABLE called_parts (k int, v int, PRIMARY KEY (k, v)) PARTITION BY RANGE (v);
CREATE TABLE called_part PARTITION OF called_parts DEFAULT;
SELECT create_distributed_table('called', 'k', shard_count => 4), create_distributed_table('called_parts', 'k', shard_count => 4);
INSERT INTO called SELECT n, n FROM generate_series(1, 4) n;
INSERT INTO called_parts SELECT * FROM called;
CREATE FUNCTION calling(int) RETURNS int LANGUAGE plpgsql AS $$BEGIN UPDATE called SET v = v + 10 WHERE k = $1; RETURN $1; END$$;
CREATE FUNCTION calling_part(int) RETURNS int LANGUAGE plpgsql AS $$BEGIN DELETE FROM called_part WHERE k = $1; RETURN $1; END$$;
UPDATE called SET k = calling(k) + 100 WHERE k < 3;
MERGE INTO called USING (VALUES (1), (200)) s (n) ON n = v WHEN MATCHED THEN UPDATE SET v = calling(k) WHEN NOT MATCHED THEN INSERT VALUES (n, n);
MERGE INTO called USING (VALUES (1), (200)) s (n) ON n = v WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (calling(1) + n, n);
UPDATE called SET v = calling(k);
DELETE FROM called WHERE calling(k) = 1;
WITH changed AS (UPDATE called SET v = v + 1 WHERE k = 1 RETURNING k) UPDATE called SET v = calling(k) WHERE k = 2;
UPDATE called_parts SET k = calling_part(k) + 100 WHERE k < 3;
SELECT * FROM called ORDER BY k;
SELECT count(*) FROM called_parts;
-- Of other tables they may, and insert.
CREATE OR REPLACE FUNCTION calling(int) RETURNS int LANGUAGE plpgsql AS $$BEGIN DELETE FROM called_parts WHERE k = $1; INSERT INTO called VALUES (-$1, $1); RETURN $1; END$$;
UPDATE called SET k = calling(k) + 100 WHERE k < 3;
SELECT * FROM called ORDER BY k;
SELECT count(*) FROM called_parts;
DROP TABLE called, called_parts;

-- What is refused.
CREATE TABLE parent (k int, id int, PRIMARY KEY (k, id));
CREATE TABLE child (k int, id int, CONSTRAINT cascading FOREIGN KEY (k, id) REFERENCES parent ON DELETE CASCADE);
SELECT create_distributed_table('parent', 'k', shard_count => 4), create_distributed_table('child', 'k', colocate_with => 'parent');
INSERT INTO parent VALUES (1, 1), (2, 2);
INSERT INTO child VALUES (1, 1);
\set VERBOSITY terse
UPDATE parent SET k = 3 WHERE id = 1;
\set VERBOSITY default
UPDATE parent SET k = k WHERE id = 1;
CREATE TABLE parts (k int PRIMARY KEY) PARTITION BY RANGE (k);
SELECT create_distributed_table('parts', 'k', shard_count => 4);
CREATE TABLE of_parts (k int REFERENCES parts ON UPDATE CASCADE);
SELECT create_distributed_table('of_parts', 'k', colocate_with => 'parts');
DROP TABLE of_parts, parts;
UPDATE child SET k = 2, id = 2;
\set VERBOSITY terse
UPDATE child SET k = 3;
\set VERBOSITY default
SELECT * FROM child;
UPDATE child SET k = 3 RETURNING ctid;
