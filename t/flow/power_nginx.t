# The power goes while nginx works: whatever a browser or a command was told
# before holds on the disk.  See t/flow/power.t.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::Power;
use Session::SignIn;
use Test::More;

my $cookie = $Session::World::cookie;
my $wanted = $ENV{TEST_NGINX_POWER} // 40;
my $cuts = $ENV{TEST_NGINX_POWER_CUTS} // 600;
my $t = Session::Flow->new(workers => 2,
                           users => ['cli', map { "u$_" } 0 .. 2]);
my $p = Session::Power->new(root => $t->dir . '/world');

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    server => 'session_lifetime 7d idle=1d touch=1s; session_limit 64;',
    http => <<'END'));
    session_hash queue=100 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END

{
    my %env = $p->env;
    my $recorder = delete $env{LD_PRELOAD};

    local @ENV{ keys %env } = values %env;
    local $ENV{TEST_NGINX_LD_PRELOAD} = join ':',
        grep { defined && length } $ENV{TEST_NGINX_LD_PRELOAD}, $recorder;

    $t->run;
}


# Signs in, looks around, and mostly out again.

my ($number, $kept) = (0, 0);

my $load = load_start(3, sub {
    my ($who) = @_;
    my $c = $t->client;
    my $id = "$who." . ++$number;

    $p->try("i$id", 'in', "u$who", '-');

    my $r = sign_in($c, "u$who");

    return 'sign-in: ' . ($r ? $r->code : 'none') if !$r || $r->code != 303;

    my $token = $c->cookie($cookie);
    my $key = Session::Power::key_of($token);

    $p->ok("i$id", $key);
    $c->get('/private');

    return '' if $kept < 30 && $number % 3 == 0 && ++$kept;

    $p->try("o$id", 'out', $key);
    $r = $c->form('/sign_out', {});

    return 'sign-out: ' . ($r ? $r->code : 'none') if !$r || $r->code != 303;

    $p->ok("o$id");

    return '';
});

my $calls = 0;

for my $round (1 .. 3) {
    my $c = $t->client;

    $p->try("c$round", 'in', 'cli', '-');
    is sign_in($c, 'cli')->code, 303, 'signed in';
    $p->ok("c$round", Session::Power::key_of($c->cookie($cookie)));

    my @change = $round == 1 ? ('outs', 'session', 'revoke', '--user')
               : $round == 2 ? ('disable', 'user', 'disable')
               : ('delete', 'user', 'delete');

    $p->try("d$round", shift @change, 'cli');
    ok $p->ctl(@change, 'cli', '--store', $t->store), "@change";
    $p->ok("d$round");

    last if $round == 3;

    $p->try("e$round", 'enable', 'cli');
    ok $p->ctl('user', 'enable', 'cli', '--store', $t->store), 'enabled';
    $p->ok("e$round");
}

diag slurp($p->dir . '/out') if !Test::More->builder->is_passing;

ok $t->wait_for(sub { tried() >= $wanted }, 120 + $wanted), 'enough of them';

(undef, my @wrong) = load_stop($load);
is join("\n", @wrong), '', 'all were answered';

$t->stop;

is $p->replay(now => $p->dir . '/now', cuts => $cuts,
              every => $cuts > 600 ? 1 : 2), '', 'what was answered holds';

my ($tries) = $p->{said} =~ /(\d+) tries/;

cmp_ok $tries, '>=', $wanted, 'changes';
$t->done;


sub tried {
    open my $in, '<:raw', "$p->{log}" or die $!;
    local $/;

    return scalar(() = <$in> =~ /ok o\d/g);
}
