# A hundred crowds of fifty: t/flow/crowd.t.

use strict;
use warnings;

$ENV{TEST_NGINX_CROWDS} //= 100;

do './t/flow/crowd.t' or die $@ || $!;
