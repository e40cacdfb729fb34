# A coordinator that is removed as a node goes on leading the others, without shards of its own;
# they can't call it until it is added again.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('leaves', workers => 2);
my ($coordinator, @workers) = $cluster->nodes;
my $address = "'127.0.0.1', " . $coordinator->port;

# An error's SQLSTATE and text.
sub refused
{
	my ($node, $sql) = @_;
	my (undef, undef, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$sql");
	return $err =~ /ERROR:  (\w{5}: .*)/ ? $1 : 'no error';
}

$cluster->sql(<<'END');
CREATE TABLE kinds (id int PRIMARY KEY, name text);
CREATE TABLE sorts (id int PRIMARY KEY, kind int REFERENCES kinds);
CREATE TABLE items (id int PRIMARY KEY, kind int, note text);
CREATE TABLE own (id int PRIMARY KEY);
SET client_min_messages = warning;
SELECT create_reference_table('kinds'), create_reference_table('sorts'), create_distributed_table('items', 'id');
ALTER TABLE items ADD FOREIGN KEY (kind) REFERENCES kinds;
INSERT INTO kinds SELECT i, 'kind ' || i FROM generate_series(1, 9) i;
INSERT INTO sorts SELECT i, i FROM generate_series(1, 9) i;
INSERT INTO items SELECT i, 1 + i % 9 FROM generate_series(1, 100) i;
INSERT INTO own VALUES (1), (2);
END

# What it alone has keeps it.
$cluster->sql("SELECT citus_add_local_table_to_metadata('own')");
like(refused($coordinator, "SELECT citus_remove_node($address)"), qr/^55006: cannot remove node .* only placement/, "the only copy of its own table's rows");
$cluster->sql("SELECT undistribute_table('own'); SELECT citus_set_node_property($address, 'shouldhaveshards', true);
	CREATE TABLE wide (id int); SELECT create_distributed_table('wide', 'id', colocate_with => 'none')");
like(refused($coordinator, "SELECT citus_remove_node($address)"), qr/^55006: cannot remove node .* only placement/, 'shards');
$cluster->sql("SELECT citus_drain_node($address, 'block_writes')");
like(refused($workers[0], "BEGIN; SELECT citus_remove_node($address)"), qr/^0A000: cannot remove the coordinator in a transaction of another node/,
	"in a worker's transaction");

# By a worker's client, as a statement of its own.
$workers[0]->safe_psql('postgres', "SELECT citus_remove_node($address)");
is($_->safe_psql('postgres', 'SELECT count(*), sum(groupid) FROM pg_dist_node'), '2|3', 'nodes, as ' . $_->name . ' has them') foreach $cluster->nodes;
is($_->safe_psql('postgres', 'SELECT count(*) FROM pg_dist_placement WHERE groupid = 0'), '0', 'no shard is there, says ' . $_->name) foreach $cluster->nodes;
my $all = 'SET citus.override_table_visibility = off;';
is($cluster->sql("$all SELECT count(*) FROM pg_class WHERE relname ~ '^(kinds|sorts|wide)_[0-9]+\$'"), '0', 'and none is left');

# It leads as before.
my $summary = 'SELECT count(*), max(name), sum(sorts.id) FROM items JOIN kinds ON kinds.id = items.kind JOIN sorts ON sorts.kind = kinds.id';
is($_->safe_psql('postgres', $summary), '100|kind 9|497', 'rows through ' . $_->name) foreach $cluster->nodes;
$cluster->sql(<<'END');
SET client_min_messages = warning;
INSERT INTO kinds VALUES (10, 'kind 10');
UPDATE items SET kind = 10 WHERE id = 1;
ALTER TABLE items ADD COLUMN n int DEFAULT 7;
CREATE INDEX ON kinds (name);
CREATE TABLE more (id int PRIMARY KEY);
SELECT create_reference_table('more');
INSERT INTO more VALUES (1), (10);
CREATE TABLE others (id int, n int);
SELECT create_distributed_table('others', 'id', shard_count => 4, colocate_with => 'none');
BEGIN;
INSERT INTO others SELECT i, i FROM generate_series(1, 20) i;
INSERT INTO others SELECT others.id, own.id FROM others JOIN own ON own.id = others.n;
COMMIT;
SELECT citus_move_shard_placement(shardid, '127.0.0.1', nodeport, '127.0.0.1', (SELECT nodeport FROM pg_dist_node WHERE nodeport <> p.nodeport), 'block_writes')
	FROM (SELECT shardid, nodeport FROM citus_shards WHERE table_name::text = 'others' ORDER BY shardid LIMIT 1) p;
SELECT rebalance_table_shards('others', shard_transfer_mode => 'block_writes');
CREATE ROLE helper;
VACUUM items;
END
is($cluster->sql('SELECT count(*), sum(n) FROM others JOIN more USING (id)'), '3|12', 'new tables');
is($cluster->sql('SELECT count(DISTINCT groupid), count(*) FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) WHERE logicalrelid IN (\'more\'::regclass, \'others\'::regclass)'),
	'2|6', 'are on the workers');
is($cluster->sql("SELECT count(*) FILTER (WHERE success) FROM run_command_on_all_nodes('SELECT 1')"), '3', 'commands on all nodes');
is($cluster->sql("SELECT success, result FROM run_command_on_coordinator('SELECT 2')"), 't|2', 'on the coordinator');

# Two of its clients in each other's way on two nodes.
my ($one, $two) = map { $coordinator->background_psql('postgres', on_error_stop => 0) } 1, 2;
$cluster->sql('CREATE TABLE pairs AS SELECT min(id) AS id FROM items JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column(\'items\', id) GROUP BY groupid');
my ($first, $second) = split /\n/, $cluster->sql('SELECT id FROM pairs ORDER BY id');
$_->query_safe('BEGIN') foreach $one, $two;
$one->query_safe("UPDATE items SET n = 1 WHERE id = $first");
$two->query_safe("UPDATE items SET n = 2 WHERE id = $second");
$one->query_until(qr/waits/, "\\echo waits\nUPDATE items SET n = 1 WHERE id = $second;\n");
$two->query("UPDATE items SET n = 2 WHERE id = $first");
$_->query('COMMIT') foreach $two, $one;
is(scalar(grep { $_->{stderr} =~ /deadlock detected/ } $one, $two), 1, 'a deadlock over two nodes ends by one error');
$_->quit foreach $one, $two;

# Who needs it says so.
my $missing = qr/^55000: the coordinator is not a node of the cluster/;
like(refused($coordinator, "SELECT citus_add_local_table_to_metadata('own')"), $missing, 'a table of its own');
like(refused($workers[0], 'ALTER TABLE items ADD COLUMN m int'), $missing, 'schema changes by a worker');
like(refused($workers[0], "SELECT * FROM run_command_on_coordinator('SELECT 1')"), $missing, 'commands for it');
$workers[1]->safe_psql('postgres', 'INSERT INTO items VALUES (200, 10); UPDATE kinds SET name = upper(name) WHERE id = 10');

# A worker may leave and come meanwhile.
$cluster->sql("SELECT citus_drain_node('127.0.0.1', " . $workers[1]->port . ", 'block_writes'); SELECT citus_remove_node('127.0.0.1', " . $workers[1]->port . ')');
my (undef, undef, $err) = $coordinator->psql('postgres', "SELECT citus_remove_node('127.0.0.1', " . $workers[0]->port . ')');
like($err, qr/only placement of .*\n.* of table public\.kinds\./, 'not who has the last copy of a reference table');
$cluster->sql("SELECT citus_add_node('127.0.0.1', " . $workers[1]->port . ')');
is($workers[1]->safe_psql('postgres', $summary), '99|kind 9|495', 'a worker that joins meanwhile');
is($cluster->sql('SELECT count(*) FROM pg_dist_node WHERE groupid = 0'), '0', 'does not bring the coordinator back');

# And back, with copies of what was made and changed meanwhile.
is($cluster->sql("SELECT citus_add_node($address, groupid => 0) > 0"), 't', 'it is added again');
is($cluster->sql("$all SELECT string_agg(regexp_replace(relname, '_.*', ''), ',' ORDER BY relname) FROM pg_class WHERE relname ~ '^(kinds|sorts|more)_[0-9]+\$' AND relkind = 'r'"),
	'kinds,more,sorts', 'with a copy of each reference table');
is($cluster->sql("SELECT array_agg(result) FROM run_command_on_placements('kinds', 'SELECT count(*) || max(name) FROM %s')"), '{"10kind 9","10kind 9","10kind 9"}', 'the same rows everywhere');
is($cluster->sql('SELECT count(*) FROM kinds JOIN more USING (id) JOIN own USING (id)'), '1', 'joined with a local table');
$workers[0]->safe_psql('postgres', 'ALTER TABLE items ADD COLUMN m int; INSERT INTO kinds VALUES (11, \'last\')');
is($_->safe_psql('postgres', 'SELECT count(m), (SELECT max(id) FROM kinds) FROM items'), '0|11', 'schema changes and rows through ' . $_->name) foreach $cluster->nodes;
is($cluster->prepared_count, 0, 'nothing is left prepared');

$cluster->stop;
done_testing();
