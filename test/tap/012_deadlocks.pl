# Who ends a deadlock: PostgreSQL where it is within one node, Pando where it is over several; a node
# that is there while the coordinator is away.
use strict;
use warnings;
use PandoCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $cluster = PandoCluster->new('deadlocks', conf => <<'END');
citus.distributed_deadlock_detection_factor = -1
deadlock_timeout = 300s
END
$cluster->sql('CREATE TABLE t (k int PRIMARY KEY, v int); SET citus.shard_count TO 4;'
	. "SELECT create_distributed_table('t', 'k'); INSERT INTO t SELECT k, 0 FROM generate_series(1, 100) k");

# Two keys on the first worker, and one on the second.
my @keys = split "\n", $cluster->sql('SELECT min(k) FROM (SELECT k, get_shard_id_for_distribution_column(\'t\', k) AS id FROM t) s '
	. 'JOIN pg_dist_placement p ON p.shardid = s.id GROUP BY groupid ORDER BY groupid');
my $second = $cluster->sql("SELECT max(k) FROM t WHERE (SELECT groupid FROM pg_dist_placement WHERE shardid = "
	. "get_shard_id_for_distribution_column('t', k)) = (SELECT groupid FROM pg_dist_placement WHERE shardid = "
	. "get_shard_id_for_distribution_column('t', $keys[0]))");

my $node = $cluster->coordinator;

# Two sessions that lock the first key of each, and then each other's.
sub embrace
{
	my ($one, $other) = @_;
	my @sessions = map { $node->background_psql('postgres', on_error_stop => 0) } 1, 2;
	$sessions[$_]->query_safe("BEGIN; UPDATE t SET v = v + 1 WHERE k = " . ($_ ? $other : $one)) foreach 0, 1;
	$sessions[0]->query_until(qr/sent/, "\\echo sent\nUPDATE t SET v = v + 1 WHERE k = $other;\n");
	$sessions[1]->query_until(qr/sent/, "\\echo sent\nUPDATE t SET v = v + 1 WHERE k = $one;\n");
	return @sessions;
}

sub waiting
{
	my ($count) = @_;
	foreach (1 .. 300)
	{
		my $now = 0;
		$now += $_->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE NOT granted")
			foreach grep { $_->{_pid} } $cluster->nodes;
		return 1 if $now == $count;
		sleep 0.1;
	}
	return 0;
}

# True when just one of them fails, with a deadlock.
sub one_victim
{
	my ($what, @sessions) = @_;
	my $victims = 0;
	foreach my $session (@sessions)
	{
		$session->query('ROLLBACK') foreach 1;
		$victims++ if $session->{stderr} =~ /deadlock detected/;
		$session->quit;
	}
	is($victims, 1, "$what: one session is ended");
	return;
}

my @sessions = embrace($keys[0], $second);
ok(waiting(2), 'a deadlock within a worker');
is($cluster->sql('SELECT check_distributed_deadlocks()'), 'f', 'is none of ours');
$cluster->worker($_)->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_locks WHERE NOT granted") foreach 1, 2;
$_->query('ROLLBACK'), $_->quit foreach @sessions;

@sessions = embrace($keys[0], $keys[1]);
ok(waiting(2), 'a deadlock over two workers');
is($cluster->sql('SELECT check_distributed_deadlocks()'), 't', 'is found');
one_victim('over two workers', @sessions);

# A schema change of a managed local table comes after statements that have locked a shell elsewhere, and are yet to come
# to the table.
$cluster->sql("CREATE TABLE own (id int); SELECT citus_add_local_table_to_metadata('own'); INSERT INTO own VALUES (1)");
foreach my $change ('ALTER TABLE own ADD COLUMN a int', 'CREATE INDEX i ON own (id)', 'ALTER TABLE own RENAME a TO b',
	'DROP TABLE own')
{
	my $reader = $cluster->worker(1)->background_psql('postgres', on_error_stop => 0);
	my $changer = $cluster->coordinator->background_psql('postgres', on_error_stop => 0);
	$reader->query_safe('BEGIN; PREPARE p AS DELETE FROM own WHERE id = 1');
	$changer->query_until(qr/sent/, "\\echo sent\n$change;\n");
	ok(waiting(1), "$change waits");
	$reader->query_safe('EXECUTE p; INSERT INTO own (id) VALUES (1); COMMIT');
	$changer->query_safe('SELECT 1');
	is($reader->{stderr} . $changer->{stderr}, '', 'and is done then');
	$_->quit foreach $reader, $changer;
}
is($cluster->worker(1)->safe_psql('postgres', "SELECT to_regclass('own') IS NULL"), 't', 'also on the worker');

# A role that gives its sessions the names of another's and has them wait for each other: nobody's statement is cancelled for it.
$cluster->sql('CREATE ROLE forger LOGIN; CREATE SCHEMA forged AUTHORIZATION forger; SET ROLE forger; '
	. 'CREATE TABLE forged.one (); CREATE TABLE forged.two ()');
my $anchor = $cluster->coordinator->background_psql('postgres', on_error_stop => 0, extra_params => ['-U', 'forger']);
my $anchor_gpid = $anchor->query_safe('BEGIN; LOCK TABLE forged.one; SELECT citus_backend_gpid()');
my $victim = $cluster->coordinator->background_psql('postgres', on_error_stop => 0);
my $victim_gpid = $victim->query_safe('SELECT citus_backend_gpid()');
my @forged = map { $cluster->coordinator->background_psql('postgres', on_error_stop => 0, extra_params => ['-U', 'forger']) } 1 .. 3;
$forged[$_]->query_safe("SET application_name = 'citus_internal gpid=" . ($_ == 1 ? $anchor_gpid : $victim_gpid) . "'; "
	. "SET pando.session_proof = '" . ('0' x 64) . "'; BEGIN") foreach 0 .. 2;
$forged[2]->query_safe('LOCK TABLE forged.two');
$victim->query_until(qr/sent/, "\\echo sent\nBEGIN; SELECT pg_sleep(3); COMMIT;\n");
$forged[0]->query_until(qr/sent/, "\\echo sent\nLOCK TABLE forged.one;\n");
$forged[1]->query_until(qr/sent/, "\\echo sent\nLOCK TABLE forged.two;\n");
ok(waiting(2), 'waits under forged names');
is($cluster->sql('SELECT check_distributed_deadlocks()'), 'f', 'are no deadlock');
$victim->query_safe('SELECT 1');
is($victim->{stderr}, '', 'and end no other statement');
$cluster->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'forger'");

# Begun on a worker, while there is no coordinator.
$cluster->coordinator->stop('immediate');
$node = $cluster->worker(1);
foreach my $i (1, 2)
{
	$cluster->worker($i)->append_conf('postgresql.conf',
		"citus.distributed_deadlock_detection_factor = 2\ndeadlock_timeout = 1s");
}
@sessions = embrace($keys[0], $keys[1]);
ok(waiting(2), 'a deadlock without the coordinator');
$cluster->worker($_)->reload foreach 1, 2;
ok(waiting(0), 'is ended');
one_victim('without the coordinator', @sessions);

$cluster->stop;
done_testing();
