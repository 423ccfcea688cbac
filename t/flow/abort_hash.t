# Clients that go away while their password is hashed: when it begins, at one,
# fifty and ninety-nine hundredths, and when it has ended and nobody knows yet.
# No request waits for its hash, no place in the queue is lost.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;
use Time::HiRes qw(time);

my $t = Session::Flow->new(users => ['alice', 'bob']);
my $hashes = $t->dir . '/hashes';

local $ENV{COUNT_HASH} = $hashes;
local $ENV{TEST_NGINX_LD_PRELOAD} = join ':',
    grep { defined && length } $ENV{TEST_NGINX_LD_PRELOAD},
                               compiled($t, 'count_hash');

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(http => <<'END'));
    session_hash memory=32m passes=5 concurrent=1 queue=1 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END
$t->run;

my $took = measured();

for my $way (qw(close reset finish)) {
    held($way, $_) for qw(before after);
}

at('close', 0.01);
at('reset', 0.5);
at('reset', 0.99);

is live(), 0, 'nobody has been signed in';

$t->done;


# How long the hash of an unknown login takes: what is configured.

sub measured {
    my $c = prepared($t);
    my $from = time;

    $c->send(attempt($c, 'nobody'));
    is $c->receive->code, 401, 'a hash';

    return time - $from;
}


# Stopped for sure at its beginning or its end; alice's password is right.

sub held {
    my ($way, $when) = @_;
    my $c = prepared($t);
    my $lines = logged();

    $t->write_file("hashes.$when", '');
    $c->send(attempt($c, 'alice'));
    ok $t->wait_for(sub { -e "$hashes.held" }), "$way, $when the hash";
    $c->$way;
    ok $t->wait_for(sub { logged() > $lines }), 'the request is over';
    ok -e "$hashes.$when", 'while the hash is not';
    unlink "$hashes.$when", "$hashes.held";
    served();
}


sub at {
    my ($way, $part) = @_;
    my $c = prepared($t);
    my ($lines, $before) = (logged(), counted());

    $c->send(attempt($c, 'nobody'));
    $t->wait_for(sub { counted() > $before }) or fail('no hash has begun');

    my $from = time;

    $t->wait_for(sub { time - $from >= $part * $took });
    $c->$way;
    ok $t->wait_for(sub { logged() > $lines }),
        "$way at $part: the request is over";
    served();
}


# As many as there are places, one running and one waiting, and no more.

sub served {
    my @clients = map { prepared($t) } 1, 2;
    my @codes;

    ok $t->wait_for(sub { idle() }), 'the hash has ended';
    $_->send(attempt($_, 'bob')) for @clients;
    @codes = map { my $r = $_->receive; $r ? $r->code : 'none' } @clients;

    is "@codes", '200 200', 'the next two sign in';
}


# Whether the pool has nothing to do: a hash is begun at once.

sub idle {
    my $before = counted();
    my $c = prepared($t);

    $c->send(attempt($c, 'bob'));

    my $r = $c->receive;

    return $r && $r->code == 200 && counted() == $before + 1;
}


sub counted { my $text = slurp($hashes); $text =~ tr/\n// }
sub logged { my $text = slurp($t->dir . '/logs/access.log'); $text =~ tr/\n// }


sub live {
    my $n = () = scalar($t->sessionctl('session', 'list', '--user', 'alice',
                                       '--json')) =~ /"ref"/g;

    return $n;
}
