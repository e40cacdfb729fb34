# PandoCluster: a coordinator and workers for a TAP script.
#
#   my $cluster = PandoCluster->new('name', workers => 2);
#   $cluster->coordinator->safe_psql('postgres', ...);
#   $cluster->worker(1)->stop('immediate');
package PandoCluster;

use strict;
use warnings;
use Time::HiRes qw(sleep);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use PandoNetwork;

# A psql that can't connect may be gone before it was given its input, of which IPC::Run dies. It has run
# nothing then, so it is asked again.
foreach my $name ('psql', 'poll_query_until')
{
	no strict 'refs';
	no warnings 'redefine';
	my $function = \&{"PostgreSQL::Test::Cluster::$name"};
	*{"PostgreSQL::Test::Cluster::$name"} = sub {
		my $list = wantarray;
		for (;;)
		{
			my @result = eval { $list ? $function->(@_) : scalar $function->(@_) };
			return $list ? @result : $result[0] if $@ eq '';
			die $@ if $@ !~ /^ack Broken pipe/;
		}
	};
}

# Starts the servers, creates the extension and adds the workers. Options: workers (2),
# conf (lines for every postgresql.conf), install_path (of another PostgreSQL, which has the library), archive (0; 1: they archive their WAL), join (1: add the workers), network (0; 1: the
# nodes reach each other through a PandoNetwork).
sub new
{
	my ($class, $name, %options) = @_;
	my $self = bless { name => $name, nodes => [], replicas => 0 }, $class;
	my $workers = $options{workers} // 2;
	foreach my $i (0 .. $workers)
	{
		$self->add_server($i == 0 ? "${name}_coordinator" : "${name}_worker$i", $options{conf}, $options{archive}, $options{install_path});
	}
	$self->{network} = PandoNetwork->new(map { $_->port } $self->nodes) if $options{network};
	$self->coordinator->safe_psql('postgres',
		"SELECT citus_set_coordinator_host('127.0.0.1', " . $self->node_port(0) . ")");
	if ($options{join} // 1)
	{
		$self->join_worker($_) foreach 1 .. $workers;
	}
	return $self;
}

# One more server with the extension, not yet a member.
sub add_server
{
	my ($self, $name, $conf, $archive, $install_path) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, own_host => 0, install_path => $install_path);
	$node->init(allows_streaming => $archive // 0, has_archiving => $archive // 0);
	my $library_path = $ENV{PANDO_LIBRARY_PATH} // '';
	$node->append_conf('postgresql.conf', <<"END");
listen_addresses = '127.0.0.1'
shared_preload_libraries = 'pando'
dynamic_library_path = '$library_path:\$libdir'
max_prepared_transactions = 100
max_connections = 100
wal_level = logical
restart_after_crash = on
log_statement = none
END
	$node->append_conf('postgresql.conf', $conf) if defined $conf;
	$node->append_conf('pg_hba.conf', "host all all 127.0.0.1/32 trust");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pando');
	push @{ $self->{nodes} }, $node;
	return $node;
}

# A streaming replica of the i-th node, under way; $conf: more lines for its postgresql.conf. The nodes must archive their WAL.
sub replica_of
{
	my ($self, $i, $conf) = @_;
	my $node = $self->{nodes}[$i];
	my $name = "$self->{name}_replica" . ++$self->{replicas};
	$node->backup($name);
	my $replica = PostgreSQL::Test::Cluster->new($name, own_host => 0);
	$replica->init_from_backup($node, $name, has_streaming => 1);
	$replica->append_conf('postgresql.conf', 'port = ' . $replica->port . "\n" . ($conf // ''));
	$replica->start;
	return $replica;
}

sub coordinator { return $_[0]->{nodes}[0]; }
sub worker { return $_[0]->{nodes}[ $_[1] ]; }
sub nodes { return @{ $_[0]->{nodes} }; }
sub network { return $_[0]->{network}; }

# The port that the other nodes know a node by.
sub node_port
{
	my ($self, $i) = @_;
	return $self->{network} ? $self->{network}->port($i) : $self->{nodes}[$i]->port;
}

sub join_worker
{
	my ($self, $i) = @_;
	$self->coordinator->safe_psql('postgres',
		"SELECT citus_add_node('127.0.0.1', " . $self->node_port($i) . ")");
	return;
}

# Runs SQL on the coordinator; dies on an error.
sub sql { return $_[0]->coordinator->safe_psql('postgres', $_[1]); }

sub log_end { return -s $_[1]->logfile; }

# Waits until a node that lost a backend has started anew; $from: log_end() before that.
sub await_restart
{
	my ($self, $node, $from) = @_;
	$node->wait_for_log(qr/reinitializing.*database system is ready to accept connections/s, $from);
	return;
}

# What several tests change: a distributed table t of 40 rows, and a reference table r of one.
sub make_tables
{
	my ($self, $v) = @_;
	$self->sql(<<"END");
CREATE TABLE t (k int PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'k');
INSERT INTO t SELECT k, $v FROM generate_series(1, 40) k;
CREATE TABLE r (k int PRIMARY KEY, v int);
SELECT create_reference_table('r');
INSERT INTO r VALUES (1, 0);
END
	return;
}

# Starts a script on a node in a psql of its own: { handle, out, err }.
sub start
{
	my ($self, $node, $script) = @_;
	my $psql = { out => '', err => '' };
	my $file = PostgreSQL::Test::Utils::tempdir() . '/sql';
	append_to_file($file, $script);
	local $ENV{PGAPPNAME} = 'psql_started';
	$psql->{handle} = IPC::Run::start(
		[ 'psql', '-XAtq', '-h', '127.0.0.1', '-p', $node->port, '-d', 'postgres', '-f', $file ],
		'<', \'', '>', \$psql->{out}, '2>', \$psql->{err}, IPC::Run::timeout(240));
	return $psql;
}

# The same, to be stopped at a debug point of the node; returns when it is there, with its pid.
sub start_at
{
	my ($self, $node, $point, $script) = @_;
	my $there = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name = 'psql_started'";
	$node->safe_psql('postgres', "SELECT pando.debug_point_arm('$point', 'wait')");
	my $psql = $self->start($node, $script);
	$node->poll_query_until('postgres', "SELECT count(*) = 1 $there") or die "$point is not reached";
	$psql->{pid} = $node->safe_psql('postgres', "SELECT pid $there");
	return $psql;
}

# Prepared transactions left on any node, as a count.
sub prepared_count
{
	my ($self) = @_;
	my $count = 0;
	$count += $_->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts') foreach $self->nodes;
	return $count;
}

# Waits until no node has a prepared transaction; false if that takes too long.
sub settled
{
	my ($self) = @_;
	for (1 .. 600)
	{
		return 1 if $self->prepared_count == 0;
		sleep 0.2;
	}
	return 0;
}

# Changes settings of a running server; returns when new sessions have them.
my $reads = 0;

sub configure
{
	my ($node, %settings) = @_;
	# What tells that the server has read them.
	$settings{'pando_test.read'} = ++$reads;
	$node->append_conf('postgresql.conf', join '', map { "$_ = '$settings{$_}'\n" } sort keys %settings);
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('pando_test.read', true) = '$reads'")
	  or die 'the settings are not read';
	return;
}

# Kills a server the hard way, and waits for its backends, which notice by themselves.
sub kill_server
{
	my ($self, $i) = @_;
	my $node = $self->{nodes}[$i];
	my $pid = $node->{_pid};
	my @backends = split ' ', `ps -o pid= --ppid $pid`;
	$node->kill9;
	foreach (1 .. 600)
	{
		last unless grep { `ps -o stat= -p $_` =~ /^[^Z]/ } @backends;
		sleep 0.1;
	}
	# Where nothing reaps it, a dead postmaster looks alive to its successor.
	unlink $node->data_dir . '/postmaster.pid', $node->host . '/.s.PGSQL.' . $node->port . '.lock';
	return;
}

# Stops all servers without ceremony.
sub stop { $_->stop('immediate') foreach $_[0]->nodes; return; }

1;
