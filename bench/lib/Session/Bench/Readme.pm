package Session::Bench::Readme;

# The summary of a run in README.md, between two comments there.

use strict;
use warnings;

use Session::Bench;
use Session::Log qw(slurp);
use Session::World ();

my ($begin, $end) = map { "<!-- bench/run: $_ -->" } qw(begin end);

my @rows = (
    [up => '`/up`'],
    [file => 'a file behind `session_require user`'],
    [app => '`proxy_pass` behind `session_require user`'],
    [redirect => 'a browser that is not signed in, sent to sign in'],
    [junk => 'a cookie with a wrong MAC, refused'],
    [sign_in => 'the sign-in form'],
    [dashboard => 'the dashboard, with its lists'],
);


sub write {
    my ($report) = @_;
    my $file = "$Session::World::project/README.md";
    my $text = replaced(slurp($file), summary($report));

    open my $out, '>:raw', $file or die "$file: $!\n";
    print $out $text;
    close $out or die "$file: $!\n";
}


sub replaced {
    my ($text, $new) = @_;

    $text =~ s/\Q$begin\E\n.*?\Q$end\E/$begin\n$new$end/s
        or die "README.md: no $begin\n";

    return $text;
}


sub summary {
    my ($report) = @_;
    my $text = $report->told(<<'END');
One worker, {connections} kept-alive connections, {sessions} sessions in the
store; processor time of nginx for one request, beside the same bytes from
nginx without us, and the median of the ratios of {rounds} rounds:
END

    $text .= "\n| | us | without us | ratio |\n|---|---|---|---|\n";

    for (@rows) {
        my ($name, $title) = @$_;
        my $run = $report->usual($name) or next;

        $text .= sprintf "| %s | %.1f | %.1f | %.2f |\n", $title,
            median($run->values('case', 'cpu')),
            median($run->values('floor', 'cpu')), median($run->ratios);
    }

    $text .= <<'END' if $report->group('peers');

![Processor time of ours and others](bench/results/peers.svg)
END

    return $text . "\nAll of it: [bench/run](bench/results/run.md).\n";
}


1;
