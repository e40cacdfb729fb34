# A pgbench database grows from one worker to three and then gets two copies of each row, by the very
# commands of a published walk-through: every step says what it said there, pgbench fails no
# transaction, and after each run the balances of accounts, branches and tellers agree.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('blog', workers => 3, join => 0);
my $coordinator = $cluster->coordinator;
$ENV{PGHOST} = '127.0.0.1';
$ENV{PGPORT} = $coordinator->port;
delete $ENV{PGDATABASE};

# Runs a shell script. Hosts citus1 to citus3 at port 5432 are this test's workers.
sub shell
{
	my ($script) = @_;
	foreach my $i (1 .. 3)
	{
		my $port = $cluster->worker($i)->port;
		$script =~ s/'citus$i', 5432/'127.0.0.1', $port/g;
	}
	$script =~ s/'citus-coord-01', 5432/'127.0.0.1', $ENV{PGPORT}/g;
	my ($out, $err);
	my $ok = IPC::Run::run([ 'bash', '-c', $script ], '>', \$out, '2>', \$err);
	$out =~ s/ +$//mg;
	return ($ok, $out, $err);
}

sub step
{
	my ($name, $script) = @_;
	my ($ok, $out, $err) = shell($script);
	ok($ok, $name) or diag($err);
	unlike($err, qr/ERROR/, "$name: no error");
	return ($out, $err);
}

sub value { return $coordinator->safe_psql('pgbench', $_[0]); }

