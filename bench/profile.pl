# bench/profile: where the processor time of a request goes, case by case.
#
# One worker on core 0, wrk with 32 kept-alive connections on core 1, and perf
# looking at the worker 2000 times a second.  Samples of the processor's clock,
# so the kernel is among them, which bench/instructions leaves out.
#
#   BENCH_SECONDS       perf looks at each case (4)
#   BENCH_SESSIONS      in the store (1000)
#
# Writes bench/results/profile.md.

use strict;
use warnings;

use File::Temp ();
use Session::Bench;
use Session::Bench::Site;

my $seconds = $ENV{BENCH_SECONDS} || 4;
my $sessions = $ENV{BENCH_SESSIONS} || 1000;

# What perf names, as columns; all else is the rest.
my @parts = (
    ['kernel', qr/\A\[/], ['nginx', qr/\Anginx/],
    ['module', qr/\Angx_http_session_module/], ['libc', qr/\Alibc\./],
    ['LMDB', qr/\Aliblmdb/], ['OpenSSL', qr/\Alibcrypto/],
    ['libsodium', qr/\Alibsodium/],
);
my $dir = File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1);
my $site = Session::Bench::Site->new(sessions => $sessions);
my @names = sort keys %{ $site->{cases} };
my %profile;

bounded(300 + @names * ($seconds + 20));

for my $name (@names) {
    print STDERR "$name\n";
    $profile{$name} = profile($site->{cases}{$name});
}

$site->done;
results('profile', text());


# Shares by part, and the functions of the module that come first.

sub profile {
    my ($case) = @_;
    my $generator = generator($case, $seconds + 2);
    my $data = "$dir/perf.data";

    run_command('perf', 'record', '-q', '-e', 'cpu-clock', '-F', 2000,
                '-o', $data, '-p', $site->worker, '--', 'sleep', $seconds);
    waitpid $generator, 0;

    my %share = map { ($_->[0] => 0) } @parts;

    for (report($data, 'dso')) {
        my ($percent, $object) = @$_;
        my ($part) = grep { $object =~ $_->[1] } @parts;

        $share{ $part ? $part->[0] : 'rest' } += $percent;
    }

    my @own = grep { $_->[1] =~ /\Angx_http_session_module/ }
              report($data, 'dso,symbol');

    return { share => \%share,
             own => [map { $_->[1] =~ /\[\.\] (\w+)/ } @own] };
}


sub generator {
    my ($case, $time) = @_;
    my @headers = $site->headers($case);
    my @command = ('taskset', '-c', 1, 'wrk', '-t1', '-c32', "-d${time}s");

    while (my ($header, $value) = splice @headers, 0, 2) {
        push @command, '-H', "$header: $value";
    }

    my $pid = fork // die "fork: $!\n";
    return $pid if $pid;

    open STDOUT, '>', '/dev/null' or die $!;
    exec @command, $site->url($case->{path}) or die "wrk: $!\n";
}


# Lines of perf report as [percent, what].

sub report {
    my ($data, $by) = @_;
    my $text = run_command('perf', 'report', '-i', $data, '--stdio',
                           '--sort', $by, '-w', '0', '-t', "\t");

    my @lines = map { /\A\s*([\d.]+)%\s*\t(.*\S)/ ? [$1, $2] : () }
           grep { !/\A#/ } split /\n/, $text;

    return @lines ? @lines : die "perf saw nothing\n";
}


sub text {
    my $head = <<"END";
Shares of the worker's processor time, percent: perf's samples of the clock,
2000 a second for $seconds s of each case, one worker on core 0, $sessions
sessions in the store, one of which is asked for. Behind them the functions of
the module that were met most.

END
    my @columns = map { $_->[0] } @parts;

    $head .= '| case | ' . join(' | ', @columns) . " | of the module |\n"
           . '|---' x (2 + @columns) . "|\n";

    return $head . join '', map {
        my $p = $profile{$_};
        my @first = grep { defined } @{ $p->{own} }[0 .. 3];

        '| ' . join(' | ', $site->{cases}{$_}{title},
                    map({ sprintf '%.0f', $p->{share}{$_} } @columns),
                    join(', ', map { "`$_`" } @first)) . " |\n";
    } @names;
}
