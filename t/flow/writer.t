# Changes of the store and the event loop: a disk that takes its time, one that
# fails, clients that do not wait, workers that leave meanwhile.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;
use Time::HiRes qw(time);

my @users = map { "user$_" } 1 .. 4;
my $t = Session::Flow->new(workers => 1, users => [@users, 'erin', 'frank']);
my $control = $t->dir . '/disk';

local $ENV{SLOW_DISK} = $control;
local $ENV{TEST_NGINX_LD_PRELOAD} = join ':',
    grep { defined && length } $ENV{TEST_NGINX_LD_PRELOAD},
                               compiled($t, 'slow_disk');

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    http => 'session_throttle account=1000r/m address=1000r/m;'));
$t->run;

# the duties of a start are commits too
calm();


# ------------------------------------------------------------- the disk ---

sub disk { my ($says) = @_; $says ? say_disk($says) : unlink $control }

sub say_disk {
    my ($says) = @_;

    $t->write_file('disk.new', $says);
    rename $t->dir . '/disk.new', $control or die "$control: $!\n";
}

sub commits {
    my $calls = slurp("$control.calls");

    return $calls =~ tr/s//;
}


# Nothing has been written for a while, and nothing will be by itself: the
# audit copies what has changed, up to a second later, and that is a commit too.

sub calm {
    my ($last, $since) = (-1, 0);

    $t->wait_for(sub {
        my $now = commits();

        ($last, $since) = ($now, time) if $now != $last;

        return time - $since > 0.5 && copied();
    }, 60) or fail('the writer is never calm');
}

sub copied {
    my %stat = $t->sessionctl('stat', '--json') =~ /"(\w+)":(\d+)/g;

    return $stat{change_last} == $stat{change_copied};
}


# Holds the disk and begins a sign-out: when this returns it is in a commit.

sub held {
    my ($client) = @_;

    calm();

    my $before = commits();

    disk('hold');
    sign_out($client);

    $t->wait_for(sub { commits() > $before }, 60)
        or fail('no commit has begun');
}


# Sends and does not wait for the answer.

sub sign_out {
    my ($client) = @_;

    $client->open;
    $client->send($client->format('POST', '/sign_out',
        Accept => 'application/json', 'X-CSRF-Token' => $client->{csrf},
        'Content-Type' => 'application/x-www-form-urlencoded', body => ''));
}


# What was sent before has been read by the worker when this returns: it looks
# at all its sockets before it looks at one again.

sub settled {
    my $client = $t->client;

    $client->get('/up') for 1 .. 3;
}


# What its token is worth, also when the client has been told to forget it.

sub private {
    my ($client) = @_;

    return $t->client->get('/private',
        Cookie => "$Session::World::cookie=$client->{token}")->code;
}


# Ends of sessions in the store: login => list of numbers (store_end_t).

sub ends {
    my %ends;
    my $dump = $t->sessionctl('dump');

    push @{ $ends{$1} }, $2
        while $dump =~ /"record":"session".*"login":"(\w+)".*"end":(\d+)/g;

    return \%ends;
}

my $uncertain = 10;


# ----------------------------------------------------- a disk that hangs ---

{
    my ($one, $other) = map { $t->signed_in($_) } @users[0, 1];

    held($one);

    my @codes = map { private($other), $t->client->get('/up')->code } 1 .. 50;

    is join(' ', grep { $_ != 200 } @codes), '', 'others are served';
    ok !$one->more(0), 'nothing is said before the commit';

    disk();

    my $r = $one->receive;

    like $r->code, qr/\A(?:200|204|303)\z/, 'said after it';
    is private($one), 401, 'and so it is';
    is private($other), 200, 'of one session';
}


# --------------------------------------------------------- group commit ---

{
    my $first = $t->signed_in($users[0]);
    my @clients = map { $t->signed_in($users[$_ % 4]) } 1 .. 40;

    held($first);
    sign_out($_) for @clients;
    settled();

    my $before = commits();

    disk();

    my @codes = map { $_->receive->code } $first, @clients;

    is scalar(grep { !/\A(?:200|204|303)\z/ } @codes), 0, '41 sign-outs';
    cmp_ok commits() - $before, '<=', 3, 'in two commits';
    is scalar(grep { private($_) == 200 } @clients), 0, 'all of them done';
}


# -------------------------------------------------- clients that go away ---

