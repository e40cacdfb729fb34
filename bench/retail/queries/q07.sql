-- What some kinds of people buy on average where no advertisement was sent, by item and state: ROLLUP with GROUPING.
SELECT i_code, a_state, grouping(a_state) AS all_states, avg(ss_quantity) AS quantity, avg(ss_list_price) AS list_price,
    avg(ss_price) AS price
FROM store_sales
JOIN customer ON ss_customer = c_key
JOIN demographic ON c_demographic = g_key
JOIN address ON c_address = a_key
JOIN dates ON ss_date = d_key
JOIN item ON ss_item = i_key
JOIN promotion ON ss_promotion = p_key
WHERE g_gender = 'F' AND g_marital = 'S' AND g_education = 'College' AND NOT (p_email OR p_tv) AND d_year BETWEEN 2020 AND 2022
GROUP BY ROLLUP (i_code, a_state)
ORDER BY i_code NULLS LAST, a_state NULLS LAST
LIMIT 100;
