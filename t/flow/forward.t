# What back ends receive: no identity header that a client has sent, in no
# spelling and by no way through nginx, never one of our cookies, and all the
# rest byte for byte.  The same over proxy, FastCGI, uwsgi, SCGI and gRPC.

use strict;
use warnings;

use FindBin ();
use lib "$FindBin::Bin/../lib";

use IO::Select ();
use Session::Flow ();
use Session::Wire ();
use Test::More;

my $t = Session::Flow->new;
my %back = map { $_ => $t->echo($_) } qw(http fastcgi uwsgi scgi);
my @kinds = sort keys %back;
my $side = recorder();
my $grpc = grpc();

push @kinds, 'grpc' if $grpc;

my $pass = join "\n", map { location($_) } @kinds;

# underscores_in_headers and ignore_invalid_headers let every spelling as far
# as us; by default nginx drops most of them itself.

$t->write_file_expand('nginx.conf', <<"END");
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    underscores_in_headers on;
    ignore_invalid_headers off;
    large_client_header_buffers 4 32k;

    server {
        listen 127.0.0.1:%%PORT_8080%%;
        server_name localhost;

$pass

        # ways from one location to another

        location /to/ { session on; proxy_pass $back{http}{url}; }
        location /from-off/ { proxy_pass $back{http}{url}; }
        location /target/ {
            internal;
            proxy_set_header X-Echo-Header "";
            proxy_set_header X-Echo-Status "";
            location /target/on { session on; proxy_pass $back{http}{url}; }
            location /target/quiet { session on; session_forward off;
                                     proxy_pass $back{http}{url}; }
            location /target/off { proxy_pass $back{http}{url}; }
        }

        location /error/ { session on; proxy_intercept_errors on;
                           error_page 500 = \@on; error_page 501 = \@quiet;
                           error_page 502 = \@off; error_page 503 = /target/on;
                           proxy_pass $back{http}{url}; }
        location \@on { session on; proxy_pass $back{http}{url}; }
        location \@quiet { session on; session_forward off;
                          proxy_pass $back{http}{url}; }
        location \@off { proxy_pass $back{http}{url}; }

        location /try/ { session on; try_files /absent \@on; }
        location /try-off/ { try_files /absent \@on; }
        location /try-to-off/ { session on; try_files /absent \@off; }
        location /refused/ { session_require role=admin;
                             error_page 403 = \@on;
                             proxy_pass $back{http}{url}; }

        # subrequests

        location /mirror/on-on { session on; mirror /side/on;
                                 proxy_pass $back{http}{url}; }
        location /mirror/off-on { mirror /side/on;
                                  proxy_pass $back{http}{url}; }
        location /mirror/on-off { session on; mirror /side/off;
                                  proxy_pass $back{http}{url}; }
        location /auth/on-on { session on; auth_request /side/on;
                               proxy_pass $back{http}{url}; }
        location /auth/off-on { auth_request /side/on;
                                proxy_pass $back{http}{url}; }
        location /auth/on-off { session on; auth_request /side/off;
                                proxy_pass $back{http}{url}; }
        location /auth/off-require { auth_request /side/require;
                                     proxy_pass $back{http}{url}; }
        location /side/on { internal; session on; proxy_pass $side->{url}; }
        location /side/off { internal; proxy_pass $side->{url}; }
        location /side/require { internal; session_require user;
                                 proxy_pass $side->{url}; }

        # what the operator writes

        location /seen-before/ {
            session on;
            if (\$http_cookie ~ __Host-session) { set \$a 1; }
            if (\$http_x_session_user) { set \$b 1; }
            proxy_set_header Cookie \$http_cookie;
            proxy_set_header X-Was \$http_x_session_user;
            proxy_pass $back{http}{url};
        }
        location /own/ {
            session on;
            proxy_set_header X-Session-User "as \$session_user";
            proxy_set_header X-Session-Ref "";
            proxy_pass $back{http}{url};
        }
        location /sid/ { session on; proxy_pass $back{http}{url}; }
    }

    server {
        listen 127.0.0.1:%%PORT_8081%%;
        session_cookie sid secure=off;
        session on;
        location / { proxy_pass $back{http}{url}; }
    }

    server {
        listen 127.0.0.1:%%PORT_8082%% http2;
        session on;
        location / { proxy_pass $back{http}{url}; }
    }
}
END

