-- SELECTs that databases of this kind usually refuse or get wrong: each has PostgreSQL's rows. dist1 and dist2 are
-- colocated by id, distx is distributed by a key that nothing is joined on, ref is a reference table, local1 a local one.
-- The same with 1, 3 and 32 shards, and with redistribution turned off.
SET client_min_messages = warning;
CREATE FUNCTION pg_temp.make_tables() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE dist1 (id int, a int, b int);
	CREATE TABLE dist2 (id int, a int, c text);
	CREATE TABLE distx (k int, a int, n numeric);
	CREATE TABLE ref (id int, a int);
	CREATE TABLE local1 (id int, a int);
	CREATE TABLE link (id int, parent int);
	CREATE TABLE written (id int, a int, t text);
	CREATE VIEW merged AS SELECT id, a FROM dist1 UNION ALL SELECT k, a FROM distx UNION SELECT id, a FROM ref;
	CREATE VIEW outside AS SELECT m.id, m.a, d.c FROM merged m LEFT JOIN dist2 d ON m.a = d.a AND d.id > 20;
END $$;
CREATE FUNCTION pg_temp.fill_tables() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO dist1 SELECT i, NULLIF(i % 9, 4), i * 7 % 23 FROM generate_series(1, 60) i;
	INSERT INTO dist2 SELECT i % 40 + 1, NULLIF(i % 11, 3), 'c' || i % 6 FROM generate_series(1, 70) i;
	INSERT INTO distx SELECT i, NULLIF(i % 7, 5), i * 3 % 17 / 4.0 FROM generate_series(1, 45) i;
	INSERT INTO ref SELECT i, NULLIF(i % 5, 2) FROM generate_series(0, 11) i;
	INSERT INTO local1 SELECT i, NULLIF(i % 6, 3) FROM generate_series(1, 14) i;
	INSERT INTO link SELECT i, NULLIF(i / 2, 0) FROM generate_series(1, 25) i;
END $$;
SET search_path = plain, public;
SELECT pg_temp.make_tables(), pg_temp.fill_tables();
SET search_path = dist, public;
SELECT pg_temp.make_tables();
SET citus.shard_count = 3;
SELECT create_distributed_table('dist1', 'id', colocate_with => 'none');
SELECT create_distributed_table('dist2', 'id', colocate_with => 'dist1');
SELECT create_distributed_table('written', 'id', colocate_with => 'dist1');
SELECT create_distributed_table('distx', 'k', colocate_with => 'none');
SELECT create_distributed_table('link', 'id', colocate_with => 'none');
SELECT create_reference_table('ref');
SELECT pg_temp.fill_tables();
RESET search_path;

