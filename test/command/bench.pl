# The benchmark suite runs, compares three systems and leaves its report. What it measures is not a test.
use strict;
use warnings;
use File::Temp;
use Test::More;

my $root = $ENV{PANDO_ROOT} or die "PANDO_ROOT is the repository";
my $output = File::Temp->newdir;

my $said = qx{$root/pando bench --only 'two updates' --repeat 1 --seconds 1 --size 0.01 --output $output 2>&1};
is($?, 0, 'the benchmark ends well') or diag $said;
like($said, qr/two updates, different keys, prepared +[\d,]+\/s +[\d,]+\/s +\d+\.\d\d.*\/s +\d+\.\d\d/, 'a line with ratios');
like($said, qr/failed runs: 0/, 'nothing failed');

open my $file, '<', "$output/results.json" or die $!;
my $json = do { local $/; <$file> };
like($json, qr/"base": "plain"/, 'results as JSON');
like($json, qr/"servers": 3/, 'of a coordinator and two workers');
ok(-s "$output/report.html" && -s "$output/transactions.svg", 'a report and a plot');

$said = qx{$root/pando bench --only 'no such workload' --output $output 2>&1};
isnt($?, 0, 'a name that matches nothing is an error');
done_testing();
