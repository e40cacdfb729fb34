# Versions: an update from the version before ends in what an installation of the new one is; a server whose library and
# extension differ, and nodes of different versions, say so instead of working on.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

my $cluster = PandoCluster->new('versions', workers => 1);
my $coordinator = $cluster->coordinator;
my $version = $coordinator->safe_psql('postgres', "SELECT extversion FROM pg_extension WHERE extname = 'pando'");
my $old = '1.0';
isnt($version, $old, 'there is a version before');

# All that belongs to the extension, with rights and definitions; what pg_dump keeps; rows of a fresh installation.
my $made = <<'END';
SELECT pg_describe_object(d.classid, d.objid, d.objsubid), p.proacl::text, md5(p.prosrc || coalesce(pg_get_function_sqlbody(p.oid), '')), c.relacl::text,
	(SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0)
FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
	LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
WHERE e.extname = 'pando' ORDER BY 1
END
my $kept = "SELECT extversion, extconfig::regclass[], extcondition FROM pg_extension WHERE extname = 'pando'";
my $triggers = "SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2";

# One server is alone, so it has no cluster's rows.
my $alone = $cluster->add_server('alone');
my @fresh = map { $alone->safe_psql('postgres', $_) } $made, $kept, $triggers;
$alone->safe_psql('postgres', "DROP EXTENSION pando; CREATE EXTENSION pando VERSION '$old'");
is($alone->safe_psql('postgres', 'SELECT extversion FROM pg_extension WHERE extname = \'pando\''), $old, 'the version before');

# With the library of another version.
$alone->safe_psql('postgres', 'CREATE TABLE plain (a int); INSERT INTO plain VALUES (1)');
is($alone->safe_psql('postgres', 'SELECT a FROM plain'), '1', 'a local table works with a library of another version');
$alone->safe_psql('postgres', "INSERT INTO pg_dist_partition VALUES ('plain', 'n', NULL, 1, 't', false)");
my ($result, $out, $err) = $alone->psql('postgres', 'SELECT a FROM plain');
like($err, qr/the loaded library is of another version than extension pando.*The library is version \Q$version\E, the extension version \Q$old\E/s, 'a distributed one does not');
$alone->safe_psql('postgres', 'DELETE FROM pg_dist_partition');

# Not a node of a cluster of the new version.
($result, $out, $err) = $coordinator->psql('postgres', "SELECT citus_add_node('127.0.0.1', " . $alone->port . ')');
like($err, qr/has another version of extension pando.*It has version \Q$old\E, this node version \Q$version\E/s, 'nor a node of a cluster');

# A worker's column, whose values the coordinator gives.
$alone->safe_psql('postgres', <<'END');
SET citus.enable_ddl_propagation TO off;
CREATE FUNCTION pando.sequence_next(seq regclass) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
ALTER EXTENSION pando ADD FUNCTION pando.sequence_next(regclass);
CREATE SEQUENCE numbers AS int;
CREATE TABLE numbered (k int, n int DEFAULT 10 * pando.sequence_next('numbers'::regclass));
END
$alone->safe_psql('postgres', 'ALTER EXTENSION pando UPDATE');
is($alone->safe_psql('postgres', "SELECT pg_get_expr(adbin, adrelid), last_value FROM pg_attrdef, numbers WHERE adrelid = 'numbered'::regclass"),
	"(10 * nextval('numbers'::regclass))|2147483647", 'defaults take the next value as others do');
$alone->safe_psql('postgres', 'DROP TABLE numbered; DROP SEQUENCE numbers');
my @updated = map { $alone->safe_psql('postgres', $_) } $made, $kept, $triggers;
is($updated[$_], $fresh[$_], ('objects', 'what is kept in dumps', 'triggers')[$_] . ' after an update are those of an installation') foreach 0 .. 2;
$alone->restart;
$coordinator->safe_psql('postgres', "SELECT citus_add_node('127.0.0.1', " . $alone->port . ')');
$cluster->sql("CREATE TABLE t (k int); SELECT create_distributed_table('t', 'k'); INSERT INTO t SELECT generate_series(1, 100)");
is($alone->safe_psql('postgres', 'SELECT count(*) FROM t'), '100', 'the updated server is a node');

# A session of a node of another version.
($result, $out, $err) = $alone->psql('postgres', "SET pando.peer_version = '0.5'");
like($err, qr/a node of version 0\.5 cannot work with one of version \Q$version\E/, 'sessions of nodes tell their version');
done_testing();
