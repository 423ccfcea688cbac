# sessionctl user: users and their passwords.

use strict;
use warnings;

use lib 't/lib';
use JSON::PP ();
use Session::Cli qw(sessionctl json typed in_dir);
use Session::World ();
use Test::More;

my ($true, $false) = (JSON::PP::true(), JSON::PP::false());
my $password = 'Tr0ub4dor & three';

my $world = Session::World::fresh();
my @at = ('--store', $world->{store});


sub user { json('user', 'show', @_, '--json', @at)->{user} }
sub hash_of {
    my ($login) = @_;
    my ($row) = grep { /"user".*"realm":"default","login":"\Q$login\E"/ }
                split /\n/, sessionctl('dump', @at)->{out};

    return $row =~ /"phc":"([^"]*)"/ ? $1 : undef;
}


# ----------------------------------------------------------------- add ---


my $run = sessionctl('user', 'add', 'ann', '--stdin', @at,
                     { stdin => "$password\n" });

is($run->{code}, 0, 'add');
is($run->{out}, qq{user "ann" in realm "default" added\n}, 'add, said so');
is($run->{err}, '', 'add, nothing else');
like(hash_of('ann'), qr/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/, 'argon2id');

my $ann = user('ann');

is($ann->{name}, 'ann', 'the name is the login');
is_deeply($ann->{roles}, [], 'no roles');
is($ann->{password}, $true, 'a password');
is($ann->{disabled}, $false, 'not disabled');
is($ann->{signed_in}, undef, 'never signed in');
like($ann->{id}, qr/^[0-9a-f]{16}$/, 'an id');

$run = sessionctl('user', 'add', 'Ann', '--stdin', @at,
                  { stdin => "$password\n" });
is($run->{code}, 1, 'add of what is there, in another case');
like($run->{err}, qr/user "Ann" in realm "default": exists already/,
     'said so');

my $made = json('user', 'add', 'ann', '--generate', '--realm', 'b', '--name',
                'Änn "the \\ second"', '--roles', 'b, a,b', '--json', @at);

is($made->{realm}, 'b', 'the same login in another realm');
is($made->{did}, 'add', 'did');
like($made->{password}, qr/^[0-9a-hjkmnp-tv-z]{26}$/, 'a drawn password');
isnt($made->{id}, $ann->{id}, 'is another user');

my $other = user('ann', '--realm', 'b');

is($other->{name}, "\xc4nn \"the \\ second\"", 'name, quoted in JSON');
is_deeply($other->{roles}, ['a', 'b'], 'roles, sorted and once');

$run = sessionctl('user', 'add', 'bert', '--generate', @at);
is($run->{code}, 0, 'add --generate');
like($run->{out}, qr/^password: [0-9a-z]{26}$/m, 'shows the password');

my ($drawn) = $run->{out} =~ /^password: (.*)$/m;

is(index(sessionctl('dump', @at)->{out}, $drawn), -1, 'and keeps only a hash');

is(sessionctl('user', 'add', 'chris', '--no-password', @at)->{code}, 0,
   'add --no-password');
is(hash_of('chris'), '', 'no hash');
like(sessionctl('user', 'list', @at)->{out}, qr/^chris +no passwd /m,
     'list says so');


# ------------------------------------------------------ what is refused ---


my @refused = (
    ['short', "fourteen chars\n", [], 'shorter than 15 characters'],
    ['no', '', [], 'there is no password on stdin'],
    ['empty', "\n", [], 'there is no password on stdin'],
    ['long', 'x' x 1025 . "\n", [], 'longer than 1024 bytes'],
    ['short all the same', "seven77\n", ['--min', 8],
     'shorter than 8 characters'],
    # characters count, not bytes
    ['short in UTF-8', "\xc3\xa9" x 14 . "\n", [], 'shorter than 15'],
);

for my $refused (@refused) {
    my ($name, $text, $options, $message) = @$refused;

    $run = sessionctl('user', 'add', 'x', '--stdin', @$options, @at,
                      { stdin => $text });
    is($run->{code}, 1, "a password that is $name");
    like($run->{err}, qr/\Q$message\E/, 'said so');
}

for my $min (0, 7, 1025) {
    $run = sessionctl('user', 'add', 'x', '--stdin', '--min', $min, @at,
                      { stdin => "$password\n" });
    is($run->{code}, 2, "--min $min");
    like($run->{err}, qr/--min is 8 to 1024/, 'said so');
}

