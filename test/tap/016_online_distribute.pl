# Tables that are distributed while they are written to (create_distributed_table_concurrently): nothing is lost or doubled, whether
# they have keys and partitions or not; nobody sees anything of it on other nodes before it is done; and whatever interrupts it at
# whichever step, the table stays the local one that it was, and nothing else is there.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoMoves;

my $cluster = moves_cluster('online_distribute', local => 1);
my $coordinator = $cluster->coordinator;

sub distribute
{
	my ($table, $more) = @_;
	return "SELECT create_distributed_table_concurrently('$table', 'k'" . ($more // ", colocate_with => 'parent'") . ')';
}

# Of the tables: how many are distributed; how many nodes know the name.
sub known
{
	my ($table) = @_;
	my $there = 0;
	$there += $_->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname = '$table'") foreach $cluster->nodes;
	return $cluster->sql("SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = '$table'::regclass") . " $there";
}

my @points = qw(online-after-record online-after-create online-after-capture online-after-copy online-after-indexes online-after-rounds online-before-lock);
foreach my $table (qw(bare parts))
{
	foreach my $point (@points)
	{
		my $what = "$table, $point";
		my $psql = $cluster->start_at($coordinator, $point, distribute($table));
		is(change(), '', "$what: writers go on");
		is(known($table), '0 1', "$what: no other node knows");
		same("$what, meanwhile");
		$cluster->sql('SELECT pando.debug_point_clear()');
		$psql->{handle}->finish;
		is($psql->{err}, '', "$what: the table is distributed");
		is(known($table), '1 3', "$what: all nodes know");
		same($what);
		is(scalar(($cluster->worker(1)->psql('postgres', "UPDATE $table SET v = v WHERE k < 10"))[0]), 0, "$what: it can be written on a worker");
		is(change(), '', "$what: and on the coordinator");
		same("$what, afterwards");
		clean($what);
		$cluster->sql("SELECT undistribute_table('$table')");
		is(known($table), '0 1', "$what: and comes back");
	}
}

# What it needs on other nodes.
$cluster->sql("CREATE TYPE mood AS ENUM ('ok', 'bad'); CREATE SCHEMA feelings; CREATE TABLE feelings.typed (k int, m mood DEFAULT 'ok', id bigserial, PRIMARY KEY (k, id));
	INSERT INTO feelings.typed (k) SELECT i FROM generate_series(1, 100) i; " . distribute('feelings.typed'));
is($cluster->sql("SELECT count(*) FROM feelings.typed WHERE m = 'ok' AND id > 0"), '100', 'types, schemas and sequences of users');
$cluster->worker(1)->safe_psql('postgres', 'INSERT INTO feelings.typed (k) SELECT i FROM generate_series(1, 100) i');
is($cluster->sql('SELECT count(DISTINCT id) FROM feelings.typed'), '200', 'values of sequences differ');

# New groups, one shard, copies.
foreach my $more (", colocate_with => 'none', shard_count => 3", ', shard_count => 5')
{
	$cluster->sql(distribute('bare', $more));
	same($more);
	$cluster->sql("SELECT undistribute_table('bare')");
}
$cluster->sql("SET citus.shard_replication_factor TO 2; SET citus.shard_count TO 2; " . distribute('bare', ", colocate_with => 'none'"));
is($cluster->sql("SELECT count(*) FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) WHERE logicalrelid = 'bare'::regclass"), '4', 'two copies of each shard');
same('copies');
$cluster->sql("SELECT undistribute_table('bare')");
$cluster->sql("SELECT create_distributed_table_concurrently('bare', NULL)");
same('one shard');
$cluster->sql("SELECT undistribute_table('bare')");

# A change of what the shards were made from.
my $psql = $cluster->start_at($coordinator, 'online-after-copy', distribute('bare'));
$cluster->sql('GRANT SELECT ON bare TO PUBLIC');
isnt(scalar(($coordinator->psql('postgres', "SET lock_timeout = '500ms'; ALTER TABLE bare ADD x int"))[0]), 0, 'the table can not be altered meanwhile');
$cluster->sql('SELECT pando.debug_point_clear()');
eval { $psql->{handle}->finish };
like($psql->{err}, qr/table public.bare could not be distributed\nDETAIL:  Its definition was changed meanwhile/, 'privileges that changed are noticed');
clean('privileges');

# After an error in the midst of the switch the session goes on, and a second attempt waits for what is left of the first.
$cluster->sql("SELECT pando.debug_point_arm('online-after-last-round', 'error')");
my ($ret, $out, $err) = $coordinator->psql('postgres', distribute('bare') . "; SELECT pando.debug_point_clear();\n" . distribute('bare') . ";\nSELECT 'goes on'", on_error_stop => 0);
like($err, qr/debug point "online-after-last-round" reached/, 'an error in the midst of the switch');
like($out, qr/goes on/, 'the session goes on');
is(known('bare'), '1 3', 'and distributes the table');
same('a second attempt');
$cluster->sql("SELECT undistribute_table('bare')");

# A foreign key: child of a table that is distributed alike.
$cluster->sql('CREATE TABLE later (k int REFERENCES parent, v int); INSERT INTO later SELECT k, v FROM parent; ' . distribute('later'));
isnt(scalar(($coordinator->psql('postgres', 'INSERT INTO later VALUES (-1, 1)'))[0]), 0, 'foreign keys hold');
is($cluster->sql('SELECT count(*) - (SELECT count(*) FROM parent) FROM later'), '0', 'and rows are there');
$cluster->sql('DROP TABLE later');

# Interrupted at each step.
sub interrupt
{
	my ($table, $point, $kind, $how) = @_;
	my $what = "$table: $kind, $point";
	my $run = $cluster->start_at($coordinator, $point, distribute($table));
	is(change(), '', "$what: a writer before it") unless $point =~ /last-round|before-switch/;
	$how->($run);
	eval { $run->{handle}->finish };
	ok($cluster->settled, "$what: nothing stays prepared");
	is(known($table), '0 1', "$what: the table is a local one");
	clean($what);
	is(change(), '', "$what: it can be written");
	same($what);
	return;
}

my $i = 0;
foreach my $point (@points[ 0 .. 4 ], qw(online-after-last-round move-before-switch))
{
	interrupt($i++ % 2 ? 'bare' : 'parts', $point, 'the coordinator crashes', sub { $cluster->kill_server(0); $coordinator->start; });
	interrupt($i % 2 ? 'bare' : 'parts', $point, 'a cancel', sub { $cluster->sql("SELECT pg_cancel_backend($_[0]{pid})"); $_[0]{handle}->finish; $cluster->sql('SELECT pando.debug_point_clear()'); });
}
foreach my $point (qw(online-after-capture online-after-copy online-after-last-round))
{
	interrupt('bare', $point, 'a target crashes', sub {
		$cluster->kill_server(2);
		$cluster->worker(2)->start;
		$cluster->sql('SELECT pando.debug_point_clear()');
	});
}

beside_writers('while it is written', 8, sub {
	$cluster->sql(distribute($_[0] % 2 ? 'bare' : 'parts'));
	$cluster->sql("SELECT undistribute_table('" . ($_[0] % 2 ? 'bare' : 'parts') . "')");
});
$cluster->sql(distribute('bare'));
same('beside writers');

# Nobody takes a shard for empty while nodes learn of it one after the other.
$cluster->sql("SELECT undistribute_table('bare')");
early_table(0);
read_at_commit('the leading node has a shard', 0, leader_last(distribute('bare', ", colocate_with => 'early_0'")));
same('read at the commit');

$cluster->stop;
done_testing();
