# Who waits for whom, who does what and for which client: each node tells it of all nodes, and any backend
# can be reached from any of them by its global pid.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PandoWire;

my $cluster = PandoCluster->new('waits', conf => "citus.recover_2pc_interval = -1\n");
my ($coordinator, $worker1, $worker2) = my @nodes = $cluster->nodes;
$cluster->sql(<<'END');
SET citus.shard_count TO 4;
CREATE TABLE t (k int PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'k');
INSERT INTO t SELECT k, 0 FROM generate_series(1, 40) k;
CREATE ROLE somebody LOGIN;
END

# A key on the second worker and one on the first; ids of the nodes.
my ($key, $other) = split /\|/, $cluster->sql(<<'END');
SELECT min(k) FILTER (WHERE groupid = 2), min(k) FILTER (WHERE groupid = 1) FROM t
	JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('t', k)
END
my $shard = $cluster->sql("SELECT 't_' || get_shard_id_for_distribution_column('t', $key)");
my @ids = split /\n/, $cluster->sql('SELECT nodeid FROM pg_dist_node ORDER BY groupid');

sub until_true
{
	my ($node, $sql, $what) = @_;
	ok($node->poll_query_until('postgres', $sql), $what);
	return;
}

my $holder = PandoWire->connect($worker1->port);
my $waiter = PandoWire->connect($coordinator->port);
my $asker = PandoWire->connect($coordinator->port);
my $holder_gpid = $holder->value('SELECT citus_backend_gpid()');
my $waiter_gpid = $waiter->value('SELECT citus_backend_gpid()');
is($holder_gpid, $ids[1] * 10_000_000_000 + $holder->{pid}, 'a global pid is made of the node and the pid');
is($cluster->sql("SELECT citus_nodeid_for_gpid($holder_gpid), citus_pid_for_gpid($holder_gpid)"), "$ids[1]|$holder->{pid}", 'and taken apart');

# The transaction of a backend has a number as soon as other nodes take part.
is($holder->value('SELECT transaction_number FROM get_current_transaction_id()'), 0, 'no distributed transaction');
is($holder->value('SELECT transaction_stamp FROM get_current_transaction_id()'), undef, 'without a time');
$holder->query("BEGIN; UPDATE t SET v = v + 1 WHERE k = $key");
is(join('|', @{ $holder->query('SELECT database_id = (SELECT oid FROM pg_database WHERE datname = current_database()), process_id, initiator_node_identifier, transaction_number > 0, transaction_stamp = now() FROM get_current_transaction_id()')->{rows}[0] }),
	"t|$holder->{pid}|1|t|t", 'a distributed transaction');
my $number = $holder->value('SELECT transaction_number FROM get_current_transaction_id()');
is($holder->value('SELECT transaction_number FROM get_current_transaction_id()'), $number, 'keeps its number');

# Nobody waits yet.
is($_->safe_psql('postgres', 'SELECT count(*) FROM citus_lock_waits'), 0, 'nobody waits') foreach @nodes;
$waiter->send("UPDATE t SET v = v + 10 WHERE k = $key");
until_true($coordinator, 'SELECT count(*) = 1 FROM citus_lock_waits', 'a wait on another node');
foreach my $i (0 .. 2)
{
	is($nodes[$i]->safe_psql('postgres', 'SELECT * FROM citus_lock_waits'),
		"$waiter_gpid|$holder_gpid|UPDATE t SET v = v + 10 WHERE k = $key|SELECT transaction_number FROM get_current_transaction_id()|$ids[0]|$ids[1]",
		"citus_lock_waits on node $i");
	is($nodes[$i]->safe_psql('postgres', "SELECT DISTINCT nodeid, locktype, granted FROM citus_locks WHERE global_pid = $waiter_gpid AND NOT granted"),
		"$ids[2]|transactionid|f", "citus_locks on node $i: who waits");
	is($nodes[$i]->safe_psql('postgres', "SELECT DISTINCT nodeid, mode, granted FROM citus_locks WHERE global_pid = $holder_gpid AND relation_name = '$shard'"),
		"$ids[2]|RowExclusiveLock|t", "citus_locks on node $i: a shard's lock");
	is($nodes[$i]->safe_psql('postgres', "SELECT nodeid, is_worker_query, state, backend_xid IS NOT NULL FROM citus_stat_activity WHERE global_pid = $holder_gpid ORDER BY is_worker_query"),
		"$ids[1]|f|idle in transaction|f\n$ids[2]|t|idle in transaction|t", "citus_stat_activity on node $i");
	is($nodes[$i]->safe_psql('postgres', "SELECT nodeid, pid, query FROM citus_dist_stat_activity WHERE global_pid IN ($holder_gpid, $waiter_gpid) ORDER BY nodeid"),
		join("\n", sort { $a <=> $b } "$ids[0]|$waiter->{pid}|UPDATE t SET v = v + 10 WHERE k = $key", "$ids[1]|$holder->{pid}|SELECT transaction_number FROM get_current_transaction_id()"),
		"citus_dist_stat_activity on node $i");
}

