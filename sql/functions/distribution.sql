-- Restoring a dump: a row that says how a table was distributed distributes it, in this cluster's way.
--
-- Rows come with COPY or INSERT, after the tables are made and before or after they have rows; keys come later. Tables
-- of one group are put together again; the session remembers which group has become which table's. A partition is
-- distributed with the table it is of. Where metadata are brought to a node the table is there already.
--
-- The rows of both tables may be restored side by side: whoever distributes a schema waits for the other, who holds what
-- chooses colocation groups, before it holds the schema.
CREATE OR REPLACE FUNCTION pando.schema_distribute_again(schema regnamespace) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	LOCK TABLE pg_catalog.pg_dist_colocation IN SHARE ROW EXCLUSIVE MODE;
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_dist_schema d WHERE d.schemaid = schema) THEN
		PERFORM pg_catalog.citus_schema_distribute(schema);
	END IF;
END $$;

-- Functions that are distributed by an argument, or that are where a table is: as soon as the table is.
CREATE OR REPLACE FUNCTION pando.functions_distribute_again() RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	f record;
BEGIN
	FOR f IN DELETE FROM pando.restored_function r USING pando.restored_group g, pg_class c
			WHERE g.colocation = r.colocation AND c.oid = g.relation RETURNING r.*, g.relation LOOP
		PERFORM pg_catalog.create_distributed_function(f.function::regprocedure, '$' || f.argument + 1, f.relation::text,
			f.force_delegation);
	END LOOP;
END $$;

CREATE OR REPLACE FUNCTION pando.function_restore() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found oid;
BEGIN
	BEGIN
		found := (pg_get_object_address(NEW.type, NEW.object_names, NEW.object_args)).objid;
	EXCEPTION WHEN undefined_function OR invalid_schema_name OR undefined_object THEN
		RAISE WARNING '% is not distributed', NEW.object_names USING DETAIL = SQLERRM;
		RETURN NULL;
	END;
	LOCK TABLE pg_catalog.pg_dist_colocation IN SHARE ROW EXCLUSIVE MODE;
	INSERT INTO pando.restored_function VALUES (found::regprocedure, NEW.distribution_argument_index, NEW.colocationid, NEW.force_delegation)
		ON CONFLICT (function) DO UPDATE SET argument = excluded.argument, colocation = excluded.colocation,
			force_delegation = excluded.force_delegation;
	PERFORM pando.functions_distribute_again();
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER function_restore BEFORE INSERT ON pg_catalog.pg_dist_object
	FOR EACH ROW WHEN (NEW.colocationid IS NOT NULL) EXECUTE FUNCTION pando.function_restore();

CREATE OR REPLACE FUNCTION pando.distribution_restore() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	groups jsonb := coalesce(nullif(current_setting('pando.restored_groups', true), ''), '{}')::jsonb;
	colocated text := to_regclass(groups ->> NEW.colocation::text)::text;
	factor text := current_setting('citus.shard_replication_factor');
	nodes int8 := (SELECT count(*) FROM pg_catalog.pg_dist_node WHERE isactive AND shouldhaveshards
		AND noderole = 'primary'::pg_catalog.noderole);
