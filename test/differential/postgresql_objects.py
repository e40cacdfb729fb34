#!/usr/bin/env python3
"""PostgreSQL's own scripts about objects, on one node of a cluster where their tables stay local.

    postgresql_objects.py [NODE [SCRIPT ...]]     NODE: coordinator or worker; without scripts FAST, "all" stands for all of SCRIPTS

Each script (src/test/regress/sql/SCRIPT.sql of PostgreSQL's source, or that of a module) runs twice, in databases of one name: a plain one, and one that is
a cluster's. Both must print the same, but for what postgresql_objects.list has, with the reason. Afterwards the schema of every
node is dumped, and its roles: what is recorded as being on all nodes must be there, and alike; what another node has, the one of the scripts must
have. Tables and what belongs to them are the node's own here, and so is what needs one of them; all else that isn't on the other
nodes has to be in the list. Exits with 77 where the source can't be had.
"""
import difflib
import os
import re
import subprocess
import sys
import tempfile

import cluster
import postgresql_source
from cluster import COORDINATOR, WORKERS

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(f'{HERE}/../postgresql')
import suite  # noqa: E402: it has what builds the C functions of the scripts

DATABASE = 'pgobjects'
# In the order of PostgreSQL's own schedule: later ones use what earlier ones make.
SCRIPTS = ['test_setup', 'tablespace', 'enum', 'rangetypes', 'create_function_c', 'create_misc', 'create_operator', 'create_procedure', 'create_table',
           'create_type', 'create_schema', 'create_index', 'create_view', 'create_aggregate', 'create_function_sql', 'create_cast', 'constraints', 'triggers', 'drop_if_exists',
           'roleattributes', 'create_am', 'namespace', 'privileges', 'init_privs', 'security_label', 'collate', 'matview', 'object_address', 'drop_operator', 'password', 'alter_generic', 'alter_operator', 'create_role', 'rolenames',
           'rules', 'publication', 'subscription', 'dependency', 'tsdicts', 'foreign_data', 'domain', 'conversion', 'alter_table', 'sequence', 'polymorphism', 'reloptions', 'event_trigger']
FAST = ['test_setup', 'create_function_c', 'create_operator', 'create_procedure', 'create_type', 'create_schema', 'create_aggregate', 'create_cast',
        'roleattributes', 'namespace', 'security_label', 'collate', 'object_address', 'alter_generic', 'alter_operator', 'create_role', 'dependency', 'domain', 'event_trigger']


class Known:
    """postgresql_objects.list: WHERE | regular expression | reason. WHERE is a script, * for all, or "dump"."""

    def __init__(self):
        self.entries, self.used = cluster.listed('postgresql_objects.list', re.S | re.M), set()

    def has(self, where, text):
        for entry in self.entries:
            if entry[0] in (where, '*') and entry[1].search(text):
                self.used.add(entry)
                return True
        return False


def script_path(script, regress):
    own = f'{regress}/sql/{script}.sql'
    return own if os.path.exists(own) else postgresql_source.module_script(script, regress)


def run(script, regress, scratch, port):
    """What psql prints of a script, as pg_regress calls it."""
    os.environ.update(PG_ABS_SRCDIR=regress, PG_ABS_BUILDDIR=scratch, PG_LIBDIR=scratch, PG_DLSUFFIX='.so', PGTZ='PST8PDT', PGDATESTYLE='Postgres, MDY',
                      PGOPTIONS='-c intervalstyle=postgres_verbose')
    with open(script_path(script, regress)) as file:
        return cluster.psql(DATABASE, file.read(), '-a', '-v', 'HIDE_TABLEAM=on', '-v', 'HIDE_TOAST_COMPRESSION=on', port=port, timeout=900).split('\n')


def differences(script, plain, spread):
    """Parts of the output that differ, with the line before each."""
    lines = list(difflib.unified_diff(plain, spread, n=0, lineterm=''))[2:]
    found = []
    for line in lines:
        at = re.match(r'@@ -(\d+)', line)
        if at:
            found.append([f'{script}:{at.group(1)}'])
        else:
            found[-1].append(line)
    return ['\n'.join(part) for part in found]


