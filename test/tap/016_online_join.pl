# A node joins while reference tables are written to: it has all of their rows, or nothing of it is left.
use strict;
use warnings;
use Test::More;
use PandoCluster;

my $cluster = PandoCluster->new('joins', workers => 2, join => 0, conf => "citus.defer_shard_delete_interval = '200ms'\ncitus.override_table_visibility = off\n");
my ($coordinator, $worker, $new) = $cluster->nodes;
plan skip_all => 'built without debug points'
  unless eval { $coordinator->safe_psql('postgres', 'SELECT pando.debug_point_clear()'); 1 };
$cluster->join_worker(1);
$cluster->sql(<<'END');
CREATE TYPE pair AS (a int, b text);
CREATE TABLE item (gone text, k int PRIMARY KEY, v int NOT NULL, p pair, twice int GENERATED ALWAYS AS (v * 2) STORED);
ALTER TABLE item DROP COLUMN gone;
CREATE TABLE part (k int REFERENCES item ON DELETE CASCADE, v int CHECK (v >= 0));
CREATE TABLE log (at int PRIMARY KEY DEFERRABLE, what varchar(20)) PARTITION BY RANGE (at);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (1000);
CREATE TABLE log_2 PARTITION OF log DEFAULT;
END
$cluster->sql(<<'END');
SELECT create_reference_table(t::regclass) FROM unnest('{item,part,log}'::text[]) t;
INSERT INTO item SELECT i, 0, row(i, 'i')::pair FROM generate_series(1, 1000) i;
INSERT INTO part SELECT i % 1000 + 1, 0 FROM generate_series(1, 3000) i;
INSERT INTO log SELECT i, 'x' FROM generate_series(1, 2000) i;
CREATE VIEW seen AS SELECT item.*, part.v AS of_part FROM item JOIN part USING (k);
END
my $change = "UPDATE item SET v = v + 1 WHERE k % 3 = 0; DELETE FROM part WHERE k % 10 = 3; INSERT INTO part SELECT 3, i FROM generate_series(1, 20) i;"
	. "DELETE FROM log WHERE at IN (SELECT at FROM log ORDER BY at LIMIT 5); UPDATE log SET at = at + 10000 WHERE at = (SELECT max(at) FROM log WHERE at < 1000);";
my $rows = join ' UNION ALL ', map { "SELECT '$_', count(*), md5(string_agg(t::text, ',' ORDER BY t::text)) FROM $_ t" } qw(item part log log_1 seen);
my $port = $cluster->node_port(2);
my $add = "SELECT citus_add_node('127.0.0.1', $port)";

sub member { return $cluster->sql("SELECT count(*) FROM pg_dist_node WHERE nodeport = $port AND isactive"); }

# What nodes have: rows, and valid constraints and indexes of their own copies, as the catalogs of each name them.
sub same
{
	my ($what, @nodes) = @_;
	my $own = "SELECT relname, (SELECT count(*) FROM pg_index WHERE indrelid = c.oid AND indisvalid), (SELECT count(*) FROM pg_constraint WHERE conrelid = c.oid AND convalidated) "
		. "FROM pg_class c WHERE relname ~ '^(item|part|log)_.*[0-9]{6}' AND relkind IN ('r', 'p') ORDER BY 1";

	foreach my $sql ($rows, $own)
	{
		my $wanted = $coordinator->safe_psql('postgres', $sql);
		like($wanted, qr/item/, 'there is something');
		is($_->safe_psql('postgres', $sql), $wanted, $what . ' on ' . $_->name) foreach @nodes;
	}
	return;
}