# What isolationtester asks: pids of this node alone, waits of all nodes.
is($asker->value("SELECT citus_isolation_test_session_is_blocked($waiter->{pid}, ARRAY[$asker->{pid}])"), 'f', 'not blocked by everybody');
my $second = PandoWire->connect($coordinator->port);
$second->send("BEGIN; UPDATE t SET v = v + 100 WHERE k = $other; UPDATE t SET v = v + 100 WHERE k = $key");
until_true($coordinator, 'SELECT count(DISTINCT waiting_gpid) = 2 FROM citus_lock_waits', 'two wait');
is($asker->value("SELECT citus_isolation_test_session_is_blocked($second->{pid}, ARRAY[$waiter->{pid}])"), 't', 'blocked on another node by one who waits there first');
is($asker->value("SELECT citus_isolation_test_session_is_blocked($waiter->{pid}, ARRAY[$second->{pid}])"), 'f', 'but not the other way round');
is($asker->value("SELECT citus_isolation_test_session_is_blocked($asker->{pid}, ARRAY[$waiter->{pid}, $second->{pid}])"), 'f', 'who does not wait is not blocked');

# Not by everybody, and not a node that there isn't.
my ($result, $out, $err) = $worker2->psql('postgres', "SET ROLE somebody; SELECT pg_cancel_backend($waiter_gpid)");
like($err, qr/must be a (?:member|superuser)|permission denied to cancel query/, 'a backend of somebody else');
($result, $out, $err) = $worker2->psql('postgres', 'SELECT pg_cancel_backend(99990000000001)');
like($err, qr/no node has the id 9999/, 'a node that there is not');
($result, $out, $err) = $worker2->psql('postgres', "SELECT pg_cancel_backend($waiter_gpid - $waiter->{pid} + 999999999)");
is($out, 'f', 'a process that there is not');
like($err, qr/WARNING:  PID 999999999 is not a PostgreSQL backend process/, 'is a warning');
($result, $out, $err) = $worker2->psql('postgres', "SELECT pg_terminate_backend($waiter_gpid, -1)", extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);
like($err, qr/ERROR:  22003/, 'an error of PostgreSQL has its SQLSTATE');

is($worker2->safe_psql('postgres', "SELECT pg_cancel_backend($waiter_gpid)"), 't', 'a backend is cancelled from another node');
like($waiter->answer->{error}, qr/^57014 /, 'and ends its wait');
is($worker2->safe_psql('postgres', "SELECT pg_terminate_backend($holder_gpid)"), 't', 'a backend is ended from another node');
like($second->answer->{error} // '', qr/^$/, 'which lets another one go on');
ok($holder->query('SELECT 1')->{lost}, 'its client has lost the connection');
is($second->value('SELECT count(*) FROM citus_lock_waits'), 0, 'nobody waits any more');
$second->query('COMMIT');
is($cluster->sql("SELECT sum(v) FROM t"), 200, 'what was ended left nothing');

# Who waits for a prepared transaction waits for the client that began it.
$coordinator->safe_psql('postgres', "SELECT pando.debug_point_arm('commit-before-second-phase', 'wait')");
$second->send("BEGIN; UPDATE t SET v = v + 1 WHERE k IN ($key, $other); COMMIT");
until_true($coordinator, "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'", 'a transaction is prepared');
$waiter->send("UPDATE t SET v = v + 10 WHERE k = $key");
until_true($worker1, "SELECT count(*) = 1 FROM citus_lock_waits WHERE waiting_gpid = $waiter_gpid AND blocking_gpid = $ids[0] * 10000000000 + $second->{pid}",
	'a wait for what is prepared');
$coordinator->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
is($_->answer->{error}, undef, 'and it ends') foreach $second, $waiter;

# An own row lock waits for nobody; the search for deadlocks finds nothing and asks for little.
is($cluster->sql('SELECT check_distributed_deadlocks()'), 'f', 'no deadlock');
is($_->safe_psql('postgres', 'SELECT count(*) FROM pando.wait_edges()'), 0, 'no waits') foreach @nodes;

$cluster->stop;
done_testing();
