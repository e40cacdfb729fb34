#!/usr/bin/env python3
"""PostgreSQL's own isolation specs while each table that they make is distributed at once.

    postgresql_isolation.py [WAY [SPEC ...]]        WAY: key, reference or single; without specs FAST; "all" stands for all of SPECS

Each SPEC (src/test/isolation/specs/SPEC.spec of PostgreSQL's source) runs twice: in a plain database, and in a cluster where an
event trigger at the end of CREATE TABLE distributes the table: by a column that all its unique keys hold, as a reference table,
or in one shard; as a reference table where that can't be, and not where others inherit from it. Who waits for whom, what each
step returns, which of them fail and how has to be the same, permutation by permutation. postgresql_isolation.list has what differs,
with the reason; anything else fails. Exits with 77 where the source can't be had.
"""
import os
import re
import subprocess
import sys
import time

import cluster
import postgresql_scripts
import postgresql_source

PLAIN, SPREAD = 'pgisoplain', 'pgisospread'
FAST = ['delete-abort-savept', 'fk-contention', 'insert-conflict-do-update', 'lock-update-traversal', 'merge-insert-update', 'merge-join', 'nowait',
        'partition-key-update-4', 'skip-locked', 'tuplelock-update', 'update-locked-tuple']
SPECS = ['aborted-keyrevoke', 'alter-table-1', 'alter-table-2', 'alter-table-3', 'classroom-scheduling', 'create-trigger', 'deadlock-hard',
         'deadlock-simple', 'deadlock-soft', 'deadlock-soft-2', 'delete-abort-savept', 'delete-abort-savept-2', 'detach-partition-concurrently-1',
         'eval-plan-qual', 'eval-plan-qual-trigger', 'fk-contention', 'fk-deadlock', 'fk-deadlock2', 'fk-partitioned-1', 'fk-partitioned-2',
         'fk-snapshot', 'insert-conflict-do-nothing', 'insert-conflict-do-nothing-2', 'insert-conflict-do-update', 'insert-conflict-do-update-3',
         'insert-conflict-do-update-4', 'lock-committed-keyupdate', 'lock-committed-update', 'lock-update-delete', 'lock-update-traversal',
         'merge-delete', 'merge-insert-update', 'merge-join', 'merge-match-recheck', 'merge-update', 'multiple-row-versions', 'nowait', 'nowait-2',
         'nowait-3', 'nowait-5', 'partial-index', 'partition-key-update-1', 'partition-key-update-2', 'partition-key-update-3',
         'partition-key-update-4', 'plpgsql-toast', 'predicate-lock-hot-tuple', 'project-manager', 'propagate-lock-delete',
         'read-only-anomaly-2', 'read-write-unique', 'read-write-unique-2', 'receipt-report', 'referential-integrity', 'ri-trigger', 'sequence-ddl',
         'simple-write-skew', 'skip-locked', 'skip-locked-2', 'skip-locked-3', 'temporal-range-integrity', 'total-cash', 'truncate-conflict',
         'tuplelock-conflict', 'tuplelock-partition', 'tuplelock-update', 'tuplelock-upgrade-no-deadlock', 'two-ids', 'update-conflict-out',
         'update-locked-tuple']

DISTRIBUTE = postgresql_scripts.COMMON + """
CREATE FUNCTION pando_test.spread() RETURNS event_trigger LANGUAGE plpgsql SET client_min_messages = error AS $$
DECLARE
	t regclass;
	col text;
BEGIN
	FOR t IN SELECT c FROM pando_test.commands() c JOIN pg_catalog.pg_class ON pg_class.oid = c WHERE NOT relispartition
			AND relname <> ALL (pg_catalog.string_to_array(COALESCE(pg_catalog.current_setting('pando_test.parents', true), ''), ',')) LOOP
		BEGIN
			IF 'WAY' = 'single' THEN
				PERFORM pg_catalog.create_distributed_table(t, NULL);
				CONTINUE;
			ELSIF 'WAY' = 'key' THEN
				SELECT name INTO col FROM pg_catalog.unnest(pando_test.columns(t)) WITH ORDINALITY u (name, n)
				WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_index WHERE indrelid = t AND (indisunique OR indisexclusion) AND NOT EXISTS
					(SELECT 1 FROM pg_catalog.pg_attribute WHERE attrelid = t AND attname = name AND attnum = ANY (indkey)))
				ORDER BY (SELECT atttypid <> 'int'::regtype FROM pg_catalog.pg_attribute WHERE attrelid = t AND attname = name), n LIMIT 1;
				IF col IS NOT NULL THEN
					PERFORM pg_catalog.create_distributed_table(t, col);
					CONTINUE;
				END IF;
			END IF;
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
		BEGIN
			PERFORM pg_catalog.create_reference_table(t);
		EXCEPTION WHEN OTHERS THEN
			RAISE WARNING '% stays local: %', t, SQLERRM;
		END;
	END LOOP;
END $$;
CREATE EVENT TRIGGER pando_test_spread ON ddl_command_end WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO')
	EXECUTE FUNCTION pando_test.spread();
SELECT citus_internal.replace_isolation_tester_func();
"""


