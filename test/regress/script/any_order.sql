-- Statements of all kinds follow each other in one transaction: each of them comes right after each other
-- one. With a prime number of them, going through them in steps of g gives a transaction for each
-- distance g. Half of the transactions are committed.
CREATE TABLE d (k int PRIMARY KEY, v int);
SELECT distribute('d', 'k');
CREATE TABLE s (k int, v int);
SELECT single('s');
CREATE TABLE r (k int PRIMARY KEY, v int);
SELECT reference('r');
CREATE TABLE l (k int, v int);
INSERT INTO d SELECT k, k FROM generate_series(1, 20) k;
INSERT INTO r SELECT k, 0 FROM generate_series(0, 4) k;
INSERT INTO s VALUES (1, 1);
INSERT INTO l SELECT k, 0 FROM generate_series(1, 10) k;

CREATE TABLE statements (i int GENERATED ALWAYS AS IDENTITY (MINVALUE 0), sql text);
INSERT INTO statements (sql) VALUES
	('SELECT count(*), sum(v) FROM d'),
	('SELECT v FROM d WHERE k = 3'),
	('UPDATE d SET v = v + 1'),
	('INSERT INTO d (k, v) SELECT 100 + k, max(v) FROM l GROUP BY k ON CONFLICT (k) DO UPDATE SET v = d.v + 1'),
	('COPY d (k, v) FROM PROGRAM ''printf "2$g1\t1\n2$g2\t2\n2$g3\t3\n"'''),
	('DELETE FROM d WHERE k % 7 = $g % 7'),
	('UPDATE r SET v = v + 1'),
	('INSERT INTO l SELECT k, v FROM d WHERE k < 5'),
	('COPY r (k, v) FROM PROGRAM ''printf "1$g\t1\n"'''),
	('ALTER TABLE d ADD COLUMN w$g int DEFAULT 5'),
	('ALTER TABLE r ADD COLUMN w$g int DEFAULT 5'),
	('CREATE INDEX ON d (v)'),
	('SELECT count(*), sum(d.v + r.v + l.v) FROM d JOIN r ON d.k % 5 = r.k JOIN l ON l.k = d.k'),
	('DO $do$ BEGIN UPDATE d SET v = 1 / (k - 9); EXCEPTION WHEN division_by_zero THEN UPDATE s SET v = v + 1; END $do$'),
	('SAVEPOINT a; TRUNCATE d, l; INSERT INTO d (k) VALUES (1); UPDATE r SET v = 0; ROLLBACK TO a'),
	('DECLARE c CURSOR FOR SELECT k FROM d ORDER BY k; FETCH 3 FROM c; CLOSE c'),
	('CREATE TABLE n$g (k int, v int); SELECT distribute(''n$g'', ''k''); INSERT INTO n$g SELECT k, v FROM d'),
	('INSERT INTO s SELECT k, v FROM r'),
	('SELECT k, v FROM s ORDER BY k, v LIMIT 2 FOR UPDATE'),
	('COPY (SELECT k, v FROM d ORDER BY k LIMIT 3) TO STDOUT'),
	('ALTER TABLE s ADD COLUMN w$g int DEFAULT 7'),
	('ALTER TABLE l ADD COLUMN w$g int DEFAULT 7'),
	('CREATE TEMP TABLE t$g ON COMMIT DROP AS SELECT k FROM d WHERE k < 9; SELECT count(*) FROM t$g JOIN d USING (k)');
SELECT count(*) FROM statements;

SELECT CASE i WHEN -1 THEN 'BEGIN'
	WHEN 23 THEN 'SELECT (SELECT count(*) FROM d), (SELECT sum(v) FROM d), (SELECT sum(v) FROM s), (SELECT sum(v) FROM r), (SELECT sum(v) FROM l)'
	WHEN 24 THEN CASE WHEN g % 2 = 0 THEN 'COMMIT' ELSE 'ROLLBACK' END
	WHEN 25 THEN 'SELECT (SELECT count(*) FROM d), (SELECT sum(v) FROM d), (SELECT sum(v) FROM s), (SELECT sum(v) FROM r), (SELECT sum(v) FROM l)'
	ELSE (SELECT replace(sql, '$g', g::text) FROM statements s WHERE s.i = n.i * g % 23) END
FROM generate_series(1, 22) g, generate_series(-1, 25) n (i)
ORDER BY g, n.i
\gexec
SELECT count(*) FROM pg_prepared_xacts;
