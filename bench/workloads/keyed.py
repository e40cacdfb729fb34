"""Statements on one row by key, YCSB's mixes, and two updates in a transaction."""
import functools
import os
import tempfile

from system import Transactions

from . import Dataset, Workload

PIECES = 32  # as many as a distributed table has shards
SCRIPTS = os.path.join(os.path.dirname(__file__), "scripts")
MADE = tempfile.TemporaryDirectory()  # scripts, one per piece


def script(name, weight=None):
    path = os.path.join(SCRIPTS, name + ".sql")
    return ["-f", path if weight is None else f"{path}@{weight}"]


def rows(size):
    return int(100_000 * size)


def prepare(system, size):
    system.sql("DROP TABLE IF EXISTS item, item2, added, usertable")
    system.sql("CREATE TABLE item (key bigint PRIMARY KEY, value bigint NOT NULL);"
               "CREATE TABLE item2 (LIKE item INCLUDING ALL);"
               "CREATE TABLE added (key bigint, value bigint);"
               "CREATE TABLE usertable (ycsb_key bigint PRIMARY KEY, "
               + ", ".join(f"field{i} text" for i in range(10)) + ")")
    system.distribute("item", "key")
    system.distribute("item2", "key", "item")
    system.distribute("added", "key")
    system.distribute("usertable", "ycsb_key")
    fields = ", ".join(f"repeat(md5(i::text || '{field}'), 3)" for field in range(10))
    system.sql(f"INSERT INTO item SELECT i, 0 FROM generate_series(1, {rows(size)}) i;"
               f"INSERT INTO item2 SELECT i, 0 FROM generate_series(1, {rows(size)}) i;"
               f"INSERT INTO usertable SELECT i, {fields} FROM generate_series(1, {rows(size)}) i")
    system.sql("CREATE OR REPLACE PROCEDURE two_updates(key1 bigint, key2 bigint) LANGUAGE plpgsql AS $$ BEGIN "
               "UPDATE item SET value = value + 1 WHERE key = key1; UPDATE item2 SET value = value - 1 WHERE key = key2; END $$")
    if system.distributed:
        system.sql("SELECT create_distributed_function('two_updates(bigint, bigint)', 'key1', 'item')")
    system.sql("".join(piece(i, size) for i in range(PIECES)))
    system.vacuum("item", "item2", "usertable", *(f"piece{i}" for i in range(PIECES)))


def piece(number, size):
    """Every PIECES-th row of item, in a table of its own which nobody distributes."""
    name = f"piece{number}"
    return (f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (LIKE item INCLUDING ALL);"
            f"INSERT INTO {name} SELECT i, 0 FROM generate_series({number}, {rows(size)}, {PIECES}) i;")


def pgbench(script_arguments, protocol, clients):
    return lambda system, size: Transactions(system, ["-D", f"rows={rows(size)}", *script_arguments], protocol, clients)


@functools.cache
def piece_scripts(statement):
    """pgbench's arguments for the statement on each of the pieces."""
    with open(os.path.join(SCRIPTS, statement + ".sql")) as file:
        text = file.read().replace("random(1, :rows)", ":number + :pieces * random(1, :rows / :pieces - 1)")

    arguments = []
    for number in range(PIECES):
        path = os.path.join(MADE.name, f"{statement}{number}.sql")
        with open(path, "w") as file:
            file.write(text.replace("item", f"piece{number}").replace(":number", str(number)))
        arguments += ["-f", path]
    return arguments


def pieces(statement):
    """The statement on one of many tables at random: what splitting costs on any server, whoever splits."""
    return lambda system, size: pgbench(["-D", f"pieces={PIECES}", *piece_scripts(statement)], "prepared", 16)(system, size)


def single_row():
    cluster = {("select", "prepared"): 0.40, ("select", "simple"): 0.45}
    for statement in ("select", "update", "insert"):
        for protocol in ("prepared", "simple"):
            for clients in (16, 1):
                goal = {"one": 0.92}
                if clients == 16:
                    goal["cluster"] = cluster.get((statement, protocol), 0.38)
                yield Workload("single row", f"{statement} {protocol} {clients} clients", "tps",
                               pgbench(script(statement), protocol, clients),
                               quick=clients == 16 and statement != "insert", goal=goal)
                if (protocol, clients) == ("prepared", 16) and statement != "insert":
                    yield Workload("single row", f"{statement} prepared, {PIECES} plain tables", "tps", pieces(statement))


def ycsb():
    read, update = "ycsb_read", "ycsb_update"
    for name, weights in (("A", (50, 50)), ("B", (95, 5)), ("C", (100, 0))):
        mix = script(read, weights[0]) + (script(update, weights[1]) if weights[1] else [])
        yield Workload("YCSB", f"{name}: {weights[0]} % reads", "tps", pgbench(mix, "prepared", 16))


def two_updates():
    for keys, file, goal in (("same key", "two_updates_same", 0.40), ("different keys", "two_updates_different", 0.25)):
        for protocol in ("prepared", "simple"):
            yield Workload("transactions", f"two updates, {keys}, {protocol}", "tps", pgbench(script(file), protocol, 16),
                           quick=protocol == "prepared", goal={"cluster": goal})
    for keys, file in (("same key", "call_same"), ("different keys", "call_different")):
        yield Workload("transactions", f"two updates as a procedure, {keys}", "tps", pgbench(script(file), "prepared", 16),
                       quick=True, goal={"cluster": 0.45} if keys == "same key" else {})
    yield Workload("transactions", "select in a block", "tps", pgbench(script("select_block"), "prepared", 16))


DATASET = Dataset("keyed", prepare, [*single_row(), *ycsb(), *two_updates()])
