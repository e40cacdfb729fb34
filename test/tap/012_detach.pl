# DETACH PARTITION CONCURRENTLY that fails, is killed or loses a node between its steps, from the coordinator and from a worker: either nothing has
# happened, or all nodes take the partition for detached and FINALIZE, from any node, ends it. What is made anew meanwhile is made as after the end.
use strict;
use warnings;
use PandoCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cluster = PandoCluster->new('detach', workers => 2, conf => "citus.recover_2pc_interval = '500ms'");
my @nodes = $cluster->nodes;
$cluster->sql(<<'END');
CREATE TABLE ref (id int PRIMARY KEY);
INSERT INTO ref SELECT generate_series(0, 9);
SELECT create_reference_table('ref');
CREATE TABLE p (k int, d int, v int CONSTRAINT positive CHECK (v >= 0), r int CONSTRAINT to_ref REFERENCES ref, PRIMARY KEY (k, d)) PARTITION BY RANGE (d);
CREATE TABLE p0 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (10) TO (20);
SELECT create_distributed_table('p', 'k', shard_count := 6);
INSERT INTO p SELECT k, k % 20, k, k % 10 FROM generate_series(1, 200) k;
CREATE TABLE m (k int PRIMARY KEY, r int REFERENCES ref) PARTITION BY RANGE (k);
CREATE TABLE m0 PARTITION OF m FOR VALUES FROM (0) TO (100) PARTITION BY LIST (k);
CREATE TABLE m00 PARTITION OF m0 DEFAULT;
INSERT INTO m VALUES (1, 1), (2, 2);
SELECT citus_add_local_table_to_metadata('m');
END

sub on_all { my ($sql) = @_; return join ' ', map { $_->safe_psql('postgres', $sql) } @nodes; }
# Of shells and shards: how many are partitions of p yet, and are marked.
my $left = "SET citus.override_table_visibility = off; SELECT count(*) FROM pg_inherits WHERE inhparent IN (SELECT oid FROM pg_class WHERE relname ~ '^p(_[0-9]+)?\$') AND inhrelid IN (SELECT oid FROM pg_class WHERE relname ~ '^p1(_[0-9]+)?\$')";
my $marked = "$left AND inhdetachpending";
# Names of shards' constraints that are not what they should be.
my $misnamed = <<'END';
SET citus.override_table_visibility = off;
SELECT count(*) FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid WHERE c.relname ~ '^p1_[0-9]+$'
	AND substring(n.conname from '[0-9]+$') <> substring(c.relname from '[0-9]+$')
END

sub counts { return on_all('SELECT (SELECT count(*) FROM p) || (SELECT \'/\' || count(*) FROM p1)'); }
sub attach
{
	$cluster->sql('ALTER TABLE p1 DROP CONSTRAINT IF EXISTS p1_d_check; ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (10) TO (20)');
	return;
}

my @points = (
	[ 'ddl-shell-changed', 0 ], [ 'ddl-sent', 0 ], [ 'commit-after-prepare', 0 ], [ 'detach-marked', 1 ], [ 'detach-shards-done', 1 ],
	[ 'detach-other-shells-done', 1 ]);
foreach my $lead (0, 1)
{
	foreach my $at (@points)
	{
		my ($point, $done) = @$at;
		my $name = "$point on node $lead";

		$nodes[$lead]->safe_psql('postgres', "SELECT pando.debug_point_arm('$point', 'error')");
		my ($code, undef, $err) = $nodes[$lead]->psql('postgres', 'ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY');
		isnt($code, 0, "$name: fails");
		$nodes[$lead]->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
		is(counts(), join(' ', ($done ? '100/100' : '200/100') x 3), "$name: all nodes say the same");
		if ($done)
		{
			my $other = $nodes[ ($lead + 1) % 3 ];
			isnt(on_all($left), '0 0 0', "$name: something is left");
			like(($other->psql('postgres', 'ALTER TABLE p DETACH PARTITION p1'))[2], qr/cannot detach partition "p1"|is not a partition/, "$name: what is marked can't be detached again")
				if $point ne 'detach-other-shells-done';
			$other->safe_psql('postgres', 'ALTER TABLE p DETACH PARTITION p1 FINALIZE');
			is(on_all($left), '0 0 0', "$name: FINALIZE from another node ends it");
			is(on_all($misnamed), '0 0 0', "$name: with the right names");
			like(($nodes[$lead]->psql('postgres', 'ALTER TABLE p DETACH PARTITION p1 FINALIZE'))[2], qr/is not a partition of/, "$name: once");
			attach();
		}
		is(on_all("SELECT count(*) FROM pg_inherits WHERE inhdetachpending"), '0 0 0', "$name: no mark is left");
		is(counts(), '200/100 200/100 200/100', "$name: and it is there again");
	}
}

