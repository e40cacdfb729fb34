#!/usr/bin/env python3
"""Every kind of correlated subquery in every place, for every kind of outer item, over the tables of
test/regress/sql/compare_setup.sql: distributed ones and plain ones have to give the same rows. Then in every
place of UPDATE, DELETE and INSERT ... SELECT, for every kind of target: they must have the same rows afterwards.

    correlated_matrix.py [PART PARTS]

Without arguments a twentieth of all combinations; `0 1` is all of them.
"""
import itertools
import re
import sys

import cluster
import random_writes

DATABASE = 'correlated_matrix'

# What FROM has, and the outer column that is compared.
OUTER = {
    'table': ('a o', 'o.k'), 'nullable': ('c o', 'o.k'), 'not key': ('a o', 'o.x'), 'subquery': ('(SELECT id, k AS kk FROM a) o', 'o.kk'),
    'lateral': ('a p CROSS JOIN LATERAL (SELECT c.k, c.x FROM c WHERE c.k = p.k AND p.id < 40) o', 'o.k'),
    'with': ('(WITH z AS (SELECT * FROM a) SELECT * FROM z) o', 'o.k'), 'reference': ('r o', 'o.id'), 'local': ('loc o', 'o.id'),
    'single shard': ('s1 o', 'o.id'), 'view': ('av o', 'o.k'), 'values': ('(VALUES (1), (3), (NULL)) o(k)', 'o.k'),
    'function': ('generate_series(1, 6) o(k)', 'o.k'), 'using': ('a JOIN c USING (k) AS o', 'o.k')}
# Where a subquery (%(q)s, one column n) stands. %(f)s: FROM, %(o)s: the outer column.
PLACES = {
    'select list': 'SELECT %(o)s, (SELECT count(n) FROM (%(q)s) i) FROM %(f)s',
    'array': 'SELECT %(o)s, ARRAY(SELECT n FROM (%(q)s) i ORDER BY n) FROM %(f)s',
    'exists': 'SELECT %(o)s FROM %(f)s WHERE EXISTS (%(q)s)', 'not exists': 'SELECT %(o)s FROM %(f)s WHERE NOT EXISTS (%(q)s)',
    'distinct exists': 'SELECT DISTINCT %(o)s FROM %(f)s WHERE EXISTS (%(q)s)',
    'not exists for some': 'SELECT %(o)s FROM %(f)s WHERE %(o)s < 5 AND NOT EXISTS (%(q)s)',
    'in': 'SELECT %(o)s FROM %(f)s WHERE %(o)s IN (%(q)s)', 'not in': 'SELECT %(o)s FROM %(f)s WHERE %(o)s NOT IN (%(q)s)',
    'scalar': 'SELECT %(o)s FROM %(f)s WHERE %(o)s < (SELECT max(n) FROM (%(q)s) i)',
    'any': 'SELECT %(o)s FROM %(f)s WHERE %(o)s < ANY (%(q)s)', 'all': 'SELECT %(o)s FROM %(f)s WHERE %(o)s >= ALL (%(q)s)',
    'having': 'SELECT %(o)s, count(*) FROM %(f)s GROUP BY %(o)s HAVING EXISTS (%(q)s)',
    'order by': 'SELECT %(o)s FROM %(f)s ORDER BY (SELECT min(n) FROM (%(q)s) i)',
    'group by': 'SELECT count(*) FROM %(f)s GROUP BY (SELECT min(n) FROM (%(q)s) i)',
    'join on': 'SELECT %(o)s, j.id FROM %(f)s LEFT JOIN r j ON EXISTS (%(q)s) AND j.id < 3',
    'lateral': 'SELECT %(o)s, i.n FROM %(f)s JOIN LATERAL (%(q)s) i ON true',
    'lateral left': 'SELECT %(o)s, i.n FROM %(f)s LEFT JOIN LATERAL (%(q)s) i ON i.n > 1',
    'case': 'SELECT CASE WHEN EXISTS (%(q)s) THEN %(o)s END FROM %(f)s',
    'argument': 'SELECT coalesce((SELECT max(n) FROM (%(q)s) i), -1) FROM %(f)s',
    'aggregate': 'SELECT sum((SELECT count(*) FROM (%(q)s) i)) FROM %(f)s'}
