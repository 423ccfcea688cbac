package Session::Faults::Requests;

# An nginx that goes through scenarios (Session::Faults::Scenarios) while
# something fails: what each may answer, and what must be true afterwards.

use strict;
use warnings;

use Session::Faults ();
use Session::Flow ();
use Session::Log ();
use Session::SignIn qw(configuration);
use Session::World ();
use Time::HiRes qw(sleep time);

my $cookie = $Session::World::cookie;
my @json = (Accept => 'application/json');

# nothing of a response, for nginx had to close
my @failed = (0, 500, 503);

# what nginx itself says of the same faults, and we where a worker cannot start
my $ours = qr/\((?:5|11|12|13|23|24|28|37|38):[ ]|malloc|memalign
              |no[ ]keys[ ]for[ ]realm.*allocate
              |keys":[ ](?:cannot[ ]be[ ]opened|no[ ]memory)
              |exited[ ]with[ ]fatal[ ]code[ ]2/x;


# One nginx for all of them.

sub new {
    my ($class, %arg) = @_;
    my $fault = Session::Faults->new(children => 1);

    $Session::World::module = Session::Faults::module()
                              // $Session::World::module;

    my $t = Session::Flow->new(users => [qw(ann sam:admin cap lee oth)]);
    my %env = $fault->env('TEST_NGINX_LD_PRELOAD');
    my $self = bless { fault => $fault, t => $t, echo => $t->echo, %arg },
        $class;

    @ENV{keys %env} = values %env;
    $t->allow(qr/\[crit\]/, $ours);
    $t->write_file('html/private', "secret\n");
    $t->write_file('html/ssi.html', '(<!--#include virtual="/private" -->)');
    $t->write_file_expand('nginx.conf', $self->text);
    $t->run;
    $self->{ann} = $t->session('ann');

    my @wrong = $self->works(30);

    die "nginx does not work: @wrong\n" if @wrong;

    return $self;
}


sub text {
    my ($self) = @_;
    my $app = 'http://127.0.0.1:' . $self->{echo}->port;

    return configuration(http => <<'END', server => <<"MORE");
    session_throttle account=10000r/15m address=10000r/15m;
    session_hash concurrent=2 queue=100 timeout=9s;
    server {
        listen 127.0.0.1:%%PORT_8081%%;
        session_limit 3;
        location = /sign_in { session_page sign_in; }
    }
END
        location = /dashboard { session_page dashboard; }
        location = /ssi.html { ssi on; send_timeout 10s; }
        location = /app { session_require user; proxy_pass $app; }
        location = /open { session on; proxy_pass $app; }
        location = /socket { session_require user; proxy_pass $app; }
MORE
}


# ------------------------------------------------------------ requests ---


sub client {
    my ($self, $session) = @_;
    my $client = $self->{t}->client(timeout => 20);

    if ($session) {
        $client->cookie($cookie, $session->{token});
        @$client{qw(token ref csrf)} = @$session{qw(token ref csrf)};
    }

    return $client;
}


sub private {
    my ($self, $session) = @_;
    my $r = $self->client($session)->get('/private', @json);

    return $r ? $r->code : 0;
}


# The refs of a user's live sessions.

sub live {
    my ($self, $login) = @_;

    return join ' ', sort scalar($self->{t}->sessionctl('session', 'list',
        '--user', $login, '--json')) =~ /"ref":\s*"([^"]+)"/g;
}


# The live ones become these again, soon, or are some of them, where the oldest
# had to make room.

sub again {
    my ($self, $login, $expected) = @_;
    my $now;

    $self->{t}->wait_for(sub {
        my %had = map { $_ => 1 } split ' ', $expected;

        $now = $self->live($login);

        return !grep { !$had{$_} } split ' ', $now;
    }, 3) && split(' ', $now) + 1 >= split(' ', $expected) and return;

    return "$login had ($expected), has ($now)";
}


# Everybody is who they are.

sub works {
    my ($self, $seconds) = @_;
    my @codes;
    my $right = sub {
        @codes = ($self->private($self->{ann}), $self->private);
        return "@codes" eq '200 401';
    };

    return if $seconds ? $self->{t}->wait_for($right, $seconds) : $right->();
    return "afterwards: @codes";
}


# ----------------------------------------------------------- one fault ---


# What is seen of the fault, then what was wrong.

