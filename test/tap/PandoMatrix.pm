# PandoMatrix: multi-node transactions that are interrupted: step x failing node x kind of failure.
#
#   begin('name', 40);                   a cluster with tables for so many transactions at once
#   my @step = ('commit-after-prepare', sub { writes($_[0]) . '; COMMIT' }, 0);
#   errors(\@step, ...);                 an error at each step
#   matrix(sub { map { start_at($_, @step) } 0, 1 });    each kind of failure on each node
#
# A step: the point that it waits at, what leads there (a function of the run's number), whether the
# transaction is to be there if the node that began it dies at it (undef: it may be), and maybe a point at
# which worker 2, which never fails itself, is to raise an error. Points "node-..." stop the other node.
# Transactions begin on the coordinator (0) or worker 1, which fail.
# PANDO_TEST_FAILURE: only the kinds of failure that it matches.
package PandoMatrix;

use strict;
use warnings;
use Exporter 'import';
use Test::More;
use Time::HiRes qw(sleep time);
use PandoCluster;
use PandoWire;

our @EXPORT = qw(begin cluster writes writes_once undoes writes_again ask wait_until start new_run start_at finish
  clear_points kinds break_node rows_of_runs check check_free check_too matrix errors swaps stock);

my ($cluster, @nodes, $slots, @keys);
my $last_run = 0;
my $slot = 0;    # which tables the next transaction uses

sub begin
{
	my ($name, $count) = @_;
	$slots = $count;
	$cluster = PandoCluster->new($name, workers => 2, network => 1, conf => <<'END');
citus.recover_2pc_interval = '500ms'
citus.node_connection_timeout = '10s'
END
	@nodes = $cluster->nodes;
	# Each transaction has tables of its own: statements wait for what is in doubt in their tables.
	$cluster->sql(join ' ', map { <<"END" } 0 .. $slots - 1);
SET citus.shard_count TO 2;
CREATE TABLE t$_ (k int, run int, PRIMARY KEY (k, run) DEFERRABLE INITIALLY DEFERRED);
SELECT create_distributed_table('t$_', 'k', colocate_with => '${\($_ ? 't0' : 'none')}');
CREATE TABLE r$_ (run int PRIMARY KEY);
SELECT create_reference_table('r$_');
END

	# Keys on the two workers.
	@keys = split /\|/, $cluster->sql(<<'END');
SELECT min(k) FILTER (WHERE g = lo), min(k) FILTER (WHERE g = hi) FROM (
	SELECT k, groupid g, min(groupid) OVER () lo, max(groupid) OVER () hi
	FROM generate_series(1, 100) k JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('t0', k)) s
END
	return;
}

sub cluster { return $cluster; }

# What a transaction does, but for its end. It writes on every node.
sub writes
{
	my ($run, $begin) = @_;
	$begin //= 'BEGIN';
	return "$begin; INSERT INTO r$slot VALUES ($run); INSERT INTO t$slot SELECT k, $run FROM unnest('{$keys[0], $keys[1]}'::int[]) k";
}

# The same on one node alone, which is another than the one that it is begun on.
sub writes_once { my ($run) = @_; return "BEGIN; INSERT INTO t$slot VALUES ($keys[1], $run)"; }

# The same where each of two rows goes to the other's node: those that stock() has put there.
sub swaps
{
	my ($run) = @_;
	return "BEGIN; INSERT INTO r$slot VALUES ($run); UPDATE t$slot SET k = CASE k WHEN $keys[0] THEN $keys[1] ELSE $keys[0] END, run = $run WHERE run = -1";
}

sub stock
{
	ask(0, join ' ', map { "DELETE FROM t$_; INSERT INTO t$_ VALUES ($keys[0], -1), ($keys[1], -1);" } 0 .. $slots - 1);
	return;
}

# An undone statement, and one that fails at PREPARE on one node.
sub undoes { return "SAVEPOINT s; DELETE FROM t$slot; DELETE FROM r$slot; ROLLBACK TO s"; }
sub writes_again { my ($run) = @_; return "INSERT INTO t$slot VALUES ($keys[1], $run)"; }

# One connection to each node for what the test itself asks; made anew after a failure.
my @asking;
sub ask
{
	my ($i, $sql) = @_;
	for (1 .. 1800)
	{
		$asking[$i] //= PandoWire->connect($nodes[$i]->port);
		my $answer = $asking[$i] ? $asking[$i]->query($sql) : undef;
		return $answer->{rows}[0] && $answer->{rows}[0][0] if $answer && !$answer->{lost} && !$answer->{error};
		$asking[$i] = undef;
		sleep 0.1;
	}
	BAIL_OUT("node $i does not answer: $sql");
}

