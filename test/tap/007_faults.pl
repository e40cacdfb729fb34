# What goes wrong around a statement stays around that statement: sessions that die, nodes that
# restart, hang or are full, clients that go away, coordinators that crash half-way.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep time);
use lib '.';
use PandoCluster;

# What does not hang ends long before this time.
my $never = 120;
my $cluster = PandoCluster->new('faults', workers => 2, conf => <<"END");
citus.recover_2pc_interval = '1s'
citus.node_connection_timeout = '${never}s'
END
my $coordinator = $cluster->coordinator;
my ($worker1, $worker2) = ($cluster->worker(1), $cluster->worker(2));
$cluster->sql(<<'END');
SET citus.shard_count TO 4;
CREATE TABLE t (k int PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'k');
INSERT INTO t SELECT i, 0 FROM generate_series(1, 1000) i;
-- Said to be immutable, so that it runs where the rows are.
CREATE FUNCTION nap(seconds float8, k int) RETURNS int IMMUTABLE LANGUAGE plpgsql
	AS 'BEGIN PERFORM pg_sleep(seconds); RETURN k; END';
END

# Keys on the first and on the second worker.
my ($key1, $key2) = split /\|/, $cluster->sql(<<'END');
SELECT min(k) FILTER (WHERE g = lo), min(k) FILTER (WHERE g = hi) FROM (
	SELECT k, groupid g, min(groupid) OVER () lo, max(groupid) OVER () hi
	FROM t JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('t', k)) s
END

# A client that stays connected. run: its rows, or "SQLSTATE message".
package Client;

