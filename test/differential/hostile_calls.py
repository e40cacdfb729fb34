#!/usr/bin/env python3
"""A role that owns nothing but a schema calls every function, procedure and aggregate of the
extension, on the coordinator and on a worker, with values that it chose to do harm: other
people's tables, shards and nodes, numbers at the ends of their types, NULL, '', forged JSON and
bytes. None may crash a server, raise an internal error, or leave a trace in the catalogs, in
other people's tables or among the roles. Then every setting is set to the ends of what it takes,
and the role uses a table of its own. What is added is tried without a word here.

    hostile_calls.py [SEED [SETS]]          each function with so many sets of arguments (12)
    hostile_calls.py SEED FUNCTION          only those of that name, and what each call gave
"""
import pathlib
import random
import re
import sys
import time

import cluster

DATABASE, ROLE = 'hostile_calls', 'pando_hostile'

SETUP = f'''
SET citus.shard_count = 4;
CREATE TABLE public.secret (id int PRIMARY KEY, word text);
SELECT create_distributed_table('secret', 'id');
INSERT INTO public.secret SELECT i, 'word ' || i FROM generate_series(1, 20) i;
CREATE TABLE public.secret_list (id int PRIMARY KEY, word text);
SELECT create_reference_table('secret_list');
INSERT INTO public.secret_list VALUES (1, 'one');
CREATE TABLE public.secret_plain (id serial PRIMARY KEY, word text);
INSERT INTO public.secret_plain (word) VALUES ('plain');
CREATE ROLE {ROLE} LOGIN;
CREATE SCHEMA own AUTHORIZATION {ROLE};
CREATE TABLE own.mine (k int PRIMARY KEY, v int);
SELECT create_distributed_table('own.mine', 'k');
INSERT INTO own.mine SELECT i, i % 3 FROM generate_series(1, 30) i;
ALTER TABLE own.mine OWNER TO {ROLE};
'''
# What must be as before, for a superuser who looks at it on each node. A table's owner may have
# the sizes of its shards noted (citus_update_shard_statistics).
STATE = r'''
SELECT relname, rows FROM (
	SELECT c.relname, (SELECT md5(coalesce(string_agg(line, E'\n' ORDER BY line), ''))
		FROM pando_state(c.oid) line) AS rows
	FROM pg_class c WHERE c.relkind = 'r' AND (c.relname LIKE 'pg\_dist\_%' OR c.relname LIKE 'secret%')
		AND c.relname NOT IN ('pg_dist_transaction', 'pg_dist_cleanup')) s ORDER BY 1;
SELECT rolname, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolcanlogin FROM pg_roles ORDER BY 1;
SELECT roleid::regrole, member::regrole FROM pg_auth_members ORDER BY 1, 2;
SELECT c.oid::regclass, c.relowner::regrole, c.relacl FROM pg_class c WHERE c.relname LIKE 'secret%' ORDER BY 1;
SELECT nspname, nspowner::regrole, nspacl FROM pg_namespace WHERE nspname <> 'own' AND nspname NOT LIKE 'pg\_t%' ORDER BY 1;
SELECT proname, prosecdef, proowner::regrole FROM pg_proc WHERE pronamespace <> COALESCE(to_regnamespace('own'), 0) AND oid >= 16384 ORDER BY 1, 2, proargtypes::text;
SELECT gid FROM pg_prepared_xacts;
'''
STATE_FUNCTION = '''
CREATE FUNCTION pando_state(relation oid) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format(CASE relation::regclass::text
		WHEN 'pg_dist_placement' THEN 'SELECT (placementid, shardid, groupid, CASE logicalrelid WHEN ''own.mine''::regclass THEN 0 ELSE shardlength END)::text
			FROM %s JOIN pg_dist_shard USING (shardid)'
		ELSE 'SELECT t::text FROM %s t' END, relation::regclass);
END $$;
REVOKE ALL ON FUNCTION pando_state(oid) FROM PUBLIC;
'''
FUNCTIONS = '''
SELECT p.oid::regprocedure::text, quote_ident(n.nspname) || '.' || quote_ident(p.proname), p.prokind, p.provariadic <> 0,
	array_to_string(ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t), ';')
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pando') AND d.deptype = 'e'
	AND NOT p.proname LIKE 'debug\\_point%' ORDER BY 1
'''
IMPOSSIBLE = {'internal', 'cstring', 'trigger', 'event_trigger', 'language_handler', 'index_am_handler', 'table_am_handler'}


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def values(known):
    """Values by type, as literals."""
    names = ['', 'secret', 'public.secret', 'public', 'own', 'no such thing', ROLE, 'postgres', '{}', "'; DROP TABLE secret; --", 'x' * 3000,
             'SELECT 1', 'SELECT * FROM public.secret', 'DROP TABLE public.secret', 'ALTER ROLE pando_hostile SUPERUSER', 'COMMIT', 'VACUUM own.mine',
             'VACUUM public.secret', 'ANALYZE own.mine', 'COPY own.mine TO STDOUT', 'CREATE INDEX CONCURRENTLY ON own.mine (v)', 'CLUSTER', 'SET ROLE postgres', '127.0.0.1', '../../x', '\\x00', *known['shard_names']]
    numbers = ['0', '-1', '1', '2', '7', '32767', *known['ids']]
    tables = ['public.secret', 'public.secret_list', 'public.secret_plain', 'pg_catalog.pg_class', 'pg_catalog.pg_dist_node', '0', '4000000000', *known['shard_names']]
    return {
        'text': names, 'name': [n[:60] for n in names], 'character varying': names, '"char"': ['r', 'h', 'n', '', 's'], 'cstring': names,
        'integer': [*[n for n in numbers if abs(int(n)) < 2 ** 31], '2147483647', '-2147483648'],
        'smallint': ['0', '-1', '1', '32767', '-32768'],
        'bigint': [*numbers, '9223372036854775807', '-9223372036854775808', str(2 ** 31)],
        'numeric': ['0', 'NaN', '-1', '1e100'], 'double precision': ['0', '-1', 'NaN', 'Infinity'], 'real': ['0', '-1', 'NaN', '2'],
        'boolean': ['t', 'f'], 'regclass': tables, 'oid': [*known['oids'], '0', '1', '4294967295'], 'xid': ['0', '3', '4294967295'], 'xid8': ['0', '700', '18446744073709551615'],
        'jsonb': ['{}', '[]', 'null', '{"a": [1, {"b": null}]}', '[[1,2],[3]]', '"x"', '1e300'], 'json': ['{}', '[]', 'null', '[1,"x",null]'],
        'bytea': ['', '\\x00', '\\xffffffffffffffffffffffff', '\\x' + '7fffffff' * 20], 'regprocedure': ['pg_catalog.sum(integer)', 'pg_catalog.pg_sleep(double precision)', '0', 'pg_catalog.array_agg(anynonarray)'],
        'regproc': ['pg_catalog.now', '0'], 'regtype': ['integer', 'anyelement', '0'], 'regnamespace': ['public', 'own', 'pg_catalog', '0'], 'regrole': ['postgres', ROLE, '0'],
        'interval': ['0', '-1 second', '1 second'], 'timestamp with time zone': ['-infinity', 'infinity', '2000-01-01'], 'tid': ['(0,1)', '(4294967295,65535)'],
        'pg_lsn': ['0/0', 'FFFFFFFF/FFFFFFFF'], 'date': ['infinity', '2000-01-01'], 'uuid': ['00000000-0000-0000-0000-000000000000'],
        'inet': ['127.0.0.1'],
    }


