# PandoNemesis: trouble for a cluster while clients work, and processes for these clients.
#
#   my @pids = PandoNemesis::clients(10, sub { my ($i) = @_; ... });
#   PandoNemesis::plague($cluster, $seconds);       one failure after the other
#   my $pid = PandoNemesis::mover($cluster, 'table', $end);    moves and splits its shards meanwhile
#   PandoNemesis::heal($cluster);                   all nodes up and nothing in doubt
#   PandoNemesis::wait_for(@pids);
#
# The clients end by themselves, at a time agreed on before.
package PandoNemesis;

use strict;
use warnings;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

sub clients
{
	my ($count, $work) = @_;
	my @pids;
	foreach my $i (0 .. $count - 1)
	{
		my $pid = fork() // die "cannot fork: $!";
		if ($pid == 0)
		{
			srand $i + time;
			my $ok = eval { $work->($i); 1 };
			diag("client $i: $@") unless $ok;
			POSIX::_exit($ok ? 0 : 1);
		}
		push @pids, $pid;
	}
	return @pids;
}

sub slurp { return PostgreSQL::Test::Utils::slurp_file($_[0]); }

# True when all ended well.
sub wait_for
{
	my $good = 1;
	foreach my $pid (@_) { waitpid $pid, 0; $good &&= $? == 0; }
	return $good;
}