BEGIN
	IF EXISTS (SELECT FROM pando.distribution d WHERE d.relation = NEW.relation) THEN
		RETURN NULL;
	ELSIF EXISTS (SELECT FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = NEW.relation) THEN
		RETURN NEW;
	ELSIF pg_partition_root(NEW.relation) <> NEW.relation THEN
		RETURN NULL;
	ELSIF NEW.kind = 't' THEN
		PERFORM pando.schema_distribute_again(c.relnamespace::regnamespace)
			FROM pg_catalog.pg_class c WHERE c.oid = NEW.relation;
	ELSIF NEW.kind = 'r' THEN
		PERFORM pg_catalog.create_reference_table(NEW.relation);
	ELSIF NEW.kind = 'l' THEN
		PERFORM pg_catalog.citus_add_local_table_to_metadata(NEW.relation);
	ELSE
		PERFORM set_config('citus.shard_replication_factor',
			greatest(least(NEW.replication, nodes), 1)::text, true);
		PERFORM pg_catalog.create_distributed_table(NEW.relation, NEW.distribution_column,
			colocate_with => coalesce(colocated, CASE WHEN NEW.apart THEN 'none' ELSE 'default' END),
			shard_count => CASE WHEN colocated IS NULL AND NEW.kind = 'h' THEN NEW.shard_count END);
		PERFORM set_config('citus.shard_replication_factor', factor, true);
		PERFORM set_config('pando.restored_groups',
			(groups || jsonb_build_object(NEW.colocation, NEW.relation::text))::text, false);
	END IF;
	IF NEW.kind <> 'l' THEN
		INSERT INTO pando.restored_group VALUES (NEW.colocation, NEW.relation)
			ON CONFLICT (colocation) DO UPDATE SET relation = excluded.relation;
		PERFORM pando.functions_distribute_again();
	END IF;
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER distribution_restore BEFORE INSERT ON pando.distribution
	FOR EACH ROW EXECUTE FUNCTION pando.distribution_restore();

-- The same for distributed schemas, empty ones included.
CREATE OR REPLACE FUNCTION pando.schema_restore() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF EXISTS (SELECT FROM pando.distributed_schema d WHERE d.name = NEW.name) THEN
		RETURN NULL;
	ELSIF EXISTS (SELECT FROM pg_catalog.pg_dist_schema d WHERE d.colocationid = NEW.colocation
			AND d.schemaid = to_regnamespace(quote_ident(NEW.name))) THEN
		RETURN NEW;
	END IF;
	PERFORM pando.schema_distribute_again(quote_ident(NEW.name)::regnamespace);
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER schema_restore BEFORE INSERT ON pando.distributed_schema
	FOR EACH ROW EXECUTE FUNCTION pando.schema_restore();

-- PostgreSQL has any_value() itself since version 16: a server that is to become one gives up ours, which views may use.
CREATE OR REPLACE FUNCTION pando.any_value_is_ours() RETURNS boolean
	LANGUAGE sql STABLE BEGIN ATOMIC
	SELECT EXISTS (SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON d.refobjid = e.oid
		WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = to_regprocedure('pg_catalog.any_value(anyelement)')
			AND d.refclassid = 'pg_catalog.pg_extension'::regclass AND e.extname = 'pando');
END;

-- pg_upgrade leaves the rows of tables in pg_catalog behind, and OIDs of functions change: they are put aside before it,
-- and back afterwards, on each node for itself.
CREATE OR REPLACE FUNCTION pando.upgrade_relations() RETURNS SETOF name
	LANGUAGE sql STABLE BEGIN ATOMIC
	SELECT c.relname FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
		JOIN pg_catalog.pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	WHERE e.extname = 'pando' AND c.relkind = 'r' AND c.relnamespace = 'pg_catalog'::regnamespace
		AND c.relname NOT IN ('pg_dist_object', 'pg_dist_schema', 'pg_dist_rebalance_strategy')
	ORDER BY 1;
END;
CREATE OR REPLACE FUNCTION pg_catalog.citus_prepare_pg_upgrade() RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET citus.enable_ddl_propagation = off AS $$
DECLARE
	rel name;
