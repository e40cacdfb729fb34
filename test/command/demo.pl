# The demo runs from start to end, twice, and leaves nothing after ./pando down.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);

my $root = $ENV{PANDO_ROOT} // '../..';
my $top = tempdir(CLEANUP => 1);
chmod 0777, $top;
my $dir = $top . '/demo';
my $port = $ENV{PANDO_PORT} or die "PANDO_PORT is the first of four free ports";
@ENV{qw(DEMO_SCALE DEMO_SECONDS DEMO_EVENTS)} = (1, 2, 2000);

foreach my $round (1 .. 2)
{
	my $text = `$root/pando demo --dir $dir --port $port 2>&1`;
	is($? >> 8, 0, "demo, round $round") or diag substr($text, -3000);
	unlike($text, qr/ERROR|WARNING/, 'no error and no warning') or diag join "\n", grep { /ERROR|WARNING/ } split /\n/, $text;
	like($text, qr/Moving shard \d+ from 127\.0\.0\.1:\d+ to 127\.0\.0\.1:\d+ \.\.\./, 'shards move');
	like($text, qr/Custom Scan \(Citus Adaptive\)/, 'the distributed plan is shown');
	is(scalar(() = $text =~ /^[1-5]\s+[123]\s+(?:yes|no)\s+[12]\s+\d+$/mg), 5, 'five runs in the table') or diag substr($text, -1500);
}
system("$root/pando down --dir $dir >/dev/null");
ok(!-e $dir, 'down removes it');

done_testing();
