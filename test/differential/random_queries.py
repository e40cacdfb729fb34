#!/usr/bin/env python3
"""Random SELECTs, with PostgreSQL's rows on plain tables and on distributed ones.

    random_queries.py SEED [COUNT [SHARDS]]     compare COUNT statements
    random_queries.py --print SEED COUNT        only print them

Tables of all kinds, twice in one database: in schema plain, and in schema dist (colocated, distributed by other columns
and types, single-shard, reference, local; views over them), with NULLs everywhere.
Most tables have lost columns, before they were distributed or after. Every statement runs on both, as a
statement of its own; a difference, an error and a lost server are all failures. Rows are compared as a
bag, or in order where the whole order is asked for. Statements have one right answer: LIMIT and whatever else looks at
an order does so over all columns. The same seed gives the same statements.
"""
import os
import random
import re
import sys

import cluster

INT, TEXT, TAG = 'int', 'text', 'tag'
TABLES = {
    'a': {'k': INT, 'id': INT, 'x': INT, 't': TEXT}, 'b': {'k': INT, 'id': INT, 'x': INT}, 'c': {'k': INT, 'ak': INT, 'x': INT},
    'e': {'k': INT, 'x': INT, 't': TEXT}, 'f': {'id': INT, 'x': INT}, 'd': {'t': TEXT, 'x': INT},
    's1': {'id': INT, 'x': INT}, 's2': {'id': INT, 't': TEXT}, 's3': {'k': INT, 'x': INT},
    'r': {'id': INT, 'x': INT, 't': TEXT}, 'r2': {'id': INT, 'rid': INT},
    'l': {'id': INT, 'x': INT, 't': TEXT}, 'm': {'id': INT, 'x': INT}, 'tree': {'k': INT, 'id': INT, 'parent': INT},
    'v_group': {'k': INT, 'x': INT}, 'v_union': {'k': INT, 'x': INT}, 'v_join': {'k': INT, 'id': INT, 't': TEXT},
    'v_last': {'id': INT, 'x': INT}}
