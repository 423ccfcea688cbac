# The tools of the other suites: they must see what there is, and fail.

use strict;
use warnings;

use lib 't/lib';
use File::Temp ();
use Session::Client ();
use Session::Flow ();
use Session::Log ();
use Session::Wire ();
use Test::More;


# ---------------------------------------------------------- responses ---


sub parse { return Session::Wire::parse(@_) }

my ($r, $rest) = parse("HTTP/1.1 200 OK\r\nA: 1\r\na: 2\r\n"
                       . "Content-Length: 3\r\n\r\nabcHTTP");

is($r->code, 200, 'status');
is($r->header('A'), '1, 2', 'two lines of one header');
is($r->body, 'abc', 'body by length');
is($rest, 'HTTP', 'what is behind it');

is(parse("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"), undef,
   'incomplete by length');
is(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab"),
   undef, 'incomplete chunk');

($r) = parse("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", eof => 1);
like($r->error, qr/truncated/, 'cut short by length');

($r, $rest) = parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    . "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nX");
is($r->body . $rest, 'abcdeX', 'chunks');

($r) = parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd",
             eof => 1);
ok($r->error, 'a chunk without end');

($r, $rest) = parse("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nHTTP",
                    head => 1);
is($r->body . $rest, 'HTTP', 'HEAD has no body');

($r) = parse("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n");
is($r->code, 204, '100 is passed over');

($r) = parse("nonsense", eof => 1);
ok($r->error, 'not HTTP');


# -------------------------------------------------------------- pages ---


my $page = bless { body => <<'END' }, 'Session::Wire::Response';
<form action="/other" method="post"><input name="q"></form>
<form method="post" action="/in?a=1&amp;b=2">
  <input type="hidden" name="_csrf" value="to&quot;ken">
  <input name=login><input type=password name=password>
</form>
END

my $form = Session::Client::find_form($page, { login => 1, password => 1 });

is($form->{action}, '/in?a=1&b=2', 'the form with the fields');
is($form->{hidden}{_csrf}, 'to"ken', 'its hidden field');
is(Session::Client::find_form($page, { nosuch => 1 }), undef, 'no such form');
is(Session::Client::encode_form({ a => 'x y&', b => "\xc3\xa9" }),
   'a=x%20y%26&b=%C3%A9', 'form encoding');

my $browser = Session::Client->new(port => 1);

$browser->learn((parse("HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/; Secure\r\n"
                       . "Set-Cookie: b=2\r\nContent-Length: 0\r\n\r\n"))[0]);
is($browser->cookies, 'a=1; b=2', 'cookies are kept');
$browser->learn((parse("HTTP/1.1 200 OK\r\nSet-Cookie: a=; Max-Age=0\r\n"
                       . "Content-Length: 0\r\n\r\n"))[0]);
is($browser->cookies, 'b=2', 'and expired');


# --------------------------------------------------------------- logs ---


my $log = "1 [alert] 1#1: worker process 7 exited on signal 11\n"
          . "2 [error] x\n3 [crit] store is down\n"
          . "==1==ERROR: AddressSanitizer\n";

is(scalar(Session::Log::alarming($log, [])), 3, 'alarming lines');
is(scalar(Session::Log::alarming($log, ['[crit]', qr/alert/])), 2,
   'a crash and a sanitizer are never excused');


# --------------------------------------------- suites that have to fail ---


