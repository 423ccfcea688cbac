# What the CLI does is seen by every worker on any request that starts after
# it has returned, however busy the session is just then.

use strict;
use warnings;

use lib 't/lib';
use IO::Socket::INET ();
use Session::Flow;
use Session::SignIn;
use Test::More;

my $t = Session::Flow->new(workers => 3, users => [
    'alice:editor', 'bob', map { "u$_" } 1 .. 5,
]);

$t->write_file('html/private', "secret\n");
$t->write_file('html/edit', "edit\n");
$t->write_file_expand('nginx.conf', configuration(
    listen => 'reuseport', server => <<'END', http => <<'END_HTTP'));
        session_lifetime 7d idle=1d touch=1s;
        location = /edit { session_require role=editor; }
        location = /app {
            session_require user;
            proxy_pass http://127.0.0.1:%%PORT_8081%%;
        }
END
    session_throttle account=10000r/15m address=10000r/15m;
END_HTTP
$t->run;

my $workers = each_worker($t);
my $app = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 64,
                                LocalPort => $t->port(8081), ReuseAddr => 1,
                                Timeout => 30) or die "listen: $!\n";


# ---------------------------------------------------------- one session ---

for my $n (1 .. 10) {
    my $session = $t->session('alice');
    my $other = $t->session('alice');

    is private_by_worker($workers, $session->{token}, 200), '', "live, $n";
    is run('session', 'revoke', $session->{ref}), 0, 'revoked';
    is private_by_worker($workers, $session->{token}, 401), '',
        'over, on every worker';
    is private_by_worker($workers, $other->{token}, 200), '',
        'the user\'s others are not';
    is run('session', 'revoke', $other->{ref}), 0, 'nor need they stay';
}

is_deeply [ map { status($_, $t->session('alice', end => 'revoked')) }
            values %$workers ], [ ('revoked') x 3 ], 'the variable says so';


# -------------------------------------------------------------- in use ---

# Every request is late enough to touch: none may bring a session back.

for my $command (['session', 'revoke', '--user', 'bob'],
                 ['user', 'disable', 'bob'])
{
    my $session = $t->session('bob', seen => -10);
    my %mine;

    my $load = load_start(2, sub {
        my $client = $mine{$$} //= $t->client;
        my $r = $client->get('/private',
            Cookie => "$Session::World::cookie=$session->{token}");
        my $code = $r ? $r->code : 'none';

        return $code eq '200' || $code eq '401' ? '' : "answered $code";
    });

    is private_by_worker($workers, $session->{token}, 200), '', 'live';
    is run(@$command), 0, "@$command";

    my $wrong = '';

    $wrong .= private_by_worker($workers, $session->{token}, 401)
        for 1 .. 100;

    is $wrong, '', 'over, and stays so';

    my ($calls, @wrong) = load_stop($load);

    cmp_ok $calls, '>', 10, 'while it was in use';
    is "@wrong", '', 'without an error';
    is private_by_worker($workers, $session->{token}, 401), '',
        'and after that';
}


# ------------------------------------------------------------ in flight ---

# What was let in before is answered; whatever begins after it is not let in.
# The application takes all requests and answers when the test says so.

{
    my @sessions = map { $t->session("u$_") } (1 .. 5) x 10;
    my @clients = map { $t->client } @sessions;
    my @taken;

    for my $i (0 .. $#clients) {
        $clients[$i]->cookie($Session::World::cookie, $sessions[$i]{token});
        $clients[$i]->open;
        $clients[$i]->send($clients[$i]->format('GET', '/app'));

        my $sock = $app->accept or die "accept: $!\n";

        sysread $sock, my $head, 65536;
        push @taken, $sock;
    }

    is scalar(@taken), 50, 'requests in flight';
    is run('session', 'revoke', '--all'), 0, 'all revoked';
    is join('', map { private_by_worker($workers, $_->{token}, 401) }
                    @sessions), '', 'over, on every worker';

    for (@taken) {
        print {$_} "HTTP/1.0 200 OK\r\n\r\n";
        close $_;
    }

    is join(' ', map { $_->receive->code } @clients),
        join(' ', (200) x 50), 'those in flight are answered';
    is join(' ', map { $_->get('/app')->code } @clients),
        join(' ', (401) x 50), 'the next of each is not let in';
}


# ---------------------------------------------------------------- users ---

{
    my @sessions = map { $t->session("u$_") } 1 .. 5;
    my @clients = values %$workers;

    is sign_in($t->client, 'u1')->code, 303, 'u1 may sign in';
    is run('user', 'disable', 'u1'), 0, 'u1 disabled';
    is private_by_worker($workers, $sessions[0]{token}, 401), '',
        'its session is over';
    is status($clients[0], $sessions[0]), 'disabled', 'for that reason';
    is sign_in($t->client, 'u1')->code, 401, 'it may not sign in';
    is run('user', 'enable', 'u1'), 0, 'u1 enabled';
    is private_by_worker($workers, $sessions[0]{token}, 401), '',
        'what is over stays over';
    is sign_in($t->client, 'u1')->code, 303, 'it may sign in';

    is run('user', 'delete', 'u2'), 0, 'u2 deleted';
    is private_by_worker($workers, $sessions[1]{token}, 401), '',
        'its session is over';
    is sign_in($t->client, 'u2')->code, 401, 'nobody of that name';

    is run('session', 'revoke', '--all'), 0, 'all revoked';
    is private_by_worker($workers, $sessions[$_]{token}, 401), '', "u$_"
        for 2 .. 4;
}


# ---------------------------------------------------------------- roles ---

{
    my $session = $t->session('alice');
    my %cookie = (Cookie => "$Session::World::cookie=$session->{token}");

    is join(' ', map { $_->get('/edit', %cookie)->code } values %$workers),
        '200 200 200', 'an editor';
    is run('user', 'roles', 'alice', ''), 0, 'no more';
    is join(' ', map { $_->get('/edit', %cookie)->code } values %$workers),
        '403 403 403', 'on every worker';
    is private_by_worker($workers, $session->{token}, 200), '',
        'but signed in';
}

close $app;
$t->done;


sub run {
    my ($code, $text) = $t->sessionctl(@_);

    diag $text if $code;

    return $code;
}


sub status {
    my ($client, $session) = @_;

    return $client->get('/private',
        Cookie => "$Session::World::cookie=$session->{token}")
        ->header('X-Status');
}
