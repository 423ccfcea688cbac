# What requests that wait for a hash leave behind in the memory of the worker:
# nothing, whether they are answered, find no place, make room for a browser
# that is known, are late, or their clients go away.  t/tools/fault.c counts
# the blocks that are allocated, to the last one.

use strict;
use warnings;

use lib 't/lib';
use Session::Faults ();
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

plan skip_all => 'valgrind has a malloc of its own'
    if $ENV{TEST_NGINX_USE_VALGRIND};

# of those who wait, and how many requests of each kind there are
my $places = 20;
my $many = 100;

# LMDB keeps lists that have grown, and nginx tables; a leak is one block of
# each request.
my $noise = $many / 4;

my $cookie = $Session::World::cookie;
my $fault = Session::Faults->new(children => 1);
my $t = Session::Flow->new(users => ['alice']);
my $hashes = $t->dir . '/hashes';
my $log = $t->dir . '/logs/access.log';
my %env = $fault->env('TEST_NGINX_LD_PRELOAD');

$env{COUNT_HASH} = $hashes;
$env{TEST_NGINX_LD_PRELOAD} .= ':' . compiled($t, 'count_hash');
local @ENV{keys %env} = values %env;

$t->write_file('html/private', "secret\n");
configure('60s');
$t->run;

my $stranger = prepared($t);
my $known = prepared($t);
my $asked = 1;

$stranger->close;

is sign_in($known, 'alice')->code, 303, 'a browser that alice knows';
$known->{jar} = { %{ $known->{jar} }, %{ $stranger->{jar} } };
$known->{csrf} = $stranger->{csrf};
$known->forget($cookie);

nothing_left('answered', $places, \&answered);
nothing_left('refused', $places, \&refused);
nothing_left('gone while they wait', $places, \&gone);
nothing_left('gone while they are hashed', 1, \&gone_hashing);
nothing_left('put off, and gone from the first places', $places, \&put_off);

configure('1s');
$t->reload;

nothing_left('late', $places, \&late);

$t->done;


sub configure {
    my ($timeout) = @_;

    $t->write_file_expand('nginx.conf', configuration(http => <<"END"));
    session_hash concurrent=1 queue=$places timeout=$timeout;
    session_throttle account=10000r/15m address=10000r/15m;
END
}


# Once to warm up, then as often as it takes: $n requests at a time.

sub nothing_left {
    my ($what, $n, $do) = @_;
    my @wrong = $do->();
    my $before = alive();

    for (my $done = 0; $done < $many && !@wrong; $done += $n) {
        @wrong = $do->();
    }

    is "@wrong", '', "$what: as it should be";

    # connections that have been closed are the last to go
    my $few = $t->wait_for(sub { $fault->alive <= $before + $noise }, 5);
    my $more = $fault->alive - $before;

    ok $few, "$what: no block is left" or diag "$more blocks more";
    note "$what: $more blocks more";
}


# As soon as it is the same twice.

sub alive {
    my $last = -1;

    $t->wait_for(sub {
        my $now = $fault->alive;
        my $same = $now == $last;

        $last = $now;
        return $same;
    });

    return $last;
}


# ----------------------------------------------------------------- kinds ---

# Each returns what was wrong.


# One after the other, on one connection.

sub answered { return alone($places, 401) }
sub refused { return while_full(sub { return alone($places, 503) }) }
sub gone { return while_full(sub { return }) }


sub gone_hashing {
    my $c = hold();

    return gone_at_last($c), release();
}


sub put_off {
    return while_full(sub {
        my @first = map { another($known) } @_;

        ask($_, 'alice') for @first;

        my @wrong = answers(503, @_);

        $_->close for @first;

        return @wrong;
    });
}


sub late { return while_full(sub { return answers(503, @_) }) }


# ----------------------------------------------------------------- steps ---


# One is hashed and all places are taken, $do is called with those who have
# them, then everybody goes, and the hash ends.

sub while_full {
    my ($do) = @_;
    my $c = hold();
    my @waiting = map { another($stranger) } 1 .. $places;

    ask($_) for @waiting;

    # who comes later is served later
    $t->client->get('/up') for 1, 2;

    my @wrong = $do->(@waiting);

    return @wrong, gone_at_last($c, @waiting), release();
}


sub hold {
    my $c = another($stranger);

    $t->write_file('hashes.before', '');
    ask($c);
    $t->wait_for(sub { -e "$hashes.held" }) or fail('no hash has begun');

    return $c;
}


# The next one is hashed when this one is over.

sub release {
    unlink "$hashes.before", "$hashes.held";

    return alone(1, 401);
}


sub gone_at_last {
    $_->close for @_;

    return if $t->wait_for(sub { posts() >= $asked });
    return $asked - posts() . ' requests do not end';
}


sub another {
    my ($like) = @_;
    my $c = $t->client;

    $c->{jar} = { %{ $like->{jar} } };
    $c->{csrf} = $like->{csrf};
    $c->open or die "no connection\n";

    return $c;
}


sub ask {
    my ($c, $login) = @_;

    $asked++;
    $c->send(attempt($c, $login // 'nobody'));
}


sub alone {
    my ($n, $code) = @_;
    my $c = another($stranger);
    my @wrong = map { ask($c); answers($code, $c) } 1 .. $n;

    $c->close;

    return @wrong;
}


sub answers {
    my ($code, @clients) = @_;
    my @codes = map { my $r = $_->receive; $r ? $r->code : 'none' } @clients;

    return grep { $_ ne $code } @codes;
}


# How many requests are over.

sub posts { return scalar(() = slurp($log) =~ /"POST /g) }
