# bench/populate: what it brings that a worker's page tables are filled when it
# starts.
#
# The first two seconds of a worker, files behind session_require for sessions
# drawn uniformly from a large store whose file is in memory.  With and without
# in turns; without, the system refuses it (t/tools/refuse.c).
#
#   BENCH_ROUNDS    (3)
#   BENCH_SESSIONS  in stores ("1000000")
#   BENCH_RESULTS   folder to write to (bench/results)
#
# Writes populate.md.

use strict;
use warnings;

use Session::Bench;
use Session::Bench::Drawn;
use Session::Bench::Stock;
use Session::Log qw(slurp);
use Time::HiRes qw(sleep);

my $rounds = $ENV{BENCH_ROUNDS} || 3;
my @sessions = split ' ', $ENV{BENCH_SESSIONS} // '1000000';
my $seconds = 2;
my $after = 1.5;            # s from its start: by then it has walked the map
my @ways = (['without', 'populate'], ['with', undef]);

bounded(900 + @sessions * $rounds * @ways * ($seconds + 10));
srand 1;

my $text = <<"END";
The first $seconds seconds of requests to a worker, $after s after its start: a
file of 1.5 KB behind `session_require`, for sessions drawn uniformly. The
store's file is in memory. Page faults, and microseconds of processor time for a
request, with page tables that are filled at the start and without. Medians of
$rounds turns each, least and most.

| sessions | filled at the start | page faults | us a request |
|---|---|---|---|
END

measure($_) for @sessions;
results('populate', $text, $ENV{BENCH_RESULTS} || undef);


sub measure {
    my ($sessions) = @_;
    my $stock = Session::Bench::Stock->new($sessions);
    my (%faults, %us);

    # into memory with it
    run_command('sh', '-c', "cat $stock->{store}/* > /dev/null");

    for (1 .. $rounds) {
        for my $way (@ways) {
            my ($faults, $us) = turn($stock, $way->[1]);

            push @{ $faults{ $way->[0] } }, $faults;
            push @{ $us{ $way->[0] } }, $us;
        }
    }

    die "as many page faults with it as without: was it refused?\n"
        if median(@{ $faults{without} }) <= median(@{ $faults{with} });

    $text .= "| $sessions | $_->[0] | "
        . spread('%.0f', @{ $faults{ $_->[0] } }) . ' | '
        . spread('%.1f', @{ $us{ $_->[0] } }) . " |\n" for @ways;
}


sub turn {
    my ($stock, $refuse) = @_;
    my $drawn = Session::Bench::Drawn->new($stock, refuse => $refuse);

    $drawn->start;
    sleep $after;

    my ($worker) = $drawn->flow->workers;
    my ($faults, $cpu) = (faults($worker), tree_seconds($worker));
    my $n = $drawn->ask('/private', 'uniform', $seconds);
    my @found = (faults($worker) - $faults,
                 (tree_seconds($worker) - $cpu) / $n * 1e6);

    $drawn->done;

    return @found;
}


# Minor ones, of all threads.

sub faults {
    my ($pid) = @_;

    return (split ' ', slurp("/proc/$pid/stat") =~ s/.*\)//sr)[7];
}
