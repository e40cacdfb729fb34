-- EXPLAIN shows where each part of a statement runs, in the words that the tuning guide uses, for all
-- plan shapes; every format is a whole, valid document, and EXPLAIN without ANALYZE changes nothing.
\t on
\pset format unaligned
SET intervalstyle = postgres;
SET citus.shard_count = 4;
SET client_min_messages = warning;
CREATE SCHEMA explain;
SET search_path = explain, public;
CREATE TABLE github_events (event_id bigint, event_type text, repo_id bigint, payload jsonb, user_id bigint, created_at timestamp);
SELECT create_distributed_table('github_events', 'repo_id');
CREATE TABLE repos (repo_id bigint PRIMARY KEY, name text);
SELECT create_distributed_table('repos', 'repo_id', colocate_with => 'github_events');
CREATE TABLE page_views (tenant_id int, page_id int, view_time timestamptz);
SELECT create_distributed_table('page_views', 'tenant_id');
CREATE TABLE types (event_type text PRIMARY KEY, note text);
SELECT create_reference_table('types');
CREATE TABLE local_one (id bigint);
INSERT INTO github_events SELECT i, CASE i % 2 WHEN 0 THEN 'PushEvent' ELSE 'ForkEvent' END, i % 20, '{"distinct_size": 2}', i % 7, timestamp '2020-01-01' + i * interval '10 s' FROM generate_series(1, 200) i;
INSERT INTO repos SELECT i, 'r' || i FROM generate_series(0, 19) i;
INSERT INTO page_views SELECT i % 10, i, '2020-01-01' FROM generate_series(1, 100) i;
INSERT INTO types VALUES ('PushEvent', 'p'), ('ForkEvent', 'f');
INSERT INTO local_one SELECT generate_series(1, 5);
ANALYZE github_events, repos, page_views, types, local_one;

-- plan(query, options): without what differs from run to run.
CREATE FUNCTION plan(query text, options text DEFAULT 'COSTS OFF') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		line := regexp_replace(line, 'port=[0-9]+', 'port=N');
		line := regexp_replace(line, '_10[0-9]{4}\M', '_<shard>', 'g');
		line := regexp_replace(line, '(Duration|Size|Memory|Memory Usage): [0-9.]+ ?[kM]?(B|ms|bytes)?', '\1: N');
		line := regexp_replace(line, 'Subplan [0-9]+_', 'Subplan P_');
		line := regexp_replace(line, 'pando cursor \d+', 'pando cursor R', 'g');
		line := regexp_replace(line, '(Group Key: .*), ''x''::text$', '\1');
		RETURN NEXT line;
	END LOOP;
END $$;

-- The guide's query, as the guide shows it but for the few rows there are.
SELECT plan($$SELECT date_trunc('minute', created_at) AS minute, sum((payload->>'distinct_size')::int) AS num_commits
	FROM github_events WHERE event_type = 'PushEvent' GROUP BY minute ORDER BY minute$$, 'VERBOSE, COSTS OFF');
SET citus.explain_all_tasks = 1;
SELECT plan($$SELECT date_trunc('minute', created_at) AS minute, sum((payload->>'distinct_size')::int) AS num_commits
	FROM github_events WHERE event_type = 'PushEvent' GROUP BY minute ORDER BY minute$$);
RESET citus.explain_all_tasks;
SELECT plan($$WITH deleted_rows AS (DELETE FROM page_views WHERE tenant_id IN (3, 4) RETURNING *),
	viewed_last_week AS (SELECT * FROM deleted_rows WHERE view_time > current_timestamp - interval '7 days')
	SELECT count(*) FROM viewed_last_week$$);
SELECT count(*) FROM page_views;

-- One shard group.
SELECT plan('SELECT * FROM github_events WHERE repo_id = 5');
SELECT plan('SELECT count(*) FROM github_events JOIN repos USING (repo_id) JOIN types USING (event_type) WHERE repo_id = 5');
SELECT plan('INSERT INTO repos VALUES (100, ''x'')');
SELECT plan('UPDATE repos SET name = ''y'' WHERE repo_id = 5 RETURNING name', 'COSTS OFF, VERBOSE');
SELECT plan('DELETE FROM repos WHERE repo_id = 5');
PREPARE one(bigint) AS SELECT name FROM repos WHERE repo_id = $1;
SELECT plan('EXECUTE one(5)');
SELECT plan('SELECT * FROM github_events WHERE false');

