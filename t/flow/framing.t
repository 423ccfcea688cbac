# Requests no browser sends: methods, bodies that are announced and do not
# come, come without being announced, or are two things at once.  Each gets an
# answer, none is taken for another request, and nothing is signed in.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;
use Time::HiRes qw(time);

my $cookie = $Session::World::cookie;
my $t = Session::Flow->new(users => ['alice', 'bob']);
my $app = $t->echo;
my $pages = join ' ', map { "location = /$_ { session_page $_; }" }
                          qw(up sign_in sign_out dashboard actor versions);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', <<"END");
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    session_throttle account=10000r/15m address=10000r/15m;
    session_hash concurrent=1 queue=1;
    root %%TESTDIR%%/html;

    server {
        listen 127.0.0.1:%%PORT_8080%%;
        $pages
        location = /private { session_require user; }
        location = /app { session_require user;
                          proxy_pass http://127.0.0.1:@{[ $app->port ]}; }
        location /public { return 200 "public"; }
    }

    server {
        listen 127.0.0.1:%%PORT_8081%%;
        client_body_timeout 1s;
        lingering_timeout 1s;
        $pages
    }
}
END
$t->run;

my @pages = qw(/up /sign_in /sign_out /dashboard /actor /versions);
my $alice = $t->session('alice');
my @alice = (Cookie => "$cookie=$alice->{token}");
my $form = 'Content-Type: application/x-www-form-urlencoded';
my $body = Session::Client::encode_form(
    { login => 'bob', password => $Session::World::password });
my $length = length $body;
my $head = "Host: localhost\r\nAccept: application/json\r\n"
           . "Sec-Fetch-Site: same-origin\r\n";


# -------------------------------------------------------------- methods ---

# nginx itself answers, one that knows authorities other than one that does not
my $connect = '400|405';

for my $who ([], \@alice) {
    my $as = @$who ? 'alice' : 'nobody';

    for my $path (@pages, '/private', '/app') {
        my $page = grep { $_ eq $path } @pages;

        for my $method (qw(get Get POSTX TRACE CONNECT PATCH PROPFIND GETGET
                           _ A-B), 'X' x 4000)
        {
            my $c = $t->client;
            my $name = substr $method, 0, 9;

            $c->open;
            $c->send($c->format($method, $path, @$who));

            my $r = $c->receive;
            my $right = $method =~ /[a-z]/ ? 400
                      : $method eq 'TRACE' ? 405
                      : $method eq 'CONNECT' ? $connect
                      : $page ? 405 : !@$who ? 401
                      : $path eq '/app' ? 200 : 405;

            # a dashboard that nobody may see answers no method at all
            $right = '401|405' if $path eq '/dashboard' && $right eq '405'
                                  && !@$who;

            like $r->code, qr/\A(?:$right)\z/,
                "$name $path, $as";
            unlike $r->body, qr/secret/, 'and no file';
        }
    }
}

for my $target ('/private', '/app', '/dashboard', '/actor') {
    my $said = all("GET $target\r\n");

    unlike $said, qr/secret|alice|REQUEST|Host:/, "HTTP/0.9 $target: nothing";
}

like codes(all("CONNECT localhost:443 HTTP/1.1\r\n$head\r\n")),
    qr/\A(?:$connect)\z/, 'CONNECT with an authority';
is codes(all("OPTIONS * HTTP/1.1\r\n$head\r\n")), '400', 'OPTIONS *';


# --------------------------------------------------------------- framing ---

