#!/usr/bin/env python3
"""Forged bytes for everything that reads some, as a role that owns nothing.

    fuzz_readers.py [SEED [COUNT]]

Valid byte strings are changed (bits, lengths set to extremes, cut off, spliced, records in records) and
handed to the readers of intermediate results, of exchanges, of sets of distinct values, of aggregate
states, of the names of sessions and prepared transactions, of places of rows, of signatures and of JSON that
nodes answer. What a node answers in other forms is forged_node.py's. The server must not stop, no error may be an internal one (XX000), and no backend may take more memory
than MEMORY. The same seed gives the same inputs. 100,000 inputs take a few minutes.
"""
import random
import re
import struct
import sys

import cluster

DATABASE = 'fuzz_readers'
ROLE = 'fuzz_reader'
BATCH = 1000
MEMORY = 600 * 1024  # kB, the most that a backend ever had

SETUP = f"""
CREATE ROLE {ROLE};
CREATE SCHEMA fuzz AUTHORIZATION {ROLE};
SET ROLE {ROLE};
CREATE TYPE fuzz.pair AS (a int, b text);
-- Tries a statement on some bytes; the SQLSTATE that came of it, with the words of an internal error.
CREATE FUNCTION fuzz.attempt(number int, sql text, bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    step text;
BEGIN
    FOREACH step IN ARRAY string_to_array(sql, ';') LOOP
        EXECUTE replace(step, '%n', number::text) USING bytes;
    END LOOP;
    RETURN '00000';
EXCEPTION WHEN OTHERS THEN
    RETURN CASE WHEN sqlstate = 'XX000' THEN format('XX000: %s in %s of %s', sqlerrm, sql, left(bytes::text, 2000)) ELSE sqlstate END;
END $$;
"""

HEADER = b'PGCOPY\n\xff\r\n\0'
COLUMNS = ['a int', 'a int8, b text', 'a record', 'a record, b int', 'a int[], b numeric', 'a jsonb, b timestamptz, c bytea', 'a fuzz.pair',
           'a fuzz.pair[], b varbit', 'a int4range, b tsvector', 'a text, b interval, c inet', 'a point, b polygon, c bool', 'a record[]']
TYPES = [16, 17, 20, 21, 23, 25, 114, 600, 604, 701, 869, 1007, 1009, 1082, 1114, 1184, 1186, 1562, 1700, 2249, 2287, 2278, 2281, 2275, 2277,
         3614, 3615, 3802, 3904, 4451, 0, 83, 705, 20000, 0xffffffff]
EXTREMES = [0, 1, 2, 7, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x7ffffff0, 0x80000000, 0xffffffff, 0xfffffffe, 0x3fffffff, 0x40000000]
AGGREGATES = ['sum(bigint)', 'max(text)', 'avg(bigint)', 'sum(numeric)', 'min(date)', 'stddev(float8)', 'count(*)', 'bool_and(boolean)',
              'string_agg(text,text)', 'array_agg(anynonarray)', 'max(anyarray)', 'sum(interval)', 'bit_or(bit)', 'corr(float8,float8)']
VALUES = ['7', '7::bigint', "'x'::text", '1.5', 'now()', 'true', 'NULL::text', "'x'::name", 'ARRAY[1,2]', "'\\x00'::bytea", '1.5::float8']


def field(data):
    return struct.pack('>i', len(data)) + data


def value():
    return random.choice([struct.pack('>i', random.randint(-9, 9)), struct.pack('>q', random.getrandbits(40)), b'text', b'', b'\1{"a": 1}',
                          struct.pack('>iiiiiii', 1, 0, 23, 1, 1, 4, 5), struct.pack('>hhhhh', 1, 0, 0, 0, 7), random.randbytes(random.randint(0, 30))])


def record(depth):
    fields = b''
    count = random.randint(0, 3)
    for _ in range(count):
        if depth > 0 and random.random() < 0.5:
            fields += struct.pack('>I', 2249) + field(record(depth - 1))
        else:
            fields += struct.pack('>I', random.choice(TYPES)) + field(value())
    return struct.pack('>i', count) + fields


def rows():
    data = b''
    for _ in range(random.randint(0, 4)):
        count = random.randint(0, 3)
        data += struct.pack('>h', count)
        for _ in range(count):
            data += random.choice([b'\xff\xff\xff\xff', field(value()), field(record(random.randint(0, 4)))])
    return data


