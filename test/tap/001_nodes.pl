# Nodes: added, listed, disabled, removed and added again; every node has all metadata and shell
# tables, and a client may work through any of them.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('nodes', workers => 3, join => 0);
my ($coordinator, @workers) = $cluster->nodes;

is($cluster->sql('SELECT count(*) FROM citus_get_active_worker_nodes()'), '0', 'no worker at first');
is($cluster->sql("SELECT citus_add_node('127.0.0.1', " . $workers[0]->port . ")"), '2',
	'the first worker is node 2');
is($cluster->sql("SELECT citus_add_node('127.0.0.1', " . $workers[1]->port . ")"), '3',
	'the second worker is node 3');
is($cluster->sql("SELECT citus_add_node('127.0.0.1', " . $workers[1]->port . ")"), '3',
	'adding a node twice returns its id');
is( $cluster->sql('SELECT node_name, node_port FROM master_get_active_worker_nodes() ORDER BY 2'),
	join("\n", map { '127.0.0.1|' . $_->port } sort { $a->port <=> $b->port } @workers[ 0, 1 ]),
	'the old spelling lists the workers');

$cluster->sql(<<'END');
CREATE TYPE mood AS ENUM ('calm', 'busy');
CREATE SCHEMA app;
CREATE TABLE app.kinds (gone int, id int PRIMARY KEY, lost text DEFAULT 'lost', name text);
ALTER TABLE app.kinds DROP COLUMN gone;
SELECT create_reference_table('app.kinds');
INSERT INTO app.kinds (id, name) VALUES (1, 'one'), (2, 'two');
ALTER TABLE app.kinds DROP COLUMN lost;
CREATE TABLE app.items (id bigserial, gone int, tenant int, lost text, kind int REFERENCES app.kinds, state mood, PRIMARY KEY (tenant, id));
ALTER TABLE app.items DROP COLUMN gone;
SELECT create_distributed_table('app.items', 'tenant');
ALTER TABLE app.items DROP COLUMN lost;
CREATE INDEX items_kind ON app.items (kind);
CREATE TABLE app.own (id int PRIMARY KEY, gone text, kind int REFERENCES app.kinds, note text);
ALTER TABLE app.own DROP COLUMN gone;
SELECT citus_add_local_table_to_metadata('app.own');
INSERT INTO app.own SELECT i, 1, 'mine' FROM generate_series(1, 5) i;
INSERT INTO app.items (tenant, kind, state) SELECT i, 1 + i % 2, 'calm' FROM generate_series(1, 100) i;
END

# A node that comes later gets everything.
is($cluster->sql("SELECT citus_add_node('127.0.0.1', " . $workers[2]->port . ")"), '4',
	'a third worker joins a cluster with tables');
my $summary = 'SELECT count(*), sum(kind), count(DISTINCT id), (SELECT count(*) FROM app.kinds) FROM app.items';
my $answer = '100|150|100|2';
is($_->safe_psql('postgres', $summary), $answer, 'rows seen through ' . $_->name) foreach $cluster->nodes;
is($_->safe_psql('postgres', 'SELECT k FROM app.kinds k ORDER BY id'), "(1,one)\n(2,two)",
	'a reference table that lost columns, through ' . $_->name)
	foreach $cluster->nodes;
is($_->safe_psql('postgres', 'SELECT count(*), sum(kind) FROM app.own JOIN app.kinds k ON k.id = kind'), '5|5',
	"the coordinator's own table through " . $_->name)
  foreach $cluster->nodes;
foreach my $table (qw(pg_dist_node pg_dist_shard pg_dist_placement pg_dist_colocation))
{
	my $query = "SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM $table t";
	my $expected = $cluster->sql($query);
	is($_->safe_psql('postgres', $query), $expected, "$table on " . $_->name) foreach @workers;
}
is($_->safe_psql('postgres', "SELECT count(*) FROM pg_indexes WHERE indexname = 'items_kind'"), '1',
	'the shell index is on ' . $_->name)
  foreach @workers;

