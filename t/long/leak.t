# A hundred thousand requests of each kind on one connection to one worker, as
# many as TEST_NGINX_LEAKS says: what the worker has allocated is the same
# before and after, and so are its descriptors.

use strict;
use warnings;

use lib 't/lib';
use List::Util qw(max);
use Session::Flow;
use Session::SignIn;
use Session::Usage qw(memory private_dirty descriptors sanitized);
use Test::More;
use Time::HiRes qw(time);

plan skip_all => 'sanitizers keep what is freed' if sanitized();

my $count = $ENV{TEST_NGINX_LEAKS} // 100000;

# A sign-in takes as long as hundreds of other requests.
my $sign_ins = max(20, int $count / 100);

# The least that malloc() takes is 32 bytes, so a block in eight requests
# shows; whatever stays in the pool of the connection, which nginx keeps for as
# long as there are requests, shows as well.  Pages come four kilobytes at a
# time, and how they are cut up varies.
my $slope = 4;
my $noise = 128 << 10;

# A sign-in and its end are two transactions, a hash and two threads: from one
# of their blocks on it shows.
my $sign_in_slope = 256;

my $t = Session::Flow->new(users => ['alice', 'bob'], level => 'warn');
my $cookie = $Session::World::cookie;

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    http => <<'HTTP', server => <<'SERVER'));
    access_log off;
    client_header_buffer_size 8k;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    session_hash memory=8m passes=5 concurrent=2 queue=8 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
    server {
        listen 127.0.0.1:%%PORT_8081%%;
        location / { return 200 "user $http_x_session_user\n"; }
    }
HTTP
    location = /dashboard { session_page dashboard; }
    location = /proxy {
        session_require user;
        proxy_pass http://127.0.0.1:%%PORT_8081%%;
        proxy_set_header X-Session-User $session_user;
    }
SERVER
$t->run;

# Headers fit into the first buffer: for each larger one nginx keeps a link in
# the pool of the connection.

my $token = $t->session('alice')->{token};
my @us = (Cookie => "$cookie=$token");
my @json = (Accept => 'application/json');

# Cookies of each shape: no token, one of nobody, one cut short, many.

my @junk = map { [Cookie => $_] } (
    "$cookie=x", "$cookie=" . substr($token, 0, -1), "$cookie=;",
    "$cookie=" . Session::World::unknown($t->world)->{token},
    "$cookie=" . ('A' x 3000),
    join('; ', map { "a$_=b" } 1 .. 200), "=; ;;$cookie", "\x80\xff=\x01x");

my @kinds = (
    ['up', 200, ['/up']],
    ['the form', 200, ['/sign_in', Accept => 'text/html']],
    ['dashboard', 200, ['/dashboard', @us, Accept => 'text/html']],
    ['a protected file', 200, ['/private', @us]],
    ['proxied', 200, ['/proxy', @us]],
    ['refused', 401, ['/private', @json]],
    ['sent to sign in', 302, ['/private', Accept => 'text/html']],
    ['junk cookies', qr/\A40[01]\z/, map { ['/private', @$_, @json] } @junk],
);

# all of them before anything is measured: what is made once is made

my $c = $t->client;

$c->open;
ask($c, 500, @$_) for @kinds;
sign_in_and_out($c) for 1 .. 20;

my ($worker) = $t->workers;
my $descriptors = descriptors($worker);

for my $kind (@kinds) {
    grows($kind->[0], $count, $slope, sub { ask($c, $_[0], @$kind) });
}

grows('sign-in and sign-out', $sign_ins, $sign_in_slope,
      sub { return grep { $_ } map { sign_in_and_out($c) } 1 .. $_[0] });

is descriptors($worker), $descriptors, 'as many descriptors as before';
$c->close;

$t->done;


# A tenth of the requests warms up; what comes after is measured.

sub grows {
    my ($what, $n, $slope, $do) = @_;
    my @wrong = $do->(int $n / 10);
    my $before = memory($worker);
    my $dirty = private_dirty($worker);
    my $start = time;

    push @wrong, $do->($n);
    $#wrong = 9 if @wrong > 10;

    my $grown = memory($worker) - $before;

    is join("\n", @wrong), '', "$what: $n are answered rightly";
    cmp_ok $grown, '<=', $slope * $n + $noise, 'and leave no memory behind';
    diag sprintf '%s: %d in %d s, %+d KiB: %+.2f bytes each; private and '
        . 'written %+d KiB', $what, $n, time - $start, $grown / 1024,
        $grown / $n, (private_dirty($worker) - $dirty) / 1024;
}


# So many of them, one at a time, for with requests that are pipelined nginx
# keeps a link in the pool of the connection now and then: what was wrong.

sub ask {
    my ($c, $n, $what, $code, @requests) = @_;
    my @bytes = map { $c->format('GET', @$_) } @requests;

    $code = qr/\A$code\z/ if !ref $code;

    for my $i (0 .. $n - 1) {
        return 'the connection is closed' if !$c->send($bytes[$i % @bytes]);

        my $wrong = receive($c, $code);

        return $wrong if $wrong ne '';
    }

    return;
}


# Not with $c->receive: cookies that come are of no use here.  '' or what was
# wrong.

sub receive {
    my ($c, $code) = @_;

    for (;;) {
        my ($r, $rest) = Session::Wire::parse($c->{in});

        if ($r) {
            $c->{in} = $rest;
            return $r->code =~ $code ? '' : 'answered ' . $r->code;
        }

        my $got = Session::Wire::read_some($c->{sock}, \$c->{in}, 10);

        return 'no answer after "' . substr($c->{in}, 0, 200) . '"'
            if !$got || $got < 0;
    }
}


# '' or what was wrong.

sub sign_in_and_out {
    my ($c) = @_;
    my $form = Session::Client::encode_form(
        { login => 'bob', password => $Session::World::password });

    $c->{jar} = {};

    my $r = $c->post('/sign_in', $form, @json,
                     'Sec-Fetch-Site' => 'same-origin');

    return 'sign-in: ' . ($r ? $r->code : 'none') if !$r || $r->code != 200;

    $r = $c->request('DELETE', '/sign_out', @json,
                     'Sec-Fetch-Site' => 'same-origin');

    return 'sign-out: ' . ($r ? $r->code : 'none') if !$r || $r->code != 200;
    return '';
}
