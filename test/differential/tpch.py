#!/usr/bin/env python3
"""TPC-H at scale factor 0.1: each query has PostgreSQL's rows, in every layout and with any number of shards.

    tpch.py [SIZE]

Tables, layouts and queries are those of bench/tpch, the data those of its generator. Exits with 77 where that
cannot be had.
"""
import os
import subprocess
import sys
import time

import cluster

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'bench'))
from workloads import tpch  # noqa: E402

DATABASE = 'tpch'
QUERIES = [f'q{number:02}' for number in range(1, 23)]
# Joins and aggregates of all sorts; the rest gains nothing from another number of shards.
SOME = ['q02', 'q05', 'q07', 'q13', 'q16', 'q18', 'q20', 'q21', 'q22']
# Schema, layout, shards of a table, queries.
LAYOUTS = [('paper', 'paper', 32, QUERIES), ('spread', 'spread', 32, QUERIES), ('spread_1', 'spread', 1, SOME), ('spread_3', 'spread', 3, SOME)]


def load(schema, layout, shards, data):
    path = f'SET client_min_messages = warning; SET search_path = {schema};\n'
    script = f'CREATE SCHEMA {schema};\n{path}' + tpch.text('schema.sql')
    if layout:
        script += f'SET citus.shard_count = {shards};\n' + tpch.text(f'{layout}.sql')
    for table in tpch.TABLES:
        script += f"\\copy {table} FROM '{data}/{table}.csv' WITH (FORMAT csv, HEADER)\n"
    cluster.must(DATABASE, script + tpch.text('indexes.sql') + ''.join(f'ANALYZE {table};\n' for table in tpch.TABLES))


def run(schema, query, psql=cluster.psql):
    """The rows as sorted lines, and the duration."""
    start = time.monotonic()
    script = f'SET search_path = {schema};\nSET statement_timeout = 180000;\n' + tpch.text(f'queries/{query}.sql')
    return sorted(psql(DATABASE, script, '-At', '-P', 'null=NULL').split('\n')), time.monotonic() - start


def main():
    try:
        data = tpch.data_directory(float(sys.argv[1]) if len(sys.argv) > 1 else 0.1)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f'the generator tpchgen-cli cannot be had: {error}')
        sys.exit(77)
    cluster.create_cluster(DATABASE)
    load('plain', None, 0, data)
    expected = {query: run('plain', query, cluster.must) for query in QUERIES}
    failed = 0
    for schema, layout, shards, queries in LAYOUTS:
        load(schema, layout, shards, data)
        total = 0
        for query in queries:
            rows, seconds = run(schema, query)
            total += seconds
            if rows != expected[query][0]:
                failed += 1
                print(f'{schema} {query} differs')
                print('  only plain:', *[row for row in expected[query][0] if row not in rows][:5], sep='\n    ')
                print('  only here:', *[row for row in rows if row not in expected[query][0]][:5], sep='\n    ')
        plain = sum(expected[query][1] for query in queries)
        print(f'{schema}: {len(queries)} queries in {total:.1f} s, {plain:.1f} s on plain tables')
        cluster.must(DATABASE, f'SET client_min_messages = warning; DROP SCHEMA {schema} CASCADE')
    print(f'{failed} differ')
    if not failed:
        cluster.drop(DATABASE)
    sys.exit(1 if failed else 0)


main()
