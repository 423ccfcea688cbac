package Session::Bench::Generator;

# One turn of load, on the core that the server does not have: wrk for HTTP/1.1
# and h2load for HTTP/2, 32 kept-alive connections with one request at a time
# on each.  Every turn must have got the right answers, and nothing else.
#
# A request is a hash:
#
#   url, method, headers (a list of names and values), version (1 or 2)
#   code, wire (bytes of a whole answer), body (bytes of its body)
#   cookies, law    a file of cookies to draw from (HTTP/1.1 only)
#   about           of an answer as long as `wire` says: 1, where answers are
#                   all alike; more, as a share, where they are about so long

use strict;
use warnings;

use File::Temp ();
use List::Util qw(max);
use POSIX ();
use Session::Bench;

our $connections = 32;
our $core = 1;


# requests, seconds, rate, and p50 and p99 in ms.

sub turn {
    my ($request, $seconds) = @_;

    return ($request->{version} // 1) == 2 ? h2load($request, $seconds)
                                           : wrk($request, $seconds);
}


sub wrk {
    my ($request, $seconds) = @_;
    my @draw = $request->{cookies} ? @$request{qw(cookies law)} : ();
    my $text = run_command('taskset', '-c', $core, 'wrk', '-t1',
        "-c$connections", "-d${seconds}s", '--timeout', '10s',
        map({ ('-H', $_) } lines($request)), '-s', 'bench/wrk.lua',
        $request->{url}, '--', $request->{method}, @draw);
    my $got = fields($text =~ /^(requests=.*)/m ? $1 : '');
    my $n = $got->{requests} or die "$request->{url}: no answers\n$text";

    check($request, $n, $text,
          broken => $got->{broken}, refused => $got->{refused},
          bytes => $got->{bytes}, expected => $request->{wire});

    return { requests => $n, seconds => $got->{us} / 1e6,
             rate => $n * 1e6 / $got->{us},
             p50 => $got->{p50} / 1000, p99 => $got->{p99} / 1000 };
}


sub lines {
    my ($request) = @_;
    my (@lines, @headers) = ();

    @headers = @{ $request->{headers} };
    push @lines, "$headers[0]: $headers[1]" and splice @headers, 0, 2
        while @headers;

    return @lines;
}


# Bodies are compared only: headers are compressed, and differently each time.

sub h2load {
    my ($request, $seconds) = @_;
    my $log = File::Temp->new(TEMPLATE => 'ngx_session-XXXXXXXX', TMPDIR => 1);
    my $text = run_command('taskset', '-c', $core, 'h2load', '-t1',
        "-c$connections", '-m1', "-D$seconds", "--log-file=$log",
        map({ ('-H', $_) } ":method: $request->{method}", lines($request)),
        $request->{url});
    my ($n, $errors, $late) = $text
        =~ /^requests:.* (\d+) done,.* (\d+) errored, (\d+) timeout/m;
    my %codes = reverse $text =~ /(\d+) ([2345]xx)/g;
    my ($bytes) = $text =~ /\((\d+)\) data/;
    my ($used) = $text =~ /^finished in ([\d.]+)s/m;

    die "$request->{url}: no answers\n$text" if !$n || !$used;

    # of an answer that was under way at the end there is a status as well
    check($request, $n, $text, broken => $errors + $late, bytes => $bytes,
          expected => $request->{body},
          refused => max(0, $n - $codes{'2xx'} - $codes{'3xx'}));

    my @took = sort { $a <=> $b } map { (split /\t/)[2] / 1000 } <$log>;

    return { requests => $n, seconds => $used, rate => $n / $used,
             p50 => $took[$#took * 0.5], p99 => $took[$#took * 0.99] };
}


# Answers that were under way at the end are in bytes and not in requests.

sub check {
    my ($request, $n, $text, %got) = @_;
    my $refused = $request->{code} < 400 ? 0 : $n;
    my $more = $got{bytes} - $n * $got{expected};
    my $spare = 2 * $connections * $got{expected}
        + $n * $got{expected} * ($request->{about} // 0);

    die "$request->{url}: $got{broken} requests failed\n$text"
        if $got{broken};
    die "$request->{url}: $got{refused} of $n refused, $refused expected\n"
        . $text if $got{refused} != $refused;
    die "$request->{url}: $got{bytes} bytes are not $n answers of "
        . "$got{expected}\n$text" if abs($more) > $spare;
}


# As tables name them.

sub versions {
    my ($wrk) = `wrk -v 2>&1` =~ /^wrk (?:debian\/)?(\S+)/;
    my ($h2load) = `h2load --version 2>&1` =~ m{nghttp2/(\S+)};

    return join ', ', map { $_->[1] ? "$_->[0] $_->[1]" : () }
        ['wrk', $wrk], ['h2load', $h2load];
}


1;
