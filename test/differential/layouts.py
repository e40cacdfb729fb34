"""What the comparisons of fixed queries share: the same rows in several layouts, and each query's rows in all of them.

A script that uses it creates its databases, calls expect() for plain tables, compare() for each layout, and end().
"""
import sys
import time

import cluster


def load(database, schema, statements):
    cluster.must(database, f'SET client_min_messages = warning;\nCREATE SCHEMA {schema};\nSET search_path = {schema};\n' + statements)


def analyze(tables):
    return ''.join(f'ANALYZE {table};\n' for table in tables)


class Comparison:
    """queries: name -> text."""

    def __init__(self, queries, empty_fails=False):
        self.queries = queries
        self.empty_fails = empty_fails
        self.failed = []
        self.expected = {}

    def run(self, database, schema, query, psql=cluster.psql):
        """The rows as sorted lines, and the duration."""
        start = time.monotonic()
        script = f'SET search_path = {schema};\nSET statement_timeout = 180000;\n' + self.queries[query]
        return sorted(psql(database, script, '-At', '-P', 'null=NULL').strip().split('\n')), time.monotonic() - start

    def expect(self, database, schema):
        """The rows of plain tables. With empty_fails a query that has none would show nothing: it fails."""
        self.expected = {query: self.run(database, schema, query, cluster.must) for query in self.queries}
        if self.empty_fails:
            self.failed += [f'{query} has no rows' for query, (rows, _) in self.expected.items() if rows == ['']]

    def compare(self, database, schema, queries=None):
        queries = queries or list(self.queries)
        total = 0
        for query in queries:
            wanted = self.expected[query][0]
            rows, seconds = self.run(database, schema, query)
            total += seconds
            if rows != wanted:
                self.failed.append(f'{database}.{schema} {query} differs')
                print(self.failed[-1])
                print('  only plain:', *[row for row in wanted if row not in rows][:5], sep='\n    ')
                print('  only here:', *[row for row in rows if row not in wanted][:5], sep='\n    ')
        plain = sum(self.expected[query][1] for query in queries)
        print(f'{database}.{schema}: {len(queries)} queries in {total:.1f} s, {plain:.1f} s on plain tables')

    def end(self, *databases):
        """Tells what failed and exits; the databases are kept then."""
        print(*self.failed, f'{len(self.failed)} failed', sep='\n')
        for database in [] if self.failed else databases:
            cluster.drop(database)
        sys.exit(1 if self.failed else 0)
