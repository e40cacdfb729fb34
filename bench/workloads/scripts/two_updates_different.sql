\set key1 random(1, :rows)
\set key2 random(1, :rows)
BEGIN;
UPDATE item SET value = value + 1 WHERE key = :key1;
UPDATE item2 SET value = value - 1 WHERE key = :key2;
COMMIT;
