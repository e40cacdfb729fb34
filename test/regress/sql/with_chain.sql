-- A chain of WITH queries that each read the one before twice is planned in time that grows with
-- its length, not with 2^length; what is long can be cancelled.
CREATE SCHEMA with_chain;
SET search_path = with_chain;
CREATE TABLE t (k int, x int);
SELECT create_distributed_table('t', 'k', shard_count => 4);
INSERT INTO t SELECT i, i FROM generate_series(1, 3) i;

-- What such a chain comes to: in `step` %2$s is the query before.
CREATE FUNCTION chain(length int, kind text, step text, filter text DEFAULT '', OUT rows bigint, OUT sum bigint)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE (SELECT 'WITH c0 AS ' || kind || ' (SELECT k, x FROM t), ' || string_agg(
		format('c%s AS ' || kind || ' (' || step || ')', i, 'c' || i - 1), ', ' ORDER BY i)
		|| ' SELECT count(*), sum(x) FROM c' || length || filter
	FROM generate_series(1, length) i) INTO rows, sum;
END $$;
SET statement_timeout = '60s';
SELECT * FROM chain(40, '', 'SELECT a.k, a.x FROM %2$s a JOIN %2$s b ON a.k = b.k');
SELECT * FROM chain(40, '', 'SELECT a.k, a.x FROM %2$s a JOIN %2$s b ON a.x = b.x');
SELECT * FROM chain(40, 'MATERIALIZED', 'SELECT a.k, a.x FROM %2$s a JOIN %2$s b ON a.k = b.k');
SELECT * FROM chain(40, '', 'SELECT k, x FROM %2$s UNION SELECT k, x FROM %2$s');
SELECT * FROM chain(40, '', 'SELECT k, x FROM %2$s WHERE x <= (SELECT max(x) FROM %2$s)');

-- In the way of SEARCH and CYCLE, too.
SELECT * FROM chain(40, '', 'SELECT k, x FROM %2$s WHERE EXISTS (SELECT FROM %2$s)', ' WHERE k IN (WITH RECURSIVE r AS (
	SELECT k, x FROM t UNION ALL SELECT r.k, r.x + 3 FROM r JOIN c40 ON r.k = c40.k WHERE r.x < 7) CYCLE k, x SET looped USING path
	SELECT k FROM r)');

-- PostgreSQL, too, puts in what may not be materialized as often as it is read.
\set VERBOSITY terse
SET statement_timeout = '300ms';
SELECT * FROM chain(11, 'NOT MATERIALIZED', 'SELECT a.k, a.x FROM %2$s a JOIN %2$s b ON a.k = b.k');

RESET statement_timeout;
SET client_min_messages = warning;
DROP SCHEMA with_chain CASCADE;
