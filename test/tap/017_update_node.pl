# A node gets another address while clients are connected, and comes back after it was disabled: what was written at the
# old address can't be committed any more, who writes can be ended, a secondary changes places with its primary,
# and a node that is activated has all that it missed.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PostgreSQL::Test::Utils;

my $cluster = PandoCluster->new('update_node', workers => 2, archive => 1);
my @nodes = $cluster->nodes;
$cluster->make_tables(0);

# Paused by force, from a worker: who uses the node's tables has so long to end, and is ended then.
{
	my $user = $cluster->start($nodes[0], "BEGIN; SELECT count(*) FROM t; SELECT pg_sleep(600);\n");
	$nodes[0]->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'});
	is($nodes[2]->safe_psql('postgres', q{BEGIN; SELECT citus_pause_node_within_txn(nodeid, true, 100) FROM pg_dist_node WHERE groupid = 1;
		SELECT result FROM run_command_on_workers('SELECT count(*) FROM pg_locks WHERE relation = ''t''::regclass AND mode = ''AccessExclusiveLock'' AND granted') ORDER BY 1; COMMIT}),
		"\n1\n1", 'a node is paused by force, on all nodes');
	eval { $user->{handle}->finish };
	like($user->{err}, qr/terminating connection due to administrator command/, 'who used its tables is ended');
	is($cluster->sql('SELECT count(*) > 0 FROM t'), 't', 'afterwards they are used as before');
}

