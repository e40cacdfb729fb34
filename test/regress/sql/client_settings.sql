-- Whatever a client sets that changes a result changes it on the nodes, too: at once, also when
-- it was SET LOCAL or set by a function, and no longer when it was given back or rolled back.
SET client_min_messages = warning;
CREATE SCHEMA client_settings;
SET search_path = client_settings, public;
SET citus.next_shard_id = 790000;
SET citus.shard_count = 4;
CREATE TABLE plain (k int PRIMARY KEY, at timestamptz, d date, i interval, f float8, f4 real, b bytea, t text, m numeric, n text[], x text);
CREATE TABLE dist (LIKE plain INCLUDING ALL);
INSERT INTO plain SELECT g, timestamptz '2024-03-10 12:34:56.789+00' + g * interval '5 days', date '2024-02-03' + g, make_interval(months => g, days => -g, secs => g * 1.5), g / 3.0, g / 7.0, decode('00ff5c' || lpad(to_hex(g), 2, '0'), 'hex'), 'Running dogs ' || g, 1234.5 * g, ARRAY['null', g::text], '04/05/2024 06:07'
	FROM generate_series(1, 8) g;
SELECT create_distributed_table('dist', 'k');
INSERT INTO dist SELECT * FROM plain;

-- Evaluates an expression of columns on the shards, and on the plain table.
CREATE FUNCTION public.on_nodes(expression text) RETURNS TABLE (value text, same boolean) LANGUAGE plpgsql AS $$
DECLARE every text; each text; plainly text;
BEGIN
	EXECUTE format('SELECT string_agg(s, '' '' ORDER BY k) FROM (SELECT k, (%s)::text AS s FROM client_settings.plain) t', expression) INTO plainly;
	EXECUTE format('SELECT string_agg(s, '' '' ORDER BY k) FROM (SELECT k, (%s)::text AS s FROM client_settings.dist) t', expression) INTO every;
	FOR n IN 1 .. 8 LOOP
		EXECUTE format('SELECT (%s)::text FROM client_settings.dist WHERE k = %s', expression, n) INTO value;
		each := concat_ws(' ', each, value);
	END LOOP;
	EXECUTE format('SELECT (%s)::text FROM client_settings.dist WHERE k = 1', expression) INTO value;
	same := every = plainly AND each = plainly;
	RETURN NEXT;
END $$;

