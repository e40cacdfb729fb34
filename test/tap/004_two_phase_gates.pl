# Who keeps the gates of all nodes closed, for a snapshot of the cluster or a restore point, is interrupted, and so
# are those whose commits wait for it: each transaction is there whole or not at all, and commits go on.
#
# A matrix like that of 004_two_phase.pl, with all its cells. A failure of worker 1 hits its closed gate as well as who
# closes the others' from there.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoMatrix;

begin('gates', 8);

# A transaction that closes the gates, and writes. Its snapshot comes first, a restore point may come later.
sub snapshot { return writes($_[0], "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL pando.snapshot = 'cluster'; SELECT count(*) FROM t0") . '; COMMIT'; }
sub restore_point { return writes($_[0]) . "; SELECT citus_create_restore_point('$_[0]'); COMMIT"; }

my @steps = (
	[ 'gate-closed', \&snapshot, 0 ],
	[ 'cluster-snapshot-taken', \&snapshot, 0 ],
	[ 'restore-point-written', \&restore_point, 0 ]);

# Prepared, it waits at a closed gate until that opens.
sub start_commit
{
	my ($i) = @_;
	my $run = new_run($i, 'commit at a closed gate', undef);
	my $client = $run->{client} = start($i, writes($run->{run}));
	$client->answer;
	$client->send('COMMIT');
	$run->{pid} = $client->{pid};
	ok(wait_until(2, "SELECT count(*) = 1 FROM pg_prepared_xacts WHERE gid LIKE 'pando%\\_$client->{pid}\\_%'"), 'a commit is under way');
	return $run;
}

# Several may keep a gate closed. Backwards, so that none stops too early.
sub start_all
{
	return ((map { my $step = $_; map { start_at($_, @$step) } 0, 1 } reverse @steps), map { start_commit($_) } 0, 1);
}

errors(@steps);
matrix(\&start_all);

cluster()->stop;
done_testing();
