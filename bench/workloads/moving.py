"""Rows whose distribution column changes: they go to other shards, on plain PostgreSQL to other partitions of a table
that has as many as there are shards."""
from . import Dataset, Workload

ROWS = 200_000
MOVED = 10_000
PARTITIONS = 32


def prepare(system, size):
    rows = max(int(ROWS * size), 2 * MOVED)
    columns = "(k int NOT NULL, id int NOT NULL, v int, t text, PRIMARY KEY (k, id))"
    system.sql("DROP TABLE IF EXISTS moving")
    system.sql(f"CREATE TABLE moving {columns}" + ("" if system.distributed else " PARTITION BY HASH (k)"))
    for number in range(0 if system.distributed else PARTITIONS):
        system.sql(f"CREATE TABLE moving_{number} PARTITION OF moving FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number})")
    system.distribute("moving", "k", "none")
    system.sql(f"INSERT INTO moving SELECT i, i, i % 1000, repeat('x', 50) FROM generate_series(1, {rows}) i")
    system.vacuum("moving")


def change_keys(system, size):
    return system.timed(f"UPDATE moving SET k = k + 10000000 WHERE id <= {MOVED};")


DATASET = Dataset("moving", prepare, [
    Workload("writes", "UPDATE of the key of 10,000 rows", "s", change_keys, quick=True, cpu_goal={"cluster": 4, "one": 4})])
