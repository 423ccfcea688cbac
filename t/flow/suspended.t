# A worker that stands still for long, under load: in the middle of a read, with
# the write lock in its hand, anywhere.  The others let in whom they should, and
# changes wait for the lock or are told to come again; when it goes on, nothing
# is lost and nobody is back.

use strict;
use warnings;

use lib 't/lib';
use Session::DieAt;
use Session::Flow;
use Session::Log qw(slurp);
use Session::Model;
use Session::SignIn;
use Test::More;

# Longer than a change waits for the writer, once at least.
my $seconds = $ENV{TEST_NGINX_SUSPEND} // 10;
my @stops = (['begin', $seconds], ['read', $seconds > 10 ? $seconds : 2],
             ['anywhere', $seconds > 10 ? $seconds : 2]);

my $people = 4;
my $t = Session::Flow->new(workers => 3, users => [
    map({ "p$_" } 0 .. $people * 4 - 1), 'c0']);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    server => "session_lifetime 7d idle=1d touch=1s; session_limit 64;\n"
              . $Session::Model::headers, http => <<'END'));
    session_hash queue=100 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END
$t->allow(qr/its disk or another process holds it up/);

my $nginx = Session::DieAt->new($t, 'nginx');

{
    my %env = $nginx->nginx_env;
    local @ENV{ keys %env } = values %env;

    $t->run;
}

# A reader that keeps its connection would stand still with its worker.
my $m = Session::Model->new($t, pause => 0.002, fresh => 1,
                            timeout => $seconds + 60);

$m->mint('c0', seen => -10) for 1 .. 3;
$m->revoke('c0', $m->mint('c0'));

my $load = $m->load(people => $people, readers => 4);

for my $stop (@stops) {
    my ($point, $long) = @$stop;
    my $before = $m->changes;

    ok $t->wait_for(sub { $m->changes > $before + 300 }, 60),
        "$point: they are at work";

    my ($pid, $from) = stand_still($point);

    ok $pid, "$point: a worker is stopped";

    # its writer's thread stands as well, and may have the lock at any point:
    # a command that changes something now might wait for as long as we do
    $t->wait_for(sub { Session::Model::now() > $from + $long }, $long + 60);
    kill CONT => $pid;

    my $to = Session::Model::now();

    $before = $m->changes;
    ok $t->wait_for(sub { $m->changes > $before + 300 }, 60),
        "$point: changes go on";
    $m->note('fault', $from, Session::Model::now(), 'held');
    push @$stop, $from, $to;
}

is $m->verdict($load), '', 'every answer was right';

for my $stop (@stops) {
    my ($point, $long, $from, $to) = @$stop;
    my @times = sort { $a <=> $b } map { $_->[1] - $_->[0] }
                grep { $_->[0] > $from && $_->[1] < $to } $m->judge->reads;
    my $late = grep { $_->[0] > $from && $_->[0] < $to && $_->[1] > $to }
               $m->judge->reads;
    my $changes = grep { $_->[0] > $from && $_->[1] < $to }
                  $m->judge->changes;

    diag "$point, $long s: reads ", Session::Judge::spread(\@times),
         ', ', scalar(@times), " of them, $late after it went on; $changes",
         ' changes';
    cmp_ok scalar(@times), '>', 20 * $long, "$point: the others decide";
    cmp_ok $times[-1], '<', $long, "$point: in time";
}

$t->done;


# The worker, and since when it stands.

sub stand_still {
    my ($point) = @_;

    if ($point eq 'anywhere') {
        my ($pid) = $t->workers;
        my $from = Session::Model::now();

        kill STOP => $pid;

        return $pid, $from;
    }

    $nginx->order($point, $point eq 'read' ? 20 : 2, 'STOP');

    my $taken = $t->wait_for(sub { $nginx->taken }, 60) or return;
    my ($pid, $from) = @$taken;

    $t->wait_for(sub { slurp("/proc/$pid/stat") =~ /\) T / }, 30) or return;

    return $pid, $from;
}
