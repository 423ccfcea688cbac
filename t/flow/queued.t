# Hundreds of sign-ins wait for their hash when nginx is told to leave: it does
# so in a time that is known beforehand.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::SignIn;
use Test::More;
use Time::HiRes qw(time);

my $many = 500;

# A gracefully leaving worker waits this long for hashes that have not begun.
my $timeout = 3;

# Connections, answers and the master's own pace, on a machine that is busy.
my $slack = 15;

my $t = Session::Flow->new(users => ['alice']);
my $first = prepared($t);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(http => <<"END")
    session_hash memory=64m passes=4 concurrent=1 queue=600
                 timeout=${timeout}s;
    session_throttle account=10000r/15m address=10000r/15m;
END
    =~ s/events \{ \}/events { worker_connections 1500; }/r);


# ------------------------------------------------------------------- QUIT ---

$t->run;

{
    my @clients = attempts();
    my $from = time;

    $t->stop('QUIT');
    cmp_ok time - $from, '<', $timeout + $slack, 'SIGQUIT: a bounded end';
    answered(@clients);
}


# -------------------------------------------------------------------- HUP ---

$t->run;

{
    my @clients = attempts();
    my ($old) = $t->workers;
    my $from = time;

    ok $t->reload, 'SIGHUP';

    my $c = $t->client;

    is sign_in($c, 'alice')->code, 303, 'the new worker has room';
    is $c->get('/private')->code, 200, 'and decides';
    ok $t->wait_for(sub { !grep { $_ == $old } $t->workers(1) }),
        'the old one leaves';
    cmp_ok time - $from, '<', $timeout + $slack, 'a bounded end';
    answered(@clients);
}


# ------------------------------------------------------------------- TERM ---

# The master gives workers a second and then kills them.

$t->allow(qr/worker process \d+ exited on signal 9/);

{
    my @clients = attempts();
    my $from = time;

    $t->stop('TERM');
    cmp_ok time - $from, '<', $slack, 'SIGTERM waits for none of them';

    my %code = codes(@clients);

    cmp_ok $code{none} // 0, '>', $many / 2, 'most are not answered';
    delete @code{qw(none 401)};
    is join(' ', %code), '', 'and none with anything else';
}

$t->done;


# So many attempts, all of them with the worker when this returns.

sub attempts {
    my @clients = map { $t->client(timeout => 60) } 1 .. $many;

    for my $c (@clients) {
        @$c{qw(jar csrf)} = @$first{qw(jar csrf)};
        $c->open or die "no connection\n";
        $c->send(attempt($c, 'nobody', 'x'));
    }

    $t->client->get('/up') for 1, 2;

    return @clients;
}


sub codes {
    my %code;

    for (@_) {
        my $r = $_->receive;

        $code{ $r ? $r->code : 'none' }++;
    }

    return %code;
}


# Everybody: those who were hashed, and those who would have waited too long.

sub answered {
    my %code = codes(@_);

    note join ' ', map { "$_: $code{$_}" } sort keys %code;
    cmp_ok $code{401}, '>', 0, 'some are hashed';
    cmp_ok $code{503}, '>', 0, 'some are told to come again';
    is $code{401} + $code{503}, $many, 'nobody is let down';
}
