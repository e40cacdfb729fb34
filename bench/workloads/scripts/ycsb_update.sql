\set key random_zipfian(1, :rows, 1.001)
\set value random(1, 1000000000)
UPDATE usertable SET field0 = :value::text WHERE ycsb_key = :key;
