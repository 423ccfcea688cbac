# Request headers that want to decide something, or are none: none of them
# opens a door, changes who somebody is, or comes out where it should not.

use strict;
use warnings;

use lib 't/lib';
use JSON::PP ();
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

my $cookie = $Session::World::cookie;
my $t = Session::Flow->new(users => ['alice:editor:Alice', 'bob',
                                     'alice@other:admin']);
my $app = $t->echo;
my $pages = join ' ', map { "location = /$_ { session_page $_; }" }
                          qw(up sign_in sign_out dashboard actor versions);

# 8080 as most are; 8081 behind something that is trusted; 8082 trusts
# somebody else; 8083 takes headers nginx drops, and long ones.

$t->write_file('html/private', 'secret ' x 64);
$t->write_file_expand('nginx.conf', <<"END");
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    session_throttle account=10000r/15m address=10000r/15m;
    root %%TESTDIR%%/html;
    gzip on;
    gzip_min_length 1;
    gzip_types *;

    server {
        listen 127.0.0.1:%%PORT_8080%%;
        session on;
        $pages
        location / { return 200 "\$session_status \$session_user\$host"; }
        location = /private { session_require user; }
        location = /app { session_require user;
                          proxy_pass http://127.0.0.1:@{[ $app->port ]}; }
        location = /vars {
            set \$known "\$session_user|\$session_user_id|\$session_name";
            return 200 "[\$known|\$session_roles|\$session_ref|\$session_age]";
        }
    }

    server {
        listen 127.0.0.1:%%PORT_8080%%;
        server_name other.example;
        session_realm other;
        session on;
        $pages
        location / { return 200 "\$session_status \$session_user other"; }
    }

    server {
        listen 127.0.0.1:%%PORT_8081%%;
        set_real_ip_from 127.0.0.1;
        set_real_ip_from 10.0.0.0/8;
        real_ip_header X-Forwarded-For;
        real_ip_recursive on;
        large_client_header_buffers 4 1m;
        $pages
    }

    server {
        listen 127.0.0.1:%%PORT_8082%%;
        set_real_ip_from 192.0.2.1;
        real_ip_header X-Forwarded-For;
        real_ip_recursive on;
        large_client_header_buffers 4 1m;
        $pages
    }

    server {
        listen 127.0.0.1:%%PORT_8083%%;
        underscores_in_headers on;
        ignore_invalid_headers off;
        session on;
        location / { proxy_pass http://127.0.0.1:@{[ $app->port ]}; }
        location = /private { session_require user; }
    }
}
END
$t->run;

my $alice = $t->session('alice');
my @alice = (Cookie => "$cookie=$alice->{token}");
my $c = $t->client;


# ----------------------------------------------------------------- Host ---

{
    is $c->get('/', @alice, Host => 'who.example')->body,
        'valid alicewho.example', 'a Host nobody has: the default server';
    is $c->get('/', @alice, Host => 'other.example')->body,
        'bad_signature  other', 'that of another server: its realm';

    for my $path (qw(/up /sign_in /sign_in?fresh=1 /sign_out /dashboard /actor
                     /versions /private /app))
    {
        for my $who ([], \@alice) {
            for my $type ('text/html', 'application/json') {
                my $r = $t->client->get($path, @$who, Accept => $type,
                    'Sec-Fetch-Mode' => 'navigate', Host => 'evil.example');
                my $text = $r->raw . $r->body;

                $text =~ s/^Host: .*\n//mg;             # what the app echoes
                $text =~ s/>[^<]*</></g if $type eq 'text/html';

                unlike $text =~ s/.*(.{60}evil\.example)/$1/sr,
                    qr/evil\.example/, "$path, $type: no link is made of Host";
            }
        }
    }
}


# ------------------------------------------------------------ addresses ---

# The address in the line of a failed sign-in, which fail2ban and the throttle
# go by.

sub address {
    my ($number, @lines) = @_;
    my $from = $t->log_size;
    my $client = prepared($t);

    $client->{port} = $t->port($number);
    $client->open;
    $client->send(attempt($client, 'alice', 'wrong', @lines));

    my $r = $client->receive or return 'no answer';

    return $r->code if $r->code != 401;

    $t->wait_log(qr/sign-in failed/, $from);

    my ($found) = slurp($t->log_file, $from)
                  =~ /failed for "alice" from (\S+),/;

    return $found;
}

{
    my @hops = map { '10.' . join '.', $_ >> 12, $_ >> 6 & 63, $_ & 63 }
                   1 .. 10000;
    my $hops = join ', ', @hops;
    my @forwarded = ('X-Forwarded-For' => '127.0.0.2');

    is address(8080, @forwarded), '127.0.0.1', 'X-Forwarded-For of a stranger';
    is address(8080, Forwarded => 'for=127.0.0.2', 'X-Real-IP' => '127.0.0.2',
               'True-Client-IP' => '127.0.0.2', 'Client-IP' => '127.0.0.2',
               'X-Client-IP' => '127.0.0.2', 'CF-Connecting-IP' => '127.0.0.2'),
        '127.0.0.1', 'nor does another header name the client';
    is address(8082, @forwarded), '127.0.0.1', 'of one who is not trusted';
    is address(8081, 'X-Forwarded-For' => '127.0.0.2, 192.0.2.9'), '192.0.2.9',
        'of one who is: the last that is not';
    is address(8081, 'X-Forwarded-For' => 'x, 192.0.2.9, y'), '127.0.0.1',
        'up to what is no address';

    is address(8080, 'X-Forwarded-For' => $hops), 400,
        '10000 hops: more than nginx reads by itself';
    is address(8080, ('X-Forwarded-For' => '10.0.0.1') x 10000), 400,
        'nor in 10000 lines';
    is address(8082, 'X-Forwarded-For' => $hops), '127.0.0.1',
        '10000 hops that are read, of one who is not trusted';

    my $start = cpu();

    is address(8081, 'X-Forwarded-For' => "192.0.2.7, $hops"), '192.0.2.7',
        '10000 hops that are trusted: the one before';
    is address(8081, 'X-Forwarded-For' => "192.0.2.7, 192.0.2.8, $hops"),
        '192.0.2.8', 'and no further';
    cmp_ok cpu() - $start, '<', 2, 'in no time';
}


# ---------------------------------------------- what others are told by ---

for my $proto (['X-Forwarded-Proto' => 'http'], ['X-Forwarded-Ssl' => 'off'],
               ['Forwarded' => 'proto=http'], ['Front-End-Https' => 'off'])
{
    my $r = $t->client->get('/sign_in', Accept => 'text/html', @$proto);

    like $r->header('Set-Cookie'), qr/; Secure/, "$proto->[0]: Secure stays";

    my $new = $t->client;

    $r = sign_in($new, 'bob', $Session::World::password, {}, @$proto);
    is scalar(grep { /; Secure/ } $r->header('Set-Cookie')),
        scalar(my @all = $r->header('Set-Cookie')), 'in all of a sign-in';
    cmp_ok scalar @all, '>=', 3, 'which are three';

    $r = $new->post('/sign_out', {}, @$proto, 'X-CSRF-Token' => 'x',
                    'Sec-Fetch-Site' => 'same-origin');
    like $r->header('Set-Cookie'), qr/=; .*; Secure/, 'and of a sign-out';
}

for my $agent ('kube-probe/1.28', 'ELB-HealthChecker/2.0', 'GoogleHC/1.0',
               'Googlebot/2.1', 'nginx/1.22.1 (health check)', '', '()')
{
    is $c->get('/private', 'User-Agent' => $agent)->code, 401,
        "User-Agent \"$agent\" opens nothing";
}

for my $name (qw(X-HTTP-Method-Override X-HTTP-Method X-Method-Override)) {
    for my $method (qw(DELETE POST PUT)) {
        my $r = $c->get("/sign_out?_method=$method", @alice, $name => $method,
                        'Sec-Fetch-Site' => 'same-origin');

        is $r->code, 200, "$name: $method stays a GET";
        is $r->header('Set-Cookie'), undef, 'which changes nothing';
        is $c->post("/up?_method=GET", '', $name => 'GET')->code, 405,
            'nor is a POST made another';
    }
}

is $c->get('/private', @alice)->code, 200, 'the session is still there';

{
    my @ours = map { ($_ => 'alice') }
        qw(Session Session-User session_user SessionUser X-Session
           X-Session-User Remote-User REMOTE_USER HTTP_SESSION X-Remote-User
           X-Forwarded-User X-Auth-Request-User);

    push @ours, 'Session-Status' => 'valid', 'X-Session-Status' => 'valid',
        'session_status' => 'valid',
        'Authorization' => "Bearer $alice->{token}",
        'X-Session-Token' => $alice->{token},
        'X-Session-Ref' => $alice->{ref}, $cookie => $alice->{token},
        'Cookie2' => "$cookie=$alice->{token}",
        'Set-Cookie' => "$cookie=$alice->{token}";

    is $c->get('/vars', @ours)->body, '[|||||]',
        'headers of our variables\' names fill none';
    is $t->client(number => 8083)->get('/private', @ours)->code, 401,
        'and open nothing';
    is $c->get('/vars', 'X-Session-User' => 'bob', 'Session' => 'bob', @alice)
        ->body =~ s/\|.*//sr, '[alice', 'nor change who it is';
}


# --------------------------------------------- two sides of the same coin ---

{
    my $client = prepared($t);
    my $r = $client->post('/sign_in', { login => 'bob',
        password => $Session::World::password, _csrf => $client->{csrf} });

    is $r->code, 303, 'neither Origin nor Sec-Fetch-Site: the token decides';
    is $t->client->post('/dashboard', { action => 'end_others',
            _csrf => $alice->{csrf} }, @alice)->code,
        303, 'on the dashboard too';
    is $t->client->post('/sign_out', { _csrf => 'x' }, @alice)->code, 403,
        'a wrong one does not';
}


# ----------------------------------------------------- bytes in an agent ---

{
    my @agents = ("a\x01b\x1b[2J\x7f\"\\\x{e2}\x{80}\x{a8}'</script>{{x}}%n",
                  "\xff\xfe", 'x' x 5000);

    for my $agent (@agents) {
        my $client = $t->client(headers => ['User-Agent' => $agent]);

        is sign_in($client, 'bob')->code, 303, 'an agent of odd bytes';
        is sign_in($t->client(headers => ['User-Agent' => $agent]), 'bob',
                   'wrong')->code, 401, 'and a failure';

        my $page = $client->get('/dashboard', Accept => 'text/html')->body;
        my $json = $client->get('/dashboard', Accept => 'application/json');

        unlike $page, qr/\[2J|\{\{x|<\/script>\{/, 'is not on the page';
        ok eval { JSON::PP->new->utf8->decode($json->body) }, 'nor in JSON'
            or diag $@, $json->body;
    }

    # the two are copied together with what was before them
    ok $t->wait_for(sub {
        (grep { /"type":2,/ } dump_lines()) && 6 <= grep { /"type":1,/ }
                                                   dump_lines();
    }), 'signing in and failing are on record';

    my @wrong = grep { !eval { JSON::PP->new->utf8->decode($_) }
                       || /[\x00-\x09\x0b-\x1f\x7f]/ } dump_lines();

    is "@wrong", '', 'one line of JSON each';
    ok((grep { /"agent":"a\?b\?\[2J\?\\"\\\\/ } dump_lines()),
       'with a question mark for what cannot stand in it');

    for my $agent ("a\0b", "a\rb", "a\r b") {
        my $client = $t->client;

        $client->open;
        $client->send($client->format('GET', '/up', 'User-Agent' => $agent));
        is $client->receive->code, 400,
            'refused by nginx: '
            . $agent =~ s/([\0-\x1f])/sprintf '\\x%02x', ord $1/ger;
    }

    # a line feed ends the line, whatever is before it
    is $c->get('/', 'User-Agent' => "a\nCookie: $cookie=junk\n"
                                    . 'X: b')->body,
        'malformed localhost', 'a bare line feed makes a header of its own';
}

sub dump_lines { return split /\n/, scalar $t->sessionctl('dump') }


# ------------------------------------------------------------------ Range ---

{
    my @ranges = ('bytes=0-', 'bytes=0-0', 'bytes=-1',
        'bytes=0-18446744073709551615', 'bytes=-18446744073709551615',
        'bytes=-9223372036854775808', 'bytes=9223372036854775807-',
        'bytes=-9223372036854775807,-9223372036854775807',
        'bytes=0-,' . join(',', map { "$_-" } 1 .. 999), 'bytes=5-1',
        'bytes=99999999999999999999-', 'bytes=', 'x=0-1');

    for my $range (@ranges) {
        my $name = length $range > 60 ? 'a thousand ranges' : $range;

        for my $path (qw(/up /sign_in /sign_out /dashboard /actor /versions)) {
            my $full = $c->get($path, @alice, Accept => 'text/html');
            my $r = $c->get($path, @alice, Accept => 'text/html',
                            Range => $range);

            is join(' ', $r->code, $r->header('Content-Range') // '',
                    length $r->body),
                join(' ', $full->code, '', length $full->body),
                "$path, $name: all of it";
        }

        my $r = $c->get('/private', Range => $range);

        is $r->code, 401, "a protected file, $name: refused";
        unlike $r->body, qr/secret/, 'no byte of it';

        $r = $c->get('/private', @alice, Range => $range);
        like $r->code, qr/\A(?:200|206|416)\z/, 'to others as nginx has it';
        cmp_ok length $r->body, '<=', 448 + 200, 'and no more than there is'
            if $name !~ /thousand/;
    }
}


# -------------------------------------------------------- Accept-Encoding ---

{
    my $bomb = join ', ', ('gzip;q=1.0', 'br', 'deflate', '*') x 150;

    for my $encoding ('gzip', 'GZIP', 'gzip;q=0', '*', $bomb, ',' x 4000,
                      'gzip' x 1000)
    {
        for my $path (qw(/sign_in /sign_in?fresh=1 /sign_out /dashboard
                         /actor))
        {
            for my $type ('text/html', 'application/json') {
                my $r = $c->get($path, @alice, Accept => $type,
                                'Accept-Encoding' => $encoding);

                is $r->header('Content-Encoding'), undef,
                    "$path, $type, " . substr($encoding, 0, 12)
                    . ': not compressed';
            }
        }
    }

    is $c->get('/private', @alice, 'Accept-Encoding' => 'gzip')
        ->header('Content-Encoding'), 'gzip', 'where gzip is on for others';
}


# --------------------------------------------------- lines that are none ---

{
    my @lines = ('X-Session-User', 'X_Session_User', 'X-Session-User ',
                 'X-Session-User: ', 'x-session-user:carol', ':', ': carol',
                 'X-Session-User : carol', ' X-Session-User: carol',
                 "X-Session-User\t: carol", "X-Session-User:\tcarol",
                 "X: a\r\n X-Session-User: carol",
                 "X: a\r\n\tX-Session-User: carol", '(X-Session-User): carol',
                 "X-Session-\x{e9}User: carol", "X-Session-Us\0er: carol",
                 '=: x', 'X-Session-User=carol');
    my $seen = 0;

    for my $line (@lines) {
        for my $number (8080, 8083) {
            my ($said, $code) = raw($number, "GET /app HTTP/1.1\r\n"
                . "Host: a\r\nCookie: $cookie=$alice->{token}\r\n$line\r\n"
                . "Connection: close\r\n\r\n");
            my $name = $line =~ s/([^\x21-\x7e])/sprintf '\\x%02x', ord $1/ger;

            like $code, qr/\A(?:200|400)\z/, "\"$name\": refused or not heard";
            unlike $said, qr/carol/, 'the app does not hear it'
                if $name !~ /\AX:|\A\(|xe9|=carol\z/;
            $seen += () = $said =~ /^X-Session-User: alice$/mg;
            is scalar(() = $said =~ /^X[-_.]Session[-_.]User:(?! alice$)/mig),
                0, 'in no spelling' if $code == 200;
        }
    }

    cmp_ok $seen, '>', 6, 'it hears who it is' or diag $seen;

    # a name alone is that header without a value

    is((raw(8080, "GET / HTTP/1.1\r\nHost: a\r\nCookie\r\n"
            . "Connection: close\r\n\r\n"))[0], 'none a',
       'Cookie without a colon');
    is((raw(8080, "GET / HTTP/1.1\r\nHost: a\r\n"
            . "Cookie $cookie=$alice->{token}\r\n"
            . "Connection: close\r\n\r\n"))[1], 400,
       'Cookie and a space');
    is((raw(8080, "POST /sign_out HTTP/1.1\r\nHost: a\r\n"
            . "Cookie: $cookie=$alice->{token}\r\nSec-Fetch-Site\r\n"
            . "Origin: http://a\r\nContent-Length: 0\r\n"
            . "Connection: close\r\n\r\n"))[1], 403,
       'Sec-Fetch-Site without a colon is not same-origin');
    is((raw(8080, "GET / HTTP/1.1\r\nHost\r\nConnection: close\r\n\r\n"))[1],
       400, 'Host without a colon');
}

$t->done;


# What comes back for these bytes, and its status.

sub raw {
    my ($number, $bytes) = @_;
    my $client = $t->client(number => $number);

    $client->open;
    $client->send($bytes);

    my $r = $client->receive or return ('', 'none');

    return ($r->body, $r->code);
}


# Seconds of processor time that the worker has used.

sub cpu {
    my ($worker) = $t->workers;
    my @field = split ' ', slurp("/proc/$worker/stat") =~ s/.*\)//sr;

    return ($field[11] + $field[12]) / 100;
}
