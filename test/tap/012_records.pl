# The records of commits over several nodes don't pile up under load, long before it is time for recovery.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PostgreSQL::Test::Utils;

my $cluster = PandoCluster->new('records', workers => 2, conf => "citus.recover_2pc_interval = 1h\n");
my $coordinator = $cluster->coordinator;
$cluster->sql("CREATE TABLE t (k int PRIMARY KEY, v int); SELECT create_distributed_table('t', 'k', shard_count => 4);"
	. 'INSERT INTO t SELECT k, 0 FROM generate_series(1, 40) k; SELECT recover_prepared_transactions()');
my $script = PostgreSQL::Test::Utils::tempdir() . '/script';
PostgreSQL::Test::Utils::append_to_file($script, "UPDATE t SET v = v + 1;\n");
command_ok([ 'pgbench', '-n', '-c', '1', '-t', '700', '-f', $script, '-h', '127.0.0.1', '-p', $coordinator->port, 'postgres' ],
	'700 commits on two nodes');
is($cluster->sql('SELECT min(v), max(v) FROM t'), '700|700', 'are all there');
ok($coordinator->poll_query_until('postgres', 'SELECT count(*) <= 600 FROM pg_dist_transaction'),
	'and leave few records');
is($cluster->prepared_count, 0, 'and nothing prepared');

$cluster->stop;
done_testing();
