-- Shards from shell tables, and schema changes on this node. Internal: nodes call these on
-- each other.

CREATE OR REPLACE FUNCTION pando.shards_create(rel regclass, shardids bigint[],
		stage text DEFAULT 'all') RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'shards_create';
CREATE OR REPLACE FUNCTION pando.shard_group_create(rels regclass[], shardids bigint[],
		stage text) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'shard_group_create';
CREATE OR REPLACE FUNCTION pando.shards_drop(rel regclass, shardids bigint[]) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'shards_drop';
CREATE OR REPLACE FUNCTION pando.index_invalidate(index regclass) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'index_invalidate';
CREATE OR REPLACE FUNCTION pando.sequence_adjust(seq regclass) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'sequence_adjust';
-- nextval(), currval(), lastval() and setval() of sequences whose values may come from the coordinator.
CREATE OR REPLACE FUNCTION pando.sequence_next(seq regclass) RETURNS bigint
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'sequence_next';
CREATE OR REPLACE FUNCTION pando.sequence_own(value bigint) RETURNS bigint
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'sequence_own';
CREATE OR REPLACE FUNCTION pando.sequence_current(seq regclass) RETURNS bigint
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'sequence_current';
CREATE OR REPLACE FUNCTION pando.sequence_last() RETURNS bigint
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'sequence_last';
CREATE OR REPLACE FUNCTION pando.sequence_set(seq regclass, value bigint, is_called boolean) RETURNS bigint
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'sequence_set';

CREATE OR REPLACE FUNCTION pg_catalog.worker_apply_shard_ddl_command(bigint, text) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'worker_apply_shard_ddl_command';
CREATE OR REPLACE FUNCTION pg_catalog.worker_apply_shard_ddl_command(bigint, text, text)
	RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'worker_apply_shard_ddl_command';

CREATE OR REPLACE FUNCTION pando.ddl_apply(command text, names text[], search_path text)
	RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'ddl_apply';
CREATE OR REPLACE FUNCTION pando.lead_lock(relations text[], modes integer[], no_wait boolean)
	RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'lead_lock';
CREATE OR REPLACE FUNCTION pando.default_privileges_keep() RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'default_privileges_keep';
CREATE OR REPLACE FUNCTION pando.lead_lock_objects(names text[], modes integer[]) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'lead_lock_objects';
CREATE OR REPLACE FUNCTION pando.schema_lock(names text[], keep boolean) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'schema_lock';
CREATE OR REPLACE FUNCTION pando.lead_next_id(sequence text) RETURNS bigint
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'lead_next_id';
-- Runs a statement for another node's client, and returns what that node has to tell the others.
CREATE OR REPLACE FUNCTION pando.relay(statement text, path text)
	RETURNS TABLE (groupids text, signed boolean, command text)
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'relay';
CREATE OR REPLACE FUNCTION pando.object_create(probe text, commands text[], changes text[])
	RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'object_create';
CREATE OR REPLACE FUNCTION pando.run_as(owner text, command text) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'run_as';
CREATE OR REPLACE FUNCTION pando.publication_add(command text) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'publication_add';
CREATE OR REPLACE FUNCTION pando.tables_drop(names text) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'tables_drop';
CREATE OR REPLACE FUNCTION pando.object_kinds(OUT number integer, OUT kind text, OUT place text, OUT reason text)
	RETURNS SETOF record
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'object_kinds';
CREATE OR REPLACE FUNCTION pando.matview_fill(rel regclass, rows text[], stage text) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'matview_fill';
CREATE OR REPLACE FUNCTION pando.command_tags() RETURNS SETOF text
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'command_tags';
CREATE OR REPLACE FUNCTION pando.statement_reach(statement text, OUT tag text, OUT leaves boolean) RETURNS record
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'statement_reach';
