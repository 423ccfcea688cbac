# A store that a process can use no more: LMDB's fatal error, a lock that nobody
# can recover, files that were replaced.  The worker says so once, answers 503
# and makes room for another one, and soon all is as it was.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;
use Time::HiRes qw(time);

my $t = Session::Flow->new(workers => 2, users => ['ann', 'ben', 'cat']);
my $control = $t->dir . '/disk';
my $gone = qr/this worker ends, and the next one opens it again/;

local $ENV{BAD_DISK} = $control;
local $ENV{TEST_NGINX_LD_PRELOAD} = join ':',
    grep { defined && length } $ENV{TEST_NGINX_LD_PRELOAD},
                               compiled($t, 'bad_disk');

$t->allow(qr/could not [\w ]+: (?:MDB_PANIC|input|state not recov|its files)/,
          qr/when all of them have ended/);
$t->write_file('html/private', "secret\n");
$t->write_file('html/long', 'x' x 200000);
$t->write_file_expand('nginx.conf', configuration(listen => 'reuseport',
    server => 'location = /long { limit_rate 2k; }'));
$t->run;

my $ben = $t->session('ben');


sub disk { my ($says) = @_; $says ? say_disk($says) : unlink $control }

sub say_disk {
    my ($says) = @_;

    $t->write_file('disk.new', $says);
    rename $t->dir . '/disk.new', $control or die "$control: $!\n";
}

sub private {
    my ($token) = @_;
    my $r = eval { $t->client->get('/private',
                       Cookie => "$Session::World::cookie=$token") };

    return $r && $r->code // 0;
}

sub sign_out {
    my ($client) = @_;

    $client->open;
    $client->send($client->format('POST', '/sign_out',
        Accept => 'application/json', 'X-CSRF-Token' => $client->{csrf},
        Cookie => "$Session::World::cookie=$client->{token}",
        'Content-Type' => 'application/x-www-form-urlencoded', body => ''));

    my $r = $client->receive;

    return $r && $r->code // 0;
}

sub lines {
    my ($from) = @_;

    return scalar(() = slurp($t->log_file, $from) =~ /$gone/g);
}


# Until the duties of a start have been done and nothing is written by itself.

sub calm {
    my ($last, $since) = (-1, 0);

    $t->wait_for(sub {
        my $now = -s "$control.calls" // 0;
        my %stat = $t->sessionctl('stat', '--json') =~ /"(\w+)":(\d+)/g;

        ($last, $since) = ($now, time) if $now != $last;

        return time - $since > 0.5
               && $stat{change_last} == $stat{change_copied};
    }, 60) or fail('the writer is never calm');
}


# Every worker is another one than before, and answers.

sub replaced {
    my (@before) = @_;

    return $t->wait_for(sub {
        my @now = $t->workers;

        return @now == 2 && !grep { my $pid = $_; grep { $_ == $pid } @before }
                             @now;
    }, 30);
}

sub works {
    return $t->wait_for(sub {
        my @codes = map { private($ben->{token}) } 1 .. 20;

        return !grep { $_ != 200 } @codes;
    }, 30);
}


# -------------------------------------------------- a meta page is not ---

