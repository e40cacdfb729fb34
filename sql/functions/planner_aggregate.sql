-- Any aggregate in two halves: partial states as bytes, and the result of such states. The last argument of
-- final_agg is one that only the planner can give: deserialise functions trust their bytes.
CREATE OR REPLACE FUNCTION pando.partial_agg_step(internal, regprocedure, VARIADIC "any")
	RETURNS internal LANGUAGE C IMMUTABLE AS 'MODULE_PATHNAME', 'partial_agg_step';
CREATE OR REPLACE FUNCTION pando.partial_agg_done(internal)
	RETURNS bytea LANGUAGE C IMMUTABLE AS 'MODULE_PATHNAME', 'partial_agg_done';
CREATE OR REPLACE FUNCTION pando.final_agg_step(internal, regprocedure, bytea, anyelement, internal)
	RETURNS internal LANGUAGE C IMMUTABLE AS 'MODULE_PATHNAME', 'final_agg_step';
CREATE OR REPLACE FUNCTION pando.final_agg_done(internal, regprocedure, bytea, anyelement, internal)
	RETURNS anyelement LANGUAGE C IMMUTABLE AS 'MODULE_PATHNAME', 'final_agg_done';

CREATE OR REPLACE AGGREGATE pando.partial_agg(aggregate regprocedure, VARIADIC "any") (
	SFUNC = pando.partial_agg_step, STYPE = internal,
	FINALFUNC = pando.partial_agg_done);
CREATE OR REPLACE AGGREGATE pando.final_agg(aggregate regprocedure, state bytea,
		result anyelement, by_the_planner internal) (
	SFUNC = pando.final_agg_step, STYPE = internal,
	FINALFUNC = pando.final_agg_done, FINALFUNC_EXTRA);

-- Sums of partial counts and of partial sums of integers, as PostgreSQL's own parallel plans add them up.
CREATE OR REPLACE AGGREGATE pando.sum(bigint) (
	SFUNC = int8pl, STYPE = bigint, COMBINEFUNC = int8pl, PARALLEL = SAFE);

-- count(DISTINCT column): the distinct values of a task as bytes, and how many several have.
CREATE OR REPLACE FUNCTION pando.distinct_set_step(internal, anyelement)
	RETURNS internal LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'distinct_set_step';
CREATE OR REPLACE FUNCTION pando.distinct_set_done(internal)
	RETURNS bytea LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'distinct_set_done';
CREATE OR REPLACE FUNCTION pando.distinct_count_step(internal, bytea)
	RETURNS internal LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'distinct_count_step';
CREATE OR REPLACE FUNCTION pando.distinct_count_done(internal)
	RETURNS bigint LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'distinct_count_done';
CREATE OR REPLACE AGGREGATE pando.distinct_set(anyelement) (
	SFUNC = pando.distinct_set_step, STYPE = internal, SSPACE = 256,
	FINALFUNC = pando.distinct_set_done, PARALLEL = SAFE);
CREATE OR REPLACE AGGREGATE pando.distinct_count(bytea) (
	SFUNC = pando.distinct_count_step, STYPE = internal, SSPACE = 256,
	FINALFUNC = pando.distinct_count_done, PARALLEL = SAFE);
