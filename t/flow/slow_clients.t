# Clients that take their time: hundreds of connections, in t/long thousands,
# that send a header or the body of a sign-in byte by byte, or ask by HTTP/2
# and take nothing of the answer.  Others are served as ever meanwhile, each of
# them costs a bounded amount of memory, and when their time is up all that
# they had is given back.

use strict;
use warnings;

use lib 't/lib';
use Errno qw(EAGAIN EINTR EWOULDBLOCK);
use List::Util qw(max min);
use Session::Flow;
use Session::Http2 qw(bytes_of fields preface HEADERS DATA END_STREAM
                      END_HEADERS);
use Session::SignIn;
use Session::Usage qw(memory descriptors may_open percentiles sanitized);
use Test::More;
use Time::HiRes qw(sleep time);

my $count = $ENV{TEST_NGINX_SLOW} // 500;
my $seconds = $ENV{TEST_NGINX_SLOW_TIMEOUT} // 4;
my $hold = $ENV{TEST_NGINX_SLOW_HOLD} // 0.5;
my $rounds = $ENV{TEST_NGINX_SLOW_ROUNDS} // 2;

# A connection by HTTP/1 has pools of 512 bytes and 4k, a kilobyte for the
# header, and its sign-in a few more; one by HTTP/2 two pools for itself, one
# for each of its two requests, the pages, and 32k of the file that nginx has
# read ahead (output_buffers).

my %bound = (header => 12 << 10, body => 16 << 10, http2 => 96 << 10);

# the ends of all connections, and files that answers by HTTP/2 are read from
my $open = int(1.3 * $count) + 300;

# Clients and server are many descriptors, and only root may raise the limit.

plan skip_all => "no $open descriptors: limit of open files"
    if !may_open($open);

my $t = Session::Flow->new(users => ['alice', 'bob']);
my $cookie = $Session::World::cookie;

$t->write_file('html/private', "secret\n");
$t->write_file('html/large', 'x' x (64 << 10));
configure();
$t->run;

my %session = map { $_ => $t->session($_)->{token} } qw(alice bob);
my $post = post();
my $times = $t->dir . '/times';
my (%visitor, @slow, @full, $turn, $worker, $idle, $descriptors);
my $byte = 0;

used_once();

my $load = load_start(1, \&visit);
my @phase = ([idle => time]);

sleep max(1, $hold / 4);

for my $round (1 .. $rounds) {
    push @phase, [connecting => time];

    # on a machine that is busy it takes longer than they have
    for (1 .. 4) {
        my $took = all_connected();

        last if $took < 0.8 * $seconds;
        more_time(int 3 * $took + 1);
    }

    bounded($round) if !sanitized();

    is sign_in($t->client, 'bob')->code, 303, 'and another';
    finish_some();
    push @phase, [ending => time];
    ended($round);
    places("after round $round");
}

my ($calls, @wrong) = load_stop($load);

is join("\n", @wrong), '', 'every answer to others was right';
cmp_ok $calls, '>', 50, 'and there were many';
latencies();

undef %visitor;

ok $t->wait_for(sub { descriptors($worker) <= $descriptors }, 30),
    'all descriptors are given back' or diag descriptors($worker);

