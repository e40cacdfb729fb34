#!/usr/bin/env python3
"""PostgreSQL's own regression scripts while each table that they make is distributed at once, at random.

    postgresql_scripts.py [worker] [SEED [SCRIPT ...]]      without scripts: FAST; "all" stands for all of SCRIPTS

Each SCRIPT (src/test/regress/sql/SCRIPT.sql of PostgreSQL's source) runs three times, in databases of their own:
1. pglearn, plain, prints what becomes of each table in the script: its columns, keys, foreign keys, NULLs, children.
   With that a way to distribute the table is drawn which the script's own statements allow: by a column that all its unique
   keys hold and that is never NULL, as a reference table, in one shard, or not at all. The seed alone decides.
2. pgdist, a cluster, where an event trigger at the end of CREATE TABLE (and CREATE TABLE AS) distributes the table.
3. pgplain, plain. A statement that the cluster refused (feature_not_supported), or that the list has, is an error here as well:
   what comes after it finds the same state.
What both print is compared statement by statement: rows in their order where the query asks for one, else as a bag; errors with
SQLSTATE, detail and hint; notices. With "worker" the cluster's statements come from a worker; what the list doesn't have then are
values of sequences, which have a range of their own there. postgresql_scripts.list has what is refused or known to differ, with the reason;
anything else fails. Rules for the output: normalise(). Exits with 77 where the source can't be had.
"""
import collections
import json
import os
import random
import re
import sys
import tempfile

import cluster
import postgresql_source

# Where the scripts run in each database.
NODES = dict.fromkeys(('pglearn', 'pgplain', 'pgdist'), cluster.COORDINATOR)
SETUP = ['test_setup']
FAST = ['copydml', 'insert_conflict', 'update', 'delete', 'returning', 'generated', 'hash_part', 'select_having', 'updatable_views', 'with']
SCRIPTS = ['copy', 'copyselect', 'copydml', 'insert', 'insert_conflict', 'create_misc', 'triggers', 'select', 'updatable_views',
           'select_into', 'select_distinct', 'select_distinct_on', 'select_implicit', 'select_having', 'subselect', 'union', 'case', 'join',
           'aggregates', 'transactions', 'portals', 'arrays', 'update', 'delete', 'privileges', 'rowsecurity', 'groupingsets', 'identity',
           'generated', 'join_hash', 'merge', 'rules', 'foreign_key', 'window', 'limit', 'copy2', 'domain', 'rangefuncs', 'prepare', 'truncate',
           'sequence', 'rowtypes', 'returning', 'with', 'partition_join', 'partition_prune', 'hash_part', 'indexing', 'partition_aggregate',
           'plancache', 'constraints', 'tsrf', 'incremental_sort', 'fast_default']

COMMON = """
CREATE SCHEMA pando_test;
GRANT ALL ON SCHEMA pando_test TO public;
-- Tables that a command made or changed, where these are not temporary.
CREATE FUNCTION pando_test.commands() RETURNS SETOF regclass LANGUAGE sql AS $$
	SELECT DISTINCT c.oid::regclass FROM pg_catalog.pg_event_trigger_ddl_commands() e
		LEFT JOIN pg_catalog.pg_index i ON e.classid = 'pg_class'::regclass AND i.indexrelid = e.objid
		JOIN pg_catalog.pg_class c ON e.classid = 'pg_class'::regclass AND c.oid = COALESCE(i.indrelid, e.objid)
	WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND c.relnamespace <> 'pando_test'::regnamespace
$$;
CREATE FUNCTION pando_test.name(t oid) RETURNS text LANGUAGE sql AS $$
	SELECT pg_catalog.format('%I.%I', nspname, relname) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace
	WHERE c.oid = t
$$;
-- Columns that a table could be distributed by.
CREATE FUNCTION pando_test.columns(t oid) RETURNS text[] LANGUAGE sql AS $$
	SELECT COALESCE(pg_catalog.array_agg(attname ORDER BY attnum), '{}')::text[] FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type y ON y.oid = atttypid
	WHERE attrelid = t AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND EXISTS (SELECT 1 FROM pg_catalog.pg_opclass o
		JOIN pg_catalog.pg_am m ON m.oid = o.opcmethod WHERE amname = 'hash' AND opcdefault AND opcintype IN (atttypid, CASE typtype WHEN 'd' THEN typbasetype END,
			CASE typtype WHEN 'e' THEN 'anyenum'::regtype END))
$$;
"""

