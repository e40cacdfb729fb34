# A schema change that begins on a worker is there on all nodes or on none, whichever node dies at whatever step: the client's worker, the
# coordinator, or another worker; and afterwards nothing is locked. At each step one statement waits, all at once, when the node dies.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep time);
use PandoCluster;
use PandoWire;

# [point, the node where it waits, 1 if it is decided there that the change is made]. The client is on node 1.
my @steps = (
	[ 'ddl-before-locks', 1, 0 ], [ 'ddl-locked', 1, 0 ], [ 'ddl-shell-changed', 1, 0 ], [ 'node-ddl-shell-changed', 0, 0 ], [ 'ddl-sent', 1, 0 ],
	[ 'commit-before-prepare', 1, 0 ], [ 'node-before-prepare', 2, 0 ], [ 'node-after-prepare', 0, 0 ], [ 'commit-after-prepare', 1, 0 ],
	[ 'commit-after-record', 1, 0 ], [ 'commit-before-second-phase', 1, 1 ], [ 'commit-during-second-phase', 1, 1 ], [ 'node-before-commit-prepared', 0, 1 ],
	[ 'commit-after-second-phase', 1, 1 ]);
# What is done to the table, and whether it is there on a node: in the shell and in each shard (a node without shards: none lacks it).
my @changes = (
	[ sub { "ALTER TABLE t$_[0] ADD COLUMN x int DEFAULT 5" }, sub { "attname = 'x'" } ],
	[ sub { "ALTER TABLE t$_[0] RENAME COLUMN x TO y" }, sub { "attname = 'y'" } ],
	[ sub { "ALTER TABLE t$_[0] ADD COLUMN z text, ALTER v TYPE bigint" }, sub { "attname = 'z'" } ]);

my $cluster = PandoCluster->new('schema_crash', workers => 2, conf => <<'END');
citus.recover_2pc_interval = '500ms'
citus.node_connection_timeout = '10s'
END
my @nodes = $cluster->nodes;
$cluster->sql("SELECT citus_set_node_property('127.0.0.1', " . $nodes[0]->port . ", 'shouldhaveshards', true)");
$cluster->sql(join ' ', map { "CREATE TABLE t$_ (k int PRIMARY KEY, v int); SELECT create_distributed_table('t$_', 'k', shard_count := 6); INSERT INTO t$_ SELECT k, k FROM generate_series(1, 20) k;" } 0 .. $#steps);

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

# Starts a statement and waits until it is at its point.
sub start_at
{
	my ($number, $sql) = @_;
	my ($point, $node) = @{ $steps[$number] };
	my $client = PandoWire->connect($nodes[1]->port, timeout => 200) or BAIL_OUT('no connection');
	ask($node, "SELECT pando.debug_point_arm('$point', 'wait')");
	$client->send($sql);
	my $it = $node == 1 ? "pid = $client->{pid}" : "application_name = 'citus_internal gpid=' || 20000000000 + $client->{pid}";
	for (1 .. 3000)
	{
		return $client if ask($node, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND $it") eq 't';
		sleep 0.05;
	}
	BAIL_OUT("$point is not reached");
}

# "shell shards" of a node that have the column, and how many there are.
sub found
{
	my ($i, $number, $which) = @_;
	return ask($i, <<"END");
BEGIN; SET LOCAL citus.override_table_visibility = off;
SELECT concat_ws(' ', count(*) FILTER (WHERE relname = 't$number' AND there), count(*) FILTER (WHERE relname <> 't$number' AND there), count(*) FILTER (WHERE relname <> 't$number'))
FROM (SELECT relname, EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND $which AND NOT attisdropped) there FROM pg_class c
	WHERE relkind = 'r' AND relname ~ '^t${number}(_\\d+)?\$') x;
COMMIT
END
}

my %deaths = (
	'SIGKILL' => sub { my ($i) = @_; $cluster->kill_server($i); return; },
	'immediate stop' => sub { my ($i) = @_; $nodes[$i]->stop('immediate'); return; });
my @rounds = map { my $kind = $_; map { [ $kind, $_ ] } 0 .. 2 } sort keys %deaths;
foreach my $round (0 .. $#rounds)
{
	my ($kind, $victim) = @{ $rounds[$round] };
	my ($change, $which) = @{ $changes[ $round % @changes ] };
	# Later steps first: none of them comes past a point that is armed for another.
	my @clients = map { start_at($_, $change->($_)) } reverse 0 .. $#steps;
	@clients = reverse @clients;
	$deaths{$kind}->($victim);
	foreach my $i (grep { $_ != $victim } 0 .. 2) { ask($i, 'SELECT pando.debug_point_clear()'); }
	sleep 1;
	$nodes[$victim]->start;
	my @answers = map { $_->answer } @clients;
	ok($cluster->settled, "$kind of node $victim: nothing stays prepared");
	foreach my $number (0 .. $#steps)
	{
		my ($point, undef, $decided) = @{ $steps[$number] };
		my $name = "$kind of node $victim at $point";
		my @found = map { found($_, $number, $which->()) } 0 .. 2;
		my $whole = join(' | ', map { /(\d+)$/; "1 $1 $1" } @found);
		my $none = join(' | ', map { /(\d+)$/; "0 0 $1" } @found);
		my $answer = $answers[$number];
		my $is = join ' | ', @found;
		ok($is eq $whole || $is eq $none, "$name: on all nodes or on none") or diag("$is: " . ($answer->{error} // ''));
		is($is, $decided ? $whole : $none, "$name: as it was decided") if $victim == 1;
		is($is, $whole, "$name: what was done is there") if !$answer->{lost} && !$answer->{error};
		is($is, $none, "$name: what failed is not there") if !$answer->{lost} && $answer->{error} && $answer->{error} !~ /^57P/;
		# And nothing is in the way of the next one, from another node each time.
		my $next = $nodes[ ($number + $round) % 3 ]->psql('postgres', "SET lock_timeout = '60s'; ALTER TABLE t$number "
			  . ($is eq $whole ? 'ALTER v SET DEFAULT 3' : ($change->($number) =~ /ALTER TABLE \w+ (.*)/)[0]));
		is($next, 0, "$name: the table can be changed");
		is(ask($_, "SELECT count(*) || ' ' || sum(k) FROM t$number"), '20 210', "$name: node $_ reads it") foreach 0 .. 2;
	}
	# The next round of a change finds the table as it was before.
	$cluster->sql(join ' ', map { "ALTER TABLE t$_ DROP COLUMN y, DROP COLUMN z; ALTER TABLE t$_ ALTER v TYPE int;" } 0 .. $#steps) if $round % @changes == $#changes && $round < $#rounds;
}
$cluster->stop;
done_testing();
