-- Locks and waits over all nodes; reaching backends by their global pid.

CREATE OR REPLACE FUNCTION pando.local_locks() RETURNS jsonb
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	SELECT coalesce(jsonb_agg(to_jsonb(l) || jsonb_build_object('relation_name',
			CASE WHEN l.database IN (0, d.oid) THEN l.relation::regclass::text END,
			'application_name', a.application_name)), '[]')
	FROM pg_catalog.pg_locks l
		LEFT JOIN pg_catalog.pg_stat_activity a USING (pid)
		JOIN pg_catalog.pg_database d ON d.datname = current_database()
	WHERE l.pid IS DISTINCT FROM pg_backend_pid();
END;

-- The client's backend that a backend of a node works for: itself unless it is a session from
-- another node, whose name says so.
CREATE OR REPLACE FUNCTION pando.global_pid(nodeid int4, pid int4, application_name text)
		RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE BEGIN ATOMIC
	SELECT coalesce(substring(application_name FROM '^citus_internal gpid=(\d{1,18})(?!\d)')::bigint,
		nodeid * 10000000000 + pid);
END;

-- The answers of all nodes to a command that returns a JSON array, one row per element.
CREATE OR REPLACE FUNCTION pando.elements_from_nodes(command text, OUT nodeid int4,
		OUT element jsonb) RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	WITH n AS MATERIALIZED (
		SELECT row_number() OVER (ORDER BY nodeid)::int4 AS ord, * FROM pando.active_nodes())
	SELECT n.nodeid, e
	FROM pando.run_commands((SELECT array_agg(nodeid ORDER BY ord) FROM n),
			(SELECT array_agg(command) FROM n), true, true) r
		JOIN n USING (ord)
		CROSS JOIN LATERAL jsonb_array_elements(r.result::jsonb) e
	WHERE r.success;
END;

CREATE OR REPLACE FUNCTION pando.lock_waits(OUT waiting_gpid bigint, OUT blocking_gpid bigint)
		RETURNS SETOF record
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	SELECT DISTINCT e.waiting, e.blocking
	FROM pando.elements_from_nodes(
			$$SELECT coalesce(jsonb_agg(e), '[]') FROM pando.wait_edges() e$$) x
		CROSS JOIN LATERAL (SELECT (x.element ->> 'waiting_gpid')::bigint AS waiting,
			(x.element ->> 'blocking_gpid')::bigint AS blocking) e
	WHERE e.waiting <> e.blocking;
END;

-- Pids of this node's backends that keep one of its backends waiting, here or on another node.
CREATE OR REPLACE FUNCTION pg_catalog.citus_blocking_pids(pblockedpid int4) RETURNS int4[]
	LANGUAGE sql VOLATILE STRICT BEGIN ATOMIC
	SELECT array(
		SELECT unnest(pg_catalog.pg_blocking_pids(pblockedpid))
		UNION
		SELECT pg_catalog.citus_pid_for_gpid(w.blocking_gpid)
		FROM pando.lock_waits() w
			JOIN pando.active_nodes() n
				ON n.nodeid = pg_catalog.citus_nodeid_for_gpid(w.blocking_gpid)
			JOIN pg_catalog.pg_dist_local_group g USING (groupid)
		WHERE w.waiting_gpid = n.nodeid * 10000000000 + pblockedpid);
END;

CREATE OR REPLACE FUNCTION pg_catalog.citus_isolation_test_session_is_blocked(pblockedpid int4,
		pinterestingpids int4[]) RETURNS boolean
	LANGUAGE sql VOLATILE BEGIN ATOMIC
	SELECT pg_catalog.citus_blocking_pids(pblockedpid) && pinterestingpids;
END;

-- Lets isolationtester, which asks pg_isolation_test_session_is_blocked, see waits on other nodes:
-- the two functions change names.
CREATE OR REPLACE FUNCTION citus_internal.replace_isolation_tester_func() RETURNS void
	LANGUAGE plpgsql AS $$
BEGIN
	ALTER FUNCTION pg_catalog.pg_isolation_test_session_is_blocked(int4, int4[])
		RENAME TO old_pg_isolation_test_session_is_blocked;
	ALTER FUNCTION pg_catalog.citus_isolation_test_session_is_blocked(int4, int4[])
		RENAME TO pg_isolation_test_session_is_blocked;
	PERFORM citus_internal.refresh_isolation_tester_prepared_statement();
