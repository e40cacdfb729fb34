-- Global pids and the distributed transaction of a backend.

CREATE OR REPLACE FUNCTION pg_catalog.citus_backend_gpid() RETURNS bigint
	LANGUAGE C STRICT STABLE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION pg_catalog.citus_backend_gpid() IS
	'global pid of the client''s backend that this backend works for';

CREATE OR REPLACE FUNCTION pg_catalog.get_current_transaction_id(
	OUT database_id oid, OUT process_id integer, OUT initiator_node_identifier integer,
	OUT transaction_number bigint, OUT transaction_stamp timestamp with time zone)
	RETURNS record LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';

CREATE OR REPLACE FUNCTION pg_catalog.recover_prepared_transactions()
	RETURNS integer LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION pg_catalog.recover_prepared_transactions() IS
	'settle prepared transactions that this node began and did not end';
REVOKE ALL ON FUNCTION pg_catalog.recover_prepared_transactions() FROM public;

CREATE OR REPLACE FUNCTION pando.transaction_outcome(gid text)
	RETURNS text LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION pando.transaction_outcome(text) IS
	'running, committed or aborted: a transaction that this node began';
REVOKE ALL ON FUNCTION pando.transaction_outcome(text) FROM public;

-- The gate of multi-node commits; see gate.c. Everybody may close it, as everybody may want a
-- snapshot of the cluster; not for longer than its lease.
CREATE OR REPLACE FUNCTION pando.gate_close(lease_ms integer)
	RETURNS void LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';
CREATE OR REPLACE FUNCTION pando.gate_check()
	RETURNS boolean LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';
CREATE OR REPLACE FUNCTION pando.gate_open()
	RETURNS boolean LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';

CREATE OR REPLACE FUNCTION pg_catalog.citus_create_restore_point(text)
	RETURNS pg_lsn LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION pg_catalog.citus_create_restore_point(text) IS
	'a named point in the WAL of all nodes, before or after each multi-node commit';
REVOKE ALL ON FUNCTION pg_catalog.citus_create_restore_point(text) FROM public;

-- Who waits for whom, over all nodes.

CREATE OR REPLACE FUNCTION pando.backend_gpid(pid integer, application_name text)
	RETURNS bigint LANGUAGE C STABLE AS 'MODULE_PATHNAME';

CREATE OR REPLACE FUNCTION pando.wait_edges(
	OUT waiting_gpid bigint, OUT blocking_gpid bigint, OUT waiting_pid integer,
	OUT blocking_pid integer, OUT wait_start timestamp with time zone,
	OUT xact_start timestamp with time zone)
	RETURNS SETOF record LANGUAGE sql VOLATILE SECURITY DEFINER
	SET search_path = pg_catalog AS $$
	WITH waits AS MATERIALIZED (
		SELECT pid, max(waitstart) AS wait_start
		FROM pg_locks WHERE NOT granted AND pid IS NOT NULL GROUP BY pid
	), edges AS MATERIALIZED (
		SELECT w.pid, w.wait_start, b.pid AS blocker
		FROM waits w, unnest(pg_blocking_pids(w.pid)) AS b(pid) WHERE b.pid <> 0
	)
	SELECT pando.backend_gpid(e.pid, w.application_name),
		pando.backend_gpid(e.blocker, b.application_name),
		e.pid, e.blocker, e.wait_start, w.xact_start
	FROM edges e
		JOIN pg_stat_activity w ON w.pid = e.pid
		LEFT JOIN pg_stat_activity b ON b.pid = e.blocker
$$;
COMMENT ON FUNCTION pando.wait_edges() IS
	'which backends of this server wait for which, by global pid';

CREATE OR REPLACE FUNCTION pando.deadlock_cancel(pid integer)
	RETURNS boolean LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';
REVOKE ALL ON FUNCTION pando.deadlock_cancel(integer) FROM public;

CREATE OR REPLACE FUNCTION pg_catalog.check_distributed_deadlocks()
	RETURNS boolean LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION pg_catalog.check_distributed_deadlocks() IS
	'look for a deadlock between nodes and end it; true if there was one';
REVOKE ALL ON FUNCTION pg_catalog.check_distributed_deadlocks() FROM public;

-- What this backend wants to be signed in statements that use tables with others' rights.
CREATE OR REPLACE FUNCTION pando.session_challenge() RETURNS text
	LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';

-- Makes this backend act as another role until the transaction ends; a node must have signed it.
CREATE OR REPLACE PROCEDURE pando.act_as(role text, number bigint, signature text)
	LANGUAGE C AS 'MODULE_PATHNAME';