-- All of them.
SELECT plan('SELECT event_id FROM github_events WHERE user_id = 3');
SELECT plan('SELECT repo_id, count(*) FROM github_events GROUP BY repo_id HAVING count(*) > 3');
SELECT plan('SELECT count(DISTINCT user_id), avg(event_id) FROM github_events');
SELECT plan('SELECT event_id FROM github_events ORDER BY event_id DESC LIMIT 5');
SELECT plan('SELECT name, count(*) FROM github_events JOIN repos USING (repo_id) JOIN types USING (event_type) GROUP BY name');
SELECT plan('UPDATE github_events SET user_id = 0');
SELECT plan('INSERT INTO repos SELECT repo_id + 1000, ''x'' FROM github_events');
SET citus.enable_repartitioned_insert_select = off;
SELECT plan('INSERT INTO repos SELECT repo_id + 1000, ''x'' FROM github_events');
RESET citus.enable_repartitioned_insert_select;
SELECT plan('INSERT INTO repos SELECT DISTINCT repo_id, ''x'' FROM github_events ON CONFLICT DO NOTHING');
SELECT count(*) FROM repos;

-- Only here, or on each node.
SELECT plan('SELECT * FROM types');
SELECT plan('SELECT * FROM local_one');
SELECT plan('UPDATE types SET note = ''n''');

-- Rows that move, checked for their parts alone.
SELECT count(*) > 0 FROM plan('SELECT count(*) FROM github_events g JOIN page_views p ON g.user_id = p.page_id') p WHERE p LIKE '%Custom Scan (Citus Adaptive)%';
SELECT count(*) > 0 FROM plan('SELECT * FROM github_events JOIN local_one ON id = event_id') p WHERE p LIKE '%Custom Scan (Citus Adaptive)%';

