# Fifty rotations of the keys: t/flow/keys.t.

use strict;
use warnings;

$ENV{TEST_NGINX_ROTATIONS} //= 50;

do './t/flow/keys.t' or die $@ || $!;
