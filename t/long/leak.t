# A hundred thousand requests of each kind on one connection to one worker, as
# many as TEST_NGINX_LEAKS says: what the worker has allocated is the same
# before and after, and so are its descriptors.  Those who sign in and out are
# sixteen at a time, their hashes cost nothing (t/tools/cheap_hash.c), and their
# store is in memory where there is room, so that there can be as many of them.
#
# nginx itself keeps a link in the pool of a connection now and then, for a
# header that is large or that begins in one buffer and ends in the next.  How
# often depends on the bytes of the requests alone, so a second nginx, without
# the module, gets the same ones: what it grows by is not ours.

use strict;
use warnings;

use lib 't/lib';
use List::Util qw(min);
use Session::Flow;
use Session::SignIn;
use Session::Usage qw(memory private_dirty descriptors sanitized);
use Test::More;
use Time::HiRes qw(time);

# ASan puts what is freed aside, so that memory grows without a leak.

plan sanitized() ? (skip_all => 'sanitizers keep what is freed') : 'no_plan';

my $count = $ENV{TEST_NGINX_LEAKS} // 100000;

# that go out in one piece
my $batch = 50;

# The least that malloc() takes is 32 bytes, so a block in thirty requests
# shows; whatever stays in the pool of the connection, which nginx keeps for as
# long as there are requests, shows as well.  The heap grows by 132 kilobytes at
# a time, and how it is cut up varies.
my $slope = 1;
my $noise = 192 << 10;

# A commit has pages of its own, as many as the sign-ins of its batch want, and
# each thread that has had one keeps some of them.
my $commits = 512 << 10;

# Browsers that sign in and out, and what the store keeps of one time: a record,
# two rows of the feed and two events.
my $browsers = 16;
my $kept = 4096;

my $plain = Session::Flow->new(bare => 'nginx', level => 'warn');
my $upstream = $plain->port(8081);

my $limits = <<"HTTP";
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    upstream back {
        server 127.0.0.1:$upstream;
        keepalive 8;
        keepalive_requests 1000000000;
        keepalive_timeout 1h;
    }
HTTP

$plain->write_file('html/private', "secret\n");
$plain->write_file_expand('nginx.conf', <<"END");
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    $limits
    server {
        listen 127.0.0.1:%%PORT_8081%%;
        location / { return 200 "user \$http_x_session_user\\n"; }
    }
    server {
        listen 127.0.0.1:%%PORT_8080%%;
        root %%TESTDIR%%/html;
        location = /up { return 200 "ok\\n"; }
        location = /sign_in { return 200 "a form\\n"; }
        location = /dashboard { return 200 "a page\\n"; }
        location = /private { }
        location = /refused { return 401; }
        location = /sent_on { return 302 /sign_in; }
        location = /proxy { proxy_pass http://back; }
    }
}
END
$plain->run;

my $cheap = compiled($plain, 'cheap_hash');
my $t = in_memory();
my $cookie = $Session::World::cookie;

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    http => <<"HTTP", server => <<"SERVER"));
    $limits
    session_hash memory=8m passes=5 concurrent=2 queue=64 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
HTTP
    location = /dashboard { session_page dashboard; }
    location = /proxy {
        session_require user;
        proxy_pass http://back;
        proxy_set_header Connection "";
        proxy_set_header X-Session-User \$session_user;
    }
SERVER

{
    local $ENV{TEST_NGINX_LD_PRELOAD} = join ':',
        grep { defined && length } $ENV{TEST_NGINX_LD_PRELOAD}, $cheap;

    $t->run;
}

my $token = $t->session('alice')->{token};
my @us = (Cookie => "$cookie=$token");
my @json = (Accept => 'application/json');

# Cookies of each shape: no token, one of nobody, one cut short, many.

my @junk = map { [Cookie => $_] } (
    "$cookie=x", "$cookie=" . substr($token, 0, -1), "$cookie=;",
    "$cookie=" . Session::World::unknown($t->world)->{token},
    "$cookie=" . ('A' x 3000),
    join('; ', map { "a$_=b" } 1 .. 200), "=; ;;$cookie", "\x80\xff=\x01x");

# name, code, path for the nginx without us, requests

my @kinds = (
    ['up', 200, '/up', ['/up']],
    ['the form', 200, '/sign_in', ['/sign_in', Accept => 'text/html']],
    ['dashboard', 200, '/dashboard', ['/dashboard', @us,
                                      Accept => 'text/html']],
    ['a protected file', 200, '/private', ['/private', @us]],
    ['proxied', 200, '/proxy', ['/proxy', @us]],
    ['refused', 401, '/refused', ['/private', @json]],
    ['sent to sign in', 302, '/sent_on', ['/private', Accept => 'text/html']],
    ['junk cookies', qr/\A40[01]\z/, '/refused',
     map { ['/private', @$_, @json] } @junk],
);

# all of them before anything is measured: what is made once is made

my $c = $t->client;
my $there = $plain->client;

$_->open for $c, $there;

for (@kinds) {
    my ($name, $code, $path, @requests) = @$_;

    is join("\n", ask($c, 500, $code, @requests),
            ask($there, 500, $code, elsewhere($path, @requests))), '',
        "$name: answered by both";
}

my @browsers = map { $t->client } 1 .. $browsers;
my @forms = map { attempts($_) } @browsers;

$_->open for @browsers;

# each thread of the pool has a turn
is join("\n", sign_in_and_out(500)), '', 'sign-ins before they count';

my ($worker) = $t->workers;
my ($other) = $plain->workers;
my $descriptors = descriptors($worker);

