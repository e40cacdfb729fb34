# Logical decoding gives each change of a distributed table once, as a change of the table, from the node that stores it: whatever the
# shard's columns look like, with copies and reference tables, and while shards move and are split. A subscriber gets the same rows.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use lib '.';
use PandoCluster;

my $conf = "citus.enable_change_data_capture = on\ncitus.defer_shard_delete_interval = '200ms'\nmax_wal_senders = 10\n";
my $cluster = PandoCluster->new('capture', workers => 2, conf => $conf);
my @nodes = $cluster->nodes;
$_->safe_psql('postgres', "SELECT pg_create_logical_replication_slot('changes', 'test_decoding')") foreach @nodes;

# What the nodes give, as lines "node: change", in the order of nodes.
sub changes
{
	return map {
		my $i = $_;
		map { "$i: $_" } grep { /^table/ } split /\n/, $nodes[$i]->safe_psql('postgres',
			"SELECT data FROM pg_logical_slot_get_changes('changes', NULL, NULL, 'skip-empty-xacts', '1', 'include-xids', '0')");
	} 0 .. $#nodes;
}

# The same without the node.
sub given
{
	my ($sql, $expected, $what) = @_;
	$cluster->sql($sql);
	my @changes = map { s/^\d: table public\.//r } changes();
	is(join("\n", sort @changes), join("\n", sort @$expected), $what);
	return;
}

my $first = 'SELECT nodeid FROM pg_dist_node WHERE groupid = ';

# A table with rows becomes a distributed one: no row changes.
given('CREATE TABLE t (gone int, k int PRIMARY KEY, v text); INSERT INTO t VALUES (0, 0, \'plain\'); ALTER TABLE t DROP COLUMN gone',
	[ "t: INSERT: gone[integer]:0 k[integer]:0 v[text]:'plain'" ], 'a table of this node');
given("SET citus.shard_count = 8; SELECT create_distributed_table('t', 'k')", [], 'it is distributed');
given("INSERT INTO t SELECT g, 'v' || g FROM generate_series(1, 4) g", [ map { "t: INSERT: k[integer]:$_ v[text]:'v$_'" } 1 .. 4 ], 'rows come, to shards that never had the column');
given("ALTER TABLE t ADD COLUMN n int; INSERT INTO t VALUES (5, 'v5', 5); UPDATE t SET n = k WHERE k IN (1, 5); DELETE FROM t WHERE k = 2",
	[ "t: INSERT: k[integer]:5 v[text]:'v5' n[integer]:5", "t: UPDATE: k[integer]:1 v[text]:'v1' n[integer]:1",
		"t: UPDATE: k[integer]:5 v[text]:'v5' n[integer]:5", 't: DELETE: k[integer]:2' ], 'rows of another shape');
given("BEGIN; INSERT INTO t VALUES (6), (7); SAVEPOINT s; DELETE FROM t; ROLLBACK TO s; COMMIT; BEGIN; DELETE FROM t; ROLLBACK",
	[ map { "t: INSERT: k[integer]:$_ v[text]:null n[integer]:null" } 6, 7 ], 'what is rolled back is no change');
given('TRUNCATE t; INSERT INTO t VALUES (8)', [ 't: TRUNCATE: (no-flags)', 't: INSERT: k[integer]:8 v[text]:null n[integer]:null' ], 'TRUNCATE comes once');

given("CREATE ROLE guest LOGIN; CREATE SCHEMA theirs AUTHORIZATION guest; SET ROLE guest; CREATE TABLE theirs.g AS SELECT 1 AS a;
	SELECT create_distributed_table('theirs.g', 'a', colocate_with => 'none'); SELECT undistribute_table('theirs.g')", [ '0: table theirs.g: INSERT: a[integer]:1' ], 'tables of an ordinary role');

given("CREATE TABLE c (a int PRIMARY KEY); INSERT INTO c SELECT generate_series(1, 3)", [ map { "c: INSERT: a[integer]:$_" } 1 .. 3 ], 'one more');
given("SELECT create_distributed_table_concurrently('c', 'a', colocate_with => 'none')", [], 'it is distributed while it could be written');
given("INSERT INTO c VALUES (4); DELETE FROM c WHERE a = 1", [ 'c: INSERT: a[integer]:4', 'c: DELETE: a[integer]:1' ], 'and is written');

# Copies.
given("CREATE TABLE r (a int PRIMARY KEY); INSERT INTO r VALUES (1); SELECT create_reference_table('r'); INSERT INTO r VALUES (2); UPDATE r SET a = 3 WHERE a = 2",
	[ 'r: INSERT: a[integer]:1', 'r: INSERT: a[integer]:2', 'r: UPDATE: old-key: a[integer]:2 new-tuple: a[integer]:3' ], 'a reference table');
given("SET citus.shard_replication_factor = 2; CREATE TABLE two (a int PRIMARY KEY); SELECT create_distributed_table('two', 'a', colocate_with => 'none');
	INSERT INTO two SELECT generate_series(1, 9); DELETE FROM two WHERE a > 1", [ (map { "two: INSERT: a[integer]:$_" } 1 .. 9), (map { "two: DELETE: a[integer]:$_" } 2 .. 9) ], 'a table with several copies');

# Other kinds of tables.
given("CREATE TABLE p (k int, day date, PRIMARY KEY (k, day)) PARTITION BY RANGE (day); SELECT create_distributed_table('p', 'k');
	CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM ('2026-01-01') TO ('2027-01-01'); INSERT INTO p SELECT g, '2026-11-11' FROM generate_series(1, 3) g",
	[ map { "p_1: INSERT: k[integer]:$_ day[date]:'2026-11-11'" } 1 .. 3 ], 'a partition');
given("CREATE TABLE one (a int); SELECT create_distributed_table('one', NULL, colocate_with => 'none'); INSERT INTO one VALUES (1)", [ 'one: INSERT: a[integer]:1' ], 'a table with one shard');
given("CREATE TABLE here (a int); SELECT citus_add_local_table_to_metadata('here'); INSERT INTO here VALUES (1)", [ 'here: INSERT: a[integer]:1' ], 'a managed local table');
given("CREATE TABLE t_2024 (k int); INSERT INTO t_2024 VALUES (1); CREATE SCHEMA other; CREATE TABLE other.t_102009 (k int); INSERT INTO other.t_102009 VALUES (1)",
	[ 't_2024: INSERT: k[integer]:1', '0: table other.t_102009: INSERT: k[integer]:1' ], 'tables whose names look like shards\'');

# While shards move and are split, and a node comes.
my $writes = join '', map { "INSERT INTO t VALUES ($_, 'w'); UPDATE t SET n = $_ WHERE k = $_;\n" . ($_ % 10 ? '' : "UPDATE r SET a = a + 1 WHERE a = (SELECT max(a) FROM r);\n") } 1001 .. 1800;
my @writers = map { $cluster->start($nodes[$_], $_ ? $writes =~ s/\b1(\d\d\d)\b/2$1/gr =~ s/UPDATE r.*//gr : $writes) } 0, 1;
sub shard_of_t
{
	return split /\|/, $cluster->sql("SELECT shardid, nodeid, (shardminvalue::bigint + shardmaxvalue::bigint) / 2 FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
		JOIN pg_dist_node USING (groupid) WHERE logicalrelid = 't'::regclass AND groupid = $_[0] ORDER BY shardid LIMIT 1");
}
my @ids = map { $cluster->sql("$first $_") } 0 .. 2;
foreach my $mode ('force_logical', 'block_writes')
{
	foreach my $i (1, 2)
	{
		my ($shard, $node, $middle) = shard_of_t($i);
		$cluster->sql("SELECT citus_move_shard_placement($shard, $node, $ids[3 - $i], '$mode')");
		($shard, $node, $middle) = shard_of_t($i);
		$cluster->sql("SELECT citus_split_shard_by_split_points($shard, ARRAY['$middle'], ARRAY[$ids[$i], $ids[3 - $i]], '$mode')");
	}
}
$cluster->add_server('capture_late', $conf);
@nodes = $cluster->nodes;
$nodes[3]->safe_psql('postgres', "SELECT pg_create_logical_replication_slot('changes', 'test_decoding')");
$cluster->join_worker(3);
my ($shard, $node) = shard_of_t(1);
$cluster->sql("SELECT citus_move_shard_placement($shard, $node, (SELECT max(nodeid) FROM pg_dist_node))");
$cluster->sql("INSERT INTO t SELECT g, 'late' FROM generate_series(3001, 3100) g");
foreach my $writer (@writers)
{
	$writer->{handle}->finish;
	is($writer->{err}, '', 'a writer beside meets no error');
}
my @seen = changes();
my %times;
$times{s/^\d: //r}++ foreach @seen;
my %expected = map { ("table public.t: INSERT: k[integer]:$_ v[text]:'late' n[integer]:null" => 1) } 3001 .. 3100;
%expected = (%expected, map { my $k = $_; ("table public.t: INSERT: k[integer]:$k v[text]:'w' n[integer]:null" => 1, "table public.t: UPDATE: k[integer]:$k v[text]:'w' n[integer]:$k" => 1) }
  1001 .. 1800, 2001 .. 2800);
$expected{ "table public.r: UPDATE: old-key: a[integer]:$_ new-tuple: a[integer]:" . ($_ + 1) } = 1 foreach 3 .. 82;
is(join("\n", grep { ($times{$_} // 0) != $expected{$_} } sort keys %expected), '', 'each change comes once');
is(join("\n", grep { !$expected{$_} } sort keys %times), '', 'and nothing else');
foreach my $i (1 .. 3)
{
	cmp_ok(scalar(grep { /^$i: table public.t:/ } @seen), '>', 0, "some from node $i");
}
given("SELECT undistribute_table('t')", [], 'rows that come back are no changes');

# A subscriber: publications of the table, with rows and columns chosen, and long values that don't change.
$cluster->sql(<<'END');
CREATE TABLE s (gone int, k int PRIMARY KEY, v text, secret text);
ALTER TABLE s DROP COLUMN gone;
SELECT create_distributed_table('s', 'k', shard_count => 6, colocate_with => 'none');
CREATE TABLE q (a int PRIMARY KEY, b int);
SELECT create_reference_table('q');
CREATE PUBLICATION chosen FOR TABLE s (k, v) WHERE (k % 3 <> 0), TABLE q, TABLE p;
END
my $subscriber = PostgreSQL::Test::Cluster->new('capture_subscriber', own_host => 0);
$subscriber->init;
$subscriber->append_conf('postgresql.conf', "max_logical_replication_workers = 10\nmax_worker_processes = 20");
$subscriber->start;
$subscriber->safe_psql('postgres', 'CREATE TABLE s (v text, k int PRIMARY KEY); CREATE TABLE q (a int PRIMARY KEY, b int);
	CREATE TABLE p (k int, day date, PRIMARY KEY (k, day)) PARTITION BY RANGE (day); CREATE TABLE p_1 PARTITION OF p DEFAULT');
foreach my $i (0 .. 3)
{
	$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION from_$i CONNECTION 'host=127.0.0.1 port=" . $nodes[$i]->port . " dbname=postgres' PUBLICATION chosen WITH (copy_data = false)");
}
$cluster->sql(<<'END');
INSERT INTO s SELECT g, repeat(md5(g::text), 500), 'secret' FROM generate_series(1, 60) g;
UPDATE s SET secret = 'more';
UPDATE s SET v = 'short' WHERE k % 5 = 0;
DELETE FROM s WHERE k % 7 = 0;
INSERT INTO q SELECT g, g FROM generate_series(1, 10) g;
UPDATE q SET b = b + 1;
INSERT INTO p SELECT g, '2026-12-12' FROM generate_series(1, 10) g;
END
sub caught_up
{
	foreach my $i (0 .. 3)
	{
		my $lsn = $nodes[$i]->lsn('write');
		$nodes[$i]->poll_query_until('postgres', "SELECT confirmed_flush_lsn >= '$lsn' FROM pg_replication_slots WHERE slot_name = 'from_$i'") or die;
	}
	return;
}
sub same_rows
{
	my ($what) = @_;
	caught_up();
	my $s = "SELECT count(*) || ' ' || coalesce(md5(string_agg(k || v, ',' ORDER BY k)), '') FROM s";
	is($subscriber->safe_psql('postgres', $s), $cluster->sql("$s WHERE k % 3 <> 0"), "$what: a distributed table");
	is($subscriber->safe_psql('postgres', $_), $cluster->sql($_), "$what: $_")
	  foreach "SELECT string_agg(a || ' ' || b, ', ' ORDER BY a) FROM q", 'SELECT string_agg(k || \' \' || day, \', \' ORDER BY k) FROM p WHERE day > \'2026-11-11\'';
	return;
}
same_rows('subscribed');
my $move = 'SELECT citus_move_shard_placement(shardid, p.nodeid, n.nodeid) FROM (SELECT shardid, nodeid FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
	WHERE logicalrelid = \'s\'::regclass ORDER BY shardid LIMIT 2) p, LATERAL (SELECT nodeid FROM pg_dist_node WHERE nodeid <> p.nodeid AND shouldhaveshards ORDER BY nodeid DESC LIMIT 1) n';
$cluster->sql("$move; UPDATE s SET v = 'moved ' || v WHERE k % 2 = 0; TRUNCATE q");
same_rows('moved');

# Whose settings these are.
my (undef, undef, $err) = $nodes[1]->psql('postgres', 'SELECT pando.capture_set_paused(true)', extra_params => [ '-U', 'guest' ]);
like($err, qr/permission denied for function pando.capture_set_paused/, 'an ordinary role can\'t hide what it changes');

done_testing();