MAKE = """
CREATE TABLE a (gone int, k int NOT NULL, id int NOT NULL, x int, t text, PRIMARY KEY (k, id));
CREATE TABLE b (k int NOT NULL, gone text, id int NOT NULL, x int, PRIMARY KEY (k, id));
CREATE TABLE c (k int, ak int, x int, gone int);
CREATE TABLE e (k bigint, late text, x int, t varchar(20));
CREATE TABLE f (id int, x smallint);
CREATE TABLE d (gone jsonb, t text, late int, x int);
CREATE TABLE s1 (gone int, id int, x int);
CREATE TABLE s2 (id int, t text);
CREATE TABLE s3 (k int, x int);
CREATE TABLE r (id int PRIMARY KEY, gone int, x int, t text);
CREATE TABLE r2 (id int PRIMARY KEY, rid int);
CREATE TABLE l (gone int, id int, x int, t text);
CREATE TABLE m (id int, late text, x int);
CREATE TABLE tree (k int, id int, parent int, PRIMARY KEY (k, id));
ALTER TABLE a DROP gone;
ALTER TABLE b DROP gone;
ALTER TABLE c DROP gone;
ALTER TABLE d DROP gone;
ALTER TABLE s1 DROP gone;
ALTER TABLE r DROP gone;
ALTER TABLE l DROP gone;
CREATE VIEW v_group AS SELECT x AS k, count(*) AS x FROM a GROUP BY x;
CREATE VIEW v_union AS SELECT k, x FROM b UNION ALL SELECT k, ak FROM c;
CREATE VIEW v_join AS SELECT a.k, b.id, a.t FROM a LEFT JOIN b ON a.k = b.k AND b.x > 2;
CREATE VIEW v_last AS SELECT f.id, max(r.x) AS x FROM f JOIN r ON f.x = r.id GROUP BY f.id;
"""
DISTRIBUTE = """
SET citus.shard_count = %s;
SELECT create_distributed_table('a', 'k');
SELECT create_distributed_table('b', 'k', colocate_with => 'a');
SELECT create_distributed_table('c', 'k', colocate_with => 'a');
SELECT create_distributed_table('tree', 'k', colocate_with => 'a');
SELECT create_distributed_table('e', 'k');
SELECT create_distributed_table('f', 'id', colocate_with => 'none');
SELECT create_distributed_table('d', 't');
SELECT create_distributed_table('s1', NULL, colocate_with => 'none');
SELECT create_distributed_table('s2', NULL, colocate_with => 's1');
SELECT create_distributed_table('s3', NULL, colocate_with => 'none');
SELECT create_reference_table('r');
SELECT create_reference_table('r2');
SELECT citus_add_local_table_to_metadata('m');
"""
LATE = """
ALTER TABLE d DROP late;
ALTER TABLE e DROP late;
ALTER TABLE m DROP late;
"""
FILL = """
INSERT INTO a SELECT i %% 9, i, CASE WHEN i %% 7 = 0 THEN NULL ELSE i %% 6 END, CASE WHEN i %% 5 = 0 THEN NULL ELSE 'y' || i %% 4 END FROM generate_series(1, 36) i;
INSERT INTO b SELECT i %% 11, i, CASE WHEN i %% 6 = 0 THEN NULL ELSE i %% 8 END FROM generate_series(1, 30) i;
INSERT INTO c SELECT i %% 13, i %% 5, NULLIF(i %% 4, 3) FROM generate_series(1, 25) i;
INSERT INTO e SELECT i %% 10, NULLIF(i %% 6, 5), NULLIF('y' || i %% 5, 'y2') FROM generate_series(1, 24) i;
INSERT INTO f SELECT i %% 14, NULLIF(i %% 5, 1) FROM generate_series(1, 22) i;
INSERT INTO d SELECT 'y' || i %% 6, NULLIF(i %% 5, 2) FROM generate_series(1, 20) i;
INSERT INTO s1 SELECT NULLIF(i %% 5, 4), i FROM generate_series(1, 12) i;
INSERT INTO s2 SELECT i, NULLIF('y' || i %% 3, 'y1') FROM generate_series(1, 7) i;
INSERT INTO s3 SELECT i %% 6, NULLIF(i %% 4, 0) FROM generate_series(1, 10) i;
INSERT INTO r SELECT i, NULLIF(i %% 4, 3), CASE WHEN i %% 5 = 0 THEN NULL ELSE 'y' || i END FROM generate_series(0, 9) i;
INSERT INTO r2 SELECT i, NULLIF(i %% 5, 4) FROM generate_series(0, 8) i;
INSERT INTO l SELECT i, NULLIF(i %% 4, 2), CASE WHEN i %% 4 = 1 THEN NULL ELSE 'y' || i %% 6 END FROM generate_series(1, 11) i;
INSERT INTO m SELECT NULLIF(i %% 7, 5), i FROM generate_series(1, 9) i;
INSERT INTO tree SELECT t, i, CASE WHEN i > 1 THEN i / 2 END FROM generate_series(1, 3) t, generate_series(1, 8) i;
""".replace('%%', '%')
SETTINGS = ['', '', 'SET citus.enable_repartition_joins = off;', 'SET enable_hashjoin = off; SET enable_hashagg = off;',
            'SET enable_mergejoin = off; SET enable_nestloop = off;', 'SET enable_sort = off; SET enable_material = off;']

chance = lambda share: random.random() < share
pick = random.choice
used_names = 0


def new_name(letter='t'):
    global used_names
    used_names += 1
    return f'{letter}{used_names}'


class Scope(list):
    """Columns that an expression may use: (text, type)."""

    def column(self, wanted=INT, key=0.4):
        fitting = [text for text, kind in self if kind == wanted]
        keys = [text for text in fitting if re.search(r'\.(k|id)$', text)]
        if keys and chance(key):
            return pick(keys)
        # With a cast: a bare number in GROUP BY or ORDER BY means a column of the result.
        return pick(fitting) if fitting else pick(['2::int', 'NULL::int'] if wanted == INT else ["'y1'::text", 'NULL::text'])


def constant(kind):
    return str(pick([0, 1, 2, 3, 4, 5, 7, 9, 'NULL::int'])) if kind == INT else pick(["'y1'", "'y3'", "'y'", 'NULL::text'])


