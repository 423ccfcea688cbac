package Session::Bench::Site;

# The site that is measured: nginx with the module and a location for every
# case, and for every case its floor: what nginx itself needs to send the very
# same bytes.  The floor is made from an answer of the case, so it stays right
# when the pages change.
#
# It listens twice: for HTTP/1.1, and for HTTP/2 without TLS.

use strict;
use warnings;

use Session::Bench;
use Session::Bench::Case;
use Session::Bench::Stock;
use Session::Flow;
use Session::World ();

# A parameter in nginx.conf is at most 4095 bytes long.
my $piece = 3000;

my $file_bytes = 1536;

# Sent by nginx with every answer, whoever made it.
our $own = qr/\A(?:Server|Date|Content-Type|Content-Length|Connection
                |Last-Modified|ETag|Accept-Ranges|Location)\z/xi;


# sessions; folder for their store if it is not to be kept; workers; master: 0
# for tools that want one process; binary: nginx, or what runs it in the end.

sub new {
    my ($class, %arg) = @_;
    my $self = bless { sessions => 100_000, workers => 1, master => 1, %arg },
        $class;

    $self->{cases} = {
        Session::Bench::Case->all("$Session::World::project/bench/cases")
    };
    $self->{stock} = Session::Bench::Stock->new($self->{sessions},
                                                $self->{folder});
    $self->{back} = Session::Flow->new(bare => 'nginx', level => 'warn');
    $self->{t} = Session::Flow->new(bare => 1, level => 'warn',
        workers => $self->{workers}, master => $self->{master});

    # Looking through millions of sessions at the end takes minutes, and
    # nothing here changes any.
    my $t = $self->{t};

    $t->{world} = { map { ($_ => $self->{stock}{$_}) } qw(store keys) };
    $t->{damaged} = 1;

    $self->start_back;
    $t->nginx->{binary} = $self->{binary} if $self->{binary};
    $t->write_file('html/file', 'x' x ($file_bytes - 1) . "\n");
    $t->write_file_expand('nginx.conf', $self->configuration);
    $t->run;
    $t->write_file('html/page',
                   $self->answer($self->{cases}{dashboard})->body);
    $self->find_links;

    my $floors = $self->floors;

    $t->stop;
    $t->write_file_expand('nginx.conf', $self->configuration(%$floors));
    $t->run;
    $self->compare;

    return $self;
}