-- One setting after the other: another value, and back.
SELECT * FROM on_nodes('at::text');
SET TimeZone = 'Asia/Kolkata';
SELECT * FROM on_nodes('at::text');
SELECT * FROM on_nodes('date_trunc(''day'', at)');
SELECT * FROM on_nodes('x::timestamptz');
RESET TimeZone;
SELECT * FROM on_nodes('at::text');
SET DateStyle = 'German, DMY';
SELECT * FROM on_nodes('d::text || at::text');
SELECT * FROM on_nodes('x::timestamp');
SET DateStyle = 'SQL, MDY';
SELECT * FROM on_nodes('d::text || x::timestamp');
RESET DateStyle;
SET IntervalStyle = 'iso_8601';
SELECT * FROM on_nodes('i::text');
RESET IntervalStyle;
SELECT * FROM on_nodes('i::text');
SET bytea_output = 'escape';
SELECT * FROM on_nodes('b::text');
RESET bytea_output;
SELECT * FROM on_nodes('b::text');
SET extra_float_digits = -3;
SELECT * FROM on_nodes('f::text || '' '' || f4::text');
RESET extra_float_digits;
SELECT * FROM on_nodes('f::text || '' '' || f4::text');
SET lc_monetary = 'C';
SELECT * FROM on_nodes('m::money');
RESET lc_monetary;
SET default_text_search_config = 'pg_catalog.english';
SELECT * FROM on_nodes('to_tsvector(t)');
SET default_text_search_config = 'pg_catalog.simple';
SELECT * FROM on_nodes('to_tsvector(t)');
RESET default_text_search_config;
SET array_nulls = off;
SELECT * FROM on_nodes('(''{NULL,'' || k || ''}'')::text[] IS DISTINCT FROM n');
RESET array_nulls;
SET transform_null_equals = on;
SELECT count(*) FROM dist WHERE x = NULL;
RESET transform_null_equals;
SET standard_conforming_strings = off;
SET escape_string_warning = off;
SELECT * FROM on_nodes('t || ''\\n''');
SELECT count(*) FROM dist WHERE t LIKE 'Running\\_dogs%' OR t = 'a\'b';
RESET standard_conforming_strings;
RESET escape_string_warning;
SET quote_all_identifiers = on;
SELECT count(*) FROM dist;
RESET quote_all_identifiers;
SET gin_fuzzy_search_limit = 1;
SHOW gin_fuzzy_search_limit;
RESET gin_fuzzy_search_limit;
-- A variable of the application's own.
SET app.tenant = 'it''s "me"; \ DROP';
SELECT * FROM on_nodes('current_setting(''app.tenant'', true) || k');
RESET app.tenant;
SELECT * FROM on_nodes('coalesce(current_setting(''app.tenant'', true), '''') || k');

-- search_path: where names in a function's text are looked up.
CREATE SCHEMA client_settings_a;
CREATE SCHEMA client_settings_b;
CREATE FUNCTION client_settings_a.who() RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'a' $$;
CREATE FUNCTION client_settings_b.who() RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'b' $$;
CREATE FUNCTION public.ask(k int) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN who() || k; END $$;
SET search_path = client_settings_a, public;
SELECT * FROM on_nodes('ask(k)');
SET search_path = client_settings_b, public;
SELECT * FROM on_nodes('ask(k)');
SET search_path = '"$user"', 'client_settings_a', public;
SELECT * FROM on_nodes('ask(k)');
SET search_path = client_settings, public;

-- SET LOCAL, a function's SET, savepoints, rollback.
BEGIN;
SET LOCAL TimeZone = 'Asia/Tokyo';
SELECT * FROM public.on_nodes('at::text');
SAVEPOINT a;
SET TimeZone = 'Europe/Rome';
SELECT * FROM public.on_nodes('at::text');
ROLLBACK TO SAVEPOINT a;
SELECT * FROM public.on_nodes('at::text');
SAVEPOINT b;
SET LOCAL TimeZone = 'America/Lima';
SELECT * FROM public.on_nodes('at::text');
RELEASE SAVEPOINT b;
SELECT * FROM public.on_nodes('at::text');
COMMIT;
SELECT * FROM public.on_nodes('at::text');
BEGIN;
SET TimeZone = 'Asia/Tokyo';
SELECT * FROM public.on_nodes('at::text');
ROLLBACK;
SELECT * FROM public.on_nodes('at::text');
BEGIN;
SET TimeZone = 'Asia/Tokyo';
SELECT * FROM public.on_nodes('at::text');
COMMIT;
SELECT * FROM public.on_nodes('at::text');
RESET TimeZone;
CREATE FUNCTION public.in_tokyo() RETURNS text LANGUAGE plpgsql SET TimeZone = 'Asia/Tokyo' AS $$
BEGIN RETURN (SELECT at::text FROM client_settings.dist WHERE k = 1); END $$;
SELECT public.in_tokyo(), at::text FROM dist WHERE k = 1;
SELECT set_config('TimeZone', 'Asia/Tokyo', true);
SELECT * FROM public.on_nodes('at::text');

-- The role, and what belongs to it.
CREATE ROLE client_settings_role LOGIN;
ALTER ROLE client_settings_role SET DateStyle = 'German';
GRANT USAGE ON SCHEMA client_settings TO client_settings_role;
GRANT SELECT, INSERT ON plain, dist TO client_settings_role;
SELECT DISTINCT current_user = session_user AS same, session_user = current_user FROM dist;
CREATE FUNCTION public.me(k int) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN current_user; END';
SET ROLE client_settings_role;
SELECT * FROM public.on_nodes('public.me(k)');
DELETE FROM dist WHERE k = 1;
RESET ROLE;
SELECT value = current_user AS mine, same FROM public.on_nodes('public.me(k)');
BEGIN;
SET LOCAL ROLE client_settings_role;
SELECT * FROM public.on_nodes('public.me(k)');
COMMIT;
SELECT value = current_user AS mine, same FROM public.on_nodes('public.me(k)');
SET SESSION AUTHORIZATION client_settings_role;
SELECT same FROM public.on_nodes('public.me(k)');
RESET SESSION AUTHORIZATION;

-- Isolation and read only.
CREATE FUNCTION public.mode(k int) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN RETURN current_setting('transaction_isolation') || ' ' || current_setting('transaction_read_only'); END $$;
BEGIN; SELECT DISTINCT public.mode(k) FROM dist; COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT DISTINCT public.mode(k) FROM dist; COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT DISTINCT public.mode(k) FROM dist; COMMIT;
BEGIN; SELECT DISTINCT public.mode(k) FROM dist; SET TRANSACTION READ ONLY; SELECT DISTINCT public.mode(k) FROM dist; COMMIT;
SET default_transaction_read_only = on;
SELECT DISTINCT public.mode(k) FROM dist WHERE k = 1;
INSERT INTO dist (k) VALUES (100);
RESET default_transaction_read_only;
SET default_transaction_isolation = 'serializable';
BEGIN; SELECT DISTINCT public.mode(k) FROM dist; COMMIT;
RESET default_transaction_isolation;

-- Limits in time. statement_timeout is watched over by the client's backend alone.
CREATE FUNCTION public.limits(k int) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN RETURN current_setting('lock_timeout') || ' ' || current_setting('deadlock_timeout') || ' ' || current_setting('work_mem'); END $$;
SET lock_timeout = '1234ms';
SET work_mem = '5MB';
SELECT DISTINCT public.limits(k) FROM dist;
RESET lock_timeout;
RESET work_mem;
SELECT DISTINCT public.limits(k) FROM dist;
CREATE FUNCTION public.nap(seconds float8, k int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(seconds); RETURN k; END';
SET statement_timeout = '300ms';
SELECT count(*) FROM dist WHERE public.nap(10, k) = k;
RESET statement_timeout;
SELECT count(*) FROM dist;

-- The name that the nodes see is the client's global pid.
CREATE FUNCTION public.name(k int) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN current_setting('application_name'); END $$;
SELECT DISTINCT public.name(k) = 'citus_internal gpid=' || citus_backend_gpid() AS mine FROM dist WHERE k IN (1, 2, 3, 4);
SET application_name = 'another';
SELECT DISTINCT public.name(k) = 'citus_internal gpid=' || citus_backend_gpid() AS mine FROM dist WHERE k IN (1, 2, 3, 4);
RESET application_name;

-- What the node was told goes when everything is given back.
SET TimeZone = 'Asia/Tokyo';
SET extra_float_digits = -5;
SELECT * FROM public.on_nodes('at::text || f::text');
DISCARD ALL;
SET client_min_messages = warning;
SELECT * FROM public.on_nodes('at::text || f::text');

-- A transaction is what the client made it, whatever the nodes' own default is, however the one before ended.
SELECT success FROM run_command_on_workers('ALTER DATABASE regression SET default_transaction_isolation = ''serializable''');
\connect -
SET client_min_messages = warning;
SET search_path = client_settings, public;
SELECT public.mode(k) FROM dist WHERE k = 1;
BEGIN; SELECT DISTINCT public.mode(k) FROM dist; ROLLBACK;
BEGIN; SELECT DISTINCT public.mode(k) FROM dist; COMMIT;
BEGIN; SELECT DISTINCT public.mode(k) FROM dist; COMMIT;
BEGIN; SET LOCAL work_mem = '5MB'; SELECT DISTINCT public.mode(k) FROM dist; COMMIT;
BEGIN; SELECT DISTINCT public.mode(k) FROM dist; ROLLBACK;
BEGIN READ ONLY; SELECT DISTINCT public.mode(k) FROM dist; COMMIT;
BEGIN; SELECT DISTINCT public.mode(k) FROM dist; SAVEPOINT s; SET TRANSACTION READ ONLY; SELECT DISTINCT public.mode(k) FROM dist; ROLLBACK TO s; SELECT DISTINCT public.mode(k) FROM dist; COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT DISTINCT public.mode(k) FROM dist; COMMIT;
BEGIN; SELECT DISTINCT public.mode(k) FROM dist; INSERT INTO dist (k) VALUES (101), (102), (103), (104); COMMIT;
BEGIN; SELECT DISTINCT public.mode(k) FROM dist; DELETE FROM dist WHERE k > 100; COMMIT;
SELECT success, result FROM run_command_on_workers('SHOW transaction_isolation');
SELECT success FROM run_command_on_workers('ALTER DATABASE regression RESET default_transaction_isolation');

