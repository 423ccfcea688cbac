# Reloads under load, two configurations and two orders of the keys in turn:
# every request is answered, and as it was before.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::Model;
use Session::SignIn;
use Test::More;

my $reloads = $ENV{TEST_NGINX_RELOADS} // 30;
my $people = 2;
my $t = Session::Flow->new(workers => 2, users => [
    map({ "p$_" } 0 .. $people - 1), 'c0']);

$t->write_file('html/private', "secret\n");

# Two files with the same two keys: each signs in one of them.

is +($t->sessionctl('key', 'add', $t->keys))[0], 0, 'a second key';

my @lines = split /^/, slurp($t->keys);
my @secrets = grep { !/^#|^$/ } @lines;
my @keys = map { $t->dir . "/keys.$_" } 0, 1;

is scalar(@secrets), 2, 'two keys';

for my $n (0, 1) {
    $t->write_file($keys[$n], join '', $n ? reverse @secrets : @secrets);
    chmod 0600, $keys[$n] or die $!;
}

sub configure {
    my ($n) = @_;
    my $idle = $n ? '1d' : '2d';

    $t->{world}{keys} = $keys[$n];
    $t->write_file_expand('nginx.conf', configuration(
        server => "session_lifetime 7d idle=$idle touch=1s;\n"
                  . 'session_limit 64; keepalive_requests 20;'
                  . $Session::Model::headers, http => <<'END'));
    session_hash queue=100 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END
}

configure(0);
$t->run;

my $m = Session::Model->new($t, pause => 0.002);

$m->mint('c0', seen => -10) for 1 .. 3;
$m->revoke('c0', $m->mint('c0'));

my $load = $m->load(people => $people, readers => 2);
my $from = Session::Model::now();
my $failed = 0;

for my $n (1 .. $reloads) {
    configure($n % 2);
    $t->reload or ++$failed == 1 or last;

    # both generations have been at work before the next one
    my $before = $m->changes;

    $t->wait_for(sub { $m->changes > $before + 200 })
        or ++$failed == 1 or last;

    $m->revoke('c0', $m->mint('c0')) if $n % 5 == 0;
}

my $seconds = Session::Model::now() - $from;

is $failed, 0, "$reloads reloads";
is $m->verdict($load), '', 'every answer was right';
diag sprintf '%d reloads in %.0f s', $reloads, $seconds;
ok $t->wait_for(sub { $t->workers(1) == 2 }), 'the old workers are gone';

$t->done;
