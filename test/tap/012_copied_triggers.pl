# Triggers of a reference table, each copy of which has them: what they do to the row or read works; a change
# of a distributed table, which each copy would make, is an error before anything has happened.
use strict;
use warnings;
use PandoCluster;
use Test::More;

my $cluster = PandoCluster->new('copied_triggers');
$cluster->sql(<<'END_SQL');
SET citus.enable_unsafe_triggers = on;
SET citus.shard_count TO 4;
CREATE TABLE r (id int PRIMARY KEY, v text);
SELECT create_reference_table('r');
CREATE TABLE child (id int PRIMARY KEY REFERENCES r ON DELETE CASCADE);
SELECT create_reference_table('child');
CREATE TABLE log (k int PRIMARY KEY, what text);
SELECT create_distributed_table('log', 'k');
CREATE TABLE second (k int);
SELECT create_reference_table('second');
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE TG_ARGV[0] USING NEW.id; RETURN NEW; END $$;
CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN NEW.v := upper(NEW.v) || (SELECT count(*) FROM public.log); RETURN NEW; END $$;
CREATE TRIGGER shout BEFORE INSERT OR UPDATE ON r FOR EACH ROW EXECUTE FUNCTION shout();
END_SQL

sub refused
{
	my ($when, $change, $sql, $table, $how) = @_;

	$cluster->sql("SET citus.enable_unsafe_triggers = on; CREATE TRIGGER change $when ON r FOR EACH ROW EXECUTE FUNCTION change('$change')");
	my ($result, $out, $err) = ($cluster->nodes)[$how]->psql('postgres', "SET statement_timeout = '60s'; $sql",
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	isnt($result, 0, "$when, $change: refused, through node $how");
	like($err, qr/0A000: a trigger of table "r" cannot change distributed table "$table"/, 'by its name');
	like($err, qr/DETAIL:  .*"change/, 'and the name of the trigger');
	is($cluster->sql('SELECT (SELECT count(*) FROM log), (SELECT count(*) FROM r), (SELECT count(*) FROM second)'), '0|0|0',
		'nothing has happened');
	$cluster->sql('DROP TRIGGER change ON r');
	return;
}

refused('AFTER INSERT', 'INSERT INTO public.log VALUES ($1)', "INSERT INTO r VALUES ($_, 'a')", 'log', $_ % 3) foreach 1 .. 6;
refused('BEFORE INSERT', 'INSERT INTO public.log VALUES ($1)', "INSERT INTO r VALUES (1, 'a')", 'log', 0);
refused('AFTER INSERT', 'INSERT INTO public.second VALUES ($1)', "INSERT INTO r VALUES (1, 'a')", 'second', 0);
refused('AFTER INSERT', 'WITH x AS (UPDATE public.log SET what = NULL WHERE k = $1 RETURNING k) SELECT count(*) FROM x',
	"INSERT INTO r SELECT i, 'a' FROM generate_series(1, 10) i", 'log', 0);
refused('AFTER INSERT', 'INSERT INTO public.log VALUES ($1)', "COPY r (id) FROM PROGRAM 'echo 1'", 'log', 0);

$cluster->sql("INSERT INTO r VALUES (1, 'a'), (2, 'b'); INSERT INTO child VALUES (1), (2); UPDATE r SET v = 'c' WHERE id = 2; DELETE FROM r WHERE id = 1");
is($_->safe_psql('postgres', 'SELECT * FROM r JOIN child USING (id)'), '2|C0', 'a trigger that reads and changes the row, and keys: ' . $_->name)
  foreach $cluster->nodes;

# A local table's trigger is fired once.
$cluster->sql('CREATE TABLE own (id int); CREATE TRIGGER change AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION '
	  . "change('INSERT INTO public.second VALUES (\$1)'); INSERT INTO own VALUES (7)");
is($_->safe_psql('postgres', 'SELECT * FROM second'), '7', "a local table's trigger writes once: " . $_->name) foreach $cluster->nodes;

$cluster->stop;
done_testing();
