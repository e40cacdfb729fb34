#!/usr/bin/env python3
"""Statements that sqlsmith writes, with PostgreSQL's rows on plain tables and on distributed ones.

    sqlsmith.py SEED [COUNT]

The tables are those of random_queries.py, in two databases, and sqlsmith (the Debian package of that name) sees the plain ones. It knows SQL's
grammar and PostgreSQL's catalogs, and nothing of shards: sublinks within items of FROM within sublinks, MERGE, ON CONFLICT, WITH, windows, every function and
operator that there is. What has no one right answer is taken out of its statements (LIMIT, TABLESAMPLE), and most of its NULLs
become values. All run as an ordinary role, of which every third seed has policies show a part of the rows, each in a transaction that is rolled back.

Failures are a lost server, an internal error, a statement that PostgreSQL executes and that is refused here, or not understood by a node, and
other rows or another number of them. Nothing is said about functions whose value is another one with each call, nor about an error in a value
(class 22) or a right to a function that one of the two alone has: which of a statement's expressions are evaluated is the plan's choice.
"""
import os
import random
import re
import subprocess
import sys

import cluster
import random_queries

PLAIN, DIST, ROLE = 'sqlsmith_plain', 'sqlsmith_dist', 'sqlsmith_reader'
# What stands for cast(null as TYPE), four times of five.
VALUES = {
    'int2': lambda: random.randint(0, 5), 'int4': lambda: random.randint(0, 12), 'int8': lambda: random.randint(0, 12),
    'numeric': lambda: random.randint(0, 9) / 2, 'float4': lambda: random.randint(0, 9) / 2, 'float8': lambda: random.randint(0, 9) / 2,
    'text': lambda: f"'y{random.randint(0, 5)}'", 'name': lambda: f"'y{random.randint(0, 5)}'", 'varchar': lambda: f"'y{random.randint(0, 5)}'",
    'bpchar': lambda: f"'y{random.randint(0, 5)}'", 'bool': lambda: random.choice(['true', 'false']),
    'date': lambda: f"'2026-01-{random.randint(1, 28):02}'", 'timestamp': lambda: f"'2026-01-{random.randint(1, 28):02}'",
    'timestamptz': lambda: f"'2026-01-{random.randint(1, 28):02} 12:00+00'", 'interval': lambda: f"'{random.randint(0, 9)} days'",
    'jsonb': lambda: f"'{{\"a\": \"y{random.randint(0, 3)}\"}}'", 'int4range': lambda: f"'[{random.randint(0, 3)},{random.randint(3, 9)})'",
    'int4multirange': lambda: f"'{{[{random.randint(0, 3)},{random.randint(3, 9)})}}'", 'mood': lambda: random.choice(["'sad'", "'happy'"])}
# sqlsmith takes these for types that a value can have.
POLYMORPHIC = {'anyrange': 'int4range', 'anymultirange': 'int4multirange', 'anycompatiblerange': 'int4range', 'anyenum': 'mood'}
# Rows that nobody has an order for.
UNORDERED = re.compile(r'\b(array_agg|string_agg|jsonb?_agg|jsonb?_object_agg|xmlagg|(first|last|nth)_value|lead|lag|row_number|ntile)\b')
# What a server, or a session, says of itself.
OWN_WAYS = re.compile(r'\b(pg_\w+|txid_\w+|inet_\w+|hashenum\w*|current_database|version)\b')
# Errors of one of the two alone that say what was evaluated: of values, of functions that the role may not call or that have nothing to say.
EVALUATED = re.compile(r'22\w{3}: |21000: |57014: |55000: |42602: |42601: .* of jsonpath|42704: (unrecognized|type|role|collation|language)|42P01: relation "y\d|'
                       r'0A000: (cannot (display|accept) a value|PL/pgSQL functions|encoding conversion)|42601: invalid range bound flags|XX000: unrecognized interval typmod|42501: (permission denied for function|must be)|'
                       # Rows of ap have no value to be stored by, and those of rg only some; a row that moves is no duplicate of what was there.
                       r'\w{5}: .*table "(rg|ap)"|23505: |'
                       # Values that have no form in which they could be sent.
                       r'42P16: column .* has pseudo-type')