sub try {
    my ($self, $s, $fault) = @_;
    my ($seen, @wrong) = $self->once($s, $fault);

    return ($seen, @wrong) if !$self->{grown} || @wrong;

    # LMDB keeps lists that have grown, a leak goes on

    for (1 .. 4) {
        (undef, @wrong) = $self->once($s, $fault);
        return ($seen, @wrong) if @wrong || !$self->{grown};
    }

    return ($seen, "leaks: $self->{grown} more again and again");
}


sub once {
    my ($self, $s, $fault) = @_;
    my $t = $self->{t};
    my $x = { $s->{make} ? $s->{make}->($self) : () };
    my ($pid) = $t->workers;
    my $from = $t->log_size;
    my $files = files($pid);

    $self->{fault}{children} = !$s->{own};

    my $before = $self->settled($self->{fault}->alive);
    my $began = time;

    $self->{fault}->arm($fault->{name}, $fault->{n}, on => $fault->{on},
                        way => $fault->{way});

    my $r = $s->{act}->($self, $x);
    my $code = ref $r ? $r->code : $r // 0;

    sleep $s->{settle} if $s->{settle};

    my $took = time - $began;
    my $seen = $self->{fault}->disarm;

    $x->{client}->close if $x->{client};

    my @wrong = $self->changed($s, $pid, $from);
    my $known = $seen->{hits} ? $self->known($s, $from) : {};
    my %may = map { $_ => 1 } @{ $s->{may} }, @{ $known->{may} // [] },
                              $seen->{hits} ? @failed : ();

    push @wrong, "$code is not an answer" if !$may{$code};
    push @wrong, sprintf 'it took %.1f s', $took
        if $took > ($known->{seconds} // 8);
    push @wrong, $s->{then}->($self, $x, $code, $r) if $s->{then};
    push @wrong, $self->said($from);
    $self->{grown} = 0;

    if (!@wrong && !$s->{patient} && join(' ', $t->workers) eq $pid) {
        $self->{grown} = $self->settled($before) - $before;
        push @wrong, 'descriptors: ' . files($pid) . " after $files"
            if !$t->wait_for(sub { files($pid) <= $files }, 1);
    }

    return ($seen, @wrong);
}


# What nginx makes of a fault of its own, where it has said that it had one.

sub known {
    my ($self, $s, $from) = @_;
    my $text = Session::Log::slurp($self->{t}->log_file, $from);

    return $s->{nginx} && $text =~ $s->{nginx}{says} ? $s->{nginx} : {};
}


sub files { my @fd = glob "/proc/$_[0]/fd/*"; scalar @fd }


# Blocks in use, as soon as there are no more than before.

sub settled {
    my ($self, $before) = @_;

    $self->{t}->wait_for(sub { $self->{fault}->alive <= $before }, 0.3);

    my $now = $self->{fault}->alive;

    return $now > $before ? $now : $before;
}


# The worker is there, or has said why not and has a successor.

sub changed {
    my ($self, $s, $pid, $from) = @_;
    my $t = $self->{t};
    my $says = sub { Session::Log::slurp($t->log_file, $from) =~ $_[0] };

    return $self->started($says) if $s->{patient};

    if ($says->(qr/this worker ends, and the next one opens it again/)) {
        return 'no successor' if !$t->wait_for(sub {
            my @now = $t->workers;
            return @now == 1 && $now[0] != $pid;
        }, 30);

        return $self->works(30);
    }

    return $self->works;
}


# There is a worker that works.  Where it could not start for want of memory
# or threads, nginx does not try again, and is started.

sub started {
    my ($self, $says) = @_;
    my $t = $self->{t};
    my $fatal = qr/exited with fatal code 2/;

    $t->wait_for(sub {
        return $says->($fatal) || ($t->workers && !$self->works);
    }, 30);

    if ($says->($fatal)) {
        $t->stop;
        $t->run;
    }

    return $self->works(30);
}


sub said {
    my ($self, $from) = @_;

    return Session::Log::alarming(
        Session::Log::slurp($self->{t}->log_file, $from), $self->{t}{allow});
}


# The scenario without a fault, so that what is kept is kept; then each
# family's n rises.  Returns what was wrong.

sub run {
    my ($self, $s, %arg) = @_;
    my @wrong;

    for (1 .. 3) {
        my (undef, @now) = $self->once($s, { name => 'nothing', n => 1 });
        return map { "without a fault: $_" } @now if @now;
    }

    for my $family (@{ $arg{families} }) {
        push @wrong, $self->{fault}->rise(sub { $self->try($s, $_[0]) },
                                          %arg, name => $family);
    }

    return @wrong;
}


sub done { $_[0]{t}->done }


1;
