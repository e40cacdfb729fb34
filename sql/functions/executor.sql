-- Functions of the executor: intermediate results, plans of tasks.

CREATE OR REPLACE FUNCTION pando.read_intermediate_result_support(internal)
RETURNS internal
LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'read_intermediate_result_support';

CREATE OR REPLACE FUNCTION pg_catalog.read_intermediate_result(
	result_id text, format citus_copy_format DEFAULT 'csv')
RETURNS SETOF record
LANGUAGE C STRICT STABLE PARALLEL SAFE
SUPPORT pando.read_intermediate_result_support
AS 'MODULE_PATHNAME', 'read_intermediate_result';
COMMENT ON FUNCTION pg_catalog.read_intermediate_result(text, citus_copy_format)
IS 'rows of an intermediate result of the running transaction';

CREATE OR REPLACE FUNCTION pg_catalog.read_intermediate_results(
	result_ids text[], format citus_copy_format DEFAULT 'csv')
RETURNS SETOF record
LANGUAGE C STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'read_intermediate_results';
COMMENT ON FUNCTION pg_catalog.read_intermediate_results(text[], citus_copy_format)
IS 'rows of several intermediate results of the running transaction';

CREATE OR REPLACE FUNCTION pando.result_append(name text, position_in_file bigint, data bytea)
RETURNS void
LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'result_append';
COMMENT ON FUNCTION pando.result_append(text, bigint, bytea)
IS 'adds a piece to an intermediate result; called by other nodes';

CREATE OR REPLACE FUNCTION pando.plan_with_values(statement text)
RETURNS void
LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'plan_with_values';
COMMENT ON FUNCTION pando.plan_with_values(text)
IS 'has a statement that this session has prepared planned anew for each execution; called by other nodes';

CREATE OR REPLACE FUNCTION pando.last_explain(OUT milliseconds float8, OUT plan text)
LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'last_explain';
COMMENT ON FUNCTION pando.last_explain()
IS 'plan of the last statement that ran under pando.explain_task';

CREATE OR REPLACE FUNCTION pando.exchange_rows_support(internal)
RETURNS internal
LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'exchange_rows_support';

CREATE OR REPLACE FUNCTION pando.exchange_rows(files text)
RETURNS SETOF record
LANGUAGE C STRICT STABLE PARALLEL SAFE
SUPPORT pando.exchange_rows_support
AS 'MODULE_PATHNAME', 'exchange_rows';
COMMENT ON FUNCTION pando.exchange_rows(text)
IS 'rows that an exchange of the running transaction brought to this node';

CREATE OR REPLACE FUNCTION pando.exchange_send(
	query text, name text, binary_values boolean, key integer, keep_nulls boolean,
	limit_kilobytes integer, first_hashes integer[], parts integer[], groups integer[])
RETURNS bigint[]
LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'exchange_send';
COMMENT ON FUNCTION pando.exchange_send(text, text, boolean, integer, boolean, integer,
	integer[], integer[], integer[])
IS 'sends a query''s rows to other nodes by hash; returns rows by part, then bytes';

CREATE OR REPLACE FUNCTION pando.exchange_append(name text, pieces bytea)
RETURNS void
LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'exchange_append';
COMMENT ON FUNCTION pando.exchange_append(text, bytea)
IS 'takes rows of an exchange; called by other nodes';
