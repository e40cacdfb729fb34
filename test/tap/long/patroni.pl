# Patroni watches a coordinator and a worker, each with a synchronous replica, and promotes the replica of whoever is killed; its callback
# tells the cluster (doc/high-availability.md). Clients go on; what they were told to be committed is there, whole on all nodes; the
# killed server comes back as the replica of the other.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my ($patroni) = grep { -x } '/usr/bin/patroni', '/usr/local/bin/patroni';
my ($etcd) = grep { -x } '/usr/bin/etcd', '/usr/local/bin/etcd';
plan skip_all => 'patroni or etcd is not installed' unless $patroni && $etcd;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $bin = `pg_config --bindir`;
chomp $bin;
my $library_path = $ENV{PANDO_LIBRARY_PATH} // '';
sub port { return PostgreSQL::Test::Cluster::get_free_port(); }
my ($etcd_port, $peer_port) = (port(), port());
my %servers = map { $_ => { name => $_, group => /^coordinator/ ? 0 : 1, port => port(), rest => port(), data => "$dir/$_" } } map { ("${_}1", "${_}2") } qw(coordinator worker);
my $coordinators = 'host=127.0.0.1,127.0.0.1 port=' . join(',', map { $servers{"coordinator$_"}{port} } 1, 2) . ' target_session_attrs=read-write connect_timeout=3 dbname=postgres user=postgres';

# What Patroni calls when a server's role has changed: the new primary takes its group's place in the metadata.
my $callback = "$dir/tell_cluster.sh";
append_to_file($callback, <<"END");
#!/bin/sh
# tell_cluster.sh GROUP PORT action role scope
case \$4 in master | primary | promoted) ;; *) exit 0 ;; esac
for i in \$(seq 1 120); do
	psql -XAtq "$coordinators" -c "SELECT citus_update_node(nodeid, '127.0.0.1', \$2, true, 1000) FROM pg_dist_node WHERE groupid = \$1 AND noderole = 'primary'" && exit 0
	sleep 1
done
END
chmod 0755, $callback;

