# Clients that go away, orderly and with a reset, at each step of signing in.
# Nothing is signed in for them, nothing stays behind, the next one is served.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Holds;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

my $password = $Session::World::password;
my $t = Session::Flow->new(users => ['alice', 'bob']);
my $holds = Session::Holds->new($t);

# A known user's hash has the parameters it was made with, an unknown one's
# those of the configuration: half a second.

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(http => <<'END'));
    session_hash memory=64m passes=12 concurrent=1 queue=8 timeout=20s;
    session_throttle account=10000r/15m address=10000r/15m;
END

{
    my %env = $holds->env;
    local @ENV{ keys %env } = values %env;

    $t->run;
}


for my $way (qw(close reset finish)) {
    note $way;

    gone($way, 'before the body', sub {
        my ($c) = @_;
        $c->send(attempt($c, 'alice') =~ s/(\r\n\r\n).*/$1/sr);
    }) if $way ne 'finish';

    gone($way, 'half-way through the body', sub {
        my ($c) = @_;
        my $bytes = attempt($c, 'alice');
        $c->send(substr $bytes, 0, length($bytes) - 10);
    }) if $way ne 'finish';

    gone($way, 'while it is hashed', sub {
        my ($c) = @_;
        $c->send(attempt($c, 'nobody'));
    });

    # more than there are places, so one that is not given back is missed

    my @before = map { busy() } 1 .. 3;

    for my $n (1 .. 10) {
        gone($way, "in the queue, $n", sub {
            my ($c) = @_;
            $c->send(attempt($c, 'alice'));
        }, 'full');
    }

    is $_->receive->code, 401, 'who was before them is answered' for @before;
    served("$way in the queue");
    is live('alice'), 0, 'nobody has been signed in';

    gone_committing($way);
}


# ---------------------------------------------------- the answer unread ---

{
    my $c = prepared($t);

    $c->send(attempt($c, 'bob'));
    $t->wait_for(sub { live('bob') == 1 });
    $c->reset;
    is $t->client->get('/up')->code, 200, 'the answer was not read';
    is live('bob'), 1, 'its session is one that was answered';
    served('an answer that was not read');
}

$t->done;


# Does something, lets the server see it, goes away, and asks for the next.

sub gone {
    my ($way, $what, $do, $full) = @_;
    my $c = prepared($t);
    my $lines = logged();

    $do->($c);

    # one worker: what came before on another connection has been read

    is $t->client->get('/up')->code, 200, "$way $what: others are served";
    $c->$way;

    ok $t->wait_for(sub { logged() >= $lines + 2 }), 'the request is over';

    served("$way $what") if !$full;
}


# The client goes away while its session is being written.  It is written,
# nobody has its token, and the next transaction ends it.

sub gone_committing {
    my ($way) = @_;

    my $uncertain = uncertain();
    my $c = prepared($t);
    my $lines = logged();

    $holds->commit;
    $c->send(attempt($c, 'alice'));
    ok $holds->committing, "$way: it is being written";
    $c->$way;
    ok $t->wait_for(sub { logged() > $lines }), 'the request is over';
    is $t->client->get('/up')->code, 200, 'others are served';
    $holds->release;

    ok $t->wait_for(sub { uncertain() > $uncertain }), 'it is ended';
    is live('alice'), 0, 'nobody has been signed in';
    served("$way while committing");
}


# Somebody whose hash takes its time.

sub busy {
    my $c = prepared($t);

    $c->send(attempt($c, 'nobody'));
    $t->client->get('/up');

    return $c;
}


sub served {
    my ($after) = @_;
    my $c = prepared($t);

    $c->send(attempt($c, 'bob'));

    my $r = $c->receive;

    is $r && $r->code, 200, "after $after: the next one signs in";
    $t->sessionctl('session', 'revoke', '--user', 'bob');
}


sub logged { my $text = slurp($t->dir . '/logs/access.log'); $text =~ tr/\n// }


sub live {
    my ($login) = @_;
    my $n = () = scalar($t->sessionctl('session', 'list', '--user', $login,
                                       '--json')) =~ /"ref"/g;

    return $n;
}


sub uncertain {
    my $n = () = scalar($t->sessionctl('session', 'list', '--ended', '--json'))
                 =~ /"end":"uncertain"/g;

    return $n;
}