{
    my $other = $t->signed_in($users[1]);
    my $leaver = $t->client;
    my ($pre, $csrf) = Session::World::before($t->world);
    my $from = $t->log_size;

    $leaver->cookie("$Session::World::cookie-pre", $pre);
    $leaver->{csrf} = $csrf;

    calm();

    my $before = commits();

    disk('hold');
    $leaver->open;
    $leaver->send(attempt($leaver, 'erin'));
    $t->wait_for(sub { commits() > $before }, 60) or fail('no commit');
    $leaver->reset;

    ok $t->wait_log(qr/prematurely closed/, $from), 'left during the commit';
    is private($other), 200, 'the worker lives';

    disk();

    ok $t->wait_for(sub { (ends()->{erin} || [])->[0] }),
        'nobody holds the cookie';
    is_deeply ends()->{erin}, [$uncertain], 'so the session is ended';
}

{
    my $first = $t->signed_in($users[0]);
    my @leavers = map { $t->signed_in($users[$_ % 4]) } 1 .. 20;

    held($first);
    sign_out($_) for @leavers;
    settled();
    $_->reset for @leavers;
    settled();
    disk();
    $first->receive;
    calm();

    is scalar(grep { private($_) == 200 } @leavers), 0,
        'sign-outs are done for those who left, too';
}


# -------------------------------------------------------------- deadline ---

{
    my $other = $t->signed_in($users[1]);
    my $queued = $t->signed_in($users[2]);
    my $running = $t->client;
    my ($pre, $csrf) = Session::World::before($t->world);

    $running->cookie("$Session::World::cookie-pre", $pre);
    $running->{csrf} = $csrf;
    $_->{timeout} = 30 for $running, $queued;
    $t->allow(qr/could not be written for \d+ ms/);

    calm();

    my $before = commits();

    disk('hold');
    $running->open;
    $running->send(attempt($running, 'frank'));
    $t->wait_for(sub { commits() > $before }, 60) or fail('no commit');
    sign_out($queued);

    my $r = $running->receive;

    is $r->code, 503, 'in a commit that does not end: 503';
    is $running->cookie($Session::World::cookie), undef, 'and no cookie';

    $r = $queued->receive;

    is $r->code, 503, 'queued behind it: 503';
    is private($other), 200, 'others are served';
    is private($queued), 200, 'a sign-out that failed has not happened';

    disk();

    ok $t->wait_for(sub { (ends()->{frank} || [])->[0] }),
        'a sign-in that nobody was told of';
    is_deeply ends()->{frank}, [$uncertain], 'is ended';
    is private($queued), 200, 'a cancelled change does not come later';

    sign_out($queued);
    like $queued->receive->code, qr/\A(?:200|204|303)\z/, 'it can be repeated';
}


# --------------------------------------------------- a disk that refuses ---

{
    my ($one, $other) = map { $t->signed_in($_) } @users[0, 1];
    my $from = $t->log_size;

    $t->allow(qr/could not [\w ]+: input\/output error/);

    disk('fail');
    sign_out($one);

    is $one->receive->code, 503, 'a failed sign-out is no success';
    ok $t->wait_log(qr/\[crit\].* could not write/, $from), 'and is logged';
    is private($one), 200, 'the session is still valid';
    is private($other), 200, 'like all others';
    is $t->client->get('/up')->code, 200, 'reading works';

    disk();
    sign_out($one);

    like $one->receive->code, qr/\A(?:200|204|303)\z/, 'later it works';
    is private($one), 401, 'and is done';
}


# ---------------------------------------------------------------- leaving ---

{
    my $one = $t->signed_in($users[0]);
    my ($old) = $t->workers;

    held($one);
    ok $t->reload, 'reload during a commit';

    my @all = $t->workers(1);

    ok scalar(grep { $_ == $old } @all), 'the old worker stays';

    disk();

    like $one->receive->code, qr/\A(?:200|204|303)\z/, 'and answers';
    ok $t->wait_for(sub { !grep { $_ == $old } $t->workers(1) }),
        'and leaves then';
    is private($one), 401, 'the new one knows';
}

{
    my $idle = $t->signed_in($users[3], seen => -7200);
    my $from = time;

    is private($idle), 200, 'a session not seen for long';
    $t->stop('TERM');

    my ($seen) = $t->sessionctl('dump')
        =~ /"record":"session".*"login":"$users[3]".*?"seen":(\d+),.*"end":0/;

    cmp_ok $seen, '>=', int $from, 'is touched even by a worker that leaves';
}

$t->done;
