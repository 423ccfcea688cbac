package Session::Cost;

# What requests cost beside their floor, which is nginx alone with the same
# bytes: a site whose nginx runs under an instrument, scenarios that are always
# the same, and the requests in a known order.
#
#     my $cost = Session::Cost->new(wrapper => sub { "#!/bin/sh ..." });
#     my @played = $cost->play(warm => 10, times => 50);
#
# The instrument sees requests in the order of @played, each of which is a hash:
# scenario, of ("case" or "floor"), at (when it was answered), and counts: false
# for the first ones, which open files and connections and fill caches.

use strict;
use warnings;

use Session::Flow ();
use Time::HiRes qw(time);

my $html = 'text/html,application/xhtml+xml,*/*;q=0.8';
my $json = 'application/json';
my $agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 '
    . 'Firefox/128.0';

# A parameter in nginx.conf is at most 4095 bytes long.
my $piece = 3000;

# Sent by nginx with every answer, whoever made it.
my $own = qr/\A(?:Server|Date|Content-Type|Content-Length|Connection
                |Last-Modified|ETag|Accept-Ranges)\z/xi;

# [name, path, code, other]: accept; cookie: live, junk or unknown; method;
# headers; from: the floor is this file or upstream with the same headers.
my @scenarios = (
    [up => '/up', 200],
    [up_signed_in => '/up', 200, cookie => 'live'],
    [sign_in_form => '/sign_in', 200, accept => $html],
    [dashboard => '/dashboard', 200, accept => $html, cookie => 'live'],
    [actor => '/-/actor.json', 200, accept => $json, cookie => 'live'],
    [actor_nobody => '/-/actor.json', 200, accept => $json],
    [versions => '/-/versions.json', 200, accept => $json, cookie => 'admin'],
    [file => '/private/file', 200, accept => $html, cookie => 'live',
     from => 'file'],
    [proxy => '/private/app', 200, accept => $html, cookie => 'live',
     from => 'app'],
    [public_file => '/public/file', 200, accept => $html, from => 'file'],
    [variable => '/public/name', 200, accept => $html, cookie => 'live',
     from => 'file'],
    [csp => '/public/csp', 200, accept => $html, from => 'file'],
    [asset => 'asset', 200],
    [not_modified => '/private/file', 304, accept => $html, cookie => 'live',
     headers => ['If-None-Match' => 'etag'], from => 'file'],
    [redirect => '/private/file', 302, accept => $html],
    [no_cookie => '/private/file', 401, accept => $json],
    [junk_cookie => '/private/file', 401, accept => $json, cookie => 'junk'],
    [unknown_session => '/private/file', 401, accept => $json,
     cookie => 'unknown'],
    [role_missing => '/private/admin', 403, accept => $html,
     cookie => 'live'],
    [not_found => '/-/assets/none', 404, accept => $html],
    [not_allowed => '/up', 405, method => 'POST'],
);


# wrapper: given the flow, the text of a program that runs nginx in the end.

sub new {
    my ($class, %arg) = @_;
    my $back = Session::Flow->new(bare => 'nginx', level => 'warn');
    my $t = Session::Flow->new(master => 0, level => 'warn');
    my $self = bless { back => $back, t => $t }, $class;

    $self->{scenarios} = [map {
        my ($name, $path, $code, %other) = @$_;
        { name => $name, path => $path, code => $code, %other }
    } @scenarios];

    start_back($back);
    $self->people;
    $t->write_file('html/file', 'x' x 1535 . "\n");
    $t->write_file_expand('nginx.conf', $self->configuration);
    $t->run;

    my $floors = $self->floors;

    $t->stop;

    my $wrapper = $t->write_file('wrapper', $arg{wrapper}->($t));

    chmod 0700, $wrapper or die "$wrapper: $!\n";
    $t->nginx->{binary} = $wrapper;
    $t->write_file_expand('nginx.conf', $self->configuration(%$floors));
    $t->run;
    $self->compare;

    return $self;
}


