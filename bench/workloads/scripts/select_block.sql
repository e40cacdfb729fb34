\set key random(1, :rows)
BEGIN;
SELECT value FROM item WHERE key = :key;
COMMIT;
