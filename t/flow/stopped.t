# A worker that stands still in the middle of a commit, as under a debugger or
# on a host that suspends it: it holds the store's write lock, and the others
# must go on deciding.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;
use Time::HiRes qw(time);

my $t = Session::Flow->new(workers => 2, users => ['ann', 'ben']);
my $control = $t->dir . '/disk';

local $ENV{SLOW_DISK} = $control;
local $ENV{TEST_NGINX_LD_PRELOAD} = join ':',
    grep { defined && length } $ENV{TEST_NGINX_LD_PRELOAD},
                               compiled($t, 'slow_disk');

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration());
$t->run;

my ($still, $other);

ok $t->wait_for(sub { 2 == (($still, $other) = $t->workers) }), 'two workers';

my ($ann, $ben, $late) = map { $t->signed_in($_) } qw(ann ben ann);

stands_still($ann);

my @codes = map { (private($ben), $t->client->get('/up')->code) } 1 .. 50;

is join(' ', grep { $_ != 200 } @codes), '', 'the other one decides';
is $t->client->get('/private')->code, 401, 'also against somebody';
ok !$ann->more(0), 'the sign-out has not been answered';

kill CONT => $still;

like $ann->receive->code, qr/\A(?:200|303)\z/, 'it goes on and answers';
is private($ann), 401, 'what it answered holds';
is private($ben), 200, 'of one session';
# longer than anybody waits

my $from = $t->log_size;

$t->allow(qr/its disk or another process holds it up/);
stands_still($late);
send_out($ben);

is $ben->receive->code, 503, 'a change that waits for it too long: 503';
ok $t->wait_log(qr/\[crit\] $other#.*could not be written for \d+ ms/, $from),
    'and an alarm';
is private($ben), 200, 'it has not happened yet';

kill CONT => $still;

ok $t->wait_log(qr/\[notice\] $other#.*the store is written again/, $from),
    'which ends';
ok $t->wait_for(sub { private($ben) == 401 }, 30), 'then it is done';

like scalar($t->sessionctl('check')), qr/\A(?!.*damaged)/s,
    'the store is whole';

$t->done;


# When this returns, $still is stopped in the middle of the client's sign-out,
# and $other runs.

sub stands_still {
    my ($client) = @_;
    my ($last, $since) = (-1, 0);

    # until there are no commits but ours

    ok $t->wait_for(sub {
        my %stat = $t->sessionctl('stat', '--json') =~ /"(\w+)":(\d+)/g;

        ($last, $since) = (commits(), time) if commits() != $last;

        return time - $since > 0.5
               && $stat{change_last} == $stat{change_copied};
    }, 60), 'calm';

    # only $still can take it
    kill STOP => $other;
    stopped($other);

    my $before = commits();

    $t->write_file('disk', 'hold');
    send_out($client);

    ok $t->wait_for(sub { commits() > $before }, 60), 'it is in a commit';

    kill STOP => $still;
    stopped($still);
    kill CONT => $other;
    unlink $control;
}

sub send_out {
    my ($client) = @_;

    $client->open;
    $client->send($client->format('POST', '/sign_out',
        Accept => 'application/json', 'X-CSRF-Token' => $client->{csrf},
        'Content-Type' => 'application/x-www-form-urlencoded', body => ''));
}

sub commits { return slurp("$control.calls") =~ tr/s// }

sub private {
    my ($client) = @_;

    return $t->client->get('/private',
        Cookie => "$Session::World::cookie=$client->{token}")->code;
}

sub stopped {
    my ($pid) = @_;

    $t->wait_for(sub { slurp("/proc/$pid/stat") =~ /\) T / })
        or fail("$pid does not stop");
}
