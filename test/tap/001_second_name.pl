# A server is recognised by what it is, not by its name: it can't become a member a second time under another
# address, which would make it wait for itself; and nothing is left behind by the attempt.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('second_name', workers => 2);
my ($coordinator, @workers) = $cluster->nodes;
my ($first, $second) = map { $_->port } @workers;

sub refused
{
	my ($sql, $like, $name) = @_;
	my ($result, $out, $err) = $coordinator->psql('postgres', "SET statement_timeout = '60s'; $sql");

	isnt($result, 0, "$name: refused");
	like($err, $like, "$name: told why");
	return;
}

my $known = 'SELECT string_agg(concat_ws(\':\', nodename, nodeport, isactive), \' \' ORDER BY nodeid) FROM pg_dist_node';
my $before = $cluster->sql($known);

refused("SELECT citus_add_node('localhost', $first)", qr/localhost:$first is the same server as node 127\.0\.0\.1:$first/,
	'a member under another name');
refused("SELECT citus_add_node('localhost', " . $coordinator->port . ")", qr/is this server itself/,
	'the coordinator under another name');
refused(
	"BEGIN; SELECT citus_add_inactive_node('localhost', $second); SELECT citus_activate_node('localhost', $second)",
	qr/localhost:$second is the same server as node 127\.0\.0\.1:$second/,
	'a member added as inactive, then activated');
refused("SELECT citus_update_node(2, 'localhost', $second)",
	qr/localhost:$second is the same server as node 127\.0\.0\.1:$second/, "another member's address");
refused("SELECT citus_update_node(2, 'localhost', " . $coordinator->port . ")", qr/is this server itself/,
	"the coordinator's address");
is($cluster->sql($known), $before, 'the list of nodes is as it was');

$cluster->sql("SELECT citus_update_node(2, 'localhost', $first)");
is($_->safe_psql('postgres', 'SELECT nodename FROM pg_dist_node WHERE nodeid = 2'),
	'localhost', 'the same server may change its name: ' . $_->name)
  foreach $cluster->nodes;
$cluster->sql("SET statement_timeout = '60s'; CREATE SCHEMA s; CREATE TABLE s.t (a int);"
	  . " SELECT create_distributed_table('s.t', 'a'); INSERT INTO s.t SELECT generate_series(1, 100)");
is($cluster->sql("SET statement_timeout = '60s'; SELECT count(*) FROM s.t; DROP SCHEMA s CASCADE"), '100', 'and all works');
is($cluster->prepared_count, 0, 'nothing is left prepared');

$cluster->stop;
done_testing();
