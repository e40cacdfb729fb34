-- Sales and returns by item, together with the items; every other table by its own key. Joins with customers, their
-- addresses and demographics, dates, stores and promotions go from node to node.

SELECT create_distributed_table('item', 'i_key');
SELECT create_distributed_table('store_sales', 'ss_item', colocate_with => 'item');
SELECT create_distributed_table('store_returns', 'sr_item', colocate_with => 'item');
SELECT create_distributed_table('remote_sales', 'rs_item', colocate_with => 'item');
SELECT create_distributed_table('customer', 'c_key');
SELECT create_distributed_table('address', 'a_key');
SELECT create_distributed_table('demographic', 'g_key');
SELECT create_distributed_table('dates', 'd_key');
SELECT create_distributed_table('store', 's_key');
SELECT create_distributed_table('promotion', 'p_key');
