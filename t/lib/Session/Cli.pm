package Session::Cli;

# Runs sessionctl: plainly, with all that went in and came out, or on a
# terminal of its own, with somebody who types.

use strict;
use warnings;

use Exporter qw(import);
use File::Copy qw(copy);
use File::Temp ();
use IO::Select ();
use JSON::PP ();
use POSIX ();
use Session::World ();

our @EXPORT_OK = qw(sessionctl json typed in_dir user_of);

our $binary = $ENV{SESSIONCTL} // "$Session::World::build/sessionctl";

-x $binary or die "no $binary: run make sessionctl\n";

my $home = File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1,
                              CLEANUP => 1);
my $made = 0;

chmod 0711, $home;

# It is run as other users as well, and the project may lie in a home of ours
# that is closed to them.
copy($binary, "$home/sessionctl") && chmod 0755, "$home/sessionctl"
    or die "$home/sessionctl: $!\n";
$binary = "$home/sessionctl";

# Nothing of the caller's surroundings counts.
delete $ENV{SESSION_STORE};


# A path in a fresh folder of this process.

sub in_dir {
    my ($name) = @_;
    my $dir = "$home/" . ++$made;

    mkdir $dir, 0755 or die "$dir: $!\n";

    return $name eq '' ? $dir : "$dir/$name";
}


# { code, out, err }.  A hash at the end: stdin (text), stdout (a file), env,
# as (user id and group id).

sub sessionctl {
    my %arg = ref $_[-1] ? %{ pop @_ } : ();
    my @command = @_;
    my $dir = File::Temp->newdir(DIR => "$home", CLEANUP => 1);

    put("$dir/in", $arg{stdin} // '');

    my $pid = fork // die "fork: $!\n";

    if ($pid == 0) {
        open STDIN, '<', "$dir/in" or POSIX::_exit(126);
        open STDOUT, '>', $arg{stdout} // "$dir/out" or POSIX::_exit(126);
        open STDERR, '>', "$dir/err" or POSIX::_exit(126);

        %ENV = (%ENV, %{ $arg{env} || {} });
        become(@{ $arg{as} }) if $arg{as};

        # no terminal to ask on
        POSIX::setsid();

        exec { $binary } 'sessionctl', @command or POSIX::_exit(127);
    }

    waitpid $pid, 0;

    return { code => $? & 127 ? 128 + ($? & 127) : $? >> 8,
             out => $arg{stdout} ? '' : get("$dir/out"),
             err => get("$dir/err") };
}


# What --json prints, decoded.

sub json {
    my $run = sessionctl(@_);

    die "sessionctl @_: exit code $run->{code}: $run->{err}"
        if $run->{code};

    return JSON::PP->new->utf8->decode($run->{out});
}


# On a terminal: waits for each prompt and types the answer that follows it.
# { code, seen }; ends with the terminal's settings in seen.

sub typed {
    my ($command, @talk) = @_;
    my $shell = join ' ', map { my $w = s/'/'\\''/gr; "'$w'" }
                $binary, @$command;

    pipe my $in, my $keys or die "pipe: $!\n";
    pipe my $screen, my $out or die "pipe: $!\n";

    my $pid = fork // die "fork: $!\n";

    if ($pid == 0) {
        open STDIN, '<&', $in;
        open STDOUT, '>&', $out;
        open STDERR, '>&', $out;
        close $_ for $keys, $screen, $in, $out;

        exec 'script', '-qefc', "$shell; code=\$?; stty -a; exit \$code",
             '/dev/null' or POSIX::_exit(127);
    }

    close $in;
    close $out;
    $keys->autoflush(1);

    my $seen = '';
    my $at = 0;

    while (my ($prompt, $answer) = splice @talk, 0, 2) {
        read_until($screen, \$seen, sub {
            substr($seen, $at) =~ $prompt or return 0;
            $at += $+[0];
            return 1;
        });

        print $keys $answer;
    }

    read_until($screen, \$seen, sub { 0 });
    close $keys;
    waitpid $pid, 0;

    return { code => $? >> 8, seen => $seen };
}


# To the end of the output, or until it is as wanted; gives up after a while.

sub read_until {
    my ($screen, $seen, $enough) = @_;
    my $select = IO::Select->new($screen);

    until ($enough->()) {
        return if !$select->can_read(30);
        return if !sysread $screen, $$seen, 4096, length $$seen;
    }
}


sub become {
    my ($uid, $gid) = @_;

    $) = "$gid $gid";
    $( = $gid;
    POSIX::setuid($uid);
    $> == $uid or POSIX::_exit(125);
}


# User and group id of somebody who is not root: [uid, gid], the name.

sub user_of {
    for my $name (qw(nobody www-data)) {
        my (undef, undef, $uid, $gid) = getpwnam $name;

        return ([$uid, $gid], $name) if defined $uid;
    }

    return;
}


sub get {
    my ($file) = @_;

    open my $in, '<:raw', $file or return '';
    local $/;

    return scalar(<$in>) // '';
}


sub put {
    my ($file, $text) = @_;

    open my $out, '>:raw', $file or die "$file: $!\n";
    print $out $text;
    close $out or die "$file: $!\n";
}


1;
