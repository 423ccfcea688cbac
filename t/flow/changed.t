# A user who changes while a right password is hashed: what was read before the
# hash counts no more when it has ended, and no session is made.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::SignIn;
use Test::More;

my $cookie = $Session::World::cookie;
my $t = Session::Flow->new(users => [qw(alice bob carol dave)]);
my $hashes = $t->dir . '/hashes';

local $ENV{COUNT_HASH} = $hashes;
local $ENV{TEST_NGINX_LD_PRELOAD} = join ':',
    grep { defined && length } $ENV{TEST_NGINX_LD_PRELOAD},
                               compiled($t, 'count_hash');

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(http => <<'END'));
    session_hash timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END
$t->run;

is changed('alice', 'a name', sub { user('name', 'alice', 'Alice B') }), 200,
    'alice is who she was';
is sessions('alice'), 1, 'and signed in';

is changed('alice', 'a password', sub { user('passwd', 'alice',
                                             '--generate') }), 401,
    'the old password is wrong by now';
is sessions('alice'), 0, 'nobody is signed in';

is changed('bob', 'disabled', sub { user('disable', 'bob') }), 401,
    'bob is disabled';
is sessions('bob'), 0, 'and not signed in';

is changed('carol', 'disabled and enabled', sub {
    user('disable', 'carol');
    user('enable', 'carol');
}), 401, 'all that carol was in the middle of has ended';
is sessions('carol'), 0, 'a sign-in too';

is changed('dave', 'deleted', sub { user('delete', 'dave') }), 401,
    'dave is gone';

$t->done;


# Sends the right password, changes the user before the hash is known, and
# gives the code of the answer.

sub changed {
    my ($login, $what, $change) = @_;
    my $c = prepared($t);

    $t->write_file('hashes.after', '');
    $c->send(attempt($c, $login));
    ok $t->wait_for(sub { -e "$hashes.held" }), "$login, $what";
    $change->();
    unlink "$hashes.after", "$hashes.held";

    my $r = $c->receive;
    my $code = $r ? $r->code : 'none';

    is defined $c->cookie($cookie) ? 200 : 401, $code, 'a cookie or none';

    return $code;
}


sub user {
    is +($t->sessionctl('user', @_))[0], 0, join ' ', 'user', @_;
}


sub sessions {
    my ($login) = @_;
    my $n = () = scalar($t->sessionctl('session', 'list', '--user', $login,
                                       '--json')) =~ /"ref"/g;

    return $n;
}
