# Workers that leave while passwords are hashed, thread pools that are full,
# and what priority the threads have.

use strict;
use warnings;

use lib 't/lib';
use POSIX ();
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;
use Time::HiRes qw(time);

# Half a second or so for whoever does not exist; as long as it takes for four
# of them is what this machine is measured by.

my $four;
my $slow = 'memory=64m passes=12 queue=8 timeout=90s';
my $t = Session::Flow->new(users => ['alice']);

$t->write_file('html/private', "secret\n");

sub configure {
    my ($hash, $main) = @_;

    $t->write_file_expand('nginx.conf', configuration(main => $main,
        http => <<"END"));
    session_hash $hash;
    session_throttle account=10000r/15m address=10000r/15m;
END
}


# So many attempts, all of them with the worker when this returns.

sub attempts {
    my ($n) = @_;
    my @clients = map { prepared($t) } 1 .. $n;

    $_->{timeout} = 60 for @clients;
    $_->send(attempt($_, 'nobody', 'x')) for @clients;
    $t->client->get('/up') for 1, 2;

    return @clients;
}

sub codes { join ' ', map { my $r = $_->receive; $r ? $r->code : 'none' } @_ }


# Of all threads of a worker, the main one left out: nice => how many.

sub priorities {
    my ($pid) = @_;
    my %nice;

    for my $task (glob "/proc/$pid/task/*") {
        next if $task =~ m{/$pid\z};

        my @stat = split ' ', slurp("$task/stat") =~ s/.*\) //r;

        $nice{$stat[16]}++;
    }

    return \%nice;
}


# The slice of a thread in ns, as sched_getattr(2) has it; 0 before Linux 6.12.

my $sched_getattr = (POSIX::uname)[4] eq 'x86_64' ? 315 : 275;

sub slice {
    my ($tid) = @_;
    my $attr = "\0" x 48;

    return 0 if syscall($sched_getattr, $tid + 0, $attr, 48, 0) != 0;
    return (unpack 'L2 Q l L Q3', $attr)[5];
}


# Of the threads of a worker, those at that nice.

sub threads_at {
    my ($pid, $nice) = @_;

    return grep { $_ != $pid && getpriority(0, $_) == $nice }
           map { m{(\d+)\z} } glob "/proc/$pid/task/*";
}


# -------------------------------------------------------------- graceful ---

configure("$slow concurrent=1");
$t->run;

{
    my $from = time;
    my @clients = attempts(4);
    my ($old) = $t->workers;

    ok $t->reload, 'reload with one hash running and three waiting';
    is codes(@clients), '401 401 401 401', 'all are answered';
    $four = time - $from;
    ok $t->wait_for(sub { !grep { $_ == $old } $t->workers(1) }),
        'then the old worker leaves';
}

{
    my @gone = attempts(8);
    my ($pid) = $t->workers;
    my $from = time;

    $_->reset for @gone;
    $t->reload;
    ok $t->wait_for(sub { !grep { $_ == $pid } $t->workers(1) }),
        'nobody waits: the worker does not either';
    cmp_ok time - $from, '<', $four + 1, 'but for the hash that runs';
}


# ----------------------------------------------------------------- fast ---

# The master gives workers a second and then kills them.

$t->allow(qr/worker process \d+ exited on signal 9/);

{
    my @clients = attempts(8);
    my $from = time;

    $t->stop('TERM');
    cmp_ok time - $from, '<', $four + 1, 'SIGTERM waits for no queue';
    is codes(@clients), join(' ', ('none') x 8), 'nobody is answered';
}


# ------------------------------------------------------------- full pool ---

# One thread that takes a task only when it is idle: the second hash is turned
# away by the pool again and again, and the writer's tasks are elsewhere.

$t->allow(qr/thread pool "tiny" queue overflow/);
configure("$slow concurrent=3 pool=tiny",
          'thread_pool tiny threads=1 max_queue=0;');
$t->run;

{
    my $from = $t->log_size;
    my @clients = attempts(4);
    my ($pid) = $t->workers;

    is codes(@clients), '401 401 401 401', 'a full pool delays';
    like slurp($t->log_file, $from), qr/"tiny" queue overflow/,
        'it has been full';

    my $nice = priorities($pid);

    is $nice->{10}, 1, 'a pool of its own is nice';

    SKIP: {
        skip 'this kernel has no slices', 2 if !slice($pid);

        is slice($_), 100_000_000, 'and lets others in'
            for threads_at($pid, 10);
        cmp_ok slice($pid), '<', 100_000_000, 'the event loop above all';
    }

    is $nice->{ getpriority(0, 0) }, 32, 'the default pool is not';
    is sign_in($t->client, 'alice')->code, 303, 'all is well after it';

    @clients = attempts(4);
    $from = time;
    $t->stop('TERM');
    cmp_ok time - $from, '<', $four + 1, 'SIGTERM with a full pool';
}


# ---------------------------------------------------------- default pool ---

configure("$slow concurrent=2");
$t->run;

{
    is codes(attempts(4)), '401 401 401 401', 'in the default pool';

    my ($pid) = $t->workers;

    is_deeply priorities($pid), { getpriority(0, 0), 32 },
        'no thread of it is nice';
}

{
    my @clients = attempts(3);

    $t->stop('QUIT');
    is codes(@clients), '401 401 401', 'SIGQUIT: answered before the end';
}

$t->done;
