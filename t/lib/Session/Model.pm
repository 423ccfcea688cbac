package Session::Model;

# Who is signed in, as far as those know who were answered.  Processes that
# work on one nginx write down what they asked, when, and what came back; the
# judge (Session::Judge) holds every answer against all of it:
#
#     my $m = Session::Model->new($t);
#     my $load = $m->load(people => 3, readers => 1);
#     ...
#     $m->fault(sub { kill KILL => $pid; ... });   # answers may be missing
#     ...
#     is $m->verdict($load), '', 'every answer was right';
#
# A line of the journal is written in one piece; the times are those of the
# monotonic clock, which all processes share:
#
#     in    from to login token answer        a sign-in
#     out   from to login token answer        a sign-out
#     ctl   from to login token answer        sessionctl: token or "*"
#     name  from to login value answer        sessionctl user name
#     get   from to login token answer name   who and what the answer says
#     fault from to what                      when answers may be missing
#
# An answer is a status code, or "none".  Of sessionctl it is its exit code.

use strict;
use warnings;

use Session::Client ();
use Session::Judge ();
use Session::Log ();
use Session::SignIn qw(load_start load_stop);
use Session::Wire ();
use Session::World ();
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my @json = (Accept => 'application/json', 'Sec-Fetch-Site' => 'same-origin');

# What the server has to say in every answer.
our $headers = <<'END';
        add_header X-User $session_user always;
        add_header X-Name $session_name always;
END


sub new {
    my ($class, $t, %arg) = @_;
    my $self = bless { t => $t, dir => $t->dir . '/model', keep => 20,
                       known => [], read => {}, %arg }, $class;

    mkdir $self->{dir};

    return $self;
}


sub now { clock_gettime(CLOCK_MONOTONIC) }


# Whether a process still has its sockets.  Whom nobody waits for stays behind
# without them; its other threads may take longer than the first.

sub alive {
    my ($pid) = @_;
    my @threads = glob "/proc/$pid/task/*";

    return @threads > 1
           || Session::Log::slurp("/proc/$pid/stat") =~ /\) [^ZX] /;
}


# ------------------------------------------------------------- journal ---


# Reads are in files of their own, for nobody but the judge asks for them.

sub note {
    my ($self, $kind, $from, $to, @words) = @_;
    my $file = $kind eq 'get' ? "asked.$$" : 'changed';
    my $out = $self->{out}{"$$ $file"} //= do {
        open my $new, '>>:raw', "$self->{dir}/$file" or die "$file: $!\n";
        $new;
    };
    my $line = sprintf "%s %.6f %.6f %s\n", $kind, $from, $to, "@words";

    syswrite($out, $line) == length $line or die "$file: $!\n";
}


# All lines, in no order.

sub lines {
    my ($self) = @_;
    my @lines;

    for my $file (glob "$self->{dir}/*") {
        open my $in, '<:raw', $file or die "$file: $!\n";
        push @lines, map { [split ' '] } <$in>;
    }

    return @lines;
}


# Tokens that have come up since, whoever got them.

sub learn {
    my ($self) = @_;

    open my $in, '<:raw', "$self->{dir}/changed" or return;
    seek $in, $self->{read}{$$} // 0, 0;

    while (my $line = <$in>) {
        last if $line !~ /\n\z/;

        $self->{read}{$$} = tell $in;

        my ($kind, undef, undef, $login, $token) = split ' ', $line;

        push @{ $self->{known} }, $token
            if $kind =~ /\A(?:in|mint)\z/ && $token ne '-';
    }
}


# How many changes have been answered.

