# Workers that are killed: what was answered holds, the locks of the dead are
# taken over, the others and the next ones go on.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::SignIn;
use Session::Log qw(slurp);
use Test::More;

my $cookie = $Session::World::cookie;
my $rounds = $ENV{TEST_NGINX_KILLS} // 4;
my $patience = 120;
my $t = Session::Flow->new(workers => 2, users => [map { "u$_" } 0 .. 3]);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    server => 'session_lifetime 7d idle=1d touch=1s; session_limit 64;',
    http => <<'END'));
    session_hash queue=100 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END
$t->run;

my $session = $t->session('u0', seen => -10);

# Signs in, and every other time out again, and writes down what was answered.
# A connection may break; an answer must be right.  Nobody keeps as many as
# session_limit would end.

my $kept = 0;
my $load = load_start(3, sub {
    my ($number) = @_;
    my $c = $t->client;

    open my $log, '>>', $t->dir . "/answers$number" or die $!;
    $log->autoflush(1);

    my $r = eval { sign_in($c, "u$number") };

    return '' if !$r || !$r->code;
    return 'sign-in: ' . $r->code if $r->code != 303;

    my $token = $c->cookie($cookie);

    if ($kept < 40 && rand() < 0.5) {
        $kept++;
        print $log "in $token\n";
        return '';
    }

    print $log "trying $token\n";
    $r = eval { $c->form('/sign_out', {}) };

    return '' if !$r || !$r->code;

    # The worker died between commit and answer, and the client sent the form
    # again: the token is that of a session that is over.

    return 'sign-out: ' . $r->code
        if $r->code != 303 && !($r->code == 403 && private($token) == 401);

    print $log "out $token\n";

    return '';
});

my $reads = load_start(1, sub {
    my $r = $t->client->get('/private',
                            Cookie => "$cookie=$session->{token}");

    return !$r || !$r->code || $r->code == 200 ? ''
           : 'answered ' . $r->code . ', session is ' . $r->header('X-Status');
});

for my $round (1 .. $rounds) {
    for my $victim ($t->workers) {
        my $before = answers();

        ok $t->wait_for(sub { answers() > $before + 200 }, $patience),
            "round $round: they are at work";
        ok $t->kill_worker('KILL', $victim), "worker $victim is killed";
    }
}

# A busy machine answers few of them between two kills: enough of each kind
# are waited for before the load ends.

ok $t->wait_for(sub {
    my %lines = lines();

    return ($lines{in} // 0) > 3 && ($lines{out} // 0) > 3
           && ($lines{trying} // 0) > 10;
}, $patience), 'they still are';

my ($calls, @wrong) = load_stop($load);

cmp_ok $calls, '>', 10, "$calls sign-ins were tried";
is join("\n", @wrong), '', 'no answer was wrong';

($calls, @wrong) = load_stop($reads);
cmp_ok $calls, '>', 10, "$calls requests with a session";
is join("\n", @wrong), '', 'were let in, if they were answered';

my %expected;

for my $line (map { split /\n/, slurp($t->dir . "/answers$_") } 0 .. 2) {
    my ($what, $token) = split ' ', $line;

    $expected{$token} = { in => 200, out => 401, trying => 0 }->{$what};
}

my @lost = grep { $expected{$_} == 200 && private($_) != 200 } keys %expected;
my @back = grep { $expected{$_} == 401 && private($_) != 401 } keys %expected;

cmp_ok scalar(grep { $_ == 200 } values %expected), '>', 3,
    'sign-ins were answered';
cmp_ok scalar(grep { $_ == 401 } values %expected), '>', 3,
    'sign-outs were answered';
is scalar(@lost), 0, 'no answered sign-in is lost';
is scalar(@back), 0, 'no answered sign-out is undone';
is private($session->{token}), 200, 'signed in all the time';
is scalar($t->sessionctl('check')) =~ /error|damaged/i, '',
    'the store is whole';

$t->done;


sub answers {
    my $n = 0;

    $n += -s $t->dir . "/answers$_" // 0 for 0 .. 2;

    return $n;
}


# How many lines of each kind have been written down.

sub lines {
    my %lines;

    $lines{$_}++
        for map { slurp($t->dir . "/answers$_") =~ /^(\w+) /gm } 0 .. 2;

    return %lines;
}


# The code, whichever worker dies meanwhile.

sub private {
    my ($token) = @_;

    return $t->wait_for(sub {
        my $r = eval { $t->client->get('/private',
                                       Cookie => "$cookie=$token") };

        return $r && $r->code;
    }) // 0;
}