# What is free between what is in use stays with the process, for the next.
cmp_ok $_, '<=', 1.25 * $full[0] + (1 << 20), 'and memory is used again'
    for @full[1 .. $#full];

$t->done;


sub configure {
    $t->write_file_expand('nginx.conf', configuration(
        main => "worker_rlimit_nofile $open;",
        listen => ";\nlisten 127.0.0.1:%%PORT_8081%% http2",
        http => <<"HTTP", server => <<'SERVER')
    session_hash memory=19m passes=2 concurrent=1 queue=8 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
    client_header_timeout ${seconds}s;
    client_body_timeout ${seconds}s;
    send_timeout ${seconds}s;
    keepalive_timeout 1s;
HTTP
    add_header X-User $session_user always;
    location = /large { session_require user; }
    location = /dashboard { session_page dashboard; }
SERVER
        =~ s/events \{ \}/events { worker_connections $open; }/r);
}


# Of a worker that is new, as well.

sub used_once {
    is sign_in($t->client, 'alice')->code, 303, 'everything is used once';
    is get_private(), 200, 'and sessions';
    places('before');

    ($worker) = $t->workers;
    $idle = memory($worker);
    $descriptors = descriptors($worker);
}


# How long it took.

sub all_connected {
    my $start = $turn = time;

    push @slow, slow($_) for 0 .. $count - 1;

    my $took = time - $start;

    is sign_in($t->client, 'alice')->code, 303, 'one signs in beside them';
    push @phase, [slow => time];

    for (my $connected = time; time < $connected + $hold; sleep 0.005) {
        trickle();
    }

    return $took + $hold;
}


sub more_time {
    ($seconds) = @_;

    close $_->{sock} for @slow;
    @slow = ();
    diag "the machine is busy: they have $seconds s";
    configure();
    $t->reload;
    used_once();
}


# ---------------------------------------------------------------- others ---

# One request of somebody who behaves: who they are and what they may see.

sub visit {
    my $n = $visitor{n}++ % 4;
    my $login = $n % 2 ? 'bob' : 'alice';
    my $c = $visitor{$login} //= $t->client(timeout => 20);
    my $start = time;
    my ($path, $code, $who, $body) = $n < 2
        ? ('/private', 200, $login, qr/\Asecret\n\z/)
        : $n == 2 ? ('/private', 401, '', qr/./s)
                  : ('/-/actor.json', 200, $login, qr/"bob"/);
    my $r = $c->get($path, Accept => 'application/json',
                    $who ne '' ? (Cookie => "$cookie=$session{$who}") : ());

    open my $out, '>>', $times or return "$times: $!";
    syswrite $out, sprintf "%.6f %.6f\n", $start, time - $start;

    # as fast as it can it would be a load itself
    sleep 0.003;

    return "$path of $login: no answer" if !$r;
    return "$path of $login: " . $r->code if $r->code != $code;
    return "$path of $login: seen as " . ($r->header('X-User') // '')
        if ($r->header('X-User') // '') ne $who;
    return "$path of $login: " . $r->body if $r->body !~ $body;
    return '';
}


sub get_private {
    return $t->client->get('/private',
                           Cookie => "$cookie=$session{alice}")->code;
}


# As many at once as are hashed and wait: none is turned away.

sub places {
    my ($when) = @_;
    my @clients = map { my $c = $t->client; $c->open; $c } 1 .. 9;

    $_->send($post) for @clients;

    my @codes = map { my $r = $_->receive; $r ? $r->code : 'none' } @clients;

    is "@codes", join(' ', (401) x 9), "$when: every place is free";
}


sub latencies {
    my (%took, @lines);

    open my $in, '<', $times or die "$times: $!\n";

    while (<$in>) {
        my ($at, $seconds) = split;
        my ($phase) = grep { $_->[1] <= $at } reverse @phase;

        push @{ $took{ $phase ? $phase->[0] : 'idle' } }, $seconds;
    }

    diag "$_: ", percentiles(@{ $took{$_} || [] })
        for qw(idle connecting slow ending);
}


# ------------------------------------------------------------ slow ones ---

sub slow {
    my ($n) = @_;
    my $kind = $n % 10 < 5 ? 'header' : $n % 10 < 8 ? 'body' : 'http2';
    my $number = $kind eq 'http2' ? 8081 : 8080;
    my $s = { kind => $kind, answer => '', start => time,
              sock => Session::Wire::dial('127.0.0.1', $t->port($number)) };

    die "connection $n: $!\n" if !$s->{sock};

    if ($kind eq 'header') {
        put($s, "GET /private HTTP/1.1\r\nHost: localhost\r\n"
                . "Cookie: $cookie=$session{alice}\r\nX-Slow: ");

    } elsif ($kind eq 'body') {
        my ($head, $body) = $post =~ /\A(.*?\r\n\r\n)(.*)\z/s;

        put($s, $head);
        $s->{rest} = $body;

    } else {
        put($s, zero_window($n % 250 == 8 ? 'sign_in' : 'pages'));
    }

    # connecting takes longer than they may be silent
    trickle() if $n % 100 == 99;

    return $s;
}


sub put {
    my ($s, $bytes) = @_;
    local $SIG{PIPE} = 'IGNORE';

    syswrite $s->{sock}, $bytes if $s->{sock};
}


# A byte of each, four times in the time that they have, one after the other.

sub trickle {
    my $each = $seconds / 4 / (@slow || 1);
    my $due = int((time - $turn) / $each);

    $turn += $due * $each;
    put_byte($slow[$byte++ % @slow]) for 1 .. min($due, scalar @slow);
}


sub put_byte {
    my ($s) = @_;

    if ($s->{kind} eq 'header') {
        put($s, 'a');

    } elsif ($s->{kind} eq 'body' && length $s->{rest} > 1) {
        put($s, substr $s->{rest}, 0, 1, '');
    }
}


# A few sign-ins are complete at last, more than there are places; the others
# fall silent.

sub finish_some {
    my $n = 0;

    for my $s (grep { $_->{kind} eq 'body' } @slow) {
        my $rest = $s->{rest};

        $s->{rest} = '';

        if (++$n % 5 == 0) {
            $s->{complete} = 1;
            put($s, $rest);
        }
    }
}


# Passwords being hashed need memory for a moment.

sub bounded {
    my ($round) = @_;
    my %n;
    my ($most, $used) = (1 << 20, 0);

    $n{ $_->{kind} }++ for @slow;
    $most += $bound{$_} * $n{$_} for keys %n;

    my $held = descriptors($worker) - $descriptors;

    cmp_ok $held, '>=', $count, "$round: all of them are connected";
    ok $t->wait_for(sub {
        trickle();
        return ($used = memory($worker) - $idle) <= $most;
    }, 20), 'their memory is bounded';
    push @full, $used;
    diag sprintf '%d connections, %d descriptors: %d bytes each, at most %d',
        $count, $held, $used / $count, $most / $count;
}


# Their time is over, whether they go on or not.

sub ended {
    my ($round) = @_;
    my $deadline = time + 2 * $seconds + 20;
    my @left;

    do {
        trickle();
        sleep 0.05;
        @left = grep { !closed($_) } @slow;
    } while (@left && time < $deadline);

    my %kinds = map { $_->{kind} => 1 } @left;
    my %late;

    for my $s (@slow) {
        my $what = $s->{kind} . ($s->{complete} ? ', complete' : '');

        my ($code) = $s->{answer} =~ m{\AHTTP/1.1 (\d+)};

        $late{$what}{ $code // 'none' }++;
    }

    is join(' ', sort keys %kinds), '', "$round: all have been closed";
    is join(' ', keys %{ $late{header} }), 'none', 'headers: no answer';
    is join(' ', keys %{ $late{body} }), 'none', 'bodies: no answer';
    is join(' ', grep { !/\A(?:401|503)\z/ }
                      keys %{ $late{'body, complete'} }), '',
        'those that were complete: refused, or there was no room';
    cmp_ok $late{'body, complete'}{401} // 0, '>=', 9, 'some had their turn';

    my $longest = max(map { ($_->{end} // time) - $_->{start} }
                      grep { $_->{kind} eq 'header' } @slow);

    cmp_ok $longest, '<', $seconds + 15, 'a byte now and then wins no time';
    diag sprintf 'a header had %.1f s, all were closed after %.1f s',
        $longest, time - $slow[0]{start};
    @slow = ();
}


sub closed {
    my ($s) = @_;

    while ($s->{sock}) {
        my $n = sysread $s->{sock}, $s->{answer}, 65536, length $s->{answer};

        next if $n;
        return if !defined $n && ($! == EAGAIN || $! == EWOULDBLOCK
                                  || $! == EINTR);
        close delete $s->{sock};
        $s->{end} = time;
    }

    return 1;
}


# A POST of somebody who is unknown, as it goes over the wire.

sub post { return attempt(prepared($t), 'nobody', 'x' x 40) }


# ---------------------------------------------------------------- HTTP/2 ---

# Everything a client says that will never take a byte of a body.

sub zero_window {
    my ($what) = @_;
    my @path = $what eq 'pages' ? ('/large', '/dashboard') : ('/sign_in');
    my $stream = -1;
    my $bytes = preface(0);

    for my $path (@path) {
        my $body = $what eq 'pages' ? '' : ($post =~ /\r\n\r\n(.*)/s)[0];
        my ($csrf) = $post =~ /^X-CSRF-Token: (.*)\r$/m;
        my ($pre) = $post =~ /^Cookie: (.*)\r$/m;
        my $kind = 'application/x-www-form-urlencoded';
        my @fields = $body eq ''
            ? (':method', 'GET', 'cookie', "$cookie=$session{bob}")
            : (':method', 'POST', 'cookie', $pre, 'x-csrf-token', $csrf,
               'content-type', $kind, 'content-length', length $body);

        push @fields, ':scheme', 'http', ':path', $path, ':authority',
            'localhost', 'accept', 'application/json';

        $stream += 2;
        $bytes .= bytes_of(HEADERS, END_HEADERS
                           | ($body eq '' ? END_STREAM : 0), $stream,
                           fields(@fields));
        $bytes .= bytes_of(DATA, END_STREAM, $stream, $body) if $body ne '';
    }

    return $bytes;
}
