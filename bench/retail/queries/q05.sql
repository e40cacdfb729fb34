-- Sales, returns and profit of each channel and outlet, with sums: UNION ALL of channels, then ROLLUP.
WITH stores AS (
    SELECT outlet, sum(sales) AS sales, sum(returns) AS returns, sum(profit) AS profit
    FROM (
        SELECT ss_store AS outlet, ss_date AS day, ss_paid AS sales, 0::numeric AS returns, ss_profit AS profit FROM store_sales
        UNION ALL
        SELECT sr_store, sr_date, 0::numeric, sr_amount, -sr_loss FROM store_returns
    ) moves
    JOIN dates ON day = d_key
    JOIN store ON outlet = s_key
    WHERE d_date BETWEEN '2021-08-01' AND '2021-10-31'
    GROUP BY outlet
), remote AS (
    SELECT rs_channel, rs_warehouse, sum(rs_paid) AS sales, sum(rs_profit) AS profit
    FROM remote_sales
    JOIN dates ON rs_date = d_key
    WHERE d_date BETWEEN '2021-08-01' AND '2021-10-31'
    GROUP BY rs_channel, rs_warehouse
)
SELECT channel, outlet, sum(sales) AS sales, sum(returns) AS returns, sum(profit) AS profit
FROM (
    SELECT 'store' AS channel, 'store ' || outlet AS outlet, sales, returns, profit FROM stores
    UNION ALL
    SELECT 'web', 'warehouse ' || rs_warehouse, sales, 0, profit FROM remote WHERE rs_channel = 'web'
    UNION ALL
    SELECT 'catalog', 'warehouse ' || rs_warehouse, sales, 0, profit FROM remote WHERE rs_channel = 'catalog'
) channels
GROUP BY ROLLUP (channel, outlet)
ORDER BY channel NULLS LAST, outlet NULLS LAST;
