# bench/timing: does time tell what an answer does not?
#
# Three times, each with classes in random order, one call or request after the
# other: store_token_verify() alone with the first wrong byte of the MAC in
# different places; requests with such cookies; sign-ins of logins that are
# known, unknown or disabled.  A request has its time by the client's clock, to
# the end of the answer, and by the clock of the worker's processor time, from
# one request to the next; a sign-in has the time of the event loop's thread
# instead, since the other threads hash.
#
# Welch's t-test judges (bench/lib/Session/Bench/Welch.pm).  Each kind has a
# pair that is the same twice and one that differs: where these are not found
# to be what they are, nothing is written.
#
#   BENCH_CALLS         of each class (1000000)
#   BENCH_REQUESTS      of each class (100000)
#   BENCH_SIGN_INS      of each class (2000)
#
# Writes bench/results/timing.md.

use strict;
use warnings;

use List::Util qw(shuffle);
use MIME::Base64 qw(decode_base64url encode_base64url);
use POSIX ();
use Session::Bench;
use Session::Bench::Welch;
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn qw(prepared);
use Session::Wire;
use Time::HiRes qw(CLOCK_MONOTONIC clock_gettime);

my $calls = $ENV{BENCH_CALLS} || 1_000_000;
my $requests = $ENV{BENCH_REQUESTS} || 100_000;
my $sign_ins = $ENV{BENCH_SIGN_INS} || 2000;

# where the MAC begins, and how long it is
my ($mac, $mac_bytes) = (22, 32);

# Passwords are equally long, and so are logins: four of each kind.
my $right = $Session::World::password;
my $wrong = 'x' x length $right;
my %logins = (known => [map { "known$_" } 11 .. 14],
              disabled => [map { "ended$_" } 11 .. 14],
              nobody => [map { "never$_" } 11 .. 14]);

bounded(600 + $calls / 5000 + $requests / 100 + $sign_ins);

my $t = Session::Flow->new(level => 'crit', users =>
    [@{ $logins{known} }, map { "${_}:::$right:disabled" }
                              @{ $logins{disabled} }]);

$t->write_file_expand('nginx.conf', configuration());
$t->run;

my $worker = Session::Wire::wait_until(sub { ($t->workers)[0] })
    or die "nginx has no worker\n";
my %token = tokens($t->session('known11')->{token});
my @found;

alone();
cookies();
passwords();
$t->done;

my @odd = grep { defined $_->{expected}
                 && $_->{expected} != told_apart($_->{welch}) } @found;

print text();
die "the controls are not what they are: nothing was measured\n" if @odd;
results('timing', text());


sub configuration {
    return <<'END';
%%GLOBALS%%
worker_cpu_affinity 01;
events { }
http {
    %%GLOBALS_HTTP%%
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    session_hash timeout=60s;
    session_throttle account=10000r/10s address=10000r/10s;
    server {
        listen 127.0.0.1:%%PORT_8080%%;
        location = /sign_in { session_page sign_in; }
        location = /private { session_require user; }
    }
}
END
}


# Of a session that lives, with one bit of another byte of its MAC changed.

sub tokens {
    my ($live) = @_;
    my %byte = (first => 0, again => 0, middle => 15, last => $mac_bytes - 1);

    return (nobody => Session::World::unknown($t->world)->{token}, map {
        my $bytes = decode_base64url($live);

        substr($bytes, $mac + $byte{$_}, 1) ^= "\x01";
        ($_ => encode_base64url($bytes));
    } keys %byte);
}


# Compares two classes by all that was measured of them.  expected: 1 where
# they must be told apart, 0 where they must not, for the rest is worth nothing
# otherwise.

sub judge {
    my ($kind, $times, $pairs) = @_;

    for my $measure (sort keys %$times) {
        for (@$pairs) {
            my ($one, $other, $title, $expected) = @$_;

            push @found, { kind => $kind, measure => $measure,
                title => $title, expected => $expected, welch =>
                    welch(@{ $times->{$measure} }{$one, $other}) };
        }
    }
}


# ---------------------------------------------------------------- calls ---


