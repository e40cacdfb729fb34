#!/usr/bin/env python3
"""TPC-DS itself: each of its 99 queries has PostgreSQL's rows, with facts by ticket or order and the rest copied, and with
every table distributed.

    tpcds.py [SIZE]

Tables, rows and queries are those of DuckDB's package, from PyPI. Exits with 77 where it cannot be had. Queries run
without their LIMIT 100: with it rows that sort alike could be any.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import cluster
import layouts

DATABASE = 'tpcds'
PACKAGE = 'duckdb==0.10.3'
# By what the facts are distributed in each layout; the rest are reference tables, or distributed by their first column.
FACTS = {'store_sales': 'ss_ticket_number', 'store_returns': 'sr_ticket_number', 'catalog_sales': 'cs_order_number',
         'catalog_returns': 'cr_order_number', 'web_sales': 'ws_order_number', 'web_returns': 'wr_order_number',
         'inventory': 'inv_item_sk'}
LAYOUTS = ['star', 'spread']

GENERATE = '''
import duckdb, json, sys
size, directory = sys.argv[1:]
base = duckdb.connect()
base.execute('LOAD tpcds')
base.execute(f'CALL dsdgen(sf = {size})')
tables = {}
for table, column, kind in base.execute(
        'SELECT table_name, column_name, data_type FROM information_schema.columns ORDER BY table_name, ordinal_position').fetchall():
    tables.setdefault(table, []).append([column, kind])
for table in tables:
    base.execute(f"COPY {table} TO '{directory}/{table}.csv' (HEADER)")
queries = {f'q{number:02}': text for number, text in base.execute('SELECT query_nr, query FROM tpcds_queries()').fetchall()}
with open(f'{directory}/all.json', 'w') as file:
    json.dump([tables, queries], file)
'''


def generate(size):
    """The directory of the rows, with the columns of the tables and the texts of the queries in all.json; made once."""
    directory = os.path.join(tempfile.gettempdir(), f'pando-tpcds-{os.getuid()}-{size:g}')
    home = os.path.join(tempfile.gettempdir(), f'pando-tpcds-venv-{os.getuid()}')
    if not os.path.exists(directory):
        if not os.path.exists(os.path.join(home, 'done')):
            subprocess.run(['python3', '-m', 'venv', home], check=True)
            subprocess.run([os.path.join(home, 'bin', 'pip'), 'install', '-q', PACKAGE], check=True)
            open(os.path.join(home, 'done'), 'w').close()
        os.makedirs(directory + '.part', exist_ok=True)
        subprocess.run([os.path.join(home, 'bin', 'python'), '-c', GENERATE, f'{size:g}', directory + '.part'], check=True)
        os.rename(directory + '.part', directory)
    return directory


def load(schema, layout, tables, data):
    script = ''.join(f'CREATE TABLE {table} ({", ".join(" ".join(column) for column in columns)});\n' for table, columns in tables.items())
    for table, columns in tables.items():
        key = FACTS.get(table) if layout == 'star' else columns[0][0]
        if layout:
            script += f"SELECT create_distributed_table('{table}', '{key}');\n" if key else f"SELECT create_reference_table('{table}');\n"
        script += f"\\copy {table} FROM '{data}/{table}.csv' WITH (FORMAT csv, HEADER)\n"
    layouts.load(DATABASE, schema, 'SET citus.shard_count = 8;\n' + script + layouts.analyze(tables))


def main():
    try:
        data = generate(float(sys.argv[1]) if len(sys.argv) > 1 else 0.01)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f'{PACKAGE} cannot be had: {error}')
        sys.exit(77)
    with open(os.path.join(data, 'all.json')) as file:
        tables, queries = json.load(file)
    comparison = layouts.Comparison({name: re.sub(r'\s*LIMIT 100\s*;?\s*$', ';', text) for name, text in queries.items()})
    cluster.create_cluster(DATABASE)
    load('plain', None, tables, data)
    comparison.expect(DATABASE, 'plain')
    for layout in LAYOUTS:
        load(layout, layout, tables, data)
        comparison.compare(DATABASE, layout)
        cluster.must(DATABASE, f'SET client_min_messages = warning; DROP SCHEMA {layout} CASCADE')
    comparison.end(DATABASE)


main()
