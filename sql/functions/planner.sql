-- The planner's own: stands for a fragment's rows in a residual query, never called.

CREATE OR REPLACE FUNCTION pando.fragment_support(internal) RETURNS internal
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'fragment_support';
REVOKE ALL ON FUNCTION pando.fragment_support(internal) FROM public;

CREATE OR REPLACE FUNCTION pando.fragment(number int) RETURNS SETOF record
	LANGUAGE c STABLE STRICT PARALLEL RESTRICTED
	SUPPORT pando.fragment_support
	AS 'MODULE_PATHNAME', 'fragment';
CREATE OR REPLACE FUNCTION pando.fragment(number int, VARIADIC arguments "any") RETURNS SETOF record
	LANGUAGE c STABLE PARALLEL RESTRICTED
	SUPPORT pando.fragment_support
	AS 'MODULE_PATHNAME', 'fragment';

-- Added to an UPDATE ... FROM of a table with several copies: fails where it is called.
CREATE OR REPLACE FUNCTION pando.refuse_several_sources(bigint, text)
	RETURNS boolean LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'refuse_several_sources';

-- Part of ON CONFLICT DO UPDATE through a view: the row that it met is not one of the view's.
CREATE OR REPLACE FUNCTION pando.refuse_hidden_row(view text, "column" "any") RETURNS boolean
	LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'refuse_hidden_row';

-- Part of RETURNING of a write through a view WITH CHECK OPTION: the row isn't one of the view's.
CREATE OR REPLACE FUNCTION pando.refuse_written_row(view text, shown boolean, VARIADIC columns "any") RETURNS boolean
	LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'refuse_written_row';

-- Of a change that is computed by the planner: a policy of the table forbids the row, "new" or "target".
CREATE OR REPLACE FUNCTION pando.refuse_secured_row("row" text, "table" text, policy text, "column" "any") RETURNS boolean
	LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'refuse_secured_row';

-- Of a subquery in SET (a, b) = (SELECT ...) that was joined: it has one row, or it fails.
CREATE OR REPLACE FUNCTION pando.refuse_second_row(number bigint) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'refuse_second_row';

-- Of the changes that a MERGE makes of one row: there is one, or it fails.
CREATE OR REPLACE FUNCTION pando.refuse_second_change(number bigint) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'refuse_second_change';

-- Does a row stay in its shard with that other value of the distribution column?
CREATE OR REPLACE FUNCTION pando.same_shard("table" regclass, before "any", after "any") RETURNS boolean
	LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'same_shard';

-- The hash by which a row with that value of the distribution column is in its shard.
CREATE OR REPLACE FUNCTION pando.key_hash("table" regclass, value "any") RETURNS integer
	LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'key_hash';

-- Where a row of a shard is: what is to be locked travels as this. Called on the shard's node.
CREATE OR REPLACE FUNCTION pando.row_place(tableoid oid, ctid tid, xmin xid) RETURNS text
	LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'row_place';

-- A row of a table as text, the same on all nodes and in all sessions.
CREATE OR REPLACE FUNCTION pando.row_line(row_of_table record) RETURNS text
	LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'row_line_of';

-- The ctid of a shard's row among the rows of all shards of its table, and back to that in its shard.
CREATE OR REPLACE FUNCTION pando.row_ctid(tableoid oid, ctid tid) RETURNS tid
	LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'row_ctid';
-- In RETURNING of a DELETE whose row goes to another shard.
CREATE OR REPLACE FUNCTION pando.row_moved(tableoid oid, ctid tid) RETURNS boolean
	LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME', 'row_moved';
-- In WHERE of a change of a shard: actions of foreign keys for the rows are done elsewhere. When the transaction ends no row may refer to them any more.
CREATE OR REPLACE FUNCTION pando.row_acts_elsewhere(tableoid oid, ctid tid) RETURNS boolean
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'row_acts_elsewhere';
CREATE OR REPLACE FUNCTION pando.action_elsewhere() RETURNS trigger
	LANGUAGE c AS 'MODULE_PATHNAME', 'action_elsewhere';

-- In the same place: keys of the table to itself wait until they are checked, at the latest when the transaction ends.
CREATE OR REPLACE FUNCTION pando.row_keys_wait(tableoid oid, ctid tid) RETURNS boolean
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'row_keys_wait';
CREATE OR REPLACE FUNCTION pando.key_waits() RETURNS trigger
	LANGUAGE c AS 'MODULE_PATHNAME', 'key_waits';
CREATE OR REPLACE FUNCTION pando.check_keys() RETURNS void
	LANGUAGE c AS 'MODULE_PATHNAME', 'check_waiting_keys';
CREATE OR REPLACE FUNCTION pando.shard_ctid(ctid tid, shards int) RETURNS tid
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'shard_ctid';
CREATE OR REPLACE FUNCTION pando.shard_ctid(ctids tid[], shards int) RETURNS tid[]
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS 'SELECT pg_catalog.array_agg(pando.shard_ctid(t, shards)) FROM pg_catalog.unnest(ctids) t';

-- Of the row of a table that a cursor of this session is at: a column, or where it is now, for WHERE CURRENT OF; it locks that row.
CREATE OR REPLACE FUNCTION pando.cursor_row(cursor text, "table" oid, "column" int, lock int, kind anyelement) RETURNS anyelement
	LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'cursor_row';
-- Where the version is, of the row that this transaction had written there, that is seen now. Called on the shard's node.
CREATE OR REPLACE FUNCTION pando.row_version("table" regclass, ctid tid, xmin xid) RETURNS tid
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'row_version';

-- The Oid of the partition that a shard's row is of, on the node that asks: which of them is for its table, by the ids of
-- the tables' first shards.
CREATE OR REPLACE FUNCTION pando.row_tableoid(tableoid oid, tables bigint[], oids oid[]) RETURNS oid
	LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'row_tableoid';

-- How many times the rows that are wanted tasks offer to be locked; see executor/lock_rows.c.
CREATE OR REPLACE FUNCTION pando.lock_reach() RETURNS bigint
	LANGUAGE c STABLE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'lock_reach';

-- In place of TABLESAMPLE where a shard doesn't know the arguments.
CREATE OR REPLACE FUNCTION pando.sampled(percent real, chance double precision) RETURNS boolean
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'sampled';
CREATE OR REPLACE FUNCTION pando.sampled_again(percent real, seed double precision, row_hash bigint) RETURNS boolean
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'sampled_again';
