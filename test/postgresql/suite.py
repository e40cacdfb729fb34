#!/usr/bin/env python3
"""PostgreSQL's own suite, on a server where the extension is loaded and created in the suite's database.

suite.py regress|isolation SOURCE DIRECTORY: SOURCE is what postgresql_source.py extracted, DIRECTORY takes the copy that
runs. The server is PGHOST's and PGPORT's, its programs are PG_CONFIG's. A test passes without difference, or with the
one that differences/SUITE/TEST.diff holds and differences/list gives the reason for. With ACCEPT=1 the differences of
listed tests are written there. The scripts may be of another minor version than the programs: where tests differ that are
not listed, the suite runs on a server without the extension as well, and what that one prints is right, too.
"""
import collections
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


def pg_regress(suite, directory, output, *options):
    """Runs all tests of the suite; what was printed."""
    program = os.path.join(os.path.dirname(pg_config('--pgxs')), '../../src/test', PROGRAMS[suite])
    os.makedirs(output, exist_ok=True)
    command = [program, '--inputdir=.', f'--outputdir={output}', f'--bindir={pg_config("--bindir")}', f'--dlpath={directory}',
               '--max-concurrent-tests=20', f'--schedule={schedule(suite)}', *options]
    return subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def schedule(suite):
    return 'parallel_schedule' if suite == 'regress' else 'isolation_schedule'


def run(suite, directory):
    """What pg_regress says of each test: its name, and whether it is as expected."""
    printed = pg_regress(suite, directory, directory, f'--host={os.environ["PGHOST"]}', f'--port={os.environ["PGPORT"]}',
                         '--user=postgres', '--load-extension=pando')
    tests = re.findall(r'^(?:test|    ) (\S+) +\.\.\. (ok|FAILED|failed \(ignored\)).*$', printed, re.M)
    with open(f'{directory}/{schedule(suite)}') as file:
        wanted = [name for line in file if line.startswith('test:') for name in line[5:].split()]
    results = {name: said == 'ok' for name, said in tests}
    missing = [name for name in wanted if name not in results]
    if missing:
        sys.exit(f'{printed[-3000:]}\nnothing is known of {missing}')
    return results


def run_without(suite, directory):
    """The suite on a server of its own, where the extension isn't even loaded; its results are in plain/results."""
    os.environ['LC_ALL'] = 'C.UTF-8'
    for name in ('PGHOST', 'PGPORT', 'PGUSER'):
        os.environ.pop(name, None)
    pg_regress(suite, directory, f'{directory}/plain', f'--temp-instance={directory}/plain/server')


def difference(directory, name):
    """From the nearest of the expected files and a plain server's, without line numbers and numbers of the extension's objects."""
    with open(f'{directory}/results/{name}.out') as file:
        result = file.read().split('\n')
    found = []
    for path in [f'{directory}/expected/{name}.out', *glob.glob(f'{directory}/expected/{name}_[0-9].out'),
                 *glob.glob(f'{directory}/plain/results/{name}.out')]:
        with open(path) as file:
            found.append(list(difflib.unified_diff(file.read().split('\n'), result, n=3, lineterm=''))[2:])
    nearest = min(found, key=len)
    lines = ['@@' if line.startswith('@@') else re.sub(r'\b(1[6-9]|[2-9]\d)\d{3}\b', 'OID', line) for line in nearest]
    return '\n'.join(lines) + '\n' if lines else ''


def reasons(suite):
    with open(f'{HERE}/differences/list') as file:
        listed = [line.split(': ', 1) for line in file if not line.startswith('#')]
    return {name.split('/')[1]: reason for name, reason in listed if name.split('/')[0] == suite}


def net(diff):
    """What a difference adds and takes away, but for lines that only come elsewhere: some queries have no ORDER BY, and rows come
    as they lie in the catalogs."""
    lines = diff.split('\n')
    added, gone = (collections.Counter(line[1:] for line in lines if line.startswith(sign)) for sign in '+-')
    return added - gone, gone - added


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
        if net(expected) == net(seen):
            return True
        print(f'{name}: another difference than the one that is known, by lines:')
        seen = '\n'.join(difflib.unified_diff(expected.split('\n'), seen.split('\n'), lineterm=''))
    if seen:
        print(f'{name}:\n{seen[:6000]}')
    return seen == ''


def main():
    suite, source, directory = sys.argv[1:]
    shutil.copytree(f'{source}/{suite}', directory, ignore=shutil.ignore_patterns('*.o', '*.so', 'results'))
    if suite == 'regress':
        build_modules(source, directory)
    results = run(suite, directory)
    listed = reasons(suite)
    differing = [name for name, ok in results.items() if not ok]
    if any(name not in listed for name in differing):
        run_without(suite, directory)
    bad = [name for name in differing if not judge(suite, directory, name, listed)]
    print(f'{len(results)} tests, {len(bad)} with an unknown difference: {" ".join(bad)}')
    sys.exit(1 if bad or not results else 0)


if __name__ == '__main__':
    main()
