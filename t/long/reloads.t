# A thousand reloads: t/flow/reloads.t.

use strict;
use warnings;

$ENV{TEST_NGINX_RELOADS} //= 1000;

do './t/flow/reloads.t' or die $@ || $!;
