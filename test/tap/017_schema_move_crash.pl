# citus_schema_move() that is interrupted at each of its steps, online and blocking: the tenant's tables stay where they were, all of them,
# with all rows, and nothing else is there; the next move succeeds.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep);
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('schema_move_crash', workers => 2, conf => <<'END');
citus.defer_shard_delete_interval = '200ms'
citus.recover_2pc_interval = '500ms'
END
my $coordinator = $cluster->coordinator;
plan skip_all => 'built without debug points'
  unless eval { $cluster->sql('SELECT pando.debug_point_clear()'); 1 };

$cluster->sql(<<'END');
SET citus.enable_schema_based_sharding TO on;
CREATE SCHEMA tenant;
CREATE TABLE tenant.parent (k int PRIMARY KEY, v int);
CREATE TABLE tenant.child (k int REFERENCES tenant.parent ON DELETE CASCADE, v int);
CREATE TABLE tenant.parts (k int, v int) PARTITION BY RANGE (k);
CREATE TABLE tenant.parts_low PARTITION OF tenant.parts FOR VALUES FROM (MINVALUE) TO (100);
CREATE TABLE tenant.parts_high PARTITION OF tenant.parts FOR VALUES FROM (100) TO (MAXVALUE);
INSERT INTO tenant.parent SELECT i, 0 FROM generate_series(1, 200) i;
INSERT INTO tenant.child SELECT i, 0 FROM generate_series(1, 200) i;
INSERT INTO tenant.parts SELECT i, 0 FROM generate_series(1, 200) i;
END

sub groups { return $cluster->sql("SELECT string_agg(DISTINCT groupid::text, ' ') FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) WHERE logicalrelid::text LIKE 'tenant.%'"); }

sub move
{
	my ($mode) = @_;
	my $to = 3 - groups();
	return "SELECT citus_schema_move('tenant', nodename, nodeport, '$mode') FROM pg_dist_node WHERE groupid = $to";
}

my $changes = 0;

sub change
{
	$changes++;
	my ($ret, $out, $err) = $coordinator->psql('postgres', "SET lock_timeout = '5s'; BEGIN; UPDATE tenant.parent SET v = v + 1; UPDATE tenant.parts SET v = v + 1;
		DELETE FROM tenant.child; INSERT INTO tenant.child SELECT k, v FROM tenant.parent; COMMIT", on_error_stop => 1);
	return $err;
}

# Tables that are nobody's shard, on any node, and records.
sub leftovers
{
	my $left = $cluster->sql('SELECT count(*) FROM pg_dist_cleanup');
	$left .= ' ' . $_->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relnamespace = 'tenant'::regnamespace AND relname ~ '_[0-9]+\$' AND relkind IN ('r', 'p')
		AND NOT EXISTS (SELECT FROM pg_dist_placement WHERE shardid = substring(relname, '[0-9]+\$')::bigint AND groupid = (SELECT groupid FROM pg_dist_local_group))") foreach $cluster->nodes;
	return $left;
}

sub check
{
	my ($what, $group) = @_;
	ok($cluster->settled, "$what: nothing stays prepared");
	is(groups(), $group, "$what: the tables are where they should be, together");
	my $left;
	for (1 .. 300)
	{
		last if ($left = leftovers()) eq '0 0 0 0';
		sleep 0.1;
	}
	is($left, '0 0 0 0', "$what: nothing is left behind");
	is(change(), '', "$what: they can be written");
	is($cluster->sql('SELECT (SELECT count(*) FROM tenant.parent) + (SELECT count(*) FROM tenant.child) + (SELECT count(*) FROM tenant.parts)'), '600', "$what: all rows are there");
	is($cluster->sql("SELECT count(*) FROM (SELECT v FROM tenant.parent UNION ALL SELECT v FROM tenant.child UNION ALL SELECT v FROM tenant.parts) s WHERE v <> $changes"), '0', "$what: with their latest values");
	return;
}

# Who waits on a node for the switch goes to the target next: it has committed before that node has.
{
	$cluster->sql(move('block_writes')) if groups() eq '2';
	my $run = $cluster->start_at($coordinator, 'commit-during-second-phase', move('block_writes'));
	ok($cluster->worker(2)->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_prepared_xacts'), 'the target commits');
	is($cluster->worker(1)->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), '1', 'before the others');
	$cluster->sql('SELECT pando.debug_point_clear()');
	$run->{handle}->finish;
	check('the target first', '2');
}

my %ways = (
	'a cancel' => sub { $cluster->sql("SELECT pg_cancel_backend($_[0]{pid})"); $_[0]{handle}->finish; $cluster->sql('SELECT pando.debug_point_clear()'); },
	'the coordinator crashes' => sub { $cluster->kill_server(0); $coordinator->start; },
	'the source crashes' => sub { my $i = groups(); $cluster->kill_server($i); $cluster->worker($i)->start; $cluster->sql('SELECT pando.debug_point_clear()'); },
	'the target crashes' => sub { my $i = 3 - groups(); $cluster->kill_server($i); $cluster->worker($i)->start; $cluster->sql('SELECT pando.debug_point_clear()'); });
my %points = (force_logical => [qw(online-after-record online-after-capture online-after-copy online-after-last-round move-before-switch)],
	block_writes => [qw(move-after-create move-after-copy move-before-switch)]);

foreach my $mode (sort keys %points)
{
	foreach my $point (@{ $points{$mode} })
	{
		foreach my $way (sort keys %ways)
		{
			my $group = groups();
			my $run = $cluster->start_at($coordinator, $point, move($mode));
			is(change(), '', "$way, $point: a writer before it") if $point =~ /^online/ && $point !~ /last-round/;
			$ways{$way}->($run);
			eval { $run->{handle}->finish };
			check("$mode, $way, $point", $group);
		}
	}
	my $group = groups();
	$cluster->sql(move($mode));
	check($mode, 3 - $group);
}

# A worker leads, in its client's transaction: the coordinator's records are the same.
my $leader = $cluster->worker(1);
my %leading_ways = (
	'a cancel' => sub { $leader->safe_psql('postgres', "SELECT pg_cancel_backend($_[0]{pid})"); $_[0]{handle}->finish; $leader->safe_psql('postgres', 'SELECT pando.debug_point_clear()'); },
	'the leading node crashes' => sub { $cluster->kill_server(1); $leader->start; },
	'the coordinator crashes' => sub { $cluster->kill_server(0); $coordinator->start; $leader->safe_psql('postgres', 'SELECT pando.debug_point_clear()'); });
foreach my $at ([ force_logical => 'online-after-capture' ], [ force_logical => 'online-after-last-round' ], [ block_writes => 'move-after-copy' ], [ block_writes => 'move-before-switch' ])
{
	my ($mode, $point) = @$at;
	foreach my $way (sort keys %leading_ways)
	{
		my $group = groups();
		my $run = $cluster->start_at($leader, $point, 'BEGIN; ' . move($mode) . '; COMMIT');
		$leading_ways{$way}->($run);
		eval { $run->{handle}->finish };
		check("a worker leads, $mode, $way, $point", $group);
	}
	my $group = groups();
	$leader->safe_psql('postgres', 'BEGIN; ' . move($mode) . '; COMMIT');
	check("a worker leads, $mode", 3 - $group);
}

$cluster->stop;
done_testing();
