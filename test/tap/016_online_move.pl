# Shards that move while they are written to: nothing is lost or doubled, whether tables have keys or
# not; writers wait for the switch alone, and never for long; and whatever interrupts a move at whichever step, it leaves nothing behind.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use lib '.';
use PandoCluster;
use PandoMoves;

my $cluster = PandoCluster->new('online_move', workers => 2, conf => <<'END');
citus.defer_shard_delete_interval = '200ms'
citus.recover_2pc_interval = '500ms'
END
my $coordinator = $cluster->coordinator;

plan skip_all => 'built without debug points'
  unless eval { $cluster->sql('SELECT pando.debug_point_clear()'); 1 };

make_group($cluster);
my $shard = $cluster->sql("SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'bare'::regclass ORDER BY 1 LIMIT 1");

sub place { return $cluster->sql("SELECT groupid FROM pg_dist_placement WHERE shardid = $shard"); }

sub move_to
{
	my ($to, $mode) = @_;
	my $from = place();
	return "SELECT citus_move_shard_placement($shard, s.nodename, s.nodeport, t.nodename, t.nodeport, '"
	  . ($mode // 'force_logical')
	  . "') FROM pg_dist_node s, pg_dist_node t WHERE s.groupid = $from AND t.groupid = $to";
}

# To and from every node, the coordinator among them, with changes at each step. At the last two writers wait.
my @points = qw(online-after-create online-after-capture online-after-copy online-after-indexes online-after-rounds online-before-lock);
foreach my $to (2, 0, 1)
{
	foreach my $point (@points)
	{
		my $psql = $cluster->start_at($coordinator, $point, move_to($to));
		is(change($cluster->worker(1)), '', "to $to, $point: writers go on, on a worker");
		is(change(), '', "to $to, $point: and on the coordinator");
		$cluster->sql('SELECT pando.debug_point_clear()');
		$psql->{handle}->finish;
		is($psql->{err}, '', "to $to, $point: the move succeeds");
		is(place(), $to, "to $to, $point: the shard is there");
		same("to $to, $point");
		clean("to $to, $point");
		last if $to != 2;
		$cluster->sql(move_to(1, 'block_writes'));
	}
	$cluster->sql(move_to($to)) if place() != $to;
}
$cluster->sql(move_to(1)) if place() != 1;

my $psql = $cluster->start_at($coordinator, 'online-after-last-round', move_to(2));
like(scalar(change()), qr/lock timeout/, 'writers wait for the switch');
$cluster->sql('SELECT pando.debug_point_clear()');
$psql->{handle}->finish;
is($psql->{err}, '', 'the move succeeds');
same('a writer that gave up');
is($cluster->sql("SELECT count(*) FROM (SELECT * FROM run_command_on_placements('child', \$\$SELECT bool_and(convalidated) FROM pg_constraint WHERE conrelid = '%s'::regclass AND contype = 'f'\$\$)) s WHERE result <> 't'"), '0', 'foreign keys are there, and valid');
isnt(scalar(($coordinator->psql('postgres', "INSERT INTO child SELECT -i, 0 FROM generate_series(1, 20) i"))[0]), 0, 'and hold');
$cluster->sql(move_to(1));

# A transaction that writes before the rows are copied and commits when they have been, and changes have. Rounds look at
# nothing but notes that are new to them.
my $psql_waits = "FROM pg_stat_activity WHERE wait_event = 'advisory' AND application_name = 'psql_started'";
my $key = $cluster->start($coordinator, "SET application_name = 'key'; SELECT pg_advisory_lock(77); SELECT pg_sleep(300)");
$coordinator->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 77 AND granted") or die;
$cluster->worker(1)->safe_psql('postgres', "SELECT pg_stat_reset_single_table_counters('pando.move_change'::regclass)");
$psql = $cluster->start_at($coordinator, 'online-after-capture', move_to(2));
my $writer = $cluster->start($coordinator, change_sql() . ' SELECT pg_advisory_xact_lock(77); COMMIT');
$coordinator->poll_query_until('postgres', "SELECT count(*) = 1 $psql_waits") or die;
$cluster->sql("SELECT pando.debug_point_clear(); SELECT pando.debug_point_arm('online-before-lock', 'wait')");
$coordinator->poll_query_until('postgres', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $psql->{pid} AND EXISTS (SELECT FROM get_rebalance_progress() WHERE status = 'Catching Up')") or die;
$cluster->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'key'");
$writer->{handle}->finish;
is($writer->{err}, '', 'a writer that began before the copy commits after it');
$cluster->sql("SELECT pando.debug_point_clear(); SELECT pando.debug_point_arm('online-after-last-round', 'wait')");
my $read = '';
for (1 .. 60)
{
	$read = $cluster->worker(1)->safe_psql('postgres', "SELECT seq_tup_read, idx_scan > 0 FROM pg_stat_all_tables WHERE relid = 'pando.move_change'::regclass");
	last if $read eq '0|t';
	sleep 0.5;
}
is($read, '0|t', 'a round does not read all notes');
$cluster->sql('SELECT pando.debug_point_clear()');
$psql->{handle}->finish;
is($psql->{err}, '', 'and the move succeeds');
eval { $key->{handle}->finish };
same('a writer over the rounds');
clean('a writer over the rounds');
$cluster->sql(move_to(1));

# Transactions that hold a lock for long hold up the switch, not others.
sub hold { return $cluster->start($coordinator, "SET application_name = 'holder'; BEGIN; $_[0]; SELECT pg_sleep(1000)"); }

sub holder_pid
{
	my $there = "FROM pg_stat_activity WHERE application_name = 'holder' AND wait_event = 'PgSleep'";
	$coordinator->poll_query_until('postgres', "SELECT count(*) = 1 $there") or die;
	return $cluster->sql("SELECT pid $there");
}

foreach my $held (
	[ 'a writer', "UPDATE bare SET v = v WHERE k = 1", 'RowExclusiveLock' ],
	[ 'a reader', 'SELECT count(*) FROM bare', 'AccessShareLock' ])
{
	my ($what, $sql, $lock) = @$held;
	my $holder = hold($sql);
	my $pid = holder_pid();
	my ($ret, $out, $err) = $coordinator->psql('postgres', "SET lock_timeout = '2s'; " . move_to(2));
	like($err, qr/could not lock the tables colocated with public.bare for long enough to move shards.*process $pid holds $lock on table public.bare/s,
		"$what for long: the move says who it is");
	is(place(), 1, "$what for long: the shard is where it was");
	$cluster->sql("SELECT pg_terminate_backend($pid)");
	eval { $holder->{handle}->finish };

	my $move = $cluster->start_at($coordinator, 'online-after-indexes', move_to(2));
	$holder = hold($sql);
	$pid = holder_pid();
	$cluster->sql('SELECT pando.debug_point_clear()');
	$coordinator->poll_query_until('postgres', "SELECT count(*) > 0 FROM get_rebalance_progress() WHERE status = 'Catching Up'") or die;
	for (1 .. 4)
	{
		my ($r, $o, $e) = $coordinator->psql('postgres',
			"SET lock_timeout = '60s'; BEGIN; UPDATE bare SET v = v + 1 WHERE k = 3; UPDATE plain_bare SET v = v + 1, twice = (v + 1) * 2 WHERE k = 3; COMMIT",
			on_error_stop => 1);
		is($e, '', "$what for long: others write");
		sleep 0.5;
	}
	$cluster->sql("SELECT pg_terminate_backend($pid)");
	$move->{handle}->finish;
	is($move->{err}, '', "$what for long: the move succeeds when it is over");
	is(place(), 2, "$what for long: the shard has moved");
	eval { $holder->{handle}->finish };
	same("$what for long");
	clean("$what for long");
	$cluster->sql(move_to(1));
}

# Interrupted at each step.
sub interrupt
{
	my ($point, $kind, $how) = @_;
	my $what = "$kind, $point";
	my $run = $cluster->start_at($coordinator, $point, move_to(2));
	is(change(), '', "$what: a writer before it") unless $point =~ /last-round|before-switch/;
	$how->($run);
	eval { $run->{handle}->finish };
	ok($cluster->settled, "$what: nothing stays prepared");
	is(place(), 1, "$what: the shard is where it was");
	clean($what);
	is(change(), '', "$what: it can be written");
	same($what);
	return;
}

my @all = ('online-after-record', @points[ 0 .. 3 ], qw(online-after-last-round move-before-switch));
foreach my $point (@all)
{
	interrupt($point, 'the coordinator crashes', sub { $cluster->kill_server(0); $coordinator->start; });
	interrupt($point, 'a cancel', sub { $cluster->sql("SELECT pg_cancel_backend($_[0]{pid})"); $_[0]{handle}->finish; $cluster->sql('SELECT pando.debug_point_clear()'); });
}
foreach my $point (qw(online-after-capture online-after-copy online-after-last-round))
{
	foreach my $i (1, 2)
	{
		interrupt($point, $i == 1 ? 'the source crashes' : 'the target crashes', sub {
			$cluster->kill_server($i);
			$cluster->worker($i)->start;
			$cluster->sql('SELECT pando.debug_point_clear()');
		});
	}
}
$cluster->sql(move_to(2));
same('after all of them');

# While writers never stop.
my $script = writer_script();
my ($out, $err) = ('', '');
my $writers = IPC::Run::start([ 'pgbench', '-n', '-h', '127.0.0.1', '-p', $coordinator->port, '-f', $script, '-c', 3, '-T', 12, 'postgres' ],
	'<', \'', '>', \$out, '2>', \$err, IPC::Run::timeout(120));
my $end = time + 9;
my $moves = 0;
while (time < $end)
{
	foreach my $to (1, 0, 2)
	{
		$cluster->sql(move_to($to, 'auto'));
		$moves++;
	}
}
$writers->finish;
unlike($err, qr/aborted|ERROR/, "writers beside moves meet no error");
like($out, qr/failed transactions: 0 /, 'and none fails');
cmp_ok($moves, '>', 2, "shards moved beside them");
same('beside writers');
clean('beside writers');

# The rights of an owner do.
$cluster->sql(<<'END');
CREATE ROLE mover LOGIN;
CREATE SCHEMA AUTHORIZATION mover;
SET SESSION AUTHORIZATION mover;
SET citus.shard_count TO 1;
SET citus.next_shard_id TO 9000;
CREATE TABLE mover.own (k int, v int);
SELECT create_distributed_table('mover.own', 'k', colocate_with => 'none');
INSERT INTO mover.own SELECT i, i FROM generate_series(1, 100) i;
END
my $from = $cluster->sql('SELECT groupid FROM pg_dist_placement WHERE shardid = 9000');
$cluster->sql("SET SESSION AUTHORIZATION mover; SELECT citus_move_shard_placement(9000, s.nodename, s.nodeport, t.nodename, t.nodeport, 'force_logical')
	FROM pg_dist_node s, pg_dist_node t WHERE s.groupid = $from AND t.groupid = 3 - $from");
is($cluster->sql('SELECT count(*) FROM mover.own'), '100', 'an owner moves his table');
clean('an owner');

$cluster->stop;
done_testing();
