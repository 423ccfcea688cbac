# The list of security checks that bin/mutants removes one by one: each entry
# still finds its lines in the code, once, and names tests that exist.

use strict;
use warnings;

use lib 't/lib';
use Session::Mutants ();
use Test::More;

my @mutants = Session::Mutants::list(sort glob 't/mutation/*.list');
my (%names, %files);

cmp_ok(scalar @mutants, '>=', 40, 'at least 40 checks');

for my $mutant (@mutants) {
    is(scalar Session::Mutants::problem($mutant, '.'), undef,
       "$mutant->{where}: $mutant->{name}");
    ok(!$names{ $mutant->{name} }++, 'a name of its own');
    $files{ $mutant->{file} }++;
}

cmp_ok(scalar keys %files, '>=', 15, 'in many files');

done_testing();
