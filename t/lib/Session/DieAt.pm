package Session::DieAt;

# Orders to t/tools/die_at.c: whoever of a group of processes comes to a named
# point next dies there, or stops.
#
#     my $nginx = Session::DieAt->new($t, 'nginx');
#     { local @ENV{...} = $nginx->env; $t->run }
#     $nginx->order('commit', 2, 'KILL');
#     my ($pid, $when) = $t->wait_for(sub { $nginx->taken });

use strict;
use warnings;

use Config;
use Session::SignIn qw(compiled);
use Session::Wire ();

our @points = qw(read begin put commit page sync synced meta committed told
                 open);

# Where only commands come by that write a file of their own, or walk.
our @others = qw(walk copy file filed link linked);

my $i = 0;
my %point = map { $_ => ++$i } @points, @others;
my %signal;
my $shim;

@signal{ split ' ', $Config{sig_name} } = split ' ', $Config{sig_num};


sub new {
    my ($class, $t, $name) = @_;
    my $self = bless { file => $t->dir . "/die.$name" }, $class;

    $shim //= compiled($t, 'die_at');

    open my $out, '+>:raw', $self->{file} or die "$self->{file}: $!\n";
    $self->{out} = $out;
    $self->put(0, (0) x 6);

    return $self;
}


# What nginx is to be started with, and what any other command.

sub nginx_env {
    my ($self) = @_;

    return (DIE_AT => $self->{file},
            TEST_NGINX_LD_PRELOAD => join ':', grep { defined && length }
                                     $ENV{TEST_NGINX_LD_PRELOAD}, $shim);
}

sub env { (DIE_AT => $_[0]{file}, LD_PRELOAD => $shim) }


sub put {
    my ($self, $at, @numbers) = @_;

    sysseek $self->{out}, $at * 8, 0;
    syswrite $self->{out}, pack 'q<*', @numbers;
}

sub look {
    my ($self) = @_;

    sysseek $self->{out}, 0, 0;
    sysread $self->{out}, my $bytes, 48;

    return unpack 'q<*', $bytes;
}


# The point comes last: with it the order stands.

sub order {
    my ($self, $point, $passes, $signal) = @_;

    $self->put(1, $passes, $signal{$signal}, 0, 0);
    $self->put(0, $point{$point} // die "no point $point\n");
}


# Once it has been carried out: [pid, seconds of the monotonic clock].

sub taken {
    my ($self) = @_;
    my ($point, undef, undef, $pid, $when) = $self->look;

    return $pid && !$point ? [$pid, $when / 1e9] : undef;
}


# Takes it back; what taken() gives, if somebody was faster.

sub withdraw {
    my ($self) = @_;
    my ($point) = $self->look;

    if ($point) {
        $self->put(0, 0);

        # somebody may have come between the two

        return $self->taken;
    }

    return Session::Wire::wait_until(sub { $self->taken }, 10);
}


1;
