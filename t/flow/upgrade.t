# SIGUSR2 under load, there and back again, and there for good: two masters
# with their workers share the store, and every request is answered by one or
# the other as it was before.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(process_tree slurp);
use Session::Model;
use Session::SignIn;
use Test::More;

my $rounds = $ENV{TEST_NGINX_UPGRADES} // 8;
my $people = 2;
my $t = Session::Flow->new(workers => 2, users => [
    map({ "p$_" } 0 .. $people - 1), 'c0']);
my $pid_file = $t->dir . '/logs/nginx.pid';
my $owner = $$;
my %ours;

$t->write_file('html/private', "secret\n");

# what is preloaded, the new master needs as well
my $conf = $t->write_file_expand('nginx.conf', configuration(
    main => 'env LD_PRELOAD;',
    server => "session_lifetime 7d idle=1d touch=1s; session_limit 64;\n"
              . $Session::Model::headers, http => <<'END'));
    session_hash queue=100 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END

# Only a master whose parent is another than at its start listens to USR2.
$t->write_file('nginx.conf', slurp($conf) =~ s/daemon off/daemon on/r);

my $binary = $ENV{TEST_NGINX_BINARY} || 'nginx';

($binary) = grep { -x } map { "$_/$binary" } split(/:/, $ENV{PATH}),
                                             '/usr/sbin', '/sbin'
    if $binary !~ m{/};

{
    local $ENV{LD_PRELOAD} = $ENV{TEST_NGINX_LD_PRELOAD} // '';

    system("$binary -p " . $t->dir . '/ -e ' . $t->log_file
           . " -c $conf > " . $t->dir . '/logs/output 2>&1') == 0
        or BAIL_OUT('nginx does not start');
}

my $old = serving();
my $m = Session::Model->new($t, pause => 0.002);

$m->mint('c0', seen => -10) for 1 .. 3;
$m->revoke('c0', $m->mint('c0'));

my $load = $m->load(people => $people, readers => 2);
my $wrong = '';

for my $round (1 .. $rounds) {
    last if !upgrade('back');
    last if !upgrade('on');
}

is $wrong, '', "$rounds times there and back, and there";
is $m->verdict($load), '', 'every answer was right';

kill QUIT => $old;
ok $t->wait_for(sub { !Session::Model::alive($old) }, 30), 'the last one ends';

$t->done;


# The master of the pid file, once its workers serve.

sub serving {
    my $pid;

    $t->wait_for(sub {
        ($pid) = slurp($pid_file) =~ /\A(\d+)$/ or return;
        $ours{$pid} = 1;

        return workers_of($pid) == 2;
    }, 60) or return wrong('no workers');

    return $pid;
}

# The other master may be its child.

sub workers_of {
    my ($master, $other) = @_;
    my %not = map { $_ => 1 } $other ? process_tree($other) : ();

    return grep { !$not{$_} && slurp("/proc/$_/cmdline") =~ /worker process/ }
           process_tree($master);
}

sub wrong { $wrong ||= "@_"; return }


# A new master beside the old one; then one of them goes.

sub upgrade {
    my ($way) = @_;

    kill USR2 => $old;
    $t->wait_for(sub { -s "$pid_file.oldbin" && -s $pid_file }, 30)
        or return wrong('no new master');

    my $new = serving() or return;

    work() or return wrong('two masters, and nothing goes on');
    kill WINCH => $old;
    $t->wait_for(sub { !workers_of($old, $new) }, 60)
        or return wrong('the old workers do not leave');
    work() or return wrong('the new master alone does nothing');

    if ($way eq 'back') {
        kill HUP => $old;
        $t->wait_for(sub { workers_of($old, $new) == 2 }, 60)
            or return wrong('the old master has no workers again');
        work() or return wrong('on the way back nothing goes on');
    }

    my ($stays, $goes) = $way eq 'back' ? ($old, $new) : ($new, $old);

    kill QUIT => $goes;
    $t->wait_for(sub { !Session::Model::alive($goes) }, 60)
        or return wrong("master $goes does not end");
    $t->wait_for(sub { !-e "$pid_file.oldbin" && -s $pid_file
                       && slurp($pid_file) == $stays }, 30)
        or return wrong('the pid file is not as it was');

    delete $ours{$goes};
    $old = $stays;
    serving() or return;
    work() or return wrong("nothing goes on with the one that stays");

    return 1;
}


# Until there have been some more changes.

sub work {
    my $before = $m->changes;

    return $t->wait_for(sub { $m->changes > $before + 300 }, 60);
}


# It is nobody's child and must not outlive us.

END {
    if ($owner && $owner == $$) {
        local $?;
        my @left = map { process_tree($_) } grep { kill 0, $_ } keys %ours;

        kill KILL => @left if @left;
    }
}
