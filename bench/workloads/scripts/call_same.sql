\set key random(1, :rows)
CALL two_updates(:key, :key);