LEARN = COMMON + """
CREATE FUNCTION pando_test.nulls() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	col text;
	fact text;
	root oid := COALESCE(pg_catalog.pg_partition_root(TG_RELID), TG_RELID);
BEGIN
	FOR col IN SELECT key FROM pg_catalog.jsonb_each(pg_catalog.to_jsonb(NEW)) WHERE value = 'null' LOOP
		fact := pg_catalog.format('{"name": %s, "null": %s}', pg_catalog.to_json(pando_test.name(root)), pg_catalog.to_json(col));
		IF pg_catalog.strpos(COALESCE(pg_catalog.current_setting('pando_test.seen', true), ''), fact) = 0 THEN
			PERFORM pg_catalog.set_config('pando_test.seen', COALESCE(pg_catalog.current_setting('pando_test.seen', true), '') || fact, false);
			RAISE WARNING 'learn: %', fact;
		END IF;
	END LOOP;
	RETURN NEW;
END $$;
CREATE FUNCTION pando_test.learn() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
	t regclass;
	col text;
	found_null bool;
BEGIN
	FOR t IN SELECT pando_test.commands() LOOP
		RAISE WARNING 'learn: %', pg_catalog.json_build_object('name', pando_test.name(t), 'columns', pando_test.columns(t),
			'unique', (SELECT pg_catalog.json_agg((SELECT pg_catalog.json_agg(attname) FROM pg_catalog.pg_attribute
					WHERE attrelid = indrelid AND attnum = ANY (indkey))) FROM pg_catalog.pg_index WHERE indrelid = t AND (indisunique OR indisexclusion)),
			'keys', (SELECT pg_catalog.json_agg(pando_test.name(confrelid)) FROM pg_catalog.pg_constraint WHERE conrelid = t AND contype = 'f'),
			'parent', (SELECT pg_catalog.json_agg(pando_test.name(inhparent)) FROM pg_catalog.pg_inherits WHERE inhrelid = t),
			'partition', (SELECT relispartition FROM pg_catalog.pg_class WHERE oid = t));
		IF tg_tag IN ('CREATE TABLE AS', 'SELECT INTO') THEN
			FOR col IN SELECT pg_catalog.unnest(pando_test.columns(t)) LOOP
				EXECUTE pg_catalog.format('SELECT EXISTS (SELECT 1 FROM %s WHERE %I IS NULL)', t, col) INTO found_null;
				IF found_null THEN
					RAISE WARNING 'learn: {"name": %, "null": %}', pg_catalog.to_json(pando_test.name(t)), pg_catalog.to_json(col);
				END IF;
			END LOOP;
		END IF;
		IF (SELECT relkind = 'r' FROM pg_catalog.pg_class WHERE oid = t) AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_trigger WHERE tgrelid = t AND tgname = 'zzz_learn') THEN
			EXECUTE pg_catalog.format('CREATE TRIGGER zzz_learn BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION pando_test.nulls()', t);
		END IF;
	END LOOP;
END $$;
CREATE EVENT TRIGGER pando_test_learn ON ddl_command_end EXECUTE FUNCTION pando_test.learn();
"""

SPREAD = COMMON + """
CREATE TABLE pando_test.ways (name text PRIMARY KEY, ways text[]);
GRANT SELECT ON pando_test.ways TO public;
CREATE FUNCTION pando_test.spread() RETURNS event_trigger LANGUAGE plpgsql SET client_min_messages = error AS $$
DECLARE
	t regclass;
	way text;
BEGIN
	FOR t, way IN SELECT c, (SELECT w FROM pando_test.ways, pg_catalog.unnest(ways) WITH ORDINALITY AS u (w, n)
				WHERE name = pando_test.name(c) AND (w IN (':reference', ':single', ':local') OR w = ANY (pando_test.columns(c))) ORDER BY n LIMIT 1)
			FROM pando_test.commands() c JOIN pg_catalog.pg_class ON pg_class.oid = c WHERE NOT relispartition LOOP
		IF way = ':reference' THEN
			PERFORM pg_catalog.create_reference_table(t);
		ELSIF way = ':single' THEN
			PERFORM pg_catalog.create_distributed_table(t, NULL);
		ELSIF way <> ':local' THEN
			PERFORM pg_catalog.create_distributed_table(t, way);
		END IF;
	END LOOP;
END $$;
CREATE EVENT TRIGGER pando_test_spread ON ddl_command_end WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO')
	EXECUTE FUNCTION pando_test.spread();
"""

