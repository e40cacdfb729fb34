# Two copies of each shard: writes reach both, and reads survive the loss of one node.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('copies', workers => 3, conf => "citus.shard_replication_factor = 2\ncitus.node_connection_timeout = '5s'");
$cluster->sql(<<'END');
CREATE TABLE t (k int PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'k', shard_count => 8);
INSERT INTO t SELECT i, i FROM generate_series(1, 1000) i;
UPDATE t SET v = v + 1 WHERE k % 2 = 0;
UPDATE t SET v = 0 WHERE k = 7;
DELETE FROM t WHERE k = 8;
COPY t FROM PROGRAM 'seq 2001 2100 | sed "s/.*/&,1/"' (FORMAT csv);
END
is($cluster->sql('SELECT count(*), count(DISTINCT shardid), min(c), max(c) FROM (SELECT shardid, count(*) OVER (PARTITION BY shardid) c FROM pg_dist_placement) p'),
	'16|8|2|2', 'every shard has two placements');
my $sums = $cluster->sql('SELECT count(*), sum(k), sum(v) FROM t');
is($cluster->sql("SELECT count(*) FROM (SELECT shardid, count(DISTINCT result) c FROM run_command_on_placements('t', 'SELECT md5(string_agg(k || \$\$,\$\$ || v, \$\$;\$\$ ORDER BY k)) FROM %s') GROUP BY shardid) x WHERE c > 1"),
	'0', 'the copies agree');
foreach my $i (1 .. 3)
{
	$cluster->worker($i)->stop('immediate');
	is($cluster->sql('SELECT count(*), sum(k), sum(v) FROM t'), $sums, "reads go on without worker $i");
	is($cluster->sql('SELECT v FROM t WHERE k = 9'), '9', "also of one row");
	my ($result, $out, $err) = $cluster->coordinator->psql('postgres', 'UPDATE t SET v = v');
	isnt($result, 0, 'a write that cannot reach all copies is refused');
	my $port = $cluster->worker($i)->port;
	like($err, qr/127\.0\.0\.1:$port/, 'and names the node');
	$cluster->worker($i)->start;
}
$cluster->sql('UPDATE t SET v = v + 1');
is($cluster->sql('SELECT count(*), sum(k) FROM t'), join('|', (split /\|/, $sums)[ 0, 1 ]), 'writes go on with all nodes back');
is($cluster->prepared_count, 0, 'nothing is left prepared');

$cluster->stop;
done_testing();
