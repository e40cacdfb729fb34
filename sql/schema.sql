-- Types, catalogs and sequences: what is created once and lives on through updates.

\echo Use "CREATE EXTENSION pando" to load this file. \quit

CREATE SCHEMA citus;
CREATE SCHEMA citus_internal;
CREATE SCHEMA pando;
GRANT USAGE ON SCHEMA citus, citus_internal, pando TO public;

CREATE TYPE pg_catalog.noderole AS ENUM ('primary', 'secondary', 'unavailable');
CREATE TYPE citus.shard_transfer_mode AS ENUM ('auto', 'force_logical', 'block_writes');
CREATE TYPE citus.distribution_type AS ENUM ('hash', 'range', 'append');
CREATE TYPE pg_catalog.citus_copy_format AS ENUM ('csv', 'binary', 'text');

-- Nodes. nodeid 1 is the first one added; group 0 is the coordinator.
CREATE SEQUENCE citus.pg_dist_groupid_seq MINVALUE 1 MAXVALUE 4294967296;
CREATE SEQUENCE citus.pg_dist_node_nodeid_seq MINVALUE 1 MAXVALUE 4294967296;

CREATE TABLE citus.pg_dist_node (
	nodeid int4 NOT NULL DEFAULT nextval('citus.pg_dist_node_nodeid_seq') PRIMARY KEY,
	groupid int4 NOT NULL DEFAULT nextval('citus.pg_dist_groupid_seq'),
	nodename text NOT NULL,
	nodeport int4 NOT NULL DEFAULT 5432,
	noderack text NOT NULL DEFAULT 'default',
	hasmetadata boolean NOT NULL DEFAULT false,
	isactive boolean NOT NULL DEFAULT true,
	noderole pg_catalog.noderole NOT NULL DEFAULT 'primary',
	nodecluster name NOT NULL DEFAULT 'default',
	metadatasynced boolean NOT NULL DEFAULT false,
	shouldhaveshards boolean NOT NULL DEFAULT true,
	nodeisclone boolean NOT NULL DEFAULT false,
	nodeprimarynodeid int4 NOT NULL DEFAULT 0,
	UNIQUE (nodename, nodeport),
	CHECK (nodecluster <> 'default' OR noderole = 'primary' OR noderole = 'secondary' OR noderole = 'unavailable')
);

CREATE TABLE citus.pg_dist_local_group (groupid int4 NOT NULL PRIMARY KEY);
INSERT INTO citus.pg_dist_local_group VALUES (0);

-- One row: the identity of the cluster, the same on all of its nodes; names it in the
-- identifiers of prepared transactions.
CREATE TABLE citus.pg_dist_node_metadata (metadata jsonb NOT NULL);
INSERT INTO citus.pg_dist_node_metadata
	VALUES (jsonb_build_object('server_id', gen_random_uuid()::text));

-- One row, the same on all nodes: what they sign statements with, for each other.
CREATE TABLE pando.node_secret (secret text NOT NULL);
INSERT INTO pando.node_secret
	VALUES (gen_random_uuid()::text || gen_random_uuid()::text);
REVOKE ALL ON pando.node_secret FROM public;

CREATE TABLE citus.pg_dist_authinfo (
	nodeid int4 NOT NULL, rolename name NOT NULL, authinfo text NOT NULL,
	PRIMARY KEY (rolename, nodeid)
);
REVOKE ALL ON citus.pg_dist_authinfo FROM public;

CREATE TABLE citus.pg_dist_poolinfo (nodeid int4 PRIMARY KEY, poolinfo text NOT NULL);

-- Tables, colocation groups, shards, placements.
CREATE SEQUENCE citus.pg_dist_colocationid_seq MAXVALUE 4294967296;

CREATE TABLE citus.pg_dist_colocation (
	colocationid int4 NOT NULL PRIMARY KEY,
	shardcount int4 NOT NULL,
	replicationfactor int4 NOT NULL,
	distributioncolumntype oid NOT NULL,
	distributioncolumncollation oid NOT NULL
);
CREATE INDEX pg_dist_colocation_configuration_index ON citus.pg_dist_colocation
	(shardcount, replicationfactor, distributioncolumntype, distributioncolumncollation);

-- Groups that no table joins unless it names one of theirs (colocate_with => 'none'). Only the
-- coordinator, where tables are created, has rows.
CREATE TABLE pando.colocation_private (colocationid int4 NOT NULL PRIMARY KEY);
GRANT SELECT ON pando.colocation_private TO public;

-- partkey is the distribution column's name: it is kept when columns of other nodes have
-- other numbers.
CREATE TABLE citus.pg_dist_partition (
	logicalrelid regclass NOT NULL PRIMARY KEY,
	partmethod "char" NOT NULL,
	partkey text,
	colocationid int4 NOT NULL DEFAULT 0,
	repmodel "char" NOT NULL DEFAULT 's',
	autoconverted boolean NOT NULL DEFAULT false
);
CREATE INDEX pg_dist_partition_colocationid_index ON citus.pg_dist_partition (colocationid);

