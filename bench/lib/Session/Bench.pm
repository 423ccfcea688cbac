package Session::Bench;

# What the programs of bench/ have in common: numbers, the machine, processor
# time and memory of processes, and the file that results go to.  Each ends as a
# suite does, with the tests that its nginx left nothing wrong behind.

use strict;
use warnings;

use Exporter qw(import);
use POSIX ();
use Session::Log qw(process_tree slurp);
use Session::World ();
use Test::More 'no_plan';

our @EXPORT = qw(bounded median spread run_command cpu_seconds tree_seconds
                 memory tree_memory load fields store_bytes machine results);

my $ticks = POSIX::sysconf(POSIX::_SC_CLK_TCK());


# Nothing here runs for ever, and an interrupted run ends what it started:
# exit() lets destructors work.

sub bounded {
    my ($seconds) = @_;

    $SIG{INT} = $SIG{TERM} = sub { exit 130 };
    $SIG{ALRM} = sub { die "not done after $seconds s\n" };
    $| = 1;
    alarm $seconds;
}


sub median {
    my @sorted = sort { $a <=> $b } @_;

    return ($sorted[($#sorted) / 2] + $sorted[@sorted / 2]) / 2;
}


# "7.2 (7.0-7.9)": median, least and most.

sub spread {
    my ($format, @values) = @_;
    my @sorted = sort { $a <=> $b } @values;

    return sprintf "$format ($format-$format)", median(@values),
        @sorted[0, -1];
}


# Runs it, waits, and returns what it printed.

sub run_command {
    my (@command) = @_;

    open my $out, '-|', @command or die "$command[0]: $!\n";
    my $text = do { local $/; <$out> } // '';
    close $out or die "@command: failed\n$text";

    return $text;
}


# MiB, of all processes of a tree together.

sub tree_memory {
    my ($top) = @_;
    my $sum = 0;

    $sum += memory($_)->{Pss} // 0 for process_tree($top);

    return $sum;
}


# build/load: its line as a hash.

sub load {
    return fields(run_command("$Session::World::build/load", @_));
}


sub fields { return { $_[0] =~ /(\w+)=(\S+)/g } }


# User and system time of all threads of a process.

sub cpu_seconds {
    my ($pid) = @_;
    my @stat = split ' ', slurp("/proc/$pid/stat") =~ s/.*\)//sr;

    return ($stat[11] + $stat[12]) / $ticks;
}


# The same of a process and all below it, to the nanosecond, and of those of
# them that have ended and were waited for.

sub tree_seconds {
    my ($top) = @_;
    my $sum = 0;

    for my $pid (process_tree($top)) {
        my @stat = split ' ', slurp("/proc/$pid/stat") =~ s/.*\)//sr;

        $sum += ($_ // 0) / $ticks for @stat[13, 14];
        $sum += ((split ' ', slurp($_))[0] // 0) / 1e9
            for glob "/proc/$pid/task/*/schedstat";
    }

    return $sum;
}


# MiB: proportional set size, its part that no file backs, and the rest.

sub memory {
    my ($pid) = @_;
    my %kb = slurp("/proc/$pid/smaps_rollup") =~ /^(\w+):\s+(\d+) kB/mg;

    return { map { ($_ => $kb{$_} / 1024) }
                 qw(Pss Pss_Anon Pss_File Pss_Shmem Private_Dirty) };
}


# Bytes of pages in use; files grow in larger steps.

sub store_bytes {
    my ($store) = @_;
    my $text = run_command("$Session::World::build/sessionctl", 'stat',
                           '--json', '--store', $store);

    return { $text =~ /"(\w+_bytes)": *(\d+)/g };
}


# Lines about where this ran.  No name of the host: it says nothing.

sub machine {
    my ($cpu) = slurp('/proc/cpuinfo') =~ /^model name\s*:\s*(.*)/m;
    my $cores = () = slurp('/proc/cpuinfo') =~ /^processor\s/mg;
    my ($kb) = slurp('/proc/meminfo') =~ /^MemTotal:\s+(\d+)/m;
    my ($kernel) = (POSIX::uname())[2] =~ /^([\d.]+)/;
    my ($nginx) = `nginx -v 2>&1` =~ m{nginx/(\S+)};

    return sprintf '%d x %s, %.0f GiB; Linux %s; nginx %s; %s', $cores,
        $cpu // 'unknown', $kb / 1048576, $kernel, $nginx,
        POSIX::strftime('%Y-%m-%d', gmtime);
}


# What was measured.  Results are no change of it.

sub commit {
    my @git = ('git', '-C', $Session::World::project);
    my $id = eval { run_command(@git, 'rev-parse', '--short', 'HEAD') }
        // return 'no commit';
    my $changes = run_command(@git, 'status', '--porcelain', '--', 'store',
                              'ngx_module', 'config', 'Makefile');

    chomp $id;

    return "commit $id" . ($changes ne '' ? ' with changes' : '');
}


sub load_average { return (split ' ', slurp('/proc/loadavg'))[0] }


# The file NAME.md in bench/results, or another folder, which says how it came
# about.

my $before = load_average();

sub results {
    my ($name, $text, $folder) = @_;
    my $file = ($folder // "$Session::World::project/bench/results")
        . "/$name.md";
    my $head = "Made by `bench/$name` of " . commit() . ' on ' . machine()
        . ".\n"
        . "Load average before the run $before, after it "
        . load_average() . ".\n"
        . "Above 2 others used the machine as well: then rates are too low and "
        . "latencies too\nhigh; ratios and processor time hold better.\n";

    open my $out, '>', $file or die "$file: $!\n";
    print $out "# bench/$name\n\n$head\n$text";
    close $out or die "$file: $!\n";

    print "\n$head\n$text\nwritten to $file\n";
}


1;