sub new
{
	my ($class, $node, $role) = @_;
	my $self = bless { in => '', out => '', err => '' }, $class;
	$self->{handle} = IPC::Run::start(
		[ 'psql', '-X', '-A', '-t', '-q', '-h', '127.0.0.1', '-p', $node->port, '-d', 'postgres', '-v', 'VERBOSITY=verbose', defined $role ? ('-U', $role) : () ],
		'<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err}, IPC::Run::timeout(600));
	return $self;
}

sub start
{
	my ($self, $sql) = @_;
	($self->{out}, $self->{err}) = ('', '');
	$self->{in} .= "$sql\n;\\echo done\n\\warn done\n";
	$self->{handle}->pump_nb;
	return;
}

sub wait
{
	my ($self) = @_;
	$self->{handle}->pump until $self->{out} =~ /^done$/m && $self->{err} =~ /^done$/m;
	my ($out, $err) = ($self->{out}, $self->{err});
	$out =~ s/^done\n//m;
	chomp $out;
	return $err =~ /ERROR:  (\S+): (.*)/ ? "$1 $2" : $err =~ /FATAL/ ? $err : $out;
}

sub run { my ($self, $sql) = @_; $self->start($sql); return $self->wait; }
sub pid { return $_[0]->run('SELECT pg_backend_pid()'); }
sub quit { my ($self) = @_; $self->{in} .= "\\q\n"; eval { $self->{handle}->finish }; return; }

package main;

my $sessions = "FROM pg_stat_activity WHERE application_name LIKE 'citus_internal gpid=%' AND pid <> pg_backend_pid()";

sub kill_sessions { return $_[0]->safe_psql('postgres', "SELECT count(pg_terminate_backend(pid, 60000)) $sessions"); }

# A session of the client dies.
my $client = Client->new($coordinator);
is($client->run("SELECT v FROM t WHERE k = $key1"), '0', 'a session to the worker');
kill_sessions($worker1);
is($client->run("SELECT v FROM t WHERE k = $key1"), '0', 'killed between statements: nothing is noticed');
kill_sessions($worker1);
is($client->run("UPDATE t SET v = 1 WHERE k = $key1 RETURNING v"), '1', 'killed between statements: a write works');
is($client->run('SELECT count(*) FROM t'), '1000', 'and one on all nodes');
kill_sessions($_) foreach $worker1, $worker2;
is($client->run('SELECT count(*) FROM t'), '1000', 'killed on all nodes: nothing is noticed');

is($client->run("BEGIN; UPDATE t SET v = 2 WHERE k = $key1; UPDATE t SET v = 2 WHERE k = $key2"), '', 'a block that wrote');
kill_sessions($worker1);
my $port1 = $worker1->port;
like($client->run("UPDATE t SET v = 3 WHERE k = $key1"), qr/^(08|57)... .*127\.0\.0\.1:$port1|^57P01/, 'killed in a block: the error names the node');
is($client->run('ROLLBACK'), '', 'ROLLBACK works');
is($client->run("SELECT sum(v) FROM t"), '1', 'nothing of the block is left');

$client->run("BEGIN; UPDATE t SET v = 2 WHERE k = $key1; UPDATE t SET v = 2 WHERE k = $key2");
kill_sessions($worker2);
like($client->run("COMMIT"), qr/^(08|57|25)/, 'killed before COMMIT: it fails');
is($client->run("SELECT sum(v) FROM t"), '1', 'and nothing is committed on the other node');

$client->run("BEGIN; SAVEPOINT a; SELECT v FROM t WHERE k = $key1");
kill_sessions($worker1);
like($client->run("SELECT v FROM t WHERE k = $key1"), qr/^(08|57)/, 'killed after a savepoint: an error');
is($client->run("ROLLBACK TO SAVEPOINT a; SELECT v FROM t WHERE k = $key2"), '0', 'other nodes can be used after ROLLBACK TO SAVEPOINT');
is($client->run('ROLLBACK'), '', 'ROLLBACK works');

# What was written after a subtransaction in which the node joined, and that was rolled back, is more than that subtransaction's.
$client->run("BEGIN; DO \$\$ BEGIN BEGIN UPDATE t SET v = 3 WHERE k = $key1; RAISE 'no'; EXCEPTION WHEN raise_exception THEN NULL; END; END \$\$; "
	  . "UPDATE t SET v = 2 WHERE k = $key1; SAVEPOINT a; SELECT v FROM t WHERE k = $key1");
kill_sessions($worker1);
like($client->run("SELECT v FROM t WHERE k = $key1"), qr/^(08|57)/, 'killed in a second subtransaction: an error');
$client->run('ROLLBACK TO SAVEPOINT a');
like($client->run('COMMIT'), qr/^(08|57|25)/, 'what was written before it is not given up: COMMIT fails');
is($client->run("SELECT sum(v) FROM t"), '1', 'and nothing is committed');

# A cancel that comes while nodes roll back to a savepoint does not cut that short.
my $psql = $cluster->start_at($coordinator, 'savepoint-before-rollback',
	"BEGIN; UPDATE t SET v = 1 WHERE k IN ($key1, $key2); SAVEPOINT a; UPDATE t SET v = 5 WHERE k IN ($key1, $key2);\nROLLBACK TO SAVEPOINT a;\n"
	  . "UPDATE t SET v = v + 1 WHERE k IN ($key1, $key2) RETURNING v; ROLLBACK");
is($coordinator->safe_psql('postgres', "SELECT pg_cancel_backend($psql->{pid})"), 't', 'a cancel during ROLLBACK TO SAVEPOINT');
$coordinator->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
$psql->{handle}->finish;
is($psql->{out} . $psql->{err}, "2\n2\n", 'the nodes are where the savepoint was');

$client->start("SELECT sum(nap(0.1, k)) FROM t");
$worker1->poll_query_until('postgres', "SELECT count(*) > 0 $sessions AND state = 'active'");
kill_sessions($worker1);
like($client->wait, qr/^(08|57)/, 'killed during a statement: an error');
is($client->run("SELECT count(*) FROM t"), '1000', 'and the next statement works');

# A worker restarts between statements of an idle client.
foreach my $mode (qw(fast immediate))
{
	is($client->run("PREPARE p_$mode(int) AS SELECT v FROM t WHERE k = \$1; EXECUTE p_$mode($key1)"), '1', "$mode: before the restart");
	$worker1->stop($mode);
	$worker1->start;
	is($client->run("EXECUTE p_$mode($key1)"), '1', "$mode restart: a prepared statement goes on");
	is($client->run("UPDATE t SET v = v WHERE k = $key1; SELECT count(*) FROM t"), '1000', "$mode restart: the client notices nothing");
}
$worker1->stop('immediate');
my $start = time;
like($client->run("SELECT v FROM t WHERE k = $key1"), qr/^08... .*127\.0\.0\.1:$port1/, 'a stopped worker is named');
# Planning asks the nodes how large a table without statistics is; it does without those that are down.
my $there = join ',', split /\n/, $coordinator->safe_psql('postgres', <<"END");
SELECT k FROM generate_series(1, 1000) k, pg_dist_placement p WHERE p.shardid = get_shard_id_for_distribution_column('t', k) AND groupid =
	(SELECT groupid FROM pg_dist_placement WHERE shardid = get_shard_id_for_distribution_column('t', $key2))
END
is($client->run("SELECT count(*) FROM (SELECT v % 1000 AS w, count(*) FROM t WHERE k IN ($there) GROUP BY w) s"), '1',
	'shards of the other worker are read');
is($client->run("SELECT v FROM t WHERE k = $key2"), '0', 'the other one is used meanwhile');
ok(time - $start < $never, 'without waiting for a connection');
$worker1->start;
is($client->run("SELECT count(*) FROM t"), '1000', 'it is back');

# A worker hangs: neither its sessions nor its postmaster answer.
my @stopped;
sub signal_worker
{
	my ($node, $signal, @pids) = @_;
	my $postmaster = (PostgreSQL::Test::Utils::slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/)[0];
	@stopped = $signal eq 'STOP' ? ($postmaster, @pids) : ();
	kill $signal, $postmaster, @pids;
	return;
}
END { kill 'CONT', @stopped if @stopped; }
my @pids = split /\n/, $worker1->safe_psql('postgres', "SELECT pid $sessions");
signal_worker($worker1, 'STOP', @pids);
$start = time;
like($client->run("SET citus.node_connection_timeout = '3s'; SET statement_timeout = '2s'; SELECT v FROM t WHERE k = $key1"), qr/^57014/, 'a hanging session: statement_timeout ends it');
ok(time - $start < $never, 'in bounded time: ' . (time - $start));
$start = time;
like($client->run("RESET statement_timeout; SELECT v FROM t WHERE k = $key1"), qr/^08... .*127\.0\.0\.1:$port1/, 'a hanging node: the connection times out and names it');
ok(time - $start < $never, 'in bounded time: ' . (time - $start));
my $pid = $client->pid;
$client->start("RESET citus.node_connection_timeout; SELECT v FROM t WHERE k = $key1");
ok($coordinator->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $pid AND query LIKE '%SELECT v%' AND wait_event = 'Extension'"), 'a client waits for a connection');
$start = time;
$coordinator->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
like($client->wait, qr/^57014/, 'a cancel ends the wait for a connection');
ok(time - $start < $never / 2, 'at once');
signal_worker($worker1, 'CONT', @pids);
is($client->run("SELECT v FROM t WHERE k = $key1"), '1', 'it goes on');

# The client dies in the middle of a write on all nodes.
my $writer = Client->new($coordinator);
$pid = $writer->pid;
$writer->start("UPDATE t SET v = v + 100 WHERE nap(0.1, k) = k");
$worker1->poll_query_until('postgres', "SELECT count(*) > 0 $sessions AND state = 'active' AND query LIKE '%UPDATE%'");

$writer->{handle}->kill_kill;
$coordinator->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 60000)");
ok($_->poll_query_until('postgres', "SELECT count(*) = 0 $sessions AND query LIKE '%UPDATE%'"), 'client gone: so are its sessions') foreach $worker1, $worker2;
is($client->run('SELECT max(v) FROM t'), '1', 'nothing of its write is left');

# Streams that end early.
is($client->run("BEGIN; DECLARE c CURSOR FOR SELECT k FROM t; FETCH 1 FROM c; CLOSE c; UPDATE t SET v = v WHERE k IN ($key1, $key2); COMMIT; SELECT count(*) FROM t") =~ /1000$/, 1, 'a cursor closed early');
is($client->run("SELECT count(*) FROM (SELECT k FROM t LIMIT 3) s; BEGIN; SELECT count(*) FROM (SELECT * FROM t LIMIT 1) s; UPDATE t SET v = v; SELECT count(*) FROM t; COMMIT"), "3\n1\n1000", 'LIMIT, then more on the same sessions');
is($client->run("SELECT k / (k - 500) FROM t ORDER BY k") =~ /^22012/, 1, 'an error in the middle of rows');
is($client->run("SELECT count(*) FROM t"), '1000', 'and the sessions are usable');
$client->quit;

# Clients that come and go leave no sessions.
$cluster->sql("SELECT count(*) FROM t") foreach 1 .. 200;
ok($_->poll_query_until('postgres', "SELECT count(*) <= 2 $sessions"), 'no session of 200 clients is left') foreach $worker1, $worker2;

# Databases while the maintenance workers run.
$coordinator->safe_psql('postgres', 'CREATE DATABASE other');
$coordinator->safe_psql('other', 'CREATE EXTENSION pando; SELECT citus_version()');
$start = time;
$coordinator->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE other');
is($coordinator->safe_psql('copied', "SELECT count(*) FROM pg_extension WHERE extname = 'pando'"), '1', 'CREATE DATABASE ... TEMPLATE');
$coordinator->safe_psql('postgres', 'DROP DATABASE other');
$coordinator->safe_psql('postgres', 'DROP DATABASE copied');
ok(time - $start < $never, 'DROP DATABASE does not wait for the maintenance worker: ' . (time - $start));

# No connection is left on a worker, for this role.
$cluster->sql("CREATE ROLE plain LOGIN; GRANT ALL ON t TO plain");
$worker2->safe_psql('postgres', 'SET citus.enable_ddl_propagation TO off; ALTER ROLE plain CONNECTION LIMIT 1');
{
	my $hog = Client->new($worker2, 'plain');
	is($hog->run('SELECT 1'), '1', 'the last connection');
	$client = Client->new($coordinator, 'plain');
	my $port2 = $worker2->port;
	like($client->run("SET citus.node_connection_timeout = '5s'; SELECT v FROM t WHERE k = $key2"), qr/^(08|53)... .*127\.0\.0\.1:$port2/, 'a full worker is named');
	is($client->run("SELECT v FROM t WHERE k = $key1"), '1', 'the other one works');
	$client->start("SET citus.node_connection_timeout TO '1min'; SELECT v FROM t WHERE k = $key2");
	ok($coordinator->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE usename = 'plain' AND state = 'active' AND wait_event = 'Extension'"), 'another one waits');
	$hog->quit;
	is($client->wait, '0', 'who waits gets the place that becomes free');
	$client->quit;
}

# The coordinator crashes while it changes what tables there are, and where.
sub crash_at
{
	my ($point, $sql) = @_;
	my $psql = $cluster->start_at($coordinator, $point, $sql);
	$cluster->kill_server(0);
	eval { $psql->{handle}->finish };
	$coordinator->start;
	return;
}

# What the nodes know of tables and shards; relations that nothing refers to.
sub state_of
{
	my ($node) = @_;
	return $node->safe_psql('postgres', <<'END');
SELECT 'shards ' || string_agg(s.shardid || '@' || p.groupid, ' ' ORDER BY s.shardid) FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid)
UNION ALL
SELECT 'tables ' || string_agg(logicalrelid::text, ' ' ORDER BY 1) FROM pg_dist_partition
END
}

sub consistent
{
	my ($what) = @_;
	my @states = map { state_of($_) } $cluster->nodes;
	is($states[$_], $states[0], "$what: worker $_ knows the same") foreach 1, 2;
	foreach my $i (1, 2)
	{
		my $worker = $cluster->worker($i);
		is($worker->safe_psql('postgres', <<'END'), '', "$what: worker $i has its shards and no others");
WITH mine AS (
	SELECT logicalrelid::text || '_' || shardid AS name FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_partition USING (logicalrelid)
	WHERE groupid = (SELECT groupid FROM pg_dist_local_group)
	UNION ALL SELECT logicalrelid::text FROM pg_dist_partition)
SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname::text NOT IN (SELECT name FROM mine)
UNION ALL SELECT name FROM mine WHERE to_regclass(name) IS NULL
END
	}
	return;
}

my $move = "SELECT citus_move_shard_placement(get_shard_id_for_distribution_column('t', $key1), 2, 3, 'block_writes')";
foreach my $point (qw(commit-before-prepare commit-after-prepare commit-after-record commit-before-second-phase commit-during-second-phase))
{
	my $committed = $point =~ /second-phase/ ? 1 : 0;
	$cluster->sql('CREATE TABLE made (k int, v int); INSERT INTO made SELECT i, i FROM generate_series(1, 100) i');
	crash_at($point, "SELECT create_distributed_table('made', 'k')");
	ok($cluster->settled, "create_distributed_table, $point: nothing stays prepared");
	is($cluster->sql('SELECT count(*), sum(v) FROM made'), '100|5050', "create_distributed_table, $point: all rows are there");
	is($cluster->sql("SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = 'made'::regclass"), $committed, "create_distributed_table, $point: the outcome");
	consistent("create_distributed_table, $point");
	$cluster->sql('DROP TABLE made');
	consistent("DROP TABLE after $point");
}
foreach my $point (qw(move-after-create move-after-copy move-before-switch commit-after-prepare commit-after-record commit-before-second-phase commit-during-second-phase))
{
	my $committed = $point =~ /second-phase/ ? 1 : 0;
	crash_at($point, $move);
	ok($cluster->settled, "move, $point: nothing stays prepared");
	consistent("move, $point");
	is($cluster->sql('SELECT count(*) FROM t'), '1000', "move, $point: all rows are there");
	is($cluster->sql("UPDATE t SET v = v WHERE k = $key1 RETURNING k"), $key1, "move, $point: it can be written");
	is($cluster->sql("SELECT groupid FROM pg_dist_placement WHERE shardid = get_shard_id_for_distribution_column('t', $key1)"), $committed ? 2 : 1, "move, $point: the outcome");
	$cluster->sql("SELECT citus_move_shard_placement(get_shard_id_for_distribution_column('t', $key1), 3, 2, 'block_writes')") if $committed;
}

# At once after a crash, before recovery has run: statements wait for what is in doubt or settle it.
$_->append_conf('postgresql.conf', "citus.recover_2pc_interval = '1h'") foreach $coordinator;
$coordinator->reload;
$cluster->sql('CREATE TABLE doubt (k int, v int)');
crash_at('commit-before-second-phase', "SELECT create_distributed_table('doubt', 'k')");
my ($ret, $out, $err) = $coordinator->psql('postgres', "SET lock_timeout = '60s'; DROP TABLE doubt", timeout => 180);
is($err, '', 'DROP TABLE of what is in doubt settles it first');
$cluster->sql('SELECT recover_prepared_transactions()');
ok($cluster->settled, 'in doubt: settled');
$cluster->sql('DROP TABLE IF EXISTS doubt');
consistent('dropped while in doubt');

# After the local commit nothing may raise.
foreach my $point (qw(commit-before-second-phase commit-during-second-phase abort-before-rollback))
{
	$cluster->sql("SELECT pando.debug_point_arm('$point', 'error')");
	$coordinator->psql('postgres', "UPDATE t SET v = v; UPDATE t SET v = v / (k - 3)");
	$cluster->sql('SELECT pando.debug_point_clear()');
}
is($cluster->sql('SELECT count(*) FROM t'), '1000', 'an error after the commit does not bring the server down');

$cluster->stop;
done_testing();