SELECT $$
-- J1 left join off the distribution column
SELECT * FROM dist1 LEFT JOIN distx ON dist1.a = distx.a;
SELECT * FROM dist1 LEFT JOIN distx ON dist1.a = distx.a AND distx.k > 20 WHERE dist1.id < 30;
-- J2 full join off the distribution column
SELECT * FROM dist1 FULL JOIN distx ON dist1.a = distx.a;
SELECT * FROM dist1 FULL JOIN dist2 USING (a);
-- J3 right join off the distribution column
SELECT * FROM dist1 RIGHT JOIN distx ON dist1.b = distx.a AND dist1.id > distx.k;
-- J4 semi join off the distribution column
SELECT * FROM dist1 WHERE EXISTS (SELECT 1 FROM distx WHERE distx.a = dist1.a AND distx.k > dist1.id);
SELECT * FROM dist1 WHERE a IN (SELECT a FROM distx WHERE distx.k < dist1.b);
-- J5 anti join off the distribution column
SELECT * FROM dist1 WHERE NOT EXISTS (SELECT 1 FROM distx WHERE distx.a = dist1.a AND distx.k > 30);
SELECT * FROM dist1 WHERE b NOT IN (SELECT k FROM distx WHERE distx.a = dist1.a);
-- J6 cross join
SELECT count(*), sum(dist1.b * distx.k) FROM dist1 CROSS JOIN distx;
SELECT dist1.id, distx.k FROM dist1, distx WHERE dist1.b = 3 ORDER BY 1, 2 LIMIT 50;
-- J7 join without an equality
SELECT dist1.id, distx.k FROM dist1 JOIN distx ON dist1.a < distx.a;
SELECT dist1.id, distx.k FROM dist1 LEFT JOIN distx ON dist1.a + 3 < distx.a;
-- J8 lateral subquery with ORDER BY and LIMIT
SELECT dist1.id, s.* FROM dist1, LATERAL (SELECT k, n FROM distx WHERE distx.a = dist1.a ORDER BY n, k LIMIT 1) s;
SELECT dist1.id, s.* FROM dist1 LEFT JOIN LATERAL (SELECT k, n FROM distx WHERE distx.a = dist1.a ORDER BY n DESC, k LIMIT 2) s ON s.n > 1;
-- J9 reference table outside of a lateral join
SELECT ref.id, s.* FROM ref LEFT JOIN LATERAL (SELECT id, b FROM dist1 WHERE dist1.a = ref.a) s ON true;
SELECT ref.id, s.* FROM ref LEFT JOIN LATERAL (SELECT count(*), max(b) FROM dist1 WHERE dist1.a = ref.a OFFSET 0) s ON true;
-- J10 local table, joined and in a subquery
SELECT * FROM local1 JOIN dist1 ON local1.id = dist1.a;
SELECT * FROM local1 JOIN dist1 ON local1.a > dist1.a;
SELECT * FROM dist1 WHERE EXISTS (SELECT 1 FROM local1 WHERE local1.a = dist1.a);
SELECT * FROM local1 WHERE NOT EXISTS (SELECT 1 FROM dist1 WHERE local1.a = dist1.a AND dist1.id > local1.id);
SELECT * FROM local1 FULL JOIN dist1 ON local1.a = dist1.a AND local1.id = dist1.id;
-- J11 join on columns that distribute neither side
SELECT dist1.id, dist2.id FROM dist1 JOIN dist2 ON dist1.a = dist2.a WHERE dist1.b > 12;
SELECT dist1.id, dist2.id, distx.k FROM dist1 JOIN dist2 ON dist1.a = dist2.a JOIN distx ON distx.a = dist2.id % 7 WHERE dist1.b < 6;
SELECT x.a, y.n FROM (SELECT DISTINCT a FROM dist1) x JOIN (SELECT a, count(*) n FROM distx GROUP BY a) y USING (a);
-- J12 such a join under aggregates with DISTINCT
SELECT count(DISTINCT dist1.b), sum(DISTINCT distx.k) FROM dist1 JOIN distx ON dist1.a = distx.a;
SELECT dist1.a, count(DISTINCT dist1.b), array_agg(DISTINCT distx.n) FROM dist1 JOIN distx USING (a) GROUP BY dist1.a;
-- J13 joined by expressions
SELECT dist1.id, distx.k FROM dist1 JOIN distx ON mod(dist1.a * dist1.b, 10) = distx.k;
SELECT dist1.id, distx.k FROM dist1 FULL JOIN distx ON mod(dist1.a * dist1.b, 10) = distx.k - 2;
-- J14 the outcome doesn't depend on the shards that constants hash to
SELECT * FROM dist1 JOIN dist2 USING (a) WHERE dist1.id = 1 AND dist2.id = 1;
SELECT * FROM dist1 JOIN dist2 USING (a) WHERE dist1.id = 1 AND dist2.id = 2;
SELECT * FROM dist1 LEFT JOIN dist2 USING (a) WHERE dist1.id = 1 AND dist2.id = 13;
SELECT * FROM dist1 LEFT JOIN dist2 ON dist1.a = dist2.a AND dist2.id IN (5, 6) WHERE dist1.id IN (7, 8, 9);
-- J15 outer join with a condition that has no column
SELECT * FROM dist1 LEFT JOIN dist2 ON dist1.id = dist2.id AND false;
SELECT * FROM dist1 LEFT JOIN distx ON dist1.a = distx.a AND (SELECT count(*) FROM ref) > 100;
SELECT * FROM dist1 LEFT JOIN dist2 ON dist1.id = dist2.id AND current_setting('search_path') = 'none' WHERE now() IS NOT NULL;
SELECT * FROM ref LEFT JOIN dist1 ON ref.id = dist1.id AND false;
-- J16 colocated tables joined through a reference table, one of them below an aggregate
SELECT sum(dist1.b) FROM dist1, ref WHERE ref.id = dist1.id AND dist1.b > (SELECT 1.1 * avg(d.b) FROM dist1 d, ref r WHERE r.id = d.id AND d.id = ref.id);
SELECT dist1.id, dist2.c FROM dist1 JOIN ref ON dist1.id = ref.id JOIN dist2 ON dist2.id = ref.id;
SELECT dist1.b FROM dist1, ref, (SELECT id, count(*) n FROM dist2 GROUP BY id) s WHERE dist1.id = ref.id AND s.id = ref.id AND s.n > 1;
-- S1 correlated subquery in the SELECT list
SELECT id, (SELECT max(n) FROM distx WHERE distx.a = dist1.a) FROM dist1;
SELECT id, ARRAY(SELECT c FROM dist2 WHERE dist2.a = dist1.a ORDER BY c, id) FROM dist1;
SELECT id, (SELECT k FROM distx WHERE distx.a < dist1.a ORDER BY n, k LIMIT 1 OFFSET 1) FROM dist1;
SELECT a, count(*), (SELECT count(*) FROM distx WHERE distx.a = dist1.a) FROM dist1 GROUP BY a;
SELECT sum((SELECT max(k) FROM distx WHERE distx.a = dist1.a)) FROM dist1;
-- S2 correlated subquery in WHERE
SELECT id FROM dist1 WHERE b > (SELECT avg(n) FROM distx WHERE distx.a = dist1.a);
SELECT id FROM dist1 WHERE b > ALL (SELECT id FROM dist2 WHERE dist2.a = dist1.a);
SELECT id FROM dist1 WHERE b = ANY (SELECT k FROM distx WHERE distx.a = dist1.a) OR a = 2;
SELECT id FROM dist1 o WHERE EXISTS (SELECT 1 FROM distx m WHERE m.a = o.a AND EXISTS (SELECT 1 FROM dist2 i WHERE i.a = m.a AND i.id = o.id));
-- S3 subquery in HAVING that refers to the outer query
SELECT a, sum(b) FROM dist1 GROUP BY a HAVING sum(b) > (SELECT sum(k) / 3 FROM distx WHERE distx.a = dist1.a);
SELECT a FROM dist1 GROUP BY a HAVING EXISTS (SELECT 1 FROM dist2 WHERE dist2.id = max(dist1.id));
SELECT id, (SELECT max(k) FROM distx GROUP BY a HAVING count(*) > dist1.b ORDER BY 1 LIMIT 1) FROM dist1;
-- S4 correlated subquery over what isn't a distributed table, and the other way round
SELECT id FROM ref WHERE a IN (SELECT a FROM dist1 WHERE dist1.id > ref.id);
SELECT id, (SELECT min(b) FROM dist1 WHERE dist1.a = ref.a) FROM ref;
SELECT g, (SELECT count(*) FROM dist1 WHERE dist1.a = g) FROM generate_series(0, 6) g;
WITH q AS (SELECT a, count(*) n FROM dist2 GROUP BY a) SELECT a FROM q WHERE n > (SELECT count(*) FROM distx WHERE distx.a = q.a);
SELECT v FROM (VALUES (1), (5), (NULL)) w(v) WHERE EXISTS (SELECT 1 FROM distx WHERE distx.a = w.v);
SELECT v FROM jsonb_array_elements_text('[1, 4, 90]') w(v) WHERE v::int IN (SELECT a FROM dist1 WHERE dist1.b > v::int);
SELECT (SELECT count(*) FROM dist1 WHERE dist1.a = s.i) FROM (SELECT 3 AS i) s;
SELECT id FROM dist1 WHERE (SELECT dist1.a + 1) = 3;
SELECT id, (SELECT count(*) FROM ref, local1 WHERE ref.a = dist1.a AND local1.a = ref.a) FROM dist1;
-- S5 subquery in LIMIT and OFFSET
SELECT /* ordered */ id FROM dist1 ORDER BY id LIMIT (SELECT count(*) / 5 FROM distx) OFFSET (SELECT min(id) FROM dist2);
SELECT /* ordered */ b FROM dist1 ORDER BY b FETCH FIRST (SELECT 7) ROWS WITH TIES;
-- S6 lateral subqueries of all shapes
SELECT dist1.id, s.* FROM dist1, LATERAL (SELECT k FROM distx WHERE distx.a = dist1.a ORDER BY k LIMIT 2) s;
SELECT dist1.id, s.* FROM dist1, LATERAL (SELECT k FROM distx WHERE distx.a = dist1.a ORDER BY k OFFSET 3) s;
SELECT dist1.id, s.* FROM dist1, LATERAL (SELECT n, count(*) FROM distx WHERE distx.a = dist1.a GROUP BY n) s;
SELECT dist1.id, s.* FROM dist1, LATERAL (SELECT DISTINCT id % 5 FROM dist2 WHERE dist2.a = dist1.a) s;
SELECT dist1.id, s.* FROM dist1, LATERAL (SELECT sum(n), count(*) FROM distx WHERE distx.a = dist1.a) s;
SELECT dist1.id, s.* FROM dist1, LATERAL (SELECT n FROM distx WHERE distx.a <> dist1.a GROUP BY n HAVING count(*) > dist1.b) s;
-- S7 set operations with the key in different places, with other kinds of rows, below a join
SELECT id, a FROM dist1 UNION SELECT a, id FROM dist2;
SELECT s.id, d.b FROM (SELECT id FROM dist1 UNION SELECT a FROM distx) s JOIN dist1 d ON d.id = s.id;
SELECT s.id, d.b FROM (SELECT id, a FROM dist1 UNION SELECT id, a FROM ref UNION ALL VALUES (1, 2), (3, NULL) UNION ALL SELECT g, 1 FROM generate_series(1, 3) g) s JOIN dist1 d USING (id);
SELECT s.id FROM (SELECT id FROM dist1 INTERSECT SELECT id FROM dist2) s JOIN dist2 USING (id);
SELECT s.id FROM (SELECT id FROM dist1 EXCEPT ALL SELECT id FROM dist2) s JOIN dist1 USING (id);
SELECT a FROM dist1 EXCEPT SELECT a FROM distx INTERSECT SELECT a FROM local1;
SELECT a FROM dist1 INTERSECT ALL (SELECT a FROM distx EXCEPT ALL SELECT a FROM ref);
-- S8 recursive query over a distributed table
WITH RECURSIVE t AS (SELECT id, parent, 0 AS depth FROM link WHERE parent IS NULL UNION ALL SELECT l.id, l.parent, depth + 1 FROM link l JOIN t ON l.parent = t.id) SELECT * FROM t;
WITH RECURSIVE t(i) AS (SELECT 1 UNION SELECT b FROM dist1 JOIN t ON dist1.id = t.i) SELECT i, (SELECT count(*) FROM distx WHERE distx.k = t.i) FROM t;
-- S9 SEARCH and CYCLE
WITH RECURSIVE t AS (SELECT id, parent FROM link WHERE id = 1 UNION ALL SELECT l.id, l.parent FROM link l JOIN t ON l.parent = t.id) SEARCH DEPTH FIRST BY id SET place SELECT /* ordered */ id FROM t ORDER BY place;
WITH RECURSIVE t AS (SELECT id, parent FROM link WHERE id = 1 UNION ALL SELECT l.id, l.parent FROM link l JOIN t ON l.parent = t.id) SEARCH BREADTH FIRST BY id SET place SELECT /* ordered */ id FROM t ORDER BY place;
WITH RECURSIVE t AS (SELECT id, b FROM dist1 WHERE id = 3 UNION ALL SELECT d.id, d.b FROM dist1 d JOIN t ON d.id = t.b) CYCLE id SET looped USING way SELECT id, looped, way FROM t;
-- S10 subquery in the VALUES of an INSERT
INSERT INTO written VALUES ((SELECT max(id) FROM dist1), (SELECT count(*) FROM distx WHERE a = 2), 'one') RETURNING *;
INSERT INTO written VALUES (2, (SELECT min(id) FROM ref), 'two'), ((SELECT 77), (SELECT a FROM local1 WHERE id = 5), (SELECT c FROM dist2 ORDER BY id, c LIMIT 1)) RETURNING *;
SELECT * FROM written;
DELETE FROM written RETURNING *;
-- S11 subquery in RETURNING of an INSERT
INSERT INTO written SELECT id, a FROM dist1 RETURNING id, (SELECT max(k) FROM distx);
INSERT INTO written VALUES (1, 2, 'three') RETURNING id, (SELECT max(k) FROM distx);
INSERT INTO written SELECT id, a FROM dist1 RETURNING id, (SELECT max(k) FROM distx WHERE distx.a = written.a), (SELECT count(*) FROM written);
DELETE FROM written RETURNING *;
-- S12 views over set operations and outer joins
SELECT * FROM outside;
SELECT o.a, count(*), count(o.c) FROM outside o LEFT JOIN merged m ON o.id = m.a GROUP BY o.a;
SELECT * FROM merged WHERE id = 3;
-- G1 ROLLUP, CUBE, GROUPING SETS
SELECT a, b, sum(id) FROM dist1 GROUP BY ROLLUP (a, b);
SELECT a, c, count(*) FROM dist2 GROUP BY CUBE (a, c);
SELECT id, a, count(*), max(b) FROM dist1 GROUP BY GROUPING SETS ((id), (a), (id, a), ());
SELECT a, b % 3, avg(id) FROM dist1 GROUP BY a, GROUPING SETS ((b % 3), ()) HAVING count(*) > 1;
SELECT count(*) FROM dist1 WHERE id > 1000 GROUP BY GROUPING SETS ((), ());
-- G2 GROUPING()
SELECT a, b, grouping(a, b), grouping(b), sum(id) FROM dist1 GROUP BY ROLLUP (a, b);
SELECT grouping(a), count(*) FROM dist1 JOIN distx USING (a) GROUP BY CUBE (a) HAVING grouping(a) = 0 OR count(*) > 1;
-- G3 grouping sets in a subquery
SELECT s.a, d.id FROM (SELECT a, b, sum(id) AS n FROM dist1 GROUP BY ROLLUP (a, b)) s JOIN dist1 d ON d.id = s.n;
SELECT count(*), sum(n) FROM (SELECT id, a, count(*) AS n FROM dist2 GROUP BY GROUPING SETS ((id, a), (id), ())) s;
SELECT id, n FROM (SELECT id, count(*) AS n FROM dist2 GROUP BY ROLLUP (id)) s WHERE id IS NULL OR id = 4;
-- G4 aggregates with ORDER BY, over moved rows as well
SELECT a, array_agg(id ORDER BY b, id), string_agg(b::text, ',' ORDER BY b DESC, id) FROM dist1 GROUP BY a;
SELECT string_agg(distx.k::text, ',' ORDER BY dist1.id, distx.k) FROM dist1 JOIN distx ON dist1.a = distx.a;
SELECT id, array_agg(c ORDER BY a NULLS FIRST, c) FROM dist2 GROUP BY id;
-- G5 DISTINCT inside aggregates
SELECT count(DISTINCT a + b), sum(DISTINCT b * 2), avg(DISTINCT a % 3) FROM dist1;
SELECT a, count(DISTINCT id % 4), count(DISTINCT 1), string_agg(DISTINCT b::text, ',') FROM dist1 GROUP BY a;
SELECT count(DISTINCT dist1.b + distx.k) FROM dist1 JOIN distx USING (a);
-- G6 DISTINCT of whole rows
SELECT count(DISTINCT (a, b)), count(DISTINCT dist1) FROM dist1;
SELECT c, count(DISTINCT (id, a)), array_agg(DISTINCT a ORDER BY a DESC) FROM dist2 GROUP BY c;
-- G7 FILTER with and without DISTINCT
SELECT count(DISTINCT a) FILTER (WHERE b > 5), count(*) FILTER (WHERE a IS NULL), sum(b) FILTER (WHERE false) FROM dist1;
SELECT c, count(DISTINCT id) FILTER (WHERE a > 2), array_agg(a ORDER BY a, id) FILTER (WHERE id % 2 = 0) FROM dist2 GROUP BY c;
-- G8 ordered-set, hypothetical-set and user-defined aggregates
SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY b), percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY id), mode() WITHIN GROUP (ORDER BY a) FROM dist1;
SELECT a, rank(3) WITHIN GROUP (ORDER BY b), cume_dist(9) WITHIN GROUP (ORDER BY b), percent_rank(4) WITHIN GROUP (ORDER BY b DESC) FROM dist1 GROUP BY a;
SELECT a, public.product(n + 1), public.product_here(n + 1) FROM distx GROUP BY a;
SELECT regr_slope(id, b)::numeric(9,6), stddev(b)::numeric(9,6), corr(id, a)::numeric(9,6), var_pop(n)::numeric(9,6) FROM dist1 JOIN distx USING (a);
-- G9 window in a subquery whose partitions don't have the key
SELECT s.a, count(*) FROM (SELECT a, rank() OVER (PARTITION BY a ORDER BY b) AS place FROM dist1) s WHERE place < 3 GROUP BY s.a;
SELECT s.id, d.c FROM (SELECT id, row_number() OVER (PARTITION BY a ORDER BY id) AS place FROM dist1) s JOIN dist2 d ON d.id = s.id AND s.place = 1;
SELECT s.place, x.k FROM (SELECT sum(b) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS place FROM dist1) s LEFT JOIN distx x ON x.k = s.place;
-- G10 window and LIMIT
SELECT /* ordered */ id, rank() OVER (PARTITION BY id ORDER BY a) FROM dist2 ORDER BY id, 2, a LIMIT 9;
SELECT /* ordered */ id, sum(b) OVER (PARTITION BY a ORDER BY id) FROM dist1 ORDER BY 2, 1 LIMIT 9 OFFSET 4;
SELECT id, lag(b) OVER w, first_value(b) OVER w, ntile(3) OVER w FROM dist1 WINDOW w AS (ORDER BY id) ORDER BY id LIMIT 12;
-- G11 grouping by expressions, below aggregates too
SELECT a % 2, count(*), sum(b) FROM dist1 GROUP BY a % 2;
SELECT max(n), sum(n) FROM (SELECT id % 7 AS m, count(*) AS n FROM dist1 GROUP BY id % 7) s;
SELECT id % 3 + 1, avg(a + id % 3) FROM dist1 GROUP BY id % 3 ORDER BY id % 3;
-- G12 DISTINCT ON off the distribution column
SELECT DISTINCT ON (a) a, id, b FROM dist1 ORDER BY a, b DESC, id;
SELECT s.a, d.c FROM (SELECT DISTINCT ON (a) a, id FROM dist1 ORDER BY a, b, id) s LEFT JOIN dist2 d USING (id);
SELECT /* ordered */ DISTINCT ON (c, a) c, a, id FROM dist2 ORDER BY c, a NULLS FIRST, id DESC LIMIT 11;
-- G13 DISTINCT with GROUP BY
SELECT DISTINCT count(*) FROM dist2 GROUP BY id;
SELECT DISTINCT a, count(*) FROM dist1 GROUP BY a, b;
SELECT /* ordered */ DISTINCT sum(b), a % 2 FROM dist1 GROUP BY id, a ORDER BY 1, 2 LIMIT 8
$$ AS statements \gset

SELECT public.compare(:'statements');
SET citus.enable_repartition_joins = off;
SELECT public.compare(:'statements');
RESET citus.enable_repartition_joins;
SELECT alter_distributed_table('dist.dist1', shard_count := 32, cascade_to_colocated := true);
SELECT public.compare(:'statements');
SELECT alter_distributed_table('dist.dist1', shard_count := 1, cascade_to_colocated := true);
SELECT public.compare(:'statements');

-- A client may call what the nodes call among themselves, and with anything.
SELECT pando.row_place(0, NULL, NULL) IS NULL AS no_place, sum(id) OVER (PARTITION BY a) > 0 AS some FROM dist.dist1 ORDER BY id LIMIT 1;
SELECT count(pando.row_place((SELECT id FROM dist.dist1 LIMIT 1)::oid, NULL, NULL)) FROM dist.dist2 WHERE a < (SELECT max(id) FROM dist.dist1);

DROP VIEW plain.outside, plain.merged, dist.outside, dist.merged;
DROP TABLE plain.dist1, plain.dist2, plain.distx, plain.ref, plain.local1, plain.link, plain.written;
DROP TABLE dist.dist1, dist.dist2, dist.distx, dist.ref, dist.local1, dist.link, dist.written;
