# A transaction over several nodes is there whole or not at all, whatever step of its commit or
# rollback is interrupted, whichever node fails and however it does. Nothing stays prepared, no
# lock is held.
#
# A matrix: steps x failing node x kind of failure. One round per failure: before it, a
# transaction is brought to each step, once begun by the coordinator and once by a worker, so
# that each failure hits the node that began it as well as one that takes part.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep time);
use lib '.';
use PandoCluster;
use PandoWire;

my $cluster = PandoCluster->new('twophase', workers => 2, network => 1, conf => <<'END');
citus.recover_2pc_interval = '1s'
citus.node_connection_timeout = '10s'
END
my @nodes = $cluster->nodes;
# Each transaction has tables of its own: statements wait for what is in doubt in their tables.
my $slots = 38;
$cluster->sql(join ' ', map { <<"END" } 0 .. $slots - 1);
SET citus.shard_count TO 2;
CREATE TABLE t$_ (k int, run int, PRIMARY KEY (k, run) DEFERRABLE INITIALLY DEFERRED);
SELECT create_distributed_table('t$_', 'k', colocate_with => '${\($_ ? 't0' : 'none')}');
CREATE TABLE r$_ (run int PRIMARY KEY);
SELECT create_reference_table('r$_');
END

# Keys on the two workers.
my @keys = split /\|/, $cluster->sql(<<'END');
SELECT min(k) FILTER (WHERE g = lo), min(k) FILTER (WHERE g = hi) FROM (
	SELECT k, groupid g, min(groupid) OVER () lo, max(groupid) OVER () hi
	FROM generate_series(1, 100) k JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('t0', k)) s
END
my $last_run = 0;
my $slot = 0;    # which tables the next transaction uses

# What a transaction does, but for its end. It writes on every node.
sub writes
{
	my ($run) = @_;
	return "BEGIN; INSERT INTO r$slot VALUES ($run); INSERT INTO t$slot SELECT k, $run FROM unnest('{$keys[0], $keys[1]}'::int[]) k";
}

# The same on one node alone, which is another than the one that it is begun on.
sub writes_once { my ($run) = @_; return "BEGIN; INSERT INTO t$slot VALUES ($keys[1], $run)"; }

# Steps in the order in which a transaction comes to them: point, what leads there, and whether
# the transaction is to be there if the node that began it dies at it (undef: it may be).
# Points "node-..." stop the other node.
my @steps = (
	[ 'commit-before-plain-commit', sub { writes_once($_[0]) . '; COMMIT' }, 0 ],
	[ 'commit-during-plain-commit', sub { writes_once($_[0]) . '; COMMIT' }, undef ],
	(map { [ $_, sub { writes($_[0]) . '; COMMIT' }, 0 ] } qw(
		commit-before-prepare commit-during-prepare node-before-prepare node-after-prepare
		commit-after-prepare commit-after-record commit-inside-gate)),
	(map { [ $_, sub { writes($_[0]) . '; COMMIT' }, 1 ] } qw(
		commit-before-second-phase commit-during-second-phase commit-after-second-phase)),
	# Rolled back in part, to a savepoint that each node has.
	[ 'savepoint-before-rollback', sub { writes($_[0]) . "; SAVEPOINT s; DELETE FROM t$slot; DELETE FROM r$slot; ROLLBACK TO s; COMMIT" }, 0 ],
	# Rolled back by the client.
	(map { [ $_, sub { writes($_[0]) . '; ROLLBACK' }, 0 ] } qw(
		abort-before-rollback abort-during-rollback abort-after-rollback)),
	# Rolled back because one node can't prepare while others already have.
	(map { [ $_, sub { writes($_[0]) . "; INSERT INTO t$slot VALUES ($keys[1], $_[0]); COMMIT" }, 0 ] } qw(
		abort-before-rollback node-before-rollback-prepared node-after-rollback-prepared)));

