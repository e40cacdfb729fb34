#!/usr/bin/env python3
"""TPC-H at scale factor 0.1: each query has PostgreSQL's rows, in every layout and with any number of shards.

    tpch.py [SIZE]

Tables, layouts and queries are those of bench/tpch, the data those of its generator. Exits with 77 where that
cannot be had.
"""
import os
import subprocess
import sys

import cluster
import layouts

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'bench'))
from workloads import tpch  # noqa: E402

DATABASE = 'tpch'
QUERIES = [f'q{number:02}' for number in range(1, 23)]
# Joins and aggregates of all sorts; the rest gains nothing from another number of shards.
SOME = ['q02', 'q05', 'q07', 'q13', 'q16', 'q18', 'q20', 'q21', 'q22']
# Schema, layout, shards of a table, queries.
LAYOUTS = [('paper', 'paper', 32, QUERIES), ('spread', 'spread', 32, QUERIES), ('spread_1', 'spread', 1, SOME), ('spread_3', 'spread', 3, SOME)]


def load(schema, layout, shards, data):
    script = tpch.text('schema.sql')
    if layout:
        script += f'SET citus.shard_count = {shards};\n' + tpch.text(f'{layout}.sql')
    for table in tpch.TABLES:
        script += f"\\copy {table} FROM '{data}/{table}.csv' WITH (FORMAT csv, HEADER)\n"
    layouts.load(DATABASE, schema, script + tpch.text('indexes.sql') + layouts.analyze(tpch.TABLES))


def main():
    try:
        data = tpch.data_directory(float(sys.argv[1]) if len(sys.argv) > 1 else 0.1)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f'the generator tpchgen-cli cannot be had: {error}')
        sys.exit(77)
    comparison = layouts.Comparison({query: tpch.text(f'queries/{query}.sql') for query in QUERIES})
    cluster.create_cluster(DATABASE)
    load('plain', None, 0, data)
    comparison.expect(DATABASE, 'plain')
    for schema, layout, shards, queries in LAYOUTS:
        load(schema, layout, shards, data)
        comparison.compare(DATABASE, schema, queries)
        cluster.must(DATABASE, f'SET client_min_messages = warning; DROP SCHEMA {schema} CASCADE')
    comparison.end(DATABASE)


main()
