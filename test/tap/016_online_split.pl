# Shards that are split while they are written to: nothing is lost or doubled, whether tables have keys or not, whichever nodes the
# new shards are on; and whatever interrupts a split at whichever step, the old shard is there and nothing else is.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoMoves;

my $cluster = moves_cluster('online_split');
my $coordinator = $cluster->coordinator;
my @nodes = split /\n/, $cluster->sql('SELECT nodeid FROM pg_dist_node ORDER BY groupid');

# The largest shard of bare in a node group, or anywhere, and its middle.
sub largest
{
	my ($group) = @_;
	return split /\|/, $cluster->sql('SELECT shardid, (shardminvalue::bigint + shardmaxvalue::bigint) / 2, groupid
		FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) WHERE logicalrelid = \'bare\'::regclass '
		  . (defined $group ? "AND groupid = $group " : '') . 'ORDER BY shardmaxvalue::bigint - shardminvalue::bigint DESC, shardid LIMIT 1');
}

# In two, on these node groups.
sub split_onto
{
	my ($groups, $mode, $from) = @_;
	my ($shard, $middle) = largest($from);
	my $ids = join ', ', map { $nodes[$_] } @$groups;
	return "SELECT citus_split_shard_by_split_points($shard, ARRAY['$middle'], ARRAY[$ids], '" . ($mode // 'force_logical') . "')";
}

sub shards
{
	return $cluster->sql("SELECT string_agg(concat_ws(' ', logicalrelid, shardid, shardminvalue, shardmaxvalue, groupid), ', ' ORDER BY shardid)
		FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)");
}

# Rows that are in another shard than the one where they are looked for.
sub nothing_astray
{
	my ($what) = @_;
	is($cluster->sql("SELECT sum(result::int) FROM unnest('{bare,parent,child,parts_low,parts_high}'::text[]) t, run_command_on_shards(t::regclass,
		format('SELECT count(*) FROM ONLY %%s WHERE get_shard_id_for_distribution_column(%L, k) <> substring(''%%s'', ''[0-9]+\$'')::bigint', t))"),
		'0', "$what: each row is in its shard");
	return;
}

# With changes at each step: from and to every node, the coordinator among them.
my %at = ('online-after-create' => [ 1, [ 1, 2 ] ], 'online-after-capture' => [ 2, [ 2, 2 ] ], 'online-after-copy' => [ 1, [ 0, 1 ] ],
	'online-after-indexes' => [ 0, [ 1, 2 ] ], 'online-after-rounds' => [ 2, [ 1, 0 ] ], 'online-before-lock' => [ 0, [ 0, 2 ] ]);
my @points = qw(online-after-create online-after-capture online-after-copy online-after-indexes online-after-rounds online-before-lock);
foreach my $point (@points)
{
	my ($from, $to) = @{ $at{$point} };
	my $before = $cluster->sql("SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'bare'::regclass");
	my $psql = $cluster->start_at($coordinator, $point, split_onto($to, undef, $from));
	is(change($cluster->worker(1)), '', "$point: writers go on, on a worker");
	is(change(), '', "$point: and on the coordinator");
	$cluster->sql('SELECT pando.debug_point_clear()');
	$psql->{handle}->finish;
	is($psql->{err}, '', "$point: the split succeeds");
	is($cluster->sql("SELECT count(*) - $before FROM pg_dist_shard WHERE logicalrelid = 'bare'::regclass"), '1', "$point: there is one shard more");
	same($point);
	nothing_astray($point);
	clean($point);
}
my $psql = $cluster->start_at($coordinator, 'online-after-last-round', split_onto([ 1, 2 ]));
like(scalar(change()), qr/lock timeout/, 'writers wait for the switch');
$cluster->sql('SELECT pando.debug_point_clear()');
$psql->{handle}->finish;
is($psql->{err}, '', 'the split succeeds');
same('a writer that gave up');
is($cluster->sql("SELECT count(*) FROM (SELECT * FROM run_command_on_placements('child', \$\$SELECT bool_and(convalidated) FROM pg_constraint WHERE conrelid = '%s'::regclass AND contype = 'f'\$\$)) s WHERE result <> 't'"), '0', 'foreign keys are there, and valid');
isnt(scalar(($coordinator->psql('postgres', "INSERT INTO child SELECT -i, 0 FROM generate_series(1, 20) i"))[0]), 0, 'and hold');

# A second split of the group waits for the first, and finds that the shard is no more. A table that would join the group meanwhile
# is told so, and can when it is over.
my $sql = split_onto([ 1, 2 ]);
$psql = $cluster->start_at($coordinator, 'online-after-copy', $sql);
$cluster->sql('CREATE TABLE joiner (k int, v int)');
my $join = "SELECT create_distributed_table('joiner', 'k', colocate_with => 'bare')";
my ($ret, $joined, $refused) = $coordinator->psql('postgres', $join);
like($refused, qr/cannot colocate public.joiner with public.\w+ now/, 'no table joins while shards are split');
my $second = $cluster->start($coordinator, "SET application_name = 'second'; $sql");
$coordinator->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'second' AND wait_event_type = 'Lock'") or die;
$cluster->sql('SELECT pando.debug_point_clear()');
$psql->{handle}->finish;
is($psql->{err}, '', 'the first of two splits succeeds');
$second->{handle}->finish;
like($second->{err}, qr/could not find valid entry for shard/, 'the second says that the shard is gone');
same('two splits');
$cluster->sql("$join; INSERT INTO joiner SELECT k, v FROM parent");
is($cluster->sql('SELECT count(*) - (SELECT count(*) FROM parent) FROM joiner JOIN parent USING (k)'), '0', 'a table joins after the split');
$cluster->sql('DROP TABLE joiner');
clean('two splits');

# Interrupted at each step.
sub interrupt
{
	my ($point, $kind, $how, $mode, $sql) = @_;
	my $what = "$kind, $point";
	my $before = shards();
	my $run = $cluster->start_at($coordinator, $point, $sql // split_onto([ 1, 2 ], $mode, 1));
	is(change(), '', "$what: a writer before it") unless $point =~ /last-round|^move/;
	$how->($run);
	eval { $run->{handle}->finish };
	ok($cluster->settled, "$what: nothing stays prepared");
	is(shards(), $before, "$what: shards are what they were");
	clean($what);
	is(change(), '', "$what: they can be written");
	same($what);
	return;
}

sub crash
{
	my ($i) = @_;
	return sub {
		$cluster->kill_server($i);
		($cluster->nodes)[$i]->start;
		$cluster->sql('SELECT pando.debug_point_clear()') if $i;
	};
}

sub cancel
{
	my ($run) = @_;
	$cluster->sql("SELECT pg_cancel_backend($run->{pid})");
	$run->{handle}->finish;
	$cluster->sql('SELECT pando.debug_point_clear()');
	return;
}

foreach my $point ('online-after-record', @points[ 0 .. 3 ], qw(online-after-last-round move-before-switch))
{
	interrupt($point, 'the coordinator crashes', crash(0));
	interrupt($point, 'a cancel', \&cancel);
}
foreach my $point (qw(online-after-capture online-after-copy online-after-last-round))
{
	interrupt($point, $_ == 1 ? 'the source crashes' : 'a target crashes', crash($_)) foreach 1, 2;
}
# A tenant for whom a shard of its own is made, in the same ways.
my ($shard) = largest(1);
my $tenant = $cluster->sql("SELECT k FROM bare WHERE get_shard_id_for_distribution_column('bare', k) = $shard ORDER BY k LIMIT 1");
my $isolate = "SELECT isolate_tenant_to_new_shard('bare', $tenant, 'CASCADE', shard_transfer_mode => 'force_logical')";
interrupt($_, 'isolating, the coordinator crashes', crash(0), undef, $isolate) foreach qw(online-after-create online-after-copy move-before-switch);
interrupt($_, 'isolating, its node crashes', crash(1), undef, $isolate) foreach qw(online-after-copy online-after-last-round);
interrupt('online-after-indexes', 'isolating, a cancel', \&cancel, undef, $isolate);
my $isolated = $cluster->sql($isolate);
is($cluster->sql("SELECT shardminvalue = shardmaxvalue FROM pg_dist_shard WHERE shardid = $isolated"), 't', 'isolating goes through in the end');
same('isolating');
clean('isolating');
foreach my $point (qw(move-after-create move-after-copy move-before-switch))
{
	interrupt($point, 'blocking, the coordinator crashes', crash(0), 'block_writes');
	interrupt($point, 'blocking, a target crashes', crash(2), 'block_writes');
}

# Shards with two copies: all pieces have two that are alike, also of what was written meanwhile. A source that a writer has gone on
# without since is none.
$cluster->sql(<<'END');
SET citus.shard_replication_factor TO 2;
SET citus.next_shard_id TO 5000;
CREATE TABLE twice (k int, v int);
SELECT create_distributed_table('twice', 'k', shard_count => 1, colocate_with => 'none');
INSERT INTO twice SELECT i, i FROM generate_series(1, 1000) i;
END
my $halve = "SELECT citus_split_shard_by_split_points(5000, ARRAY['0'], ARRAY[$nodes[2], $nodes[0]], 'force_logical')";
$psql = $cluster->start_at($coordinator, 'online-after-copy', $halve);
my $source = $cluster->sql('SELECT groupid FROM pg_dist_placement WHERE shardid = 5000 ORDER BY placementid LIMIT 1');
$_->safe_psql('postgres', "UPDATE pg_dist_placement SET shardstate = 3 WHERE shardid = 5000 AND groupid = $source") foreach $cluster->nodes;
$cluster->sql('SELECT pando.debug_point_clear()');
$psql->{handle}->finish;
like($psql->{err}, qr/shard 5000 on node .* has been marked as lost while it was copied/, 'a lost source is noticed at the switch');
$_->safe_psql('postgres', "UPDATE pg_dist_placement SET shardstate = 1 WHERE shardid = 5000") foreach $cluster->nodes;
clean('a lost source');
$psql = $cluster->start_at($coordinator, 'online-after-copy', $halve);
$cluster->sql('UPDATE twice SET v = v + 1 WHERE k % 3 = 0; DELETE FROM twice WHERE k % 10 = 0; INSERT INTO twice SELECT i, i FROM generate_series(1001, 1100) i');
$cluster->sql('SELECT pando.debug_point_clear()');
$psql->{handle}->finish;
is($psql->{err}, '', 'a shard with two copies is split');
is($cluster->sql("SELECT count(*) || ' ' || sum(v) FROM twice"), '1000 555350', 'two copies: with all rows');
is($cluster->sql("SELECT string_agg(groups, ', ') FROM (SELECT string_agg(groupid::text, ' ' ORDER BY groupid) AS groups FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
	WHERE logicalrelid = 'twice'::regclass GROUP BY shardid, shardminvalue ORDER BY shardminvalue::int) s"), '1 2, 0 1', 'two copies: where they were asked for');
is($cluster->sql("SELECT count(*) || ' ' || min(n) || ' ' || max(different) FROM (SELECT count(*) AS n, count(DISTINCT result) AS different FROM run_command_on_placements('twice',
	'SELECT md5(string_agg(x::text, '';'' ORDER BY x::text)) FROM %s x') GROUP BY shardid) s"), '2 2 1', 'two copies: alike');
is($cluster->sql("SELECT string_agg(result, '') FROM run_command_on_all_nodes('SELECT count(*) FROM pg_class WHERE relname = ''twice_5000''')"), '000', 'two copies: the old shard is gone');

beside_writers('beside splits', 11, sub {
	my ($round) = @_;
	$cluster->sql(split_onto([ $round % 3, ($round + 1) % 3 ], 'auto'));
	$cluster->sql("SELECT isolate_tenant_to_new_shard('bare', " . ($round + 1) . ", 'CASCADE')") if $round < 3;
});
nothing_astray('beside splits');

# Nobody takes a new shard for empty while nodes learn of it one after the other.
early_table(0);
read_at_commit("$_, the leading node is the target", 0, leader_last(split_onto([ 0, 0 ], $_))) foreach qw(force_logical block_writes);

$cluster->stop;
done_testing();
