# A clock that steps under running workers, by an hour as NTP may do, by a
# leap second, and over the years in which some clocks end.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::SignIn;
use Test::More;
use Time::Local qw(timegm);

my $cookie = $Session::World::cookie;
my $hour = 3600;
my $t = Session::Flow->new(workers => 2, users => [
    qw(alice bob carol dave erin frank gina hugo)]);
my $clock = $t->write_file('clock', pack 'q', 0);

local $ENV{SHIFT_CLOCK} = $clock;
local $ENV{TEST_NGINX_LD_PRELOAD} = join ':',
    grep { defined && length } $ENV{TEST_NGINX_LD_PRELOAD},
                               compiled($t, 'shift_clock');

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    listen => 'reuseport', http => <<'END', server => <<'END_SERVER'));
    session_limit 3;
    session_throttle account=3r/15m address=10000r/15m;
END
        session_lifetime 7d idle=2h touch=1s;
        location = /dashboard { session_page dashboard; }
END_SERVER
$t->run;


# ------------------------------------------------------------- an hour ---

my $workers = each_worker($t);
my $alice = token('alice');
my $short = $t->session('bob', idle => 1800)->{token};

decided($alice, 200, 'signed in');

ahead($hour);
decided($alice, 200, 'an hour later, within its idle time');
decided($short, 401, 'one whose idle time is over');

my $carol = token('carol');

decided($carol, 200, 'signed in an hour ahead');

ahead(0);
decided($alice, 200, 'an hour back, used ahead');
decided($carol, 401, 'made ahead');

{
    my $r = private($t->client, $carol);

    is $r->header('X-Status'), 'future', 'for that reason';
    is $r->header('Set-Cookie'), undef, 'the cookie stays';
}

decided(token('dave'), 200, 'signed in while the clock is back');

ahead($hour);
decided($carol, 200, 'made ahead, when its time has come');

ahead($hour - 300);
decided($carol, 200, 'five minutes are nothing');

ahead(-$hour);
decided($alice, 401, 'made an hour ago, as it seems: ahead');

ahead(0);
decided($alice, 200, 'as if nothing had been');


# ----------------------------------------------------------- while at it ---

for my $step ($hour, 0) {
    my $c = prepared($t);

    $c->send(attempt($c, 'erin'));
    ahead($step);
    is $c->receive->code, 200, "a step to $step during a sign-in";

    my $r = $c->form('/sign_out', {});

    is $r->code, 303, 'signed out';
}


# -------------------------------------------------------------- throttle ---

{
    my @said;

    for my $step (0, $hour, -$hour) {
        ahead($step);
        is wrong('frank')->code, 401, "wrong, at $step";
    }

    for my $step (0, $hour, -$hour, 0) {
        ahead($step);

        my $r = wrong('frank');

        is $r->code, 429, "too many, at $step";
        cmp_ok $r->header('Retry-After'), '<=', 900, 'for no longer';
    }
}


# ---------------------------------------------------------- leap second ---

for my $step (-1, 1) {
    my $token = token('dave');

    ahead($step);
    decided($token, 200, "a second repeated or left out, $step");
    ahead(0);
}


# ------------------------------------------------------ ends of clocks ---

# Seconds in 31 bits, in 32 (as in a token), and years of four digits.

for (['2038', 2 ** 31], ['2106', 2 ** 32],
     ['9999', timegm(0, 0, 0, 1, 0, 9999) + 365 * 86400])
{
    my ($year, $end) = @$_;

    my @old = map { at($end - $_); token('gina') } 60, 50, 40;

    decided($old[0], 200, "$year: signed in a minute before");

    at($end + 60);
    decided($_, 200, "$year: still, a minute after") for @old;

    my $new = token('gina');

    decided($new, 200, 'signed in after');
    decided($old[0], 401, 'for which the oldest ends');
    decided($_, 200, 'and no other') for @old[1, 2];

    at($end + 61);

    my $newer = token('gina');

    decided($old[1], 401, 'then the next');
    decided($_, 200, 'and no other') for $old[2], $new, $newer;

    my $c = $t->client;

    $c->cookie($cookie, $new);

    my $r = $c->get('/dashboard', Accept => 'text/html');

    is $r->code, 200, 'dashboard';

    my ($code, $text) = $t->sessionctl('session', 'list', '--user', 'gina');

    is $code, 0, 'sessionctl lists them';
    is $c->form('/sign_out', {})->code, 303, 'signed out';
    decided($new, 401, 'which holds');

    at($end + 3 * $hour);
    decided($_, 401, 'idle for too long') for $old[2], $newer;
}

$t->done;


# Seconds from the time it really is; at: from the epoch.

sub ahead {
    my ($seconds) = @_;

    open my $out, '+<:raw', $clock or die "$clock: $!\n";
    syswrite($out, pack 'q', $seconds) == 8 or die "$clock: $!\n";
    close $out;
}

sub at { my ($time) = @_; ahead($time - time) }


sub token {
    my ($login) = @_;
    my $c = $t->client;
    my $r = sign_in($c, $login);

    is $r && $r->code, 303, "$login signs in";

    return $c->cookie($cookie);
}


sub private {
    my ($c, $token) = @_;

    return $c->get('/private', Cookie => "$cookie=$token");
}


# On every worker.

sub decided {
    my ($token, $code, $name) = @_;

    is private_by_worker($workers, $token, $code), '', "$code: $name";
}


sub wrong { return sign_in($t->client, $_[0], 'wrong') }
