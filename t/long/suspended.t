# Workers that stand still for a minute: t/flow/suspended.t.

use strict;
use warnings;

$ENV{TEST_NGINX_SUSPEND} //= 60;

do './t/flow/suspended.t' or die $@ || $!;