def argument(kind, known):
    """A value of the type as SQL."""
    if random.random() < 0.08:
        return f'NULL::{kind if not kind.startswith("any") and kind not in ("record", chr(34) + "any" + chr(34)) else "integer"}'
    if kind in ('anyelement', 'anynonarray', '"any"', 'anycompatible'):
        return random.choice(['1', "'x'::text", "'public.secret'::regclass", "ROW(1, 'x')", 'NULL::text', "'\\x00'::bytea"])
    if kind in ('anyarray', 'anycompatiblearray'):
        return random.choice(["'{}'::int[]", "'{1,NULL}'::int[]", "'{{1,2}}'::int[]", "'{a}'::text[]"])
    if kind == 'record':
        return "ROW(1, 'x'::text)"
    if kind.endswith('[]'):
        inner = kind[:-2]
        choices = [f"'{{}}'::{kind}", f"ARRAY[NULL]::{kind}", f"ARRAY[[{argument(inner, known)}], [{argument(inner, known)}]]::{kind}"]
        return random.choice(choices + [f"ARRAY[{', '.join(argument(inner, known) for _ in range(random.randint(1, 3)))}]::{kind}"] * 3)
    some = known['values'].get(kind)
    return f'{literal(random.choice(some))}::{kind}' if some else f'NULL::{kind}'


