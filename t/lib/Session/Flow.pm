package Session::Flow;

# For what blocks cannot say: reloads, kills, several workers, sockets held
# open, flows of many steps.  Plain Perl suites on one object:
#
#     my $t = Session::Flow->new(workers => 2);
#
#     $t->write_file_expand('nginx.conf', <<'END');
#     %%GLOBALS%%
#     events { }
#     http {
#         %%GLOBALS_HTTP%%
#         server { listen 127.0.0.1:%%PORT_8080%%; ... }
#     }
#     END
#
#     $t->run;
#     is $t->client->get('/up')->code, 200;
#     $t->done;
#
# done() ends nginx and tests that it left no alert, no sanitizer report, no
# process, no listening port, and a whole store.  A log line that must be there
# is excused with $t->allow(qr/.../) before, a damaged store with
# $t->{damaged} = 1.

use strict;
use warnings;

use File::Path qw(make_path);
use File::Temp ();
use IO::Socket::INET ();
use Scalar::Util qw(weaken);
use Session::Client ();
use Session::Echo ();
use Session::Log qw(slurp);
use Session::Nginx ();
use Session::Wire ();
use Session::World ();
use Test::More ();

# The user that nginx's workers run as, for tests that are about rights.
our $nobody = 'nobody';

my @flows;


# workers (1), master (1), user (root's tests only; also owns the store),
# level of the error log (info), users (list for mint; the default ones), bare
# (1: no store is made; 'nginx': the module is not loaded either).

sub new {
    my ($class, %arg) = @_;
    my $dir = File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1,
                                 CLEANUP => !$ENV{TEST_NGINX_NO_CLEAN});
    my $self = bless { workers => 1, master => 1, level => 'info', dir => $dir,
                       ports => {}, allow => [], echo => [], owner => $$,
                       %arg }, $class;

    push @flows, $self;
    weaken($flows[-1]);

    chmod 0711, $dir;
    make_path("$dir/logs", "$dir/html", "$dir/world");

    if (!$arg{bare}) {
        $self->{world} = Session::World::fresh(dir => "$dir/world",
            defined $arg{user} ? (owner => $arg{user}) : (),
            $arg{users} ? (users => $arg{users}) : ());
    }

    $self->{nginx} = Session::Nginx->new(prefix => $dir,
        conf => "$dir/nginx.conf", error_log => "$dir/logs/error.log",
        pid_file => "$dir/logs/nginx.pid", output => "$dir/logs/output",
        valgrind => $ENV{TEST_NGINX_USE_VALGRIND});

    return $self;
}


sub dir { "$_[0]{dir}" }
sub store { $_[0]{world}{store} }
sub keys { $_[0]{world}{keys} }
sub world { $_[0]{world} }
sub nginx { $_[0]{nginx} }


# The real port behind the number that a configuration gives.

