package Session::Bench::Run;

# One line of a table: requests of one kind to one server, beside the floor if
# there is one, and what the rounds measured.
#
#   group, title, and what else tables tell of it
#   case, floor     sides: { request => see Session::Bench::Generator,
#                            pid => the process whose tree is the server }
#   optional        1: a failure leaves it out, and fails nothing
#
# A turn that got a wrong answer leaves the line out: {why}.

use strict;
use warnings;

use Session::Bench;
use Session::Bench::Generator;


sub new {
    my ($class, %arg) = @_;

    return bless { score => {}, %arg }, $class;
}


# The turns of one round, one right after the other; which comes first changes
# with the round.  Round 0 warms up and does not count.

sub round {
    my ($self, $round, $seconds) = @_;
    my @sides = grep { $self->{$_} } qw(floor case);
    my %got;

    return if $self->{why};

    for my $side ($round % 2 ? @sides : reverse @sides) {
        $got{$side} = eval { $self->measure($self->{$side}, $seconds) };

        # Nothing at all comes where others hold the core for a whole turn.
        $got{$side} = eval { $self->measure($self->{$side}, 3 * $seconds) }
            if !$got{$side} && $@ =~ /: no answers\n/;

        next if $got{$side};

        print STDERR $@;
        $self->{why} = ($@ =~ s/\n.*//sr) =~ s{http://127\.0\.0\.1:\d+}{}gr;

        return;
    }

    return if !$round;

    for my $side (@sides) {
        push @{ $self->{score}{$side}{$_} }, $got{$side}{$_}
            for keys %{ $got{$side} };
    }
}


# Requests per second, latencies in ms, and the processor time of all of the
# server's processes for a request, in us.

sub measure {
    my ($self, $side, $seconds) = @_;
    my $before = tree_seconds($side->{pid});
    my $turn = Session::Bench::Generator::turn($side->{request}, $seconds);
    my $cpu = tree_seconds($side->{pid}) - $before;

    return { %$turn{qw(rate p50 p99)}, cpu => $cpu / $turn->{requests} * 1e6 };
}


# Of each round: cpu, rate, p50 or p99 of the case or the floor.

sub values {
    my ($self, $side, $what) = @_;

    return @{ $self->{score}{$side}{$what} || [] };
}


# Of each round, how many times the processor time of the floor, or of a side
# of another line.

sub ratios {
    my ($self, $other, $side) = @_;
    my @of = ($other // $self)->values($side // 'floor', 'cpu');
    my @cpu = $self->values('case', 'cpu');
    my $n = @of < @cpu ? @of : @cpu;

    return map { $of[$_] > 0 ? $cpu[$_] / $of[$_] : () } 0 .. $n - 1;
}


1;
