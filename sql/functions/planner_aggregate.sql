-- Any aggregate in two halves: partial states as bytes, and the result of such states.
CREATE OR REPLACE FUNCTION pando.partial_agg_step(internal, regprocedure, VARIADIC "any")
	RETURNS internal LANGUAGE C IMMUTABLE AS 'MODULE_PATHNAME', 'partial_agg_step';
CREATE OR REPLACE FUNCTION pando.partial_agg_done(internal)
	RETURNS bytea LANGUAGE C IMMUTABLE AS 'MODULE_PATHNAME', 'partial_agg_done';
CREATE OR REPLACE FUNCTION pando.final_agg_step(internal, regprocedure, bytea, anyelement)
	RETURNS internal LANGUAGE C IMMUTABLE AS 'MODULE_PATHNAME', 'final_agg_step';
CREATE OR REPLACE FUNCTION pando.final_agg_done(internal, regprocedure, bytea, anyelement)
	RETURNS anyelement LANGUAGE C IMMUTABLE AS 'MODULE_PATHNAME', 'final_agg_done';

CREATE OR REPLACE AGGREGATE pando.partial_agg(aggregate regprocedure, VARIADIC "any") (
	SFUNC = pando.partial_agg_step, STYPE = internal,
	FINALFUNC = pando.partial_agg_done);
CREATE OR REPLACE AGGREGATE pando.final_agg(aggregate regprocedure, state bytea,
		result anyelement) (
	SFUNC = pando.final_agg_step, STYPE = internal,
	FINALFUNC = pando.final_agg_done, FINALFUNC_EXTRA);