for (@kinds) {
    my ($name, $code, $path, @requests) = @$_;
    my ($control, @wrong) = growth($other, $count, sub {
        ask($there, $_[0], $code, elsewhere($path, @requests)) });

    is join("\n", @wrong), '', "$name: $count elsewhere";
    grows($name, $noise, $control,
          sub { ask($c, $_[0], $code, @requests) });
}

grows('sign-in and sign-out', $commits, 0, \&sign_in_and_out);

is descriptors($worker), $descriptors, 'as many descriptors as before';
$_->close for $c, $there, @browsers;

$plain->done;
$t->done;


# A store in memory commits at once; there must be room for what it keeps.

sub in_memory {
    my ($free) = `df --output=avail -B1 /dev/shm 2> /dev/null` =~ /(\d+)\s*\z/;

    local $ENV{LD_PRELOAD} = $cheap;
    local $ENV{TMPDIR} = $ENV{TMPDIR};

    $ENV{TMPDIR} = '/dev/shm'
        if -w '/dev/shm' && defined $free && $free > $kept * $count + (1 << 30);

    return Session::Flow->new(users => ['alice', 'bob'], level => 'warn');
}


# The same request for a path that is as long.

sub elsewhere {
    my ($path, @requests) = @_;

    return map { my (undef, @headers) = @$_; [$path, @headers] } @requests;
}


# Bytes, then what was wrong.  A tenth of the requests warms up.

sub growth {
    my ($pid, $n, $do) = @_;
    my @wrong = $do->(int $n / 10);
    my $before = memory($pid);

    push @wrong, $do->($n);
    $#wrong = 9 if @wrong > 10;

    return memory($pid) - $before, @wrong;
}


sub grows {
    my ($what, $noise, $control, $do) = @_;
    my $dirty = private_dirty($worker);
    my $start = time;
    my ($grown, @wrong) = growth($worker, $count, $do);

    is join("\n", @wrong), '', "$what: $count are answered rightly";
    cmp_ok $grown - $control, '<=', $slope * $count + $noise,
        'and leave no memory behind';
    diag sprintf '%s: %d in %d s, %+d KiB, elsewhere %+d KiB: %+.2f bytes '
        . 'each; private and written %+d KiB', $what, $count, time - $start,
        $grown / 1024, $control / 1024, ($grown - $control) / $count,
        (private_dirty($worker) - $dirty) / 1024;
}


# So many of them, many in one piece: what was wrong.

sub ask {
    my ($c, $n, $code, @requests) = @_;
    my @bytes = map { $c->format('GET', @$_) } @requests;

    $code = qr/\A$code\z/ if !ref $code;

    for (my $done = 0; $done < $n; $done += $batch) {
        my $many = min($batch, $n - $done);
        my $piece = join '', map { $bytes[($done + $_) % @bytes] }
                                 0 .. $many - 1;

        return 'the connection is closed' if !$c->send($piece);

        my $wrong = receive($c, $many, $code);

        return $wrong if $wrong ne '';
    }

    return;
}


# Not with $c->receive, which keeps all cookies.  '' or what was wrong with one
# of so many answers; the last one's head for those who want it.

sub receive {
    my ($c, $n, $code, $last) = @_;
    my $at = 0;

    while ($n) {
        my $end = index $c->{in}, "\r\n\r\n", $at;

        if ($end >= 0) {
            my $head = substr $c->{in}, $at, $end - $at;
            my ($got) = $head =~ m{\AHTTP/1\.1 (\d{3}) };
            my ($long) = $head =~ /^Content-Length: (\d+)/m;

            return "answered \"$head\""
                if !defined $long || $got !~ $code;

            if (length $c->{in} >= $end + 4 + $long) {
                $$last = $head if $last;
                $at = $end + 4 + $long;
                $n--;
                next;
            }
        }

        substr $c->{in}, 0, $at, '';
        $at = 0;

        my $more = Session::Wire::read_some($c->{sock}, \$c->{in}, 10);

        return 'no answer after "' . substr($c->{in}, 0, 200) . '"'
            if !$more || $more < 0;
    }

    substr $c->{in}, 0, $at, '';

    return '';
}


# What a browser sends to sign in.

sub attempts {
    my ($browser) = @_;

    return $browser->format('POST', '/sign_in', @json,
        'Content-Type' => 'application/x-www-form-urlencoded',
        'Sec-Fetch-Site' => 'same-origin',
        body => Session::Client::encode_form(
            { login => 'bob', password => $Session::World::password }));
}


# So many times, all browsers at once: what was wrong.

sub sign_in_and_out {
    my ($n) = @_;

    for (my $done = 0; $done < $n; $done += @browsers) {
        my @now = 0 .. min($#browsers, $n - $done - 1);

        $browsers[$_]->send($forms[$_]) or return 'closed' for @now;

        for (@now) {
            my $wrong = signed_in($browsers[$_]);

            return $wrong if $wrong ne '';
        }

        for (@now) {
            my $wrong = receive($browsers[$_], 1, qr/\A200\z/);

            return "sign-out: $wrong" if $wrong ne '';
        }
    }

    return;
}


# Takes the answer to a sign-in and sends the sign-out: '' or what was wrong.

sub signed_in {
    my ($browser) = @_;
    my $head = '';
    my $wrong = receive($browser, 1, qr/\A200\z/, \$head);

    return "sign-in: $wrong" if $wrong ne '';

    $head =~ /^Set-Cookie: \Q$cookie\E=([^;]{72});/m
        or return "sign-in: no cookie in \"$head\"";

    $browser->send($browser->format('DELETE', '/sign_out', @json,
        'Sec-Fetch-Site' => 'same-origin', Cookie => "$cookie=$1"))
        or return 'closed';

    return '';
}
