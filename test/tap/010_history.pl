# What concurrent transactions see while nodes die and the network is cut: random transactions
# that append to lists and read them, over keys on different nodes, through all nodes. The history is
# checked for anomalies that their isolation level does not allow (PandoHistory.pm).
#
# PANDO_TEST_SECONDS sets the length, for all isolation levels together (30). With PANDO_TEST_MOVES (010_history_moves) shards move and
# are split all the time, and a node is killed every 20 s, or after half of the time if that is shorter.
use strict;
use warnings;
use List::Util qw(min);
use Test::More;
use Time::HiRes qw(sleep time clock_gettime CLOCK_MONOTONIC);
use lib '.';
use PandoCluster;
use PandoHistory;
use PandoNemesis;
use PandoWire;

my $clients = 10;
my $cluster = PandoCluster->new('history', workers => 2, network => 1, conf => <<'END');
citus.recover_2pc_interval = '1s'
citus.node_connection_timeout = '3s'
citus.defer_shard_delete_interval = '1s'
END
my $moves = $ENV{PANDO_TEST_MOVES};
my @nodes = $cluster->nodes;
my @ports = map { $_->port } @nodes;
$cluster->sql(<<'END');
SET citus.shard_count TO 8;
CREATE TABLE lists (k int PRIMARY KEY, v int[] NOT NULL DEFAULT '{}');
SELECT create_distributed_table('lists', 'k');
END
my $has_snapshot = $cluster->sql("SELECT count(*) FROM pg_settings WHERE name = 'pando.snapshot'");

# name, BEGIN, anomalies that are not allowed. Within one node a snapshot is one moment; over nodes
# only with the cluster snapshot. Write skew is REPEATABLE READ's own.
my @levels = ([ 'READ COMMITTED', 'BEGIN', [] ], [ 'REPEATABLE READ', 'BEGIN ISOLATION LEVEL REPEATABLE READ', [] ]);
push @levels, [ 'REPEATABLE READ with the cluster snapshot', "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL pando.snapshot = 'cluster'", ['G-single'] ]
  if $has_snapshot;
