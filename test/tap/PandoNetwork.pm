# PandoNetwork: the wires between the nodes of a test, which can be cut.
#
#   my $network = PandoNetwork->new(7001, 7002, 7003);   # the servers' ports, in order of node id
#   $network->port(1)         what node 1 is called by the others
#   $network->cut(1, 'drop')  nothing passes to or from node 1, and nobody is told
#   $network->cut(1, 'reset') connections to and from it break, new ones are refused
#   $network->heal(1)
#
# One process forwards TCP for all. It knows which node a session comes from by the global pid
# in the application_name of its startup packet. A dropped connection goes on after heal() as
# TCP's would. Needs no privileges, unlike packet filters.
package PandoNetwork;

use strict;
use warnings;
use Errno qw(EAGAIN EWOULDBLOCK EINPROGRESS EINTR);
use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Socket qw(SOL_SOCKET SO_LINGER IPPROTO_TCP TCP_NODELAY);

use constant { BUFFER => 1 << 16, NODE_PIDS => 10_000_000_000 };

sub new
{
	my ($class, @targets) = @_;
	my @listeners = map {
		IO::Socket::INET->new(Listen => 128, LocalAddr => '127.0.0.1', LocalPort => 0, ReuseAddr => 1)
		  or die "no port for the network: $!"
	} @targets;
	my $self = bless { ports => [ map { $_->sockport } @listeners ], owner => $$ }, $class;
	pipe(my $commands, $self->{commands}) or die $!;
	pipe($self->{answers}, my $answers) or die $!;
	$self->{pid} = fork() // die "cannot fork: $!";
	if ($self->{pid} == 0)
	{
		close $self->{commands};
		close $self->{answers};
		eval { forward(\@listeners, \@targets, $commands, $answers) };
		print STDERR "network: $@" if $@;
		POSIX::_exit(0);
	}
	$self->{commands}->autoflush(1);
	close $_ foreach @listeners, $commands, $answers;
	return $self;
}

