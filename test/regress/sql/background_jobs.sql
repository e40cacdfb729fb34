-- A rebalance in the background: a job of one task per move, each run by a process of its own as the role that asked.
\set VERBOSITY terse
CREATE SCHEMA jobs;
SET search_path TO jobs;
SET citus.next_shard_id TO 1480000;
CREATE TABLE p (id int PRIMARY KEY, b text);
SELECT create_distributed_table('p', 'id', shard_count := 4, colocate_with := 'none');
CREATE TABLE c (id int PRIMARY KEY REFERENCES p);
SELECT create_distributed_table('c', 'id', colocate_with := 'p');
CREATE TABLE q (id int, b text);
SELECT create_distributed_table('q', 'id', shard_count := 4, colocate_with := 'none');
INSERT INTO p SELECT i, 'x' || i FROM generate_series(1, 1000) i;
INSERT INTO c SELECT id FROM p;
INSERT INTO q SELECT i, 'x' || i FROM generate_series(1, 1000) i;
CREATE VIEW places AS SELECT logicalrelid, string_agg(groupid::text, ' ' ORDER BY shardid, groupid) AS groups
	FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
	WHERE logicalrelid IN ('p'::regclass, 'c'::regclass, 'q'::regclass) GROUP BY 1 ORDER BY 1;
CREATE FUNCTION should_have(g int, should bool) RETURNS void LANGUAGE sql AS
	$$ SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', should) FROM pg_dist_node WHERE groupid = g $$;
-- What a notice would tell has numbers in it that other tests have a part in.
SET client_min_messages TO warning;

-- All go away from one node, and come back.
SELECT should_have(1, false);
TABLE places;
SELECT citus_rebalance_start(drain_only := true) AS job \gset
SELECT citus_rebalance_wait();
TABLE places;
SELECT job_id = :job AS this, state, job_type, description, started_at IS NOT NULL AS started, finished_at > started_at AS finished, details
	FROM citus_rebalance_status();
SELECT count(*) FROM citus_job_status(:job, true);
SELECT state, description FROM citus_job_list() WHERE job_id = :job;
-- One after the other in a colocation group; each knows its nodes.
SELECT t.task_id - min(t.task_id) OVER () AS task, status, owner = current_user::regrole AS mine, pid, command ~ '^SELECT pg_catalog.citus_move_shard_placement\(\d+,\d+,\d+,''auto''\)$' AS command,
	retry_count, message, cardinality(nodes_involved) AS nodes, depends_on - min(t.task_id) OVER () AS after
	FROM pg_dist_background_task t LEFT JOIN pg_dist_background_task_depend d USING (job_id, task_id) WHERE job_id = :job ORDER BY 1;
SELECT should_have(1, true);
SELECT citus_rebalance_start(shard_transfer_mode := 'block_writes', parallel_transfer_colocated_shards := true) AS job \gset
SELECT citus_job_wait(:job, 'finished');
SELECT groupid, count(*) FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) WHERE logicalrelid IN ('p'::regclass, 'c'::regclass, 'q'::regclass) GROUP BY 1 ORDER BY 1;
SELECT (SELECT count(*) FROM p JOIN c USING (id)), (SELECT sum(id) FROM q);
-- Nothing is to be done.
SELECT citus_rebalance_start() IS NULL;
SELECT citus_rebalance_wait();
SELECT citus_rebalance_stop();
SELECT citus_job_wait(:job);
SELECT citus_job_wait(:job, 'failed');
SELECT citus_task_wait(max(task_id), 'done') FROM pg_dist_background_task;
SELECT citus_task_wait(max(task_id), 'error') FROM pg_dist_background_task WHERE job_id = -1;
SELECT citus_task_wait(-1);
SELECT citus_job_wait(-1);
SELECT citus_job_cancel(-1);
SELECT citus_job_cancel(:job);
SELECT count(*) FROM citus_job_status(-1);
SELECT citus_rebalance_start('nope');
SELECT citus_rebalance_start(drain_only := NULL);

-- In a transaction: its end decides. There is one rebalance at a time.
SELECT should_have(1, false);
BEGIN;
SELECT citus_rebalance_start() AS job \gset
SELECT state FROM citus_rebalance_status();
SAVEPOINT a;
SELECT citus_rebalance_wait();
ROLLBACK TO a;
SELECT citus_task_wait(max(task_id)) FROM pg_dist_background_task;
ROLLBACK TO a;
SELECT citus_rebalance_start() - :job;
ROLLBACK TO a;
SELECT rebalance_table_shards();
ROLLBACK;
SELECT count(*) FROM citus_job_status(:job);
BEGIN;
SELECT citus_rebalance_start() AS job \gset
SELECT citus_rebalance_stop();
COMMIT;
SELECT citus_job_wait(:job);
SELECT citus_job_wait(:job, 'finished');
SELECT state, started_at, details FROM citus_job_status(:job);
TABLE places;

