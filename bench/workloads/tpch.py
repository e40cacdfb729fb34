"""TPC-H: its 22 queries in two layouts; the paper's, and every table by its own key."""
import glob
import os
import shutil
import subprocess
import tempfile

from . import Dataset, Workload

FILES = os.path.join(os.path.dirname(__file__), "..", "tpch")
TABLES = ("region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem")


def generator():
    """tpchgen-cli, from PyPI into a directory of its own if the machine does not have it."""
    found = shutil.which("tpchgen-cli")
    if found:
        return found
    home = os.path.join(tempfile.gettempdir(), f"pando-bench-venv-{os.getuid()}")
    path = os.path.join(home, "bin", "tpchgen-cli")
    if not os.path.exists(path):
        subprocess.run(["python3", "-m", "venv", home], check=True)
        subprocess.run([os.path.join(home, "bin", "pip"), "install", "-q", "tpchgen-cli"], check=True)
    return path


def data_directory(size):
    directory = os.path.join(tempfile.gettempdir(), f"pando-bench-tpch-{os.getuid()}-{size:g}")
    if not os.path.exists(directory):
        subprocess.run([generator(), "csv", "-s", f"{size:g}", f"--output-dir={directory}.part"],
                       check=True, capture_output=True)
        os.rename(directory + ".part", directory)
    return directory


def text(name):
    with open(os.path.join(FILES, name)) as file:
        return file.read()


def dataset(layout, title, least_ratio):
    path = f"SET search_path TO tpch_{layout};\n"

    def prepare(system, size):
        data = data_directory(size)
        system.sql(f"DROP SCHEMA IF EXISTS tpch_{layout} CASCADE; CREATE SCHEMA tpch_{layout};\n"
                   + path + text("schema.sql") + (text(f"{layout}.sql") if system.distributed else ""))
        for table in TABLES:
            system.copy_in(f"COPY tpch_{layout}.{table} FROM STDIN WITH (FORMAT csv, HEADER)",
                           os.path.join(data, table + ".csv"))
        system.sql(path + text("indexes.sql"))
        system.vacuum(*(f"tpch_{layout}.{table}" for table in TABLES))

    def query(file):
        return lambda system, size: system.timed(path + text(file))

    names = sorted(os.path.basename(file) for file in glob.glob(os.path.join(FILES, "queries", "q*.sql")))
    return Dataset("tpch_" + layout, prepare, [
        Workload(title, name[:-4], "s", query(os.path.join("queries", name))) for name in names
    ], total_goal={"cluster": least_ratio})


PAPER = dataset("paper", "TPC-H, lineitem and orders distributed", 1 / 1.2)
SPREAD = dataset("spread", "TPC-H, every table distributed", 1 / 2.0)
