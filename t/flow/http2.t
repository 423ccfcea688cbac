# Many sign-ins on one HTTP/2 connection, some of them reset while they wait,
# and the connection closed under the rest; and fields that only HTTP/2 can
# carry: a cookie in each, thousands of them in a byte each, line ends.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Http2 qw(HEADERS RST_STREAM PING GOAWAY END_STREAM END_HEADERS
                      literal);
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

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
    my $c = Session::Http2->new($t->port);
    my @streams = map { post($c, 'alice') } 1 .. 40;

    is codes($c, @streams), join(' ', (200) x 40), 'forty at once';
    is live(), 40, 'forty sessions';
    $c->close;
}


# --------------------------------------------------------- half of them ---

for my $when ('at once', 'while they wait') {
    my $before = live();
    my $c = Session::Http2->new($t->port);
    my @streams = map { post($c, 'alice') } 1 .. 20;
    my @reset = @streams[map { 2 * $_ + 1 } 0 .. 9];

    $c->codes($streams[0]) if $when ne 'at once';
    $c->reset_stream($_) for @reset;

    my %reset = map { $_ => 1 } @reset;
    my @kept = grep { !$reset{$_} } @streams;

    is codes($c, @kept), join(' ', (200) x 10),
        "half of them are reset $when: the others are answered";
    cmp_ok live() - $before, '>=', 10, 'and signed in';
    cmp_ok live() - $before, '<=', 20, 'nobody twice';
    is codes($c, post($c, 'nobody')), 401, 'the connection goes on';
    $c->close;
}


# ------------------------------------------------------------- the end ---

{
    my $c = Session::Http2->new($t->port);

    post($c, 'alice') for 1 .. 20;
    $c->put(PING, 0, 0, 'x' x 8);
    ok $t->wait_for(sub { $c->frame(1) && $c->{type} == PING }),
        'twenty more have been read';
    $c->close;

    $c = Session::Http2->new($t->port);
    is codes($c, post($c, 'nobody')), 401,
        'the connection is closed: the next one is served';
    $c->close;
}


# --------------------------------------------------------------- fields ---

{
    my $c = Session::Http2->new($t->port);
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

    $c = Session::Http2->new($t->port);

    for my $name ("a\0b", "a\rb", "a\nb", "a\r\nCookie: x") {
        is private($c, $ours, literal('user-agent' => $name)), 'refused',
            'what would end a line: refused';
        $c = Session::Http2->new($t->port);
    }

    is private($c, $ours), 200, 'the next one is served';
    $c->close;
}

$t->done;


# GET of /private with these fields: its status, or "refused" where nginx
# ends the stream, or all of them.

sub private {
    my ($c, @fields) = @_;
    my $stream = $c->open_stream;

    $c->put(HEADERS, END_HEADERS | END_STREAM, $stream,
            join '', $c->block('GET', '/private'), @fields);

    while ($c->frame) {
        return 'refused' if $c->{type} == GOAWAY || $c->{type} == RST_STREAM
                                                    && $c->{stream} == $stream;
        return $c->status =~ s/\A4(?!01)\d\d\z/refused/r
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


sub post {
    my ($c, $login) = @_;
    my $body = Session::Client::encode_form(
        { login => $login, password => $Session::World::password });
    my $stream = $c->head('POST', '/sign_in', accept => 'application/json',
        'sec-fetch-site' => 'same-origin',
        'content-type' => 'application/x-www-form-urlencoded',
        'content-length' => length $body);

    $c->data($stream, $body, END_STREAM);

    return $stream;
}


# Statuses, in the order of the streams.

sub codes {
    my ($c, @streams) = @_;
    my $answers = $c->codes(@streams);

    return join ' ', map { $answers->{$_}{code} // 'none' } @streams;
}


sub live {
    my $n = () = scalar($t->sessionctl('session', 'list', '--json'))
                 =~ /"ref"/g;

    return $n;
}
