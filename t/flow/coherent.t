# Every worker keeps sessions in memory.  Once a change was acknowledged to
# whoever made it, a request of one worker or sessionctl in a process of its
# own, the next request to any worker finds it, on connections that are there
# already and with all sessions used before.

use strict;
use warnings;

use lib 't/lib';
use List::Util qw(sum0);
use Session::Flow;
use Session::SignIn;
use Test::More;

my $rounds = $ENV{TEST_NGINX_ROUNDS} // 250;
my $seed = srand($ENV{TEST_NGINX_SEED} // time);
my $t = Session::Flow->new(workers => 4,
                           users => [map { "u$_:first:User $_" } 0 .. 7]);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    listen => 'reuseport', server => <<'END'));
        session_lifetime 7d idle=1d touch=1h;
        session_limit 12;
        keepalive_requests 1000000;
        keepalive_timeout 600s;
        add_header X-User $session_user always;
        add_header X-Roles $session_roles always;
        add_header X-Name $session_name always;
        add_header X-Ref $session_ref always;
END
$t->run;

my $workers = each_worker($t);
my @pids = sort keys %$workers;
my %user = map { $_ => { roles => 'first', name => 'User ' . substr $_, 1 } }
           map { "u$_" } 0 .. 7;
my (@sessions, @wrong, %done, $asked);


# ------------------------------------------------------------- one by one ---

refill();
walk($rounds);
verdict('one by one');


# ------------------------------------------------------------ under load ---

# Others use the sessions all the time, so that each worker reads each of them
# anew as soon as it may.

{
    my %mine;
    my $load = load_start(2, sub {
        my $clients = $mine{$$} //= each_worker($t);
        my @tokens = split ' ', Session::Log::slurp($t->dir . '/tokens');

        for my $token (@tokens) {
            for (values %$clients) {
                my $code = $_->get('/private',
                                   cookie({ token => $token }))->code;

                return "answered $code" if $code != 200 && $code != 401;
            }
        }

        return '';
    });

    walk($rounds);

    my ($calls, @said) = load_stop($load);

    cmp_ok $calls, '>', 10, 'others were busy';
    is "@said", '', 'and never in error';
    verdict('under load');
}


# ------------------------------------------------------------ the others ---

{
    is +($t->sessionctl('sweep'))[0], 0, 'a sweep';
    check($_, 'sweep') for @sessions;
    is +($t->sessionctl('session', 'revoke', '--all'))[0], 0, 'all revoked';
    $_->{over} = 1 for @sessions;
    check($_, 'all') for @sessions;
    verdict('all of them');
}

$t->done;


# ------------------------------------------------------------------ parts ---


# Changes by kind; each says which sessions it is about.

sub walk {
    my ($n) = @_;

    my %change = (
        sign_out => \&sign_out, revoke => \&revoke, roles => \&roles,
        name => \&name, disable => \&disable, user => \&user,
        replaced => \&replaced,
    );
    my @kinds = ('sign_out', 'revoke', 'roles', sort keys %change);

    for (1 .. $n) {
        my $kind = $kinds[rand @kinds];

        check($_, $kind) for $change{$kind}->($sessions[rand @sessions]);
        $done{$kind}++;

        # what it is not about is as it was
        check($sessions[rand @sessions], "beside $kind") for 1 .. 3;

        refill();
        last if @wrong > 10;
    }
}


# Two of each user, used in every worker, twice.

sub refill {
    @sessions = grep { !$_->{over} } @sessions;

    for my $login (sort keys %user) {
        my $have = grep { $_->{login} eq $login } @sessions;

        for ($have + 1 .. 2) {
            my $session = { %{ $t->session($login) }, login => $login };

            check($session, 'new') for 1 .. 2;
            push @sessions, $session;
        }
    }

    $t->write_file('tokens.new', join ' ', map { $_->{token} } @sessions);
    rename $t->dir . '/tokens.new', $t->dir . '/tokens' or die "tokens: $!\n";
}


sub cookie { (Cookie => "$Session::World::cookie=$_[0]{token}") }


# What each worker says of it.

sub check {
    my ($session, $why) = @_;
    my $user = $user{ $session->{login} };
    my $right = $session->{over} ? '401'
              : "200 $session->{login} $user->{roles} $user->{name}";

    for my $pid (@pids) {
        my $r = $workers->{$pid}->get('/private', cookie($session));
        my $said = join ' ', $r->code, $r->code == 200
                 ? map { $r->header($_) // '' } qw(X-User X-Roles X-Name) : ();

        $asked++;
        push @wrong, "$why, round "
            . sum0(values %done) . ": $said, not $right" if $said ne $right;
        push @wrong, "answered by another worker"
            if $r->header('X-Worker') ne $pid;
    }
}


sub verdict {
    my ($when) = @_;

    is join("\n", @wrong), '', "$when: no worker was behind, seed $seed";
    note "$when: $asked requests, ",
        join ', ', map { "$done{$_} $_" } sort keys %done;
    ($asked, @wrong, %done) = (0);
}


sub run {
    my ($code, $text) = $t->sessionctl(@_);

    push @wrong, "@_: exit $code" if $code;
}


sub of { my ($login) = @_; grep { $_->{login} eq $login } @sessions }
sub over { $_->{over} = 1 for @_; return @_ }


# By a request to one of the workers.

sub sign_out {
    my ($session) = @_;
    my $r = $workers->{ $pids[rand @pids] }->request('DELETE', '/sign_out',
        cookie($session), Accept => 'application/json',
        'Sec-Fetch-Site' => 'same-origin');

    push @wrong, 'sign_out: ' . $r->code if $r->code !~ /\A2/;

    return over($session);
}


# By other processes.

sub revoke {
    my ($session) = @_;

    run('session', 'revoke', $session->{ref});

    return over($session);
}


sub roles {
    my ($session) = @_;
    my $login = $session->{login};

    $user{$login}{roles} = 'r' . int rand 1e6;
    run('user', 'roles', $login, $user{$login}{roles});

    return of($login);
}


sub name {
    my ($session) = @_;
    my $login = $session->{login};

    $user{$login}{name} = 'Name ' . int rand 1e6;
    run('user', 'name', $login, $user{$login}{name});

    return of($login);
}


sub disable {
    my ($session) = @_;
    my $login = $session->{login};
    my @over = over(of($login));

    run('user', 'disable', $login);
    check($_, 'disabled') for @over;
    run('user', 'enable', $login);

    return @over;
}


sub user {
    my ($session) = @_;

    run('session', 'revoke', '--user', $session->{login});

    return over(of($session->{login}));
}


# Signing in again in the same browser ends the session before.

sub replaced {
    my ($session) = @_;
    my $client = $t->client;

    $client->cookie($Session::World::cookie, $session->{token});

    my $r = $client->form('/sign_in?fresh=1',
        { login => $session->{login}, password => $Session::World::password });

    push @wrong, 'sign-in: ' . $r->code if $r->code != 303;
    push @sessions, { token => $client->cookie($Session::World::cookie),
                      login => $session->{login},
                      ref => $client->get('/private')->header('X-Ref') };

    return over($session), $sessions[-1];
}
