# A hundred new masters: t/flow/upgrade.t.

use strict;
use warnings;

$ENV{TEST_NGINX_UPGRADES} //= 50;

do './t/flow/upgrade.t' or die $@ || $!;
