-- Every table distributed by its own key, in the colocation groups that this gives by
-- itself: all joins but those of orders with items, and parts with who supplies them,
-- go from node to node.

SELECT create_distributed_table('region', 'r_regionkey');
SELECT create_distributed_table('nation', 'n_nationkey');
SELECT create_distributed_table('part', 'p_partkey');
SELECT create_distributed_table('supplier', 's_suppkey');
SELECT create_distributed_table('partsupp', 'ps_partkey');
SELECT create_distributed_table('customer', 'c_custkey');
SELECT create_distributed_table('orders', 'o_orderkey');
SELECT create_distributed_table('lineitem', 'l_orderkey');
