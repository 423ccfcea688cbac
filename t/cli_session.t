# sessionctl session and sessionctl why.

use strict;
use warnings;

use lib 't/lib';
use JSON::PP ();
use Session::Cli qw(sessionctl json);
use Session::World ();
use Test::More;

my ($true, $false) = (JSON::PP::true(), JSON::PP::false());
my $day = 86400;
my $world = Session::World::fresh();
my @at = ('--store', $world->{store});


sub mint { return Session::World::session($world, @_)->{ref} }
sub refs { [sort map { $_->{ref} } @{ $_[0] }] }
sub show { json('session', 'show', @_, '--json', @at) }


# ---------------------------------------------------------------- list ---


# A sign-in ends what else is over of the same user, so these two have theirs
# for themselves.

for my $login ('ivy', 'max') {
    is(sessionctl('user', 'add', $login, '--no-password', @at)->{code}, 0,
       "user $login");
}

my %ref = (
    live => mint('alice', address => '192.0.2.1', agent => 'Mozilla "5.0"'),
    idle => mint('ivy', created => -250, seen => -200, idle => 100),
    expired => mint('max', created => -300, lifetime => 200),
    out => mint('bob', end => 'sign_out'),
    carol => mint('carol'),
    other => mint('alice', realm => 'other'),
);

my $list = json('session', 'list', '--json', @at);

is_deeply(refs($list), [sort @ref{qw(live carol)}], 'list has what is valid');

my ($live) = grep { $_->{ref} eq $ref{live} } @$list;

is($live->{status}, 'valid', 'status');
is($live->{login}, 'alice', 'login');
is($live->{name}, 'Alice Adams', 'name');
is($live->{realm}, 'default', 'realm');
is($live->{agent}, 'Mozilla "5.0"', 'user agent, quoted in JSON');
is($live->{address}, '192.0.2.1', 'address');
is($live->{ended}, undef, 'not ended');
is($live->{end}, undef, 'for no reason');
is($live->{lifetime}, 7 * $day, 'lifetime');
is($live->{expires}, $live->{seen} + $live->{idle}, 'expires');
like($live->{user_id}, qr/^[0-9a-f]{16}$/, 'user id');

is_deeply(refs(json('session', 'list', '--ended', '--json', @at)),
          [sort @ref{qw(live idle expired out carol)}], 'list --ended has all');
is_deeply(refs(json('session', 'list', '--user', 'ALICE', '--json', @at)),
          [$ref{live}], 'list --user');
is_deeply(refs(json('session', 'list', '--realm', 'other', '--json', @at)),
          [$ref{other}], 'list --realm');
is_deeply(json('session', 'list', '--realm', 'none', '--json', @at), [],
          'an empty list');

my $run = sessionctl('session', 'list', '--user', 'nobody', @at);
is($run->{code}, 3, 'list of nobody');

$run = sessionctl('session', 'list', @at);
like($run->{out}, qr/^REF +STATUS +LOGIN +AGE +SEEN +EXPIRES +ADDRESS /,
     'list as text');
like($run->{out}, qr/^\Q$ref{live}\E  valid +alice .* 192\.0\.2\.1 /m,
     'a line of it');
is(() = $run->{out} =~ /\n/g, 3, 'three lines');


# The ref of one session in 64 begins with a dash.

my $dashed = '';

for (1 .. 2000) {
    $dashed = mint('carol', end => 'sign_out');
    last if $dashed =~ /^-/;
}

is(show($dashed)->{ref}, $dashed, 'a ref that begins with a dash');
is(sessionctl('why', $dashed, @at)->{code}, 0, 'why takes it');
is(sessionctl('session', 'revoke', $dashed, @at)->{code}, 3, 'and revoke');
is(sessionctl('session', 'show', '--nonsense', @at)->{code}, 2,
   'but no option that there is not');


# ---------------------------------------------------------------- show ---


is(show($ref{idle})->{status}, 'idle', 'idle');
is(show($ref{expired})->{status}, 'expired', 'expired');
is(show($ref{out})->{status}, 'revoked', 'signed out');
is(show($ref{out})->{end}, 'sign_out', 'for that reason');

