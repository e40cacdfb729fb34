-- What the scripts of any_node.sh have: a schema, and a function that says what a query gives on all nodes.
CREATE SCHEMA any_node;
CREATE FUNCTION any_node.everywhere(query text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(DISTINCT CASE WHEN success THEN '' ELSE 'failed: ' END || coalesce(result, '(null)'), ' <> ')
	FROM run_command_on_all_nodes(query)
$$;
