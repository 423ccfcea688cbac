package Session::Log;

# What must never stand in an error.log unless a test asked for it, and the
# part of a log that helps when a test failed.

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT_OK = qw(alarming expected reports slurp tail process_tree);

# nginx's own last words, and what ASan, UBSan, TSan and valgrind write to
# standard error, which nginx points at its log.

my $alarm = qr/\[(?:alert|crit|emerg)\]/;
my $sanitizer = qr/AddressSanitizer|LeakSanitizer|ThreadSanitizer
                   |UndefinedBehaviorSanitizer|MemorySanitizer
                   |:\d+:\d+:[ ]runtime[ ]error:
                   |==\d+==[ ](?:ERROR|WARNING|Invalid|Conditional|Use[ ]of
                                |Syscall|Jump|Process[ ]terminating
                                |[\d,]+[ ].*bytes[ ]in[ ].*lost)
                   |Assertion[ ].*failed
                   |exited[ ]on[ ]signal[ ](?!9\b|15\b)/x;


sub slurp {
    my ($file, $from) = @_;

    open my $in, '<:raw', $file or return '';
    seek $in, $from, 0 if $from;
    local $/;
    my $text = <$in>;

    return $text // '';
}


# Lines that no pattern of @$allow excuses.  Patterns are substrings or qr//,
# as in "--- error_log".  Nothing excuses a sanitizer.

sub alarming {
    my ($text, $allow) = @_;
    my @found;

    for my $line (split /\n/, $text) {
        if ($line =~ $sanitizer) {
            push @found, $line;
            next;
        }

        next if $line !~ $alarm;
        push @found, $line if !expected($line, $allow);
    }

    return @found;
}


sub expected {
    my ($line, $allow) = @_;

    for my $pattern (@{ $allow || [] }) {
        next if !defined $pattern || $pattern eq '';

        return 1 if ref $pattern ? $line =~ $pattern
                                 : index($line, $pattern) >= 0;
    }

    return;
}


# Sanitizers write to the standard error that nginx started with as well.

sub reports {
    my ($file) = @_;

    return alarming(slurp($file), [qr/^/]);
}


# The last lines of a log without the debug chatter, whose entries may have
# several lines.

sub tail {
    my ($file, $lines) = @_;
    my ($debug, @all) = (0);

    for (split /\n/, slurp($file)) {
        $debug = /\[debug\]/ if m{\A\d{4}/\d\d/\d\d } || /\A==\d+==/;
        push @all, $_ if !$debug;
    }

    my $from = @all - ($lines // 25);

    return join "\n", @all[($from > 0 ? $from : 0) .. $#all];
}


# A process and all below it, by pid; threads are not counted.

sub process_tree {
    my ($top) = @_;
    my @tree = -d "/proc/$top" ? ($top) : ();

    for my $list (glob "/proc/$top/task/*/children") {
        push @tree, map { process_tree($_) } split ' ', slurp($list);
    }

    return @tree;
}


1;
