#!/usr/bin/env python3
"""Times moves and splits of one shard of pgbench_accounts, idle and beside pgbench, on a cluster of two workers.

    moves.py CONNINFO [--size GB] [--seconds N]

`./pando bench --moves` starts a cluster and calls this. What a move is held against is pg_dump | psql of the same rows, between
the same nodes. A + or ! says whether a goal is reached.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from system import Failed, System, program, run

BYTES_PER_SCALE = 15_000_000  # of pgbench_accounts with its index
CLIENTS = 4
ROUNDS = 3  # of which the median counts
SCRIPT = """\\set aid random(1, {rows})
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
END;
"""


class Pgbench:
    """A pgbench that writes to the table until it is stopped, with the time of each transaction."""

    def __init__(self, system, rows):
        self.directory = tempfile.TemporaryDirectory()
        path = os.path.join(self.directory.name, "script")
        with open(path, "w") as file:
            file.write(SCRIPT.format(rows=rows))
        self.process = subprocess.Popen(
            [program("pgbench"), "-n", "-M", "prepared", "-c", str(CLIENTS), "-T", "86400", "-f", path, "-l", "--log-prefix",
             os.path.join(self.directory.name, "log"), system.conninfo], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def stop(self):
        """Transactions as pairs of seconds: when they ended (of the clock), how long they took."""
        self.process.terminate()
        _, errors = self.process.communicate()
        if "ERROR" in errors or "aborted" in errors:
            raise Failed(f"pgbench: {errors}")
        transactions = []
        for name in os.listdir(self.directory.name):
            if name.startswith("log"):
                with open(os.path.join(self.directory.name, name)) as file:
                    for line in file:
                        fields = line.split()
                        if len(fields) >= 6:
                            transactions.append((int(fields[4]) + int(fields[5]) / 1e6, int(fields[2]) / 1e6))
        self.directory.cleanup()
        return transactions


def timed(work):
    start = time.time()
    work()
    return time.time() - start


class Moves:
    def __init__(self, system, scale):
        self.system = system
        self.rows = scale * 100_000
        run([program("pgbench"), "-q", "-iI", "dt", system.conninfo])
        system.sql("SET citus.shard_count TO 1; SELECT create_distributed_table('pgbench_accounts', 'aid', colocate_with => 'none')")
        run([program("pgbench"), "-q", "-iI", "gp", "-s", str(scale), system.conninfo])
        system.vacuum("pgbench_accounts")

    def shards(self):
        """Per shard: its id, and the addresses and node ids of where it is and of the other worker."""
        return [line.split("|") for line in self.system.sql(
            "SELECT shardid, s.nodename, s.nodeport, t.nodename, t.nodeport, s.nodeid, t.nodeid FROM pg_dist_shard "
            "JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node s USING (groupid) JOIN pg_dist_node t ON t.groupid <> s.groupid "
            "AND t.groupid <> 0 WHERE logicalrelid = 'pgbench_accounts'::regclass ORDER BY shardid").splitlines()]

    def move(self, mode):
        shard, host, port, to_host, to_port, _, _ = self.shards()[0]
        self.system.sql(f"SELECT citus_move_shard_placement({shard}, '{host}', {port}, '{to_host}', {to_port}, '{mode}')")

    def split(self, mode):
        shard, *_, here, there = self.shards()[0]
        self.system.sql(f"SELECT citus_split_shard_by_split_points({shard}, ARRAY['0'], ARRAY[{here}, {there}], '{mode}')")

    def dump(self):
        shard, host, port, to_host, to_port, _, _ = self.shards()[0]
        source = f"{self.system.conninfo} host={host} port={port} options='-c citus.override_table_visibility=off'"
        target = f"{self.system.conninfo} host={to_host} port={to_port}"
        self.system.psql(["-d", target], "SET citus.enable_create_database_propagation TO off; CREATE DATABASE dumped")
        try:
            with subprocess.Popen([program("pg_dump"), "-t", f"pgbench_accounts_{shard}", "-d", source], stdout=subprocess.PIPE) as dump:
                subprocess.run([program("psql"), "-Xq", "-v", "ON_ERROR_STOP=1", "-d", f"{target} dbname=dumped"], stdin=dump.stdout,
                               stdout=subprocess.DEVNULL, check=True)
            if dump.returncode != 0:
                raise Failed("pg_dump failed")
        finally:
            self.system.psql(["-d", target], "DROP DATABASE dumped")

    def beside(self, work, seconds):
        """Runs the work beside pgbench: its duration, what pgbench keeps of its speed, the longest transaction."""
        pgbench = Pgbench(self.system, self.rows)
        time.sleep(2)
        begin = time.time()
        time.sleep(seconds)
        start = time.time()
        try:
            took = timed(work)
        finally:
            transactions = pgbench.stop()
        alone = sum(begin <= ended < start for ended, _ in transactions) / (start - begin)
        together = [lasted for ended, lasted in transactions if start <= ended < start + took]
        return took, len(together) / took / alone, max(together, default=0)


def line(name, value, unit="s", goal=None, reached=None):
    mark = "" if reached is None else "+" if reached else "!"
    print(f"{name:<56} {value:>9.2f} {unit:<4} {goal or '':<34} {mark}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conninfo")
    parser.add_argument("--size", type=float, default=2, help="gigabytes of the shard with its index (2)")
    parser.add_argument("--seconds", type=float, default=15, help="how long pgbench runs alone (15)")
    options = parser.parse_args()
    moves = Moves(System("cluster", options.conninfo), max(1, round(options.size * 1e9 / BYTES_PER_SCALE)))

    moves.move("block_writes")  # each node has had the rows once
    ways = [moves.dump, lambda: moves.move("block_writes"), lambda: moves.move("force_logical")]
    # In turn, so that a machine that is slower for a while is so for all of them.
    dump, blocking, online = (statistics.median(times) for times in zip(*([timed(way) for way in ways] for _ in range(ROUNDS))))
    line("pg_dump | psql", dump)
    line("blocking move", blocking, goal=f"online / 1.3 = {online / 1.3:.2f}", reached=blocking <= online / 1.3)
    line("online move", online, goal="not slower than pg_dump | psql", reached=online <= dump)
    took, kept, longest = moves.beside(lambda: moves.move("force_logical"), options.seconds)
    line(f"online move beside {CLIENTS} clients of pgbench", took)
    line("... what pgbench keeps of its transactions", kept, "", "0.6", kept >= 0.6)
    line("... longest transaction", longest, goal="1", reached=longest < 1)
    moves.system.vacuum("pgbench_accounts")  # as it was for the move
    split = timed(lambda: moves.split("force_logical"))
    line("online split in two, on both nodes", split, goal=f"1.5 online moves = {1.5 * online:.2f}", reached=split <= 1.5 * online)


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"moves: {failure}")
