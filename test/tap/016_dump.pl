# A dump of the coordinator, of one database or of all, is restored into clusters of other sizes: rows, keys and the way
# in which tables are distributed; in parallel, too. Nothing of the old cluster's nodes and shards comes along.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PostgreSQL::Test::Utils;

my $from = PandoCluster->new('dumped', workers => 2);
$from->sql(<<'END');
CREATE ROLE shopper;
CREATE SCHEMA shop AUTHORIZATION shopper;
CREATE TABLE shop.customer (id bigserial PRIMARY KEY, name text NOT NULL);
SELECT create_distributed_table('shop.customer', 'id', shard_count := 8);
CREATE TABLE shop.country (code text PRIMARY KEY, name text);
SELECT create_reference_table('shop.country');
CREATE TABLE shop.purchase (customer bigint REFERENCES shop.customer, no int GENERATED ALWAYS AS IDENTITY,
	country text REFERENCES shop.country, at timestamptz DEFAULT now(), PRIMARY KEY (customer, no));
SELECT create_distributed_table('shop.purchase', 'customer', colocate_with := 'shop.customer');
CREATE INDEX ON shop.purchase (at);
CREATE TABLE shop.apart (k text, v int CHECK (v > 0));
SELECT create_distributed_table('shop.apart', 'k', colocate_with := 'none', shard_count := 6);
CREATE TABLE shop."Apart 2" (k text, "V v" int);
SELECT create_distributed_table('shop."Apart 2"', 'k', colocate_with := 'shop.apart');
CREATE TABLE shop.event (id int, at date) PARTITION BY RANGE (at);
SELECT create_distributed_table('shop.event', 'id', shard_count := 8);
CREATE TABLE shop.event_2024 PARTITION OF shop.event FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE shop.event_rest PARTITION OF shop.event DEFAULT;
CREATE TABLE shop.single (a int);
SELECT create_distributed_table('shop.single', NULL, colocate_with := 'none');
CREATE TABLE shop.managed (a int PRIMARY KEY);
SELECT citus_add_local_table_to_metadata('shop.managed');
CREATE TABLE shop.plain (a int);
CREATE SCHEMA tenant;
CREATE SCHEMA "New tenant";
SELECT citus_schema_distribute('tenant'), citus_schema_distribute('"New tenant"');
CREATE TABLE tenant.account (id int PRIMARY KEY, country text REFERENCES shop.country);
CREATE TABLE tenant.entry (account int REFERENCES tenant.account, v int);
INSERT INTO shop.country SELECT 'c' || i, 'country ' || i FROM generate_series(1, 5) i;
INSERT INTO shop.customer (name) SELECT 'n' || i FROM generate_series(1, 100) i;
INSERT INTO shop.purchase (customer, country) SELECT 1 + i % 100, 'c' || 1 + i % 5 FROM generate_series(1, 1000) i;
INSERT INTO shop.apart SELECT i, i FROM generate_series(1, 50) i;
INSERT INTO shop."Apart 2" SELECT i, i FROM generate_series(1, 50) i;
INSERT INTO shop.event SELECT i, date '2023-12-01' + i FROM generate_series(1, 100) i;
INSERT INTO shop.single VALUES (1), (2);
INSERT INTO shop.managed VALUES (3);
INSERT INTO shop.plain VALUES (4);
INSERT INTO tenant.account SELECT i, 'c' || 1 + i % 5 FROM generate_series(1, 10) i;
INSERT INTO tenant.entry SELECT 1 + i % 10, i FROM generate_series(1, 50) i;
CREATE VIEW shop.totals AS SELECT country, count(*) FROM shop.purchase GROUP BY country;
CREATE FUNCTION shop.purchases(k bigint) RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT count(*) FROM shop.purchase WHERE customer = k';
CREATE FUNCTION shop.cost(bigint) RETURNS real LANGUAGE sql AS 'SELECT 2::real';
CREATE FUNCTION shop.at_home(k bigint, what text, OUT n bigint) LANGUAGE sql VOLATILE AS 'SELECT count(*) FROM shop.purchase WHERE customer = k';
CREATE PROCEDURE shop.nothing(k text) LANGUAGE sql AS '';
CREATE FUNCTION shop.lists() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT count(*) FROM shop.country';
SELECT create_distributed_function('shop.at_home(bigint, text)', 'k', colocate_with := 'shop.purchase');
SELECT create_distributed_function('shop.nothing(text)', '$1', colocate_with := 'shop."Apart 2"', force_delegation := true);
SELECT create_distributed_function('shop.lists()', colocate_with := 'shop.country');
SELECT citus_add_rebalance_strategy('own', 'shop.cost', 'citus_node_capacity_1', 'citus_shard_allowed_on_node_true', 0.2, 0.1);
SELECT citus_set_default_rebalance_strategy('own');
CREATE PUBLICATION sold FOR TABLE shop.purchase, shop.plain;
ALTER TABLE shop.customer OWNER TO shopper;
ALTER TABLE shop.purchase ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON shop.purchase USING (no % 2 = 0);
GRANT SELECT ON shop.purchase TO shopper;
END

