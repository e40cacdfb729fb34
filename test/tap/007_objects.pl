# Objects that tables need: after every statement, each recorded object is defined alike on all
# nodes, also on one that joins later.
use strict;
use warnings;
use Test::More;
use lib '.';
use File::Copy;
use PandoCluster;
use PostgreSQL::Test::Utils;

my $cluster = PandoCluster->new('objects', workers => 2, join => 0);
$cluster->join_worker(1);
my $coordinator = $cluster->coordinator;
my @members = ($coordinator, $cluster->worker(1));

# Recorded objects with their definitions, by name; roles with what they may do.
my $definitions = q{
	SELECT i.type, i.identity, array_agg(d)
	FROM pg_dist_object o, LATERAL pg_identify_object(classid, objid, 0) i,
		LATERAL (SELECT d FROM pando.object_definition(classid, objid) d ORDER BY 1) AS d
	GROUP BY 1, 2 ORDER BY 1, 2};
my $roles = q{
	SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolconnlimit,
		rolvaliduntil, rolpassword, (SELECT array_agg(concat_ws(' ', g.rolname, admin_option, pg_get_userbyid(grantor)) ORDER BY g.rolname) FROM pg_auth_members m
			JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = a.oid),
		(SELECT array_agg(setconfig::text ORDER BY setdatabase) FROM pg_db_role_setting s WHERE s.setrole = a.oid),
		shobj_description(oid, 'pg_authid')
	FROM pg_authid a WHERE oid >= 16384 ORDER BY 1};

my $privileges = q{
	SELECT d FROM pg_default_acl a, LATERAL pando.default_privileges_commands(a.oid) d
	UNION ALL SELECT pando.found_privileges_commands() ORDER BY 1};

sub check_objects
{
	my ($name) = @_;
	my $bad = '';
	foreach my $query ($definitions, $roles, $privileges)
	{
		my $expected = $coordinator->safe_psql('postgres', $query);
		foreach my $node (@members)
		{
			my $found = $node->safe_psql('postgres', $query);
			$bad .= $node->name . ":\n$found\nexpected:\n$expected\n" if $found ne $expected;
		}
	}
	is($bad, '', $name);
	return;
}

