# Who reads after a COMMIT sees all of it on every node, also when a node was away between
# the two phases, and no lock outlives the trouble.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep time);
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('doubt', workers => 2);
my $coordinator = $cluster->coordinator;
$cluster->sql(<<'END');
CREATE TABLE t (k int PRIMARY KEY, run int);
SELECT create_distributed_table('t', 'k');
END

# Keys on worker 1 and worker 2.
my ($key1, $key2) = split /\|/, $cluster->sql(<<'END');
SELECT min(k) FILTER (WHERE g = 1), min(k) FILTER (WHERE g = 2) FROM (
	SELECT k, groupid g FROM generate_series(1, 100) k
		JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('t', k)) s
END

my $run = 0;

# Starts a transaction over both workers on a node, to be stopped at the point.
sub begin_write
{
	my ($node, $point) = @_;
	$run++;
	return $cluster->start_at($node, $point, "\\set ON_ERROR_STOP on\nBEGIN; " . join('', map {
		"INSERT INTO t VALUES ($_, $run) ON CONFLICT (k) DO UPDATE SET run = $run; " } $key1, $key2) . 'COMMIT;');
}

# Waits until a node has been without an answer for so long that it is in doubt.
sub in_doubt
{
	$_[0]->poll_query_until('postgres', "SELECT bool_and(now() - prepared > '2.1 s') FROM pg_prepared_xacts") or die 'not in doubt';
	return;
}

sub seen_everywhere
{
	my ($what) = @_;
	my $i = 0;
	foreach my $node ($cluster->nodes)
	{
		is($node->safe_psql('postgres', "SELECT count(*) FROM t WHERE run = $run"), 2, "$what: seen through node " . $i++);
	}
	is($cluster->sql("BEGIN; SET LOCAL lock_timeout = '60s'; UPDATE t SET run = run; SELECT 'free'; COMMIT"), 'free', "$what: no lock is held");
	is($cluster->prepared_count, 0, "$what: nothing stays prepared");
	return;
}

# The node is restarted between PREPARE and COMMIT PREPARED.
foreach my $initiator ($coordinator, $cluster->worker(2))
{
	my $writer = begin_write($initiator, 'commit-before-second-phase');
	$cluster->worker(1)->restart;
	$initiator->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
	ok($writer->{handle}->finish, 'committed');
	unlike($writer->{err}, qr/WARNING.*could not commit prepared/, 'the node was told before COMMIT returned');
	seen_everywhere('restarted');
}

# It stays away until COMMIT has returned.
{
	my $writer = begin_write($coordinator, 'commit-before-second-phase');
	$cluster->worker(1)->stop('immediate');
	$coordinator->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
	my $start = time;
	ok($writer->{handle}->finish, 'committed while a node is away');
	cmp_ok(time - $start, '<', 60, 'COMMIT returned in time');
	like($writer->{err}, qr/could not commit prepared transaction/, 'with a warning');
	$cluster->worker(1)->start;
	seen_everywhere('away');
}

# The initiating backend hangs; the node alone knows to be in doubt: readers wait.
foreach my $point ('commit-before-second-phase', 'commit-after-prepare')
{
	my $writer = begin_write($coordinator, $point);
	in_doubt($cluster->worker($_)) foreach 1, 2;
	my $reader = $cluster->start($cluster->worker(2), "SELECT count(*) FROM t WHERE run = $run");
	foreach my $node ($cluster->nodes)
	{
		next if $node == $coordinator;
		ok($node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"),
			"$point: a reader waits for what is in doubt");
	}
	$coordinator->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
	$writer->{handle}->finish;
	$reader->{handle}->finish;
	is($reader->{out}, "2\n", "$point: and sees it") or diag($reader->{err});
	seen_everywhere($point);
}

