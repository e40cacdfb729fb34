-- Partitions by time: made ahead, listed, dropped when old.
\set VERBOSITY terse
CREATE SCHEMA time_part;
SET search_path TO time_part;
CREATE TABLE m (id int, d date) PARTITION BY RANGE (d);
SELECT create_time_partitions('m', '1 month', '2024-04-10', '2024-01-15');
SELECT create_time_partitions('m', '1 month', '2024-04-10', '2024-01-15');
SELECT partition, from_value, to_value FROM time_partitions WHERE parent_table = 'm'::regclass;
SELECT * FROM get_missing_time_partition_ranges('m', '1 month', '2024-06-15', '2024-03-15');
SELECT * FROM get_missing_time_partition_ranges('m', '1 week', '2024-06-15', '2024-03-15');
CALL drop_old_time_partitions('m', '2024-03-05');
SELECT partition FROM time_partitions WHERE parent_table = 'm'::regclass;
CREATE TABLE h (id int, ts timestamptz) PARTITION BY RANGE (ts);
SELECT create_time_partitions('h', '12 hours', '2024-01-03', '2024-01-02 05:00');
SELECT partition, from_value, to_value FROM time_partitions WHERE parent_table = 'h'::regclass;
CREATE TABLE l (a int, b int) PARTITION BY LIST (a);
SELECT create_time_partitions('l', '1 day', '2024-01-03', '2024-01-02');
SELECT create_time_partitions('m', '1 day', '2024-01-01', '2024-01-02');
DROP SCHEMA time_part CASCADE;