def mutate(data):
    data = bytearray(data)
    for _ in range(random.choice([0, 1, 1, 2, 5])):
        if not data:
            break
        at = random.randrange(len(data))
        how = random.randrange(5)
        if how == 0:
            data[at] ^= 1 << random.randrange(8)
        elif how == 1:
            data[at:at + 4] = struct.pack('>I', random.choice(EXTREMES))
        elif how == 2:
            data[at:at + 2] = struct.pack('>H', random.choice(EXTREMES) & 0xffff)
        elif how == 3:
            del data[at:]
        else:
            other = random.randrange(len(data))
            data[at:at] = data[other:other + random.randrange(1, 20)]
    return bytes(data)


def columns():
    return f'AS ({random.choice(COLUMNS)})'


def result():
    data = HEADER + struct.pack('>ii', random.choice([0, 0, 1]), 0) + rows() + b'\xff\xff'
    read = random.choice(["SELECT * FROM read_intermediate_result('r%n', 'binary') ", "EXPLAIN SELECT * FROM read_intermediate_result('r%n', 'text') ",
                          "SELECT count(*), max(x::text) FROM read_intermediate_results(ARRAY['r%n', 'r%n'], 'binary') x "])
    return f"SELECT pando.result_append('r%n', 0, $1);{read}{columns()}", mutate(data)


def deep_record():
    depth = random.choice([10, 1000, 20000])
    heads = [struct.pack('>iIi', 1, 2249, 4 + 12 * inner) for inner in reversed(range(depth))]
    data = b''.join(heads) + struct.pack('>i', 0)
    return ("SELECT pando.result_append('r%n', 0, $1);SELECT * FROM read_intermediate_result('r%n', 'binary') AS (a record)",
            HEADER + bytes(8) + b'\0\1' + field(data) + b'\xff\xff')


def lengths():
    """Lengths whose sum leaves what an int holds."""
    data = HEADER + bytes(8) + struct.pack('>h', 2)
    return (f"SELECT pando.result_append('r%n', 0, $1);SELECT * FROM read_intermediate_result('r%n', 'binary') {columns()}",
            data + b''.join(struct.pack('>I', random.choice(EXTREMES)) for _ in range(3)))


def exchange():
    data = b''
    for _ in range(random.randint(1, 3)):
        data += struct.pack('>ii', 0, random.choice([0, 1])) + field(rows())
    form = random.choice('bt')
    return (f"SELECT pando.exchange_append('e%n', $1);SELECT * FROM pando.exchange_rows('e%n:{form}::0_0,0_1') {columns()}", mutate(data))


def argument():
    text = random.choice(['e%n:b:1,2,:0_0,', 'e:t::', ':b::', '../x:b:9,:0_0', 'e%n:b:-5,99999999999999,:0_0'])
    data = mutate(text.encode())
    text = re.sub(r"[^ -~]|['\\;]", '?', data.decode('latin1'))
    return f"SELECT pando.exchange_append('e%n', $1);SELECT * FROM pando.exchange_rows('{text}') {columns()}", b'\0' * 11 + b'\4\0\1\xff\xff'


def integers(odd=0.1):
    if random.random() < odd:
        return random.choice(['{}', '{NULL}', '{{1,2},{3,4}}', '[-5:-4]={0,0}'])
    return '{' + ','.join(random.choice(['0', '0', '1', '-1', '2147483647', '-2147483648']) for _ in range(random.randint(1, 3))) + '}'


def send():
    query = random.choice(['SELECT 1', 'SELECT NULL::int', 'SELECT point(1,2)', "SELECT 'x', g FROM generate_series(1,9) g", 'SELECT', 'VALUES (1)',
                           'TABLE pg_class', 'CREATE TABLE t()', 'SELECT ROW(1,2)', 'SELECT 1/0', 'junk'])
    return (f"SELECT pando.exchange_send({quote(query)}, 's%n', {random.choice(['true', 'false'])}, {random.choice([0, 1, 1, 2, -1, 2147483647])}, "
            f"true, {random.choice([-1, 0, 100])}, '{integers()}', '{integers()}', '{integers()}')", b'')


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def distinct():
    width = random.choice([4, 8])
    data = struct.pack('<III', 0x50444953, width, 0) + random.randbytes(width * random.randint(0, 400))
    return 'SELECT pando.distinct_count(v) FROM (VALUES ($1), (substr($1, 1, 12))) x(v)', mutate(data)


