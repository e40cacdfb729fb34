# What a statement costs grows straight with what it touches: steps and memory, with 2,000 shards on two nodes, and on a map of 1,000
# nodes and 100,000 shards of which hardly any is there (their addresses all lead to the two workers).
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PandoWire;

my $cluster = PandoCluster->new('growth', conf => "listen_addresses = '0.0.0.0'\nmax_connections = 250\ncitus.recover_2pc_interval = -1\nautovacuum = off\n");
my ($coordinator, $worker1, $worker2) = my @nodes = $cluster->nodes;
foreach my $node (@nodes)
{
	$node->append_conf('pg_hba.conf', 'host all all 127.0.0.0/8 trust');
	$node->reload;
}
# It goes to all nodes.
$cluster->sql(<<'END');
CREATE FUNCTION peak() RETURNS int LANGUAGE sql AS $$ SELECT substring(pg_read_file('/proc/self/status') from 'VmHWM:\s*(\d+)')::int $$;
END

# Runs statements in a session of their own; returns what the last one says.
sub fresh { return PandoWire->connect($coordinator->port); }

sub run
{
	my ($wire, $sql) = @_;
	my $error = $wire->query($sql)->{error};
	is($error, undef, "no error: $sql") if defined $error;
	return;
}

# Steps of a statement that has run before, so that connections and metadata are there, or runs for the first time.
sub steps
{
	my ($wire, $sql) = @_;
	$wire->value('SELECT pando.debug_steps()');
	run($wire, $sql);
	return $wire->value('SELECT pando.debug_steps()');
}

sub at_most
{
	my ($figure, $limit, $what) = @_;
	cmp_ok($figure, '<=', $limit, "$what: $figure");
	return;
}

# 2,000 shards.
my $wire = fresh();
run($wire, 'CREATE TABLE t (k int PRIMARY KEY, v int, w int)');
run($wire, 'SET citus.shard_count = 2000');
my $shards = 2000;
my $before = $wire->value('SELECT peak()');
at_most(steps($wire, "SELECT create_distributed_table('t', 'k')"), 8 * $shards, 'create_distributed_table');
at_most(steps($wire, 'INSERT INTO t SELECT i, i, i FROM generate_series(1, 20000) i'), 8 * $shards, 'INSERT ... SELECT');
foreach my $statement ('SELECT count(*) FROM t', 'UPDATE t SET v = v + 1', 'SELECT count(*) FROM t a JOIN t b ON a.k = b.w',
	'ALTER TABLE t ADD COLUMN z int', 'TRUNCATE t', 'DROP TABLE t')
{
	at_most(steps($wire, $statement), 12 * $shards, $statement);
}
at_most($wire->value('SELECT peak()') - $before, 80_000, 'kilobytes for all of that');

# Reads that choose among copies by how much each node has to do.
run($wire, $_) foreach 'SET citus.shard_count = 400', 'SET citus.shard_replication_factor = 2', "SET citus.task_assignment_policy = 'greedy'",
	'CREATE TABLE twice (k int, v int)', "SELECT create_distributed_table('twice', 'k', colocate_with => 'none')", 'SELECT count(*) FROM twice';
at_most(steps($wire, 'SELECT count(*) FROM twice'), 10 * 400, 'a read of 400 shards with two copies');
run($wire, 'DROP TABLE twice');

# Tasks that a fan deals out one by one are not copied each time.
$cluster->sql(<<'END');
CREATE FUNCTION nap(int) RETURNS int LANGUAGE plpgsql IMMUTABLE COST 1000000 AS $$ BEGIN PERFORM pg_sleep(0.03); RETURN $1; END $$;
SET citus.shard_count = 2000;
CREATE TABLE naps (k int, v int);
SELECT create_distributed_table('naps', 'k', colocate_with => 'none');
INSERT INTO naps SELECT DISTINCT ON (get_shard_id_for_distribution_column('naps', i)) i, 1 FROM generate_series(1, 40000) i;
END
$wire = fresh();
run($wire, $_) foreach 'SELECT count(*) FROM naps', 'SET citus.max_adaptive_executor_pool_size = 20', 'SET jit = off';
$before = $wire->value('SELECT peak()');
is($wire->value('SELECT count(*) FROM naps WHERE nap(v) = 1'), 2000, 'a row of each of 2,000 shards, which takes a while');
at_most($wire->value('SELECT peak()') - $before, 6_000, 'kilobytes for dealing out 2,000 tasks');
$cluster->sql('DROP TABLE naps');

