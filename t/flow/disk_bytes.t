# A disk that is full after so many bytes of a sign-in or a sign-out, for each
# place where a write may end: it is done, or it is refused and nothing of it is
# there; all others stay signed in; with room again it works.
#
# t/unit/store_bytes_test.c does it for every single byte, without nginx.
#
#   TEST_NGINX_DISK_STEP  every so many bytes, and more of a meta page

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::SignIn;
use Test::More;

use constant { PAGES => 1, META => 2, ALL => 3, SYNC => 4, READ_ONLY => 5 };

my $cookie = $Session::World::cookie;
my $step = $ENV{TEST_NGINX_DISK_STEP};
my @inside = $step ? () : (0, 1, 512, 4095);
my @meta = $step ? grep { $_ % 8 == 0 || $_ > 111 } 0 .. 119 : (0, 112);
my $t = Session::Flow->new(workers => 2, users => [qw(ann ben cat)]);
my $disk = $t->write_file('disk', pack 'q4', 0, 0, 0, 0);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    http => 'session_throttle account=10000r/m address=10000r/m;',
    server => 'session_limit 64;'));
$t->allow(qr/could not [\w ]+: (?:no space left|input\/output|MDB_PANIC|read-)/,
          qr/this worker ends, and the next one opens it again/);

{
    local $ENV{SMALL_DISK} = $disk;
    local $ENV{TEST_NGINX_LD_PRELOAD} = join ':',
        grep { defined && length } $ENV{TEST_NGINX_LD_PRELOAD},
                                   compiled($t, 'small_disk');
    $t->run;
}

my $ben = $t->session('ben');


# The disk: what it is from now on; how many calls have failed on it.

sub disk {
    my ($kind, $room) = @_;

    open my $file, '+<:raw', $disk or die $!;
    syswrite $file, pack 'q4', $kind // 0, $room // 0, 0, 0;
}

sub failed {
    open my $file, '<:raw', $disk or die $!;
    sysread $file, my $bytes, 32;

    return (unpack 'q4', $bytes)[3];
}

sub private {
    my ($token) = @_;
    my $r = eval { $t->client->get('/private',
                                   Cookie => "$cookie=$token") };

    return $r && $r->code || 0;
}

# How much there is of what a sign-in and a sign-out make: in whole ones.

sub made {
    my %stat = $t->sessionctl('stat', '--json') =~ /"(\w+)":(\d+)/g;

    return @stat{qw(sessions_kept sessions_live change_last)};
}

sub settled {
    $t->wait_for(sub {
        my %stat = $t->sessionctl('stat', '--json') =~ /"(\w+)":(\d+)/g;

        return $stat{change_last} == $stat{change_copied};
    }, 60) or fail('the audit is never written');
}

# Where the n-th try has its end, until one gets through.

sub places {
    my ($n) = @_;

    return $n * $step if $step;
    return int($n / @inside) * 4096 + $inside[$n % @inside];
}


# What went wrong at a place: '' is what one hopes for.

sub try_out {
    my ($kind, $room) = @_;
    my $session = $t->session('ann');
    my @before = made();
    my @wrong;

    disk($kind, $room);
    my $code = sign_out_code($t, $session);
    my $failed = failed();
    my $other = others($kind);
    disk();

    my @after = made();
    my $done = "@after" eq join ' ', $before[0], $before[1] - 1,
                                     $before[2] + 1;
    my $now = back($session->{token});

    push @wrong, "answered $code" if $code != 200 && $code != 503;
    push @wrong, "another session: $other" if $other != 200;
    push @wrong, 'said to be done, and is not' if $code == 200 && !$done;
    push @wrong, "half done: @before, @after"
        if !$done && "@after" ne "@before";
    push @wrong, 'refused, and done'
        if $code == 503 && $done && $kind != META;
    push @wrong, "the session is $now" if $now != ($done ? 401 : 200);
    push @wrong, 'cannot be repeated'
        if !$done && !$t->wait_for(
            sub { sign_out_code($t, $session) == 200 }, 30);
    push @wrong, 'still there' if back($session->{token}) != 401;

    return (\@wrong, $code, $failed);
}

