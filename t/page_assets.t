# vi:ft=perl

# session_page assets: style and logo under a URI that changes with them.

use strict;
use warnings;

use FindBin ();
BEGIN { push @INC, "$FindBin::Bin/lib" }

use Test::Nginx::Socket;
use Session::Block;

repeat_each(2);
no_root_location();
no_long_string();

plan('no_plan');

run_tests();

__DATA__

=== TEST 1: pages link the style, the logo and nothing else
--- config
    location /-/assets/ { session_page assets; }
    location = /sign_out { session_page sign_out; }
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_body_like eval
qr{<link\ rel="icon"[^>]*\ href="(/-/assets/[0-9a-f]{16})/logo.svg">
   .*<link\ rel="stylesheet"\ href="\1/session.css"\ nonce="[^"]{24}">
   (?!.*<style).*<img\ src="\1/logo.svg"}sx



=== TEST 2: without a location for them the page brings its style along
--- config
    location = /sign_out { session_page sign_out; }
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_body_like eval
qr{<style\ nonce="[^"]{24}">\n:root\ \{.*</style>(?!.*/-/assets/)}sx



=== TEST 3: an old hash is not found, and that is not kept
--- config
    location /-/assets/ { session_page assets; }
--- request
GET /-/assets/0123456789abcdef/session.css
--- error_code: 404
--- response_headers
Cache-Control: no-store



=== TEST 4: nor is anything else below
--- config
    location /-/assets/ { session_page assets; }
--- request eval
["GET /-/assets/", "GET /-/assets/session.css", "GET /-/assets/../nginx.conf",
 "GET /-/assets/x/sign_in.html"]
--- error_code eval
[404, 404, 404, 404]



=== TEST 5: methods
--- config
    location /-/assets/ { session_page assets; }
--- request
POST /-/assets/
--- error_code: 405
--- response_headers
Allow: GET, HEAD



=== TEST 6: an exact location holds no files
--- config
    location = /-/assets/ { session_page assets; }
--- must_die
--- error_log
assets needs a prefix location



=== TEST 7: nor does one without a slash
--- config
    location /-/assets { session_page assets; }
--- must_die
--- error_log
assets needs a prefix location
