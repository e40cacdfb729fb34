\set key random(1, 1000000000)
INSERT INTO added VALUES (:key, 1);