my $tried = 0;

sub try_in {
    my ($kind, $room) = @_;

    # more would end others

    $t->sessionctl('session', 'revoke', '--user', 'cat') if $tried++ % 50 == 49;

    my @before = made();
    my @wrong;

    disk($kind, $room);
    my $token = token_or_code($t, 'cat');
    my $failed = failed();
    my $other = others($kind);
    disk();

    my @after = made();
    my $in = length $token > 3;
    my $done = "@after" eq join ' ', map { $_ + 1 } @before;

    push @wrong, "answered $token" if !$in && $token ne '503';
    push @wrong, "another session: $other" if $other != 200;
    push @wrong, 'let in, and not signed in'
        if $in && (!$done || back($token) != 200);
    push @wrong, "half done: @before, @after"
        if !$done && "@after" ne "@before";
    push @wrong, 'refused, and done' if !$in && $done && $kind != META;

    my $again;

    push @wrong, 'cannot be repeated'
        if !$in && !$t->wait_for(
            sub { length($again = token_or_code($t, 'cat')) > 3 }, 30);
    push @wrong, 'is no session' if $again && back($again) != 200;

    return (\@wrong, $in ? 200 : $token, $failed);
}

# A worker that could not write a meta page ends, and answers 503 until then.

sub others {
    my ($kind) = @_;

    disk() if $kind == META;

    return $kind == META ? back($ben->{token}) : private($ben->{token});
}

# When workers are not about to make room for others.

sub back {
    my ($token) = @_;
    my $code = 0;

    $t->wait_for(sub { ($code = private($token)) =~ /\A(?:200|401)\z/ }, 30);

    return $code;
}


# ------------------------------------------------------ each write's end ---

for (['a sign-out', \&try_out], ['a sign-in', \&try_in]) {
    my ($name, $try) = @$_;
    my (@all, $refused, $n, $code, $failed);

    settled();

    for ($n = 0; $n < 10000; $n++) {
        (my $wrong, $code, $failed) = $try->(PAGES, places($n));

        push @all, map { "at byte " . places($n) . ": $_" } @$wrong;
        last if @all > 5 || !$failed;
        $refused++ if $code == 503;
    }

    is join("\n", @all), '', "$name on a disk that is full";
    is $code, 200, 'with enough room it is done';
    cmp_ok $refused, '>=', 4, "$refused of $n were refused";
    cmp_ok places($n), '>=', 4 * 4096, 'it was pages that were written';
}

# ------------------------------------------------- nothing can be written ---

for ([SYNC, 'a disk that cannot sync'], [READ_ONLY, 'one that is read-only'],
     [ALL, 'one that is full for the audit as well'])
{
    my ($kind, $name) = @$_;

    for (['sign-out', \&try_out], ['sign-in', \&try_in]) {
        my ($what, $try) = @$_;
        my ($wrong, $code, $failed) = $try->($kind, 0);

        is join(', ', @$wrong), '', "$name: a $what";
        is $code, 503, 'is refused';
        cmp_ok $failed, '>', 0, 'because of it';
    }
}

# ---------------------------------------------------------- a meta page ---

for my $room (@meta) {
    for (['a sign-out', \&try_out], ['a sign-in', \&try_in]) {
        my ($name, $try) = @$_;
        my ($wrong, $code, $failed);

        # A worker that has just begun stays for some seconds and answers 503;
        # what meets it tells nothing.

        for (1 .. 20) {
            $t->wait_for(sub {
                !grep { private($ben->{token}) != 200 } 1 .. 10;
            }, 30);

            ($wrong, $code, $failed) = $try->(META, $room);
            last if @$wrong || $failed;
        }

        is join(', ', @$wrong), '', "$name, $room bytes of a meta page";
        cmp_ok $failed, '>', 0, 'which was cut there';
        is $code, 503, 'is refused';
    }
}

$t->wait_for(sub { !grep { private($ben->{token}) != 200 } 1 .. 10 }, 30);
is private($ben->{token}), 200, 'signed in all the time';
$t->done;
