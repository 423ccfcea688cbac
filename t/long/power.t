# What t/flow/power.t looks at, with more changes, at every moment, and with ten
# thousand disks.
#
#   TEST_NGINX_POWER_SEED  of the changes and of the disks (1)

use strict;
use warnings;

use lib 't/lib';
use Session::Log qw(slurp);
use Session::Power;
use Test::More;

my $seed = $ENV{TEST_NGINX_POWER_SEED} // 1;


# Slow: somebody reads what another one is still syncing.

for my $slow (0, 12) {
    my $p = Session::Power->new(slow => $slow, slow_at => 'sessions');

    $p->try('init', 'init');
    $p->ctl('init', $p->store) or die slurp($p->dir . '/out');
    $p->ok('init');

    ok $p->load(3, $slow ? 25 : 40, $seed * 10), 'three processes, '
        . ($slow ? 'a slow disk' : 'a quick one');
    is $p->replay(now => $p->{root}, cuts => 10000, seed => $seed), '',
        'whenever the power goes, what was answered holds';
    is $p->replay(every => 0, cuts => 3000, to => 60, seed => $seed), '',
        'from the first write on';
}

done_testing;