# Writes through every node.
my $i = 0;
foreach my $node ($cluster->nodes)
{
	$i++;
	$node->safe_psql('postgres',
		"INSERT INTO app.items (tenant, kind, state) VALUES ($i, 2, 'busy'), (10$i, 2, 'busy')");
	$node->safe_psql('postgres', "UPDATE app.items SET state = 'calm' WHERE tenant = 10$i");
	$node->safe_psql('postgres', "INSERT INTO app.kinds VALUES (10 + $i, 'through node')");
	$node->safe_psql('postgres', "BEGIN; INSERT INTO app.own VALUES (10 + $i, 10 + $i, 'through node');"
		. " UPDATE app.items SET kind = kind WHERE tenant = 10$i; DELETE FROM app.own WHERE id = $i; COMMIT");
}
is($_->safe_psql('postgres', 'SELECT count(*), sum(id), sum(kind) FROM app.own'), '5|55|51',
	"the own table's rows through " . $_->name)
  foreach $cluster->nodes;
is($_->safe_psql('postgres', $summary), '108|166|108|6', 'all writes seen through ' . $_->name)
  foreach $cluster->nodes;
is($cluster->sql("SELECT count(*) FROM app.items WHERE state = 'busy'"), '4', 'and the updates');

# Leaving.
my ($result, $out, $err) = $coordinator->psql('postgres',
	"SELECT citus_remove_node('127.0.0.1', " . $workers[0]->port . ")");
isnt($result, 0, 'a node with the only copy of shards is not removed');
like($err, qr/placement/, 'and the error says why');
$cluster->sql("SELECT citus_remove_node('127.0.0.1', " . $workers[2]->port . ")");
is($cluster->sql('SELECT count(*) FROM pg_dist_node'), '3', 'an empty node is removed');
is($workers[2]->safe_psql('postgres', 'SELECT count(*) FROM pg_dist_partition'), '0',
	'and keeps no metadata');
is($workers[2]->safe_psql('postgres', "SELECT to_regclass('app.own') IS NULL"), 't', 'nor a shell');
$cluster->sql("ALTER TABLE app.own RENAME note TO remark; INSERT INTO app.own VALUES (30, 1, 'later')");
$cluster->sql("SELECT citus_add_node('127.0.0.1', " . $workers[2]->port . ")");
is($workers[2]->safe_psql('postgres', $summary), '108|166|108|6', 'it can be added again');
is($workers[2]->safe_psql('postgres', 'SELECT count(remark) FROM app.own'), '6', 'and knows the own table again');
is($cluster->sql('SELECT count(*) FROM citus_check_cluster_node_health() WHERE NOT result'), '0',
	'every node reaches every node');

# A node that takes long says how far it is, and can be cancelled.
$cluster->sql("SELECT citus_remove_node('127.0.0.1', " . $workers[2]->port . ")");
$cluster->sql("DO \$\$ BEGIN FOR i IN 1 .. 130 LOOP EXECUTE format('CREATE TYPE app.type_%s AS ENUM (''a'')', i); END LOOP; END \$\$");
$workers[2]->safe_psql('postgres', <<'END');
CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.035); END $$;
CREATE EVENT TRIGGER slow ON ddl_command_start WHEN TAG IN ('CREATE TYPE') EXECUTE FUNCTION slow();
END
my $add = "SELECT citus_add_node('127.0.0.1', " . $workers[2]->port . ")";
(undef, undef, $err) = $coordinator->psql('postgres', "SET statement_timeout = '2s'; $add");
like($err, qr/canceling statement due to statement timeout/, 'a node that is being added: cancelled');
is($cluster->sql('SELECT count(*) FROM pg_dist_node'), '3', 'and not added');
(undef, undef, $err) = $coordinator->psql('postgres', $add);
like($err, qr/NOTICE:  node 127\.0\.0\.1:\d+ has 100 of 1\d\d objects/, 'a node that takes long: how far it is');
is($workers[2]->safe_psql('postgres', "SELECT count(*) FROM pg_type WHERE typname ~ '^type_[0-9]+\$'"), '130', 'it has them all in the end');
$workers[2]->safe_psql('postgres', 'DROP EVENT TRIGGER slow');
is($cluster->prepared_count, 0, 'nothing is left prepared');

$cluster->stop;
done_testing();