$t->run;

my $session = $t->session('carol');
my $token = $session->{token};
my $ours = "__Host-session=$token";
my %carol = ('x-session-user' => 'carol', 'x-session-name' => 'Carol Clark',
             'x-session-roles' => 'admin,auditor',
             'x-session-ref' => $session->{ref});
my @spellings = qw(
    X-Session-User x-session-user X-SESSION-USER x-sEssion-uSer
    X_Session_User X.Session.User X-Session_User X_Session-User X.Session-User
    X~Session~User X!Session!User X|Session|User X'Session*User
    X-Session-Id X_SESSION_ID X-Session-Name X.session.name X-Session-Roles
    x_session_roles X-Session-Ref X-Session-Status X_Session_Anything X-Session-
);
my @innocent = ('X-Session: a', 'X-Sessions-User: b', 'X-SessionUser: c',
                'XX-Session-User: d', 'My-X-Session-User: e', 'X: f',
                'X-Sess1on-User: g', 'X-Session1User: h',
                'Accept: text/html;q=0.1');
my $tag = 0;


# --------------------------------------------------------- every protocol ---


for my $kind (@kinds) {
    my $seen = ask("/$kind/off", map { "$_: evil" } @spellings);

    cmp_ok(scalar @{ $seen->{identity} }, '>=', 20,
           "$kind, session off: spellings come through");
    is_deeply(ask("/$kind/off", "Cookie: $ours")->{cookies}, [$ours],
              "$kind, session off: the cookie comes through");

    for my $at ('on', 'quiet') {
        $seen = ask("/$kind/$at", map { "$_: evil" } @spellings);
        is_deeply($seen->{identity}, [], "$kind/$at, anonymous: no spelling");

        $seen = ask("/$kind/$at", @innocent);
        is_deeply([grep { !/^user-agent/ } @{ $seen->{others} }],
                  [sort map { lc_name($_) } @innocent],
                  "$kind/$at: the others are as sent");

        my $n = 0;

        $seen = ask("/$kind/$at", "Cookie: a=1; $ours; b=2",
                    map { ("$_: evil", 'X-Between-' . ++$n . ': x') }
                        @spellings);
        is_deeply($seen->{cookies}, ['a=1; b=2'], "$kind/$at: cookie is cut");
        is(scalar(grep { /^x-between/ } @{ $seen->{others} }), @spellings,
           "$kind/$at: lines between stay");

        if ($at eq 'quiet') {
            is_deeply($seen->{identity}, [], "$kind/quiet: nothing is said");

        } else {
            identity_ok($seen, "$kind/on: identity is ours");
        }
    }

    is_deeply(ask("/$kind/on", "Cookie: $ours")->{cookies}, [],
              "$kind: a line with our cookie alone goes");
}


# ---------------------------------------------------------------- cookies ---


my @cookies = (
    ['a=1'] => ['a=1'],
    ['a="x; y"; b'] => ['a="x; y"; b'],
    ["$ours; a=1"] => ['a=1'],
    ["a=1; $ours"] => ['a=1'],
    ["a=1;$ours;b=2"] => ['a=1;b=2'],
    ["a=1; __Host-session=junk; __Host-session=; b=2"] => ['a=1; b=2'],
    ["__Host-session-pre=x; a=%3B; __Host-session-device=y"] => ['a=%3B'],
    ['__Host-session'] => [],
    ['__host-session=1; __Host-session2=2; x__Host-session=3']
        => ['__host-session=1; __Host-session2=2; x__Host-session=3'],
    ['a=1', $ours, 'b=2'] => ['a=1', 'b=2'],
    [$ours, $ours] => [],
    ["a=$token"] => ["a=$token"],
);

while (my ($sent, $received) = splice @cookies, 0, 2) {
    my $seen = ask('/http/on', map { "Cookie: $_" } @$sent);

    is_deeply($seen->{cookies}, $received, "Cookie: @{$sent}" =~ s/$token/T/gr);
}

is_deeply(ask('/', 'Cookie: sid=a; sid-pre=b; sid-device=c; s=d', 8081)
              ->{cookies}, ['s=d'], 'names of another session_cookie');