# The nginx that is run, for whoever has no flow yet.

sub binary {
    my $binary = $ENV{TEST_NGINX_BINARY} || 'nginx';

    return $binary if $binary =~ m{/};

    for my $dir (split(/:/, $ENV{PATH} // ''), '/usr/sbin', '/sbin') {
        return "$dir/$binary" if -x "$dir/$binary";
    }

    die "no $binary here\n";
}


sub names { return map { $_->{name} } @{ $_[0]{scenarios} } }
sub t { $_[0]{t} }


# Some sessions before and after the one that is used.

sub people {
    my ($self) = @_;
    my $t = $self->{t};
    my @from = (agent => $agent, address => '203.0.113.7');

    $t->session($_, @from) for qw(bob carol alice);

    my $live = $t->session('alice', @from)->{token};
    my $admin = $t->session('carol', @from)->{token};

    $t->session($_, @from) for qw(bob carol alice);

    # moves audit rows to where pages read them
    $t->sessionctl('sweep');

    $self->{token} = {
        live => $live, admin => $admin,
        junk => $live =~ s/.{8}\z/AAAAAAAA/r,
        unknown => Session::World::unknown($t->world)->{token},
    };
}


sub start_back {
    my ($back) = @_;
    my $body = 'x' x 1535;

    $back->write_file_expand('nginx.conf', <<"END");
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    access_log off;
    keepalive_requests 1000000000;
    server {
        listen 127.0.0.1:%%PORT_8080%%;
        location / { return 200 "$body\\n"; }
    }
}
END
    $back->run;
}


# floors: lines of http and of server.

sub configuration {
    my ($self, %floor) = @_;
    my $port = $self->{back}->port;

    $_ //= '' for @floor{qw(http server)};

    return <<"END";
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
    open_file_cache max=100 inactive=1h;
    open_file_cache_valid 1h;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    upstream back {
        server 127.0.0.1:$port;
        keepalive 64;
        keepalive_requests 1000000000;
    }
    $floor{http}
    server {
        listen 127.0.0.1:%%PORT_8080%%;
        absolute_redirect off;
        location = /up { session_page up; }
        location = /sign_in { session_page sign_in; }
        location = /sign_out { session_page sign_out; }
        location = /dashboard { session_page dashboard; }
        location = /-/actor.json { session_page actor; }
        location = /-/versions.json { session_page versions; }
        location ^~ /-/assets/ { session_page assets; }
        location = /private/file {
            session_require user;
            alias %%TESTDIR%%/html/file;
        }
        location = /private/admin {
            session_require role=admin;
            alias %%TESTDIR%%/html/file;
        }
        location = /private/app {
            session_require user;
            proxy_pass http://back/;
        }
        location = /public/file { alias %%TESTDIR%%/html/file; }
        location = /public/name {
            session on;
            add_header X-Name \$session_name;
            alias %%TESTDIR%%/html/file;
        }
        location = /public/csp {
            csp "default-src 'self'; script-src 'nonce'; base-uri 'none'";
            security_headers on;
            alias %%TESTDIR%%/html/file;
        }
        $floor{server}
    }
}
END
}


# -------------------------------------------------------------- floors ---


# A floor is made from an answer of its case, so it stays right when pages
# change.

sub floors {
    my ($self) = @_;
    my %floor = (http => '', server => '');
    my $page = $self->client->get('/sign_in', Accept => $html)->body;
    my ($asset) = $page =~ m{"(/-/assets/[^"]+\.css)"}
        or die "the sign-in page has no style\n";
    my $etag = $self->client->get('/public/file')->header('ETag');

    for my $scenario (@{ $self->{scenarios} }) {
        s/\Aasset\z/$asset/ for $scenario->{path};
        s/\Aetag\z/$etag/ for @{ $scenario->{headers} || [] };

        my $r = $self->get($scenario, $scenario->{path});

        die "$scenario->{name}: answers " . $r->code
            . ", not $scenario->{code}\n" if $r->code != $scenario->{code};

        my @lines = map {
            my ($header, $value) = @$_;

            $header =~ $own
                ? () : "add_header $header " . quoted($value) . ' always;';
        } @{ $r->{headers} };

        push @lines, $scenario->{from} ? behind($scenario->{from})
                                       : literal($scenario->{name}, $r,
                                                 \%floor);
        $floor{server} .= "location = /floor/$scenario->{name} {\n"
            . join('', map { "    $_\n" } @lines) . "}\n";
    }

    return \%floor;
}


