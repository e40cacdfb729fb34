-- Sales and their returns together by ticket, sales at a distance by order, a copy of the rest on every node.

SELECT create_distributed_table('store_sales', 'ss_ticket');
SELECT create_distributed_table('store_returns', 'sr_ticket', colocate_with => 'store_sales');
SELECT create_distributed_table('remote_sales', 'rs_order');
SELECT create_reference_table(t)
FROM unnest(ARRAY['dates', 'item', 'address', 'demographic', 'customer', 'store', 'promotion']) t;