BEGIN
	IF to_regnamespace('pando_upgrade') IS NOT NULL THEN
		DROP SCHEMA pando_upgrade CASCADE;
	END IF;
	CREATE SCHEMA pando_upgrade;
	REVOKE ALL ON SCHEMA pando_upgrade FROM public;
	FOR rel IN SELECT pando.upgrade_relations() LOOP
		EXECUTE format('CREATE TABLE pando_upgrade.%I AS SELECT * FROM pg_catalog.%I', rel, rel);
	END LOOP;
	CREATE TABLE pando_upgrade.object AS
		SELECT a.type, a.object_names, a.object_args, o.distribution_argument_index, o.colocationid, o.force_delegation
		FROM pg_catalog.pg_dist_object o,
			pg_catalog.pg_identify_object_as_address(o.classid, o.objid, o.objsubid) a (type, object_names, object_args);
	CREATE TABLE pando_upgrade.rebalance_strategy AS
		SELECT name, default_strategy, shard_cost_function::regprocedure::text AS cost,
			node_capacity_function::regprocedure::text AS capacity,
			shard_allowed_on_node_function::regprocedure::text AS allowed,
			default_threshold, minimum_threshold, improvement_threshold
		FROM pg_catalog.pg_dist_rebalance_strategy;
	DELETE FROM pg_catalog.pg_dist_rebalance_strategy;
	CREATE TABLE pando_upgrade.sequence AS
		SELECT sequencename, last_value FROM pg_catalog.pg_sequences
		WHERE schemaname = 'pg_catalog' AND sequencename LIKE 'pg\_dist\_%';
	IF pando.any_value_is_ours() THEN
		ALTER EXTENSION pando DROP AGGREGATE pg_catalog.any_value(anyelement);
	END IF;
END $$;
CREATE OR REPLACE FUNCTION pg_catalog.citus_finish_pg_upgrade() RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET citus.enable_ddl_propagation = off AS $$
DECLARE
	rel name;
	position int8;
BEGIN
	IF to_regnamespace('pando_upgrade') IS NULL THEN
		RAISE EXCEPTION 'nothing was put aside' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Run citus_prepare_pg_upgrade() before pg_upgrade.';
	END IF;
	FOR rel IN SELECT pando.upgrade_relations() LOOP
		EXECUTE format('DELETE FROM pg_catalog.%I', rel);
		EXECUTE format('INSERT INTO pg_catalog.%I SELECT * FROM pando_upgrade.%I', rel, rel);
	END LOOP;
	DELETE FROM pg_catalog.pg_dist_object;
	INSERT INTO pg_catalog.pg_dist_object
		SELECT a.classid, a.objid, a.objsubid, o.type, o.object_names, o.object_args
		FROM pando_upgrade.object o,
			pg_catalog.pg_get_object_address(o.type, o.object_names, o.object_args) a;
	UPDATE pg_catalog.pg_dist_object d SET distribution_argument_index = o.distribution_argument_index,
			colocationid = o.colocationid, force_delegation = o.force_delegation
		FROM pando_upgrade.object o WHERE (d.type, d.object_names, d.object_args) = (o.type, o.object_names, o.object_args);
	DELETE FROM pg_catalog.pg_dist_schema;
	INSERT INTO pg_catalog.pg_dist_schema
		SELECT n.oid, d.colocation FROM pando.distributed_schema d JOIN pg_catalog.pg_namespace n ON n.nspname = d.name;
	DELETE FROM pg_catalog.pg_dist_rebalance_strategy;
	INSERT INTO pg_catalog.pg_dist_rebalance_strategy
		SELECT s.name, default_strategy, cost::regprocedure, capacity::regprocedure, allowed::regprocedure,
			default_threshold, minimum_threshold, improvement_threshold
		FROM pando_upgrade.rebalance_strategy s;
	FOR rel, position IN SELECT sequencename, last_value FROM pando_upgrade.sequence LOOP
		IF position IS NOT NULL THEN
			PERFORM setval(format('pg_catalog.%I', rel)::regclass, position);
		END IF;
	END LOOP;
	IF current_setting('server_version_num')::int < 160000 AND NOT pando.any_value_is_ours() THEN
		PERFORM pando.any_value_give();
		ALTER EXTENSION pando ADD AGGREGATE pg_catalog.any_value(anyelement);
	END IF;
	PERFORM pando.nodes_changed(), pando.metadata_changed();
	DROP SCHEMA pando_upgrade CASCADE;
END $$;
REVOKE ALL ON FUNCTION pg_catalog.citus_prepare_pg_upgrade(), pg_catalog.citus_finish_pg_upgrade() FROM public;
