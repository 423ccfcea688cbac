# The token of a live session, changed in every way a byte can be, and what
# stands around it, on the wire: only as it was given is it anybody's.

use strict;
use warnings;

use lib 't/lib';
use MIME::Base64 qw(decode_base64url encode_base64url);
use Session::Flow;
use Session::Log qw(slurp);
use Test::More;

my $t = Session::Flow->new(users => ['alice', 'bob']);
my $cookie = $Session::World::cookie;

$t->write_file_expand('nginx.conf', <<'END');
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    server {
        listen 127.0.0.1:%%PORT_8080%%;
        session on;
        location / { return 200 "$session_status $session_user"; }
        location /private { session_require user; }
    }
    server {
        listen 127.0.0.1:%%PORT_8081%%;
        session on;
        large_client_header_buffers 4 2m;
        location / { return 200 "$session_status $session_user"; }
    }
}
END
$t->run;

my $session = session_with('-_');
my $token = $session->{token};
my $client = $t->client;
my $wide = $t->client(number => 8081);

is who($token), 'valid alice', 'as it was given';


# ------------------------------------------------------------ every bit ---

{
    my $bytes = decode_base64url($token);
    my %said;

    is length $bytes, 54, 'the length of a token';

    for my $bit (0 .. 8 * length($bytes) - 1) {
        my $changed = $bytes;

        vec($changed, $bit, 1) ^= 1;
        $said{ who(encode_base64url($changed)) }++;
    }

    is_deeply [sort keys %said], ['bad_signature ', 'unknown_key '],
        'another bit: nobody';
    is $said{'unknown_key '}, 8, 'the first byte names the key';

    vec($bytes, 0, 1) ^= 1;

    my $r = $client->get('/private',
                         Cookie => "$cookie=" . encode_base64url($bytes));

    is $r->code, 401, 'of a key that is not loaded';
    is $r->header('Set-Cookie'), undef, 'it stays: the key may still come';
}

for my $at (0 .. length($token) - 1) {
    my $changed = $token;

    substr $changed, $at, 1, substr($token, $at, 1) =~ /[a-z]/
        ? uc substr($token, $at, 1) : lc substr($token, $at, 1);
    next if $changed eq $token;

    unlike who($changed), qr/alice/, "another case of character $at";
}


# ---------------------------------------------------------- other texts ---

my $id = substr decode_base64url($token), 0, 22;
my $mac = substr decode_base64url($token), 22;
my %nobody = (
    'a byte less' => substr($token, 0, 71),
    'a byte less in front' => substr($token, 1),
    'a byte more' => "${token}A",
    'a byte more in front' => "A$token",
    'twice in one' => "$token$token",
    'the alphabet of plain base64' => $token =~ tr|-_|+/|r,
    'only + for -' => $token =~ tr|-|+|r,
    'only / for _' => $token =~ tr|_|/|r,
    'with padding' => "$token=",
    'with two of it' => "$token==",
    'with a last character that is padding' => substr($token, 0, 71) . '=',
    'no MAC' => encode_base64url($id),
    'a MAC of nothing but zeros' => encode_base64url($id . "\0" x 32),
    'a MAC of nothing but ones' => encode_base64url($id . "\xff" x 32),
    'a MAC alone' => encode_base64url($mac),
    'percent for the first' => sprintf('%%%02X%s', ord $token,
                                       substr $token, 1),
    'percent for all' => $token =~ s/(.)/sprintf '%%%02X', ord $1/ger,
    'percent for a dash' => $token =~ s/-/%2D/gr,
    'quoted' => "\"$token\"",
    'a quote in front' => "\"$token",
    'a comma behind' => "$token,",
    'in hexadecimal' => unpack('H*', decode_base64url($token)),
    'the form token' => $session->{csrf},
    'the front of the form token' => substr($session->{csrf}, 0, 72),
    'the end of the form token' => substr($session->{csrf}, -72),
    'the public reference' => $session->{ref},
    'the cookie of a form before sign-in' =>
        (Session::World::before($t->world))[0],
    '8 KiB of it' => substr($token x 120, 0, 8192),
    '1 MiB of it' => substr($token x 15000, 0, 1 << 20),
);

$nobody{"a MAC of $_ bytes"} =
    encode_base64url($id . substr $mac, 0, $_) for 1 .. 31;

for my $name (sort keys %nobody) {
    isnt $nobody{$name}, $token, "$name: is another";
    like who($nobody{$name}, $wide),
        qr/\A(?:malformed|bad_signature|unknown_key) \z/, "$name: nobody";
}

