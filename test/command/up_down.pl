# ./pando up, status, psql, a dead node started again, down; and what it says where it can't go on.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use IO::Socket::INET;

my $root = $ENV{PANDO_ROOT} // '../..';
my $top = tempdir(CLEANUP => 1);
chmod 0777, $top;
my $dir = $top . '/cluster';
my $port = $ENV{PANDO_PORT} or die "PANDO_PORT is the first of four free ports";

sub pando
{
	my $text = `$root/pando @_ 2>&1`;
	return ($? >> 8, $text);
}

my ($status, $text) = pando("up --workers 1 --port $port --dir $dir");
is($status, 0, 'up') or diag $text;
like($text, qr/The cluster is up: a coordinator and 1 workers/, 'up says what it did');
($status, $text) = pando("up --dir $dir --workers 2");
is($status, 0, 'up again adds a worker') or diag $text;
($status, $text) = pando("status --dir $dir");
is(scalar(() = $text =~ /running/g), 3, 'three servers run') or diag $text;

# A dead node is started again.
my $pid = (split /\n/, do { local (@ARGV, $/) = ("$dir/worker1/postmaster.pid"); <> })[0];
my @processes = ($pid, split ' ', `ps -o pid= --ppid $pid`);
kill 'KILL', $pid;
# Its backends notice by themselves. Where nothing reaps it, what is dead has a process id still.
for (1 .. 600)
{
	last unless grep { `ps -o stat= -p $_` =~ /^[^Z]/ } @processes;
	select undef, undef, undef, 0.1;
}
($status, $text) = pando("up --dir $dir");
is($status, 0, 'up with a dead node') or diag $text;
like($text, qr/Starting worker1/, 'starts that node again');
unlike($text, qr/Starting worker2/, 'and no other');
my $count = `$ENV{PANDO_BIN}/psql -X -tA -h 127.0.0.1 -p $port -U postgres postgres -c "SELECT count(*) FROM run_command_on_all_nodes('SELECT 1') WHERE success"`;
is($count, "3\n", 'every node answers');

# Where it can't go on.
my $socket = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port + 3, Listen => 1, ReuseAddr => 1);
($status, $text) = pando("up --port " . ($port + 3) . " --dir $dir-other");
isnt($status, 0, 'a taken port');
like($text, qr/port @{[ $port + 3 ]} is taken/, 'is named');
ok(!-e "$dir-other/coordinator", 'and nothing was made');
($status, $text) = pando('up --dir /proc/none');
isnt($status, 0, 'a directory that cannot be');
like($text, qr/^pando: .*--dir/m, 'is explained');
($status, $text) = pando("psql --dir $dir 7");
isnt($status, 0, 'an unknown node');

($status, $text) = pando("down --dir $dir");
is($status, 0, 'down') or diag $text;
ok(!-e $dir, 'removes everything');
($status, $text) = pando("down --dir $dir");
is($status, 0, 'down without a cluster is fine');

done_testing();
