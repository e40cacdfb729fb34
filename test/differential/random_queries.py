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


def statement():
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
