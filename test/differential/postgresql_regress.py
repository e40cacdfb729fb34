#!/usr/bin/env python3
"""PostgreSQL's own regression queries on distributed tables: each has the rows that it has on plain ones.

    postgresql_regress.py [FILE ...]

Two databases are made on the coordinator: pgplain, and pgdist, where each table that the scripts create is distributed
(by its first column that can be, or as TABLES says). Each FILE (src/test/regress/sql/FILE.sql of PostgreSQL's source) runs
in both, statement by statement in one session, and the results of its queries are compared: in their order where the
query asks for one, else as a bag. EXCEPT lists what can't be compared. Exits with 77 where the source can't be had.
"""
import re
import sys

import cluster
import postgresql_source

FILES = ['select', 'join', 'subselect', 'union', 'aggregates', 'window', 'groupingsets', 'with', 'select_distinct', 'limit', 'tablesample']

# How tables are distributed: a column, 'reference', 'single' (one shard), or 'local'.
TABLES = {'onek': 'unique2', 'onek2': 'reference', 'tenk1': 'unique1', 'tenk2': 'hundred', 'int4_tbl': 'reference', 'float8_tbl': 'local',
          'varchar_tbl': 'single',
          # Their first columns are not in their keys, or hold NULL.
          'fkest': 'reference', 'gs_group_1': 'reference', 'gs_hash_1': 'reference',
          # These have children, which distributed tables can't have.
          'person': 'local', 'road': 'local', 'minmaxtest': 'local'}

# File, what the statement matches, and why the results may differ.
EXCEPT = [
    ('tablesample', r'(?i)TABLESAMPLE \w+ \([\d.]+\) REPEATABLE|tablesample_cur', 'the rows of a sample depend on the pages that they are on'),
    ('join', r'from text_tbl t[23] limit 1\)', 'LIMIT over rows in no order'),
    ('window', r'unique[12] < 10|unbounded_syntax_test1', 'frames, and functions of them, over rows in no order or with ties'),
    ('aggregates', r'agg_hash_[24] except', 'array_agg() of rows in no order'),
    ('aggregates', r'from bytea_test_table', 'string_agg() of rows in no order'),
    ('limit', r'generate_series\(1,10\)\s+from tenk1 order by', 'ties: all rows of one series have the same sort key'),
    ('with', r'FROM withz|FROM m where k', 'shows what MERGE and ON CONFLICT with subqueries did, which is not supported yet'),
]

SPREAD = """
CREATE SCHEMA pando_test;
GRANT ALL ON SCHEMA pando_test TO public;
CREATE FUNCTION pando_test.spread(t text, kind text, plain bool) RETURNS text LANGUAGE plpgsql SET client_min_messages = error AS $$
DECLARE
	col text;
BEGIN
	IF kind = 'local' THEN
		RETURN 'local';
	ELSIF kind = 'reference' OR kind = 'single' THEN
		IF NOT plain AND kind = 'reference' THEN PERFORM create_reference_table(t); END IF;
		IF NOT plain AND kind = 'single' THEN PERFORM create_distributed_table(t, NULL, colocate_with => 'none'); END IF;
		RETURN kind;
	END IF;
	FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = t::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
			AND EXISTS (SELECT 1 FROM pg_opclass o JOIN pg_am a ON a.oid = o.opcmethod WHERE amname = 'hash' AND opcdefault AND opcintype = atttypid)
			ORDER BY attname = kind DESC, attnum LOOP
		IF NOT plain THEN PERFORM create_distributed_table(t, col); END IF;
		RETURN col;
	END LOOP;
	RETURN 'no column';
EXCEPTION WHEN OTHERS THEN RETURN SQLERRM;
END $$;
"""


def statements(text):
    """The script's lines in groups that end where a statement ends."""
    group, quote = [], None
    for line in text.split('\n'):
        group.append(line)
        for tag in re.findall(r'\$\w*\$', line):
            quote = tag if quote is None else None if quote == tag else quote
        if quote is None and (re.search(r';\s*(--.*)?$', line) or line.startswith('\\') or not line.strip()):
            yield '\n'.join(group)
            group = []
    yield '\n'.join(group)


