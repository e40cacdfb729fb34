"""Writes to a table of a hundred partitions by time, and MERGE of two tables by their key."""
from . import Dataset, Workload
from .facts import data_file
from .keyed import PIECES, pgbench, script

PARTITIONS = 100
ROWS = 200_000


def prepare(system, size):
    system.sql("DROP TABLE IF EXISTS parted, split, loaded, merged, incoming;"
               "CREATE TABLE parted (key bigint, day int, value bigint) PARTITION BY RANGE (day);"
               "CREATE TABLE split (key bigint, day int, value bigint) PARTITION BY RANGE (day);"
               "CREATE TABLE loaded (id bigint, k int, v int, t int) PARTITION BY RANGE (v)")
    for i in range(PARTITIONS):
        system.sql(f"CREATE TABLE parted_{i} PARTITION OF parted FOR VALUES FROM ({i}) TO ({i + 1});"
                   f"CREATE TABLE loaded_{i} PARTITION OF loaded FOR VALUES FROM ({i * 10_001}) TO ({(i + 1) * 10_001})")
        system.sql(split(i))
    rows = int(ROWS * size)
    system.sql("CREATE TABLE merged (k bigint PRIMARY KEY, v bigint, t text); CREATE TABLE incoming (k bigint PRIMARY KEY, v bigint)")
    system.distribute("parted", "key", "none")
    system.distribute("loaded", "id", "none")
    system.distribute("merged", "k", "none")
    system.distribute("incoming", "k", "merged")
    system.sql(f"INSERT INTO merged SELECT i, 0, repeat('x', 50) FROM generate_series(1, {rows}) i;"
               f"INSERT INTO incoming SELECT i, i FROM generate_series(1, {rows}) i")
    system.vacuum("merged", "incoming")


def split(number):
    """A partition of a plain table, in as many tables as a distributed one's has shards."""
    name = f"split_{number}"
    return (f"CREATE TABLE {name} PARTITION OF split FOR VALUES FROM ({number}) TO ({number + 1}) PARTITION BY HASH (key);"
            + "".join(f"CREATE TABLE {name}_{i} PARTITION OF {name} FOR VALUES WITH (MODULUS {PIECES}, REMAINDER {i});"
                      for i in range(PIECES)))


def load(system, size):
    system.sql("TRUNCATE loaded")
    return system.copy_in("COPY loaded FROM STDIN", data_file(size))


def merge(system, size):
    return system.timed("MERGE INTO merged m USING incoming i ON m.k = i.k WHEN MATCHED THEN UPDATE SET v = m.v + i.v"
                        " WHEN NOT MATCHED THEN INSERT (k, v) VALUES (i.k, i.v);")


DATASET = Dataset("partitioned", prepare, [
    Workload("writes", "INSERT into one of 100 partitions, prepared", "tps", pgbench(script("insert_partition"), "prepared", 16), quick=True,
             goal={"one": 0.83, "cluster": 0.34}),
    Workload("writes", f"INSERT into 100 plain partitions of {PIECES} tables each", "tps", pgbench(script("insert_split"), "prepared", 16)),
    Workload("writes", "COPY of 2 million rows into 100 partitions", "s", load, quick=True, cpu_goal={"one": 1.3, "cluster": 1.8}),
    Workload("writes", "MERGE by the key, 200,000 rows matched", "s", merge, quick=True, cpu_goal={"one": 1.3, "cluster": 1.8})])