CREATE SEQUENCE citus.pg_dist_shardid_seq MINVALUE 102008 NO CYCLE;

CREATE TABLE citus.pg_dist_shard (
	logicalrelid regclass NOT NULL,
	shardid int8 NOT NULL PRIMARY KEY,
	shardstorage "char" NOT NULL,
	shardminvalue text,
	shardmaxvalue text
);
CREATE INDEX pg_dist_shard_logicalrelid_index ON citus.pg_dist_shard (logicalrelid);

CREATE SEQUENCE citus.pg_dist_placement_placementid_seq NO CYCLE;

CREATE TABLE citus.pg_dist_placement (
	placementid int8 NOT NULL DEFAULT nextval('citus.pg_dist_placement_placementid_seq') PRIMARY KEY,
	shardid int8 NOT NULL,
	shardstate int4 NOT NULL,
	shardlength int8 NOT NULL,
	groupid int4 NOT NULL,
	UNIQUE (shardid, groupid)
);
CREATE INDEX pg_dist_placement_groupid_index ON citus.pg_dist_placement (groupid);

-- Objects other than tables that exist on every node.
CREATE TABLE citus.pg_dist_object (
	classid oid NOT NULL,
	objid oid NOT NULL,
	objsubid int4 NOT NULL,
	type text,
	object_names text[],
	object_args text[],
	distribution_argument_index int4,
	colocationid int4,
	force_delegation boolean,
	PRIMARY KEY (classid, objid, objsubid)
);

CREATE TABLE citus.pg_dist_schema (schemaid oid NOT NULL PRIMARY KEY, colocationid int4 NOT NULL);

-- Two-phase commit: a row is a decision to commit the prepared transaction of that name.
CREATE TABLE citus.pg_dist_transaction (groupid int4 NOT NULL, gid text NOT NULL, outer_xid xid8);

-- Things to drop once nothing uses them (placements that moved away).
CREATE SEQUENCE citus.pg_dist_cleanup_recordid_seq;
CREATE SEQUENCE citus.pg_dist_operationid_seq;

CREATE TABLE citus.pg_dist_cleanup (
	record_id int8 PRIMARY KEY DEFAULT nextval('citus.pg_dist_cleanup_recordid_seq'),
	operation_id int8 NOT NULL,
	object_type int4 NOT NULL,
	object_name text NOT NULL,
	node_group_id int4 NOT NULL,
	policy_type int4 NOT NULL
);

-- How rebalance_table_shards() weighs shards and nodes; sql/functions/move.sql fills it.
CREATE TABLE citus.pg_dist_rebalance_strategy (
	name name NOT NULL PRIMARY KEY,
	default_strategy boolean NOT NULL DEFAULT false,
	shard_cost_function regproc NOT NULL,
	node_capacity_function regproc NOT NULL,
	shard_allowed_on_node_function regproc NOT NULL,
	default_threshold real NOT NULL,
	minimum_threshold real NOT NULL DEFAULT 0,
	improvement_threshold real NOT NULL DEFAULT 0,
	CHECK (default_threshold >= minimum_threshold)
);
CREATE UNIQUE INDEX pg_dist_rebalance_strategy_default ON citus.pg_dist_rebalance_strategy
	(default_strategy) WHERE default_strategy;

GRANT SELECT ON citus.pg_dist_rebalance_strategy TO public;
GRANT SELECT ON citus.pg_dist_node, citus.pg_dist_local_group,
	citus.pg_dist_node_metadata, citus.pg_dist_colocation,
	citus.pg_dist_partition, citus.pg_dist_shard, citus.pg_dist_placement,
	citus.pg_dist_object, citus.pg_dist_schema, citus.pg_dist_transaction,
	citus.pg_dist_cleanup
	TO public;

-- pg_dump keeps the cluster's metadata. Not kept: what is this server's own (its group), or holds
-- plain OIDs that differ after a restore (pg_dist_object, pg_dist_schema).
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['pg_dist_node', 'pg_dist_authinfo', 'pg_dist_poolinfo',
		'pg_dist_colocation', 'pg_dist_partition', 'pg_dist_shard', 'pg_dist_placement',
		'pg_dist_transaction', 'pg_dist_cleanup', 'pg_dist_groupid_seq',
		'pg_dist_node_nodeid_seq', 'pg_dist_colocationid_seq', 'pg_dist_shardid_seq',
		'pg_dist_placement_placementid_seq', 'pg_dist_cleanup_recordid_seq',
		'pg_dist_operationid_seq']
	LOOP
		PERFORM pg_catalog.pg_extension_config_dump(('citus.' || name)::regclass, '');
	END LOOP;
END $$;

-- A server refuses to create relations in pg_catalog but lets them move there.
ALTER SEQUENCE citus.pg_dist_groupid_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_node_nodeid_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_colocationid_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_shardid_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_placement_placementid_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_cleanup_recordid_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_operationid_seq SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_node SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_local_group SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_node_metadata SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_authinfo SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_poolinfo SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_colocation SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_partition SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_shard SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_placement SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_object SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_schema SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_transaction SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_cleanup SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_rebalance_strategy SET SCHEMA pg_catalog;