def partial():
    """Each group another aggregate, which must fit the arguments."""
    names = random.choices(AGGREGATES, k=2)
    argument = random.choice(VALUES)
    pairs = ', '.join(f"('pg_catalog.{name}'::regprocedure)" for name in names)
    return f'SELECT pando.partial_agg(a, {argument}) {random.choice(["", "", "OVER ()"])} FROM (VALUES {pairs}) x(a) GROUP BY a', b''


def final():
    aggregate = random.choice(AGGREGATES)
    form = random.choice(['', ', NULL', ", ''", ', NULL::internal'])
    return f"SELECT pando.final_agg('pg_catalog.{aggregate}', $1, NULL::numeric{form})", random.randbytes(random.randint(0, 80))


def mutated_text(text):
    """The text, changed, without what ends a literal or a step."""
    return re.sub(r"[^ -~]|['\\\\;]", '?', mutate(text.encode()).decode('latin1'))


def application_name():
    """The global pid in a session's name, as every node reads it in pg_stat_activity."""
    name = mutated_text(random.choice(['citus_internal gpid=10000000123', f'citus_internal gpid={random.getrandbits(80)}', 'citus_internal gpid=-1']))
    gid = mutated_text(f'pando_12345678_0_{random.getrandbits(random.choice([10, 40, 70]))}_1_1')
    return (f"SELECT set_config('application_name', '{name}', true), citus_backend_gpid(), citus_pid_for_gpid(citus_backend_gpid());"
            f"SELECT pando.backend_gpid(1, '{name}'), pando.global_pid(1, 2, '{name}'), pando.gid_gpid('{gid}'), count(*) FROM pando.activity()", b'')


def acting():
    """Signatures that no node made."""
    name = mutated_text(random.choice([b'postgres'.hex(), '', b'fuzz_reader'.hex() + ',' + b'postgres'.hex(), 'f']))
    return (f"SELECT pando.session_challenge();CALL pando.act_as('{name}', {random.choice([0, 1, 2, 2 ** 63 - 1, -1])}, "
            f"'{random.randbytes(32).hex() if random.random() < 0.7 else mutated_text('00')}')", b'')


def ctids():
    tid = f"'({random.choice([0, 1, 7, 4294967295, 4294967294])},{random.choice([0, 1, 65535])})'::tid"
    shards = random.choice([1, 2, 32, 0, -1, 2147483647])
    return (f"SELECT pando.shard_ctid({tid}, {shards}), pando.shard_ctid(ARRAY[{tid}, NULL, {tid}], {shards});"
            f"SELECT pando.row_place('pg_class'::regclass, {tid}, '{random.choice([0, 3, 4294967295])}')", b'')


def elements():
    """What a node may answer where an array in JSON is expected."""
    text = mutated_text(random.choice(['[{"pid": 1, "application_name": "citus_internal gpid=1"}]', '[]', '{"a": 1}', 'null', '[[[]]]', '[1, null, "x"]']))
    # The server itself is the node that answers.
    return (f"SELECT * FROM pando.elements_from_nodes($q$SELECT '{text}'$q$);"
            f"SELECT pando.lock_waits(), pando.global_pid((e ->> 'pid')::int, 1, e ->> 'application_name') FROM jsonb_array_elements('{text}') e", b'')


# Internal errors of PostgreSQL's own receive functions, which COPY (FORMAT binary) raises as well; those of polygon and of
# int4multirange (type 4451 = 0x1163) ask for as much memory as they are told that there are points or ranges.
CORE = re.compile('XX000: (unsupported (jsonb|jsonpath) version number|invalid (size of )?(tsvector|tsquery)|position information is misordered|(unrecognized|invalid) tsquery'
                  '|invalid memory alloc request size .*(polygon|00001163)|invalid length in external|cache lookup failed for type|tsvector position)')

KINDS = [result] * 8 + [lengths, exchange, exchange, exchange, argument, send, distinct, distinct, partial, final, application_name, acting, ctids, elements]