def value(scope, kind, depth):
    """An expression over the scope."""
    choice = random.random()
    column = scope.column(kind)
    if choice < 0.6:
        return column
    if depth > 0 and choice < 0.68:
        return scalar_sublink(scope, kind, depth - 1)
    if choice < 0.76:
        return f'coalesce({column}, {value(scope, kind, 0)})'
    if choice < 0.82:
        return f'CASE WHEN {predicate(scope, 0)} THEN {column} ELSE {scope.column(kind)} END'
    if choice < 0.86:
        return constant(kind)
    if kind == INT:
        return pick([f'{column} + {pick([1, 2, 5])}', f'{column} % 3', f'-{column}', f'abs({column} - 4)', f'length({scope.column(TEXT)})',
                     f'greatest({column}, {scope.column()})', f'nullif({column}, {pick([1, 3])})', f'{column}::text::int'])
    return pick([f"{column} || 'z'", f'upper({column})', f"'y' || {scope.column()}", f'{scope.column()}::text', f'left({column}, 1)'])


def scalar_sublink(scope, kind, depth):
    text, inner = joins(depth, scope, few=True)
    expression = value(inner, kind, 0)
    text += where(inner, scope, depth, least=1)
    if kind == TEXT:
        return f'(SELECT {pick(["max", "min"])}({expression}) FROM {text})'
    return pick([f'(SELECT count(*) FROM {text})', f'(SELECT max({expression}) FROM {text})', f'(SELECT sum({expression}) FROM {text})',
                 f'(SELECT {expression} FROM {text} ORDER BY 1 LIMIT 1)',
                 f'(SELECT count(DISTINCT {expression}) FROM {text})'])


def sublink(scope, depth):
    """A condition with a subquery, usually correlated."""
    text, inner = joins(depth, scope, few=True)
    column, outer = inner.column(key=0.6), scope.column(key=0.6)
    kind = random.randrange(8)
    if kind < 2:
        condition = pick([f' WHERE {column} = {outer}', f' WHERE {column} {pick(["<", ">", "<>"])} {outer}'])
        if chance(0.4):
            condition += f' AND {predicate(inner, depth)}'
        return f'{pick(["", "NOT "])}EXISTS (SELECT 1 FROM {text}{condition})'
    rest = where(inner, scope, depth)
    if kind < 5:
        return f'{outer} {pick(["", "", "NOT "])}IN (SELECT {column} FROM {text}{rest})'
    if kind == 5:
        return f'{outer} {pick(["=", "<", ">=", "<>"])} {pick(["ANY", "ALL"])} (SELECT {column} FROM {text}{rest})'
    if kind == 6:
        return f'({outer}, {scope.column()}) {pick(["", "NOT "])}IN (SELECT {column}, {inner.column()} FROM {text}{rest})'
    return f'{outer} {pick(["=", "<", ">"])} {scalar_sublink(scope, INT, depth)}'


def predicate(scope, depth):
    if depth > 0 and chance(0.25):
        return sublink(scope, depth - 1)
    column, number = scope.column(key=0.5), random.randint(0, 9)
    kind = random.randrange(16)
    if kind == 0:
        return f'({predicate(scope, depth - 1)} OR {predicate(scope, 0)})'
    if kind == 1:
        return f'NOT ({predicate(scope, depth - 1)} AND {predicate(scope, 0)})'
    if kind == 2:
        return f"{scope.column(TEXT)} {pick(['=', '<', '>=', 'LIKE', 'IS DISTINCT FROM'])} 'y{number % 5}'"
    return pick([f'{column} = {number}', f'{column} = {number}', f'{column} > {number % 6}', f'{column} IN ({number}, {random.randint(0, 9)})',
                 f'{column} IS NULL', f'{column} IS NOT NULL', f'coalesce({column}, -1) < {number}', f'{column} BETWEEN 2 AND {number}',
                 f"{column} = ANY ('{{1,{number},NULL}}'::{pick(['int', 'bigint', 'smallint'])}[])", f'{column} = {scope.column()}',
                 f'{column} = {number}::{pick(["bigint", "smallint", "numeric"])}', f'{column} IS NOT DISTINCT FROM {scope.column()}',
                 f'({column}, {scope.column()}) = ({number}, {number % 4})', f'({column} = {number} AND {scope.column()} > 1 OR {column} IN (3, NULL))',
                 f'{value(scope, INT, 0)} < {value(scope, INT, 0)}', f'{column} <> {number}'])


def where(scope, outer=(), depth=0, least=0):
    parts = [predicate(scope, depth) for _ in range(max(least, pick([0, 0, 1, 1, 2])))]
    if outer and chance(0.6):
        parts.append(f'{scope.column(key=0.6)} {pick(["=", "=", "=", "<", ">"])} {Scope(outer).column(key=0.6)}')
    return ' WHERE ' + ' AND '.join(parts) if parts else ''