# The subquery: one column, n; %(t)s is a table with columns k, x; %(o)s the outer column.
INNER = {
    'plain': 'SELECT x AS n FROM %(t)s t WHERE t.k = %(o)s', 'other': 'SELECT t.k AS n FROM %(t)s t WHERE t.x = %(o)s',
    'with': 'WITH w AS (SELECT * FROM %(t)s t WHERE t.k = %(o)s) SELECT x AS n FROM w',
    'materialized': 'WITH w AS MATERIALIZED (SELECT * FROM %(t)s t WHERE t.k = %(o)s) SELECT x AS n FROM w',
    'nested with': 'WITH w AS (WITH v AS (SELECT * FROM %(t)s t WHERE t.k = %(o)s) SELECT * FROM v) SELECT x AS n FROM w',
    'with twice': 'WITH w AS (SELECT * FROM %(t)s t WHERE t.k = %(o)s) SELECT w.x AS n FROM w JOIN (SELECT DISTINCT x FROM w) v ON v.x = w.x',
    'with below': 'WITH w AS (SELECT * FROM %(t)s t WHERE t.k = %(o)s) SELECT (SELECT max(x) FROM w WHERE w.k = t.k) AS n FROM c t WHERE t.k = %(o)s',
    'with joined': 'WITH w AS (SELECT * FROM %(t)s t WHERE t.k = %(o)s) SELECT t.x AS n FROM w JOIN c t ON t.k = w.k',
    'recursive': 'WITH RECURSIVE w AS (SELECT id, parent FROM tree WHERE k = %(o)s UNION SELECT t.id, t.parent FROM w JOIN tree t ON t.id = w.parent '
                 'AND t.k = %(o)s) SELECT id AS n FROM w',
    'union all': 'SELECT x AS n FROM %(t)s t WHERE t.k = %(o)s UNION ALL SELECT x FROM c WHERE c.k = %(o)s',
    'union': 'SELECT x AS n FROM %(t)s t WHERE t.k = %(o)s UNION SELECT x FROM c WHERE c.k = %(o)s',
    'intersect': 'SELECT x AS n FROM %(t)s t WHERE t.k = %(o)s INTERSECT SELECT x FROM c WHERE c.k = %(o)s',
    'except': 'SELECT x AS n FROM %(t)s t WHERE t.k = %(o)s EXCEPT SELECT x FROM c WHERE c.k = %(o)s',
    'limit': 'SELECT x AS n FROM %(t)s t WHERE t.k = %(o)s ORDER BY x LIMIT 2',
    'offset': 'SELECT x AS n FROM %(t)s t WHERE t.k = %(o)s ORDER BY x OFFSET 1',
    'window': 'SELECT rank() OVER (ORDER BY x) AS n FROM %(t)s t WHERE t.k = %(o)s',
    'values': 'SELECT v.n FROM (VALUES (1), (%(o)s)) v(n)', 'function': 'SELECT g AS n FROM generate_series(1, %(o)s) g',
    'lateral': 'SELECT i.n FROM %(t)s t, LATERAL (SELECT c.x AS n FROM c WHERE c.k = t.k AND c.k = %(o)s) i',
    'aggregate': 'SELECT max(x) AS n FROM %(t)s t WHERE t.k = %(o)s', 'group by': 'SELECT count(*) AS n FROM %(t)s t WHERE t.k = %(o)s GROUP BY x',
    'grouping sets': 'SELECT count(*) AS n FROM %(t)s t WHERE t.k = %(o)s GROUP BY ROLLUP (x)',
    'distinct': 'SELECT DISTINCT x AS n FROM %(t)s t WHERE t.k = %(o)s',
    'distinct on': 'SELECT DISTINCT ON (x) x AS n FROM %(t)s t WHERE t.k = %(o)s ORDER BY x',
    'join': 'SELECT t.x AS n FROM %(t)s t JOIN c USING (k) WHERE k = %(o)s',
    'outer join': 'SELECT t.x AS n FROM c LEFT JOIN %(t)s t ON t.k = c.k AND t.x = c.x WHERE c.k = %(o)s'}
TABLES = ['b', 'e']

TARGETS = {'table': ('a o', 'o.k'), 'not key': ('a o', 'o.x'), 'not colocated': ('e o', 'o.x'), 'reference': ('r o', 'o.id'), 'local': ('loc o', 'o.id'),
           'single shard': ('s1 o', 'o.id'), 'view': ('av o', 'o.k')}
