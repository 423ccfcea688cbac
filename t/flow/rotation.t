# New keys while people are at work: add, reload, promote, reload, drop,
# reload, and nobody is signed out who has looked at a page of ours since.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

my $cookie = $Session::World::cookie;
my $t = Session::Flow->new(workers => 2, users => [qw(alice bob carol)]);
my $keys = $t->keys;

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    server => 'location = /dashboard { session_page dashboard; }',
    http => <<'END'));
    session_hash queue=100 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END
$t->run;

# Somebody who only ever asks for files, somebody with a browser, and people
# who sign in and out.

my $file = $t->session('alice');
my $idle = $t->session('carol');
my $browser = $t->session('alice');
my %client;

my $files = load_start(1, sub {
    my $c = $client{$$} //= $t->client;

    return wrong($c->get('/private', Cookie => "$cookie=$file->{token}"));
});

my $browsing = load_start(1, sub {
    my $c = $client{$$} //= do {
        my $new = $t->client;

        $new->cookie($cookie, $browser->{token});
        $new;
    };

    return wrong($c->get('/private'))
        || wrong($c->get('/dashboard', Accept => 'text/html'));
});

my $signing = load_start(1, sub {
    my $c = $t->client;
    my $r = sign_in($c, 'bob');

    return 'sign-in: ' . ($r ? $r->code : 'no answer')
        if !$r || $r->code != 303;

    my $wrong = wrong($c->get('/private'));

    return "after sign-in: $wrong" if $wrong;

    $r = $c->form('/sign_out', {});

    return $r && $r->code == 303 ? ''
           : 'sign-out: ' . ($r ? $r->code : 'no answer');
});

my ($old) = ids();

work();
is +($t->sessionctl('key', 'add', $keys))[0], 0, 'add';

my ($new) = grep { $_ ne $old } ids();

ok $new, "key $new beside $old";
isnt +($t->sessionctl('key', 'promote', $keys, $new))[0], 0,
    'no promotion before it is loaded';
$t->reload;
work();

ok $t->wait_for(sub { !($t->sessionctl('key', 'promote', $keys, $new))[0] }),
    'promote, once it is';
is +(ids())[0], $new, 'it is the first now';
$t->reload;
work();

# A file does not renew, and a page does.

my $c = $t->client;

$c->cookie($cookie, $idle->{token});
is $c->get('/private')->header('Set-Cookie'), undef, 'a file sets no cookie';
$c->get('/dashboard', Accept => 'text/html');
isnt $c->cookie($cookie), $idle->{token}, 'a page does';
is $c->get('/private')->code, 200, 'which is good';

my $renewed = $c->cookie($cookie);

is $c->get('/dashboard', Accept => 'text/html')->header('Set-Cookie'), undef,
    'once';
$c->cookie($cookie, $idle->{token});
is $c->get('/private')->code, 200, 'the old one is too, as yet';
$c->get('/sign_out', Accept => 'text/html');
is substr($c->cookie($cookie), 2, 27), substr($renewed, 2, 27), 'same session';

# All who read files only are done; nobody else may notice the drop.

my ($calls, @wrong) = load_stop($files);

cmp_ok $calls, '>', 3, "files, $calls times";
is join("\n", @wrong), '', 'files, without an error';

is +($t->sessionctl('key', 'drop', $keys, $old))[0], 0, 'drop';
is join(' ', ids()), $new, 'one key is left';
$t->reload;
work();

for (['pages', $browsing], ['sign-ins', $signing]) {
    my ($name, $load) = @$_;

    ($calls, @wrong) = load_stop($load);
    cmp_ok $calls, '>', 3, "$name, $calls times";
    is join("\n", @wrong), '', "$name, without an error";
}

$c->cookie($cookie, $renewed);
is $c->get('/private')->code, 200, 'a cookie that was renewed';
$c->cookie($cookie, $file->{token});

my $r = $c->get('/private');

is $r->code, 401, 'one that was not';
is $r->header('X-Status'), 'unknown_key', 'the reason';
is $r->header('Set-Cookie'), undef, 'the cookie stays: it may be known again';

$t->done;


sub wrong {
    my ($r) = @_;

    return 'no answer' if !$r;
    return '' if $r->code == 200;
    return 'answered ' . $r->code . ', session is ' . $r->header('X-Status');
}


sub ids {
    my $text = $t->sessionctl('key', 'list', $keys, '--json');

    return $text =~ /"id":"([^"]+)"/g;
}


# Until there has been some more of everything.

sub work {
    my $log = $t->dir . '/logs/access.log';
    my $from = -s $log;

    ok $t->wait_for(sub {
        my $text = slurp($log, $from);

        return $text =~ m{GET /private.*GET /private}s
               && $text =~ m{GET /dashboard.*GET /dashboard}s
               && $text =~ m{POST /sign_in.*POST /sign_in}s;
    }, 30), 'they are at work';
}
