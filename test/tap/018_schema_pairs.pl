# Two schema changes at once from two nodes: one waits for the other, as on one server, and ends as there; in the end all nodes have the same.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep time);
use PandoCluster;
use PandoWire;

my $cluster = PandoCluster->new('pairs', workers => 3);
my @nodes = $cluster->nodes;
my $third = "'127.0.0.1', " . $nodes[3]->port;
$cluster->coordinator->safe_psql('postgres', 'CREATE DATABASE plain');

# [name, first, second, outcome if it differs from that of plain tables]. Both are in a transaction; the second's comes to its end as soon as it can.
# "a|b": after a has been done, and the other's a as well, b.
my @pairs = (
	[ 'the same column', 'ALTER TABLE a ADD x int', 'ALTER TABLE a ADD x int' ],
	[ 'two columns', 'ALTER TABLE a ADD x int', 'ALTER TABLE a ADD y text' ],
	[ 'a column, and the table goes', 'ALTER TABLE a ADD x int', 'DROP TABLE a' ],
	[ 'the table goes, and a column', 'DROP TABLE a', 'ALTER TABLE a ADD x int' ],
	[ 'the table goes twice', 'DROP TABLE a', 'DROP TABLE a' ],
	[ 'an index and a column', 'CREATE INDEX ON a (v)', 'ALTER TABLE a ADD x int' ],
	[ 'two indexes', 'CREATE INDEX ia ON a (v)', 'CREATE INDEX ib ON a (v, k)' ],
	[ 'one name for two indexes', 'CREATE INDEX ia ON a (v)', 'CREATE INDEX ia ON a (k)', 'done 42P07' ],
	[ 'a name, and the old one', 'ALTER TABLE a RENAME v TO w', 'ALTER TABLE a ALTER v SET DEFAULT 3' ],
	[ 'the table gets another name', 'ALTER TABLE a RENAME TO c', 'ALTER TABLE a ADD x int' ],
	[ 'TRUNCATE and a column', 'TRUNCATE a', 'ALTER TABLE a ADD x int' ],
	[ 'a key to b, and b goes', 'ALTER TABLE a ADD FOREIGN KEY (k) REFERENCES b', 'DROP TABLE b' ],
	[ 'b goes, and a key to it', 'DROP TABLE b', 'ALTER TABLE a ADD FOREIGN KEY (k) REFERENCES b' ],
	[ 'two tables', 'ALTER TABLE a ADD x int', 'ALTER TABLE b ADD x int' ],
	[ 'two tables in opposite order', 'ALTER TABLE a ADD x int|ALTER TABLE b ADD y int', 'ALTER TABLE b ADD x int|ALTER TABLE a ADD y int', 'done done 40P01 done' ],
	[ 'both tables and one', 'DROP TABLE a, b', 'ALTER TABLE b ADD x int' ],
	[ 'a partition and its parent', 'ALTER TABLE p1 ADD CHECK (v > 0)', 'ALTER TABLE p ADD x int' ],
	[ 'the parent and a partition', 'ALTER TABLE p ADD x int', 'DROP TABLE p1' ],
	[ 'one more partition, and the parent', 'CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)', 'ALTER TABLE p ADD x int' ],
	[ 'two tables distributed', map({ "CREATE TABLE $_ (k int); SELECT 1 FROM create_distributed_table('$_', 'k')" } 'c', 'd'), 'done done' ],
	[ 'distributed, and other shards', "CREATE TABLE c (k int); SELECT 1 FROM create_distributed_table('c', 'k')", "SELECT 1 FROM alter_distributed_table('a', shard_count := 3, cascade_to_colocated := false)", 'done done' ],
	[ 'a column, and distributed', 'ALTER TABLE a ADD x int', "SELECT 1 FROM alter_distributed_table('a', shard_count := 3, cascade_to_colocated := false)", 'done done' ],
	[ 'other shards, and a column', "SELECT 1 FROM alter_distributed_table('a', shard_count := 3, cascade_to_colocated := false)", 'ALTER TABLE a ADD x int', 'done done' ],
	[ 'a schema and what is in it', 'DROP SCHEMA s CASCADE', 'CREATE FUNCTION s.g() RETURNS int LANGUAGE sql AS \'SELECT 1\'', 'done 3F000' ],
	[ 'what is in a schema and it', 'CREATE FUNCTION s.g() RETURNS int LANGUAGE sql AS \'SELECT 1\'', 'DROP SCHEMA s', 'done 2BP01' ],
	[ 'the same schema', 'CREATE SCHEMA n', 'CREATE SCHEMA n', 'done 42P06' ],
	[ 'the same function', 'CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS \'SELECT 2\'', 'CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS \'SELECT 3\'', 'done done' ],
	[ 'the same type', "CREATE TYPE t AS ENUM ('a')", "CREATE TYPE t AS ENUM ('b')", 'done 42710' ],
	[ 'a value of a type, and it goes', "ALTER TYPE e ADD VALUE 'z'", 'DROP TYPE e', 'done done' ],
	[ 'the same role', 'GRANT pair_1 TO pair_2', 'ALTER ROLE pair_1 CONNECTION LIMIT 7', 'done done' ],
	[ 'a view, and its table goes', 'CREATE VIEW w AS SELECT * FROM a', 'DROP TABLE a' ],
	[ 'the table goes, and a view', 'DROP TABLE a', 'CREATE VIEW w AS SELECT * FROM a' ],
	[ 'the view goes, and one on it', 'DROP VIEW u', 'CREATE VIEW w AS SELECT * FROM u' ],
	[ 'a column of a local table, and another', 'ALTER TABLE m ADD x int', 'ALTER TABLE m ADD y int' ],
	[ 'a column of a local table, and it goes', 'ALTER TABLE m ADD x int', 'DROP TABLE m' ],
	[ 'a local table goes, and a column', 'DROP TABLE m', 'ALTER TABLE m ADD x int' ],
	[ 'an index of a local table, and its rows go', 'CREATE INDEX im ON m (v)', 'TRUNCATE m' ],
	[ 'rows, and a column of a local table', 'INSERT INTO m VALUES (7, 7)', 'ALTER TABLE m ADD x int' ],
	[ 'a column, and rows of a local table', 'ALTER TABLE m ADD x int', 'INSERT INTO m VALUES (7, 7)' ],
	[ 'a shard moves, and a column', 'MOVE', 'ALTER TABLE a ADD x int', 'done done' ],
	[ 'a column, and a shard moves', 'ALTER TABLE a ADD x int', 'MOVE', 'done done' ],
	[ 'two shards move', 'MOVE', 'MOVE OTHER', 'done done' ],
	[ 'a row, and its shard moves', 'INSERT INTO a VALUES (7, 7)', 'MOVE', 'done done' ],
	[ 'a shard moves, and a row', 'MOVE', 'INSERT INTO a VALUES (7, 7)', 'done done' ],
	[ 'a table joins, and a shard of the group moves', "CREATE TABLE c (k int); SELECT 1 FROM create_distributed_table('c', 'k', colocate_with := 'a')", 'MOVE', 'done done' ],
	[ 'two properties of nodes', "SELECT citus_set_node_property($third, 'shouldhaveshards', true)", "SELECT citus_set_node_property($third, 'shouldhaveshards', true)", 'done done' ],
	[ 'a property of a node, and distributed', "SELECT citus_set_node_property($third, 'shouldhaveshards', true)", "CREATE TABLE c (k int); SELECT 1 FROM create_distributed_table('c', 'k')", 'done done' ],
	[ 'the same view', 'CREATE OR REPLACE VIEW u AS SELECT k, v FROM a WHERE k > 1', 'CREATE OR REPLACE VIEW u AS SELECT k, v FROM a WHERE k > 2', 'done done' ]);