foreach my $statement (
	"CREATE ROLE app LOGIN PASSWORD 'secret' CONNECTION LIMIT 9 VALID UNTIL '2100-01-01'",
	'CREATE ROLE staff CREATEDB',
	'CREATE ROLE crowd ROLE app ADMIN staff',
	'ALTER GROUP crowd ADD USER CURRENT_USER',
	'ALTER GROUP crowd DROP USER app, CURRENT_USER',
	'DROP ROLE crowd',
	'GRANT staff TO app',
	"ALTER ROLE app PASSWORD 'other' CONNECTION LIMIT 8",
	'ALTER ROLE app SET search_path = one, public',
	"ALTER ROLE app SET work_mem = '5MB'",
	'ALTER ROLE staff RENAME TO crew',
	'REVOKE crew FROM app',
	'CREATE ROLE giver SUPERUSER',
	'SET ROLE giver; GRANT crew TO app WITH ADMIN OPTION',
	'CREATE SCHEMA one AUTHORIZATION app',
	'GRANT USAGE ON SCHEMA one TO crew',
	"CREATE TYPE one.mood AS ENUM ('calm', 'it''s')",
	"ALTER TYPE one.mood ADD VALUE 'busy' BEFORE 'it''s'",
	"ALTER TYPE one.mood RENAME VALUE 'calm' TO 'quiet'",
	'CREATE TYPE one.pair AS (a int, b text COLLATE "C")',
	'ALTER TYPE one.pair ADD ATTRIBUTE c one.mood, ALTER ATTRIBUTE a TYPE bigint',
	'ALTER TYPE one.pair RENAME ATTRIBUTE c TO d',
	'ALTER TYPE one.pair RENAME TO duo',
	"CREATE DOMAIN one.positive AS int DEFAULT 3 NOT NULL CONSTRAINT above CHECK (VALUE > 0)",
	'ALTER DOMAIN one.positive ADD CONSTRAINT below CHECK (VALUE < 1000)',
	'ALTER DOMAIN one.positive DROP CONSTRAINT above',
	'ALTER DOMAIN one.positive SET DEFAULT 4',
	'CREATE TYPE one.span AS RANGE (subtype = float8)',
	q{CREATE FUNCTION one.add(a int, b one.positive DEFAULT 5) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT a + b'},
	q{CREATE OR REPLACE FUNCTION one.add(a int, b one.positive DEFAULT 5) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT b + a'},
	'ALTER FUNCTION one.add(int, one.positive) COST 7 PARALLEL SAFE',
	'ALTER FUNCTION one.add(int, one.positive) RENAME TO plus',
	'GRANT EXECUTE ON FUNCTION one.plus(int, one.positive) TO crew',
	'REVOKE ALL ON FUNCTION one.plus(int, one.positive) FROM PUBLIC',
	'CREATE PROCEDURE one.nothing() LANGUAGE plpgsql AS $$ BEGIN NULL; END $$',
	"CREATE AGGREGATE one.total (int) (SFUNC = int4pl, STYPE = int, INITCOND = '0', COMBINEFUNC = int4pl, PARALLEL = SAFE)",
	"CREATE COLLATION one.plain (LOCALE = 'C')",
	'CREATE TEXT SEARCH DICTIONARY one.words (TEMPLATE = simple, STOPWORDS = english)',
	'CREATE TEXT SEARCH CONFIGURATION one.search (COPY = english)',
	'ALTER TEXT SEARCH CONFIGURATION one.search ALTER MAPPING FOR asciiword WITH one.words, english_stem',
	'CREATE EXTENSION hstore SCHEMA one',
	'CREATE TABLE one.base (k int, v text)',
	q{SELECT create_distributed_table('one.base', 'k')},
	'CREATE VIEW one.bottom AS SELECT k, upper(v) AS v FROM one.base',
	'CREATE VIEW one.top WITH (security_barrier) AS SELECT * FROM one.bottom WHERE k > 0',
	'CREATE OR REPLACE VIEW one.bottom AS SELECT k, lower(v) AS v, v AS was FROM one.base',
	'ALTER VIEW one.bottom RENAME COLUMN was TO raw',
	'ALTER VIEW one.bottom RENAME TO lowest',
	'GRANT SELECT ON one.top TO crew',
	'GRANT UPDATE (v) ON one.top TO crew',
	'CREATE RULE change AS ON UPDATE TO one.top DO INSTEAD DELETE FROM one.base WHERE k = old.k',
	'ALTER RULE change ON one.top RENAME TO changes',
	q{CREATE FUNCTION one.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$},
	'CREATE TRIGGER refuse INSTEAD OF DELETE ON one.top FOR EACH ROW EXECUTE FUNCTION one.refuse()',
	q{ALTER VIEW one.top ALTER COLUMN v SET DEFAULT one.plus(1)::text},
	'CREATE MATERIALIZED VIEW one.kept AS SELECT count(*), max(v) FROM one.top',
	'CREATE UNIQUE INDEX kept_once ON one.kept (count)',
	'ALTER INDEX one.kept_once RENAME TO kept_one',
	'ALTER MATERIALIZED VIEW one.kept RENAME COLUMN max TO most',
	'REFRESH MATERIALIZED VIEW one.kept',
	q{CREATE FUNCTION one.rows() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM one.top; END},
	q{CREATE FUNCTION one.less(text, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT length($1) < length($2)'},
	q{CREATE FUNCTION one.cmp(text, text) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT length($1) - length($2)'},
	'CREATE OPERATOR one.<<< (FUNCTION = one.less, LEFTARG = text, RIGHTARG = text, COMMUTATOR = OPERATOR(one.>>>))',
	'CREATE OPERATOR one.>>> (FUNCTION = one.less, LEFTARG = text, RIGHTARG = text, COMMUTATOR = OPERATOR(one.<<<))',
	'CREATE OPERATOR one.!! (FUNCTION = int4abs, RIGHTARG = int)',
	'CREATE OPERATOR CLASS one.by_length FOR TYPE text USING btree AS OPERATOR 1 one.<<<, FUNCTION 1 one.cmp(text, text)',
	'ALTER OPERATOR FAMILY one.by_length USING btree ADD FUNCTION 2 (text, text) bttextsortsupport(internal)',
	'CREATE CAST (one.mood AS one.positive) WITH INOUT AS ASSIGNMENT',
	"CREATE CONVERSION one.turned FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8",
	'CREATE TEXT SEARCH TEMPLATE one.template (INIT = dsimple_init, LEXIZE = dsimple_lexize)',
	'CREATE TEXT SEARCH PARSER one.parser (START = prsd_start, GETTOKEN = prsd_nexttoken, END = prsd_end, LEXTYPES = prsd_lextype)',
	'CREATE LANGUAGE spoken HANDLER plpgsql_call_handler INLINE plpgsql_inline_handler VALIDATOR plpgsql_validator',
	'CREATE TRANSFORM FOR one.mood LANGUAGE spoken (FROM SQL WITH FUNCTION prsd_lextype(internal))',
	'CREATE ACCESS METHOD heaps TYPE TABLE HANDLER heap_tableam_handler',
	'CREATE FOREIGN DATA WRAPPER far',
	"CREATE SERVER there FOREIGN DATA WRAPPER far OPTIONS (host 'it''s')",
	"CREATE USER MAPPING FOR app SERVER there OPTIONS (password 'secret')",
	'CREATE USER MAPPING FOR PUBLIC SERVER there',
	'GRANT USAGE ON FOREIGN SERVER there TO crew',
	'CREATE PUBLICATION news FOR TABLE one.base',
	'ALTER PUBLICATION news ADD TABLES IN SCHEMA one',
	'DROP PUBLICATION news',
	"CREATE PUBLICATION news FOR TABLE one.base (k) WHERE (k > 1) WITH (publish = 'insert')",
	'ALTER DEFAULT PRIVILEGES IN SCHEMA one GRANT SELECT ON TABLES TO crew',
	'ALTER DEFAULT PRIVILEGES FOR ROLE app REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC',
	"ALTER ROLE app IN DATABASE postgres SET work_mem = '6MB'",
	q{CREATE FUNCTION one.watch() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN NULL; END $$},
	"CREATE EVENT TRIGGER watch ON ddl_command_end WHEN TAG IN ('CREATE RULE', 'DROP RULE') EXECUTE FUNCTION one.watch()",
	'ALTER EVENT TRIGGER watch ENABLE ALWAYS',
	"COMMENT ON EVENT TRIGGER watch IS 'an event trigger'",
	'GRANT EXECUTE ON FUNCTION pg_ls_logdir() TO crew',
	'GRANT EXECUTE ON FUNCTION one.hstore_hash(one.hstore) TO crew',
	'REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC',
	'GRANT SET ON PARAMETER log_statement TO crew',
	"COMMENT ON VIEW one.top IS 'a view'",
	"COMMENT ON COLUMN one.top.v IS 'it''s a column'",
	"COMMENT ON RULE changes ON one.top IS 'a rule'",
	"COMMENT ON OPERATOR one.<<< (text, text) IS 'shorter'",
	"COMMENT ON OPERATOR one.!! (NONE, int) IS 'prefix'",
	"COMMENT ON CONSTRAINT below ON DOMAIN one.positive IS 'a constraint'",
	"COMMENT ON AGGREGATE one.total (int) IS 'a sum'",
	"COMMENT ON COLLATION one.plain IS 'plain'",
	"COMMENT ON SERVER there IS 'far'",
	"COMMENT ON ROLE app IS 'a role'",
	'ALTER FUNCTION one.plus(int, one.positive) DEPENDS ON EXTENSION hstore',
	'ALTER PROCEDURE one.nothing() DEPENDS ON EXTENSION plpgsql',
	'ALTER PROCEDURE one.nothing() NO DEPENDS ON EXTENSION plpgsql',
	'ALTER MATERIALIZED VIEW one.kept DEPENDS ON EXTENSION hstore',
	'DROP PROCEDURE one.nothing()',
	'ALTER SCHEMA one RENAME TO two',
	'ALTER TYPE two.mood SET SCHEMA public',
	'ALTER TYPE public.mood OWNER TO crew',
	'CREATE ROLE gone',
	'DROP ROLE gone')
{
	$cluster->sql($statement);
	check_objects($statement);
}

# What can't be everywhere stays here, and does no harm.
$cluster->sql('CREATE TABLE here (x int); CREATE FUNCTION of_here(here) RETURNS int LANGUAGE sql AS $$ SELECT 1 $$');
is( $cluster->worker(1)->safe_psql('postgres', "SELECT count(*) FROM pg_proc WHERE proname = 'of_here'"),
	'0', 'a function of a local table stays on the coordinator');

# A table takes along what was made while nobody looked.
$cluster->sql(q{
	SET citus.enable_ddl_propagation TO off;
	CREATE ROLE late; CREATE SCHEMA late;
	CREATE TYPE late.kind AS ENUM ('x');
	CREATE FUNCTION late.kind_of(int) RETURNS late.kind LANGUAGE sql IMMUTABLE AS $$ SELECT 'x'::late.kind $$;
	RESET citus.enable_ddl_propagation;
	CREATE TABLE late.items (id int, spans two.span[], h two.hstore, m late.kind DEFAULT late.kind_of(1), note text COLLATE two.plain);
	CREATE INDEX ON late.items USING gin (to_tsvector('two.search', note));
	ALTER TABLE late.items OWNER TO late;
	SELECT create_distributed_table('late.items', 'id')});
check_objects('what a table needs');
$cluster->sql("INSERT INTO late.items (id, note) VALUES (1, 'a'), (2, 'b')");

$cluster->sql(q{INSERT INTO two.base SELECT i, 'V' || i FROM generate_series(1, 9) i; REFRESH MATERIALIZED VIEW two.kept});

# What can't be on a node names node and object, and leaves no trace: a library, a tablespace.
sub is_refused
{
	my ($sql, $expected, $name) = @_;
	my ($status, undef, $error) = $coordinator->psql('postgres', $sql);
	isnt($status, 0, $name);
	like($error, $expected, "$name: the error");
	return;
}
my $there = '127\.0\.0\.1:' . $cluster->worker(1)->port;
my $directory = PostgreSQL::Test::Utils::tempdir;
my ($libraries) = run_command([ 'pg_config', '--pkglibdir' ]);
copy("$libraries/dict_snowball.so", "$directory/only_here.so") or die $!;
is_refused("SET dynamic_library_path = '$directory'; CREATE FUNCTION of_here_alone(internal) RETURNS internal LANGUAGE c AS 'only_here', 'dsnowball_init'",
	qr/could not access file "only_here".*$there/s, 'a library that another node lacks');
is($_->safe_psql('postgres', "SELECT count(*) FROM pg_proc WHERE proname = 'of_here_alone'"), '0', 'no function on ' . $_->name) foreach @members;

my $make_tablespace = "SET allow_in_place_tablespaces = on; CREATE TABLESPACE apart LOCATION ''";
# How many of the table's shards and indexes are in the tablespace.
my $in_tablespace = q{SET citus.override_table_visibility = off; SELECT count(*) FROM pg_class c LEFT JOIN pg_index i ON indexrelid = c.oid JOIN pg_tablespace s ON s.oid = c.reltablespace
	WHERE spcname = 'apart' AND pando.relation_shard_id(coalesce(indrelid, c.oid)) IS NOT NULL};
$coordinator->safe_psql('postgres', $make_tablespace);
is_refused($_, qr/tablespace "apart" does not exist.*$there/s, $_) foreach 'ALTER TABLE late.items SET TABLESPACE apart', 'CREATE INDEX items_id ON late.items (id) TABLESPACE apart',
	q{CREATE TABLE late.more (id int) TABLESPACE apart; SELECT create_distributed_table('late.more', 'id')};
$cluster->sql('DROP TABLE late.more');
$cluster->worker(1)->safe_psql('postgres', $make_tablespace);
$cluster->sql('ALTER TABLE late.items SET TABLESPACE apart; CREATE INDEX items_id ON late.items (id) TABLESPACE apart');
my $shards = $cluster->sql("SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'late.items'::regclass");
is($cluster->worker(1)->safe_psql('postgres', $in_tablespace), 2 * $shards, 'shards and their indexes are in the tablespace');
is_refused(q{SELECT citus_add_node('127.0.0.1', } . $cluster->worker(2)->port . ')', qr/tablespace "apart" does not exist/, 'a node without the tablespace');
$cluster->worker(2)->safe_psql('postgres', $make_tablespace);

$cluster->join_worker(2);
push @members, $cluster->worker(2);
check_objects('a node that joins later');
$cluster->sql(q{SELECT citus_move_shard_placement(min(shardid), '127.0.0.1', } . $cluster->worker(1)->port . q{, '127.0.0.1', } . $cluster->worker(2)->port .
	q{, 'block_writes') FROM pg_dist_shard WHERE logicalrelid = 'late.items'::regclass});
cmp_ok($cluster->worker(2)->safe_psql('postgres', $in_tablespace), '>=', 2, 'a shard that moves is in the tablespace there');
is($_->safe_psql('postgres', 'SELECT count(*), min(m), max(note) FROM late.items'), '2|x|b',
	'the table through ' . $_->name) foreach @members;

is($_->safe_psql('postgres', 'SELECT * FROM two.kept'), '9|v9', 'a materialized view on ' . $_->name) foreach @members;
is($_->safe_psql('postgres', 'SELECT two.rows()'), '9', 'a view in a function on ' . $_->name) foreach @members;

$cluster->sql('DROP SCHEMA late, two CASCADE; DROP LANGUAGE spoken CASCADE; DROP FOREIGN DATA WRAPPER far CASCADE; DROP ACCESS METHOD heaps;
	DROP PUBLICATION news; DROP TYPE mood; DROP OWNED BY app, crew, late; DROP ROLE app, crew, late, giver');
is($_->safe_psql('postgres', 'SELECT count(*) FROM pg_dist_object'), '0', 'nothing is recorded on ' . $_->name)
  foreach @members;
$cluster->stop;
done_testing();
