# Money between accounts while shards move and are split all the time: 011_bank.pl, which says the rest.
use strict;
use warnings;
use lib '.';
use PandoCluster;

$ENV{PANDO_TEST_MOVES} = 1;
my $done = do './011_bank.pl';
die $@ || $! unless defined $done;