sub benchmark
{
	my ($name) = @_;
	my $before = value('SELECT sum(abalance) FROM pgbench_accounts');
	my ($out, $err) = step("pgbench with $name", 'pgbench -c 20 -j 3 -T 3 -P 3 pgbench');
	like($out, qr/number of failed transactions: 0 /, "$name: no failed transaction");
	my ($count) = $out =~ /transactions actually processed: (\d+)/;
	cmp_ok($count, '>', 0, "$name: transactions were processed");
	is(value('SELECT count(*) FROM pgbench_history'), $count, "$name: each left its trace");
	is(value('SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(bbalance) FROM pgbench_branches),
			(SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(tbalance) FROM pgbench_tellers),
			(SELECT sum(abalance) FROM pgbench_accounts) = ' . $before . ' + (SELECT sum(delta) FROM pgbench_history)'),
		't|t|t', "$name: balances agree");
	return;
}

# The same while the step's commands run.
sub beside_benchmark
{
	my ($name, $script) = @_;
	my $before = value('SELECT count(*) FROM pgbench_history');
	my ($out, $err) = step($name, "pgbench -n -c 8 -j 3 -T 12 pgbench & sleep 1; $script\nwait");
	like($out, qr/number of failed transactions: 0 /, "$name: no failed transaction");
	my ($count) = $out =~ /transactions actually processed: (\d+)/;
	is(value('SELECT count(*) FROM pgbench_history') - $before, $count, "$name: each left its trace");
	is(value('SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(bbalance) FROM pgbench_branches),
			(SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(tbalance) FROM pgbench_tellers)'), 't|t', "$name: balances agree");
	return ($out, $err);
}

# How many shards each worker has, over all tables.
sub placements
{
	return value('SELECT count(*) FROM citus_shards GROUP BY nodename, nodeport ORDER BY nodeport');
}

# Provisioning.
foreach my $node ($cluster->nodes)
{
	$node->safe_psql('postgres', q{alter system set shared_preload_libraries='pando'});
	$node->restart;
	local $ENV{PGPORT} = $node->port;
	step('the database of ' . $node->name, "psql postgres <<'_eof1_'
create database pgbench;
\\c pgbench
create extension pando;
_eof1_
");
}

# One worker.
my ($out, $err) = step('one worker', <<'END');
    psql pgbench <<_eof1_
        select citus_set_coordinator_host('citus-coord-01', 5432);
        select citus_add_node('citus1', 5432);
_eof1_
END
like($out, qr/ citus_add_node\n-+\n +2\n/, 'the first worker is node 2');
is(value('select * from master_get_active_worker_nodes();'), '127.0.0.1|' . $cluster->worker(1)->port,
	'it is the one active worker');
step('tables', 'pgbench -iI t pgbench');
($out) = step('the list of relations', 'psql pgbench -c "\d+"');
like($out, qr/^ *public *\| $_ .*$/m, "$_ is listed")
  foreach 'citus_tables +\| view', 'pgbench_accounts +\| table', 'pgbench_branches +\| table',
  'pgbench_history +\| table', 'pgbench_tellers +\| table';
my $distribute = 'psql pgbench -f ../../tools/distribute-pgbench.sql';
step('the tables are distributed', $distribute);
step('rows', 'pgbench -iI g -s 2 pgbench');
is(value('select table_name, citus_table_type, distribution_column, colocation_id, shard_count from citus_tables;'),
	join("\n", map { "pgbench_$_->[0]|distributed|$_->[1]|1|32" } [ accounts => 'aid' ], [ branches => 'bid' ],
		[ history => 'aid' ], [ tellers => 'tid' ]), 'citus_tables');
is(value('select table_name, min(shardid), max(shardid), min(shard_name), bool_and(shard_size > 0) from (select * from citus_shards) s group by 1 order by 2'),
	join("\n", 'pgbench_history|102008|102039|pgbench_history_102008|f',
		'pgbench_accounts|102040|102071|pgbench_accounts_102040|t', 'pgbench_branches|102072|102103|pgbench_branches_102072|f',
		'pgbench_tellers|102104|102135|pgbench_tellers_102104|f'), 'citus_shards');
is(value('select count(*) from pgbench_accounts'), 200000, 'all accounts are there');
benchmark('one worker, no index');

# Primary keys without names, then by name.
step('unnamed primary keys', 'pgbench -iI p pgbench');
is(value(q{select string_agg(conname, ',' order by conname) from pg_constraint where contype = 'p' and conrelid::regclass::text like 'pgbench%'}),
	'pgbench_accounts_pkey,pgbench_branches_pkey,pgbench_tellers_pkey', 'they have the names PostgreSQL chooses');
value("alter table pgbench_$_ drop constraint pgbench_${_}_pkey") foreach 'accounts', 'branches', 'tellers';
($out) = step('named primary keys', <<'END');
psql pgbench <<_eof1_
--
-- indexes and constraints must be explicitly named
--
BEGIN;
create unique index pgbench_accounts_pk on pgbench_accounts(aid);
create unique index pgbench_branches_pk on pgbench_branches(bid);
create unique index pgbench_tellers_pk on pgbench_tellers(tid);

alter table pgbench_accounts
   add constraint pk_accounts primary key using index pgbench_accounts_pk;

alter table pgbench_branches
   add constraint pk_branches primary key using index pgbench_branches_pk;

alter table pgbench_tellers
   add constraint pk_tellers primary key using index pgbench_tellers_pk;

\qecho adding REPLICA IDENTITY (no PK present)
alter table pgbench_history replica identity full;
COMMIT;
_eof1_
END
like($out, qr/^adding REPLICA IDENTITY \(no PK present\)$/m, '\qecho speaks');
benchmark('one worker');

# Two workers.
($out, $err) = beside_benchmark('two workers', <<'END');
psql pgbench <<_eof1_
        --
        -- it's understood that database pgbench already exists on citus2
        --  and extension citus has been created
        --
        \qecho adding node citus2 ...
        select citus_add_node('citus2', 5432);
        \qecho rebalancing shards across TWO nodes ...
        select * from rebalance_table_shards();
        ANALYZE;
_eof1_
END
like($out, qr/ citus_add_node\n-+\n +3\n/, 'the second worker is node 3');
my ($one, $two) = ($cluster->worker(1)->port, $cluster->worker(2)->port);
like($err, qr/^NOTICE:  Moving shard $_ from 127\.0\.0\.1:$one to 127\.0\.0\.1:$two \.\.\.$/m,
	"shard $_ is said to move") foreach 102008 .. 102023;
is(placements(), "64\n64", 'both have half of the shards');
benchmark('two workers');

# Three workers.
($out, $err) = beside_benchmark('three workers', <<'END');
psql pgbench <<_eof1_
       \qecho adding node citus3 ...
        select citus_add_node('citus3', 5432);
        \qecho rebalancing shards across TWO nodes ...
         select * from rebalance_table_shards();
_eof1_
END
like($out, qr/ citus_add_node\n-+\n +4\n/, 'the third worker is node 4');
like($err, qr/^NOTICE:  Moving shard \d+ from 127\.0\.0\.1:\d+ to 127\.0\.0\.1:\d+ \.\.\.$/m, 'shards move');
is(join(',', sort { $a <=> $b } split /\n/, placements()), '40,44,44', 'all have a third of the shards');
benchmark('three workers');

# Two copies.
step('replication factor two', <<'END');
psql pgbench <<_eof1_
        \qecho increasing replication factor to TWO
        alter system set citus.shard_replication_factor=2;
        select pg_reload_conf();
_eof1_
END
$coordinator->poll_query_until('postgres', "SELECT current_setting('citus.shard_replication_factor') = '2'") or die 'the setting is not there';
step('the tables come home', <<'END');
psql pgbench <<_eof1_
    BEGIN;
        select undistribute_table('pgbench_history');
        select undistribute_table('pgbench_accounts');
        select undistribute_table('pgbench_branches');
        select undistribute_table('pgbench_tellers');
    COMMIT;
_eof1_
END
is(value('select count(*) from citus_tables'), 0, 'no table is distributed');
is(value('select count(*) from only pgbench_accounts'), 200000, 'all accounts are here');
step('distributed again', $distribute);
# The dollar signs are SQL's, so the shell must leave them alone.
step('the coordinator lets go of its rows', <<'END');
psql pgbench <<'_eof1_'
-- remove legacy tables from the coordinator node
BEGIN;
   select truncate_local_data_after_distributing_table($$public.pgbench_history$$);
   select truncate_local_data_after_distributing_table($$public.pgbench_accounts$$);
   select truncate_local_data_after_distributing_table($$public.pgbench_branches$$);
   select truncate_local_data_after_distributing_table($$public.pgbench_tellers$$);
COMMIT;
_eof1_
END
is(value('select count(*) from pgbench_accounts'), 200000, 'no account is lost');
is(value('select count(*), min(n), max(n) from (select shardid, count(distinct (nodename, nodeport)) n from pg_dist_shard_placement group by 1) s'),
	'128|2|2', 'each shard has placements on two nodes');
benchmark('three workers and two copies');

# The copies of a shard are the same.
is(value(q{select count(*) from (select shardid from run_command_on_placements('pgbench_accounts',
		$$select md5(string_agg(a::text, '' order by aid)) from %s a$$) group by shardid
		having count(*) <> 2 or count(distinct result) > 1 or not bool_and(success)) s}), 0, 'copies are alike');
is(value('SELECT count(*) FROM pg_prepared_xacts'), 0,
	'no prepared transaction is left');
$cluster->stop;
done_testing();