sub behind {
    my ($what) = @_;

    return $what eq 'app' ? 'proxy_pass http://back/;'
                          : 'alias %%TESTDIR%%/html/file;';
}


# "return" with the bytes of the answer; a long one is put together from
# variables.

sub literal {
    my ($name, $r, $floor) = @_;
    my @pieces = unpack "(a$piece)*", $r->body;
    my $text = quoted($r->body);

    if (@pieces > 1) {
        for my $n (1 .. @pieces) {
            $floor->{http} .= "geo \$floor_${name}_$n { default "
                . quoted($pieces[$n - 1]) . "; }\n";
        }

        $text = join '', '"', (map { "\${floor_${name}_$_}" } 1 .. @pieces),
            '"';
    }

    # Of 3xx the text would be the Location.
    my $code = $r->code =~ /\A3/ ? 200 : $r->code;
    my $type = $r->header('Content-Type');

    return 'types { }',
        defined $type ? 'default_type ' . quoted($type) . ';' : (),
        "return $code $text;";
}


# A parameter of nginx.conf.  There is no way to write a dollar.

sub quoted { return '"' . ($_[0] =~ s/(["\\])/\\$1/gr =~ tr/$/S/r) . '"' }


# The floor must send as many bytes as the case, after the line of the status.

sub compare {
    my ($self) = @_;

    for my $scenario (@{ $self->{scenarios} }) {
        my $r = $self->get($scenario, $scenario->{path});
        my $floor = $self->get($scenario, "/floor/$scenario->{name}");
        my ($long, $short) = map { length($_->raw =~ s/\A.*//r) } $r, $floor;

        die "$scenario->{name}: its floor differs:\n", $r->raw, "\n",
            $floor->raw
            if $long != $short || length $r->body != length $floor->body;
    }
}


# ------------------------------------------------------------ requests ---


sub client { return $_[0]{t}->client }


sub get {
    my ($self, $scenario, $path, $client) = @_;

    $client //= $self->client;

    my $r = $client->request($self->request($scenario, $path))
        // die "$path: no answer\n";

    $client->{jar} = {};

    return $r;
}


sub request {
    my ($self, $scenario, $path) = @_;
    my @headers = ('User-Agent' => $agent,
                   Accept => $scenario->{accept} // '*/*',
                   @{ $scenario->{headers} || [] });

    push @headers, Cookie => "$Session::World::cookie="
                             . $self->{token}{ $scenario->{cookie} }
        if $scenario->{cookie};

    return ($scenario->{method} // 'GET', $path, @headers);
}


# Each scenario and its floor, over a kept-alive connection of its own.  The
# last request of each is not counted either, as the next connection falls in
# its time.

sub play {
    my ($self, %arg) = @_;
    my @played;

    for my $scenario (@{ $self->{scenarios} }) {
        for my $of (qw(floor case)) {
            my $client = $self->client;
            my $path = $of eq 'case' ? $scenario->{path}
                                     : "/floor/$scenario->{name}";
            my $last = $arg{warm} + $arg{times} + 1;

            for my $n (1 .. $last) {
                $self->get($scenario, $path, $client);
                push @played, { scenario => $scenario->{name}, of => $of,
                                at => time,
                                counts => $n > $arg{warm} && $n < $last };
            }
        }
    }

    # ends the last one
    $self->client->get('/up', 'User-Agent' => $agent);

    return @played;
}


sub done {
    my ($self) = @_;

    $_->stop for $self->{back}, $self->{t};
    $_->done for $self->{back}, $self->{t};
}


1;
