# PREPARE TRANSACTION by the client, over several nodes: he alone decides, whatever is restarted meanwhile.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('client_prepare', workers => 2, conf => "citus.recover_2pc_interval = 1h\n");
my $coordinator = $cluster->coordinator;
my ($first, $second) = ($cluster->worker(1), $cluster->worker(2));
$cluster->sql("CREATE TABLE t (k int PRIMARY KEY, v int); SELECT create_distributed_table('t', 'k', shard_count => 4);"
	. "CREATE TABLE r (k int PRIMARY KEY); SELECT create_reference_table('r');"
	. 'INSERT INTO t SELECT k, 0 FROM generate_series(1, 20) k');

sub on { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql); }
sub prepare { my ($node, $value) = @_; return on($node, "BEGIN; UPDATE t SET v = $value; INSERT INTO r VALUES ($value); PREPARE TRANSACTION 'mine'"); }
sub seen { return join ' ', map { on($_, 'SELECT (SELECT min(v) || $$-$$ || max(v) FROM t) || $$/$$ || count(*) FROM r') } $cluster->nodes; }

foreach my $node ($cluster->nodes)
{
	my $name = $node->name;

	on($coordinator, 'UPDATE t SET v = 0; DELETE FROM r');
	prepare($node, 1);
	is(seen(), '0-0/0 0-0/0 0-0/0', "$name: what is prepared is not seen");
	# Older than what is in doubt: nobody waits for it.
	sleep 3;
	on($_, 'SELECT recover_prepared_transactions()') foreach $cluster->nodes;
	is(seen(), '0-0/0 0-0/0 0-0/0', "$name: recovery leaves it alone, and readers don't wait");
	$_->restart foreach $cluster->nodes;
	on($_, 'SELECT recover_prepared_transactions()') foreach $cluster->nodes;
	is(on($node, q{SELECT gid FROM pg_prepared_xacts WHERE gid = 'mine'}), 'mine', "$name: it is there after all were restarted");
	on($node, "COMMIT PREPARED 'mine'");
	is(seen(), '1-1/1 1-1/1 1-1/1', "$name: committed by another session, it is seen everywhere");
	is($cluster->prepared_count, 0, 'and nothing stays prepared');
	prepare($node, 2);
	$node->stop('immediate');
	$node->start;
	on($_, 'SELECT recover_prepared_transactions()') foreach $cluster->nodes;
	on($node, "ROLLBACK PREPARED 'mine'");
	is(seen(), '1-1/1 1-1/1 1-1/1', "$name: rolled back after a crash");
	is($cluster->prepared_count, 0, 'and nothing stays prepared');
}

