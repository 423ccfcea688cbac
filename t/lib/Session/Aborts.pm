package Session::Aborts;

# Requests that clients break off: each page and each change, how one tells
# that it was answered right, and what must hold afterwards.
#
#     my $a = Session::Aborts->new($t, whole => sub { my ($request) = @_; ...;
#         return { code => ..., body => ... } });
#     my $cell = $a->begin($row);
#     ... $cell->{request}, as far as it gets; the client goes away ...
#     is $a->wrong($cell, 0), '', 'nothing has been changed';
#
# A change is done (1), is not (0), or one of the two ('either'): wholly.

use strict;
use warnings;

use List::Util qw(min);
use Session::Client ();
use Session::Holds ();
use Session::Log qw(alarming slurp);
use Session::Usage qw(descriptors);
use Session::Wire ();
use Session::World ();

my $cookie = $Session::World::cookie;
my $json = 'application/json';

# What is asked for, by whom, and what is the right answer, where LOGIN is who
# asks.  Others than alice are asked for bob's afterwards.

our @reads = (
    { name => 'up', path => '/up', right => '"status":"up"' },
    { name => 'sign-in form', path => '/sign_in', accept => 'text/html',
      right => 'name="password"' },
    { name => 'sign-out form', path => '/sign_out', who => 'alice',
      nobody => 200, right => '"signed_in":true' },
    { name => 'dashboard', path => '/dashboard', who => 'alice',
      nobody => 401, right => '"login":"LOGIN"' },
    { name => 'dashboard for people', path => '/dashboard', who => 'alice',
      nobody => 302, accept => 'text/html', right => '<p class="lead">LOGIN<' },
    { name => 'dashboard of nobody', path => '/dashboard', code => 401,
      right => 'unauthorized' },
    { name => 'actor', path => '/-/actor.json', who => 'alice', nobody => 200,
      right => '"login":"LOGIN"' },
    { name => 'actor of nobody', path => '/-/actor.json', right => 'null' },
    { name => 'versions', path => '/-/versions', right => '"module":' },
    { name => 'asset', path => 'CSS', right => '--' },
    { name => 'file', path => '/private', who => 'alice', nobody => 401,
      right => '\A(?:LOGIN\n)+\z' },
    { name => 'file, nobody', path => '/private', code => 401,
      right => 'unauthorized' },
    { name => 'file, to sign in', path => '/private', accept => 'text/html',
      code => 302, right => 'Found' },
    { name => 'app', path => '/app', who => 'alice', nobody => 401,
      right => '(?i)^X-Session-User: LOGIN$' },
    { name => 'app, nobody', path => '/app', code => 401,
      right => 'unauthorized' },
);

# What is changed: a sign-in, or the sessions that end, of two.

our @changes = (
    { name => 'sign in', path => '/sign_in', in => 1,
      right => '"ok":true' },
    { name => 'sign out', path => '/sign_out', ends => ['me'],
      right => '"ok":true' },
    { name => 'end one', path => '/dashboard', form => { action => 'end' },
      ref => 'other', ends => ['other'], right => '"ended":1' },
    { name => 'end itself', path => '/dashboard', form => { action => 'end' },
      ref => 'me', ends => ['me'], right => '"ended":1' },
    { name => 'end others', path => '/dashboard', ends => ['other'],
      form => { action => 'end_others' }, right => '"ended":1' },
    { name => 'body to the app', path => '/app', ends => [],
      form => { text => 'hello' x 20 }, right => 'text=(?:hello){20}' },
);

our @logins = qw(alice bob carol dave erin frank grace heidi);


# ---------------------------------------------------------------- nginx ---


# http2 => 1: by HTTP/2.  Ports: 8080; 8081 puts bodies into files; 8082 sends
# a byte a second; 8083 has as little room for what it sends as can be; 8084
# is for those who look on.

sub new {
    my ($class, $t, %arg) = @_;
    my $self = bless { t => $t, holds => Session::Holds->new($t), %arg },
                     $class;

    $t->write_file("html/of/$_", "$_\n" x 2000) for @logins;
    $self->{app} = $t->echo;
    $t->write_file_expand('nginx.conf', $self->configuration);

    my %env = $self->{holds}->env;
    local @ENV{ keys %env } = values %env;

    $t->run;
    $self->{log} = $t->log_size;
    $self->warm;

    return $self;
}


