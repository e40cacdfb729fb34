# pg_partman's own functions (create_parent, run_maintenance, partition_data_proc, undo_partition, retention) do to a distributed table what they do
# to a plain one, by time and by id; other nodes see the partitions that they make and drop.
use strict;
use warnings;
use PandoCluster;
use PostgreSQL::Test::Utils;
use Test::More;

chomp(my $sharedir = `pg_config --sharedir`);
plan skip_all => 'pg_partman is not installed' unless -e "$sharedir/extension/pg_partman.control";

my $cluster = PandoCluster->new('partman', workers => 2);
my ($coordinator, $worker) = ($cluster->coordinator, $cluster->worker(1));
$cluster->sql('CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman');

# What the script says of tables named plain_..., with "dist" for "plain" when they are distributed. Rows are inserted relative to a fixed day.
# Days must not change while it runs.
my (undef, $minute, $hour) = localtime;
sleep 60 * (60 - $minute) if $hour == 23 && $minute >= 55;

sub run
{
	my ($name, $node, $distribute) = @_;
	my $script = <<'END';
SET client_min_messages = error;
SET citus.shard_count = 4;
\set VERBOSITY terse
CREATE TABLE T_ev (id bigint, at timestamptz NOT NULL, v int CONSTRAINT T_positive CHECK (v > 0), PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
DISTRIBUTE('T_ev');
CREATE INDEX ON T_ev (v);
SELECT partman.create_parent('public.T_ev', 'at', 'native', 'daily', p_premake := 3, p_start_partition := (current_date - 3)::text);
INSERT INTO T_ev SELECT i, current_date + (i % 7 - 3) * interval '1 day', i FROM generate_series(1, 100) i;
INSERT INTO T_ev SELECT i, current_date + (i % 3 + 6) * interval '1 day', i FROM generate_series(101, 130) i;
SELECT * FROM partman.check_default();
SELECT partman.run_maintenance('public.T_ev');
CALL partman.partition_data_proc('public.T_ev');
SELECT * FROM partman.check_default();
SELECT partman.run_maintenance('public.T_ev');
CALL partman.run_maintenance_proc();
SELECT tableoid::regclass::text, count(*), sum(v) FROM T_ev GROUP BY 1 ORDER BY 1;
SELECT * FROM partman.show_partitions('public.T_ev');
SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE conrelid::regclass::text ~ '^T_ev' AND conrelid::regclass::text !~ '_\d{6}$' ORDER BY 1, 2;
SELECT tablename, indexname FROM pg_indexes WHERE tablename ~ '^T_ev' AND tablename !~ '_\d{6}$' ORDER BY 1, 2;
INSERT INTO T_ev VALUES (1, current_date, -1);
UPDATE partman.part_config SET retention = '2 days', retention_keep_table = false WHERE parent_table = 'public.T_ev';
SELECT partman.run_maintenance('public.T_ev');
SELECT count(*), sum(v) FROM T_ev;
SELECT partman.drop_partition_time('public.T_ev', '1 day', p_keep_table := true);
SELECT * FROM partman.show_partitions('public.T_ev');
SELECT count(*), sum(v) FROM T_ev;
CREATE TABLE T_target (LIKE T_ev INCLUDING ALL);
DISTRIBUTE('T_target');
SELECT * FROM partman.undo_partition('public.T_ev', 2, p_target_table := 'public.T_target', p_keep_table := false);
CALL partman.undo_partition_proc('public.T_ev', p_target_table := 'public.T_target', p_keep_table := false);
SELECT (SELECT count(*) FROM T_ev), count(*), sum(v) FROM T_target;
SELECT count(*) FROM partman.part_config WHERE parent_table = 'public.T_ev';
CREATE TABLE T_no (k int, id bigint NOT NULL, v text, PRIMARY KEY (k, id)) PARTITION BY RANGE (id);
DISTRIBUTE('T_no');
SELECT partman.create_parent('public.T_no', 'id', 'native', '10', p_premake := 2);
INSERT INTO T_no SELECT i % 5, i, i FROM generate_series(1, 75) i;
SELECT partman.partition_data_id('public.T_no', p_batch_count := 3);
CALL partman.partition_data_proc('public.T_no');
SELECT partman.run_maintenance('public.T_no');
SELECT tableoid::regclass::text, count(*), sum(id) FROM T_no GROUP BY 1 ORDER BY 1;
SELECT * FROM partman.show_partitions('public.T_no');
SELECT partman.drop_partition_id('public.T_no', '30', p_keep_table := false);
SELECT partman.partition_gap_fill('public.T_no');
SELECT partman.reapply_privileges('public.T_no');
SELECT count(*), min(id), max(id) FROM T_no;
END
	$script =~ s/DISTRIBUTE\('(\w+)'\)/$distribute ? "SELECT FROM create_distributed_table('$1', '" . ($1 =~ m{_no} ? 'k' : 'id') . "')" : 'SELECT'/ge;
	$script =~ s/T_/${name}_/g;
	my (undef, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
	# Functions put the context, which names a shard, into their errors' messages.
	$err = join "\n", $err =~ /ERROR: .*/g;
	s/\b${name}_/T_/g foreach $out, $err;
	return ($out, $err);
}

my ($plain, $plain_errors) = run('plain', $coordinator, 0);
my ($out, $errors) = run('dist', $coordinator, 1);
is($out, $plain, 'on the coordinator: as with plain tables');
is($errors, $plain_errors, 'the same errors');
like($plain, qr/T_no_p70/, 'partitions were made');
is($worker->safe_psql('postgres', "SELECT count(*) FROM pg_inherits WHERE inhparent = 'dist_no'::regclass"),
	$coordinator->safe_psql('postgres', "SELECT count(*) FROM pg_inherits WHERE inhparent = 'dist_no'::regclass"), 'all nodes have them');
is($worker->safe_psql('postgres', 'SELECT count(*), sum(id) FROM dist_no'), $coordinator->safe_psql('postgres', 'SELECT count(*), sum(id) FROM plain_no'), 'and their rows');

# Its tables are each node's own, so a worker can manage partitioned tables as well.
($out, $errors) = run('other', $worker, 1);
is($out, $plain, 'on a worker: as with plain tables');
is($errors, $plain_errors, 'the same errors');

$cluster->stop;
done_testing();
