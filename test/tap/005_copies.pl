# Two copies of each shard: writes reach both or none. A copy that can't be reached when a write
# begins is marked as lost, together with the write or not at all; reads and writes go on without
# it, through every node; citus_copy_shard_placement() repairs it.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('copies', workers => 3, network => 1, conf => <<'END');
citus.shard_replication_factor = 2
citus.recover_2pc_interval = '1s'
citus.metadata_sync_retry_interval = '1s'
END
my @nodes = $cluster->nodes;
$cluster->sql(<<'END');
CREATE TABLE t (k int PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'k', shard_count => 6);
CREATE TABLE u (k int, w int);
SELECT create_distributed_table('u', 'k', colocate_with => 't');
INSERT INTO t SELECT i, i FROM generate_series(1, 1000) i;
INSERT INTO u SELECT k, v FROM t;
UPDATE t SET v = v + 1 WHERE k % 2 = 0;
UPDATE t SET v = 0 WHERE k = 7;
DELETE FROM t WHERE k = 8;
COPY t FROM PROGRAM 'seq 2001 2100 | sed "s/.*/&,1/"' (FORMAT csv);
CREATE ROLE reader LOGIN;
GRANT SELECT ON t TO reader;
CREATE ROLE writer LOGIN;
GRANT SELECT, UPDATE ON t TO writer;
END
my $copies = "SELECT count(*), count(DISTINCT shardid), min(c), max(c) FROM (SELECT shardid, count(*) OVER (PARTITION BY shardid) c FROM pg_dist_placement WHERE shardstate = 1) p";
is($cluster->sql($copies), '24|12|2|2', 'every shard has two placements');

# Copies that differ from each other.
sub differing
{
	my $count = 0;
	foreach my $columns ('t', "k || \$\$,\$\$ || v", 'u', "k || \$\$,\$\$ || w")
	{
		next if length $columns == 1;
		my $table = $columns =~ /w/ ? 'u' : 't';
		$count += $cluster->sql("SELECT count(*) FROM (SELECT shardid, count(DISTINCT result) c FROM run_command_on_placements('$table', 'SELECT md5(string_agg($columns, \$\$;\$\$ ORDER BY k)) FROM %s') GROUP BY shardid) x WHERE c > 1");
	}
	return $count;
}

sub lost { return $cluster->sql("SELECT count(*) FROM pg_dist_placement WHERE shardstate = 3"); }

sub all_know
{
	my ($what) = @_;
	my $rows = "SELECT md5(string_agg(format('%s %s %s', shardid, groupid, shardstate), ',' ORDER BY shardid, groupid)) FROM pg_dist_placement";
	my $expected = $cluster->sql($rows);
	foreach my $i (1 .. 3)
	{
		ok($cluster->worker($i)->poll_query_until('postgres', "SELECT ($rows) = '$expected'"), "$what: worker $i knows the same copies");
	}
	ok($nodes[0]->poll_query_until('postgres', 'SELECT bool_and(metadatasynced) FROM pg_dist_node'), "$what: all nodes are up to date");
	return;
}

sub repair
{
	my @lost = split /\n/, $cluster->sql(<<'END');
SELECT DISTINCT ON (min(shardid) OVER (PARTITION BY shardminvalue, l.groupid)) format('SELECT citus_copy_shard_placement(%s, ''127.0.0.1'', %s, ''127.0.0.1'', %s)', shardid, source.nodeport, target.nodeport)
FROM pg_dist_placement l JOIN pg_dist_shard USING (shardid) JOIN pg_dist_node target USING (groupid),
LATERAL (SELECT nodeport FROM pg_dist_placement p JOIN pg_dist_node USING (groupid) WHERE p.shardid = l.shardid AND p.shardstate = 1 LIMIT 1) source
WHERE l.shardstate = 3 ORDER BY min(shardid) OVER (PARTITION BY shardminvalue, l.groupid), shardid
END
	$cluster->sql($_) foreach @lost;
	return scalar @lost;
}

is(differing(), 0, 'the copies agree');

# A write that is refused marks nothing.
my $sums = $cluster->sql('SELECT count(*), sum(k), sum(v) FROM t');
foreach my $i (1 .. 3)
{
	my $worker = $cluster->worker($i);
	my $port = $cluster->node_port($i);
	$worker->stop('immediate');
	is($cluster->sql('SELECT count(*), sum(k), sum(v) FROM t'), $sums, "reads go on without worker $i");
	is($cluster->sql('SELECT v FROM t WHERE k = 9'), '9', 'also of one row');
	is($cluster->sql('SET cpu_operator_cost = 10; SELECT md5(string_agg(k::text, \',\')) FROM (SELECT k FROM t ORDER BY k DESC) s'),
		$cluster->sql('SELECT md5(string_agg(k::text, \',\' ORDER BY k DESC)) FROM t'), 'sorted rows are merged, whoever sends them');
	is(lost(), '0', 'reads mark nothing');
	my ($result, $out, $err) = $nodes[0]->psql('postgres', 'BEGIN; UPDATE t SET v = -1; ROLLBACK; SELECT 1');
	is(lost(), '0', 'a transaction that is rolled back marks nothing');
	($result, $out, $err) = $nodes[0]->psql('postgres', 'UPDATE t SET v = v + 1');
	is($result, 0, "writes go on without worker $i");
	like($err, qr/WARNING:  node 127\.0\.0\.1:$port cannot be reached.*citus_copy_shard_placement/s, 'with a warning that names it');
	is(lost(), '8', 'its copies are marked, those of the colocated table as well');
	is($cluster->sql('SELECT count(*), sum(k), sum(v) - count(*) FROM t'), $sums, 'the write is there');
	($result, $out, $err) = $nodes[0]->psql('postgres', 'UPDATE t SET v = v - 1 WHERE k > 0; INSERT INTO u SELECT * FROM u WHERE k = 9; COPY t FROM PROGRAM \'echo 5000,0\' (FORMAT csv); DELETE FROM t WHERE k = 5000');
	is($err, '', 'from then on without');
	my $other = $cluster->worker($i % 3 + 1);
	is($other->safe_psql('postgres', 'UPDATE t SET v = v WHERE k < 100; SELECT count(*), sum(k), sum(v) FROM t'), $sums, 'through another worker, too');

	# Back, it must not believe its own copies.
	$worker->start;
	($result, $out, $err) = $worker->psql('postgres', 'SELECT count(*), sum(k), sum(v) FROM t');
	ok($result != 0 && $err =~ /does not know which copies/ || $out eq $sums, 'a node that missed it reads no lost copy') or diag($out, $err);
	ok($worker->poll_query_until('postgres', "SELECT (SELECT count(*) || '|' || sum(k) || '|' || sum(v) FROM t) = '$sums'"), 'it is told');
	all_know("without worker $i");
	is(repair(), 4, 'shard groups are repaired');
	is(lost(), '0', 'no copy is lost any more');
	is($cluster->sql($copies), '24|12|2|2', 'every shard has two placements again');
	is(differing(), 0, 'and they agree');
	all_know('repaired');
}
is($cluster->prepared_count, 0, 'nothing is left prepared');

