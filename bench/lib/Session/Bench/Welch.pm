package Session::Bench::Welch;

# Are two samples of times from one distribution?  Welch's t-test as dudect
# uses it (Reparaz, Balasch, Verbauwhede: Dude, is my code constant time?,
# 2017): over all measurements, and over those below each of a hundred
# percentiles of both samples together, for what is slow is slow because of
# others.  The largest |t| counts.

use strict;
use warnings;

use Exporter qw(import);
use Session::Bench qw(median);

our @EXPORT = qw(welch told_apart);

# dudect's: beyond it the samples differ (chance: seven in a million for one t)
our $threshold = 4.5;

my $crops = 100;


# Times are whole numbers.  Returns the medians of one and other, t and the
# percentage of the measurements it is of, and shows: how far apart the means
# must be to be told apart where the slowest tenth is left out.

sub welch {
    my ($one, $other) = @_;
    my @sorted = sort { $a <=> $b } map({ 2 * $_ } @$one),
                                    map({ 2 * $_ + 1 } @$other);
    my $middle = $sorted[@sorted / 2] >> 1;
    my $least = @sorted / 10;
    my %crop = map { int(@sorted * (1 - 0.5 ** (10 * $_ / $crops))) => 1 }
               1 .. $crops;
    my %found = (one => median(@$one), other => median(@$other), t => 0,
                 part => 100);
    my (@n, @sum, @squares, $due);

    @n = @sum = @squares = (0, 0);
    $crop{$#sorted} = 1;
    push @sorted, -2;

    for my $i (0 .. $#sorted - 1) {
        my $which = $sorted[$i] & 1;
        my $x = ($sorted[$i] >> 1) - $middle;

        $n[$which]++;
        $sum[$which] += $x;
        $squares[$which] += $x * $x;
        $due ||= $crop{$i};

        # equal ones, which come class by class, stay together
        next if !$due || $sorted[$i] >> 1 == $sorted[$i + 1] >> 1;

        $due = 0;

        next if $i < $least || $n[0] < 2 || $n[1] < 2;

        my ($t, $error) = t_of(\@n, \@sum, \@squares);

        @found{qw(t part)} = ($t, 100 * ($i + 1) / $#sorted)
            if abs $t > abs $found{t};
        $found{shows} = $threshold * $error
            if $i <= 0.9 * $#sorted || !$found{shows};
    }

    return \%found;
}


sub t_of {
    my ($n, $sum, $squares) = @_;
    my @mean = map { $sum->[$_] / $n->[$_] } 0, 1;
    my @part = map {
        ($squares->[$_] - $n->[$_] * $mean[$_] ** 2)
            / ($n->[$_] - 1) / $n->[$_]
    } 0, 1;
    my $error = sqrt($part[0] + $part[1]);
    my $apart = $mean[0] - $mean[1];

    return $apart / $error, $error if $error > 0;
    return $apart == 0 ? 0 : 1e9, 0;
}


sub told_apart { return abs $_[0]{t} >= $threshold }


1;
