# A standby takes the place of a node, worker or coordinator, while transactions over several nodes are
# between their two phases: each is there whole or not at all, and nothing stays prepared.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PostgreSQL::Test::Utils;

my $cluster = PandoCluster->new('promotion', workers => 2, archive => 1, conf => "citus.recover_2pc_interval = 1s\n");
my @nodes = $cluster->nodes;
$cluster->sql(<<'END');
CREATE TABLE t (k int PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'k');
INSERT INTO t SELECT k, 0 FROM generate_series(1, 40) k;
CREATE TABLE r (k int PRIMARY KEY, v int);
SELECT create_reference_table('r');
INSERT INTO r VALUES (1, 0);
END

# Stops a transaction on all nodes at a point of its commit; the node `at` is where the point is.
sub begin_at
{
	my ($at, $point, $value) = @_;
	$at->safe_psql('postgres', "SELECT pando.debug_point_arm('$point', 'wait')");
	my ($out, $err) = ('', '');
	my $handle = IPC::Run::start(
		[ 'psql', '-XAtq', '-h', '127.0.0.1', '-p', $cluster->coordinator->port, '-d', 'postgres', '-c',
			"BEGIN; UPDATE t SET v = $value; UPDATE r SET v = $value; COMMIT" ],
		'<', \'', '>', \$out, '2>', \$err, IPC::Run::timeout(120));
	$at->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
		or die 'nobody came to the point';
	return $handle;
}

# A standby of the i-th node that has all of its WAL.
sub standby_of
{
	my ($i, $name) = @_;
	my $primary = $nodes[$i];
	$primary->backup($name);
	my $standby = PostgreSQL::Test::Cluster->new("standby_$name", own_host => 0);
	$standby->init_from_backup($primary, $name, has_streaming => 1);
	$standby->append_conf('postgresql.conf', 'port = ' . $standby->port);
	$standby->start;
	return $standby;
}

# The standby is the node from here on.
sub take_over
{
	my ($i, $standby) = @_;
	$nodes[$i]->wait_for_catchup($standby, 'replay', $nodes[$i]->lsn('flush'));
	$nodes[$i]->stop('immediate');
	$standby->promote;
	$nodes[$i] = $cluster->{nodes}[$i] = $standby;
	return;
}

sub whole
{
	my ($what, $expected) = @_;
	ok($cluster->settled, "$what: nothing stays prepared");
	foreach my $i (0 .. 2)
	{
		my $seen = $nodes[$i]->safe_psql('postgres',
			"SELECT (SELECT string_agg(DISTINCT v::text, ',') FROM t), (SELECT v FROM r)");
		is($seen, "$expected|$expected", "$what: node $i sees it");
	}
	is($cluster->sql("UPDATE t SET v = v; UPDATE r SET v = v; SELECT count(*) FROM t"), '40', "$what: and writes go on");
	ok($cluster->coordinator->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_dist_transaction WHERE gid NOT IN (SELECT gid FROM pg_prepared_xacts)'),
		"$what: no record is left");
	return;
}

# A worker is lost between prepare and the second phase: committed, so it must come.
my $standby = standby_of(1, 'worker');
my $transaction = begin_at($nodes[0], 'commit-before-second-phase', 1);
take_over(1, $standby);
$nodes[0]->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
$cluster->sql("SELECT citus_update_node((SELECT nodeid FROM pg_dist_node WHERE groupid = 1), '127.0.0.1', " . $standby->port . ')');
eval { $transaction->finish };
whole('a worker', 1);

# The coordinator is lost before its decision, so nothing of it stays ...
$standby = standby_of(0, 'coordinator');
$transaction = begin_at($nodes[0], 'commit-after-prepare', 2);
take_over(0, $standby);
eval { $transaction->finish };
$cluster->sql("SELECT citus_update_node((SELECT nodeid FROM pg_dist_node WHERE groupid = 0), '127.0.0.1', " . $standby->port . ')');
whole('the coordinator, undecided', 1);

# ... and after it.
$standby = standby_of(0, 'again');
$transaction = begin_at($nodes[0], 'commit-before-second-phase', 3);
take_over(0, $standby);
eval { $transaction->finish };
$cluster->sql("SELECT citus_update_node((SELECT nodeid FROM pg_dist_node WHERE groupid = 0), '127.0.0.1', " . $standby->port . ')');
whole('the coordinator, decided', 3);

$cluster->stop;
done_testing();
