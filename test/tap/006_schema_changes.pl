# Schema changes: after every statement, a shell table is defined alike on all nodes, and each
# shard is defined as its shell is, but for the shard id in names.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('schema', workers => 2);
my $coordinator = $cluster->coordinator;

# The coordinator has shards of its own: the way through the backend is tested, too.
$cluster->sql("SELECT citus_set_node_property('127.0.0.1', " . $coordinator->port
	  . ", 'shouldhaveshards', true)");

# Definitions of all distributed tables of a node, in a form that can be compared.
my $shells = q{
	SELECT logicalrelid, stage, command
	FROM pg_dist_partition, LATERAL pando.table_definition(logicalrelid, true) ORDER BY 1::text, 2, 3};

# Commands of a node's shards that differ from the shell's.
my $differences = q{
	SET citus.override_table_visibility TO off;
	WITH shards AS (
		SELECT s.logicalrelid AS shell, s.shardid,
			(SELECT c.oid FROM pg_class c WHERE c.relnamespace = k.relnamespace
				AND c.relname = k.relname || '_' || s.shardid) AS shard
		FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid)
			JOIN pg_class k ON k.oid = s.logicalrelid
		WHERE p.groupid = (SELECT groupid FROM pg_dist_local_group)),
	expected AS (
		SELECT shardid, stage, command
		FROM shards, LATERAL pando.table_definition(shell, true)),
	found AS (
		SELECT shardid, stage, regexp_replace(command, '_[0-9]{6}\M', '', 'g') AS command
		FROM shards, LATERAL pando.table_definition(shard, true))
	SELECT 'missing', * FROM (SELECT * FROM expected EXCEPT SELECT * FROM found) a
	UNION ALL
	SELECT 'too much', * FROM (SELECT * FROM found EXCEPT SELECT * FROM expected) b
	ORDER BY 1, 2, 3, 4};

sub check_definitions
{
	my ($name) = @_;
	my $bad = '';
	my $expected = $coordinator->safe_psql('postgres', $shells);
	foreach my $node ($cluster->nodes)
	{
		my $found = $node->safe_psql('postgres', $shells);
		$bad .= $node->name . " differs:\n$found\nexpected:\n$expected\n" if $found ne $expected;
		my $differences = $node->safe_psql('postgres', $differences);
		$bad .= 'shards of ' . $node->name . ":\n$differences\n" if $differences ne '';
	}
	is($bad, '', $name);
	return;
}

$cluster->sql($_) foreach (
	'CREATE ROLE reader',
	'CREATE SCHEMA app',
	'CREATE TABLE app.kinds (id int PRIMARY KEY, name text)',
	"SELECT create_reference_table('app.kinds')",
	'CREATE TABLE app.orders (id bigserial, tenant int, kind int, note text, gone int, amount numeric(10, 2))',
	'ALTER TABLE app.orders DROP COLUMN gone',
	"SELECT create_distributed_table('app.orders', 'tenant', shard_count => 6)",
	'CREATE TABLE app.lines (tenant int, order_id bigint, line int)',
	"SELECT create_distributed_table('app.lines', 'tenant', colocate_with => 'app.orders')",
	'INSERT INTO app.kinds VALUES (1), (2)',
	'INSERT INTO app.orders (tenant, kind, note) SELECT i, 1 + i % 2, i FROM generate_series(1, 60) i');
check_definitions('tables');

