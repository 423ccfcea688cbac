package Session::Judge;

# Holds answers against what was acknowledged before they were asked for.  The
# lines are those of Session::Model's journal.
#
# A session is live from when its sign-in was answered until somebody begins to
# end it.  From then on it is unknown, until the end is answered, or anybody is
# told that it is over: from then on it is ended, and nobody who asks later may
# be let in.  An end that was not answered leaves it unknown.
#
# A name that was answered is read by everybody who asks later, and nobody
# reads an older one than somebody before.

use strict;
use warnings;

use List::Util qw(min);
use MIME::Base64 qw(decode_base64url);


sub new {
    my ($class, @lines) = @_;
    my $self = bless { session => {}, name => {}, fault => [], get => [],
                       end => [], change => [], wrong => [], count => {} },
                     $class;

    $self->fault(@$_) for grep { $_->[0] eq 'fault' } @lines;
    $self->take(@$_) for sort { $a->[1] <=> $b->[1] }
                         grep { $_->[0] ne 'fault' } @lines;
    $self->end(@$_) for @{ $self->{end} };
    $self->get(@$_) for @{ $self->{get} };

    return $self;
}


sub wrong { @{ $_[0]{wrong} } }

# All that were answered, as lists that begin with both times.
sub reads { grep { $_->[4] =~ /\A(?:200|401)\z/ } @{ $_[0]{get} } }
sub changes { @{ $_[0]{change} } }

sub counts {
    my ($self) = @_;

    return join ', ', map { "$self->{count}{$_} $_" }
                      sort keys %{ $self->{count} };
}


# The same session under whatever key its token is signed.

sub id { substr decode_base64url($_[0]), 1, 21 }


# --------------------------------------------------------------- lines ---


sub fault {
    my ($self, $kind, $from, $to, $what) = @_;

    push @{ $self->{fault} }, [$from, $to, $what];
    $self->{count}{faults}++;
}


sub take {
    my ($self, $kind, $from, $to, @rest) = @_;
    my ($login, $token, $answer) = @rest;

    $self->{count}{"$kind $answer"}++;

    if ($kind eq 'get') {
        push @{ $self->{get} }, [$from, $to, @rest];
        return;
    }

    push @{ $self->{change} }, [$from, $to, $kind]
        if $answer =~ /\A(?:0|200|303)\z/ && $kind ne 'mint';

    if ($kind eq 'name') {
        push @{ $self->{name}{$login} },
            { from => $from, to => $to, value => $token, done => !$answer };

    } elsif ($kind eq 'in' || $kind eq 'mint') {
        $self->missing('sign-in', $from, $to, $answer) if $answer ne 200;

        $self->{session}{ id($token) } =
            { from => $from, to => $to, login => $login, begun => 9e99,
              over => 9e99 }
            if $token ne '-';

    } else {
        push @{ $self->{end} }, [$kind, $from, $to, @rest];
    }
}


# Sign-ins that an end of all of a user's sessions overlaps may be before it or
# after.

