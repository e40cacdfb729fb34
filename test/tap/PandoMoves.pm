# PandoMoves: a shard group for TAP scripts that move or split it while it is written to, and what must be true of it.
#
# Four tables: without any key and with values out of line; with a key that rows of another refer to; with partitions. Each has a
# plain table of the same rows.
package PandoMoves;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run;
use PandoCluster;
use PandoWire;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

our @EXPORT = qw(moves_cluster change_sql change same leftovers clean beside_writers early_table read_at_commit leader_last);

my @tables = qw(bare parent child parts);
my ($cluster, $coordinator);

# A coordinator and two workers that tidy up soon, with the group. local: bare and parts are not distributed yet; network: one that can be cut.
sub moves_cluster
{
	my ($name, %options) = @_;
	$cluster = PandoCluster->new($name, workers => 2, network => $options{network}, conf => <<'END');
citus.defer_shard_delete_interval = '200ms'
citus.recover_2pc_interval = '500ms'
END
	$coordinator = $cluster->coordinator;
	plan skip_all => 'built without debug points'
	  unless eval { $cluster->sql('SELECT pando.debug_point_clear()'); 1 };
	make_group($options{local});
	return $cluster;
}

sub make_group
{
	my ($local) = @_;
	$cluster->sql(<<'END');
SET citus.shard_count TO 2;
SET citus.next_shard_id TO 1000;
CREATE TABLE bare (k int, v int, t text, twice int GENERATED ALWAYS AS (v * 2) STORED);
CREATE TABLE parent (k int PRIMARY KEY, v int);
CREATE TABLE child (k int REFERENCES parent ON DELETE CASCADE, v int);
CREATE TABLE parts (k int, v int, PRIMARY KEY (k, v)) PARTITION BY RANGE (v);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (100);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (100) TO (MAXVALUE);
SELECT create_distributed_table('parent', 'k', colocate_with => 'none');
SELECT create_distributed_table('child', 'k', colocate_with => 'parent');
END
	$cluster->sql("SET citus.next_shard_id TO 1010; SELECT create_distributed_table(t::regclass, 'k', colocate_with => 'parent') FROM unnest('{bare,parts}'::text[]) t")
	  unless $local;
	$cluster->sql(<<'END');
INSERT INTO bare SELECT i % 100, i, repeat(md5(i::text), i % 400) FROM generate_series(1, 2000) i;
INSERT INTO parent SELECT i, i FROM generate_series(1, 500) i;
INSERT INTO child SELECT i, i FROM generate_series(1, 500) i;
INSERT INTO parts SELECT i, i % 200 FROM generate_series(1, 500) i;
END
	$cluster->sql("CREATE TABLE plain_$_ AS SELECT * FROM $_; SELECT citus_add_local_table_to_metadata('plain_$_')") foreach @tables;
	return;
}

# Changes of every kind, made to both tables of each pair in one transaction.
my $round = 0;

sub change_sql
{
	$round++;
	my $sql = "SET lock_timeout = '5s'; BEGIN;";
	foreach my $p ('', 'plain_')
	{
		my $twice = $p ? ', twice' : '';
		my $value = $p ? ', v * 2' : '';
		$sql .= <<"END";
UPDATE ${p}bare SET v = v + 1@{[ $p ? ', twice = (v + 1) * 2' : '' ]} WHERE k % 7 = $round % 7;
DELETE FROM ${p}bare WHERE k = $round % 100;
INSERT INTO ${p}bare (k, v, t$twice) SELECT k, v, repeat('new', 5000)$value FROM (SELECT i k, $round v FROM generate_series(1, 100) i) s;
@{[ $p ? "DELETE FROM plain_child c USING plain_parent p WHERE c.k = p.k AND p.k % 50 = $round % 50;" : '' ]}
DELETE FROM ${p}parent WHERE k % 50 = $round % 50;
INSERT INTO ${p}parent SELECT i, i + $round FROM generate_series(1, 500) i WHERE i % 50 = $round % 50;
INSERT INTO ${p}child SELECT i, $round FROM generate_series(1, 500) i WHERE i % 50 = $round % 50;
UPDATE ${p}parts SET v = 199 - v WHERE k % 5 = $round % 5;
END
	}
	return $sql;
}