# Where all shards are on one node PostgreSQL plans them: those of a table don't make those of another dearer.
my $columns = join(', ', map { "c$_ int" } 1 .. 16);
$coordinator->safe_psql('postgres', <<"END");
SELECT citus_set_node_property('127.0.0.1', ${\$worker2->port}, 'shouldhaveshards', false);
SET citus.shard_count = 32;
CREATE TABLE many (k int, $columns);
SELECT create_distributed_table('many', 'k', colocate_with => 'none');
SELECT citus_set_node_property('127.0.0.1', ${\$worker2->port}, 'shouldhaveshards', true);
END
$wire = PandoWire->connect($worker1->port);
run($wire, 'SET jit = off');
run($wire, 'SELECT count(*) FROM many a JOIN many b ON a.c1 = b.c2');
$before = $wire->value('SELECT peak()');
run($wire, 'SELECT count(*) FROM many a ' . join(' ', map { 'JOIN many b' . $_ . ' ON a.c' . $_ . ' = b' . $_ . '.c1' } 1 .. 7));
at_most($wire->value('SELECT peak()') - $before, 45_000, 'kilobytes for a join of eight tables of 32 shards here');
$cluster->sql('DROP TABLE many');

# Rows that a correlated subquery is after are found, in memory and in files, without walking over all of them for each outer row.
$cluster->sql(<<'END');
SET citus.shard_count = 4;
CREATE TABLE outside (k int, x int);
CREATE TABLE inside (k int, x int, t text);
SELECT create_distributed_table('outside', 'k');
SELECT create_distributed_table('inside', 'k');
INSERT INTO outside SELECT i, i FROM generate_series(1, 2000) i;
INSERT INTO inside SELECT i, i, repeat('t', 50) FROM generate_series(1, 5000) i;
ANALYZE outside;
ANALYZE inside;
END
$wire = fresh();
foreach my $statement ('SELECT sum((SELECT count(t) FROM inside i WHERE i.x = o.x)) FROM outside o',
	'SELECT count(*) FROM outside o WHERE EXISTS (SELECT FROM inside i WHERE i.x = o.x AND i.k > 1) OR o.k = 7')
{
	at_most(steps($wire, $statement), 20_000, $statement);
	is($wire->value($statement), $statement =~ /EXISTS/ ? 1999 : 2000, 'with the right result');
	run($wire, $_) foreach "SET work_mem = '64kB'", 'SET hash_mem_multiplier = 1';
	at_most(steps($wire, $statement), 5000 * 2000 / 50, "$statement, in files");
	is($wire->value($statement), $statement =~ /EXISTS/ ? 1999 : 2000, 'with the right result');
	run($wire, $_) foreach 'RESET work_mem', 'RESET hash_mem_multiplier';
}
$cluster->sql('DROP TABLE outside, inside');

# A statement that touches one partition costs what it costs in a table that has few: others are not even looked up. A new partition is made
# by as many commands as one of few.
my $make = '';
foreach (['few', 4], ['lots', 60])
{
	my ($name, $count) = @$_;
	$make .= "CREATE TABLE $name (k int, d int, v int, PRIMARY KEY (k, d)) PARTITION BY RANGE (d);\n";
	$make .= "CREATE TABLE ${name}_$_ PARTITION OF $name FOR VALUES FROM (${_}0) TO (${_}9);\n" foreach 1 .. $count;
}
$cluster->sql("SET citus.shard_count = 4; $make SELECT create_distributed_table('few', 'k', colocate_with => 'none'); SELECT create_distributed_table('lots', 'k', colocate_with => 'few')");
foreach my $node (@nodes[0, 1])
{
	my %costs;
	foreach my $name ('few', 'lots')
	{
		foreach my $statement ('INSERT INTO T VALUES (1, 15, 1)', 'SELECT * FROM T WHERE k = 1 AND d = 15', 'UPDATE T SET v = 2 WHERE k = 1 AND d = 15',
			'SELECT count(*) FROM T WHERE d = 15', 'SELECT count(*) FROM T a JOIN T b USING (k, d) WHERE d = 15', 'UPDATE T SET v = 3 WHERE d = 15', 'INSERT INTO T SELECT i, 15, i FROM generate_series(2, 9) i', 'DELETE FROM T WHERE d = 15')
		{
			my $wire = PandoWire->connect($node->port);
			run($wire, "SELECT 1 FROM $name WHERE k = 1 AND d = 15");
			push @{ $costs{$statement} }, [ steps($wire, $statement =~ s/\bT\b/$name/gr),
				$wire->value("SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'pando table'") ];
		}
	}
	foreach my $statement (sort keys %costs)
	{
		my ($few, $lots) = @{ $costs{$statement} };
		# Who waits for nodes may wake up some more times.
		at_most($lots->[0], 2 * $few->[0] + 10, "steps of $statement with 60 partitions, not 4");
		at_most($lots->[1], $few->[1], "tables looked up by $statement");
	}
}
foreach my $name ('few', 'lots')
{
	my (undef, undef, $said) = $coordinator->psql('postgres', "SET citus.log_remote_commands = on; CREATE TABLE ${name}_new PARTITION OF $name FOR VALUES FROM (5000) TO (5001)");
	is(scalar(() = $said =~ /issuing SELECT pando\.shards_create/g), 2, "a new partition of $name: one command that makes its shards to each node");
	is(scalar(() = $said =~ /issuing (?!BEGIN|SET SESSION|SET pando\.|SELECT pando\.session_challenge|PREPARE|COMMIT)/g), 8, 'and four commands in all');
}
$cluster->sql('DROP TABLE few, lots');

