#!/usr/bin/env python3
"""Random schema changes from two nodes at once, beside clients who write and read from two others: tables (distributed by a column,
reference, single-shard, partitioned), columns, constraints, indexes, statistics, policies, triggers, views, functions, types, schemas,
roles, sequences, grants, comments, renames, conversions, TRUNCATE, drops with all that depends on what is dropped.

    random_ddl.py SEED [SECONDS]            20 by default
    random_ddl.py --plain SEED [SECONDS]    the same on one server without distributed tables: what PostgreSQL itself says

What one of them may be told is what PostgreSQL would tell him. A failure is: an internal error (XX...) that PostgreSQL doesn't raise, a lost
server, a statement without an end, deadlocks of statements that lock one table alone, if there are more than PostgreSQL has, and at the end,
when all is quiet, nodes that differ: in the dump of their schema, in the metadata, or a shard that is not like its table.
"""
import difflib
import os
import queue
import random
import re
import subprocess
import sys
import threading
import time

import cluster
from cluster import COORDINATOR, WORKERS, must

DATABASE = 'random_ddl'
SCHEMAS = ['public', 's1', 's2', 's3']
ROLES = ['random_ddl_1', 'random_ddl_2', 'random_ddl_3']
TYPES = ['int', 'bigint', 'text', 'numeric(12,2)', 'int[]', 'timestamptz', 'boolean', 'jsonb', 'varchar(9)']
LIMIT = 120
END = '#end'
COLLECT = """SELECT CASE WHEN relispartition AND relkind <> 'i' AND relkind <> 'I' THEN 'partition' ELSE relkind::text END, c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE nspname IN ('public', 's1', 's2', 's3') AND relkind IN ('r', 'p', 'v', 'm', 'S', 'i', 'I') AND c.oid >= 16384
AND pando.relation_shard_id(c.oid) IS NULL AND (relkind NOT IN ('i', 'I') OR NOT EXISTS (SELECT FROM pg_index WHERE indexrelid = c.oid
AND pando.relation_shard_id(indrelid) IS NOT NULL))
AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
UNION ALL SELECT 'f', oid::regprocedure::text FROM pg_proc WHERE pronamespace IN (SELECT oid FROM pg_namespace WHERE nspname ~ '^(public|s.)$')
UNION ALL SELECT 'T' || typtype::text, oid::regtype::text FROM pg_type WHERE typnamespace IN (SELECT oid FROM pg_namespace WHERE nspname ~ '^(public|s.)$')
AND (typtype IN ('e', 'd') OR typtype = 'c' AND EXISTS (SELECT FROM pg_class WHERE pg_class.oid = typrelid AND relkind = 'c'))"""


class Lost(Exception):
    """The server, or the statement's end, did not come."""


