# PandoWire: a client of one server, for tests with many clients at once and with servers that
# vanish: every call ends in bounded time and says what is known of the outcome.
#
#   my $client = PandoWire->connect($port) or ...;          trust authentication on 127.0.0.1
#   my $answer = $client->query('SELECT 1; COMMIT');
#   $answer->{rows}    rows of all statements, NULL as undef
#   $answer->{tags}    command tags; $answer->{notices}
#   $answer->{error}   "SQLSTATE message" of the first error
#   $answer->{lost}    the connection is gone (or the answer took too long): outcome unknown
#   $client->send('COMMIT'); ... $client->answer      the same in two steps
#   $client->{pid}
#   my @clients = PandoWire->connect_all($port, 8);
package PandoWire;

use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Time::HiRes qw(time);

sub connect
{
	my ($class, $port, %options) = @_;
	my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Timeout => 5) or return;
	setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
	my $self = bless { socket => $socket, select => IO::Select->new($socket), buffer => '', timeout => $options{timeout} // 60 }, $class;
	my $user = $options{user} // getpwuid $<;
	my $startup = pack('N', 196608) . "user\0$user\0database\0" . ($options{database} // 'postgres') . "\0application_name\0client\0\0";
	$self->put(pack('N', 4 + length $startup) . $startup) or return;
	my $answer = $self->answer;
	return if $answer->{lost} || $answer->{error};
	return $self;
}

# All of so many connections that a server has; waits until it has them.
sub connect_all
{
	my ($class, $port, $count) = @_;
	my @all;
	my $deadline = time + 120;
	while (@all < $count && time < $deadline)
	{
		my $one = $class->connect($port);
		if ($one) { push @all, $one; }
		else { select undef, undef, undef, 0.1; }
	}
	return @all;
}

sub put
{
	my ($self, $bytes) = @_;
	local $SIG{PIPE} = 'IGNORE';
	while (length $bytes)
	{
		my $count = syswrite $self->{socket}, $bytes;
		return 0 unless $count;
		substr($bytes, 0, $count) = '';
	}
	return 1;
}

# Exactly so many bytes; undef if they don't come.
sub take
{
	my ($self, $count, $deadline) = @_;
	while (length $self->{buffer} < $count)
	{
		my $left = $deadline - time;
		return if $left <= 0 || !$self->{select}->can_read($left);
		return unless sysread $self->{socket}, $self->{buffer}, 65536, length $self->{buffer};
	}
	return substr $self->{buffer}, 0, $count, '';
}

# Messages up to ReadyForQuery.
sub answer
{
	my ($self) = @_;
	my $answer = { rows => [], tags => [], notices => [] };
	my $deadline = time + $self->{timeout};
	for (;;)
	{
		my $head = $self->take(5, $deadline);
		my ($type, $length) = defined $head ? unpack 'aN', $head : ();
		my $body = defined $head ? $self->take($length - 4, $deadline) : undef;
		if (!defined $body)
		{
			close $self->{socket};
			$answer->{lost} = 1;
			return $answer;
		}
		if ($type eq 'D')
		{
			my @row;
			my $at = 2;
			foreach (1 .. unpack 'n', $body)
			{
				my $size = unpack 'l>', substr $body, $at, 4;
				$at += 4;
				push @row, $size < 0 ? undef : substr $body, $at, $size;
				$at += $size if $size > 0;
			}
			push @{ $answer->{rows} }, \@row;
		}
		elsif ($type eq 'C') { push @{ $answer->{tags} }, unpack 'Z*', $body; }
		elsif ($type eq 'K') { $self->{pid} = unpack 'N', $body; }
		elsif ($type eq 'N') { push @{ $answer->{notices} }, $body =~ /\0M([^\0]*)/; }
		elsif ($type eq 'E')
		{
			my %field = map { substr($_, 0, 1) => substr $_, 1 } grep { length } split /\0/, $body;
			$answer->{error} //= "$field{C} $field{M}";
		}
		elsif ($type eq 'Z') { $self->{state} = $body; return $answer; }
	}
	return;
}

sub send { my ($self, $sql) = @_; return $self->put('Q' . pack('N', 5 + length $sql) . "$sql\0"); }

sub query
{
	my ($self, $sql) = @_;
	return $self->send($sql) ? $self->answer : { rows => [], tags => [], lost => 1 };
}

sub value { my ($self, $sql) = @_; my $answer = $self->query($sql); return $answer->{rows}[0] && $answer->{rows}[0][0]; }

sub DESTROY { close $_[0]->{socket} if $_[0]->{socket}; return; }

1;
