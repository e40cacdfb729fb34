-- Each week's sales at a distance by weekday beside those of the same week a year later.
WITH sold AS (
    SELECT d_week_seq AS week,
        sum(CASE WHEN d_weekday = 0 THEN rs_paid END) AS sunday,
        sum(CASE WHEN d_weekday = 1 THEN rs_paid END) AS monday,
        sum(CASE WHEN d_weekday = 2 THEN rs_paid END) AS tuesday,
        sum(CASE WHEN d_weekday = 3 THEN rs_paid END) AS wednesday,
        sum(CASE WHEN d_weekday = 4 THEN rs_paid END) AS thursday,
        sum(CASE WHEN d_weekday = 5 THEN rs_paid END) AS friday,
        sum(CASE WHEN d_weekday = 6 THEN rs_paid END) AS saturday
    FROM remote_sales
    JOIN dates ON rs_date = d_key
    GROUP BY d_week_seq
)
SELECT a.week, round(a.sunday / b.sunday, 2), round(a.monday / b.monday, 2), round(a.tuesday / b.tuesday, 2),
    round(a.wednesday / b.wednesday, 2), round(a.thursday / b.thursday, 2), round(a.friday / b.friday, 2),
    round(a.saturday / b.saturday, 2)
FROM sold a
JOIN sold b ON b.week = a.week + 52
WHERE a.week IN (SELECT d_week_seq FROM dates WHERE d_year = 2020)
ORDER BY a.week;
