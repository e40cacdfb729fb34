#!/usr/bin/env python3
"""Random SELECTs over the tables of test/regress/sql/compare_setup.sql, as one call of
public.compare(), which prints what differs between distributed and plain tables.

    random_queries.py SEED COUNT | psql ...

Statements that fail on both sides with an error other than the few that compare() knows are
printed as well: the generator means to write none. The same seed gives the same text.
"""
import random
import sys

TABLES = {'a': ['k', 'id', 'x'], 'b': ['k', 'id', 'x'], 'c': ['k', 'ak', 'x'], 'e': ['k', 'x'],
          'r': ['id', 'x'], 'r2': ['id', 'rid'], 'loc': ['id', 'x'], 's1': ['id', 'x'],
          'tree': ['k', 'id', 'parent']}
names = 0


def alias():
    global names
    names += 1
    return f't{names}'


def column(scope, prefer_key=0.0):
    name, columns = random.choice(scope)
    if 'k' in columns and random.random() < prefer_key:
        return f'{name}.k'
    return f'{name}.{random.choice(columns)}'


def item(depth):
    name = alias()
    if depth > 0 and random.random() < 0.25:
        text, columns = subquery(depth - 1)
        return f'({text}) {name}', [(name, columns)]
    table = random.choice(['a', 'a', 'b', 'b', 'c', 'e', 'r', 'r2', 'loc', 's1', 'tree'])
    return f'{table} {name}', [(name, TABLES[table])]


def sublink(scope, depth):
    outer = column(scope, 0.6)
    table = random.choice(list(TABLES))
    inner_scope = [(alias(), TABLES[table])]
    name = inner_scope[0][0]
    inner = column(inner_scope, 0.6)
    rest = ''
    if random.random() < 0.4:
        rest += f" AND {column(inner_scope)} {random.choice('=><')} {random.randint(0, 8)}"
    if depth > 0 and random.random() < 0.25:
        rest += ' AND ' + sublink(inner_scope + scope, depth - 1)
    return random.choice([
        f'EXISTS (SELECT 1 FROM {table} {name} WHERE {inner} = {outer}{rest})',
        f'NOT EXISTS (SELECT 1 FROM {table} {name} WHERE {inner} = {outer}{rest})',
        f'{outer} IN (SELECT {inner} FROM {table} {name} WHERE true{rest})',
        f'{outer} NOT IN (SELECT {inner} FROM {table} {name} WHERE true{rest})',
        f'{outer} > (SELECT count(*) FROM {table} {name} WHERE {inner} = {outer}{rest})',
        f'{outer} = (SELECT max({inner}) FROM {table} {name} WHERE true{rest})'])


def condition(left, right, full):
    parts = [f'{column(left, 0.6)} = {column(right, 0.6)}']
    # A full join must be on an equality that PostgreSQL can merge or hash.
    if not full:
        if random.random() < 0.3:
            op = random.choice(['=', '>', '<', '<>'])
            parts.append(f'{column(right, 0.3)} {op} {random.randint(0, 8)}')
        if random.random() < 0.15:
            parts.append(f'{column(left, 0.1)} = {column(right, 0.1)}')
        if random.random() < 0.12:
            parts.append(sublink(left + right, 1))
    return ' AND '.join(parts)


def join_tree(depth):
    text, scope = item(depth)
    for _ in range(random.choice([0, 1, 1, 2, 2, 3])):
        if depth > 0 and random.random() < 0.2:
            other, other_scope = join_tree(depth - 1)
            if len(other_scope) > 1:
                other = f'({other})'
        else:
            other, other_scope = item(depth)
        kind = random.choice(['JOIN'] * 3 + ['LEFT JOIN'] * 2 + ['RIGHT JOIN', 'FULL JOIN'])
        on = condition(scope, other_scope, kind == 'FULL JOIN')
        text, scope = f'{text} {kind} {other} ON {on}', scope + other_scope
    return text, scope


