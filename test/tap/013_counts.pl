# Counts of statements and of tenants: beside pg_stat_statements, within their limits, and not beyond a restart.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;

my $library = qx("$ENV{PG_CONFIG}" --pkglibdir) =~ s/\n//r . '/pg_stat_statements.so' if defined $ENV{PG_CONFIG};
my $beside = !defined $library || -e $library;
my $cluster = PandoCluster->new('counts', workers => 0, conf => ($beside ? "shared_preload_libraries = 'pando, pg_stat_statements'\n" : '') . <<'END');
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
	skip 'no pg_stat_statements here', 2 unless $beside;
	$cluster->sql('CREATE EXTENSION pg_stat_statements');
	$cluster->sql("SET application_name TO 'counts'; SELECT v FROM t WHERE k = 7; SELECT v FROM t WHERE k = 7; SELECT v FROM t WHERE k = 8; SELECT count(*) FROM t");
	is($cluster->sql(q{SELECT executor, partition_key, calls, query FROM citus_stat_statements WHERE query LIKE 'SELECT v%' ORDER BY partition_key}),
		"adaptive|7|2|SELECT v FROM t WHERE k = \$1\nadaptive|8|1|SELECT v FROM t WHERE k = \$1", 'statements with their texts');
	$cluster->sql('SELECT pg_stat_statements_reset()');
	is($cluster->sql(q{SELECT count(*) FROM citus_stat_statements WHERE query LIKE 'SELECT v%'}), '0', 'what has no text is not shown');
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
