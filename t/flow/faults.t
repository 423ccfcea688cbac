# Calls that fail, one at a time: in requests, and in sessionctl.  Nobody is
# let in, nothing is half done, what was answered holds, nothing is lost track
# of, and without the fault all is well.  t/long/faults.t does all of it.

use strict;
use warnings;

use lib 't/lib';
use Session::Faults::Commands qw(commands);
use Session::Faults::Requests;
use Session::Faults::Scenarios qw(reads writes);
use Test::More;

my $requests = Session::Faults::Requests->new;
my $commands = Session::Faults::Commands->new;


sub scenario {
    my ($who, $s, @sets) = @_;
    my $sites = $who->{fault}{sites};
    my @wrong = map { $who->run($s, %$_) } @sets;

    is join("\n", @wrong), '', $s->{name};
    cmp_ok $who->{fault}{sites}, '>', $sites, 'something has failed';
}


# "step" leaves out some, "from" begins later, so that they are not the same in
# each scenario.

my $turn = 0;

for my $s (reads($requests)) {
    scenario($requests, $s, { families => ['mdb', 'alloc', 'pool'] });
}

for my $s (writes()) {
    $turn++;
    scenario($requests, $s,
        { families => ['pool'], step => 4, from => 1 + $turn % 4 },
        { families => ['alloc'], step => 5, from => 1 + $turn % 5 },
        { families => ['mdb'], step => 9, from => 1 + $turn % 9 },
        { families => ['sync', 'post'] });
}

# Memory that runs out and stays away for a while: a session that its client
# was not told of is ended once there is some.

my ($signing) = grep { $_->{name} eq 'signing in' } writes();

scenario($requests, { %$signing, name => 'signing in without memory' },
         { families => ['alloc'], from => 6, on => 1 });

for my $s (commands()) {
    $turn++;
    scenario($commands, $s,
        { families => ['alloc'], step => 23, from => 1 + $turn % 4 },
        { families => ['mdb', 'open'], step => 17, from => 1 + $turn % 7 },
        { families => ['sync', 'out', 'name'], step => 3 });
}

note "$requests->{fault}{sites} faults in requests, ",
     "$commands->{fault}{sites} in commands";

$requests->done;