is_deeply(ask('/', "Cookie: $ours", 8081)->{cookies}, [$ours],
          'the default name means nothing beside it');


# ------------------------------------------------- many lines, any places ---

# Three parts of twenty lines and more, with lines to be removed at any place
# of them, whole parts included.

my $seed = $ENV{TEST_FORWARD_SEED} // int(rand(2 ** 31));

srand $seed;

for my $round (1 .. 150) {
    my $share = (0, 0.05, 0.3, 0.7, 0.95, 1)[rand 6];
    my (@lines, @expected, @kept);

    for my $n (1 .. 1 + rand 80) {
        if (rand() >= $share) {
            push @lines, "N-$n: $round";
            push @expected, lc_name("N-$n: $round");

        } elsif (rand() < 0.2) {
            my $cookie = rand() < 0.5 ? '' : "c$n=$n";

            push @lines, 'Cookie: ' . join '; ', grep { $_ } $cookie,
                         '__Host-session=junk';
            push @kept, $cookie if $cookie;

        } else {
            push @lines, $spellings[rand @spellings] . ": evil$n";
        }
    }

    my $seen = ask('/http/on', @lines);
    my @wrong = (@{ $seen->{identity} }, grep { /evil/ } @{ $seen->{others} });
    my $others = join "\n", grep { /^n-/ } @{ $seen->{lines} };

    if (@wrong || $others ne join("\n", @expected)
        || "@{ $seen->{cookies} }" ne "@kept")
    {
        fail("round $round of TEST_FORWARD_SEED=$seed");
        diag("sent:\n", map({ "$_\n" } @lines), "received:\n", $seen->{text});
        last;
    }
}

pass("rounds of TEST_FORWARD_SEED=$seed");

my $alone = raw("GET /http/on HTTP/1.0\r\nX_Session_User: evil\r\n\r\n");

unlike($alone, qr/evil/, 'a request with no other header');
like($alone, qr/^Host: /m, 'and it arrives');


# ------------------------------------------------------- other locations ---


my @evil = map { "$_: evil" } @spellings[0 .. 8];

for my $from ('/to/x', '/from-off/x') {
    for my $to (qw(on quiet off)) {
        my @what = ("X-Echo-Header: X-Accel-Redirect: /target/$to",
                    "Cookie: a=1; $ours");
        my $seen = ask($from, @what, $from eq '/from-off/x' && $to eq 'off'
                                     ? () : @evil);
        my $name = "X-Accel-Redirect from $from to $to";

        if ($to eq 'on') {
            identity_ok($seen, $name);

        } else {
            is_deeply($seen->{identity}, [], $name);
        }

        is_deeply($seen->{cookies},
                  [$from eq '/from-off/x' && $to eq 'off' ? "a=1; $ours"
                                                          : 'a=1'],
                  "$name: cookies");
    }
}

my %pages = (500 => 1, 501 => 0, 502 => 0, 503 => 1);

for my $status (sort keys %pages) {
    my $seen = ask('/error/x', "X-Echo-Status: $status", @evil,
                   "Cookie: a=1; $ours");
    my $name = "error_page $status";

    $pages{$status} ? identity_ok($seen, $name)
                    : is_deeply($seen->{identity}, [], $name);
    is_deeply($seen->{cookies}, ['a=1'], "$name: cookies");
}

for my $path (qw(/try/x /try-off/x)) {
    my $seen = ask($path, @evil, "Cookie: a=1; $ours");

    identity_ok($seen, "try_files from $path");
    is_deeply($seen->{cookies}, ['a=1'], "try_files from $path: cookies");
}

is_deeply(ask('/try-to-off/x', @evil, "Cookie: $ours")->{identity}, [],
          'try_files out of it');

my $bob = $t->session('bob');
my $refused = ask('/refused/x', @evil,
                  "Cookie: __Host-session=$bob->{token}");

is((grep { /^x-session-user/ } @{ $refused->{identity} })[0],
   'x-session-user: bob', 'an error_page for a refusal knows who it was');


# ---------------------------------------------------------- subrequests ---