sub alone {
    my @classes = qw(first again middle last nobody);
    my %verified = measured(\@classes, 'verify', $t->keys, @token{@classes});
    my %compared = measured([qw(first last)], 'compare', 0, $mac_bytes - 1);

    judge('a call', { 'its time' => \%verified }, [
        [qw(first last), 'wrong in byte 0 or in byte 31'],
        [qw(first middle), 'wrong in byte 0 or in byte 15'],
        [qw(first again), 'wrong in byte 0, twice', 0],
    ]);
    judge('a call', { 'its time' => \%compared }, [
        [qw(first last), 'a comparison that stops at byte 0 or at byte 31', 1],
    ]);
}


sub measured {
    my ($classes, $what, @rest) = @_;
    my $file = $t->dir . '/times';

    run_command('taskset', '-c', 1, "$Session::World::build/timing", $what,
                $file, $calls, @rest);

    open my $in, '<:raw', $file or die "$file: $!\n";

    my @all = unpack 'L*', do { local $/; <$in> };
    my $n = @$classes;

    die "timing: $calls rows are missing\n" if @all != $n * $calls;

    return map {
        my $column = $_;
        ($classes->[$column] => [map { $all[$_ * $n + $column] }
                                     0 .. $calls - 1]);
    } 0 .. $#$classes;
}


# ------------------------------------------------------------- requests ---


# One connection, blocking, so that nothing but the two calls is in between.
# Each request has answers of one length, so that nothing is taken apart.

sub connected {
    my ($client) = @_;

    $client->open or die "nginx does not answer\n";
    $client->{sock}->blocking(1);
    pinned();

    return $client->{sock};
}


sub pinned {
    run_command('taskset', '-p', '-c', 1, $$);
}


sub ask {
    my ($sock, $request) = @_;
    my $bytes = '';
    my $from = clock_gettime(CLOCK_MONOTONIC);

    syswrite($sock, $request->{bytes}) == length $request->{bytes}
        or die "write: $!\n";

    do {
        sysread $sock, $bytes, 65536, length $bytes
            or die "no answer: $!\n";
    } while (length $bytes < $request->{long} && !complete($bytes));

    my $took = clock_gettime(CLOCK_MONOTONIC) - $from;

    die "answered otherwise than before:\n$bytes\n"
        if substr($bytes, 9, 3) ne $request->{code}
           || length $bytes != $request->{long};

    return int 1e9 * $took;
}


sub complete {
    my ($r) = Session::Wire::parse($_[0]);

    return defined $r;
}


# How long the answer is; then once more, so that nothing is new when it counts.

sub learn {
    my ($sock, $request) = @_;
    my $bytes = '';

    syswrite $sock, $request->{bytes};

    while (!complete($bytes)) {
        sysread $sock, $bytes, 65536, length $bytes
            or die "no answer: $!\n";
    }

    $request->{long} = length $bytes;
    ask($sock, $request);
}


sub cookies {
    my $client = $t->client;
    my %request = (none => [with_cookie($client)],
                   map { ($_ => [with_cookie($client, $token{$_})]) }
                       keys %token);
    my $clock = -8 * $worker - 6;       # clock_getcpuclockid() of Linux

    my $times = in_turn(connected($client), $requests, \%request,
        'time of the worker' => sub { clock_gettime($clock) });

    judge('a cookie', $times, [
        [qw(first last), 'wrong in byte 0 or in byte 31'],
        [qw(first middle), 'wrong in byte 0 or in byte 15'],
        [qw(first again), 'wrong in byte 0, twice', 0],
        [qw(first none), 'wrong, or no cookie', 1],
        [qw(first nobody), 'wrong, or right of no session', 1],
    ]);
}


sub with_cookie {
    my ($client, $token) = @_;

    my @cookie = defined $token
                 ? (Cookie => "$Session::World::cookie=$token") : ();

    return { code => 401, bytes => $client->format('GET', '/private',
        Accept => 'application/json', @cookie) };
}


# So many of each class, whose requests take turns.

