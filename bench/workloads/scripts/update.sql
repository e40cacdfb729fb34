\set key random(1, :rows)
UPDATE item SET value = value + 1 WHERE key = :key;
