-- Where the rows of a query are (anywhere, sharded, single, coordinator), and why.
CREATE OR REPLACE FUNCTION pando.query_distribution(query text) RETURNS text
	LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'query_distribution';

-- The parts of a query that run on the shards, as text over the tables' own names; for
-- a query that is cut: one that is distributed as a whole is its own fragment.
CREATE OR REPLACE FUNCTION pando.query_fragments(query text) RETURNS text
	LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'query_fragments';

-- Is a call of the function, with values of a row, evaluated on whichever node has the row?
-- False: the row's values come to the node of the client, and it is called there.
CREATE OR REPLACE FUNCTION pando.function_runs_anywhere(function pg_catalog.regprocedure) RETURNS boolean
	LANGUAGE C STRICT STABLE AS 'MODULE_PATHNAME', 'function_runs_anywhere';
