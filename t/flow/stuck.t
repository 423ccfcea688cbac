# A thread pool whose only thread waits for a disk that hangs: who is signed in
# goes on, who wants to is told to come again, and nothing of it is counted.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

my $t = Session::Flow->new(users => ['alice', 'bob', 'carol']);
my $control = $t->dir . '/disk';

local $ENV{SLOW_DISK} = $control;
local $ENV{TEST_NGINX_LD_PRELOAD} = join ':',
    grep { defined && length } $ENV{TEST_NGINX_LD_PRELOAD},
                               compiled($t, 'slow_disk');

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    main => 'thread_pool default threads=1;', http => <<'END'));
    session_hash concurrent=2 queue=4 timeout=1s;
    session_throttle account=8r/15m address=10000r/15m;
END
$t->run;

my ($alice, $bob) = map { $t->signed_in($_) } qw(alice bob);


# The disk hangs in the commit of a sign-out, and with it the thread.

sub commits { return slurp("$control.calls") =~ tr/s// }

ok $t->wait_for(sub {
    my %stat = $t->sessionctl('stat', '--json') =~ /"(\w+)":(\d+)/g;

    return $stat{change_last} == $stat{change_copied};
}), 'the start is over';

my $before = commits();

$t->write_file('disk', 'hold');
$alice->open;
$alice->send($alice->format('POST', '/sign_out',
    Accept => 'application/json', 'X-CSRF-Token' => $alice->{csrf},
    'Content-Type' => 'application/x-www-form-urlencoded', body => ''));
ok $t->wait_for(sub { commits() > $before }, 60), 'the thread is stuck';

my $calls = commits();
my @waiting = map { prepared($t) } 1 .. 8;

$_->send(attempt($_, 'carol')) for @waiting;

my @codes = map { ($bob->get('/private')->code, $t->client->get('/up')->code,
                   $t->client->get('/private')->code) } 1 .. 50;

is join(' ', @codes), join(' ', ('200 200 401') x 50), 'everything is decided';

for (@waiting) {
    my $r = $_->receive;

    is $r->code, 503, 'a sign-in: 503';
    like $r->header('Retry-After'), qr/\A[1-9]\d?\z/, 'with Retry-After';
    is $_->cookie($Session::World::cookie), undef, 'and no cookie';
}

is $bob->get('/private')->code, 200, 'everything still is';
is commits(), $calls, 'and the thread still stuck';

unlink $control;

like $alice->receive->code, qr/\A(?:200|303|503)\z/, 'the disk is back';
is sign_in($t->client, 'carol')->code, 303, 'a sign-in: none was counted';
is sign_in($t->client, 'carol')->code, 303, 'and no place is lost';

$t->done;