# A node that stops here lets nobody else in, who would settle what is in doubt: one at a time.
my @steps_alone = map { [ $_, sub { writes($_[0]) . '; COMMIT' }, 1 ] } qw(node-before-commit-prepared node-after-commit-prepared);

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

sub wait_until
{
	my ($i, $sql) = @_;
	my $end = time + 180;
	while (time < $end)
	{
		return 1 if ask($i, $sql) eq 't';
		sleep 0.02;
	}
	return 0;
}

# Starts a statement on a node.
sub start
{
	my ($i, $sql) = @_;
	my $client = PandoWire->connect($nodes[$i]->port, timeout => 200) or BAIL_OUT("no connection to node $i");
	$client->send($sql);
	return $client;
}

# Starts one transaction on a node and waits until it has come to its point.
sub start_at
{
	my ($i, $point, $sql, $expected) = @_;
	my $run = ++$last_run;
	my $there = $point =~ /^node-/ ? 1 - $i : $i;
	$slot = ($slot + 1) % $slots;
	ask($there, "SELECT pando.debug_point_arm('$point', 'wait')");
	my $client = start($i, $sql->($run));
	# On the other node it is found by its global pid.
	my $it = $there == $i ? "pid = $client->{pid}" : "application_name = 'citus_internal gpid=' || ($i + 1) * 10000000000 + $client->{pid}";
	wait_until($there, "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND $it")
	  or BAIL_OUT("$point is not reached on node $there");
	return { node => $i, point => $point, run => $run, slot => $slot, expected => $expected, client => $client, pid => $client->{pid} };
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

# One transaction at each step on each of the nodes. Backwards, so that none stops too early.
sub start_all
{
	return map { my $step = $_; map { start_at($_, @$step) } 0, 1 } reverse @steps;
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
	'connections break' => sub {
		my ($i) = @_;
		$cluster->network->cut($i, 'reset');
		clear_points();
		sleep 2;
		$cluster->network->heal($i);
	},
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
	if ($failing < 0 || $failing == $run->{node} && $what =~ /SIGKILL of a backend|postmaster|stop/)
	{
		return if !defined $run->{expected};
		is($there ? 1 : 0, $run->{expected}, "$text: the outcome");
	}
	elsif ($run->{committed}) { ok($there, "$text: what was said to be committed is there"); }
	elsif (!$once && !$run->{unknown})
	{
		ok(!$there, "$text: what failed is not there") or diag($run->{error});
	}
	return;
}

sub round
{
	my ($kind, $i, @runs) = @_;
	my $what = "$kind on " . ($i ? 'a worker' : 'the coordinator');
	my $start = time;
	$failures{$kind}->($i, @runs);
	finish($what, $_) foreach @runs;
	my $time = time - $start;
	ok($time < 180, "$what: nobody hangs") or diag("$time seconds");
	clear_points();
	ok($cluster->settled, "$what: nothing stays prepared");
	my $rows = rows_of_runs(@runs);
	check($what, $i, $_, $rows) foreach @runs;
	foreach my $node (0 .. 2)
	{
		ok(wait_until($node, "SELECT ($locks) = 0"), "$what: no lock is held on node $node");
		ok(wait_until($node, 'SELECT count(*) = 0 FROM pg_dist_transaction'), "$what: no record is left on node $node");
		is(ask($node, "BEGIN; SET LOCAL lock_timeout = '60s'; " . join('', map { "UPDATE t$_ SET run = run; UPDATE r$_ SET run = run; " } map { $_->{slot} } @runs) . "SELECT 'free'; COMMIT"),
			'free', "$what: the tables can be written through node $node");
	}
	is(ask(0, "BEGIN; SET LOCAL lock_timeout = '60s'; TRUNCATE " . join(', ', map { ("t$_->{slot}", "r$_->{slot}") } @runs) . "; SELECT 'free'; COMMIT"), 'free', "$what: and truncated");
	note(sprintf '%s: %.1f s', $what, time - $start);
	return;
}

# An error at a step before the decision undoes everything; after it, it is only a warning.
foreach my $i (0, 1)
{
	my @runs;
	foreach my $step (@steps, @steps_alone)
	{
		my ($point, $sql, $expected) = @$step;
		my $run = ++$last_run;
		$slot = ($slot + 1) % $slots;
		my $there = $point =~ /^node-/ ? 1 - $i : $i;
		$expected = 1 if $point =~ /^(?:node-after-prepare|savepoint-before-rollback)$/;    # only a warning
		ask($there, "SELECT pando.debug_point_arm('$point', 'error')");
		my $answer = start($i, $sql->($run))->answer;
		ask($there, 'SELECT pando.debug_point_clear()');
		like(join(' ', $answer->{error} // '', @{ $answer->{notices} }), qr/debug point "$point" reached|duplicate key/, "$point: an error on node $there");
		push @runs, { node => $i, point => $point, run => $run, slot => $slot, expected => $expected, error => $answer->{error} // '' };
	}
	ok($cluster->settled, "nothing stays prepared after errors on node $i");
	my $rows = rows_of_runs(@runs);
	check('error', -1, $_, $rows) foreach @runs;
}

# The recovery of what the coordinator left behind is interrupted itself. A failure of the coordinator ends
# the one who recovers, that of a worker what it asks.
sub recovery_round
{
	my ($point, $kind, $i) = @_;
	my $what = "$point, $kind on " . ($i ? 'a worker' : 'the coordinator');
	my $begin = time;
	my @runs = map { start_at(0, @$_) } grep { $_->[0] =~ /^commit-(before-second-phase|after-prepare)$/ } reverse @steps;
	$failures{'SIGKILL of a backend'}->(0, @runs);
	finish($what, $_) foreach @runs;
	ask(0, "SELECT pando.debug_point_arm('$point', 'wait')");
	my $client = start(0, 'SELECT recover_prepared_transactions()');
	ok(wait_until(0, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"), "$what: reached");
	# Whichever backend it is, the server begins anew.
	$failures{$kind}->($i, { node => $i, pid => $i ? ask($i, 'SELECT pg_backend_pid()') : $client->{pid} });
	my $start = time;
	$client->answer;
	ok(time - $start < 180, "$what: it does not hang");
	clear_points();
	# A session that has not noticed yet may still have it in hand.
	foreach (1 .. 100)
	{
		ask(0, 'SELECT recover_prepared_transactions()');
		last if $cluster->prepared_count == 0 && ask(0, 'SELECT count(*) FROM pg_dist_transaction') == 0;
		sleep 0.1;
	}
	is($cluster->prepared_count, 0, "$what: another one settles everything");
	is(ask(0, 'SELECT count(*) FROM pg_dist_transaction'), '0', "$what: and leaves no record");
	my $rows = rows_of_runs(@runs);
	check($what, -1, $_, $rows) foreach @runs;
	note(sprintf '%s: %.1f s', $what, time - $begin);
	return;
}

my $only = $ENV{PANDO_TEST_FAILURE} // '';
foreach my $kind (sort keys %failures)
{
	next if $kind eq 'connections break';    # they do after having been silent, too
	next if $only ne '' && $kind !~ /$only/;
	foreach my $i (0, 1)
	{
		round($kind, $i, start_all());
		round($kind, $i, start_at($_, @{ $steps_alone[$_] })) foreach 0, 1;
	}
}

$nodes[0]->append_conf('postgresql.conf', "citus.recover_2pc_interval = -1");
$nodes[0]->reload;
foreach my $point (qw(recovery-after-list recovery-before-settle recovery-after-settle recovery-before-forget))
{
	next if $only ne '' && $only ne 'recovery';
	foreach my $kind (sort keys %failures)
	{
		next if $kind =~ /connections break|pauses/;
		recovery_round($point, $kind, 0) if $kind !~ /network/;    # it asks, and is not asked
		recovery_round($point, $kind, 1);
	}
}

$cluster->stop;
done_testing();
