# A thousand deaths: t/flow/deaths.t.

use strict;
use warnings;

$ENV{TEST_NGINX_DEATHS} //= 1000;

do './t/flow/deaths.t' or die $@ || $!;