def usable(statement, setup):
    """Not what looks at plans, at another session, or at files of the server."""
    if setup and (re.search(r'regresslib|LANGUAGE C\b', statement, re.I) or statement.startswith('\\getenv')):
        return False
    return not re.search(r'^\\(c|connect|d|sf|sv|df|gexec)\b|^\s*explain\b', statement, re.I | re.M)


def spread(statement, plain):
    made = re.search(r'^\s*create\s+(?:unlogged\s+)?table\s+(?:if not exists\s+)?([\w."]+)', statement, re.I | re.M)
    if not made or re.search(r'partition (of|by)|inherits', statement, re.I):
        return ''
    kind = TABLES.get(made.group(1).lower(), '')
    return f"\nSELECT 'spread', pando_test.spread('{made.group(1)}', '{kind}', {plain});"


def spread_as(rows):
    return [row for row in rows if row.startswith('spread|')]


def read(regress, name, setup=False):
    with open(f'{regress}/sql/{name}.sql') as file:
        text = file.read()
    # A cursor that doesn't say whether it scrolls does so where its plan happens to.
    text = re.sub(r'^(declare \w+) cursor', r'\1 scroll cursor', text, flags=re.I | re.M)
    return [s for s in statements(text) if s.strip() and usable(s, setup)]


def run(database, regress, parts, plain):
    """What each part of a script printed."""
    script = f"\\set abs_srcdir '{regress}'\nSET client_min_messages = error;\n"
    for i, statement in enumerate(parts):
        script += f'\\echo ==={i}\n{statement}{spread(statement, plain)}\n'
    out = cluster.psql(database, script, '-At', '-v', 'VERBOSITY=terse', '-P', 'null=NULL')
    found = [[] for _ in parts]
    for part in re.split(r'^===(?=\d+$)', out, flags=re.M)[1:]:
        number, _, rows = part.partition('\n')
        found[int(number)] = [re.sub(r'^psql:<stdin>:\d+: ', '', row) for row in rows.split('\n')[:-1]]
    return found


def is_query(statement):
    text = re.sub(r'--.*', '', statement).strip()
    return re.match(r'(select|with|values|table|fetch|execute|\()', text, re.I) is not None and ' into ' not in text.lower()


def has_order(statement):
    """Does the query itself ask for an order?"""
    text = re.sub(r'--.*', '', statement)
    while re.search(r'\([^()]*\)', text):
        text = re.sub(r'\([^()]*\)', '', text)
    return re.search(r'order\s+by', text, re.I) is not None


def compare(name, parts, plain, dist):
    """Prints what differs; returns the numbers of queries, of differences, and of those left out."""
    queries = different = excepted = 0
    for statement, here, there in zip(parts, plain, dist):
        if spread_as(here) != spread_as(there):
            different += 1
            print(f'{name}: {spread_as(there)} instead of {spread_as(here)} for {statement.strip()}')
        if not is_query(statement):
            continue
        queries += 1
        if here == there or (not has_order(statement) and sorted(here) == sorted(there)):
            continue
        if any(file == name and re.search(pattern, statement) for file, pattern, _ in EXCEPT):
            excepted += 1
            continue
        different += 1
        print(f'{name} differs{" in order" if sorted(here) == sorted(there) else ""}: {statement.strip()}')
        print('  only plain:', *[row for row in here if row not in there][:4], sep='\n    ')
        print('  only distributed:', *[row for row in there if row not in here][:4], sep='\n    ')
    return queries, different, excepted


def main():
    regress = postgresql_source.regress_directory()
    cluster.create_plain('pgplain')
    cluster.create_cluster('pgdist')
    cluster.must('pgdist', 'ALTER DATABASE pgdist SET citus.shard_count = 4')
    setup = read(regress, 'test_setup', True)
    made = []
    for database, plain in (('pgplain', True), ('pgdist', False)):
        cluster.must(database, SPREAD)
        made.append(run(database, regress, setup, plain))
    failed = compare('test_setup', setup, *made)[1]
    for name in sys.argv[1:] or FILES:
        parts = read(regress, name)
        queries, different, excepted = compare(name, parts, run('pgplain', regress, parts, True), run('pgdist', regress, parts, False))
        failed += different
        print(f'{name}: {queries} queries, {different} differ, {excepted} left out', flush=True)
    if not failed:
        cluster.drop('pgplain')
        cluster.drop('pgdist')
    sys.exit(1 if failed else 0)


main()
