#!/usr/bin/env python3
"""A node whose answers are forged: between the coordinator and its first worker stands a relay that changes what the
worker sends (values of rows, pieces of COPY, counts of fields, tags, errors, parameters), and statements of every kind
go over it. Errors and wrong rows may come of it, but no server may stop, no error may be an internal one (XX000), no
backend may take more memory than MEMORY, and what was cancelled in time must end.

    forged_node.py [SEED [ROUNDS]]      each statement so many times (2)
"""
import random
import re
import socket
import struct
import sys
import threading

import cluster
from fuzz_readers import CORE, MEMORY, mutate

DATABASE = 'forged_node'

SETUP = '''
SET citus.shard_count = 4;
CREATE TABLE t (k int PRIMARY KEY, v int, w text, p point, j jsonb, a int[]);
CREATE TABLE u (k int PRIMARY KEY, v int);
CREATE TABLE r (k int PRIMARY KEY, v text);
SELECT create_distributed_table('t', 'k'), create_distributed_table('u', 'k', colocate_with => 'none'), create_reference_table('r');
INSERT INTO t SELECT i, i % 7, 'word ' || i, point(i, i), jsonb_build_object('i', i), ARRAY[i, NULL] FROM generate_series(1, 60) i;
INSERT INTO u SELECT i, i % 5 FROM generate_series(1, 60) i;
INSERT INTO r SELECT i, 'row ' || i FROM generate_series(1, 9) i;
ANALYZE t, u, r;
'''
STATEMENTS = '''
SELECT * FROM t ORDER BY k
SELECT * FROM t
SELECT k, w, j FROM t WHERE k = 7
SELECT ROW(k, v), a, p FROM t
SELECT t.*, ROW(t.k, ROW(t.v, t.a)) FROM t WHERE v < 3
SELECT v, count(*), sum(k), avg(k), max(w), array_agg(k), string_agg(w, ','), stddev(k) FROM t GROUP BY v
SELECT count(*), count(DISTINCT v), count(DISTINCT w) FROM t
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY k) FROM t
SELECT * FROM t JOIN u ON t.v = u.k ORDER BY t.k LIMIT 5
SELECT count(*) FROM t JOIN u ON t.w = u.v::text
SELECT * FROM t WHERE v IN (SELECT v FROM u ORDER BY k LIMIT 3)
SELECT k, lag(v) OVER (ORDER BY k) FROM t
SELECT tableoid, ctid, k FROM t FOR UPDATE
SELECT k FROM t ORDER BY v, k LIMIT 3 FOR UPDATE
DECLARE c CURSOR WITH HOLD FOR SELECT * FROM t
EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT v, sum(k) FROM t GROUP BY v
EXPLAIN SELECT * FROM t JOIN u USING (v)
UPDATE t SET v = v + 1 RETURNING *
UPDATE t SET v = (SELECT max(v) FROM u) WHERE k < 9
UPDATE t SET k = k + 100 WHERE k = 5 RETURNING ctid
UPDATE t SET v = 0 FROM u WHERE u.v = t.v
DELETE FROM t WHERE v = 3 RETURNING k, ctid, w
DELETE FROM t WHERE ctid IN (SELECT ctid FROM t ORDER BY k LIMIT 2)
INSERT INTO t (k, v) VALUES (1001, 1), (1002, 2), (1003, 3) RETURNING *
INSERT INTO t (k, v) SELECT k + 2000, v FROM u
INSERT INTO t (k, v) VALUES (7, 7) ON CONFLICT (k) DO UPDATE SET v = 8 RETURNING v
MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN UPDATE SET v = u.v
UPDATE r SET v = v || '.' RETURNING *
COPY t TO STDOUT
COPY (SELECT * FROM t ORDER BY w) TO STDOUT (FORMAT binary)
ANALYZE t
VACUUM t
TRUNCATE u
ALTER TABLE t ADD COLUMN x int DEFAULT 3
CREATE INDEX ON t (v)
CREATE TABLE n (k bigserial, v text); SELECT create_distributed_table('n', 'k')
SELECT undistribute_table('u')
SELECT create_reference_table('n2') FROM (SELECT set_config('x.y', '', false)) x
SELECT * FROM citus_shards
SELECT * FROM citus_tables
SELECT citus_total_relation_size('t')
SELECT citus_update_table_statistics('t')
SELECT * FROM citus_dist_stat_activity
SELECT * FROM citus_lock_waits
SELECT * FROM citus_locks
SELECT * FROM citus_check_cluster_node_health()
SELECT * FROM run_command_on_all_nodes('SELECT 1')
SELECT * FROM run_command_on_placements('t', 'SELECT count(*) FROM %s')
SELECT check_distributed_deadlocks()
SELECT recover_prepared_transactions()
SELECT citus_create_restore_point('here')
SELECT citus_move_shard_placement((SELECT min(shardid) FROM pg_dist_shard WHERE logicalrelid = 'u'::regclass), '127.0.0.1', 1, '127.0.0.1', 2, 'block_writes')
SELECT get_rebalance_table_shards_plan()
SET pando.snapshot = cluster; SELECT count(*) FROM t; RESET pando.snapshot
SET ROLE forged_view_owner; SELECT * FROM v; RESET ROLE
SELECT * FROM v
'''.strip().splitlines()


