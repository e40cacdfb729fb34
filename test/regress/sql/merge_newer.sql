-- What MERGE has since PostgreSQL 17: RETURNING, and rows of the target without a match. The same as on plain tables where the shards
-- can make it whole, refused elsewhere.
SELECT current_setting('server_version_num')::int < 170000 AS older \gset
\if :older
\quit
\endif
\set VERBOSITY terse
SET citus.shard_count = 4;
CREATE SCHEMA merge_plain;
CREATE SCHEMA merge_newer;
CREATE FUNCTION merge_newer.tables(place text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %1$I.t (k int PRIMARY KEY, v int); CREATE TABLE %1$I.s (k int PRIMARY KEY, v int); CREATE TABLE %1$I.r (k int PRIMARY KEY, v int);
		CREATE TABLE %1$I.other (v int, k int)', place);
	IF place = 'merge_newer' THEN
		PERFORM create_distributed_table('merge_newer.t', 'k');
		PERFORM create_distributed_table('merge_newer.s', 'k');
		PERFORM create_distributed_table('merge_newer.other', 'v');
		PERFORM create_reference_table('merge_newer.r');
	END IF;
	EXECUTE format('INSERT INTO %1$I.t SELECT i, i FROM generate_series(1, 9) i; INSERT INTO %1$I.s SELECT i, i * 10 FROM generate_series(5, 12) i;
		INSERT INTO %1$I.r SELECT i, i * 100 FROM generate_series(3, 6) i; INSERT INTO %1$I.other SELECT i, i FROM generate_series(1, 3) i', place);
END $$;
-- both(statement): what it returns and leaves, of plain tables; and whether the distributed ones say something else.
CREATE FUNCTION merge_newer.result_of(place text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	left_over text;
BEGIN
	PERFORM set_config('search_path', place, true);
	EXECUTE 'WITH m AS (' || statement || ') SELECT string_agg(m::text, '' '' ORDER BY m::text) FROM m' INTO result;
	EXECUTE 'SELECT string_agg(x::text, '' '' ORDER BY k) FROM (SELECT * FROM t UNION ALL SELECT k + 1000, v FROM r) x' INTO left_over;
	RAISE EXCEPTION USING MESSAGE = concat(result, ' | ', left_over), ERRCODE = 'P9999';
EXCEPTION
	WHEN SQLSTATE 'P9999' THEN RETURN SQLERRM;
	WHEN OTHERS THEN RETURN concat(SQLSTATE, ' ', SQLERRM);
END $$;
CREATE FUNCTION merge_newer.both(statement text) RETURNS TABLE (plain text, otherwise text) LANGUAGE plpgsql AS $$
BEGIN
	plain := merge_newer.result_of('merge_plain', statement);
	otherwise := nullif(merge_newer.result_of('merge_newer', statement), plain);
	RETURN NEXT;
END $$;
SELECT merge_newer.tables('merge_plain'), merge_newer.tables('merge_newer');
\x on
SELECT * FROM merge_newer.both('MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v RETURNING merge_action(), t.*, s.v AS sv');
SELECT * FROM merge_newer.both('MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND s.v > 70 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v
	WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v) WHEN NOT MATCHED BY SOURCE AND t.k > 2 THEN UPDATE SET v = -t.v
	WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING merge_action(), t.*, s.v AS sv');
SELECT * FROM merge_newer.both('MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN DELETE RETURNING merge_action(), s');
SELECT * FROM merge_newer.both('MERGE INTO t USING s ON t.k = s.k AND s.k = 7 WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING merge_action(), t.k');
SELECT * FROM merge_newer.both('MERGE INTO t USING (SELECT * FROM s WHERE k = 7) s ON t.k = s.k WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING t.k');
SELECT * FROM merge_newer.both('MERGE INTO t USING r ON t.k = r.k WHEN MATCHED THEN UPDATE SET v = r.v WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING merge_action(), t.*');
SELECT * FROM merge_newer.both('MERGE INTO r USING (VALUES (4, 1), (9, 2)) x (k, v) ON r.k = x.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (x.k, x.v)
	WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 0 RETURNING merge_action(), r.*');
SELECT * FROM merge_newer.both('MERGE INTO t USING r ON t.k = r.k WHEN NOT MATCHED BY TARGET THEN INSERT VALUES (r.k, r.v) WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING t.k');
SELECT * FROM merge_newer.both('MERGE INTO t USING other o ON t.k = o.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 0 RETURNING t.k');
SELECT * FROM merge_newer.both('MERGE INTO t USING other o ON t.k = o.k WHEN MATCHED THEN DELETE RETURNING t.k');
\x off
-- Views.
SET search_path = merge_newer;
CREATE VIEW simple AS SELECT * FROM t WHERE k < 100;
BEGIN;
MERGE INTO simple USING s ON simple.k = s.k WHEN MATCHED THEN DELETE;
SELECT count(*) FROM t;
ROLLBACK;
CREATE FUNCTION instead() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';
CREATE TRIGGER made INSTEAD OF DELETE ON simple FOR EACH ROW EXECUTE FUNCTION instead();
MERGE INTO simple USING s ON simple.k = s.k WHEN MATCHED THEN DELETE;
SET client_min_messages = warning;
DROP SCHEMA merge_plain, merge_newer CASCADE;
