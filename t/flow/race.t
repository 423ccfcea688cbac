# Signing out while fifty requests of the same session are under way: some have
# been let in and wait for the app, some come to their end beside it, some
# after it.  The uses they leave behind are written later, and bring nobody
# back.

use strict;
use warnings;

use lib 't/lib';
use IO::Socket::INET ();
use Session::Flow;
use Session::Model;
use Session::SignIn;
use Test::More;

my $rounds = $ENV{TEST_NGINX_RACES} // 200;
my $t = Session::Flow->new(workers => 2, users => ['p0', 'p1']);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    server => $Session::Model::headers . <<'END'));
        session_lifetime 7d idle=1d touch=1s;
        keepalive_requests 1000000;
        location = /app {
            session_require user;
            proxy_pass http://127.0.0.1:%%PORT_8081%%;
        }
END
$t->run;

my $app = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 64,
                                LocalPort => $t->port(8081), ReuseAddr => 1,
                                Timeout => 60) or die "listen: $!\n";
my $m = Session::Model->new($t);
my @clients = map { my $c = $t->client; $c->open; $c } 1 .. 50;
my @in_flight = @clients[0 .. 19];
my @beside = @clients[20 .. 34];
my @after = @clients[35 .. 49];
my $out = $t->client;
my %code;

for my $n (1 .. $rounds) {
    my $login = 'p' . $n % 2;
    my $token = $m->mint($login, created => -20, seen => -10)->{token};
    my $cookie = "$Session::World::cookie=$token";
    my (%from, @taken);

    for my $c (@clients) {
        $c->usable or $c->open;

        my $path = grep({ $_ == $c } @in_flight) ? '/app' : '/private';

        $c->{bytes} = $c->format('GET', $path, Cookie => $cookie);
    }

    for (@in_flight) {
        $from{$_} = Session::Model::now();
        $_->send($_->{bytes});
    }

    $_->send(substr $_->{bytes}, 0, -2) for @beside, @after;

    # with the app, so they were let in
    push @taken, $app->accept || BAIL_OUT("accept: $!") for @in_flight;

    # in another process's place: it is sent, and what comes back is read later
    $out->open;

    my $from = Session::Model::now();

    $out->send($out->format('DELETE', '/sign_out', Cookie => $cookie,
                            Accept => 'application/json',
                            'Sec-Fetch-Site' => 'same-origin'));

    for (@beside) {
        $from{$_} = Session::Model::now();
        $_->send("\r\n");
    }

    my $r = $out->receive;

    $m->note('out', $from, Session::Model::now(), $login, $token,
             Session::Model::answer($r));

    for (@after) {
        $from{$_} = Session::Model::now();
        $_->send("\r\n");
    }

    for (@taken) {
        sysread $_, my $head, 65536;
        print {$_} "HTTP/1.0 200 OK\r\n\r\n";
        close $_;
    }

    for my $c (@clients) {
        my $answer = $c->receive;

        $m->note('get', $from{$c}, Session::Model::now(),
                 Session::Model::said($answer, 'X-User'), $token,
                 Session::Model::answer($answer), '-');
        $code{beside}{Session::Model::answer($answer)}++
            if grep { $_ == $c } @beside;
    }

    $m->ask($out, $token);
}

diag 'beside the sign-out: ', join ', ',
     map { "$code{beside}{$_} $_" } sort keys %{ $code{beside} };

# A worker writes the uses that it has kept within 200 ms, and a change of
# another session that begins later is in no earlier batch.

for my $login (qw(p0 p1)) {
    for (1 .. 4) {
        my $token = $m->sign_in($out, $login);

        $m->sign_out($out, $login, $token) if $token;
    }
}

is $m->verdict, '', 'every answer was right';
is scalar($t->sessionctl('session', 'list', '--json')) =~ /"ref"/, '',
    'nobody is signed in';

my $stop = $t->stop('QUIT');
my $dump = $t->sessionctl('dump');
my $sessions = () = $dump =~ /"record":"session"/g;
my $over = () = $dump =~ /"record":"session".*"ended":[1-9]/g;

cmp_ok $sessions, '>=', $rounds, "$sessions sessions on record";
is $over, $sessions, 'all are over, when all has been written';

close $app;
$t->done;
