#!/usr/bin/perl
# github-events.pl ROWS [SEED]: events shaped like the GitHub archive's, one JSON document a
# line, the same for the same seed. Push events (half of all) carry commits with messages.
use strict;
use warnings;

my ($rows, $seed) = @ARGV;
$rows //= 1000;
my $state = ($seed // 42) & 0x7fffffff;

# A small generator of our own, so that every perl gives the same rows.
sub draw
{
	my ($limit) = @_;
	$state = ($state * 1103515245 + 12345) & 0x7fffffff;
	return int(($state >> 8) % $limit);
}
sub pick { return $_[draw(scalar @_)]; }

my @types = (('PushEvent') x 5, qw(CreateEvent WatchEvent IssuesEvent ForkEvent PullRequestEvent));
my @verbs = qw(fix add remove refactor document test speed-up revert simplify update);
my @things = ('the parser', 'postgres support', 'a flaky test', 'the README', 'connection pooling',
	'the postgresql driver', 'index builds', 'error messages', 'the CI job', 'memory use');

for my $i (1 .. $rows)
{
	my $type = pick(@types);
	my $repo = draw(2000) + 1;
	my $user = draw(5000) + 1;
	my $second = int($i * 7 * 86400 / ($rows + 1));
	my $created = sprintf('2020-02-%02dT%02d:%02d:%02dZ',
		1 + int($second / 86400), int($second / 3600) % 24, int($second / 60) % 60, $second % 60);
	my $payload = sprintf('{"action":"%s"}', pick(qw(opened closed started created)));
	if ($type eq 'PushEvent')
	{
		my @commits = map {
			sprintf('{"sha":"%08x%08x","author":{"name":"user%d"},"message":"%s %s"}',
				draw(0x7fffff), draw(0x7fffff), $user, pick(@verbs), pick(@things))
		} 1 .. 1 + draw(4);
		$payload = sprintf('{"push_id":%d,"size":%d,"distinct_size":%d,"ref":"refs/heads/main","commits":[%s]}',
			$i * 3, scalar @commits, scalar @commits, join(',', @commits));
	}
	printf '{"id":"%d","type":"%s","actor":{"id":%d,"login":"user%d"},"repo":{"id":%d,"name":"org%d/repo%d"},'
		. '"payload":%s,"public":true,"created_at":"%s"}' . "\n",
		$i, $type, $user, $user, $repo, $repo % 100, $repo, $payload, $created;
}