my $seconds = ($ENV{PANDO_TEST_SECONDS} // ($moves ? 60 : 30)) / @levels;
my $only = $ENV{PANDO_TEST_LEVEL} // '';

my $next_key = 0;
my $directory = $nodes[0]->basedir;

sub now { return sprintf '%.6f', clock_gettime(CLOCK_MONOTONIC); }

# The statement for what a transaction does to a key.
sub statement
{
	my ($op) = @_;
	my ($kind, $key, $value) = @$op;
	return "INSERT INTO lists VALUES ($key, ARRAY[$value]) ON CONFLICT (k) DO UPDATE SET v = lists.v || EXCLUDED.v" if $kind eq 'a' && $value % 3 == 0;
	return "UPDATE lists SET v = v || $value WHERE k = $key" if $kind eq 'a';
	return "SAVEPOINT s; UPDATE lists SET v = v || $value WHERE k = $key; ROLLBACK TO s; RELEASE s" if $kind eq 'x';
	return 'SELECT k, array_to_string(v, \',\') FROM lists WHERE k ' . (ref $key ? 'IN (' . join(', ', @$key) . ')' : "= $key");
}

# One client's life: transactions until the end, written to its file. It goes on until it has made some: nodes may be
# down for most of a short time, and are up in the end.
sub work
{
	my ($i, $begin, $first_key, $start, $end, $file) = @_;
	open my $log, '>', $file or die $!;
	my ($client, $serial, $made, %errors) = (undef, 0, 0);
	while (time < $end || ($made < 2 && time < $end + 60))
	{
		$client //= PandoWire->connect($ports[ rand @ports ], timeout => 45);
		if (!$client) { sleep 0.1; next; }
		if (!$client->{ready})
		{
			$client->query("SET lock_timeout = '4s'; SET statement_timeout = '15s'");
			$client->{ready} = 1;
		}
		# A set of keys that moves on, so that lists stay short.
		my $epoch = $first_key + 8 * int((min(time, $end) - $start) / 3);
		my @ops;
		my $count = 1 + int rand 4;
		for (1 .. $count)
		{
			my $key = $epoch + int rand 8;
			my $value = ++$serial * 100 + $i;
			my $what = rand;
			push @ops, $what < 0.4 ? [ 'a', $key, $value ] : $what < 0.45 && $count > 1 ? [ 'x', $key, $value ]
			  : $what < 0.8 ? [ 'r', $key ] : [ 'r', [ map { $epoch + $_ } grep { rand() < 0.5 } 0 .. 7 ] ];
			pop @ops if ref $ops[-1][1] && !@{ $ops[-1][1] };
		}
		next unless @ops;
		# A statement of its own, a block statement by statement, or all of it in one message.
		my $alone = @ops == 1 && $begin eq 'BEGIN' && $ops[0][0] ne 'x';
		my $in_one = !$alone && rand() < 0.2;
		my $rollback = !$alone && rand() < 0.05;
		my $started = now();
		my ($status, @done) = ('fail');
		my @statements = map { statement($_) } @ops;
		my @messages = $alone ? @statements : ($begin, @statements, $rollback ? 'ROLLBACK' : 'COMMIT');
		@messages = (join '; ', @messages) if $in_one;
		my @rows;
		foreach my $n (0 .. $#messages)
		{
			my $answer = $client->query($messages[$n]);
			push @rows, $answer->{rows};
			my $last = $n == $#messages;
			if ($answer->{lost})
			{
				$client = undef;
				$errors{lost}++;
				$status = 'info' if $last && !$rollback;
				last;
			}
			if ($answer->{error})
			{
				$errors{ $answer->{error} =~ s/\d{3,}/N/gr }++;
				# Lost nodes and shutdowns may come after the commit.
				$status = 'info' if $last && !$rollback && $answer->{error} =~ /^(08|57P|XX)/;
				$client = undef if $answer->{error} =~ /^57P/;
				$client->query('ROLLBACK') if $client && $client->{state} ne 'I';
				last;
			}
			$status = 'ok' if $last && !$rollback && ($alone || ($answer->{tags}[-1] // '') eq 'COMMIT');
		}
		my $ended = now();
		@rows = split_rows($rows[0] // [], @ops) if $in_one && $status eq 'ok';
		shift @rows if !$alone && !$in_one;
		# An UPDATE of a key that is not there yet appends nothing.
		foreach my $op (@ops)
		{
			my ($kind, $key, $value) = @$op;
			my $found = shift @rows;
			if ($kind ne 'r') { push @done, "$kind:$key:$value"; next; }
			next unless $status eq 'ok';
			my %list = map { $_->[0] => $_->[1] } @$found;
			push @done, map { "r:$_:" . ($list{$_} // '') } ref $key ? @$key : $key;
		}
		print {$log} join(' ', $started, $ended, $status, @done), "\n";
		$made++ if $status eq 'ok';
		$client = undef if rand() < 0.02;
	}
	print {$log} map { "# $errors{$_} $_\n" } keys %errors;
	close $log or die $!;
	return;
}

# Rows of statements that came in one message: each key names its row, in the order of the
# statements.
sub split_rows
{
	my ($rows, @ops) = @_;
	my @rest = @$rows;
	my @split;
	foreach my $op (@ops)
	{
		if ($op->[0] ne 'r') { push @split, []; next; }
		my @keys = ref $op->[1] ? @{ $op->[1] } : $op->[1];
		push @split, [ splice @rest, 0, scalar @keys ];
	}
	return @split;
}

foreach my $level (@levels)
{
	my ($name, $begin, $forbid) = @$level;
	next if $only ne '' && $name !~ /$only/;
	my $first_key = $next_key;
	$next_key += 8 * (int($seconds / 3) + 3);
	$cluster->sql("INSERT INTO lists SELECT k FROM generate_series($first_key, $next_key - 1) k");
	my $start = time;
	my @files = map { "$directory/history_$_" } 0 .. $clients - 1;
	my @pids = PandoNemesis::clients($clients, sub { work($_[0], $begin, $first_key, $start, $start + $seconds, $files[ $_[0] ]); });
	my ($mover, $counts) = $moves ? PandoNemesis::mover($cluster, 'lists', $start + $seconds) : ();
	PandoNemesis::plague($cluster, $seconds - 2, $moves ? (kinds => ['kill'], pause => min(20, $seconds / 2)) : ());
	ok(PandoNemesis::wait_for(@pids, $moves ? $mover : ()), "$name: all clients end");
	PandoNemesis::heal($cluster);
	PandoNemesis::check_moves($cluster, 'lists', 'k', $counts) if $moves;

	# The last reads: all lists, through each node.
	my @lines = map { split /\n/, PandoNemesis::slurp($_) } @files;
	foreach my $node (@nodes)
	{
		my $begun = now();
		my @rows = split /\n/, $node->safe_psql('postgres', "SELECT k || ':' || array_to_string(v, ',') FROM lists WHERE k >= $first_key ORDER BY k");
		push @lines, join ' ', $begun, now(), 'ok', map { "r:$_" } @rows;
	}
	my @history = PandoHistory::parse(sort { (split ' ', $a)[0] <=> (split ' ', $b)[0] } @lines);
	my (%count, %errors);
	foreach (@lines) { $errors{$2} += $1 if /^# (\d+) (.*)/; }
	note("$errors{$_} $_") foreach sort { $errors{$b} <=> $errors{$a} } keys %errors;
	$count{ $_->{status} }++ foreach @history;
	my @found = PandoHistory::check(\@history, final => 1, forbid => $forbid);
	is(scalar @found, 0, "$name: no anomalies") or diag(join "\n", map { substr $_, 0, 3000 } @found[ 0 .. ($#found < 5 ? $#found : 5) ]);
	note("$name: " . join ', ', map { "$count{$_} $_" } sort keys %count);
	# That there are some without the cluster snapshot shows that these histories can tell.
	note("$name: " . grep({ /^G-single/ } PandoHistory::check(\@history, forbid => ['G-single'])) . ' read skews') if !@$forbid && $begin ne 'BEGIN';
	cmp_ok($count{ok} // 0, '>', 10, "$name: transactions were made");
	if (@found)
	{
		open my $kept, '>', "$directory/" . ($name =~ s/ /_/gr) . '.history' or die $!;
		print {$kept} map { "$_->{line}\n" } @history;
		close $kept;
	}
	foreach my $node (@nodes)
	{
		ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_dist_transaction'), "$name: no record is left on " . $node->name);
	}
}

$cluster->stop;
done_testing();
