# What a node left prepared with its death is settled by its recovery, or by the node that is in doubt about it
# because somebody reads there. That is interrupted itself, at each step: another attempt settles everything.
#
# Cells that there are not: a network that only pauses, which is no end to anything; recovery while the network of
# the recovering node is cut, since it asks and is not asked: that of the worker is the same wire.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep time);
use lib '.';
use PandoMatrix;

begin('recovery', 4);
my $cluster = cluster();
my @nodes = $cluster->nodes;

# Node $from began the transactions. Where the point is, a failure ends the one who settles; elsewhere, what that one asks.
sub recovery_round
{
	my ($from, $point, $kind, $i) = @_;
	my $in_doubt = $point =~ /^doubt/;
	my $there = $in_doubt ? 1 - $from : $from;
	my $what = "$point on node $there, $kind on node $i";
	my $begin = time;
	my @runs = (
		start_at($from, 'commit-before-second-phase', sub { writes($_[0]) . '; COMMIT' }, 1),
		start_at($from, 'commit-after-prepare', sub { writes($_[0]) . '; COMMIT' }, 0));
	break_node('SIGKILL of a backend', $from, @runs);
	finish($what, $_) foreach @runs;
	ok(wait_until($there, "SELECT bool_and(now() - prepared > '2.1 s') FROM pg_prepared_xacts"), "$what: in doubt") if $in_doubt;
	ask($there, "SELECT pando.debug_point_arm('$point', 'wait')");
	my $client = start($there, $in_doubt ? "SELECT count(*) FROM r$runs[0]{slot}" : 'SELECT recover_prepared_transactions()');
	my $at_point = "FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
	ok(wait_until($there, "SELECT count(*) > 0 $at_point"), "$what: reached");
	# Whichever backend it is, the server begins anew.
	break_node($kind, $i, { node => $i, pid => ask($i, $i == $there ? "SELECT min(pid) $at_point" : 'SELECT pg_backend_pid()') });
	my $start = time;
	$client->answer;
	ok(time - $start < 180, "$what: it does not hang");
	clear_points();
	# A session that has not noticed yet may still have it in hand.
	foreach (1 .. 100)
	{
		ask($from, 'SELECT recover_prepared_transactions()');
		last if $cluster->prepared_count == 0 && ask($from, 'SELECT count(*) FROM pg_dist_transaction') == 0;
		sleep 0.1;
	}
	is($cluster->prepared_count, 0, "$what: another one settles everything");
	is(ask($from, 'SELECT count(*) FROM pg_dist_transaction'), '0', "$what: and leaves no record");
	my $rows = rows_of_runs(@runs);
	check($what, -1, $_, $rows) foreach @runs;
	check_free($what, @runs);
	note(sprintf '%s: %.1f s', $what, time - $begin);
	return;
}

my $only = $ENV{PANDO_TEST_FAILURE} // '';
foreach my $from (0, 1)
{
	# By itself it would be too fast; the others are left to do it.
	PandoCluster::configure($nodes[$_], 'citus.recover_2pc_interval' => $_ == $from ? -1 : '500ms') foreach 0, 1;
	my @points = $from ? () : qw(recovery-after-list recovery-before-settle recovery-after-settle recovery-before-forget);
	foreach my $point (@points, 'doubt-before-settle')
	{
		foreach my $kind (grep { !/pauses/ && "$point $_" =~ /$only/ } kinds())
		{
			recovery_round($from, $point, $kind, $_) foreach $kind =~ /network/ && $point =~ /^recovery/ ? 1 : (0, 1);
		}
	}
}

$cluster->stop;
done_testing();