{
    my $ann = $t->signed_in('ann');
    my $clients = each_worker($t);
    my $from = $t->log_size;

    calm();
    disk('meta');

    my $code = sign_out($ann);
    my $began = time;

    disk();

    is $code, 503, 'a meta page that cannot be written: 503';
    ok $t->wait_log(qr/\[crit\] \d+#.*MDB_PANIC.*$gone/, $from),
        'the worker says what it is about to do';

    my ($victim) = slurp($t->log_file, $from) =~ /\[crit\] (\d+)#.*$gone/;
    my ($other) = grep { $_ != $victim } keys %$clients;

    ok $t->wait_for(sub { !-d "/proc/$victim" }), 'and does it';
    is $clients->{$other}->get('/private',
        Cookie => "$Session::World::cookie=$ben->{token}")->code, 200,
        'the other one serves';
    ok works(), 'and so does the next one';
    cmp_ok time - $began, '<', 15, 'within seconds';
    is lines($from), 1, 'it was said once';
    ok !(grep { $_ == $victim } $t->workers)
       && (grep { $_ == $other } $t->workers), 'one was replaced, one not';

    is private($ann->{token}), 200, 'the sign-out that failed has not happened';
    is sign_out($ann), 200, 'it can be repeated';
    is private($ann->{token}), 401, 'and is done';
}


# ------------------------------------------------------------ repeated ---

{
    my $from = $t->log_size;

    calm();
    disk('meta');

    # whoever takes the use of a session fails at it, again and again

    my $idle = $t->session('cat', created => -7200, seen => -7000);

    $t->wait_for(sub {
        private($idle->{token});
        return lines($from) >= 6;
    }, 60);

    my @pids = slurp($t->log_file, $from) =~ /\[crit\] (\d+)#.*$gone/g;

    cmp_ok scalar(@pids), '>=', 6, 'a disk that stays broken';

    # Two workers live five seconds each at least, but for the first two.

    my @times = map { /:(\d\d):(\d\d) / ? $1 * 60 + $2 : () }
                grep { /signal 3 \(SIGQUIT\) received from/ }
                split /\n/, slurp($t->log_file, $from);
    my $span = ($times[-1] - $times[0]) % 3600;

    cmp_ok $span, '>=', 5 * (int(@times / 2) - 1) - 1,
        'is no reason to start workers faster than it makes sense';

    disk();
    ok works(), 'when it is mended, all is well';
    ok replaced(@pids[0, 1]), 'with other workers';
    $t->wait_for(sub { lines($from) == (() = slurp($t->log_file, $from)
        =~ /signal 3 \(SIGQUIT\) received from/g) }, 30);
}


# ------------------------------------------------------ the audit alone ---

{
    my $ann = $t->signed_in('ann');
    my $from = $t->log_size;
    my @before = $t->workers;
    my $c = prepared($t);

    calm();
    disk('audit');
    $c->send(attempt($c, 'nobody', 'wrong'));

    is $c->receive->code, 401, 'a meta page of the events: answers as ever';
    ok $t->wait_log(qr/\[crit\].*MDB_PANIC.*$gone/, $from), 'and a line';

    my @codes = map { private($ben->{token}) } 1 .. 20;

    is scalar(grep { $_ != 200 } @codes), 0, 'everybody is known';
    is sign_out($ann), 200, 'sessions end';
    is private($ann->{token}), 401, 'which counts';
    disk();

    ok $t->wait_for(sub {
        scalar $t->sessionctl('dump')
            =~ /"record":"event","type":3,.*"login":"ann"/
        && $t->workers == 2 && lines($from) == (() = slurp($t->log_file, $from)
               =~ /worker process \d+ exited with code 0/g)
    }, 60), 'later there is another worker, and the audit is written';
    is lines($from), 1, 'it was said once';
}


# ------------------------------------------------------ a broken lock ---

# A worker dies in a commit, and who takes its lock over fails at that.

{
    my $ann = $t->signed_in('ann');
    my $idle = $t->session('cat', created => -7200, seen => -7000);
    my @before = $t->workers;
    my $from = $t->log_size;

    calm();

    disk('hold');
    $ann->open;
    $ann->send($ann->format('POST', '/sign_out', Accept => 'application/json',
        'X-CSRF-Token' => $ann->{csrf},
        'Content-Type' => 'application/x-www-form-urlencoded', body => ''));

    my $holder;

    ok $t->wait_for(sub {
        ($holder) = grep { in_commit($_) } @before;
    }), 'in a commit';

    # it must not go on when the disk does

    kill STOP => $holder;
    ok $t->wait_for(sub { slurp("/proc/$holder/stat") =~ /\) T / }), 'held';
    disk('lock');
    $t->kill_worker('KILL', $holder);

    $t->wait_for(sub { private($idle->{token}); lines($from) }, 30);
    like slurp($t->log_file, $from), qr/\[crit\].*state not recov.*$gone/,
        'nobody can recover the lock';

    disk();

    ok replaced(@before), 'all make room';
    ok works(), 'and after the last has ended there is a new lock';
    is private($ann->{token}), 200, 'a commit that was killed is none';
    ok $t->wait_for(sub { sign_out($ann) == 200 }), 'changes work';
    is private($ann->{token}), 401, 'and count';
}


# -------------------------------------------------------- replaced files ---

sub backup {
    my $file = $t->dir . '/backup';

    unlink $file;
    $t->sessionctl('backup', $file);

    return $file;
}

