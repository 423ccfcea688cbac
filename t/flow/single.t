# "master_process off": one process that is never forked and has no graceful
# end.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::SignIn;
use Test::More;
use Time::HiRes qw(time);

my $t = Session::Flow->new(master => 0, users => ['alice', 'bob']);
my $idle = $t->session('bob', created => -7200, seen => -7200);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration());

for my $signal (qw(TERM QUIT)) {
    my $from = time;

    $t->run;

    my $c = $t->client;

    is sign_in($c, 'alice')->code, 303, 'signs in';
    is $c->get('/private')->code, 200, 'and knows';
    is $c->form('/sign_out', {})->code, 303, 'signs out';
    is $t->client->get('/private',
        Cookie => "$Session::World::cookie=$idle->{token}")->code, 200,
        'sees a session of before';
    $t->stop($signal);

    my ($seen) = $t->sessionctl('dump')
        =~ /"record":"session".*"login":"bob".*"seen":(\d+)/;

    cmp_ok $seen, '>=', int $from, "touched it before SIG$signal ended it"
        if $signal eq 'TERM';
}

$t->done;