sub change
{
	my ($node) = @_;
	my ($ret, $out, $err) = ($node // $coordinator)->psql('postgres', change_sql() . ' COMMIT', on_error_stop => 1);
	return $err;
}

sub same
{
	my ($what) = @_;
	my $bad = '';
	foreach my $t (@tables)
	{
		$bad .= "$t: $_\n" foreach split /\n/, $cluster->sql(
			"(SELECT 'too much', s.k, s.v FROM (SELECT * FROM $t EXCEPT ALL SELECT * FROM plain_$t) s LIMIT 3) UNION ALL "
			  . "(SELECT 'missing', s.k, s.v FROM (SELECT * FROM plain_$t EXCEPT ALL SELECT * FROM $t) s LIMIT 3)");
	}
	is($bad, '', "$what: all rows are there, once");
	return;
}

# What is left of moves on any node: records, parts, notes, triggers, tables of shards that have no placement there.
sub leftovers
{
	my $left = $cluster->sql('SELECT count(*) FROM pg_dist_cleanup') . ' ';
	$left .= $_->safe_psql('postgres', <<'END') foreach $cluster->nodes;
SELECT (SELECT count(*) FROM pando.move_part) + (SELECT count(*) FROM pando.move_change)
	+ (SELECT count(*) FROM pg_trigger WHERE tgname = 'pando_move')
	+ (SELECT count(*) FROM pg_class WHERE relname ~ '^(bare|parent|child|parts|parts_low|parts_high)_[0-9]+$' AND relkind IN ('r', 'p')
		AND NOT EXISTS (SELECT FROM pg_dist_placement WHERE shardid = substring(relname, '[0-9]+$')::bigint AND groupid = (SELECT groupid FROM pg_dist_local_group)))
END
	return $left;
}

sub clean
{
	my ($what) = @_;
	my $left;
	for (1 .. 300)
	{
		$left = leftovers();
		last if $left eq '0 000';
		sleep 0.1;
	}
	is($left, '0 000', "$what: nothing is left behind");
	return;
}

# A table of one shard in that node group, for readers that shall have a snapshot there.
sub early_table
{
	my ($group) = @_;
	$cluster->sql(<<"END");
CREATE TABLE early_$group (k int);
SELECT create_distributed_table('early_$group', 'k', shard_count => 1, colocate_with => 'none');
SELECT citus_move_shard_placement(shardid, s.nodename, s.nodeport, t.nodename, t.nodeport, 'block_writes')
FROM pg_dist_shard JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node s USING (groupid), pg_dist_node t
WHERE logicalrelid = 'early_$group'::regclass AND t.groupid = $group AND p.groupid <> $group;
END
	return;
}

# What the coordinator leads brings shards of bare to a node group. It has committed on the other nodes but not there yet, when a
# transaction on worker 1, which has a snapshot there from before, comes to read them: it is told, and never takes them for empty.
# until: reaches the commit with the target left behind, and returns what lets it go on.
sub read_at_commit
{
	my ($what, $group, $until) = @_;
	my $target = ($cluster->nodes)[$group];
	my $wire = PandoWire->connect($cluster->worker(1)->port);
	is($wire->query($_)->{error}, undef, "$what: a snapshot") foreach 'BEGIN ISOLATION LEVEL REPEATABLE READ', "SELECT count(*) FROM early_$group";
	my $go_on = $until->();
	$wire->send('SELECT count(*) FROM bare');
	for (1 .. 300)
	{
		last if $wire->{select}->can_read(0.1);
		last if $target->safe_psql('postgres', "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ 'bare_[0-9]')") eq 't';
	}
	$go_on->();
	my $answer = $wire->answer;
	like($answer->{error} // 'rows: ' . $answer->{rows}[0][0], qr/^40001 /, "$what: shards that a snapshot lacks");
	$wire->query('ROLLBACK');
	is($wire->value('SELECT count(*) FROM bare'), $cluster->sql('SELECT count(*) FROM plain_bare'), "$what: all is there afterwards");
	return;
}

# As `until` of read_at_commit(): the leading node's own backends are the last to know.
sub leader_last
{
	my ($sql) = @_;
	return sub {
		my $psql = $cluster->start_at($coordinator, 'commit-after-second-phase', $sql);
		return sub {
			$cluster->sql('SELECT pando.debug_point_clear()');
			$psql->{handle}->finish;
			is($psql->{err}, '', 'it is done');
		};
	};
}

# Runs what moves shards (a function, over and over for `seconds`) beside pgbench, which changes both tables of two pairs.
#
# Clients never write the same rows of parts: of two that replace a row, the second may find, between the commits of the first on
# two nodes, neither the old row nor the new one, as always in READ COMMITTED; then its own is one too many.
sub beside_writers
{
	my ($what, $seconds, $move) = @_;
	my $clients = 3;
	my $script = PostgreSQL::Test::Utils::tempdir() . '/writer';
	PostgreSQL::Test::Utils::append_to_file($script, <<"END");
\\set k random(1, 400 / $clients) * $clients - :client_id
BEGIN;
UPDATE bare SET v = v + 1 WHERE k = :k % 100;
UPDATE plain_bare SET v = v + 1, twice = (v + 1) * 2 WHERE k = :k % 100;
DELETE FROM parts WHERE k = :k;
DELETE FROM plain_parts WHERE k = :k;
INSERT INTO parts VALUES (:k, :k % 200);
INSERT INTO plain_parts VALUES (:k, :k % 200);
COMMIT;
END
	$cluster->sql('CREATE INDEX ON plain_bare (k); CREATE INDEX ON plain_parts (k); CREATE INDEX ON bare (k)');
	my ($out, $err) = ('', '');
	my $writers = IPC::Run::start([ 'pgbench', '-n', '-h', '127.0.0.1', '-p', $coordinator->port, '-f', $script, '-c', $clients,
			'-T', $seconds + 4, 'postgres' ], '<', \'', '>', \$out, '2>', \$err, IPC::Run::timeout(240));
	my $end = Time::HiRes::time() + $seconds;
	my $rounds = 0;
	while (Time::HiRes::time() < $end)
	{
		$move->($rounds);
		$rounds++;
	}
	$writers->finish;
	unlike($err, qr/aborted|ERROR/, "$what: writers meet no error");
	like($out, qr/failed transactions: 0 /, "$what: and none fails");
	cmp_ok($rounds, '>', 0, "$what: there was one");
	same($what);
	clean($what);
	return;
}

1;
