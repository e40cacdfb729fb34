\set key random(1, :rows)
BEGIN;
UPDATE item SET value = value + 1 WHERE key = :key;
UPDATE item2 SET value = value - 1 WHERE key = :key;
COMMIT;
