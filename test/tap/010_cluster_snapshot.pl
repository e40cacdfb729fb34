# With pando.snapshot = 'cluster' a transfer between nodes is seen whole or not at all. What keeps
# commits waiting for it ends with its lease or its owner.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep time);
use lib '.';
use PandoCluster;
use PandoWire;
use PostgreSQL::Test::Utils;

my $cluster = PandoCluster->new('snapshot', workers => 2);
my ($coordinator, $worker1, $worker2) = $cluster->nodes;
$cluster->make_tables(100);

# Looks through an open connection, which is fast: gates stay closed for seconds. Until a statement
# that begins so waits for others, or the time is up.
sub waits
{
	my ($looking, $sql, $seconds) = @_;
	my $end = time + $seconds;
	while (time < $end)
	{
		return if $looking->value("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '$sql%' AND state = 'active' AND wait_event IN ('Extension', 'PgSleep')");
		sleep 0.05;
	}
	return;
}

# Transfers through all nodes, while all nodes' readers look at the total.
{
	my $transfers = join '', map {
		my ($a, $b) = sort { $a <=> $b } (1 + int rand 20, 21 + int rand 20);
		"BEGIN; UPDATE t SET v = v - 1 WHERE k = $a; UPDATE t SET v = v + 1 WHERE k = $b; UPDATE r SET v = v + 1; COMMIT;\n"
	} 1 .. 100;
	my @writers = map { $cluster->start($_, $transfers) } $coordinator, $worker1;
	my @readers = map {
		$cluster->start($_, "SET pando.snapshot = 'cluster';\n" . join('', map {
			"SELECT 'all', sum(v) FROM t;\n" .
			"BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT 'low', sum(v) FROM t WHERE k <= 20;\nSELECT 'high', sum(v) FROM t WHERE k > 20;\nCOMMIT;\n"
		} 1 .. 30))
	} $coordinator, $worker2;
	foreach my $i (0, 1)
	{
		$readers[$i]{handle}->finish;
		my (%totals, $low, $read);
		foreach (split /\n/, $readers[$i]{out})
		{
			my ($part, $sum) = split /\|/;
			$low = $sum if $part eq 'low';
			next if $part eq 'low';
			$totals{ $part eq 'high' ? $low + $sum : $sum }++;
			$read++;
		}
		is(join(' ', keys %totals), 4000, "reader $i saw no transfer half");
		# A busy machine may be too slow for a moment without a commit.
		my @errors = grep { /ERROR/ && !/in time|current transaction is aborted/ } split /\n/, $readers[$i]{err};
		is("@errors", '', "reader $i got no other error");
		cmp_ok($read, '>', 20, "reader $i read");
	}
	$_->{handle}->finish foreach @writers;
	is($_->{err}, '', 'the writer got no error') foreach @writers;
}

# The local part (a reference table's copy on this node) is of the same moment as the rest.
{
	my $writer = $cluster->start_at($coordinator, 'commit-before-second-phase',
		"BEGIN; UPDATE t SET v = v + 1 WHERE k = 1; UPDATE t SET v = v + 1 WHERE k = 2; UPDATE r SET v = -1; COMMIT;");
	my $looking = PandoWire->connect($coordinator->port);
	my $half = $cluster->start($coordinator, "SELECT min(r.v) FROM r;");
	$half->{handle}->finish;
	is($half->{out}, "-1\n", 'without it the local part is seen before the rest');
	my $reader = $cluster->start($coordinator, "SET pando.snapshot = 'cluster'; SELECT sum(t.v), min(r.v) FROM t, r;");
	waits($looking, 'SELECT sum', 60);
	$reader->{handle}->pump_nb;
	is($reader->{out}, '', 'a reader waits for a commit that is under way');
	$looking->query('SELECT pando.debug_point_clear()');
	$_->{handle}->finish foreach $writer, $reader;
	is($reader->{out}, "4002|-1\n", 'and sees all of it');
}