END $$;
CREATE OR REPLACE FUNCTION citus_internal.restore_isolation_tester_func() RETURNS void
	LANGUAGE plpgsql AS $$
BEGIN
	ALTER FUNCTION pg_catalog.pg_isolation_test_session_is_blocked(int4, int4[])
		RENAME TO citus_isolation_test_session_is_blocked;
	ALTER FUNCTION pg_catalog.old_pg_isolation_test_session_is_blocked(int4, int4[])
		RENAME TO pg_isolation_test_session_is_blocked;
	PERFORM citus_internal.refresh_isolation_tester_prepared_statement();
END $$;
-- Plans do not depend on the server's own functions; a changed schema makes every backend look
-- all names of its prepared statements up again.
CREATE OR REPLACE FUNCTION citus_internal.refresh_isolation_tester_prepared_statement()
		RETURNS void
	LANGUAGE plpgsql AS $$
BEGIN
	GRANT USAGE ON SCHEMA citus_internal TO public;
END $$;
REVOKE ALL ON FUNCTION citus_internal.replace_isolation_tester_func(),
	citus_internal.restore_isolation_tester_func(),
	citus_internal.refresh_isolation_tester_prepared_statement() FROM public;

-- Runs SELECT <call> where the backend is; the caller's rights there decide.
CREATE OR REPLACE FUNCTION pando.signal_backend(global_pid bigint, call text) RETURNS boolean
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	node int4 := pg_catalog.citus_nodeid_for_gpid(global_pid);
	answer record;
BEGIN
	IF node NOT IN (SELECT nodeid FROM pando.active_nodes()) THEN
		RAISE EXCEPTION 'no node has the id % of global pid %', node, global_pid
			USING ERRCODE = 'undefined_object';
	END IF;
	SELECT * INTO answer FROM pando.run_commands(ARRAY[node], ARRAY['SELECT ' || call], false, false);
	IF NOT answer.success THEN
		RAISE EXCEPTION '%', regexp_replace(answer.result, '^ERROR: ', '')
			USING ERRCODE = coalesce(answer.sqlstate, 'connection_failure');
	END IF;
	RETURN answer.result::boolean;
END $$;
CREATE OR REPLACE FUNCTION pg_catalog.pg_cancel_backend(global_pid bigint) RETURNS boolean
	LANGUAGE sql VOLATILE STRICT BEGIN ATOMIC
	SELECT CASE WHEN global_pid BETWEEN -2147483648 AND 2147483647
		THEN pg_catalog.pg_cancel_backend(global_pid::int4)
		ELSE pando.signal_backend(global_pid, format('pg_catalog.pg_cancel_backend(%s)',
			pg_catalog.citus_pid_for_gpid(global_pid))) END;
END;
CREATE OR REPLACE FUNCTION pg_catalog.pg_terminate_backend(global_pid bigint,
		timeout bigint DEFAULT 0) RETURNS boolean
	LANGUAGE sql VOLATILE STRICT BEGIN ATOMIC
	SELECT CASE WHEN global_pid BETWEEN -2147483648 AND 2147483647
		THEN pg_catalog.pg_terminate_backend(global_pid::int4, timeout)
		ELSE pando.signal_backend(global_pid, format('pg_catalog.pg_terminate_backend(%s, %s)',
			pg_catalog.citus_pid_for_gpid(global_pid), timeout)) END;
END;

-- Between integer and bigint PostgreSQL can't choose where the type is not known (a parameter, a string), nor for a smallint.
-- double precision is the preferred type among numbers, so these are what is called then; global pids are exact in it.
CREATE OR REPLACE FUNCTION pando.whole_pid(pid double precision) RETURNS bigint
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF pid <> trunc(pid) OR abs(pid) > 9007199254740992 THEN
		RAISE EXCEPTION 'invalid process id: %', pid USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN pid::bigint;
END $$;
CREATE OR REPLACE FUNCTION pg_catalog.pg_cancel_backend(pid double precision) RETURNS boolean
	LANGUAGE sql VOLATILE STRICT BEGIN ATOMIC
	SELECT pg_catalog.pg_cancel_backend(pando.whole_pid(pid));
END;
CREATE OR REPLACE FUNCTION pg_catalog.pg_terminate_backend(pid double precision,
		timeout bigint DEFAULT 0) RETURNS boolean
	LANGUAGE sql VOLATILE STRICT BEGIN ATOMIC
	SELECT pg_catalog.pg_terminate_backend(pando.whole_pid(pid), timeout);
END;
