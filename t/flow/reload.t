# Reloads while people are at work: nobody is signed out, nobody who should
# not be is let in, nobody who signs in or out is let down.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::SignIn;
use Test::More;

my $cookie = $Session::World::cookie;
my $reloads = $ENV{TEST_NGINX_RELOADS} // 12;
my $t = Session::Flow->new(workers => 2, users => [qw(alice bob)]);

$t->write_file('html/private', "secret\n");

sub configure {
    my ($lifetime) = @_;

    $t->write_file_expand('nginx.conf', configuration(
        server => "session_lifetime 7d idle=$lifetime touch=1s;\n"
                  . 'keepalive_requests 20;', http => <<'END'));
    session_hash queue=100 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END
}

configure('1d');
$t->run;

my $session = $t->session('alice', seen => -10);
my $revoked = $t->session('alice', end => 'revoked');
my $unknown = Session::World::unknown($t->world);
my %client;

sub expect {
    my ($token, $code, $body) = @_;
    my $client = $client{$$} //= $t->client;
    my $r = $client->get('/private', $token ? (Cookie => "$cookie=$token")
                                            : ());

    return 'no answer' if !$r;
    return "answered " . $r->code . " instead of $code, session is "
           . ($r->header('X-Status') // 'not told') if $r->code != $code;
    return "answered with an unexpected body" if $r->body !~ $body;
    return '';
}

my %load = (
    'signed in' => load_start(2, sub {
        expect($session->{token}, 200, qr/\Asecret\n\z/) }),
    'not signed in' => load_start(1, sub {
        expect('', 401, qr/"session":"none"/) }),
    'revoked' => load_start(1, sub {
        expect($revoked->{token}, 401, qr/"session":"revoked"/) }),
    'never signed in' => load_start(1, sub {
        expect($unknown->{token}, 401, qr/"session":"revoked"/) }),
    'signing in and out' => load_start(1, sub { round() }),
);


# Each step must hold at once on whichever worker takes the next connection.

sub round {
    my $c = $t->client;
    my $r = sign_in($c, 'bob');

    return 'sign-in: ' . ($r ? $r->code : 'no answer')
        if !$r || $r->code != 303;

    my $token = $c->cookie($cookie);

    $client{$$} = undef;
    my $wrong = expect($token, 200, qr/\Asecret\n\z/);

    return "after sign-in: $wrong" if $wrong;

    $r = $c->form('/sign_out', {});

    return 'sign-out: ' . ($r ? $r->code : 'no answer')
        if !$r || $r->code != 303;

    $client{$$} = undef;
    $wrong = expect($token, 401, qr/"session":"revoked"/);

    return $wrong ? "after sign-out: $wrong" : '';
}

for my $n (1 .. $reloads) {
    my $from = $t->dir . '/logs/access.log';
    my $before = -s $from;

    configure($n % 2 ? '2d' : '1d');
    ok $t->reload, "reload $n";

    # both generations have been at work before the next one
    $t->wait_for(sub { -s $from > $before + 10_000 });
}

for my $name (sort keys %load) {
    my ($calls, @wrong) = load_stop($load{$name});

    cmp_ok $calls, '>', 3, "$name, $calls times";
    is join("\n", @wrong), '', "$name, without an error";
}

# Old workers go when their last request is done, and nothing holds them.

ok $t->wait_for(sub { $t->workers(1) == 2 }), 'the old workers are gone';
is expect($session->{token}, 200, qr/secret/), '', 'signed in all the time';

$t->done;
