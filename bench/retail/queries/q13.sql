-- The best and the worst items of a store side by side: ranks both ways over HAVING with a subquery.
WITH profits AS (
    SELECT ss_item, avg(ss_profit) AS profit
    FROM store_sales
    WHERE ss_store = 2
    GROUP BY ss_item
    HAVING avg(ss_profit) > 0.5 * (SELECT avg(ss_profit) FROM store_sales WHERE ss_store = 2 AND ss_promotion IS NULL)
)
SELECT best.place, good.i_code AS best, bad.i_code AS worst
FROM (SELECT ss_item, rank() OVER (ORDER BY profit DESC, ss_item) AS place FROM profits) best
JOIN (SELECT ss_item, rank() OVER (ORDER BY profit, ss_item) AS place FROM profits) worst ON best.place = worst.place
JOIN item good ON good.i_key = best.ss_item
JOIN item bad ON bad.i_key = worst.ss_item
WHERE best.place <= 10
ORDER BY best.place;
