-- Indexes that the queries profit from, the same in every layout.

CREATE INDEX lineitem_partkey ON lineitem (l_partkey);
CREATE INDEX partsupp_suppkey ON partsupp (ps_suppkey);
CREATE INDEX orders_custkey ON orders (o_custkey);