sub configuration {
    my ($self) = @_;
    my $http2 = $self->{http2} ? 'http2' : '';
    my $pages = $self->locations;
    my $servers = join '', map {
        my ($port, $options, $more) = @$_;
        "    server {\n        listen 127.0.0.1:%%PORT_$port%% $options;\n"
        . "        $more\n$pages    }\n"
    } ([8080, $http2, ''],
       [8081, $http2, 'client_body_in_file_only clean;'
                      . ' client_body_buffer_size 16;'],
       [8082, '', 'limit_rate 1;'], [8083, 'sndbuf=2k', ''],
       [8084, '', 'location = /status { stub_status; }']);

    return <<"END";
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    session_hash concurrent=1 queue=200 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
    session_lifetime 7d idle=1d touch=6h;
    session_limit 64;
    add_header X-User \$session_user always;
$servers}
END
}


sub locations {
    my ($self) = @_;
    my %page = ('/up' => 'up', '/sign_in' => 'sign_in',
                '/sign_out' => 'sign_out', '/dashboard' => 'dashboard',
                '/-/actor.json' => 'actor', '/-/versions' => 'versions');
    my $port = $self->{app}->port;
    my $text = '';

    $text .= "        location = $_ { session_page $page{$_}; }\n"
        for sort keys %page;

    return $text . <<"END";
        location /-/assets/ { session_page assets; }
        location = /private {
            session_require user;
            alias %%TESTDIR%%/html/of/\$session_user;
        }
        location = /app {
            session_require user;
            proxy_pass http://127.0.0.1:$port;
        }
END
}


# Everything has been used once, so what is open then is what stays open.

sub warm {
    my ($self) = @_;
    my $r = $self->look('/sign_in', Accept => 'text/html');
    my ($css) = $r->body =~ m{href="(/-/assets/[^"]+\.css)"}
        or die "no style in the form\n";

    $_->{path} =~ s/\ACSS\z/$css/ for @reads;

    for my $row (@reads, @changes) {
        my $wrong = $self->next_one($row);

        die "$row->{name}: $wrong\n" if $wrong ne '';
    }

    $self->quiet or die "the store does not come to rest\n";
    $self->alone or die "connections stay open\n";
    ($self->{worker}) = $self->{t}->workers;

    # those that the worker has for a moment, to look at its files, come and go
    $self->{descriptors} = min(map { $self->pass; descriptors($self->{worker}) }
                                   1 .. 20);
}


# By HTTP/1.1 and over a connection of its own.

sub look {
    my ($self, $path, @headers) = @_;

    return $self->{t}->client(number => 8084)
        ->get($path, Connection => 'close', @headers);
}


# -------------------------------------------------------------- requests ---


# A session of somebody, "me" or "other", that lives.

sub session {
    my ($self, $login, $which) = @_;

    return $self->{session}{$login}{$which} //= do {
        my $session = $self->{t}->session($login);

        $self->{live}{ $session->{token} } = $login;
        $session;
    };
}


# method, path, fields as a list of names in lower case and values, body.  Of
# somebody, with a session of theirs, or nobody.

