# Shards get more placements, on several nodes at once, while they are written to: complete, or none at all.
use strict;
use warnings;
use Test::More;
use PandoCluster;

my $cluster = PandoCluster->new('copies', workers => 3, conf => "citus.defer_shard_delete_interval = '200ms'\n");
my ($coordinator, @workers) = $cluster->nodes;
plan skip_all => 'built without debug points'
  unless eval { $cluster->sql('SELECT pando.debug_point_clear()'); 1 };
$cluster->sql(<<'END');
SET citus.shard_count TO 4; SET citus.shard_replication_factor TO 1;
CREATE TABLE item (k int PRIMARY KEY, v int);
CREATE TABLE part (k int REFERENCES item, v int CHECK (v >= 0));
SELECT create_distributed_table(t::regclass, 'k') FROM unnest('{item,part}'::text[]) t;
INSERT INTO item SELECT i, 0 FROM generate_series(1, 1000) i;
INSERT INTO part SELECT i % 1000 + 1, 0 FROM generate_series(1, 3000) i;
END
my $change = 'UPDATE item SET v = v + 1 WHERE k % 3 = 0; DELETE FROM part WHERE k % 10 = 3; INSERT INTO part SELECT 3, i FROM generate_series(1, 20) i;';

sub placements { return $cluster->sql('SELECT count(*) FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)'); }

# Every placement of a shard has the same rows, indexes and valid constraints.
sub same
{
	my ($what) = @_;
	foreach my $table (qw(item part))
	{
		my $rows = $cluster->sql("SELECT count(*) || ' ' || sum(v) FROM $table");
		my $copies = $cluster->sql(<<"END");
WITH copy AS (SELECT shardid, result FROM run_command_on_placements('$table', \$\$SELECT count(*) || ' ' || coalesce(sum(v), 0) || ' ' || coalesce(md5(string_agg(t::text, ',' ORDER BY t)), '')
	|| (SELECT count(*) FROM pg_index WHERE indrelid = '%s'::regclass) || (SELECT count(*) FROM pg_constraint WHERE convalidated AND conrelid = '%s'::regclass) FROM %s t\$\$))
SELECT sum(n) || ' ' || sum(v) FROM (SELECT split_part(min(result), ' ', 1)::int n, split_part(min(result), ' ', 2)::int v FROM copy GROUP BY shardid HAVING min(result) = max(result)) s
END
		is($copies, $rows, "$what: all copies of $table are alike");
	}
	return;
}

sub nothing_left
{
	my ($what) = @_;
	ok($coordinator->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_dist_cleanup'), "$what: no records");
	is($_->safe_psql('postgres', "SELECT (SELECT count(*) FROM pando.move_part) + (SELECT count(*) FROM pando.move_change) + (SELECT count(*) FROM pg_trigger WHERE tgname = 'pando_move')"),
		'0', "$what: nothing is left behind") foreach $coordinator, @workers;
	return;
}

sub copy { my ($mode) = @_; return "SELECT replicate_table_shards('item', shard_replication_factor => 3, shard_transfer_mode => '$mode')"; }

like(($coordinator->psql('postgres', copy('auto')))[2], qr/has one placement per shard, its shards can't be copied/, 'a table of single placements is refused');
$cluster->sql("UPDATE pg_dist_partition SET repmodel = 'c'; SELECT pando.table_changed(t::regclass) FROM unnest('{item,part}'::text[]) t");

foreach my $point (qw(online-after-copy online-after-last-round))
{
	$cluster->sql("SELECT pando.debug_point_arm('$point', 'error')");
	like(($coordinator->psql('postgres', copy('force_logical')))[2], qr/ERROR:.*debug point/, "an error at $point");
	$cluster->sql('SELECT pando.debug_point_clear()');
	is(placements(), 8, 'no copies');
	nothing_left($point);
}
foreach my $point (qw(online-after-capture online-after-copy online-before-lock))
{
	my $last = $point eq 'online-before-lock';
	my $psql = $cluster->start_at($coordinator, $point, copy('force_logical'));
	is(($workers[0]->psql('postgres', "SET lock_timeout = '5s'; $change"))[2], '', "$point: writers go on");
	$cluster->sql("SELECT pg_terminate_backend($psql->{pid})") if !$last;
	$cluster->sql('SELECT pando.debug_point_clear()');
	eval { $psql->{handle}->finish };
	unlike($psql->{err}, qr/ERROR/, 'it succeeds') if $last;
	is(placements(), $last ? 24 : 8, "$point: copies of all shards, or of none");
	nothing_left($point);
}
same('after the switch');
is(($workers[1]->psql('postgres', $change))[2], '', 'they are written to');
same('after a change');
$cluster->sql(copy('auto'));
is(placements(), 24, 'there is nothing more to copy');
$cluster->stop;
done_testing();