-- Owners' rights, and no more.
CREATE ROLE jobs_owner LOGIN;
CREATE ROLE jobs_other LOGIN;
CREATE ROLE jobs_nologin;
GRANT ALL ON SCHEMA jobs TO jobs_owner, jobs_other;
SET ROLE jobs_other;
SELECT citus_rebalance_start();
RESET ROLE;
GRANT jobs_nologin TO jobs_other;
SET ROLE jobs_nologin;
SELECT citus_rebalance_start();
RESET ROLE;
ALTER TABLE p OWNER TO jobs_owner;
ALTER TABLE c OWNER TO jobs_owner;
ALTER TABLE q OWNER TO jobs_owner;
SET ROLE jobs_owner;
SELECT citus_rebalance_start() AS job \gset
SELECT citus_rebalance_wait();
RESET ROLE;
TABLE places;
SELECT state FROM citus_job_status(:job);
SELECT DISTINCT owner FROM pg_dist_background_task WHERE job_id = :job;
SELECT should_have(1, true);
-- Who is the owner when it runs decides, and who may cancel.
BEGIN;
SET LOCAL ROLE jobs_owner;
SELECT citus_rebalance_start() AS job \gset
SET LOCAL ROLE jobs_other;
SAVEPOINT a;
SELECT citus_job_cancel(:job);
ROLLBACK TO a;
RESET ROLE;
ALTER TABLE p OWNER TO jobs_other;
COMMIT;
SELECT citus_job_wait(:job, 'failed');
SELECT status, retry_count, message, pid FROM pg_dist_background_task WHERE job_id = :job ORDER BY task_id;
SELECT jsonb_path_query_array(details, '$.tasks[*].message') FROM citus_job_status(:job) WHERE details -> 'task_state_counts' ->> 'error' = '1';
-- Nobody can make a task up.
SET ROLE jobs_other;
INSERT INTO pg_dist_background_job (job_type, description) VALUES ('x', 'y');
INSERT INTO pg_dist_background_task (job_id, owner, command) VALUES (:job, 'jobs_owner', 'SELECT 1');
UPDATE pg_dist_background_task SET command = 'SELECT 1';
DELETE FROM pg_dist_background_job;
SELECT nextval('pg_dist_background_task_task_id_seq');
RESET ROLE;
-- Commands of a superuser's own: each in one transaction with its end, as the owner; roles that are gone or can't log in.
CREATE TABLE ran (who text);
GRANT ALL ON ran TO jobs_owner;
BEGIN;
INSERT INTO pg_dist_background_job (job_type, description) VALUES ('own', 'commands') RETURNING job_id AS job \gset
INSERT INTO pg_dist_background_task (job_id, owner, command)
	SELECT :job, owner::regrole, command FROM (VALUES
	(1, 'jobs_owner', 'INSERT INTO jobs.ran SELECT current_user || '' '' || session_user'),
	(2, 'jobs_owner', 'INSERT INTO jobs.ran SELECT 1; RESET SESSION AUTHORIZATION; SET ROLE jobs_other; INSERT INTO jobs.ran SELECT 1'),
	(3, 'jobs_other', 'INSERT INTO jobs.ran SELECT current_user'),
	(4, 'jobs_nologin', 'SELECT 1'),
	(5, 'jobs_owner', 'SELECT nothing'),
	(6, 'jobs_owner', 'COMMIT')) t (n, owner, command) ORDER BY n;
COMMIT;
SELECT citus_job_wait(:job);
SELECT status, owner, retry_count, message FROM pg_dist_background_task WHERE job_id = :job ORDER BY task_id;
SELECT state FROM citus_job_status(:job);
TABLE ran;
BEGIN;
CREATE ROLE jobs_gone LOGIN;
INSERT INTO pg_dist_background_job (job_type, description) VALUES ('own', 'commands') RETURNING job_id AS job \gset
INSERT INTO pg_dist_background_task (job_id, owner, command) VALUES (:job, 'jobs_gone', 'SELECT 1');
DROP ROLE jobs_gone;
COMMIT;
SELECT citus_job_wait(:job);
SELECT state FROM citus_job_status(:job);
SELECT status, message FROM pg_dist_background_task WHERE job_id = :job;

-- On the coordinator alone.
SELECT DISTINCT result FROM run_command_on_workers('SELECT citus_rebalance_start()');
SELECT DISTINCT result FROM run_command_on_workers('SELECT citus_job_wait(1)');
SELECT DISTINCT result FROM run_command_on_workers('BEGIN; SELECT * FROM citus_job_list(); COMMIT');
SELECT DISTINCT result FROM run_command_on_workers($$SELECT citus_set_default_rebalance_strategy('by_disk_size')$$);
DELETE FROM pg_dist_background_job;
SELECT (SELECT count(*) FROM pg_dist_background_task), (SELECT count(*) FROM pg_dist_background_task_depend);
DROP SCHEMA jobs CASCADE;
DROP ROLE jobs_owner, jobs_other, jobs_nologin;