SETTINGS = '''
SELECT name, context, vartype, min_val, max_val, boot_val, array_to_string(enumvals, ',') FROM pg_settings
WHERE name LIKE 'pando.%' OR name LIKE 'citus.%' ORDER BY 1
'''
USE = """SELECT count(*), sum(v) FROM own.mine;
SELECT count(*) FROM own.mine a JOIN own.mine b ON a.v = b.k WHERE a.k IN (SELECT v FROM own.mine ORDER BY k LIMIT 5);
UPDATE own.mine SET v = v WHERE k = 3;
"""


def settings(port):
    """Lines of SETTINGS, and such lines for those that pg_settings doesn't show."""
    lines = cluster.must(DATABASE, SETTINGS, '-F', '\t', port=port).splitlines()
    shown = {line.split('\t')[0] for line in lines}
    source = pathlib.Path(__file__).parents[2] / 'src'
    names = {name for file in source.rglob('*.c') for name in re.findall(r'"((?:citus|pando)\.[a-z_0-9]+)"', file.read_text())}
    return lines + ['\t'.join([name, 'user', 'enum', '', '', '', 'on,off,-1,1,2147483647']) for name in sorted(names - shown)]


def try_settings(port, states):
    """Each setting at the ends of what it takes: who may not set it is told so; what is wrong."""
    wrong = []
    for line in settings(port):
        name, context, kind, low, high, initial, options = line.split('\t')
        some = {'bool': ['on', 'off'], 'enum': options.split(','), 'string': ['', 'x', "'", '{}', 'x' * 2000]}.get(kind, [low, high, initial])
        script = 'SET statement_timeout = 3000;\n' + ''.join(f'SET {name} = {literal(v)};\n{USE}RESET {name};\n' for v in some) + '\\echo <<end>>\n'
        out = cluster.psql(DATABASE, script, '-At', '-v', 'VERBOSITY=sqlstate', '-U', ROLE, port=port)
        codes = re.findall(r'(?:ERROR|FATAL|PANIC):  (\w{5})', out)
        for code in codes:
            states[code] = states.get(code, 0) + 1
        if context not in ('user', 'superuser') and '55P02' not in codes or context == 'superuser' and '42501' not in codes:
            wrong.append(f'{name} ({context}) can be set: {codes}')
        if 'XX000' in codes or '<<end>>' not in out:
            wrong.append(f'{name}: {out[-300:]}')
    return wrong


def calls(function, known):
    _, name, kind, variadic, types = function
    types = types.split(';') if types else []
    if any(t in IMPOSSIBLE for t in types):
        return []
    texts = []
    for number in range(known['sets'] if types else 1):
        arguments = [f'NULL::{t}' if number == 0 and not t.startswith('any') and t not in ('record', '"any"') else argument(t, known) for t in types]
        if variadic == 't' and types and types[-1].endswith('[]'):
            arguments[-1] = 'VARIADIC ' + arguments[-1]
        text = f'{name}({", ".join(arguments)})'
        texts.append(f'CALL {text}' if kind == 'p' else f'SELECT {text}')
    return list(dict.fromkeys(texts))


def state(port):
    return cluster.psql(DATABASE, STATE, '-At', port=port)