# A node dies when its shards are to be done.
my $session = $cluster->start_at($nodes[0], 'detach-marked', 'ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY;');
$cluster->kill_server(2);
$nodes[0]->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
$session->{handle}->finish;
like($session->{err}, qr/DETACH PARTITION public\.p1 FINALIZE to end it/, 'a node dies: the error says how to go on');
$nodes[2]->start;
ok($cluster->settled, 'no transaction is left');
is(counts(), '100/100 100/100 100/100', 'the partition counts as detached');
$nodes[2]->safe_psql('postgres', 'ALTER TABLE p DETACH PARTITION p1 FINALIZE');
is(on_all($left), '0 0 0', 'FINALIZE from the node that was away');
is(on_all($misnamed), '0 0 0', 'with the right names');
attach();

# The backend is killed; shards move and a node comes while the partition is marked.
$session = $cluster->start_at($nodes[1], 'detach-marked', 'ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY;');
$nodes[1]->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ '^ALTER TABLE p DETACH'; SELECT pando.debug_point_clear()");
$session->{handle}->finish;
is(on_all("$left AND NOT inhdetachpending"), '0 0 0', 'all is marked');
$cluster->add_server('worker3');
$cluster->join_worker(3);
@nodes = $cluster->nodes;
is(scalar(@nodes), 4, 'one more node');
is($nodes[3]->safe_psql('postgres', "SELECT count(*), (SELECT count(*) FROM m00), (SELECT count(*) FROM pg_partition_tree('m')) FROM m"), '2|2|3', 'a partitioned local table that all nodes can use');
is($nodes[3]->safe_psql('postgres', "SELECT count(*) FROM pg_inherits WHERE inhrelid = 'p1'::regclass"), 0, 'which never had the partition attached');
my $shard = $cluster->sql("SELECT shardid FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) JOIN pg_dist_node USING (groupid) WHERE logicalrelid = 'p1'::regclass AND nodeport = " . $nodes[1]->port . ' ORDER BY 1 LIMIT 1');
my $move = "SELECT citus_move_shard_placement($shard, '127.0.0.1', " . $nodes[1]->port . ", '127.0.0.1', " . $nodes[3]->port;
like(($nodes[0]->psql('postgres', "$move, 'force_logical')"))[2], qr/cannot alter partition "p1_\d+" with an incomplete detach.*FINALIZE/s, 'an online move says what is to be done first');
$cluster->sql("$move, 'block_writes')");
is(on_all('SELECT (SELECT count(*) FROM p) || (SELECT \'/\' || count(*) FROM p1)'), join(' ', ('100/100') x 4), 'rows are where they were');
is($nodes[3]->safe_psql('postgres', $left), 0, 'moved shards are detached');
is($nodes[3]->safe_psql('postgres', $misnamed), 0, 'with the right names');
$nodes[3]->safe_psql('postgres', 'ALTER TABLE p DETACH PARTITION p1 FINALIZE');
is(on_all($left), '0 0 0 0', 'FINALIZE from the new node');
is(on_all($misnamed), '0 0 0 0', 'all names are right');
like(($nodes[3]->psql('postgres', 'INSERT INTO p1 VALUES (1, 11, 1, 11)'))[2], qr/foreign key constraint "to_ref"/, 'the partition has its keys');
like(($nodes[3]->psql('postgres', 'INSERT INTO p1 VALUES (1, 21, 1, 1)'))[2], qr/check constraint "p1_d_check"/, 'and its bounds');
attach();
is(on_all('SELECT count(*) FROM p'), join(' ', (200) x 4), 'and can be attached');

$cluster->stop;
done_testing();
