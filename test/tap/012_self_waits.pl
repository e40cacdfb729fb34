# A client whose sessions wait for each other, or for what the client's own backend holds: nobody else could
# end that, so it is a deadlock and raised as one, wherever the wait is.
use strict;
use warnings;
use PandoCluster;
use Test::More;

my $cluster = PandoCluster->new('self_waits', conf => "deadlock_timeout = 200ms\n");
my $limit = "SET statement_timeout = '60s'";
$cluster->sql(<<'END_SQL');
SET citus.enable_unsafe_triggers = on;
SET citus.shard_count TO 4;
CREATE TABLE t (k int PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'k');
CREATE TABLE log (k int PRIMARY KEY, what text);
SELECT create_distributed_table('log', 'k');
INSERT INTO t SELECT k, 0 FROM generate_series(1, 50) k;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN INSERT INTO public.log VALUES (1, 'once') ON CONFLICT DO NOTHING; RETURN NEW; END $$;
CREATE TRIGGER note AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();
END_SQL

# The triggers of both workers' rows write the same row, each through a session of its own.
my ($result, $out, $err) = $cluster->coordinator->psql('postgres',
	"$limit; UPDATE t SET v = v + 1", extra_params => [ '-v', 'VERBOSITY=verbose' ]);
isnt($result, 0, 'triggers that wait for each other: an error');
like($err, qr/40P01: deadlock detected/, 'a deadlock');
like($err, qr/Global pid (\d+) waits for global pid \1 on node/, 'that tells of the wait for itself');
is($cluster->sql('SELECT sum(v), (SELECT count(*) FROM log) FROM t'), '0|0', 'nothing has happened');
is($cluster->prepared_count, 0, 'nothing is left prepared');

# Each of two rows' triggers changes the other row: all sessions are in the middle of a statement.
my ($first, $second) = map { $cluster->sql("SELECT min(k) FROM t WHERE get_shard_id_for_distribution_column('t', k) IN"
	. " (SELECT shardid FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid) WHERE nodeport = " . $_->port . ')') }
  ($cluster->worker(1), $cluster->worker(2));
$cluster->sql(<<"END_SQL");
SET citus.enable_unsafe_triggers = on;
CREATE TABLE pair (k int PRIMARY KEY, v int, seen int DEFAULT 0);
SELECT create_distributed_table('pair', 'k', colocate_with => 't');
INSERT INTO pair VALUES ($first, 0), ($second, 0);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
	\$\$ BEGIN UPDATE public.pair SET seen = seen + 1 WHERE k = $first + $second - NEW.k; RETURN NEW; END \$\$;
CREATE TRIGGER tell AFTER UPDATE OF v ON pair FOR EACH ROW EXECUTE FUNCTION tell();
END_SQL
($result, $out, $err) = $cluster->coordinator->psql('postgres',
	"$limit; UPDATE pair SET v = v + 1", extra_params => [ '-v', 'VERBOSITY=verbose' ]);
like($err, qr/40P01: deadlock detected/, 'triggers that wait for the sessions they came from: a deadlock');
is($cluster->sql('SELECT sum(v), sum(seen) FROM pair'), '0|0', 'nothing has happened');
$cluster->sql("UPDATE pair SET v = v + 1 WHERE k = $first");
is($cluster->sql('SELECT sum(v), sum(seen) FROM pair'), '1|1', 'one of them alone goes through');

# Those who wait for others are left alone, however long: the other is idle in its transaction.
my $holder = $cluster->coordinator->background_psql('postgres');
my $waiter = $cluster->coordinator->background_psql('postgres');
$cluster->sql('DROP TRIGGER note ON t');
$holder->query_safe('BEGIN; UPDATE t SET v = 5 WHERE k = 1');
$waiter->query_until(qr/sent/, "\\echo sent\nUPDATE t SET v = v + 1 WHERE k = 1;\n");
$cluster->coordinator->poll_query_until('postgres',
	"SELECT bool_or(w.result = 't') FROM run_command_on_workers(\$\$SELECT coalesce(max(clock_timestamp() - waitstart) > '3s', false)"
	  . " FROM pg_locks WHERE NOT granted\$\$) w")
  or die 'nobody waits';
$holder->query_safe('COMMIT');
$waiter->query_safe('SELECT 1');
is($cluster->sql('SELECT v FROM t WHERE k = 1'), '6', 'a wait for another client ends when that one commits');
$_->quit foreach $holder, $waiter;

$cluster->stop;
done_testing();
