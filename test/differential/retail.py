#!/usr/bin/env python3
"""A retailer's snowflake in the manner of TPC-DS: each query has PostgreSQL's rows, in every layout, with shards elsewhere
and all on this node.

    retail.py [SIZE]

Tables, rows, layouts and queries are those of bench/retail. A query that has no rows on plain tables would show nothing: it fails.
"""
import os
import sys
import time

import cluster

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'bench'))
from workloads import retail  # noqa: E402

WORKERS = 'retail'
ALONE = 'retail_alone'
# Database, schema, layout, shards of a table.
LAYOUTS = [(WORKERS, 'star', 'star', 32), (WORKERS, 'spread', 'spread', 32), (WORKERS, 'spread_3', 'spread', 3),
           (ALONE, 'star', 'star', 32), (ALONE, 'spread', 'spread', 32)]


def create_alone():
    """A cluster of one node, which holds the shards."""
    cluster.create_plain(ALONE)
    cluster.must(ALONE, 'CREATE EXTENSION pando')
    cluster.must(ALONE, f"SELECT citus_set_coordinator_host('127.0.0.1', {cluster.COORDINATOR})")


def load(database, schema, layout, shards, size):
    script = f'SET client_min_messages = warning; CREATE SCHEMA {schema}; SET search_path = {schema};\n' + retail.text('schema.sql')
    if layout:
        script += f'SET citus.shard_count = {shards};\n' + retail.text(f'{layout}.sql')
    script += retail.data(size) + retail.text('indexes.sql')
    cluster.must(database, script + ''.join(f'ANALYZE {table};\n' for table in retail.TABLES))


def run(database, schema, query, psql=cluster.psql):
    """The rows as sorted lines, and the duration."""
    start = time.monotonic()
    script = f'SET search_path = {schema};\nSET statement_timeout = 180000;\n' + retail.text(f'queries/{query}.sql')
    return sorted(psql(database, script, '-At', '-P', 'null=NULL').strip().split('\n')), time.monotonic() - start


def main():
    size = float(sys.argv[1]) if len(sys.argv) > 1 else 0.02
    cluster.create_cluster(WORKERS)
    create_alone()
    load(WORKERS, 'plain', None, 0, size)
    expected = {query: run(WORKERS, 'plain', query, cluster.must) for query in retail.QUERIES}
    failed = [f'{query} has no rows' for query, (rows, _) in expected.items() if rows == ['']]
    for database, schema, layout, shards in LAYOUTS:
        load(database, schema, layout, shards, size)
        total = 0
        for query in retail.QUERIES:
            rows, seconds = run(database, schema, query)
            total += seconds
            if rows != expected[query][0]:
                failed.append(f'{database}.{schema} {query} differs')
                print(failed[-1])
                print('  only plain:', *[row for row in expected[query][0] if row not in rows][:5], sep='\n    ')
                print('  only here:', *[row for row in rows if row not in expected[query][0]][:5], sep='\n    ')
        plain = sum(seconds for _, seconds in expected.values())
        print(f'{database}.{schema}: {len(retail.QUERIES)} queries in {total:.1f} s, {plain:.1f} s on plain tables')
    print(*failed, f'{len(failed)} failed', sep='\n')
    if not failed:
        cluster.drop(WORKERS)
        cluster.must('postgres', f'DROP DATABASE {ALONE} WITH (FORCE)')
    sys.exit(1 if failed else 0)


main()
