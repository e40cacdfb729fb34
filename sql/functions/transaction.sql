-- Global pids and the distributed transaction of a backend.

CREATE OR REPLACE FUNCTION pg_catalog.citus_backend_gpid() RETURNS bigint
	LANGUAGE C STRICT STABLE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION pg_catalog.citus_backend_gpid() IS
	'global pid of the client''s backend that this backend works for';

CREATE OR REPLACE FUNCTION pg_catalog.citus_nodeid_for_gpid(global_pid bigint)
	RETURNS integer LANGUAGE C STRICT IMMUTABLE AS 'MODULE_PATHNAME';

CREATE OR REPLACE FUNCTION pg_catalog.citus_pid_for_gpid(global_pid bigint)
	RETURNS integer LANGUAGE C STRICT IMMUTABLE AS 'MODULE_PATHNAME';

CREATE OR REPLACE FUNCTION pg_catalog.get_current_transaction_id(
	OUT database_id oid, OUT process_id integer, OUT initiator_node_identifier integer,
	OUT transaction_number bigint, OUT transaction_stamp timestamp with time zone)
	RETURNS record LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';

CREATE OR REPLACE FUNCTION pg_catalog.recover_prepared_transactions()
	RETURNS integer LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION pg_catalog.recover_prepared_transactions() IS
	'settle prepared transactions that this node began and did not end';
REVOKE ALL ON FUNCTION pg_catalog.recover_prepared_transactions() FROM public;
