"""A retailer's snowflake in the manner of TPC-DS: 20 queries of our own in two layouts, rows from a generator of our own."""
import glob
import os

from . import Dataset, Workload

FILES = os.path.join(os.path.dirname(__file__), "..", "retail")
TABLES = ("dates", "item", "address", "demographic", "customer", "store", "promotion",
          "store_sales", "store_returns", "remote_sales")
QUERIES = sorted(os.path.basename(file)[:-4] for file in glob.glob(os.path.join(FILES, "queries", "q*.sql")))
LAYOUTS = {"star": "sales distributed by ticket", "spread": "every table distributed"}


def text(name):
    with open(os.path.join(FILES, name)) as file:
        return file.read()


def data(size):
    """SQL that fills the tables: a million sales at size 1."""
    number = {"n_sales": 1_000_000 * size, "n_items": max(300, 10_000 * size), "n_customers": max(600, 50_000 * size),
              "n_stores": 8 + 12 * size}
    return "".join(f"\\set {name} {int(value)}\n" for name, value in number.items()) + text("data.sql")


def dataset(layout):
    path = f"SET search_path TO retail_{layout};\n"

    def prepare(system, size):
        system.sql(f"DROP SCHEMA IF EXISTS retail_{layout} CASCADE; CREATE SCHEMA retail_{layout};\n"
                   + path + text("schema.sql") + (text(f"{layout}.sql") if system.distributed else "") + data(size)
                   + text("indexes.sql"))
        system.vacuum(*(f"retail_{layout}.{table}" for table in TABLES))

    def query(name):
        return lambda system, size: system.timed(path + text(f"queries/{name}.sql"))

    return Dataset("retail_" + layout, prepare, [
        Workload(f"a retailer, {LAYOUTS[layout]}", name, "s", query(name)) for name in QUERIES])


STAR = dataset("star")
SPREAD = dataset("spread")
