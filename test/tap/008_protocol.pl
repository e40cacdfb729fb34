# Statements by key and without come out the same through the simple, the extended and the
# prepared protocol, from several clients at once.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PandoWire;

my $cluster = PandoCluster->new('protocol', workers => 2);
my $coordinator = $cluster->coordinator;
my $pgbench = $coordinator->config_data('--bindir') . '/pgbench';
my $clients = 4;
my $transactions = 50;
my $total = $clients * $transactions;

$cluster->sql(<<'END');
CREATE TABLE counter (k int PRIMARY KEY, n bigint NOT NULL DEFAULT 0, note text);
CREATE TABLE log (k int NOT NULL, client int, amount numeric, at timestamptz DEFAULT now(), PRIMARY KEY (k, client, at));
CREATE TABLE kind (id int PRIMARY KEY, n int NOT NULL DEFAULT 0, name text);
SELECT create_distributed_table('counter', 'k');
SELECT create_distributed_table('log', 'k', colocate_with => 'counter');
SELECT create_reference_table('kind');
INSERT INTO counter SELECT i, 0, 'note ' || i FROM generate_series(1, 100) i;
INSERT INTO kind SELECT i, 0, 'kind ' || i FROM generate_series(0, 4) i;
END

# Each transaction adds :amount to one counter in several ways; \gset results are checked by
# statements that fail when they are wrong.
my $script = $coordinator->basedir . '/protocol.sql';
PostgreSQL::Test::Utils::append_to_file($script, <<'END');
\set key random(1, 100)
\set amount random(1, 10)
\set text random(1, 1000000)
SELECT n AS before, k AS found FROM counter WHERE k = :key \gset
SELECT 1 / (:found = :key)::int AS one;
INSERT INTO log (k, client, amount, at) VALUES (:key, :client_id, :amount, clock_timestamp());
UPDATE counter SET n = n + :amount, note = 'text ' || :text WHERE k = :key;
SELECT count(*) AS n FROM counter JOIN log USING (k) WHERE k = :key AND amount > 0 \gset
SELECT 1 / (:n > 0)::int AS one;
INSERT INTO counter (k, n) VALUES (:key, :amount) ON CONFLICT (k) DO UPDATE SET n = counter.n + excluded.n;
SELECT count(*) AS all_rows FROM counter WHERE n >= :amount - 10 OR n IS NULL \gset
SELECT 1 / (:all_rows >= 100)::int AS one;
SELECT count(*) AS kinds FROM kind WHERE id < :amount \gset
BEGIN;
INSERT INTO log (k, client, amount, at) VALUES (:key, :client_id, :amount, clock_timestamp()), (:key + 1, :client_id, :amount, clock_timestamp());
SELECT sum(amount) AS mine FROM log WHERE k IN (:key, :key + 1) AND client = :client_id \gset
SELECT 1 / (:mine >= 3 * :amount)::int AS one;
END;
BEGIN;
DELETE FROM log WHERE k = :key AND client = :client_id;
ROLLBACK;
END

foreach my $mode ('simple', 'extended', 'prepared')
{
	$cluster->sql('UPDATE counter SET n = 0; TRUNCATE log');
	my ($out, $err);
	my $result = IPC::Run::run(
		[
			$pgbench, '-n', '-M', $mode, '-c', $clients, '-j', 2, '-t', $transactions,
			'-f', $script, '-h', '127.0.0.1', '-p', $coordinator->port, 'postgres'
		], '>', \$out, '2>', \$err);
	ok($result, "$mode: no client fails") or diag($err);
	like($out, qr/actually processed: $total\/$total/, "$mode: all transactions are made");
	is($cluster->sql('SELECT count(*) FROM log'), 3 * $total, "$mode: as many rows as were inserted");
	is($cluster->sql('SELECT 2 * (SELECT sum(amount) FROM log) = 3 * (SELECT sum(n) FROM counter)'),
		't', "$mode: the sums agree");
}
is($cluster->prepared_count, 0, 'no prepared transaction is left');

# What a node has prepared on another has its plan for all values from the second time on where it is for one row, or costs little;
# other statements are planned for their values, as ever.
$cluster->sql("CREATE TABLE many (k int PRIMARY KEY, n int); SELECT create_distributed_table('many', 'k', shard_count := 1);
	INSERT INTO many SELECT i, i % 10 FROM generate_series(1, 20000) i; CREATE TABLE few (k int, n int);
	SELECT create_distributed_table('few', 'k', shard_count := 1); INSERT INTO few VALUES (1, 1)");
$cluster->sql('VACUUM ANALYZE many, few');
my ($many, $few) = map { $cluster->sql("SELECT shard_name FROM citus_shards WHERE table_name = '$_'::regclass") } 'many', 'few';
my %port = map { $_ => $cluster->sql("SELECT nodeport FROM citus_shards WHERE shard_name = '$_'") } $many, $few;
my %settles = (
	pando_1 => [ $many, "SELECT n FROM $many WHERE k = \$1", 1 ],
	pando_2 => [ $many, "UPDATE $many SET n = n + 1 WHERE \$1 = k AND n >= 0", 1 ],
	pando_3 => [ $many, "INSERT INTO $many (k, n) VALUES (\$1, 0) ON CONFLICT DO NOTHING", 1 ],
	pando_4 => [ $many, "SELECT n FROM $many WHERE k = \$1 FOR UPDATE", 1 ],
	pando_5 => [ $many, "SELECT n FROM $many WHERE k > \$1", 0 ],
	pando_6 => [ $many, "DELETE FROM $many WHERE n = \$1 - 2", 0 ],
	pando_7 => [ $few, "SELECT n FROM $few WHERE k > \$1", 1 ],
	other => [ $many, "SELECT k FROM $many WHERE k = \$1", 0 ]);

sub message { my ($type, $body) = @_; return $type . pack('N', 4 + length $body) . $body; }

foreach my $name (sort keys %settles)
{
	my ($shard, $sql, $settles) = @{ $settles{$name} };
	my $node = PandoWire->connect($port{$shard});
	my $bytes = message('P', "$name\0$sql\0" . pack 'n', 0);
	foreach (1 .. 3)
	{
		$bytes .= message('B', "\0$name\0" . pack('n n N a n', 0, 1, 1, '1', 0)) . message('E', "\0" . pack 'N', 0);
	}
	$node->put($bytes . message('S', ''));
	is($node->answer->{error}, undef, "$name runs");
	is($node->value("SELECT generic_plans || ' ' || custom_plans FROM pg_prepared_statements WHERE name = '$name'"), $settles ? '2 5' : '0 3',
		"$name: " . ($settles ? 'one plan for all values' : 'a plan for each value'));
}

$cluster->stop;
done_testing();