-- Set to what is the default here, but not there; given back, and that rolled back.
SELECT success FROM run_command_on_workers('ALTER DATABASE regression SET extra_float_digits = -5');
\connect -
SET client_min_messages = warning;
SET search_path = client_settings, public;
SELECT value FROM on_nodes('f::text');
SET extra_float_digits = 1;
SELECT value FROM on_nodes('f::text');
BEGIN;
RESET extra_float_digits;
SELECT value FROM on_nodes('f::text');
ROLLBACK;
SELECT value FROM on_nodes('f::text');
BEGIN;
SAVEPOINT s;
RESET extra_float_digits;
SELECT value FROM on_nodes('f::text');
ROLLBACK TO s;
SELECT value FROM on_nodes('f::text');
SET LOCAL extra_float_digits TO DEFAULT;
SELECT value FROM on_nodes('f::text');
COMMIT;
SELECT value FROM on_nodes('f::text');
SELECT success FROM run_command_on_workers('ALTER DATABASE regression RESET extra_float_digits');

-- Set before the library that defines it is loaded.
SET postgres_fdw.application_name = 'a';
SELECT * FROM on_nodes('current_setting(''postgres_fdw.application_name'')');
LOAD 'postgres_fdw';
SELECT * FROM on_nodes('current_setting(''postgres_fdw.application_name'')');
SET postgres_fdw.application_name = 'b';
SELECT * FROM on_nodes('current_setting(''postgres_fdw.application_name'')');

DROP SCHEMA client_settings, client_settings_a, client_settings_b CASCADE;
DROP FUNCTION public.on_nodes, public.ask, public.in_tokyo, public.me, public.mode, public.limits, public.nap, public.name;
DROP ROLE client_settings_role;
