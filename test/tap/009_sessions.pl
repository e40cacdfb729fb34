# How many sessions a statement opens: one per node for what is short, as many as are allowed
# and useful for what takes long, all of them reading as of one snapshot. What is allowed is
# counted over all backends; who needs a session waits for a place.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep time);
use IO::Select;
use lib '.';
use PandoCluster;
use PandoWire;
use PostgreSQL::Test::Utils;

my $scripts = 0;
my $cluster = PandoCluster->new('sessions', workers => 1, conf => <<'END');
max_parallel_workers_per_gather = 0
citus.recover_2pc_interval = '1h'
citus.distributed_deadlock_detection_factor = -1
citus.node_connection_timeout = '180s'
END
my ($coordinator, $worker) = ($cluster->coordinator, $cluster->worker(1));
$cluster->sql(<<'END');
SET citus.shard_count TO 32;
CREATE TABLE t (k int PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'k');
INSERT INTO t SELECT i, 1 FROM generate_series(1, 320) i;
-- Said to be immutable, so that it runs where the rows are.
CREATE FUNCTION nap(seconds float8, v numeric) RETURNS numeric IMMUTABLE LANGUAGE plpgsql
	AS 'BEGIN PERFORM pg_sleep(seconds); RETURN v; END';
CREATE FUNCTION same(v numeric) RETURNS numeric IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN v; END';
END

my $dir = PostgreSQL::Test::Utils::tempdir();
sub bench
{
	my ($options, $script) = @_;
	PostgreSQL::Test::Utils::append_to_file("$dir/script." . ++$scripts, $script);
	return IPC::Run::start([ 'sh', '-c', "exec pgbench -n $options -h 127.0.0.1 -p " . $coordinator->port . " -f $dir/script.$scripts postgres >$dir/bench.out 2>$dir/bench.err" ]);
}

# The rows of a statement, the seconds it took, and the connections to the worker it made.
my $looking = PandoWire->connect($worker->port);
my $maintenance = $coordinator->safe_psql('postgres', "SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE backend_type LIKE 'pando maintenance worker%'");
sub connections
{
	# A session is counted for certain when it has ended; the maintenance worker may keep one.
	for (1 .. 600)
	{
		last if $looking->value("SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name LIKE 'citus_internal gpid=%' AND application_name NOT LIKE '%$maintenance'") eq 't';
		sleep 0.1;
	}
	return $looking->value("SELECT sessions FROM pg_stat_database WHERE datname = 'postgres'");
}

sub measure
{
	my ($sql) = @_;
	my $before = connections();
	my $start = time;
	my $rows = $cluster->sql($sql);
	my $seconds = time - $start;
	return ($rows, $seconds, connections() - $before);
}

# The maintenance worker may have made one, too, or have had the place of one.
sub about
{
	my ($rows, $made, $expected, $what) = @_;
	ok($rows == 320 && abs($made - $expected) <= 1, "$what: $rows rows, $made connections");
	return;
}

# On a busy machine nothing is short: a second session may come late, and the best of five counts.
my ($rows, $seconds, $made);
my $fewest = 100;
for (1 .. 5)
{
	($rows, $seconds, $made) = measure("SET citus.executor_slow_start_interval TO '300ms'; SET citus.max_adaptive_executor_pool_size TO 1; SELECT sum(same(v)) FROM t; SELECT sum(same(v)) FROM t; RESET citus.max_adaptive_executor_pool_size; SELECT sum(same(v)) FROM t");
	is($rows, "320\n320\n320", '32 tasks of 1 ms') if $_ == 1;
	$fewest = $made if $made < $fewest;
	last if $made == 1;
}
is($fewest, 1, 'make one connection');

($rows, $seconds, $made) = measure('SELECT sum(nap(0.06, v)) FROM t');
is($rows, '320', '32 tasks of 600 ms');
cmp_ok($made, '>=', 8, "make many connections: $made");
cmp_ok($made, '<=', 17, 'but no more than citus.max_adaptive_executor_pool_size');
cmp_ok($seconds, '<', 15, "and take a fraction of 19.2 s: $seconds");

($rows, $seconds, $made) = measure('SET citus.max_adaptive_executor_pool_size TO 3; SELECT sum(nap(0.01, v)) FROM t');
about($rows, $made, 3, 'citus.max_adaptive_executor_pool_size');
($rows, $seconds, $made) = measure('SET citus.max_adaptive_executor_pool_size TO 1; SELECT sum(nap(0.001, v)) FROM t');
about($rows, $made, 1, 'citus.max_adaptive_executor_pool_size of 1');
($rows, $seconds, $made) = measure("SET citus.executor_slow_start_interval TO '10min'; SELECT sum(nap(0.002, v)) FROM t");
about($rows, $made, 1, 'citus.executor_slow_start_interval');
($rows, $seconds, $made) = measure("SET citus.executor_slow_start_interval TO '10min'; SET citus.max_adaptive_executor_pool_size TO 4; SET citus.force_max_query_parallelization TO on; SELECT sum(nap(0.005, v)) FROM t");
about($rows, $made, 4, 'citus.force_max_query_parallelization');

