# Signing out where it matters: with the form, on every worker, and with a disk
# that hangs or fails.  Nobody is told to be signed out, or in, who is not.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::SignIn;
use Test::More;

my $cookie = $Session::World::cookie;
my $t = Session::Flow->new(workers => 2, users => [qw(alice bob)]);
my $hold = $t->dir . '/hold';
my @json = (Accept => 'application/json', 'Sec-Fetch-Site' => 'same-origin');

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(listen => 'reuseport',
    http => 'session_throttle account=10000r/15m address=10000r/15m;'));

{
    local $ENV{HOLD_SYNC} = $hold;
    local $ENV{TEST_NGINX_LD_PRELOAD} = join ' ', grep { length }
        $ENV{TEST_NGINX_LD_PRELOAD} // '', compiled($t, 'hold_sync');

    $t->run;
}

my $workers = each_worker($t);


# ------------------------------------------------------------ the token ---

{
    my $c = $t->signed_in('alice');
    my $other = $t->session('alice');
    my ($pre, $before) = Session::World::before($t->world);

    for my $token ('', $other->{csrf}, $before, substr($c->{csrf}, 1)) {
        is $c->post('/sign_out', { _csrf => $token })->code, 403,
            'another token, in the form';
        is $c->request('DELETE', '/sign_out', 'X-CSRF-Token' => $token)->code,
            403, 'and in a header';
    }

    is private_by_worker($workers, $c->{token}, 200), '', 'still signed in';
    is $c->post('/sign_out', { _csrf => $c->{csrf} })->code, 303, 'its own';
    is private_by_worker($workers, $c->{token}, 401), '', 'signed out';
    is private_by_worker($workers, $other->{token}, 200), '',
        'the user\'s others are not';

    is $c->post('/sign_out', { _csrf => $c->{csrf} })->code, 403,
        'the token of a session that is over';

    $c = $t->signed_in('alice');
    is $c->request('DELETE', '/sign_out', 'X-CSRF-Token' => $c->{csrf})->code,
        303, 'DELETE, its own';
    is private_by_worker($workers, $c->{token}, 401), '', 'signed out';
}


# GET does nothing, in any form.

{
    my $c = $t->signed_in('alice');

    for my $path ('/sign_out', '/sign_out?_method=POST',
                  "/sign_out?_csrf=$c->{csrf}")
    {
        $c->$_($path, 'X-CSRF-Token' => $c->{csrf}, @json) for qw(get head);
    }

    is private_by_worker($workers, $c->{token}, 200), '', 'still signed in';
}


# --------------------------------------------------- a disk that is broken ---

{
    my $c = $t->signed_in('alice');
    my $in = prepared($t);

    $t->allow(qr/\[crit\].*(?:Input\/output error|session)/);
    $t->write_file("$hold.fail", '');

    my $r = $c->request('DELETE', '/sign_out', @json);

    is $r->code, 503, 'sign-out on a broken disk';
    is $r->header('Set-Cookie'), undef, 'the cookie stays';
    is $r->header('Clear-Site-Data'), undef, 'and the cache';
    like $r->header('Retry-After'), qr/\A\d+\z/, 'try again';
    like $r->body, qr/"error":"store_unavailable"/, 'says why';

    $in->send(attempt($in, 'bob'));
    $r = $in->receive;
    is $r->code, 503, 'sign-in';
    like $r->body, qr/"error":"store_unavailable"/, 'says why';
    is $r->header('Set-Cookie'), undef, 'no session';
    is private_by_worker($workers, $c->{token}, 200), '',
        'who is signed in stays so';

    unlink "$hold.fail";

    is live('bob'), 0, 'nobody has been signed in';
    is $c->request('DELETE', '/sign_out', @json)->code, 200,
        'it is mended: signed out';
    is private_by_worker($workers, $c->{token}, 401), '', 'for everybody';
}


# ------------------------------------------------------ a disk that hangs ---

{
    my $out = $t->signed_in('alice');
    my $in = prepared($t);

    $t->write_file($hold, '');
    $out->open;
    $out->send($out->format('DELETE', '/sign_out', @json));
    ok $t->wait_for(sub { -e "$hold.waiting" }), 'the disk hangs';
    $in->send(attempt($in, 'bob'));

    is $workers->{$_}->get('/up')->code, 200, 'others are served'
        for keys %$workers;

    my $r = $out->receive(timeout => 60);

    is $r->code, 503, 'sign-out: nobody knows';
    like $r->body, qr/"error":"outcome_unknown"/, 'which is what it says';
    is $r->header('Set-Cookie'), undef, 'the cookie stays';

    $r = $in->receive(timeout => 60);
    is $r->code, 503, 'sign-in';
    like $r->body, qr/"error":"(?:outcome_unknown|busy)"/, 'says why';
    is $r->header('Set-Cookie'), undef, 'no session';

    unlink $hold;

    ok $t->wait_for(sub {
        private_by_worker($workers, $out->{token}, 401) eq '' }),
        'the disk goes on, and the sign-out holds';
    ok $t->wait_for(sub { live('bob') == 0 }), 'the sign-in does not';
    is sign_in($t->client, 'bob')->code, 303, 'the next one does';
}

$t->done;


sub live {
    my ($login) = @_;
    my $n = () = scalar($t->sessionctl('session', 'list', '--user', $login,
                                       '--json')) =~ /"ref"/g;

    return $n;
}
