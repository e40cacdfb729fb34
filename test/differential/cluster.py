"""What the comparisons share: databases on the cluster that the environment names, and psql.

PGHOST, PGPORT and PGUSER lead to the coordinator, PATH to psql, WORKERS ("port port ...") to the workers. Scripts come from the
node with the port NODE, or from the coordinator.
STATEMENT_CACHES (never, always): the databases get it as pando.statement_caches.
"""
import os
import re
import subprocess

WORKERS = os.environ.get('WORKERS', '').split()
COORDINATOR = os.environ.get('PGPORT', '5432')
NODE = os.environ.get('NODE', COORDINATOR)


class Stuck(Exception):
    """A script did not come to its end in time."""


def psql(database, text, *options, port=NODE, timeout=600):
    """The output of a script, with errors where they occur."""
    command = ['psql', '-X', '-q', '-d', database, '-p', port, *options]
    try:
        done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout,
                              errors='replace')
    except subprocess.TimeoutExpired as error:
        raise Stuck(f'no end after {timeout} s: {text[:200]}') from error
    return done.stdout


def must(database, text, *options, port=NODE):
    """Runs a script in which no statement may fail."""
    out = psql(database, text, '-At', '-v', 'ON_ERROR_STOP=1', *options, port=port)
    if 'ERROR:' in out or 'error:' in out:
        raise SystemExit(f'{database}: {out}')
    return out


def create_plain(name):
    must('postgres', f'DROP DATABASE IF EXISTS {name} WITH (FORCE)')
    must('postgres', f'CREATE DATABASE {name}')


def create_cluster(name):
    """A database on all nodes, with the extension."""
    for port in [COORDINATOR, *WORKERS]:
        must('postgres', f'DROP DATABASE IF EXISTS {name} WITH (FORCE)', port=port)
        must('postgres', f'CREATE DATABASE {name}', port=port)
        must(name, 'CREATE EXTENSION pando', port=port)
        if 'STATEMENT_CACHES' in os.environ:
            must(name, f"ALTER DATABASE {name} SET pando.statement_caches = {os.environ['STATEMENT_CACHES']}", port=port)
    must(name, f"SELECT citus_set_coordinator_host('127.0.0.1', {COORDINATOR})", port=COORDINATOR)
    for port in WORKERS:
        must(name, f"SELECT citus_add_node('127.0.0.1', {port})", port=COORDINATOR)


def drop(name, *roles):
    """Removes a database and roles of its own from all nodes."""
    for port in [COORDINATOR, *WORKERS]:
        must('postgres', f'DROP DATABASE IF EXISTS {name} WITH (FORCE)', port=port)
        for role in roles:
            must('postgres', f'DROP ROLE IF EXISTS {role}', port=port)


def listed(name, flags):
    """What is known and has its reason: the lines WHERE | regular expression | reason of a file beside this one."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name)) as file:
        lines = [line.rstrip('\n').split(' | ') for line in file if line.strip() and not line.startswith('#')]
    return [(where, re.compile(pattern, flags), reason) for where, pattern, reason in lines]
