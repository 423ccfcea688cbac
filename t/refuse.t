# session_refuse, session_sign_in and $session_sign_in_url: a refusal that fits
# the client.

use Test::Nginx::Socket;
use lib 't/lib';
use Session::Block;

repeat_each(2);
plan 'no_plan';
no_long_string();
run_tests();

__DATA__

=== TEST 1: Sec-Fetch-Mode decides before Accept
--- config
location /t { session_require user; root html; }
location = /sign_in { session_page sign_in; }
--- request
GET /t
--- more_headers
Sec-Fetch-Mode: cors
Accept: text/html
--- error_code: 401

=== TEST 2: X-Requested-With is a script
--- config
location /t { session_require user; root html; }
location = /sign_in { session_page sign_in; }
--- request
GET /t
--- more_headers
X-Requested-With: XMLHttpRequest
Accept: text/html
--- error_code: 401

=== TEST 3: any type at all is a program
--- config
location /t { session_require user; root html; }
location = /sign_in { session_page sign_in; }
--- request
GET /t
--- more_headers
Accept: */*
--- error_code: 401

=== TEST 4: redirect, whatever the client
--- config
session_refuse redirect;
location /t { session_require user; root html; }
location = /sign_in { session_page sign_in; }
--- request
GET /t
--- error_code: 302
--- response_headers
Location: /sign_in?return_to=/t

=== TEST 5: 401, whatever the client
--- config
location /t { session_require user; session_refuse 401; root html; }
location = /sign_in { session_page sign_in; }
--- request
GET /t
--- more_headers
Sec-Fetch-Mode: navigate
--- error_code: 401

=== TEST 6: a form post comes back to no place
--- config
location /t { session_require user; root html; }
location = /sign_in { session_page sign_in; }
--- request
POST /t
a=b
--- more_headers
Sec-Fetch-Mode: navigate
--- error_code: 302
--- response_headers
Location: /sign_in

=== TEST 7: nowhere to sign in
--- config
location /t { session_require user; root html; }
--- request
GET /t
--- more_headers
Sec-Fetch-Mode: navigate
--- error_code: 401
--- response_body_unlike: sign_in

=== TEST 8: session_sign_in, a path
--- config
session_sign_in /login?from=app;
location /t { session_require user; root html; }
--- request
GET /t?x=y
--- more_headers
Sec-Fetch-Mode: navigate
--- error_code: 302
--- response_headers
Location: /login?from=app&return_to=/t%3Fx%3Dy

=== TEST 9: session_sign_in elsewhere gets the whole URL
--- config
session_origin https://app.example.com;
session_sign_in https://login.example.com/in;
location /t { session_require user; root html; }
--- request
GET /t?x=y
--- more_headers
Sec-Fetch-Mode: navigate
--- error_code: 302
--- response_headers
Location: https://login.example.com/in?return_to=https%3A//app.example.com/t%3Fx%3Dy

=== TEST 10: a request for something unsafe comes back to no place
--- config
location /t { session_require user; root html; }
location = /sign_in { session_page sign_in; }
--- raw_request eval
"GET //t/x HTTP/1.1\r\nHost: localhost\r\n"
. "Sec-Fetch-Mode: navigate\r\nConnection: close\r\n\r\n"
--- error_code: 302
--- response_headers
Location: /sign_in

=== TEST 11: an operator's error_page for 401 goes first
--- config
location /t { session_require user; error_page 401 /denied.html; root html; }
location = /denied.html { root html; }
location = /sign_in { session_page sign_in; }
--- user_files
>>> denied.html
my own page
--- request
GET /t
--- more_headers
Sec-Fetch-Mode: navigate
--- error_code: 401
--- response_body
my own page

=== TEST 12: an operator's error_page for 403 goes first
--- config
location /t { session_require role=admin; error_page 403 =200 @mine;
              root html; }
location @mine { return 200 "mine"; }
--- session: alice
--- request
GET /t
--- response_body chomp
mine

=== TEST 13: our own 403 is a page for browsers
--- config
location /t { session_require role=admin; root html; }
--- session: alice
--- request
GET /t
--- more_headers
Accept: text/html
--- error_code: 403
--- response_headers_like
Content-Type: text/html.*
Cache-Control: no-store
Content-Security-Policy: .*default-src 'none'.*

=== TEST 14: and JSON for programs
--- config
location /t { session_require role=admin; root html; }
--- session: alice
--- request
GET /t
--- more_headers
Accept: application/json
--- error_code: 403
--- response_headers_like
Content-Type: application/json.*
--- response_body_like: "error":"forbidden"

=== TEST 15: the cookie of an ended session is expired
--- config
location /t { session_require user; root html; }
location = /sign_in { session_page sign_in; }
--- session: alice end=sign_out
--- request
GET /t
--- error_code: 401
--- response_headers_like
Set-Cookie: __Host-session=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax

=== TEST 16: the cookie from ahead of our clock is kept
--- config
location /t { session_require user; root html; }
--- session: alice created=400
--- request
GET /t
--- error_code: 401
--- response_headers
! Set-Cookie

=== TEST 17: HEAD is refused without a body
--- config
location /t { session_require user; root html; }
--- request
HEAD /t
--- error_code: 401
--- response_body

=== TEST 18: the variable
--- config
location = /t { session on; return 200 "$session_sign_in_url"; }
location = /sign_in { session_page sign_in; }
--- request
GET /t?a=<b>
--- response_body chomp
/sign_in?return_to=/t%3Fa%3D%3Cb%3E

=== TEST 19: an error_page that is the sign-in page names the cookie once
--- config
location /t { session_require user; error_page 401 /sign_in; root html; }
location = /sign_in { session_page sign_in; }
--- session: alice end=sign_out
--- request
GET /t
--- error_code: 401
--- raw_response_headers_like: Set-Cookie: __Host-session=; Max-Age=0
--- raw_response_headers_unlike: (?s)(Set-Cookie: __Host-session=).*\1
