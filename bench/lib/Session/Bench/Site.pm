package Session::Bench::Site;

# The site that is measured: a store of many sessions, nginx with a location
# for every case, and for every case its floor: what nginx itself needs to send
# the very same bytes.  The floor is made from an answer of the case, so it
# stays right when the pages change.

use strict;
use warnings;

use Session::Bench;
use Session::Flow;

# A parameter in nginx.conf is at most 4095 bytes long.
my $piece = 3000;

# Sent by nginx with every answer, whoever made it.
my $own = qr/\A(?:Server|Date|Content-Type|Content-Length|Connection
                |Last-Modified|ETag|Accept-Ranges)\z/xi;

my $html = 'text/html,application/xhtml+xml,*/*;q=0.8';
my $json = 'application/json';
my $agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 '
    . 'Firefox/128.0';


# path; code; accept; cookie: live, junk or unknown; from: the floor is this
# file or upstream with the same headers, and not "return" with the same bytes.

sub cases {
    return (
        up => { title => '`/up`', path => '/up', code => 200,
                accept => '*/*' },
        up_cookie => { title => '`/up`, signed in', path => '/up', code => 200,
                       accept => '*/*', cookie => 'live' },
        sign_in => { title => '`/sign_in`, the form', path => '/sign_in',
                     code => 200, accept => $html },
        dashboard => { title => '`/dashboard`', path => '/dashboard',
                       code => 200, accept => $html, cookie => 'live' },
        file => { title => 'file behind `session_require user`',
                  path => '/private/file', from => 'file', code => 200,
                  accept => $html, cookie => 'live' },
        app => { title => '`proxy_pass` behind `session_require user`',
                 path => '/private/app', from => 'app', code => 200,
                 accept => $html, cookie => 'live' },
        junk => { title => 'refused: cookie with a wrong MAC',
                  path => '/private/file', code => 401, accept => $json,
                  cookie => 'junk' },
        unknown => { title => 'refused: right MAC, no such session',
                     path => '/private/file', code => 401, accept => $json,
                     cookie => 'unknown' },
    );
}


# sessions; tokens: how many of them clients use; master: 0 for tools that
# want one process; binary: nginx, or what runs it in the end.

sub new {
    my ($class, %arg) = @_;
    my $self = bless { sessions => 100_000, tokens => 1000, master => 1,
                       %arg }, $class;

    $self->{tokens} = $self->{sessions} if $self->{tokens} > $self->{sessions};
    $self->{back} = Session::Flow->new(bare => 'nginx', level => 'warn');
    $self->{t} = Session::Flow->new(users => [], level => 'warn',
                                    master => $self->{master});
    $self->{cases} = { cases() };
    $self->fill;
    $self->start_back;

    my $t = $self->{t};

    $t->nginx->{binary} = $self->{binary} if $self->{binary};
    $t->write_file('html/file', 'x' x 1535 . "\n");
    $t->write_file_expand('nginx.conf', $self->configuration);
    $t->run;

    my $floors = $self->floors;

    $t->stop;
    $t->write_file_expand('nginx.conf', $self->configuration(%$floors));
    $t->run;
    $self->compare;

    return $self;
}


# One session of each of so many users, and audit rows where pages read them.

sub fill {
    my ($self) = @_;
    my $t = $self->{t};
    my $file = $t->dir . '/all-tokens';
    my $n = $self->{sessions};

    load('users', $t->store, $n);
    $self->{users_bytes} = store_bytes($t->store)->{sessions_bytes};

    load('sign_in', $t->store, $t->keys, $n, $n, 250, 600, $file);

    run_command("$Session::World::build/sessionctl", 'sweep', '--store',
                $t->store);
    @$self{qw(sessions_bytes events_bytes)} =
        @{ store_bytes($t->store) }{qw(sessions_bytes events_bytes)};

    open my $in, '<', $file or die "$file: $!\n";
    chomp(my @all = <$in>);

    my $step = int(@all / $self->{tokens});
    my @some = @all[map { $_ * $step } 0 .. $self->{tokens} - 1];

    $self->{token_file} = $t->write_file('tokens', join "\n", @some, '');
    $self->{token} = {
        live => $some[0], junk => $some[0] =~ s/.{8}\z/AAAAAAAA/r,
        unknown => Session::World::unknown($t->world)->{token},
    };
}


