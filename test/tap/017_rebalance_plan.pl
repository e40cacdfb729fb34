# A rebalance is planned, and made a job, in steps and memory that grow straight with its moves: on a map of 1,000 nodes and 100,000 shards
# that are nowhere. What comes of a plan is even, and where the strategy allows.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PandoWire;

my $cluster = PandoCluster->new('plan', workers => 0, conf => <<'END');
citus.recover_2pc_interval = -1
citus.background_task_queue_interval = -1
autovacuum = off
END
my $coordinator = $cluster->coordinator;

plan skip_all => 'built without debug points'
  unless eval { $cluster->sql('SELECT pando.debug_point_clear()'); 1 };

$cluster->sql(<<'END');
CREATE FUNCTION peak() RETURNS int LANGUAGE sql AS $$ SELECT substring(pg_read_file('/proc/self/status') from 'VmHWM:\s*(\d+)')::int $$;
SELECT citus_set_node_property('127.0.0.1', nodeport, 'shouldhaveshards', false) FROM pg_dist_node;
CREATE TABLE big (k int PRIMARY KEY, v int);
CREATE FUNCTION cost(bigint) RETURNS real LANGUAGE plpgsql AS $$ BEGIN RETURN 1 + $1 % 7; END $$;
CREATE FUNCTION even_only(bigint, int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RETURN $2 % 2 = 0; END $$;
CREATE FUNCTION twice(int) RETURNS real LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN $1 < 1500 THEN 2 ELSE 1 END; END $$;
CREATE FUNCTION no_cost(bigint) RETURNS real LANGUAGE sql AS 'SELECT NULL::real';
CREATE FUNCTION bad_cost(bigint) RETURNS real LANGUAGE sql AS $$ SELECT 'NaN'::real $$;
SELECT citus_add_rebalance_strategy('own', 'cost', 'citus_node_capacity_1', 'citus_shard_allowed_on_node_true', 0.05);
SELECT citus_add_rebalance_strategy('even', 'citus_shard_cost_1', 'citus_node_capacity_1', 'even_only', 0);
SELECT citus_add_rebalance_strategy('twice', 'citus_shard_cost_1', 'twice', 'citus_shard_allowed_on_node_true', 0);
SELECT citus_add_rebalance_strategy('none', 'no_cost', 'citus_node_capacity_1', 'citus_shard_allowed_on_node_true', 0);
SELECT citus_add_rebalance_strategy('bad', 'bad_cost', 'citus_node_capacity_1', 'citus_shard_allowed_on_node_true', 0);
SELECT citus_add_rebalance_strategy('gone', 'bad_cost', 'citus_node_capacity_1', 'citus_shard_allowed_on_node_true', 0);
SET allow_system_table_mods = on;
SET session_replication_role = replica;
INSERT INTO pg_dist_node (nodeid, groupid, nodename, nodeport, hasmetadata, isactive, noderole, nodecluster, metadatasynced, shouldhaveshards)
	SELECT 1000 + i, 1000 + i, '127.0.0.1', 1 + i, true, true, 'primary', 'default', true, true FROM generate_series(0, 999) i;
INSERT INTO pg_dist_colocation SELECT 7770, 100000, 1, 'int'::regtype, 0;
INSERT INTO pg_dist_partition SELECT 'big'::regclass, 'h', 'k', 7770, 's', false;
INSERT INTO pg_dist_shard SELECT 'big'::regclass, 7000000 + s, 't', (-2147483648 + s * 42949::bigint)::text,
	CASE WHEN s = 99999 THEN '2147483647' ELSE (-2147483648 + (s + 1) * 42949::bigint - 1)::text END FROM generate_series(0, 99999) s;
INSERT INTO pg_dist_placement SELECT 7000000 + s, 7000000 + s, 1, 0, 1000 + s % 500 FROM generate_series(0, 99999) s;
UPDATE pg_dist_rebalance_strategy SET shard_cost_function = 4000000000 WHERE name = 'gone';
END

# What the plan of a strategy leads to: how many moves, least and greatest cost on a node, in a session of its own that is rolled back.
sub planned
{
	my ($what, $arguments, $steps, $cost) = @_;
	$cost //= '1';
	my $wire = PandoWire->connect($coordinator->port);
	$wire->value('SELECT count(*) FROM get_rebalance_table_shards_plan(max_shard_moves => 0)');
	my $before = $wire->value('SELECT peak()');
	$wire->query('BEGIN');
	$wire->value('SELECT pando.debug_steps()');
	my $error = $wire->query("SELECT citus_rebalance_start($arguments)")->{error};
	is($error, undef, "$what: no error");
	my $done = $wire->value('SELECT pando.debug_steps()');
	cmp_ok($done, '<=', $steps, "$what: $done steps");
	my $peak = $wire->value('SELECT peak()') - $before;
	cmp_ok($peak, '<=', 200_000, "$what: $peak kilobytes");
	my $result = $wire->value(<<"END");
WITH task AS (SELECT task_id, substring(command from '\\((\\d+)')::bigint AS shard, nodes_involved[2] AS target FROM pg_dist_background_task),
	last AS (SELECT DISTINCT ON (shard) shard, target FROM task ORDER BY shard, task_id DESC),
	load AS (SELECT n.nodeid, coalesce(sum($cost) FILTER (WHERE p.shardid IS NOT NULL), 0) AS cost FROM pg_dist_node n
		LEFT JOIN (pg_dist_placement p LEFT JOIN last l ON l.shard = p.shardid) ON coalesce(l.target, p.groupid) = n.nodeid
		WHERE n.groupid > 0 GROUP BY 1)
SELECT (SELECT count(*) FROM task) || ' ' || (SELECT min(cost) || ' ' || max(cost) FROM load) || ' '
	|| (SELECT count(*) FROM pg_dist_background_task_depend)
END
	$wire->query('ROLLBACK');
	return $result;
}

# 200 on each of 500 nodes, none on the others.
is(planned('by count', '', 3_000_000), '50000 100 100 49999', 'all nodes have as much, one move after the other');
my ($moves, $least, $most) = split / /, planned('own costs', "'own'", 5_000_000, '1 + p.shardid % 7');
cmp_ok($moves, '<=', 50000, 'no more moves than by count');
cmp_ok($least, '>=', 380, 'own costs are even within the threshold');
cmp_ok($most, '<=', 420, 'own costs are even within the threshold');
is(planned('twice the capacity', "'twice'", 5_000_000), '33000 66 134 32999', 'a node with twice the capacity has twice as much');
is(planned('nothing to be drained', 'drain_only => true', 3_000_000), '0 0 200 0', 'no move');
$cluster->sql("SET session_replication_role = replica; UPDATE pg_dist_node SET shouldhaveshards = groupid % 5 <> 0 WHERE groupid > 0");
is(planned('drained nodes', 'drain_only => true', 3_000_000), '20000 0 200 19999', 'a fifth of all leaves');
is(planned('drained nodes and all evened out', '', 5_000_000), '50000 0 125 49999', 'and all are even');
$cluster->sql(<<'END');
SET session_replication_role = replica;
UPDATE pg_dist_node SET shouldhaveshards = true, isactive = groupid < 1100 WHERE groupid > 0;
DELETE FROM pg_dist_placement WHERE shardid >= 7002000;
UPDATE pg_dist_placement SET groupid = 1000 + shardid % 50;
END
is(planned('half of the nodes', "'even'", 500_000), '1000 0 40 999', 'shards go where they may be');

# Strategies that don't work.
foreach (['none', qr/function no_cost\(bigint\) of the rebalance strategy has returned NULL/], ['bad', qr/has returned nan/i], ['gone', qr/the shard cost function does not exist/])
{
	my ($ret, $out, $err) = $coordinator->psql('postgres', "SELECT citus_rebalance_start('$_->[0]')");
	like($err, $_->[1], "$_->[0]: an error that names it");
}
$cluster->stop;
done_testing();
