# t/flow/disk_bytes.t at places that lie closer together: every 64 bytes.

use strict;
use warnings;

$ENV{TEST_NGINX_DISK_STEP} //= 64;

do './t/flow/disk_bytes.t' or die $@ || $!;
