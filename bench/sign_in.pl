# bench/sign_in: how many people can sign in, and what others notice of it.
#
# 32 browsers sign in over and over (the form, then the password) against two
# workers; meanwhile one client asks for /up every few milliseconds.  With a
# pool of its own for passwords, of one thread or of two, and with nginx's
# default pool.
#
# All of nginx has processor 0, which hashes no more than argon2id alone does
# there; browsers and client have processor 1.
#
#   BENCH_SECONDS       of load (20); a quarter of it without, before
#   BENCH_BROWSERS      at once (32)
#   BENCH_RESULTS       folder to write to (bench/results)
#
# Writes sign_in.md.

use strict;
use warnings;

use IO::Select ();
use List::Util qw(sum);
use POSIX ();
use Session::Bench;
use Session::Client;
use Session::Flow;
use Session::Log qw(slurp);
use Session::Wire;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{BENCH_SECONDS} || 20;
my $browsers = $ENV{BENCH_BROWSERS} || 32;
my $users = 64;
my $every = 0.005;

my @pools = (
    own_pool('own pool, one thread', 1),
    own_pool('own pool, two threads', 2),
    { title => 'default pool', http => '', main => '' },
);

bounded(180 + 8 * $seconds);

my $t = Session::Flow->new(workers => 2, users => [], level => 'warn');
my $tick = POSIX::ceil($seconds / 4);
my $bare = bare();

load('users', $t->store, $users);
run_command('taskset', '-p', '-c', 1, $$);

for my $pool (@pools) {
    $t->write_file_expand('nginx.conf', configuration($pool));
    $t->run;
    $pool->{idle} = probed($tick, sub { sleep $tick });
    $pool->{memory_before} = worker_memory();
    $pool->{load} = probed($seconds, sub { sign_ins($pool) });
    $pool->{memory_after} = worker_memory();
    $t->stop;

    my $after = bare();

    $pool->{bare} = [$bare, $after];
    $bare = $after;
}

$t->done;
results('sign_in', text(), $ENV{BENCH_RESULTS} || undef);


sub own_pool {
    my ($title, $threads) = @_;

    return { title => $title,
             http => "session_hash pool=session_hash concurrent=$threads;",
             main => "thread_pool session_hash threads=$threads;" };
}


# Hashes a second on the processor that nginx has, with nothing beside them.

sub bare {
    my $run = fields(run_command('taskset', '-c', 0,
        "$Session::World::build/load", 'argon2', 1, $tick));

    return $run->{ops} / $run->{seconds};
}


sub configuration {
    my ($pool) = @_;

    return <<"END";
%%GLOBALS%%
$pool->{main}
worker_cpu_affinity 01;
events { }
http {
    %%GLOBALS_HTTP%%
    access_log off;
    keepalive_requests 1000000000;
    session_throttle account=10000r/10s address=10000r/10s;
    $pool->{http}
    server {
        listen 127.0.0.1:%%PORT_8080%%;
        location = /up {
            session_page up;
            add_header X-Worker \$pid;
        }
        location = /sign_in { session_page sign_in; }
        location = /dashboard { session_page dashboard; }
    }
}
END
}


# Of both workers together.

sub worker_memory {
    my %sum;

    for my $m (map { memory($_) } $t->workers) {
        $sum{$_} += $m->{$_} for keys %$m;
    }

    return \%sum;
}


# --------------------------------------------------------------- probe ---


# Latencies of /up in ms, sorted, while the work is done.  The probe is a
# process of its own, which the browsers do not delay.

sub probed {
    my ($time, $work) = @_;

    pipe my $in, my $out or die "pipe: $!\n";
    my $pid = fork // die "fork: $!\n";

    if ($pid == 0) {
        my $ok = eval { probe($out, $time); 1 };

        print STDERR "probe: $@" if !$ok;
        POSIX::_exit($ok ? 0 : 1);
    }

    close $out;
    run_command('chrt', '--idle', '-p', 0, $$);
    $work->();
    run_command('chrt', '--other', '-p', 0, $$);

    my @found = map { $_ * 1000 } split ' ', do { local $/; <$in> } // '';

    waitpid $pid, 0;
    die "the probe failed\n" if $? || @found < 10;

    return [sort { $a <=> $b } @found];
}


# One connection to each worker, in turn.  While an answer is late, requests
# that were due meanwhile would have waited for the rest of it, so they are
# counted as well.

sub probe {
    my ($out, $time) = @_;
    my %client;

    Session::Wire::wait_until(sub {
        my $client = $t->client(name => 'localhost');
        my $worker = $client->get('/up')->header('X-Worker');

        $client{$worker} //= $client;

        return keys %client == 2;
    }, 30) or die "only one worker answers\n";

    my @clients = values %client;
    my (@found, $n);
    my $end = time + $time;

    while (time < $end) {
        my $sent = time;
        my $r = $clients[$n++ % 2]->get('/up') or die "no answer\n";
        my $took = time - $sent;

        die "/up is " . $r->code . "\n" if $r->code != 200;

        for (my $late = $took; $late > 0; $late -= $every) {
            push @found, $late;
        }

        sleep $every - $took if $took < $every;
    }

    print $out "@found\n";
    close $out or die "pipe: $!\n";
}


# ------------------------------------------------------------- sign-ins ---


# So many browsers in one process, each with one request in flight.

