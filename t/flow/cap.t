# session_limit: many sign-ins of one user at once, over all workers, leave
# exactly as many sessions as may be, and lose none that was answered last.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::SignIn;
use Test::More;

my $t = Session::Flow->new(workers => 3, users => [qw(alice bob carol dora)]);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    listen => 'reuseport', http => <<'END'));
    session_limit 5;
    session_hash concurrent=2 queue=100 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;

    server {
        listen 127.0.0.1:%%PORT_8081%% reuseport;
        session_limit 64;
        location = /sign_in { session_page sign_in; }
    }
END
$t->run;

my $workers = each_worker($t);
my $bob = $t->session('bob');


# ------------------------------------------------------- all at once ---

{
    my @clients = map { prepared($t) } 1 .. 50;

    $_->send(attempt($_, 'alice')) for @clients;

    my @codes = map { my $r = $_->receive(timeout => 60);
                      $r ? $r->code : 'none' } @clients;

    is scalar(grep { $_ eq '200' } @codes), 50, 'all are answered'
        or diag "@codes";

    my %token = map { ($_->cookie($Session::World::cookie) // '') => 1 }
                @clients;

    is scalar(keys %token), 50, 'each with a session of its own';
    is live('alice'), 5, 'five are left';

    for my $pid (sort keys %$workers) {
        my @live = grep { private($workers->{$pid}, $_) == 200 } keys %token;

        is scalar(@live), 5, 'which one worker sees as the others do';
    }
}


# Where there is room for all of them, none is lost.

{
    my @clients = map { prepared($t) } 1 .. 50;

    for (@clients) {
        $_->{port} = $t->port(8081);
        $_->open;
        $_->send(attempt($_, 'dora'));
    }

    my @codes = map { my $r = $_->receive(timeout => 60);
                      $r ? $r->code : 'none' } @clients;

    is "@codes", join(' ', (200) x 50), 'all are answered';
    is live('dora'), 50, 'all are on record';

    for my $pid (sort keys %$workers) {
        my @live = grep {
            private($workers->{$pid},
                    $_->cookie($Session::World::cookie)) == 200
        } @clients;

        is scalar(@live), 50, 'and live for each worker';
    }
}


# --------------------------------------------------- one after another ---

{
    my ($c) = values %$workers;
    my @tokens = map { $t->session('carol', created => $_ - 100)->{token} }
                 1 .. 5;

    is private($c, $tokens[$_]), 200, "session $_" for 0 .. 4;

    for my $n (0 .. 4) {
        my $new = prepared($t);

        $new->send(attempt($new, 'carol'));
        is $new->receive->code, 200, "sign-in $n";
        is private($c, $new->cookie($Session::World::cookie)), 200, 'is live';
        is private($c, $tokens[$n]), 401, 'the oldest goes';
        is live('carol'), 5, 'five are left';
    }

    is private($c, $bob->{token}), 200, 'nobody else is asked to go';
    like scalar($t->sessionctl('session', 'list', '--ended', '--json')),
        qr/"end":"limit"/, 'the reason is on record';
}


# A browser that signs in again takes its own place, not somebody's.

{
    my $c = $t->client;

    is sign_in($c, 'bob')->code, 303, 'bob signs in';

    for my $n (1 .. 6) {
        is $c->form('/sign_in?fresh=1',
                    { login => 'bob',
                      password => $Session::World::password })->code,
            303, "and again, $n";
    }

    is live('bob'), 2, 'he has two sessions';
}

$t->done;


sub private {
    my ($client, $token) = @_;
    my $r = $client->get('/private',
                         Cookie => "$Session::World::cookie=$token");

    return $r ? $r->code : 0;
}


sub live {
    my ($login) = @_;
    my $n = () = scalar($t->sessionctl('session', 'list', '--user', $login,
                                       '--json')) =~ /"ref"/g;

    return $n;
}