sub port { return $_[0]->{ports}[ $_[1] ]; }
sub cut { return $_[0]->order($_[2] // 'drop', $_[1]); }
sub heal { return $_[0]->order('pass', $_[1]); }

sub order
{
	my ($self, $mode, $node) = @_;
	print { $self->{commands} } "$mode $node\n";
	my $answer = readline $self->{answers};
	die "the network does not answer" unless defined $answer;
	return;
}

sub DESTROY
{
	my ($self) = @_;
	return unless $self->{owner} == $$;
	local ($?, $!);
	kill 'KILL', $self->{pid};
	waitpid $self->{pid}, 0;
	return;
}

# ---------------------------------------------------------------------------------------
# The forwarding process. A pair is one connection: two ends, each with what is to be
# written to it.

my %pair_of;    # fileno -> [pair, end]

sub forward
{
	my ($listeners, $targets, $commands, $answers) = @_;
	my @mode = map { 'pass' } @$targets;
	my %listener = map { fileno($listeners->[$_]) => $_ } 0 .. $#$listeners;
	$_->blocking(0) foreach @$listeners;
	$answers->autoflush(1);
	for (;;)
	{
		my ($reads, $writes) = (IO::Select->new($commands), IO::Select->new);
		foreach my $i (0 .. $#$listeners)
		{
			$reads->add($listeners->[$i]) if $mode[$i] ne 'drop';
		}
		my %seen;
		foreach my $entry (values %pair_of)
		{
			my ($pair) = @$entry;
			next if $seen{$pair}++ || is_cut($pair, \@mode);
			foreach my $end (0, 1)
			{
				$reads->add($pair->{sockets}[$end])
				  if !$pair->{closed}[$end] && length($pair->{buffer}[ 1 - $end ]) < BUFFER;
				$writes->add($pair->{sockets}[$end]) if length $pair->{buffer}[$end];
			}
		}
		my ($readable, $writable) = IO::Select->select($reads, $writes, undef);
		foreach my $handle (@{ $readable // [] })
		{
			next unless defined fileno $handle;    # closed by what came before
			if ($handle == $commands)
			{
				my $line = '';
				while (sysread($commands, my $byte, 1)) { last if $byte eq "\n"; $line .= $byte; }
				return if $line eq '';
				my ($mode, $node) = split / /, $line;
				$mode[$node] = $mode;
				if ($mode eq 'reset')
				{
					my @broken = map { $_->[0] } values %pair_of;
					drop_pair($_) foreach grep { concerns($_, $node) } @broken;
				}
				syswrite $answers, "done\n";
				last;    # what was readable may be gone
			}
			elsif (defined(my $i = $listener{ fileno $handle }))
			{
				accept_pair($handle, $i, $targets->[$i], $mode[$i]);
			}
			else { read_end($handle); }
		}
		write_end($_) foreach @{ $writable // [] };
	}
	return;
}

sub concerns
{
	my ($pair, $node) = @_;
	return $pair->{target} == $node || $pair->{source} == $node;
}

sub is_cut
{
	my ($pair, $mode) = @_;
	return 1 if $mode->[ $pair->{target} ] ne 'pass';
	return $pair->{source} >= 0 && $mode->[ $pair->{source} ] ne 'pass';
}

sub accept_pair
{
	my ($listener, $node, $port, $mode) = @_;
	my $client = $listener->accept or return;
	if ($mode eq 'reset') { reset_socket($client); return; }
	my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port);
	if (!$server) { reset_socket($client); return; }
	foreach my $socket ($client, $server)
	{
		$socket->blocking(0);
		setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
	}
	my $pair = {
		sockets => [ $client, $server ], buffer => [ '', '' ], closed => [ 0, 0 ],
		target => $node, source => -1, head => '' };
	$pair_of{ fileno $client } = [ $pair, 0 ];
	$pair_of{ fileno $server } = [ $pair, 1 ];
	return;
}

# Closes with RST, as a broken connection.
sub reset_socket
{
	my ($socket) = @_;
	setsockopt $socket, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0);
	close $socket;
	return;
}

sub drop_pair
{
	my ($pair) = @_;
	foreach my $socket (@{ $pair->{sockets} })
	{
		next unless defined fileno $socket;
		delete $pair_of{ fileno $socket };
		reset_socket($socket);
	}
	return;
}

sub read_end
{
	my ($handle) = @_;
	my $entry = defined fileno $handle ? $pair_of{ fileno $handle } : undef;
	return unless $entry;
	my ($pair, $end) = @$entry;
	my $count = sysread $handle, my $data, 32768;
	if (!defined $count)
	{
		return if $! == EAGAIN || $! == EWOULDBLOCK || $! == EINTR;
		return drop_pair($pair);
	}
	if ($count == 0)
	{
		$pair->{closed}[$end] = 1;
		finish_pair($pair);
		return;
	}
	$pair->{buffer}[ 1 - $end ] .= $data;
	if ($end == 0 && $pair->{source} < 0 && length $pair->{head} < 2000)
	{
		$pair->{head} .= $data;
		$pair->{source} = int($1 / NODE_PIDS) - 1 if $pair->{head} =~ /citus_internal gpid=(\d+)\0/;
	}
	return;
}

sub write_end
{
	my ($handle) = @_;
	my $entry = defined fileno $handle ? $pair_of{ fileno $handle } : undef;
	return unless $entry;
	my ($pair, $end) = @$entry;
	my $count = syswrite $handle, $pair->{buffer}[$end];
	if (!defined $count)
	{
		return if $! == EAGAIN || $! == EWOULDBLOCK || $! == EINTR;
		return drop_pair($pair);
	}
	substr($pair->{buffer}[$end], 0, $count) = '';
	finish_pair($pair);
	return;
}

# An end that has closed takes the other along once that has got everything.
sub finish_pair
{
	my ($pair) = @_;
	foreach my $end (0, 1)
	{
		next unless $pair->{closed}[$end] && !length $pair->{buffer}[ 1 - $end ];
		foreach my $socket (@{ $pair->{sockets} })
		{
			delete $pair_of{ fileno $socket } if defined fileno $socket;
			close $socket;
		}
		return;
	}
	return;
}

1;
