-- What version 1.1 adds to the catalogs of 1.0; an install script has it, too, so that both ways end in the same.

-- A time of the cluster's clock: milliseconds since 1970 and a counter. Rows compare as such times do.
CREATE TYPE pando.clock AS (logical bigint, counter integer);

CREATE FUNCTION pando.clock_lt(pando.clock, pando.clock) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE BEGIN ATOMIC SELECT $1::record < $2::record; END;
CREATE FUNCTION pando.clock_le(pando.clock, pando.clock) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE BEGIN ATOMIC SELECT $1::record <= $2::record; END;
CREATE FUNCTION pando.clock_eq(pando.clock, pando.clock) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE BEGIN ATOMIC SELECT $1::record = $2::record; END;
CREATE FUNCTION pando.clock_ne(pando.clock, pando.clock) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE BEGIN ATOMIC SELECT $1::record <> $2::record; END;
CREATE FUNCTION pando.clock_ge(pando.clock, pando.clock) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE BEGIN ATOMIC SELECT $1::record >= $2::record; END;
CREATE FUNCTION pando.clock_gt(pando.clock, pando.clock) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE BEGIN ATOMIC SELECT $1::record > $2::record; END;
CREATE FUNCTION pando.clock_cmp(pando.clock, pando.clock) RETURNS integer
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE BEGIN ATOMIC SELECT btrecordcmp($1, $2); END;
CREATE OPERATOR pg_catalog.< (FUNCTION = pando.clock_lt, LEFTARG = pando.clock,
	RIGHTARG = pando.clock, COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=),
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
CREATE OPERATOR pg_catalog.<= (FUNCTION = pando.clock_le, LEFTARG = pando.clock,
	RIGHTARG = pando.clock, COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>),
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
CREATE OPERATOR pg_catalog.= (FUNCTION = pando.clock_eq, LEFTARG = pando.clock,
	RIGHTARG = pando.clock, COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
	RESTRICT = eqsel, JOIN = eqjoinsel, MERGES);
CREATE OPERATOR pg_catalog.<> (FUNCTION = pando.clock_ne, LEFTARG = pando.clock,
	RIGHTARG = pando.clock, COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
	RESTRICT = neqsel, JOIN = neqjoinsel);
CREATE OPERATOR pg_catalog.>= (FUNCTION = pando.clock_ge, LEFTARG = pando.clock,
	RIGHTARG = pando.clock, COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<),
	RESTRICT = scalargesel, JOIN = scalargejoinsel);
CREATE OPERATOR pg_catalog.> (FUNCTION = pando.clock_gt, LEFTARG = pando.clock,
	RIGHTARG = pando.clock, COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=),
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
CREATE OPERATOR CLASS pg_catalog.clock_ops DEFAULT FOR TYPE pando.clock USING btree AS
	OPERATOR 1 pg_catalog.<, OPERATOR 2 pg_catalog.<=, OPERATOR 3 pg_catalog.=,
	OPERATOR 4 pg_catalog.>=, OPERATOR 5 pg_catalog.>, FUNCTION 1 pando.clock_cmp;
-- A server lets a domain be made in pg_catalog, and no composite type.
CREATE DOMAIN pg_catalog.cluster_clock AS pando.clock;

-- How tables are distributed, in words that another cluster understands: what pg_dump keeps. The metadata of shards and
-- nodes are this cluster's own and no part of a dump any more.
CREATE TABLE pando.distribution (
	relation regclass PRIMARY KEY,
	kind "char" NOT NULL,		-- h: by hash, s: one shard, t: of a distributed schema, r: reference, l: managed local
	distribution_column text,
	colocation integer NOT NULL,
	shard_count integer NOT NULL,
	replication integer NOT NULL,
	apart boolean NOT NULL		-- no table joins the group by default
);
GRANT SELECT ON pando.distribution TO public;
INSERT INTO pando.distribution
	SELECT p.logicalrelid, CASE WHEN p.partmethod = 'h' THEN 'h' WHEN p.repmodel = 't' THEN 'r'
			WHEN p.colocationid = 0 THEN 'l' ELSE 's' END,
		p.partkey, p.colocationid, coalesce(c.shardcount, 1), coalesce(c.replicationfactor, 1),
		EXISTS (SELECT FROM pando.colocation_private a WHERE a.colocationid = p.colocationid)
	FROM pg_catalog.pg_dist_partition p LEFT JOIN pg_catalog.pg_dist_colocation c USING (colocationid);
UPDATE pg_catalog.pg_extension SET extconfig = NULL, extcondition = NULL WHERE extname = 'pando';
SELECT pg_catalog.pg_extension_config_dump('pando.distribution', '');

-- The rows of pg_dist_schema by name, for the same purpose: a schema's OID is this database's own.
CREATE TABLE pando.distributed_schema (colocation int4 PRIMARY KEY, name name NOT NULL);
GRANT SELECT ON pando.distributed_schema TO public;
SELECT pg_catalog.pg_extension_config_dump('pando.distributed_schema', '');

-- A dump has, too, which functions are distributed and what strategies say. Colocation groups have other numbers once they are
-- restored: which table has become of one, and functions that came before it.
SELECT pg_catalog.pg_extension_config_dump('pg_catalog.pg_dist_object', 'WHERE colocationid IS NOT NULL');
SELECT pg_catalog.pg_extension_config_dump('pg_catalog.pg_dist_rebalance_strategy', '');
CREATE TABLE pando.restored_group (colocation int4 PRIMARY KEY, relation regclass NOT NULL);
CREATE TABLE pando.restored_function (function text PRIMARY KEY, argument int4, colocation int4 NOT NULL, force_delegation boolean);
REVOKE ALL ON pando.restored_group, pando.restored_function FROM public;