my @tables = ('shop.customer', 'shop.country', 'shop.purchase', 'shop.apart', 'shop."Apart 2"', 'shop.event', 'shop.single',
	'shop.managed', 'shop.plain', 'shop.totals', 'tenant.account', 'tenant.entry',
	'(SELECT name FROM pando.distributed_schema)');
# All that a client sees, and which tables are distributed how and with whom.
my $seen = join ' UNION ALL ', map { "SELECT \$\$$_\$\$, count(*)::text, md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM $_ t" } @tables;
my $distributed = <<'END';
SELECT relation, kind, distribution_column, shard_count, apart, dense_rank() OVER (ORDER BY (SELECT min(e.relation::text) FROM pando.distribution e
	WHERE e.colocation = d.colocation)) FROM pando.distribution d ORDER BY relation::text
END
my $defined = <<'END';
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'shop'::regnamespace AND conrelid::regclass::text !~ '_102\d+'
UNION ALL SELECT indrelid::regclass::text, NULL, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid::regclass::text LIKE 'shop.%' AND indrelid::regclass::text !~ '_102\d+'
UNION ALL SELECT oid::regclass::text, relowner::regrole::text, relacl::text FROM pg_class WHERE relnamespace = 'shop'::regnamespace ORDER BY 1, 2, 3
END
my $other = <<'END';
SELECT objid::regprocedure::text, distribution_argument_index::text, force_delegation::text,
	(SELECT string_agg(relation::text, ' ' ORDER BY relation::text) FROM pando.distribution WHERE colocation = colocationid)
FROM pg_dist_object WHERE colocationid IS NOT NULL
UNION ALL SELECT name, default_strategy::text, shard_cost_function::text, concat_ws(' ', default_threshold, minimum_threshold, improvement_threshold)
FROM pg_dist_rebalance_strategy
UNION ALL SELECT pubname, schemaname, tablename, NULL FROM pg_publication_tables ORDER BY 1, 2, 3
END
my %before = map { $_ => $from->sql($_) } $seen, $distributed, $defined, $other;

sub is_restored
{
	my ($to, $name) = @_;
	is($to->sql($_), $before{$_}, "$name: " . substr($_, 0, 30)) foreach $seen, $distributed, $defined, $other;
	is($to->sql('SELECT count(*) FROM pg_dist_shard s WHERE NOT EXISTS (SELECT FROM pg_dist_placement p JOIN pg_dist_node USING (groupid) WHERE p.shardid = s.shardid)'),
		'0', "$name: all shards are on nodes of this cluster");
	is($to->worker(1)->safe_psql('postgres', 'SELECT string_agg(nspname, $$ $$ ORDER BY nspname) FROM pg_dist_schema JOIN pg_namespace n ON n.oid = schemaid'),
		'New tenant tenant', "$name: another node knows the schemas");
	is($to->worker(1)->safe_psql('postgres', "SELECT string_agg(objid::regproc::text, ' ' ORDER BY objid::regproc::text) FROM pg_dist_object WHERE colocationid IS NOT NULL"),
		'shop.at_home shop.lists shop.nothing', "$name: another node knows the functions");
	is($to->worker(1)->safe_psql('postgres', "SELECT string_agg(tablename, ' ') FROM pg_publication_tables"), 'purchase', "$name: and what is published");
	is($to->worker(1)->safe_psql('postgres', "SELECT count(*) FROM shop.purchase WHERE customer = 7"),
		$from->sql("SELECT count(*) FROM shop.purchase WHERE customer = 7"), "$name: another node sees it");
	$to->sql("INSERT INTO shop.customer (name) VALUES ('new'); INSERT INTO shop.purchase (customer, country) SELECT max(id), 'c1' FROM shop.customer");
	is($to->sql("SELECT count(*) FROM shop.customer c JOIN shop.purchase p ON p.customer = c.id WHERE c.name = 'new'"), '1', "$name: sequences go on");
	isnt(($to->coordinator->psql('postgres', "INSERT INTO shop.purchase (customer, country) VALUES (1, 'nowhere')"))[0], 0, "$name: foreign keys hold");
	return;
}

