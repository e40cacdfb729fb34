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
done_testing();
