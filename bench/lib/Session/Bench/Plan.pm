package Session::Bench::Plan;

# Which lines a run has.  Every case is measured once in ordinary
# circumstances; those that vary, or that were asked for by name, also with
# other numbers of sessions, of workers, and over another version of HTTP, one
# of these at a time.

use strict;
use warnings;

my %unit = (k => 1000, M => 1_000_000);


# "1k,100k" as numbers.

sub numbers {
    my ($text) = @_;

    return map {
        /\A([1-9]\d*)([kM]?)\z/ or die "not a number: $_\n";
        $1 * ($unit{$2} // 1);
    } split /,/, $text;
}


sub number_text {
    my ($n) = @_;

    return $n % 1_000_000 == 0 ? $n / 1_000_000 . 'M'
         : $n % 1000 == 0 ? $n / 1000 . 'k' : $n;
}


# cases: a list; named: 1 where they were asked for; sessions, workers, http:
# lists, the first of each but the sessions being the ordinary one.  Gives
# hashes with group, case, sessions, workers, http, and law where many sessions
# take part.

sub lines {
    my (%ask) = @_;
    my ($usual) = grep { $_ == 100_000 } @{ $ask{sessions} };
    my %base = (sessions => $usual // $ask{sessions}[0],
                workers => $ask{workers}[0], http => $ask{http}[0]);
    my @vary = grep { $ask{named} || $_->{vary} } @{ $ask{cases} };
    my @lines = map {{ %base, group => 'cases', case => $_ }}
                @{ $ask{cases} };

    for my $case (grep { $_->draws && $base{http} == 1 } @vary) {
        for my $sessions (@{ $ask{sessions} }) {
            push @lines, map {{ %base, group => 'sessions', case => $case,
                                sessions => $sessions, law => $_ }}
                         qw(zipf uniform);
        }
    }

    for my $what (qw(workers http)) {
        my (undef, @others) = @{ $ask{$what} };

        for my $case (@vary) {
            push @lines, map {{ %base, group => $what, case => $case,
                                $what => $_ }} @others;
        }
    }

    return @lines;
}


1;