# Waits until one of these, [node, query], is true; returns which, counted from 1, or 0 after three minutes.
sub wait_until_one
{
	my @queries = @_;
	my $end = time + 180;
	while (time < $end)
	{
		foreach my $n (0 .. $#queries) { return $n + 1 if ask(@{ $queries[$n] }) eq 't'; }
		sleep 0.02;
	}
	return 0;
}

sub wait_until { my ($i, $sql) = @_; return wait_until_one([ $i, $sql ]); }

# Starts a statement on a node.
sub start
{
	my ($i, $sql) = @_;
	my $client = PandoWire->connect($nodes[$i]->port, timeout => 200) or BAIL_OUT("no connection to node $i");
	$client->send($sql);
	return $client;
}

# One more transaction on a node, with tables of its own.
sub new_run
{
	my ($i, $point, $expected) = @_;
	$slot = ($slot + 1) % $slots;
	return { node => $i, point => $point, run => ++$last_run, slot => $slot, expected => $expected };
}

# Arms a step's points, for a transaction of node $i; returns the node where it is to stop.
sub arm
{
	my ($i, $point, $action, $on_worker2) = @_;
	my $there = $point =~ /^node-/ ? 1 - $i : $i;
	ask($there, "SELECT pando.debug_point_arm('$point', '$action')");
	ask(2, "SELECT pando.debug_point_arm('$on_worker2', 'error')") if $on_worker2;
	return $there;
}

# Starts one transaction on a node and waits until it has come to its point.
sub start_at
{
	my ($i, $point, $sql, $expected, $on_worker2) = @_;
	my $run = new_run($i, $point, $expected);
	my $there = arm($i, $point, 'wait', $on_worker2);
	# One that is to be rolled back once it is prepared there may be before it is: its PREPARE is cancelled when
	# another node's fails first.
	for (1 .. 20)
	{
		my $client = $run->{client} = start($i, $sql->($run->{run}));
		my $pid = $run->{pid} = $client->{pid};
		# On the other node it is found by its global pid.
		my $it = $there == $i ? "pid = $pid" : "application_name = 'citus_internal gpid=' || ($i + 1) * 10000000000 + $pid";
		my $which = wait_until_one(
			[ $there, "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND $it" ],
			[ $i, "SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $pid AND state LIKE 'idle%' AND query <> ''" ]);
		return $run if $which == 1;
		last if $which == 0;
	}
	BAIL_OUT("$point is not reached on node $there");
}

# Waits for its end, and notes what the client was told.
sub finish
{
	my ($what, $run) = @_;
	my $start = time;
	my $answer = $run->{client}->answer;
	fail("$what: the client hangs at $run->{point} on node $run->{node}") if time - $start > 180;
	$run->{committed} = ($answer->{tags}[-1] // '') eq 'COMMIT' && !$answer->{error};
	$run->{unknown} = $answer->{lost} || ($answer->{error} // '') =~ /^57P/;
	$run->{error} = $answer->{error} // '';
	return;
}

# On all nodes but those given.
sub clear_points
{
	my %except = map { $_ => 1 } @_;
	ask($_, 'SELECT pando.debug_point_clear()') foreach grep { !$except{$_} } 0 .. 2;
	return;
}

# kind of failure => what it does to node $i while transactions wait; after it all is well again.
my %failures = (
	'SIGKILL of a backend' => sub {
		my ($i, @runs) = @_;
		my ($victim) = map { $_->{pid} } grep { $_->{node} == $i } @runs;
		$victim //= ask($i, "SELECT pid FROM pg_stat_activity WHERE application_name = 'citus_internal gpid=' || (1 + $runs[0]{node}) * 10000000000 + $runs[0]{pid}");
		kill 'KILL', $victim;
		wait_until($i, "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $victim");
		clear_points();
	},
	'SIGKILL of the postmaster' => sub {
		my ($i) = @_;
		$cluster->kill_server($i);
		clear_points($i);
		$nodes[$i]->start;
	},
	'immediate stop' => sub {
		my ($i) = @_;
		$nodes[$i]->stop('immediate');
		clear_points($i);
		sleep 1.5;    # recovery of the others meets a node that is down
		$nodes[$i]->start;
	},
	# Connections that break without having been silent before are a part of this one.
	'the network swallows all and breaks' => sub {
		my ($i) = @_;
		$cluster->network->cut($i, 'drop');
		clear_points();
		sleep 2;
		$cluster->network->cut($i, 'reset');
		sleep 1;
		$cluster->network->heal($i);
	},
	'the network pauses' => sub {
		my ($i) = @_;
		$cluster->network->cut($i, 'drop');
		clear_points();
		sleep 2;
		$cluster->network->heal($i);
	});

sub kinds { return sort keys %failures; }

sub break_node { my ($kind, $i, @runs) = @_; $failures{$kind}->($i, @runs); return; }

# Locks on tables of users that nobody is known to hold.
my $locks = <<'END';
SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation LEFT JOIN pg_stat_activity a USING (pid)
WHERE c.relnamespace = 'public'::regnamespace AND pid IS DISTINCT FROM pg_backend_pid()
	AND backend_type IS DISTINCT FROM 'autovacuum worker'
END

# run => rows in t, and in each copy of r
sub rows_of_runs
{
	my %rows;
	my @slots = map { $_->{slot} } @_;
	foreach my $i (0 .. 2)
	{
		foreach my $n (@slots)
		{
			ask($i, 'SELECT 1');
			my $answer = $asking[$i]->query(($i == 0 ? "SELECT run, 't', count(*) FROM t$n GROUP BY run UNION ALL " : '') . "SELECT run, 'r', 1 FROM r$n");
			foreach (@{ $answer->{rows} }) { my ($run, $table, $count) = @$_; $rows{$run} .= "$table$count"; }
		}
	}
	return \%rows;
}

sub check
{
	my ($what, $failing, $run, $rows) = @_;
	my $text = "$run->{point} (" . ($run->{node} ? 'worker' : 'coordinator') . "), $what";
	my $found = $rows->{ $run->{run} } // '';
	my $once = $run->{point} =~ /plain-commit/;
	my $there = $found eq ($once ? 't1' : 't2r1r1r1');
	ok($there || $found eq '', "$text: whole or not at all") or diag("$found $run->{error}");
	if (defined $run->{expected} && ($failing < 0 || $failing == $run->{node} && $what =~ /SIGKILL of a backend|postmaster|stop/))
	{
		is($there ? 1 : 0, $run->{expected}, "$text: the outcome");
	}
	elsif ($run->{committed}) { ok($there, "$text: what was said to be committed is there"); }
	elsif (!$once && !$run->{unknown})
	{
		ok(!$there, "$text: what failed is not there") or diag($run->{error});
	}
	return;
}

# What else is to hold for each of the transactions: called with a text and the run.
my $too = sub { };
sub check_too { ($too) = @_; return; }

# Nothing is left of these transactions on any node.
sub check_free
{
	my ($what, @runs) = @_;
	foreach my $node (0 .. 2)
	{
		ok(wait_until($node, "SELECT ($locks) = 0"), "$what: no lock is held on node $node");
		ok(wait_until($node, 'SELECT count(*) = 0 FROM pg_dist_transaction'), "$what: no record is left on node $node");
		is(ask($node, "BEGIN; SET LOCAL lock_timeout = '60s'; " . join('', map { "UPDATE t$_ SET run = run; UPDATE r$_ SET run = run; " } map { $_->{slot} } @runs) . "SELECT 'free'; COMMIT"),
			'free', "$what: the tables can be written through node $node");
	}
	is(ask(0, "BEGIN; SET LOCAL lock_timeout = '60s'; TRUNCATE " . join(', ', map { ("t$_->{slot}", "r$_->{slot}") } @runs) . "; SELECT 'free'; COMMIT"), 'free', "$what: and truncated");
	return;
}

# One failure of node $i while these transactions wait.
sub round
{
	my ($kind, $i, @runs) = @_;
	my $what = "$kind on " . ($i ? 'a worker' : 'the coordinator');
	my $start = time;
	break_node($kind, $i, @runs);
	finish($what, $_) foreach @runs;
	my $time = time - $start;
	ok($time < 180, "$what: nobody hangs") or diag("$time seconds");
	clear_points();
	ok($cluster->settled, "$what: nothing stays prepared");
	my $rows = rows_of_runs(@runs);
	check($what, $i, $_, $rows) foreach @runs;
	$too->("$_->{point}, $what", $_) foreach @runs;
	check_free($what, @runs);
	note(sprintf '%s: %.1f s', $what, time - $start);
	return;
}

# Every failure of every node, while the transactions wait that the functions start.
sub matrix
{
	my @starts = @_;
	my $only = $ENV{PANDO_TEST_FAILURE} // '';
	foreach my $kind (grep { /$only/ } kinds())
	{
		foreach my $i (0, 1)
		{
			round($kind, $i, $_->()) foreach @starts;
		}
	}
	return;
}

# An error at a step before the decision undoes everything; after it, it is only a warning.
sub errors
{
	my (@steps) = @_;
	foreach my $i (0, 1)
	{
		my @runs;
		foreach my $step (@steps)
		{
			my ($point, $sql, $expected, $on_worker2) = @$step;
			$expected = 1 if $point =~ /^(?:node-after-prepare|savepoint-before-rollback)$/;    # only a warning
			my $run = new_run($i, $point, $expected);
			my $there = arm($i, $point, 'error', $on_worker2);
			my $answer = start($i, $sql->($run->{run}))->answer;
			clear_points();
			like(join(' ', $answer->{error} // '', @{ $answer->{notices} }), qr/debug point "$point" reached|duplicate key/, "$point: an error on node $there");
			$run->{error} = $answer->{error} // '';
			push @runs, $run;
		}
		ok($cluster->settled, "nothing stays prepared after errors on node $i");
		my $rows = rows_of_runs(@runs);
		check('error', -1, $_, $rows) foreach @runs;
		$too->("$_->{point}, error", $_) foreach @runs;
	}
	return;
}

1;
