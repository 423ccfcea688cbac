# vi:ft=perl

# session_page up: what it answers, to whom, and what it leaves alone.

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

=== TEST 1: OK in plain text
--- config
    location = /up { session_page up; }
--- request
GET /up
--- response_headers
Content-Type: text/plain; charset=utf-8
Content-Length: 3
Cache-Control: no-store
Vary: Accept
X-Content-Type-Options: nosniff
! Set-Cookie
! ETag
! Last-Modified
! Accept-Ranges
--- response_body
OK



=== TEST 2: HEAD has the same header and no body
--- config
    location = /up { session_page up; }
--- request
HEAD /up
--- response_headers
Content-Type: text/plain; charset=utf-8
Content-Length: 3
--- response_body



=== TEST 3: JSON on request
--- config
    location = /up { session_page up; }
--- request
GET /up
--- more_headers
Accept: application/json
--- response_headers
Content-Type: application/json
--- response_body chomp
{"status":"up"}



=== TEST 4: a page for browsers
--- config
    location = /up { session_page up; }
--- request
GET /up
--- more_headers
Accept: text/html,application/xhtml+xml,*/*;q=0.8
--- response_headers
Content-Type: text/html; charset=utf-8
--- response_body_like: <title>Up · localhost</title>



=== TEST 5: no store; the log says so once, so the pattern has a second half
--- http_config
    session_store /nonexistent;
--- config
    location = /up { session_page up; }
--- request
GET /up
--- error_code: 503
--- response_headers
Content-Type: text/plain; charset=utf-8
Cache-Control: no-store
--- response_body
store unavailable
--- error_log eval
qr/store missing|HTTP\/1/



=== TEST 6: no store, in JSON
--- http_config
    session_store /nonexistent;
--- config
    location = /up { session_page up; }
--- request
GET /up
--- more_headers
Accept: application/json
--- error_code: 503
--- response_body chomp
{"status":"down","error":"store_unavailable"}
--- error_log eval
qr/store missing|HTTP\/1/



=== TEST 7: no store, for browsers
--- http_config
    session_store /nonexistent;
--- config
    location = /up { session_page up; }
--- request
GET /up
--- more_headers
Accept: text/html
--- error_code: 503
--- response_body_like: <title>Down · localhost</title>
--- error_log eval
qr/store missing|HTTP\/1/



=== TEST 8: no store, and nobody asks for it
--- http_config
    session_store /nonexistent;
--- config
    location = /up { session_page up store=off; }
--- request
GET /up
--- response_body
OK
--- error_log eval
qr/store missing|HTTP\/1/



=== TEST 9: a requirement of the server does not close it
--- config
    session_require user;
    location = /up { session_page up; }
--- request
GET /up
--- response_body
OK



=== TEST 10: somebody signed in gets the same
--- config
    location = /up { session_page up; }
--- session: alice
--- request
GET /up
--- response_headers
! Set-Cookie
--- response_body
OK



=== TEST 11: a broken cookie is not its business
--- config
    location = /up { session_page up; }
--- request
GET /up
--- more_headers
Cookie: __Host-session=junk
--- response_headers
! Set-Cookie
--- response_body
OK



=== TEST 12: methods
--- config
    location = /up { session_page up; }
--- request
POST /up
--- error_code: 405
--- response_headers
Allow: GET, HEAD



=== TEST 13: the query is not looked at
--- config
    location = /up { session_page up; }
--- request
GET /up?Accept=application/json&status=down
--- response_body
OK



=== TEST 14: a range is not applied
--- config
    location = /up { session_page up; }
--- request
GET /up
--- more_headers
Range: bytes=0-0
--- response_body
OK



=== TEST 15: store= takes off only
--- config
    location = /up { session_page up store=on; }
--- must_die
--- error_log
store=on



=== TEST 16: store=off is for up only
--- config
    location = /sign_in { session_page sign_in store=off; }
--- must_die
--- error_log
store=off