for my $how (qw(mirror auth)) {
    for my $where (qw(on-on off-on on-off)) {
        my $name = "$how $where";
        my $sent = 'side' . ++$tag;
        my $main = ask("/$how/$where", "X-Tag: $sent", 'Cookie: a=1; '
                       . $ours, @evil);
        my $seen = $side->{received}->($sent)
            or fail("$name: nothing came") && next;

        is_deeply($seen->{cookies}, ['a=1'], "$name: cookies");

        $where =~ /-on/ ? identity_ok($seen, "$name: identity")
                        : is_deeply($seen->{identity}, [], "$name: identity");

        if ($where =~ /^on/) {
            identity_ok($main, "$name: the main request's identity");
            is_deeply($main->{cookies}, ['a=1'],
                      "$name: the main request's cookies");

        } else {
            is(scalar @{ $main->{identity} }, @evil,
               "$name: the main request is not touched");
            is_deeply($main->{cookies}, ["a=1; $ours"],
                      "$name: the main request's cookies are not touched");
        }
    }
}

my $sent = 'side' . ++$tag;

ask('/auth/off-require', "X-Tag: $sent", "Cookie: $ours", @evil);
identity_ok($side->{received}->($sent), 'auth_request to session_require');


# --------------------------------------------------------- configuration ---


my $before = ask('/seen-before/', "Cookie: a=1; $ours", 'X-Session-User: evil');

is_deeply($before->{cookies}, ['a=1'],
          'a variable used before does not bring the cookie back');
is_deeply([grep { /^x-was/ } @{ $before->{others} }], ['x-was: carol'],
          'nor the header');

my $own = ask('/own/', "Cookie: $ours", @evil);

is_deeply([grep { /user|ref/ } @{ $own->{identity} }],
          ['x-session-user: as carol'],
          'proxy_set_header has the last word');

SKIP: {
    skip 'no node', 2 if !$grpc;

    my $seen = look(h2('/', cookie => 'a=1', cookie => $ours, cookie => 'b=2',
                       'x-session-user' => 'evil', 'x-session-ref' => 'evil'));

    is_deeply($seen->{cookies}, ['a=1; b=2'], 'HTTP/2: cookie crumbs');
    identity_ok($seen, 'HTTP/2: identity');
}

$grpc->{end}->() if $grpc;
$t->done;


# -------------------------------------------------------------- helpers ---


sub location {
    my ($kind) = @_;
    my %pass = (
        http => 'proxy_pass %s',
        fastcgi => 'fastcgi_param REQUEST_METHOD $request_method; '
                   . 'fastcgi_param HTTP_ACCEPT_LANGUAGE xx; '
                   . 'fastcgi_pass %s',
        uwsgi => 'uwsgi_param REQUEST_METHOD $request_method; '
                 . 'uwsgi_param HTTP_ACCEPT_LANGUAGE xx; uwsgi_pass %s',
        scgi => 'scgi_param REQUEST_METHOD $request_method; scgi_pass %s',
        grpc => 'grpc_pass %s',
    );
    my $port = $kind eq 'grpc' ? $grpc->{port} : $back{$kind}->port;

    if ($kind ne 'grpc') {
        $back{$kind}{url} = ($kind eq 'http' ? 'http://' : '')
                            . "127.0.0.1:$port";
    }

    my $url = $kind eq 'grpc' ? "grpc://127.0.0.1:$port" : $back{$kind}{url};
    my $line = sprintf "$pass{$kind};", $url;

    return <<"END";
        location = /$kind/on { session on; $line }
        location = /$kind/quiet { session on; session_forward off; $line }
        location = /$kind/off { $line }
END
}


# Sends a GET with these lines, and a port if there is one at the end; what
# the back end has seen.

sub ask {
    my ($path, @lines) = @_;
    my $number = @lines && $lines[-1] =~ /\A\d+\z/ ? pop @lines : 8080;

    return look(raw(join("\r\n", "GET $path HTTP/1.1", 'Host: localhost',
                         'Connection: close', @lines, '', ''), $number));
}


