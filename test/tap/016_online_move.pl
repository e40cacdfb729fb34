# Shards that move while they are written to: nothing is lost or doubled, whether tables have keys or
# not; writers wait for the switch alone, and never for long; and whatever interrupts a move at whichever step, it leaves nothing behind.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep);
use lib '.';
use PandoMoves;
use PandoWire;

my $cluster = moves_cluster('online_move', network => 1);
my $coordinator = $cluster->coordinator;
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

# Whoever reads what has moved doesn't have to note for each row that it has committed; values of columns with lengths come as they are.
$cluster->sql(<<'END');
CREATE DOMAIN short varchar(4);
CREATE TABLE lengths (k int, c char(5), v varchar(3), n numeric(6, 2), b bit(3), t timestamp(1), i interval(0), a varchar(2)[], d short);
SELECT create_distributed_table('lengths', 'k', colocate_with => 'parent');
INSERT INTO lengths SELECT i, 'é' || i % 100, 'äöü', i / 3.0, '101', '2000-01-01 00:00:00.26', '1.7 s', '{ab,c}', 'äöüß' FROM generate_series(1, 300) i;
CREATE TABLE plain_lengths AS SELECT * FROM lengths;
SELECT citus_add_local_table_to_metadata('plain_lengths');
END
foreach my $move ([ 2, 'force_logical' ], [ 1, 'block_writes' ])
{
	my ($to, $mode) = @$move;
	my $lengths = $cluster->sql('SELECT shard_name(logicalrelid, shardid) FROM pg_dist_shard WHERE logicalrelid = \'lengths\'::regclass ORDER BY shardid LIMIT 1');
	$cluster->sql(move_to($to, $mode));
	$cluster->worker($to)->safe_psql('postgres', 'CHECKPOINT');
	unlike($cluster->worker($to)->safe_psql('postgres', "SET citus.override_table_visibility = off; EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM $lengths"), qr/loops=1\)\s+Buffers: .*dirtied/, "$mode: rows are frozen");
	is($cluster->sql('SELECT count(*) FROM ((TABLE lengths EXCEPT ALL TABLE plain_lengths) UNION ALL (TABLE plain_lengths EXCEPT ALL TABLE lengths)) s'), '0', "$mode: values are the same");
	like(($coordinator->psql('postgres', "UPDATE lengths SET v = v || 'x'"))[2], qr/value too long for type character varying\(3\)/, "$mode: lengths hold");
}
$cluster->sql('DROP TABLE lengths, plain_lengths; DROP DOMAIN short');

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

# A transaction that has read and then writes is none that the switch and it would wait for each other.
my $reader = PandoWire->connect($coordinator->port);
$reader->query($_) foreach "SET deadlock_timeout = '10ms'", 'BEGIN', 'SELECT count(*) FROM bare';
$psql = $cluster->start($coordinator, move_to(2));
$coordinator->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks WHERE relation = 'bare'::regclass AND NOT granted") or die;
is($reader->query('UPDATE bare SET v = v WHERE k = 1')->{error}, undef, 'who has read may write during a switch');
$reader->query('COMMIT');
$psql->{handle}->finish;
is($psql->{err}, '', 'and the move succeeds afterwards');
same('a reader that writes');
$cluster->sql(move_to(1));

# Several moves of one transaction: writers go on until it does something else, or ends. A savepoint that is rolled back takes with
# it what was switched to in it, or made.
my @both = split /\n/, $cluster->sql("SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'bare'::regclass ORDER BY 1");
my $places = 'SELECT string_agg(groupid::text, \' \' ORDER BY shardid) FROM pg_dist_placement WHERE shardid IN (' . join(', ', @both) . ')';

sub one_move
{
	my ($which, $to) = @_;
	return "SELECT citus_move_shard_placement($both[$which], s.nodeid, t.nodeid, 'force_logical') FROM pg_dist_node s JOIN pg_dist_placement USING (groupid), pg_dist_node t
		WHERE shardid = $both[$which] AND t.groupid = $to";
}