# A node dies and comes back, a process of it dies, or the network is cut.
my %failures = (
	'kill' => sub {
		my ($cluster, $i) = @_;
		$cluster->kill_server($i);
		sleep rand 1.5;
		start($cluster, $i);
	},
	'stop' => sub {
		my ($cluster, $i) = @_;
		$cluster->worker($i)->stop('immediate');
		sleep rand 1.5;
		start($cluster, $i);
	},
	'restart' => sub {
		my ($cluster, $i) = @_;
		$cluster->worker($i)->stop('fast');
		start($cluster, $i);
	},
	'crash' => sub {
		my ($cluster, $i) = @_;
		my ($result, $pid) = $cluster->worker($i)->psql('postgres',
			"SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1", timeout => 10);
		kill 'KILL', $pid if defined $pid && $pid =~ /^\d+$/;
	},
	'terminate' => sub {
		my ($cluster, $i) = @_;
		$cluster->worker($i)->psql('postgres',
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND random() < 0.5", timeout => 10);
	},
	'cut' => sub {
		my ($cluster, $i) = @_;
		$cluster->network->cut($i, 'drop');
		sleep rand 2;
		$cluster->network->cut($i, 'reset') if rand() < 0.5;
		sleep rand 1;
		$cluster->network->heal($i);
	},
	'break' => sub {
		my ($cluster, $i) = @_;
		$cluster->network->cut($i, 'reset');
		sleep rand 1;
		$cluster->network->heal($i);
	});

# A server may not start while children of the one that was killed still hold on to its memory.
sub start
{
	my ($cluster, $i) = @_;
	for (1 .. 50)
	{
		return 1 if $cluster->worker($i)->start(fail_ok => 1);
		sleep 0.3;
	}
	die "node $i does not start";
}

# Options: pause (seconds between failures; 1 to 3), kinds (of failures; all).
sub plague
{
	my ($cluster, $seconds, %options) = @_;
	my $end = time + $seconds;
	my @names = @{ $options{kinds} // [ sort keys %failures ] };
	my @nodes = 0 .. scalar($cluster->nodes) - 1;
	while (time < $end)
	{
		sleep($options{pause} // 1 + rand 2);
		my ($name, $node) = ($names[ rand @names ], $nodes[ rand @nodes ]);
		note(sprintf '%.3f %s on node %d', time, $name, $node);
		$failures{$name}->($cluster, $node);
	}
	return;
}

# ------------------------------------------------------------------------------------------------
# Shards on the move.

# A move of a random shard of the table, or a split in two, in a random mode.
sub reshape_sql
{
	my ($cluster, $table) = @_;
	my $mode = (qw(auto force_logical block_writes))[ rand 3 ];
	my $what = rand() < 0.7 ? 'move' : 'split';
	my $query = $what eq 'move'
	  ? "SELECT format('SELECT citus_move_shard_placement(%s, %L, %s, %L, %s, ''$mode'')', shardid, s.nodename, s.nodeport, t.nodename, t.nodeport)
		FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node s USING (groupid), pg_dist_node t
		WHERE logicalrelid = '$table'::regclass AND t.groupid <> s.groupid ORDER BY random() LIMIT 1"
	  : "SELECT format('SELECT citus_split_shard_by_split_points(%s, ARRAY[%L], ARRAY[%s, %s], ''$mode'')', shardid,
		(shardminvalue::bigint + shardmaxvalue::bigint) / 2, a.nodeid, b.nodeid)
		FROM pg_dist_shard, pg_dist_node a, pg_dist_node b WHERE logicalrelid = '$table'::regclass ORDER BY shardmaxvalue::bigint - shardminvalue::bigint DESC, random() LIMIT 1";
	my ($ret, $sql) = $cluster->coordinator->psql('postgres', $query, timeout => 20);
	return (defined $ret && $ret == 0 && length $sql) ? ("$what $mode", $sql) : ();
}

# Starts a process that does so until the end, one after the other; returns its id and the file where it counts. A move needs all nodes, which
# may be down for most of a short time: it goes on until some have been made.
sub mover
{
	my ($cluster, $table, $end) = @_;
	my $file = $cluster->coordinator->basedir . "/mover_$table";
	unlink $file;
	my ($pid) = clients(1, sub {
		my (%count, $made);
		while (time < $end || (!$made && time < $end + 60))
		{
			my ($what, $sql) = eval { reshape_sql($cluster, $table) };
			if (!defined $what) { sleep 0.2; next; }
			my ($ret, $out, $err);
			eval { ($ret, $out, $err) = $cluster->coordinator->psql('postgres', "\\set VERBOSITY verbose\nSET lock_timeout = '20s'; $sql", timeout => 120); };
			my ($state) = ($err // '') =~ /(?:ERROR|FATAL):  (\w{5}):/;
			my $done = defined $ret && $ret == 0;
			$made++ if $done;
			$count{ $done ? "$what: done" : "$what: " . ($state // 'lost') }++;
			print STDERR "$sql: $err" if ($state // '') =~ /^XX/;
			sleep rand 0.3;
		}
		PostgreSQL::Test::Utils::append_to_file($file, join '', map { "$count{$_} $_\n" } sort keys %count);
	});
	return ($pid, $file);
}

# When it has ended and the cluster is whole: some moves were made, none failed as it must not, nothing is left of any, and rows are where
# they are looked for.
sub check_moves
{
	my ($cluster, $table, $column, $file) = @_;
	my $counts = slurp($file);
	my $done = 0;
	$done += $_ foreach $counts =~ /^(\d+) .*: done$/mg;
	note($counts);
	cmp_ok($done, '>', 0, 'shards were moved or split');
	unlike($counts, qr/: XX/, 'and none failed by an internal error');
	ok($cluster->coordinator->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_dist_cleanup'), 'nothing is left of moves');
	is($cluster->sql("SELECT coalesce(sum(result::bigint), 0) FROM run_command_on_shards('$table', \$\$SELECT count(*) FROM ONLY %s
		WHERE get_shard_id_for_distribution_column('$table', $column) <> substring('%s', '[0-9]+\$')::bigint\$\$)"), '0', 'each row is in its shard');
	return;
}

sub heal
{
	my ($cluster) = @_;
	foreach my $i (0 .. scalar($cluster->nodes) - 1)
	{
		$cluster->network->heal($i) if $cluster->network;
		my $node = $cluster->worker($i);
		$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	}
	return ok($cluster->settled, 'nothing stays prepared in the end');
}

1;