-- ANALYZE; by execution time the longest task would be shown, which differs from run to run.
SET citus.explain_analyze_sort_method = taskId;
SELECT plan('SELECT event_id FROM github_events WHERE repo_id = 5 AND event_id < 50', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
SELECT plan('SELECT count(*) FROM github_events', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
BEGIN;
SELECT plan('DELETE FROM page_views WHERE tenant_id = 3', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
SELECT count(*) FROM page_views;
ROLLBACK;
SELECT count(*) FROM page_views;
SET citus.explain_all_tasks = on;
SELECT plan('SELECT name FROM repos WHERE name = ''r5''', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
RESET citus.explain_all_tasks;
-- A cursor that goes back keeps what it has read.
SELECT plan('DECLARE c SCROLL CURSOR FOR SELECT repo_id, name FROM repos WHERE repo_id = 3', 'VERBOSE, COSTS OFF');

-- Formats.
CREATE FUNCTION document(query text, options text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('EXPLAIN (%s) %s', options, query) INTO result;
	RETURN result;
END $$;
-- wrong(query): formats that are not valid documents, or lack the tasks.
CREATE FUNCTION wrong(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	options text;
	text text;
	has_xml CONSTANT bool := (SELECT setting LIKE '%--with-libxml%' FROM pg_config() WHERE name = 'CONFIGURE');
BEGIN
	FOREACH options IN ARRAY '{"", "VERBOSE, ", "ANALYZE, ", "ANALYZE, VERBOSE, BUFFERS, WAL, SETTINGS, "}'::text[] LOOP
		text := document(query, options || 'FORMAT json');
		IF jsonb_typeof(text::jsonb) <> 'array' OR text !~ '"Task Count": [0-9]+' THEN
			RETURN NEXT options || 'json: ' || text;
		END IF;
		text := document(query, options || 'FORMAT xml');
		IF (has_xml AND NOT xml_is_well_formed_document(text)) OR text !~ '<Task-Count>[0-9]+</Task-Count>' THEN
			RETURN NEXT options || 'xml: ' || text;
		END IF;
		text := document(query, options || 'FORMAT yaml');
		IF text !~ 'Task Count: [0-9]+' OR text ~ E'\t' THEN
			RETURN NEXT options || 'yaml: ' || text;
		END IF;
	END LOOP;
END $$;
SELECT wrong('SELECT count(*) FROM github_events');
SELECT wrong('SELECT * FROM github_events WHERE repo_id = 5');
SELECT wrong('SELECT "name" AS "a ""b"" <c>" FROM repos WHERE name <> ''<&>"''''''');
SELECT wrong('SELECT name, count(*) FROM github_events JOIN repos USING (repo_id) GROUP BY name ORDER BY 2 LIMIT 3');
SELECT wrong('WITH x AS MATERIALIZED (SELECT user_id FROM github_events ORDER BY event_id LIMIT 10) SELECT count(*) FROM x JOIN page_views ON page_id = user_id');
SELECT wrong('UPDATE github_events SET user_id = 9 WHERE repo_id = 3');
SELECT jsonb_path_query(document('SELECT count(*) FROM github_events', 'COSTS OFF, FORMAT json')::jsonb, '$[0].Plan.Plans[0]') - 'Tasks' - 'Job';
SET citus.explain_all_tasks = on;
SELECT wrong('SELECT count(*) FROM github_events');
RESET citus.explain_all_tasks;

-- Beside a fragment a plan may be parallel; with a function that may read distributed tables it may not.
CREATE TABLE beside (i int, v int);
INSERT INTO beside SELECT i, i % 100 FROM generate_series(1, 20000) i;
ANALYZE beside;
CREATE TABLE few (k int, v int);
SELECT create_distributed_table('few', 'k', shard_count => 4);
INSERT INTO few SELECT i, i % 50 FROM generate_series(1, 100) i;
CREATE FUNCTION reads(int) RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$ BEGIN RETURN (SELECT count(*) FROM few WHERE k = $1); END $$;
CREATE FUNCTION reads_not(int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN RETURN $1; END $$;
CREATE FUNCTION parallel_scans(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line LIKE '%Seq Scan on beside%' THEN RETURN NEXT trim(line); END IF;
	END LOOP;
END $$;
SET max_parallel_workers_per_gather = 1;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT parallel_scans('SELECT count(*) FROM beside WHERE v > (SELECT avg(v) FROM few)');
SELECT count(*) FROM beside WHERE v > (SELECT avg(v) FROM few);
SELECT parallel_scans('SELECT count(*) FROM beside WHERE reads_not(v) = 3');
SELECT parallel_scans('SELECT count(*) FROM beside, (SELECT avg(v) AS least FROM few) f WHERE i < 200 AND reads(v) = 1 AND v > least');
SELECT count(*) FROM beside, (SELECT avg(v) AS least FROM few) f WHERE i < 200 AND reads(v) = 1 AND v > least;
SELECT parallel_scans('SELECT count(*) FROM beside WHERE i < 200 AND reads(v) = 1');
ALTER FUNCTION reads PARALLEL RESTRICTED;
SELECT count(*) FROM beside WHERE i < 200 AND reads(v) = 1;

-- Tasks of a subquery that is grouped off its key are told what is asked of it, and a VALUES list is, too; EXISTS reads no columns.
CREATE FUNCTION task_texts(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
		IF line ~ 'Query: ' THEN RETURN NEXT regexp_replace(substr(line, strpos(line, 'Query: ')), '_\d+', '', 'g'); END IF;
	END LOOP;
END $$;
SELECT task_texts('SELECT * FROM (SELECT v, count(*) AS c FROM few GROUP BY v) s WHERE v = 3 AND c > 1');
SELECT task_texts('SELECT * FROM (SELECT v, count(*) AS c FROM few GROUP BY v) s JOIN beside USING (v) WHERE beside.v = 3');
SELECT task_texts('SELECT * FROM beside LEFT JOIN (SELECT v, count(*) AS c FROM few GROUP BY v) s USING (v) WHERE beside.v = 3');
SELECT task_texts('SELECT * FROM (SELECT v, count(*) AS c FROM few GROUP BY v UNION ALL VALUES (3, 1), (4, 1)) s WHERE v = 3');
SELECT task_texts('SELECT count(*) FROM beside WHERE EXISTS (SELECT * FROM few WHERE few.v = beside.v AND few.k < beside.i)');
DROP SCHEMA explain CASCADE;