# What ends a run: roles that a script left are not the next one's.
DROP_ROLES = """
SET citus.enable_ddl_propagation = off;
DO $$ DECLARE r name; BEGIN
	FOR r IN SELECT rolname FROM pg_roles WHERE rolname LIKE 'regress%' LOOP
		EXECUTE format('DROP OWNED BY %I CASCADE', r);
		BEGIN EXECUTE format('DROP ROLE %I', r); EXCEPTION WHEN dependent_objects_still_exist THEN NULL; END;
	END LOOP;
END $$;
"""

REFUSED = "DO LANGUAGE plpgsql $refused$ BEGIN RAISE feature_not_supported USING MESSAGE = 'refused'; END $refused$;\n"

TOKEN = re.compile(r"""--[^\n]*|/\*.*?\*/|\b[eE]'(?:\\.|''|[^'\\])*'|'(?:''|[^'])*'|"[^"]*"|\$(?P<tag>(?:[A-Za-z_]\w*)?)\$.*?\$(?P=tag)\$|\\[^\n]*\n?|\w+|.""", re.S)


def statements(text):
    """The parts of a script: statements (with the data of a COPY), and psql's own commands."""
    found, start, depth, atomic, position = [], 0, 0, 0, 0
    while position < len(text):
        token = TOKEN.match(text, position)
        word, position = token.group().lower(), token.end()
        blank = not re.sub(r'--[^\n]*|/\*.*?\*/', '', text[start:token.start()], flags=re.S).strip()
        if word in '()':
            depth += 1 if word == '(' else -1
        elif word == 'atomic' and re.search(r'\bbegin\s+atomic$', text[start:position], re.I):
            atomic = 1
        elif atomic and word in ('case', 'end'):
            atomic += 1 if word == 'case' else -1
        ends = word == ';' and depth <= 0 and not atomic or word.startswith('\\') and (blank or re.match(r'\\(g|crosstab|watch)', word))
        if not ends:
            continue
        if re.search(r'^\s*\\?copy\b.*\bfrom\s+std', uncommented(text[start:position]), re.I | re.S):
            data = re.compile(r'[ \t]*(--[^\n]*)?\n((?![^\n]*;\n)[^\n]*\n)*?\\\.[ \t]*\n').match(text, position)
            position = data.end() if data else position
        found.append(text[start:position])
        start, depth, atomic = position, 0, 0
    return [part for part in found + [text[start:]] if part.strip()]


def uncommented(statement):
    return re.sub(r'--[^\n]*|/\*.*?\*/', '', statement, flags=re.S)


def usable(statement):
    """Not what looks at plans or catalogs of one server by psql's commands, changes what the output looks like, or calls C functions."""
    text = uncommented(statement)
    return not re.search(r'^\s*\\(d|sf|sv|z|l\b|pset|a\b|t\b|x\b|set\s+(VERBOSITY|SHOW_CONTEXT|HIDE))|^\s*explain\b|^\s*execute explain|\blanguage c\b|regresslib', text, re.I | re.M)


def read(regress, name):
    with open(f'{regress}/sql/{name}.sql') as file:
        text = file.read()
    # A cursor that doesn't say whether it scrolls does so where its plan happens to.
    text = re.sub(r'\b(declare \w+) cursor\b', r'\1 scroll cursor', text, flags=re.I)
    # Nodes are entered as the session's user.
    text = re.sub(r'^(create user \w+) nologin\b|^create role (?=regress)', lambda found: found.group(1) or 'CREATE USER ', text, flags=re.I | re.M)
    return [s for s in statements(text) if usable(s)]


