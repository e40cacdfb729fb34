# citus_update_node() that is interrupted at each step of its commit, by a cancel and by the crash of any node: all nodes know the node by one
# address, the old or the new one, queries and writes find it, and the call can be made again.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('update_node_crash', workers => 2, conf => "citus.recover_2pc_interval = '500ms'\n");
plan skip_all => 'built without debug points'
  unless eval { $cluster->sql('SELECT pando.debug_point_clear()'); 1 };
my @nodes = $cluster->nodes;
$cluster->make_tables(0);

# Worker 1 has two names.
my $port = $cluster->worker(1)->port;
sub other { return $_[0] eq 'localhost' ? '127.0.0.1' : 'localhost'; }
sub update { return "SELECT citus_update_node((SELECT nodeid FROM pg_dist_node WHERE groupid = 1), '$_[0]', $port)"; }
sub known { return join ' ', map { $_->safe_psql('postgres', 'SELECT nodename FROM pg_dist_node WHERE groupid = 1') } @nodes; }

sub crash
{
	my ($i) = @_;
	$cluster->kill_server($i);
	$nodes[$i]->start;
	$cluster->sql('SELECT pando.debug_point_clear()');
	return;
}
my %ways = (
	'a cancel' => sub { $cluster->sql("SELECT pg_cancel_backend($_[0]{pid})"); $cluster->sql('SELECT pando.debug_point_clear()'); },
	'the coordinator crashes' => sub { crash(0); },
	'the node crashes' => sub { crash(1); },
	'another node crashes' => sub { crash(2); });

# Whether the call has taken place if the coordinator dies there.
my %points = ('commit-before-prepare' => 0, 'commit-after-prepare' => 0, 'commit-after-record' => 0, 'commit-before-second-phase' => 1, 'commit-after-second-phase' => 1);
my $address = '127.0.0.1';
my $v = 0;
foreach my $point (sort keys %points)
{
	foreach my $way (sort keys %ways)
	{
		my $what = "$way, $point";
		my $psql = $cluster->start_at($nodes[0], $point, update(other($address)));
		$ways{$way}->($psql);
		eval { $psql->{handle}->finish };
		ok($cluster->settled, "$what: nothing stays prepared");
		my @known = split ' ', known();
		is(join(' ', @known), "$known[0] $known[0] $known[0]", "$what: one address on all nodes");
		is($known[0] eq $address ? 0 : 1, $points{$point}, "$what: the old one or the new one") if $way eq 'the coordinator crashes';
		$address = $known[0];
		$v++;
		is($_->safe_psql('postgres', 'UPDATE t SET v = v + 1 WHERE k = ' . ($v % 40 + 1) . '; SELECT count(*) FROM t'), '40', "$what: it is read and written through " . $_->name)
		  foreach @nodes;
		$address = other($address);
		$cluster->sql(update($address));
		is(known(), "$address $address $address", "$what: and called again");
	}
}
is($cluster->sql('SELECT sum(v) FROM t'), 3 * $v, 'all that was written is there');

$cluster->stop;
done_testing();