# Rows pass through in all of it; LIMIT and an error end it.
is($cluster->sql('SET citus.force_max_query_parallelization TO on; SELECT count(*), count(DISTINCT k) FROM t'), '320|320', 'forced, each row comes once');
is($cluster->sql('SELECT count(*), count(DISTINCT k) FROM (SELECT k, nap(0.002, v) FROM t) s'), '320|320', 'each row comes once');
is($cluster->sql('SELECT count(*) FROM (SELECT nap(0.005, v) FROM t LIMIT 3) s'), '3', 'LIMIT');
my ($ret, $out, $err) = $coordinator->psql('postgres', 'SELECT sum(nap(0.005, 1 / (k - 300))) FROM t');
like($err, qr/division by zero/, 'an error in one of the sessions');
is($cluster->sql("SELECT count(*) FROM t WHERE nap(0.002, v) = 1"), '320', 'the next statement');

# One snapshot: money moves between shards of the node while it is counted.
{
	my $mover = bench('-T 6 -c 2', <<'END');
\set a random(1, 320)
\set b random(1, 320)
BEGIN;
UPDATE t SET v = v - 1 WHERE k = :a;
UPDATE t SET v = v + 1 WHERE k = :b;
COMMIT;
END
	my %sums;
	my $end = time + 5;
	$sums{ $cluster->sql('SELECT sum(nap(0.005, v)) FROM t') }++ while time < $end;
	$mover->finish;
	is(join(' ', keys %sums), '320', 'one snapshot over all sessions, ' . ($sums{320} // 0) . ' times');
}

# Where there is no place for more, there are fewer: nothing waits, nothing fails.
PandoCluster::configure($coordinator, 'citus.max_shared_pool_size' => 3);
($rows, $seconds, $made) = measure('SELECT sum(nap(0.01, v)) FROM t');
about($rows, $made, 3, 'citus.max_shared_pool_size bounds what is only useful');

# 20 clients of a node with 4 places.
PandoCluster::configure($coordinator, 'citus.max_shared_pool_size' => 4);
my $most = 0;
my $bench = bench('-t 20 -c 20', <<'END');
\set a random(1, 320)
UPDATE t SET v = v WHERE k = :a;
SELECT count(*) FROM t;
END
while ($bench->pumpable)
{
	my $now = $looking->value("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'citus_internal gpid=%'");
	$most = $now if $now > $most;
	sleep 0.1;
}
$bench->finish;
($out, $err) = map { slurp_file("$dir/bench.$_") } qw(out err);
like($out, qr/number of transactions actually processed: 400\/400/, '20 clients, 4 places: all get through') or diag($out, $err);
unlike($err, qr/ERROR|FATAL/, 'no error') or diag($err);
# The last moments of a closed connection are seen, too.
cmp_ok($most, '<=', 12, "no more connections than places: $most");

# Who does nothing keeps its session until somebody else wants the place.
PandoCluster::configure($coordinator, 'citus.max_shared_pool_size' => 1);
my @idlers = PandoWire->connect_all($coordinator->port, 3);
my $kept = "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE application_name LIKE 'citus_internal gpid=%' AND backend_type = 'client backend'";
is($idlers[0]->value('SELECT count(*) FROM t'), '320', 'the only place is taken');
my $keeper = $looking->value($kept);
is($idlers[0]->value('SELECT count(*) FROM t WHERE k < 10'), '9', 'and taken again');
is($looking->value($kept), $keeper, 'by the same session');
foreach my $round (1 .. 2)
{
	is($_->value('SELECT count(*) FROM t'), '320', "another one gets it, round $round") foreach @idlers;
}
undef @idlers;

# A node can keep room for the others and for superusers.
$cluster->sql('CREATE ROLE plain LOGIN; GRANT SELECT ON t TO plain');
sub plainly
{
	my ($node) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', 'SELECT count(*) FROM t', extra_params => [ '-U', 'plain' ]);
	return $out . $err;
}
PandoCluster::configure($worker, 'citus.max_client_connections' => 0);
is(plainly($coordinator), '320', 'sessions of other nodes are not counted');
like(plainly($worker), qr/FATAL:  remaining connection slots are reserved for superusers and other nodes/, 'no client is let in');
is($worker->safe_psql('postgres', 'SELECT count(*) FROM t'), '320', 'but a superuser is');
PandoCluster::configure($worker, 'citus.max_client_connections' => 2);
{
	my @two = map { PandoWire->connect($worker->port, user => 'plain') } 1, 2;
	is($_->value('SELECT count(*) FROM t'), '320', 'one of two clients') foreach @two;
	like(plainly($worker), qr/FATAL:  remaining connection slots/, 'a third is refused');
}
my $again = '';
for (1 .. 100)
{
	last if ($again = plainly($worker)) eq '320';
	sleep 0.1;
}
is($again, '320', 'who goes makes room');
PandoCluster::configure($worker, 'citus.max_client_connections' => -1);

# 20 clients of a node that itself has room for less: they take turns.
PandoCluster::configure($coordinator, 'citus.max_shared_pool_size' => 0);
$worker->append_conf('postgresql.conf', "max_connections = 8\nsuperuser_reserved_connections = 2\nmax_wal_senders = 0");
$worker->restart;
$bench = bench('-t 20 -c 20', <<'END');
\set a random(1, 320)
UPDATE t SET v = v WHERE k = :a;
SELECT count(*) FROM t;
END
$bench->finish;
($out, $err) = map { slurp_file("$dir/bench.$_") } qw(out err);
like($out, qr/number of transactions actually processed: 400\/400/, '20 clients, 8 connections: all get through') or diag($out, $err);
unlike($err, qr/ERROR|FATAL/, 'no error') or diag($err);

# Who waits for too long is told why.
{
	my @others = PandoWire->connect_all($worker->port, 8);
	my ($ret, $out, $err) = $coordinator->psql('postgres', "SET citus.node_connection_timeout TO '5s'; SELECT count(*) FROM t");
	like($err, qr/connection to the remote node 127.0.0.1:\d+ failed.*DETAIL: .*FATAL:  sorry, too many clients already$/s, 'no connection in time') or diag($err);
}

is($cluster->sql('SELECT sum(v) FROM t'), '320', 'all money is there');
# The node's own shards: one plan for what costs much, which PostgreSQL spreads over cores; a
# server for itself, since parallel workers were off above.
my $single = PandoCluster->new('single', workers => 0);
$single->sql(<<'END');
SET citus.shard_count TO 8;
CREATE TABLE t (k int PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'k');
INSERT INTO t SELECT i, 1 FROM generate_series(1, 800) i;
CREATE FUNCTION worker(v int) RETURNS int IMMUTABLE PARALLEL SAFE COST 100000 LANGUAGE plpgsql
	AS 'BEGIN PERFORM pg_sleep(0.002); RETURN pg_backend_pid(); END';
END
is($single->sql('SELECT sum(v) FROM (SELECT v, worker(v) w FROM t) s WHERE w > 0'), '800', 'own shards, together');
# They may come late on a busy machine.
ok($single->coordinator->poll_query_until('postgres', 'SELECT count(*) > 1 FROM (SELECT worker(v) FROM t GROUP BY 1) s'), 'by several processes');
is($single->sql('SET max_parallel_workers_per_gather TO 0; SELECT count(DISTINCT w), sum(n) FROM (SELECT worker(v) w, count(*) n FROM t GROUP BY 1) s'), '1|800', 'or by this one');
is($single->sql('SELECT count(*) FROM (SELECT worker(v) FROM t LIMIT 5) s'), '5', 'LIMIT');
$single->stop;

# Nobody waits for the COMMIT of what only read: a worker that is held up holds up no client.
# All else is waited for.
$cluster->sql("CREATE FUNCTION note(int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN \$1; END'");
sub ends_soon
{
	my ($begin, $statement, $what, $expected) = @_;
	my $client = PandoWire->connect($coordinator->port, timeout => 180);
	$client->query("$begin; SELECT v FROM t WHERE k = 1");
	my ($gpid) = $client->value('SELECT citus_backend_gpid()');
	$client->query($statement);
	my $backends = $worker->safe_psql('postgres', "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE application_name LIKE 'citus_internal gpid=$gpid%'");
	kill 'STOP', split / /, $backends;
	$client->send('COMMIT');
	my $soon = IO::Select->new($client->{socket})->can_read($expected ? 120 : 2) ? 1 : 0;
	is($soon, $expected, "$what: COMMIT is " . ($expected ? 'not waited for' : 'waited for'));
	kill 'CONT', split / /, $backends;
	like($client->answer->{tags}[-1], qr/COMMIT/, "$what: it commits");
	is($client->value('SELECT count(*) FROM t'), '320', "$what: the session goes on");
	return ($client, $backends);
}
ends_soon('BEGIN', 'SELECT v FROM t WHERE k = 2', 'one row', 1);
ends_soon('BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT sum(v) FROM t', 'all rows', 1);
ends_soon('BEGIN', 'SAVEPOINT s; SELECT v FROM t WHERE k = 2; ROLLBACK TO s', 'a savepoint', 1);
ends_soon('BEGIN ISOLATION LEVEL SERIALIZABLE', 'SELECT sum(v) FROM t', 'serializable', 0);
ends_soon('BEGIN', 'SELECT v FROM t WHERE k = 2 FOR UPDATE', 'a lock', 0);
ends_soon('BEGIN', 'SELECT note(v) FROM t WHERE k = 2', 'a volatile function', 0);
ends_soon('BEGIN', 'UPDATE t SET v = 1 WHERE k = 2', 'a write', 0);

# The node's process dies before it has committed.
my ($client, $backends) = ends_soon('BEGIN', 'SELECT v FROM t WHERE k = 3', 'once more', 1);
$client->query('BEGIN; SELECT v FROM t WHERE k = 3');
kill 'STOP', split / /, $backends;
$client->query('COMMIT');
$worker->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM unnest(string_to_array('$backends', ' ')::int[]) pid");
kill 'CONT', split / /, $backends;
is($client->value('SELECT count(*) FROM t WHERE k = 3'), '1', 'a session that died at such a COMMIT is replaced');

$cluster->stop;
done_testing();
