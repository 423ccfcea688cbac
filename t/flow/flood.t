# Far more wrong passwords than can be hashed, with nothing to throttle them,
# and with a throttle: each is refused, turned away or throttled, sessions go
# on, memory stays within what the configuration says, and when it is over a
# sign-in has room.

use strict;
use warnings;

use lib 't/lib';
use IO::Select ();
use List::Util qw(max);
use Session::Flow;
use Session::SignIn;
use Session::Usage qw(memory descriptors percentiles sanitized);
use Test::More;
use Time::HiRes qw(sleep time);

use constant { MEMORY => 32, CONCURRENT => 2, QUEUE => 8, SECONDS => 3,
               CONNECTIONS => 120 };

my $t = Session::Flow->new(users => ['alice', 'bob']);
my $cookie = $Session::World::cookie;

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    main => 'thread_pool hash threads=' . CONCURRENT . ';',
    server => 'add_header X-User $session_user always;',
    http => sprintf <<'END', MEMORY, CONCURRENT, QUEUE));
    session_hash memory=%dm passes=6 concurrent=%d queue=%d timeout=30s
                 pool=hash;
    session_throttle account=10000r/15m address=10000r/15m;
    server {
        listen 127.0.0.1:%%%%PORT_8081%%%%;
        session_throttle account=10000r/15m address=4r/15m;
        location = /sign_in { session_page sign_in; }
    }
END
$t->run;

my $times = $t->dir . '/times';
my %session = map { $_ => $t->session($_)->{token} } qw(alice bob);
my (%visitor, %code, @odd);

is sign_in($t->client, 'alice')->code, 303, 'everything has been used once';

my ($worker) = $t->workers;
my @posts = map { attempt(prepared($t), "nobody$_", 'wrong password') } 1 .. 9;

# one who exists, whose password is another
push @posts, attempt(prepared($t), 'alice', 'wrong password');

my $load = load_start(1, \&visit);

ok $t->wait_for(sub { (-s $times // 0) > 5000 }, 30), 'others ask';

my $idle = memory($worker);
my $descriptors = descriptors($worker);
my $start = time;
my $peak = flood(8080, SECONDS) - $idle;
my $took = time - $start;
my %open = %code;

%code = ();
flood(8081, 1);

my ($calls, @wrong) = load_stop($load);

is join("\n", @odd), '', 'nothing but 401, 429 and 503, each as it should be';
is join("\n", @wrong), '', 'every answer to others was right';
cmp_ok $calls, '>', 50, 'and there were many';

my $sum = 0;
$sum += $_ for values %open;

cmp_ok $open{401} // 0, '>=', CONCURRENT, 'passwords have been looked at';
cmp_ok $sum, '>=', 10 * ($open{401} // 0), 'ten times as many as there can be';
ok !$open{429}, 'none was throttled where there is no throttle';
cmp_ok $code{429} // 0, '>', $code{401} // 0, 'and nearly all where there is';
cmp_ok $code{401} // 0, '<=', 4, 'no more are hashed than it says';

# a connection: two pools, a header and a body of some hundred bytes
my $most = CONCURRENT * (MEMORY << 20) + CONNECTIONS * (16 << 10) + (1 << 20);

cmp_ok $peak, '<=', $most, 'memory is what the configuration says'
    if !sanitized();
ok $t->wait_for(sub { memory($worker) - $idle < MEMORY << 20 }, 30),
    'and what hashes had is given back' if !sanitized();
ok $t->wait_for(sub { descriptors($worker) <= $descriptors }, 30),
    'descriptors too';
is sign_in($t->client, $_)->code, 303, "$_ signs in" for qw(alice bob);

places();
report();

$t->done;


# Keeps every connection busy with sign-ins; the most memory there was.

sub flood {
    my ($number, $seconds) = @_;
    my $select = IO::Select->new;
    my $end = time + $seconds;
    my ($n, $peak, $next, %client) = (0, 0, 0);

    for (1 .. CONNECTIONS) {
        my $c = $t->client(number => $number);

        $c->open;
        $client{ $c->{sock} } = $c;
        $select->add($c->{sock});
        $c->send($posts[$n++ % @posts]);
    }

    while (%client) {
        my @ready = $select->can_read(30);

        push @odd, scalar(keys %client) . ' without an answer' if !@ready;
        last if !@ready;

        for my $sock (@ready) {
            my $c = $client{$sock};
            my $r = $c->receive;

            judge($r);

            if ($r && $c->{sock} && time < $end) {
                $c->send($posts[$n++ % @posts]);

            } else {
                $select->remove($sock);
                delete $client{$sock};
                $c->close;
            }
        }

        next if time < $next;

        $next = time + 0.05;
        $peak = max($peak, memory($worker));
    }

    return $peak;
}


sub judge {
    my ($r) = @_;
    my $code = $r ? $r->code : 'none';
    my $after = $r && $r->header('Retry-After') // '';

    $code{$code}++;

    return if @odd > 9;

    push @odd, "answered $code" if $code !~ /\A(?:401|429|503)\z/;
    push @odd, "$code, Retry-After '$after'"
        if $code =~ /\A(?:429|503)\z/ && $after !~ /\A[1-9]\d*\z/;
    push @odd, "$code with a session"
        if $r && $r->raw =~ /^Set-Cookie: \Q$cookie\E=\S{20}/m;
    push @odd, "503: " . $r->body
        if $code eq '503' && $r->body !~ /"error":"busy"/;
}


# Others: who they are and what they may see.

sub visit {
    my $n = $visitor{n}++ % 3;
    my $login = $n % 2 ? 'bob' : 'alice';
    my $c = $visitor{$login} //= $t->client(timeout => 20);
    my $start = time;
    my $known = $n < 2 ? $login : '';
    my $r = $c->get('/private', $known eq '' ? ()
                    : (Cookie => "$cookie=$session{$login}"));

    open my $out, '>>', $times or return "$times: $!";
    syswrite $out, sprintf "%.6f %.6f\n", $start, time - $start;

    # as fast as it can it would be a load itself
    sleep 0.003;

    return "$login: no answer" if !$r;
    return "$login: " . $r->code if $r->code != ($known eq '' ? 401 : 200);
    return "$login: seen as " . ($r->header('X-User') // '')
        if ($r->header('X-User') // '') ne $known;
    return '';
}


# As many at once as are hashed and wait: none is turned away.

sub places {
    my @clients = map { my $c = $t->client; $c->open; $c }
                  1 .. CONCURRENT + QUEUE;

    # those of somebody unknown, which take the longest
    $clients[$_]->send($posts[$_ % 9]) for 0 .. $#clients;

    my @codes = map { my $r = $_->receive; $r ? $r->code : 'none' } @clients;

    is "@codes", join(' ', (401) x @clients), 'every place is free';
}


sub report {
    my (@before, @while);

    open my $in, '<', $times or die "$times: $!\n";

    while (<$in>) {
        my ($at, $seconds) = split;

        push @{ $at < $start ? \@before : \@while }, $seconds;
    }

    diag 'idle: ', percentiles(@before);
    diag 'flood: ', percentiles(@while);
    diag sprintf '%d attempts in %.1f s, %s; %d KiB of at most %d', $sum,
        $took, join(' ', map { "$_=$open{$_}" } sort keys %open),
        $peak >> 10, $most >> 10;
    diag 'throttled: ', join ' ', map { "$_=$code{$_}" } sort keys %code;
}