def relation(depth, outer, with_queries):
    """One item of FROM: its text and columns."""
    name = new_name()
    kind = random.random()
    if with_queries and kind < 0.5:
        cte, columns = pick(with_queries)
        return f'{cte} {name}', Scope((f'{name}.{c}', t) for c, t in columns)
    if depth > 0 and kind < 0.25:
        text, columns = select(depth - 1, ())
        return f'({text}) {name}', Scope((f'{name}.{c}', t) for c, t in columns)
    if chance(0.03):
        return f"(VALUES (1, 'y1'), (2, NULL), (NULL, 'y3'), (4, 'y0')) {name}(k, t)", Scope([(f'{name}.k', INT), (f'{name}.t', TEXT)])
    if chance(0.03):
        return f'generate_series(0, {random.randint(1, 5)}) {name}(k)', Scope([(f'{name}.k', INT)])
    table = pick(['a', 'a', 'b', 'b', 'c'] + list(TABLES))
    return f'{table} {name}', Scope((f'{name}.{c}', t) for c, t in TABLES[table].items())


def lateral(depth, scope):
    name = new_name()
    text, columns = select(max(depth - 1, 0), scope, simple=depth < 2)
    return f'LATERAL ({text}) {name}', Scope((f'{name}.{c}', t) for c, t in columns)


def join_condition(left, right, depth, full):
    kind = TEXT if chance(0.1) and any(t == TEXT for _, t in left) and any(t == TEXT for _, t in right) else INT
    parts = [f'{left.column(kind, 0.6)} = {right.column(kind, 0.6)}']
    tags = [f'{a} = {b}' for a, of_a in left for b, of_b in right if of_a == of_b and of_a.startswith(TAG)]
    if tags and chance(0.8):
        parts = [pick(tags)]
    # A full join must be on an equality that PostgreSQL can merge or hash.
    if full:
        return parts[0] if parts[0].count('.') == 2 else 'true'
    if chance(0.08):
        parts = [f'{left.column(key=0.3)} {pick(["<", ">", "<>"])} {right.column(key=0.3)}']
    if chance(0.15):
        parts.append(f'{left.column(key=0.1)} = {right.column(key=0.1)}')
    if chance(0.3):
        parts.append(predicate(Scope(right if chance(0.7) else left + right), depth))
    return ' AND '.join(parts)


def joins(depth, outer=(), few=False, with_queries=()):
    """The text of FROM, and its columns."""
    text, scope = relation(depth, outer, with_queries)
    for _ in range(pick([0, 0, 0, 1]) if few else pick([0, 1, 1, 2, 2, 3])):
        kind = random.random()
        if kind < 0.08 and not few:
            other, columns = lateral(depth, Scope(scope))
            text += f' {pick(["JOIN", "LEFT JOIN"])} {other} ON {pick(["true", predicate(columns, 0)])}'
        elif kind < 0.12:
            other, columns = relation(0, outer, ())
            text += f' CROSS JOIN {other}'
        elif kind < 0.17:
            # USING merges the columns k, and gives the merged one a name of its own.
            other, columns = relation(0, outer, ())
            if [c for c, _ in scope if c.endswith('.k')][1:] or not all(any(c.endswith('.k') for c, _ in s) for s in (scope, columns)):
                continue
            alias = new_name('u')
            text += f' {pick(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])} {other} USING (k) AS {alias}'
            columns = Scope(columns + [(f'{alias}.k', INT)])
        else:
            if depth > 0 and chance(0.2):
                other, columns = joins(depth - 1, (), few=True)
                other = f'({other})' if ' JOIN ' in other and not other.startswith('(') else other
                if ' JOIN ' in other and not other.endswith(')'):
                    continue
            else:
                other, columns = relation(depth, outer, with_queries)
            join = pick(['JOIN'] * 3 + ['LEFT JOIN'] * 2 + ['RIGHT JOIN', 'FULL JOIN'])
            text += f' {join} {other} ON {join_condition(scope, columns, depth if not few else 0, join == "FULL JOIN")}'
        scope = Scope(scope + columns)
    return text, scope


