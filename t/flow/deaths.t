# kill -9 under load, of workers, of the master and of sessionctl, at random
# and at each point of reading, a batch, a commit and its sync: whatever was
# answered holds, nobody whose session is over is let in, and the locks of the
# dead hold up nobody.

use strict;
use warnings;

use lib 't/lib';
use Session::DieAt;
use Session::Flow;
use Session::Log qw(process_tree);
use Session::Model;
use Session::SignIn;
use Test::More;

my $kills = $ENV{TEST_NGINX_DEATHS} // 200;
my $people = 3;

# Quiet machines are well again after some ms; on busy ones a new process
# waits for its turn.
my $patience = 15;

my $t = Session::Flow->new(workers => 2, users => [
    map({ "p$_" } 0 .. $people * (2 + $kills / 20)),
    map({ "c$_" } 0 .. 2), 'l0', 'l1']);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    server => "session_lifetime 7d idle=1d touch=1s; session_limit 64;\n"
              . $Session::Model::headers, http => <<'END'));
    session_hash queue=100 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END
$t->allow(qr/worker process \d+ exited on signal 9/);

my $nginx = Session::DieAt->new($t, 'nginx');
my $ctl = Session::DieAt->new($t, 'ctl');
my $m = Session::Model->new($t, pause => 0.002);

start();

$m->mint("c$_") for 0 .. 2;
$m->name("p$_", 'n0') for 0 .. $people - 1;

my $load = $m->load(people => $people, leavers => 2, readers => 1);
my (%dead, %missed, %used, $commands);

# Where a lock stays with the dead everything waits for ever, and we for it.
local $SIG{ALRM} = sub {
    kill KILL => grep { $_ != $$ } process_tree($$);
    die "nothing goes on\n";
};

for my $n (1 .. $kills) {
    alarm 90;

    my $what = $n % 20 == 0 ? 'master' : $n % 4 == 1 ? 'sessionctl'
               : $n % 4 == 3 ? 'random' : 'point';
    my @points = @Session::DieAt::points;
    my $point = $points[$n / 4 % @points];

    if ($what eq 'master') {
        kill_master();

    } elsif ($what eq 'sessionctl') {
        redo if !kill_sessionctl($point) && $missed{$point}++ < $kills;

    } elsif ($what eq 'random') {
        kill_random();

    } elsif (!kill_at($point)) {
        $missed{$point}++;
        kill_random();
    }
}

alarm 0;

my @wrong = $m->verdict($load);
my $judge = $m->judge;

is "@wrong", '', 'every answer was right';

my $deaths = 0;

$deaths += $_ for values %dead;
cmp_ok $deaths, '>=', $kills, "$deaths deaths";
diag join ', ', map { "$dead{$_} $_" } sort keys %dead;
diag 'not met in time: ', join ', ', map { "$missed{$_} $_" }
     sort keys %missed if %missed;

for my $who (qw(worker start sessionctl)) {
    my ($changes, $reads) = $judge->recovery($who);

    diag "$who: next change ", Session::Judge::spread($changes);
    diag "$who: next reading ", Session::Judge::spread($reads);
    cmp_ok $changes->[-1], '<', $patience, "$who: changes go on";
    cmp_ok $reads->[-1], '<', $patience, "$who: reading goes on";
}

like scalar($t->sessionctl('check')), qr/\A(?!.*damaged)/s,
    'the store is whole';

$t->done;


sub start {
    my %env = $nginx->nginx_env;
    local @ENV{ keys %env } = values %env;

    $t->run;
}


sub gone {
    my @pids = @_;

    $t->wait_for(sub { !grep { Session::Model::alive($_) } @pids })
        or BAIL_OUT("@pids do not die");
}


# Both workers are there.

sub whole {
    $t->wait_for(sub { $t->workers == 2 }, 60)
        or BAIL_OUT('workers are not replaced');
}


# Whoever gets there.  A new process opens the store, so one is killed for it.

sub kill_at {
    my ($point) = @_;

    $nginx->order($point, $point eq 'open' ? int rand 2
                          : $point =~ /read|put/ ? int rand 30
                          : int rand 3, 'KILL');
    kill_random() if $point eq 'open';

    my $taken = $t->wait_for(sub { $nginx->taken }, 5) || $nginx->withdraw
        or return;

    gone($taken->[0]);
    $m->note('fault', $taken->[1], Session::Model::now(), 'worker', $point);
    $dead{"worker $point"}++;
    whole();

    return 1;
}


# At any time of its life, that of its birth too.

sub kill_random {
    my @workers = $t->wait_for(sub { my @w = $t->workers; @w && \@w })->@*;
    my $pid = $workers[rand @workers];

    $m->fault('worker', sub { kill KILL => $pid; gone($pid) });
    $dead{'worker at random'}++;
    whole() if rand() < 0.8;
}


# In the middle of a command.  What it did not live to say may be done.

sub kill_sessionctl {
    my ($point) = @_;
    my $n = ++$commands;
    my $way = (qw(revoke name disable))[$n % 3];
    my $who = $way eq 'name' ? 'p' . int rand $people : 'c' . int rand 3;

    # most of those that are killed have ended nothing, and mint has a limit
    $m->revoke($who) if $way ne 'name' && ++$used{$who} % 5 == 0;
    $m->mint($who) for $way eq 'name' ? () : (1, 2);
    $ctl->order($point, $point =~ /read|put|open/ ? int rand 4 : 0, 'KILL');

    my $code = $way eq 'revoke' ? $m->revoke($who, undef, { $ctl->env })
               : $way eq 'name' ? $m->name($who, "n$n", { $ctl->env })
               : $m->disable($who, { $ctl->env });
    my $taken = $code == 137 ? $ctl->taken : $ctl->withdraw;

    return if !$taken;

    $m->note('fault', $taken->[1], $taken->[1], 'sessionctl', $point);
    $dead{"sessionctl $point"}++;

    return 1;
}


# Its workers serve without it, until they are killed too and all starts again.

sub kill_master {
    whole();

    my $master = $t->nginx->pid;
    my @workers = $t->workers;

    kill KILL => $master;
    $t->wait_for(sub { $t->nginx->reap });

    if (rand() < 0.5) {
        my $before = $m->changes;

        $t->wait_for(sub { $m->changes > $before + 500 })
            or fail('workers without a master change nothing');
    }

    # nobody listens between the two either

    my $from = Session::Model::now();

    $m->fault('stop', sub { kill KILL => @workers; gone(@workers) });
    $m->fault('start', sub { start(); whole() });
    $m->note('fault', $from, Session::Model::now(), 'down');
    $dead{master}++;
}