for my $size (8192, 1 << 20) {
    my $r = $t->client->get('/', Cookie => "$cookie=" . 'A' x $size);

    is $r->code, 400, "$size bytes, nginx's own buffers: refused";
}

for my $blank (' ', "\t") {
    is who("$token$blank; y"), 'valid alice', 'a blank behind it is no part';
    is who("$blank$token; y"), 'malformed ', 'one in front of it is';
}


# ------------------------------------------------------ bytes not of text ---

for my $byte (0, 1, 8, 11, 12, 0x1b, 0x7f, 0x80, 0xa0, 0xff) {
    for my $at (0, 36, 72) {
        my $changed = $token;

        substr $changed, $at, 0, chr $byte;

        my $r = $t->client->get('/', Cookie => "$cookie=$changed");
        my $name = sprintf 'byte %02x at %d', $byte, $at;

        $byte == 0 ? is($r->code, 400, "$name: refused")
                   : is($r->body, 'malformed ', "$name: nobody");
    }
}


# ------------------------------------------------------------ the others ---

# A tenth of a megabyte of names that differ from ours in the last character.

{
    my $junk = join '; ', map { substr($cookie, 0, -1) . "m=$_" } 1 .. 10000;
    my $start = cpu();

    is who("$token; $junk", $wide), 'valid alice', '10000 others behind it';
    is $wide->get('/', Cookie => "$junk; $cookie=$token")->body,
        'valid alice', '10000 others before it';
    cmp_ok cpu() - $start, '<', 1, 'in no time';

    is $t->client->get('/', Cookie => "$junk; $cookie=$token")->code, 400,
        'more than nginx reads by itself';

    for my $n (0 .. 5) {
        my $line = join '; ', ("$cookie=junk") x $n, "$cookie=$token";

        is $client->get('/', Cookie => $line)->body,
            $n < 4 ? 'valid alice' : 'malformed ', "$n of ours before it";
    }

    my $lines = "$cookie=junk\r\nCookie: " x 3 . "$cookie=$token";

    is $client->get('/', Cookie => $lines)->body, 'valid alice',
        'on the fourth line';

    my $bob = $t->session('bob')->{token};

    for (["$token; $cookie=$bob"], ["$bob; $cookie=$token"],
         ["$token\r\nCookie: $cookie=$bob"])
    {
        is who(@$_), 'duplicate ', 'two live sessions, in either order';
    }

    is who("$token; $cookie=$token"), 'valid alice', 'one of them twice';
}


# ------------------------------------------------------------- the clock ---

{
    my $early = $t->session('bob', created => 3600);

    is $client->get('/private', Cookie => "$cookie=$_")->code, 401,
        'nobody at all'
        for '', 'junk', 'A' x 72, $token =~ s/.\z/$& eq 'A' ? 'B' : 'A'/er;
    is $client->get('/private', Cookie => "$cookie=$early->{token}")->code,
        401, 'made an hour from now: nobody';
    ok $t->wait_for(sub {
        grep { /"type":4,.*"reason":-10,/ && ref_of($_) eq $early->{ref} }
             split /^/, scalar $t->sessionctl('dump');
    }), 'and it is written down';
    is join('', grep { /"type":4,/ && ref_of($_) ne $early->{ref} }
                     split /^/, scalar $t->sessionctl('dump')),
        '', 'strangers are not';
    is who($token), 'valid alice', 'another session is not concerned';
}

$t->done;


# A session of alice's whose token has all these characters.

sub session_with {
    my ($characters) = @_;

    for (1 .. 100) {
        my $session = $t->session('alice');

        return $session
            if !grep { index($session->{token}, $_) < 0 }
                     split //, $characters;

        $t->sessionctl('session', 'revoke', $session->{ref});
    }

    die "no token with $characters\n";
}


# What the server says to "__Host-session=" and this.

sub who {
    my ($text, $by) = @_;

    return ($by // $client)->get('/', Cookie => "$cookie=$text")->body;
}


# What sessionctl calls the session of a line of a dump.

sub ref_of {
    my ($line) = @_;
    my ($key) = $line =~ /"key":"([0-9a-f]{32})"/;

    return encode_base64url(substr pack('H*', $key), 7);
}


# Seconds of processor time that the worker has used.

sub cpu {
    my ($worker) = $t->workers;
    my @field = split ' ', slurp("/proc/$worker/stat") =~ s/.*\)//sr;

    return ($field[11] + $field[12]) / 100;
}