def signed_statement():
    """A statement as the client's own, with a signature in it that no node made; sent as it is."""
    mark = f'/*pando_access {random.choice([1, 2, 3, 2 ** 64])} {random.randbytes(32).hex()} {random.choice(["order", b"postgres".hex(), "6", ","])}*/'
    if random.random() < 0.7:
        mark = re.sub(r'[^ -~]|[\\\\;:\'"$]', '?', mutate(mark.encode()).decode('latin1'))
        mark = f'/*{re.sub("[*/]", "", mark)}*/'
    statement = random.choice(['SELECT count(*) FROM pg_class', 'SELECT * FROM pg_authid AS pando_access_0_x', 'SELECT pando.gate_close(1)',
                               'SELECT * FROM pando.node_secret pando_access_0_s'])
    return f'{mark} {statement};'


def batch(start, count):
    lines = ['\\set VERBOSITY verbose', 'SELECT pg_backend_pid() AS pid \\gset', '\\setenv FUZZ_PID :pid', f'SET ROLE {ROLE};', 'BEGIN;']
    for number in range(start, start + count):
        sql, data = (deep_record if number % 500 == 1 else random.choice(KINDS))()
        lines.append(f"SELECT fuzz.attempt({number}, {quote(sql)}, '\\x{data.hex()}');")
        if number % 20 == 2:
            lines += ['SAVEPOINT signed;', signed_statement(), 'ROLLBACK TO signed;']
    lines += ['ROLLBACK;', '\\! grep VmHWM /proc/$FUZZ_PID/status', "SELECT 'end of batch';"]
    return '\n'.join(lines)


def started():
    """When each server started, or started anew after a crash."""
    return [cluster.must('postgres', "SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'", port=port) for port in [cluster.COORDINATOR, *cluster.WORKERS]]


def check(start, out, states):
    """Complains of what must not be in the output of a batch; counts its SQLSTATEs."""
    wrong = []
    for line in out.splitlines():
        state = line[:5]
        if re.fullmatch('[0-9A-Z]{5}(: .*)?', line):
            states[state] = states.get(state, 0) + 1
        # Signed statements are not within a function: their errors stand here. Nothing of others may.
        direct = re.search(r'ERROR:  (\w{5}): ', line)
        if direct:
            states[direct[1]] = states.get(direct[1], 0) + 1
        if 'SCRAM-SHA' in line:
            wrong.append(f'a secret was shown: {line}')
        if (state == 'XX000' and not CORE.match(line)) or (direct and direct[1] in ('XX000', '42601')) or 'PANIC' in line or 'server closed' in line:
            wrong.append(line)
    memory = re.search(r'VmHWM:\s*(\d+) kB', out)
    if memory and int(memory[1]) > MEMORY:
        wrong.append(f'a backend took {memory[1]} kB')
    if 'end of batch' not in out:
        wrong.append('the server stopped')
    if wrong:
        print(f'inputs {start} to {start + BATCH}:', *wrong[:10], sep='\n  ')
    return not wrong


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    random.seed(seed)
    cluster.psql('postgres', f'DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE); DROP ROLE IF EXISTS {ROLE};')
    cluster.create_plain(DATABASE)
    cluster.must(DATABASE, 'CREATE EXTENSION pando')
    cluster.must(DATABASE, SETUP)
    before, states, good = started(), {}, True
    for start in range(0, count, BATCH):
        good &= check(start, cluster.psql(DATABASE, batch(start, min(BATCH, count - start)), '-At'), states)
        if not good:
            break
    # A server that stopped is up again in a moment.
    for _ in range(0 if good else 100):
        if 'error' not in cluster.psql('postgres', 'SELECT pg_sleep(0.1)'):
            break
    if started() != before:
        good = False
        print('a server was restarted')
    print(f'seed {seed}:', ' '.join(f'{state}={number}' for state, number in sorted(states.items())))
    # Enough of the inputs must get past the first check, or nothing was tried.
    if good and states.get('00000', 0) * 20 < count:
        good = False
        print('hardly any input was valid')
    if good:
        cluster.drop(DATABASE)
        cluster.must('postgres', f'DROP ROLE {ROLE}')
    sys.exit(0 if good else 1)


if __name__ == '__main__':
    main()
