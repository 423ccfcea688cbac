# session_throttle: what is counted together, and what outlives a reload, a
# killed worker and a client that does not wait.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::SignIn;
use Test::More;

my $t = Session::Flow->new(workers => 2,
                           users => ['alice', 'bob', 'alice@other']);

$t->write_file('html/private', "secret\n");

# Everybody comes from where X-Real-IP says.

sub configure {
    my ($throttle, $hash) = @_;

    $hash //= '';
    $t->write_file_expand('nginx.conf', configuration(
        listen => 'reuseport', http => <<"END"));
    session_throttle $throttle;
    $hash
    set_real_ip_from 127.0.0.1;
    real_ip_header X-Real-IP;

    server {
        listen 127.0.0.1:%%PORT_8081%%;
        root %%TESTDIR%%/html;
        session_realm other;
        location = /sign_in { session_page sign_in; }
    }
END
}


# Signs in from an address: the status code.

sub try_from {
    my ($address, $login, $password, %arg) = @_;
    my $client = $arg{client}
        // $t->client(number => $arg{number} // 8080);

    $client->{headers} = ['X-Real-IP' => $address];

    my $r = sign_in($client, $login, $password);

    return $r ? $r->code : 'none';
}

sub wrong_from { my ($address, $login) = @_; try_from($address, $login, 'x') }


# -------------------------------------------------------------- account ---

configure('account=3r/15m address=1000r/15m');
$t->run;

is wrong_from('192.0.2.1', 'alice'), 401, "wrong $_ of 3" for 1 .. 3;
is try_from('192.0.2.1', 'alice'), 429, 'the right one comes too late';
is try_from('192.0.2.1', 'ALICE'), 429, 'in capitals too';
is try_from('192.0.2.1', 'bob'), 303, 'another account from there';
is try_from('192.0.2.2', 'alice'), 303, 'the account from elsewhere';
is try_from('192.0.2.1', 'alice', undef, number => 8081), 303,
    'the same login of another realm';
is try_from('::ffff:192.0.2.1', 'alice'), 429, 'the address in IPv6 dress';

{
    my $clients = each_worker($t);

    is try_from('192.0.2.1', 'alice', undef, client => $clients->{$_}), 429,
        'each worker knows' for sort keys %$clients;
}

$t->reload;
is try_from('192.0.2.1', 'alice'), 429, 'after a reload';

$t->kill_worker('KILL', $_) for $t->workers;
is try_from('192.0.2.1', 'alice'), 429, 'after kill -9 of all workers';

configure('account=12r/1h address=1000r/15m');
$t->reload;
is try_from('192.0.2.1', 'alice'), 303, 'a reload may allow more at once';

configure('account=3r/15m address=1000r/15m');
$t->reload;
is try_from('192.0.2.1', 'alice'), 429, 'and back';

configure('account=3r/15m address=1000r/15m zone=2m');
$t->reload;
is try_from('192.0.2.1', 'alice'), 303, 'another zone is empty';


# -------------------------------------------------------------- address ---

configure('account=1000r/15m address=3r/15m zone=1m');
$t->reload;

is wrong_from('198.51.100.1', "nobody$_"), 401, "wrong $_ of 3" for 1 .. 3;
is try_from('198.51.100.1', 'alice'), 429, 'any account from there';
is try_from('198.51.100.2', 'alice'), 303, 'not from next door';

is wrong_from("2001:db8:1:2::$_", "nobody$_"), 401, "IPv6, wrong $_ of 3"
    for 1 .. 3;
is try_from('2001:db8:1:2:ffff::1', 'alice'), 429, 'all of its /64';
is try_from('2001:db8:1:3::1', 'alice'), 303, 'not the next /64';

is try_from('203.0.113.1', 'alice'), 303, "success $_ is not counted"
    for 1 .. 5;


# ---------------------------------------------------------- known device ---

# Somebody who shares alice's address, or has it, tries to lock her out.

configure('account=3r/15m address=4r/15m zone=3m');
$t->reload;

{
    my $known = $t->client;

    is try_from('192.0.2.20', 'alice', undef, client => $known), 303,
        'a browser that alice knows';
    $known->forget($Session::World::cookie);

    is wrong_from('192.0.2.20', 'alice'), 401, "wrong $_ of 3" for 1 .. 3;
    is try_from('192.0.2.20', 'alice'), 429, 'the account is locked from there';
    is wrong_from('192.0.2.20', 'nobody'), 401, 'one more of the address';
    is try_from('192.0.2.20', 'bob'), 429, 'and the address is';

    is try_from('192.0.2.20', 'bob', undef, client => $known), 429,
        'the browser is of no use to others';
    is try_from('192.0.2.20', 'alice', undef, client => $known), 303,
        'it gets in';
    $known->forget($Session::World::cookie);

    is try_from('192.0.2.20', 'alice', 'x', client => $known), 401,
        "it may be wrong as well, $_ of 3" for 1 .. 3;
    is try_from('192.0.2.20', 'alice', undef, client => $known), 429,
        'but not for ever';
    is try_from('192.0.2.21', 'alice'), 303, 'which locks nobody else';
}


# --------------------------------------------------------- gone half-way ---

configure('account=3r/15m address=1000r/15m zone=32k',
          'session_hash memory=64m passes=8;');
$t->reload;

for my $n (1 .. 3) {
    my $c = prepared($t);
    my $from = $t->log_size;

    $c->{headers} = ['X-Real-IP' => '192.0.2.9'];
    $c->send(attempt($c, 'nobody', 'x'));
    $t->client->get('/up') for 1 .. 8;
    $c->reset;
    ok $t->wait_log(qr/prematurely closed/, $from), "gone half-way, $n";
}

is wrong_from('192.0.2.9', 'nobody'), 429, 'is counted all the same';
is wrong_from('192.0.2.10', 'nobody'), 401, 'there only';

$t->done;
