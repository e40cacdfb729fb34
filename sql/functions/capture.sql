-- Changes of distributed tables for who reads the WAL (src/pando/capture).

CREATE OR REPLACE FUNCTION pando.capture_set_paused(paused boolean) RETURNS void
	LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'capture_set_paused';
