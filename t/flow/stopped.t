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

my ($ann, $ben) = map { $t->signed_in($_) } qw(ann ben);

# until the start's own commits are over
my ($last, $since) = (-1, 0);

ok $t->wait_for(sub {
    my %stat = $t->sessionctl('stat', '--json') =~ /"(\w+)":(\d+)/g;

    ($last, $since) = (commits(), time) if commits() != $last;

    return time - $since > 0.5
           && $stat{change_last} == $stat{change_copied};
}, 60), 'calm';

# only $still can take the sign-out
kill STOP => $other;
stopped($other);

my $before = commits();

$t->write_file('disk', 'hold');
$ann->open;
$ann->send($ann->format('POST', '/sign_out', Accept => 'application/json',
    'X-CSRF-Token' => $ann->{csrf},
    'Content-Type' => 'application/x-www-form-urlencoded', body => ''));

ok $t->wait_for(sub { commits() > $before }, 60), 'it is in a commit';

kill STOP => $still;
stopped($still);
kill CONT => $other;
unlink $control;

my @codes = map { (private($ben), $t->client->get('/up')->code) } 1 .. 50;

is join(' ', grep { $_ != 200 } @codes), '', 'the other one decides';
is $t->client->get('/private')->code, 401, 'also against somebody';
ok !$ann->more(0), 'the sign-out has not been answered';

kill CONT => $still;

like $ann->receive->code, qr/\A(?:200|303)\z/, 'it goes on and answers';
is private($ann), 401, 'what it answered holds';
is private($ben), 200, 'of one session';
like scalar($t->sessionctl('check')), qr/\A(?!.*damaged)/s,
    'the store is whole';

$t->done;


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