def where(scope):
    parts = []
    for _ in range(random.choice([0, 0, 1, 1, 2])):
        c = column(scope, 0.5)
        parts.append(random.choice([
            f'{c} = {random.randint(0, 9)}', f'{c} > {random.randint(0, 6)}',
            f'{c} IN ({random.randint(0, 9)}, {random.randint(0, 9)})', f'{c} IS NULL',
            f'({c} = {random.randint(0, 9)} OR {c} = {random.randint(0, 9)})',
            f'({c} = {random.randint(0, 9)} AND {column(scope)} > 1 OR {c} IN (3, NULL))',
            f"{c} = ANY ('{{1,{random.randint(0, 9)},NULL}}'::{random.choice(['int', 'bigint', 'smallint'])}[])",
            f'{c} = {random.randint(0, 9)}::{random.choice(["bigint", "smallint", "numeric"])}',
            f'NOT ({c} = {random.randint(0, 9)} AND {column(scope)} IS NULL)',
            f'({c}, {column(scope)}) IN (SELECT k, x FROM {random.choice("abc")})',
            f'{c} IS NOT DISTINCT FROM {column(scope)}',
            f'{c} IS NOT NULL', f'coalesce({c}, -1) < {random.randint(0, 8)}',
            sublink(scope, 1), sublink(scope, 1)]))
    return ' WHERE ' + ' AND '.join(parts) if parts else ''


def subquery(depth):
    text, scope = join_tree(depth)
    text += where(scope)
    c, d = column(scope, 0.7), column(scope)
    kind = random.random()
    if kind < 0.3:
        return f'SELECT {c} AS k, count(*) AS n FROM {text} GROUP BY {c}', ['k', 'n']
    if kind < 0.45:
        return f'SELECT DISTINCT {c} AS k, {d} AS x FROM {text}', ['k', 'x']
    if kind < 0.55:
        limit = random.randint(1, 12)
        return f'SELECT {c} AS k, {d} AS x FROM {text} ORDER BY 1, 2 LIMIT {limit}', ['k', 'x']
    if kind < 0.65:
        window = f'PARTITION BY {random.choice([c, d])} ORDER BY {d}'
        return f'SELECT {c} AS k, rank() OVER ({window}) AS x FROM {text}', ['k', 'x']
    if kind < 0.75:
        other, other_scope = join_tree(0)
        op = random.choice(['UNION ALL', 'UNION', 'EXCEPT', 'INTERSECT'])
        return f'SELECT {c} AS k FROM {text} {op} SELECT {column(other_scope, 1)} FROM {other}', ['k']
    return f'SELECT {c} AS k, {d} AS x FROM {text}', ['k', 'x']


def aggregate(c, d):
    return random.choice([
        f'count(DISTINCT {c})', f'sum(DISTINCT {c})', f'count(*) FILTER (WHERE {d} > 3)', f'max({c})', f'min({d})',
        f'array_agg({c} ORDER BY {c}, {d})', f'array_agg(DISTINCT {c})', f'avg({c})', f'bool_or({c} > {d})',
        f"string_agg({c}::text, ',' ORDER BY {c} DESC)", f'stddev({c}) FILTER (WHERE {d} IS NOT NULL) > 1',
        f'percentile_disc(0.5) WITHIN GROUP (ORDER BY {c})', f'sum({c}) FILTER (WHERE {d} IS NULL)', f'bit_or({d})',
        f'count({c}) + sum({d})', f'max(coalesce({c}, {d}))'])