# ------------------------------------------------------------------------------------------------
# The schema of all nodes

def dump(port):
    """The entries of pg_dump, by their names, with their text."""
    done = subprocess.run(['pg_dump', '--schema-only', '-p', port, DATABASE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    entries = {}
    parts = re.split(r'^--\n-- Name: (.*)\n--\n', done.stdout, flags=re.M)
    for name, text in zip(parts[1::2], parts[2::2]):
        text = re.sub(r'\n--\n-- PostgreSQL database dump complete.*|\\unrestrict.*', '', text, flags=re.S)
        text = re.sub(r'^(SET default_table(space|_access_method) .*)?\n', '', text, flags=re.M)
        # Privileges that two roles got one after the other may have come in the other order.
        entries[name] = '\n'.join(sorted(text.split('\n'))) if '; Type: ACL;' in name or 'DEFAULT ACL' in name else text
    return entries


OF_TABLES = r'; Type: (TABLE|INDEX|CONSTRAINT|FK CONSTRAINT|CHECK CONSTRAINT|DEFAULT|TRIGGER|RULE|SEQUENCE|SEQUENCE OWNED BY|POLICY|ROW SECURITY|STATISTICS|PUBLICATION TABLE|TABLE ATTACH|INDEX ATTACH|FOREIGN TABLE)'

# What needs a table, sequence, foreign table or base type, which are this node's alone, at any distance.
NEEDS_TABLE = """SET search_path = '';
WITH RECURSIVE depends (classid, objid, refclassid, refobjid) AS (SELECT classid, objid, refclassid, refobjid FROM pg_depend WHERE deptype <> 'e'
	UNION ALL SELECT 'pg_class'::regclass, ev_class, 'pg_rewrite'::regclass, oid FROM pg_rewrite),
own (classid, objid) AS (SELECT 'pg_class'::regclass::oid, c.oid FROM pg_class c WHERE relkind IN ('r', 'p', 'S', 'f') AND c.oid >= 16384
		AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
	UNION SELECT 'pg_type'::regclass, oid FROM pg_type t WHERE (typtype = 'b' AND NOT EXISTS (SELECT FROM pg_type e WHERE e.typarray = t.oid) OR NOT typisdefined) AND oid >= 16384
		AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_type'::regclass AND objid = t.oid AND deptype = 'e')
	UNION SELECT d.classid, d.objid FROM depends d JOIN own ON d.refclassid = own.classid AND d.refobjid = own.objid),
named AS (SELECT (pg_identify_object(classid, objid, 0)).* FROM own WHERE classid <> 'pg_rewrite'::regclass)
SELECT DISTINCT regexp_replace(name, '^"|"$', '', 'g') FROM named WHERE name IS NOT NULL UNION SELECT replace(identity, 'pg_catalog.', '') FROM named"""


def compare_nodes(node, others, known):
    """What is on the node of the scripts and on the others, and not the same."""
    found = []
    here = dump(node)
    needing = set(cluster.must(DATABASE, NEEDS_TABLE, port=node).split('\n'))
    for port in others:
        there = dump(port)
        for name in sorted(set(here) | set(there)):
            a, b = here.get(name), there.get(name)
            if a == b:
                continue
            plain = re.sub(r'^(ACL )?|; Type: .*', '', name).replace(', ', ',')
            bare = re.sub(r'^(\w+ )?(COLUMN |TABLE |VIEW |FUNCTION |TYPE |SEQUENCE |MATERIALIZED VIEW )', '', plain)
            schema = re.search(r'; Schema: ([^;]+)', name).group(1)
            of_table = re.search(OF_TABLES, name) or any(n in needing or f'{schema}.{n}' in needing for n in (plain, bare, bare.split('.')[0], bare.split('(')[0], plain.split(' ')[0]))
            if b is None and of_table:
                continue
            difference = f'{name}\n' + '\n'.join(difflib.unified_diff((a or '').split('\n'), (b or '').split('\n'), n=0, lineterm=''))
            if not known.has('dump', difference):
                found.append(f'--- on {port}: {difference[:1500]}')
    return found


def compare_roles(node, others):
    """Roles, with attributes, passwords, settings and members."""
    def roles(port):
        done = subprocess.run(['pg_dumpall', '--roles-only', '-p', port], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
        return sorted(line for line in done.stdout.split('\n') if not re.match(r'--|\\(un)?restrict', line))
    here = roles(node)
    found = ['\n'.join(difflib.unified_diff(here, roles(port), node, port, n=0, lineterm='')) for port in others]
    return [difference for difference in found if difference]


RECORDED = "SELECT DISTINCT (pg_identify_object(classid, objid, objsubid)).* FROM pg_dist_object ORDER BY 1, 4"


def compare_records(node, others):
    found = []
    here = cluster.must(DATABASE, RECORDED, port=node).split('\n')
    for port in others:
        there = cluster.must(DATABASE, RECORDED, port=port).split('\n')
        found += ['\n'.join(difflib.unified_diff(here, there, node, port, n=0, lineterm=''))] if here != there else []
    return found


# ------------------------------------------------------------------------------------------------

DROP_ROLES = """
SET citus.enable_ddl_propagation = off;
DO $$ DECLARE r name; BEGIN
	FOR r IN SELECT rolname FROM pg_roles WHERE rolname LIKE 'regress%' LOOP
		BEGIN EXECUTE format('DROP ROLE %I', r); EXCEPTION WHEN dependent_objects_still_exist THEN NULL; END;
	END LOOP;
	FOR r IN SELECT spcname FROM pg_tablespace WHERE spcname LIKE 'regress%' LOOP
		RAISE WARNING 'tablespace % is left', r;
	END LOOP;
END $$;
"""


def clear():
    """Nothing of a run is left for the next one: databases, then roles."""
    for port in [COORDINATOR, *WORKERS]:
        cluster.must('postgres', f'DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)', port=port)
        cluster.psql('postgres', DROP_ROLES, '-o', '/dev/null', port=port)


def scratch_directory(source):
    scratch = tempfile.mkdtemp(prefix='pando-objects-')
    os.chmod(scratch, 0o777)
    os.mkdir(f'{scratch}/results')
    os.chmod(f'{scratch}/results', 0o777)
    if 'PG_CONFIG' in os.environ:
        suite.build_modules(source, scratch)
    return scratch


def main():
    place, names = (sys.argv[1:] or ['coordinator'])[0], sys.argv[2:] or FAST
    scripts = SCRIPTS if names == ['all'] else names
    regress, known = postgresql_source.regress_directory(), Known()
    scratch = scratch_directory(os.path.dirname(regress))
    node = COORDINATOR if place == 'coordinator' else WORKERS[0]
    clear()
    cluster.must('postgres', f'CREATE DATABASE {DATABASE}', port=node)
    plain = {script: run(script, regress, scratch, node) for script in scripts}
    clear()
    cluster.create_cluster(DATABASE)
    failures = []
    for script in scripts:
        parts = differences(script, plain[script], run(script, regress, scratch, node))
        unknown = [part for part in parts if not known.has(script, part)]
        print(f'{script}: {len(parts)} parts differ, {len(unknown)} of them are not in the list', *unknown, sep='\n', flush=True)
        failures += unknown
    others = [port for port in [COORDINATOR, *WORKERS] if port != node]
    unlike = compare_nodes(node, others, known) + compare_records(node, others) + compare_roles(node, others)
    print(*unlike, sep='\n')
    print(f'{len(scripts)} scripts from the {place}: {len(failures)} unknown differences, {len(unlike)} of the nodes')
    for entry in known.entries:
        if names == ['all'] and entry not in known.used:
            print('no longer needed:', entry[0], entry[1].pattern)
    if not failures + unlike:
        clear()
    sys.exit(1 if failures or unlike else 0)


if __name__ == '__main__':
    main()
