-- Aggregates over many groups and many rows, which nodes combine before they send them: the rows are those of plain
-- tables, whatever is chosen.
\t on
SET client_min_messages = warning;
CREATE FUNCTION make_groups() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE g (k int, many int, hundred int, few text, v bigint, n numeric, f float8, "c2" int, arr int[]);
	INSERT INTO g SELECT i, CASE WHEN i % 11 > 0 THEN i % 2003 END, i % 100, 'f' || i % 3, i * 7 % 1000,
		CASE WHEN i % 7 > 0 THEN i / 8.0 END, i * 0.5, i % 2003 % 50, ARRAY[i % 5, NULL] FROM generate_series(1, 6000) i;
END $$;
SET search_path = plain, public;
SELECT make_groups();
SET search_path = dist, public;
SELECT make_groups();
SET citus.shard_count = 6;
SELECT create_distributed_table('g', 'k');
ANALYZE dist.g, plain.g;
SELECT query_fragments ~ 'task_rows' FROM pando.query_fragments('SELECT hundred, sum(v) FROM g GROUP BY hundred');
SELECT query_fragments ~ 'task_rows' FROM pando.query_fragments('SELECT many, sum(v) FROM g GROUP BY many');

SELECT * FROM compare($$
SELECT many, count(*), sum(v) FROM g GROUP BY many;
SELECT /* ordered */ many, count(*), sum(v) FROM g GROUP BY many ORDER BY 3 DESC NULLS LAST, 1 LIMIT 10;
SELECT many, avg(v), avg(n), avg(k), avg(f), sum(n), min(few), max(few) FROM g GROUP BY many;
SELECT many, avg(k::smallint), avg(NULLIF(k, k)), avg(n) FILTER (WHERE v > 500) FROM g GROUP BY many;
SELECT avg(n), avg(v), avg(k), count(*) FROM g WHERE k < 0;
SELECT hundred, avg(n), avg(NULL::numeric) FROM g GROUP BY hundred;
SELECT avg(x) FROM (VALUES (1)) w(y), (SELECT n AS x FROM g UNION ALL SELECT 'NaN' FROM g WHERE k = 3) u;
SELECT many, avg(CASE WHEN k % 5 = 0 THEN 'Infinity' ELSE n END) FROM g GROUP BY many;
SELECT many, stddev(v), variance(n), corr(v, f) IS NULL, bit_and(k) FROM g GROUP BY many;
SELECT many, count(DISTINCT hundred) FROM g GROUP BY many;
SELECT many, count(DISTINCT v), sum(DISTINCT v), count(v) FROM g GROUP BY many;
SELECT count(DISTINCT many) FROM g;
SELECT count(DISTINCT v), count(DISTINCT few), count(*) FROM g;
SELECT count(DISTINCT many) FILTER (WHERE few = 'f1'), sum(v) FROM g;
SELECT many, few, count(*) FROM g GROUP BY many, few;
SELECT many, few, count(*), grouping(many, few) FROM g GROUP BY ROLLUP (many, few);
SELECT many % 1500, count(*), sum(v + 1) FROM g GROUP BY many % 1500;
SELECT many + v, max(few || 'x') FROM g GROUP BY many + v HAVING count(*) > 1;
SELECT "c2" AS c1, many AS c2, count(*) FROM g GROUP BY "c2", many;
SELECT many AS "c2", sum("c2") FROM g GROUP BY many;
SELECT many, count(*) FROM g WHERE k = 17 GROUP BY many;
SELECT many, count(*) FROM g WHERE k IN (17, 18, 19) GROUP BY many;
SELECT many, arr, count(*) FROM g GROUP BY many, arr;
SELECT many, (many, hundred) AS pair, count(*) FROM g GROUP BY many, (many, hundred);
SELECT DISTINCT many, hundred FROM g;
SELECT DISTINCT many FROM g WHERE v > 10;
SELECT /* ordered */ DISTINCT ON (many) many, k FROM g ORDER BY many, k;
SELECT a.many, count(*), sum(b.v) FROM g a JOIN g b USING (k) GROUP BY a.many;
SELECT many, count(*) FROM g a WHERE EXISTS (SELECT 1 FROM g b WHERE b.k = a.k AND b.v > 300) GROUP BY many;
SELECT many, sum(c) FROM (SELECT k, many, count(*) c FROM g GROUP BY k, many) s GROUP BY many;
SELECT x.many, x.c, y.k FROM (SELECT many, count(*) c FROM g GROUP BY many) x JOIN g y ON y.many = x.many WHERE y.hundred = 1;
SELECT many, product(1 + hundred / 100.0) FROM g GROUP BY many;
SELECT many, sum(v) OVER (PARTITION BY few ORDER BY k) FROM g WHERE hundred < 20;
SELECT few, rank() OVER (ORDER BY sum(v), many), many FROM g GROUP BY few, many;
$$);
PREPARE grouped(int, text) AS SELECT many + $1, count(*) FILTER (WHERE few = $2), avg(v * $1) FROM g WHERE v > $1 GROUP BY many + $1;
CREATE TEMP TABLE first AS EXECUTE grouped(3, 'f1');
SELECT count(*) FROM (TABLE first EXCEPT SELECT many + 3, count(*) FILTER (WHERE few = 'f1'), avg(v * 3) FROM plain.g WHERE v > 3 GROUP BY many + 3) e;
SELECT count(*) FROM first;