def aggregate(scope):
    """An aggregate and its type."""
    c, d = scope.column(), scope.column()
    filter_ = f' FILTER (WHERE {predicate(scope, 0)})' if chance(0.25) else ''
    text, kind = pick([
        ('count(*)', INT), (f'count({c})', INT), (f'count(DISTINCT {c})', INT), (f'sum({c})', INT), (f'sum(DISTINCT {c})', INT),
        (f'max({c})', INT), (f'min({d})', INT), (f'count(DISTINCT ({c}, {d}))', INT), (f'bit_or({c})', INT), (f'round(avg({c}), 4)', INT),
        (f'sum({c} + {d})', INT), (f'round(stddev_samp({c}), 4)', INT), (f'round(var_pop({c}), 4)', INT), (f'max({scope.column(TEXT)})', TEXT),
        (f"string_agg({c}::text, ',' ORDER BY {c} DESC)", TEXT), (f"string_agg(DISTINCT {scope.column(TEXT)}, ',')", TEXT),
        (f'array_agg({c} ORDER BY {c}, {d})::text', TEXT), (f'array_agg(DISTINCT {c})::text', TEXT),
        (f'bool_or({c} > {d})::text', TEXT), (f'json_agg({c} ORDER BY {c})::text', TEXT),
        (f'percentile_disc(0.5) WITHIN GROUP (ORDER BY {c})', INT), (f'mode() WITHIN GROUP (ORDER BY {c})', INT),
        (f'rank(3) WITHIN GROUP (ORDER BY {c})', INT)])
    if text.endswith('::text'):
        return f'({text[:-6]}{filter_})::text', kind
    return (f'round({text[6:-4]}{filter_}, 4)' if text.startswith('round') else text + filter_), kind


def window(scope):
    c, d = scope.column(), scope.column()
    everything = ', '.join(text for text, kind in scope if not kind.startswith(TAG))
    partition = f'PARTITION BY {c}' if chance(0.7) else ''
    return pick([f'rank() OVER ({partition} ORDER BY {d})', f'dense_rank() OVER ({partition} ORDER BY {d} DESC)',
                 f'sum({d}) OVER ({partition})', f'count(*) OVER ({partition} ORDER BY {d})',
                 f'max({d}) OVER ({partition} ORDER BY {everything} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)',
                 f'lag({d}) OVER ({partition} ORDER BY {everything})', f'first_value({d}) OVER ({partition} ORDER BY {d} NULLS FIRST)',
                 f'row_number() OVER ({partition} ORDER BY {everything}) % 5', f'sum(count({d})) OVER () - count({d})'])


def grouped(scope, text):
    keys = [value(scope, INT, 0) if chance(0.2) else scope.column(key=0.5) for _ in range(pick([1, 1, 2]))]
    keys = [key for key in keys if re.search(r'[a-z]\d*\.', key)] or [scope.column()]
    one, kind = aggregate(scope)
    two, kind_two = aggregate(scope)
    sets = ', '.join(keys)
    if len(keys) > 1 and chance(0.4):
        sets = pick([f'ROLLUP ({sets})', f'CUBE ({sets})', f'GROUPING SETS (({keys[0]}), ({keys[1]}), ())', f'GROUPING SETS (({sets}), ({keys[0]}))'])
        two, kind_two = f'grouping({keys[0]}, {keys[1]})', INT
    having = pick(['', '', '', f' HAVING count(*) > {random.randint(1, 4)}', f' HAVING max({scope.column()}) > 2'])
    return (f'SELECT {keys[0]} AS k, {one} AS x, {two} AS y FROM {text} GROUP BY {sets}{having}',
            [('k', INT), ('x', kind if kind == TEXT else 'number'), ('y', kind_two if kind_two == TEXT else 'number')])


def whole_order(columns):
    return ', '.join(f'{i + 1}{pick(["", "", " DESC", " NULLS FIRST"])}' for i in range(len(columns)))


def set_operation(depth, outer):
    arms = []
    for _ in range(pick([2, 2, 3])):
        text, scope = joins(max(depth - 1, 0), outer, few=True)
        text += where(scope, outer, 0)
        arms.append(f'SELECT {scope.column(key=0.8)} AS k, {scope.column()} AS x FROM {text}')
    operations = ['UNION ALL', 'UNION', 'EXCEPT', 'INTERSECT', 'EXCEPT ALL', 'INTERSECT ALL']
    text = f'{arms[0]} {pick(operations)} ' + (arms[1] if len(arms) == 2 else f'({arms[1]} {pick(operations)} {arms[2]})')
    return text, [('k', INT), ('x', INT)]


