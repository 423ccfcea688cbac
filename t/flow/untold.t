# A client goes away while its sign-in is written, and the session that nobody
# was told of cannot be ended: it is tried again, fifty times at most, the log
# says so in the end, and everything else goes on.  A worker that leaves does
# not wait for it.

use strict;
use warnings;

use lib 't/lib';
use Session::Faults ();
use Session::Flow;
use Session::Holds;
use Session::SignIn;
use Test::More;

plan skip_all => 'valgrind takes no preloaded malloc'
    if $ENV{TEST_NGINX_USE_VALGRIND};

my $given_up = qr/\[error\] .* cannot be undone: its session stays/;

my $fault = Session::Faults->new(children => 1);
my $t = Session::Flow->new(users => ['alice', 'bob']);
my $holds = Session::Holds->new($t);

$t->allow(qr/could not write: cannot allocate memory/);
$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration());

{
    my %holds = $holds->env;
    local @ENV{keys %holds} = values %holds;
    my %env = $fault->env('TEST_NGINX_LD_PRELOAD');
    local @ENV{keys %env} = values %env;

    $t->run;
}

# The index of a user's sessions is what nothing else takes rows from.  What
# fails in a batch is done once more by itself.

{
    not_told('alice');
    ok $t->wait_log($given_up), 'given up at last';
    is $fault->field('calls'), 2 * 50, 'after fifty times';
    is live('alice'), 1, 'its session stays';
    $fault->disarm;
    works('alice');
}

{
    my $from = $t->log_size;

    not_told('bob');
    ok $t->wait_for(sub { $fault->field('calls') >= 3 }), 'tried again';
    $fault->disarm;
    ok $t->wait_for(sub { live('bob') == 0 }), 'and ended when that is so';
    unlike Session::Log::slurp($t->log_file, $from), $given_up,
        'nothing is given up';
    works('bob');
}

{
    my $from = $t->log_size;
    my ($old) = $t->workers;

    not_told('bob');
    ok $t->reload, 'a reload while it is tried';
    ok $t->wait_for(sub { !grep { $_ == $old } $t->workers(1) }, 20),
        'the old worker leaves';
    is scalar(() = Session::Log::slurp($t->log_file, $from) =~ /$given_up/g), 1,
        'and says so';
    $fault->disarm;
    works('bob');
}

$t->done;


# A client that is gone when its session has been written, and the fault that
# keeps the session from being ended.  Events are copied in transactions of
# their own: if the one that is held was such a one, the sign-in waited behind
# it, and is forgotten.

sub not_told {
    my ($login) = @_;
    my $begun;

    for (1 .. 5) {
        last if $begun = begun($login);
    }

    ok $begun, "$login is gone, the session is there";
}


sub begun {
    my ($login) = @_;
    my $c = prepared($t);
    my $logged = logged();

    $holds->commit;
    $c->send(attempt($c, $login));
    $holds->committing;
    $c->close;
    $t->wait_for(sub { logged() > $logged }) or return;
    $fault->arm('mdb_del', 1, on => 1, way => 2);
    $holds->release;

    return $t->wait_for(sub { $fault->field('calls') > 0 }, 3);
}


sub works {
    my ($login) = @_;
    my $c = $t->client;

    is sign_in($c, $login)->code, 303, 'who signs in then is';
    is $c->get('/private')->code, 200, 'and is let in';
}


sub live {
    my ($login) = @_;
    my $n = () = scalar($t->sessionctl('session', 'list', '--user', $login,
                                       '--json')) =~ /"ref"/g;

    return $n;
}


sub logged {
    return scalar(() = Session::Log::slurp($t->dir . '/logs/access.log')
                       =~ /"POST /g);
}
