# LMDB's reader slots are all taken: who has one goes on, who comes has to wait
# and says so, and once the holder is dead they are free again.

use strict;
use warnings;

use lib 't/lib';
use Session::Cli qw(sessionctl);
use Session::Flow;
use Session::SignIn;
use Test::More;

my $t = Session::Flow->new(workers => 2, users => ['ann']);
my $full = qr/MDB_READERS_FULL/;
my $hold = $t->dir . '/hold_readers';

system(($ENV{CC} // 'cc') . " -D_GNU_SOURCE -O1 -o $hold"
       . " -idirafter $Session::World::project/store"
       . " $Session::World::project/t/tools/hold_readers.c -llmdb") == 0
    or die "hold_readers.c does not compile\n";

$t->allow($full);
$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(listen => 'reuseport'));
$t->run;

my $ann = $t->session('ann');
my $clients = each_worker($t);

is private_by_worker($clients, $ann->{token}, 200), '', 'signed in';

# each worker's writer has a slot of its own once it has copied the audit
$t->wait_for(sub {
    my %stat = $t->sessionctl('stat', '--json') =~ /"(\w+)":(\d+)/g;

    return $stat{change_last} == $stat{change_copied};
}, 30);

my @holders;

sub hold {
    my $pid = open my $out, '-|', $hold, $t->store . '/sessions.v1.mdb'
        or die "$hold: $!\n";

    push @holders, [$pid, $out];

    return scalar <$out>;
}

cmp_ok hold(), '>', 900, 'all slots are taken';

is private_by_worker($clients, $ann->{token}, 200), '',
    'workers that have theirs go on';

my $run = sessionctl('stat', '--store', $t->store);

isnt $run->{code}, 0, 'sessionctl gets none';
like $run->{err}, $full, 'and says so';

$t->stop;

cmp_ok hold(), '>', 1, 'nor is there one of the workers that have ended';

my $from = $t->log_size;

$t->run;

ok $t->wait_log(qr/\[crit\].*$full/, $from), 'workers that come get none';
is private_by_worker(each_worker($t), $ann->{token}, 503), '',
    'let nobody in';
is $t->client->get('/up')->code, 503, 'and are down';

for (@holders) {
    kill KILL => $_->[0];
    close $_->[1];
}

ok $t->wait_for(sub {
    return private_by_worker(each_worker($t), $ann->{token}, 200) eq '';
}, 60), 'when the holder is dead, they find their way by themselves';
is sessionctl('check', '--store', $t->store)->{code}, 0, 'sessionctl, too';

$t->done;