# Nodes that are asked for the sake of a plan are asked at once.
$wire = fresh();
run($wire, $_) foreach 'SET citus.shard_count = 8', 'CREATE TABLE a (k int, v int)', 'CREATE TABLE b (k int, v int)',
	"SELECT create_distributed_table('a', 'k')", "SELECT create_distributed_table('b', 'k')", 'EXPLAIN SELECT * FROM a x JOIN a y ON x.k = y.v';
$coordinator->safe_psql('postgres', "SELECT pando.debug_point_arm('plan-after-question', 'wait')");
$wire->send('EXPLAIN SELECT * FROM b x JOIN b y ON x.k = y.v');
foreach my $worker ($worker1, $worker2)
{
	ok($worker->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%pg_relation_size%' AND query LIKE '%b\\_1%' AND pid <> pg_backend_pid()"),
		'a node has the question before another one is waited for');
}
$coordinator->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
is($wire->answer->{error}, undef, 'and the plan is made');

# 1,000 nodes, 100,000 shards. In this map group n is at 127.x.y.z and the port of one of the workers.
$cluster->sql(<<"END");
CREATE TABLE big (k int PRIMARY KEY, v int);
CREATE TABLE wide (k int PRIMARY KEY, v int);
SET citus.shard_count = 100;
SELECT create_distributed_table('wide', 'k', colocate_with => 'none');
INSERT INTO wide SELECT i, i FROM generate_series(1, 5000) i;
SET allow_system_table_mods = on;
SET session_replication_role = replica;
INSERT INTO pg_dist_node (nodeid, groupid, nodename, nodeport, hasmetadata, isactive, noderole, nodecluster, metadatasynced, shouldhaveshards)
	SELECT 1000 + i, 1000 + i, '127.0.' || 1 + i / 200 || '.' || 1 + i % 200, CASE i % 2 WHEN 0 THEN ${\$worker1->port} ELSE ${\$worker2->port} END,
		true, true, 'primary', 'default', true, true FROM generate_series(0, 999) i;
UPDATE pg_dist_placement p SET groupid = 1000 + 2 * ((shardid - first) / 2) + CASE groupid WHEN 1 THEN 0 ELSE 1 END
	FROM (SELECT min(shardid) AS first FROM pg_dist_shard WHERE logicalrelid = 'wide'::regclass) f
	WHERE shardid IN (SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'wide'::regclass);
INSERT INTO pg_dist_colocation SELECT 7770, 100000, 1, 'int'::regtype, 0;
INSERT INTO pg_dist_partition SELECT 'big'::regclass, 'h', 'k', 7770, 's', false;
INSERT INTO pg_dist_shard SELECT 'big'::regclass, 7000000 + s, 't', (-2147483648 + s * 42949::bigint)::text,
	CASE WHEN s = 99999 THEN '2147483647' ELSE (-2147483648 + (s + 1) * 42949::bigint - 1)::text END FROM generate_series(0, 99999) s;
INSERT INTO pg_dist_placement SELECT 7000000 + s, 7000000 + s, 1, 0, 1000 + s % 1000 FROM generate_series(0, 99999) s;
END
$wire = fresh();
my $shard = $wire->value("SELECT get_shard_id_for_distribution_column('big', 1)");
my $home = $shard % 2 == 0 ? $worker1 : $worker2;
$home->safe_psql('postgres', "SET citus.enable_ddl_propagation = off; CREATE TABLE big_$shard (k int PRIMARY KEY, v int)");

