# t/flow/disk_bytes.t at places that lie closer together.

use strict;
use warnings;

use Test::More tests => 1;

local $ENV{TEST_NGINX_DISK_STEP} = 64;

is system($^X, '-It/lib', 't/flow/disk_bytes.t'), 0, 'every 64 bytes';
