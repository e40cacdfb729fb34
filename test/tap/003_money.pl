# pgbench's TPC-B over three workers neither loses nor invents money: not in an undisturbed run, and
# not when a worker is killed in the middle of one. PANDO_TEST_SECONDS sets the length.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep time);
use lib '.';
use PandoCluster;

my $seconds = $ENV{PANDO_TEST_SECONDS} // 10;
my $cluster = PandoCluster->new('money', workers => 3,
	conf => "citus.recover_2pc_interval = '2s'");
my $coordinator = $cluster->coordinator;
my $port = $coordinator->port;
my $pgbench = $coordinator->config_data('--bindir') . '/pgbench';
my @connection = ('-h', '127.0.0.1', '-p', $port, 'postgres');

sub run_ok { my ($what, @command) = @_; ok(system("@command >/dev/null 2>&1") == 0, $what); return; }

run_ok('pgbench makes its tables', $pgbench, '-iI', 'dt', @connection);
$cluster->sql(PostgreSQL::Test::Utils::slurp_file('../../tools/distribute-pgbench.sql'));
run_ok('and fills them, and adds its keys', $pgbench, '-iI', 'gvp', '-s', 5, @connection);

my $sums = <<'END';
SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT coalesce(sum(delta), 0) FROM pgbench_history)
   AND (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT coalesce(sum(delta), 0) FROM pgbench_history)
   AND (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT coalesce(sum(delta), 0) FROM pgbench_history)
END
is($cluster->sql($sums), 't', 'the sums agree before');
run_ok('a run of 20 clients', $pgbench, '-n', '-c', 20, '-j', 2, '-T', $seconds, @connection);
is($cluster->sql($sums), 't', 'the sums agree after it');
cmp_ok($cluster->sql('SELECT count(*) FROM pgbench_history'), '>=', 20, 'transactions were made');

# Worker 2 is killed in the middle.
my $log = $coordinator->basedir . '/pgbench_kill.log';
my $pid = fork();
if ($pid == 0)
{
	open STDOUT, '>', $log;
	open STDERR, '>&', \*STDOUT;
	exec $pgbench, '-n', '-c', 20, '-j', 2, '-T', $seconds, @connection;
}
my $victim = $cluster->worker(2);
$victim->poll_query_until('postgres', "SELECT count(*) > 3 FROM pg_stat_activity WHERE application_name LIKE 'citus_internal gpid=%'")
  or die 'no client works';
sleep($seconds / 4);
my $victim_port = $victim->port;
$cluster->kill_server(2);
my $started = time;
waitpid($pid, 0);
cmp_ok(time - $started, '<', $seconds + 120, 'no client hangs');
my $text = PostgreSQL::Test::Utils::slurp_file($log);
like($text, qr/127\.0\.0\.1:$victim_port/, 'the errors name the node');
my ($result, $out, $err) = $coordinator->psql('postgres', 'SELECT count(*) FROM pgbench_accounts', timeout => 180);
isnt($result, 0, 'a query that needs the node fails');
like($err, qr/127\.0\.0\.1:$victim_port/, 'and names it');

$victim->start;
ok($cluster->settled, 'after its restart nothing stays prepared');
is($cluster->sql($sums), 't', 'and the sums agree');
run_ok('and the cluster works on', $pgbench, '-n', '-c', 5, '-T', 2, @connection);
is($cluster->sql($sums), 't', 'with sums that agree');

$cluster->stop;
done_testing();