def written(seed, count):
    """sqlsmith's statements, with one right answer each."""
    random.seed(seed)
    target = f"--target=host={os.environ.get('PGHOST', '')} port={cluster.COORDINATOR} user={os.environ.get('PGUSER', 'postgres')} dbname={PLAIN}"
    out = subprocess.run(['sqlsmith', target, '--exclude-catalog', '--dry-run', f'--seed={seed}', f'--max-queries={count}'],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return [changed(text.strip()) for text in re.split(r';\n', out) if text.strip()]


def changed(text):
    for name, instead in POLYMORPHIC.items():
        text = re.sub(rf'\b{name}\b', instead, text)
    text = re.sub(r'tablesample (system|bernoulli) \([\d.]+\)', '', text)
    text = re.sub(r'limit 1 offset (?=\d)', 'order by 1 limit 1 offset ', text)
    text = re.sub(r'(?<!order by 1 )limit \d+|fetch first \d+ rows (only|with ties)', '', text)
    return re.sub(r'cast\(null as ("?)(\w+)\1\)', a_value, text)


def a_value(null):
    kind = null.group(2)
    return f'cast({VALUES[kind]()} as {null.group(1)}{kind}{null.group(1)})' if kind in VALUES and random.random() < 0.8 else null.group()


def set_up(policies):
    cluster.create_plain(PLAIN)
    cluster.create_cluster(DIST)
    common = random_queries.MAKE + "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');"
    cluster.must(PLAIN, common + random_queries.LATE + random_queries.FILL + random_queries.FILL_AP['plain'])
    cluster.must(DIST, 'SET client_min_messages = warning;' + common + random_queries.DISTRIBUTE % 8 + random_queries.LATE + random_queries.FILL
                 + random_queries.FILL_AP['dist'])
    cluster.must(DIST, f'DROP ROLE IF EXISTS {ROLE}; CREATE ROLE {ROLE}')
    for database in (PLAIN, DIST):
        cluster.must(database, f'GRANT ALL ON ALL TABLES IN SCHEMA public TO {ROLE}; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {ROLE}; ANALYZE')
        for table, rows in random_queries.POLICIES.items() if policies else ():
            cluster.must(database, f'CREATE POLICY seen ON {table} USING ({rows}) WITH CHECK (true); ALTER TABLE {table} ENABLE ROW LEVEL SECURITY')


def results(database, texts):
    """Of each statement: its error or '', and its rows in order of their text with their number; nothing of what came after a lost server."""
    script = f'SET ROLE {ROLE};\n' + ''.join(
        f"\\echo ==={i}\nBEGIN;\nSET LOCAL statement_timeout = '4s';\n{text};\n\\echo ===rows :ROW_COUNT\nROLLBACK;\n" for i, text in enumerate(texts))
    out = cluster.psql(database, script, '-At', '-v', 'VERBOSITY=verbose', '-P', 'null=NULL', timeout=7200)
    found = []
    for part in re.split(r'^===\d+$', out, flags=re.M)[1:]:
        rows, ended, count = part.strip('\n').partition('===rows ')
        if not ended:
            break
        error = re.search(r'^(?:psql:.*)?(?:ERROR|FATAL|PANIC):\s+(.*)', rows, flags=re.M)
        found.append((error.group(1), [], 0) if error else ('', sorted(rows.split('\n')), int(count)))
    return found


def fault(text, volatile, plain, again, dist):
    """What is wrong with the distributed tables' answer; None: nothing that could be said."""
    error, expected = dist[0], plain[0]
    if error.startswith('XX000') and not expected.startswith('XX000') and not EVALUATED.match(error):
        return error
    if error and expected:
        return None
    if (error or expected) and EVALUATED.match(error or expected):
        return None
    if re.match('0A|42', error):
        return error
    text = text.replace('pg_catalog.', '')
    if plain != again or OWN_WAYS.search(text) or volatile & set(re.findall(r'\w+', text)):
        return None
    if error or expected:
        return error or f'no error, but: {expected}'
    if dist[2] != plain[2]:
        return f'{plain[2]} rows, and {dist[2]} here'
    return 'other rows' if dist != plain and not UNORDERED.search(text) else None


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    set_up(seed % 3 == 0)
    texts = written(seed, count)
    plain, again, dist = (results(database, texts) for database in (PLAIN, PLAIN, DIST))
    volatile = set(cluster.must(PLAIN, "SELECT proname FROM pg_proc WHERE provolatile = 'v'").split())
    failed = int(len(dist) < len(texts))
    if failed:
        print(f'lost: {texts[len(dist)]};')
    answered = 0
    for text, *answers in zip(texts, plain, again, dist):
        answered += not answers[0][0]
        wrong = fault(text, volatile, *answers)
        if wrong:
            failed += 1
            print(f'{wrong}\n{text};')
    print(f'seed {seed}: {len(texts)} statements, {answered} that PostgreSQL executes, {failed} failed')
    if not failed:
        cluster.drop(PLAIN)
        cluster.drop(DIST, ROLE)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
