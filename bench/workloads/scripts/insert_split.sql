\set key random(1, 1000000000)
\set day random(0, 99)
INSERT INTO split VALUES (:key, :day, 1);