class Session:
    """One psql that stays."""

    def __init__(self, port, name):
        self.name = name
        options = os.environ.get('PGOPTIONS', '') + ' -c statement_timeout=100s'
        self.process = subprocess.Popen(['psql', '-X', '-q', '-At', '-F', '|', '-d', DATABASE, '-p', port, '-v', 'VERBOSITY=verbose'],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1,
                                        env={**os.environ, 'PGOPTIONS': options})
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.run('SET client_min_messages = error; SET search_path = public, s1, pando')

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip('\n'))
        self.lines.put(None)

    def run(self, sql):
        """The lines that a script answers with. A block that failed is closed."""
        try:
            self.process.stdin.write(f'{sql};\nROLLBACK;\n\\echo {END}\n' if 'BEGIN' in sql else f'{sql};\n\\echo {END}\n')
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise Lost('psql has gone') from error
        lines = []
        while True:
            try:
                line = self.lines.get(timeout=LIMIT)
            except queue.Empty as error:
                raise Lost(f'no end after {LIMIT} s') from error
            if line == END:
                return lines
            if line is None:
                raise Lost('the connection has gone: ' + ' '.join(lines))
            if not line.startswith('LOCATION:'):
                lines.append(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def prepared(name):
    """Ends of a block that its client prepares. Where it failed there is nothing to end."""
    return [f"PREPARE TRANSACTION '{name}'; {how} PREPARED '{name}'" for how in ('COMMIT', 'ROLLBACK')]


class Changes:
    """Draws the next schema change, among what the session's node has at this moment."""

    def __init__(self, rng, session):
        self.rng, self.session, self.made = rng, session, 0
        self.have = {}

    def look(self):
        self.have = {}
        for line in self.session.run(COLLECT):
            kind, _, name = line.partition('|')
            self.have.setdefault(kind, []).append(name)

    def one(self, *kinds):
        names = [name for kind in kinds for name in self.have.get(kind, [])]
        return self.rng.choice(names) if names else 'nothing'

    def new(self, kind):
        """A name that only this session gives: of tables, which are made on one node first."""
        self.made += 1
        return f'{self.rng.choice(SCHEMAS)}.{kind}_{self.session.name}_{self.made}'

    def shared(self, kind):
        """A name that others give, too."""
        return f'{self.rng.choice(SCHEMAS)}.{kind}{self.rng.randint(1, 4)}'

    def table(self):
        return self.one('r', 'p', 'partition')

    def column(self):
        return f'c{self.rng.randint(0, 4)}'

    def type(self):
        return self.one('Te', 'Td', 'Tc') if self.rng.random() < 0.2 and any(k in self.have for k in ('Te', 'Td', 'Tc')) else self.rng.choice(TYPES)

    def create_table(self):
        name, r = self.new('t'), self.rng
        if r.random() < 0.25:
            return (f'BEGIN; CREATE TABLE {name} (k int, v int DEFAULT 0, c0 int, c1 text, PRIMARY KEY (k, v)) PARTITION BY RANGE (v); '
                    f'CREATE TABLE {name}_0 PARTITION OF {name} FOR VALUES FROM (MINVALUE) TO (10); '
                    f"SELECT 1 FROM create_distributed_table('{name}', 'k', shard_count := 4); COMMIT")
        how = r.choice([f"create_distributed_table('{name}', 'k', shard_count := 4)", f"create_distributed_table('{name}', 'k', shard_count := {r.randint(2, 6)}, colocate_with := 'none')",
                        f"create_reference_table('{name}')", f"create_distributed_table('{name}', NULL, colocate_with := 'none')"])
        serial = r.choice(['', ', id bigserial', ', id bigint GENERATED BY DEFAULT AS IDENTITY'])
        return (f'BEGIN; CREATE TABLE {name} (k int PRIMARY KEY, v int DEFAULT 0{serial}, c0 {self.type()}, c1 text CHECK (c1 <> \'no\')); '
                f'SELECT 1 FROM {how}; COMMIT')

    def alter_column(self):
        c, r = self.column(), self.rng
        return f'ALTER TABLE {self.table()} ' + r.choice([
            f'ADD COLUMN {c} {self.type()}', f'ADD COLUMN {c} int NOT NULL DEFAULT 7, ADD COLUMN c{r.randint(5, 8)} text', f'ADD COLUMN IF NOT EXISTS {c} text DEFAULT now()::text',
            f'DROP COLUMN {c}', f'DROP COLUMN IF EXISTS {c} CASCADE', f'ALTER COLUMN {c} TYPE text USING {c}::text', f'ALTER COLUMN {c} SET DEFAULT NULL',
            f'ALTER COLUMN {c} DROP NOT NULL', f'ALTER COLUMN {c} SET NOT NULL', f'RENAME COLUMN {c} TO {self.column()}', f'ALTER COLUMN {c} SET STATISTICS {r.randint(1, 90)}',
            f'ALTER COLUMN c1 SET STORAGE external', f'ADD COLUMN {c} bigserial', f'ADD COLUMN {c} int GENERATED ALWAYS AS (v * 2) STORED'])

    def alter_table(self):
        table, r = self.table(), self.rng
        return f'ALTER TABLE {table} ' + r.choice([
            'ADD CHECK (v >= 0)', f'ADD CONSTRAINT q{r.randint(1, 3)} CHECK (v > -5) NOT VALID', f'VALIDATE CONSTRAINT q{r.randint(1, 3)}', f'DROP CONSTRAINT IF EXISTS q{r.randint(1, 3)}',
            f'ADD CONSTRAINT u{r.randint(1, 3)} UNIQUE (k, v)', f'DROP CONSTRAINT IF EXISTS u{r.randint(1, 3)} CASCADE', f'SET (fillfactor = {r.randint(50, 100)})', 'RESET (fillfactor)',
            f'OWNER TO {r.choice(ROLES)}', 'ENABLE ROW LEVEL SECURITY', 'DISABLE ROW LEVEL SECURITY', f"RENAME TO {self.new('t').split('.')[1]}", f'SET SCHEMA {r.choice(SCHEMAS)}',
            f'RENAME CONSTRAINT q{r.randint(1, 3)} TO q{r.randint(1, 3)}'])

    def foreign_key(self):
        return f'ALTER TABLE {self.table()} ADD CONSTRAINT f{self.rng.randint(1, 2)} FOREIGN KEY (k) REFERENCES {self.table()} (k)'

    def index(self):
        r = self.rng
        return r.choice([f'CREATE INDEX ON {self.table()} (v, {self.column()})', f'CREATE INDEX i{r.randint(1, 5)} ON {self.table()} (v)',
                         f'CREATE UNIQUE INDEX ON {self.table()} (k, v)', f"DROP INDEX {self.one('i', 'I')}", f"ALTER INDEX {self.one('i', 'I')} RENAME TO i_{self.session.name}_{r.randint(1, 99)}",
                         f"ALTER INDEX {self.one('i')} SET (fillfactor = 80)", f'CREATE STATISTICS st{r.randint(1, 4)} ON k, v FROM {self.table()}', f'DROP STATISTICS IF EXISTS st{r.randint(1, 4)}',
                         f'DROP STATISTICS IF EXISTS st{r.randint(1, 4)}, st{r.randint(1, 4)}', f'CREATE STATISTICS IF NOT EXISTS st{r.randint(1, 4)} ON k, v FROM {self.table()}',
                         f'CREATE INDEX IF NOT EXISTS i{r.randint(1, 5)} ON {self.table()} (v)',
                         f"COMMENT ON INDEX {self.one('i')} IS 'an index'"])

    def attached(self):
        table, r = self.table(), self.rng
        return r.choice([f'CREATE POLICY p{r.randint(1, 2)} ON {table} USING (k > 0)', f'DROP POLICY IF EXISTS p{r.randint(1, 2)} ON {table}',
                         f'CREATE TRIGGER tr{r.randint(1, 2)} BEFORE TRUNCATE ON {table} EXECUTE FUNCTION public.nothing()', f'DROP TRIGGER IF EXISTS tr{r.randint(1, 2)} ON {table}',
                         f'GRANT {r.choice(["SELECT", "INSERT, UPDATE", "ALL", "SELECT (k, v)"])} ON {table} TO {r.choice(ROLES)}', f'REVOKE ALL ON {table} FROM {r.choice(ROLES)}',
                         f"COMMENT ON TABLE {table} IS 'c{r.random()}'", f"COMMENT ON COLUMN {table}.v IS 'c{r.random()}'", f'TRUNCATE {table}'])

    def partition(self):
        parent, n, r = self.one('p'), self.rng.randint(1, 5), self.rng
        return r.choice([f'CREATE TABLE {parent}_{n} PARTITION OF {parent} FOR VALUES FROM ({n * 10}) TO ({n * 10 + 10})',
                         f"ALTER TABLE {parent} DETACH PARTITION {self.one('partition')}",
                         f'ALTER TABLE {parent} ATTACH PARTITION {parent}_{n} FOR VALUES FROM ({n * 10}) TO ({n * 10 + 10})', f"DROP TABLE {self.one('partition')}"])

    def view(self):
        view, r = self.one('v'), self.rng
        name = self.shared('w')
        return r.choice([f'CREATE VIEW {name} AS SELECT k, v FROM {self.table()}', f'CREATE OR REPLACE VIEW {name} AS SELECT k, v FROM {self.table()} WHERE k > {r.randint(0, 9)}',
                         f'CREATE VIEW {name} AS SELECT v, count(*) FROM {self.one("v", "r")} GROUP BY v', f'CREATE MATERIALIZED VIEW {self.shared("m")} AS SELECT k, v FROM {self.table()}',
                         f"REFRESH MATERIALIZED VIEW {self.one('m')}", f"DROP MATERIALIZED VIEW {self.one('m')}", f'DROP VIEW {view} CASCADE', f'DROP VIEW {view}', f'ALTER VIEW {view} RENAME TO w{r.randint(1, 9)}',
                         f'ALTER VIEW {view} SET SCHEMA {r.choice(SCHEMAS)}', f'ALTER VIEW {view} OWNER TO {r.choice(ROLES)}', f"COMMENT ON VIEW {view} IS 'v'", f'GRANT SELECT ON {view} TO {r.choice(ROLES)}'])

    def function(self):
        f, r = self.one('f'), self.rng
        return r.choice([f'CREATE OR REPLACE FUNCTION {self.shared("f")}(a int) RETURNS int LANGUAGE sql IMMUTABLE AS \'SELECT a + {r.randint(1, 9)}\'', f'CREATE FUNCTION {self.shared("f")}(a int) RETURNS int LANGUAGE sql AS \'SELECT a\'',
                         f'DROP FUNCTION {f}', f'DROP FUNCTION IF EXISTS {self.shared("f")}(int)', f'ALTER FUNCTION {f} RENAME TO f{r.randint(1, 9)}', f'ALTER FUNCTION {f} SET SCHEMA {r.choice(SCHEMAS)}',
                         f'ALTER FUNCTION {f} COST {r.randint(1, 99)}', f'GRANT EXECUTE ON FUNCTION {f} TO {r.choice(ROLES)}', f"COMMENT ON FUNCTION {f} IS 'f{r.random()}'", f'ALTER FUNCTION {f} OWNER TO {r.choice(ROLES)}'])

    def object_type(self):
        r = self.rng
        return r.choice([f"CREATE TYPE {self.shared('e')} AS ENUM ('a', 'b')", f"ALTER TYPE {self.one('Te')} ADD VALUE IF NOT EXISTS 'c{r.randint(1, 5)}'", f'CREATE DOMAIN {self.shared("d")} AS int CHECK (VALUE <> 13)',
                         f'ALTER DOMAIN {self.one("Td")} ADD CONSTRAINT dc{r.randint(1, 3)} CHECK (VALUE < 1000000)', f'ALTER DOMAIN {self.one("Td")} DROP CONSTRAINT IF EXISTS dc{r.randint(1, 3)}', f'CREATE TYPE {self.shared("y")} AS (a int, b text)',
                         f'ALTER TYPE {self.one("Tc")} ADD ATTRIBUTE a{r.randint(1, 3)} int', f'DROP TYPE {self.one("Te", "Tc")}', f'DROP DOMAIN {self.one("Td")} CASCADE', f'ALTER TYPE {self.one("Te", "Tc")} RENAME TO y{r.randint(1, 9)}',
                         f'DROP TYPE {self.one("Te", "Tc")} CASCADE', f"COMMENT ON TYPE {self.one('Te', 'Tc')} IS 't{r.random()}'"])

    def other(self):
        r = self.rng
        schema, role = r.choice(SCHEMAS[1:]), r.choice(ROLES)
        return r.choice([f'CREATE SCHEMA {schema}', f'CREATE SCHEMA IF NOT EXISTS {schema}', f'CREATE SCHEMA IF NOT EXISTS {schema}', f'DROP SCHEMA {schema}', f'ALTER SCHEMA {schema} RENAME TO {r.choice(SCHEMAS[1:])}',
                         f'GRANT USAGE ON SCHEMA {schema} TO {role}', f'ALTER SCHEMA {schema} OWNER TO {role}', f"COMMENT ON SCHEMA {schema} IS 's{r.random()}'", f'ALTER ROLE {role} CONNECTION LIMIT {r.randint(10, 99)}',
                         f'ALTER ROLE {role} SET work_mem = {r.randint(100, 999)}', f'GRANT {ROLES[0]} TO {r.choice(ROLES[1:])}', f'REVOKE {ROLES[0]} FROM {r.choice(ROLES[1:])}',
                         f"ALTER SEQUENCE {self.one('S')} INCREMENT {r.randint(1, 5)}", f'ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO {role}'])

    def conversion(self):
        table = self.table()
        return self.rng.choice([f"SELECT 1 FROM alter_distributed_table('{table}', shard_count := {self.rng.randint(2, 6)}, cascade_to_colocated := false)",
                                f"BEGIN; SELECT 1 FROM undistribute_table('{table}'); SELECT 1 FROM create_distributed_table('{table}', 'k', colocate_with := 'none'); COMMIT"])

    def drop(self):
        return self.rng.choice([f'DROP TABLE {self.table()}', f'DROP TABLE {self.table()} CASCADE', f'DROP TABLE {self.table()}, {self.table()}', f'DROP SCHEMA {self.rng.choice(SCHEMAS[1:])} CASCADE'])

    def several(self):
        """One table's changes in a block, which may be prepared first."""
        table = self.table()
        self.made += 1
        return (f'BEGIN; ALTER TABLE {table} ADD COLUMN {self.column()} int; CREATE INDEX ON {table} (v); ALTER TABLE {table} ALTER COLUMN v SET DEFAULT {self.rng.randint(1, 99)}; '
                + self.rng.choice(['COMMIT', 'ROLLBACK', *prepared(f'{self.session.name}_{self.made}')]))

    def next(self):
        self.look()
        draws = {self.create_table: 10, self.alter_column: 16, self.alter_table: 14, self.foreign_key: 3, self.index: 12, self.attached: 9, self.partition: 6, self.view: 10,
                 self.function: 10, self.object_type: 8, self.other: 8, self.conversion: 3, self.drop: 3, self.several: 4}
        return self.rng.choices(list(draws), list(draws.values()))[0]()


# What locks several tables, where PostgreSQL itself has deadlocks.
SEVERAL_TABLES = re.compile(r'FOREIGN KEY|CASCADE|DROP TABLE [^,]*,|CREATE TABLE|_table\(|REFRESH|MATERIALIZED|DROP SCHEMA|STATISTICS')
# What it says where an object goes that it had looked up without a lock: a type of a new column, a function or a table's privileges that
# are changed, the parent of a partition's index (seen with --plain).
GONE = re.compile(r'could not open relation with OID|tuple concurrently (deleted|updated)|could not find tuple for parent of relation|cache lookup failed for type')
# Of so many statements one may be in a deadlock although it is about one table: it is partitioned, or has foreign keys (--plain: up to
# 6 of 30000).
STATEMENTS_PER_DEADLOCK = 5000


# Of a statement that is cancelled wherever it happens to be: what it changed is nowhere then.
IMPATIENT = 'SET statement_timeout = '


def is_failure(line, sql):
    """Is this answer one that PostgreSQL alone would not have given?"""
    found = re.match(r'(?:ERROR|FATAL|PANIC|WARNING):  (\w{5}): ', line)
    if not found:
        return line.startswith('server closed') or 'connection to server was lost' in line
    state = found.group(1)
    return state[:2] in ('XX', '08', '58') and not (state == 'XX000' and GONE.search(line)) \
        or state in ('57P01', '57P02', '57P03', '53200') or state == '57014' and not sql.startswith(IMPATIENT)


def is_deadlock(line, sql):
    return ':  40P01: ' in line and not SEVERAL_TABLES.search(sql)


class Run:
    def __init__(self, seed, seconds):
        self.seed, self.end = seed, time.time() + seconds
        self.failures, self.deadlocks, self.counts, self.lock = [], [], {}, threading.Lock()

    def note(self, session, sql, lines):
        with self.lock:
            state = next((m.group(1) for line in lines if (m := re.match(r'ERROR:  (\w{5})', line))), 'done')
            key = (session.name, state)
            self.counts[key] = self.counts.get(key, 0) + 1
            if os.environ.get('VERBOSE'):
                print(f'{time.time():.2f} {session.name}: {sql}  -- {state} {next((l for l in lines if l.startswith("ERROR")), "")}', flush=True)
            said = f'{session.name}: {sql}\n    ' + '\n    '.join(lines[:8])
            if any(is_failure(line, sql) for line in lines):
                self.failures.append(said)
            if any(is_deadlock(line, sql) for line in lines):
                self.deadlocks.append(said)

    def done(self):
        """How many statements there were; too many deadlocks among them are failures."""
        count = sum(self.counts.values())
        if len(self.deadlocks) > 1 + count / STATEMENTS_PER_DEADLOCK:
            self.failures += self.deadlocks
        elif self.deadlocks:
            print(f'{len(self.deadlocks)} deadlocks')
        return count

    def client(self, port, name, next_statement):
        session = Session(port, name)
        sql = 'connecting'
        try:
            while time.time() < self.end:
                sql = next_statement(session)
                if sql is not None:
                    self.note(session, sql, session.run(sql))
                    if sql.startswith(IMPATIENT):
                        session.run('RESET statement_timeout')
            session.close()
        except Lost as lost:
            with self.lock:
                self.failures.append(f'{name}: {sql}\n    {lost}')
            session.process.kill()

    def changer(self, port, name):
        rng = random.Random(f'{self.seed} {name}')
        changes = []

        def following(session):
            if not changes:
                changes.append(Changes(rng, session))
            sql = changes[0].next()
            return f'{IMPATIENT}{rng.randint(1, 150)}; {sql}' if rng.random() < 0.2 else sql
        self.client(port, name, following)

    def writer(self, port, name):
        rng = random.Random(f'{self.seed} {name}')

        def following(session):
            tables = session.run("SELECT logicalrelid FROM pg_dist_partition")
            if not tables:
                return None
            table = rng.choice(tables)
            # In one order: two that lock rows in different ones would be a deadlock anywhere.
            keys = sorted(rng.randint(1, 20) for _ in range(3))
            return (f'BEGIN; INSERT INTO {table} (k) VALUES ({keys[0]}) ON CONFLICT DO NOTHING; UPDATE {table} SET v = v + 1 WHERE k = {keys[1]}; '
                    f'SELECT count(*) FROM {table}; DELETE FROM {table} WHERE k = {keys[2]}; ' + rng.choice(['COMMIT', *prepared(session.name)]))
        self.client(port, name, following)


# What all nodes must have the same, and what each shard must have of its table.
METADATA = [
    "SELECT logicalrelid, partmethod, column_to_column_name(logicalrelid, partkey), colocationid, repmodel FROM pg_dist_partition ORDER BY logicalrelid::text",
    "SELECT logicalrelid, shardid, shardminvalue FROM pg_dist_shard ORDER BY 2", "SELECT shardid, groupid FROM pg_dist_placement ORDER BY 1, 2",
    "SELECT * FROM pg_dist_colocation ORDER BY 1",
    "SELECT DISTINCT (pg_identify_object(classid, objid, objsubid)).* FROM pg_dist_object ORDER BY 1, 4",
    "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"]
LIKE_ITS_TABLE = """SET citus.override_table_visibility = off;
WITH relation AS (SELECT c.oid, (SELECT array_agg(concat(attname, atttypid, atttypmod, attisdropped OR attnotnull, attgenerated) ORDER BY attnum)
	FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) columns,
	(SELECT count(*) FROM pg_index WHERE indrelid = c.oid) indexes, (SELECT count(*) FROM pg_constraint WHERE conrelid = c.oid) constraints,
	relowner, relacl, reloptions FROM pg_class c WHERE relkind IN ('r', 'p'))
SELECT shell.oid::regclass, shard.oid::regclass, shell.columns, shard.columns, shell.indexes, shard.indexes, shell.constraints, shard.constraints, shell.relowner, shard.relowner, shell.reloptions, shard.reloptions
FROM pg_dist_partition p JOIN relation shell ON shell.oid = p.logicalrelid JOIN pg_dist_shard s USING (logicalrelid) JOIN pg_dist_placement USING (shardid)
LEFT JOIN relation shard ON shard.oid = to_regclass(shard_name(p.logicalrelid, s.shardid, false))
WHERE groupid = (SELECT groupid FROM pg_dist_local_group) AND  (shell.columns, shell.indexes, shell.constraints, shell.relowner, shell.reloptions) IS DISTINCT FROM (shard.columns, shard.indexes, shard.constraints, shard.relowner, shard.reloptions)"""


def schema_of(port):
    """The dump of a node's schema, without what is each node's own: where sequences begin."""
    done = subprocess.run(['pg_dump', '--schema-only', '-p', port, DATABASE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    text = re.sub(r'pando\.sequence_next\(', 'nextval(', done.stdout)
    lines = text.splitlines()
    lines = [line for line in lines if line and not re.match(r'--|\\(un)?restrict|\s+(START WITH|NO MINVALUE|MINVALUE|NO MAXVALUE|MAXVALUE|CACHE)', line)]
    # Privileges that two roles got one after the other may have come in the other order: what they are is all that counts.
    return [line for line in lines if not line.startswith('GRANT ')] + sorted(line for line in lines if line.startswith('GRANT '))


def differences():
    found = []
    ports = [COORDINATOR, *WORKERS]
    dumps = [schema_of(port) for port in ports]
    for port, dump in zip(ports[1:], dumps[1:]):
        diff = list(difflib.unified_diff(dumps[0], dump, COORDINATOR, port, lineterm='', n=2))
        if diff:
            found.append('\n'.join(diff[:60]))
    for sql in METADATA:
        answers = [must(DATABASE, sql, port=port).splitlines() for port in ports]
        for port, answer in zip(ports[1:], answers[1:]):
            diff = list(difflib.unified_diff(answers[0], answer, COORDINATOR, port, lineterm='', n=0))
            if diff:
                found.append(sql + '\n' + '\n'.join(diff[:40]))
    for port in ports:
        unlike = must(DATABASE, LIKE_ITS_TABLE, port=port)
        if unlike:
            found.append(f'shards on {port} that are not like their tables:\n{unlike[:4000]}')
    return found


def set_up(ports):
    if len(ports) > 1:
        cluster.create_cluster(DATABASE)
        must(DATABASE, "SELECT citus_set_node_property('127.0.0.1', " + COORDINATOR + ", 'shouldhaveshards', true)")
    else:
        cluster.create_plain(DATABASE)
        must(DATABASE, PLAIN)
    for role in ROLES:
        for port in ports:
            must(DATABASE, f"DO $$ BEGIN CREATE ROLE {role}; EXCEPTION WHEN duplicate_object THEN END $$", port=port)
    must(DATABASE, "CREATE SCHEMA s1; CREATE SCHEMA s2; CREATE SCHEMA s3; CREATE FUNCTION public.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")


# Functions and a view in place of the extension's.
PLAIN = """CREATE SCHEMA pando; GRANT USAGE ON SCHEMA pando TO public;
CREATE FUNCTION pando.relation_shard_id(oid) RETURNS bigint LANGUAGE sql AS 'SELECT NULL::bigint';
CREATE FUNCTION pando.create_distributed_table(regclass, text, shard_count int DEFAULT 1, colocate_with text DEFAULT '') RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION pando.create_reference_table(regclass) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION pando.undistribute_table(regclass) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION pando.alter_distributed_table(regclass, shard_count int, cascade_to_colocated bool) RETURNS void LANGUAGE sql AS '';
CREATE VIEW pando.pg_dist_partition AS SELECT c.oid::regclass AS logicalrelid FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
	WHERE relkind IN ('r', 'p') AND nspname ~ '^(public|s.)$';"""


def main():
    plain = sys.argv[1:2] == ['--plain']
    arguments = sys.argv[2:] if plain else sys.argv[1:]
    seed = arguments[0] if arguments else '1'
    seconds = float(arguments[1]) if len(arguments) > 1 else 20
    ports = [COORDINATOR] if plain else [COORDINATOR, *WORKERS]
    set_up(ports)
    run = Run(seed, seconds)
    threads = [threading.Thread(target=run.changer, args=(COORDINATOR, 'a')), threading.Thread(target=run.changer, args=(ports[len(ports) > 1], 'b')),
               threading.Thread(target=run.writer, args=(COORDINATOR, 'x')), threading.Thread(target=run.writer, args=(ports[-1], 'y'))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    count = run.done()
    failures = run.failures if plain else run.failures + differences()
    print('\n'.join(failures))
    print(' '.join(f'{name}:{state}={count}' for (name, state), count in sorted(run.counts.items())))
    print(f'random_ddl {seed}: {count} statements, {len(failures)} failures')
    if not failures:
        cluster.drop(DATABASE)
        for port in ports:
            must('postgres', ';'.join(f'DROP ROLE IF EXISTS {role}' for role in ROLES), port=port)
    sys.exit(1 if failures else 0)


if __name__ == '__main__':
    main()