sub write_config
{
	my ($server) = @_;
	my $scope = $server->{group} == 0 ? 'coordinator' : 'worker';
	mkdir "$dir/socket_$server->{name}";
	append_to_file("$dir/$server->{name}.yml", <<"END");
scope: $scope
name: $server->{name}
restapi: {listen: '127.0.0.1:$server->{rest}', connect_address: '127.0.0.1:$server->{rest}'}
etcd3: {hosts: ['127.0.0.1:$etcd_port']}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {max_prepared_transactions: 100, max_connections: 100, wal_level: logical, max_worker_processes: 20}
  initdb: [{encoding: UTF8}, {locale: C}, {auth: trust}]
postgresql:
  listen: 127.0.0.1:$server->{port}
  connect_address: 127.0.0.1:$server->{port}
  data_dir: $server->{data}
  bin_dir: $bin
  authentication: {superuser: {username: postgres}, replication: {username: postgres}, rewind: {username: postgres}}
  pg_hba: [local all all trust, host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
  callbacks: {on_role_change: $callback $server->{group} $server->{port}}
  parameters:
    shared_preload_libraries: pando
    dynamic_library_path: '$library_path:\$libdir'
    unix_socket_directories: $dir/socket_$server->{name}
    citus.recover_2pc_interval: 1s
END
	return;
}

my %running;

sub run
{
	my ($name, @command) = @_;
	$running{$name} = IPC::Run::start(\@command, '<', \'', '>', "$dir/$name.log", '2>&1');
	return;
}

sub start_patroni { return run($_[0]{name}, $patroni, "$dir/$_[0]{name}.yml"); }

# One value, or undef where the server can't be asked.
sub ask
{
	my ($connection, $sql) = @_;
	my ($out, $err) = ('', '');
	return unless IPC::Run::run([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', $connection, '-c', $sql ], '<', \'', '>', \$out, '2>', \$err);
	chomp $out;
	return $out;
}

sub at { return "host=127.0.0.1 port=$_[0]{port} dbname=postgres user=postgres connect_timeout=3"; }

sub await
{
	my ($what, $seconds, $is_so) = @_;
	my $end = time + $seconds;
	until ($is_so->())
	{
		if (time > $end)
		{
			diag(`tail -n 5 $dir/*.log`);
			die "in vain: $what";
		}
		sleep 0.2;
	}
	return ok(1, $what);
}

# The machine is gone: Patroni and the server, at once.
sub lose
{
	my ($server) = @_;
	open my $file, '<', "$server->{data}/postmaster.pid" or die;
	chomp(my $pid = <$file>);
	my @backends = split ' ', `ps -o pid= --ppid $pid`;
	$running{ $server->{name} }->signal('KILL');
	kill 'KILL', $pid, @backends;
	eval { $running{ $server->{name} }->finish };
	unlink "$server->{data}/postmaster.pid";
	return;
}

run('etcd', $etcd, '--data-dir', "$dir/etcd", '--listen-client-urls', "http://127.0.0.1:$etcd_port", '--advertise-client-urls', "http://127.0.0.1:$etcd_port",
	'--listen-peer-urls', "http://127.0.0.1:$peer_port", '--initial-advertise-peer-urls', "http://127.0.0.1:$peer_port", '--initial-cluster', "default=http://127.0.0.1:$peer_port");
write_config($_) foreach values %servers;
my %primary;
foreach my $scope (qw(coordinator worker))
{
	$primary{$scope} = $servers{"${scope}1"};
	start_patroni($primary{$scope});
	await("$scope: a primary", 120, sub { (ask(at($primary{$scope}), 'SELECT pg_is_in_recovery()') // '') eq 'f' });
	start_patroni($servers{"${scope}2"});
}

sub replica_is_there
{
	my ($scope) = @_;
	await("$scope: a synchronous replica", 180, sub { (ask(at($primary{$scope}), "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") // '') eq '1' });
	return;
}
foreach my $scope (qw(worker coordinator))
{
	replica_is_there($scope);
	await("$scope: the extension", 30, sub { defined ask(at($primary{$scope}), 'CREATE EXTENSION IF NOT EXISTS pando') });
}
ask(at($primary{coordinator}), $_) // die $_ foreach "SELECT citus_set_coordinator_host('127.0.0.1', $primary{coordinator}{port})", "SELECT citus_add_node('127.0.0.1', $primary{worker}{port})",
  "SELECT citus_set_node_property('127.0.0.1', $primary{coordinator}{port}, 'shouldhaveshards', true)",
  'CREATE TABLE t (k int PRIMARY KEY, v int)', "SELECT create_distributed_table('t', 'k')", 'INSERT INTO t SELECT g, 0 FROM generate_series(1, 40) g',
  'CREATE TABLE r (k int PRIMARY KEY, v int)', "SELECT create_reference_table('r')", 'INSERT INTO r VALUES (1, 0)',
  'CREATE TABLE done (id int PRIMARY KEY, client int)', "SELECT create_distributed_table('done', 'id')";

# Clients know the two coordinators' addresses, and that an error may come.
my $script = "$dir/client.sh";
append_to_file($script, <<"END");
client=\$1 n=0
while [ ! -e $dir/stop ]; do
	n=\$((n + 1)) id=\$((client * 1000000 + n)) a=\$((RANDOM % 20 + 1)) b=\$((RANDOM % 20 + 21))
	if psql -XAtq -v ON_ERROR_STOP=1 "$coordinators" -c "BEGIN; INSERT INTO done VALUES (\$id, \$client);
		UPDATE t SET v = v - 1 WHERE k = \$a; UPDATE t SET v = v + 1 WHERE k = \$b; UPDATE r SET v = v + 1; COMMIT" 2>>$dir/errors\$client
	then echo \$id >> $dir/acked\$client
	else sleep 0.3
	fi
done
END
my @clients = map { IPC::Run::start([ 'bash', $script, $_ ], '<', \'', '>', \my $out, '2>', \my $err) } 1 .. 3;
sub acked { return map { chomp; $_ } map { -e "$dir/acked$_" ? split /^/, slurp_file("$dir/acked$_") : () } 1 .. 3; }

sub go_on
{
	my ($what, $more) = @_;
	my $wanted = scalar(acked()) + $more;
	return await($what, 180, sub { acked() >= $wanted });
}

go_on('clients work', 30);
foreach my $scope (qw(worker coordinator))
{
	my $lost = $primary{$scope};
	$primary{$scope} = $servers{ $scope . ($lost->{name} =~ /1$/ ? 2 : 1) };
	my $from = time;
	lose($lost);
	await("$scope: its replica is promoted", 120, sub { (ask(at($primary{$scope}), 'SELECT pg_is_in_recovery()') // '') eq 'f' });
	go_on("$scope: clients go on", 30);
	note("$scope: after " . int(time - $from) . ' s');
	start_patroni($lost);
	replica_is_there($scope);
	go_on("$scope: and still do when the lost one is back", 30);
}
append_to_file("$dir/stop", '');
$_->finish foreach @clients;

await('nothing stays prepared', 60, sub { !grep { (ask(at($_), 'SELECT count(*) FROM pg_prepared_xacts') // '') ne '0' } values %primary });
my $ids = join ',', acked();
is(ask($coordinators, "SELECT count(*) FROM unnest('{$ids}'::int[]) a(id) WHERE NOT EXISTS (SELECT FROM done d WHERE d.id = a.id)"), '0', 'all that was committed is there');
is(ask(at($_), 'SELECT sum(v) = 0, (SELECT v FROM r) = (SELECT count(*) FROM done) FROM t'), 't|t', "transactions are whole, through $_->{name}") foreach values %primary;

END
{
	my $status = $?;
	foreach my $name (keys %running)
	{
		$running{$name}->signal('TERM') if $running{$name}->pumpable;
		eval { $running{$name}->finish };
	}
	$? = $status;
}

done_testing();
