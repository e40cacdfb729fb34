# A cluster is restored from base backups and archived WAL to a restore point: of each multi-node
# transaction all is there or nothing, and nothing stays prepared.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep);
use lib '.';
use PandoCluster;
use PostgreSQL::Test::Utils;

my $cluster = PandoCluster->new('backup', workers => 2, archive => 1);
my @nodes = $cluster->nodes;
$cluster->sql(<<'END');
CREATE TABLE t (k int, run int);
SELECT create_distributed_table('t', 'k');
CREATE TABLE r (run int PRIMARY KEY);
SELECT create_reference_table('r');
CREATE TABLE l (run int);
END
$_->backup('base') foreach @nodes;

# Transactions on all nodes, from two of them, go on all the time.
my @writers = map {
	my $from = $_;
	$cluster->start($nodes[$from], join '', map {
		my $run = $_ * 2 + $from;
		"BEGIN; INSERT INTO t SELECT k, $run FROM generate_series(1, 8) k; INSERT INTO r VALUES ($run);" .
		($from ? '' : " INSERT INTO l VALUES ($run);") . " COMMIT;\n"
	} 1 .. 60000);
} 0, 1;

# Returns when both have committed some more.
sub later
{
	foreach my $from (0, 1)
	{
		my $of = "FROM r WHERE run % 2 = $from";
		my $before = $cluster->sql("SELECT count(*) $of");
		$nodes[0]->poll_query_until('postgres', "SELECT count(*) > $before + 3 $of") or die 'nothing is written';
	}
	return;
}
later();
like($cluster->sql("SELECT citus_create_restore_point('first')"), qr/^[0-9A-F]+\/[0-9A-F]+$/, 'a restore point');
later();

# One more while a transaction is between prepare and its end: it comes first or afterwards.
$nodes[0]->safe_psql('postgres', "SELECT pando.debug_point_arm('commit-after-record', 'wait')");
ok($nodes[0]->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"), 'a transaction is prepared');
$cluster->sql("SELECT citus_create_restore_point('second')");
$nodes[0]->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
later();

# Who writes one dies while it keeps all commits waiting: they go on.
{
	my $writer = $cluster->start_at($nodes[0], 'restore-point-written', "SELECT citus_create_restore_point('half')");
	$nodes[0]->safe_psql('postgres', "SELECT pg_terminate_backend($writer->{pid})");
	eval { $writer->{handle}->finish };
	like($writer->{err}, qr/terminating connection/, 'who writes it is ended');
	$nodes[0]->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
	later();
}

# Not by everybody, not under a name that is too long, not without a node.
$cluster->sql('CREATE ROLE somebody LOGIN');
my ($result, $out, $err) = $nodes[0]->psql('postgres', "SET ROLE somebody; SELECT citus_create_restore_point('third')");
like($err, qr/permission denied for function citus_create_restore_point/, 'only for superusers');
($result, $out, $err) = $nodes[0]->psql('postgres', "SELECT citus_create_restore_point(repeat('x', 100))");
like($err, qr/value too long for restore point/, 'a name that is too long');
$_->safe_psql('postgres', 'SELECT pg_switch_wal()') foreach @nodes;
$_->{handle}->signal('KILL') foreach @writers;
eval { $_->{handle}->finish } foreach @writers;
my $last = $cluster->sql('SELECT max(run) FROM r');
foreach my $node (@nodes)
{
	my $segment = $node->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');
	$node->poll_query_until('postgres', "SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver")
	  or die 'WAL is not archived';
}
$_->stop('immediate') foreach @nodes;

foreach my $point ('first', 'second')
{
	my @restored;
	foreach my $i (0 .. 2)
	{
		my $node = PostgreSQL::Test::Cluster->new("restored_${point}_$i", own_host => 0);
		$node->init_from_backup($nodes[$i], 'base', has_restoring => 1, standby => 0);
		$node->append_conf('postgresql.conf', <<"END");
listen_addresses = '127.0.0.1'
archive_mode = off
recovery_target_name = '$point'
recovery_target_action = 'promote'
citus.recover_2pc_interval = -1
END
		$node->start;
		$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
		push @restored, $node;
	}
	my $prepared = 0;
	foreach my $node (@restored)
	{
		$prepared += $node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts');
		$node->safe_psql('postgres', 'UPDATE pg_dist_node SET nodeport = ' . $restored[$_]->port . ' WHERE nodeport = ' . $nodes[$_]->port) foreach 0 .. 2;
	}
	cmp_ok($prepared, '>=', 2, 'the transaction in the middle is prepared') if $point eq 'second';
	foreach my $node (@restored)
	{
		$node->append_conf('postgresql.conf', 'citus.recover_2pc_interval = 1s');
		$node->reload;
	}
	foreach my $node (@restored)
	{
		ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_prepared_xacts'), "$point: nothing stays prepared");
	}
	my $runs = $restored[0]->safe_psql('postgres', 'SELECT count(*) FROM r');
	cmp_ok($runs, '>', 0, "$point: $runs transactions are there");
	cmp_ok($restored[0]->safe_psql('postgres', 'SELECT max(run) FROM r'), '<', $last, "$point: not those that came later");
	is($_->safe_psql('postgres', 'SELECT count(*) FROM (SELECT run, count(*) AS n FROM t GROUP BY run) s FULL JOIN r USING (run) WHERE n IS DISTINCT FROM 8 OR r.run IS NULL'),
		0, "$point: each whole") foreach @restored;
	is($restored[0]->safe_psql('postgres', 'SELECT count(*) FROM l FULL JOIN (SELECT run FROM r WHERE run % 2 = 0) e USING (run) WHERE l.run IS NULL OR e.run IS NULL'),
		0, "$point: with its local part");
	$restored[0]->safe_psql('postgres', 'INSERT INTO t SELECT k, 0 FROM generate_series(1, 8) k');
	is($restored[2]->safe_psql('postgres', 'SELECT count(*) FROM t WHERE run = 0'), 8, "$point: the cluster works");
	$_->stop('immediate') foreach @restored;
}

done_testing();