# Who keeps the gates closed dies, is stopped, or is just slow.
foreach my $case ('terminated', 'killed', 'slow')
{
	my $looking = PandoWire->connect($worker1->port);
	my $started = time;
	my $reader = $cluster->start_at($coordinator, 'cluster-snapshot-taken', "SET pando.snapshot = 'cluster'; SELECT sum(v) FROM t;");
	my $writer = $cluster->start($worker1, "BEGIN; UPDATE t SET v = v + 1 WHERE k = 1; UPDATE t SET v = v + 1 WHERE k = 2; COMMIT; SELECT 'committed';");
	# The gate stays closed for five seconds.
	waits($looking, 'COMMIT', $started + 4 - time);
	$writer->{handle}->pump_nb;
	ok($writer->{out} eq '' || time - $started > 4.5, "$case: a commit waits while a snapshot is taken");
	my $start = time;
	$coordinator->safe_psql('postgres', "SELECT pg_terminate_backend($reader->{pid})") if $case eq 'terminated';
	kill 'KILL', $reader->{pid} if $case eq 'killed';
	$writer->{handle}->finish;
	cmp_ok(time - $start, '<', 90, "$case: it goes on in time");
	is($writer->{out}, "committed\n", "$case: and commits") or diag($writer->{err});
	# Who was killed is listed until the server has noticed, and has begun anew.
	$coordinator->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $reader->{pid}") if $case ne 'slow';
	$coordinator->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
	eval { $reader->{handle}->finish };
	ok($reader->{out} eq $cluster->sql('SELECT sum(v) FROM t') . "\n" || $reader->{err} =~ /in time/, 'slow: the snapshot is taken again') if $case eq 'slow';
	is($cluster->sql("SELECT count(*) FROM t"), 40, "$case: the cluster works");
}

# A node dies with its gate closed, and with it who waits for its answer. Nobody else is kept waiting.
{
	$worker2->safe_psql('postgres', "SELECT pando.debug_point_arm('gate-closed', 'wait')");
	my $reader = $cluster->start($coordinator, "SET pando.snapshot = 'cluster'; SELECT sum(v) FROM t;");
	ok($worker2->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"), 'a gate is closed');
	$cluster->kill_server(2);
	$reader->{handle}->finish;
	like($reader->{err}, qr/ERROR/, 'without its node there is no snapshot');
	$worker2->start;
	is($coordinator->safe_psql('postgres', "BEGIN; UPDATE t SET v = v + 1 WHERE k <= 20; UPDATE t SET v = v - 1 WHERE k <= 20; COMMIT; SELECT 'committed'"),
		'committed', 'commits go on');
	my $sum = $cluster->sql('SELECT sum(v) FROM t');
	is($coordinator->safe_psql('postgres', "SET pando.snapshot = 'cluster'; SELECT sum(v) FROM t"), $sum, 'and so do snapshots');
}

# A transaction in doubt is no part of any snapshot: it is settled first.
{
	my $before = $cluster->sql('SELECT sum(v) FROM t');
	my $writer = $cluster->start_at($coordinator, 'commit-before-second-phase',
		'BEGIN; ' . join('', map { "UPDATE t SET v = v + 1 WHERE k = $_; " } 1 .. 4) . 'COMMIT;');
	$coordinator->stop('immediate');
	eval { $writer->{handle}->finish };
	$coordinator->start;
	my $reader;
	foreach (1 .. 10)
	{
		$reader = $cluster->start($worker2, "SET pando.snapshot = 'cluster'; SELECT sum(v) FROM t;");
		$reader->{handle}->finish;
		last unless $reader->{err} =~ /in time/;
	}
	is($reader->{out}, ($before + 4) . "\n", 'after a crash: all of what was committed') or diag($reader->{err});
}

# Where it cannot be had.
foreach my $case (
	[ "BEGIN; SELECT sum(v) FROM t;", qr/statement of a longer READ COMMITTED transaction/ ],
	[ "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT sum(v) FROM t;", qr/SERIALIZABLE transaction cannot have/ ],
	[ "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT sum(v) FROM t;", qr/must be taken before any query/ ])
{
	my ($sql, $message) = @$case;
	my $session = $cluster->start($coordinator, "SET pando.snapshot = 'cluster'; $sql");
	$session->{handle}->finish;
	like($session->{err}, $message, "refused: $sql");
	is($session->{out} =~ /\d{3}/ ? 'rows' : 'none', 'none', 'and nothing is read');
}
$worker2->stop('immediate');
{
	my $session = $cluster->start($coordinator, "SET pando.snapshot = 'cluster'; SELECT sum(v) FROM t;");
	$session->{handle}->finish;
	like($session->{err}, qr/connection to the remote node|could not connect/, 'not while a node is away');
}
$worker2->start;
is($cluster->prepared_count, 0, 'nothing stays prepared');

$cluster->stop;
done_testing();
