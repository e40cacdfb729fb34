# PandoNemesis: trouble for a cluster while clients work, and processes for these clients.
#
#   my @pids = PandoNemesis::clients(10, sub { my ($i) = @_; ... });
#   PandoNemesis::plague($cluster, $seconds);       one failure after the other
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
			print STDERR "client $i: $@" unless $ok;
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

sub plague
{
	my ($cluster, $seconds) = @_;
	my $end = time + $seconds;
	my @names = sort keys %failures;
	my @nodes = 0 .. scalar($cluster->nodes) - 1;
	while (time < $end)
	{
		sleep 1 + rand 2;
		my ($name, $node) = ($names[ rand @names ], $nodes[ rand @nodes ]);
		note(sprintf '%.3f %s on node %d', time, $name, $node);
		$failures{$name}->($cluster, $node);
	}
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
