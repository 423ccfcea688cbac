package Session::Usage;

# What a process has of memory and descriptors, how many this one may have,
# and how long requests took.

use strict;
use warnings;

use Exporter qw(import);
use Session::Log qw(slurp);

our @EXPORT_OK = qw(memory private_dirty descriptors may_open percentiles
                    sanitized);


# Bytes that no file backs and no other process shares: what it has allocated
# and written to.  The store's pages are the kernel's to take back, and shared
# zones have their size in the configuration.

sub memory { return kilobytes('Anonymous', @_) }


# Bytes that are written and not shared, whatever is behind them.

sub private_dirty { return kilobytes('Private_Dirty', @_) }


sub kilobytes {
    my ($field, $pid) = @_;
    my $text = slurp("/proc/$pid/smaps_rollup");

    return 1024 * $1 if $text =~ /^$field:\s+(\d+) kB/m;
    die "/proc/$pid/smaps_rollup: no $field\n";
}


sub descriptors {
    my ($pid) = @_;

    opendir my $dir, "/proc/$pid/fd" or die "/proc/$pid/fd: $!\n";

    return scalar grep { !/\A\./ } readdir $dir;
}


# Lets this process, and what it starts, open so many; false where it cannot.

sub may_open {
    my ($n) = @_;
    my $limits = slurp('/proc/self/limits');
    my ($soft, $hard) = $limits =~ /^Max open files\s+(\d+)\s+(\d+)/m;

    return 1 if defined $soft && $soft >= $n;

    my $both = defined $hard && $hard >= $n ? "$n:" : "$n:$n";

    return system("prlimit --pid $$ --nofile=$both 2> /dev/null") == 0;
}


# Median and the 99th percentile of seconds, in words.

sub percentiles {
    my @sorted = sort { $a <=> $b } @_ or return 'none';

    return sprintf 'p50 %.1f ms, p99 %.1f ms of %d',
        map({ 1000 * $sorted[$_ * $#sorted] } 0.5, 0.99), scalar @sorted;
}


# Sanitizers keep what is freed, so memory says nothing.

sub sanitized {
    return ($ENV{TEST_NGINX_LD_PRELOAD} // '') =~ /[alt]san/
           || $ENV{TEST_NGINX_USE_VALGRIND};
}


1;
