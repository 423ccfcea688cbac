# bench/cache/ab.pl: two builds of the module side by side, on one store.
#
#   perl -Ibench/lib -It/lib bench/cache/ab.pl
#
#   BENCH_A, BENCH_B    build directories (make module B=...)
#   SESSION_BUILD       another one, that has the objects of the store (build)
#   BENCH_STORE         a directory with store, keys and tokens, as made by
#                           mint world DIR/store DIR/keys
#                           load users DIR/store USERS
#                           load sign_in DIR/store DIR/keys USERS SESSIONS \
#                               250 3600 DIR/tokens
#   BENCH_LAWS          "one zipf uniform"; a number: uniform among so many
#   BENCH_WRITES        "0 10 100" commits a second meanwhile
#   BENCH_KIND          touch (a use of somebody), or name (of a user)
#   BENCH_ROUNDS, BENCH_SECONDS     of each turn (7, 3)
#
# One worker of each on core 0, wrk with 32 kept-alive connections and the
# writer on core 1.  A file of 1.5 KB behind session_require; the floor is the
# same file without.  CPU is the worker's, user and system, for one request.
# Prints a table.

use strict;
use warnings;

use Cwd ();
use File::Temp ();
use List::Util qw(sum0);
use Session::Bench;
use Session::Flow;
use Session::Log qw(slurp);

my $dir = $ENV{BENCH_STORE} // die "BENCH_STORE: which?\n";
my %build = map { ($_ => $ENV{"BENCH_$_"} // die "BENCH_$_: which?\n") }
            qw(A B);
my @laws = split ' ', $ENV{BENCH_LAWS} // 'one zipf uniform';
my @writes = split ' ', $ENV{BENCH_WRITES} // '0 10 100';
my $kind = $ENV{BENCH_KIND} // 'touch';
my $rounds = $ENV{BENCH_ROUNDS} || 7;
my $seconds = $ENV{BENCH_SECONDS} || 3;
my $draws = 65536;
my (%site, %file);

bounded(600 + @laws * @writes * $rounds * 3 * ($seconds + 3));
srand 1;

my $tmp = File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1);

run_command('sh', '-c', ($ENV{CC} // 'cc') . " -O2 -D_GNU_SOURCE -idirafter"
    . " store -o $tmp/lookups bench/cache/lookups.c"
    . " $Session::World::build/obj/store/*.o -llmdb -lsodium -lcrypto"
    . ' -pthread');

my @tokens = do {
    open my $in, '<', "$dir/tokens" or die "$dir/tokens: $!\n";
    chomp(my @all = <$in>);
    @all;
};

for (my $i = $#tokens; $i > 0; $i--) {
    my $j = int rand $i + 1;
    @tokens[$i, $j] = @tokens[$j, $i];
}

$file{$_} = draw($_) for @laws;
$site{$_} = site($build{$_}) for sort keys %build;

printf "%d sessions, %d rounds of %d s, %s\n\n", scalar @tokens, $rounds,
    $seconds, machine();
print "| sessions asked for | commits/s | A us | B us | floor us | A/floor"
    . " | B/floor | B/A |\n|---|---|---|---|---|---|---|---|\n";

for my $law (@laws) {
    for my $rate (@writes) {
        my (%cpu, %ratio);

        for my $round (0 .. $rounds) {
            my @turns = $round % 2 ? qw(A floor B) : qw(B floor A);
            my %now = map { ($_ => turn($_, $law, $rate)) } @turns;

            # the first one warms up
            next if !$round;

            push @{ $cpu{$_} }, $now{$_} for @turns;
            push @{ $ratio{$_} }, $now{$_} / $now{floor} for qw(A B);
            push @{ $ratio{both} }, $now{B} / $now{A};
        }

        print "| $law | $rate | ", join(' | ',
            (map { spread('%.2f', @{ $cpu{$_} }) } qw(A B floor)),
            map { spread('%.3f', @{ $ratio{$_} }) } qw(A B both)), " |\n";
    }
}

for (sort keys %site) {
    printf "\n%s: Pss of the worker %.1f MiB, of it not backed by a file "
        . "%.1f\n", $_, @{ memory(($site{$_}->workers)[0]) }{qw(Pss Pss_Anon)};
    $site{$_}->done;
}


sub site {
    my ($build) = @_;
    local $Session::World::module = Cwd::abs_path($build)
        . '/ngx_http_session_module.so';
    my $t = Session::Flow->new(bare => 1, level => 'warn');

    $t->write_file('html/file', 'x' x 1535 . "\n");
    $t->write_file_expand('nginx.conf', <<"END");
%%GLOBALS%%
worker_cpu_affinity 01;
events { }
http {
    %%GLOBALS_HTTP%%
    session_store $dir/store;
    session_keys $dir/keys;
    session_lifetime 7d idle=1d touch=12h;
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
    open_file_cache max=100 inactive=1h;
    open_file_cache_valid 1h;
    server {
        listen 127.0.0.1:%%PORT_8080%%;
        location = /private { session_require user;
                              alias %%TESTDIR%%/html/file; }
        location = /floor { alias %%TESTDIR%%/html/file; }
    }
}
END
    $t->run;

    return $t;
}


# Tokens in the order of requests.

sub draw {
    my ($law) = @_;
    my $n = $law =~ /\A\d+\z/ ? $law : $law eq 'one' ? 1 : @tokens;
    my ($sum, @upto) = (0);
    my $name = "$tmp/$law";

    $n = @tokens if $n > @tokens;

    for my $i (1 .. $n) {
        push @upto, $sum += $law eq 'zipf' ? 1 / $i : 1;
    }

    open my $out, '>', $name or die "$name: $!\n";

    for (1 .. $draws) {
        my ($x, $low, $high) = (rand $sum, 0, $n - 1);

        while ($low < $high) {
            my $middle = int(($low + $high) / 2);

            if ($upto[$middle] < $x) { $low = $middle + 1 }
            else { $high = $middle }
        }

        print $out "$tokens[$low]\n";
    }

    close $out or die "$name: $!\n";

    return $name;
}


# Processor time of the worker for a request, in us.

sub turn {
    my ($what, $law, $rate) = @_;
    my $t = $site{ $what eq 'floor' ? 'A' : $what };
    my $path = $what eq 'floor' ? 'floor' : 'private';
    my ($worker) = $t->workers;
    my $writer;

    if ($rate) {
        $writer = fork // die "fork: $!\n";

        if (!$writer) {
            open STDOUT, '>', '/dev/null';
            exec 'taskset', '-c', 1, "$tmp/lookups",
                'write', "$dir/store", $rate, $seconds + 60, $kind
                or POSIX::_exit(127);
        }

        # it looks for sessions first
        select undef, undef, undef, 1.5;
    }

    my $before = nanoseconds($worker);
    my $text = run_command('taskset', '-c', 1, 'wrk', '-t1', '-c32',
        '--timeout', '60s', "-d${seconds}s", '-s', 'bench/cache/drawn.lua',
        'http://127.0.0.1:' . $t->port . "/$path", '--',
        $Session::World::cookie, $file{$law});
    my $cpu = nanoseconds($worker) - $before;

    if ($writer) {
        kill TERM => $writer;
        waitpid $writer, 0;
    }

    my ($n) = $text =~ /(\d+) requests in/ or die $text;

    die "$what $law: errors\n$text" if $text =~ /Socket errors|Non-2xx/;

    return $cpu / $n / 1e3;
}


# User and system time of all threads.

sub nanoseconds {
    my ($pid) = @_;

    return sum0(map { (split ' ', slurp($_))[0] }
                    glob "/proc/$pid/task/*/schedstat");
}