my $setup = <<'END';
CREATE TABLE a (k int PRIMARY KEY, v int); CREATE TABLE b (k int PRIMARY KEY, v int); CREATE TABLE m (k int PRIMARY KEY, v int);
CREATE TABLE p (k int, v int) PARTITION BY RANGE (v); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
INSERT INTO a VALUES (1, 1), (2, 2);
CREATE SCHEMA s; CREATE FUNCTION s.f() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE TYPE e AS ENUM ('a'); CREATE VIEW u AS SELECT k, v FROM a;
END
my $distribute = <<'END';
SELECT create_distributed_table('a', 'k', shard_count := 4); SELECT create_distributed_table('b', 'k', colocate_with := 'a');
SELECT create_distributed_table('p', 'k', shard_count := 4); SELECT citus_add_local_table_to_metadata('m');
END
my $clear = 'DROP TABLE IF EXISTS a, b, c, d, m, p CASCADE; DROP SCHEMA IF EXISTS s, n CASCADE; DROP FUNCTION IF EXISTS f; DROP TYPE IF EXISTS e, t CASCADE';

# What there is, on a node: columns, indexes, constraints, views, functions, types, but for shards.
my $there = <<'END';
SELECT string_agg(line, E'\n' ORDER BY line COLLATE "C") FROM (
	SELECT concat_ws(' ', attrelid::regclass, attname, atttypid::regtype, attnotnull) line FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
	WHERE relnamespace IN ('public'::regnamespace, to_regnamespace('s')) AND attnum > 0 AND NOT attisdropped AND relkind <> 'v' AND relname !~ '_\d{6,}'
	UNION ALL SELECT pg_get_constraintdef(oid) || conrelid::regclass FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text !~ '_\d{6,}'
	UNION ALL SELECT pg_get_viewdef(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'v' AND oid > 16384
		AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
	UNION ALL SELECT prosrc FROM pg_proc WHERE pronamespace IN ('public'::regnamespace, to_regnamespace('s'))
	UNION ALL SELECT enumtypid::regtype || enumlabel FROM pg_enum JOIN pg_type t ON t.oid = enumtypid WHERE typnamespace = 'public'::regnamespace) x
END

# Shards that belong together and are on several nodes.
my $apart = q{SELECT count(*) FROM (SELECT FROM pg_dist_partition JOIN pg_dist_shard USING (logicalrelid) JOIN pg_dist_placement USING (shardid)
	WHERE partmethod = 'h' GROUP BY colocationid, shardminvalue, shardmaxvalue HAVING count(DISTINCT groupid) > 1) x};

# The first shard of a table, or the last, to another worker, blocking.
sub move
{
	my ($order) = @_;
	return 'SELECT citus_move_shard_placement(shardid, f.nodeid, t.nodeid, \'block_writes\') FROM pg_dist_node t CROSS JOIN (SELECT shardid, nodeid, groupid FROM pg_dist_shard '
	  . "JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid) WHERE logicalrelid = 'a'::regclass ORDER BY shardid $order LIMIT 1) f WHERE t.groupid = 1 + f.groupid % 3";
}

my @asking = map { PandoWire->connect($_->port) } @nodes;
my $plain = PandoWire->connect($nodes[0]->port, database => 'plain');

# Has the client's statement ended, or does somebody wait for a lock? (Nothing else is under way.)
sub await_end_or_wait
{
	my ($client, @servers) = @_;
	my $end = time + 120;
	while (time < $end)
	{
		return if $client->{select}->can_read(0.05);
		foreach my $server (@servers)
		{
			return if $server->value(q{SELECT count(*) FROM pg_locks WHERE NOT granted}) > 0;
		}
	}
	fail('neither an end nor a wait');
	return;
}

sub state_of { my ($answer) = @_; return 'lost' if $answer->{lost}; return $answer->{error} ? substr $answer->{error}, 0, 5 : 'done'; }

# The outcome of both, on two connections.
sub outcome
{
	my ($servers, $one, $two, $first, $second) = @_;
	my @first = split /\|/, $first;
	my @second = split /\|/, $second;
	my @states;
	$one->query('BEGIN');
	$two->query('BEGIN');
	$states[0] = state_of($one->query($first[0]));
	$two->send($second[0]);
	await_end_or_wait($two, @$servers);
	if (@first > 1)
	{
		# Opposite orders: one of the two is the victim.
		$states[1] = state_of($two->answer);
		$one->send($first[1]);
		await_end_or_wait($one, @$servers);
		$two->send($second[1]);
		my @last = map { state_of($_->answer) } $one, $two;
		$_->query('COMMIT') foreach $one, $two;
		return join ' ', @states, sort @last;
	}
	$one->query('COMMIT');
	$states[1] = state_of($two->answer);
	$two->query('COMMIT');
	return join ' ', @states;
}

$cluster->sql('CREATE ROLE pair_1; CREATE ROLE pair_2');
my $number = 0;
foreach my $pair (@pairs)
{
	my ($name, $first, $second, $expected) = @$pair;
	s/^MOVE OTHER$/move('DESC')/e, s/^MOVE$/move('')/e foreach $first, $second;
	$plain->query("$clear; $setup");
	my ($plain1, $plain2) = map { PandoWire->connect($nodes[0]->port, database => 'plain') } 1, 2;
	my $plain_outcome = $expected ? '' : outcome([$plain], $plain1, $plain2, $first, $second);
	my $plain_there = $plain->value($there);
	my $coordinator = $number++ % 2;
	foreach my $nodes ([ $coordinator, 1 - $coordinator ], [ 1, 2 ])
	{
		$cluster->sql($clear);
		$cluster->sql("$setup $distribute");
		my $on = "$name, from nodes @$nodes";
		my ($one, $two) = map { PandoWire->connect($nodes[$_]->port, timeout => 120) } @$nodes;
		my $outcome = outcome(\@asking, $one, $two, $first, $second);
		# Of a name that is taken the catalog's unique index may say it, for a moment after the commit, as on one server.
		$outcome = $expected if defined $expected && $expected =~ /^done 42(P06|P07|710)$/ && $outcome eq 'done 23505';
		is($outcome, $expected // $plain_outcome, $on);
		my @there = map { $_->value($there) } @asking;
		is($there[$_], $there[0], "$on: node $_ has the same") foreach 1 .. 3;
		is($there[0], $plain_there, "$on: and plain tables") if !defined $expected;
		is($asking[0]->value($apart), '0', "$on: shards of a group are together");
		undef $_ foreach $one, $two;
	}
}
$cluster->sql($clear);

# A node joins while another one changes a table, before and after it.
foreach my $joins_first (1, 0)
{
	$cluster->sql("$setup $distribute");
	$cluster->sql("SELECT citus_remove_node($third)") if $cluster->sql("SELECT count(*) FROM pg_dist_placement p JOIN pg_dist_node USING (groupid) WHERE nodeport = " . $nodes[3]->port) == 0
	  || $cluster->sql("SELECT citus_drain_node($third)") eq '';
	my ($coordinator, $worker) = map { PandoWire->connect($nodes[$_]->port, timeout => 120) } 0, 1;
	my ($first, $second) = ([ $coordinator, "SELECT 1 FROM citus_add_node($third)" ], [ $worker, 'ALTER TABLE a ADD x int' ]);
	($first, $second) = ($second, $first) if !$joins_first;
	is(outcome([ @asking[ 0 .. 2 ] ], $first->[0], $second->[0], $first->[1], $second->[1]), 'done done', 'a node joins ' . ($joins_first ? 'first' : 'second'));
	is($asking[3]->value("SELECT count(*) FROM pg_attribute WHERE attrelid = 'a'::regclass AND attname = 'x'"), '1', 'and has the column');
	$cluster->sql($clear);
}

# A drop that is refused has locked what stands in its way, as PostgreSQL does: shells before shards, so that a writer who has a lock on one shard gets the others'.
foreach my $drop ('DROP SCHEMA s', 'DROP TYPE s.e')
{
	foreach my $nodes ([ 1, 2 ], [ 0, 2 ], [ 1, 1 ])
	{
		$cluster->sql("CREATE SCHEMA s; CREATE TYPE s.e AS ENUM ('a'); CREATE TABLE s.t (k int, e s.e); SELECT create_distributed_table('s.t', 'k', shard_count := 9)");
		my ($dropper, $writer) = map { PandoWire->connect($nodes[$_]->port, timeout => 120) } @$nodes;
		$writer->query('BEGIN');
		# The last shard of the node that drops: its locks on the others come before.
		my $key = $asking[ $nodes->[0] ]->value("SELECT k FROM generate_series(1, 100) k WHERE get_shard_id_for_distribution_column('s.t', k) = "
			  . '(SELECT max(shardid) FROM citus_shards WHERE table_name = \'s.t\'::regclass AND nodeport = ' . $nodes[ $nodes->[0] || 1 ]->port . ') LIMIT 1');
		is(state_of($writer->query("INSERT INTO s.t VALUES ($key, 'a')")), 'done', "$drop from nodes @$nodes: a writer");
		$dropper->send($drop);
		await_end_or_wait($dropper, @asking);
		is(state_of($writer->query('SELECT count(*) FROM s.t')), 'done', 'who reads all shards');
		is(state_of($writer->query('COMMIT')), 'done', 'and commits');
		is(state_of($dropper->answer), '2BP01', 'and what the drop says');
		undef $_ foreach $dropper, $writer;
		$cluster->sql('DROP SCHEMA s CASCADE');
	}
}

# So does what looks at the rows of a domain's columns; who waits for an object's name doesn't keep it from who has the name; and who waits for a
# schema, to drop it, holds its name from nobody.
foreach my $pair ([ 'ALTER DOMAIN n.d ADD CHECK (VALUE > 0)', 'INSERT INTO n.t VALUES (%d, 1)', 'SELECT count(*) FROM n.t', 'done' ],
	[ 'ALTER FUNCTION n.f() COST 7', 'ALTER FUNCTION n.f() COST 8', 'DROP FUNCTION n.f()', '42883' ],
	[ 'DROP SCHEMA n CASCADE', 'CREATE TABLE n.u (k int)', 'SELECT create_distributed_table(\'n.u\', \'k\')', 'done' ],
	[ 'DROP SCHEMA n', 'CREATE TABLE n.u (k int)', 'SELECT create_reference_table(\'n.u\')', '2BP01' ],
	[ "COMMENT ON SCHEMA n IS 'n'", 'CREATE FUNCTION n.g() RETURNS int LANGUAGE sql AS \'SELECT 1\'', 'DROP SCHEMA n CASCADE', '3F000' ])
{
	my ($waits, $first, $second, $outcome) = @$pair;
	foreach my $nodes ([ 1, 2 ], [ 0, 2 ], [ 1, 0 ])
	{
		$cluster->sql("CREATE SCHEMA n; CREATE FUNCTION n.f() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE DOMAIN n.d int; CREATE TABLE n.t (k int, d n.d); "
			  . "SELECT create_distributed_table('n.t', 'k', shard_count := 9)");
		my ($one, $two) = map { PandoWire->connect($nodes[$_]->port, timeout => 120) } @$nodes;
		my $key = $asking[0]->value("SELECT k FROM generate_series(1, 100) k WHERE get_shard_id_for_distribution_column('n.t', k) = "
			  . '(SELECT max(shardid) FROM citus_shards WHERE table_name = \'n.t\'::regclass AND nodeport = ' . $nodes[ $nodes->[0] || 1 ]->port . ') LIMIT 1');
		$two->query('BEGIN');
		is(state_of($two->query(sprintf $first, $key)), 'done', "$first from node $nodes->[1]");
		$one->send($waits);
		await_end_or_wait($one, @asking);
		is(state_of($two->query($second)), 'done', $second);
		is(state_of($two->query('COMMIT')), 'done', 'commits');
		is(state_of($one->answer), $outcome, "$waits from node $nodes->[0]");
		undef $_ foreach $one, $two;
		$cluster->sql('DROP SCHEMA IF EXISTS n CASCADE');
	}
}

# The other table of a foreign key that goes is locked where all meet, and only then on the node itself.
$cluster->sql("CREATE TABLE a (k int PRIMARY KEY, v int); CREATE TABLE b (k int PRIMARY KEY); CREATE TABLE d (k int, v int, CONSTRAINT d_key FOREIGN KEY (k) REFERENCES a);
	SELECT create_distributed_table('a', 'k'), create_reference_table('b'), create_distributed_table('d', 'k'); ALTER TABLE d ADD FOREIGN KEY (v) REFERENCES b");
foreach my $case ([ 'a', 'ALTER TABLE d DROP CONSTRAINT d_key' ], [ 'b', 'ALTER TABLE d ADD x int, DROP v' ], [ 'd', 'ALTER TABLE a DROP CONSTRAINT a_pkey CASCADE' ])
{
	my ($other, $alter) = @$case;
	my ($reader, $client, $second) = map { PandoWire->connect($nodes[$_]->port, timeout => 120) } 0, 1, 1;
	$reader->query($_) foreach 'BEGIN', "SELECT count(*) FROM $other";
	$client->query('BEGIN');
	$client->send($alter);
	await_end_or_wait($client, @asking);
	is(state_of($second->query("SET lock_timeout = '2s'; SELECT count(*) FROM $other")), 'done', "$alter: table $other is not locked yet where it began");
	$reader->query('COMMIT');
	is(state_of($client->answer), 'done', "$alter: done");
	$client->query('ROLLBACK');
}
$cluster->sql('DROP TABLE d, a, b');

# What has committed where it began, and is still prepared here: who comes next waits for that.
{
	$_->safe_psql('postgres', 'ALTER SYSTEM SET citus.recover_2pc_interval = -1; SELECT pg_reload_conf()') foreach @nodes;
	$cluster->sql("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'");
	$nodes[1]->safe_psql('postgres', "SELECT pando.debug_point_arm('node-before-commit-prepared', 'error')");
	my ($result, $out, $err) = $cluster->coordinator->psql('postgres', 'ALTER FUNCTION f() COST 7');
	like($err, qr/WARNING: .*could not commit prepared transaction/, 'a function is changed from one node');
	$nodes[1]->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
	my $second = PandoWire->connect($nodes[1]->port, timeout => 120);
	$second->send('ALTER FUNCTION f() COST 8');
	await_end_or_wait($second, @asking);
	$cluster->sql('SELECT recover_prepared_transactions()');
	is(state_of($second->answer), 'done', 'and from the one where that is prepared');
	is($_->value("SELECT procost FROM pg_proc WHERE oid = 'f()'::regprocedure"), '8', 'the last change counts') foreach @asking;
	$cluster->sql('DROP FUNCTION f');
}

# What is made has the same privileges on all nodes, also where the default ones change meanwhile.
{
	my $privileges = q{SELECT coalesce((SELECT relacl::text FROM pg_class WHERE oid = 'c'::regclass), '-') || coalesce((SELECT proacl::text FROM pg_proc WHERE oid = to_regproc('g')), '-')};
	my $give = 'ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO pair_1; ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO pair_1';
	my $take = $give =~ s/GRANT/REVOKE/gr =~ s/ TO / FROM /gr;
	my $function = 'CREATE FUNCTION g() RETURNS int LANGUAGE sql AS \'SELECT 1\'';
	my $distribute = "SELECT create_distributed_table('c', 'k')";
	my $same = sub {
		my ($name) = @_;
		my %seen = map { $_->value($privileges) => 1 } @asking;
		is(join(' ', sort keys %seen), (keys %seen)[0], "$name: the same privileges on all nodes");
		$cluster->sql("SET search_path TO n, public; DROP TABLE c; DROP SCHEMA IF EXISTS n; DROP FUNCTION IF EXISTS g; $take");
	};
	my $wait = sub { return $cluster->coordinator->poll_query_until('postgres', q{SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND NOT granted)}) };
	my $connect = sub { return map { PandoWire->connect($nodes[$_]->port, timeout => 120) } @_ };

	# Where a node is slow to make its part: its schema is locked, by somebody who then leaves it.
	foreach my $leader (0, 1)
	{
		my ($one, $two, $slow) = $connect->($leader, 3, 2);
		$cluster->sql('CREATE SCHEMA n');
		$_->query('SET search_path TO n, public') foreach $one, @asking;
		$one->query('CREATE TABLE n.c (k int)');
		$slow->query($_) foreach 'SET citus.enable_ddl_propagation TO off', 'BEGIN', 'DROP SCHEMA n';
		$one->send($distribute);
		await_end_or_wait($one, @asking);
		$two->send('ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO pair_1');
		ok($wait->(), "node $leader distributes a table: default privileges wait");
		$slow->query('ROLLBACK');
		is(state_of($_->answer), 'done', 'both are done') foreach $one, $two;
		$same->("a table from node $leader");
	}
	# What is not committed on one node yet.
	foreach my $case ([ '', $give ], [ $give, $take ])
	{
		my ($before, $alter) = @$case;
		foreach my $make ("CREATE TABLE c (k int); $distribute", "CREATE TABLE c (k int); $distribute; $function")
		{
			$cluster->sql($before) if $before;
			$nodes[3]->safe_psql('postgres', "SELECT pando.debug_point_arm('node-before-commit-prepared', 'error')");
			my ($result, $out, $err) = $cluster->coordinator->psql('postgres', "BEGIN; $alter; COMMIT");
			like($err, qr/WARNING: .*could not commit prepared transaction/, 'default privileges change');
			$nodes[3]->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
			my ($one) = $connect->(1);
			$one->send($make);
			await_end_or_wait($one, @asking);
			$cluster->sql('SELECT recover_prepared_transactions()');
			is(state_of($one->answer), 'done', $make);
			$same->('what is made then');
		}
	}
	# A block that has made something.
	foreach my $make ($function, 'ALTER TABLE c ADD x bigserial')
	{
		$cluster->sql("CREATE TABLE c (k int); $distribute");
		my ($one, $two) = $connect->(1, 2);
		$one->query($_) foreach 'BEGIN', $make;
		$two->send('ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO pair_1');
		ok($wait->(), "$make: default privileges wait for its end");
		is(state_of($one->query($_)), 'done', $_) foreach $function =~ s/g\(/h(/r, 'DROP FUNCTION h()', 'COMMIT';
		is(state_of($two->answer), 'done', 'which comes');
		$same->('and then');
	}
}
is($cluster->prepared_count, 0, 'nothing stays prepared');
$cluster->stop;
done_testing();
