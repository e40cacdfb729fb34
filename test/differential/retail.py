#!/usr/bin/env python3
"""A retailer's snowflake in the manner of TPC-DS: each query has PostgreSQL's rows, in every layout, with shards elsewhere
and all on this node.

    retail.py [SIZE]

Tables, rows, layouts and queries are those of bench/retail. A query that has no rows on plain tables fails.
"""
import os
import sys

import cluster
import layouts

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
    script = retail.text('schema.sql')
    if layout:
        script += f'SET citus.shard_count = {shards};\n' + retail.text(f'{layout}.sql')
    layouts.load(database, schema, script + retail.data(size) + retail.text('indexes.sql') + layouts.analyze(retail.TABLES))


def main():
    size = float(sys.argv[1]) if len(sys.argv) > 1 else 0.02
    comparison = layouts.Comparison({query: retail.text(f'queries/{query}.sql') for query in retail.QUERIES}, empty_fails=True)
    cluster.create_cluster(WORKERS)
    create_alone()
    load(WORKERS, 'plain', None, 0, size)
    comparison.expect(WORKERS, 'plain')
    for database, schema, layout, shards in LAYOUTS:
        load(database, schema, layout, shards, size)
        comparison.compare(database, schema)
    comparison.end(WORKERS, ALONE)


main()
