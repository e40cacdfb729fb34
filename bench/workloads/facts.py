"""Two tables of 2 million rows: loading, moving, grouping, joining and reading them."""
import os
import subprocess
import tempfile

from . import Dataset, Workload

ROWS = 2_000_000


def rows(size):
    return int(ROWS * size)


def data_file(size):
    """The rows as COPY text, made once: (id, k, v, t).

    k has no order: a cycle would let a hash table meet its groups in the order of its memory. The numbers are those
    of Park and Miller's generator (Communications of the ACM 31, 1988).
    """
    path = os.path.join(tempfile.gettempdir(), f"pando-bench-facts-{os.getuid()}-{rows(size)}-random.txt")
    if not os.path.exists(path):
        program = (f"BEGIN {{ x = 1; for (i = 1; i <= {rows(size)}; i++) {{ x = (x * 16807) % 2147483647; "
                   "printf \"%d\\t%d\\t%d\\t%d\\n\", i, x % 200000, (i * 104729) % 1000003, i % 1000 } }")
        with open(path + ".part", "w") as file:
            subprocess.run(["awk", program], stdout=file, check=True)
        os.rename(path + ".part", path)
    return path


def prepare(system, size):
    system.sql("DROP TABLE IF EXISTS fact, fact2, target, other_target;"
               "CREATE TABLE fact (id bigint, k int, v int, t int); CREATE TABLE fact2 (LIKE fact);"
               "CREATE TABLE target (LIKE fact); CREATE TABLE other_target (LIKE fact)")
    system.distribute("fact", "id")
    system.distribute("fact2", "id", "fact")
    system.distribute("target", "id", "fact")
    system.distribute("other_target", "k", "none")
    system.copy_in("COPY fact FROM STDIN", data_file(size))
    system.sql("INSERT INTO fact2 SELECT * FROM fact")
    system.vacuum("fact", "fact2")


def copy(system, size):
    system.sql("TRUNCATE target")
    return system.copy_in("COPY target FROM STDIN", data_file(size))


def insert_select(target):
    def run(system, size):
        system.sql(f"TRUNCATE {target}")
        return system.timed(f"INSERT INTO {target} SELECT * FROM fact;")
    return run


def query(text, memory=False):
    return lambda system, size: system.timed(text + ";", memory)


def scan(system, size):
    """Every row to the client, which throws them away as they come."""
    return system.timed("\\set FETCH_COUNT 10000\n" + "SELECT a.id, a.k, a.v, a.t FROM fact a UNION ALL SELECT * FROM fact2"
                        " UNION ALL SELECT * FROM fact WHERE t < 500;", watch_memory=True)


DATASET = Dataset("facts", prepare, [
    Workload("loading", "COPY, narrow rows", "s", copy, quick=True),
    Workload("loading", "INSERT ... SELECT, same key", "s", insert_select("target"), quick=True),
    Workload("loading", "INSERT ... SELECT, another key", "s", insert_select("other_target"), quick=True),
    Workload("analysis", "200,000 groups off the key, top 10", "s", quick=True, cpu_goal={"cluster": 1.5}, run=query(
        "SELECT k, count(*), sum(v) FROM fact GROUP BY k ORDER BY 3 DESC, 1 LIMIT 10")),
    Workload("analysis", "count(DISTINCT)", "s", query("SELECT count(DISTINCT v) FROM fact"), quick=True,
             cpu_goal={"cluster": 1.5}),
    Workload("analysis", "stddev", "s", query("SELECT stddev(v) FROM fact"), quick=True, cpu_goal={"cluster": 1.5}),
    Workload("analysis", "join on the key", "s", query("SELECT count(*), sum(a.v - b.v) FROM fact a JOIN fact2 b USING (id)")),
    Workload("analysis", "join off the key", "s", quick=True, cpu_goal={"cluster": 4}, run=query(
        "SELECT count(*), sum(a.t - b.t) FROM fact a JOIN fact2 b ON a.v = b.v")),
    Workload("analysis", "ORDER BY of all rows, first 10", "s", query("SELECT * FROM fact ORDER BY v, id LIMIT 10")),
    Workload("large results", "5 million rows to the client", "s", scan, goal={"one": 0.5, "cluster": 0.5}),
    Workload("writes", "UPDATE joined off the key", "s", quick=True, run=query(
        "UPDATE fact2 SET t = fact.t FROM fact WHERE fact.v = fact2.id AND fact.t < 100")),
])
