package Session::Power;

# A folder whose files are recorded (t/tools/record_disk.c) and, replayed up to
# any moment, looked at (t/tools/power_cut.c):
#
#     my $p = Session::Power->new;
#     $p->try('1', 'init');  $p->ctl('init', $p->store);  $p->ok('1');
#     is $p->replay(cuts => 1000), '', 'whenever the power goes';

use strict;
use warnings;

use Digest::SHA qw(sha256);
use File::Temp ();
use MIME::Base64 qw(decode_base64url);
use Session::World ();

my $recorder;
my $home;


# drop, slow, slow_at: as record_disk.c says.  root: a folder that is there,
# with a store in it; else an empty one, where syncing costs nothing if there
# is such a place.

sub new {
    my ($class, %arg) = @_;

    $home //= File::Temp->newdir('ngx_session-XXXXXXXX', CLEANUP => 1,
        DIR => -w '/dev/shm' ? '/dev/shm' : $ENV{TMPDIR} // '/tmp');

    my $dir = File::Temp->newdir(DIR => "$home", CLEANUP => 1);
    my $self = bless { dir => $dir, cuts => 1000, every => 1, %arg }, $class;

    $self->{log} = "$dir/log";
    $self->{root} //= "$dir/root";
    mkdir $self->{root};

    open my $out, '>', $self->{log} or die $!;
    chmod 0666, $self->{log};

    if ($arg{root}) {
        $self->copy($self->store, 'base/store');
        $self->{base} = "$dir/base";
    }

    return $self;
}


sub store { "$_[0]{root}/store" }
sub dir { "$_[0]{dir}" }


# A copy of a store, or of its lock files, below the folder of this object.

sub copy {
    my ($self, $from, $to) = @_;
    my $dir = "$self->{dir}/$to";

    system('mkdir', '-p', $dir) == 0
        && system("cp -a --sparse=always $from/* $dir") == 0 or die "$dir\n";
}


# What a process needs in its environment to be recorded.

sub env {
    my ($self) = @_;

    if (!$recorder) {
        my $cc = $ENV{CC} // 'cc';

        $recorder = "$home/record_disk.so";
        system("$cc -shared -fPIC -O1 -o $recorder "
               . "$Session::World::project/t/tools/record_disk.c") == 0
            or die "record_disk.c does not compile\n";
    }

    return (RECORD_ROOT => $self->{root}, RECORD_LOG => $self->{log},
            RECORD_DROP => $self->{drop} // '',
            RECORD_SLOW => $self->{slow} // '',
            RECORD_SLOW_AT => $self->{slow_at} // '',
            LD_PRELOAD => $recorder);
}


# --------------------------------------------------------------- notes ---


sub try { my ($self, @words) = @_; $self->note(join ' ', 'try', @words) }
sub ok { my ($self, @words) = @_; $self->note(join ' ', 'ok', @words) }

sub note {
    my ($self, $text) = @_;

    open my $log, '>>:raw', $self->{log} or die $!;
    syswrite $log, pack('LLQQqqLL', 0x52574f50, 1, 0, 0, 0, 0, 0,
                        length $text) . $text;
}


# The key of a token, as notes have it.

sub key_of {
    my ($token) = @_;
    my $id = substr decode_base64url($token), 1, 21;

    return unpack 'H*', substr($id, 0, 4) . substr(sha256($id), 0, 12);
}


# ----------------------------------------------------------- processes ---


# A recorded process; what it says goes to a file.

sub start {
    my ($self, @command) = @_;
    my %env = $self->env;
    my $pid = fork // die "fork: $!\n";

    if ($pid == 0) {
        @ENV{ keys %env } = values %env;
        open STDOUT, '>>', "$self->{dir}/out";
        open STDERR, '>>', "$self->{dir}/out";
        exec @command or POSIX::_exit(127);
    }

    return $pid;
}

sub wait_all {
    my ($self, @pids) = @_;
    my $failed = 0;

    for (@pids) {
        waitpid $_, 0;
        $failed ||= $?;
    }

    return !$failed;
}

sub run { my ($self, @command) = @_; $self->wait_all($self->start(@command)) }

sub ctl {
    my ($self, @command) = @_;

    return $self->run("$Session::World::build/sessionctl", @command);
}

sub tool { "$Session::World::build/power_cut" }


# Changes of all kinds by so many processes at once, and one that copies.

sub load {
    my ($self, $processes, $changes, $seed) = @_;
    my @pids = map {
        $self->start($self->tool, 'load', $self->store, chr(96 + $_),
                     ($seed // 0) + $_, $changes)
    } 1 .. $processes;

    push @pids, $self->start($self->tool, 'copy', $self->store,
                             $changes * 20);

    return $self->wait_all(@pids);
}


# -------------------------------------------------------------- replay ---


# '' or what is wrong; $self->{said} is all of it.  Options as those of
# "power_cut replay".

sub replay {
    my ($self, %arg) = @_;

    $self->copy($self->store, 'now/store') if !$self->{now}++;

    if (!$self->{locks}++) {
        mkdir "$self->{dir}/locks";
        system("cp $self->{dir}/now/store/*-lock $self->{dir}/locks");
    }

    $arg{base} = $self->{base} if $self->{base};
    $arg{locks} //= "$self->{dir}/locks";
    $arg{cuts} //= $self->{cuts};
    $arg{every} //= $self->{every};

    my @command = ('nice', $self->tool, 'replay', $self->{log},
                   "$self->{dir}/cut",
                   map { ("--$_", $arg{$_}) } sort keys %arg);

    open my $in, '-|', @command or die "power_cut: $!\n";
    $self->{said} = do { local $/; <$in> } // '';
    close $in;

    Test::More::note($self->{said});

    return $? == 0 && $self->{said} =~ / 0 wrong$/ ? ''
           : "$self->{said}power_cut ended with $?";
}


1;