my $directory = PostgreSQL::Test::Utils::tempdir;
my @port = ('-h', '127.0.0.1', '-p', $from->coordinator->port);
command_ok([ 'pg_dump', @port, '-f', "$directory/plain.sql", 'postgres' ], 'pg_dump');
command_ok([ 'pg_dump', @port, '-Fc', '-f', "$directory/custom", 'postgres' ], 'pg_dump -Fc');
command_ok([ 'pg_dump', @port, '--inserts', '-f', "$directory/inserts.sql", 'postgres' ], 'pg_dump --inserts');
command_ok([ 'pg_dumpall', @port, '-f', "$directory/all.sql" ], 'pg_dumpall');
unlike(slurp_file("$directory/plain.sql"), qr/_102\d{3}|pg_dist_(node|shard|placement)/, 'no shards, no nodes');

{
	my $to = PandoCluster->new('three', workers => 3);
	$to->sql('CREATE ROLE shopper');
	command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', '127.0.0.1', '-p', $to->coordinator->port, '-f', "$directory/plain.sql", 'postgres' ], 'psql');
	is_restored($to, 'three workers');
	$_->stop foreach $to->nodes;
}
{
	my $to = PandoCluster->new('one', workers => 1);
	$to->sql('CREATE ROLE shopper');
	command_ok([ 'pg_restore', "--section=$_", '-j', '3', '-h', '127.0.0.1', '-p', $to->coordinator->port, '-d', 'postgres', "$directory/custom" ], "pg_restore -j, $_")
		foreach 'pre-data', 'data', 'post-data';
	is_restored($to, 'one worker, in parallel');
	$to->sql("DROP PUBLICATION sold; DELETE FROM pg_dist_rebalance_strategy WHERE name = 'own'; DROP SCHEMA shop, tenant, \"New tenant\" CASCADE");
	command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', '127.0.0.1', '-p', $to->coordinator->port, '-f', "$directory/inserts.sql", 'postgres' ], 'psql, of INSERTs');
	is_restored($to, 'INSERTs');
	$_->stop foreach $to->nodes;
}
{
	my $to = PandoCluster->new('all', workers => 1);
	my ($out, $err) = run_command([ 'psql', '-X', '-q', '-h', '127.0.0.1', '-p', $to->coordinator->port, '-f', "$directory/all.sql", 'postgres' ]);
	is(join('', grep { !/role "[^"]+" already exists|extension "pando" already exists/ } grep { /ERROR/ } split /^/, $err), '', 'pg_dumpall');
	is_restored($to, 'pg_dumpall');
	is($to->worker(1)->safe_psql('postgres', "SELECT count(*) FROM pg_roles WHERE rolname = 'shopper'"), '1', 'roles are on all nodes');
	# A node that comes later.
	my $late = $to->add_server('late');
	$to->join_worker(2);
	is($late->safe_psql('postgres', 'SELECT string_agg(name, $$ $$ ORDER BY name) FROM pando.distributed_schema JOIN pg_dist_schema ON colocationid = colocation'),
		'New tenant tenant', 'a late node knows the schemas');
	$late->safe_psql('postgres', 'CREATE TABLE "New tenant".t (a int); INSERT INTO "New tenant".t VALUES (1)');
	is($to->sql('SELECT count(*) FROM "New tenant".t'), '1', 'and makes tables in them');
}
done_testing();
