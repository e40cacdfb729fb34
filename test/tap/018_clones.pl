# A streaming replica of a worker becomes a worker with half of its shards: rows, sequences, reference tables and
# metadata are right everywhere, writers wait and go on; what can't be done is refused before anything is done; when it
# fails after the promotion the cluster is as it was.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PostgreSQL::Test::Utils;

my $cluster = PandoCluster->new('clone', workers => 2, archive => 1);
my @nodes = $cluster->nodes;
$cluster->make_tables(1);
$cluster->sql(<<'END');
CREATE TABLE kinds (id int PRIMARY KEY);
SELECT create_reference_table('kinds');
INSERT INTO kinds VALUES (1), (2);
CREATE TABLE items (id bigserial, k int, kind int REFERENCES kinds, PRIMARY KEY (k, id), FOREIGN KEY (k) REFERENCES t);
SELECT create_distributed_table('items', 'k', colocate_with => 't');
INSERT INTO items (k, kind) SELECT g % 40 + 1, g % 2 + 1 FROM generate_series(1, 400) g;
CREATE TABLE days (k int, day date) PARTITION BY RANGE (day);
SELECT create_distributed_table('days', 'k', colocate_with => 'none', shard_count => 6);
CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
INSERT INTO days SELECT g, '2026-05-05' FROM generate_series(1, 100) g;
CREATE TABLE one (a int);
SELECT create_distributed_table('one', NULL, colocate_with => 'none');
INSERT INTO one VALUES (1);
END

sub refused
{
	my ($sql, $error, $what) = @_;
	my $err;
	$nodes[0]->psql('postgres', $sql, stderr => \$err);
	like($err, $error, $what);
	return;
}

my $summary = 'SELECT (SELECT count(*) || \'/\' || sum(v) FROM t), (SELECT count(*) || \'/\' || count(DISTINCT items.id) FROM items JOIN kinds ON kinds.id = kind),
	(SELECT count(*) FROM days), (SELECT count(*) FROM one), (SELECT count(*) FROM items JOIN t USING (k))';
sub whole
{
	my ($what, $expected) = @_;
	is($_->safe_psql('postgres', $summary), $expected, "$what: rows through " . $_->name) foreach @nodes;
	ok($cluster->settled, "$what: nothing stays prepared");
	return;
}

my $p = "'127.0.0.1', " . $nodes[1]->port;
my $clone = $cluster->replica_of(1);
my $c = "'127.0.0.1', " . $clone->port;

# Refusals.
refused("SELECT citus_add_clone_node($c, '127.0.0.1', " . $nodes[0]->port . ')', qr/the coordinator cannot have a clone/, 'the coordinator');
refused("SELECT citus_add_clone_node($c, '127.0.0.1', " . $nodes[2]->port . ')', qr/is no replica of node/, 'of another node');
refused("SELECT citus_add_clone_node('127.0.0.1', 1, $p)", qr/cannot be reached/, 'not there');
refused("SELECT citus_add_clone_node('127.0.0.1', " . $nodes[2]->port . ", $p)", qr/is already node/, 'a node');
refused("SELECT citus_promote_clone_and_rebalance(3)", qr/is not a clone/, 'no clone');
refused("SELECT citus_promote_clone_and_rebalance(99)", qr/node 99 does not exist/, 'no node');
refused("SELECT * FROM get_snapshot_based_node_split_plan($p, $c)", qr/is not a clone of node/, 'a plan for who is none');

my $id = $cluster->sql("SELECT citus_add_clone_node($c, $p)");
is($cluster->sql("SELECT citus_add_clone_node_with_nodeid($c, 2)"), $id, 'added once');
is($nodes[2]->safe_psql('postgres', "SELECT isactive, noderole, nodeisclone, nodeprimarynodeid, shouldhaveshards FROM pg_dist_node WHERE nodeid = $id"),
	'f|secondary|t|2|f', 'all nodes know it');
refused("SELECT citus_activate_node($c)", qr/is a clone/, 'it is not activated');
refused("SELECT citus_remove_node($p)", qr/cannot remove node/, 'its primary stays');
$cluster->sql("SELECT citus_remove_clone_node($c)");
is($cluster->sql('SELECT count(*) FROM pg_dist_node'), '3', 'removed');
$id = $cluster->sql("SELECT citus_add_clone_node_with_nodeid($c, 2)");
is($cluster->sql('SET citus.use_secondary_nodes = always; SELECT count(*) FROM t'), '40', 'it is nothing that is read');

