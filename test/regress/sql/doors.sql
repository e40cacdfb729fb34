-- What an ordinary role finds when it tries to get in: names of its own in the way of those that the
-- extension's functions mean.
SET client_min_messages TO warning;
CREATE ROLE doors_guest LOGIN;
CREATE SCHEMA doors AUTHORIZATION doors_guest;
SET SESSION AUTHORIZATION doors_guest;
SET search_path TO doors;

-- A temporary view in the place of one that a SECURITY DEFINER function reads.
CREATE FUNCTION doors.seize(real_pid int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	BEGIN
		EXECUTE 'ALTER ROLE doors_guest SUPERUSER';
	EXCEPTION WHEN insufficient_privilege THEN
		NULL;
	END;
	RETURN real_pid;
END $$;
CREATE TEMP VIEW pg_stat_activity AS SELECT datid, datname, doors.seize(pid) AS pid, leader_pid,
	usesysid, usename, application_name, xact_start FROM pg_catalog.pg_stat_activity;
CREATE TEMP VIEW pg_locks AS SELECT doors.seize(pid) AS pid, locktype, database, relation, page, tuple,
	virtualxid, transactionid, classid, objid, objsubid, virtualtransaction, granted, waitstart
	FROM pg_catalog.pg_locks;
CREATE TEMP VIEW pg_prepared_xacts AS SELECT transaction, gid, doors.seize(1)::text AS seized
	FROM pg_catalog.pg_prepared_xacts;
SELECT pando.transaction_start(pg_backend_pid()) IS NOT NULL AS started;
SELECT count(*) FROM pando.wait_edges() WHERE waiting_pid = pg_backend_pid();
RESET SESSION AUTHORIZATION;
SELECT rolsuper FROM pg_roles WHERE rolname = 'doors_guest';

-- All functions of the extension that set a search_path name pg_temp, last; no function runs with its
-- owner's rights without one.
SELECT p.oid::regprocedure, p.proconfig
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'pando' AND (p.prosecdef OR EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c LIKE 'search_path=%'))
	AND (p.proconfig IS NULL OR 'search_path=pg_catalog, pg_temp' <> ALL (p.proconfig));

DROP OWNED BY doors_guest;
DROP ROLE doors_guest;