# A node that is away while it is committed follows.
prepare($coordinator, 3);
$second->stop('immediate');
my ($code, $out, $err) = $coordinator->psql('postgres', "COMMIT PREPARED 'mine'");
is($code, 0, 'a commit needs no node');
my $port = $second->port;
like($err, qr/WARNING:  transaction "mine" has not ended on the remote node \S+:$port yet/, 'and says which was away');
$second->start;
on($coordinator, 'SELECT recover_prepared_transactions()');
is(seen(), '3-3/2 3-3/2 3-3/2', 'which has it afterwards');
ok($coordinator->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_dist_transaction'), 'and no record stays');

# A node that is away while it is prepared.
$second->stop('immediate');
($code, $out, $err) = $coordinator->psql('postgres', "BEGIN; UPDATE t SET v = 4; PREPARE TRANSACTION 'mine'");
isnt($code, 0, 'nothing is prepared without a node that took part');
$second->start;
is(seen(), '3-3/2 3-3/2 3-3/2', 'nothing has happened');
is($cluster->prepared_count, 0, 'and nothing is prepared');

# Steps at which the backend, or its server, is lost.
foreach my $point ('commit-during-prepare', 'commit-after-prepare', 'commit-after-record')
{
	($code, $out, $err) = $coordinator->psql('postgres', "SELECT pando.debug_point_arm('$point', 'error'); BEGIN; UPDATE t SET v = 4; PREPARE TRANSACTION 'mine'");
	isnt($code, 0, "$point is come to");
	on($coordinator, 'SELECT pando.debug_point_clear()');
	is(seen(), '3-3/2 3-3/2 3-3/2', "$point: nothing has happened");
	ok($cluster->settled, 'and nothing is prepared');
}
foreach my $point ('client-before-second-phase', 'client-during-second-phase')
{
	prepare($coordinator, 5);
	($code, $out, $err) = $coordinator->psql('postgres', "SELECT pando.debug_point_arm('$point', 'error'); COMMIT PREPARED 'mine'");
	isnt($code, 0, "$point is come to");
	on($coordinator, 'SELECT pando.debug_point_clear(); SELECT recover_prepared_transactions()');
	is(seen(), '5-5/3 5-5/3 5-5/3', "$point: it is committed");
	is($cluster->prepared_count, 0, 'and nothing stays prepared');
	on($coordinator, 'UPDATE t SET v = 3; DELETE FROM r WHERE k = 5');
}

# Others can neither take such names nor end what is somebody else's.
on($coordinator, 'CREATE ROLE somebody LOGIN; CREATE ROLE other LOGIN; GRANT ALL ON t TO somebody');
$coordinator->safe_psql('postgres', "BEGIN; UPDATE t SET v = 6; PREPARE TRANSACTION 'mine'", extra_params => [ '-U', 'somebody' ]);
($code, $out, $err) = $coordinator->psql('postgres', "COMMIT PREPARED 'mine'", extra_params => [ '-U', 'other' ]);
like($err, qr/permission denied to finish prepared transaction/, 'who has not prepared it may not commit it');
$coordinator->safe_psql('postgres', "COMMIT PREPARED 'mine'", extra_params => [ '-U', 'somebody' ]);
is(on($coordinator, 'SELECT min(v), max(v) FROM t'), '6|6', 'who has may');
($code, $out, $err) = $first->psql('postgres', "BEGIN; SELECT count(*) FROM t; PREPARE TRANSACTION 'pando_x'", extra_params => [ '-U', 'somebody' ]);
like($err, qr/transaction identifier "pando_x" is reserved/, "a node's names are its own");

# Row locks stay, and so do new tables.
on($coordinator, "BEGIN; SELECT * FROM t WHERE k = 1 FOR UPDATE; PREPARE TRANSACTION 'locks'");
($code, $out, $err) = $first->psql('postgres', "SET lock_timeout = 300; UPDATE t SET v = 7 WHERE k = 1");
like($err, qr/lock timeout/, 'a row that is locked stays so');
on($coordinator, "ROLLBACK PREPARED 'locks'");
on($first, 'UPDATE t SET v = 7 WHERE k = 1');
on($first, "BEGIN; CREATE TABLE made (k int); SELECT create_distributed_table('made', 'k'); INSERT INTO made VALUES (1); PREPARE TRANSACTION 'made'");
on($first, "COMMIT PREPARED 'made'");
is(join(' ', map { on($_, 'SELECT count(*) FROM made') } $cluster->nodes), '1 1 1', 'a table that was made is on all nodes');

# Whom a move has to keep waiting until it ends.
my ($shard, $from) = split /\|/, on($coordinator, q{SELECT shardid, nodeport FROM citus_shards WHERE table_name = 't'::regclass ORDER BY 1 LIMIT 1});
my ($to) = grep { $_ != $from } $first->port, $second->port;
my $move = "BEGIN; SELECT citus_move_shard_placement($shard, '127.0.0.1', $from, '127.0.0.1', $to, 'MODE'); PREPARE TRANSACTION 'move'";
($code, $out, $err) = $coordinator->psql('postgres', $move =~ s/MODE/force_logical/r);
like($err, qr/cannot PREPARE a transaction that moves shards while they are in use/, 'an online move is not prepared');
on($coordinator, $move =~ s/MODE/block_writes/r);
on($coordinator, "COMMIT PREPARED 'move'");
is(on($first, "SELECT nodeport FROM citus_shards WHERE shardid = $shard"), $to, 'another one is');
is(on($second, 'SELECT count(*) FROM t'), 20, 'with all rows');

$cluster->stop;
done_testing();