# The plan.
my $group = $cluster->sql('SELECT groupid FROM pg_dist_node WHERE nodeid = 2');
my $plan = $cluster->sql("SELECT table_name, count(*) FILTER (WHERE placement_node LIKE '%:" . $clone->port . "'), count(*) FROM get_snapshot_based_node_split_plan($p, $c) GROUP BY 1 ORDER BY 1::text");
my %shards = map { $_ => $cluster->sql("SELECT count(*) FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) WHERE groupid = $group AND logicalrelid = '$_'::regclass") } qw(t items days days_1 one);
foreach my $line (split "\n", $plan)
{
	my ($table, $theirs, $all) = split /\|/, $line;
	is($all, $shards{$table}, "all shards of $table are in the plan");
	ok(abs($theirs * 2 - $all) <= 1, "half of them move: $theirs of $all");
}
is($cluster->sql("SELECT count(*) FROM (SELECT s.shardminvalue FROM get_snapshot_based_node_split_plan($p, $c) g JOIN pg_dist_shard s USING (shardid)
	WHERE g.table_name IN ('t'::regclass, 'items'::regclass) GROUP BY 1 HAVING count(DISTINCT placement_node) > 1) x"), '0', 'shard groups stay together');

# Not in time; an error before and after the promotion.
refused("BEGIN; SELECT citus_promote_clone_and_rebalance($id)", qr/transaction block/, 'not in a block');
$clone->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$cluster->sql('UPDATE t SET v = 1');
refused("SELECT citus_promote_clone_and_rebalance($id, catchup_timeout_seconds => 1)", qr/does not catch up with its primary in time/, 'it lags');
$clone->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
$nodes[0]->safe_psql('postgres', "SELECT pando.debug_point_arm('clone-before-promote', 'error')");
refused("SELECT citus_promote_clone_and_rebalance($id)", qr/clone-before-promote/, 'an error before');
is($clone->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', 'it is still a replica');
$nodes[0]->safe_psql('postgres', "SELECT pando.debug_point_clear(); SELECT pando.debug_point_arm('clone-after-promote', 'error')");
refused("SELECT citus_promote_clone_and_rebalance($id)", qr/clone-after-promote/, 'an error after');
$nodes[0]->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
whole('as it was', '40/40|400/400|100|1|400');
refused("SELECT citus_promote_clone_and_rebalance($id)", qr/is not in recovery/, 'not a second time');
$cluster->sql("SELECT citus_remove_clone_node_with_nodeid($id)");
$clone->stop('immediate');

# With a client that writes all the time.
$clone = $cluster->replica_of(1);
$c = "'127.0.0.1', " . $clone->port;
$id = $cluster->sql("SELECT citus_add_clone_node($c, $p)");
my $writer = $cluster->start($nodes[2], "SELECT 'begun';\n" . "UPDATE t SET v = v + 1;\n" x 300);
$nodes[2]->poll_query_until('postgres', 'SELECT min(v) > 3 FROM t') or die;
$cluster->sql("SELECT citus_promote_clone_and_rebalance($id)");
$writer->{handle}->finish;
is($writer->{err}, '', 'the client has noticed nothing');
push @nodes, $clone;
push @{ $cluster->{nodes} }, $clone;
whole('promoted', '40/12040|400/400|100|1|400');
is($_->safe_psql('postgres', "SELECT isactive, noderole, nodeisclone, nodeprimarynodeid, shouldhaveshards, hasmetadata, metadatasynced FROM pg_dist_node WHERE nodeid = $id"),
	't|primary|f|0|t|t|t', 'it is a node, says ' . $_->name) foreach @nodes;
foreach my $table (qw(pg_dist_node pg_dist_shard pg_dist_placement))
{
	my $query = "SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM (SELECT * FROM $table) t";
	is($_->safe_psql('postgres', $query), $cluster->sql($query), "$table on " . $_->name) foreach @nodes[ 1 .. 3 ];
}

# Each server has the shards that it should have, and no others.
foreach my $i (1, 3)
{
	my $has = $nodes[$i]->safe_psql('postgres', "SET citus.override_table_visibility = off; SELECT string_agg(id::text, ',' ORDER BY id) FROM (SELECT pando.relation_shard_id(oid) AS id FROM pg_class WHERE relkind IN ('r', 'p')) s WHERE id > 0");
	my $should = $nodes[$i]->safe_psql('postgres', 'SELECT string_agg(shardid::text, \',\' ORDER BY shardid) FROM pg_dist_placement WHERE groupid = (SELECT groupid FROM pg_dist_local_group)');
	is($has, $should, 'shards of ' . $nodes[$i]->name);
	cmp_ok(scalar(split /,/, $should), '>', 20, 'they are not few') if $i == 1;
}

# Numbers of sequences never meet, writes and schema changes go on, from everywhere.
$_->safe_psql('postgres', 'INSERT INTO items (k, kind) SELECT g % 40 + 1, 1 FROM generate_series(1, 50) g; UPDATE kinds SET id = id; UPDATE t SET v = 0') foreach @nodes;
is($cluster->sql('SELECT count(*), count(DISTINCT id) FROM items'), '600|600', 'numbers are used once');
$cluster->sql('ALTER TABLE t ADD COLUMN w int DEFAULT 2; INSERT INTO kinds VALUES (3)');
is($_->safe_psql('postgres', 'SELECT sum(w), (SELECT count(*) FROM kinds) FROM t'), '80|3', 'through ' . $_->name) foreach @nodes;
$cluster->sql("SELECT citus_drain_node('127.0.0.1', " . $clone->port . ", 'block_writes'); SELECT citus_remove_node('127.0.0.1', " . $clone->port . ')');
pop @nodes;
whole('and leaves', '40/0|600/600|100|1|600');

$cluster->stop;
done_testing();
