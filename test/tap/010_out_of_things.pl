# Nodes that run out of something, answer nonsense or are cancelled: the statement fails with the
# node's own SQLSTATE and its name, the next one works, and thousands of failures leave nothing
# behind in the client's backend: no memory, no files, no sessions.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep time);
use IO::Socket::INET;
use lib '.';
use PandoCluster;
use PostgreSQL::Test::Utils;

my $cluster = PandoCluster->new('out_of', workers => 2, conf => <<'END');
shared_buffers = 16MB
END
my ($coordinator, $worker1) = ($cluster->coordinator, $cluster->worker(1));
my $port1 = $cluster->node_port(1);
$cluster->sql(<<'END');
SET citus.shard_count TO 4;
CREATE TABLE t (k int PRIMARY KEY, v int CHECK (v < 1000), x text);
SELECT create_distributed_table('t', 'k');
INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) i;
CREATE FUNCTION nap(seconds float8, k int) RETURNS int IMMUTABLE LANGUAGE plpgsql
	AS 'BEGIN PERFORM pg_sleep(seconds); RETURN k; END';
END
my $key1 = $cluster->sql("SELECT min(k) FROM t JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('t', k) JOIN pg_dist_node n USING (groupid) WHERE n.nodeport = $port1");

# Not on a node that has the memory.
my $there = $cluster->sql("SELECT string_agg(k::text, ',') FROM t JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('t', k) JOIN pg_dist_node n USING (groupid) WHERE n.nodeport = $port1 AND k < 10");