$run = sessionctl('session', 'show', $ref{live}, @at);
like($run->{out}, qr/^session: +\Q$ref{live}\E$/m, 'show as text');
like($run->{out}, qr/^expires: +\d{4}-\d\d-\d\d .*Z \(in .*\)$/m, 'times');

$run = sessionctl('session', 'show', $ref{other}, @at);
is($run->{code}, 3, 'of another realm');
like($run->{err}, qr/belongs to realm "other"; add --realm other/, 'said so');
is(show($ref{other}, '--realm', 'other')->{login}, 'alice', 'with it');

for my $bad ('', 'x', 'A' x 12, 'A' x 13, "$ref{live}=", 'kJ3v+0b2mZ9x') {
    $run = sessionctl('session', 'show', $bad, @at);
    is($run->{code}, 3, 'no such ref');
    like($run->{err}, qr/session "\Q$bad\E": not found/, 'said so');
}


# ----------------------------------------------------------------- why ---


sub why { sessionctl('why', @_, @at)->{out} }

my $why = why($ref{live});

like($why, qr/^decision: +let in$/m, 'why: valid');
like($why, qr/^reason: +it is valid for .* more, and longer when it is used$/m,
     'for how long');
like($why, qr/^advice: .*\$session_status/m, 'what to look at');

like(why(mint('bob', lifetime => 100, idle => 100)),
     qr/until its lifetime ends$/m, 'why: valid, at most');

$why = why($ref{idle});
like($why, qr/^decision: +refused$/m, 'why: idle');
like($why, qr/it was last used 3m\d*s? ago .* and the idle limit is 1m40s$/m,
     'since when');

like(why($ref{expired}), qr/its lifetime of 3m20s ended 1m\d*s? ago/,
     'why: expired');

