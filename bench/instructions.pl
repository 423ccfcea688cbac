# bench/instructions: machine instructions of a request, counted by callgrind.
#
# One process of nginx under valgrind; each case and its floor get so many
# requests over one kept-alive connection.  Load on the machine does not change
# these numbers, so they tell a small change from noise.  They leave out what
# the kernel does, and valgrind's processor lacks the SHA instructions, so
# HMAC counts for more than it costs.
#
#   BENCH_REQUESTS      of each case (2000)
#   BENCH_SESSIONS      in the store (1000)
#   BENCH_PROFILES      a directory for callgrind's files, to see in KCachegrind
#
# Writes bench/results/instructions.md.

use strict;
use warnings;

use File::Copy qw(copy);
use Session::Bench;
use Session::Bench::Site;
use Session::Wire;

my $requests = $ENV{BENCH_REQUESTS} || 2000;
my $sessions = $ENV{BENCH_SESSIONS} || 1000;
my $keep = $ENV{BENCH_PROFILES};

bounded(1800);

my $dir = File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1);
my $site = Session::Bench::Site->new(sessions => $sessions, master => 0,
                                     binary => wrapper());
my $cases = $site->{cases};
my @names = sort { $cases->{$a}->place cmp $cases->{$b}->place }
            grep { $cases->{$_}{floor} ne 'none' } keys %$cases;
my %count;

for my $name (@names) {
    my $case = $cases->{$name};

    $count{$name}{floor} = counted("$name.floor", $case, "/floor/$name");
    $count{$name}{case} = counted($name, $case, $case->{path});
}

$site->done;
results('instructions', text());


# Session::Nginx runs what this names, so valgrind is our child as ever.

sub wrapper {
    my $file = "$dir/nginx";

    run_command($ENV{CC} // 'cc', '-shared', '-fPIC', '-O1', '-o',
                "$dir/small_map.so", 't/tools/small_map.c', '-ldl');

    open my $out, '>', $file or die "$file: $!\n";
    print $out <<"END";
#!/bin/sh
LD_PRELOAD=$dir/small_map.so exec valgrind -q --tool=callgrind \\
    --callgrind-out-file=$dir/out nginx "\$@"
END
    close $out or die "$file: $!\n";
    chmod 0700, $file or die "$file: $!\n";

    return $file;
}


# Instructions of one request.  The first requests open files, connections
# and arenas, so they do not count.

sub counted {
    my ($name, $case, $path) = @_;
    my $client = $site->{t}->client;
    my @headers = $site->headers($case);

    repeat($client, $case->{method}, $path, 20, @headers);
    control('--zero');
    repeat($client, $case->{method}, $path, $requests, @headers);

    return total($name) / $requests;
}


sub repeat {
    my ($client, $method, $path, $times, @headers) = @_;

    for (1 .. $times) {
        $client->request($method, $path, @headers)
            or die "$path: no answer\n";
        $client->{jar} = {};
    }
}


sub control {
    my ($what) = @_;
    my $pid = $site->worker;

    run_command('sh', '-c', "callgrind_control $what $pid 2>&1");
}


# What was counted since --zero: callgrind writes it to a file with the next
# number.

sub total {
    my ($name) = @_;
    my $before = () = glob "$dir/out.*";

    control("--dump=$name");

    my ($file, $totals);

    Session::Wire::wait_until(sub {
        my @files = sort { ($a =~ /(\d+)\z/)[0] <=> ($b =~ /(\d+)\z/)[0] }
                    glob "$dir/out.*";

        return if @files <= $before;

        $file = $files[-1];
        ($totals) = Session::Log::slurp($file) =~ /^totals: (\d+)/m;

        return $totals;
    }, 60) or die "$name: callgrind wrote nothing\n";

    copy($file, "$keep/callgrind.$name") or die "$keep: $!\n" if $keep;

    return $totals;
}


sub text {
    my $head = <<"END";
callgrind, one process, $requests requests of each over one connection and
$sessions sessions in the store; user space only. The floor sends as many bytes
without us, as in run.md. valgrind's processor has no SHA instructions: of
the numbers here an HMAC-SHA-256 is more than its share of the time.

| case | instructions | floor | more | ratio |
|---|---|---|---|---|
END

    return $head . join '', map {
        my ($case, $floor) = @{ $count{$_} }{qw(case floor)};

        sprintf "| %s | %.0f | %.0f | %.0f | %.2f |\n",
            $cases->{$_}{title}, $case, $floor, $case - $floor,
            $case / $floor;
    } @names;
}
