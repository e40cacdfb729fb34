# Values of hundreds of MB go to nodes and come back: also where their text form would be longer than
# the 1 GB that PostgreSQL can hold. What can't be is an error with its SQLSTATE, and the session goes on.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('long_values', workers => 2, conf => <<'END');
fsync = off
wal_level = minimal
max_wal_senders = 0
max_wal_size = 4GB
autovacuum = off
END
$cluster->sql(<<'END');
SET citus.shard_count TO 3;
CREATE TABLE t (k int PRIMARY KEY, b bytea);
ALTER TABLE t ALTER b SET STORAGE EXTERNAL;
SELECT create_distributed_table('t', 'k');
INSERT INTO t SELECT i, '\x00' FROM generate_series(2, 8) i;
END

# What psql prints, with "SQLSTATE message" for errors.
sub run
{
	my ($sql) = @_;
	my ($ret, $out, $err) = $cluster->coordinator->psql('postgres', $sql,
		extra_params => [ '-v', 'VERBOSITY=verbose' ], on_error_stop => 0, timeout => 240);
	return join("\n", grep { $_ ne '' } $out, $err =~ /(?:ERROR|FATAL):  (\S+: .*)/g);
}

# One task: its text form would have 1.08 GB.
is(run(<<'END'), "540000000|\\x7878", 'a value whose text form is too long is stored');
INSERT INTO t VALUES (1, repeat('x', 540000000)::bytea);
SELECT length(b), substr(b, 539999999) FROM t WHERE k = 1;
END
is(run('SELECT length(b) FROM (SELECT b FROM t WHERE k = 1 OFFSET 0) s'), '540000000', 'and read');
like(run(<<'END'), qr/^alive\n\w{5}: /, 'what needs its text form is an error, and the session goes on');
COPY (SELECT b FROM t WHERE k = 1) TO '/dev/null';
SELECT 'alive';
END
$cluster->sql('DELETE FROM t WHERE k = 1');

# Several tasks of a node, each with the value as its parameter.
is(run(<<'END'), "5\n5|280000000", 'a long parameter goes to all shards');
PREPARE u(bytea) AS UPDATE t SET b = $1 WHERE k % 9 = 5 RETURNING k;
BEGIN;
EXECUTE u(repeat('y', 280000000)::bytea);
SELECT k, length(b) FROM t WHERE length(b) > 1;
ROLLBACK;
END

# The same for reads: values are sent once, not as text in each task.
is(run(<<'END'), "2\n3\n4\n5\n6\n7\n8", 'also of a read');
PREPARE r(bytea) AS SELECT k FROM t WHERE b <> $1 ORDER BY k;
EXECUTE r(repeat('y', 280000000)::bytea);
END

# An exchange, whose rows then come by way of the coordinator.
is(run(<<'END'), "2|280000001\n3|280000001", 'also where rows are exchanged');
CREATE TABLE o (k int, o int);
SELECT create_distributed_table('o', 'k', colocate_with => 't') \g /dev/null
INSERT INTO o SELECT i, i FROM generate_series(1, 2000) i;
ANALYZE o, t;
PREPARE x(bytea) AS SELECT a.k, a.l FROM (SELECT k, k + 1 AS o, length($1 || b) AS l FROM t) a
	JOIN o ON a.o = o.k WHERE a.l > 0 ORDER BY 1 LIMIT 2;
EXECUTE x(repeat('y', 280000000)::bytea);
END

# Two rows for one shard.
my ($one, $other) = split /\n/, $cluster->sql(
	"SELECT k FROM generate_series(11, 40) k WHERE get_shard_id_for_distribution_column('t', k) = get_shard_id_for_distribution_column('t', 11) LIMIT 2");
is(run(<<"END"), "270000000\n270000001", 'and long rows of one INSERT');
BEGIN;
INSERT INTO t VALUES ($one, repeat('y', 270000000)::bytea), ($other, repeat('y', 270000001)::bytea) RETURNING length(b);
ROLLBACK;
END

# A shard that moves to the coordinator and away from it.
my ($here, $there) = map { "'127.0.0.1', " . $cluster->node_port($_) } 0, 1;
my $move = "SELECT citus_move_shard_placement(shardid, nodename, nodeport, %s) FROM citus_shards WHERE table_name = 'm'::regclass \\g /dev/null";
is(run(<<"END"), '540000000', 'a long value moves');
CREATE TABLE m (k int, b bytea);
ALTER TABLE m ALTER b SET STORAGE EXTERNAL;
SELECT create_distributed_table('m', 'k', shard_count => 1, colocate_with => 'none') \\g /dev/null
SELECT citus_set_node_property($here, 'shouldhaveshards', true) \\g /dev/null
INSERT INTO m VALUES (1, repeat('x', 540000000)::bytea);
@{[ sprintf $move, $here ]}
@{[ sprintf $move, $there ]}
SELECT length(b) FROM m;
END
done_testing();
