"""A system under test: a server, or a cluster of servers behind one of them.

Everything goes through PostgreSQL's own programs (psql, pgbench) over one connection string. The
processor time of a system is that of all processes of all its servers; it is known when they run on
this machine, and None otherwise.
"""
import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

BIN = os.environ.get("PGBIN", "")
TICK = os.sysconf("SC_CLK_TCK")
LONGEST = 24 * 3600  # seconds that a pgbench may run, stops included


class Failed(Exception):
    """A program ended with an error; the text is its own."""


@dataclass
class Measure:
    """One run: a value (per second, or seconds), and processor seconds of the servers per unit."""
    value: float
    cpu: float | None
    memory: int | None = None  # bytes above idle of the backend that served the client


def program(name):
    return os.path.join(BIN, name)


def run(arguments, stdin=None):
    """Runs a program to its end and returns what it printed; raises Failed."""
    done = subprocess.run(arguments, input=stdin, capture_output=True, text=True)
    return output(done, done.stdout, done.stderr)


def output(ended, out, errors):
    """What a program that has ended printed; raises Failed if it did not end well."""
    if ended.returncode != 0:
        raise Failed(f"{os.path.basename(ended.args[0])}: {errors.strip() or out.strip()}")
    return out


def process_stat(pid):
    """Fields of /proc/<pid>/stat after the name: [0] is the state, [1] the parent."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()


def processor_seconds(postmasters):
    """User and system time of servers: of living processes, and of those that have ended."""
    ticks = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = process_stat(pid)
        except OSError:
            continue
        if int(pid) in postmasters:
            ticks += sum(int(field) for field in stat[11:15])
        elif int(stat[1]) in postmasters:
            ticks += int(stat[11]) + int(stat[12])
    return ticks / TICK


def private_memory(pid):
    """Bytes of memory that are a process's own (shared buffers are not)."""
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"RssAnon:\s+(\d+)", file.read()).group(1)) * 1024


class System:
    def __init__(self, name, conninfo):
        self.name = name
        self.conninfo = conninfo
        self.distributed = self.sql("SELECT count(*) FROM pg_proc WHERE proname = 'create_distributed_table'") != "0"
        self.nodes = [conninfo]
        if self.distributed:
            workers = self.sql("SELECT nodename || ' port=' || nodeport FROM pg_dist_node WHERE groupid <> 0")
            self.nodes += [f"{conninfo} host={address}" for address in workers.splitlines()]
        self.postmasters = self.find_postmasters()

    def find_postmasters(self):
        found = set()
        for node in self.nodes:
            directory = self.psql(["-d", node], "SHOW data_directory").strip()
            try:
                with open(os.path.join(directory, "postmaster.pid")) as file:
                    found.add(int(file.readline()))
            except OSError:
                return None
        return found

    def psql(self, options, text):
        return run([program("psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.conninfo, *options], text)

    def sql(self, text):
        """Runs statements, stops at the first error; what they returned, unaligned."""
        return self.psql([], text).strip()

    def distribute(self, table, column, colocate_with="default"):
        if self.distributed:
            self.sql(f"SELECT create_distributed_table('{table}', '{column}', colocate_with => '{colocate_with}')")

    def replicate(self, table):
        if self.distributed:
            self.sql(f"SELECT create_reference_table('{table}')")

    def vacuum(self, *tables):
        """Statistics and visibility as after a while of use, and nothing left to be written."""
        for table in tables:
            self.sql(f"VACUUM ANALYZE {table}")
        for node in self.nodes:
            self.psql(["-d", node], "CHECKPOINT")

    def cpu(self):
        if self.postmasters is None:
            return None
        time.sleep(0.2)  # the time of a process that is ending is nobody's for a moment
        return processor_seconds(self.postmasters)

    def timed(self, statements, watch_memory=False):
        """Seconds that statements take over an open connection, results thrown away by the client."""
        before = self.cpu()
        with Client(self) as client:
            memory = MemoryWatch(client.pid) if watch_memory and self.postmasters else None
            seconds = client.run(statements)
            peak = memory.stop() if memory else None
        after = self.cpu()
        return Measure(seconds, None if before is None else after - before, peak)

    def copy_in(self, command, path):
        """Seconds of a COPY ... FROM STDIN of a file."""
        before = self.cpu()
        start = time.monotonic()
        with open(path, "rb") as file:
            done = subprocess.run([program("psql"), "-Xq", "-v", "ON_ERROR_STOP=1", "-d", self.conninfo, "-c", command],
                                  stdin=file, capture_output=True, text=True)
        output(done, done.stdout, done.stderr)
        return Measure(time.monotonic() - start, None if before is None else self.cpu() - before)


def open_sockets(pid):
    def target(descriptor):
        try:
            return os.readlink(f"/proc/{pid}/fd/{descriptor}")
        except OSError:  # closed meanwhile
            return ""

    try:
        return sum(target(descriptor).startswith("socket:") for descriptor in os.listdir(f"/proc/{pid}/fd"))
    except OSError:  # it has ended
        return 0


class Transactions:
    """A pgbench that works while it has its turn, in go(), and is stopped before and after.

    So several systems can take turns of a second without connecting and planning anew at each.
    """

    def __init__(self, system, script, protocol, clients):
        self.system = system
        self.cpu_before = system.cpu()
        self.seconds = 0
        self.process = subprocess.Popen(
            [program("pgbench"), "-n", "-M", protocol, "-c", str(clients), "-j", str(min(clients, 2)), "-T", str(LONGEST),
             *script, system.conninfo], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # Connected before its first turn: time that passes while it is stopped would count as time to connect.
        while self.process.poll() is None and open_sockets(self.process.pid) < clients:
            time.sleep(0.001)
        self.process.send_signal(signal.SIGSTOP)

    def go(self, seconds):
        start = time.monotonic()
        self.process.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGSTOP)
        self.seconds += time.monotonic() - start

    def end(self):
        """Transactions per second of its turns; processor seconds per transaction. Raises Failed."""
        self.process.send_signal(signal.SIGALRM)  # what ends pgbench when its time is over
        self.process.send_signal(signal.SIGCONT)
        out = output(self.process, *self.process.communicate())
        transactions = int(re.search(r"actually processed: (\d+)", out).group(1))
        failed = re.search(r"failed transactions: (\d+)", out)
        if transactions == 0 or (failed and int(failed.group(1)) > 0):
            raise Failed(f"pgbench: {out}")
        cpu = None if self.cpu_before is None else (self.system.cpu() - self.cpu_before) / transactions
        return Measure(transactions / self.seconds, cpu)


class Client:
    """A psql that stays connected: so that connecting is not part of what is timed."""

    def __init__(self, system):
        self.process = subprocess.Popen([program("psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", system.conninfo],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pid = int(self.ask("SELECT pg_backend_pid();"))

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failed(self.process.stderr.read().strip())
        return line.strip()

    def run(self, statements):
        start = time.monotonic()
        self.ask(f"\\o /dev/null\n{statements}\n\\o\n\\echo done")
        return time.monotonic() - start

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


class MemoryWatch:
    """The largest growth of a process's own memory while it is watched, looked at 50 times a second."""

    def __init__(self, pid):
        self.pid = pid
        self.idle = self.peak = private_memory(pid)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while not self.ended.wait(0.02):
            self.peak = max(self.peak, private_memory(self.pid))

    def stop(self):
        self.ended.set()
        self.thread.join()
        return self.peak - self.idle
