# A machine that loses power: what its disk then has of a store opens, holds
# what was answered before, and works.  t/tools/power_cut.c says which moments
# and which disks are tried; t/long/power.t tries more of them.

use strict;
use warnings;

use lib 't/lib';
use Session::Log qw(slurp);
use Session::Power;
use Test::More;


# --------------------------------------------------------- from nothing ---

{
    my $p = Session::Power->new;

    $p->try('init', 'init');
    ok $p->ctl('init', $p->store), 'a store is made';
    $p->ok('init');
    ok $p->load(2, 12), 'and changed by two processes';

    is $p->replay(now => $p->{root}), '',
        'whenever the power goes, what was answered holds';

    my ($tries, $prefixes) = $p->{said} =~ /(\d+) tries, (\d+) prefixes/;

    cmp_ok $tries, '>', 50, 'changes';
    cmp_ok $prefixes, '>', 500, 'moments';

    # the beginning has more to be lost than all that comes later

    is $p->replay(every => 0, cuts => 500, to => 60), '',
        'init can be run again, or it is done';
}


# -------------------------------------------------------- restore, backup ---

sub made {
    my ($p) = @_;

    $p->try('init', 'init');
    $p->ctl('init', $p->store) or die slurp($p->dir . '/out');
    $p->ok('init');
}

{
    my $p = Session::Power->new;
    my $dump = $p->dir . '/dump';

    made($p);
    ok $p->load(1, 10), 'a store with people';
    ok $p->ctl('dump', $dump, '--store', $p->store), 'a dump of it';

    $p->try('backup', 'backup');
    ok $p->ctl('backup', "$p->{root}/copy", '--store', $p->store), 'a backup';
    $p->ok('backup');

    is $p->replay(cuts => 300, backup => 'copy'), '',
        'a backup is whole, or not there';

    my $q = Session::Power->new;
    my ($n, @notes) = (0);

    for (split /\n/, slurp($dump)) {
        push @notes, [++$n, $2 ? 'disable' : 'user', $1]
            if /"record":"user".*"login":"(\w+)".*"flags":(\d)/;

        next if !/"record":"session","key":"(\w+)".*"login":"(\w+)"/;

        push @notes, [++$n, 'in', $2, $1];
        push @notes, [++$n, 'out', $1] if !/"ended":0/;
    }

    cmp_ok $n, '>', 3, 'there is something in the dump';

    made($q);
    $q->try(@$_) for @notes, ['restore', 'restore'];
    ok $q->ctl('restore', $dump, '--sessions', '--store', $q->store),
        'restored';
    $q->ok($_->[0]) for @notes, ['restore'];

    is $q->replay(cuts => 500, dump => $dump), '',
        'a restore is all or nothing, and can be run again';
}


# --------------------------------------------------- tests that must fail ---

for (['data', 'pages that are not synced, as with MDB_NOSYNC'],
     ['meta', 'the last page that is not, as with MDB_NOMETASYNC'])
{
    my ($drop, $name) = @$_;
    my $p = Session::Power->new;

    made($p);
    $p->{drop} = $drop;
    $p->load(1, 4);
    isnt $p->replay(every => 3, cuts => 50), '', "$name: found";
}

{
    my $p = Session::Power->new(drop => 'folder');

    made($p);
    like $p->replay(cuts => 50), qr/store missing/,
        'names that are not synced: found';
}

{
    my $p = Session::Power->new;

    made($p);
    $p->try('never', 'user', 'somebody');
    $p->ok('never');
    like $p->replay(cuts => 0), qr/somebody is in state 0, not 1/,
        'an answer without a change: found';
}

done_testing;
