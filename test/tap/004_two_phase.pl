# A transaction over two nodes is there whole or not at all, whatever step of its commit is
# interrupted and whichever process dies. Table-driven over the debug points.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep);
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('twophase', workers => 2, conf => "citus.recover_2pc_interval = '1s'");
my $coordinator = $cluster->coordinator;
$cluster->sql(<<'END');
CREATE TABLE t (k int PRIMARY KEY, run int);
SELECT create_distributed_table('t', 'k');
END

# Two keys on different nodes.
my ($key1, $key2) = split /\|/, $cluster->sql(<<'END');
SELECT min(k) FILTER (WHERE g = lo), min(k) FILTER (WHERE g = hi) FROM (
	SELECT k, groupid g, min(groupid) OVER () lo, max(groupid) OVER () hi
	FROM generate_series(1, 100) k JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('t', k)) s
END

# point of the coordinator's backend -> must the transaction be there afterwards?
my @points = (
	[ 'commit-before-prepare', 0 ],
	[ 'commit-after-prepare', 0 ],
	[ 'commit-after-record', 0 ],
	[ 'commit-before-second-phase', 1 ],
	[ 'commit-during-second-phase', 1 ]);

sub settled
{
	for (1 .. 100)
	{
		return 1 if $cluster->prepared_count == 0;
		sleep 0.2;
	}
	return 0;
}

my $run = 0;
foreach my $case (@points)
{
	my ($point, $committed) = @$case;
	foreach my $fault (qw(error backend coordinator worker))
	{
		next if $fault eq 'error' && $committed;    # nothing may raise any more
		$run++;
		my $action = $fault eq 'error' ? 'error' : 'wait';
		$cluster->sql("SELECT pando.debug_point_arm('$point', '$action')");
		my ($in, $out, $err) = ('', '', '');
		my $handle = IPC::Run::start(
			[ 'psql', '-X', '-h', '127.0.0.1', '-p', $coordinator->port, '-d', 'postgres', '-c',
			  "BEGIN; INSERT INTO t VALUES ($key1, $run) ON CONFLICT (k) DO UPDATE SET run = $run; INSERT INTO t VALUES ($key2, $run) ON CONFLICT (k) DO UPDATE SET run = $run; COMMIT" ],
			'<', \$in, '>', \$out, '2>', \$err, IPC::Run::timeout(60));
		if ($fault ne 'error')
		{
			ok($coordinator->poll_query_until('postgres',
					"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE 'BEGIN; INSERT INTO t%'"),
				"$point: reached");
			my $backend = $cluster->sql("SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE 'BEGIN; INSERT INTO t%'");
			if ($fault eq 'backend') { kill 'KILL', $backend; }
			elsif ($fault eq 'coordinator') { $coordinator->stop('immediate'); }
			else
			{
				$cluster->worker(1)->stop('immediate');
				$cluster->sql('SELECT pando.debug_point_clear()');
			}
		}
		eval { $handle->finish };
		if ($fault eq 'backend') { $coordinator->poll_query_until('postgres', 'SELECT true'); }
		$coordinator->start if $fault eq 'coordinator';
		$cluster->worker(1)->start if $fault eq 'worker';
		$cluster->sql('SELECT pando.debug_point_clear()');
		ok(settled(), "$point, $fault: nothing stays prepared");
		my $rows = $cluster->sql("SELECT count(*) FROM t WHERE run = $run");
		if ($fault eq 'worker') { ok($rows == 0 || $rows == 2, "$point, $fault: whole or not at all"); }
		else { is($rows, $committed ? 2 : 0, "$point, $fault: the outcome"); }
		is($cluster->sql("BEGIN; SET LOCAL lock_timeout = '5s'; UPDATE t SET run = run; SELECT 'free'; COMMIT"), 'free', "$point, $fault: no lock is held");
	}
}

$cluster->stop;
done_testing();
