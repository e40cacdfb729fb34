-- Commands on other nodes, as other files' functions use them. Functions in SQL have bodies that
-- are parsed when they are made (BEGIN ATOMIC), so that no caller's search_path reaches into them; what
-- they call must exist before.

-- The engine: command i on node i; node id 0 is this server. Each statement is its own
-- transaction, see pando/monitor/README.md.
CREATE OR REPLACE FUNCTION pando.run_commands(nodeids int4[], commands text[], parallel boolean,
		warn boolean, OUT ord int4, OUT success boolean, OUT result text, OUT sqlstate text)
	RETURNS SETOF record LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'run_commands';
CREATE OR REPLACE FUNCTION pando.command_expand(command text, names text[]) RETURNS text
	LANGUAGE c IMMUTABLE PARALLEL SAFE STRICT AS 'MODULE_PATHNAME', 'command_expand';

-- Every active primary; this server, too, before it is among them.
CREATE OR REPLACE FUNCTION pando.active_nodes(OUT nodeid int4, OUT groupid int4, OUT nodename text,
		OUT nodeport int4) RETURNS SETOF record
	LANGUAGE sql STABLE BEGIN ATOMIC
	SELECT n.nodeid, n.groupid, n.nodename, n.nodeport FROM pg_catalog.pg_dist_node n
	WHERE n.isactive AND n.noderole = 'primary'::pg_catalog.noderole
	UNION ALL
	SELECT 0, g.groupid, coalesce(current_setting('citus.local_hostname', true), 'localhost'),
		current_setting('port')::int4
	FROM pg_catalog.pg_dist_local_group g
	WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_dist_node n WHERE n.groupid = g.groupid)
	ORDER BY 2, 1;
END;

CREATE OR REPLACE FUNCTION pg_catalog.citus_nodeid_for_gpid(global_pid bigint)
	RETURNS integer LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';

CREATE OR REPLACE FUNCTION pg_catalog.citus_pid_for_gpid(global_pid bigint)
	RETURNS integer LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
