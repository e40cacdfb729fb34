# Tests that a signal ends leave neither servers nor other processes, wherever they were.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);

my $root = $ENV{PANDO_ROOT} // '../..';
my $port = $ENV{PANDO_PORT} or die "PANDO_PORT is the first of four free ports";
my $top = tempdir(CLEANUP => 1);
chmod 0777, $top;
# Where a shell has started this in the background it is ignored, and then nobody can catch it.
$SIG{INT} = 'DEFAULT';

# In place of the lanes: a server in a directory of its own, programs in the background,
# one of them stopped, and one in the foreground that takes SIGINT itself and ends well, as psql does.
my $script = <<'END';
set -euo pipefail
ROOT=$1 PORT=$3
. "$ROOT/tools/lib.sh"
. "$ROOT/tools/test.sh"
find_postgres
TEST_DIR=$(as_server mktemp -d "$2/test.XXXXXX")
at_exit tests_end
as_server mkdir -p "$TEST_DIR/tap/one"
server_init "$TEST_DIR/tap/one/pgdata" "$PORT"
server_start "$TEST_DIR/tap/one/pgdata"
bash -c 'sleep 41.5; true' >/dev/null &
bash -c 'kill -STOP $$; sleep 41.5; true' >/dev/null &
perl -e '$| = 1; $SIG{INT} = sub { exit 0 }; print "started\n"; select undef, undef, undef, 42.5'
END

foreach my $signal ('TERM', 'INT')
{
	my $pid = open(my $out, '-|') // die $!;
	if ($pid == 0)
	{
		setpgrp if $signal eq 'INT';
		exec 'bash', '-c', $script, 'bash', $root, $top, $port or die $!;
	}
	while (my $line = <$out>)
	{
		last if $line =~ /^started/;
	}
	my @servers = glob "$top/test.*/tap/one/pgdata/postmaster.pid";
	is(scalar(@servers), 1, "$signal: a server runs");
	# The terminal's signal goes to all of the foreground, at once; and again from who can't wait.
	foreach (1 .. 10)
	{
		kill $signal, $signal eq 'INT' ? -$pid : $pid;
		select undef, undef, undef, 0.03;
	}
	my $said = do { local $/; <$out> };
	close $out;
	isnt($?, 0, "$signal: it has not ended well");
	like($said, qr/What the tests wrote is in/, "$signal: it says where its files are");
	is(scalar(glob "$top/test.*/tap/one/pgdata/postmaster.pid"), undef, "$signal: the server is down");
	is(`ps -A -o args= | grep -E '(sleep|undef,) 4[12]\.5'`, '', "$signal: nothing goes on");
}
done_testing();
