-- Where the rows of a query are (anywhere, sharded, single, coordinator), and why.
CREATE OR REPLACE FUNCTION pando.query_distribution(query text) RETURNS text
	LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'query_distribution';

-- What the coordinator computes itself, with pando.fragment(n) in place of shards' rows.
CREATE OR REPLACE FUNCTION pando.query_residual(query text) RETURNS text
	LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'query_residual';