sub sign_ins {
    my ($pool) = @_;
    my $select = IO::Select->new;
    my $began = time;
    my %browser;

    $pool->{codes} = {};
    $pool->{took} = [];

    my @workers = $t->workers;
    my $cpu = 0;

    $cpu -= cpu_seconds($_) for @workers;

    for my $n (1 .. $browsers) {
        my $sock = Session::Wire::dial('127.0.0.1', $t->port) // die "dial\n";

        $browser{$sock} = { sock => $sock, user => $n, in => '' };
        $select->add($sock);
        ask_form($browser{$sock});
    }

    while (time < $began + $seconds) {
        next_step($pool, $browser{$_}) for $select->can_read(0.1);
    }

    $pool->{seconds} = time - $began;
    $cpu += cpu_seconds($_) for @workers;
    $pool->{cpu} = $cpu;
    close $_->{sock} for values %browser;
}


sub next_step {
    my ($pool, $browser) = @_;
    my $got = Session::Wire::read_some($browser->{sock}, \$browser->{in}, 0);

    die "a connection was closed\n" if defined $got && $got < 1;

    my ($r, $rest) = Session::Wire::parse($browser->{in}) or return;

    $browser->{in} = $rest;

    return answer_form($browser, $r) if !$browser->{posted};

    $pool->{codes}{$r->code}++;
    push @{ $pool->{took} }, 1000 * (time - $browser->{posted})
        if $r->code == 303;
    delete $browser->{posted};
    $browser->{user} += $browsers;
    ask_form($browser);
}


sub ask_form {
    my ($browser) = @_;

    $browser->{client} = $t->client;
    transmit($browser, $browser->{client}->format('GET', '/sign_in',
                                                  Accept => 'text/html'));
}


sub answer_form {
    my ($browser, $r) = @_;
    my $client = $browser->{client};
    my %typed = (login => sprintf('u%07d', $browser->{user} % $users),
                 password => $Session::World::password);
    my $form = Session::Client::find_form($r, \%typed) or die "no form\n";
    my ($name, $value) = $r->header('Set-Cookie') =~ /\A([^=]+)=([^;]+)/;

    $client->cookie($name, $value);
    $browser->{posted} = time;
    transmit($browser, $client->format('POST', $form->{action},
        'Content-Type' => 'application/x-www-form-urlencoded',
        Accept => 'text/html', body => Session::Client::encode_form(
            { %{ $form->{hidden} }, %typed })));
}


sub transmit {
    my ($browser, $bytes) = @_;

    Session::Wire::write_all($browser->{sock}, $bytes, \$browser->{in})
        or die "nothing can be sent\n";
}


# -------------------------------------------------------------- results ---


sub at {
    my ($sorted, $part) = @_;

    return $sorted->[$part * $#$sorted];
}


sub latencies {
    my ($sorted) = @_;

    return sprintf '%.2f | %.2f | %.1f', at($sorted, 0.5), at($sorted, 0.99),
        $sorted->[-1];
}


sub text {
    my $huge = slurp('/sys/kernel/mm/transparent_hugepage/enabled')
        =~ /\[(\w+)\]/ ? $1 : 'unknown';
    my $head = <<"END";
$browsers browsers in one process sign in over and over for $seconds s: GET of
the form, POST of login and password, 303. nginx has two workers on processor 0,
argon2id m=19456,t=2 and so many threads in each worker; the throttle is out of
the way. Browsers and probe are on processor 1, the browsers at SCHED_IDLE.
Transparent huge pages: $huge.

Of bare argon2id: hashes a second in one thread on processor 0, with the same
parameters and library, for $tick s before and $tick s after.

END
    my $text = $head . table_head('sign-ins/s', 'bare argon2id/s', 'of it',
                                  'p50 ms', 'p99 ms', '503', 'other answers',
                                  'CPU ms each')
        . join('', map { sign_in_line($_) } @pools);

    $text .= <<'END';

What a client of `/up` sees meanwhile, asking every 5 ms over kept-alive
connections to both workers; requests that were due while an answer was late
count as well. Idle is the quarter of the time before.

| | p50 ms | p99 ms | most ms |
|---|---|---|---|
END
    $text .= "| $_->{title}, idle | " . latencies($_->{idle}) . " |\n"
        . "| $_->{title}, sign-ins | " . latencies($_->{load}) . " |\n"
        for @pools;

    $text .= <<'END';

| memory of both workers, MiB | Pss | of it not backed by a file |
|---|---|---|
END
    $text .= sprintf "| %s, before | %.1f | %.1f |\n| %s, after | %.1f | %.1f |"
        . "\n", map { my $pool = $_; map {
            ($pool->{title}, @{ $pool->{$_} }{qw(Pss Pss_Anon)})
        } qw(memory_before memory_after) } $_ for @pools;

    return $text;
}


sub table_head {
    return join(' | ', '|', @_) . " |\n" . '|---' x (@_ + 1) . "|\n";
}


sub sign_in_line {
    my ($pool) = @_;
    my %codes = %{ $pool->{codes} };
    my $done = delete $codes{303} // 0;
    my $busy = delete $codes{503} // 0;
    my @took = sort { $a <=> $b } @{ $pool->{took} };
    my $rate = $done / $pool->{seconds};
    my $bare = sum(@{ $pool->{bare} }) / 2;

    die "nobody could sign in\n" if !$done;

    return sprintf
        "| %s | %.1f | %.1f | %.0f%% | %.0f | %.0f | %d | %s | %.1f |\n",
        $pool->{title}, $rate, $bare, 100 * $rate / $bare, at(\@took, 0.5),
        at(\@took, 0.99), $busy,
        join(' ', map { "$codes{$_} x $_" } sort keys %codes) || 'none',
        1000 * $pool->{cpu} / $done;
}
