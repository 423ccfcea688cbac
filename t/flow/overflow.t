# More sign-ins than there is room for: 503 with Retry-After for those that
# do not fit, everything else goes on, and all places are given back.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::SignIn;
use Test::More;

my $t = Session::Flow->new(users => ['alice']);

$t->write_file('html/private', "secret\n");

sub configure {
    my ($hash, $rate) = @_;

    $rate //= '10000r/15m';

    $t->write_file_expand('nginx.conf', configuration(http => <<"END"));
    session_hash $hash;
    session_throttle account=$rate address=10000r/15m;
END
}

configure('memory=96m passes=16 concurrent=1 queue=1 timeout=60s');
$t->run;

my $session = $t->session('alice');

for my $round (1, 2) {
    my @clients = map { prepared($t) } 1 .. 6;

    $_->send(attempt($_, 'nobody')) for @clients;

    my $up = $t->client->get('/up');

    is $up && $up->code, 200, "$round: /up while it is full";

    my $client = $t->client;

    $client->cookie($Session::World::cookie, $session->{token});
    is $client->get('/private')->code, 200, 'sessions go on';
    ok scalar(grep { $_->usable } @clients), 'while a hash is under way';

    my %code;

    for my $c (@clients) {
        my $r = $c->receive(timeout => 60);
        my $code = $r ? $r->code : 'none';

        $code{$code}++;

        if ($code eq '503') {
            like $r->header('Retry-After'), qr/\A[1-9]\d?\z/, 'Retry-After';
            like $r->body, qr/"error":"busy"/, 'says why';
        }
    }

    is join(' ', map { "$_=$code{$_}" } sort keys %code), '401=2 503=4',
        'one is hashed, one waits';
}


# An overflow costs nobody an attempt, and a browser gets the form again.

{
    my @clients = map { prepared($t) } 1, 2;

    $_->send(attempt($_, 'nobody')) for @clients;
    $t->client->get('/up');

    my $c = $t->client;
    my $r = sign_in($c, 'alice');

    is $r->code, 503, 'the form';
    like $r->header('Retry-After'), qr/\A[1-9]\d?\z/, 'Retry-After';
    like $r->body, qr/name="login" value="alice"/, 'the login is kept';
    is $c->cookie($Session::World::cookie), undef, 'no session';
    $_->receive(timeout => 60) for @clients;
    is sign_in($c, 'alice')->code, 303, 'there is room again';
}


# ---------------------------------------------------------- known device ---

# The place of a stranger goes to a browser that has signed this user in.

{
    my $known = $t->client;

    is sign_in($known, 'alice')->code, 303, 'a browser that alice knows';

    my @clients = map { prepared($t) } 1, 2;

    $_->send(attempt($_, 'nobody')) for @clients;
    $t->client->get('/up');
    $known->forget($Session::World::cookie);
    is sign_in($known, 'alice')->code, 303, 'is not turned away';

    my @codes = sort map { $_->receive(timeout => 60)->code } @clients;

    is "@codes", '401 503', 'a stranger is';
}


# --------------------------------------------------------------- waiting ---

configure('memory=96m passes=16 concurrent=1 queue=8 timeout=100ms');
$t->reload;

{
    my $first = prepared($t);
    my $second = prepared($t);

    $first->send(attempt($first, 'nobody'));
    $t->client->get('/up');
    $second->send(attempt($second, 'alice'));

    my $r = $second->receive(timeout => 60);

    is $r->code, 503, 'waited too long';
    like $r->body, qr/"error":"busy"/, 'says why';
    is $first->receive(timeout => 60)->code, 401,
        'what has begun is not broken off';
}


# --------------------------------------------------------- not an attempt ---

# A password that nobody has looked at is not counted.

for my $bounds ('queue=1 timeout=60s', 'queue=8 timeout=100ms') {
    configure("memory=96m passes=16 concurrent=1 $bounds", '2r/15m');
    $t->reload;

    my @busy = map { prepared($t) } 1, 2;

    $busy[$_]->send(attempt($busy[$_], "nobody$_")) for 0, 1;
    $t->client->get('/up');

    my @turned = map { prepared($t) } 1 .. 4;

    for (@turned) {
        $_->send(attempt($_, 'alice'));
        is $_->receive->code, 503, "$bounds: turned away";
    }

    $_->receive(timeout => 60) for @busy;
    is sign_in($t->client, 'alice')->code, 303, 'none was counted';
}

$t->done;
