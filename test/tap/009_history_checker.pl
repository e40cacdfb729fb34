# The checker of histories finds every kind of error that is planted, and nothing in good ones.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoHistory;

# name, history, options => the anomalies that must be found (nothing else may be)
my @cases = (
	[ 'nothing', '', {} => '' ],
	[ 'one after the other', <<'END', { final => 1, forbid => [ 'G-single', 'G2' ] } => '' ],
1 2 ok a:x:1 a:y:1
3 4 ok r:x:1 a:x:2
5 6 ok r:x:1,2 r:y:1
END
	[ 'a failed transaction leaves nothing', <<'END', { final => 1 } => '' ],
1 2 fail a:x:1
3 4 ok r:x:
END
	[ 'an unknown outcome may be either', <<'END', { final => 1 } => '' ],
1 2 info a:x:1 a:y:1
1 2 info a:x:2
3 4 ok r:x:1 r:y:1
END
	[ 'its own appends are seen', <<'END', { final => 1, forbid => ['G-single'] } => '' ],
1 2 ok a:x:1 r:x:1 a:x:2 r:x:1,2
3 4 ok r:x:1,2
END
	[ 'what a savepoint took back is not', <<'END', { final => 1 } => '' ],
1 2 ok x:x:1 a:x:2
3 4 ok r:x:2
END
	[ 'dirty read', <<'END', {} => 'G1a' ],
1 2 fail a:x:1
3 4 ok r:x:1
END
	[ 'read of what a savepoint took back', <<'END', {} => 'G1a' ],
1 2 ok x:x:1 a:x:2
3 4 ok r:x:1,2
END
	[ 'a value from nowhere', <<'END', {} => 'G1a' ],
3 4 ok r:x:7
END
	[ 'read in the middle of a transaction', <<'END', {} => 'G1b' ],
1 4 ok a:x:1 a:x:2
2 3 ok r:x:1
5 6 ok r:x:1,2
END
	[ 'lost write', <<'END', { final => 1 } => 'lost' ],
1 2 ok a:x:1
1 3 ok a:x:2
1 4 ok r:x:2
END
	[ 'half of an unknown outcome', <<'END', { final => 1 } => 'lost' ],
1 2 info a:x:1 a:y:1
3 4 ok r:x:1 r:y:
END
	[ 'a write twice', <<'END', {} => 'twice' ],
1 2 ok a:x:1
3 4 ok r:x:1,1
END
	[ 'two orders of a list', <<'END', {} => 'order' ],
1 4 ok a:x:1
1 4 ok a:x:2
1 5 ok r:x:1,2
1 5 ok r:x:2,1
END
	[ 'its own append is missing', <<'END', {} => 'internal' ],
1 2 ok a:x:1 r:x:
1 4 ok r:x:1
END
	[ 'what was read goes away', <<'END', {} => 'internal' ],
1 3 ok a:x:1
1 4 ok r:x:1 r:x:
END
	[ 'a new row may come within READ COMMITTED', <<'END', {} => '', { forbid => ['G-single'] } => 'G-single internal' ],
1 3 ok a:x:1
1 4 ok r:x: r:x:1
END
	[ 'stale read', <<'END', {} => 'stale' ],
1 2 ok a:x:1
3 4 ok r:x:
5 6 ok r:x:1
END
	[ 'half read after commit', <<'END', {} => 'stale' ],
1 2 ok a:x:1 a:y:1
3 4 ok r:x:1 r:y:
5 6 ok r:y:1
END
	[ 'while it commits, either is right', <<'END', {} => '' ],
1 4 ok a:x:1
3 5 ok r:x:
5 6 ok r:x:1
END
	[ 'write cycle', <<'END', {} => 'G0' ],
1 9 ok a:x:1 a:y:1
1 9 ok a:x:2 a:y:2
1 9 ok r:x:1,2 r:y:2,1
END
	[ 'circular information flow', <<'END', {} => 'G1c' ],
1 9 ok a:x:1 r:y:1
1 9 ok a:y:1 r:x:1
END
	[ 'circular information flow over three', <<'END', {} => 'G1c' ],
1 9 ok a:x:1 r:z:1
1 9 ok a:y:1 r:x:1
1 9 ok a:z:1 r:y:1
END
	[ 'fractured read', <<'END', { forbid => ['G-single'] } => 'G-single', {} => '' ],
1 9 ok a:x:1 a:y:1
1 9 ok r:x:1 r:y:
1 9 ok r:y:1
END
	[ 'lost update', <<'END', { forbid => ['G-single'] } => 'G-single' ],
1 9 ok r:x: a:x:1
1 9 ok r:x: a:x:2
1 9 ok r:x:1,2
END
	[ 'read skew through a third', <<'END', { forbid => ['G-single'] } => 'G-single' ],
1 9 ok a:x:1
1 9 ok r:x:1 a:y:1
1 9 ok r:y:1 r:x:
END
	[ 'write skew', <<'END', { forbid => [ 'G-single', 'G2' ] } => 'G2', { forbid => ['G-single'] } => '' ],
1 9 ok r:x: a:y:1
1 9 ok r:y: a:x:1
1 9 ok r:x:1 r:y:1
END
);

foreach my $case (@cases)
{
	my ($name, $text, @expectations) = @$case;
	my @history = PandoHistory::parse(split /\n/, $text);
	while (my ($options, $expected) = splice @expectations, 0, 2)
	{
		my %names;
		foreach (PandoHistory::check(\@history, %$options)) { my ($kind) = /^([^:]+)/; $names{$kind} = 1; }
		is(join(' ', sort keys %names), $expected, $name . ($expected ? '' : ': nothing is found'));
	}
}

# Errors are found in the middle of many good transactions, too.
my @lines;
my %list;
foreach my $i (1 .. 3000)
{
	my ($key, $other) = map { 'k' . int($_ + $i / 300) } $i % 7, $i % 5 + 10;
	push @lines, "$i.1 $i.9 ok r:$key:" . join(',', @{ $list{$key} // [] }) . " a:$key:$i a:$other:$i";
	push @{ $list{$key} }, $i;
	push @{ $list{$other} }, $i;
}
push @lines, map { "30000 30001 ok r:$_:" . join(',', @{ $list{$_} }) } sort keys %list;
my %all = (final => 1, forbid => [ 'G-single', 'G2' ]);
is(scalar PandoHistory::check([ PandoHistory::parse(@lines) ], %all), 0, 'a long serial history is good');
my @bad = @lines;
$bad[1600] =~ s/r:(\S+),\d+ /r:$1 /;
my @found = PandoHistory::check([ PandoHistory::parse(@bad) ], %all);
like("@found", qr/stale: .*G-single: /s, 'a read that misses one value is found in it');

done_testing();
