# Disks that are full or broken, under nginx and under sessionctl: nothing is
# said that is not so, nothing is lost that was there, and all goes on when
# there is room again.

use strict;
use warnings;

use lib 't/lib';
use Session::Cli qw(sessionctl in_dir);
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

my $cookie = $Session::World::cookie;
my $t = Session::Flow->new(workers => 2, users => [qw(ann ben cat)]);
my $control = $t->dir . '/disk';
my $shim = compiled($t, 'bad_disk');

local $ENV{BAD_DISK} = $control;
local $ENV{TEST_NGINX_LD_PRELOAD} = join ':',
    grep { defined && length } $ENV{TEST_NGINX_LD_PRELOAD}, $shim;

$t->write_file('html/private', "secret\n");

sub configure {
    my ($error_log, %arg) = @_;
    my $text = configuration(http => 'session_throttle account=1000r/m'
                                     . ' address=1000r/m;', %arg);

    $t->write_file_expand('nginx.conf', $text);
    return if !$error_log;

    my $file = $t->dir . '/nginx.conf';

    $text = slurp($file);
    $text =~ s/^(\s*(?:error|access)_log) [^\s;]+/$1 $error_log/gm;
    $t->write_file('nginx.conf', $text);
}

sub disk { my ($says) = @_; $says ? say_disk($says) : unlink $control }

sub say_disk {
    my ($says) = @_;

    $t->write_file('disk.new', $says);
    rename $t->dir . '/disk.new', $control or die "$control: $!\n";
}

sub private {
    my ($token) = @_;

    return $t->client->get('/private', Cookie => "$cookie=$token")->code;
}

sub sign_out {
    my ($client) = @_;

    return $t->client->post('/sign_out', {}, Accept => 'application/json',
        'X-CSRF-Token' => $client->{csrf},
        Cookie => "$cookie=$client->{token}")->code;
}

sub try_in {
    my ($login, $password) = @_;
    my $c = prepared($t);

    $c->send(attempt($c, $login, $password));

    return $c->receive;
}

sub sessions { scalar(() = $t->sessionctl('dump') =~ /"record":"session"/g) }
sub events { scalar(() = $t->sessionctl('dump') =~ /"record":"event"/g) }

sub dumped { scalar $t->sessionctl('dump') }


# --------------------------------------------- writes and syncs that fail ---

configure();
$t->run;
$t->allow(qr/could not [\w ]+: (?:no space left|input\/output error)/);

my $ben = $t->session('ben');

for (['full', 'a full disk'], ['sync', 'a disk that cannot sync']) {
    my ($word, $name) = @$_;
    my $ann = $t->signed_in('ann');
    my $before = sessions();

    disk($word);

    my $r = try_in('cat');

    is $r->code, 503, "$name: a sign-in is 503";
    is_deeply [grep { /\A$cookie=/ } $r->header('Set-Cookie')], [],
        'and nobody is given a session';
    is try_in('cat', 'wrong')->code, 401, 'a wrong password is one';
    is sign_out($ann), 503, 'a sign-out is 503 and not done';
    is private($ann->{token}), 200, 'the session lives';
    is private($ben->{token}), 200, 'like all others';
    is $t->client->get('/up')->code, 200, 'reading works';

    disk();

    is sessions(), $before, 'the sign-in was none';
    is sign_out($ann), 200, 'when there is room, it is done';
    is private($ann->{token}), 401, 'and counts';

    $r = try_in('cat');
    like $r->code, qr/\A20[04]\z/, 'and people can sign in';
    $t->sessionctl('session', 'revoke', '--all');
    $ben = $t->session('ben');
}

$t->stop;


# ------------------------------------------------- the audit alone is full ---

# What strangers can cause is written to a file of its own, and that has no room
# left.

{
    disk('events');
    $t->run;

    is try_in('nobody', 'wrong')->code, 401, 'no room for events: a failure';
    is private($ben->{token}), 200, 'others are known';

    my $ann = $t->signed_in('ann');

    like try_in('cat')->code, qr/\A20[04]\z/, 'people sign in';
    is sign_out($ann), 200, 'and out';
    is private($ann->{token}), 401, 'which counts';

    disk();

    ok $t->wait_for(sub {
        my $dump = dumped();

        return $dump =~ /"record":"event","type":1,.*"login":"cat"/
               && $dump =~ /"record":"event","type":3,.*"login":"ann"/;
    }, 30), 'what happened meanwhile is in the audit when there is room';
    $t->stop;
}


# ----------------------------------------------------- a log that is full ---