def recursive():
    table, key, up, first = pick([('tree', 'id', 'parent', 'k'), ('r2', 'id', 'rid', 'id'), ('c', 'k', 'ak', 'k'), ('f', 'id', 'x', 'id'), ('l', 'id', 'x', 'id')])
    same = ' AND n.k = q.k' if table == 'tree' and chance(0.6) else ''
    other, scope = relation(0, (), ())
    return (f'WITH RECURSIVE q(k, id, depth) AS (SELECT {first}, {key}, 0 FROM {table} WHERE {key} < 4 UNION '
            f'SELECT n.{first}, n.{key}, depth + 1 FROM {table} n JOIN q ON n.{up} = q.id{same} WHERE depth < 4) '
            f'SELECT q.k AS k, count(*) AS x, max(depth) AS y FROM q {pick(["JOIN", "LEFT JOIN"])} {other} ON {scope.column()} = q.{pick(["k", "id"])} GROUP BY q.k',
            [('k', INT), ('x', INT), ('y', INT)])


def with_clause(depth):
    """WITH queries and their names with columns."""
    texts, queries = [], []
    for _ in range(pick([1, 1, 2])):
        name = new_name('q')
        text, columns = select(depth - 1, (), with_queries=list(queries))
        # By a column that would be another one the next time its references can be told to see the same rows.
        if chance(0.4):
            text, columns = f'SELECT s.*, random() AS z FROM ({text}) s', columns + [('z', f'{TAG} {name}')]
        texts.append(f'{name} AS {pick(["", "", "MATERIALIZED", "NOT MATERIALIZED"])} ({text})')
        queries.append((name, columns))
    return 'WITH ' + ', '.join(texts) + ' ', queries


def select(depth, outer, simple=False, with_queries=()):
    """A SELECT, and the names and types of its columns."""
    prefix = ''
    if depth > 0 and chance(0.06):
        return recursive()
    if depth > 0 and chance(0.1):
        return set_operation(depth, outer)
    if depth > 0 and not outer and chance(0.18):
        prefix, with_queries = with_clause(depth)
    text, scope = joins(depth, outer, few=simple, with_queries=with_queries)
    text += where(scope, outer, depth)
    kind = random.random()
    if kind < 0.22:
        body, columns = grouped(scope, text)
        return prefix + body, columns
    if kind < 0.3:
        (one, kind_one), (two, kind_two) = aggregate(scope), aggregate(scope)
        return (f'{prefix}SELECT {one} AS x, {two} AS y FROM {text}',
                [('x', kind_one if kind_one == TEXT else 'number'), ('y', kind_two if kind_two == TEXT else 'number')])
    second = TEXT if chance(0.25) else INT
    columns = [('k', INT), ('x', second)]
    outputs = f'{scope.column(key=0.7)} AS k, {value(scope, second, depth)} AS x'
    if outer and chance(0.4):
        outputs += f', {Scope(list(outer)).column()} AS o'
        columns.append(('o', INT))
    if kind < 0.42:
        expression = window(scope)
        if 'count(' in expression and 'sum(count' in expression:
            c = scope.column()
            return f'{prefix}SELECT {c} AS k, {expression} AS x FROM {text} GROUP BY {c}', [('k', INT), ('x', 'number')]
        return f'{prefix}SELECT {outputs}, {expression} AS y FROM {text}', columns + [('y', 'number')]
    if kind < 0.52:
        return f'{prefix}SELECT DISTINCT {outputs} FROM {text}', columns
    if kind < 0.57:
        rest = ', '.join(str(i + 2) for i in range(len(columns) - 1))
        return f'{prefix}SELECT DISTINCT ON (1) {outputs} FROM {text} ORDER BY 1, {rest}', columns
    if kind < 0.72:
        limit = pick([f'LIMIT {random.randint(1, 20)}', f'LIMIT {random.randint(1, 9)} OFFSET {random.randint(0, 4)}',
                      f'FETCH FIRST {random.randint(1, 6)} ROWS WITH TIES', 'OFFSET 3', f'LIMIT (SELECT count(*) / 8 FROM {pick(list(TABLES))})'])
        return f'{prefix}SELECT {pick(["", "", "DISTINCT "])}{outputs} FROM {text} ORDER BY {whole_order(columns)} {limit}', columns
    return f'{prefix}SELECT {outputs} FROM {text}', columns


