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

-- The gate of multi-node commits; see gate.c. Only nodes close it, for whoever wants a snapshot of
-- the cluster, and not for longer than its lease.
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

-- The same, of a backend of that role; a name is believed only if the session has proved it.
CREATE OR REPLACE FUNCTION pando.proven_gpid(pid integer, application_name text, role oid)
	RETURNS bigint LANGUAGE C VOLATILE AS 'MODULE_PATHNAME';
REVOKE ALL ON FUNCTION pando.proven_gpid(integer, text, oid) FROM public;

CREATE OR REPLACE FUNCTION pando.anyone_waits() RETURNS boolean
	LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';

-- Global pid of the client's backend that prepared a transaction; NULL for names of others.
CREATE OR REPLACE FUNCTION pando.gid_gpid(gid text) RETURNS bigint
	LANGUAGE sql STABLE BEGIN ATOMIC
	SELECT n.nodeid * 10000000000 + split_part(gid, '_', 4)::bigint
	FROM pg_catalog.pg_dist_node n
	WHERE gid ~ '^pando_[^_]+_\d{1,9}_\d{1,9}_\d+_\d+$' AND n.noderole = 'primary'::pg_catalog.noderole
		AND n.groupid = split_part(gid, '_', 3)::int4;
END;

-- A parallel worker waits for, and blocks, on behalf of its leader. pg_blocking_pids() knows of
-- those who hold a lock and of those who are ahead in the queue; 0 stands for prepared transactions.
CREATE OR REPLACE FUNCTION pando.wait_edges(
	OUT waiting_gpid bigint, OUT blocking_gpid bigint, OUT waiting_pid integer,
	OUT blocking_pid integer, OUT wait_start bigint)
	RETURNS SETOF record LANGUAGE plpgsql VOLATILE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	IF NOT pando.anyone_waits() THEN
		RETURN;
	END IF;
	PERFORM pg_catalog.pg_stat_clear_snapshot();
	RETURN QUERY
	WITH locks AS MATERIALIZED (
		SELECT * FROM pg_catalog.pg_locks
	), backends AS MATERIALIZED (
		SELECT pid, coalesce(leader_pid, pid) AS leader, application_name AS name, usesysid AS role
		FROM pg_catalog.pg_stat_activity
	), waits AS MATERIALIZED (
		SELECT DISTINCT ON (pid) *, (extract(epoch FROM waitstart) * 1000000)::bigint AS since
		FROM locks WHERE NOT granted AND pid IS NOT NULL ORDER BY pid, waitstart DESC
	), blockers AS MATERIALIZED (
		SELECT w.pid, w.since, b.pid AS blocker
		FROM waits w, pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.pid)) AS b(pid)
	)
	SELECT pando.proven_gpid(w.leader, w.name, w.role), pando.proven_gpid(b.leader, b.name, b.role), w.leader, b.leader, e.since
	FROM blockers e JOIN backends w ON w.pid = e.pid JOIN backends b ON b.pid = e.blocker
	UNION ALL
	SELECT pando.proven_gpid(w.leader, w.name, w.role), pando.gid_gpid(p.gid), w.leader, 0, e.since
	FROM waits e JOIN backends w ON w.pid = e.pid
		JOIN locks h ON h.pid IS NULL AND h.granted AND h.locktype = e.locktype
			AND (h.database, h.relation, h.page, h.tuple, h.virtualxid, h.transactionid, h.classid,
				h.objid, h.objsubid) IS NOT DISTINCT FROM (e.database, e.relation, e.page, e.tuple,
				e.virtualxid, e.transactionid, e.classid, e.objid, e.objsubid)
		JOIN locks x ON x.pid IS NULL AND x.granted AND x.locktype = 'transactionid'
			AND x.virtualtransaction = h.virtualtransaction
		JOIN pg_catalog.pg_prepared_xacts p ON p.transaction = x.transactionid
	WHERE EXISTS (SELECT FROM blockers b WHERE b.pid = e.pid AND b.blocker = 0)
		AND pando.gid_gpid(p.gid) IS NOT NULL;
END $$;
COMMENT ON FUNCTION pando.wait_edges() IS
	'which backends of this server wait for which, by global pid';

CREATE OR REPLACE FUNCTION pando.transaction_start(pid integer) RETURNS bigint
	LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	SELECT (extract(epoch FROM a.xact_start) * 1000000)::bigint
	FROM pg_catalog.pg_stat_activity a WHERE a.pid = $1
$$;

-- What a server says when it may be read in its primary's place: is it a replica, its group, a hash of the group's
-- placements, by how many milliseconds it lags at most (-1: unknown), its cluster. A replica that has
-- all that it was sent lags by the age of the last message.
CREATE OR REPLACE FUNCTION pando.replica_state() RETURNS text
	LANGUAGE sql VOLATILE STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	SELECT pg_catalog.concat_ws(' ', pg_catalog.pg_is_in_recovery(), g.groupid,
		coalesce((SELECT pg_catalog.bit_xor(pg_catalog.hashint8extended(p.placementid, 0))
			FROM pg_catalog.pg_dist_placement p WHERE p.groupid = g.groupid), 0),
		coalesce(greatest(0, (extract(epoch FROM pg_catalog.clock_timestamp() - greatest(
			pg_catalog.pg_last_xact_replay_timestamp(),
			(SELECT r.last_msg_receipt_time FROM pg_catalog.pg_stat_get_wal_receiver() r
				WHERE r.status = 'streaming' AND r.latest_end_lsn <= pg_catalog.pg_last_wal_replay_lsn())))
			* 1000)::bigint), -1),
		m.metadata ->> 'server_id')
	FROM pg_catalog.pg_dist_local_group g, pg_catalog.pg_dist_node_metadata m
$$;

CREATE OR REPLACE FUNCTION pando.deadlock_cancel(pid integer, detail text)
	RETURNS boolean LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';
REVOKE ALL ON FUNCTION pando.deadlock_cancel(integer, text) FROM public;

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