def try_function(function, port, known, states, loud):
    """Calls it in a session of its own; what is wrong."""
    texts = calls(function, known)
    script = 'SET statement_timeout = 3000; SET lock_timeout = 1000;\n' + ''.join(f'\\echo <<{i}>>\n{text};\n' for i, text in enumerate(texts)) + '\\echo <<end>>\n'
    out = cluster.psql(DATABASE, script, '-At', '-v', 'VERBOSITY=sqlstate', '-U', ROLE, port=port)
    wrong = []
    for i, answer in re.findall(r'<<(\d+)>>\n(.*?)(?=<<)', out + '<<', re.S):
        found = re.search(r'(?:ERROR|FATAL|PANIC):  (\w{5})', answer)
        code = found.group(1) if found else '00000'
        states[code] = states.get(code, 0) + 1
        if loud:
            print(code, texts[int(i)][:150].replace('\n', ' '))
        if code == 'XX000':
            wrong.append(f'{code}: {texts[int(i)][:300]}')
    if texts and '<<end>>' not in out and 'terminating connection due to administrator command' not in out and '57P01' not in out:
        wrong.append(f'the session was lost: {out[-300:]}')
    return wrong


def started():
    return [cluster.psql('postgres', 'SELECT pg_postmaster_start_time(), pg_current_xact_id()::text::bigint > 0', '-At', port=port)
            for port in [cluster.COORDINATOR, *cluster.WORKERS]]


def started_again():
    """Waits until all servers are up after one has stopped."""
    for _ in range(300):
        now = started()
        if not any('error' in one or 'FATAL' in one for one in now):
            break
        time.sleep(0.1)
    return now


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    sets = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2].isdigit() else 12
    only = sys.argv[2] if len(sys.argv) > 2 and not sys.argv[2].isdigit() else None
    ports = [cluster.COORDINATOR, cluster.WORKERS[0]]
    cluster.psql('postgres', f'DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)')
    for port in [cluster.COORDINATOR, *cluster.WORKERS]:
        cluster.psql('postgres', f'DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE); DROP ROLE IF EXISTS {ROLE}', port=port)
    cluster.create_cluster(DATABASE)
    cluster.must(DATABASE, SETUP + STATE_FUNCTION)
    lines = lambda sql, port: cluster.must(DATABASE, sql, port=port).splitlines()
    before, wrong, states, functions = started(), [], {}, 0
    states_before = [state(port) for port in [cluster.COORDINATOR, *cluster.WORKERS]]
    for port in ports:
        random.seed(seed)
        known = {'shard_names': lines("SELECT oid::regclass FROM pg_class WHERE relname ~ '^secret_[0-9]+$' LIMIT 4", port),
                 'ids': lines('SELECT shardid FROM pg_dist_shard UNION SELECT placementid FROM pg_dist_placement UNION SELECT nodeid FROM pg_dist_node '
                              'UNION SELECT citus_backend_gpid() UNION SELECT pg_backend_pid()', port),
                 'oids': lines("SELECT oid FROM pg_class WHERE relname LIKE 'secret%' UNION SELECT oid FROM pg_roles WHERE rolname = 'postgres'", port)}
        known.update(values=values(known), sets=sets)
        for line in cluster.must(DATABASE, FUNCTIONS, '-F', '\t', port=port).splitlines():
            function = line.split('\t')
            if only and only not in function[0]:
                continue
            functions += 1
            found = try_function(function, port, known, states, only is not None)
            wrong += [f'{port} {w}' for w in found]
            if any('session was lost' in w for w in found) and started() != before:
                wrong.append(f'a server was restarted after {function[0]}')
                before = started_again()
        if not only:
            wrong += [f'{port} {w}' for w in try_settings(port, states)]
    for port, was in zip([cluster.COORDINATOR, *cluster.WORKERS], states_before):
        now = state(port)
        if now != was:
            wrong.append(f'{port}: something is not as it was: ' + '; '.join(sorted(set(was.splitlines()) ^ set(now.splitlines()))[:20]))
    if started() != before:
        wrong.append('a server was restarted')
    print(f'seed {seed}: {functions} functions,', ' '.join(f'{code}={number}' for code, number in sorted(states.items())))
    print(*wrong[:60], sep='\n')
    if not wrong and not only and (functions < 400 or states.get('42501', 0) < 300 or states.get('00000', 0) < 300):
        wrong.append('hardly anything was tried')
        print(wrong)
    if not wrong:
        for port in [cluster.COORDINATOR, *cluster.WORKERS]:
            cluster.psql('postgres', f'DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE); DROP ROLE IF EXISTS {ROLE}', port=port)
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