sub changes { -s "$_[0]{dir}/changed" // 0 }


# While this runs, and no longer, answers may be missing or 503.

sub fault {
    my ($self, $what, $do) = @_;
    my $from = now();
    my @value = $do->();

    $self->note('fault', $from, now(), $what);

    return wantarray ? @value : $value[0];
}


# ------------------------------------------------------------ requests ---


# The answer, and when it was asked for and there.  A connection that is kept
# may have been closed just then; what changes nothing is asked again.

sub exchange {
    my ($self, $c, $method, $path, @headers) = @_;
    my $bytes = $c->format($method, $path, @headers);

    $c->close if $method ne 'GET';

    for (1 .. 2) {
        my $kept = $c->usable;
        my $from = now();
        my $r = ($kept || $c->open) && $c->send($bytes) && $c->receive;

        undef $r if $r && ($r->error || !$r->code);
        $self->{unsure}++ if $c->{sock} && $method ne 'GET'
                             && (!$r || $r->code >= 500);
        $c->close if !$r;

        return ($r, $from, now()) if $r || !$kept;
    }
}


sub answer { my ($r) = @_; $r ? $r->code : 'none' }
sub said { my ($r, $name) = @_; $r && length $r->header($name)
                                ? $r->header($name) =~ s/\s/_/gr : '-' }


# Asks for something that only a session opens, or for the path given.

sub ask {
    my ($self, $c, $token, $path, @headers) = @_;

    push @headers, Cookie => "$Session::World::cookie=$token"
        if $token ne '-';

    my ($r, $from, $to) = $self->exchange($c, 'GET', $path // '/private',
                                          @headers);

    $self->note('get', $from, $to, said($r, 'X-User'), $token, answer($r),
                said($r, 'X-Name'));

    return $r;
}


# The token, or nothing.

sub sign_in {
    my ($self, $c, $login) = @_;

    $c->forget($Session::World::cookie);

    my ($r, $from, $to) = $self->exchange($c, 'POST', '/sign_in', @json,
        'Content-Type' => 'application/x-www-form-urlencoded',
        body => Session::Client::encode_form(
            { login => $login, password => $Session::World::password }));
    my $token = $r && $r->code == 200
                && $c->cookie($Session::World::cookie);

    $self->note('in', $from, $to, $login, $token || '-', answer($r));

    return $token;
}


sub sign_out {
    my ($self, $c, $login, $token) = @_;
    my ($r, $from, $to) = $self->exchange($c, 'DELETE', '/sign_out', @json,
        Cookie => "$Session::World::cookie=$token");

    $self->note('out', $from, $to, $login, $token, answer($r));

    return answer($r);
}


# A session that mint made.

sub mint {
    my ($self, $login, %arg) = @_;
    my $from = now();
    my $session = $self->{t}->session($login, %arg);

    $self->note('mint', $from, now(), $login, $session->{token}, 200);

    return $session;
}


# Runs sessionctl, in an environment: its exit code, 128 and the signal if it
# was killed; it is by the alarm, if it waits for ever.

sub sessionctl {
    my ($self, $env, @command) = @_;
    my $pid = fork // die "fork: $!\n";

    if ($pid == 0) {
        @ENV{ keys %$env } = values %$env;
        $ENV{SESSION_STORE} = $self->{t}->store;
        open STDOUT, '>>', "$self->{dir}/../sessionctl.out";
        open STDERR, '>&', \*STDOUT;
        alarm 60;
        exec "$Session::World::build/sessionctl", @command
            or POSIX::_exit(127);
    }

    waitpid $pid, 0;

    return $? & 127 ? 128 + ($? & 127) : $? >> 8;
}


# Ends a session, or all of a user, who can sign in again when it returns.

sub revoke {
    my ($self, $login, $session, $env) = @_;

    return $self->end($login, $session ? $session->{token} : '*', $env,
                      'session', 'revoke',
                      $session ? $session->{ref} : ('--user', $login));
}

sub disable {
    my ($self, $login, $env) = @_;
    my $code = $self->end($login, '*', $env, 'user', 'disable', $login);

    $self->sessionctl({}, 'user', 'enable', $login) == 0
        or Test::More::fail("$login cannot be enabled");

    return $code;
}

sub end {
    my ($self, $login, $token, $env, @command) = @_;
    my $from = now();
    my $code = $self->sessionctl($env || {}, @command);

    $self->note('ctl', $from, now(), $login, $token, $code);

    return $code;
}


sub name {
    my ($self, $login, $name, $env) = @_;
    my $from = now();
    my $code = $self->sessionctl($env || {}, 'user', 'name', $login, $name);

    $self->note('name', $from, now(), $login, $name, $code);

    return $code;
}


# ---------------------------------------------------------------- load ---


sub client {
    my ($self) = @_;

    return $self->{t}->client($self->{timeout}
                              ? (timeout => $self->{timeout}) : ());
}


# People, who are "p0", "p1" ...: each signs in, looks, and mostly out again,
# and looks once more.  Some sessions are kept, fewer than session_limit.
# Leavers, "l0", "l1" ..., and browsers, "b0", "b1" ..., are told of below.
# Readers ask for whatever token has come up.  All of them say '', for the judge
# knows more than they do.

sub load {
    my ($self, %arg) = @_;
    my @load;

    $self->{people} = $arg{people};
    push @load, @{ load_start($arg{people}, sub { $self->person(@_) }) }
        if $arg{people};
    push @load, @{ load_start($arg{leavers}, sub { $self->leaver(@_) }) }
        if $arg{leavers};
    push @load, @{ load_start($arg{browsers}, sub { $self->browser(@_) }) }
        if $arg{browsers};
    push @load, @{ load_start($arg{readers}, sub { $self->reader }) }
        if $arg{readers};

    return \@load;
}


# Who was not answered may have left a session; before there are as many as
# session_limit would end, it is somebody else's turn.

sub person {
    my ($self, $number) = @_;
    my $turn = int(($self->{unsure} // 0) / 15);
    my $login = 'p' . ($number + $self->{people} * $turn);
    my $c = $self->{client} //= $self->client;
    my $token = $self->sign_in($c, $login);

    # nobody is there: as soon as somebody is
    select undef, undef, undef, 0.005 if !$token;
    return '' if !$token;

    $self->ask($c, $token);

    if (rand() < 0.3) {
        push @{ $self->{mine} }, [$login, $token];

        return '' if @{ $self->{mine} } <= $self->{keep};

        ($login, $token) = @{ shift @{ $self->{mine} } };
    }

    $self->sign_out($c, $login, $token);
    $self->ask($c, $token);

    return '';
}


# Leaves, for which nothing has to be hashed, and asks until it is known.

sub leaver {
    my ($self, $number) = @_;
    my $login = "l$number";
    my $c = $self->{client} //= $self->client;
    my $token = $self->mint($login)->{token};

    while ($self->sign_out($c, $login, $token) !~ /\A(?:200|401|403)\z/) {
        select undef, undef, undef, 0.005;
    }

    $self->ask($c, $token);

    return '';
}


# Somebody with a browser: a few sessions, each in a jar of its own, and pages
# that renew the cookie; a byte in turn.N when all have been looked at.

sub browser {
    my ($self, $number) = @_;
    my $login = "b$number";
    my $jars = $self->{jars} //= [map { $self->client } 1 .. 3];

    for my $c (@$jars) {
        $self->sign_in($c, $login)
            or return '' if !$c->cookie($Session::World::cookie);

        for my $path ('/private', '/dashboard', '/private') {
            $self->ask($c, $c->cookie($Session::World::cookie), $path,
                       Accept => 'text/html');
        }
    }

    # one leaves, and comes again; the others stay for good
    $self->sign_out($jars->[0], $login,
                    $jars->[0]->cookie($Session::World::cookie));
    $jars->[0]->forget($Session::World::cookie);

    open my $turn, '>>', $self->turns($number) or die $!;
    syswrite $turn, '.';

    return '';
}

sub turns { my ($self, $number) = @_; "$self->{t}{dir}/turn.$number" }


sub reader {
    my ($self) = @_;
    my $c = $self->{client} //= $self->client;

    $self->learn;
    $c->close if $self->{fresh};
    srand if !$self->{seeded}++;

    my $known = $self->{known};

    # what is new changes most
    my $at = rand() < 0.5 && @$known > 10 ? @$known - 1 - int rand 10
                                          : int rand @$known;

    $self->ask($c, @$known ? $known->[$at] : '-');

    # one asks often enough without it, and all is read again by the judge
    select undef, undef, undef, $self->{pause} if $self->{pause};

    return '';
}


# Ends the load; asks for each session once more, of a server that is well, but
# with keys => 0, after which the first tokens need not be good any more; then
# the words of the judge, '' if there is nothing to say.

sub verdict {
    my ($self, $load, %arg) = @_;
    my ($calls, @wrong) = load_stop($load || []);
    my $c = $self->{t}->client;

    $self->learn;
    $self->ask($c, $_) for $arg{keys} // 1 ? @{ $self->{known} } : ();
    $self->ask($c, '-');

    my $judge = $self->{judge} = Session::Judge->new($self->lines);

    push @wrong, $judge->wrong;

    Test::More::diag($judge->counts);

    return join "\n", @wrong > 20 ? (@wrong[0 .. 19], '...') : @wrong;
}


sub judge { $_[0]{judge} }


1;
