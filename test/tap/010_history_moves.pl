# What concurrent transactions see while shards move and are split all the time: 010_history.pl, which says the rest.
use strict;
use warnings;
use lib '.';
use PandoCluster;

$ENV{PANDO_TEST_MOVES} = 1;
my $done = do './010_history.pl';
die $@ || $! unless defined $done;