WRITES = {
    'set': 'UPDATE %(f)s SET x = (SELECT max(n) FROM (%(q)s) i)', 'set where': 'UPDATE %(f)s SET x = (SELECT count(n) FROM (%(q)s) i) WHERE o.x > 1',
    'set columns': 'UPDATE %(f)s SET (x) = ROW((SELECT min(n) FROM (%(q)s) i))', 'update exists': 'UPDATE %(f)s SET x = 5 WHERE EXISTS (%(q)s)',
    'update not exists': 'UPDATE %(f)s SET x = o.x + 1 WHERE NOT EXISTS (%(q)s)', 'update in': 'UPDATE %(f)s SET x = 5 WHERE %(o)s IN (%(q)s)',
    'update not in': 'UPDATE %(f)s SET x = 5 WHERE %(o)s NOT IN (%(q)s)', 'update from': 'UPDATE %(f)s SET x = j.id FROM r j WHERE j.id = o.x AND EXISTS (%(q)s)',
    'update from set': 'UPDATE %(f)s SET x = (SELECT count(*) FROM (%(q)s) i) + j.id FROM r2 j WHERE j.id = o.x',
    'update returning': 'UPDATE %(f)s SET x = o.x RETURNING %(o)s, (SELECT count(n) FROM (%(q)s) i)',
    'delete exists': 'DELETE FROM %(f)s WHERE EXISTS (%(q)s)', 'delete not exists': 'DELETE FROM %(f)s WHERE NOT EXISTS (%(q)s)',
    'delete in': 'DELETE FROM %(f)s WHERE %(o)s IN (%(q)s)', 'delete scalar': 'DELETE FROM %(f)s WHERE %(o)s < (SELECT max(n) FROM (%(q)s) i)',
    'delete any': 'DELETE FROM %(f)s WHERE %(o)s < ANY (%(q)s)', 'delete all': 'DELETE FROM %(f)s WHERE %(o)s >= ALL (%(q)s)',
    'delete using': 'DELETE FROM %(f)s USING r j WHERE j.id = o.x AND EXISTS (%(q)s)', 'delete returning': 'DELETE FROM %(f)s WHERE o.x = 2 RETURNING %(o)s, EXISTS (%(q)s)',
    'in with': 'WITH d AS (DELETE FROM %(f)s WHERE EXISTS (%(q)s) RETURNING *) SELECT count(*) FROM d'}
INSERTS = {'list': 'INSERT INTO c (k, x) SELECT %(o)s, (SELECT max(n) FROM (%(q)s) i) FROM %(f)s', 'lateral': 'INSERT INTO e (k, x) SELECT i.n, %(o)s FROM %(f)s JOIN LATERAL (%(q)s) i ON true',
           'where': 'INSERT INTO c (k, x) SELECT %(o)s, %(o)s FROM %(f)s WHERE EXISTS (%(q)s)'}


def combinations(outer, places):
    for table, (f, o), place, inner in itertools.product(TABLES, outer.values(), places.values(), INNER.values()):
        yield place % {'f': f, 'o': o, 'q': inner % {'t': table, 'o': o}}


def chosen(all_of_them, part, parts):
    # 17 is prime to all the lengths: each kind is in each part.
    return [s for i, s in enumerate(all_of_them) if i * 17 // 5 % parts == part]


def compare(statements, function):
    """Prints what differs; returns whether anything does."""
    failed = False
    for start in range(0, len(statements), 50):
        text = ';\n'.join(statements[start:start + 50])
        out = cluster.psql(DATABASE, f'SELECT public.{function}($m${text}$m$)', '-At')
        if not re.search(r'^\d+ statements, 0 differ$', out, re.M):
            failed = True
            print(out, flush=True)
    return failed


def main():
    part, parts = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (5, 20)
    reads = chosen(combinations(OUTER, PLACES), part, parts)
    writes = chosen(itertools.chain(combinations(TARGETS, WRITES), combinations(OUTER, INSERTS)), part, parts)
    random_writes.set_up(DATABASE)
    cluster.must(DATABASE, 'CREATE VIEW plain.av AS SELECT * FROM plain.a; CREATE VIEW dist.av AS SELECT * FROM dist.a')
    failed = compare(reads, 'compare') | compare(writes, 'compare_writes')
    print(f'{len(reads)} queries, {len(writes)} changes')
    if not failed:
        cluster.drop(DATABASE)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
