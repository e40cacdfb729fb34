#!/usr/bin/env python3
"""PostgreSQL's own regression scripts on distributed copies of its tables.

    postgresql_regress.py SRC [--reference] [FILE ...]

SRC is PostgreSQL's source tree. Two databases are made on the coordinator that libpq's
environment names: pgplain, and pgdist, where each table that the scripts create is
distributed by its first column that can be. Each FILE (src/test/regress/sql/FILE.sql) runs in
both; rows of a result are sorted, query plans left out, and what differs is printed. With
--reference the tables are reference tables. WORKERS: "host:port ..." of the nodes to add.
"""
import difflib
import os
import re
import subprocess
import sys

FILES = ['select', 'select_distinct', 'select_having', 'select_implicit', 'limit', 'case', 'join', 'subselect', 'union',
         'aggregates', 'groupingsets', 'window', 'with', 'random', 'arrays', 'rowtypes', 'returning', 'update', 'delete',
         'insert', 'insert_conflict', 'prepare', 'plancache', 'portals', 'rangefuncs', 'boolean',
         'int4', 'int8', 'text', 'numeric', 'jsonb', 'tsrf', 'rangetypes']

DISTRIBUTE = """
CREATE SCHEMA pando_test;
CREATE FUNCTION pando_test.spread(t text) RETURNS text LANGUAGE plpgsql SET client_min_messages = error AS $$
DECLARE
	kind text := '%s';
	col text;
BEGIN
	IF kind = 'none' THEN RETURN ''; END IF;
	IF kind = 'reference' THEN
		BEGIN PERFORM create_reference_table(t); EXCEPTION WHEN OTHERS THEN NULL; END;
		RETURN '';
	END IF;
	FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = t::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
			AND EXISTS (SELECT 1 FROM pg_opclass o JOIN pg_am a ON a.oid = o.opcmethod WHERE amname = 'hash' AND opcdefault AND opcintype = atttypid)
			ORDER BY attnum LOOP
		IF kind = 'plain' THEN
			EXECUTE format('ALTER TABLE %%s ALTER COLUMN %%I SET NOT NULL', t, col);
		ELSE
			PERFORM create_distributed_table(t, col);
		END IF;
		RETURN '';
	END LOOP;
	RETURN '';
EXCEPTION WHEN OTHERS THEN RETURN '';
END $$;
GRANT ALL ON SCHEMA pando_test TO public;
"""


def psql(db, text, *options):
    done = subprocess.run(['psql', '-X', '-d', db, *options], input=text, capture_output=True, text=True, timeout=550, errors='replace')
    return done.stdout + done.stderr


def psql_both(db, text):
    """Output and errors in their order, statements echoed."""
    done = subprocess.run(['psql', '-X', '-a', '-q', '-d', db, '-v', 'VERBOSITY=terse'], input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=550, errors='replace')
    return done.stdout


def statements(text):
    """The script's lines in groups that end where a statement ends."""
    group, quote = [], None
    for line in text.split('\n'):
        group.append(line)
        for tag in re.findall(r'\$\w*\$', line):
            if quote is None:
                quote = tag
            elif quote == tag:
                quote = None
        if quote is None and (re.search(r';\s*(--.*)?$', line) or line.startswith('\\') or not line.strip()):
            yield '\n'.join(group)
            group = []
    yield '\n'.join(group)


def prepared(path, setup):
    with open(path) as f:
        text = f.read()
    for group in statements(text):
        if setup and (re.search(r'regresslib|LANGUAGE C\b', group, re.I) or group.startswith('\\getenv')):
            continue
        if re.match(r'\s*(--.*\n\s*)*\\(c|connect|d|sf|sv|df)\b', group) or re.search(r'^\s*explain', group, re.I | re.M):
            continue
        yield group
        made = re.search(r'^\s*create\s+(?:unlogged\s+)?table\s+(?:if not exists\s+)?([\w."]+)', group, re.I | re.M)
        if made and not re.search(r'partition of|inherits', group, re.I):
            yield f"SELECT pando_test.spread('{made.group(1)}');"


def normal(output):
    """Lines, rows of each result sorted."""
    lines, rows = [], None
    for line in output.split('\n'):
        if rows is None:
            lines.append(line.replace('_shardid', ''))
            if re.fullmatch(r'[-+]+', line) and line.startswith('-') and len(lines) > 1 and not lines[-2].startswith('--'):
                rows = []
        elif re.fullmatch(r'\(\d+ rows?\)', line):
            lines += sorted(rows) + [line]
            rows = None
        else:
            rows.append(line)
    return lines + sorted(rows or [])


def main():
    args = sys.argv[1:]
    kind = 'reference' if '--reference' in args else 'distributed'
    # A distribution column is NOT NULL: on the plain side as well.
    plain = 'none' if kind == 'reference' else 'plain'
    args = [a for a in args if a != '--reference']
    regress = args[0] + '/src/test/regress'
    data = f"\\set abs_srcdir '{regress}'\n"
    if not os.environ.get('KEEP'):
        for db, how in (('pgplain', plain), ('pgdist', kind)):
            print(psql('postgres', f'DROP DATABASE IF EXISTS {db} WITH (FORCE);\nCREATE DATABASE {db};', '-q'), end='')
        for worker in os.environ.get('WORKERS', '').split():
            host, port = worker.split(':')
            print(psql('postgres', 'DROP DATABASE IF EXISTS pgdist WITH (FORCE);\nCREATE DATABASE pgdist;', '-q', '-h', host, '-p', port), end='')
            print(psql('pgdist', 'CREATE EXTENSION pando;', '-q', '-h', host, '-p', port), end='')
        print(psql('pgdist', 'CREATE EXTENSION pando;', '-q'), end='')
        print(psql('pgdist', f"SELECT citus_set_coordinator_host('127.0.0.1', {os.environ['PGPORT']});", '-q'), end='')
        for worker in os.environ.get('WORKERS', '').split():
            host, port = worker.split(':')
            psql('pgdist', f"SELECT citus_add_node('{host}', {port});", '-q')
        psql('pgdist', "ALTER DATABASE pgdist SET citus.shard_count = 4; ALTER DATABASE pgdist SET client_min_messages=warning; ALTER DATABASE pgplain SET client_min_messages=warning", '-q')
        for db, how in (('pgplain', plain), ('pgdist', kind)):
            psql(db, DISTRIBUTE % how)
            out = psql(db, data + '\n'.join(prepared(regress + '/sql/test_setup.sql', True)), '-q')
            out += psql(db, data + '\n'.join(prepared(regress + '/sql/create_index.sql', True)), '-q') if os.environ.get('INDEX') else ''
            print(db, *[line for line in out.split('\n') if 'ERROR' in line], sep='\n  ')
    for name in args[1:] or FILES:
        text = data + '\n'.join(prepared(f'{regress}/sql/{name}.sql', False))
        try:
            a, b = (normal(psql_both(db, text)) for db in ('pgplain', 'pgdist'))
        except subprocess.TimeoutExpired:
            print(f'{name}: time is over')
            continue
        diff = list(difflib.unified_diff(a, b, 'plain ' + name, 'distributed ' + name, n=int(os.environ.get('CONTEXT', 8)), lineterm=''))
        print(f'== {name}: {len(a)} lines,', len([line for line in diff if re.match(r'[-+](?![-+])', line)]), 'differ')
        print('\n'.join(diff))
        sys.stdout.flush()


main()
