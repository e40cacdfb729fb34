-- Moving and copying shards, and the rebalancer.

CREATE OR REPLACE FUNCTION pg_catalog.citus_move_shard_placement(shard_id bigint,
		source_node_name text, source_node_port integer, target_node_name text,
		target_node_port integer,
		shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto') RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_move_shard_placement';
CREATE OR REPLACE FUNCTION pg_catalog.citus_move_shard_placement(shard_id bigint,
		source_node_id integer, target_node_id integer,
		transfer_mode citus.shard_transfer_mode DEFAULT 'auto') RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_move_shard_placement_by_id';
CREATE OR REPLACE FUNCTION pg_catalog.citus_copy_shard_placement(shard_id bigint,
		source_node_name text, source_node_port integer, target_node_name text,
		target_node_port integer,
		transfer_mode citus.shard_transfer_mode DEFAULT 'auto') RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_copy_shard_placement';
CREATE OR REPLACE FUNCTION pg_catalog.citus_copy_shard_placement(shard_id bigint,
		source_node_id integer, target_node_id integer,
		transfer_mode citus.shard_transfer_mode DEFAULT 'auto') RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_copy_shard_placement_by_id';

CREATE OR REPLACE FUNCTION pg_catalog.master_move_shard_placement(shard_id bigint,
		source_node_name text, source_node_port integer, target_node_name text,
		target_node_port integer,
		shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto') RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_move_shard_placement';
CREATE OR REPLACE FUNCTION pg_catalog.master_copy_shard_placement(shard_id bigint,
		source_node_name text, source_node_port integer, target_node_name text,
		target_node_port integer,
		transfer_mode citus.shard_transfer_mode DEFAULT 'auto') RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_copy_shard_placement';

CREATE OR REPLACE FUNCTION pg_catalog.citus_split_shard_by_split_points(shard_id bigint,
		split_points text[], node_ids integer[],
		shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto') RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_split_shard_by_split_points';
CREATE OR REPLACE FUNCTION pg_catalog.isolate_tenant_to_new_shard(table_name regclass,
		tenant_id "any", cascade_option text DEFAULT '',
		shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto') RETURNS bigint
	LANGUAGE c AS 'MODULE_PATHNAME', 'isolate_tenant_to_new_shard';

-- Costs, capacities and permissions of the strategies that come along.

CREATE OR REPLACE FUNCTION pg_catalog.citus_shard_cost_1(bigint) RETURNS real
	LANGUAGE c IMMUTABLE PARALLEL SAFE STRICT AS 'MODULE_PATHNAME', 'citus_shard_cost_1';
CREATE OR REPLACE FUNCTION pg_catalog.citus_shard_cost_by_disk_size(bigint) RETURNS real
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_shard_cost_by_disk_size';
CREATE OR REPLACE FUNCTION pg_catalog.citus_node_capacity_1(integer) RETURNS real
	LANGUAGE c IMMUTABLE PARALLEL SAFE STRICT AS 'MODULE_PATHNAME', 'citus_node_capacity_1';
CREATE OR REPLACE FUNCTION pg_catalog.citus_shard_allowed_on_node_true(bigint, integer)
	RETURNS boolean
	LANGUAGE c IMMUTABLE PARALLEL SAFE STRICT AS 'MODULE_PATHNAME', 'citus_shard_allowed_on_node_true';

CREATE OR REPLACE FUNCTION pg_catalog.citus_validate_rebalance_strategy_functions(
		shard_cost_function regproc, node_capacity_function regproc,
		shard_allowed_on_node_function regproc) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_validate_rebalance_strategy_functions';

CREATE OR REPLACE FUNCTION pando.rebalance_strategy_check() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM pg_catalog.citus_validate_rebalance_strategy_functions(NEW.shard_cost_function,
		NEW.node_capacity_function, NEW.shard_allowed_on_node_function);
	RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER rebalance_strategy_check
	BEFORE INSERT OR UPDATE ON pg_catalog.pg_dist_rebalance_strategy
	FOR EACH ROW EXECUTE FUNCTION pando.rebalance_strategy_check();

INSERT INTO pg_catalog.pg_dist_rebalance_strategy
	SELECT v.* FROM (VALUES
		('by_shard_count'::name, true, 'pg_catalog.citus_shard_cost_1'::regproc,
			'pg_catalog.citus_node_capacity_1'::regproc, 'pg_catalog.citus_shard_allowed_on_node_true'::regproc, 0, 0, 0),
		('by_disk_size', false, 'pg_catalog.citus_shard_cost_by_disk_size',
			'pg_catalog.citus_node_capacity_1', 'pg_catalog.citus_shard_allowed_on_node_true', 0.1, 0.01, 0.5)) v
	WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_dist_rebalance_strategy s WHERE s.name = v.column1);

-- Restoring a dump: the server's own strategies are there already, and one of all is the default.
CREATE OR REPLACE FUNCTION pando.rebalance_strategy_restore() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	UPDATE pg_catalog.pg_dist_rebalance_strategy SET default_strategy = false
		WHERE NEW.default_strategy AND default_strategy AND name <> NEW.name;
	UPDATE pg_catalog.pg_dist_rebalance_strategy SET default_strategy = NEW.default_strategy,
			default_threshold = NEW.default_threshold, minimum_threshold = NEW.minimum_threshold,
			improvement_threshold = NEW.improvement_threshold
		WHERE name = NEW.name AND name IN ('by_shard_count', 'by_disk_size');
	IF FOUND THEN
		RETURN NULL;
	END IF;
	RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER rebalance_strategy_restore BEFORE INSERT ON pg_catalog.pg_dist_rebalance_strategy
	FOR EACH ROW EXECUTE FUNCTION pando.rebalance_strategy_restore();

CREATE OR REPLACE FUNCTION pg_catalog.citus_add_rebalance_strategy(name name,
		shard_cost_function regproc, node_capacity_function regproc,
		shard_allowed_on_node_function regproc, default_threshold real,
		minimum_threshold real DEFAULT 0, improvement_threshold real DEFAULT 0) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM pando.require_coordinator();
	IF EXISTS (SELECT FROM pg_catalog.pg_dist_rebalance_strategy s WHERE s.name = $1) THEN
		RAISE EXCEPTION 'strategy "%" exists already', $1 USING ERRCODE = 'unique_violation';
	END IF;
	INSERT INTO pg_catalog.pg_dist_rebalance_strategy (name, shard_cost_function,
		node_capacity_function, shard_allowed_on_node_function, default_threshold,
		minimum_threshold, improvement_threshold)
	VALUES ($1, $2, $3, $4, $5, $6, $7);
END $$;

CREATE OR REPLACE FUNCTION pg_catalog.citus_set_default_rebalance_strategy(name text)
	RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM pando.require_coordinator();
	LOCK TABLE pg_catalog.pg_dist_rebalance_strategy IN SHARE ROW EXCLUSIVE MODE;
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_dist_rebalance_strategy s WHERE s.name = $1) THEN
		RAISE EXCEPTION 'strategy with specified name does not exist'
			USING ERRCODE = 'undefined_object';
	END IF;
	UPDATE pg_catalog.pg_dist_rebalance_strategy s SET default_strategy = false
		WHERE s.default_strategy AND s.name <> $1;
	UPDATE pg_catalog.pg_dist_rebalance_strategy s SET default_strategy = true
		WHERE s.name = $1;
END $$;

-- The rebalancer.

CREATE OR REPLACE FUNCTION pg_catalog.rebalance_table_shards(relation regclass DEFAULT NULL,
		threshold real DEFAULT NULL, max_shard_moves integer DEFAULT 1000000,
		excluded_shard_list bigint[] DEFAULT '{}',
		shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto',
		drain_only boolean DEFAULT false, rebalance_strategy name DEFAULT NULL) RETURNS void
	LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'rebalance_table_shards';

CREATE OR REPLACE FUNCTION pg_catalog.get_rebalance_table_shards_plan(
		relation regclass DEFAULT NULL, threshold real DEFAULT NULL,
		max_shard_moves integer DEFAULT 1000000, excluded_shard_list bigint[] DEFAULT '{}',
		drain_only boolean DEFAULT false, rebalance_strategy name DEFAULT NULL,
		improvement_threshold real DEFAULT NULL)
	RETURNS TABLE (table_name regclass, shardid bigint, shard_size bigint, sourcename text,
		sourceport integer, targetname text, targetport integer)
	LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'get_rebalance_table_shards_plan';

-- Bytes of tables and their indexes, with commas between; 0 if there is none; - if it is locked, as in the switch of a move, or may not be
-- looked at.
CREATE OR REPLACE FUNCTION pando.sizes_unless_locked(names text[]) RETURNS text
	LANGUAGE plpgsql STRICT SET search_path = pg_catalog, pg_temp SET lock_timeout = '10ms' AS $$
DECLARE
	sizes text[];
	name text;
BEGIN
	FOREACH name IN ARRAY names LOOP
		BEGIN
			sizes := sizes || coalesce(pg_catalog.pg_total_relation_size(pg_catalog.to_regclass(name)), 0)::text;
		EXCEPTION WHEN lock_not_available OR insufficient_privilege THEN
			sizes := sizes || '-'::text;
		END;
	END LOOP;
	RETURN pg_catalog.array_to_string(sizes, ',');
END $$;

CREATE OR REPLACE FUNCTION pg_catalog.get_rebalance_progress()
	RETURNS TABLE (sessionid integer, table_name regclass, shardid bigint, shard_size bigint,
		sourcename text, sourceport integer, targetname text, targetport integer,
		progress bigint, source_shard_size bigint, target_shard_size bigint,
		operation_type text, source_lsn pg_lsn, target_lsn pg_lsn, status text)
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'get_rebalance_progress';
CREATE OR REPLACE FUNCTION pando.move_progress()
	RETURNS TABLE (sessionid integer, shardid bigint, rows_copied bigint, bytes_copied bigint,
		bytes_per_second bigint, started_at timestamptz)
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'move_progress';

CREATE OR REPLACE FUNCTION pg_catalog.replicate_table_shards(relation regclass,
		shard_replication_factor integer
			DEFAULT current_setting('citus.shard_replication_factor')::integer,
		max_shard_copies integer DEFAULT 1000000, excluded_shard_list bigint[] DEFAULT '{}',
		shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto') RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'replicate_table_shards';

CREATE OR REPLACE FUNCTION pg_catalog.replicate_reference_tables(
		shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto') RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'replicate_reference_tables';

CREATE OR REPLACE FUNCTION pg_catalog.citus_drain_node(nodename text, nodeport integer,
		shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto',
		rebalance_strategy name DEFAULT NULL) RETURNS void
	LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'citus_drain_node';
CREATE OR REPLACE FUNCTION pg_catalog.master_drain_node(nodename text, nodeport integer,
		shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto',
		rebalance_strategy name DEFAULT NULL) RETURNS void
	LANGUAGE sql
	BEGIN ATOMIC SELECT pg_catalog.citus_drain_node($1, $2, $3, $4); END;

CREATE OR REPLACE PROCEDURE pg_catalog.citus_cleanup_orphaned_resources()
	LANGUAGE c AS 'MODULE_PATHNAME', 'citus_cleanup_orphaned_resources';
REVOKE ALL ON PROCEDURE pg_catalog.citus_cleanup_orphaned_resources() FROM public;

-- A write goes on without copies that can't be reached. Nodes tell each other, and nobody else may.
CREATE OR REPLACE FUNCTION pando.copies_lost(shardids bigint[], groupids int4[],
		unreached int4[]) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'copies_lost';

-- Moves: what the nodes are asked to do.

CREATE OR REPLACE FUNCTION pando.move_create(rels regclass[], shardids bigint[]) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'move_create';
CREATE OR REPLACE FUNCTION pando.move_capture(rel regclass, shardid bigint) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'move_capture';
CREATE OR REPLACE FUNCTION pando.move_changes(rel regclass, shardid bigint, since pg_snapshot)
	RETURNS text
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'move_changes';
CREATE OR REPLACE FUNCTION pando.move_receive(rel regclass, shardid bigint, placed boolean)
	RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'move_receive';
-- Where rows went, by the block that they came from.
CREATE OR REPLACE FUNCTION pando.move_block(place tid) RETURNS bigint
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'move_block';
CREATE OR REPLACE FUNCTION pando.move_place(rows bytea, place tid) RETURNS tid
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'move_place';
-- What a table that is being distributed needs on other nodes.
CREATE OR REPLACE FUNCTION pando.table_dependencies_create(rel regclass) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'table_dependencies_create';
CREATE OR REPLACE FUNCTION pando.move_end(shardids bigint[]) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'move_end';
CREATE OR REPLACE FUNCTION pando.move_undo(shardids bigint[]) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'move_undo';
CREATE OR REPLACE FUNCTION pando.move_record(operation bigint, names text[], groupids integer[]) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'move_record';
CREATE OR REPLACE FUNCTION pando.move_operation(operation bigint, begins boolean) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'move_operation';
CREATE OR REPLACE FUNCTION pando.move_left(shardids bigint[]) RETURNS boolean
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'move_left';
CREATE OR REPLACE FUNCTION pando.move_note() RETURNS trigger
	LANGUAGE c AS 'MODULE_PATHNAME', 'move_note';
CREATE OR REPLACE FUNCTION pando.move_row() RETURNS trigger
	LANGUAGE c AS 'MODULE_PATHNAME', 'move_row';
REVOKE ALL ON FUNCTION pando.move_undo(bigint[]), pando.move_note(), pando.move_row() FROM public;