sub raw {
    my ($bytes, $number) = @_;
    my $client = $t->client(number => $number // 8080);

    $client->open;
    $client->send($bytes);

    my $r = $client->receive;

    return $r ? $r->body : '';
}


# A dump of headers or CGI parameters: "identity" is whatever an application
# could take for one of ours, "others" and "lines" are the rest that the test
# has sent, sorted and in order; names are in one spelling.

sub look {
    my ($text) = @_;
    my %seen = (text => $text, map { $_ => [] } qw(identity cookies lines));

    for my $line (split /\n/, $text =~ s/\n\n.*//sr) {
        my ($name, $value) = $line =~ /\A(:?[^:\s]+): ?(.*)\z/ or next;

        next if $name =~ /\A(?::|REQUEST_METHOD\z)/;

        $name =~ s/\AHTTP_//;
        $name = lc $name;

        if ($name eq 'cookie') {
            push @{ $seen{cookies} }, $value;

        } elsif ($name =~ /\Ax[^a-z0-9]session[^a-z0-9]/) {
            push @{ $seen{identity} }, one_name($name) . ": $value";

        } elsif ($name !~ /\A(?:host|connection|te|x[-_](?:echo|tag)|content
                           |accept[-_]language|get$|user[-_]agent)/x)
        {
            push @{ $seen{lines} }, one_name($name) . ": $value";
        }
    }

    $seen{others} = [sort @{ $seen{lines} }];

    return \%seen;
}


sub one_name { $_[0] =~ tr/_/-/r }


sub lc_name {
    my ($name, $value) = split /: /, $_[0], 2;

    return lc(one_name($name)) . ": $value";
}


sub identity_ok {
    my ($seen, $name) = @_;
    my %got = map { split /: /, $_, 2 } @{ $seen->{identity} };
    my $id = delete $got{'x-session-id'};

    local $Test::Builder::Level = $Test::Builder::Level + 1;

    ok(@{ $seen->{identity} } == 5 && ($id // '') =~ /\A[0-9a-f]{16}\z/
       && "@got{sort keys %got}" eq "@carol{sort keys %carol}", $name)
        or diag(explain($seen->{identity}));
}


# A back end beside the others, for subrequests, whose answers nobody sees:
# what it receives is found by X-Tag.

sub recorder {
    my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
        LocalPort => Session::Wire::free_port(), Listen => 64, ReuseAddr => 1)
        or die "recorder: $!\n";
    my $dir = $t->dir . '/side';

    mkdir $dir or die "$dir: $!\n";

    my $pid = fork // die "fork: $!\n";

    if ($pid == 0) {
        Session::Echo::run($listen, sub {
            my ($sock) = @_;
            my $head = '';

            while (my $line = readline $sock) {
                last if $line =~ /\A\r?\n\z/;
                $head .= $line =~ s/\r//r;
            }

            my ($name) = $head =~ /^X-Tag: (\w+)/m or return;

            open my $out, '>', "$dir/$name.new" or die;
            print $out $head;
            close $out or die;
            rename "$dir/$name.new", "$dir/$name" or die;

            print {$sock} "HTTP/1.1 204 Noted\r\n\r\n";
            $sock->flush;
        });
        POSIX::_exit(0);
    }

    push @{ $t->{echo} }, bless { port => $listen->sockport, pid => $pid,
                                  owner => $$ }, 'Session::Echo';

    return { url => 'http://127.0.0.1:' . $listen->sockport,
             received => sub {
                 my ($name) = @_;

                 $t->wait_for(sub { -f "$dir/$name" }) or return;

                 return look(Session::Log::slurp("$dir/$name"));
             } };
}


sub grpc {
    my $node = (grep { -x } map { "$_/node" } split /:/, $ENV{PATH})[0]
        or return;
    my $port = Session::Wire::free_port();
    my $pid = open(my $in, '|-', $node, "$FindBin::Bin/../tools/grpc_echo.js",
                   $port) or return;
    my $up = Session::Wire::wait_until(
        sub { Session::Wire::dial('127.0.0.1', $port, 1) }, 20);

    die "no grpc back end\n" if !$up;

    return { port => $port, node => $node, end => sub { close $in } };
}


sub h2 {
    my ($path, @fields) = @_;

    open my $out, '-|', $grpc->{node}, "$FindBin::Bin/../tools/h2_get.js",
        $t->port(8082), $path, @fields or die "node: $!\n";
    local $/;
    my $text = readline $out;
    close $out;

    return $text // '';
}
