# A pooler in front of a worker (pg_dist_poolinfo): PgBouncer in transaction mode, with two
# server connections for all clients. Nothing that a transaction set may be there in the next.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PostgreSQL::Test::Utils;

my ($pgbouncer) = grep { -x $_ } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin', '/usr/local/sbin';
plan skip_all => 'PgBouncer is not installed' unless $pgbouncer;

my $cluster = PandoCluster->new('pooler', workers => 2);
my ($coordinator, $worker1, $worker2) = ($cluster->coordinator, $cluster->worker(1), $cluster->worker(2));
my $dir = PostgreSQL::Test::Utils::tempdir();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $user = $cluster->sql('SELECT current_user');
append_to_file("$dir/users", "\"$user\" \"\"\n\"client\" \"\"\n");
append_to_file("$dir/ini", <<"END");
[databases]
postgres = host=127.0.0.1 port=@{[ $worker1->port ]} dbname=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = trust
auth_file = $dir/users
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
logfile = $dir/log
pidfile = $dir/pid
END
my $pooler = IPC::Run::start([ $pgbouncer, '-q', "$dir/ini" ], '>', "$dir/out", '2>&1');
sub stop_pooler { $pooler->kill_kill if $pooler; undef $pooler; return; }
END { stop_pooler(); }
for (1 .. 300)
{
	last if IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port);
	select undef, undef, undef, 0.2;
}

$worker1->safe_psql('postgres', "SET citus.enable_ddl_propagation = off; ALTER DATABASE postgres SET default_transaction_isolation = 'repeatable read'");
$cluster->sql(<<"END");
INSERT INTO pg_dist_poolinfo SELECT nodeid, 'host=127.0.0.1 port=$port' FROM pg_dist_node WHERE nodeid = 2;
SET citus.shard_count TO 4;
CREATE TABLE t (k int PRIMARY KEY, v int, at timestamptz DEFAULT '2024-01-01 00:00+00');
SELECT create_distributed_table('t', 'k');
INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) i;
CREATE FUNCTION me(k int) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN current_user; END';
CREATE FUNCTION zone(k int) RETURNS text IMMUTABLE LANGUAGE plpgsql AS \$\$BEGIN RETURN current_setting('TimeZone'); END\$\$;
CREATE ROLE client LOGIN;
GRANT SELECT, UPDATE ON t TO client;
END
my $pooled = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND application_name LIKE 'citus_internal gpid=%'";
my $key = $cluster->sql("SELECT min(k) FROM t JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('t', k) JOIN pg_dist_node n USING (groupid) WHERE nodeid = 2");
my $plain = $worker1->safe_psql('postgres', 'SHOW TimeZone');

is($cluster->sql("SELECT count(*) FROM t; SELECT v FROM t WHERE k = $key"), "100\n0", 'queries');
like($cluster->sql("SELECT DISTINCT result FROM run_command_on_workers('SELECT 1')"), qr/^1$/, 'commands');
like(slurp_file("$dir/log"), qr/login attempt: db=postgres/, 'go through the pooler') if -e "$dir/log";

# Settings and roles are there in each transaction, and never in another one.
is($cluster->sql("SET TimeZone = 'Asia/Tokyo'; SELECT zone(k), at::text FROM t WHERE k = $key; SELECT DISTINCT zone(k) FROM t; BEGIN; SELECT zone(k) FROM t WHERE k = $key; SET LOCAL TimeZone = 'Asia/Seoul'; SELECT zone(k) FROM t WHERE k = $key; SAVEPOINT s; SET TimeZone = 'Asia/Dubai'; SELECT zone(k) FROM t WHERE k = $key; ROLLBACK TO SAVEPOINT s; SELECT zone(k) FROM t WHERE k = $key; COMMIT; SELECT zone(k) FROM t WHERE k = $key; RESET TimeZone; SELECT zone(k) = '$plain' FROM t WHERE k = $key"),
	"Asia/Tokyo|2024-01-01 09:00:00+09\nAsia/Tokyo\nAsia/Tokyo\nAsia/Seoul\nAsia/Dubai\nAsia/Seoul\nAsia/Tokyo\nt", 'settings follow the client');
is($cluster->sql("SET ROLE client; SELECT me(k) FROM t WHERE k = $key; SELECT DISTINCT me(k) FROM t; RESET ROLE; SELECT me(k) = current_user FROM t WHERE k = $key"), "client\nclient\nt", 'the role, too');
foreach my $look (1 .. 4)
{
	is($coordinator->safe_psql('postgres', "SELECT current_user = '$user', current_setting('TimeZone') = '$plain', current_setting('default_transaction_isolation')", connstr => "host=127.0.0.1 port=$port dbname=postgres"), 't|t|repeatable read', "nothing is left in the pool, look $look");
}