def wide_statement():
    """Kinds that statement() doesn't write."""
    text, scope = join_tree(1)
    joins = text
    text += where(scope)
    c, d, e = column(scope, 0.6), column(scope), column(scope)
    kind = random.randrange(11)
    if kind == 0:
        return f'SELECT {aggregate(c, d)}, {aggregate(d, e)} FROM {text}'
    if kind == 1:
        having = random.choice(['', f' HAVING count(*) > {random.randint(1, 4)}', f' HAVING max({d}) > 2'])
        return f'SELECT {c}, {aggregate(d, e)}, {aggregate(e, d)} FROM {text} GROUP BY {c}{having}'
    if kind == 2:
        sets = random.choice([f'ROLLUP ({c}, {d})', f'CUBE ({c}, {d})', f'GROUPING SETS (({c}), ({d}), ())', f'GROUPING SETS (({c}, {d}), ({c}))'])
        return f'SELECT {c}, {d}, {aggregate(e, c)}, grouping({c}, {d}) FROM {text} GROUP BY {sets}'
    if kind == 3:
        window = f'PARTITION BY {random.choice([c, d])} ORDER BY {e}'
        return f'SELECT {c}, sum({e}) OVER ({window}), dense_rank() OVER (ORDER BY {d}, {e}) FROM {text}'
    if kind == 4:
        return f'SELECT {c}, sum(count(*)) OVER (ORDER BY {c}) FROM {text} GROUP BY {c}'
    if kind == 5:
        other, other_scope = join_tree(0)
        third, third_scope = join_tree(0)
        a, b = random.choice(['UNION ALL', 'UNION', 'EXCEPT', 'INTERSECT', 'EXCEPT ALL', 'INTERSECT ALL']), random.choice(['UNION ALL', 'UNION', 'EXCEPT'])
        return (f'SELECT {c}, {d} FROM {text} {a} (SELECT {column(other_scope, 0.8)}, {column(other_scope)} FROM {other} {b} '
                f'SELECT {column(third_scope, 0.8)}, {column(third_scope)} FROM {third})')
    if kind == 6:
        table = random.choice(['tree', 'tree', 'r2', 'c'])
        up = {'tree': 'parent', 'r2': 'rid', 'c': 'ak'}[table]
        key = {'tree': 'id', 'r2': 'id', 'c': 'k'}[table]
        same = ' AND n.k = q.k' if table == 'tree' and random.random() < 0.7 else ''
        k = 'k' if table == 'tree' else key
        return (f'WITH RECURSIVE q(k, id, depth) AS (SELECT {k}, {key}, 0 FROM {table} WHERE {key} < 4 UNION '
                f'SELECT n.{k}, n.{key}, depth + 1 FROM {table} n JOIN q ON n.{up} = q.id{same} WHERE depth < 5) '
                f'SELECT q.k, count(*), max(depth) FROM q JOIN {random.choice(["a", "b", "loc", "r"])} t ON t.id = q.k GROUP BY q.k')
    if kind == 7:
        how = random.choice(['MATERIALIZED', 'NOT MATERIALIZED', ''])
        inner, columns = subquery(1)
        return f'WITH q AS {how} ({inner}) SELECT count(*), count(DISTINCT q.k) FROM q WHERE q.k IN (SELECT k FROM q WHERE k > {random.randint(0, 5)}) OR EXISTS (SELECT 1 FROM {random.choice("abc")} z WHERE z.k = q.k)'
    if kind == 8:
        inner = random.choice([f'SELECT x, id FROM {random.choice("ab")} z WHERE z.k = {c} ORDER BY id, x LIMIT 2',
                               f'SELECT count(*) AS x, max(z.x) AS id FROM b z WHERE z.x = {d}',
                               f'SELECT {e} AS x, z.id FROM r z WHERE z.id = {c} OR z.x = {d}'])
        return f'SELECT {c}, l.* FROM {joins} {random.choice(["LEFT JOIN LATERAL", "JOIN LATERAL"])} ({inner}) l ON {random.choice(["true", "l.x > 0"])}'
    if kind == 9:
        return f'SELECT count(*), sum(s.c), max(d.big) FROM (SELECT {c} AS c, {d} AS d FROM {text}) s {random.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN"])} d ON d.t = \'y\' || s.c AND d.flag IS {random.choice(["NOT TRUE", "TRUE", "NOT NULL"])}'
    limit = random.randint(1, 20)
    return f'SELECT /* ordered */ DISTINCT {c}, {d}, {e} FROM {text} ORDER BY 1 {random.choice(["", "DESC", "NULLS FIRST", "DESC NULLS LAST"])}, 2, 3 LIMIT {limit} OFFSET {random.randint(0, 4)}'


def statement():
    if random.random() < 0.5:
        return wide_statement()
    text, scope = join_tree(2)
    text += where(scope)
    columns = [f'{name}.{random.choice(names)}'
               for name, names in random.sample(scope, min(len(scope), 2))]
    c, d = columns[0], columns[-1]
    kind = random.random()
    if kind < 0.3:
        return f'SELECT count(*), sum({c}), sum({d}) FROM {text}'
    if kind < 0.5:
        return f'SELECT {c}, count(*), avg({d}), count(DISTINCT {d}) FROM {text} GROUP BY {c}'
    if kind < 0.6:
        return f'SELECT {c}, count(*), (SELECT count(*) FROM b WHERE b.k = {c}) FROM {text} GROUP BY {c}'
    if kind < 0.7:
        return f'SELECT DISTINCT {c}, {d} FROM {text}'
    if kind < 0.8:
        return f'SELECT /* ordered */ {c}, {d} FROM {text} ORDER BY {c}, {d} LIMIT {random.randint(1, 30)}'
    if kind < 0.9:
        return subquery(2)[0]
    return f'WITH q AS ({subquery(1)[0]}) SELECT q1.k, count(*) FROM q q1 JOIN q q2 ON q1.k = q2.k GROUP BY q1.k'


def main():
    random.seed(int(sys.argv[1]))
    print('SELECT public.compare($compare$')
    wanted = int(sys.argv[2])
    while wanted > 0:
        text = statement()
        if text.count(' JOIN ') <= 6:
            print(text + ';')
            wanted -= 1
    print('$compare$);')


main()
