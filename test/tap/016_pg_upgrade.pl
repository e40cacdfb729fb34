# pg_upgrade of all nodes, with citus_prepare_pg_upgrade() before and citus_finish_pg_upgrade() after it: to the same version, or
# from the one whose installation PANDO_OLD_INSTALL names, with the library made for it.
use strict;
use warnings;
use Test::More;
use lib '.';
use PandoCluster;
use PostgreSQL::Test::Utils;

my $old_install = $ENV{PANDO_OLD_INSTALL};
my $cluster = PandoCluster->new('upgraded', workers => 1, install_path => $old_install,
	conf => defined $old_install ? "dynamic_library_path = '\$libdir'\n" : undef);
my @nodes = $cluster->nodes;
$cluster->sql(<<'END');
CREATE TABLE t (id bigserial PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'id', shard_count := 4);
INSERT INTO t (v) SELECT i % 7 FROM generate_series(1, 200) i;
CREATE TABLE r (a int PRIMARY KEY);
SELECT create_reference_table('r');
INSERT INTO r SELECT generate_series(0, 6);
CREATE FUNCTION f(k bigint) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT v FROM public.t WHERE id = k';
SELECT create_distributed_function('f(bigint)', 'k', 't');
END
my @asked = ('SELECT count(*), sum(v) FROM t', 'SELECT count(*) FROM t JOIN r ON v = a', 'SELECT f(5), f(6)',
	'SELECT table_name, shardid, nodeport FROM citus_shards ORDER BY 2, 3', 'TABLE pando.distribution',
	'SELECT type, object_names, distribution_argument_index, colocationid FROM pg_dist_object ORDER BY 1, 2::text',
	'SELECT * FROM pg_dist_rebalance_strategy ORDER BY 1');
# A function that we give to a server which lacks it.
if (defined $old_install)
{
	$cluster->sql('CREATE VIEW anyone AS SELECT any_value(v) IS NOT NULL FROM t');
	push @asked, 'TABLE anyone';
}
my @before = map { $cluster->sql($_) } @asked;
isnt(($nodes[0]->psql('postgres', 'SELECT citus_finish_pg_upgrade()'))[0], 0, 'nothing was put aside');
$_->safe_psql('postgres', 'SELECT citus_prepare_pg_upgrade()') foreach @nodes;
$_->stop foreach @nodes;

my $conf = slurp_file($nodes[0]->data_dir . '/postgresql.conf');
my $library_path = $ENV{PANDO_LIBRARY_PATH} // '';
my $old_bin = $nodes[0]->config_data('--bindir');
foreach my $number (0 .. $#nodes)
{
	my $old = $nodes[$number];
	my $new = PostgreSQL::Test::Cluster->new("new_$number", own_host => 0, port => $old->port);
	$new->init;
	$new->append_conf('postgresql.conf', join '', map { "$_\n" } grep { /^(listen_addresses|shared_preload|max_prepared|max_connections|wal_level)/ } split /\n/, $conf);
	$new->append_conf('postgresql.conf', "dynamic_library_path = '$library_path:\$libdir'\n");
	my $bin = $new->config_data('--bindir');
	$new->append_conf('pg_hba.conf', 'host all all 127.0.0.1/32 trust');
	my $directory = PostgreSQL::Test::Utils::tempdir;
	chdir $directory;
	command_ok([ "$bin/pg_upgrade", '--no-sync', '-O', '-c allow_system_table_mods=on', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $old_bin, '-B', $bin, '-s', $directory,
		'-p', PostgreSQL::Test::Cluster::get_free_port(), '-P', PostgreSQL::Test::Cluster::get_free_port() ], "pg_upgrade of node $number");
	$nodes[$number] = $new;
}
$_->start foreach @nodes;
$_->safe_psql('postgres', 'SELECT citus_finish_pg_upgrade()') foreach @nodes;
is($nodes[0]->safe_psql('postgres', $asked[$_]), $before[$_], $asked[$_]) foreach 0 .. $#asked;
is($nodes[1]->safe_psql('postgres', $asked[0]), $before[0], 'through the worker');
$nodes[0]->safe_psql('postgres', "INSERT INTO t (v) SELECT 1 FROM generate_series(1, 10); CREATE TABLE u (k int); SELECT create_distributed_table('u', 'k'); INSERT INTO u VALUES (1)");
is($nodes[0]->safe_psql('postgres', 'SELECT count(*) FROM t'), '210', 'and goes on');
done_testing();
