-- A retailer's ten tables, in the manner of TPC-DS: sales in stores with their returns, and sales at a distance (web,
-- catalog), over dates, items, customers with their addresses and demographics, stores and promotions.
-- Primary keys hold the distribution column of every layout.

CREATE TABLE dates (
    d_key integer PRIMARY KEY, -- days since 2018-12-31
    d_date date NOT NULL,
    d_year integer NOT NULL,
    d_quarter integer NOT NULL,
    d_month integer NOT NULL,
    d_month_seq integer NOT NULL, -- months in order, over the years
    d_week_seq integer NOT NULL,
    d_weekday integer NOT NULL -- 0 is Sunday
);

CREATE TABLE item (
    i_key bigint PRIMARY KEY,
    i_code text NOT NULL,
    i_category text, -- NULL: not yet classified
    i_class text,
    i_brand text,
    i_manufacturer integer NOT NULL,
    i_manager integer NOT NULL,
    i_color text NOT NULL,
    i_price numeric(9,2) NOT NULL
);

CREATE TABLE address (
    a_key bigint PRIMARY KEY,
    a_city text NOT NULL,
    a_county text,
    a_state char(2) NOT NULL,
    a_zip char(5) NOT NULL,
    a_zone integer NOT NULL -- hours to Greenwich
);

CREATE TABLE demographic (
    g_key bigint PRIMARY KEY,
    g_gender char(1) NOT NULL,
    g_marital char(1) NOT NULL,
    g_education text NOT NULL,
    g_income integer NOT NULL, -- band
    g_children integer NOT NULL
);

CREATE TABLE customer (
    c_key bigint PRIMARY KEY,
    c_first_name text,
    c_last_name text NOT NULL,
    c_address bigint NOT NULL,
    c_demographic bigint, -- NULL: unknown
    c_birth_year integer,
    c_birth_month integer,
    c_preferred boolean NOT NULL
);

CREATE TABLE store (
    s_key bigint PRIMARY KEY,
    s_name text NOT NULL,
    s_address bigint NOT NULL,
    s_county text NOT NULL,
    s_employees integer NOT NULL
);

CREATE TABLE promotion (
    p_key bigint PRIMARY KEY,
    p_name text NOT NULL,
    p_email boolean NOT NULL,
    p_tv boolean NOT NULL
);

CREATE TABLE store_sales (
    ss_ticket bigint NOT NULL,
    ss_item bigint NOT NULL,
    ss_date integer, -- NULL: lost
    ss_customer bigint, -- NULL: paid in cash
    ss_store bigint,
    ss_promotion bigint, -- NULL: none
    ss_quantity integer NOT NULL,
    ss_cost numeric(9,2) NOT NULL,
    ss_list_price numeric(9,2) NOT NULL,
    ss_price numeric(9,2) NOT NULL,
    ss_paid numeric(11,2) NOT NULL,
    ss_profit numeric(11,2) NOT NULL,
    PRIMARY KEY (ss_ticket, ss_item)
);

CREATE TABLE store_returns (
    sr_ticket bigint NOT NULL,
    sr_item bigint NOT NULL,
    sr_date integer NOT NULL,
    sr_customer bigint,
    sr_store bigint,
    sr_quantity integer NOT NULL,
    sr_amount numeric(11,2) NOT NULL,
    sr_loss numeric(11,2) NOT NULL,
    PRIMARY KEY (sr_ticket, sr_item)
);

CREATE TABLE remote_sales (
    rs_order bigint NOT NULL,
    rs_item bigint NOT NULL,
    rs_channel text NOT NULL, -- web or catalog
    rs_date integer NOT NULL,
    rs_ship_date integer, -- NULL: not yet
    rs_customer bigint,
    rs_ship_address bigint,
    rs_promotion bigint,
    rs_warehouse integer NOT NULL,
    rs_quantity integer NOT NULL,
    rs_price numeric(9,2) NOT NULL,
    rs_paid numeric(11,2) NOT NULL,
    rs_profit numeric(11,2) NOT NULL,
    PRIMARY KEY (rs_order, rs_item)
);