# Cut off, a node that runs on does not believe itself either.
my $worker = $cluster->worker(1);
$cluster->network->cut(1, 'reset');
my ($result, $out, $err) = $nodes[0]->psql('postgres', 'UPDATE t SET v = v + 5', extra_params => [ '-U', 'writer' ]);
unlike($err, qr/ERROR/, 'cut off: a user without special rights writes');
is(lost(), '8', 'cut off: its copies are marked');
($result, $out, $err) = $worker->psql('postgres', 'SELECT sum(v) FROM t');
like($err, qr/ERROR: /, 'cut off: it answers nothing') or diag($out);
($result, $out, $err) = $worker->psql('postgres', 'UPDATE t SET v = 0');
like($err, qr/ERROR: /, 'cut off: and writes nothing') or diag($out);
# Nor can what is the only copy now be marked.
$cluster->network->cut(2, 'reset');
($result, $out, $err) = $nodes[0]->psql('postgres', 'UPDATE t SET v = v');
isnt($result, 0, 'a write that reaches no copy of a shard is refused');
my $port = $cluster->node_port(2);
like($err, qr/no copy of shard|127\.0\.0\.1:$port/, 'and says so');
$cluster->network->heal($_) foreach 1, 2;
all_know('healed');
repair();
is(differing(), 0, 'healed: the copies agree');

# Nobody but nodes can mark.
foreach my $role ('reader', 'writer')
{
	($result, $out, $err) = $nodes[0]->psql('postgres', "SET ROLE $role; SELECT pando.copies_lost((SELECT array_agg(shardid) FROM pg_dist_shard), '{1}', '{1}')");
	like($err, qr/permission denied/, "a $role does not mark by himself");
}

# Crashes of the coordinator between the mark and the commit.
$sums = $cluster->sql('SELECT count(*), sum(k), sum(v) FROM t');
$worker = $cluster->worker(3);
foreach my $case ([ 'write-after-mark', 0 ], [ 'commit-after-prepare', 0 ], [ 'commit-before-second-phase', 1 ])
{
	my ($point, $committed) = @$case;
	$worker->stop('immediate');
	my $first = $cluster->start_at($nodes[0], $point, 'UPDATE t SET v = v + 1');
	# Another writer waits for the mark, or meets the same end.
	my $second = $cluster->start($nodes[0], 'UPDATE t SET v = v + 1000000');
	ok($nodes[0]->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE '%1000000' AND state = 'active' AND wait_event IS NOT NULL"),
		"$point: another writer waits");
	$cluster->kill_server(0);
	eval { $_->{handle}->finish } foreach $first, $second;
	$nodes[0]->start;
	$worker->start;
	ok($cluster->settled, "$point: nothing stays prepared");
	is($cluster->sql('SELECT count(*), sum(k), sum(v)' . ($committed ? ' - count(*)' : '') . ' FROM t'), $sums, "$point: the write is there or not");
	is(lost(), $committed ? '8' : '0', "$point: and so is the mark");
	all_know($point);
	repair();
	is(differing(), 0, "$point: the copies agree");
}

# Two writers who find the copy lost at the same time; with a snapshot the second must try again.
$sums = $cluster->sql('SELECT sum(v) FROM t');
$worker->stop('immediate');
my @writers = map { $cluster->start($nodes[ $_ % 3 ], "UPDATE t SET v = v + 1 WHERE k = $_; INSERT INTO u VALUES ($_, 1)") } 10 .. 21;
$_->{handle}->finish foreach @writers;
is(scalar(grep { $_->{err} =~ /ERROR/ } @writers), 0, 'writers who mark at the same time all succeed')
  or diag(map { $_->{err} } @writers);
is($cluster->sql('SELECT sum(v) - 12 FROM t'), $sums, 'and all their writes are there');
$worker->start;
all_know('many writers');

# What is lost goes with its table.
cmp_ok(lost(), '>', 0, 'copies are lost');
$cluster->sql('DROP TABLE t');
$cluster->sql("SELECT undistribute_table('u')");
is($_->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname ~ '^[tu]_[0-9]+\$'"), '0', 'no shard is left on ' . $_->name) foreach @nodes;
is($cluster->prepared_count, 0, 'nothing is left prepared');

$cluster->stop;
done_testing();