my $chunked = sprintf "%x\r\n%s\r\n0\r\n\r\n", $length, $body;
my @framing = (
    ['length and chunked', "Content-Length: $length\r\n"
        . "Transfer-Encoding: chunked", $chunked, 400],
    ['chunked and length', "Transfer-Encoding: chunked\r\n"
        . "Content-Length: 4", $chunked, 400],
    ['two lengths', "Content-Length: $length\r\nContent-Length: 5", $body, 400],
    ['two that agree', "Content-Length: $length\r\nContent-Length: $length",
        $body, 400],
    ['two in one', "Content-Length: $length, $length", $body, 400],
    ['a sign', "Content-Length: +$length", $body, 400],
    ['less than none', 'Content-Length: -1', $body, 400],
    ['hexadecimal', sprintf('Content-Length: 0x%x', $length), $body, 400],
    ['a blank inside', 'Content-Length: 5 1', $body, 400],
    ['no number', 'Content-Length:', $body, 400],
    ['a number beyond all', 'Content-Length: 99999999999999999999', $body, 400],
    ['a blank before the colon', "Content-Length : $length", $body, 400],
    ['xchunked', 'Transfer-Encoding: xchunked', $chunked, 501],
    ['chunked twice in one', 'Transfer-Encoding: chunked, chunked', $chunked,
        501],
    ['gzip, chunked', 'Transfer-Encoding: gzip, chunked', $chunked, 501],
    ['identity', 'Transfer-Encoding: identity', $body, 501],
    ['chunked in two lines', "Transfer-Encoding: chunked\r\n"
        . "Transfer-Encoding: chunked", $chunked, 400],
    ['chunked, then identity', "Transfer-Encoding: chunked\r\n"
        . "Transfer-Encoding: identity", $chunked, 400],
    ['a blank before that colon', 'Transfer-Encoding : chunked', $chunked, 400],
    ['a vertical tab', "Transfer-Encoding: \x0bchunked", $chunked, 501],
    ['chunked', 'Transfer-Encoding: chunked', $chunked, 411],
    ['CHUNKED', 'Transfer-Encoding: CHUNKED', $chunked, 411],

    # newer nginx wants whole line ends there
    ['chunks of line feeds', 'Transfer-Encoding: chunked',
        $chunked =~ s/\r//gr, '400|411'],
    ['chunks of no number', 'Transfer-Encoding: chunked', "x\r\n$chunked", 400],
    ['a chunk beyond all', 'Transfer-Encoding: chunked',
        "ffffffffffffffffff\r\n$chunked", 400],
);

for (@framing) {
    my ($name, $lines, $bytes, $code) = @$_;
    my $said = all("POST /sign_in HTTP/1.1\r\n$head$form\r\n$lines\r\n\r\n"
                   . $bytes);

    like codes($said), qr/\A(?:$code)\b/, "$name: $code";
    unlike codes($said), qr/[23]\d\d/, 'and nobody is signed in';
}

like codes(all("POST /sign_in HTTP/1.0\r\n$head$form\r\n"
               . "Transfer-Encoding: chunked\r\n\r\n$chunked")), qr/\A4\d\d/,
    'chunked in HTTP/1.0';
is live('bob'), 0, 'no session';


# A body that is not read is not the next request.  What stands in it would be
# seen in the log; what stands behind it is answered, or not at all.

{
    my $inside = "GET /public/inside HTTP/1.1\r\nHost: a\r\n\r\n";
    my $size = length $inside;
    my $after = "GET /public/after HTTP/1.1\r\nHost: a\r\n"
                . "Connection: close\r\n\r\n";
    my @bodies = (
        ["Content-Length: $size", $inside],
        ['Transfer-Encoding: chunked',
         sprintf "%x\r\n%s\r\n0\r\n\r\n", $size, $inside],
    );

    for my $path (@pages, '/private', '/app') {
        for my $method (qw(GET HEAD POST PUT DELETE)) {
            for (@bodies) {
                my ($line, $bytes) = @$_;
                my $said = all("$method $path HTTP/1.1\r\nHost: a\r\n"
                               . "$line\r\n\r\n$bytes$after");

                unlike $said, qr/\A\z/, "$method $path, $line: an answer";
                cmp_ok scalar(() = $said =~ m{^HTTP/1\.1 \d}mg), '<=', 2,
                    'and one more at most';
            }
        }
    }

    my $log = slurp($t->dir . '/logs/access.log');

    unlike $log, qr{/public/inside}, 'no body was taken for a request';
    like $log, qr{/public/after}, 'what is behind it is answered';
}


# ------------------------------------------------------- 100-continue ---

for (["POST /sign_in", '', 400],
     ["POST /sign_in", "Content-Length: 0\r\n", 400],
     ["GET /private", '', 401], ["GET /private", "Content-Length: 9\r\n", 401],
     ["PUT /private", "Content-Length: 999999\r\n", 401],
     ["PUT /private", "Content-Length: 9999999\r\n", 413],
     ["PUT /private", "Transfer-Encoding: chunked\r\n", 401],
     ["GET /up", "Content-Length: 9\r\n", 200],
     ["PUT /up", "Content-Length: 9\r\n", 405],
     ["POST /sign_in", "Content-Length: 99999\r\n$form\r\n", 413],
     ["POST /sign_in", "Content-Length: 9\r\nContent-Type: a/b\r\n", 415],
     ["POST /sign_in", "Transfer-Encoding: chunked\r\n$form\r\n", 411],
     ["GET /up", '', 200])
{
    my ($request, $lines, $code) = @$_;
    my $c = $t->client;

    $c->open;
    $c->send("$request HTTP/1.1\r\n${head}Expect: 100-continue\r\n"
             . "$lines\r\n");
    # 100 is none yet
    ok $t->wait_for(sub {
        $c->more(0);
        $c->{in} =~ m{^HTTP/1\.1 [2-5]\d\d .*?\r\n\r\n}ms;
    }, 10), "$request, $code: an answer, and no wait for a body";

    # nginx's reading of a body that is none says so before it looks
    like $c->{in}, qr{\A(?:HTTP/1\.1\ 100\ .*\r\n\r\n)?HTTP/1\.1\ $code\ }x,
        'the right one' and next if $code == 400;
    like $c->{in}, qr{\AHTTP/1\.1 $code }, 'which asks for none';
}

{
    my $c = $t->client;
    my $request = "POST /sign_in HTTP/1.1\r\n$head$form\r\n"
                  . "Content-Length: $length\r\nExpect: 100-continue\r\n\r\n";

    $c->open;
    $c->send($request);
    ok $t->wait_for(sub { $c->more(0); $c->{in} =~ /\r\n\r\n/ }, 10),
        'a form that would be read';
    like $c->{in}, qr{\AHTTP/1\.1 100 }, 'is asked for';
    $c->{in} = '';
    $c->send($body);
    is $c->receive->code, 200, 'and read';

    is scalar(() = all("POST /sign_in HTTP/1.1\r\n${head}Expect: x\r\n"
                       . "Content-Length: 0\r\nConnection: close\r\n\r\n")
              =~ /^HTTP/mg), 1, 'another expectation: one answer';
    $t->sessionctl('session', 'revoke', '--user', 'bob');
}


# --------------------------------------------------- what does not come ---

{
    my @stalled;

    for my $n (1 .. 20) {
        my $c = $t->client(number => 8081);

        $c->open;
        $c->send("POST /sign_in HTTP/1.1\r\n$head$form\r\n"
                 . 'Content-Length: ' . ($n % 2 ? $length + 1 : 16000)
                 . "\r\n\r\n" . ($n % 3 ? $body : ''));
        push @stalled, $c;
    }

    is sign_in($t->client(number => 8081), 'bob')->code, 303,
        'bodies that do not end: the next one is served at once';

    my $start = time;

    for my $c (@stalled) {
        my $said = $c->drain(20);

        ok defined $said, 'it is ended';
        like codes($said), qr/\A(?:408)?\z/, 'after a while';
    }

    cmp_ok time - $start, '<', 15, 'which is not long';
    is live('bob'), 1, 'they have signed nobody in';
    is sign_in($t->client(number => 8081), 'bob')->code, 303,
        'and hold no place';
    unlike slurp($t->log_file), qr/sign-in (?:failed|throttled)/,
        'nor are they counted';
}


# ------------------------------------------------------------- too much ---

{
    my $fields = join '&', map { "f$_=1" } 1 .. 100_000;
    my $before = rss();
    my $start = cpu();

    for my $text ($fields, '&' x (1 << 20), '_csrf=&' x 100_000,
                  'password=' . 'x' x (1 << 20))
    {
        is codes(all("POST /sign_in HTTP/1.1\r\n$head$form\r\nContent-Length: "
                     . length($text) . "\r\nConnection: close\r\n\r\n$text")),
            413, 'a hundred thousand fields, or a megabyte of one';
    }

    # all of them with a login and a password that are right

    for my $text (substr("$body&$fields", 0, 16384), $body . '&a' x 8000,
                  $body . '&=' x 8000, $body . '&f=1' x 63)
    {
        is $t->client->post('/sign_in', $text, 'Sec-Fetch-Site' =>
                            'same-origin')->code, 400, 'as many as 16 KiB hold';
    }

    is $t->client->post('/sign_in', '&' x 16384 , 'Sec-Fetch-Site' =>
                        'same-origin')->code, 400, 'or of none';

    my $extension = '1;' . 'x=y;' x (1 << 20) . "\r\na\r\n0\r\n\r\n";

    for my $path ('/sign_in', '/private', '/up') {
        my $said = all("POST $path HTTP/1.1\r\n$head$form\r\n"
                       . "Transfer-Encoding: chunked\r\n"
                       . "Connection: close\r\n\r\n$extension");

        like codes($said), qr/\A4\d\d\z/, "$path: 4 MiB of a chunk's extension";
    }

    for my $size (1, 2) {
        my $flood = "1;x\r\na\r\n" x 200_000 . "0\r\n\r\n";

        like codes(all("POST /sign_in HTTP/1.1\r\n$head$form\r\n"
                       . "Transfer-Encoding: chunked\r\n"
                       . "Connection: close\r\n\r\n$flood")), qr/\A4\d\d\z/,
            'and one in each of many';
    }

    cmp_ok cpu() - $start, '<', 3, 'in no time';

    # ASan keeps what was freed
    cmp_ok rss() - $before, '<', 4096, 'and memory is not held'
        if !$ENV{TEST_NGINX_LD_PRELOAD};
}

$t->done;


# Everything that comes back for these bytes until the server closes; what has
# come, if it keeps the connection.

sub all {
    my ($bytes) = @_;
    my $c = $t->client;

    $c->open;
    $c->send($bytes);
    $c->finish;

    return $c->drain(20) // fail('the connection is not closed') && '';
}


# Status codes of responses in a row.

sub codes { return join ' ', $_[0] =~ m{^HTTP/1\.1 (\d{3}) }mg }


sub live {
    my ($login) = @_;
    my $n = () = scalar($t->sessionctl('session', 'list', '--user', $login,
                                       '--json')) =~ /"ref"/g;

    return $n;
}


sub rss {
    my ($worker) = $t->workers;

    return slurp("/proc/$worker/status") =~ /^VmRSS:\s*(\d+)/m && $1;
}


# Seconds of processor time that the worker has used.

sub cpu {
    my ($worker) = $t->workers;
    my @field = split ' ', slurp("/proc/$worker/stat") =~ s/.*\)//sr;

    return ($field[11] + $field[12]) / 100;
}
