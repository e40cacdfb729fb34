# A rebalance in the background goes on through whatever happens: the coordinator or an executor dies at any step, a node is away, it
# is cancelled. Each move has happened once or not at all, its task says which, and nothing is left behind.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep);
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('jobs', workers => 4, conf => <<'END');
citus.defer_shard_delete_interval = '200ms'
citus.recover_2pc_interval = '500ms'
citus.background_task_queue_interval = '1s'
citus.max_background_task_executors = 4
max_worker_processes = 16
END
my $coordinator = $cluster->coordinator;

plan skip_all => 'built without debug points'
  unless eval { $cluster->sql('SELECT pando.debug_point_clear()'); 1 };

$cluster->sql(<<'END');
SET citus.next_shard_id TO 1000;
CREATE TABLE a (k int, v int);
CREATE TABLE b (k int, v int);
SELECT create_distributed_table('a', 'k', colocate_with => 'none', shard_count => 4);
SELECT create_distributed_table('b', 'k', colocate_with => 'none', shard_count => 4);
INSERT INTO a SELECT i, i FROM generate_series(1, 1000) i;
INSERT INTO b SELECT i, i FROM generate_series(1, 1000) i;
CREATE FUNCTION should(g int, s bool) RETURNS void LANGUAGE sql AS
	$$ SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', s) FROM pg_dist_node WHERE groupid = g $$;
END
my $rows = "SELECT (SELECT count(*) || '/' || sum(v) FROM a) || ' ' || (SELECT count(*) || '/' || sum(v) FROM b)";
my $places = "SELECT string_agg(groupid::text, '' ORDER BY shardid) FROM pg_dist_placement";
my $at_executor = "FROM pg_stat_activity WHERE backend_type = 'pando task executor' AND wait_event = 'PgSleep'";