# What the initiating server lost with its life is settled by the node that is in doubt, also if
# that server's own recovery is switched off.
foreach my $case ([ 'commit-after-record', 0 ], [ 'commit-before-second-phase', 2 ])
{
	my ($point, $rows) = @$case;
	$coordinator->append_conf('postgresql.conf', "citus.recover_2pc_interval = -1");
	$coordinator->reload;
	my $writer = begin_write($coordinator, $point);
	$coordinator->stop('immediate');
	eval { $writer->{handle}->finish };
	$coordinator->start;
	# Who reads settles, at each node as soon as its part is old enough to be in doubt.
	ok($cluster->worker(2)->poll_query_until('postgres', <<"END"), "$point, initiator crashed: the outcome, and nothing stays prepared");
SELECT count(*) = $rows AND (SELECT bool_and(result = '0') FROM run_command_on_workers('SELECT count(*) FROM pg_prepared_xacts'))
FROM t WHERE run = $run
END
	$coordinator->append_conf('postgresql.conf', "citus.recover_2pc_interval = 60s");
	$coordinator->reload;
}

# A node does not answer COMMIT PREPARED, and who waits for it dies too.
{
	my $log_end = $cluster->log_end($cluster->worker(1));
	$cluster->worker(1)->safe_psql('postgres', "SELECT pando.debug_point_arm('node-before-commit-prepared', 'exit')");
	my $handle = begin_write($coordinator, 'commit-before-settlement');
	$coordinator->stop('immediate');
	eval { $handle->finish };
	$cluster->await_restart($cluster->worker(1), $log_end);
	$cluster->worker(1)->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
	$coordinator->start;
	ok($coordinator->poll_query_until('postgres', "SELECT count(*) = 2 FROM t WHERE run = $run"), 'both at once: settled');
	ok($cluster->settled, 'both at once: everywhere');
	seen_everywhere('both at once');
}

# The node that settles what it is in doubt about dies at it: it does so when it is back.
{
	$coordinator->append_conf('postgresql.conf', "citus.recover_2pc_interval = -1");
	$coordinator->reload;
	my $writer = begin_write($coordinator, 'commit-before-second-phase');
	$cluster->worker(2)->safe_psql('postgres', "SELECT pando.debug_point_arm('doubt-before-settle', 'wait')");
	$coordinator->stop('immediate');
	eval { $writer->{handle}->finish };
	$coordinator->start;
	in_doubt($cluster->worker(2));
	my $reader = $cluster->start($cluster->worker(2), 'SELECT count(*) FROM t');
	ok($cluster->worker(2)->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type <> 'client backend' AND wait_event = 'PgSleep'"),
		'a node settles what is in doubt, since somebody reads it');
	$cluster->kill_server(2);
	eval { $reader->{handle}->finish };
	$cluster->worker(2)->start;
	ok($cluster->worker(2)->poll_query_until('postgres', "SELECT count(*) = 2 AND NOT EXISTS (SELECT FROM pg_prepared_xacts) FROM t WHERE run = $run"),
		'it dies at it: settled afterwards');
	ok($cluster->settled, 'everywhere');
	$coordinator->append_conf('postgresql.conf', "citus.recover_2pc_interval = 60s");
	$coordinator->reload;
}

# A cancel during the second phase comes too late, and does not cut it short.
{
	my $writer = begin_write($coordinator, 'commit-before-second-phase');
	$coordinator->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $writer->{pid} . ')');
	$coordinator->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
	ok($writer->{handle}->finish, 'a cancel in the second phase does nothing');
	is($writer->{err}, '', 'and says nothing');
	seen_everywhere('cancel');
}

# A backend that is terminated there leaves the rest to recovery, which comes at once.
{
	my $writer = begin_write($coordinator, 'commit-before-second-phase');
	$coordinator->safe_psql('postgres', 'SELECT pg_terminate_backend(' . $writer->{pid} . ')');
	$coordinator->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
	eval { $writer->{handle}->finish };
	ok($coordinator->poll_query_until('postgres', "SELECT count(*) = 2 FROM t WHERE run = $run"), 'terminated: settled');
	ok($cluster->settled, 'terminated: everywhere');
	seen_everywhere('terminated');
}

$cluster->stop;
done_testing();
