\set key random_zipfian(1, :rows, 1.001)
SELECT * FROM usertable WHERE ycsb_key = :key;
