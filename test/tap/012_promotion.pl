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
$cluster->make_tables(0);

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

# Which node is lost at which step of a commit; who has decided to commit when its node is lost, has committed.
my $before = 0;
foreach my $case (
	[ 1, 'commit-before-second-phase', 'a worker', 1 ],
	[ 0, 'commit-after-prepare', 'the coordinator, undecided', 0 ],
	[ 0, 'commit-before-second-phase', 'the coordinator, decided', 1 ])
{
	my ($i, $point, $what, $committed) = @$case;
	my $value = $before + 1;
	my $standby = $cluster->replica_of($i);
	my $transaction = $cluster->start_at($nodes[0], $point, "BEGIN; UPDATE t SET v = $value; UPDATE r SET v = $value; COMMIT");
	take_over($i, $standby);
	$cluster->sql('SELECT pando.debug_point_clear()');
	$cluster->sql("SELECT citus_update_node((SELECT nodeid FROM pg_dist_node WHERE groupid = $i), '127.0.0.1', " . $standby->port . ')');
	eval { $transaction->{handle}->finish };
	$before = $value if $committed;
	whole($what, $before);
}

$cluster->stop;
done_testing();