SKIP: {
    skip 'no /dev/full', 9 if !-c '/dev/full';

    configure('/dev/full');
    $t->run;

    my $from = events();
    my $r = try_in('cat');

    like $r->code, qr/\A20[04]\z/, 'both logs are full: people sign in';
    is try_in('cat', 'wrong')->code, 401, 'or not';
    is private($ben->{token}), 200, 'who is signed in is let in';
    is $t->client->get('/private')->code, 401, 'nobody is not';

    my $ann = $t->signed_in('ann');

    is sign_out($ann), 200, 'people sign out';
    is private($ann->{token}), 401, 'which counts';

    is(($t->sessionctl('user', 'disable', 'ben'))[0], 0, 'ben is disabled');
    is private($ben->{token}), 401, 'which counts';
    $t->sessionctl('user', 'enable', 'ben');

    # the store is where it is written down, not the log

    ok $t->wait_for(sub {
        my $dump = dumped();

        return !grep { $dump !~ $_ }
            qr/"record":"event","type":2,.*"login":"cat"/,
            qr/"record":"event","type":3,.*"login":"ann"/,
            qr/"record":"event","type":8,.*"login":"ben"/;
    }, 30), 'and all of it is in the audit';
    cmp_ok events(), '>', $from, 'as new events';

    $t->stop;
}


# ---------------------------------------------------------------- copies ---

my $store = $t->store;

Session::World::mint('bulk', $store, 'default', 400, 4);

sub made {
    my ($command, $file, $says, %arg) = @_;
    my $run;

    disk($says);
    $run = sessionctl($command, $file, '--store', $store, { %arg,
        env => { LD_PRELOAD => $shim, BAD_DISK => $control } });
    disk();

    return $run;
}

sub parts { my ($file) = @_; my @parts = glob "$file.*.part"; return @parts }

{
    my $command = 'backup';
    my $old = in_dir('old');
    my $new = "$old-new";

    is made($command, $old, undef)->{code}, 0, "a $command";

    my $bytes = slurp($old);

    cmp_ok length $bytes, '>', 200_000, 'of some size';

    # full

    my $run = made($command, $new, 'part');

    isnt $run->{code}, 0, 'the next one, to a full disk';
    like $run->{err}, qr/no space left on device/, 'says so';
    ok !-e $new, 'is not there';
    is_deeply [parts($new)], [], 'no piece of it either';
    ok slurp($old) eq $bytes, 'the one of before is as it was';

    # nor over the one that is there

    $run = made($command, $old, 'part');
    isnt $run->{code}, 0, 'over one that is there';
    like $run->{err}, qr/exists already/, 'never';
    ok slurp($old) eq $bytes, 'it is as it was';

    # killed in the middle: the process and its child

    disk('wait');

    my $pid = fork // die "fork: $!\n";

    if ($pid == 0) {
        %ENV = (%ENV, LD_PRELOAD => $shim, BAD_DISK => $control);
        open STDOUT, '>', '/dev/null';
        exec $Session::Cli::binary, $command, $new, '--store', $store
            or POSIX::_exit(127);
    }

    my @piece;

    ok $t->wait_for(sub { (@piece) = parts($new); $piece[0] && -s $piece[0]
                          && glob "$control.hold.*" }), 'in the middle of one';

    my @pids = Session::Log::process_tree($pid);

    kill KILL => reverse @pids;
    waitpid $pid, 0;
    $t->wait_for(sub { !grep { -d "/proc/$_" } @pids });
    disk();
    unlink glob "$control.hold.*";

    ok !-e $new, 'killed: there is none under its name';
    ok slurp($old) eq $bytes, 'the one of before is as it was';
    is((sessionctl('check', '--store', $store))->{code}, 0, 'so is the store');
    is made($command, $new, undef)->{code}, 0, 'the next one works';
    cmp_ok abs(length(slurp($new)) - length $bytes), '<', 100_000, 'whole';
    unlink @piece;
}


# A real disk without room, where we may mount one.

for my $command ('backup', 'dump') {
  SKIP: {
    my $dir = in_dir('');
    my $script = "cd $dir; mkdir m; mount -t tmpfs -o size=256k none m; "
               . "echo old > m/old; $Session::Cli::binary $command m/new "
               . "--store $store; echo \"code \$?\"; ls m; cat m/old";
    my $said = $> == 0 ? `unshare -m sh -c '$script' 2>&1` : '';

    skip 'mounts need root', 2 if $said !~ /code/;

    like $said, qr/no space left on device/, "$command: 256 KiB are too few";
    like $said, qr/\ncode [1-9]\d*\nold\nold\n\z/, 'what was there stays';
  }
}

$t->done;
