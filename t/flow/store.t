# The store as workers find it: missing, damaged, back again; what they do for
# it besides requests; and which processes have it open at all.

use strict;
use warnings;
no warnings qw(portable);

use lib 't/lib';
use File::Copy qw(copy);
use MIME::Base64 qw(decode_base64);
use Session::Flow;
use Session::Log qw(process_tree slurp);
use Session::SignIn;
use Test::More;
use Time::HiRes qw(time);

my $t = Session::Flow->new(workers => 2);
my $store = $t->store;

$t->write_file('html/private', "secret\n");
$t->write_file('html/public', "public\n");

sub configure {
    my ($http) = @_;

    $t->write_file_expand('nginx.conf', configuration(
        listen => 'reuseport', http => $http, server => <<'END'));
        location = /alive { session_page up store=off; }
        location = /public { }
END
}

sub code { my ($path) = @_; $t->client->get($path)->code }

sub dump_of { scalar $t->sessionctl('dump') }


# ------------------------------------------------------------- missing ---

{
    my $session = $t->session('alice');

    rename $store, "$store.away" or die "$store: $!\n";
    $t->allow(qr/run sessionctl init/);
    configure();
    $t->run;

    my $clients = each_worker($t);

    is $t->client->get('/up')->code, 503, '/up says so';
    is code('/alive'), 200, '/up store=off: the worker lives';
    is code('/public'), 200, 'public locations need no store';
    is private_by_worker($clients, $session->{token}, 503), '',
        'protected ones do';

    my $c = prepared($t);

    $c->send(attempt($c, 'alice'));
    is $c->receive->code, 503, 'nobody can sign in';

    my $seen = time;

    ok $t->wait_for(sub { time - $seen > 4.5 }), 'two more attempts';
    is scalar(() = $t->log =~ /\[crit\].*run sessionctl init/g), 2,
        'one line from each worker, not one from each attempt';

    my $from = $t->log_size;

    rename "$store.away", $store or die "$store: $!\n";

    ok $t->wait_for(sub {
        private_by_worker($clients, $session->{token}, 200) eq ''
    }), 'there again: workers find it by themselves';
    is code('/up'), 200, '/up says so';
    is scalar(() = slurp($t->log_file, $from)
              =~ /\[notice\].*session store "\Q$store\E" is open/g), 2,
        'and they say so';
    is sign_in($t->client, 'alice')->code, 303, 'signing in works';
    $t->stop;
}


# ------------------------------------------------------------- damaged ---

{
    my $data = "$store/sessions.v1.mdb";
    my $junk = "no database\n" x 10000;
    my $session = $t->session('alice');

    rename $data, "$data.away" or die "$data: $!\n";
    $t->write_file($data, $junk);
    chmod 0600, $data;

    $t->allow(qr/sessions\.v1\.mdb/);
    $t->run;

    is private_by_worker(each_worker($t), $session->{token}, 503), '',
        'a damaged store is no store';
    is code('/up'), 503, '/up says so';
    is code('/public'), 200, 'public ones';
    ok $t->wait_log(qr/\[crit\].*sessions\.v1\.mdb/), 'the file is named';
    is slurp($data), $junk, 'and left as it is';

    rename "$data.away", $data or die "$data: $!\n";
    ok $t->wait_for(sub { code('/up') == 200 }), 'mended';
    $t->stop;
}


# -------------------------------------------------------------- duties ---

{
    my $old = $t->session('bob', created => -900000, lifetime => 600000);
    my $idle = $t->session('bob', created => -7200, seen => -7000,
                           idle => 3600);

    like dump_of(), qr/"created":\d+,"seen":\d+.*"lifetime":600000/,
        'a session that is long over';

    $t->run;

    ok $t->wait_for(sub { dump_of() !~ /"lifetime":600000/ }),
        'is swept when nginx starts';
    ok $t->wait_for(sub {
        dump_of() =~ /"record":"session".*"idle":3600,.*"end":5/
    }), 'one that was idle too long is ended';

    $t->sessionctl('user', 'name', 'bob', 'Bobby');
    ok $t->wait_for(sub {
        dump_of() =~ /"record":"event","type":11,.*"login":"bob"/
    }), 'what others change reaches the audit';
}


# ---------------------------------------------------------------- keys ---

{
    my $session = $t->session('alice');
    my ($code, $text) = $t->sessionctl('key', 'add', $t->keys);
    my ($id) = $text =~ /\b([0-9a-f]{2})\b/;

    is $code, 0, 'key add';
    ok defined $id, 'names its id';

    ($code) = $t->sessionctl('key', 'promote', $t->keys, $id);
    isnt $code, 0, 'promote is refused before nginx has loaded it';

    $t->reload;
    ok $t->wait_for(sub {
        ($t->sessionctl('key', 'promote', $t->keys, $id))[0] == 0
    }), 'and accepted when the workers have said so';

    $t->reload;

    my $clients = each_worker($t);

    is private_by_worker($clients, $session->{token}, 200), '',
        'a session of before stays';

    my $c = $t->client;

    is sign_in($c, 'alice')->code, 303, 'a new one';
    is private_by_worker($clients,
                         $c->cookie($Session::World::cookie), 200), '',
        'is signed with the new key';
    $t->stop;
}


# ----------------------------------------------------------- processes ---

SKIP: {
    skip 'reading other processes needs root', 1 if $> != 0;

    configure('proxy_cache_path %%TESTDIR%%/cache keys_zone=c:1m;');
    $t->run;
    each_worker($t);

    my @secrets = map { decode_base64($_) }
                  grep { /\A[^#\s]/ } split /\n/, slurp($t->keys);
    my ($master, @others) = process_tree($t->nginx->pid);
    my @wrong;

    ok scalar(grep { title($_) =~ /cache/ } @others),
        'there are processes for the cache';

    for my $pid ($master, @others) {
        my $worker = title($pid) =~ /worker process/ ? 1 : 0;
        my $open = slurp("/proc/$pid/maps") =~ /sessions\.v1\.mdb/ ? 1 : 0;

        push @wrong, title($pid) . " maps $open" if $open != $worker;
        push @wrong, title($pid) . ' holds a secret'
            if $pid != $master && holds($pid, @secrets);
    }

    is join(', ', @wrong), '', 'workers alone have the store, none a secret';
    ok holds($master, @secrets), 'the master has it for the next worker';

    $t->stop;
}

sub title { slurp("/proc/$_[0]/cmdline") =~ s/\0.*//sr }


# Does one of these strings stand in memory that the process may write?

sub holds {
    my ($pid, @strings) = @_;

    open my $mem, '<:raw', "/proc/$pid/mem" or return;

    for (split /\n/, slurp("/proc/$pid/maps")) {
        next if !/\A([0-9a-f]+)-([0-9a-f]+) rw/ || /\.mdb/;

        my ($from, $to) = (hex $1, hex $2);

        next if $to - $from > 256 << 20 || !sysseek $mem, $from, 0;
        sysread $mem, my $bytes, $to - $from or next;

        return 1 if grep { index($bytes, $_) >= 0 } @strings;
    }

    return 0;
}


$t->done;