sub port {
    my ($self, $number) = @_;

    return $self->{ports}{$number // 8080} //= Session::Wire::free_port();
}


# -------------------------------------------------------------- files ---


sub write_file {
    my ($self, $name, $text) = @_;
    my $path = $name =~ m{\A/} ? $name : "$self->{dir}/$name";

    make_path($1) if $path =~ m{(.*)/};

    open my $out, '>:raw', $path or die "$path: $!\n";
    print $out $text;
    close $out or die "$path: $!\n";

    return $path;
}


sub write_file_expand {
    my ($self, $name, $text) = @_;

    $text =~ s/%%GLOBALS%%/$self->globals/ge;
    $text =~ s/%%GLOBALS_HTTP%%/$self->globals_http/ge;
    $text =~ s/%%PORT_(\d+)%%/$self->port($1)/ge;
    $text =~ s/%%TESTDIR%%/$self->{dir}/g;
    $text =~ s/%%STORE%%/$self->{world}{store}/g;
    $text =~ s/%%KEYS%%/$self->{world}{keys}/g;
    $text =~ s/%%MODULE%%/$Session::World::module/g;
    $text =~ s/%%PROJECT%%/$Session::World::project/g;

    return $self->write_file($name, $text);
}


sub globals {
    my ($self) = @_;
    my $user = $self->{user} // ($> == 0 ? 'root' : undef);
    my $master = $self->{master} ? 'on' : 'off';

    my $load = $self->{bare} && $self->{bare} eq 'nginx' ? ''
             : "load_module $Session::World::module;\n";

    return $load . <<"END" . (defined $user ? "user $user;\n" : '');
pid $self->{dir}/logs/nginx.pid;
error_log $self->{dir}/logs/error.log $self->{level};
worker_processes $self->{workers};
daemon off;
master_process $master;
env ASAN_OPTIONS;
env UBSAN_OPTIONS;
END
}


sub globals_http {
    my ($self) = @_;
    my $text = "access_log $self->{dir}/logs/access.log;\n"
        . join '', map { "${_}_temp_path $self->{dir}/${_}_temp;\n" }
                       qw(client_body proxy fastcgi scgi uwsgi);

    return $text if !$self->{world};
    return $text . "session_store $self->{world}{store};\n"
                 . "session_keys $self->{world}{keys};\n";
}


# A self-signed certificate: paths of certificate and key.

sub certificate {
    my ($self, $name) = @_;
    my ($crt, $key) = map { "$self->{dir}/$name.$_" } qw(crt key);

    system("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
           . "-nodes -days 2 -subj /CN=$name -addext subjectAltName=DNS:$name "
           . "-keyout $key -out $crt > $self->{dir}/openssl.log 2>&1") == 0
        or die slurp("$self->{dir}/openssl.log");

    return $crt, $key;
}


# -------------------------------------------------------------- nginx ---


sub run {
    my ($self) = @_;
    my $wrong = $self->{nginx}->start;

    return $self if !$wrong;

    Test::More::diag($self->log_tail);
    die "$wrong\n";
}


# "nginx -t": exit code and what it says.

sub test_config {
    my ($self) = @_;
    my @command = ($self->{nginx}{binary}, '-t', '-p', "$self->{dir}/", '-e',
                   "$self->{dir}/logs/error.log", '-c',
                   "$self->{dir}/nginx.conf");
    local $ENV{PATH} = "$ENV{PATH}:/usr/sbin:/sbin";

    unshift @command, "LD_PRELOAD='$ENV{TEST_NGINX_LD_PRELOAD}'"
        if $ENV{TEST_NGINX_LD_PRELOAD};

    my $text = `@command 2>&1`;

    return $? >> 8, $text;
}


sub reload {
    my ($self) = @_;
    my $wrong = $self->{nginx}->reload;

    Test::More::fail("reload: $wrong") if $wrong;

    return !$wrong;
}


sub workers { my ($self, $all) = @_; $self->{nginx}->workers($all) }


# Kills one worker and waits until the master has put another in its place.

sub kill_worker {
    my ($self, $signal, $pid) = @_;

    ($pid) = $self->workers if !defined $pid;

    $self->allow(qr/worker process $pid exited on signal/);
    kill $signal // 'KILL', $pid;

    my $replaced = Session::Wire::wait_until(sub {
        my @now = $self->workers;
        return @now == $self->{workers} && !grep { $_ == $pid } @now;
    }, $self->{nginx}->patience(30));

    Test::More::fail("worker $pid was not replaced") if !$replaced;

    return $pid;
}


sub stop {
    my ($self, $signal) = @_;

    push @{ $self->{wrong} }, $self->{nginx}->stop($signal);

    return $self;
}


# --------------------------------------------------------------- logs ---


sub log_file { "$_[0]{dir}/logs/error.log" }
sub log { slurp($_[0]->log_file) }
sub log_tail { Session::Log::tail($_[0]->log_file) }
sub log_size { -s $_[0]->log_file // 0 }
sub allow { my ($self, @patterns) = @_; push @{ $self->{allow} }, @patterns }


# Waits for a line; true if it came.  From: a position of log_size().

sub wait_log {
    my ($self, $pattern, $from, $seconds) = @_;

    return Session::Wire::wait_until(
        sub { slurp($self->log_file, $from) =~ $pattern },
        $seconds // $self->{nginx}->patience(30));
}


# ------------------------------------------------------------- actors ---


sub client {
    my ($self, %arg) = @_;

    return Session::Client->new(port => $self->port($arg{number} // 8080),
        timeout => $self->{nginx}->patience(30), %arg);
}


# A client with a live session: options as those of "mint session".

sub signed_in {
    my ($self, $login, %arg) = @_;
    my $session = $self->session($login, %arg);
    my $client = $self->client;

    $client->cookie($Session::World::cookie, $session->{token});
    @$client{qw(token ref csrf)} = @$session{qw(token ref csrf)};

    return $client;
}


sub session {
    my ($self, $login, %arg) = @_;

    return Session::World::session($self->{world}, $login, %arg);
}


sub echo {
    my ($self, $protocol) = @_;
    my $echo = Session::Echo->new($protocol);

    push @{ $self->{echo} }, $echo;

    return $echo;
}


sub sessionctl {
    my ($self, @command) = @_;
    local $ENV{SESSION_STORE} = $self->{world}{store};

    open my $out, '-|', "$Session::World::build/sessionctl", @command
        or die "sessionctl: $!\n";
    my $text = do { local $/; <$out> } // '';
    close $out;

    return wantarray ? ($? >> 8, $text) : $text;
}


sub wait_for { my ($self, @rest) = @_; Session::Wire::wait_until(@rest) }


# ---------------------------------------------------------------- end ---


# The free assertions, and the end of the plan.

sub done {
    my ($self) = @_;

    return if $self->{done}++;

    $self->stop;
    $_->stop for @{ $self->{echo} };

    my @alarms = Session::Log::alarming($self->log, $self->{allow});
    my @wrong = grep { defined } @{ $self->{wrong} || [] };
    my @busy = grep {
        IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $_)
    } values %{ $self->{ports} };

    Test::More::is(join("\n", @alarms), '', 'no alert in error.log');
    Test::More::is(join("\n", @wrong), '', 'nginx ended in peace');
    Test::More::is("@busy", '', 'no port is left open');
    Test::More::is(join("\n", Session::World::problems($self->{world})), '',
                   'the store is whole')
        if $self->{world} && !$self->{damaged};

    Test::More::diag("--- end of error.log\n", $self->log_tail, "\n---")
        if !Test::More->builder->is_passing;
    Test::More::done_testing() if !Test::More->builder->has_plan;
}


# Without done() nginx is ended all the same, and the test has failed.

sub abandon {
    my ($self) = @_;

    return if $self->{done}++ || $self->{owner} != $$;

    local ($?, $@);

    $self->{nginx}->stop if $self->{nginx};
    $_->stop for @{ $self->{echo} };

    Test::More::diag("--- end of error.log\n", $self->log_tail, "\n---");
    Test::More::fail('done() was not called');
}


sub DESTROY { $_[0]->abandon }


END {
    $_ && $_->abandon for @flows;
}


1;