class Relay:
    """Listens for sessions of the coordinator; `forging`: how likely a message of the worker is changed."""

    def __init__(self, target):
        self.target, self.forging, self.forged = target, 0.0, 0
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(('127.0.0.1', self.target))
            threading.Thread(target=self.up, args=(client, server), daemon=True).start()
            threading.Thread(target=self.down, args=(client, server), daemon=True).start()

    @staticmethod
    def up(client, server):
        try:
            while data := client.recv(65536):
                server.sendall(data)
        except OSError:
            pass
        server.close()

    def down(self, client, server):
        stream = server.makefile('rb')
        try:
            # One byte each says that there is no encryption; then come messages.
            while (kind := stream.read(1)) == b'N':
                client.sendall(kind)
            ready = False  # for statements: what comes before is PostgreSQL's own to read
            while kind:
                length, = struct.unpack('>I', stream.read(4))
                client.sendall(self.message(kind, stream.read(length - 4), ready))
                ready |= kind == b'Z'
                kind = stream.read(1)
        except (OSError, struct.error, ValueError):
            pass
        client.close()

    def message(self, kind, body, ready):
        """The message, or what is made of it: of the same kind, with a length that is right."""
        if ready and random.random() < self.forging and kind in b'DdTCtEnSA':
            self.forged += 1
            body = self.row(body) if kind == b'D' and random.random() < 0.9 else mutate(body)
        return kind + struct.pack('>I', len(body) + 4) + body

    @staticmethod
    def row(body):
        """A row with other values: the fields' lengths are right, their number may not be."""
        count, = struct.unpack('>H', body[:2])
        fields, at = [], 2
        for _ in range(count):
            length, = struct.unpack('>i', body[at:at + 4])
            fields.append(None if length < 0 else body[at + 4:at + 4 + length])
            at += 4 + max(length, 0)
        at = random.randrange(len(fields)) if fields else 0
        if fields:
            fields[at] = random.choice([None, b'', b'-1', b'99999999999999999999', b'{}', b'null', b'[1,{"a":[]}]', b'(0,0)', b'1 2 3', b'NaN', b'\xff\xfe',
                                        b'x' * 5000, mutate(fields[at] or b'0'), mutate(fields[at] or b'0'), random.choice(fields)])
        return struct.pack('>H', len(fields)) + b''.join(struct.pack('>i', -1) if f is None else struct.pack('>i', len(f)) + f for f in fields)


def started():
    return [cluster.psql('postgres', "SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'", '-At', port=port)
            for port in [cluster.COORDINATOR, *cluster.WORKERS]]


def attempt(statement, wrong, states):
    """Runs it in a block that is rolled back, or alone where it must; a new session, whose connections are new."""
    alone = re.match('VACUUM|SELECT citus_create_restore|SELECT recover|COPY|SELECT check', statement)
    script = ('SET statement_timeout = 5000; SET citus.node_connection_timeout = 2000; SET client_min_messages = error;\n'
              + (f'{statement};\n' if alone else f'BEGIN; {statement};\nROLLBACK;\n') + f"\\! grep VmHWM /proc/$PID/status\n\\echo <<end>>\n")
    script = 'SELECT pg_backend_pid() AS pid \\gset\n\\setenv PID :pid\n' + script
    try:
        out = cluster.psql(DATABASE, script, '-At', '-v', 'VERBOSITY=verbose', timeout=60)
    except cluster.Stuck:
        wrong.append(f'no end of {statement}')
        return
    for state, words in re.findall(r'(?:ERROR|FATAL|PANIC):  (\w{5}): (.*)', out) or [('00000', '')]:
        states[state] = states.get(state, 0) + 1
        if state == 'XX000' and not CORE.match(f'{state}: {words}'):
            wrong.append(f'{state}: {words} in {statement}')
    memory = re.search(r'VmHWM:\s*(\d+) kB', out)
    if memory and int(memory[1]) > MEMORY:
        wrong.append(f'a backend took {memory[1]} kB in {statement}')
    if 'connection to server was lost' in out or '<<end>>' not in out:
        wrong.append(f'the session was lost in {statement}: {out[-300:]}')


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    random.seed(seed)
    cluster.create_cluster(DATABASE)
    cluster.must(DATABASE, SETUP)
    for port in [cluster.COORDINATOR, *cluster.WORKERS]:
        cluster.psql('postgres', 'DROP ROLE IF EXISTS forged_view_owner', port=port)
    cluster.must(DATABASE, '''CREATE ROLE forged_view_owner; GRANT SELECT ON t TO forged_view_owner; CREATE VIEW v AS SELECT * FROM t WHERE v < 5;
        ALTER VIEW v OWNER TO forged_view_owner''')
    relay = Relay(int(cluster.WORKERS[0]))
    cluster.must(DATABASE, f'UPDATE pg_dist_node SET nodeport = {relay.port} WHERE nodeport = {cluster.WORKERS[0]}')
    before, wrong, states = started(), [], {}
    for _ in range(rounds):
        for statement in STATEMENTS:
            relay.forging = random.choice([0.02, 0.05, 0.2])
            attempt(statement, wrong, states)
        relay.forging = 0.0
    if started() != before:
        wrong.append(f'a server was restarted: {before} {started()}')
    print(f'seed {seed}: {relay.forged} forged messages,', ' '.join(f'{state}={number}' for state, number in sorted(states.items())))
    print(*sorted(set(wrong))[:60], sep='\n')
    if relay.forged < rounds * 20 or states.get('00000', 0) < rounds:
        wrong.append('hardly anything was tried')
        print(wrong[-1])
    if not wrong:
        cluster.drop(DATABASE)
        for port in [cluster.COORDINATOR, *cluster.WORKERS]:
            cluster.psql('postgres', 'DROP ROLE IF EXISTS forged_view_owner', port=port)
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