# A backend learns the map once, with memory for each shard that is counted in bytes.
$wire = fresh();
$before = $wire->value('SELECT peak()');
at_most(steps($wire, 'INSERT INTO big VALUES (1, 2)'), 110_000, 'the first statement on 100,000 shards');
at_most($wire->value('SELECT peak()') - $before, 70_000, 'kilobytes at most');
at_most($wire->value("SELECT sum(total_bytes) / 1024 FROM pg_backend_memory_contexts WHERE name LIKE 'pando table%'"), 14_000, 'kilobytes that stay');
is($wire->value('SELECT v FROM big WHERE k = 1'), 2, 'a row of one shard');

# From then on a statement for one shard costs what it costs in a table of few.
foreach my $statement ('SELECT v FROM big WHERE k = 1', 'UPDATE big SET v = v + 1 WHERE k = 1', 'SELECT v FROM big WHERE k IN (1, 1)',
	'EXPLAIN SELECT v FROM big WHERE k = 1', 'DELETE FROM big WHERE k = 1', 'INSERT INTO big VALUES (1, 2)')
{
	at_most(steps($wire, $statement), 20, $statement);
}
run($wire, 'PREPARE one(int) AS SELECT v FROM big WHERE k = $1');
at_most(steps($wire, 'EXECUTE one(1)'), 20, 'EXECUTE') foreach 1 .. 7;

# All of its tasks, put together by node. A process can't have so many connections: it says so before any node has to do something.
foreach my $statement ('SELECT sum(v) FROM big', 'UPDATE big SET v = 1')
{
	my $fresh = fresh();
	run($fresh, 'SELECT v FROM big WHERE k = 1');
	$before = $fresh->value('SELECT peak()');
	like($fresh->query($statement)->{error}, qr/cannot connect to (1000|999) more nodes at once/, "$statement is refused as a whole");
	at_most($fresh->value('SELECT peak()') - $before, 100_000, 'kilobytes for its tasks on 1,000 nodes');
}

# 100 sessions whose answers come one after the other: each socket is given to the kernel a few times in all, not at each wake.
my @keys = split /,/, $wire->value(<<'END');
SELECT string_agg(k::text, ',') FROM (SELECT min(k) AS k FROM generate_series(1, 5000) k GROUP BY get_shard_id_for_distribution_column('wide', k)) AS t
END
is(scalar @keys, 100, 'a key for each node');
foreach my $node (@nodes)
{
	my $turn = 'array_position(ARRAY[' . join(', ', @keys) . '], $1)';
	$node->safe_psql('postgres', <<"END");
SET citus.enable_ddl_propagation = off;
CREATE FUNCTION in_turn(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE COST 1000000
	AS 'BEGIN PERFORM pg_sleep(1 + 0.03 * $turn); RETURN true; END';
END
}
my $in_turn = 'SELECT count(*) FROM wide WHERE in_turn(k)';
$wire = fresh();
at_most(steps($wire, $in_turn), 30 * 100, 'a statement that connects to 100 nodes');
at_most(steps($wire, $in_turn), 10 * 100, 'and goes to them once more');
is($wire->value('SELECT count(*) FROM wide'), 5000, 'with the right result');

# A splitter of 100,000 parts, which go to another node, has memory for those that get rows.
my $sender = PandoWire->connect($worker1->port);
$before = $sender->value('SELECT peak()');
is($sender->value(<<'END'), 1000, 'a splitter with 100,000 parts');
SELECT sum(n) FROM unnest(pando.exchange_send('SELECT i FROM pg_catalog.generate_series(1, 1000) i', 'growth', true, 1, false, -1,
	(SELECT array_agg((-2147483648 + i * 42949::bigint)::int ORDER BY i) FROM generate_series(0, 99999) i),
	(SELECT array_agg(i) FROM generate_series(0, 99999) i), (SELECT array_agg(2) FROM generate_series(0, 99999) i)))
	WITH ORDINALITY AS answer(n, i) WHERE i > 1 AND i % 2 = 1
END
at_most($sender->value('SELECT peak()') - $before, 45_000, 'kilobytes');

# Connections that are kept make room for others, where a process can't have as many as there are nodes.
$coordinator->append_conf('postgresql.conf', 'max_files_per_process = 200');
$coordinator->restart;
$wire = fresh();
like($wire->query('SELECT count(*) FROM wide')->{error}, qr/cannot connect to 100 more nodes at once/, 'more nodes than a process may have connections');
is(join(',', map { $wire->value("SELECT k FROM wide WHERE k = $_") } @keys), join(',', @keys), 'one after the other is no matter');
my $half = join ',', @keys[0 .. 39];
is($wire->value("SELECT count(*) FROM wide WHERE k IN ($half)"), 40, 'nor are as many as may be');
is($wire->query("UPDATE wide SET v = v WHERE k IN ($half)")->{error}, undef, 'for writes as well');
done_testing();
