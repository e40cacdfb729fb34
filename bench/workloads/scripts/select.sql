\set key random(1, :rows)
SELECT value FROM item WHERE key = :key;
