# The coordinator crashes while a node joins: the node can be added again, and nothing stays prepared.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PostgreSQL::Test::Utils;

my $cluster = PandoCluster->new('join', workers => 2, join => 0);
my $coordinator = $cluster->coordinator;
$cluster->join_worker(1);
$cluster->sql("CREATE TABLE t (k int PRIMARY KEY); SELECT create_distributed_table('t', 'k');"
	. "CREATE TABLE r (k int); SELECT create_reference_table('r'); INSERT INTO r VALUES (1), (2)");

foreach my $case ([ 'commit-after-prepare', 0 ], [ 'commit-before-second-phase', 1 ])
{
	my ($point, $joined) = @$case;
	my $log_end = $cluster->log_end($coordinator);
	$coordinator->safe_psql('postgres', "SELECT pando.debug_point_arm('$point', 'exit')");
	$coordinator->psql('postgres', "SELECT citus_add_node('127.0.0.1', " . $cluster->node_port(2) . ')');
	$cluster->await_restart($coordinator, $log_end);
	is($cluster->sql('SELECT count(*) FROM pg_dist_node WHERE nodeport = ' . $cluster->node_port(2)), $joined,
		"$point: has it joined?");
	my ($result, $out, $err) = $coordinator->psql('postgres',
		"SET statement_timeout = '30s'; SELECT citus_add_node('127.0.0.1', " . $cluster->node_port(2) . ')');
	is($err, '', "$point: it can be added");
	ok($cluster->settled, "$point: nothing stays prepared");
	is($cluster->worker(2)->safe_psql('postgres', 'SELECT count(*) FROM r'), '2', "$point: it has what the others have");
	$cluster->sql("SELECT citus_remove_node('127.0.0.1', " . $cluster->node_port(2) . ')') unless $joined;
}

$cluster->stop;
done_testing();
