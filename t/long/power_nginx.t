# t/flow/power_nginx.t, three times as long and with ten thousand disks.

use strict;
use warnings;

$ENV{TEST_NGINX_POWER} //= 120;
$ENV{TEST_NGINX_POWER_CUTS} //= 10000;

do './t/flow/power_nginx.t' or die $@ || $!;