sub start_back {
    my ($self) = @_;
    my $back = $self->{back};
    my $body = 'x' x ($file_bytes - 1);

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


# floors: lines of http and of server.  Turns are short and far apart: with a
# touch of a minute nearly each request of some would be the first of its
# session for a minute, as it never is in life, so there are none.

sub configuration {
    my ($self, %floor) = @_;
    my $port = $self->{back}->port;
    my $affinity = $self->{master}
        ? "worker_cpu_affinity @{[ ('01') x $self->{workers} ]};" : '';
    my (%seen, $locations);

    for my $name (sort keys %{ $self->{cases} }) {
        $locations .= "        $_\n"
            for grep { !$seen{$_}++ } @{ $self->{cases}{$name}{nginx} };
    }

    $_ //= '' for @floor{qw(http server)};

    return <<"END";
%%GLOBALS%%
$affinity
events { }
http {
    %%GLOBALS_HTTP%%
    access_log off;
    log_not_found off;
    keepalive_requests 1000000000;
    keepalive_timeout 3600s;
    open_file_cache max=100 inactive=1h;
    open_file_cache_valid 1h;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    session_lifetime 7d idle=1d touch=20h;
    upstream back {
        server 127.0.0.1:$port;
        keepalive 64;
        keepalive_requests 1000000000;
    }
    $floor{http}
    server {
        listen 127.0.0.1:%%PORT_8080%%;
        listen 127.0.0.1:%%PORT_8081%% http2;
$locations
        $floor{server}
    }
}
END
}


# Cases whose path depends on what the pages hold.

sub find_links {
    my ($self) = @_;
    my @cases = grep { defined $_->{link} } values %{ $self->{cases} };
    my $page = $self->{t}->client->get('/sign_in', Accept => 'text/html');

    for my $case (@cases) {
        ($case->{path}) = $page->body =~ m{"($case->{link})"}
            or die "$case->{name}: no such link in the sign-in page\n";
    }

    for my $case (grep { $_->{again} } values %{ $self->{cases} }) {
        $case->{etag} = $self->answer($case)->header('ETag')
            // die "$case->{name}: no ETag\n";
    }
}


# -------------------------------------------------------------- floors ---


sub floors {
    my ($self) = @_;
    my %floor = (http => '', server => '');

    for my $name (sort keys %{ $self->{cases} }) {
        my $case = $self->{cases}{$name};

        next if $case->{floor} eq 'none';

        my $r = $self->answer($case);

        die "$name: answers " . $r->code . ", not $case->{status}:\n", $r->raw
            if $r->code != $case->{status};

        my @headers = map {
            my ($header, $value) = @$_;

            $header =~ $own ? () : "add_header $header " . quoted($value)
                                   . ' always;';
        } @{ $r->{headers} };
        my @body = $case->{floor} eq 'return' ? literal($name, $r, \%floor)
                                              : behind($case);

        $floor{server} .= location("/floor/$name", @headers, @body);
        $floor{server} .= location("/bare/$name", @body)
            if grep { ($_->{path} // '') eq "/bare/$name" }
                    values %{ $self->{cases} };
    }

    return \%floor;
}


sub location {
    my ($path, @lines) = @_;

    return "location = $path {\n" . join('', map { "    $_\n" } @lines)
        . "}\n";
}


sub behind {
    my ($case) = @_;

    return 'proxy_pass http://back/;' if $case->{floor} eq 'app';
    return "alias %%TESTDIR%%/html/" . $case->{path} =~ s{.*/}{}r . ';';
}


# "return" with the bytes of the answer; a long one is put together from
# variables.  The body of a redirect is nginx's own.

sub literal {
    my ($name, $r, $floor) = @_;
    my $location = $r->header('Location');

    return 'absolute_redirect off;',
        'return ' . $r->code . ' ' . quoted($location) . ';'
        if defined $location;

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
        my $r = $self->answer($case);

        die "$name: answers " . $r->code . ", not $case->{status}\n"
            if $r->code != $case->{status};

        $case->{bytes} = length $r->body;
        $case->{wire} = length($r->raw) + 2 + $case->{bytes};

        next if $case->{floor} eq 'none';

        my $floor = $self->answer($case, "/floor/$name");

        die "$name: its floor differs:\n", $r->raw, "\n", $floor->raw
            if length $r->raw != length $floor->raw
               || length $r->body != length $floor->body
               || $r->code != $floor->code;
    }
}


# ------------------------------------------------------------ requests ---


# The cookie of a case, as the value of a header.

sub cookie {
    my ($self, $case) = @_;

    return $case->{cookie} && $self->{stock}{cookie}{ $case->{cookie} };
}


# As a list of names and values; without the cookie where cookies vary.

sub headers {
    my ($self, $case, $varies) = @_;

    return $case->headers($varies ? undef : $self->cookie($case));
}


# The answer to a case, or to the same request for another path.  A client
# that keeps no cookies asks: the next one is as new as this one.

sub answer {
    my ($self, $case, $path) = @_;

    return $self->{t}->client->request($case->{method}, $path // $case->{path},
                                       $self->headers($case))
        // die "$case->{name}: no answer\n";
}


sub url {
    my ($self, $path, $version) = @_;
    my $port = $self->{t}->port(($version // 1) == 2 ? 8081 : 8080);

    return "http://127.0.0.1:$port$path";
}


# The process whose tree is the server.

sub pid { $_[0]{t}->nginx->pid }


sub worker {
    my ($self) = @_;

    return $self->{master} ? ($self->{t}->workers)[0] : $self->pid;
}


sub done { $_[0]{$_}->done for qw(t back) }


1;
