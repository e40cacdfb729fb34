# The commands of a published tuning guide, with the settings' prefix that they have here: reading plans, settings, steps with
# intermediate results, inserts, staging tables, COPY. Meanwhile shards of all its tables move online and pgbench runs, from the first
# command to the last: each command says what it says in peace, and pgbench fails no transaction.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep time);
use lib '.';
use PandoCluster;
use PandoNemesis;

my $cluster = PandoCluster->new('guide', workers => 2);
my $node = $cluster->coordinator;
my $directory = $node->basedir;
my $stop = "$directory/stop";
$ENV{PGHOST} = '127.0.0.1';
$ENV{PGPORT} = $node->port;
$ENV{PGDATABASE} = 'postgres';

# What psql prints of a script.
sub run
{
	my ($name, $sql) = @_;
	my ($result, $out, $err) = $node->psql('postgres', $sql, timeout => 120);
	is($result, 0, $name) or diag($err);
	return $out;
}

# The same for what distributes a table: to join a group whose shards are just moved is refused, and is tried again.
sub run_between_moves
{
	my ($name, $sql) = @_;
	for (1 .. 100)
	{
		my ($result, $out, $err) = $node->psql('postgres', "BEGIN; $sql; COMMIT", timeout => 120, on_error_stop => 1);
		return is($result, 0, $name) || diag($err) if $err !~ /cannot colocate .* now/;
		sleep 0.1;
	}
	return fail("$name: moves leave no time for it");
}

$node->append_conf('postgresql.conf', 'citus.shard_count = 8');
$node->reload;
run('tables and their rows', <<'SQL');
CREATE TABLE github_events (event_id bigint, event_type text, event_public boolean, repo_id bigint, payload jsonb, created_at timestamp);
SELECT create_distributed_table('github_events', 'repo_id');
INSERT INTO github_events SELECT n, CASE n % 3 WHEN 0 THEN 'PushEvent' ELSE 'WatchEvent' END, true, n % 97,
	jsonb_build_object('distinct_size', n % 5), timestamp '2020-01-01' + n * interval '1 second' FROM generate_series(1, 6000) n;
CREATE TABLE page_views (tenant_id int, page_id int, host_ip inet, view_time timestamp DEFAULT now());
SELECT create_distributed_table('page_views', 'tenant_id');
CREATE INDEX view_tenant_idx ON page_views (tenant_id);
INSERT INTO page_views SELECT n % 10, n, '10.0.0.1', now() - (n % 14 + 0.5) * interval '1 day' FROM generate_series(1, 10000) n;
CREATE SCHEMA bench;
SQL

# pgbench's own tables are in the group of page_views, whose shards move.
{
	local $ENV{PGOPTIONS} = '-c search_path=bench';
	$node->command_ok([ 'pgbench', '-q', '-i', '-I', 'tp' ], 'tables of pgbench');
	run('they are distributed', <<'SQL');
SELECT create_distributed_table('bench.pgbench_accounts', 'aid');
SELECT create_distributed_table('bench.pgbench_branches', 'bid');
SELECT create_distributed_table('bench.pgbench_tellers', 'tid');
SELECT create_distributed_table('bench.pgbench_history', 'aid');
SQL
	$node->command_ok([ 'pgbench', '-q', '-i', '-I', 'g' ], 'rows of pgbench');
}

# The benchmark, and one after the other moves of all groups, until the file is there.
my ($bench) = PandoNemesis::clients(1, sub {
	local $ENV{PGOPTIONS} = '-c search_path=bench';
	my $count = 0;
	while (!-e $stop)
	{
		my ($out, $err);
		IPC::Run::run([ 'pgbench', '-n', '-c', '2', '-R', '60', '-T', '2' ], '>', \$out, '2>', \$err) or die $err;
		die $out if $out !~ /number of failed transactions: 0 /;
		$count += $1 if $out =~ /transactions actually processed: (\d+)/;
	}
	PostgreSQL::Test::Utils::append_to_file("$directory/bench", $count);
});
my ($mover) = PandoNemesis::clients(1, sub {
	my $moved = 0;
	while (!-e $stop)
	{
		my $sql = $node->safe_psql('postgres', <<'SQL');
SELECT format('SELECT citus_move_shard_placement(%s, %L, %s, %L, %s, %L)', shardid, s.nodename, s.nodeport, t.nodename, t.nodeport, 'force_logical')
FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node s USING (groupid), pg_dist_node t
WHERE logicalrelid IN ('page_views'::regclass, 'github_events'::regclass) AND t.groupid NOT IN (0, s.groupid) ORDER BY random() LIMIT 1
SQL
		$node->safe_psql('postgres', $sql);
		$moved++;
	}
	PostgreSQL::Test::Utils::append_to_file("$directory/mover", $moved);
});