my $mover = PandoWire->connect($coordinator->port);
$mover->query('BEGIN');
foreach my $i (0, 1)
{
	is($mover->query(one_move($i, 0))->{error}, undef, "several moves: shard $i is moved online");
	is(change($cluster->worker($i + 1)), '', "several moves: writers go on after shard $i");
}
$mover->query('SAVEPOINT s');
is($mover->value($places), '0 0', 'several moves: the transaction sees where they are');
$mover->query('ROLLBACK TO s');
is(change(), '', 'several moves: it has not happened, and writers go on');
is($mover->query('COMMIT')->{error}, undef, 'several moves: they succeed');
is($cluster->sql($places), '0 0', 'several moves: both shards are there');
same('several moves');
clean('several moves');
# COMMIT lets those go first that it would have to wait for.
$reader->query($_) foreach 'BEGIN', 'SELECT count(*) FROM bare';
$mover->query($_) foreach 'BEGIN', one_move(0, 1);
$mover->send('COMMIT');
$coordinator->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks WHERE relation = 'bare'::regclass AND NOT granted") or die;
$coordinator->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_locks WHERE relation = 'bare'::regclass AND NOT granted") or die;
is(change(), '', 'several moves: at COMMIT others write while a reader is in the way');
$reader->query('COMMIT');
is($mover->answer->{error}, undef, 'several moves: it succeeds when the reader is gone');
is($cluster->sql($places), '1 0', 'several moves: with what it moved');
$mover->query(one_move(0, 0));
$mover->query($_) foreach 'BEGIN', one_move(0, 1), 'SAVEPOINT s', one_move(1, 2), 'ROLLBACK TO s', 'COMMIT';
is($cluster->sql($places), '1 0', 'a move that is rolled back has not happened, the one before it has');
same('a savepoint');
clean('a savepoint');
$mover->query($_) foreach 'BEGIN', one_move(0, 2), one_move(1, 2), 'ROLLBACK';
is($cluster->sql($places), '1 0', 'nor has any of a transaction that is rolled back');
clean('a rollback');
$mover->query($_) foreach 'BEGIN', one_move(0, 2), 'UPDATE bare SET v = v WHERE k = 1';
like($mover->query(one_move(1, 2))->{error}, qr/^0A000/, 'after a write moves are not online');
$mover->query('ROLLBACK');
clean('a write after a move');
$mover->query('DO $$ BEGIN PERFORM citus_move_shard_placement(shardid, s.nodeid, t.nodeid, \'force_logical\') FROM pg_dist_placement JOIN pg_dist_node s USING (groupid), pg_dist_node t
	WHERE shardid IN (' . join(', ', @both) . ') AND t.groupid = 2; END $$');
is($cluster->sql($places), '2 2', 'several moves of one statement in a function');
same('a function');
clean('a function');
$cluster->sql(one_move(0, 1));

# How far it is.
$psql = $cluster->start_at($coordinator, 'online-after-rounds', move_to(2));
is($cluster->sql("SELECT DISTINCT source_lsn >= target_lsn, target_lsn > '0/0', status FROM get_rebalance_progress()"), 't|t|Catching Up', 'progress tells where both are');
is($cluster->sql("SELECT rows_copied > 100, bytes_copied > rows_copied, bytes_per_second > 0, started_at < now() FROM pando.move_progress()"), 't|t|t|t', 'and how fast');
$cluster->sql('SELECT pando.debug_point_clear()');
$psql->{handle}->finish;
$cluster->sql(move_to(1));

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
foreach my $i (1, 2)
{
	interrupt('online-after-copy', 'the network to the ' . ($i == 1 ? 'source' : 'target') . ' is cut', sub {
		my ($run) = @_;
		$cluster->network->cut($i, 'drop');
		$cluster->sql('SELECT pando.debug_point_clear()');
		sleep 0.5;
		$cluster->network->cut($i, 'reset');
		eval { $run->{handle}->finish };
		$cluster->network->heal($i);
	});
}
$cluster->sql(move_to(2));
same('after all of them');

# What somebody who is gone has left prepared on a node holds no lock but on the shard. Who takes the rows elsewhere waits until it is settled.
foreach my $what (qw(force_logical block_writes undistribute))
{
	$cluster->sql(move_to(2)) if place() != 2;
	$cluster->sql("DROP TABLE IF EXISTS back; CREATE TABLE back (k int, v int); SELECT create_distributed_table('back', 'k', colocate_with => 'bare')");
	my $left = $cluster->sql("SELECT k FROM generate_series(1000, 2000) k WHERE get_shard_id_for_distribution_column('bare', k) = $shard LIMIT 1");
	my $back = $cluster->sql("SELECT get_shard_id_for_distribution_column('back', $left)");
	my $source = $cluster->worker(2);
	my $run = $what eq 'undistribute' ? "SELECT undistribute_table('back')" : move_to(1, $what);
	$psql = $cluster->start_at($coordinator, 'online-before-lock', $run) if $what eq 'force_logical';
	$source->safe_psql('postgres', "BEGIN; INSERT INTO bare_$shard VALUES ($left, 0); INSERT INTO back_$back VALUES ($left, 0); PREPARE TRANSACTION 'left'");
	$cluster->sql('SELECT pando.debug_point_clear()');
	$psql = $cluster->start($coordinator, $run) if $what ne 'force_logical';
	$source->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ '(bare_$shard|back_$back|shards_drop)'") or die;
	$source->safe_psql('postgres', "COMMIT PREPARED 'left'");
	$psql->{handle}->finish;
	unlike($psql->{err}, qr/ERROR/, "$what: succeeds when the transaction is settled");
	is($cluster->sql("SELECT count(*) FROM $_ WHERE k = $left"), '1', "$what: what the transaction wrote is in $_") foreach qw(bare back);
	$cluster->sql("DELETE FROM bare WHERE k = $left");
	clean($what);
}
$cluster->sql('DROP TABLE back');

# While writers never stop.
beside_writers('beside moves', 9, sub { $cluster->sql(move_to($_, 'auto')) foreach 1, 0, 2 });

# The rights of an owner do.
$cluster->sql(<<'END');
CREATE ROLE mover LOGIN;
CREATE SCHEMA AUTHORIZATION mover;
SET SESSION AUTHORIZATION mover;
SET citus.shard_count TO 1;
SET citus.next_shard_id TO 9000;
CREATE TABLE mover.own (k int, v int, place char(3));
SELECT create_distributed_table('mover.own', 'k', colocate_with => 'none');
INSERT INTO mover.own SELECT i, i, 'a' FROM generate_series(1, 100) i;
END
my $from = $cluster->sql('SELECT groupid FROM pg_dist_placement WHERE shardid = 9000');
$cluster->sql("SET SESSION AUTHORIZATION mover; SELECT citus_move_shard_placement(9000, s.nodename, s.nodeport, t.nodename, t.nodeport, 'force_logical')
	FROM pg_dist_node s, pg_dist_node t WHERE s.groupid = $from AND t.groupid = 3 - $from");
is($cluster->sql('SELECT count(*) FROM mover.own'), '100', 'an owner moves his table');
clean('an owner');
$cluster->sql("SET SESSION AUTHORIZATION mover; SELECT citus_move_shard_placement(9000, t.nodename, t.nodeport, s.nodename, s.nodeport, 'block_writes')
	FROM pg_dist_node s, pg_dist_node t WHERE s.groupid = $from AND t.groupid = 3 - $from");
is($cluster->sql("SELECT count(*) FROM mover.own WHERE place = 'a'"), '100', 'and back, while writers wait');
clean('an owner, blocking');
like(($cluster->worker(3 - $from)->psql('postgres', "SET SESSION AUTHORIZATION mover; SELECT pando.move_receive('mover.own', 9000, true);
COPY pg_temp.pando_all_rows_9000 FROM STDIN;
(0,1)\t1\t1
\\."))[2], qr/permission denied for function pando.move_receive\(\)/, 'nor can he use what moves use, past constraints and snapshots');
is($cluster->sql('SELECT count(*) FROM mover.own'), '100', 'and nothing has come');

# But not past policies that would hide rows from him.
$cluster->sql('SET SESSION AUTHORIZATION mover; CREATE POLICY few ON mover.own USING (k < 10);
	ALTER TABLE mover.own ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY');
foreach my $mode (qw(force_logical block_writes))
{
	my $move = "SELECT citus_move_shard_placement(9000, s.nodename, s.nodeport, t.nodename, t.nodeport, '$mode')
		FROM pg_dist_placement p JOIN pg_dist_node s USING (groupid), pg_dist_node t WHERE shardid = 9000 AND t.groupid = 3 - p.groupid";
	my ($ret, $answer, $hidden) = $coordinator->psql('postgres', "SET SESSION AUTHORIZATION mover; $move");
	like($hidden, qr/ERROR:  cannot copy all rows of table mover.own/, "$mode: an owner under row-level security is refused");
	$cluster->sql($move);
	is($cluster->sql('SELECT count(*) FROM mover.own'), '100', "$mode: a superuser moves all rows");
}
clean('row-level security');

# A transaction that keeps a snapshot from before a move can't see the rows that came with it: it is told so.
$cluster->sql("CREATE TABLE $_ (k int); SELECT create_distributed_table('$_', 'k', shard_count => 2, colocate_with => 'none'); INSERT INTO $_ SELECT generate_series(1, 40)") foreach qw(early late);
foreach my $mode (qw(force_logical block_writes))
{
	my ($moved, $target) = split /\|/, $cluster->sql("SELECT shardid, 3 - groupid FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) WHERE logicalrelid = 'late'::regclass AND groupid > 0 ORDER BY 1 LIMIT 1");
	my $wire = PandoWire->connect($cluster->worker($target)->port);
	$wire->query($_) foreach 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT count(*) FROM early';
	$cluster->sql("SELECT citus_move_shard_placement($moved, s.nodename, s.nodeport, t.nodename, t.nodeport, '$mode') FROM pg_dist_node s, pg_dist_node t WHERE s.groupid = 3 - $target AND t.groupid = $target");
	like($wire->query('SELECT count(*) FROM late')->{error}, qr/^40001/, "$mode: a shard that came after the snapshot");
	$wire->query('ROLLBACK');
	is($wire->value('SELECT count(*) FROM late'), '40', "$mode: the next transaction sees it");

	# Nor the rows of one that was there, went and came back.
	$wire->query($_) foreach 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT count(*) FROM early';
	$cluster->sql("SELECT citus_move_shard_placement($moved, s.nodename, s.nodeport, t.nodename, t.nodeport, '$mode') FROM pg_dist_node s, pg_dist_node t WHERE s.groupid = $_ AND t.groupid = 3 - $_") foreach $target, 3 - $target;
	like($wire->query('SELECT count(*) FROM late')->{error}, qr/^40001/, "$mode: a shard that went and came back");
	$wire->query('ROLLBACK');
}

# Nor while nodes learn one after the other that it has come.
early_table($_) foreach 0, 2;
foreach my $mode (qw(force_logical block_writes))
{
	$cluster->sql(move_to(2, 'block_writes')) if place() != 2;
	read_at_commit("$mode, the leading node is the target", 0, leader_last(move_to(0, $mode)));
}

# The leading node is lost when it has committed, and the target is settled last.
read_at_commit('the leading node crashes', 2, sub {
	my $psql = $cluster->start_at($coordinator, 'commit-before-second-phase', move_to(2));
	$cluster->worker(2)->safe_psql('postgres', "SELECT pando.debug_point_arm('node-before-commit-prepared', 'error'), pando.debug_point_arm('doubt-before-settle', 'wait')");
	kill 'KILL', $psql->{pid};
	eval { $psql->{handle}->finish };
	ok($cluster->worker(1)->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_prepared_xacts'), 'the reader\'s node is settled');
	is($cluster->worker(2)->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), '1', 'the target is not');
	return sub {
		$_->safe_psql('postgres', 'SELECT pando.debug_point_clear()') foreach $cluster->nodes;
		ok($cluster->settled, 'the target is settled');
	};
});

$cluster->stop;
done_testing();
