# Statements by key and without come out the same through the simple, the extended and the
# prepared protocol, from several clients at once.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

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

$cluster->stop;
done_testing();
