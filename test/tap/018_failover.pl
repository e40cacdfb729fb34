# A node is lost for good and its replica takes its place, while clients go on: doc/high-availability.md in deeds.
# Synchronous replica, of a worker and of the coordinator: what a client was told to be committed is there, each transaction is
# whole on all nodes, and nothing stays prepared. Asynchronous replica: what it had not got is missing on that node alone.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep);

my $cluster = PandoCluster->new('failover', workers => 2, archive => 1, conf => "citus.recover_2pc_interval = 1s\n");
my @nodes = $cluster->nodes;
$cluster->make_tables(0);
$cluster->sql("CREATE TABLE done (id int PRIMARY KEY, client int); SELECT create_distributed_table('done', 'id')");

sub update_node
{
	my ($i, $server) = @_;
	$cluster->sql("SELECT citus_update_node((SELECT nodeid FROM pg_dist_node WHERE groupid = $i AND noderole = 'primary'), '127.0.0.1', "
		  . $server->port . ', true, 1000)');
	return;
}

# Clients: each transaction is on both workers and, by the reference table, on all nodes. What a client was told to be
# committed it notes; whatever the error is it goes on with another one.
my $dir = PostgreSQL::Test::Utils::tempdir();
my $script = "$dir/client.sh";
append_to_file($script, <<'END');
dir=$1 client=$2 n=0
while [ ! -e $dir/stop ]; do
	n=$((n + 1)) id=$((client * 1000000 + n)) a=$((RANDOM % 20 + 1)) b=$((RANDOM % 20 + 21))
	if psql -XAtq -v ON_ERROR_STOP=1 -h 127.0.0.1 -p $(cat $dir/port) -d postgres -c "BEGIN; INSERT INTO done VALUES ($id, $client);
		UPDATE t SET v = v - 1 WHERE k = $a; UPDATE t SET v = v + 1 WHERE k = $b; UPDATE r SET v = v + 1; COMMIT" 2>>$dir/errors$client
	then echo $id >> $dir/acked$client
	else sleep 0.1
	fi
done
END
my @clients;
my $first = 0;

sub start_clients
{
	unlink "$dir/stop";
	open my $port, '>', "$dir/port" or die;
	print $port $nodes[0]->port;
	close $port;
	@clients = map { IPC::Run::start([ 'bash', $script, $dir, ++$first ], '<', \'', '>', \my $out, '2>', \my $err, IPC::Run::timeout(300)) } 1 .. 3;
	return;
}

sub acked { return map { chomp; $_ } map { my $f = "$dir/acked$_"; -e $f ? split /^/, slurp_file($f) : () } 1 .. $first; }

# Until clients have been told of so many more commits.
sub await_acked
{
	my ($more, $what) = @_;
	my $wanted = scalar(acked()) + $more;
	for (1 .. 1200)
	{
		return ok(1, $what) if acked() >= $wanted;
		sleep 0.1;
	}
	return ok(0, $what);
}

sub stop_clients
{
	append_to_file("$dir/stop", '');
	$_->finish foreach @clients;
	return;
}

sub whole
{
	my ($what) = @_;
	ok($cluster->settled, "$what: nothing stays prepared");
	my $ids = join ',', acked();
	is($cluster->sql("SELECT count(*) FROM unnest('{$ids}'::int[]) a(id) WHERE NOT EXISTS (SELECT FROM done d WHERE d.id = a.id)"),
		'0', "$what: all that was committed is there");
	is($_->safe_psql('postgres', 'SELECT sum(v) = 0, (SELECT v FROM r) = (SELECT count(*) FROM done) FROM t'), 't|t',
		"$what: transactions are whole, through " . $_->name) foreach @nodes;
	return;
}

# Worker, then coordinator, each with a synchronous replica.
foreach my $i (1, 0)
{
	my $what = $i == 0 ? 'coordinator' : 'worker';
	my $replica = $cluster->replica_of($i);
	PandoCluster::configure($nodes[$i], synchronous_standby_names => '*');
	$nodes[$i]->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'") or die;
	start_clients();
	await_acked(30, "$what: clients work");
	$cluster->kill_server($i);
	$replica->promote;
	$nodes[$i] = $cluster->{nodes}[$i] = $replica;
	update_node($i, $replica);
	open my $port, '>', "$dir/port" or die;
	print $port $nodes[0]->port;
	close $port;
	await_acked(30, "$what: and go on with its replica");
	stop_clients();
	whole($what);
}

# A worker whose replica has not got the last transaction.
my $replica = $cluster->replica_of(1);
$nodes[1]->wait_for_catchup($replica, 'replay', $nodes[1]->lsn('flush'));
$replica->stop('fast');
my $before = $cluster->sql('SELECT v FROM r');
$cluster->sql('BEGIN; UPDATE t SET v = 1000; UPDATE r SET v = -1; COMMIT');
my $rows = $cluster->sql("SELECT count(*) FROM t WHERE get_shard_id_for_distribution_column('t', k) IN (SELECT shardid FROM pg_dist_placement WHERE groupid = 2)");
$cluster->kill_server(1);
$replica->start;
$replica->promote;
$nodes[1] = $cluster->{nodes}[1] = $replica;
update_node(1, $replica);
ok($cluster->settled, 'asynchronous: nothing stays prepared');
is($cluster->sql('SELECT count(*) FROM t WHERE v = 1000'), $rows, 'the transaction is missing there, and there alone');
is($nodes[1]->safe_psql('postgres', 'SELECT v FROM r'), $before, 'also in its copy of a reference table');
is($nodes[2]->safe_psql('postgres', 'SELECT v FROM r'), '-1', 'which others have');
$cluster->sql('BEGIN; CREATE TEMP TABLE kept AS TABLE r; TRUNCATE r; INSERT INTO r TABLE kept; COMMIT');
is($_->safe_psql('postgres', 'SELECT v FROM r'), '-1', 'writing it anew makes copies equal: ' . $_->name) foreach @nodes;
is($cluster->sql('UPDATE t SET v = 0; SELECT sum(v), count(*) FROM t'), '0|40', 'writes go on');

$cluster->stop;
done_testing();