my @taken = (
    ['fifteen characters', "fifteen chars !\n", []],
    ['no line feed', 'fifteen chars !', []],
    ['1024 bytes', 'x' x 1024 . "\n", []],
    ['8 with --min 8', "eight888\n", ['--min', 8]],
    ['15 in UTF-8', "\xc3\xa9" x 15 . "\n", []],
);

for my $taken (@taken) {
    my ($name, $text, $options) = @$taken;

    is(sessionctl('user', 'add', "t-" . length $text, '--stdin', @$options,
                  @at, { stdin => $text })->{code}, 0, $name);
}

for my $login ('', ' ann', 'ann ', "a\nb", "a\x1b[31m", "a\xff", 'x' x 129) {
    $run = sessionctl('user', 'add', '--no-password', @at, '--', $login);
    is($run->{code}, 1, 'a login that is no text');
    like($run->{err}, qr/is not 1 to 128 bytes of UTF-8/, 'said so');
}

$run = sessionctl('user', 'add', 'x', '--name', "a\nb", '--no-password', @at);
is($run->{code}, 1, 'a name that is no text');
$run = sessionctl('user', 'add', 'x', '--roles', 'a;b', '--no-password', @at);
is($run->{code}, 1, 'roles that are none');
like($run->{err}, qr/roles "a;b": a role is 1 to 32 of/, 'said so');

is(sessionctl('user', 'show', 'x', @at)->{code}, 3, 'and nobody was added');


# -------------------------------------------------------- the terminal ---


$run = typed(['user', 'add', 'tina', @at],
             qr/Password for tina: /, "$password\n",
             qr/The same again for tina: /, "$password\n");
is($run->{code}, 0, 'typed twice');
unlike($run->{seen}, qr/\Q$password\E/, 'never seen');
like($run->{seen}, qr/user "tina" in realm "default" added/, 'added');
like($run->{seen}, qr/(?<!-)\becho\b/, 'the terminal echoes again');

for my $again ("$password.", scalar reverse $password) {
    $run = typed(['user', 'add', 'x', @at],
                 qr/Password for x: /, "$password\n",
                 qr/The same again/, "$again\n");
    is($run->{code}, 1, 'typed differently');
    like($run->{seen}, qr/the two passwords differ/, 'said so');
    like($run->{seen}, qr/(?<!-)\becho\b/, 'the terminal echoes again');
}

$run = typed(['user', 'add', 'x', @at], qr/Password for x: /, "abc\cC");
is($run->{code}, 1, 'Ctrl-C');
like($run->{seen}, qr/given up/, 'said so');
like($run->{seen}, qr/(?<!-)\becho\b/, 'the terminal echoes again');
like($run->{seen}, qr/(?<!-)\bisig\b/, 'and has its signals');

$run = typed(['user', 'add', 'x', @at],
             qr/Password for x: /, "short\n", qr/again/, "short\n");
is($run->{code}, 1, 'typed short');

$run = typed(['user', 'add', 'tina', @at]);
is($run->{code}, 1, 'nobody is asked for a user that is there');
unlike($run->{seen}, qr/Password for/, 'not at all');

$run = sessionctl('user', 'add', 'x', @at);
is($run->{code}, 1, 'no terminal');
like($run->{err}, qr/there is no terminal .* --stdin or --generate/,
     'says what else there is');


# -------------------------------------------------------------- change ---


my $session = Session::World::session($world, 'alice');
my $old = hash_of('alice');

$run = sessionctl('user', 'passwd', 'alice', '--stdin', @at,
                  { stdin => "$password\n" });
is($run->{code}, 0, 'passwd');
is($run->{out}, qq{user "alice" in realm "default" has a new password; }
                . "1 session ended\n", 'ends the sessions');
isnt(hash_of('alice'), $old, 'another hash');
is(json('session', 'show', $session->{ref}, '--json', @at)->{end}, 'password',
   'for that reason');

$run = typed(['user', 'passwd', 'alice', @at],
             qr/Password for alice: /, "$password\n",
             qr/again for alice: /, "$password\n");
is($run->{code}, 0, 'passwd, typed');

like(json('user', 'passwd', 'alice', '--generate', '--json', @at)->{password},
     qr/^\w{26}$/, 'passwd --generate');

$session = Session::World::session($world, 'alice');

$run = sessionctl('user', 'roles', 'alice', 'admin auditor', @at);
is($run->{code}, 0, 'roles');
is($run->{out}, qq{user "alice" in realm "default" has the roles }
                . "admin,auditor\n", 'roles, said so');
is_deeply(json('session', 'show', $session->{ref}, '--json', @at)->{roles},
          ['admin', 'auditor'], 'in live sessions too');
