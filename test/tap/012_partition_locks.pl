# Schema changes of a partitioned table, from all nodes at once, while others read and write it through all nodes: nobody
# is the victim of a deadlock. Who comes first is found out on shells, before any node's shards are locked.
use strict;
use warnings;
use PandoCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cluster = PandoCluster->new('partition_locks', conf => "deadlock_timeout = 200ms\nlog_lock_waits = on");
$cluster->sql(<<'END');
SET citus.shard_count TO 4;
CREATE TABLE p (k int, d int, v int, PRIMARY KEY (k, d)) PARTITION BY RANGE (d);
CREATE TABLE p_low PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p_other PARTITION OF p DEFAULT;
SELECT create_distributed_table('p', 'k');
INSERT INTO p SELECT k, k % 20, 0 FROM generate_series(1, 100) k;
END

# Writers change rows of their own, so that only schema changes can be in their way.
my @nodes = $cluster->nodes;
my (@changes, @writers);
foreach my $i (0 .. $#nodes)
{
	my $own = "p_own$i";
	my $low = 1000 * ($i + 1);
	my $bounds = "FOR VALUES FROM ($low) TO ($low + 10)";
	push @changes, $cluster->start($nodes[$i], <<"END" x 2);
CREATE TABLE $own PARTITION OF p $bounds;
INSERT INTO p VALUES (1, $low, 0);
ALTER TABLE p DETACH PARTITION $own;
ALTER TABLE p ATTACH PARTITION $own $bounds;
CREATE INDEX p_v$i ON p (v);
DROP INDEX p_v$i;
DROP TABLE $own;
CREATE TABLE $own (k int, d int, v int, PRIMARY KEY (k, d));
ALTER TABLE p ATTACH PARTITION $own $bounds;
DROP TABLE $own;
END
	my ($here, $there) = ($i, 10 + $i);
	push @writers, $cluster->start($nodes[$i], <<"END" x 40);
UPDATE p SET v = v + 1 WHERE d IN ($here, $there);
SELECT count(*) FROM p WHERE d < 100;
INSERT INTO p SELECT k, 500 + $i, 0 FROM generate_series(1, 10) k ON CONFLICT (k, d) DO UPDATE SET v = p.v + 1;
END
}
foreach my $session (@changes, @writers)
{
	$session->{handle}->finish;
	is($session->{err}, '', 'a session without errors');
}
unlike(slurp_file($_->logfile), qr/deadlock detected/, 'no deadlock on ' . $_->name) foreach @nodes;
is($cluster->sql('SELECT sum(v) FROM p WHERE d < 3 OR d BETWEEN 10 AND 12'),
	40 * $cluster->sql('SELECT count(*) FROM p WHERE d < 3 OR d BETWEEN 10 AND 12'), 'all is written');
is($cluster->sql("SELECT count(*) FROM pg_inherits WHERE inhparent = 'p'::regclass"), 2, 'and two partitions are left');

$cluster->stop;
done_testing();
