# bench/sign_in: how many people can sign in, and what others notice of it.
#
# 32 browsers sign in over and over (the form, then the password) against two
# workers; meanwhile one client asks for /up every few milliseconds.  Once with
# a pool of its own for passwords, as the documentation recommends, and once
# with nginx's default pool.  All of it shares the machine's cores.
#
#   BENCH_SECONDS       of load (20); a quarter of it without, before
#   BENCH_BROWSERS      at once (32)
#
# Writes bench/results/sign_in.md.

use strict;
use warnings;

use IO::Select ();
use POSIX ();
use Session::Bench;
use Session::Client;
use Session::Flow;
use Session::Wire;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{BENCH_SECONDS} || 20;
my $browsers = $ENV{BENCH_BROWSERS} || 32;
my $users = 64;
my $every = 0.005;

my @pools = (
    { title => 'own pool, nice 10', http => 'session_hash pool=session_hash;',
      main => 'thread_pool session_hash threads=2;' },
    { title => 'default pool', http => '', main => '' },
);

bounded(180 + 6 * $seconds);

my $t = Session::Flow->new(workers => 2, users => [], level => 'warn');
my $tick = POSIX::ceil($seconds / 4);
my %argon2 = map { $_ => load('argon2', $_, $tick) } 1, 2;

load('users', $t->store, $users);

for my $pool (@pools) {
    $t->write_file_expand('nginx.conf', configuration($pool));
    $t->run;
    $pool->{idle} = probed($tick, sub { sleep $tick });
    $pool->{memory_before} = worker_memory();
    $pool->{load} = probed($seconds, sub { sign_ins($pool) });
    $pool->{memory_after} = worker_memory();
    $t->stop;
}

$t->done;
results('sign_in', text());


sub configuration {
    my ($pool) = @_;

    return <<"END";
%%GLOBALS%%
$pool->{main}
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
# process of its own.

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
    $work->();

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
    my $head = <<"END";
$browsers browsers in one process sign in over and over for $seconds s: GET of
the form, POST of login and password, 303. nginx has two workers, `session_hash`
its defaults (argon2id m=19456,t=2, two at once in each worker), the throttle is
out of the way. Browsers, probe and nginx share the machine.

| | sign-ins/s | p50 ms | p99 ms | 503 | other answers | CPU ms each |
|---|---|---|---|---|---|---|
END
    my $text = $head . join('', map { sign_in_line($_) } @pools);

    $text .= sprintf "\nBare argon2id with the same parameters, as nginx calls "
        . "it: %.0f/s in one thread\n(%.1f ms CPU each), %.0f/s in two.\n",
        $argon2{1}{ops} / $argon2{1}{seconds}, $argon2{1}{cpu_us} / 1000,
        $argon2{2}{ops} / $argon2{2}{seconds};

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


sub sign_in_line {
    my ($pool) = @_;
    my %codes = %{ $pool->{codes} };
    my $done = delete $codes{303} // 0;
    my $busy = delete $codes{503} // 0;
    my @took = sort { $a <=> $b } @{ $pool->{took} };

    die "nobody could sign in\n" if !$done;

    return sprintf "| %s | %.0f | %.0f | %.0f | %d | %s | %.1f |\n",
        $pool->{title}, $done / $pool->{seconds}, at(\@took, 0.5),
        at(\@took, 0.99), $busy,
        join(' ', map { "$codes{$_} x $_" } sort keys %codes) || 'none',
        1000 * $pool->{cpu} / $done;
}
