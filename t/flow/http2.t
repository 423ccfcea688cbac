# Many sign-ins on one HTTP/2 connection, some of them reset while they wait,
# and the connection closed under the rest; and fields that only HTTP/2 can
# carry: a cookie in each, thousands of them in a byte each, line ends.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;
use Time::HiRes qw(time);

use constant { DATA => 0, HEADERS => 1, RST => 3, SETTINGS => 4, PING => 6,
               GOAWAY => 7, END_STREAM => 1, END_HEADERS => 4, ACK => 1,
               CANCEL => 8 };

my $t = Session::Flow->new(users => ['alice']);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    listen => 'http2', http => <<'END', server => 'session_limit 64;'));
    session_hash queue=200 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END
$t->run;


# ------------------------------------------------------- all of them ---

{
    my $c = http2();
    my @streams = map { post($c, 'alice') } 1 .. 40;
    my $codes = receive($c, @streams);

    is scalar(grep { ($codes->{$_} // '') eq '200' } @streams), 40,
        'forty at once';
    is live(), 40, 'forty sessions';
    close $c->{sock};
}


# --------------------------------------------------------- half of them ---

for my $when ('at once', 'while they wait') {
    my $before = live();
    my $c = http2();
    my @streams = map { post($c, 'alice') } 1 .. 20;
    my @reset = @streams[map { 2 * $_ + 1 } 0 .. 9];

    receive($c, $streams[0]) if $when ne 'at once';
    put($c, RST, 0, $_, pack 'N', CANCEL) for @reset;

    my %reset = map { $_ => 1 } @reset;
    my @kept = grep { !$reset{$_} } @streams;
    my $codes = receive($c, @kept);

    is scalar(grep { ($codes->{$_} // '') eq '200' } @kept), 10,
        "half of them are reset $when: the others are answered";
    cmp_ok live() - $before, '>=', 10, 'and signed in';
    cmp_ok live() - $before, '<=', 20, 'nobody twice';
    is receive($c, post($c, 'nobody'))->{last}, '401',
        'the connection goes on';
    close $c->{sock};
}


# ------------------------------------------------------------- the end ---

{
    my $c = http2();

    post($c, 'alice') for 1 .. 20;
    put($c, PING, 0, 0, 'x' x 8);
    ok $t->wait_for(sub { frame($c, 1) && $c->{type} == PING }),
        'twenty more have been read';
    close $c->{sock};

    $c = http2();
    is receive($c, post($c, 'nobody'))->{last}, '401',
        'the connection is closed: the next one is served';
    close $c->{sock};
}


# --------------------------------------------------------------- fields ---

{
    my $c = http2();
    my $token = $t->session('alice')->{token};
    my $ours = literal(cookie => "$Session::World::cookie=$token");
    my $other = literal(cookie => 'a="b');
    my $start = cpu();

    is private($c, $ours), 200, 'a cookie in a field';
    is private($c, $other, $ours, $other), 200, 'between others';
    is private($c, $other), 401, 'others alone';
    is private($c, literal(cookie => "$Session::World::cookie="),
               literal(cookie => $token)), 401, 'one in two fields is none';

    # the first makes an entry of the table, a byte repeats it

    my $many = "\x40" . pack('C/a* C/a*', 'cookie', 'c=d') . "\xbe" x 3000;

    is private($c, $many, $ours), 200, 'three thousand before it';
    is private($c, $ours, $many), 200, 'and behind it';
    is private($c, $many . "\xbe" x 13000, $ours), 'refused',
        'more than nginx reads';
    cmp_ok cpu() - $start, '<', 1, 'in no time';

    $c = http2();

    for my $name ("a\0b", "a\rb", "a\nb", "a\r\nCookie: x") {
        is private($c, $ours, literal('user-agent' => $name)), 'refused',
            'what would end a line: refused';
        $c = http2();
    }

    is private($c, $ours), 200, 'the next one is served';
    close $c->{sock};
}

$t->done;


# GET of /private with these fields: its status, or "refused" where nginx
# ends the stream, or all of them.

sub private {
    my ($c, @fields) = @_;
    my $stream = $c->{next};

    $c->{next} += 2;
    put($c, HEADERS, END_HEADERS | END_STREAM, $stream, join '',
        literal(':method', 'GET'), literal(':scheme', 'http'),
        literal(':path', '/private'), literal(':authority', 'localhost'),
        @fields);

    while (frame($c, 20)) {
        return 'refused' if $c->{type} == GOAWAY
                            || $c->{type} == RST && $c->{stream} == $stream;
        return status($c) =~ s/\A4(?!01)\d\d\z/refused/r
            if $c->{type} == HEADERS && $c->{stream} == $stream;
    }

    return 'nothing';
}


# Seconds of processor time that the worker has used.

sub cpu {
    my ($worker) = $t->workers;
    my @field = split ' ', slurp("/proc/$worker/stat") =~ s/.*\)//sr;

    return ($field[11] + $field[12]) / 100;
}


# ----------------------------------------------------------------- wire ---

sub http2 {
    my $c = { in => '', next => 1,
              sock => Session::Wire::dial('127.0.0.1', $t->port, 10) };

    write_out($c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    put($c, SETTINGS, 0, 0, '');

    return $c;
}


sub write_out {
    my ($c, $bytes) = @_;

    Session::Wire::write_all($c->{sock}, $bytes, \$c->{in}, 10)
        or die "cannot write\n";
}


sub put {
    my ($c, $type, $flags, $stream, $payload) = @_;

    write_out($c, substr(pack('N', length $payload), 1)
                  . pack('CCN', $type, $flags, $stream) . $payload);
}


# A header that no table has to know: literal, not indexed, not compressed.

sub literal {
    my ($name, $value) = @_;

    return pack 'C C/a* C/a*', 0, $name, $value;
}


sub post {
    my ($c, $login) = @_;
    my $stream = $c->{next};
    my $body = Session::Client::encode_form(
        { login => $login, password => $Session::World::password });

    $c->{next} += 2;
    put($c, HEADERS, END_HEADERS, $stream, join '',
        literal(':method', 'POST'), literal(':scheme', 'http'),
        literal(':path', '/sign_in'), literal(':authority', 'localhost'),
        literal('accept', 'application/json'),
        literal('sec-fetch-site', 'same-origin'),
        literal('content-type', 'application/x-www-form-urlencoded'),
        literal('content-length', length $body));
    put($c, DATA, END_STREAM, $stream, $body);

    return $stream;
}


# The next frame, if one comes in time: type, flags, stream, payload.

sub frame {
    my ($c, $seconds) = @_;
    my $deadline = time + $seconds;

    for (;;) {
        my ($high, $low, $type, $flags, $stream) =
            length $c->{in} < 9 ? () : unpack 'CnCCN', $c->{in};
        my $length = defined $high ? ($high << 16) + $low : 0;

        if (defined $high && length $c->{in} >= 9 + $length) {
            @$c{qw(type flags stream)} = ($type, $flags, $stream);
            $c->{payload} = substr $c->{in}, 9, $length;
            substr($c->{in}, 0, 9 + $length) = '';
            return 1;
        }

        my $left = $deadline - time;

        return if $left <= 0;

        my $n = Session::Wire::read_some($c->{sock}, \$c->{in}, $left);

        return if defined $n && $n <= 0;
    }
}


# The status that a HEADERS frame begins with.  nginx writes 200 as one byte
# and others as three digits.

sub status {
    my ($c) = @_;

    return 'odd' if $c->{payload} !~ /\A(?:[\x20-\x3f])?(?:([\x88-\x8e])
                                       |[\x08\x48]\x03(\d{3}))/x;
    return $2 // (200, 204, 206, 304, 400, 404, 500)[ord($1) - 0x88];
}


# Status by stream, until all that are asked for have one.

sub receive {
    my ($c, @streams) = @_;
    my $codes = $c->{codes} //= {};
    my $deadline = time + 60;

    while (grep { !$codes->{$_} } @streams) {
        frame($c, $deadline - time) or last;

        if ($c->{type} == SETTINGS && !($c->{flags} & ACK)) {
            put($c, SETTINGS, ACK, 0, '');

        } elsif ($c->{type} == HEADERS) {
            $codes->{ $c->{stream} } = $codes->{last} = status($c);
        }
    }

    return $codes;
}


sub live {
    my $n = () = scalar($t->sessionctl('session', 'list', '--json'))
                 =~ /"ref"/g;

    return $n;
}