sub request {
    my ($self, $row, $login, $me) = @_;
    my @fields = (accept => $row->{accept} // $json);
    my $read = !$row->{in} && !$row->{ends};

    $me //= $login && ($read ? $row->{who} : !$row->{in})
            && $self->session($login, 'me');

    push @fields, cookie => "$cookie=$me->{token}" if $me;

    return { method => 'GET', path => $row->{path}, fields => \@fields,
             body => '' } if $read;

    my %form = %{ $row->{form} || {} };
    my $other = $row->{path} eq '/dashboard'
                && $self->session($login, 'other');

    %form = (login => $login, password => $Session::World::password)
        if $row->{in};
    $form{_csrf} = $me->{csrf} if $me && $row->{path} ne '/app';
    $form{ref} = ($row->{ref} eq 'me' ? $me : $other)->{ref} if $row->{ref};

    my $body = Session::Client::encode_form(\%form);

    push @fields, 'sec-fetch-site' => 'same-origin',
        'content-type' => 'application/x-www-form-urlencoded',
        'content-length' => length $body;

    return { method => 'POST', path => $row->{path}, fields => \@fields,
             body => $body };
}


sub is_right {
    my ($self, $row, $login, $answer) = @_;
    my $nobody = $row->{who} && !$login;
    my $right = !$nobody && $row->{right} =~ s/LOGIN/$login/gr;
    my $code = $nobody ? $row->{nobody} : $row->{code} // 200;

    return 'no answer' if !$answer || !defined $answer->{code};
    return "answered $answer->{code}" if $answer->{code} ne $code;
    return 'nobody is somebody'
        if $nobody && join(' ', grep { defined } @$answer{qw(user body)})
                      =~ /alice|bob|carol/;
    return '' if $nobody;
    return "answered: " . substr $answer->{body}, 0, 99
        if $answer->{body} !~ /$right/m;
    return "answered as $answer->{user}"
        if $row->{who} && ($answer->{user} // $login) ne $login;

    return '';
}


# Somebody else asks for the same, or does it: in words what is wrong with it.

sub next_one {
    my ($self, $row, $whole) = @_;
    my $login = $row->{in} ? 'dave' : 'bob';
    my $answer = ($whole // $self->{whole})->($self->request($row, $login));
    my $wrong = $self->is_right($row, $login, $answer);

    $self->ended($login, @{ $row->{ends} || [] });

    return $wrong;
}


# They are over: nobody will be let in with them again.

sub ended {
    my ($self, $login, @which) = @_;

    for my $session (map { delete $self->{session}{$login}{$_} } @which) {
        delete $self->{live}{ $session->{token} };
        $self->{over}{ $session->{token} } = $login;
    }
}


# ----------------------------------------------------------------- cells ---


sub begin {
    my ($self, $row) = @_;
    my $login = $row->{in} ? 'carol' : 'alice';

    return { row => $row, login => $login,
             request => $self->request($row, $login) };
}


# What does not hold now that the client has gone away, in words; whole is
# another way for who asks next.

sub wrong {
    my ($self, $cell, $done, $whole) = @_;
    my @wrong;

    push @wrong, 'the connection is kept' if !$self->alone;
    push @wrong, map { $_ eq '' ? () : "the next one: $_" }
                     $self->next_one($cell->{row}, $_)
        for grep { defined } $whole, $self->{whole};

    push @wrong, $self->model($cell, $done);
    push @wrong, 'descriptors stay open'
        if !$self->{t}->wait_for(sub {
            descriptors($self->{worker}) <= $self->{descriptors} }, 20);
    push @wrong, 'temporary files: ' . join ' ', $self->temporary
        if $self->temporary;
    push @wrong, 'another worker: ' . join ' ', $self->{t}->workers
        if join(' ', $self->{t}->workers) ne $self->{worker};

    push @wrong, alarming(slurp($self->{t}->log_file, $self->{log}));
    $self->{log} = $self->{t}->log_size;

    return join '; ', @wrong;
}


# So many others may be connected.

sub alone {
    my ($self, $others) = @_;

    return $self->{t}->wait_for(sub {
        my ($n) = $self->look('/status')->body =~ /connections: (\d+)/;

        return $n == 1 + ($others // 0);
    }, 20);
}


# What the worker has yet to write might come before what a test waits for.

sub quiet {
    my ($self) = @_;

    return $self->{t}->wait_for(sub {
        my %stat = $self->{t}->sessionctl('stat', '--json')
                   =~ /"(\w+)":(\d+)/g;

        return $stat{change_last} == $stat{change_copied};
    }, 30);
}


sub temporary {
    my ($self) = @_;
    my $dir = $self->{t}->dir;

    return grep { -f } glob "$dir/{client_body,proxy}_temp/"
                            . '{*,*/*,*/*/*,*/*/*/*}';
}


# Who is signed in.  The next one's change came after this one's.

sub model {
    my ($self, $cell, $done) = @_;
    my ($row, $login) = @$cell{qw(row login)};

    return $self->model_in($login, $done) if $row->{in};

    my @wrong;

    for my $which (qw(me other)) {
        my $session = $self->{session}{$login}{$which} or next;
        my $ends = grep { $_ eq $which } @{ $row->{ends} || [] };
        my $expected = !$ends || !$done ? 200 : $done eq 'either' ? 0 : 401;
        my $code = 0;

        $self->{t}->wait_for(sub {
            $code = $self->code_of($session->{token});
            return $code == ($expected || $code);
        }, $ends && $done ? 20 : 0);

        push @wrong, "$which: $code" if $code != ($expected || $code)
                                        || $code !~ /\A(?:200|401)\z/;
        $self->ended($login, $which) if $code == 401;
    }

    return @wrong;
}


sub model_in {
    my ($self, $login, $done) = @_;
    my $n = -1;

    $self->{t}->wait_for(sub {
        $n = $self->count($login);
        return $done eq 'either' ? $n == 0 || $n == 1 : $n == $done;
    }, 20);

    my $wrong = $done eq 'either' ? $n != 0 && $n != 1 : $n != $done;

    $self->{t}->sessionctl('session', 'revoke', '--user', $login) if $n;

    return $wrong ? "signed in $n times" : ();
}


# Live sessions.

sub count {
    my ($self, $login) = @_;
    my $n = () = scalar($self->{t}->sessionctl('session', 'list', '--user',
                                               $login, '--json')) =~ /"ref"/g;

    return $n;
}


# What somebody with this token gets.

sub code_of {
    my ($self, $token) = @_;

    return $self->look('/private', Cookie => "$cookie=$token")->code;
}


# Everything that is known of sessions, once more: tokens of whom it is not
# true, after the worker has been killed as well.

sub untrue {
    my ($self) = @_;
    my @untrue;

    for my $kind (['live', 200], ['over', 401]) {
        my ($name, $code) = @$kind;

        push @untrue, grep { $self->code_of($_) != $code }
                      keys %{ $self->{$name} };
    }

    return @untrue;
}


# ----------------------------------------------------------------- holds ---

# Where a request waits that $send sends.  release() lets it go on, and tells
# what is wrong with those who were before it.

sub in_queue {
    my ($self, $cell, $send) = @_;

    $self->{holds}->hash('before');
    $self->before($cell, $changes[0], 'dave');
    $self->{holds}->hashing;
    $send->();
    $self->pass;
}


sub in_hash {
    my ($self, $when, $send) = @_;

    $self->{holds}->hash($when);
    $send->();
    $self->{holds}->hashing;
}


sub behind {
    my ($self, $cell, $send) = @_;
    my $hashed = $self->{holds}->hashes;

    $self->session('erin', 'me');
    $self->{holds}->commit;
    $self->before($cell, $changes[1], 'erin');
    $self->{holds}->committing;
    $send->();
    $self->{t}->wait_for(sub { $self->{holds}->hashes > $hashed })
        if $cell->{row}{in};
    $self->pass;
}


sub in_commit {
    my ($self, $send) = @_;

    $self->{holds}->commit;
    $send->();
    $self->{holds}->committing;
}


sub release {
    my ($self, $cell) = @_;
    my @wrong;

    $self->{holds}->release;

    for my $other (@{ delete $cell->{before} || [] }) {
        my $r = $other->receive;

        push @wrong, "who was before it is not answered\n"
            if !$r || $r->code != 200;
        $other->close;
    }

    return join '', @wrong;
}


# Somebody whose turn comes before.

sub before {
    my ($self, $cell, $row, $login) = @_;
    my $other = $self->{t}->client(number => 8084);

    $other->open;
    $other->send(plain($other, $self->request($row, $login)));
    push @{ $cell->{before} }, $other;
    $self->ended($login, @{ $row->{ends} || [] });
}


# A request as bytes of HTTP/1.1.

sub plain {
    my ($c, $request) = @_;

    return $c->format($request->{method}, $request->{path},
                      @{ $request->{fields} },
                      $request->{method} eq 'POST'
                      ? (body => $request->{body}) : ());
}


# Once the app has been asked, and until it is not any more.

sub app_is_asked {
    my ($self) = @_;
    my $port = sprintf '%04X', $self->{app}->port;

    $self->{t}->wait_for(sub {
        slurp('/proc/net/tcp') =~ /: [0-9A-F]{8}:$port \S+ 01 / })
        or die "the app is not asked\n";
}


# What has come to the worker before has been read when this returns.

sub pass { my ($self) = @_; $self->look('/up') for 1, 2 }


# How many requests are over, of a version of HTTP.

sub logged {
    my ($self, $version) = @_;
    my $n = () = slurp($self->{t}->dir . '/logs/access.log')
                 =~ m{ HTTP/\Q$version\E}g;

    return $n;
}


1;
