package Session::Nginx;

# One nginx under test: start, reload, stop, kill a worker, and know whether it
# went in peace.  It runs in the foreground as our child, so a crash is an exit
# status and not a guess.  Methods return nothing when all is well, else what
# is wrong in words.

use strict;
use warnings;

use POSIX qw(WNOHANG);
use Session::Log qw(process_tree slurp);
use Session::Wire ();

# A test that is interrupted still cleans up; of one that is killed the kernel
# tells nginx: prctl(PR_SET_PDEATHSIG, SIGTERM).
for my $signal (qw(HUP INT TERM)) {
    $SIG{$signal} //= sub { exit 1 };
}

my %prctl = (x86_64 => 157, aarch64 => 167);
my $prctl = $prctl{ (POSIX::uname())[4] };

our $suppressions = __FILE__ =~ s{lib/Session/Nginx\.pm\z}{valgrind.supp}r;


# prefix, conf, error_log and pid_file are paths; options are command line
# options of nginx.

sub new {
    my ($class, %arg) = @_;

    return bless { binary => $ENV{TEST_NGINX_BINARY} || 'nginx',
                   output => "$arg{prefix}/output", %arg }, $class;
}


# Under valgrind everything takes its time.

sub patience { $_[0]{valgrind} ? 120 : $_[1] }
sub pid { $_[0]{pid} }
sub running { $_[0]{pid} && !$_[0]->reap }


sub command {
    my ($self) = @_;
    my @command = ($self->{binary}, '-p', "$self->{prefix}/", '-e',
                   $self->{error_log}, '-c', $self->{conf},
                   @{ $self->{options} || [] });

    return @command if !$self->{valgrind};

    return ('valgrind', '-q', '--num-callers=50', '--leak-check=full',
            '--show-leak-kinds=definite', '--errors-for-leak-kinds=definite',
            '--error-exitcode=99',
            (-f $suppressions ? "--suppressions=$suppressions" : ()),
            @command);
}


sub spawn {
    my ($self) = @_;
    my $pid = fork // die "fork: $!\n";

    if ($pid == 0) {
        if ($ENV{TEST_NGINX_LD_PRELOAD}) {
            $ENV{LD_PRELOAD} = $ENV{TEST_NGINX_LD_PRELOAD};
        }

        $ENV{PATH} = ($ENV{PATH} // '/usr/bin:/bin') . ':/usr/sbin:/sbin';
        $SIG{$_} = 'DEFAULT' for qw(PIPE HUP INT TERM);
        syscall $prctl, 1, 15, 0, 0, 0 if $prctl;

        open STDIN, '<', '/dev/null';
        open STDOUT, '>', $self->{output};
        open STDERR, '>&', \*STDOUT;

        my @command = $self->command;
        exec { $command[0] } @command or POSIX::_exit(127);
    }

    delete $self->{status};
    $self->{pid} = $pid;
}


# The wait status once the process is gone.

sub reap {
    my ($self) = @_;

    return 1 if exists $self->{status};
    return if waitpid($self->{pid}, WNOHANG) == 0;

    $self->{status} = $?;

    return 1;
}


sub start {
    my ($self) = @_;

    unlink $self->{pid_file};
    $self->spawn;

    Session::Wire::wait_until(
        sub { $self->reap || -s $self->{pid_file} }, $self->patience(30));

    return $self->say("nginx did not start") if $self->reap;
    return if -s $self->{pid_file};

    $self->slay;

    return $self->say("nginx wrote no pid file");
}


# For configurations that must be refused: the exit code, or -1 when it runs
# all the same (and is ended).

sub start_and_die {
    my ($self) = @_;

    unlink $self->{pid_file};
    $self->spawn;

    Session::Wire::wait_until(
        sub { $self->reap || -s $self->{pid_file} }, $self->patience(30));

    if (!$self->reap) {
        $self->stop;
        return -1;
    }

    return $self->{status} & 127 ? 128 + ($self->{status} & 127)
                                 : $self->{status} >> 8;
}


sub say {
    my ($self, $what) = @_;
    my $output = slurp($self->{output});

    return $output =~ /\S/ ? "$what: $output" : $what;
}


# Pids of the workers that serve; with a true argument also of those that are
# shutting down.

sub workers {
    my ($self, $all) = @_;
    my (undef, @children) = process_tree($self->{pid});

    return grep {
        my $title = slurp("/proc/$_/cmdline");
        $title =~ /worker process/ && ($all || $title !~ /shutting down/)
    } @children;
}


# Until the new workers have taken over.  Old ones may still be finishing
# requests, but accept no connection any more.

sub reload {
    my ($self) = @_;
    my %old = map { $_ => 1 } $self->workers(1);
    my $from = -s $self->{error_log} // 0;
    my $refused;

    kill HUP => $self->{pid} or return "nginx is gone";

    my $done = Session::Wire::wait_until(sub {
        $refused = slurp($self->{error_log}, $from) =~ /(\[emerg\].*)/ && $1;
        return 1 if $refused || $self->reap;

        my @serving = $self->workers;

        return @serving && !grep { $old{$_} } @serving;
    }, $self->patience(60));

    return "reload refused: $refused" if $refused;
    return "nginx died at reload" if $self->reap;
    return "reload did not end" if !$done;
    return;
}


# Ends nginx with the signal and waits for it and all it started.

sub stop {
    my ($self, $signal) = @_;
    my @wrong;

    return if !$self->{pid};

    my @tree = $self->reap ? () : process_tree($self->{pid});

    if (!$self->reap) {
        kill $signal // 'QUIT', $self->{pid};

        if (!Session::Wire::wait_until(sub { $self->reap },
                                       $self->patience(30)))
        {
            push @wrong, 'nginx does not end';
            $self->slay;
        }
    }

    my $status = $self->{status} // 0;

    push @wrong, 'nginx died of signal ' . ($status & 127)
        if $status & 127 && !@wrong;
    push @wrong, 'nginx exited with ' . ($status >> 8)
        if $status >> 8 && !@wrong;

    my $left = sub { grep { -d "/proc/$_" } @tree };

    if (!Session::Wire::wait_until(sub { !$left->() }, $self->patience(20))) {
        push @wrong, "processes left behind: @{[ $left->() ]}";
        kill KILL => $left->();
    }

    delete $self->{pid};

    push @wrong, Session::Log::reports($self->{output});
    push @wrong, "see $self->{output}:\n" . slurp($self->{output})
        if $self->{valgrind} && @wrong;

    return @wrong;
}


sub slay {
    my ($self) = @_;

    kill KILL => process_tree($self->{pid});
    Session::Wire::wait_until(sub { $self->reap }, 10);
}


1;
