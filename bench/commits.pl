# bench/commits: what group commit is worth.
#
# Sign-ins and sign-outs straight into a store, without nginx: so many of them
# in one transaction, each transaction synced to disk.  Bounded by time, so
# a slow disk gives fewer of them and not a longer run.
#
#   BENCH_ROUNDS, BENCH_SECONDS     of each kind and size (5, 3)
#   TMPDIR                          where the store lies: this disk counts
#
# Writes bench/results/commits.md.

use strict;
use warnings;

use File::Temp ();
use Session::Bench;
use Session::World;
use Test::More;

my $rounds = $ENV{BENCH_ROUNDS} || 5;
my $seconds = $ENV{BENCH_SECONDS} || 3;
my $users = 20_000;
my @sizes = (1, 10, 100, 250);
my %score;

bounded(300 + @sizes * 2 * $rounds * ($seconds + 10));

my $dir = File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1);
my $world = Session::World::fresh(dir => "$dir", users => []);

load('users', $world->{store}, $users);

for my $round (1 .. $rounds) {
    print STDERR "round $round of $rounds\n";

    for my $size ($round % 2 ? @sizes : reverse @sizes) {
        note_score('sign-in', $size,
            load('sign_in', $world->{store}, $world->{keys}, $users,
                 1_000_000, $size, $seconds, "$dir/tokens"));
        note_score('sign-out', $size,
            load('end', $world->{store}, 1_000_000, $size, $seconds));
    }
}

ok eval {
    run_command("$Session::World::build/sessionctl", 'check', '--store',
                $world->{store});
}, 'the store is whole' or diag($@);

results('commits', text());


sub note_score {
    my ($kind, $size, $line) = @_;
    my $score = $score{$kind}{$size} //= {};

    push @{ $score->{ops} }, $line->{ops} / $line->{seconds};
    push @{ $score->{cpu} }, $line->{cpu_us};
    push @{ $score->{ms} }, 1000 * $line->{seconds} / $line->{commits};
}


sub text {
    my $head = <<"END";
One process, no nginx; each commit is synced to the disk with fdatasync, which
is most of the time of a small one and none of its processor time. $rounds
interleaved rounds of $seconds s; median (least-most). The store begins with
$users users and grows as it is used. A sign-in writes the session, its two
indexes, the user and the row of the change feed; a sign-out the session, an
index and the row.

| change | in one commit | changes/s | ms a commit | CPU us a change |
|---|---|---|---|---|
END

    return $head . join '', map { my $kind = $_; map {
        my $score = $score{$kind}{$_};

        "| $kind | $_ | " . join(' | ', spread('%.0f', @{ $score->{ops} }),
            spread('%.2f', @{ $score->{ms} }),
            spread('%.0f', @{ $score->{cpu} })) . " |\n";
    } @sizes } 'sign-in', 'sign-out';
}