sub nothing_left
{
	my ($what, @nodes) = @_;
	ok($coordinator->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_dist_cleanup'), "$what: no records");
	is($_->safe_psql('postgres', "SELECT (SELECT count(*) FROM pando.move_part) + (SELECT count(*) FROM pando.move_change) + (SELECT count(*) FROM pg_trigger WHERE tgname = 'pando_move')"
			. " + (SELECT count(*) FROM pg_class WHERE relname ~ '^pando_(rows|all_rows|places|blocks)_')"),
		'0', "$what: nothing is left behind on " . $_->name) foreach @nodes;
	return;
}

sub leave { $cluster->sql("SELECT citus_remove_node('127.0.0.1', $port)"); return; }

foreach my $point (qw(online-after-capture online-after-copy online-after-last-round))
{
	$cluster->sql("SELECT pando.debug_point_arm('$point', 'error')");
	like(($coordinator->psql('postgres', $add))[2], qr/ERROR:.*debug point/, "an error at $point");
	$cluster->sql('SELECT pando.debug_point_clear()');
	is(member(), 0, 'it has not joined');
	nothing_left($point, $coordinator, $worker, $new);
	is($new->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname ~ '^(item|part|log)'"), 0, 'it has nothing');
}
foreach my $point (qw(online-after-capture online-after-copy online-after-indexes online-after-rounds online-before-lock))
{
	foreach my $killed (0, 1)
	{
		my $psql = $cluster->start_at($coordinator, $point, $add);
		is(($worker->psql('postgres', "SET lock_timeout = '5s'; BEGIN; $change COMMIT"))[2], '', "$point: writers go on");
		is(($coordinator->psql('postgres', "SET lock_timeout = '5s'; $change"))[2], '', "$point: and the coordinator's");
		$cluster->sql("SELECT pg_terminate_backend($psql->{pid})") if $killed;
		$cluster->sql('SELECT pando.debug_point_clear()');
		eval { $psql->{handle}->finish };
		is(member(), 1 - $killed, "$point: it has joined, or not");
		nothing_left($point, $coordinator, $worker, $new);
		next if $killed;
		same($point, $worker, $new);
		is(($new->psql('postgres', $change))[2], '', 'it writes');
		same("$point, after a change", $worker, $new);
		leave();
	}
}

# Who holds a lock is waited for in attempts, between which others go on; what attempts had done before is not lost.
my $holder = $coordinator->background_psql('postgres');
$holder->query_safe('BEGIN; SELECT count(*) FROM item');
my $psql = $cluster->start($coordinator, $add);
ok($coordinator->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"), 'it waits for who reads');
is(($worker->psql('postgres', "SET lock_timeout = '20s'; $change"))[2], '', 'others write meanwhile') foreach 1 .. 3;
$holder->query_safe("UPDATE item SET v = v + 1 WHERE k = 1; COMMIT");
$holder->quit;
$psql->{handle}->finish;
is($psql->{err}, '', 'it joins');
same('after attempts', $worker, $new);
nothing_left('after attempts', $coordinator, $worker, $new);

# A node that was away comes back while others write.
$cluster->sql("SELECT citus_disable_node('127.0.0.1', $port)");
$cluster->sql($change);
$psql = $cluster->start_at($coordinator, 'online-after-copy', "SELECT citus_activate_node('127.0.0.1', $port)");
is(($worker->psql('postgres', "SET lock_timeout = '5s'; $change"))[2], '', 'writers go on while it comes back');
$cluster->sql('SELECT pando.debug_point_clear()');
$psql->{handle}->finish;
is($psql->{err}, '', 'it comes back');
same('after it has come back', $worker, $new);
leave();

# What others can't see comes along as well: writers wait then.
is(($coordinator->psql('postgres', "BEGIN; CREATE TABLE fresh (k int); SELECT create_reference_table('fresh'); INSERT INTO fresh VALUES (1); UPDATE item SET v = 7 WHERE k = 2; $add; COMMIT"))[2],
	'', 'a node joins in a block');
same('after the block', $worker, $new);
is($new->safe_psql('postgres', 'SELECT (SELECT count(*) FROM fresh) + (SELECT v FROM item WHERE k = 2)'), 8, 'it has what the block wrote');
is($cluster->prepared_count, 0, 'nothing stays prepared');
$cluster->stop;
done_testing();
