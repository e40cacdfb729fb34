# PandoHistory: does a history of concurrent transactions keep what their isolation level promises?
#
# Transactions append values to lists and read them. No value is appended twice, so a read
# shows in which order the versions of a list were made, and from that follows who depends on
# whom (the idea of Adya's theses and of Elle):
#
#   ww  b's value comes next after a's in a list
#   wr  b read a list that ended with a's value
#   rw  a read a list to which b's value was appended next
#
# Lines that begin with # are comments. Others are one transaction each: start, end, status (ok, fail, info: nobody knows), and
# what it did, in order; fields are separated by blanks:
#
#   a:<key>:<value>   appended        x:<key>:<value>   appended, and taken back (savepoint)
#   r:<key>:1,2,3     read            (start and end are times of one clock)
#
# check() returns what is wrong, as strings that begin with the anomaly's name:
#   G0 G1a G1b G1c (never allowed from READ COMMITTED on), G-single (a fractured or skewed read),
#   G2 (write skew), internal (a transaction does not see itself), order (two reads disagree on a
#   list), lost (a committed append that is not there at the end), twice, stale (a read misses what
#   had been committed before its transaction began).
package PandoHistory;

use strict;
use warnings;

sub parse
{
	my @transactions;
	foreach my $line (grep { !/^#/ } @_)
	{
		my ($start, $end, $status, @words) = split ' ', $line;
		next unless defined $status;
		my @ops;
		foreach (@words)
		{
			my ($kind, $key, $value) = split /:/, $_, 3;
			# Lists stay text, with their length beside them.
			push @ops, [ $kind, $key, $value, $kind eq 'r' ? list_length($value) : () ];
		}
		push @transactions, { start => $start, end => $end, status => $status, ops => \@ops, id => scalar @transactions, line => $line };
	}
	return @transactions;
}

# Options: final (1: the last reads came after everything, so what is not in them is lost),
# forbid (anomalies besides G0, G1* that are not allowed).
sub check
{
	my ($history, %options) = @_;
	my %forbid = map { $_ => 1 } @{ $options{forbid} // [] };
	my @found;
	my ($writer, $aborted, $last_of) = writers($history, \@found);
	my $order = orders($history, \@found);
	reads_of_nothing($history, $writer, $aborted, $last_of, \@found);
	push @found, internal($_, $forbid{'G-single'}) foreach grep { $_->{status} eq 'ok' } @$history;
	push @found, lost($writer, $order) if $options{final};
	push @found, stale($history, $order, $writer);
	push @found, cycles($history, $writer, $order, \%forbid);
	return @found;
}

# value => transaction that appended it; values that no one may see; the last value that a
# transaction gave to a key.
sub writers
{
	my ($history, $found) = @_;
	my (%writer, %aborted, %last_of);
	foreach my $txn (@$history)
	{
		foreach my $op (@{ $txn->{ops} })
		{
			my ($kind, $key, $value) = @$op;
			next if $kind eq 'r';
			if ($kind eq 'x' || $txn->{status} eq 'fail') { $aborted{"$key:$value"} = $txn; next; }
			$writer{"$key:$value"} = $txn;
			$last_of{"$txn->{id}:$key"} = $value;
		}
	}
	return (\%writer, \%aborted, \%last_of);
}

sub list_length { return $_[0] eq '' ? 0 : 1 + ($_[0] =~ tr/,//); }
sub list_last { return substr $_[0], 1 + rindex $_[0], ','; }
sub list_begins { my ($list, $with) = @_; return $with eq '' || index("$list,", "$with,") == 0; }

# The lists that were read, as [transaction, key, list, length].
sub reads { return map { my $txn = $_; map { [ $txn, @$_[ 1 .. 3 ] ] } grep { $_->[0] eq 'r' } @{ $txn->{ops} } } @_; }

# What a transaction read, without what it had appended itself by then; and its length.
sub without_own
{
	my ($key, $list, $length, $own) = @_;
	while ($own->{$key} && $length && $own->{$key}{ list_last($list) })
	{
		$length--;
		$list = $length ? substr $list, 0, rindex $list, ',' : '';
	}
	return ($list, $length);
}

# key => [the longest list that a committed transaction read, its length]. All others must
# begin it.
sub orders
{
	my ($history, $found) = @_;
	my %longest;
	my @reads = reads(grep { $_->{status} eq 'ok' } @$history);
	foreach my $read (@reads)
	{
		my ($txn, $key, $list, $length) = @$read;
		$longest{$key} = [ $list, $length ] if !$longest{$key} || $length > $longest{$key}[1];
	}
	foreach my $read (@reads)
	{
		my ($txn, $key, $list) = @$read;
		push @$found, "order: list $key was both $list and $longest{$key}[0]" if !list_begins($longest{$key}[0], $list);
	}
	foreach my $key (keys %longest)
	{
		my %seen;
		$longest{$key}[2] = [ split /,/, $longest{$key}[0] ];
		foreach (@{ $longest{$key}[2] }) { push @$found, "twice: $_ is in list $key more than once" if $seen{$_}++; }
	}
	return { map { $_ => $longest{$_}[2] } keys %longest };
}

# G1a: values of transactions that failed; G1b: states in the middle of a transaction.
sub reads_of_nothing
{
	my ($history, $writer, $aborted, $last_of, $found) = @_;
	my %good;    # key => longest list of which all values may be seen
	foreach my $txn (grep { $_->{status} eq 'ok' } @$history)
	{
		my %own;
		foreach my $op (@{ $txn->{ops} })
		{
			my ($kind, $key, $list, $length) = @$op;
			if ($kind ne 'r') { $own{$key}{$list} = 1; next; }
			my ($others, $count) = without_own($key, $list, $length, \%own);
			if (!list_begins($good{$key} // '', $others))
			{
				foreach my $value (split /,/, $others)
				{
					if ($aborted->{"$key:$value"}) { push @$found, "G1a: $value in list $key was rolled back, and read by: $txn->{line}"; }
					elsif (!$writer->{"$key:$value"}) { push @$found, "G1a: nobody appended $value to list $key, read by: $txn->{line}"; }
				}
				$good{$key} = $others;
			}
			next unless $count;
			my $last = list_last($others);
			my $from = $writer->{"$key:$last"};
			push @$found, "G1b: list $key ends in the middle of another transaction in: $txn->{line}"
			  if $from && $from != $txn && $last_of->{"$from->{id}:$key"} ne $last;
		}
	}
	return;
}

# A transaction sees its own appends, at the end of the list; nothing that it saw goes away; with
# a snapshot, nothing of others comes.
sub internal
{
	my ($txn, $snapshot) = @_;
	my (%own, %mine, %before, @found);
	foreach my $op (@{ $txn->{ops} })
	{
		my ($kind, $key, $value, $length) = @$op;
		if ($kind eq 'a') { $own{$key}{$value} = 1; $mine{$key}++; }
		next if $kind ne 'r';
		my ($others, $count) = without_own($key, $value, $length, \%own);
		push @found, "internal: own appends are not at the end of list $key: $txn->{line}" if $length - $count != ($mine{$key} // 0);
		my $old = $before{$key};
		push @found, "internal: list $key changed between two reads: $txn->{line}"
		  if defined $old && ($snapshot ? $others ne $old : !list_begins($others, $old));
		$before{$key} = $others;
	}
	return @found;
}

sub lost
{
	my ($writer, $order) = @_;
	my @found;
	my %there;
	foreach my $key (keys %$order) { $there{"$key:$_"} = 1 foreach @{ $order->{$key} }; }
	my %half;
	foreach my $item (sort keys %$writer)
	{
		my $txn = $writer->{$item};
		push @found, "lost: $item is not there: $txn->{line}" if $txn->{status} eq 'ok' && !$there{$item};
		push @{ $half{ $txn->{id} }[ $there{$item} ? 1 : 0 ] }, $item if $txn->{status} eq 'info';
	}
	# A transaction of unknown outcome is there whole or not at all.
	foreach my $id (sort keys %half)
	{
		my ($absent, $present) = @{ $half{$id} };
		push @found, "lost: of one transaction @$present is there and @$absent is not" if $absent && $present;
	}
	return @found;
}

# What was committed before a transaction began must be in what it reads.
sub stale
{
	my ($history, $order, $writer) = @_;
	my (%position, @found);
	foreach my $key (keys %$order)
	{
		my $i = 0;
		$position{"$key:$_"} = $i++ foreach @{ $order->{$key} };
	}
	# Per key: appends by the time of their commit, with the longest prefix known then.
	my %known;
	foreach my $item (keys %$writer)
	{
		my $txn = $writer->{$item};
		next if $txn->{status} ne 'ok' || !defined $position{$item};
		my ($key) = split /:/, $item;
		push @{ $known{$key} }, [ $txn->{end}, $position{$item} + 1, $item ];
	}
	foreach my $list (values %known)
	{
		my $longest = 0;
		@$list = sort { $a->[0] <=> $b->[0] } @$list;
		foreach (@$list) { $longest = $_->[1] if $_->[1] > $longest; $_->[3] = $longest; }
	}
	foreach my $read (reads(grep { $_->{status} eq 'ok' } @$history))
	{
		my ($txn, $key, $list, $length) = @$read;
		my $commits = $known{$key} or next;
		my ($low, $high) = (0, scalar @$commits);
		while ($low < $high)
		{
			my $middle = int(($low + $high) / 2);
			if ($commits->[$middle][0] < $txn->{start}) { $low = $middle + 1; }
			else { $high = $middle; }
		}
		next if $low == 0 || $length >= $commits->[ $low - 1 ][3];
		my ($missing) = grep { $_->[1] > $length } @$commits[ 0 .. $low - 1 ];
		push @found, "stale: $missing->[2] was committed at $missing->[0] (by $writer->{$missing->[2]}{line}) but not read by: $txn->{line}";
	}
	return @found;
}

# ---------------------------------------------------------------------------------------
# Dependencies and their cycles.

sub edges
{
	my ($history, $writer, $order) = @_;
	my %edges;    # kind => from => to => why
	my $add = sub {
		my ($kind, $from, $to, $why) = @_;
		$edges{$kind}{ $from->{id} }{ $to->{id} } //= $why if $from && $to && $from != $to;
	};
	foreach my $key (keys %$order)
	{
		my $before;
		foreach my $value (@{ $order->{$key} })
		{
			my $txn = $writer->{"$key:$value"};
			$add->('ww', $before, $txn, $key);
			$before = $txn;
		}
	}
	foreach my $txn (grep { $_->{status} eq 'ok' } @$history)
	{
		my %own;
		foreach my $op (@{ $txn->{ops} })
		{
			my ($kind, $key, $list, $length) = @$op;
			if ($kind ne 'r') { $own{$key}{$list} = 1; next; }
			my ($others, $count) = without_own($key, $list, $length, \%own);
			$add->('wr', $writer->{ "$key:" . list_last($others) }, $txn, $key) if $count;
			# Its own append is the next one where it read what it had appended to.
			my $next = $order->{$key}[$count];
			$add->('rw', $txn, $writer->{"$key:$next"}, $key) if defined $next;
		}
	}
	return \%edges;
}

# Strongly connected components of more than one, of the graph of these kinds of edges.
sub components
{
	my ($edges, $inside, @kinds) = @_;
	my %next;
	foreach my $kind (@kinds)
	{
		foreach my $from (keys %{ $edges->{$kind} // {} })
		{
			next if $inside && !exists $inside->{$from};
			$next{$from}{$_} = 1 foreach grep { !$inside || exists $inside->{$_} } keys %{ $edges->{$kind}{$from} };
		}
	}
	my ($count, %index, %low, %on_stack, @stack, @components) = (0);
	foreach my $root (keys %next)
	{
		next if defined $index{$root};
		my @work = ([ $root, [ keys %{ $next{$root} } ] ]);
		$index{$root} = $low{$root} = $count++;
		push @stack, $root;
		$on_stack{$root} = 1;
		while (@work)
		{
			my ($node, $todo) = @{ $work[-1] };
			if (defined(my $to = shift @$todo))
			{
				if (!defined $index{$to})
				{
					$index{$to} = $low{$to} = $count++;
					push @stack, $to;
					$on_stack{$to} = 1;
					push @work, [ $to, [ keys %{ $next{$to} // {} } ] ];
				}
				elsif ($on_stack{$to} && $index{$to} < $low{$node}) { $low{$node} = $index{$to}; }
				next;
			}
			pop @work;
			$low{ $work[-1][0] } = $low{$node} if @work && $low{$node} < $low{ $work[-1][0] };
			next if $low{$node} != $index{$node};
			my %component;
			for (;;)
			{
				my $member = pop @stack;
				delete $on_stack{$member};
				$component{$member} = 1;
				last if $member == $node;
			}
			push @components, \%component if keys %component > 1;
		}
	}
	return @components;
}

# A shortest way along edges of these kinds, as a list of [kind, key, node].
sub way
{
	my ($edges, $from, $to, $inside, @kinds) = @_;
	my %came;
	my @queue = ($from);
	my %seen = ($from => 1);
	while (defined(my $node = shift @queue))
	{
		foreach my $kind (@kinds)
		{
			my $next = $edges->{$kind}{$node} or next;
			foreach my $other (keys %$next)
			{
				next if $seen{$other} && $other != $to || !exists $inside->{$other};
				next if $came{$other};
				$seen{$other} = 1;
				$came{$other} = [ $node, $kind, $next->{$other} ];
				if ($other == $to)
				{
					my @path;
					my $at = $to;
					do
					{
						my ($before, $by, $key) = @{ $came{$at} };
						unshift @path, [ $by, $key, $at ];
						$at = $before;
					} while ($at != $from);
					return @path;
				}
				push @queue, $other;
			}
		}
	}
	return;
}

sub describe
{
	my ($history, $first, @path) = @_;
	return join "\n    ", "$history->[$first]{line}", map { "-$_->[0] on $_->[1]-> $history->[$_->[2]]{line}" } @path;
}

sub cycles
{
	my ($history, $writer, $order, $forbid) = @_;
	my $edges = edges($history, $writer, $order);
	my @found;
	foreach my $case ([ 'G0', 'ww' ], [ 'G1c', 'ww', 'wr' ])
	{
		my ($name, @kinds) = @$case;
		foreach my $component (components($edges, undef, @kinds))
		{
			my ($first) = sort { $a <=> $b } keys %$component;
			push @found, "$name: " . describe($history, $first, way($edges, $first, $first, $component, @kinds));
		}
		return @found if @found;    # each is one of the next kind as well
	}
	return unless $forbid->{'G-single'} || $forbid->{G2};
	foreach my $component (components($edges, undef, qw(ww wr rw)))
	{
		my $single = 0;
		foreach my $from (sort { $a <=> $b } keys %$component)
		{
			foreach my $to (sort { $a <=> $b } grep { $component->{$_} } keys %{ $edges->{rw}{$from} // {} })
			{
				my @path = way($edges, $to, $from, $component, qw(ww wr)) or next;
				$single = 1;
				push @found, 'G-single: ' . describe($history, $from, [ 'rw', $edges->{rw}{$from}{$to}, $to ], @path);
				last;
			}
			last if @found > 20;
		}
		next if $single || !$forbid->{G2};
		my ($first) = sort { $a <=> $b } keys %$component;
		push @found, 'G2: ' . describe($history, $first, way($edges, $first, $first, $component, qw(ww wr rw)));
	}
	return @found;
}

1;
