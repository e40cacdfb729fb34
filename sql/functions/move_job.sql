-- Background jobs: what they do, waiting for them and ending them.

CREATE OR REPLACE FUNCTION pg_catalog.citus_job_list()
	RETURNS TABLE (job_id bigint, state pg_catalog.citus_job_status, job_type name, description text,
		started_at timestamptz, finished_at timestamptz)
	LANGUAGE sql STABLE BEGIN ATOMIC
	SELECT j.job_id, j.state, j.job_type, j.description, j.started_at, j.finished_at
	FROM pg_catalog.pg_dist_background_job j WHERE pando.require_coordinator() ORDER BY j.job_id;
END;

-- Tasks that run, wait to be tried again or failed, with how far their moves are; and how many there are of each status.
CREATE OR REPLACE FUNCTION pando.job_details(job_id bigint, raw boolean) RETURNS jsonb
	LANGUAGE sql STABLE BEGIN ATOMIC
	SELECT pg_catalog.jsonb_build_object(
		'task_state_counts', (SELECT coalesce(pg_catalog.jsonb_object_agg(c.status, c.count), '{}')
			FROM (SELECT t.status, pg_catalog.count(*) AS count FROM pg_catalog.pg_dist_background_task t
				WHERE t.job_id = $1 GROUP BY t.status) c),
		'tasks', (SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('task_id', t.task_id, 'state', t.status,
				'command', t.command, 'message', coalesce(t.message, ''), 'retried', t.retry_count)
				|| CASE WHEN p.phase IS NULL THEN '{}' ELSE pg_catalog.jsonb_build_object('phase', p.phase,
					'hosts', pg_catalog.jsonb_build_object('source', p.source, 'target', p.target),
					'size', pg_catalog.jsonb_build_object(
						'source', CASE WHEN $2 THEN pg_catalog.to_jsonb(p.source_size) ELSE pg_catalog.to_jsonb(pg_catalog.pg_size_pretty(p.source_size)) END,
						'target', CASE WHEN $2 THEN pg_catalog.to_jsonb(p.target_size) ELSE pg_catalog.to_jsonb(pg_catalog.pg_size_pretty(p.target_size)) END))
				END ORDER BY t.task_id), '[]')
			FROM pg_catalog.pg_dist_background_task t
				LEFT JOIN (SELECT r.sessionid, pg_catalog.min(r.status) AS phase,
						pg_catalog.min(r.sourcename || ':' || r.sourceport) AS source, pg_catalog.min(r.targetname || ':' || r.targetport) AS target,
						pg_catalog.sum(r.source_shard_size)::bigint AS source_size, pg_catalog.sum(r.target_shard_size)::bigint AS target_size
					FROM pg_catalog.get_rebalance_progress() r GROUP BY r.sessionid) p
				ON p.sessionid = t.pid AND t.status IN ('running', 'cancelling')
			WHERE t.job_id = $1 AND (t.status IN ('running', 'cancelling', 'error') OR t.status = 'runnable' AND t.retry_count > 0)));
END;

CREATE OR REPLACE FUNCTION pg_catalog.citus_job_status(job_id bigint, raw boolean DEFAULT false)
	RETURNS TABLE (job_id bigint, state pg_catalog.citus_job_status, job_type name, description text,
		started_at timestamptz, finished_at timestamptz, details jsonb)
	LANGUAGE sql STRICT STABLE BEGIN ATOMIC
	SELECT j.job_id, j.state, j.job_type, j.description, j.started_at, j.finished_at, pando.job_details(j.job_id, $2)
	FROM pg_catalog.pg_dist_background_job j WHERE pando.require_coordinator() AND j.job_id = $1;
END;

CREATE OR REPLACE FUNCTION pg_catalog.citus_job_wait(jobid bigint,
		desired_status pg_catalog.citus_job_status DEFAULT NULL) RETURNS void
	LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'citus_job_wait';
CREATE OR REPLACE FUNCTION pg_catalog.citus_task_wait(taskid bigint,
		desired_status pg_catalog.citus_task_status DEFAULT NULL) RETURNS void
	LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'citus_task_wait';
CREATE OR REPLACE FUNCTION pg_catalog.citus_job_cancel(jobid bigint) RETURNS void
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'citus_job_cancel';

-- The rebalancer's jobs, of which one is under way at a time.

CREATE OR REPLACE FUNCTION pg_catalog.citus_rebalance_start(rebalance_strategy name DEFAULT NULL,
		drain_only boolean DEFAULT false, shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto',
		parallel_transfer_reference_tables boolean DEFAULT false,
		parallel_transfer_colocated_shards boolean DEFAULT false) RETURNS bigint
	LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'citus_rebalance_start';

CREATE OR REPLACE FUNCTION pg_catalog.citus_rebalance_status(raw boolean DEFAULT false)
	RETURNS TABLE (job_id bigint, state pg_catalog.citus_job_status, job_type name, description text,
		started_at timestamptz, finished_at timestamptz, details jsonb)
	LANGUAGE sql STRICT STABLE BEGIN ATOMIC
	SELECT s.job_id, s.state, s.job_type, s.description, s.started_at, s.finished_at, s.details
	FROM (SELECT j.job_id FROM pg_catalog.pg_dist_background_job j WHERE pando.require_coordinator() AND j.job_type = 'rebalance'
		ORDER BY j.job_id DESC LIMIT 1) l
		CROSS JOIN LATERAL pg_catalog.citus_job_status(l.job_id, $1) s;
END;

CREATE OR REPLACE FUNCTION pando.rebalance_job(OUT job_id bigint)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM pando.require_coordinator();
	SELECT j.job_id INTO rebalance_job.job_id FROM pg_catalog.pg_dist_background_job j
	WHERE j.job_type = 'rebalance' AND j.state IN ('scheduled', 'running', 'cancelling', 'failing');
	IF NOT FOUND THEN
		RAISE EXCEPTION 'no rebalance is under way' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'SELECT citus_rebalance_start() starts one.';
	END IF;
END $$;
CREATE OR REPLACE FUNCTION pg_catalog.citus_rebalance_stop() RETURNS void
	LANGUAGE sql VOLATILE BEGIN ATOMIC SELECT pg_catalog.citus_job_cancel(pando.rebalance_job()); END;
CREATE OR REPLACE FUNCTION pg_catalog.citus_rebalance_wait() RETURNS void
	LANGUAGE sql VOLATILE BEGIN ATOMIC SELECT pg_catalog.citus_job_wait(pando.rebalance_job()); END;