def statement():
    """A statement for the top, and is its order to be compared?"""
    while True:
        text, columns = select(2, ())
        if text.count(' JOIN ') > 7 or len(text) > 2500:
            continue
        if chance(0.3) and not re.search(r'\bLIMIT\b|\bFETCH\b|OFFSET|DISTINCT ON', text.rsplit(')', 1)[-1]):
            if re.match(r'WITH', text):
                return text, False
            return f'SELECT * FROM ({text}) top ORDER BY {whole_order(columns)}', True
        if chance(0.08):
            return as_prepared(text), False
        return text, False


def as_prepared(text):
    """The same with its first numbers as parameters, several times."""
    given = text
    numbers = re.findall(r'(?<== )\d\b(?!::)', text)[:2]
    name, count = new_name('p'), 0
    for number in numbers:
        count += 1
        text = re.sub(rf'(?<== ){number}\b(?!::)', f'${count}', text, count=1)
    if not count or 'CASE WHEN' in text:
        return given
    types = ', '.join(['int'] * count)
    calls = [', '.join(numbers), ', '.join(['NULL'] * count), ', '.join(str((int(n) + 3) % 8) for n in numbers)]
    return f'PREPARE {name} ({types}) AS {text};\n' + '\n'.join(f'EXECUTE {name} ({c});' for c in calls + calls)


def statements(seed, count):
    random.seed(seed)
    return [statement() for _ in range(count)]


def set_up(database, shards):
    cluster.create_cluster(database)
    for schema in ('plain', 'dist'):
        script = f'SET client_min_messages = warning; CREATE SCHEMA {schema}; SET search_path = {schema};' + MAKE
        if schema == 'dist':
            script += DISTRIBUTE % shards
        cluster.must(database, script + LATE + FILL)


def results(database, schema, texts, settings):
    """What each statement gave; None from where the server was lost."""
    script = f"SET search_path = {schema}; SET statement_timeout = '60s'; {settings}\n"
    script += ''.join(f'\\echo ==={i}\n{text};\n' for i, (text, _) in enumerate(texts))
    out = cluster.psql(database, script, '-At', '-v', 'VERBOSITY=verbose', '-P', 'null=NULL', timeout=7200)
    found = [None] * len(texts)
    for part in re.split(r'^===(?=\d+$)', out, flags=re.M)[1:]:
        number, _, rows = part.partition('\n')
        found[int(number)] = rows.split('\n')[:-1]
        if re.search(r'server closed the connection|connection to server was lost|terminating connection|TRAP:', rows):
            break
    return found


def is_error(rows):
    return rows is None or any(re.match(r'(psql:.*)?(ERROR|FATAL|PANIC|WARNING):', row) for row in rows)


def compare(texts, plain, dist):
    """Prints what differs; returns how many do."""
    different = wrong = 0
    for (text, ordered), here, there in zip(texts, plain, dist):
        if is_error(here):
            # PostgreSQL's own error: the generator means to write none, and both must fail.
            message = [row for row in here or ['lost'] if 'ERROR' in row][:1]
            wrong += 1
            print(f'plain: {message}\n  {text}')
            if there is not None and (is_error(there) or 'statement timeout' in str(message)) and 'XX000' not in str(there):
                continue
        if here == there or (not ordered and there is not None and sorted(here) == sorted(there)):
            continue
        different += 1
        print(f'differs: {text};')
        if there is None or is_error(there):
            print('  dist:', *(there or ['lost'])[:4], sep='\n    ')
        else:
            print('  only plain:', *[row for row in here if row not in there or here.count(row) != there.count(row)][:5], sep='\n    ')
            print('  only dist:', *[row for row in there if row not in here or here.count(row) != there.count(row)][:5], sep='\n    ')
    return different, wrong


def main():
    if sys.argv[1] == '--print':
        for text, _ in statements(int(sys.argv[2]), int(sys.argv[3])):
            print(text + ';')
        return
    seed, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100
    shards = int(sys.argv[3]) if len(sys.argv) > 3 else [3, 1, 32][seed % 3]
    database = os.environ.get('DATABASE', 'random_queries')
    set_up(database, shards)
    texts = statements(seed, count)
    settings = SETTINGS[seed % len(SETTINGS)]
    plain, dist = (results(database, schema, texts, settings) for schema in ('plain', 'dist'))
    different, wrong = compare(texts, plain, dist)
    print(f'seed {seed}, {shards} shards: {len(texts)} statements, {different} differ, {wrong} fail on plain tables')
    if not different:
        cluster.drop(database)
    sys.exit(1 if different else 0)


if __name__ == '__main__':
    main()
