# Paths and their disguises (SECURITY 6 C): what is decided must be about the
# same thing that the application sees.  The judge is a normaliser of our own:
# whatever reaches the application for a visitor must not mean /admin in any
# reading, and a configuration test leaves nothing behind.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow ();
use Session::Log qw(slurp);
use Test::More;

my $t = Session::Flow->new;
my $app = $t->echo;

$t->write_file('html/page', "page\n");
$t->write_file_expand('nginx.conf', <<"END");
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    server {
        listen 127.0.0.1:%%PORT_8080%%;
        session on;

        location / { proxy_pass http://127.0.0.1:@{[ $app->port ]}; }
        location /admin {
            session_require role=admin;
            proxy_pass http://127.0.0.1:@{[ $app->port ]};
        }
        location ~ ^/users/[^/]+/login {
            session_require user;
            proxy_pass http://127.0.0.1:@{[ $app->port ]};
        }
        location = /internal { internal; return 200 "inside"; }

        location /page { root %%TESTDIR%%/html; mirror /mirror; }
        location = /mirror {
            internal;
            session_require user;
            proxy_pass http://127.0.0.1:%%PORT_8081%%\$request_uri;
        }
    }

    server {
        listen 127.0.0.1:%%PORT_8081%%;
        access_log %%TESTDIR%%/logs/mirror.log;
        location / { return 200 "mirrored"; }
    }
}
END


# ------------------------------------------------- a test writes nothing ---

{
    my $before = listing($t->store);
    my ($code, $out) = $t->test_config;

    is $code, 0, 'nginx -t' or diag $out;
    is listing($t->store), $before, 'leaves the store as it was';
}

sub listing {
    my ($dir) = @_;

    return join "\n", map { join ' ', $_, (stat)[1, 2, 4, 5, 7, 9, 10] }
                      $dir, sort glob "$dir/*";
}


# -------------------------------------------------------------- disguises ---

$t->run;

my %signed = map { $_ => $t->session($_)->{token} } qw(alice carol);

# every segment decoded once, dots removed, slashes merged: what a server reads

sub meaning {
    my ($target) = @_;

    $target =~ s{\Ahttp://[^/]*}{}i;
    $target =~ s/[?#].*//s;
    $target =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;

    my @path;

    for my $segment (split m{/}, $target) {
        next if $segment eq '' || $segment eq '.';
        $segment eq '..' ? pop @path : push @path, $segment;
    }

    return '/' . join '/', @path;
}

my @same = ('/admin', '//admin', '/./admin', '/x/../admin', '/%61dmin',
            '/admin/', '/admin/.', '/admin//', '/admin?x=/public', '/admin/x',
            '/a/%2e%2e/admin', '/a/..//admin', '/admin#x', '/admin;x',
            '/admin%2f', '/%2e/admin', '/x/%2e./admin', '/admin/../admin',
            "http://127.0.0.1:" . $t->port . '/admin', '/admin%3fx',
            '/admin%23', '/%2561dmin/../admin', '/adminx', '/admin#/public',
            '/admin?/../public', 'http://other.example/admin?x=/public',
            'http://other.example/x/../admin', 'http://other.example//admin/.',
            'HTTP://other.example/%61dmin');
my @other = ('/ADMIN', '/public?x=/admin', '/x;/admin', '/%252e%252e/x',
             '/administrato', '/.admin', '/a%5cadmin');

for my $target (@same, @other) {
    my $anonymous = ask($target);
    my $alice = ask($target, 'alice');
    my $reached = $anonymous->code == 200;

    if (meaning($target) =~ m{\A/admin}) {
        is $anonymous->code, 401, "$target: not for visitors";
        is $alice->code, 403, "$target: not without the role";
        is ask($target, 'carol')->code, 200, "$target: for admins";

    } else {
        ok $reached, "$target: another place" or diag $anonymous->code;
    }
}

for my $target ('/admin%00', '/ad%00min', '/..', '/../admin', '/%2e%2e/',
                '/%2e%2e/admin', 'http://other.example/../admin', 'admin')
{
    my $r = ask($target);

    isnt $r->code, 200, "$target: refused" or diag $r->body;
}

# headers that other servers take a path from

for my $name (qw(X-Original-URL X-Rewrite-URL X-Forwarded-Uri
                 X-Forwarded-Prefix X-HTTP-Method-Override))
{
    is $t->client->get('/admin', $name => '/public')->code, 401,
        "$name decides nothing";
}

is $t->client->get('/admin', 'User-Agent' => 'kube-probe/1.28')->code, 401,
    'nor does a health check\'s name';
is ask('/users/joe/loginx')->code, 401, 'a regular expression has no end';
is ask('/internal')->code, 404, 'internal is internal';
is ask('/internal', 'carol')->code, 404, 'for everybody';

for my $method (qw(HEAD POST PUT DELETE OPTIONS PATCH PROPFIND)) {
    is $t->client->request($method, '/admin')->code, 401, "$method /admin";
}

# a mirror is a request of its own, whose answer nobody sees: did it arrive?

{
    my $log = $t->dir . '/logs/mirror.log';

    is ask('/page?nobody')->body, "page\n", 'a page with a mirror, anonymous';
    is ask('/page?alice', 'alice')->body, "page\n", 'and signed in';
    ok $t->wait_for(sub { slurp($log) =~ /page\?alice/ }), 'is mirrored';
    unlike slurp($log), qr/page\?nobody/, 'the anonymous one is not';
}

$t->allow(qr/client sent invalid/);
is ask('/' . 'a' x 65536)->code, 414, 'a path of 64 KiB';

$t->done;


sub ask {
    my ($target, $login) = @_;

    return $t->client->get($target, $login
        ? (Cookie => "$Session::World::cookie=$signed{$login}") : ());
}
