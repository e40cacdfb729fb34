# All that a statement of a READ COMMITTED block reads on a node is as of one moment, however
# many commands it sends there: several fragments, results that are read first, functions that
# share its snapshot, more shards than go as one command. The next statement sees what was
# committed meanwhile.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PandoWire;

my $cluster = PandoCluster->new('statement_snapshot');
my ($coordinator, $worker1, $worker2) = my @nodes = $cluster->nodes;
$cluster->sql(<<'END');
SET citus.shard_count TO 4;
CREATE TABLE t (k int PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'k');
INSERT INTO t SELECT k, 100 FROM generate_series(1, 40) k;
CREATE TABLE other (k int, t int);
SELECT create_distributed_table('other', 'k', colocate_with => 'none');
INSERT INTO other SELECT k, 41 - k FROM generate_series(1, 40) k;
CREATE FUNCTION wait_here() RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN 0; END $$;
CREATE FUNCTION total_stable() RETURNS bigint LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (SELECT sum(v) FROM t); END $$;
CREATE FUNCTION total_volatile() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT sum(v) FROM t); END $$;
END

my $lock = PandoWire->connect($coordinator->port);
my $reader = PandoWire->connect($coordinator->port);

# Runs the statement in the block that is open; when it waits, another client adds 1 to each row.
sub read_while_written
{
	my ($sql) = @_;
	$lock->query('SELECT pg_advisory_lock(7)');
	$reader->send($sql);
	ok($coordinator->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"),
		'the statement waits between two of its reads');
	$cluster->sql('UPDATE t SET v = v + 1');
	$lock->query('SELECT pg_advisory_unlock(7)');
	my $result = $reader->answer;
	return join '|', map { join ',', map { $_ // 'NULL' } @$_ } @{ $result->{rows} };
}

my $sum = 4000;
my %statements = (
	'two fragments' => 'SELECT (SELECT sum(v) FROM t), wait_here(), (SELECT sum(v) FROM t)',
	'two fragments in an order that the executor merges' =>
		'SELECT (SELECT sum(v) FROM t), wait_here(), (SELECT sum(v) FROM (SELECT v FROM t ORDER BY k LIMIT 40) s)',
	'a result that is read first' =>
		'WITH w AS MATERIALIZED (SELECT sum(v) AS s, max(v) AS m FROM t) SELECT s, wait_here(), (SELECT sum(t.v) FROM t WHERE t.v IN (SELECT v FROM t ORDER BY k LIMIT 40)) FROM w',
	'rows that are moved' => 'SELECT (SELECT sum(v) FROM t), wait_here(), (SELECT sum(t.v) FROM other JOIN t ON t.k = other.t)',
	'stable functions' => 'SELECT total_stable(), wait_here(), total_stable()',
	'a stable function after a fragment' => 'SELECT (SELECT sum(v) FROM t), wait_here(), total_stable()',
);
foreach my $kind (sort keys %statements)
{
	$reader->query('BEGIN');
	is(read_while_written($statements{$kind}), "$sum,0,$sum", "$kind: one moment");
	$sum += 40;
	is($reader->value('SELECT sum(v) FROM t'), $sum, '... and the next statement sees what was committed');
	is($reader->value('SELECT total_stable() + (SELECT sum(v) FROM t)'), 2 * $sum, '... however it reads');
	$reader->query('COMMIT');
}

# What a block has changed itself is seen by its next statement, not by the one that runs; savepoints take nothing along.
$reader->query('BEGIN; UPDATE t SET v = v + 1000 WHERE k <= 10');
is(read_while_written_elsewhere('SELECT (SELECT sum(v) FROM t), wait_here(), (SELECT sum(v) FROM t)'), ($sum + 10000) . ',0,' . ($sum + 10000),
	'with the own changes of before');
$reader->query('SAVEPOINT s; UPDATE t SET v = v + 1000 WHERE k <= 10');
is($reader->value('SELECT (SELECT sum(v) FROM t) + total_stable()'), 2 * ($sum + 20040), 'in a savepoint');
$reader->query('ROLLBACK TO s');
is($reader->value('SELECT (SELECT sum(v) FROM t) + total_stable()'), 2 * ($sum + 10040), 'after it was rolled back');
$reader->query('ROLLBACK');
$sum += 40;

# PostgreSQL gives each statement of a volatile function a snapshot of its own.
$reader->query('BEGIN');
is(read_while_written('SELECT total_volatile(), wait_here(), total_volatile()'), "$sum,0," . ($sum + 40), 'volatile functions see what was committed meanwhile');
$sum += 40;
$reader->query('COMMIT');

# Another client changes the rows that this block has not locked.
sub read_while_written_elsewhere
{
	my ($sql) = @_;
	$lock->query('SELECT pg_advisory_lock(7)');
	$reader->send($sql);
	ok($coordinator->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"),
		'the statement waits between two of its reads');
	$cluster->sql('UPDATE t SET v = v + 1 WHERE k > 10');
	$cluster->sql('UPDATE t SET v = v + 10 WHERE k = 40');
	$lock->query('SELECT pg_advisory_unlock(7)');
	my $result = $reader->answer;
	return join '|', map { join ',', map { $_ // 'NULL' } @$_ } @{ $result->{rows} };
}

# The node's backend keeps no snapshot after the transaction, however it ends. (One of a question that a node asks just now goes.)
ok($_->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND application_name LIKE '%gpid%'"),
	'no snapshot is left') foreach @nodes;

# More shards on a node than go as one command: a row moves from a shard that is read late to one that is read early.
$cluster->sql(<<'END');
SET citus.shard_count TO 1010;
CREATE TABLE big (k int PRIMARY KEY, v int);
SELECT create_distributed_table('big', 'k', colocate_with => 'none');
INSERT INTO big SELECT k, 1 FROM generate_series(1, 3000) k;
CREATE FUNCTION wait_there(k int, at int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN IF k = at THEN PERFORM pg_advisory_xact_lock_shared(8); END IF; RETURN true; END $$;
END
my ($first, $last) = split /\|/, $cluster->sql(<<'END');
WITH s AS (SELECT s.shardid, s.shardminvalue::int AS lowest FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) WHERE s.logicalrelid = 'big'::regclass AND p.groupid = 1),
keys AS (SELECT k, lowest FROM big JOIN s ON s.shardid = get_shard_id_for_distribution_column('big', k))
SELECT (SELECT k FROM keys ORDER BY lowest, k LIMIT 1), (SELECT k FROM keys ORDER BY lowest DESC, k LIMIT 1)
END
my $there = PandoWire->connect($worker1->port);
$there->query('SELECT pg_advisory_lock(8)');
$reader->query('BEGIN');
$reader->send("SELECT sum(v) FROM big WHERE wait_there(k, $first)");
ok($worker1->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"), 'the first command of the node waits');
$cluster->sql("UPDATE big SET v = v + 5 WHERE k IN ($first, $last)");
$there->query('SELECT pg_advisory_unlock(8)');
is($reader->answer->{rows}[0][0], 3000, 'several commands to one node see one moment');
is($reader->value('SELECT sum(v) FROM big'), 3010, 'and the next statement the next');
$reader->query('COMMIT');
$cluster->stop;
done_testing();