sub start_back {
    my ($self) = @_;
    my $back = $self->{back};
    my $body = 'x' x 1535;

    $back->write_file_expand('nginx.conf', <<"END");
%%GLOBALS%%
worker_cpu_affinity 10;
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
    my $affinity = $self->{master} ? 'worker_cpu_affinity 01;' : '';

    $_ //= '' for @floor{qw(http server)};

    return <<"END";
%%GLOBALS%%
$affinity
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
        session_title Bench;
        location = /up { session_page up; }
        location = /sign_in { session_page sign_in; }
        location = /sign_out { session_page sign_out; }
        location = /dashboard { session_page dashboard; }
        location ^~ /-/assets/ { session_page assets; }
        location = /private/file {
            session_require user;
            alias %%TESTDIR%%/html/file;
        }
        location = /private/app {
            session_require user;
            proxy_pass http://back/;
        }
        $floor{server}
    }
}
END
}


# -------------------------------------------------------------- floors ---


sub floors {
    my ($self) = @_;
    my %floor = (http => '', server => '');

    for my $name (sort keys %{ $self->{cases} }) {
        my $case = $self->{cases}{$name};
        my $r = $self->get($case, $case->{path});
        my @lines;

        die "$name: answers " . $r->code . ", not $case->{code}\n"
            if $r->code != $case->{code};

        for (@{ $r->{headers} }) {
            my ($header, $value) = @$_;

            push @lines, "add_header $header " . quoted($value) . ' always;'
                if $header !~ $own;
        }

        push @lines, $case->{from} ? behind($case->{from})
                                   : literal($name, $r, \%floor);
        $floor{server} .= "location = /floor/$name {\n"
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

    return 'types { }',
        'default_type ' . quoted(scalar $r->header('Content-Type')) . ';',
        'return ' . $r->code . " $text;";
}


# A parameter of nginx.conf.  There is no way to write a dollar.

sub quoted { return '"' . ($_[0] =~ s/(["\\])/\\$1/gr =~ tr/$/S/r) . '"' }


# The floor must send as many bytes as the case.

sub compare {
    my ($self) = @_;

    for my $name (sort keys %{ $self->{cases} }) {
        my $case = $self->{cases}{$name};
        my $r = $self->get($case, $case->{path});
        my $floor = $self->get($case, "/floor/$name");

        die "$name: its floor differs:\n", $r->raw, "\n", $floor->raw
            if length $r->raw != length $floor->raw
               || length $r->body != length $floor->body
               || $r->code != $floor->code;

        $case->{bytes} = length $r->body;
    }
}


# ------------------------------------------------------------ requests ---


# As a list of names and values; without the cookie where tokens vary.

sub headers {
    my ($self, $case, $varies) = @_;
    my @headers = ('User-Agent' => $agent, Accept => $case->{accept});

    push @headers, Cookie => "$Session::World::cookie="
                             . $self->{token}{$case->{cookie}}
        if $case->{cookie} && !$varies;

    return @headers;
}


sub get {
    my ($self, $case, $path) = @_;

    return $self->{t}->client->get($path, $self->headers($case))
        // die "$path: no answer\n";
}


sub url {
    my ($self, $path) = @_;

    return 'http://127.0.0.1:' . $self->{t}->port . $path;
}


sub worker {
    my ($self) = @_;
    my $t = $self->{t};

    return $self->{master} ? ($t->workers)[0] : $t->nginx->pid;
}


sub done { $_[0]{$_}->done for qw(t back) }


1;
