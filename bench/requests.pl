# bench/requests: what a request costs nginx, each case beside its floor.
#
# One worker on core 0; wrk with 32 kept-alive connections on core 1.  Cases
# and floors take turns, 7 rounds of 3 s each.
#
#   BENCH_ROUNDS, BENCH_SECONDS     of each turn (7, 3)
#   BENCH_SESSIONS                  in the store (100000)
#
# Writes bench/results/requests.md.

use strict;
use warnings;

use Session::Bench;
use Session::Bench::Site;

my $rounds = $ENV{BENCH_ROUNDS} || 7;
my $seconds = $ENV{BENCH_SECONDS} || 3;
my $sessions = $ENV{BENCH_SESSIONS} || 100_000;

# case, and where its tokens come from: one, or many by a law
my @runs = (
    ['up'], ['up_cookie'], ['sign_in'],
    ['dashboard'], ['dashboard', 'uniform'],
    ['file'], ['file', 'zipf'], ['file', 'uniform'],
    ['app'], ['junk'], ['unknown'],
);

bounded(600 + @runs * 2 * $rounds * ($seconds + 2));

my $site = Session::Bench::Site->new(sessions => $sessions);
my $worker = $site->worker;
my $idle = memory($worker);
my %score;

turn($_, 1) for @runs;

for my $round (1 .. $rounds) {
    print STDERR "round $round of $rounds\n";
    turn($_, $seconds, 1) for $round % 2 ? @runs : reverse @runs;
}

my $busy = memory($worker);

$site->done;
results('requests', text());


# A case and its floor, one after the other.

sub turn {
    my ($run, $time, $counts) = @_;
    my ($name, $law) = @$run;
    my $case = $site->{cases}{$name};
    my $score = $score{"@$run"} //= {};

    for my $what (qw(floor case)) {
        my $path = $what eq 'floor' ? "/floor/$name" : $case->{path};
        my ($rate, $cpu) = measure($case, $path, $law, $time);

        next if !$counts;

        push @{ $score->{"$what rate"} }, $rate;
        push @{ $score->{"$what cpu"} }, $cpu;
    }

    push @{ $score->{ratio} },
        $score->{'case cpu'}[-1] / $score->{'floor cpu'}[-1] if $counts;
}


# Requests per second, and processor time of the worker for each in us.

sub measure {
    my ($case, $path, $law, $time) = @_;
    my @headers = $site->headers($case, $law);
    my @command = ('taskset', '-c', 1, 'wrk', '-t1', '-c32', "-d${time}s");

    while (my ($header, $value) = splice @headers, 0, 2) {
        push @command, '-H', "$header: $value";
    }

    push @command, $law ? ('-s', 'bench/tokens.lua', $site->url($path), '--',
                           $Session::World::cookie, $site->{token_file}, $law)
                        : $site->url($path);

    my $before = cpu_seconds($worker);
    my $text = run_command(@command);
    my $cpu = cpu_seconds($worker) - $before;

    my ($n) = $text =~ /(\d+) requests in/ or die $text;
    my ($rate) = $text =~ m{Requests/sec:\s+(\S+)};
    my ($bad) = $text =~ /Non-2xx or 3xx responses: (\d+)/;

    die "$path: errors\n$text"
        if $text =~ /Socket errors/
           || ($bad // 0) != ($case->{code} < 400 ? 0 : $n);

    return $rate, $cpu / $n * 1e6;
}


sub text {
    my $head = <<"END";
nginx has one worker on core 0 with the access log off, wrk 32 kept-alive
connections on core 1; $rounds interleaved rounds of $seconds s; median
(least-most).
The store holds $sessions sessions of as many users. Sessions: 1 is always the
same one, zipf and uniform are drawn from $site->{tokens} of them.

CPU is user and system time of the worker for one request, all its threads.
The floor is nginx without us, sending as many bytes to the same request:
`return` with literal `add_header` lines, or the same file or upstream without
protection and with the headers that protection adds. The ratio is the median
of the rounds' ratios, each of two turns in a row.

| case | body | sessions | CPU us | floor us | ratio | req/s | floor req/s |
|---|---|---|---|---|---|---|---|
END

    return $head . join('', map { line($_) } @runs) . "\n" . foot();
}


sub line {
    my ($run) = @_;
    my ($name, $law) = @$run;
    my $case = $site->{cases}{$name};
    my $score = $score{"@$run"};
    my $who = $law // (($case->{cookie} // '') eq 'live' ? 1 : '-');

    return '| ' . join(' | ', $case->{title}, $case->{bytes}, $who,
        spread('%.2f', @{ $score->{'case cpu'} }),
        spread('%.2f', @{ $score->{'floor cpu'} }),
        spread('%.2f', @{ $score->{ratio} }),
        map { sprintf '%.0f', median(@$_) }
            @$score{'case rate', 'floor rate'}) . " |\n";
}


sub foot {
    my $session = ($site->{sessions_bytes} - $site->{users_bytes}) / $sessions;
    my $user = $site->{users_bytes} / $sessions;
    my $events = $site->{events_bytes} / $sessions;

    return sprintf <<'END', $session, $user, $events,
Pages in use in this store: sessions.v1.mdb has %.0f bytes a session (record,
indexes, row of the change feed) beside %.0f a user, events.v1.mdb %.0f for the
two audit rows of a user made and signed in once.

| memory of the worker, MiB | Pss | of it not backed by a file | the rest |
|---|---|---|---|
| right after the start | %.1f | %.1f | %.1f |
| after all rounds | %.1f | %.1f | %.1f |

The rest is nginx, its libraries, shared memory and the store's map, which all
workers have in common.
END
        map { ($_->{Pss}, $_->{Pss_Anon}, $_->{Pss} - $_->{Pss_Anon}) }
            $idle, $busy;
}