foreach my $statement (
	'ALTER TABLE app.orders ADD PRIMARY KEY (tenant, id)',
	'ALTER TABLE app.orders ADD UNIQUE (tenant, note), ADD CHECK (orders.kind > 0)',
	'ALTER TABLE app.orders ADD EXCLUDE USING btree (tenant WITH =, id WITH =)',
	'ALTER TABLE app.orders ADD FOREIGN KEY (kind) REFERENCES app.kinds ON DELETE CASCADE',
	'ALTER TABLE app.lines ADD CONSTRAINT of_order FOREIGN KEY (tenant, order_id) REFERENCES app.orders DEFERRABLE',
	'ALTER TABLE app.lines ALTER CONSTRAINT of_order INITIALLY DEFERRED',
	'ALTER TABLE app.orders ADD CONSTRAINT later CHECK (id > 0) NOT VALID',
	'ALTER TABLE app.orders VALIDATE CONSTRAINT later',
	'ALTER TABLE app.orders RENAME CONSTRAINT later TO now',
	'ALTER TABLE app.orders DROP CONSTRAINT now',
	"ALTER TABLE app.orders ADD made timestamptz NOT NULL DEFAULT now(), ADD twice int GENERATED ALWAYS AS (kind * 2) STORED, ADD word varchar(9) COLLATE \"C\" DEFAULT 'x' CHECK (word <> '')",
	'ALTER TABLE app.orders ALTER word TYPE text USING upper(orders.word)',
	'ALTER TABLE app.orders ALTER word SET STATISTICS 20, ALTER word SET (n_distinct = 5), ALTER word SET STORAGE EXTERNAL, ALTER note SET COMPRESSION pglz',
	'ALTER TABLE app.orders ALTER word DROP DEFAULT, ALTER made DROP NOT NULL, ALTER note SET NOT NULL',
	'ALTER TABLE app.orders ALTER twice DROP EXPRESSION',
	'ALTER TABLE app.orders SET (fillfactor = 80, toast.autovacuum_enabled = off)',
	'ALTER TABLE app.orders RESET (fillfactor)',
	'ALTER TABLE app.orders RENAME note TO remark',
	'ALTER TABLE app.orders RENAME tenant TO customer',
	'ALTER TABLE app.orders DROP COLUMN made',
	'ALTER TABLE app.lines SET UNLOGGED',
	'ALTER TABLE app.lines SET LOGGED',
	'CREATE INDEX ON app.orders (remark, (lower(orders.word)))',
	'CREATE INDEX by_word ON app.orders (word DESC) INCLUDE (kind) WHERE kind > 1',
	'CREATE UNIQUE INDEX CONCURRENTLY by_both ON app.orders (customer, remark)',
	'ALTER INDEX app.by_word SET (fillfactor = 60)',
	'ALTER INDEX app.by_word RENAME TO by_the_word',
	'ALTER TABLE app.orders CLUSTER ON by_both',
	'CLUSTER app.orders',
	'ALTER TABLE app.orders REPLICA IDENTITY USING INDEX by_both',
	'ALTER TABLE app.orders REPLICA IDENTITY FULL',
	'ALTER TABLE app.orders SET WITHOUT CLUSTER',
	'REINDEX TABLE app.orders',
	'REINDEX INDEX CONCURRENTLY app.by_both',
	'DROP INDEX app.by_both, app.by_the_word',
	'CREATE INDEX for_nothing ON app.orders (kind)',
	'DROP INDEX CONCURRENTLY app.for_nothing',
	'CREATE STATISTICS app.words (ndistinct) ON kind, word FROM app.orders',
	'ALTER STATISTICS app.words SET STATISTICS 30',
	'ALTER STATISTICS app.words RENAME TO these',
	'GRANT SELECT, INSERT ON app.orders, app.lines TO reader',
	'GRANT UPDATE (remark) ON app.orders TO reader WITH GRANT OPTION',
	'REVOKE INSERT ON ALL TABLES IN SCHEMA app FROM reader',
	'ALTER TABLE app.orders ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
	'CREATE POLICY own ON app.orders FOR SELECT TO reader USING (orders.kind IN (SELECT id FROM app.kinds k WHERE k.id = orders.kind))',
	'ALTER POLICY own ON app.orders USING (orders.kind < 3)',
	'ALTER POLICY own ON app.orders RENAME TO theirs',
	'ALTER TABLE app.orders OWNER TO reader',
	'ALTER TABLE app.orders OWNER TO CURRENT_USER',
	'CREATE SCHEMA other',
	'ALTER TABLE app.orders SET SCHEMA other',
	'ALTER TABLE other.orders RENAME TO sales',
	'DROP POLICY theirs ON other.sales',
	'DROP STATISTICS app.these',
	'ALTER SCHEMA other RENAME TO another',
	'VACUUM (FULL, ANALYZE) another.sales',
	"DO \$\$ BEGIN EXECUTE 'ALTER TABLE another.sales ADD done bool'; CREATE INDEX done ON another.sales (done); END \$\$",
	'ALTER TABLE app.kinds ADD at timestamptz DEFAULT now()',
	'ALTER TABLE app.kinds ADD r float NOT NULL DEFAULT random()',
	'ALTER TABLE app.lines ADD number bigserial',
	'BEGIN; ALTER TABLE app.lines ADD a int; SAVEPOINT s; ALTER TABLE app.lines ADD b int; ROLLBACK TO s; CREATE INDEX ON app.lines (a); COMMIT',
	'BEGIN; ALTER TABLE app.lines DROP a; ROLLBACK')
{
	# One string of several statements is one transaction for psql -c, as it is for the server.
	$cluster->sql($statement);
	check_definitions($statement);
}
is($cluster->sql('SELECT count(*), count(DISTINCT remark) FROM another.sales WHERE customer > 0'),
	'60|60', 'the rows are still there');

# What must be refused, with the word that the message must have.
foreach (
	[ 'CREATE UNIQUE INDEX ON another.sales (kind)', 'non-distribution' ],
	[ 'ALTER TABLE app.lines ADD PRIMARY KEY (line)', 'non-distribution' ],
	[ 'ALTER TABLE app.lines DROP COLUMN tenant', 'distribution column' ],
	[ 'ALTER TABLE app.lines ALTER tenant TYPE text', 'distribution column' ],
	[ 'ALTER TABLE app.lines ADD FOREIGN KEY (line) REFERENCES another.sales (customer)', 'foreign key' ],
	[ 'CREATE TABLE app.child () INHERITS (app.lines)', 'INHERITS' ],
	[ 'ALTER TABLE another.sales ADD CHECK (kind > 1)', 'violated' ])
{
	my ($statement, $word) = @$_;
	my ($status, $out, $error) = $coordinator->psql('postgres', $statement);
	isnt($status, 0, "refused: $statement");
	like($error, qr/$word/, 'and says why');
}
check_definitions('nothing is left of what was refused');
my ($status, $out, $error) =
  $cluster->worker(1)->psql('postgres', 'ALTER TABLE app.lines ADD x int');
is($status, 0, 'a worker changes the table as well');
check_definitions('on all nodes');

# TRUNCATE and DROP leave nothing behind, on any node.
$cluster->sql('TRUNCATE app.kinds CASCADE');
is($cluster->sql('SELECT count(*) FROM another.sales'), '0', 'TRUNCATE CASCADE reaches the shards');
$cluster->sql('DROP TABLE app.lines; DROP SCHEMA another CASCADE; DROP SCHEMA app CASCADE');
foreach my $node ($cluster->nodes)
{
	is( $node->safe_psql('postgres',
			q{SELECT (SELECT count(*) FROM pg_dist_partition), (SELECT count(*) FROM pg_dist_shard),
			(SELECT count(*) FROM pg_dist_placement), (SELECT count(*) FROM pg_class
				WHERE relname ~ '_[0-9]{6}$'), (SELECT count(*) FROM pg_dist_object WHERE type <> 'role')}),
		'0|0|0|0|0', 'nothing is left on ' . $node->name);
}
is($cluster->prepared_count, 0, 'no prepared transaction is left');
$cluster->stop;
done_testing();
