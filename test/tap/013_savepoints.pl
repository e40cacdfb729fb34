# A statement fails on one node while another has yet to make the savepoint that travels with its part: what the
# transaction did before stays, and nothing outlives the subtransaction.
use strict;
use warnings;
use PandoCluster;
use PandoWire;
use Time::HiRes qw(sleep);
use Test::More;

my $cluster = PandoCluster->new('savepoints', network => 1);
my ($coordinator, $worker) = ($cluster->coordinator, $cluster->worker(1));
$cluster->make_tables(0);
my ($key1, $key2) = map { $cluster->sql("SELECT min(k) FROM t WHERE get_shard_id_for_distribution_column('t', k) IN"
	. " (SELECT shardid FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid) WHERE nodeport = " . $cluster->node_port($_) . ')') } (1, 2);

# Both nodes' rows, and an error on the second node; with a parameter in the extended protocol, without in the simple one.
my %fails = (
	'simple protocol' => "UPDATE t SET v = 10 / (k - $key2) WHERE k IN ($key1, $key2)",
	'extended protocol' => "EXECUTE fails($key2)");
my $prepare = "PREPARE fails(int) AS UPDATE t SET v = 10 / (k - \$1) WHERE k IN ($key1, $key2)";
my $both = "k IN ($key1, $key2)";

# Runs the script while the first worker waits at the point, until the rollback of the subtransaction has
# had time to send a cancel; 0: as long as it likes.
sub run_held
{
	my ($point, $script, $seconds) = @_;
	$worker->safe_psql('postgres', "SELECT pando.debug_point_arm('$point', 'wait')");
	my $psql = $cluster->start_at($coordinator, 'savepoint-before-rollback', "\\set VERBOSITY verbose\n$script");
	$coordinator->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
	$seconds ? sleep $seconds : $psql->{handle}->finish;
	$worker->safe_psql('postgres', 'SELECT pando.debug_point_clear()');
	$psql->{handle}->finish if $seconds;
	return "$psql->{out}$psql->{err}";
}

sub values_are { return is($cluster->sql("SELECT string_agg(v::text, ' ' ORDER BY k = $key2) FROM t WHERE $both"), $_[0], $_[1]); }

foreach my $how (sort keys %fails)
{
	$cluster->sql('UPDATE t SET v = 0');
	my $said = run_held('node-before-savepoint', "$prepare; BEGIN; UPDATE t SET v = 1 WHERE $both;\n"
		. "SAVEPOINT a; $fails{$how};\nROLLBACK TO a; UPDATE t SET v = v + 1 WHERE $both; COMMIT;\n", 1);
	like($said, qr/^[^\n]*ERROR:  22012: division by zero/m, "$how: the statement's own error");
	unlike($said, qr/^(?!psql:).*savepoint|ERROR.*(savepoint|aborted)|WARNING/im, 'and no other');
	values_are('2 2', 'what was done before and after is there');

	# The transaction begins there with the statement that fails.
	$cluster->sql('UPDATE t SET v = 0');
	$said = run_held('node-before-begin', "$prepare; BEGIN; SAVEPOINT a; $fails{$how};\nROLLBACK TO a; RELEASE a;\n"
		. "UPDATE t SET v = v + 1 WHERE $both RETURNING v; ROLLBACK;\n", 1);
	like($said, qr/^1\n1\n[^\n]*ERROR:  22012: division by zero\n(?!.*(ERROR|WARNING))/s, "$how: a transaction that had not begun");
	values_are('0 0', 'begins anew, and is rolled back');
}

# A caught exception, with a variable and without.
foreach my $divisor ($key2, 'other')
{
	$cluster->sql('UPDATE t SET v = 0');
	my $said = run_held('node-before-savepoint', "DO \$\$ DECLARE other int := $key2; BEGIN UPDATE t SET v = 5 WHERE $both; BEGIN"
		. " UPDATE t SET v = 10 / (k - $divisor) WHERE $both;\n"
		. "EXCEPTION WHEN division_by_zero THEN UPDATE t SET v = v + 1 WHERE $both; END; END \$\$;\n", 1);
	is($said, '', "an exception, by $divisor");
	values_are('6 6', 'is caught');
}

# A node that does not get there is given up, and with it the transaction.
$cluster->sql('UPDATE t SET v = 0');
my $said = run_held('node-before-savepoint', "BEGIN; UPDATE t SET v = 1 WHERE $both;\n"
	. "SAVEPOINT a; $fails{'simple protocol'};\nROLLBACK TO a; UPDATE t SET v = v + 1 WHERE $both;\nCOMMIT;\n", 0);
like($said, qr/ERROR:  08\w+: .*it did not make a savepoint in time/s, 'a node that hangs before the savepoint');
values_are('0 0', 'nothing is committed');
ok($cluster->settled, 'nothing stays prepared');

# A node that hears nothing of the rollback is given up by name: the transaction goes on without it, and can't commit.
my $client = PandoWire->connect($coordinator->port, timeout => 100);
$client->query("BEGIN; UPDATE t SET v = 1 WHERE $both; SAVEPOINT a; UPDATE t SET v = 2 WHERE $both");
$cluster->network->cut(2, 'drop');
my $answer = $client->query('ROLLBACK TO a');
is_deeply($answer->{notices}, [ 'the remote node 127.0.0.1:' . $cluster->node_port(2) . ' was given up' ], 'a node that does not hear of the rollback');
$answer = $client->query("UPDATE t SET v = v + 1 WHERE k = $key2");
like($answer->{error}, qr/^08\w+ .*:${\$cluster->node_port(2)} /, 'what needs it says so');
$client->query('COMMIT');
$cluster->network->heal(2);
values_are('0 0', 'nothing is committed');
ok($cluster->settled, 'nothing stays prepared');

$cluster->stop;
done_testing();
