# Ten thousand sign-outs of fifty requests each: t/flow/race.t.

use strict;
use warnings;

$ENV{TEST_NGINX_RACES} //= 10000;

do './t/flow/race.t' or die $@ || $!;