my %end = (
    sign_out => 'the user signed out 0s ago',
    revoked => 'it was revoked, by an operator or from another session',
    replaced => 'somebody signed in anew in the same browser',
    limit => 'had reached session_limit, so the oldest session ended',
    password => q{the user's password was changed},
);

for my $end (sort keys %end) {
    my $ended = mint('bob', end => $end);

    $why = why($ended);
    like($why, qr/^decision: +refused$/m, "why: $end");
    like($why, qr/^reason: .*\Q$end{$end}\E/m, 'in words');
    is(json('why', $ended, '--json', @at)->{session}{end}, $end, 'in JSON');
}

my $json = json('why', $ref{live}, '--json', @at);

is($json->{let_in}, $true, 'why --json: let in');
is($json->{session}{ref}, $ref{live}, 'which session');
is(json('why', $ref{idle}, '--json', @at)->{let_in}, $false,
   'why --json: refused');

like(why($ref{other}), qr/^decision: +refused\nreason: +it belongs to realm/m,
     'why: another realm');
is(json('why', $ref{other}, '--json', @at)->{let_in}, $false,
   'the same in JSON');
like(why($ref{other}, '--realm', 'other'), qr/^decision: +let in$/m,
     'why: in its realm');

$why = why('alice');
like($why, qr/^user: +alice$/m, 'why LOGIN');
like($why, qr/^sign-in: +possible with the right password$/m, 'sign-in');
like($why, qr/^roles: +none: session_require role= refuses$/m, 'roles');
like($why, qr/^session \Q$ref{live}\E: let in\n  it is valid for/m,
     'a session that is let in');
like(why('ivy'), qr/^session \Q$ref{idle}\E: refused\n  it was last used/m,
     'one that is not');

like(why('dave'), qr/^sign-in: +refused: the user is disabled/m,
     'why: disabled');
like(why('dave'), qr/^sessions: +none: every request is sent to sign-in$/m,
     'why: no session');

is(sessionctl('user', 'add', 'eve', '--no-password', @at)->{code}, 0,
   'a user without a password');
like(why('eve'), qr/refused: no password is set; sessionctl user passwd$/m,
     'why: no password');
like(why('eve'), qr/^what happened last:\n  .*Z  user added \(by /m,
     'why: what happened');

$json = json('why', 'eve', '--json', @at);
is($json->{sign_in}, $false, 'why LOGIN --json');
is($json->{user}{login}, 'eve', 'which user');
is_deeply($json->{sessions}, [], 'no sessions');
is($json->{events}[0]{type}, 'user_created', 'events');

$run = sessionctl('why', 'nobody', @at);
is($run->{code}, 3, 'why of nobody');
like($run->{err}, qr/"nobody" is no session .* and no user of realm "default"/,
     'said so');


# -------------------------------------------------------------- revoke ---


$run = sessionctl('session', 'revoke', $ref{live}, @at);
is($run->{code}, 0, 'revoke REF');
is($run->{out}, "1 session ended\n", 'said so');
is(show($ref{live})->{status}, 'revoked', 'it is over');
is(show($ref{live})->{end}, 'revoked', 'for that reason');
is(show($ref{carol})->{status}, 'valid', 'others are not');

$run = sessionctl('session', 'revoke', $ref{live}, @at);
is($run->{code}, 3, 'revoke again');
like($run->{err}, qr/session "\Q$ref{live}\E" is over already/, 'said so');

is(sessionctl('session', 'revoke', $ref{other}, @at)->{code}, 3,
   'revoke in another realm');
is(show($ref{other}, '--realm', 'other')->{status}, 'valid', 'does nothing');
is(sessionctl('session', 'revoke', 'A' x 12, @at)->{code}, 3, 'revoke of none');

my @new = map { mint('alice') } 1 .. 3;

is(json('session', 'revoke', '--user', 'alice', '--json',
        @at)->{sessions_ended}, 3, 'revoke --user');
is(json('session', 'revoke', '--user', 'ivy', '--json',
        @at)->{sessions_ended}, 1, 'one that is idle is ended as well');
is(show($_)->{status}, 'revoked', 'over') for @new;
is(json('session', 'revoke', '--user', 'alice', '--json',
        @at)->{sessions_ended}, 0, 'none is left, and that is no error');
is(sessionctl('session', 'revoke', '--user', 'nobody', @at)->{code}, 3,
   'revoke of nobody');

my $old = mint('alice', created => -2 * $day, seen => -60, idle => 3 * $day);
my $young = mint('alice', created => -3600, seen => -60);
my $bobs = mint('bob', created => -2 * $day, seen => -60, idle => 3 * $day);

is(json('session', 'revoke', '--older-than', '1d', '--user', 'alice', '--json',
        @at)->{sessions_ended}, 1, 'revoke --older-than of one user');
is(show($old)->{status}, 'revoked', 'the old one');
is(show($young)->{status}, 'valid', 'not the young one');
is(show($bobs)->{status}, 'valid', q{not somebody else's});

is(json('session', 'revoke', '--older-than', '1d12h', '--json',
        @at)->{sessions_ended}, 1, 'revoke --older-than of the realm');
is(show($bobs)->{status}, 'revoked', 'the other old one');

$run = sessionctl('session', 'revoke', '--all', '--progress', @at);
is($run->{code}, 0, 'revoke --all');
like($run->{out}, qr/^\d+ sessions ended$/, 'said so');
like($run->{err}, qr/sessions ended: \d+/, 'with progress');
is_deeply(json('session', 'list', '--json', @at), [], 'nobody is left');
is(show($ref{other}, '--realm', 'other')->{status}, 'valid',
   'except in other realms');


# Several batches.

Session::World::mint('bulk', $world->{store}, 'many', 40, 20);
is(json('session', 'revoke', '--all', '--realm', 'many', '--json',
        @at)->{sessions_ended}, 800, '800 at once');
is_deeply(json('session', 'list', '--realm', 'many', '--json', @at), [],
          'all of them');

my $stat = json('stat', '--json', @at);

is($stat->{change_copied}, $stat->{change_last}, 'nothing waits to be copied');
is(sessionctl('check', @at)->{code}, 0, 'and all is sound');

done_testing();
