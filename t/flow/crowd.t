# Fifty sign-ins of one user at once, again and again, beside sign-outs of the
# same user: as many sessions are left as session_limit says, no more and no
# fewer, and whoever was let go is not let in again.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Model;
use Session::SignIn;
use Test::More;

my $rounds = $ENV{TEST_NGINX_CROWDS} // 4;
my $cap = 5;
my $t = Session::Flow->new(workers => 3, users => ['ann']);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(listen => 'reuseport',
    server => "session_limit $cap;", http => <<'END'));
    session_hash queue=100 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END
$t->run;

my $workers = each_worker($t);
my (@live, %over, @wrong);

for my $n (1 .. $rounds) {
    my @clients = map { prepared($t) } 1 .. 50;
    my @leaving = $n % 2 ? () : @live;
    my @going = map { my $c = $t->client; $c->open; $c } @leaving;

    for my $i (0 .. 49) {
        $clients[$i]->send(attempt($clients[$i], 'ann'));

        # some of those of before go meanwhile
        leave($going[$i / 10], $leaving[$i / 10])
            if $i % 10 == 5 && $going[$i / 10];
    }

    my @codes = map { my $r = $_->receive(timeout => 120);
                      $r ? $r->code : 'none' } @clients;
    my @left = map { my $r = $_->receive; $r ? $r->code : 'none' } @going;

    push @wrong, "round $n: answered @codes" if grep { $_ ne 200 } @codes;
    push @wrong, "round $n: sign-outs @left"
        if grep { !/\A(?:200|401|403)\z/ } @left;

    my %new = map { ($_->cookie($Session::World::cookie) // 'none') => 1 }
              @clients;

    push @wrong, "round $n: " . keys(%new) . ' tokens' if keys %new != 50;

    my @all = (keys %new, @live);

    @live = look($n, @all);

    my %live = map { $_ => 1 } @live;

    push @wrong, "round $n: " . @live . ' are live' if @live != $cap;
    push @wrong, "round $n: a session is live that was signed out"
        if grep { $live{$_} } @leaving;

    my $listed = () = scalar($t->sessionctl('session', 'list', '--user',
                                            'ann', '--json')) =~ /"ref"/g;

    push @wrong, "round $n: $listed are listed" if $listed != $cap;
    $over{$_} = 1 for grep { !$live{$_} } @all;
    push @wrong, "round $n: one is back" if grep { $over{$_} } @live;
    last if @wrong > 10;
}

push @wrong, 'in the end one is back'
    if look($rounds, keys %over);
is join("\n", @wrong), '', "$rounds rounds leave $cap each";
diag scalar(keys %over), ' sessions were let go';

$t->done;


sub leave {
    my ($c, $token) = @_;

    $c->send($c->format('DELETE', '/sign_out', Accept => 'application/json',
                        'Sec-Fetch-Site' => 'same-origin',
                        Cookie => "$Session::World::cookie=$token"));
}


# Those of the tokens that are live, of which all workers say the same.

sub look {
    my ($n, @tokens) = @_;
    my %says;

    for my $pid (sort keys %$workers) {
        for my $token (@tokens) {
            my $r = $workers->{$pid}->get('/private',
                Cookie => "$Session::World::cookie=$token");

            $says{$token}{ $r ? $r->code : 'none' } = 1;
        }
    }

    push @wrong, map { "round $n: one is " . join ' and ', keys %$_ }
                 grep { keys %$_ != 1 || !($_->{200} || $_->{401}) }
                 values %says;

    return grep { $says{$_}{200} } @tokens;
}
