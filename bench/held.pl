# bench/held: what it brings that a worker holds sessions in memory.
#
# The same module twice, A without that memory, which the system refuses it
# (t/tools/refuse.c), and B with it; the floor is the same file without
# session_require.  Turns of all three alternate.
#
#   BENCH_ROUNDS, BENCH_SECONDS     of each turn (7, 1)
#   BENCH_SESSIONS                  in stores ("100000 1000000")
#   BENCH_LAWS                      ("one 1000 zipf uniform")
#   BENCH_RESULTS                   folder to write to (bench/results)
#
# Writes held.md.

use strict;
use warnings;

use Session::Bench;
use Session::Bench::Drawn;
use Session::Bench::Stock;
use Session::Log qw(slurp);

my $rounds = $ENV{BENCH_ROUNDS} || 7;
my $seconds = $ENV{BENCH_SECONDS} || 1;
my @sessions = split ' ', $ENV{BENCH_SESSIONS} // '100000 1000000';
my @laws = split ' ', $ENV{BENCH_LAWS} // 'one 1000 zipf uniform';

bounded(900 + @sessions * @laws * ($rounds + 1) * 3 * ($seconds + 2));
srand 1;

my (@lines, %mib);

measure($_) for @sessions;
results('held', text(), $ENV{BENCH_RESULTS} || undef);


sub measure {
    my ($sessions) = @_;
    my $stock = Session::Bench::Stock->new($sessions);
    my %site = (A => Session::Bench::Drawn->new($stock, refuse => 'held'),
                B => Session::Bench::Drawn->new($stock));

    for my $name (sort keys %site) {
        $site{$name}->start;
        $site{$name}->ask('/private', 'one', 1);

        my $without = slurp($site{$name}->flow->log_file) =~ /no cache/;

        die "$name does not hold what it should\n"
            if !!$without ne ($name eq 'A');
    }

    push @lines, line($stock, \%site, $_) for @laws;
    $mib{$sessions}{$_} = memory(($site{$_}->flow->workers)[0])->{Pss_Anon}
        for sort keys %site;

    # what A is refused is an alert to nginx's functions
    for my $name (sort keys %site) {
        $site{$name}->flow->allow(qr/mmap\(.*\) failed|no cache/);
        $site{$name}->done;
    }
}


sub line {
    my ($stock, $site, $law) = @_;
    my (%us, %ratio);

    for my $round (0 .. $rounds) {
        my @turns = $round % 2 ? qw(A floor B) : qw(B floor A);
        my %now = map { ($_ => turn($site, $_, $law)) } @turns;

        # the first one warms up
        next if !$round;

        push @{ $us{$_} }, $now{$_} for @turns;
        push @{ $ratio{$_} }, $now{$_} / $now{floor} for qw(A B);
        push @{ $ratio{both} }, $now{B} / $now{A};
    }

    return '| ' . join(' | ', "$stock->{sessions}, $law",
        (map { spread('%.2f', @{ $us{$_} }) } qw(A B floor)),
        map { spread('%.2f', @{ $ratio{$_} }) } qw(A B both)) . " |\n";
}


# Processor time of the worker for a request, in us.

sub turn {
    my ($site, $what, $law) = @_;
    my $drawn = $site->{ $what eq 'floor' ? 'A' : $what };
    my ($worker) = $drawn->flow->workers;
    my $before = tree_seconds($worker);
    my $n = $drawn->ask($what eq 'floor' ? '/floor' : '/private', $law,
                        $seconds);

    return (tree_seconds($worker) - $before) / $n * 1e6;
}


sub text {
    my $memory = join '; ', map {
        sprintf '%d sessions: %.1f and %.1f', $_, @{ $mib{$_} }{qw(A B)}
    } @sessions;

    return <<"END" . join('', @lines) . <<"MORE";
A file of 1.5 KB behind `session_require`, by a worker that holds no sessions in
memory (A), by one that does (B), and the same file without (floor):
microseconds of the worker's processor time for a request, and ratios of turns
of one round. Medians of $rounds rounds of $seconds s, least and most. A number:
uniform among so many sessions; zipf and uniform: among those of the store, of a
million 100,000 that are spread evenly.

| sessions, asked for | A us | B us | floor us | A/floor | B/floor | B/A |
|---|---|---|---|---|---|---|
END

Memory of the worker that no file backs, MiB, A and B: $memory.
MORE
}
