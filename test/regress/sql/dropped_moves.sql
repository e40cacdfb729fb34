-- Tables that have lost columns, before they were distributed and after, are copied, moved, converted and
-- altered with the rows and the rules that they have.
\set VERBOSITY terse
\t on
SET client_min_messages TO warning;
CREATE SCHEMA dropped_moves;
SET search_path TO dropped_moves;
SET citus.shard_count = 4;
SET citus.next_shard_id TO 1490000;
CREATE FUNCTION make(name text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	EXECUTE format('CREATE TABLE %I (gone1 text DEFAULT ''g'', id int NOT NULL, gone2 int, t text DEFAULT ''none'', gone3 point,
		g int GENERATED ALWAYS AS (id * 2) STORED, n numeric CHECK (n > 0), arr int[], gone4 jsonb, PRIMARY KEY (id))', name);
	EXECUTE format('CREATE INDEX ON %I (gone2)', name);
	EXECUTE format('CREATE INDEX ON %I (lower(t)) WHERE n > 5', name);
	EXECUTE format('CREATE STATISTICS %I ON t, n FROM %I', name || '_st', name);
	EXECUTE format('INSERT INTO %I (gone1, id, gone2, t, n, arr) SELECT ''x'', i, i, NULLIF(''t'' || i %% 7, ''t3''), i, ARRAY[i, NULL] FROM generate_series(1, 200) i', name);
	EXECUTE format('ALTER TABLE %I DROP gone1, DROP gone3', name);
	EXECUTE format('INSERT INTO %I (id, gone2, n) SELECT i, 1, i FROM generate_series(201, 220) i', name);
END $$;
CREATE FUNCTION lose(name text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	EXECUTE format('ALTER TABLE %I DROP gone2', name);
	EXECUTE format('ALTER TABLE %I ADD late int DEFAULT 7', name);
	EXECUTE format('ALTER TABLE %I ADD gone5 text DEFAULT ''five''', name);
	EXECUTE format('ALTER TABLE %I DROP gone4, DROP gone5', name);
	EXECUTE format('INSERT INTO %I (id, n, arr, late) SELECT i, i, ''{1}'', NULLIF(i, 225) FROM generate_series(221, 240) i', name);
END $$;
-- What a table has otherwise than the plain one.
CREATE FUNCTION differs(name text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN
	RETURN QUERY EXECUTE format('(SELECT ''lacks '' || r::text FROM (SELECT * FROM plain EXCEPT ALL SELECT * FROM %1$I) r) UNION ALL
		(SELECT ''has too much '' || r::text FROM (SELECT * FROM %1$I EXCEPT ALL SELECT * FROM plain) r) ORDER BY 1 LIMIT 3', name);
	RETURN QUERY EXECUTE format('SELECT ''lacks id '' || id FROM plain p WHERE NOT EXISTS (SELECT FROM %1$I o WHERE o.id = p.id)', name);
END $$;
SELECT make(name) FROM unnest('{plain,t,ref,one,managed,local}'::text[]) name;
SELECT create_distributed_table('t', 'id', colocate_with => 'none');
SELECT create_reference_table('ref');
SELECT create_distributed_table('one', NULL, colocate_with => 'none');
SELECT citus_add_local_table_to_metadata('managed');
SELECT differs(name) FROM unnest('{t,ref,one,managed}'::text[]) name;
SELECT lose(name) FROM unnest('{plain,t,ref,one,managed,local}'::text[]) name;
SELECT differs(name) FROM unnest('{t,ref,one,managed,local}'::text[]) name;

-- COPY: all columns, some, each format, out of one kind of table into each.
\setenv PGDATABASE :DBNAME
\setenv PGOPTIONS '-c search_path=dropped_moves -c client_min_messages=warning'
\! copy() { psql -X -c "COPY $1 TO STDOUT ($3)" | psql -X -q -c "COPY $2 FROM STDIN ($3)"; }; psql -X -q -c "TRUNCATE t, ref, one, managed"; for to in t ref "one (id, t, n, arr, late)" managed; do copy "plain (id, t, n, arr, late)" "$to" "FORMAT text"; done
SELECT differs(name) FROM unnest('{t,ref,one,managed}'::text[]) name;
\! copy() { psql -X -c "COPY $1 TO STDOUT ($3)" | psql -X -q -c "COPY $2 FROM STDIN ($3)"; }; psql -X -q -c "TRUNCATE t, ref, one, managed"; for to in "t (late, id, arr, n, t)" "ref (late, id, arr, n, t)" "one (late, id, arr, n, t)" "managed (late, id, arr, n, t)"; do copy "plain (late, id, arr, n, t)" "$to" "FORMAT csv, HEADER"; done
SELECT differs(name) FROM unnest('{t,ref,one,managed}'::text[]) name;
\! copy() { psql -X -c "COPY $1 TO STDOUT ($3)" | psql -X -q -c "COPY $2 FROM STDIN ($3)"; }; psql -X -q -c "TRUNCATE t, ref, one, managed"; for to in t ref one managed; do copy plain "$to" "FORMAT binary"; done
SELECT differs(name) FROM unnest('{t,ref,one,managed}'::text[]) name;
\! copy() { psql -X -c "COPY $1 TO STDOUT ($3)" | psql -X -q -c "COPY $2 FROM STDIN ($3)"; }; for from in t ref one managed; do psql -X -q -c "TRUNCATE local"; copy $from local "FORMAT binary"; psql -X -At -c "SELECT differs('local')"; done
\! copy() { psql -X -c "COPY $1 TO STDOUT ($3)" | psql -X -q -c "COPY $2 FROM STDIN ($3)"; }; for from in t ref one managed; do psql -X -q -c "TRUNCATE local"; copy $from local "FORMAT csv"; psql -X -At -c "SELECT differs('local')"; done
SELECT count(*) FROM local;

-- Moves of shards that number their columns otherwise.
SELECT nodeid AS n0 FROM pg_dist_node WHERE groupid = 0 \gset
SELECT nodeid AS n1 FROM pg_dist_node WHERE groupid = 1 \gset
SELECT nodeid AS n2 FROM pg_dist_node WHERE groupid = 2 \gset
CREATE FUNCTION move_all(name regclass, target int, mode citus.shard_transfer_mode) RETURNS void LANGUAGE sql AS $$
	SELECT citus_move_shard_placement(shardid, n.nodeid, target, mode) FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
		JOIN pg_dist_node n USING (groupid) WHERE logicalrelid = name AND n.nodeid <> target $$;
SELECT move_all('t', :n1, 'block_writes');
SELECT differs('t');
SELECT move_all('t', :n2, 'auto');
SELECT differs('t');
SELECT move_all('one', :n1, 'auto');
SELECT move_all('one', :n2, 'block_writes');
SELECT differs('one');
CREATE FUNCTION change(name text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	EXECUTE format('UPDATE %I SET t = ''moved'', n = n + 1 WHERE id < 20', name);
	EXECUTE format('DELETE FROM %I WHERE id %% 10 = 5', name);
END $$;
SELECT change(name) FROM unnest('{plain,t,ref,one,managed}'::text[]) name;
SELECT differs(name) FROM unnest('{t,ref,one,managed}'::text[]) name;
INSERT INTO t (id, n) VALUES (999, -1);
SELECT move_all('t', :n0, 'auto');
SELECT differs('t');

-- Other shards, other columns to distribute by, and back to a table of this node alone.
SELECT alter_distributed_table('t', shard_count => 6);
SELECT differs('t');
ALTER TABLE t ADD gone6 int DEFAULT 6;
ALTER TABLE t DROP gone6;
SELECT alter_distributed_table('t', colocate_with => 'none', shard_count => 3);
SELECT differs('t');
SELECT undistribute_table('t');
SELECT undistribute_table('ref');
SELECT undistribute_table('one');
SELECT undistribute_table('managed');
SELECT differs(name) FROM unnest('{t,ref,one,managed}'::text[]) name;
INSERT INTO one (id, n) VALUES (999, -1);
INSERT INTO one (id, n) VALUES (1, 1);
ALTER TABLE one DROP late, ADD late int;
ALTER TABLE plain DROP late, ADD late int;
SELECT create_distributed_table('one', 'id');
SELECT differs('one');
DROP SCHEMA dropped_moves CASCADE;