for my $name ('sessions.v1.mdb', 'sessions.v1.mdb-lock') {
    my $old = $t->session('ann');
    my $copy = $name =~ /lock/ ? undef : backup();
    my $new = $t->session('ann');
    my @before = $t->workers;
    my $from = $t->log_size;
    my $began = time;

    is private($new->{token}), 200, 'signed in after the backup';

    if ($copy) {
        rename $copy, $t->store . "/$name" or die $!;

    } else {
        unlink $t->store . "/$name" or die $!;
    }

    ok replaced(@before), "$name replaced: other workers";
    ok $t->wait_for(sub { lines($from) == 2 }), 'each has said why';

    # the look at the files, or a use of a session that came before it
    like slurp($t->log_file, $from),
        qr/\[crit\].*could not (?:stay open|write): its files were replaced/,
        'namely';
    ok works(), 'they work with the files that are there';
    cmp_ok time - $began, '<', 30, 'within seconds';

    is private($old->{token}), 200, 'a session that is in them';
    is private($new->{token}), $copy ? 401 : 200,
        $copy ? 'one that is not' : 'another one';
    is(($t->sessionctl('check'))[0], 0, 'they are whole');
}


# Replaced while nobody has it open: nothing to be said.

{
    my $from = $t->log_size;
    my $old = $t->session('ann');
    my $copy = backup();

    $t->stop;
    rename $copy, $t->store . '/sessions.v1.mdb' or die $!;
    $t->run;

    is private($old->{token}), 200, 'replaced between two runs';
    is lines($from), 0, 'no worker minds';
}


# ------------------------------------------------------- long requests ---

sub long {
    my $client = $t->client;

    $client->open;
    $client->send($client->format('GET', '/long'));
    $client->more(time + 30) or fail('nothing of the long one');

    return $client;
}

{
    my @long = map { long() } 1 .. 8;
    my @before = $t->workers;
    my $copy = backup();
    my $from = $t->log_size;

    rename $copy, $t->store . '/sessions.v1.mdb' or die $!;

    ok $t->wait_log(qr/$gone/, $from), 'with long downloads under way';

    my $began = time;

    ok $t->wait_for(sub { !grep { -d "/proc/$_" } @before }, 30),
        'workers end all the same';
    cmp_ok time - $began, '<', 15, 'soon';
    ok works(), 'and others serve';
}

{
    my @long = map { long() } 1 .. 8;
    my @before = $t->workers;

    $t->reload;

    # one worker may have accepted them all
    cmp_ok scalar(grep { -d "/proc/$_" } @before), '>=', 1,
        'old workers stay for their downloads';

    rename backup(), $t->store . '/sessions.v1.mdb' or die $!;

    ok $t->wait_for(sub { !grep { -d "/proc/$_" } @before }, 30),
        'but not for those of a store that was replaced';
    ok works(), 'which the next ones would wait for';
}

$t->stop;


# -------------------------------------------------- without a master ---

subtest 'without a master' => sub {
    my $s = Session::Flow->new(master => 0, users => ['ann', 'ben']);

    $s->allow(qr/MDB_PANIC.*answered 503 until nginx is started again/);
    $s->write_file('html/private', "secret\n");
    $s->write_file_expand('nginx.conf', configuration());
    $s->run;

    my $ann = $s->signed_in('ann');
    my $pid = $s->nginx->pid;

    disk('meta');
    is sign_out($ann), 503, 'alone: 503';
    ok $s->wait_log(qr/until nginx is started again/), 'it says what to do';
    disk();

    my $began = time;

    ok $s->wait_for(sub { time - $began > 6 }), 'later';
    is $s->client->get('/up')->code, 503, 'it is there, and down';
    is $s->nginx->pid, $pid, 'the same process';
    ok $s->nginx->running, 'which runs';
    is $s->client->get('/private', Cookie =>
        "$Session::World::cookie=$ann->{token}")->code, 503, 'nobody gets in';

    $s->stop('TERM');
    $s->run;
    is $s->client->get('/private', Cookie =>
        "$Session::World::cookie=$ann->{token}")->code, 200,
        'started again: as if nothing had been';
    $s->done;
};

$t->done;


# Which worker waits for the disk: the shim says so.

sub in_commit { -e "$control.hold.$_[0]" }