# Reading plans.
my $query = <<'SQL';
 SELECT date_trunc('minute', created_at) AS minute,
        sum((payload->>'distinct_size')::int) AS num_commits
   FROM github_events
  WHERE event_type = 'PushEvent'
  GROUP BY minute
  ORDER BY minute;
SQL
my $plan = run('EXPLAIN VERBOSE', "EXPLAIN VERBOSE $query");
like($plan, qr/Custom Scan \(Citus Adaptive\).*Task Count: 8\n\s+Tasks Shown: One of 8\n/s, 'one of eight tasks is shown');
like($plan, qr/Query: SELECT date_trunc\('minute'::text, created_at\) AS minute, .* FROM public\.github_events_\d+ github_events WHERE /, 'and its query');
like($plan, qr/Node: host=127\.0\.0\.1 port=\d+ dbname=postgres/, 'and its node');
my ($fragment, $port) = $plan =~ /Query: (SELECT [^\n]*).*?port=(\d+)/s;
my ($worker) = grep { $_->port == $port } $cluster->nodes;
# The shard may have moved since the plan was made; it is tried again then.
my $tried;
for (1 .. 20)
{
	$tried = ($worker->psql('postgres', "SET citus.override_table_visibility = off; EXPLAIN $fragment"))[0];
	last if $tried == 0;
	$plan = run('EXPLAIN VERBOSE again', "EXPLAIN VERBOSE $query");
	($fragment, $port) = $plan =~ /Query: (SELECT [^\n]*).*?port=(\d+)/s;
	($worker) = grep { $_->port == $port } $cluster->nodes;
}
is($tried, 0, 'the query can be tried on its node');
$plan = run('all tasks', "SET citus.explain_all_tasks = 1; EXPLAIN $query");
is(scalar(() = $plan =~ /-> +Task\n/g), 8, 'all eight tasks are shown');
like($plan, qr/Tasks Shown: All/, 'and the plan says so');
foreach my $order ('execution-time', 'taskId')
{
	$plan = run("tasks by $order", "SET citus.explain_analyze_sort_method = '$order'; EXPLAIN ANALYZE $query");
	like($plan, qr/Tasks Shown: One of 8\n.*Tuple data received from node: \d+ bytes\n.*Execution Time: /s, "$order: what was measured is shown");
}
is(run('the query', "SELECT count(*), sum(num_commits) FROM (" . ($query =~ s/;//r) . ") q"), '101|4000', 'its rows');
# A shard that has moved since its node was looked up is reported as not there.
my $sizes;
for (1 .. 10)
{
	$sizes = run('sizes of shards', "SELECT count(*) > 0, bool_and(success AND result::bigint >= 8192) FROM run_command_on_shards('github_events', \$\$SELECT pg_total_relation_size('%s')\$\$)");
	last if $sizes eq 't|t';
}
is($sizes, 't|t', 'each shard has its size');

# Steps, and their limit.
my $steps = <<'SQL';
EXPLAIN ANALYZE
WITH deleted_rows AS (
  DELETE FROM page_views WHERE tenant_id IN (3, 4) RETURNING *
), viewed_last_week AS (
  SELECT * FROM deleted_rows WHERE view_time > current_timestamp - interval '7 days'
)
SELECT count(*) FROM viewed_last_week;
SQL
$plan = run('a statement in steps', "BEGIN; $steps ROLLBACK;");
like($plan, qr/Step with deleted_rows\n.*Delete on page_views_\d+ page_views .*rows=\d+ loops=1\)/s, 'the step is shown with what it did');
is(run('what it would have deleted is there', 'SELECT count(*) FROM page_views'), 10000, 'all page views are there');
is(run('the steps themselves', "BEGIN; @{[ $steps =~ s/EXPLAIN ANALYZE//r ]} SELECT count(*) FROM page_views; ROLLBACK;"), "1001\n8000", 'the steps see and do what they say');
my ($result, $out, $err) = $node->psql('postgres', <<'SQL');
SET citus.max_intermediate_result_size = '512kB';
WITH views AS MATERIALIZED (SELECT page_id, repeat(host_ip::text, 50) AS much FROM page_views LIMIT 10000)
SELECT count(*), max(length(much)) FROM github_events LEFT JOIN views ON event_id = page_id AND length(much) > event_id % 2;
SQL
isnt($result, 0, 'a large intermediate result is refused');
like($err, qr/the intermediate result size exceeds citus\.max_intermediate_result_size \(currently 512 kB\)/, 'by name');
like($err, qr/HINT: +To run the current query, set citus\.max_intermediate_result_size to a higher value or -1 to disable\./, 'with what to do');

# Settings: each gives the same rows.
foreach my $setting (
	"citus.max_adaptive_executor_pool_size = 1", "citus.executor_slow_start_interval = '100ms'", 'citus.max_cached_conns_per_worker = 2',
	"citus.task_assignment_policy = 'greedy'", "citus.task_assignment_policy = 'round-robin'", "citus.task_assignment_policy = 'first-replica'",
	'citus.binary_worker_copy_format = on', 'citus.enable_binary_protocol = true', 'citus.enable_binary_protocol = false')
{
	is(run($setting, "SET $setting; SELECT count(*), sum(page_id), count(DISTINCT tenant_id) FROM page_views"), '10000|50005000|10', "$setting: the same rows");
}

# Inserts, staging tables, COPY.
run_between_moves('a table for history', <<'SQL');
CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp);
SELECT create_distributed_table('pgbench_history', 'aid');
INSERT INTO pgbench_history VALUES (10, 1, 10000, -5000, CURRENT_TIMESTAMP);
INSERT INTO pgbench_history VALUES (10, 1, 22000, 5000, CURRENT_TIMESTAMP);
SQL
is(run('both rows', 'SELECT count(*), sum(delta) FROM pgbench_history'), '2|0', 'are visible at once');
run_between_moves('a staging table', <<'SQL');
CREATE UNLOGGED TABLE unlogged_table (
  key text,
  value text
);
SELECT create_distributed_table('unlogged_table', 'key');
INSERT INTO unlogged_table SELECT n, n * 2 FROM generate_series(1, 1000) n;
SQL
is(run('its shards', q{SELECT count(*), bool_and(result = 'u') FROM run_command_on_shards('unlogged_table', $$SELECT relpersistence FROM pg_class WHERE oid = '%s'::regclass$$)}),
	'8|t', 'are unlogged as well');
run('from the staging table', q{INSERT INTO pgbench_history SELECT 1, 2, key::int, value::int, now() FROM unlogged_table});
my $rows = join '', map { "3,4,$_,1,2016-03-04 12:00:00\n" } 1 .. 20000;
PostgreSQL::Test::Utils::append_to_file("$directory/pgbench_history-2016-03-04.csv", $rows);
run('COPY FROM STDIN', "COPY pgbench_history FROM STDIN WITH (FORMAT CSV);\n" . ('3,4,5,1,2016-03-04 12:00:00' . "\n") x 1000 . "\\.\n");
$node->command_ok([ 'psql', '-c', "\\COPY pgbench_history FROM '$directory/pgbench_history-2016-03-04.csv' (FORMAT CSV)" ], '\COPY from a file');
is(run('all rows', 'SELECT count(*), sum(delta) FROM pgbench_history'), '22002|1022000', 'have come');
is(run('the query again', "SELECT count(*), sum(num_commits) FROM (" . ($query =~ s/;//r) . ") q"), '101|4000', 'its rows are the same');

PostgreSQL::Test::Utils::append_to_file($stop, '');
ok(PandoNemesis::wait_for($bench), 'pgbench ran all the time and failed no transaction');
ok(PandoNemesis::wait_for($mover), 'no move failed');
cmp_ok(PandoNemesis::slurp("$directory/mover"), '>', 0, 'shards moved meanwhile');
note(PandoNemesis::slurp("$directory/mover") . ' moves, ' . PandoNemesis::slurp("$directory/bench") . ' transactions');
is(run('history', 'SELECT count(*) FROM bench.pgbench_history'), PandoNemesis::slurp("$directory/bench"), 'each transaction left its trace');
is(run('balances', 'SELECT (SELECT sum(abalance) FROM bench.pgbench_accounts) = (SELECT sum(delta) FROM bench.pgbench_history),
	(SELECT sum(bbalance) FROM bench.pgbench_branches) = (SELECT sum(delta) FROM bench.pgbench_history),
	(SELECT sum(tbalance) FROM bench.pgbench_tellers) = (SELECT sum(delta) FROM bench.pgbench_history)'), 't|t|t', 'they agree');
is(run('what is left of moves', 'SELECT count(*) FROM pg_dist_cleanup'), 0, 'nothing');
$cluster->stop;
done_testing();