# "SQLSTATE message" of a statement's error, or its rows.
sub run
{
	my ($sql, $node) = @_;
	my ($ret, $out, $err) = ($node // $coordinator)->psql('postgres', $sql, extra_params => [ '-v', 'VERBOSITY=verbose' ], timeout => 120);
	return $err =~ /(?:ERROR|FATAL):  (\S+): (.*)/ ? "$1 $2" : $out;
}
sub works { is(run('SELECT count(*) FROM t'), '100', "$_[0]: the next statement works"); return; }

# Memory: the worker's processes may not have more than 700 MB of addresses.
$worker1->stop;
PostgreSQL::Test::Utils::system_or_bail('sh', '-c', "ulimit -v 700000; exec pg_ctl -w -s -D '" . $worker1->data_dir . "' -l '" . $worker1->logfile . "' -o '--cluster-name=small' start");
$worker1->_update_pid(1);
like(run("UPDATE t SET x = md5(repeat(k || 'xx', 300000000)) WHERE k = $key1"), qr/^53200/, 'out of memory on a node');
like(run("SELECT length(repeat(x, 1)) FROM (SELECT repeat(k::text, 500000000) || repeat(k::text, 400000000) x FROM t WHERE k IN ($there) OFFSET 0) s"), qr/^(53200|54000)/, 'out of memory on nodes');
works('memory');
$worker1->restart;

# Files of a limited size stand for a full disk: what PostgreSQL does is the same.
$worker1->stop;
PostgreSQL::Test::Utils::system_or_bail('sh', '-c', "ulimit -f 40000; exec pg_ctl -w -s -D '" . $worker1->data_dir . "' -l '" . $worker1->logfile . "' start");
$worker1->_update_pid(1);
my $fat = "UPDATE t SET x = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 1000000) i) WHERE k = $key1";
like(run($fat), qr/^(53100|58030|XX000|54\d\d\d) could not (extend|write)/, 'no room on a node');
works('no room');
is(run('SELECT count(x) FROM t'), '0', 'nothing of it is left');
like(run("BEGIN; UPDATE t SET v = 5; $fat; COMMIT"), qr/^(53100|58030|XX000|54\d\d\d)/, 'no room, in a transaction on all nodes');
is(run('SELECT sum(v) FROM t'), '0', 'nothing of it is left on any node');
$worker1->restart;
is($cluster->prepared_count, 0, 'nothing stays prepared');

# temp_file_limit.
like(run("SET temp_file_limit = '100kB'; SET work_mem = '64kB'; SELECT count(*) FROM (SELECT a.k FROM t a, generate_series(1, 20000) g ORDER BY g % 7, a.k OFFSET 0) s"), qr/^53400|^\d+$/, 'temp_file_limit');

# Cancelled by the global pid, from any node; on the way out nothing runs any more.
{
	my ($in, $out, $err) = ('', '', '');
	my $handle = IPC::Run::start([ 'psql', '-X', '-h', '127.0.0.1', '-p', $coordinator->port, '-d', 'postgres', '-v', 'VERBOSITY=verbose', '-c', "SELECT sum(nap(2, k)) FROM t" ],
		'<', \$in, '>', \$out, '2>', \$err, IPC::Run::timeout(180));
	ok($worker1->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name LIKE 'citus_internal gpid=%' AND state = 'active' AND query LIKE '%nap%' AND pid <> pg_backend_pid()"), 'a statement runs');
	my $start = time;
	$worker1->safe_psql('postgres', "SELECT pg_cancel_backend((regexp_match(application_name, 'gpid=(\\d+)'))[1]::bigint) FROM pg_stat_activity WHERE application_name LIKE 'citus_internal gpid=%' AND query LIKE '%nap%' AND pid <> pg_backend_pid() LIMIT 1");
	eval { $handle->finish };
	like($err, qr/57014/, 'pg_cancel_backend() by global pid, from a worker');
	cmp_ok(time - $start, '<', 60, 'in time');
	foreach my $node ($cluster->nodes)
	{
		ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%nap%' AND pid <> pg_backend_pid()"), 'nothing of it runs');
	}
}

# Something else listens at a node's address.
foreach my $nonsense ("HTTP/1.1 400 Bad Request\r\n\r\n" x 100, "\0" x 1000, 'S', 'N', "R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I" . 'D' x 500)
{
	my $listener = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1', LocalPort => 0) or die $!;
	my $pid = fork();
	if ($pid == 0)
	{
		while (my $client = $listener->accept)
		{
			$client->recv(my $request, 4096);
			$client->send($nonsense);
			select undef, undef, undef, 0.2;
			close $client;
		}
		POSIX::_exit(0);
	}
	my $port = $listener->sockport;
	$cluster->sql("BEGIN; SET LOCAL allow_system_table_mods TO on; UPDATE pg_dist_node SET nodeport = $port WHERE nodeport = $port1; COMMIT");
	my $start = time;
	like(run("SELECT v FROM t WHERE k = $key1"), qr/^08... .*127\.0\.0\.1:$port/, 'what is no PostgreSQL is named');
	cmp_ok(time - $start, '<', 60, 'in time');
	kill 'KILL', $pid;
	waitpid $pid, 0;
	$cluster->sql("BEGIN; SET LOCAL allow_system_table_mods TO on; UPDATE pg_dist_node SET nodeport = $port1 WHERE nodeport = $port; COMMIT");
}
works('nonsense');

# Thousands of failures in one backend. The numbers are looked at after some, and at the end.
my $rounds = $ENV{PANDO_FAILURES} // 600;
my $failures = <<'END';
DO $$
DECLARE failing text[] := ARRAY[
	'UPDATE t SET v = 2000 WHERE k = %s', 'SELECT 1 / (k - %s) FROM t', 'INSERT INTO t SELECT %s % 100 + 1, 0',
	'UPDATE t SET v = 1 / (k - %s)', 'SELECT count(*) FROM t a JOIN t b ON a.v = b.v AND 1 / (a.k - %s) = b.k', 'SELECT x::int FROM (SELECT * FROM t, LATERAL (SELECT repeat(''y'', k) y) l WHERE k <> %s LIMIT 3) s WHERE y::int = 1'];
BEGIN
	FOR i IN 1 .. ROUNDS LOOP
		BEGIN
			EXECUTE replace(failing[i % 6 + 1], '%s', (i % 100 + 1)::text);
			RAISE EXCEPTION 'no error in %', failing[i % 6 + 1] USING ERRCODE = 'P0004';
		EXCEPTION WHEN assert_failure THEN RAISE;
			WHEN OTHERS THEN NULL;
		END;
	END LOOP;
END $$;
END
sub failing { my ($count) = @_; return $failures =~ s/ROUNDS/$count/r; }
my $look = <<'END';
SELECT (sum(used_bytes) / 1024)::bigint, (SELECT count(*) FROM pg_ls_dir('/proc/' || pg_backend_pid() || '/fd')), (SELECT count(*) FROM pg_prepared_statements) FROM pg_backend_memory_contexts;
END
my $single = join "\n", map { 'SELECT 1 / (k - ' . ($_ % 100 + 1) . ") FROM t; UPDATE t SET v = 2000 WHERE k = $_; INSERT INTO t VALUES ($_, 1);" } 1 .. 100;
my ($ret, $out, $err) = $coordinator->psql('postgres', failing(100) . "\n$single\n$single\n$look" . failing($rounds) . ($single x int($rounds / 300)) . "\n$look", on_error_stop => 0, timeout => 600);
unlike($err, qr/P0004|no error in/, 'each of them fails') or diag(substr $err, 0, 1000);
my ($before, $after) = map { [ split /\|/ ] } grep { /^\d+\|\d+\|\d+$/ } split /\n/, $out;
diag("kB, files, prepared statements: @$before; @$after");
cmp_ok($after->[0], '<', $before->[0] + 300, 'no memory is lost');
cmp_ok($after->[1], '<=', $before->[1] + 1, 'nor a file');
foreach my $node ($cluster->worker(1), $cluster->worker(2))
{
	ok($node->poll_query_until('postgres', "SELECT count(*) <= 2 FROM pg_stat_activity WHERE application_name LIKE 'citus_internal gpid=%' AND pid <> pg_backend_pid()"), 'nor a session');
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE locktype = 'relation' AND relation >= 16384 AND pid <> pg_backend_pid()"), '0', 'nor a lock');
}
is($cluster->prepared_count, 0, 'nothing stays prepared');
works('failures');

$cluster->stop;
done_testing();
