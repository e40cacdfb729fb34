# An UPDATE of the distribution column that sends rows to another node moves them whole or not at all, whatever
# step of the statement or of its commit is interrupted, whichever node fails and however it does.
#
# A matrix like that of 004_two_phase.pl. Two rows change places: each is deleted on one node and inserted on the other.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoMatrix;

begin('key', 10);

my @steps = (
	# Deleted, and inserted nowhere yet.
	[ 'steps-before-last', sub { swaps($_[0]) . '; COMMIT' }, 0 ],
	(map { [ $_, sub { swaps($_[0]) . '; COMMIT' }, 0 ] } qw(commit-before-prepare node-after-prepare commit-after-record)),
	[ 'commit-before-second-phase', sub { swaps($_[0]) . '; COMMIT' }, 1 ]);

sub start_all
{
	stock();
	return map { my $step = $_; map { start_at($_, @$step) } 0, 1 } reverse @steps;
}

# There are two rows, the old ones or the new ones, one on each node, and each in the shard of its value.
check_too(sub {
	my ($what, $run) = @_;
	is(ask(0, "SELECT string_agg((run = $run->{run})::text, ' ') FROM t$run->{slot}") =~ /^(true true|false false)$/ ? 1 : 0, 1, "$what: both rows are there, and both moved or neither");
	is(ask(0, "SELECT count(DISTINCT k) FROM t$run->{slot}"), 2, "$what: with two keys");
	is(ask(0, "SELECT sum(result::int) FROM run_command_on_shards('t$run->{slot}', \$\$SELECT count(*) FROM %s WHERE get_shard_id_for_distribution_column('t$run->{slot}', k) = split_part('%s', '_', 2)::bigint\$\$)"),
		2, "$what: in the shards of their values");
});

stock();
errors(@steps);
matrix(\&start_all);

cluster()->stop;
done_testing();
