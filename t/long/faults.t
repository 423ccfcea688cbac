# Every call that can fail, one at a time and all from one on, in every way it
# fails: see t/flow/faults.t.  And while workers start and nginx reloads, and
# with a sessionctl that tells of leaks.

use strict;
use warnings;

use lib 't/lib';
use Session::World ();
use Test::More;

my $leaks = '-g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined';
my $build = "$Session::World::build/faults";

BEGIN { $ENV{SESSIONCTL} //= "$Session::World::build/faults/sessionctl" }

system('make', '-s', '-C', $Session::World::project, 'sessionctl',
       "B=$build", "CFLAGS_OPT=$leaks") == 0
    or die "no sessionctl with ASan\n";

require Session::Faults::Commands;
require Session::Faults::Requests;
require Session::Faults::Scenarios;

my $requests = Session::Faults::Requests->new;
my $commands = Session::Faults::Commands->new;


sub scenario {
    my ($who, $s, @sets) = @_;
    my ($sites, @wrong) = ($who->{fault}{sites});

    for (@sets) {
        push @wrong, $who->run($s, %$_);
        last if @wrong;
    }

    is join("\n", @wrong), '',
        "$s->{name}: " . ($who->{fault}{sites} - $sites) . ' faults';
}


for my $s (Session::Faults::Scenarios::reads($requests)) {
    scenario($requests, $s,
        { families => ['pool', 'alloc', 'random', 'open', 'map'], on => 1 },
        { families => ['mdb'], on => 1, ways => 4 });
}

for my $s (Session::Faults::Scenarios::writes()) {
    scenario($requests, $s,
        { families => ['pool', 'alloc', 'random', 'map'], on => 1 },
        { families => ['mdb'], on => 1, ways => 4 },
        { families => ['sync'], on => 1, ways => 2 },
        { families => ['write', 'post'] });
}

for my $s (Session::Faults::Scenarios::starts()) {
    scenario($requests, $s,
        { families => ['mdb', 'open', 'map', 'lock', 'random', 'thread',
                       'write', 'sync', 'post'] },
        { families => ['alloc', 'pool'], step => $s->{own} ? 11 : 2 });
}

for my $s (Session::Faults::Commands::commands()) {
    scenario($commands, $s,
        { families => ['random', 'thread', 'map', 'name', 'out', 'alloc'] },
        { families => ['open', 'lock', 'write', 'sync', 'mdb'], ways => 2 });
}

diag "$requests->{fault}{sites} faults in requests, ",
     "$commands->{fault}{sites} in commands";

$requests->done;