sub update_node
{
	my ($i, $server, $more) = @_;
	return "SELECT citus_update_node((SELECT nodeid FROM pg_dist_node WHERE groupid = $i AND noderole = 'primary'), '127.0.0.1', "
	  . $server->port . ($more // '') . ')';
}

my $key = $cluster->sql("SELECT k FROM t WHERE get_shard_id_for_distribution_column('t', k) IN (SELECT shardid FROM pg_dist_shard_placement WHERE nodeport = "
	  . $nodes[1]->port . ') ORDER BY 1 LIMIT 1');
my $other = $cluster->sql("SELECT k FROM t WHERE get_shard_id_for_distribution_column('t', k) IN (SELECT shardid FROM pg_dist_shard_placement WHERE nodeport = "
	  . $nodes[2]->port . ') ORDER BY 1 LIMIT 1');

# The old server goes on: nothing is committed there all the same.
my $new = $cluster->replica_of(1);
# A client in a transaction, which goes on when the gate opens.
sub session
{
	my ($node, $sql, $then) = @_;
	return $cluster->start($node, "\\set VERBOSITY verbose\nBEGIN;\n$sql;\nSELECT pg_advisory_lock(77);\n$then;\nSELECT 'at the end';\n");
}
my $gate = IPC::Run::start([ 'psql', '-XAtq', '-h', '127.0.0.1', '-p', $nodes[0]->port, '-d', 'postgres' ],
	'<', \my $gate_in, '>', \my $gate_out, IPC::Run::timeout(240));
sub close_gate
{
	$gate_in .= "SELECT pg_advisory_lock(77), 'closed';\n";
	$gate->pump until $gate_out =~ /closed/;
	$gate_out = '';
	return;
}
sub open_gate { $gate_in .= "SELECT pg_advisory_unlock_all(), 'open';\n"; $gate->pump until $gate_out =~ /open/; $gate_out = ''; return; }
sub all_wait
{
	my ($count) = @_;
	$nodes[0]->poll_query_until('postgres', "SELECT count(*) = $count FROM pg_stat_activity WHERE wait_event = 'advisory' AND application_name = 'psql_started'") or die;
	return;
}

close_gate();
my $one = session($nodes[0], "UPDATE t SET v = 1 WHERE k = $key", 'COMMIT');
my $reads = session($nodes[0], "SELECT v FROM t WHERE k = $key", "SELECT v + 100 FROM t WHERE k = $key; COMMIT");
my $elsewhere = session($nodes[0], "UPDATE t SET v = 5 WHERE k = $other", "UPDATE t SET v = 6 WHERE k = $key; COMMIT");
all_wait(3);
$nodes[1]->wait_for_catchup($new, 'replay', $nodes[1]->lsn('flush'));
$new->promote;
$cluster->sql(update_node(1, $new));
open_gate();
eval { $_->{handle}->finish } foreach $one, $reads, $elsewhere;
like($one->{err}, qr/40001: node 127.0.0.1:\d+ was replaced by 127.0.0.1:\d+ during the transaction/, 'what was written at the old address is not committed');
like($reads->{err}, qr/40001: node/, 'nor is it read on');
is($elsewhere->{err}, '', 'who was not there goes on at the new one');
is($cluster->sql("SELECT v FROM t WHERE k = $key"), '6', 'the new server has what was committed');
is($new->safe_psql('postgres', "SELECT v FROM t WHERE k = $key"), '6', 'it is a node like any other');
is($nodes[2]->safe_psql('postgres', "SELECT v FROM t WHERE k = $key"), '6', 'others know it');
$nodes[1]->stop('immediate');
$nodes[1] = $cluster->{nodes}[1] = $new;

# Who writes is ended, after a while.
close_gate();
my $writer = session($nodes[0], "UPDATE t SET v = 7 WHERE k = $other", 'COMMIT');
my $reader = session($nodes[0], 'SELECT count(*) FROM t', 'COMMIT');
all_wait(2);
$new = $cluster->replica_of(1);
$nodes[1]->wait_for_catchup($new, 'replay', $nodes[1]->lsn('flush'));
$nodes[1]->stop('fast');
$new->promote;
$cluster->sql(update_node(1, $new, ', true, 300'));
open_gate();
eval { $_->{handle}->finish } foreach $writer, $reader;
like($writer->{err}, qr/57P01/, 'force ends who writes to such a table');
unlike($reader->{err}, qr/57P01/, 'and nobody else');
is($cluster->sql('UPDATE t SET v = 8; SELECT sum(v) FROM t'), '320', 'writes go on');
$nodes[1] = $cluster->{nodes}[1] = $new;

# A registered secondary takes its primary's place, and back.
my $old = $nodes[1];
$new = $cluster->replica_of(1);
$cluster->sql("SELECT citus_add_secondary_node('127.0.0.1', " . $new->port . ", '127.0.0.1', " . $old->port . ')');
$old->wait_for_catchup($new, 'replay', $old->lsn('flush'));
$old->stop('fast');
$new->promote;
$cluster->sql(update_node(1, $new));
is($cluster->sql('SELECT nodeport, noderole FROM pg_dist_node WHERE groupid = 1 ORDER BY noderole'),
	$new->port . "|primary\n" . $old->port . '|secondary', 'they have changed places');
is($nodes[2]->safe_psql('postgres', 'SELECT nodeport, noderole FROM pg_dist_node WHERE groupid = 1 ORDER BY noderole'),
	$new->port . "|primary\n" . $old->port . '|secondary', 'on all nodes');
is($cluster->sql('UPDATE t SET v = 9; SELECT sum(v) FROM t'), '360', 'writes go on');
is($cluster->sql('SET citus.use_secondary_nodes = always; SELECT sum(v) FROM t'), '360', 'the old one is not read while it is down');
$nodes[1] = $cluster->{nodes}[1] = $new;
my ($out, $err);
$nodes[0]->psql('postgres', update_node(1, $nodes[2]), stderr => \$err);
like($err, qr/is already node/, 'a node of another group can not');
$nodes[0]->psql('postgres', update_node(1, $nodes[2], ', true, -1'), stderr => \$err);
like($err, qr/lock_cooldown must not be negative/, 'bad arguments');

# Disabled, and what it missed.
$cluster->sql('CREATE TABLE gone (a int); SELECT create_reference_table(\'gone\')');
$cluster->sql("SELECT citus_drain_node('127.0.0.1', " . $nodes[2]->port . ', \'block_writes\')');
$nodes[2]->stop('immediate');
$cluster->sql("SELECT citus_disable_node('127.0.0.1', " . $nodes[2]->port . ')');
$cluster->sql(<<'END');
ALTER TABLE t ADD COLUMN w int DEFAULT 3;
CREATE TYPE mood AS ENUM ('calm');
CREATE TABLE late (k int PRIMARY KEY, m mood);
SELECT create_distributed_table('late', 'k', colocate_with => 't');
INSERT INTO late VALUES (1, 'calm');
INSERT INTO r VALUES (2, 2);
UPDATE r SET v = 11 WHERE k = 1;
ALTER TABLE r ADD COLUMN note text DEFAULT 'n';
DROP TABLE gone;
CREATE FUNCTION twice(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 2 * $1';
END
$nodes[2]->start;
is($cluster->sql("SELECT citus_activate_node('127.0.0.1', " . $nodes[2]->port . ')'), '3', 'it is back');
is($nodes[2]->safe_psql('postgres', 'SELECT k, v, note FROM r ORDER BY k'), "1|11|n\n2|2|n", 'rows of reference tables');
is($nodes[2]->safe_psql('postgres', 'SELECT sum(w), sum(v), twice(2) FROM t'), '120|360|4', 'columns and functions');
is($nodes[2]->safe_psql('postgres', 'SELECT * FROM late'), '1|calm', 'tables and types');
is($nodes[2]->safe_psql('postgres', "SELECT to_regclass('gone') IS NULL"), 't', 'what was dropped is gone');
$cluster->sql("SELECT citus_set_node_property('127.0.0.1', " . $nodes[2]->port . ", 'shouldhaveshards', true); SELECT rebalance_table_shards(shard_transfer_mode => 'block_writes')");
is($cluster->sql('SELECT count(DISTINCT nodeport) FROM pg_dist_shard_placement JOIN pg_dist_shard USING (shardid) WHERE logicalrelid = \'t\'::regclass'), '2',
	'shards return');
is($cluster->sql('SELECT sum(w), sum(v) FROM t'), '120|360', 'with all rows');

$cluster->stop;
done_testing();
