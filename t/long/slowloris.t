# Ten thousand connections of clients that take their time:
# t/flow/slow_clients.t.

use strict;
use warnings;

$ENV{TEST_NGINX_SLOW} //= 10000;
$ENV{TEST_NGINX_SLOW_TIMEOUT} //= 30;
$ENV{TEST_NGINX_SLOW_HOLD} //= 4;
$ENV{TEST_NGINX_SLOW_ROUNDS} //= 1;

do './t/flow/slow_clients.t' or die $@ || $!;