def normalise(lines):
    """Without what says where (positions, contexts, fields that the message has as well); of several rows that break a rule, any may be
    the one that an error shows; names of the databases are one. The notice of a foreign key that is made before its table is
    distributed is ours."""
    context = False
    for line in lines:
        line = re.sub(r'^psql:<stdin>:\d+: ', '', line)
        context = re.match('CONTEXT:', line) or context and not re.match(r'(ERROR|FATAL|WARNING|NOTICE|INFO|LOCATION|\w+ NAME):', line)
        if context or re.match(r'(LOCATION|LINE \d+|\w+ NAME):|\s+\^$', line) or ' does not see changes of ' in line:
            continue
        line = re.sub(r'^(ERROR|FATAL|WARNING|NOTICE|INFO):  (\w{5}): ', r'\1: \2 ', line)
        line = re.sub(r'(ailing row contains ).*', r'\1...', line)
        yield re.sub(r'\bpg(learn|plain|dist)\b', 'DATABASE', line)


def run(database, regress, scratch, parts, refused=()):
    """What each part of a script printed, and the facts of learn()."""
    os.environ.update(PG_ABS_SRCDIR=regress, PG_ABS_BUILDDIR=scratch, PG_LIBDIR=scratch, PG_DLSUFFIX='.so', PGTZ='PST8PDT', PGDATESTYLE='Postgres, MDY')
    script = ''.join(f'\\echo ==={i}\n{REFUSED if i in refused else part}\n' for i, part in enumerate(parts))
    out = cluster.psql(database, "SET intervalstyle = postgres_verbose;\n" + script, '-At', '-v', 'VERBOSITY=verbose', '-P', 'null=NULL', timeout=900, port=NODES[database])
    found, facts = [[] for _ in parts], []
    for part in re.split(r'^===(?=\d+$)', out, flags=re.M)[1:]:
        number, _, rows = part.partition('\n')
        told = [re.search(r'learn: (\{.*\})$', line) for line in rows.split('\n')[:-1]]
        facts += [json.loads(fact.group(1)) for fact in told if fact]
        found[int(number)] = list(normalise(line for line, fact in zip(rows.split('\n'), told) if not fact))
    return found, facts


class Table:
    """All the tables of a name that a script makes, at any time."""

    def __init__(self):
        self.columns, self.nulls, self.unique, self.tree, self.kin, self.tied, self.inherits = None, set(), [], set(), set(), False, False


def tie(tables, kind, name, other):
    getattr(tables[name], kind).add(other)
    getattr(tables[other], kind).add(name)


def learned(facts):
    tables = collections.defaultdict(Table)
    for fact in facts:
        name, table = fact['name'], tables[fact['name']]
        if 'null' in fact:
            table.nulls.add(fact['null'])
            continue
        table.columns = set(fact['columns']) & (table.columns or set(fact['columns']))
        table.unique += [set(key or []) for key in fact['unique'] or []]
        for other in fact['keys'] or []:
            table.tied = tables[other].tied = True
            tie(tables, 'kin', name, other)
        for parent in fact['parent'] or []:
            if fact['partition']:
                tie(tables, 'tree', name, parent)
                tie(tables, 'kin', name, parent)
            else:
                table.inherits = tables[parent].inherits = True
    return tables


def related(tables, kind, name):
    """Tables that one is tied to, over any number of steps."""
    found, todo = set(), [name]
    while todo:
        member = todo.pop()
        if member not in found:
            found.add(member)
            todo += getattr(tables[member], kind)
    return found


def draw(tables, seed):
    """Ways to distribute each table, best first: partitions have their parent's, and what foreign keys tie together the same."""
    ways = {}
    for name in tables:
        tree, kin = related(tables, 'tree', name), related(tables, 'kin', name)
        dice = random.Random(f'{seed} {min(kin)}')
        chance = dice.random()
        columns = set.intersection(*((tables[t].columns or set()) - tables[t].nulls for t in tree))
        columns = sorted(c for c in columns if all(c in key for t in tree for key in tables[t].unique))
        dice.shuffle(columns)
        if any(tables[t].inherits for t in kin):
            ways[name] = [':local']
        elif any(tables[t].tied for t in kin):
            ways[name] = [':reference' if chance < 0.5 else ':single' if chance < 0.85 else ':local']
        elif chance < 0.65:
            ways[name] = columns + [':single']
        else:
            ways[name] = [':single' if chance < 0.8 else ':reference' if chance < 0.93 else ':local']
    return ways


def set_ways(ways):
    rows = json.dumps([{'name': name, 'ways': way} for name, way in ways.items()]).replace("'", "''")
    cluster.must('pgdist', f"INSERT INTO pando_test.ways SELECT * FROM json_populate_recordset(NULL::pando_test.ways, '{rows}') "
                 'ON CONFLICT (name) DO UPDATE SET ways = EXCLUDED.ways')


