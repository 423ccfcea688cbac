# sessionctl while nginx runs on the same store: what it changes counts from
# the next request on, and keys are rotated without signing anybody out.

use strict;
use warnings;

use lib 't/lib';
use Session::Cli qw(sessionctl json in_dir);
use Session::Flow ();
use Session::World ();
use Test::More;

my $t = Session::Flow->new(workers => 2,
                           $> == 0 ? (user => 'www-data') : ());

$t->write_file_expand('nginx.conf', <<'END');
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    server {
        listen 127.0.0.1:%%PORT_8080%%;

        # not "return", which answers before access is decided
        location / { session_require user; empty_gif; }
        location /admin { session_require role=admin; empty_gif; }
        location /status { session on; return 200 $session_status; }
        location /name { session on; return 200 $session_name; }
    }
}
END

$t->run;

my @at = ('--store', $t->store);


sub code { $_[0]->get($_[1] // '/')->code }

# A refusal may have expired the cookie, so it is set again.
sub status {
    $_[0]->cookie($Session::World::cookie, $_[0]{token});
    return $_[0]->get('/status')->body;
}


# ------------------------------------------------------------- changes ---


my $alice = $t->signed_in('alice');

is(code($alice), 200, 'signed in');
is(status($alice), 'valid', 'status');
is_deeply([map { $_->{ref} } @{ json('session', 'list', '--json', @at) }],
          [$alice->{ref}], 'listed while nginx runs');
is(sessionctl('check', @at)->{code}, 0, 'checked while nginx runs');

isnt(code($alice, '/admin'), 200, 'no role');
is(sessionctl('user', 'roles', 'alice', 'admin', @at)->{code}, 0, 'a role');
is(code($alice, '/admin'), 200, 'counts at once');
is(sessionctl('user', 'roles', 'alice', '', @at)->{code}, 0, 'taken away');
isnt(code($alice, '/admin'), 200, 'counts at once');

is(sessionctl('user', 'name', 'alice', 'Alice N.', @at)->{code}, 0, 'a name');
is($alice->get('/name')->body, 'Alice N.', 'counts at once');

is(sessionctl('session', 'revoke', $alice->{ref}, @at)->{code}, 0, 'revoked');
isnt(code($alice), 200, 'refused at once');
is(status($alice), 'revoked', 'by that name');

like(sessionctl('why', $alice->{ref}, @at)->{out},
     qr/^decision: +refused\nreason: +it was revoked/m, 'why');

my @bob = map { $t->signed_in('bob') } 1 .. 3;

is(code($_), 200, 'bob is signed in') for @bob;
is(sessionctl('user', 'disable', 'bob', @at)->{code}, 0, 'disabled');
isnt(code($_), 200, 'refused at once') for @bob;
is(status($bob[0]), 'disabled', 'by that name');

my $carol = $t->signed_in('carol');

is(code($carol), 200, 'carol is signed in');
is(sessionctl('session', 'revoke', '--all', @at)->{code}, 0, 'all revoked');
isnt(code($carol), 200, 'refused at once');


# -------------------------------------------------------------- copies ---


my $backup = in_dir('backup');

is(sessionctl('backup', $backup, @at)->{code}, 0, 'backup while nginx runs');
is(sessionctl('dump', "$backup-dump", @at)->{code}, 0, 'dump too');

my $run = sessionctl('restore', "$backup-dump", @at);
is($run->{code}, 4, 'restore is refused while nginx runs');
unlike($run->{out}, qr/restored/, 'and says so');


# ---------------------------------------------------------------- keys ---


my $keys = $t->keys;

chown 0, 0, $keys if $> == 0;

my $dave = $t->signed_in('carol');

is(code($dave), 200, 'a cookie of the old key');

my ($old) = map { $_->{id} } @{ json('key', 'list', $keys, '--json', @at) };
my $new = json('key', 'add', $keys, '--json')->{id};

$run = sessionctl('key', 'promote', $keys, $new, @at);
is($run->{code}, 1, 'promote before the reload');
like($run->{err}, qr/nginx has not loaded key $new; reload nginx first/,
     'says what to do');

sub loaded {
    my %loaded = map { $_->{id} => $_->{loaded} }
                 @{ json('key', 'list', $keys, '--json', @at) };
    return $loaded{$_[0]};
}

$t->wait_for(sub { loaded($old) }, 30);
ok(loaded($old), 'the old key is loaded');
ok(!loaded($new), 'the new one is not');

$t->reload;
ok($t->wait_for(sub { loaded($new) }, 30), 'after the reload it is');

is(sessionctl('key', 'promote', $keys, $new, @at)->{code}, 0, 'promote');
$t->reload;

is(code($dave), 200, 'the old cookie is good');

my $late = $t->signed_in('carol');

is(code($late), 200, 'a cookie of the new key, too');

is(sessionctl('key', 'drop', $keys, $old)->{code}, 0, 'drop');
$t->reload;

is(status($dave), 'unknown_key', 'now the old cookie is not');
is(code($late), 200, 'and the new one is');

$t->done;
