-- What was bought in a store, returned, and ordered by the same person again: three facts, deviations, a percentile.
SELECT i_code, a_state, count(ss_quantity) AS sold, round(avg(ss_quantity), 3) AS sold_average,
    round(stddev_samp(ss_quantity), 3) AS sold_deviation, count(sr_quantity) AS returned, round(avg(sr_quantity), 3) AS returned_average,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY rs_quantity) AS ordered_median
FROM store_sales
JOIN store_returns ON sr_ticket = ss_ticket AND sr_item = ss_item
JOIN remote_sales ON rs_customer = sr_customer AND rs_item = sr_item
JOIN dates sold ON sold.d_key = ss_date
JOIN dates returned ON returned.d_key = sr_date
JOIN store ON s_key = ss_store
JOIN address ON a_key = s_address
JOIN item ON i_key = ss_item
WHERE sold.d_year IN (2020, 2021) AND returned.d_year IN (2020, 2021)
GROUP BY i_code, a_state
ORDER BY i_code, a_state
LIMIT 100;