sub in_turn {
    my ($sock, $n, $classes, $what, $clock) = @_;
    my (%times, $class, $before);

    learn($sock, $_) for map { @$_ } values %$classes;

    for my $round (0 .. $n) {
        for my $next ($round < $n ? shuffle(keys %$classes) : '') {
            my $now = $clock->();

            push @{ $times{$what}{$class} },
                int 1e9 * ($now - $before) if defined $class;
            last if $next eq '';

            my $list = $classes->{$next};

            ($class, $before) = ($next, $now);
            push @{ $times{'time of the client'}{$class} },
                ask($sock, $list->[rand @$list]);
        }
    }

    return \%times;
}


# ------------------------------------------------------------- sign-ins ---


sub passwords {
    my $client = prepared($t);
    my %request = (
        known => attempts($client, 'known', $wrong),
        again => attempts($client, 'known', $wrong),
        disabled => attempts($client, 'disabled', $wrong),
        right => attempts($client, 'disabled', $right),
        nobody => attempts($client, 'nobody', $wrong),
    );

    $client->{csrf} = 'x';
    $request{refused} = attempts($client, 'known', $wrong);
    $_->{code} = 403 for @{ $request{refused} };

    my $times = in_turn(connected($client), $sign_ins, \%request,
                        'time of the event loop' => event_loop());

    judge('a sign-in', $times, [
        [qw(known nobody), 'known or unknown'],
        [qw(known disabled), 'known or disabled'],
        [qw(known right), 'known, or disabled with the right password'],
        [qw(known again), 'known, twice', 0],
        [qw(known refused), 'known, or refused before the hash', 1],
    ]);
}


# Of each login of a kind.

sub attempts {
    my ($client, $kind, $password) = @_;

    return [map { { code => 401, bytes => $client->format('POST', '/sign_in',
        'Content-Type' => 'application/x-www-form-urlencoded',
        Accept => 'text/html', 'X-CSRF-Token' => $client->{csrf},
        body => "login=$_&password=" . $password =~ tr/ /+/r) } }
                @{ $logins{$kind} }];
}


# Seconds on a processor of the first thread of the worker.  schedstat has
# nanoseconds.

sub event_loop {
    my $file = "/proc/$worker/task/$worker/schedstat";

    open my $in, '<', $file or die "$file: $!\n";

    return sub {
        sysseek $in, 0, 0;
        sysread $in, my $line, 100;

        return (split ' ', $line)[0] / 1e9;
    };
}


# -------------------------------------------------------------- results ---


sub text {
    my $text = <<"END";
Classes take turns in random order, $calls calls, $requests requests or
$sign_ins sign-ins of each. Two classes are told apart when |t| of Welch's test
is $Session::Bench::Welch::threshold or more for all measurements, or for those
below any of a hundred percentiles, as dudect does; |t| is the largest, of so
much of the measurements. "Shows" is how far apart the means must be to be told
apart where the slowest tenth is left out.

One pair of each kind is the same twice, one or two differ: they show that the
test can say both.
END

    for my $kind ('a call', 'a cookie', 'a sign-in') {
        $text .= "\n| $kind | by | medians, us | t | of | shows, ns | |\n"
            . "|---|---|---|---|---|---|---|\n"
            . join '', map { line($_) } grep { $_->{kind} eq $kind } @found;
    }

    return $text . <<'END';

A call is `store_token_verify()`, and for the control a loop that ends at the
first wrong byte; its clock has steps of 10 ns or so. A cookie is a request that
is refused with 401, by the clock of a client on the next core of the same
machine, and by the processor time that nginx's worker took until the next
request. A sign-in is one that fails, with the default parameters of
`session_hash`; the event loop is the thread that looks up the login.
END
}


sub line {
    my ($found) = @_;
    my $w = $found->{welch};
    my $control = defined $found->{expected} ? ', control' : '';

    return sprintf "| %s%s | %s | %s, %s | %.2f | %.0f %% | %.2f | %s |\n",
        $found->{title}, $control, $found->{measure},
        map({ sprintf '%.2f', $_ / 1000 } @$w{qw(one other)}),
        @$w{qw(t part shows)},
        told_apart($w) ? 'told apart' : 'not told apart';
}