sub job_state { return $cluster->sql("SELECT state FROM citus_job_status($_[0])"); }
sub tasks { return $cluster->sql("SELECT string_agg(status::text, ' ' ORDER BY task_id) FROM pg_dist_background_task WHERE job_id = $_[0]"); }
sub start { return $cluster->sql('SELECT citus_rebalance_start(' . ($_[0] // '') . ')'); }
sub await { $cluster->sql("SET statement_timeout = '180s'; SELECT citus_job_wait($_[0])"); return; }

sub clean
{
	my ($what) = @_;
	my $left;
	for (1 .. 600)
	{
		$left = $cluster->sql('SELECT count(*) FROM pg_dist_cleanup') + $cluster->prepared_count;
		$left += $_->safe_psql('postgres', <<'END') foreach $cluster->nodes;
SELECT (SELECT count(*) FROM pando.move_part) + (SELECT count(*) FROM pg_trigger WHERE tgname = 'pando_move')
	+ (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'pando task executor')
	+ (SELECT count(*) FROM pg_class c, pando.relation_shard_id(c.oid) s WHERE s IS NOT NULL AND relkind IN ('r', 'p')
		AND NOT EXISTS (SELECT FROM pg_dist_placement WHERE shardid = s AND groupid = (SELECT groupid FROM pg_dist_local_group)))
END
		last if $left == 0;
		sleep 0.1;
	}
	is($left, 0, "$what: nothing is left behind");
	is($cluster->sql($rows), '1000/500500 1000/500500', "$what: all rows are there");
	return;
}

# Two groups, four nodes: all shards away from a node and back. Moves of different groups and nodes go side by side.
my ($away, $back) = ("should(1, false)", "should(1, true)");
$coordinator->safe_psql('postgres', "SELECT $away, pando.debug_point_arm('task-before-done', 'wait')");
my $job = start();
ok($coordinator->poll_query_until('postgres', "SELECT count(*) = 1 $at_executor"), 'both moves are from the same node: one at a time');
is(tasks($job), 'running runnable', 'the other one waits for its turn');
like($cluster->sql("SELECT details -> 'tasks' -> 0 ->> 'phase' FROM citus_rebalance_status()"), qr/Completed/, 'the status tells how far the move is');
$cluster->sql('SELECT pando.debug_point_clear()');
await($job);
is(job_state($job), 'finished', 'and the job is done');
clean('a rebalance');
$cluster->sql("SELECT $back");
await(start()) if $cluster->sql('SELECT count(*) FROM get_rebalance_table_shards_plan()') > 0;

# The coordinator dies at each step of a task, or its executor alone does, or is cancelled by hand.
my @points = qw(task-before-command online-after-copy online-before-lock task-before-done);
my $g = 0;
foreach my $point (@points)
{
	foreach my $how ('the coordinator crashes', 'the executor is ended', 'the executor is interrupted', 'the maintenance worker is ended',
		$point eq 'online-after-copy' ? ('the source crashes', 'the target crashes') : ())
	{
		my $what = "$point, $how";
		my $from = 1 + $g++ % 4;
		$cluster->sql("SELECT should($from, false), pando.debug_point_arm('$point', 'wait')");
		$job = start("drain_only => true");
		$coordinator->poll_query_until('postgres', "SELECT count(*) > 0 $at_executor") or die "$point is not reached";
		if ($how =~ /coordinator/)
		{
			$cluster->kill_server(0);
			$coordinator->start;
		}
		elsif ($how =~ /(source|target)/)
		{
			my $port = $cluster->sql("SELECT $1port FROM get_rebalance_progress() WHERE status = 'Copying Data' LIMIT 1");
			my ($i) = grep { ($cluster->nodes)[$_]->port == $port } 1 .. 4;
			$cluster->kill_server($i);
			$cluster->worker($i)->start;
		}
		elsif ($how =~ /maintenance/)
		{
			$cluster->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'pando maintenance worker' AND datname = 'postgres'");
		}
		else
		{
			my $function = $how =~ /ended/ ? 'pg_terminate_backend' : 'pg_cancel_backend';
			$cluster->sql("SELECT $function(pid::int) $at_executor");
		}
		$cluster->sql('SELECT pando.debug_point_clear()');
		await($job);
		is(job_state($job), 'finished', "$what: the job goes on to its end");
		unlike($cluster->sql($places), qr/$from/, "$what: all shards have moved");
		clean($what);
		$cluster->sql("SELECT should($from, true)");
	}
}
await(start()) if $cluster->sql('SELECT count(*) FROM get_rebalance_table_shards_plan()') > 0;

# Cancelled at each step: what has moved stays, the rest is as it was.
foreach my $point (@points)
{
	$cluster->sql("SELECT $away, pando.debug_point_arm('$point', 'wait')");
	my $before = $cluster->sql($places);
	$job = start("drain_only => true");
	$coordinator->poll_query_until('postgres', "SELECT count(*) > 0 $at_executor") or die "$point is not reached";
	$cluster->sql('SELECT citus_rebalance_stop()');
	like(job_state($job), qr{^cancell(ing|ed)$}, "$point: it is being cancelled");
	$cluster->sql('SELECT pando.debug_point_clear()') if $point eq 'task-before-done';
	await($job);
	$cluster->sql('SELECT pando.debug_point_clear()');
	is(job_state($job), 'cancelled', "$point: and then is");
	like(tasks($job), qr/^cancelled( cancelled)*$/, "$point: no task will run");
	is($cluster->sql($places), $before, "$point: nothing has moved");
	clean("$point, cancelled");
	$cluster->sql("SELECT $back");
}

# A node that is away: the task is tried again until it is back, and says why.
$cluster->sql("SELECT $away");
$cluster->worker(1)->stop('immediate');
$job = start("drain_only => true");
ok($coordinator->poll_query_until('postgres', "SELECT max(retry_count) > 1 FROM pg_dist_background_task WHERE job_id = $job"), 'a task that fails is tried again');
like($cluster->sql("SELECT min(message) FROM pg_dist_background_task WHERE job_id = $job"), qr/ERROR: .*127.0.0.1:${\$cluster->worker(1)->port}/, 'it says which node is away');
is(job_state($job), 'running', 'the job goes on');
$cluster->worker(1)->start;
await($job);
is(job_state($job), 'finished', 'and ends when the node is back');
clean('a node away');
$cluster->sql("SELECT $back");
await(start()) if $cluster->sql('SELECT count(*) FROM get_rebalance_table_shards_plan()') > 0;

# In the foreground, as a statement of its own: each move is online and stays when a later one fails; a cancel undoes the one under way.
my $rebalance = 'SELECT rebalance_table_shards(drain_only => true)';
$cluster->sql("SELECT $away");
my $from_1 = "SELECT count(*) FROM pg_dist_placement WHERE groupid = 1";
my $first = $cluster->sql($from_1);
$coordinator->safe_psql('postgres', "SELECT pando.debug_point_arm('rebalance-after-move', 'error')");
isnt(scalar(($coordinator->psql('postgres', $rebalance))[0]), 0, 'a rebalance that fails after its first move');
$cluster->sql('SELECT pando.debug_point_clear()');
is($cluster->sql($from_1), $first - 1, 'has moved one shard');
clean('a failed rebalance');
$cluster->sql("BEGIN; $rebalance; ROLLBACK");
is($cluster->sql($from_1), $first - 1, 'in a transaction block its end decides');
foreach my $how ('cancel', 'go on')
{
	$cluster->sql("SELECT pando.debug_point_arm('online-before-lock', 'wait')");
	my $psql = $cluster->start($coordinator, $rebalance);
	$coordinator->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'") or die 'no move';
	is($cluster->sql("SET lock_timeout = '5s'; UPDATE a SET v = v; UPDATE b SET v = v; SELECT 1"), 1, "$how: writers go on");
	is($cluster->sql('SELECT count(DISTINCT sessionid) FROM get_rebalance_progress()'), $first - 1 > 1 ? 2 : 1, "$how: progress shows what moves and what waits");
	$cluster->sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'psql_started' AND query LIKE 'SELECT rebalance_table_shards%'") if $how eq 'cancel';
	$psql->{handle}->finish if $how eq 'cancel';
	$cluster->sql('SELECT pando.debug_point_clear()');
	$psql->{handle}->finish if $how ne 'cancel';
	is($cluster->sql($from_1), $how eq 'cancel' ? $first - 1 : 0, "$how: where the shards are");
	clean($how);
}
$cluster->sql("SELECT $back");

# Of different groups and nodes they go side by side.
await(start()) if $cluster->sql('SELECT count(*) FROM get_rebalance_table_shards_plan()') > 0;
$cluster->sql("SELECT should(g, false) FROM unnest('{1,2}'::int[]) g; SELECT pando.debug_point_arm('online-before-lock', 'wait')");
my $side = $cluster->start($coordinator, $rebalance);
ok($coordinator->poll_query_until('postgres', "SELECT count(*) = 2 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"), 'moves of different groups and nodes go side by side');
$cluster->sql('SELECT pando.debug_point_clear()');
$side->{handle}->finish;
unlike($side->{err}, qr/ERROR/, 'and succeed');
unlike($cluster->sql($places), qr/[12]/, 'all of them');
clean('side by side');
$cluster->sql("SELECT should(g, true) FROM unnest('{1,2}'::int[]) g");

# A task's executor can't begin: its owner may not connect. It can later.
$cluster->sql(<<'END');
CREATE ROLE mover LOGIN;
REVOKE CONNECT ON DATABASE postgres FROM public;
INSERT INTO pg_dist_background_job (job_type, description) VALUES ('own', 'commands');
INSERT INTO pg_dist_background_task (job_id, owner, command) SELECT max(job_id), 'mover', 'SELECT 1' FROM pg_dist_background_job;
END
$job = $cluster->sql('SELECT max(job_id) FROM pg_dist_background_job');
ok($coordinator->poll_query_until('postgres', "SELECT retry_count > 0 AND message ~ 'could not begin' FROM pg_dist_background_task WHERE job_id = $job"), 'an executor that can not begin is noticed');
$cluster->sql('GRANT CONNECT ON DATABASE postgres TO public');
await($job);
is(job_state($job), 'finished', 'and started again');

$cluster->stop;
done_testing();
