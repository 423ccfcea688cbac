# Limits of a process that are too low: a message that names the limit, no
# crash, and nobody is let in.

use strict;
use warnings;

use lib 't/lib';
use Session::Cli qw(in_dir);
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

my $t = Session::Flow->new(users => ['ann']);
my $ctl = $Session::Cli::binary;
my $files = qr/too many open files; RLIMIT_NOFILE is (\d+): raise it with/;
my $addresses = qr/RLIMIT_AS is (\d+) bytes, and a store needs 128 GiB/;

my $ann = $t->session('ann');


# Exit code (or 128 and a signal), and all it said.

sub limited {
    my ($limit, @command) = @_;
    my $text = `exec 2>&1; exec prlimit $limit $ctl @command`;

    return ($? & 127 ? 128 + ($? & 127) : $? >> 8, $text);
}


# ------------------------------------------------------------ sessionctl ---

{
    my $store = $t->store;
    my ($code, $text);
    my ($n, @wrong);

    # fewer are not enough for the dynamic linker

    for ($n = 5; $n < 64; $n++) {
        ($code, $text) = limited("--nofile=$n", 'stat', '--store', $store);
        last if $code == 0;
        push @wrong, "$n: $code, $text"
            if $code != 4 || $text !~ $files || $1 != $n;
    }

    is_deeply \@wrong, [], 'too few files: the number is told';

    cmp_ok $n, '>', 8, 'there were some too few';
    cmp_ok $n, '<', 20, 'and soon enough';

    # init that failed in the middle goes on where it stopped

    my $made = in_dir('store');
    my $failed = 0;

    for ($n = 5; $n < 64; $n++) {
        ($code, $text) = limited("--nofile=$n", 'init', $made);
        last if $code == 0;
        $failed++ if $text =~ $files;
    }

    cmp_ok $failed, '>', 3, 'init failed here and there';
    is $code, 0, 'and was made in the end';
    is((limited('--nofile=64', 'check', '--store', $made))[0], 0, 'whole');

    # of addresses: none of the two maps, or one

    for my $kib (1_000_000, 70_000_000, 130_000_000) {
        ($code, $text) = limited('--as=' . $kib * 1024, 'stat',
                                 '--store', $store);
        is $code, 4, "$kib KiB of addresses are too few";
        like $text, $addresses, 'in these words';
        is $text =~ $addresses && $1, $kib * 1024, 'with the number';
    }

    is((limited('--as=143360000000', 'stat', '--store', $store))[0], 0,
       'more are enough');
}


# ----------------------------------------------------------------- nginx ---

# A limit is a shell's to set; nginx itself can be told of files alone.

sub nginx_with {
    my ($limit) = @_;
    my $real = $ENV{TEST_NGINX_BINARY} || 'nginx';
    my $file = $t->write_file('limited',
        "#!/bin/sh\nexec prlimit $limit $real \"\$@\"\n");

    chmod 0755, $file;

    return $t->{nginx}{binary} = $file;
}

sub private {
    return $t->client->get('/private',
        Cookie => "$Session::World::cookie=$ann->{token}")->code;
}

$t->write_file('html/private', "secret\n");
$t->write_file('html/public', "public\n");
$t->write_file_expand('nginx.conf', configuration());
$t->allow($addresses, $files);

SKIP: {
    skip 'a sanitizer needs addresses', 7
        if ($ENV{TEST_NGINX_LD_PRELOAD} // '') =~ /san/
           || $ENV{TEST_NGINX_USE_VALGRIND};

    my $own = $t->{nginx}{binary};
    my $from = $t->log_size;

    nginx_with('--as=20000000000');
    $t->run;

    ok $t->wait_log(qr/\[crit\].*sessions\.v1\.mdb.*$addresses/, $from),
        'a worker without addresses says so';
    is $t->client->get('/up')->code, 503, 'is down';
    is private(), 503, 'lets nobody in';
    is $t->client->get('/public')->code, 200, 'public ones work';
    $t->stop;

    $t->{nginx}{binary} = $own;
    $t->run;
    is private(), 200, 'with addresses: signed in';
    $t->stop;
}

# What a worker needs for itself depends on the machine; beyond that there is a
# number that is too few for the store, and one that is enough.

{
    my ($few, $enough);

    for my $n (12 .. 60) {
        my $from = $t->log_size;

        $t->write_file_expand('nginx.conf', configuration(
            main => "worker_rlimit_nofile $n;"));
        $t->allow(qr/too many open files/i, qr/worker_connections are/,
                  qr/exited with fatal code 2 and cannot be respawned/);

        next if $t->nginx->start;

        my $up = $t->wait_for(sub {
            my $c = eval { $t->client(timeout => 1)->get('/up') };
            return $c && $c->code;
        }, 1.5);

        if ($up && $up == 503 && slurp($t->log_file, $from) =~ $files) {
            $few = $n;
            is private(), 503, "$n files: nobody is let in" if !$enough;
        }

        $enough = $n if $up && $up == 200;
        $t->stop;
        last if $enough;
    }

    ok defined $few, 'too few files for the store: a message, and 503';
    ok defined $enough, 'enough of them: it works';
}

$t->done;
