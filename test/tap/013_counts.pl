# Counts of statements and of tenants, within their limits and not beyond a restart; and other libraries that count, explain and audit.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PostgreSQL::Test::Utils;

# Those of these libraries that are here.
my $directory = defined $ENV{PG_CONFIG} ? qx("$ENV{PG_CONFIG}" --pkglibdir) =~ s/\n//r : undef;
my %beside = map { $_ => 1 } grep { !defined $directory && $_ ne 'pgaudit' || defined $directory && -e "$directory/$_.so" } qw(pg_stat_statements auto_explain pgaudit);
my $cluster = PandoCluster->new('counts', workers => 0, conf => "shared_preload_libraries = '" . join(', ', 'pando', sort keys %beside) . "'\n" . <<'END');
auto_explain.log_min_duration = 0
auto_explain.log_verbose = on
auto_explain.log_analyze = on
pgaudit.log = all
compute_query_id = on
citus.stat_statements_track = all
citus.stat_statements_max = 1000
citus.stat_tenants_track = all
citus.stat_tenants_limit = 2
citus.stat_tenants_period = '1d'
END
$cluster->sql(<<'END');
CREATE TABLE t (k int PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'k', shard_count := 2);
CREATE FUNCTION reads(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		PERFORM v FROM t WHERE k = i;
	END LOOP;
END $$;
END

SKIP:
{
	skip 'no pg_stat_statements here', 4 unless $beside{pg_stat_statements};
	$cluster->sql('CREATE EXTENSION pg_stat_statements');
	$cluster->sql("SET application_name TO 'counts'; SELECT v FROM t WHERE k = 7; SELECT v FROM t WHERE k = 7; SELECT v FROM t WHERE k = 8; SELECT count(*) FROM t");
	is($cluster->sql(q{SELECT executor, partition_key, calls, query FROM citus_stat_statements WHERE query LIKE 'SELECT v%' ORDER BY partition_key}),
		"adaptive|7|2|SELECT v FROM t WHERE k = \$1\nadaptive|8|1|SELECT v FROM t WHERE k = \$1", 'statements with their texts');
	$cluster->sql('SELECT pg_stat_statements_reset()');
	is($cluster->sql(q{SELECT count(*) FROM citus_stat_statements WHERE query LIKE 'SELECT v%'}), '0', 'what has no text is not shown');

	my $early = PostgreSQL::Test::Cluster->new('early');
	$early->init;
	$early->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements, pando'\nmax_prepared_transactions = 10\n");
	ok(!$early->start(fail_ok => 1), 'the server does not start with such a library before');
	like(slurp_file($early->logfile), qr/pando has to be loaded before other libraries.*\n.*HINT:  Place pando at the beginning of shared_preload_libraries/, 'and says why');
}

SKIP:
{
	skip 'no auto_explain here', 1 unless $beside{auto_explain};
	$cluster->sql('BEGIN; DECLARE c SCROLL CURSOR FOR SELECT v FROM t; FETCH c; CLOSE c');
	like(slurp_file($cluster->coordinator->logfile), qr/DECLARE c SCROLL CURSOR.*\n\tMaterialize .*\n.*Output.*\n\t  ->  Custom Scan \(Citus Adaptive\)/, 'plans in the log');
}
SKIP:
{
	skip 'no pgaudit here', 1 unless $beside{pgaudit};
	# A statement of the top level within another one is an error to it.
	$cluster->sql('ANALYZE t; VACUUM t; REINDEX TABLE CONCURRENTLY t');
	like(slurp_file($cluster->coordinator->logfile), qr/AUDIT: SESSION,[0-9,]+MISC,VACUUM,,,VACUUM t/, 'statements that run outside of transactions are audited');
}

# Much used, then many others.
$cluster->sql('SELECT reads(5, 5) FROM generate_series(1, 100)');
$cluster->sql('SELECT reads(1000, 4000)');
is($cluster->sql('SELECT count(*) BETWEEN 900 AND 1000 FROM pando.statement_counts()'), 't', 'as many statements as may be');
is($cluster->sql(q{SELECT sum(calls) FROM pando.statement_counts() WHERE partition_key = '5'}), '100', 'of which the one that is used most stays');
is($cluster->sql('SELECT count(*) <= 6, count(*) > 3 FROM citus_stat_tenants_local(true)'), 't|t', 'three times as many tenants as are shown');
is($cluster->sql('SELECT count(*) FROM citus_stat_tenants'), '2', 'of which the most active ones are shown');
is($cluster->sql(q{SELECT read_count_in_this_period >= 100 FROM citus_stat_tenants_local WHERE tenant_attribute = '5'}), 't', 'the one that is used most among them');

$cluster->coordinator->restart;
is($cluster->sql(q{SELECT count(*) FROM pando.statement_counts() WHERE partition_key = '5'}), '0', 'no statement after a restart');
is($cluster->sql('SELECT count(*) FROM citus_stat_tenants'), '0', 'no tenant either');
$cluster->stop;
done_testing();
