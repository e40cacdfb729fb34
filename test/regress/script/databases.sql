\set VERBOSITY terse
\pset tuples_only on
\pset format unaligned
SET client_min_messages TO warning;
SET search_path = any_node, public;
CREATE FUNCTION databases() RETURNS text LANGUAGE sql AS $$
	SELECT everywhere('SELECT string_agg(c, ''; '' ORDER BY datname, c COLLATE "C") FROM pg_database, pando.database_commands(datname) c
		WHERE datname ~ ''^any_node''')
$$;
-- Without the setting one is this server's alone.
CREATE DATABASE any_node_here;
SELECT databases() ~ '<>';
DROP DATABASE any_node_here;
CREATE ROLE any_node_role;
SET citus.enable_create_database_propagation = on;
CREATE DATABASE any_node_db TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C' CONNECTION LIMIT 7;
SELECT databases();
RESET citus.enable_create_database_propagation;
ALTER DATABASE any_node_db SET work_mem = '5MB';
ALTER DATABASE any_node_db SET search_path = any_node, public;
ALTER DATABASE any_node_db OWNER TO any_node_role;
ALTER ROLE any_node_role IN DATABASE any_node_db SET work_mem = '6MB';
ALTER ROLE any_node_role IN DATABASE any_node_db SET search_path = any_node, public;
SELECT everywhere('SELECT string_agg(c, ''; '' ORDER BY c COLLATE "C") FROM pando.role_late_commands() c WHERE c ~ ''any_node''');
ALTER ROLE any_node_role IN DATABASE any_node_db RESET ALL;
ALTER DATABASE any_node_db WITH CONNECTION LIMIT 9 ALLOW_CONNECTIONS false;
COMMENT ON DATABASE any_node_db IS 'everywhere';
GRANT TEMP ON DATABASE any_node_db TO any_node_role;
SELECT databases();
BEGIN;
ALTER DATABASE any_node_db RENAME TO any_node_other;
SELECT databases() ~ '<>';
ROLLBACK;
ALTER DATABASE any_node_db RENAME TO any_node_renamed;
ALTER DATABASE any_node_renamed RESET ALL;
SELECT databases();
SET citus.enable_alter_database_owner = off;
ALTER DATABASE any_node_renamed OWNER TO CURRENT_USER;
SELECT databases() ~ '<>';
ALTER DATABASE any_node_renamed OWNER TO any_node_role;
RESET citus.enable_alter_database_owner;
-- What can't be, leaves nothing anywhere.
SET citus.enable_create_database_propagation = on;
CREATE DATABASE any_node_copy TEMPLATE any_node_renamed;
CREATE DATABASE any_node_renamed;
CREATE DATABASE any_node_other TABLESPACE nowhere;
BEGIN;
CREATE DATABASE any_node_other;
ROLLBACK;
SET ROLE any_node_role;
CREATE DATABASE any_node_other;
RESET ROLE;
SELECT everywhere('SELECT string_agg(datname, '' '') FROM pg_database WHERE datname ~ ''^any_node''');
-- A database of that name on one node: it is named, and the others have none.
\c - - - :other
SET citus.enable_ddl_propagation = off;
CREATE DATABASE any_node_other;
\c - - - :here
SET client_min_messages TO error;
SET search_path = any_node, public;
SET citus.enable_create_database_propagation = on;
CREATE DATABASE any_node_other;
SELECT everywhere('SELECT string_agg(datname, '' '' ORDER BY datname) FROM pg_database WHERE datname ~ ''^any_node''');
\c - - - :other
SET citus.enable_ddl_propagation = off;
DROP DATABASE any_node_other;
\c - - - :here
SET client_min_messages TO warning;
SET search_path = any_node, public;
DROP DATABASE any_node_renamed;
SELECT databases();
SELECT everywhere('SELECT count(*) FROM pg_dist_object WHERE classid = ''pg_database''::regclass');
DROP DATABASE any_node_renamed;
DROP DATABASE IF EXISTS any_node_renamed;
-- The database of this session is everywhere.
COMMENT ON DATABASE :DBNAME IS 'here and there';
ALTER DATABASE :DBNAME SET geqo_seed = 0.5;
ALTER DATABASE :DBNAME CONNECTION LIMIT 999;
SELECT everywhere('SELECT concat_ws('' '', shobj_description(d.oid, ''pg_database''), datconnlimit, setconfig) FROM pg_database d
	LEFT JOIN pg_db_role_setting ON setdatabase = d.oid AND setrole = 0 WHERE datname = current_database()');
ALTER DATABASE :DBNAME RESET geqo_seed;
ALTER DATABASE :DBNAME CONNECTION LIMIT -1;
COMMENT ON DATABASE :DBNAME IS NULL;
SELECT everywhere('SELECT concat_ws('' '', shobj_description(d.oid, ''pg_database''), datconnlimit, setconfig) FROM pg_database d
	LEFT JOIN pg_db_role_setting ON setdatabase = d.oid AND setrole = 0 WHERE datname = current_database()');
-- Objects that can't be everywhere are refused, if that is wanted.
CREATE TABLE here (a int);
SET citus.enforce_object_restrictions_for_local_objects = on;
CREATE VIEW v AS SELECT * FROM here;
RESET citus.enforce_object_restrictions_for_local_objects;
SET citus.enable_unsupported_feature_messages = off;
CREATE VIEW v AS SELECT * FROM here;
DROP ROLE any_node_role;
DROP SCHEMA any_node CASCADE;