-- What moves under way have made on this node, for whatever ends them; see cluster/move_part.c.
CREATE TABLE pando.move_part (shardid int8 NOT NULL, relation oid NOT NULL, receives boolean NOT NULL);
REVOKE ALL ON pando.move_part FROM public;

-- Places of rows that changed while their shard is being moved away, and who changed them. A crash ends the move, too.
CREATE UNLOGGED TABLE pando.move_change (relation oid NOT NULL, writer xid8 NOT NULL, place tid NOT NULL);
CREATE INDEX move_change_relation_writer ON pando.move_change (relation, writer);
REVOKE ALL ON pando.move_change FROM public;

-- Background jobs; see background/README.md. What runs is a task's command, with its owner's rights.
CREATE TYPE pg_catalog.citus_job_status AS ENUM ('scheduled', 'running', 'finished', 'cancelling', 'cancelled', 'failing', 'failed');
CREATE TYPE pg_catalog.citus_task_status AS ENUM ('blocked', 'runnable', 'running', 'done', 'cancelling', 'error', 'unscheduled', 'cancelled');
CREATE SEQUENCE citus.pg_dist_background_job_job_id_seq;
CREATE SEQUENCE citus.pg_dist_background_task_task_id_seq;
CREATE TABLE citus.pg_dist_background_job (
	job_id int8 NOT NULL DEFAULT pg_catalog.nextval('citus.pg_dist_background_job_job_id_seq') PRIMARY KEY,
	state pg_catalog.citus_job_status NOT NULL DEFAULT 'scheduled',
	job_type name NOT NULL,
	description text NOT NULL,
	started_at timestamptz,
	finished_at timestamptz
);
CREATE INDEX pg_dist_background_job_state_index ON citus.pg_dist_background_job (state);
CREATE TABLE citus.pg_dist_background_task (
	job_id int8 NOT NULL REFERENCES citus.pg_dist_background_job ON DELETE CASCADE,
	task_id int8 NOT NULL DEFAULT pg_catalog.nextval('citus.pg_dist_background_task_task_id_seq') PRIMARY KEY,
	owner regrole NOT NULL DEFAULT CURRENT_USER::regrole,
	pid int4,
	status pg_catalog.citus_task_status NOT NULL DEFAULT 'runnable',
	command text NOT NULL,
	retry_count int4 NOT NULL DEFAULT 0,
	not_before timestamptz,
	message text,
	nodes_involved int4[],
	UNIQUE (job_id, task_id)
);
CREATE INDEX pg_dist_background_task_status_index ON citus.pg_dist_background_task (status, task_id);
CREATE INDEX pg_dist_background_task_job_index ON citus.pg_dist_background_task (job_id, status);
CREATE TABLE citus.pg_dist_background_task_depend (
	job_id int8 NOT NULL,
	task_id int8 NOT NULL,
	depends_on int8 NOT NULL,
	PRIMARY KEY (job_id, task_id, depends_on),
	FOREIGN KEY (job_id, task_id) REFERENCES citus.pg_dist_background_task (job_id, task_id) ON DELETE CASCADE,
	FOREIGN KEY (job_id, depends_on) REFERENCES citus.pg_dist_background_task (job_id, task_id) ON DELETE CASCADE
);
CREATE INDEX pg_dist_background_task_depend_depends_on_index ON citus.pg_dist_background_task_depend (job_id, depends_on);
GRANT SELECT ON citus.pg_dist_background_job, citus.pg_dist_background_task, citus.pg_dist_background_task_depend TO public;
ALTER SEQUENCE citus.pg_dist_background_job_job_id_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_background_task_task_id_seq SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_background_job SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_background_task SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_background_task_depend SET SCHEMA pg_catalog;

-- Read as of a change that is decoded.
ALTER TABLE pg_catalog.pg_dist_local_group SET (user_catalog_table = true);
ALTER TABLE pg_catalog.pg_dist_partition SET (user_catalog_table = true);
ALTER TABLE pg_catalog.pg_dist_shard SET (user_catalog_table = true);
ALTER TABLE pg_catalog.pg_dist_placement SET (user_catalog_table = true);
ALTER TABLE pando.move_part SET (user_catalog_table = true);

-- It has other arguments now.
DROP FUNCTION IF EXISTS pando.move_record(bigint, regclass[], bigint[], integer[]);

-- On workers the default of a column asked the coordinator; now a statement does, and the sequence has no values there.
DO $$
DECLARE
	found record;
BEGIN
	FOR found IN SELECT a.attrelid::regclass AS rel, a.attname, s.seqrelid::regclass AS seq,
			pg_catalog.pg_get_expr(ad.adbin, ad.adrelid) AS value,
			CASE WHEN s.seqincrement > 0 THEN s.seqmax ELSE s.seqmin END AS last
		FROM pg_catalog.pg_attrdef ad
		JOIN pg_catalog.pg_attribute a ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum
		JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = ad.oid
			AND d.refclassid = 'pg_catalog.pg_class'::regclass
		JOIN pg_catalog.pg_sequence s ON s.seqrelid = d.refobjid
		WHERE pg_catalog.pg_get_expr(ad.adbin, ad.adrelid) ~ '\mpando\.sequence_next\('
	LOOP
		EXECUTE pg_catalog.format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s', found.rel, found.attname,
			pg_catalog.regexp_replace(found.value, '\mpando\.sequence_next\(', 'pg_catalog.nextval(', 'g'));
		PERFORM pg_catalog.setval(found.seq, found.last);
	END LOOP;
END $$;