# Prepared statements of the client, transactions over both nodes, cursors, COPY, errors.
is($cluster->sql("PREPARE p(int) AS SELECT v FROM t WHERE k = \$1; EXECUTE p($key); EXECUTE p($key); EXECUTE p(7); PREPARE u(int) AS UPDATE t SET v = v + 1 WHERE k = \$1; EXECUTE u($key); EXECUTE u($key); SELECT v FROM t WHERE k = $key"), "0\n0\n0\n2", 'prepared statements');
is($cluster->sql("BEGIN; UPDATE t SET v = v + 1; SAVEPOINT a; UPDATE t SET v = 50; ROLLBACK TO SAVEPOINT a; COMMIT; SELECT sum(v) FROM t; BEGIN; UPDATE t SET v = 50; ROLLBACK; SELECT sum(v) FROM t"), "102\n102", 'two-phase commit and rollback');
is($cluster->prepared_count, 0, 'nothing stays prepared');
is($cluster->sql("BEGIN; DECLARE c CURSOR FOR SELECT k FROM t; MOVE 50 IN c; SELECT count(*) FROM t; MOVE ALL IN c; COMMIT"), '100', 'a cursor');
is($cluster->sql("COPY t (k, v) FROM STDIN;\n" . join("\n", map { "$_\t0" } 101 .. 200) . "\n\\.\nSELECT count(*) FROM t; INSERT INTO t SELECT k + 1000, v FROM t; SELECT count(*) FROM t; DELETE FROM t WHERE k > 100; SELECT count(*) FROM t"), "200\n400\n100", 'COPY and INSERT ... SELECT');
is($cluster->sql('SELECT count(*) FROM t a JOIN t b ON a.v = b.v WHERE a.k < 3'), $cluster->sql("SELECT count(*) FROM (SELECT * FROM t OFFSET 0) a JOIN (SELECT * FROM t OFFSET 0) b ON a.v = b.v WHERE a.k < 3"), 'intermediate results');
my ($ret, $out, $err) = $coordinator->psql('postgres', "SELECT 1 / (k - $key) FROM t; SELECT 1 / (k - $key) FROM t WHERE k = $key; SELECT count(*) FROM t", on_error_stop => 0);
is($out, '100', 'errors, and the next statement');
is($cluster->sql('CREATE INDEX ON t (v); ALTER TABLE t ADD COLUMN x int; SELECT count(x) FROM t'), '0', 'schema changes');
$cluster->sql('CREATE INDEX CONCURRENTLY ON t (at)');
$cluster->sql('VACUUM t');
pass('what runs outside of a transaction');

# More clients than the pooler has connections.
append_to_file("$dir/script", "\\set k random(1, 100)\nUPDATE t SET v = v + 1 WHERE k = :k;\nSELECT count(*) FROM t;\nBEGIN;\nSELECT v FROM t WHERE k = :k;\nUPDATE t SET v = v - 1 WHERE k = :k;\nCOMMIT;\n");
my $sum = $cluster->sql('SELECT sum(v) FROM t');
$coordinator->command_like([ 'pgbench', '-n', '-t', '10', '-c', '10', '-h', '127.0.0.1', '-p', $coordinator->port, '-f', "$dir/script", 'postgres' ], qr/actually processed: 100\/100/, '10 clients of two connections');
is($cluster->sql('SELECT sum(v) FROM t'), $sum, 'no update is lost');
cmp_ok($worker1->safe_psql('postgres', $pooled . " AND client_port <> -1"), '<=', 5, 'they shared connections');

# Rows are sent to the node by statements of Pando's own, in one session after the other.
is($cluster->sql("SELECT count(*) FROM t a JOIN t b ON a.v + a.k = b.v + b.k"), $cluster->sql("SELECT count(*) FROM (SELECT v + k AS s FROM t OFFSET 0) a JOIN (SELECT v + k AS s FROM t OFFSET 0) b USING (s)"), 'an exchange') foreach 1, 2;

# A subtransaction fails while its part on the pooled node waits for a row. The node's process is not the one that
# the session's savepoints before were made by.
my ($other) = split /\n/, $cluster->sql("SELECT k FROM t JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('t', k) JOIN pg_dist_node n USING (groupid) WHERE nodeid = 2 AND k > $key ORDER BY k");
my $there = $cluster->sql("SELECT min(k) FROM t JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('t', k) JOIN pg_dist_node n USING (groupid) WHERE nodeid <> 2");
my $before = $cluster->sql("SELECT v FROM t WHERE k = $other");
my ($fails, $holds) = map { $coordinator->background_psql('postgres', on_error_stop => 0) } 1 .. 2;
$fails->query_safe('BEGIN; ' . "SAVEPOINT a; UPDATE t SET v = v WHERE k = $other; RELEASE a; " x 9 . 'COMMIT');
$holds->query_safe("BEGIN; UPDATE t SET v = v WHERE k = $key");
$fails->query("BEGIN; UPDATE t SET v = v + 1 WHERE k = $other; SAVEPOINT a; UPDATE t SET v = 1 / (k - $there) WHERE k IN ($key, $there)");
$fails->query("ROLLBACK TO a; UPDATE t SET v = v + 1 WHERE k = $other; COMMIT");
$holds->query_safe('COMMIT');
is($cluster->sql("SELECT v FROM t WHERE k = $other"), $before + 2, 'a savepoint of another process of the pool');
$_->quit foreach $fails, $holds;

stop_pooler();
like(($coordinator->psql('postgres', "SELECT v FROM t WHERE k = $key"))[2], qr/connection to the remote node 127\.0\.0\.1:\d+ failed/, 'without the pooler the node is out of reach');
$cluster->sql('DELETE FROM pg_dist_poolinfo');
is($cluster->sql('SELECT count(*) FROM t'), '100', 'or reached directly again');
$cluster->stop;
done_testing();
