# No copy of a password stays in a worker's memory, whatever became of it.

use strict;
use warnings;
no warnings 'portable';

use lib 't/lib';
use Session::Flow;
use Session::SignIn;
use Test::More;

my $canary = 'canary-' . join '', map { ('a' .. 'z')[rand 26] } 1 .. 24;
my $t = Session::Flow->new(users => ['alice', "bob:::$canary"]);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(http => <<'END'));
    session_hash memory=64m passes=12 concurrent=1 queue=1 timeout=200ms;
    session_throttle account=3r/15m address=10000r/15m;
    client_body_buffer_size 1k;
END
$t->run;

my ($worker) = keys %{ each_worker($t) };

if (!defined found($worker, 'alice')) {
  SKIP: { skip 'the memory of other processes cannot be read', 1 }
    $t->done;
    exit;
}


# The test itself must be able to fail: what is not wiped is found.

{
    my $c = $t->client;

    $c->get("/up?$canary");
    cmp_ok found($worker, $canary), '>', 0, 'a query stays';
}

$canary = 'Canary+' . join '', map { ('A' .. 'Z')[rand 26] } 1 .. 24;

gone('wrong', 401, sub { send_one('alice', $canary) });
gone('of nobody', 401, sub { send_one('nobody', $canary) });
gone('not from here', 403, sub {
    send_one('alice', $canary, 'X-CSRF-Token' => 'x') });
gone('throttled', 429, sub { send_one('bob', 'x') for 1 .. 3;
                             send_one('bob', $canary) });
gone('too long', 413, sub { send_one('alice', $canary x 40) });
gone('of a login that is missing', 400, sub { send_one('', $canary) });
gone('in a form that is broken', 400, sub {
    my $c = prepared($t);

    $c->send($c->format('POST', '/sign_in', 'X-CSRF-Token' => $c->{csrf},
        'Content-Type' => 'application/x-www-form-urlencoded',
        body => "password=$canary&login=%zz"));

    return $c->receive });
gone('turned away', 503, sub {
    my @busy = map { prepared($t) } 1, 2;

    $_->send(attempt($_, 'nobody', $canary)) for @busy;
    $t->client->get('/up');

    my $r = send_one('alice', $canary);

    $_->receive(timeout => 60) for @busy;

    return $r;
});

# Several at once: memory that is used again at once would prove nothing.

for my $part ('whole', 'half') {
    gone("of clients that went away, $part", undef, sub {
        my @clients = map { prepared($t) } 1 .. 8;

        for my $c (@clients) {
            my $bytes = attempt($c, 'alice', "$canary-");

            $c->send(substr $bytes, 0, length($bytes) - ($part eq 'half'));
        }

        $t->client->get('/up');
        cmp_ok found($worker, $canary), '>', 0, 'it was there'
            if $part eq 'half';
        $_->close for @clients;
        $t->client->get('/up');

        return;
    });
}

$t->done;


sub send_one {
    my ($login, $password, @headers) = @_;
    my $c = prepared($t);
    my $bytes = attempt($c, $login, $password, @headers);

    # one header of a name
    while (my ($name, $value) = splice @headers, 0, 2) {
        $bytes =~ s/^\Q$name\E: (?!\Q$value\E\r)[^\r]*\r\n//m;
    }

    $c->send($bytes);

    my $r = $c->receive(timeout => 60);

    $c->close;

    return $r;
}


# Does it, and waits until the threads are done with it too.

sub gone {
    my ($what, $code, $do) = @_;
    my $r = $do->();

    is $r && $r->code, $code, "a password $what" if defined $code;
    is $t->wait_for(sub { !found($worker, $canary) }) // 0, 1,
        "a password $what is gone";
}


# How many times the text, or what it is in a form, stands in the memory that
# the process can write.

sub found {
    my ($pid, $text) = @_;
    my $n = 0;
    my $encoded = $text =~ s/([^A-Za-z0-9_.~-])/sprintf '%%%02X', ord $1/ger;

    open my $maps, '<', "/proc/$pid/maps" or return;
    open my $memory, '<:raw', "/proc/$pid/mem" or return;

    while (<$maps>) {
        my ($from, $to, $rest) = /\A([0-9a-f]+)-([0-9a-f]+) rw.. (.*)/ or next;

        next if $rest =~ /\.mdb/;
        $_ = hex for $from, $to;
        next if $to - $from > 256 * 1024 * 1024;

        sysseek $memory, $from, 0 or next;
        sysread($memory, my $bytes, $to - $from) or next;

        $n++ while $bytes =~ /\Q$text\E|\Q$encoded\E/g;
    }

    return $n;
}