sub run_suite {
    my ($blocks, $env) = @_;
    my $file = File::Temp->new(SUFFIX => '.t');

    print $file "use Test::Nginx::Socket;\nplan tests => "
                . ($env->{PLAN} // 1) . ";\nrun_tests();\n__DATA__\n\n$blocks";
    close $file;

    local @ENV{keys %$env} = values %$env;
    local $ENV{PERL5LIB} = 't/lib';
    local $ENV{TEST_NGINX_LOG_PATIENCE} = 0.1;
    delete local @ENV{qw(HARNESS_ACTIVE TEST_NGINX_UPSTREAM TEST_NGINX_USE_HUP
                         TEST_NGINX_LD_PRELOAD TEST_NGINX_SERVER_PORT
                         TEST_NGINX_SERVER_ROOT TEST_NGINX_HTML_DIR)};

    my $out = `$^X $file 2>&1`;

    return $? >> 8, $out;
}

my $config = "--- config\nlocation /t { return 200 ok; }\n"
             . "--- request\nGET /t\n";
my ($code, $out) = run_suite("=== fine\n$config");

is($code, 0, 'a suite that passes') or diag($out);

for (['a wrong body', "=== x\n$config--- response_body\nno\n", 2, 'got:'],
     ['a wrong status', "=== x\n$config--- error_code: 404\n", 1, '404'],
     ['an unknown section', "=== x\n$config--- reponse_body\nok\n", 1,
      'unknown section "reponse_body"'],
     ['sections of which one would be ignored',
      "=== x\n$config--- response_body\nok\n--- response_body_like: ok\n", 1,
      'do not go together'],
     ['a log line that is missing', "=== x\n$config--- error_log: nonesuch\n",
      2, 'nonesuch'],
     ['a configuration that is accepted', "=== x\n$config--- must_die\n", 1,
      'die as expected'],
     ['a configuration that is refused',
      "=== x\n--- config\nnonesuch;\n--- request\nGET /\n", 1,
      'nginx did not start'],
     ['a crash', "=== x\n$config--- init\nkill SEGV => `cat "
      . '$ENV{TEST_NGINX_SERVER_ROOT}/logs/nginx.pid`;' . "\n", 1,
      'died of signal 11'],
     ['too few tests', "=== x\n$config", 2, 'planned 2'])
{
    my ($what, $blocks, $plan, $words) = @$_;

    ($code, $out) = run_suite($blocks, { PLAN => $plan });

    ok($code != 0, "the suite fails: $what") or diag($out);
    like($out, qr/\Q$words\E/, "and says why: $what");
}


# ------------------------------------------------------ nginx in flows ---


my $t = Session::Flow->new(workers => 2, bare => 'nginx');
my $app = $t->echo;

sub configure {
    my ($word) = @_;

    $t->write_file_expand('nginx.conf', <<"END");
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    server {
        listen 127.0.0.1:%%PORT_8080%%;
        location /word { return 200 $word; }
        location /app { proxy_pass http://127.0.0.1:@{[ $app->port ]}; }
        location /scgi {
            scgi_param WORD $word;
            scgi_pass 127.0.0.1:@{[ $t->{scgi} //= $t->echo('scgi')->port ]};
        }
        location /uwsgi {
            uwsgi_param WORD $word;
            uwsgi_param CONTENT_LENGTH \$content_length;
            uwsgi_pass 127.0.0.1:@{[ $t->{uwsgi} //= $t->echo('uwsgi')->port ]};
        }
        location /fastcgi {
            fastcgi_param WORD $word;
            fastcgi_param CONTENT_LENGTH \$content_length;
            fastcgi_pass 127.0.0.1:@{[ $t->{fcgi} //=
                                       $t->echo('fastcgi')->port ]};
        }
    }
}
END
}

configure('first');
$t->run;

my $c = $t->client;

is($c->get('/word')->body, 'first', 'a request');
is($c->get('/word')->body, 'first', 'another on the same connection');
ok(Session::Wire::wait_until(sub { $t->workers == 2 }, 30), 'two workers');

like($c->get('/app', 'X-Foo' => 'bar')->body, qr/^X-Foo: bar$/m,
     'the back end echoes headers');
like($c->post('/app', { a => 1 })->body, qr/\n\na=1\z/, 'and the body');
is($c->get('/app', 'X-Echo-Status' => 404, 'X-Echo-Header' => 'X-A: b',
           'X-Echo-Body' => 'hi')->header('X-A'), 'b', 'answers as asked');

for (qw(scgi uwsgi fastcgi)) {
    like($c->post("/$_", { a => 1 })->body, qr/^WORD: first\n(?:.*\n)*\na=1\z/m,
         "$_ parameters and body");
}

$c->open;
$c->send("GET /word HTTP/1.1\r\nHo");
is($c->receive(timeout => 0.1), undef, 'no answer to half a request');
$c->send("st: x\r\n\r\n");
is($c->receive->code, 200, 'answer to both halves');
$c->send("GET /wo");
$c->reset;

configure('second');
ok($t->reload, 'reload');
is($c->get('/word')->body, 'second', 'the new configuration serves');

my $killed = $t->kill_worker;

ok(!grep({ $_ == $killed } $t->workers), 'a killed worker is replaced');
is($c->get('/word')->body, 'second', 'and requests go on');

($code, $out) = $t->test_config;
is($code, 0, 'nginx -t') or diag($out);

$t->done;