def tester():
    pgxs = subprocess.run([os.environ.get('PG_CONFIG', 'pg_config'), '--pgxs'], capture_output=True, text=True, check=True).stdout.strip()
    return os.path.join(os.path.dirname(pgxs), '..', '..', 'src/test/isolation/isolationtester')


def run(spec, database):
    """What isolationtester prints."""
    with open(spec) as text:
        parents = ','.join(re.findall(r'INHERITS \((\w+)\)', text.read(), re.I))
        text.seek(0)
        try:
            done = subprocess.run([tester(), f"dbname={database} port={cluster.NODE} options='-c pando_test.parents={parents}'"], stdin=text,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, errors='replace')
        except subprocess.TimeoutExpired:
            return 'no end after 600 s'
    return done.stdout


def normalised(out):
    """Rows without an order of their own, and what names shards and nodes."""
    lines, rows = [], None
    for line in out.split('\n'):
        if re.match(r'-+(\+-+)*$', line):
            rows = []
        elif rows is not None and re.match(r'\(\d+ rows?\)$', line):
            lines += sorted(rows) + [line]
            rows = None
            continue
        elif rows is not None:
            rows.append(line)
            continue
        lines.append(re.sub(r'_\d{6}\b', '', line))
    return [line for line in lines + (rows or []) if not re.search(r'stays local|while executing command on|NOTICE:  \w+: (text|numeric) ', line)]


def permutations(lines):
    parts, name = {'': []}, ''
    for line in lines:
        if line.startswith('starting permutation: '):
            name = line
            while name in parts:
                name += ' (again)'
            parts[name] = []
        parts[name].append(line)
    return parts


def differences(plain, spread):
    """The permutations that are not the same: name, and the lines of both."""
    first, second = permutations(normalised(plain)), permutations(normalised(spread))
    return [(name, first.get(name, []), second.get(name, [])) for name in list(first) + [n for n in second if n not in first]
            if first.get(name) != second.get(name)]


def main():
    way = sys.argv[1] if len(sys.argv) > 1 else 'key'
    specs = os.path.join(os.path.dirname(postgresql_source.regress_directory()), 'isolation', 'specs')
    os.environ['PGISOLATIONTIMEOUT'] = '20'
    cluster.create_plain(PLAIN)
    cluster.create_cluster(SPREAD)
    cluster.must(SPREAD, DISTRIBUTE.replace('WAY', way))
    cluster.must(SPREAD, f'ALTER DATABASE {SPREAD} SET citus.shard_count = 4')
    known = cluster.listed('postgresql_isolation.list', re.S)
    failed = 0
    for name in SPECS if sys.argv[2:] == ['all'] else sys.argv[2:] or FAST:
        start = time.monotonic()
        found = differences(run(f'{specs}/{name}.spec', PLAIN), run(f'{specs}/{name}.spec', SPREAD))
        left = [one for one in found if not any(where in ('*', name) and pattern.search('\n'.join(one[2])) for where, pattern, _ in known)]
        for permutation, plain, spread in left:
            print(f'--- {name}: {permutation}\nplain:\n' + '\n'.join(plain) + '\ndistributed:\n' + '\n'.join(spread))
        print(f'{name}: {len(found)} permutations differ, {len(left)} are not in the list ({time.monotonic() - start:.1f} s)', flush=True)
        failed += len(left)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
