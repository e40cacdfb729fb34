# Secondaries: citus_add_secondary_node() and citus.use_secondary_nodes = always. Reads go to streaming replicas of the
# other groups, joins and exchanges between them too; one that is down, too far behind, not told of the latest
# metadata, of another cluster or no replica at all is passed over for another one or the primary; nothing is written.
# The same from a standby coordinator.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PostgreSQL::Test::Utils;

my $cluster = PandoCluster->new('secondaries', workers => 2, archive => 1);
my @nodes = $cluster->nodes;
$cluster->make_tables(7);
$cluster->sql('CREATE TABLE o (id int, k int); SELECT create_distributed_table(\'o\', \'id\');
	INSERT INTO o SELECT g, g % 40 + 1 FROM generate_series(1, 200) g');

my $patient = 'max_standby_streaming_delay = -1';

sub add_secondary
{
	my ($replica, $i, $of) = @_;
	return $cluster->sql("SELECT citus_add_secondary_node('127.0.0.1', " . $replica->port . ", '127.0.0.1', "
		  . $nodes[$i]->port . ($of ? ", '$of'" : '') . ')');
}

sub caught_up
{
	my ($i, $replica) = @_;
	$nodes[$i]->wait_for_catchup($replica, 'replay', $nodes[$i]->lsn('flush'));
	return;
}

# Ports of the servers that read all of t, by EXPLAIN, which asks them; or the error.
sub readers
{
	my ($set, $from) = @_;
	my ($out, $err);
	($from // $nodes[0])->psql('postgres', "$set; SET citus.explain_all_tasks = on; EXPLAIN SELECT * FROM t",
		stdout => \$out, stderr => \$err);
	my %ports = map { $_ => 1 } $out =~ /port=(\d+)/g;
	return $err ne '' ? $err : join ' ', sort keys %ports;
}

my $always = 'SET citus.use_secondary_nodes = always';
my $primaries = join ' ', sort map { $nodes[$_]->port } 1, 2;
is(readers($always), $primaries, 'without secondaries the primaries are read');

my @replicas = (undef, map { $cluster->replica_of($_, $patient) } 1, 2);
add_secondary($replicas[$_], $_) foreach 1, 2;
caught_up($_, $replicas[$_]) foreach 1, 2;
my $secondaries = join ' ', sort map { $_->port } @replicas[1, 2];
is(readers('SELECT'), $primaries, 'never: the primaries are read');
is(readers($always), $secondaries, 'always: the secondaries are read');

# Statements of every kind have the rows that the primaries have.
my @reads = (
	'SELECT count(*), sum(v) FROM t',
	'SELECT v FROM t WHERE k = 11',
	'SELECT count(*) FROM t JOIN o USING (k)',
	'SELECT t.k, count(*) FROM o JOIN t ON o.k = t.k GROUP BY 1 ORDER BY 1',
	'SELECT count(*) FROM t, r',
	'SELECT count(*) FROM o a JOIN o b ON a.k = b.id',
	'WITH x AS MATERIALIZED (SELECT k FROM o ORDER BY id LIMIT 10) SELECT count(*) FROM t WHERE k IN (SELECT k FROM x)',
	'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t; SELECT count(*) FROM o; COMMIT',
	'BEGIN; SELECT count(*) FROM t; SAVEPOINT a; SELECT count(*) FROM o; ROLLBACK TO a; SELECT count(*) FROM t; COMMIT',
	'BEGIN; DECLARE c CURSOR FOR SELECT k FROM t ORDER BY k; FETCH 3 FROM c; COMMIT',
	'COPY (SELECT * FROM t ORDER BY k) TO STDOUT');
foreach my $read (@reads)
{
	my ($out, $err);
	$nodes[0]->psql('postgres', "$always; $read", stdout => \$out, stderr => \$err);
	is("$err$out", $cluster->sql($read), "the same rows: $read");
}
is($nodes[1]->safe_psql('postgres', "$always; SELECT count(*) FROM t"), '40', 'from a worker, too');

# Nothing is written.
foreach my $write (
	'INSERT INTO t VALUES (100, 1)', 'UPDATE t SET v = 1', 'DELETE FROM t WHERE k = 1',
	'WITH d AS (DELETE FROM t RETURNING *) SELECT count(*) FROM d', 'SELECT * FROM t FOR UPDATE',
	'SELECT * FROM t WHERE k = 1 FOR UPDATE', 'COPY t FROM PROGRAM \'echo 1000,2\' (FORMAT csv)', 'TRUNCATE t',
	'ALTER TABLE t ADD COLUMN x int', 'UPDATE r SET v = 5', 'PREPARE p AS DELETE FROM t; EXECUTE p',
	'DO $$ BEGIN UPDATE t SET v = 2; END $$', 'CREATE TABLE n (a int); SELECT create_distributed_table(\'n\', \'a\')')
{
	my $err;
	$nodes[0]->psql('postgres', "\\set VERBOSITY sqlstate\n$always; $write", stderr => \$err);
	like($err, qr/ERROR:\s+25006/, "refused: $write");
}
is($cluster->sql('SELECT count(*), sum(v) FROM t'), '40|280', 'and nothing was');
is($cluster->sql("$always; CREATE TEMP TABLE own (a int); INSERT INTO own SELECT k FROM t; SELECT count(*) FROM own"),
	'40', 'local tables are written');

# What the transaction wrote before is read where it was written.
is($cluster->sql("BEGIN; UPDATE t SET v = 8; SET LOCAL citus.use_secondary_nodes = always; SELECT sum(v) FROM t; ROLLBACK"),
	'320', 'own writes are seen');

# A replica that does not go on.
$replicas[1]->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$replicas[1]->poll_query_until('postgres', "SELECT pg_get_wal_replay_pause_state() = 'paused'") or die;
$cluster->sql('UPDATE t SET v = 9');
caught_up(2, $replicas[2]);
$replicas[1]->poll_query_until('postgres', 'SELECT split_part(pando.replica_state(), \' \', 4)::int > 3000') or die;
is(readers($always), $secondaries, 'without a bound a late one is read');

# What is kept of statements does not keep who was read.
my $late = $cluster->sql("SELECT k FROM t WHERE get_shard_id_for_distribution_column('t', k) IN (SELECT shardid FROM pg_dist_shard_placement WHERE nodeport = "
	  . $nodes[1]->port . ') ORDER BY 1 LIMIT 1');
foreach my $caches ('auto', 'always')
{
	foreach my $case ([ 'always', 'never', 7, 9 ], [ 'never', 'always', 9, 7 ])
	{
		my ($first, $then, $before, $after) = @$case;
		my $again = "SELECT v FROM t WHERE k = $late;" x 8;
		my $rows = $cluster->sql("SET pando.statement_caches = $caches; PREPARE p(int) AS SELECT v FROM t WHERE k = \$1; SET citus.use_secondary_nodes = $first;"
			  . "EXECUTE p($late);" x 8 . $again . "SET citus.use_secondary_nodes = $then;" . "EXECUTE p($late);" x 8 . $again);
		my @rows = split "\n", $rows;
		is("@rows[ 0 .. 15 ]", join(' ', ($before) x 16), "statements kept ($caches), $first");
		is("@rows[ 16 .. 31 ]", join(' ', ($after) x 16), "then $then");
	}
}
like(readers("$always; SET pando.max_secondary_lag = '3s'; SET client_min_messages = debug1"),
	qr/secondary 127.0.0.1:\d+ of group \d+ is not read: it lags more than pando.max_secondary_lag/, 'with one it is not');
$cluster->sql('UPDATE t SET v = 9');
caught_up(2, $replicas[2]);
is(readers("$always; SET pando.max_secondary_lag = '3s'"), join(' ', sort $nodes[1]->port, $replicas[2]->port),
	'but its primary');

# A shard that was moved there is not looked for in a replica that doesn't have it.
my $shard = $cluster->sql("SELECT shardid FROM pg_dist_shard_placement JOIN pg_dist_shard USING (shardid) WHERE nodeport = "
	  . $nodes[2]->port . " AND logicalrelid = 't'::regclass ORDER BY 1 LIMIT 1");
$cluster->sql("SELECT citus_move_shard_placement($shard, '127.0.0.1', " . $nodes[2]->port . ", '127.0.0.1', " . $nodes[1]->port . ')');
caught_up(2, $replicas[2]);
is($cluster->sql("$always; SELECT count(*) FROM t"), '40', 'a moved shard is read at the primary');
$replicas[1]->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
caught_up(1, $replicas[1]);
is(readers($always), $secondaries, 'and at the replica when that has it');

# Down, up, promoted.
$replicas[1]->stop('immediate');
is(readers($always), join(' ', sort $nodes[1]->port, $replicas[2]->port), 'one that is down: its primary is read');
$replicas[1]->start;
is(readers($always), $secondaries, 'it is back');
$nodes[1]->stop('immediate');
caught_up(2, $replicas[2]);
is(readers($always), $secondaries, 'without the primary reads go on');
my ($out, $err);
$nodes[0]->psql('postgres', 'SELECT count(*) FROM t', stderr => \$err);
like($err, qr/connection to the remote node 127.0.0.1:\d+ failed/, 'which is not so for others');
$replicas[1]->stop('immediate');
$nodes[0]->psql('postgres', "$always; SELECT count(*) FROM t", stderr => \$err);
like($err, qr/connection to the remote node 127.0.0.1:\d+ failed/, 'nor when both are down');
$nodes[1]->start;
$replicas[1]->start;

# Names of clusters.
is(readers('SELECT', $nodes[0]), $primaries, 'primaries are back');
my $far = $cluster->replica_of(1, $patient);
add_secondary($far, 1, 'far');
$ENV{PGOPTIONS} = '-c citus.cluster_name=far';
is(readers($always), join(' ', sort $far->port, $nodes[2]->port), 'those of the named cluster are read');
delete $ENV{PGOPTIONS};
is(readers($always), $secondaries, 'and no others');

# No replica of that node.
my $port = $cluster->replica_of(2, $patient)->port;
$nodes[0]->psql('postgres', "SELECT citus_add_secondary_node('127.0.0.1', $port, '127.0.0.1', " . $nodes[1]->port . ')', stderr => \$err);
like($err, qr/is no replica of node/, 'a replica of another node is refused');
$nodes[0]->psql('postgres', "SELECT citus_add_secondary_node('127.0.0.1', " . $far->port . ", '127.0.0.1', " . $far->port . ')', stderr => \$err);
$far->promote;
$nodes[0]->psql('postgres', "SELECT citus_remove_node('127.0.0.1', " . $far->port . ");
	SELECT citus_add_secondary_node('127.0.0.1', " . $far->port . ", '127.0.0.1', " . $nodes[1]->port . ')', stderr => \$err);
like($err, qr/is not in recovery/, 'nor is a primary');

# A standby coordinator reads, as its primary does.
my $standby = $cluster->replica_of(0, $patient);
caught_up(0, $standby);
foreach my $read (@reads)
{
	foreach my $set ('SET citus.use_secondary_nodes = never', $always)
	{
		my ($out, $err);
		$standby->psql('postgres', "$set; $read", stdout => \$out, stderr => \$err);
		is("$err$out", $cluster->sql($read), "from a standby coordinator, $set: $read");
	}
}
is(readers($always, $standby), $secondaries, 'it reads secondaries');
foreach my $write ('INSERT INTO t VALUES (100, 1)', 'UPDATE t SET v = 1', 'TRUNCATE t', 'SELECT * FROM t FOR UPDATE',
	'ALTER TABLE t ADD COLUMN x int', 'COPY t FROM PROGRAM \'echo 1000,2\' (FORMAT csv)', 'CREATE TYPE y AS (a int)')
{
	my $err;
	$standby->psql('postgres', "\\set VERBOSITY sqlstate\n$write", stderr => \$err);
	like($err, qr/ERROR:\s+25006/, "refused on a standby: $write");
}
is($cluster->sql('SELECT count(*), sum(v) FROM t'), '40|360', 'nothing was written');

$_->stop('immediate') foreach $standby, @replicas[1, 2];
$cluster->stop;
done_testing();
