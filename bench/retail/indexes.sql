-- Indexes that the queries profit from, the same in every layout.

CREATE INDEX store_sales_item ON store_sales (ss_item);
CREATE INDEX store_sales_customer ON store_sales (ss_customer);
CREATE INDEX store_sales_date ON store_sales (ss_date);
CREATE INDEX store_returns_item ON store_returns (sr_item);
CREATE INDEX store_returns_customer ON store_returns (sr_customer);
CREATE INDEX remote_sales_item ON remote_sales (rs_item);
CREATE INDEX remote_sales_customer ON remote_sales (rs_customer);
CREATE INDEX remote_sales_date ON remote_sales (rs_date);
CREATE INDEX customer_address ON customer (c_address);
CREATE INDEX dates_month ON dates (d_year, d_month);
