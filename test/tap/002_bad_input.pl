# What can't be done gives an error with an SQLSTATE that names the object or node, and
# leaves no trace on any node.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('bad', workers => 2);
my $coordinator = $cluster->coordinator;

$cluster->sql(<<'END');
CREATE TABLE parted (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE plain (a int, b point, c int PRIMARY KEY, d int GENERATED ALWAYS AS (c + 1) STORED);
CREATE TABLE uniq (a int, b int UNIQUE);
CREATE TABLE done (a int PRIMARY KEY);
SELECT create_distributed_table('done', 'a');
CREATE TABLE done_text (a text);
SELECT create_distributed_table('done_text', 'a');
CREATE TABLE alone (a int PRIMARY KEY);
SELECT create_distributed_table('alone', 'a', colocate_with => 'none');
CREATE TABLE ref (a int PRIMARY KEY);
SELECT create_reference_table('ref');
CREATE TABLE local (a int PRIMARY KEY);
CREATE TABLE to_alone (a int REFERENCES alone);
CREATE TABLE to_local (a int REFERENCES local);
CREATE VIEW looking AS SELECT 1 AS a;
CREATE ROLE stranger LOGIN;
END

# State of all nodes: metadata, relations, prepared transactions.
sub state_of_cluster
{
	return join '|', map {
		$_->safe_psql('postgres', <<'END')
SELECT (SELECT md5(string_agg(x, ',' ORDER BY x)) FROM (
	SELECT relname::text x FROM pg_class WHERE relnamespace = 'public'::regnamespace
	UNION ALL SELECT logicalrelid::text FROM pg_dist_partition UNION ALL SELECT shardid::text FROM pg_dist_shard
	UNION ALL SELECT placementid::text FROM pg_dist_placement UNION ALL SELECT colocationid::text FROM pg_dist_colocation
	UNION ALL SELECT nodeid::text || nodename || nodeport FROM pg_dist_node) s), (SELECT count(*) FROM pg_prepared_xacts)
END
	} $cluster->nodes;
}

my $before = state_of_cluster();

# refuses(what, SQL, SQLSTATE, pattern)
sub refuses
{
	my ($what, $sql, $state, $pattern, $node) = @_;
	my ($result, $out, $err) = ($node // $coordinator)->psql('postgres', "\\set VERBOSITY verbose\n$sql");
	isnt($result, 0, "$what is refused");
	like($err, qr/ERROR:\s+$state:/, "$what: SQLSTATE");
	like($err, $pattern, "$what: message");
	return $err;
}

refuses('an unknown table', "SELECT create_distributed_table('nowhere', 'a')", '42P01', qr/nowhere/);
refuses('an unknown column', "SELECT create_distributed_table('plain', 'nope')", '42703', qr/nope/);
refuses('a type without a hash function', "SELECT create_distributed_table('plain', 'b')", '42704|42883|0A000', qr/hash|point/);
refuses('a generated column', "SELECT create_distributed_table('plain', 'd')", '0A000', qr/generated/i);
refuses('a partition', "SELECT create_distributed_table('parted_1', 'a')", '0A000', qr/parted_1/);
refuses('a temporary table', "CREATE TEMP TABLE tmp (a int); SELECT create_distributed_table('tmp', 'a')", '0A000|42809|42P16', qr/temporary/i);
refuses('a view', "SELECT create_distributed_table('looking', 'a')", '42809|0A000', qr/looking/);
refuses('a table twice', "SELECT create_distributed_table('done', 'a')", '42P16|42710|42809|42P07|55000', qr/already/);
refuses('a unique constraint without the column', "SELECT create_distributed_table('uniq', 'a')", '0A000', qr/uniq/);
refuses('a foreign key to a table that is not colocated', "SELECT create_distributed_table('to_alone', 'a')", '0A000', qr/foreign/i);
refuses('a foreign key to a local table', "SELECT create_distributed_table('to_local', 'a')", '0A000', qr/local|foreign/i);
refuses('colocation with another key type', "SELECT create_distributed_table('local', 'a', colocate_with => 'done_text')", '22023|42804|0A000|42P16', qr/colocate|type/);
refuses('too many copies', "SET citus.shard_replication_factor = 5; SELECT create_distributed_table('local', 'a', colocate_with => 'none')", '22023|55000|0A000', qr/replication/);
refuses("somebody else's table", "SET ROLE stranger; SELECT create_distributed_table('local', 'a')", '42501', qr/local/);
refuses('an insert without the key', 'INSERT INTO done VALUES (NULL)', '23502', qr/null/i);
refuses('a unique index without the key', 'CREATE UNIQUE INDEX ON alone ((a + 1))', '0A000', qr/unique/i);
refuses('dropping the key', 'ALTER TABLE done_text DROP COLUMN a', '0A000|2BP01', qr/distribution column|column/);
refuses('zero shards', "SELECT create_distributed_table('local', 'a', shard_count => 0)", '22023', qr/shard/);
refuses('a node that is down', "SELECT citus_add_node('127.0.0.1', 1)", '08\w{3}', qr/127\.0\.0\.1:1\b/);
refuses('a host that is not there', "SELECT citus_add_node('nowhere.invalid', 5432)", '08\w{3}', qr/nowhere\.invalid/);
refuses('this server as a worker', "SELECT citus_add_node('127.0.0.1', " . $coordinator->port . ", groupid => 7)", '\w{5}', qr/127|node|coordinator/);
refuses('removing an unknown node', "SELECT citus_remove_node('127.0.0.1', 1)", '\w{5}', qr/127\.0\.0\.1:1/);
refuses('a move through a worker', "SELECT citus_move_shard_placement(1, '127.0.0.1', 1, '127.0.0.1', 2)", '42704', qr/does not exist/, $cluster->worker(1));
refuses('rebalancing within a transaction of a worker', 'BEGIN; SELECT rebalance_table_shards()', '0A000', qr/not allowed on this node/, $cluster->worker(1));
refuses('distributing through a worker', "SELECT create_distributed_table('plain_w', 'a')", '0A000|55000|42P01', qr/not allowed on this node|plain_w/, $cluster->worker(1));
refuses('moving an unknown shard', "SELECT citus_move_shard_placement(1, '127.0.0.1', 1, '127.0.0.1', 2)", '\w{5}', qr/shard 1|1/);
is(state_of_cluster(), $before, 'nothing of it left a trace');

# A server without the extension, and one of which the password is wrong.
my $bare = PostgreSQL::Test::Cluster->new('bad_bare', own_host => 0);
$bare->init;
$bare->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'\n");
$bare->append_conf('pg_hba.conf', "host all all 127.0.0.1/32 trust");
$bare->start;
my $bare_port = $bare->port;
refuses('a server without the extension', "SELECT citus_add_node('127.0.0.1', $bare_port)", '\w{5}', qr/127\.0\.0\.1:$bare_port/);
$bare->safe_psql('postgres', "ALTER ROLE CURRENT_USER PASSWORD 'secret'");
unlink $bare->data_dir . '/pg_hba.conf';
$bare->append_conf('pg_hba.conf', "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256");
$bare->reload;
refuses('a wrong password', "SELECT citus_add_node('127.0.0.1', $bare_port)", '\w{5}', qr/127\.0\.0\.1:$bare_port/);
is(state_of_cluster(), $before, 'nor did these');

# A worker that is down.
$cluster->worker(2)->stop('immediate');
my $port = $cluster->worker(2)->port;
refuses('a query while a worker is down', 'SELECT count(*) FROM done', '08\w{3}', qr/127\.0\.0\.1:$port/);
refuses('a new table while a worker is down', "CREATE TABLE later (a int); SELECT create_distributed_table('later', 'a')", '08\w{3}', qr/127\.0\.0\.1:$port/);
$cluster->sql('DROP TABLE later');
$cluster->worker(2)->start;
is(state_of_cluster(), $before, 'the cluster is as it was');

$bare->stop('immediate');
$cluster->stop;
done_testing();
