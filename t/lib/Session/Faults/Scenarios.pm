package Session::Faults::Scenarios;

# What a fault may come into (Session::Faults::Requests).  Each scenario:
#
#     name, make    what is prepared without a fault, a list of pairs
#     act           the request: its response, or a word
#     may           the codes it answers with, beside failures under a fault
#     then          what must hold afterwards; what does not, in words
#     settle        seconds for what is done after the answer
#     patient       the worker is another one afterwards
#     own           the master has faults as well
#     nginx         what nginx makes of a fault in its own code: says, its lines
#                   in the log; and then may, more codes; seconds, how long

use strict;
use warnings;

use Exporter qw(import);
use Session::Log ();
use Session::SignIn qw(prepared attempt);
use Session::World ();

our @EXPORT_OK = qw(reads writes starts);

my $cookie = $Session::World::cookie;
my @json = (Accept => 'application/json');
my @html = (Accept => 'text/html');


# ------------------------------------------------------ faults of nginx ---


my $memory = qr/(?:malloc|posix_memalign)\([^)]+\)[ ]failed[ ]\(12:/x;

# To nginx, memory that ends while it sends a request to an upstream is a fault
# of that upstream.  No code of ours runs there.

my $upstream = { may => [502],
    says => qr/$memory [^\n]* while sending request to upstream, / };

# ngx_http_subrequest() makes the subrequest the one that may send, and then
# allocates its places in two queues: three pointers, two pointers.  Without
# one of these SSI goes on with a subrequest that nobody runs, and the request
# waits for it until send_timeout.  Where something of ours is not allocated,
# family "pool" has the same fault without these lines.

my $subrequest = { seconds => 15,
    says => qr/\*(\d+)[ ]malloc\((?:16|24)\)[ ]failed[ ]\(12:[^\n]*
               "GET[ ]\/ssi\.html[ ]HTTP\/1\.1",[ ]host:
               .*\*\1[ ]client[ ]timed[ ]out[ ]\(110:/sx };


# ---------------------------------------------------------------- reads ---


sub reads {
    my ($self) = @_;
    my $t = $self->{t};

    $self->{junk} = { token => 'A' x 72 };
    $self->{old} = $t->session('ann', created => -9999999, seen => -9999999);
    $self->{unknown} = Session::World::unknown($t->world);

    return (
        get('a protected file, nobody', '/private', '', [401], \&hidden,
            @json),
        get('a protected file, a browser', '/private', '', [302, 303],
            \&hidden, @html),
        get('a protected file, a session', '/private', 'ann', [200], undef,
            @json),
        get('a protected file, expired', '/private', 'old', [401], \&hidden,
            @json),
        get('a protected file, no such session', '/private', 'unknown', [401],
            \&hidden, @json),
        get('a protected file, junk', '/private', 'junk', [401], \&hidden,
            @json),
        get('the form', '/sign_in', '', [200], undef, @html),
        get('the form in JSON', '/sign_in', '', [200], undef, @json),
        get('the dashboard', '/dashboard', 'ann', [200], \&named, @html),
        get('the dashboard in JSON', '/dashboard', 'ann', [200], \&named,
            @json),
        get('the dashboard, nobody', '/dashboard', '', [401], undef, @json),
        get('who it is', '/-/actor.json', 'ann', [200], \&named, @json),
        get('up', '/up', '', [200]),
        by($subrequest, get('SSI, nobody', '/ssi.html', '', [200], \&hidden,
            @html)),
        by($subrequest, get('SSI', '/ssi.html', 'ann', [200], undef, @html)),
        by($upstream, get('an app', '/app', 'ann', [200], \&named,
            'X-Session-Login' => 'mallory', 'X_Session-Roles' => 'admin')),
        get('an app, nobody', '/app', '', [401], \&not_mallory, @json,
            'X-Session-Login' => 'mallory'),
        by($upstream, get('an app for all', '/open', '', [200], \&not_mallory,
            'X-Session-Login' => 'mallory')),
        by($upstream, get('a handshake', '/socket', 'ann', [200], undef,
            Upgrade => 'websocket', Connection => 'Upgrade')),
        get('a handshake from elsewhere', '/socket', 'ann', [403], undef,
            Upgrade => 'websocket', Connection => 'Upgrade',
            Origin => 'http://evil.example'),
    );
}


sub get {
    my ($name, $path, $who, $may, $then, @headers) = @_;

    return { name => $name, may => $may, then => $then,
        act => sub {
            my ($self, $x) = @_;

            $x->{client} = $self->client($who && $self->{$who});

            return $x->{client}->get($path, @headers);
        } };
}


sub by { my ($nginx, $s) = @_; return { %$s, nginx => $nginx } }


# What has come, whole or not.

sub came {
    my ($x, $r) = @_;

    return ($r ? $r->body : '') . ($x->{client}{in} // '');
}


sub hidden {
    my ($self, $x, $code, $r) = @_;

    return came($x, $r) =~ /secret/ ? 'shown to nobody' : ();
}


sub not_mallory {
    my ($self, $x, $code, $r) = @_;

    return came($x, $r) =~ /\bmallory\b/ ? 'an identity was invented' : ();
}


# What is somebody's says whose, and no other name.

sub named {
    my ($self, $x, $code, $r) = @_;

    return if $code != 200;
    return 'an identity was invented' if $r->body =~ /\bmallory\b/;
    return $r->body =~ /\bann\b/ ? () : 'nobody is named';
}


# ------------------------------------------------------------- signing in ---


sub signing {
    my ($name, $login, $password, $may, %arg) = @_;

    return { name => $name, may => $may, settle => $arg{settle},
        make => sub {
            my ($self) = @_;
            my $client = prepared($self->{t});

            $client->close;
            $client->{timeout} = 20;
            $client->{port} = $self->{t}->port($arg{port});
            bounded($self, $login) if !$arg{fill} && !$arg{unknown};
            fill($self, $login, $arg{fill}) if $arg{fill};

            return (client => $client,
                    live => $arg{unknown} ? '' : $self->live($login));
        },
        act => sub {
            my ($self, $x) = @_;
            my $bytes = attempt($x->{client}, $login, $password);

            return if !$x->{client}->open || !$x->{client}->send($bytes);
            return $x->{client}->receive;
        },
        then => sub { signed($arg{unknown} ? '' : $login, @_) } };
}


sub signed {
    my ($login, $self, $x, $code) = @_;
    my $token = $x->{client}->cookie($cookie);

    if ($code == 200) {
        return 'no cookie' if !defined $token;
        return if $self->private({ token => $token }) == 200;
        return 'the session is not there';
    }

    return 'a cookie' if defined $token;
    return $login eq '' ? () : $self->again($login, $x->{live});
}


# So many live sessions.

sub fill {
    my ($self, $login, $n) = @_;
    my $have = split ' ', $self->live($login);

    $self->{t}->session($login) for $have + 1 .. $n;
}


sub bounded {
    my ($self, $login) = @_;

    $self->{t}->sessionctl('session', 'revoke', '--user', $login)
        if ++$self->{made}{$login} % 8 == 0;
}


# --------------------------------------------------------------- changes ---


sub writes {
    return (
        signing('signing in', 'sam', undef, [200]),
        signing('a wrong password', 'sam', 'wrong', [401], settle => 0.3),
        signing('an unknown user', 'nobody', 'wrong', [401], settle => 0.3,
                unknown => 1),
        signing('one session too many', 'cap', undef, [200], fill => 3,
                port => 8081),
        { name => 'signing out', may => [200],
          make => sub { somebody($_[0], 0) },
          act => sub { change($_[1], '/sign_out', {}) },
          then => \&ended },
        { name => 'ending one', may => [200],
          make => sub { somebody($_[0], 1) },
          act => sub { change($_[1], '/dashboard',
              { action => 'end', ref => $_[1]{other}{ref} }) },
          then => \&ended_other },
        { name => 'ending the others', may => [200],
          make => sub { somebody($_[0], 1) },
          act => sub { change($_[1], '/dashboard',
                              { action => 'end_others' }) },
          then => \&ended_other },
        { name => 'a use', may => [200], settle => 0.3,
          make => sub { somebody($_[0], 0, created => -7200,
                                 seen => -7000) },
          act => sub { $_[1]{client}->get('/private', @json) },
          then => \&used },
    );
}


# A client with a session of lee, and another session.

sub somebody {
    my ($self, $more, @options) = @_;

    bounded($self, 'lee');

    my $session = $self->{t}->session('lee', @options);

    return (session => $session, client => $self->client($session),
            $more ? (other => $self->{t}->session('lee')) : ());
}


sub change {
    my ($x, $path, $fields) = @_;

    return $x->{client}->post($path, $fields, @json,
                              'X-CSRF-Token' => $x->{client}{csrf});
}


# Signed out, or not and still with the cookie.

sub ended {
    my ($self, $x, $code) = @_;
    my $now = $self->private($x->{session});

    return "answered $code, but the session lives"
        if $code == 200 && $now != 401;
    return 'the cookie is gone, but the session lives'
        if $now == 200 && !defined $x->{client}->cookie($cookie);
    return "answered $code, but the session is over"
        if $code == 503 && $now != 200;
    return;
}


sub ended_other {
    my ($self, $x, $code) = @_;
    my $now = $self->private($x->{other});

    return 'the own session is over' if $self->private($x->{session}) != 200;
    return "answered $code, but the other one lives"
        if $code == 200 && $now != 401;
    return "answered $code, but the other one is over"
        if $code == 503 && $now != 200;
    return;
}


sub used {
    my ($self, $x) = @_;

    return $self->private($x->{session}) == 200 ? ()
                                                : 'a use has ended the session';
}


# ------------------------------------------------------- workers, reload ---


sub starts {
    return (
        { name => 'a worker starts', patient => 1, may => ['up', 'down'],
          act => \&restart },
        { name => 'a reload', patient => 1, may => ['up', 'down'],
          act => \&reload, own => 1 },
    );
}


sub restart {
    my ($self) = @_;
    my ($pid) = $self->{t}->workers;

    kill TERM => $pid;

    return seen_up($self, $pid);
}


sub reload {
    my ($self) = @_;
    my ($pid) = $self->{t}->workers;

    kill HUP => $self->{t}->nginx->pid;

    return seen_up($self, $pid);
}


# Until another worker answers, or nginx has said that there will be none.
# While the store is not open nobody gets in.

sub seen_up {
    my ($self, $old) = @_;
    my $t = $self->{t};
    my $from = $t->log_size;

    my $up = $t->wait_for(sub {
        return 'down' if Session::Log::slurp($t->log_file, $from)
                         =~ /exited with fatal code 2|\[emerg\]|\[crit\]/;

        my @now = grep { $_ != $old } $t->workers;
        my $r = @now && $self->client->get('/up');

        return $r && $r->code == 200 ? 'up' : '';
    }, 5);

    return 'down' if !$t->workers;
    return 'shown' if $self->private == 200;
    return $up || 'down';
}


1;
