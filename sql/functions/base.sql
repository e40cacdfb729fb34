-- Debug points: tests make a backend wait, fail or die at a named place.

CREATE OR REPLACE FUNCTION pando.debug_point_arm(name text, action text) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'debug_point_arm';
CREATE OR REPLACE FUNCTION pando.debug_point_clear() RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'debug_point_clear';
CREATE OR REPLACE FUNCTION pando.debug_steps() RETURNS bigint
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'debug_steps';
REVOKE ALL ON FUNCTION pando.debug_point_arm(text, text), pando.debug_point_clear(), pando.debug_steps() FROM public;
