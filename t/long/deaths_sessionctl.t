# A thousand deaths of sessionctl: t/flow/deaths_sessionctl.t.

use strict;
use warnings;

$ENV{TEST_NGINX_SESSIONCTL_DEATHS} //= 15;

do './t/flow/deaths_sessionctl.t' or die $@ || $!;