def has_order(statement):
    """Does the query itself ask for an order?"""
    text = uncommented(statement)
    while re.search(r'\([^()]*\)', text):
        text = re.sub(r'\([^()]*\)', '', text)
    return re.search(r'order\s+by', text, re.I) is not None


def errors(lines):
    return [line for line in lines if line.startswith('ERROR: ')]


class Known:
    """postgresql_scripts.list: SCRIPT | regular expression for the statement, or for a line of the output | reason."""

    def __init__(self):
        self.entries, self.used = cluster.listed('postgresql_scripts.list', re.S), set()

    def reason(self, script, statement, lines):
        for entry in self.entries:
            name, pattern, reason = entry
            if name in (script, '*') and (pattern.search(statement) or any(pattern.search(line) for line in lines)):
                self.used.add(entry)
                return reason
        return None


def refusals(script, parts, learn, dist, known):
    """Parts that are an error on the cluster alone, by feature_not_supported or by the list."""
    return {i for i, part in enumerate(parts) if errors(dist[i]) and errors(dist[i]) != errors(learn[i])
            and (errors(dist[i])[0].startswith('ERROR: 0A000') or known.reason(script, part, errors(dist[i])))}


def same(statement, here, there):
    return here == there or not has_order(statement) and sorted(here) == sorted(there)


def compare(script, regress, scratch, seed, known):
    """Runs a script; the number of differences that nothing explains."""
    parts = read(regress, script)
    learn, facts = run('pglearn', regress, scratch, parts)
    set_ways(draw(learned(facts), seed))
    drop_roles()
    dist = run('pgdist', regress, scratch, parts)[0]
    drop_roles()
    refused = refusals(script, parts, learn, dist, known)
    plain = run('pgplain', regress, scratch, parts, refused)[0]
    drop_roles()
    unknown = excepted = 0
    for i, part in enumerate(parts):
        if i not in refused and same(part, plain[i], dist[i]):
            continue
        if known.reason(script, part, errors(dist[i]) if i in refused else dist[i]):
            excepted += 1
            continue
        unknown += 1
        print(f'--- {script} {"refuses" if i in refused else "differs"}: {part.strip()[:1500]}')
        if i in refused:
            print(f'  {dist[i][:2]}')
            continue
        print('  only plain:', *[row for row in plain[i] if row not in dist[i]][:6], sep='\n    ')
        print('  only distributed:', *[row for row in dist[i] if row not in plain[i]][:6], sep='\n    ')
    print(f'{script}: {len(parts)} statements, {len(refused)} refused, {excepted} in the list, {unknown} differ and are not in it', flush=True)
    return unknown


def drop_roles():
    for port in [cluster.COORDINATOR, *cluster.WORKERS]:
        for database in ('pglearn', 'pgplain', 'pgdist') if port == cluster.COORDINATOR else ('pgdist',):
            cluster.psql(database, DROP_ROLES, '-o', '/dev/null', port=port)


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ['worker']:
        NODES['pgdist'] = cluster.WORKERS[0]
        del arguments[0]
    regress = postgresql_source.regress_directory()
    seed, names, known = (arguments or ['1'])[0], arguments[1:] or FAST, Known()
    scratch = tempfile.mkdtemp(prefix='pando-scripts-')
    os.mkdir(f'{scratch}/results')
    os.chmod(scratch, 0o777)
    os.chmod(f'{scratch}/results', 0o777)
    cluster.create_plain('pglearn')
    cluster.create_plain('pgplain')
    cluster.create_cluster('pgdist')
    cluster.must('pgdist', 'ALTER DATABASE pgdist SET citus.shard_count = 4')
    cluster.must('pglearn', LEARN)
    cluster.must('pgdist', SPREAD)
    if NODES['pgdist'] != cluster.COORDINATOR:
        cluster.must('pgdist', "SELECT create_reference_table('pando_test.ways')")
    failed = 0
    for name in SETUP + (SCRIPTS if names == ['all'] else names):
        failed += compare(name, regress, scratch, seed, known)
    for entry in known.entries:
        if names == ['all'] and entry not in known.used:
            print('no longer needed:', *entry[:2])
    for database in ('pglearn', 'pgplain', 'pgdist') if not failed else ():
        cluster.drop(database)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