sub end {
    my ($self, $kind, $from, $to, $login, $token, $answer) = @_;
    my $done = $answer eq ($kind eq 'ctl' ? 0 : 200);

    if ($kind eq 'ctl') {
        $self->say("sessionctl: exit code $answer", $from)
            if !$done && $answer != 137;

    } elsif (!$done && !$self->refused($from, $to, $token, $answer)) {
        $self->missing('sign-out', $from, $to, $answer);
    }

    for my $session ($token eq '*'
                     ? grep { $_->{login} eq $login && $_->{from} < $to }
                            values %{ $self->{session} }
                     : $self->{session}{ id($token) } // ())
    {
        $session->{begun} = min($session->{begun}, $from);
        $session->{over} = min($session->{over}, $to)
            if $done && $session->{to} <= $from;
    }
}


# A sign-out of a session that is over, or may be.

sub refused {
    my ($self, $from, $to, $token, $answer) = @_;
    my $session = $self->{session}{ id($token) } or return 1;

    return $answer =~ /\A40[13]\z/ && $session->{begun} < $to;
}


sub get {
    my ($self, $from, $to, $login, $token, $answer, $name) = @_;
    my $session = $token ne '-' && $self->{session}{ id($token) };

    if ($answer eq '401') {
        $self->say("401 for a live session of $session->{login}", $from, $to)
            if $session && $session->{begun} > $to;

        $session->{over} = min($session->{over}, $to) if $session;

    } elsif ($answer eq '200') {
        return $self->say('200 for nobody', $from) if !$session;

        $self->say("200 for a session of $session->{login} that was over",
                   $from, $session->{over})
            if $session->{over} <= $from;
        $self->say("$login where $session->{login} is signed in", $from)
            if $login ne $session->{login};
        $self->read_name($login, $name, $from, $to);

    } else {
        $self->missing('request', $from, $to, $answer);
    }
}


sub read_name {
    my ($self, $login, $name, $from, $to) = @_;
    my $writes = $self->{name}{$login} or return;
    my ($first) = grep { $writes->[$_]{done} && $writes->[$_]{to} <= $from }
                  reverse 0 .. $#$writes;
    my ($at) = grep { $writes->[$_]{value} eq $name
                      && $writes->[$_]{from} < $to } 0 .. $#$writes;

    return $self->say("$login is \"$name\", which was never said", $from)
        if !defined $at && defined $first;
    return if !defined $at;

    $self->say("$login is \"$name\" again", $from)
        if defined $first && $at < $first;

    # whoever asks after this was answered reads it, or something newer
    $writes->[$at]{done} = 1;
    $writes->[$at]{to} = min($writes->[$at]{to}, $to);
}


# --------------------------------------------------------------- words ---


# No answer, or none but "come again": right only if it was during a fault.
# While somebody holds the write lock, only changes may be put off.

sub missing {
    my ($self, $what, $from, $to, $answer) = @_;

    return if $answer =~ /\A(?:none|50[0234])\z/
              && grep { $_->[0] <= $to && $_->[1] >= $from
                        && !($_->[2] eq 'held' && $what eq 'request') }
                      @{ $self->{fault} };

    $self->say("$what: $answer", $from, $to);
}


sub say {
    my ($self, $what, @times) = @_;

    push @{ $self->{wrong} },
        join ' ', $what, map { sprintf '%.3f', $_ } @times;
}


# For each fault of a kind the time until a change that began after it had begun
# was answered, and until somebody was let in: two lists, in order.

sub recovery {
    my ($self, $what) = @_;
    my @reads = grep { $_->[4] eq '200' } @{ $self->{get} };
    my @faults = grep { $_->[2] eq $what } @{ $self->{fault} };

    return map { after(\@faults, $_) } $self->{change}, \@reads;
}


sub after {
    my ($faults, $answers) = @_;
    my @sorted = sort { $a->[0] <=> $b->[0] } @$answers;
    my (@least, @times);

    # of all that begin here or later, the first that ends
    for my $i (reverse 0 .. $#sorted) {
        $least[$i] = min($sorted[$i][1], $least[$i + 1] // 9e99);
    }

    for my $fault (@$faults) {
        my ($low, $high) = (0, scalar @sorted);

        while ($low < $high) {
            my $middle = int(($low + $high) / 2);

            if ($sorted[$middle][0] < $fault->[0]) {
                $low = $middle + 1;

            } else {
                $high = $middle;
            }
        }

        push @times, $low < @sorted ? $least[$low] - $fault->[0] : 9e99;
    }

    return [sort { $a <=> $b } @times];
}


# "p50 12 ms, p90 ..., max ..." of a list in order.

sub spread {
    my ($times) = @_;

    return 'none' if !@$times;
    return join ', ',
        (map { sprintf 'p%d %.0f ms', $_,
               $times->[int($#$times * $_ / 100)] * 1000 } 50, 90, 99),
        sprintf 'max %.0f ms', $times->[-1] * 1000;
}


1;
