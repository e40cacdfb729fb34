#!/usr/bin/env python3
"""PostgreSQL's own suite, on a server where the extension is loaded and created in the suite's database.

suite.py regress|isolation SOURCE DIRECTORY: SOURCE is what postgresql_source.py extracted, DIRECTORY takes the copy that
runs. The server is PGHOST's and PGPORT's, its programs are PG_CONFIG's. A test passes without difference, or with the
one that differences/SUITE/TEST.diff holds and differences/list gives the reason for. With ACCEPT=1 the differences of
listed tests are written there.
"""
import difflib
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = {'regress': 'regress/pg_regress', 'isolation': 'isolation/pg_isolation_regress'}
MODULES = ('regress', 'refint', 'autoinc')


def pg_config(option):
    return subprocess.run([os.environ['PG_CONFIG'], option], capture_output=True, text=True, check=True).stdout.strip()


def build_modules(source, directory):
    """The C functions that the suite calls."""
    for name in MODULES:
        where = 'regress' if name == 'regress' else 'spi'
        shutil.copy(f'{source}/{where}/{name}.c', directory)
    with open(f'{directory}/modules.mk', 'w') as file:
        file.write(f'MODULES = {" ".join(MODULES)}\nPG_CPPFLAGS = -DREFINT_VERBOSE\nPGXS := {pg_config("--pgxs")}\ninclude $(PGXS)\n')
    subprocess.run(['make', '-s', '-f', 'modules.mk', f'PG_CONFIG={os.environ["PG_CONFIG"]}', 'with_llvm=no'], cwd=directory, check=True)


def run(suite, directory):
    """What pg_regress says of each test: its name, and whether it is as expected."""
    program = os.path.join(os.path.dirname(pg_config('--pgxs')), '../../src/test', PROGRAMS[suite])
    schedule = 'parallel_schedule' if suite == 'regress' else 'isolation_schedule'
    command = [program, '--inputdir=.', f'--outputdir={directory}', f'--bindir={pg_config("--bindir")}', '--dlpath=.',
               f'--host={os.environ["PGHOST"]}', f'--port={os.environ["PGPORT"]}', '--user=postgres',
               '--max-concurrent-tests=20', '--load-extension=pando', f'--schedule={schedule}']
    if suite == 'regress':
        command[4] = f'--dlpath={directory}'
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    tests = re.findall(r'^(?:test|    ) (\S+) +\.\.\. (ok|FAILED|failed \(ignored\)).*$', done.stdout, re.M)
    with open(f'{directory}/{schedule}') as file:
        wanted = [name for line in file if line.startswith('test:') for name in line[5:].split()]
    results = {name: said == 'ok' for name, said in tests}
    missing = [name for name in wanted if name not in results]
    if missing:
        sys.exit(f'{done.stdout[-3000:]}\nnothing is known of {missing}')
    return results


def difference(directory, name):
    """From the nearest of the expected files, without line numbers and numbers of the extension's objects."""
    with open(f'{directory}/results/{name}.out') as file:
        result = file.read().split('\n')
    found = []
    for path in [f'{directory}/expected/{name}.out', *glob.glob(f'{directory}/expected/{name}_[0-9].out')]:
        with open(path) as file:
            found.append(list(difflib.unified_diff(file.read().split('\n'), result, n=3, lineterm=''))[2:])
    nearest = min(found, key=len)
    lines = ['@@' if line.startswith('@@') else re.sub(r'\b(1[6-9]|[2-9]\d)\d{3}\b', 'OID', line) for line in nearest]
    return '\n'.join(lines) + '\n'


def reasons(suite):
    with open(f'{HERE}/differences/list') as file:
        listed = [line.split(': ', 1) for line in file if not line.startswith('#')]
    return {name.split('/')[1]: reason for name, reason in listed if name.split('/')[0] == suite}


def judge(suite, directory, name, listed):
    """True if the test's difference is one that is known."""
    try:
        seen = difference(directory, name)
    except FileNotFoundError as error:
        print(f'{name}: {error}')
        return False
    stored = f'{HERE}/differences/{suite}/{name}.diff'
    if name in listed and os.environ.get('ACCEPT'):
        with open(stored, 'w') as file:
            file.write(seen)
    if name in listed and os.path.exists(stored):
        with open(stored) as file:
            expected = file.read()
        if expected == seen:
            return True
        print(f'{name}: another difference than the one that is known, by lines:')
        seen = '\n'.join(difflib.unified_diff(expected.split('\n'), seen.split('\n'), lineterm=''))
    print(f'{name}:\n{seen[:6000]}')
    return False


def main():
    suite, source, directory = sys.argv[1:]
    shutil.copytree(f'{source}/{suite}', directory, ignore=shutil.ignore_patterns('*.o', '*.so', 'results'))
    if suite == 'regress':
        build_modules(source, directory)
    results = run(suite, directory)
    listed = reasons(suite)
    bad = [name for name, ok in results.items() if not ok and not judge(suite, directory, name, listed)]
    print(f'{len(results)} tests, {len(bad)} with an unknown difference: {" ".join(bad)}')
    sys.exit(1 if bad or not results else 0)


if __name__ == '__main__':
    main()
