\set key1 random(1, :rows)
\set key2 random(1, :rows)
CALL two_updates(:key1, :key2);
