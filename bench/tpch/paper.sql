-- Orders and their items together by the order's key, a copy of the rest on every node.

SELECT create_distributed_table('orders', 'o_orderkey');
SELECT create_distributed_table('lineitem', 'l_orderkey', colocate_with => 'orders');
SELECT create_reference_table(t)
FROM unnest(ARRAY['region', 'nation', 'part', 'supplier', 'partsupp', 'customer']) t;
