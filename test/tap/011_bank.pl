# Twenty clients move money between accounts on different nodes, through all nodes, while nodes
# die and the network is cut: no money is lost or made. Who reads all accounts under the cluster
# snapshot sees the same total at every moment. PANDO_TEST_SECONDS sets the length (20). With PANDO_TEST_MOVES (011_bank_moves) shards move and are
# split all the time, and a node is killed every 20 s, or after half of the time if that is shorter.
use strict;
use warnings;
use List::Util qw(min);
use Test::More;
use Time::HiRes qw(sleep time);
use lib '.';
use PandoCluster;
use PandoNemesis;
use PandoWire;

my $moves = $ENV{PANDO_TEST_MOVES};
my $seconds = $ENV{PANDO_TEST_SECONDS} // ($moves ? 40 : 20);
my ($accounts, $total) = (50, 50 * 1000);
my $cluster = PandoCluster->new('bank', workers => 2, network => 1, conf => <<'END');
citus.recover_2pc_interval = '1s'
citus.node_connection_timeout = '3s'
citus.defer_shard_delete_interval = '1s'
END
my @nodes = $cluster->nodes;
my @ports = map { $_->port } @nodes;
$cluster->sql(<<"END");
SELECT citus_set_node_property('127.0.0.1', ${\$cluster->node_port(0)}, 'shouldhaveshards', true);
SET citus.shard_count TO 9;
CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL);
SELECT create_distributed_table('accounts', 'id');
CREATE TABLE transfers (id bigint, payer int, payee int, amount int);
SELECT create_distributed_table('transfers', 'id');
INSERT INTO accounts SELECT i, 1000 FROM generate_series(1, $accounts) i;
END
is($cluster->sql('SELECT count(DISTINCT groupid) FROM pg_dist_placement'), '3', 'accounts are on all nodes');

my $directory = $nodes[0]->basedir;
my $end = time + $seconds;

# A connection to any node, with bounded waits.
sub client
{
	my $client = PandoWire->connect($ports[ rand @ports ], timeout => 60);
	return if $client && $client->query("SET lock_timeout = '4s'; SET statement_timeout = '15s'")->{lost};
	sleep 0.1 if !$client;
	return $client;
}

# Until the time is over and something was done: totals need all nodes, which are up in the end.
sub goes_on
{
	my ($done) = @_;
	return time < $end || (!$done && time < $end + 60);
}

# Transfers; how many are known to be committed, and how many may be.
sub transfer
{
	my ($i) = @_;
	my ($client, $serial, $done, $maybe) = (undef, 0, 0, 0);
	while (goes_on($done))
	{
		$client //= client() or next;
		my ($payer, $payee, $amount) = map { 1 + int rand $_ } $accounts, $accounts, 100;
		next if $payer == $payee;
		my $id = ++$serial * 100 + $i;
		my @statements = (
			'BEGIN',
			"UPDATE accounts SET balance = balance - $amount WHERE id = $payer",
			rand() < 0.2 ? ("SAVEPOINT s; UPDATE accounts SET balance = 0 WHERE id = $payee; ROLLBACK TO s") : (),
			"UPDATE accounts SET balance = balance + $amount WHERE id = $payee",
			"INSERT INTO transfers VALUES ($id, $payer, $payee, $amount)",
			rand() < 0.1 ? 'ROLLBACK' : 'COMMIT');
		@statements = (join '; ', @statements) if rand() < 0.3;
		my $tries_commit = $statements[-1] =~ /COMMIT$/;
		foreach my $n (0 .. $#statements)
		{
			my $answer = $client->query($statements[$n]);
			my $last = $n == $#statements && $tries_commit;
			if ($answer->{lost} || $answer->{error})
			{
				$maybe++ if $last && ($answer->{lost} || $answer->{error} =~ /^(08|57P|XX)/);
				$client = undef if $answer->{lost} || $answer->{error} =~ /^57P/;
				$client->query('ROLLBACK') if $client && $client->{state} ne 'I';
				last;
			}
			$done++ if $last && $answer->{tags}[-1] eq 'COMMIT';
		}
	}
	report("transfer_$i", "$done $maybe");
	return;
}

# Totals, in one query, in two, and row by row.
sub read_totals
{
	my ($i) = @_;
	my ($client, $good, @bad);
	while (goes_on($good))
	{
		$client //= client() or next;
		my $half = 1 + int rand $accounts;
		my $answer = $client->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL pando.snapshot = 'cluster'; "
			  . (rand() < 0.5 ? 'SELECT sum(balance) FROM accounts'
				: rand() < 0.5 ? "SELECT sum(balance) FROM accounts WHERE id <= $half; SELECT coalesce(sum(balance), 0) FROM accounts WHERE id > $half"
				: 'SELECT balance FROM accounts') . '; COMMIT');
		if ($answer->{lost} || $answer->{error})
		{
			$client = undef if $answer->{lost} || $answer->{error} =~ /^57P/;
			$client->query('ROLLBACK') if $client && $client->{state} ne 'I';
			next;
		}
		my $sum = 0;
		$sum += $_->[0] foreach @{ $answer->{rows} };
		if ($sum == $total) { $good++; }
		else { push @bad, $sum; }
	}
	report("read_$i", ($good // 0) . ' ' . join ',', @bad);
	return;
}

sub report
{
	my ($name, $text) = @_;
	open my $file, '>', "$directory/$name" or die $!;
	print {$file} $text;
	close $file or die $!;
	return;
}

my @pids = PandoNemesis::clients(20, sub { $_[0] < 16 ? transfer($_[0]) : read_totals($_[0]); });
my ($mover, $counts) = $moves ? PandoNemesis::mover($cluster, 'accounts', $end) : ();
PandoNemesis::plague($cluster, $seconds - 3, $moves ? (kinds => ['kill'], pause => min(20, $seconds / 2)) : ());
ok(PandoNemesis::wait_for(@pids, $moves ? $mover : ()), 'all clients end');
PandoNemesis::heal($cluster);
PandoNemesis::check_moves($cluster, 'accounts', 'id', $counts) if $moves;

my ($done, $maybe, $good, @bad) = (0, 0, 0);
foreach my $i (0 .. 19)
{
	my ($first, $second) = split / /, PandoNemesis::slurp("$directory/" . ($i < 16 ? "transfer_$i" : "read_$i"));
	if ($i < 16) { $done += $first; $maybe += $second; }
	else { $good += $first; push @bad, $second if length($second // ''); }
}
note("$done transfers, $maybe of unknown outcome, $good totals");
cmp_ok($done, '>', 5, 'transfers were made');
cmp_ok($good, '>', 0, 'totals were read');
is("@bad", '', 'every total was the same');
is($_->safe_psql('postgres', 'SELECT sum(balance), count(*) FROM accounts'), "$total|$accounts", 'the total is the same in the end, through ' . $_->name) foreach @nodes;
my $made = $cluster->sql('SELECT count(*) FROM transfers');
ok($made >= $done && $made <= $done + $maybe, 'every transfer that was said to be committed is there, and no other')
  or diag("$made, said to be: $done, unknown: $maybe");
is($cluster->sql(<<'END'), '0', 'accounts hold what the transfers made of them');
SELECT count(*) FROM accounts a WHERE balance <> 1000
	+ (SELECT coalesce(sum(amount), 0) FROM transfers WHERE payee = a.id) - (SELECT coalesce(sum(amount), 0) FROM transfers WHERE payer = a.id)
END

$cluster->stop;
done_testing();
