-- The tables of the scripts that change rows.
CREATE TABLE a (k int NOT NULL, id int NOT NULL, v int, w text, n numeric(8,2), at timestamptz, PRIMARY KEY (k, id));
CREATE TABLE b (k int NOT NULL, id int NOT NULL, v int, w text);
CREATE TABLE c (k text NOT NULL, v int, tags text[], doc jsonb);
CREATE TABLE s (id int PRIMARY KEY, v int, w text);
CREATE TABLE r (id int PRIMARY KEY, v int, w text);
CREATE TABLE r2 (id int PRIMARY KEY, v int);
CREATE TABLE l (id int PRIMARY KEY, v int, w text);
CREATE TABLE g (k int NOT NULL, v int CHECK (v < 100), twice int GENERATED ALWAYS AS (v * 2) STORED, d int DEFAULT 42, PRIMARY KEY (k));
SELECT distribute('a', 'k');
SELECT distribute('b', 'k', 'a');
SELECT distribute('c', 'k');
SELECT distribute('g', 'k');
SELECT single('s');
SELECT reference('r');
SELECT reference('r2');
INSERT INTO a SELECT i % 10, i, i % 7, 'w' || i % 5, i / 4.0, '2024-01-01 00:00+00'::timestamptz + i * interval '1 hour' FROM generate_series(1, 100) i;
INSERT INTO b SELECT i % 12, i, i % 6, 'w' || i % 4 FROM generate_series(1, 60) i;
INSERT INTO c SELECT 'c' || i, i, ARRAY['t' || i % 3, 'u'], jsonb_build_object('n', i, 'm', i % 4) FROM generate_series(1, 30) i;
INSERT INTO s SELECT i, i, 's' FROM generate_series(1, 10) i;
INSERT INTO r SELECT i, i % 3, 'r' || i FROM generate_series(0, 9) i;
INSERT INTO r2 SELECT i, i FROM generate_series(0, 4) i;
INSERT INTO l SELECT i, i % 4, 'l' || i FROM generate_series(1, 12) i;
INSERT INTO g SELECT i, i FROM generate_series(1, 20) i;
-- What the tables hold, in short; all of it, in order.
CREATE VIEW digest AS SELECT 'a' t, count(*), md5(string_agg(a::text, '|' ORDER BY k, id)) FROM a;
CREATE FUNCTION digest() RETURNS TABLE (t text, n bigint, md5 text) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT 'a', count(*), md5(string_agg(format('%s,%s,%s,%s,%s,%s', k, id, v, w, a.n, at), '|' ORDER BY k, id)) FROM a;
	RETURN QUERY SELECT 'b', count(*), md5(string_agg(format('%s,%s,%s,%s', k, id, v, w), '|' ORDER BY k, id, v)) FROM b;
	RETURN QUERY SELECT 'c', count(*), md5(string_agg(format('%s,%s,%s,%s', k, v, tags, doc), '|' ORDER BY k, v)) FROM c;
	RETURN QUERY SELECT 's', count(*), md5(string_agg(format('%s,%s,%s', id, v, w), '|' ORDER BY id)) FROM s;
	RETURN QUERY SELECT 'r', count(*), md5(string_agg(format('%s,%s,%s', id, v, w), '|' ORDER BY id)) FROM r;
	RETURN QUERY SELECT 'l', count(*), md5(string_agg(format('%s,%s,%s', id, v, w), '|' ORDER BY id)) FROM l;
	RETURN QUERY SELECT 'g', count(*), md5(string_agg(format('%s,%s,%s,%s', k, v, twice, d), '|' ORDER BY k)) FROM g;
END $$;
SELECT * FROM digest();
