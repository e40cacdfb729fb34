# A transaction over several nodes is there whole or not at all, whatever step of its commit or
# rollback is interrupted, whichever node fails and however it does. Nothing stays prepared, no
# lock is held.
#
# A matrix: steps x failing node x kind of failure (PandoMatrix.pm). One round per failure: before it, a
# transaction is brought to each step, once begun by the coordinator and once by a worker, so
# that each failure hits the node that began it as well as one that takes part. Other steps:
# 004_two_phase_gates.pl, 004_two_phase_recovery.pl.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoMatrix;

begin('twophase', 40);

# Steps in the order in which a transaction comes to them.
my @steps = (
	[ 'commit-before-plain-commit', sub { writes_once($_[0]) . '; COMMIT' }, 0 ],
	[ 'commit-during-plain-commit', sub { writes_once($_[0]) . '; COMMIT' }, undef ],
	(map { [ $_, sub { writes($_[0]) . '; COMMIT' }, 0 ] } qw(
		commit-before-prepare commit-during-prepare node-before-prepare node-after-prepare
		commit-after-prepare commit-after-record commit-inside-gate)),
	(map { [ $_, sub { writes($_[0]) . '; COMMIT' }, 1 ] } qw(commit-before-second-phase commit-during-second-phase)),
	# Worker 2 can't commit: that is left to recovery.
	[ 'commit-before-settlement', sub { writes($_[0]) . '; COMMIT' }, 1, 'node-before-commit-prepared' ],
	[ 'commit-after-second-phase', sub { writes($_[0]) . '; COMMIT' }, 1 ],
	# Rolled back in part, to a savepoint that each node has.
	[ 'savepoint-before-rollback', sub { writes($_[0]) . '; ' . undoes() . '; COMMIT' }, 0 ],
	# Rolled back by the client.
	(map { [ $_, sub { writes($_[0]) . '; ROLLBACK' }, 0 ] } qw(
		abort-before-rollback abort-during-rollback abort-after-rollback)),
	# Rolled back because one node can't prepare while others already have.
	(map { [ $_, sub { writes($_[0]) . '; ' . writes_again($_[0]) . '; COMMIT' }, 0 ] } qw(
		abort-before-rollback node-before-rollback-prepared node-after-rollback-prepared)));

# A node that stops here lets nobody else in, who would settle what is in doubt: one at a time.
my @steps_alone = map { [ $_, sub { writes($_[0]) . '; COMMIT' }, 1 ] } qw(node-before-commit-prepared node-after-commit-prepared);

# One transaction at each step on each of the nodes. Backwards, so that none stops too early.
sub start_all
{
	return map { my $step = $_; map { start_at($_, @$step) } 0, 1 } reverse @steps;
}

errors(@steps, @steps_alone);
matrix(\&start_all, map { my $step = $_; sub { map { start_at($_, @$step) } 0, 1 } } @steps_alone);

cluster()->stop;
done_testing();