is(json('session', 'show', $session->{ref}, '--json', @at)->{status}, 'valid',
   'which live on');
is_deeply(user('alice', '--realm', 'other')->{roles}, ['admin'],
          'and in one realm only');

like(sessionctl('user', 'roles', 'alice', '', @at)->{out}, qr/has no roles$/,
     'no roles');
is(sessionctl('user', 'roles', 'alice', 'a/b', @at)->{code}, 1,
   'roles that are none');

is(json('user', 'name', 'alice', 'Alice N.', '--json', @at)->{did}, 'name',
   'name');
is(json('session', 'show', $session->{ref}, '--json', @at)->{name},
   'Alice N.', 'in live sessions too');
is(sessionctl('user', 'name', 'alice', "a\tb", @at)->{code}, 1,
   'a name that is no text');
is(sessionctl('user', 'name', 'alice', @at, '--', '--')->{code}, 0,
   'a name of dashes');

my $disabled = json('user', 'disable', 'alice', '--json', @at);

is($disabled->{sessions_ended}, 1, 'disable ends the sessions');
is(user('alice')->{disabled}, $true, 'the user is disabled');
is(json('session', 'show', $session->{ref}, '--json', @at)->{status},
   'disabled', 'and so the session says');
like(sessionctl('user', 'list', @at)->{out}, qr/^alice +disabled /m,
     'list says so');

is(sessionctl('user', 'enable', 'alice', @at)->{code}, 0, 'enable');
is(user('alice')->{disabled}, $false, 'enabled');
is(json('session', 'show', $session->{ref}, '--json', @at)->{status},
   'disabled', 'what has ended stays ended');

my $id = user('alice')->{id};

is(json('user', 'delete', 'alice', '--json', @at)->{id}, $id, 'delete');
is(sessionctl('user', 'show', 'alice', @at)->{code}, 3, 'the user is gone');
is(user('alice', '--realm', 'other')->{login}, 'alice', 'in that realm');
is(sessionctl('user', 'add', 'alice', '--no-password', @at)->{code}, 0,
   'the login is free');
isnt(user('alice')->{id}, $id, 'and is somebody else');

for my $command (['passwd', 'nobody', '--generate'], ['roles', 'nobody', 'a'],
                 ['name', 'nobody', 'a'], ['disable', 'nobody'],
                 ['enable', 'nobody'], ['delete', 'nobody'],
                 ['show', 'nobody'])
{
    $run = sessionctl('user', @$command, @at);
    is($run->{code}, 3, "$command->[0] of nobody");
    like($run->{err}, qr/user "nobody" in realm "default": not found/,
         'said so');
    is($run->{out}, '', 'and nothing else');
}


# ---------------------------------------------------------------- show ---


$session = Session::World::session($world, 'bob', address => '192.0.2.1');
$run = sessionctl('user', 'show', 'bob', @at);
like($run->{out}, qr/^login: +bob$/m, 'show');
like($run->{out}, qr/^roles: +auditor$/m, 'with roles');
like($run->{out}, qr/^\Q$session->{ref}\E  valid .* 192\.0\.2\.1 /m,
     'and sessions');
unlike($run->{out}, qr/argon2/, 'but no hash');

my $shown = json('user', 'show', 'bob', '--json', @at);

is($shown->{user}{login}, 'bob', 'show --json');
is($shown->{sessions}[0]{ref}, $session->{ref}, 'with sessions');

is_deeply([map { $_->{login} } @{ json('user', 'list', '--json', '--realm',
                                       'other', @at) }], ['alice'],
          'list of one realm');
is_deeply(json('user', 'list', '--json', '--realm', 'none', @at), [],
          'list of none');


# ---------------------------------------------------------- the record ---


my %events;

for my $row (split /\n/, sessionctl('dump', @at)->{out}) {
    my $event = JSON::PP->new->utf8->decode($row);

    $events{$event->{type}} = $event->{actor} if $event->{record} eq 'event';
}

# as in store.h: USER_CREATED, _PASSWORD, _ROLES, _DISABLED, _ENABLED,
# _DELETED, _NAME, by STORE_BY_CLI

is($events{$_}, 2, "event $_ is there") for 5 .. 11;

is(sessionctl('user', 'name', 'bob', 'Bob', @at)->{code}, 0, 'a last change');

my $stat = json('stat', '--json', @at);

is($stat->{change_copied}, $stat->{change_last}, 'nothing waits to be copied');
is(sessionctl('check', @at)->{code}, 0, 'and all is sound');

done_testing();
