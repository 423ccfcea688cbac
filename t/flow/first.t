# While hashes wait for one another, a browser that has signed its user in
# before is hashed ahead of strangers who came first.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

my $t = Session::Flow->new(users => ['alice', 'bob']);
my $hashes = $t->dir . '/hashes';

local $ENV{COUNT_HASH} = $hashes;
local $ENV{TEST_NGINX_LD_PRELOAD} = join ':',
    grep { defined && length } $ENV{TEST_NGINX_LD_PRELOAD},
                               compiled($t, 'count_hash');

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(http => <<'END'));
    session_hash concurrent=1 queue=8 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END
$t->run;

my $known = $t->client;

is sign_in($known, 'alice')->code, 303, 'a browser that alice knows';
$known->forget($Session::World::cookie);
$known->{csrf} = prepared_for($known);

# Passwords tell the hashes apart by their length.

my @strangers = map { prepared($t) } 1 .. 3;
my $lines = counted();

$t->write_file('hashes.before', '');
$strangers[$_]->send(attempt($strangers[$_], 'alice', 'x' x (20 + $_)))
    for 0 .. 2;
ok $t->wait_for(sub { -e "$hashes.held" }), 'a stranger is hashed';
$t->client->get('/up');

$known->open;
$known->send(attempt($known, 'alice'));
$t->client->get('/up');
unlink "$hashes.before";

is $known->receive->code, 200, 'alice is in';
is $_->receive->code, 401, 'a stranger is not' for @strangers;

my $right = length $Session::World::password;

is join(' ', (lengths())[$lines .. $lines + 3]), "20 $right 21 22",
    'in this order';

$t->done;


# The client has a pre-session cookie as the others have, and its token.

sub prepared_for {
    my ($client) = @_;
    my ($pre, $csrf) = Session::World::before($t->world);

    $client->cookie("$Session::World::cookie-pre", $pre);

    return $csrf;
}


sub counted { my @lengths = lengths(); return scalar @lengths }
sub lengths { return slurp($hashes) =~ / (\d+)$/mg }
