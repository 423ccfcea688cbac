# A small file system of its own for the store: full, read-only because of an
# error, and mounted again.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

my $what = 'a loop mount needs root and a kernel that lets it';

# In a mount namespace of its own, which takes the mount with it when it ends.

if (!$ENV{TEST_NGINX_UNSHARED}) {
    plan skip_all => $what
        if $> != 0 || system('unshare -m true 2> /dev/null') != 0;

    $ENV{TEST_NGINX_UNSHARED} = 1;
    exec 'unshare', '-m', '--propagation', 'private', $^X, $0 or die $!;
}

my $cookie = $Session::World::cookie;
my $t = Session::Flow->new(workers => 2, users => [qw(ann ben cat)]);
my ($store, $image) = ($t->store, $t->dir . '/image');

sub quiet { system("PATH=\$PATH:/sbin:/usr/sbin; { $_[0]; } > /dev/null 2>&1") }

sub mounted { quiet("mount -o loop $image $store") == 0 }

if (quiet("truncate -s 12M $image && mkfs.ext4 -q -m 0 $image") != 0
    || quiet("mv $store $store.was && mkdir $store") != 0 || !mounted())
{
    $t->{damaged} = 1;
    SKIP: { skip $what, 1 }
    $t->done;
    exit 0;
}

quiet("chmod 700 $store && rm -r $store/lost+found"
      . " && cp -a --sparse=always $store.was/* $store") == 0 or die;

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    http => 'session_throttle account=10000r/m address=10000r/m;',
    server => 'session_limit 64;'));
$t->allow(qr/could not [\w ]+: (?:no space left|input\/output|read-only)/,
          qr/MDB_PANIC/, qr/this worker ends, and the next one opens it again/);
$t->run;

my $ben = $t->session('ben');

sub private {
    my ($token) = @_;
    my $r = eval { $t->client->get('/private',
                                   Cookie => "$cookie=$token") };

    return $r && $r->code || 0;
}

sub back {
    my ($token) = @_;
    my $code = 0;

    $t->wait_for(sub { ($code = private($token)) =~ /\A(?:200|401)\z/ }, 30);

    return $code;
}

# A sign-out may find room in pages that were given back.

sub tries {
    my ($name, @sessions) = @_;
    my (@wrong, @in);
    my %refused = (in => 0, out => 0);

    for my $session (@sessions) {
        my $code = sign_out_code($t, $session);

        $refused{out} += $code == 503;
        push @wrong, "sign-out $code" if $code !~ /\A(?:200|503)\z/;
        push @wrong, "after $code: " . back($session->{token})
            if back($session->{token}) != ($code == 200 ? 401 : 200);

        my $token;

        push @in, $token
            while @in < 60 && length($token = token_or_code($t, 'cat')) > 3;

        $refused{in} += $token eq '503';
        push @wrong, "sign-in $token" if $token ne '503';
        push @wrong, 'another one' if back($ben->{token}) != 200;
    }

    push @wrong, map { 'signed in, and ' . back($_) }
                 grep { back($_) != 200 } @in;

    is join("\n", @wrong), '', "$name: what was answered is so";
    cmp_ok $refused{in}, '>', 0, 'sign-ins are refused';
    is $t->client->get('/up')->code, 200, 'reading goes on';

    return $refused{out};
}


# ------------------------------------------------------------------ full ---

my @sessions = map { $t->session('ann') } 1 .. 9;

quiet("dd if=/dev/zero of=$store/filler bs=4096");
quiet("dd if=/dev/zero of=$store/rest bs=1");
tries('a full file system', @sessions[0 .. 3]);

my @before = $t->workers;

ok $t->reload, 'new workers come while it is full';
ok $t->wait_for(sub { !grep { -d "/proc/$_" } @before }, 30), 'alone';
is back($ben->{token}), 200, 'and let in who is signed in';
tries('after a reload', @sessions[4 .. 7]);

unlink "$store/filler", "$store/rest";

is back($sessions[8]{token}), 200, 'the last one is signed in still';
is sign_out_code($t, $sessions[8]), 200, 'with room again they sign out';
is back($sessions[8]{token}), 401, 'which counts';
cmp_ok length token_or_code($t, 'cat'), '>', 3, 'and others sign in';
is(($t->sessionctl('check'))[0], 0, 'the store is whole');


# ------------------------------------------------------------- read-only ---

SKIP: {
    my $ann = $t->session('ann');

    skip 'no remount,abort', 13
        if quiet("mount -o remount,abort $store") != 0
           || quiet("touch $store/open.lock") == 0;

    cmp_ok tries('read-only after an error', $ann, $ann), '==', 2,
        'sign-outs as well';
    is back($ann->{token}), 200, 'nobody is signed out by that';

    $t->stop;
    is quiet("umount $store"), 0, 'nobody has it open';
    quiet("PATH=\$PATH:/sbin fsck.ext4 -y $image");
    ok mounted(), 'mended, and mounted again';
    $t->run;

    is back($ann->{token}), 200, 'the same sessions';
    is back($ben->{token}), 200, 'all of them';
    is sign_out_code($t, $ann), 200, 'which can be ended';
    is back($ann->{token}), 401, 'for good';
    is(($t->sessionctl('check'))[0], 0, 'the store is whole');
}

$t->done;
quiet("umount $store");
