"""pgbench's own TPC-B-like transaction, with the tables distributed by a key of each."""
from system import Transactions, program, run

from . import Dataset, Workload

KEYS = {"pgbench_accounts": "aid", "pgbench_branches": "bid", "pgbench_tellers": "tid", "pgbench_history": "aid"}


def prepare(system, size):
    run([program("pgbench"), "-q", "-iI", "dt", system.conninfo])
    for table, key in KEYS.items():
        system.distribute(table, key)
    run([program("pgbench"), "-q", "-iI", "gp", "-s", str(max(16, int(32 * size))), system.conninfo])
    system.vacuum(*KEYS)


def transaction(protocol):
    return lambda system, size: Transactions(system, ["-b", "tpcb-like"], protocol, 16)


DATASET = Dataset("tpcb", prepare, [
    Workload("transactions", "TPC-B prepared", "tps", transaction("prepared"), quick=True, goal={"cluster": 0.33}),
    Workload("transactions", "TPC-B simple", "tps", transaction("simple"), goal={"cluster": 0.33}),
])
