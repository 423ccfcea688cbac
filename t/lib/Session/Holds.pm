package Session::Holds;

# Keeps an nginx in the middle of a hash or of a commit, for as long as a test
# needs it there.
#
#     my $holds = Session::Holds->new($t);
#     { my %env = $holds->env; local @ENV{ keys %env } = values %env; $t->run }
#     $holds->commit;
#     ...                       # something is changed
#     $holds->committing;
#     ...                       # and is being written for so long
#     $holds->release;

use strict;
use warnings;

use Session::Log qw(slurp);
use Session::SignIn qw(compiled);


sub new {
    my ($class, $t) = @_;

    return bless { t => $t, sync => $t->dir . '/hold', held => [],
                   hashes => $t->dir . '/hashes',
                   shims => [map { compiled($t, $_) }
                                 qw(count_hash hold_sync)] }, $class;
}


# What nginx is to be started with.

sub env {
    my ($self) = @_;

    return (COUNT_HASH => $self->{hashes}, HOLD_SYNC => $self->{sync},
            TEST_NGINX_LD_PRELOAD => join ':', grep { defined && length }
                $ENV{TEST_NGINX_LD_PRELOAD}, @{ $self->{shims} });
}


# Hashes, "before" or "after" they are made; how many have begun.

sub hash {
    my ($self, $when) = @_;

    $self->{t}->write_file("$self->{hashes}.$when", '');
    push @{ $self->{held} }, "$self->{hashes}.$when", "$self->{hashes}.held";
}

sub hashing {
    my ($self) = @_;

    $self->{t}->wait_for(sub { -e "$self->{hashes}.held" })
        or die "no hash is held\n";
}

sub hashes { my ($self) = @_; slurp($self->{hashes}) =~ tr/\n// }


# Commits to the sessions.  The events have theirs when they like.

sub commit {
    my ($self) = @_;
    my $new = $self->{t}->write_file("$self->{sync}.new", 'sessions.v1.mdb');

    rename $new, $self->{sync} or die "$self->{sync}: $!\n";
    push @{ $self->{held} }, $self->{sync}, "$self->{sync}.waiting";
}

sub committing {
    my ($self) = @_;

    $self->{t}->wait_for(sub { -e "$self->{sync}.waiting" })
        or die "no commit is held\n";
}


sub release {
    my ($self) = @_;

    unlink splice @{ $self->{held} };
}


1;