-- What every task would read in full is read once per node where it outweighs what joins of shards gain from being small.
SET search_path = dist, public;
CREATE TABLE orders_here (k int, x int);
CREATE TABLE items_here (k int, n int);
CREATE TABLE read_again (x int, n int);
CREATE TABLE read_again_small (x int, n int);
SET citus.shard_count = 4;
SELECT create_distributed_table('orders_here', 'k'), create_distributed_table('items_here', 'k', colocate_with => 'orders_here'),
	create_reference_table('read_again'), create_reference_table('read_again_small');
INSERT INTO orders_here SELECT i, i % 12000 FROM generate_series(1, 40000) i;
INSERT INTO items_here SELECT i, i % 7 FROM generate_series(1, 40000) i;
INSERT INTO read_again SELECT i, i % 3 FROM generate_series(0, 11999) i;
INSERT INTO read_again_small SELECT i, i % 3 FROM generate_series(0, 99) i;
VACUUM ANALYZE orders_here, items_here, read_again, read_again_small;
SELECT t, query_fragments ~ 'by node' AS once_per_node FROM unnest(ARRAY['read_again', 'read_again_small']) t,
	pando.query_fragments(format('SELECT r.n, sum(i.n) FROM dist.orders_here o JOIN dist.items_here i USING (k) JOIN dist.%I r USING (x) GROUP BY r.n', t));
SELECT r.n, count(*), sum(i.n) FROM orders_here o JOIN items_here i USING (k) JOIN read_again r USING (x) GROUP BY r.n ORDER BY r.n;
SELECT k % 12000 % 3 AS n, count(*), sum(k % 7) FROM generate_series(1, 40000) k GROUP BY 1 ORDER BY 1;
-- Rows that were sent are dearer to read than a table's.
CREATE TABLE sent (k int, x int, n int);
SELECT create_distributed_table('sent', 'k');
INSERT INTO sent SELECT i, i, i % 3 FROM generate_series(0, 4999) i;
ANALYZE sent;
SELECT query_fragments ~ 'exchange_rows' AS sent, query_fragments ~ 'by node' AS once_per_node
	FROM pando.query_fragments('SELECT s.n, sum(i.n) FROM dist.orders_here o JOIN dist.items_here i USING (k) JOIN dist.sent s USING (x) GROUP BY s.n');
DROP TABLE orders_here, items_here, read_again, read_again_small, sent;
RESET citus.shard_count;
RESET search_path;
