# session_page sign_out, request by request; what survives a disk that hangs
# or fails is in t/flow/sign_out.t.

use Test::Nginx::Socket;
use lib 't/lib';
use Session::Block;

our $site = "Sec-Fetch-Site: same-origin";

repeat_each(2);
plan 'no_plan';
no_long_string();
run_tests();

__DATA__

=== TEST 1: it asks, and changes nothing
--- config
location = /sign_out { session_page sign_out; }
--- session: alice
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_body_like chomp
(?s)<form method="post" action="/sign_out">.*name="_csrf" value="[A-Za-z0-9_-]{86}"
--- response_headers
! Set-Cookie
Cache-Control: no-store

=== TEST 2: nobody signed in
--- config
location = /sign_in { session_page sign_in; }
location = /sign_out { session_page sign_out; }
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_body_like chomp
(?s)You are signed out.*href="/sign_in"
--- response_headers
! Set-Cookie

=== TEST 3: JSON
--- config
location = /sign_out { session_page sign_out; }
--- session: alice
--- request
GET /sign_out
--- more_headers
Accept: application/json
--- response_body_like chomp
\A\{"signed_in":true,"csrf_token":"[A-Za-z0-9_-]{86}"\}\z

=== TEST 4: HEAD
--- config
location = /sign_out { session_page sign_out; }
--- session: alice
--- request
HEAD /sign_out
--- response_body
--- response_headers
! Set-Cookie

=== TEST 5: POST, and again
--- config
location = /sign_out { session_page sign_out; }
--- session: alice
--- request
POST /sign_out
--- more_headers eval
"$main::site\nContent-Length: 0"
--- error_code: 303
--- response_headers
Location: /sign_out
Cache-Control: no-store
Clear-Site-Data: "cache"
--- raw_response_headers_like chomp
Set-Cookie: __Host-session=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax

=== TEST 6: the form's token
--- config
location = /sign_out { session_page sign_out; }
--- session
alice
alice
--- more_headers eval
["Content-Type: application/x-www-form-urlencoded",
 "Content-Type: application/x-www-form-urlencoded"]
--- request eval
["POST /sign_out\n_csrf=\$TEST_NGINX_CSRF2", "POST /sign_out\n_csrf=x"]
--- error_code eval
[403, 403]
--- response_body_like eval
['could not be verified|"error":"csrf"', 'verified|"error":"csrf"']

=== TEST 7: from another site
--- config
location = /sign_out { session_page sign_out; }
--- session: alice
--- request
POST /sign_out
--- more_headers
Sec-Fetch-Site: cross-site
Content-Length: 0
--- error_code: 403
--- response_headers
! Set-Cookie
! Clear-Site-Data

=== TEST 8: DELETE, JSON
--- config
location = /sign_out { session_page sign_out; }
--- session: alice
--- request
DELETE /sign_out
--- more_headers eval
"$main::site\nAccept: application/json"
--- response_body chomp
{"ok":true}
--- raw_response_headers_like chomp
Set-Cookie: __Host-session=; Max-Age=0;

=== TEST 9: nobody signed in, JSON
--- config
location = /sign_out { session_page sign_out; }
--- request
DELETE /sign_out
--- more_headers eval
"$main::site\nAccept: application/json"
--- response_body chomp
{"ok":true}
--- response_headers
! Set-Cookie

=== TEST 10: nobody signed in
--- config
location = /sign_out { session_page sign_out; }
--- request
POST /sign_out
--- more_headers eval
"$main::site\nContent-Length: 0"
--- error_code: 303
--- response_headers
Location: /sign_out

=== TEST 11: nobody signed in, from another site
--- config
location = /sign_out { session_page sign_out; }
--- request
POST /sign_out
--- more_headers
Sec-Fetch-Site: cross-site
Content-Length: 0
--- error_code: 403

=== TEST 12: a cookie that is worth nothing goes
--- config
location = /sign_out { session_page sign_out; }
--- request
POST /sign_out
--- more_headers eval
"$main::site\nContent-Length: 0\nCookie: __Host-session=junk"
--- error_code: 303
--- raw_response_headers_like chomp
Set-Cookie: __Host-session=; Max-Age=0;

=== TEST 13: a session from the future may be live
--- config
location = /sign_out { session_page sign_out; }
--- session: alice created=4000 seen=4000
--- request
POST /sign_out
--- more_headers eval
"$main::site\nContent-Length: 0\nAccept: application/json"
--- error_code: 503
--- response_headers
! Set-Cookie
Retry-After: 2

=== TEST 14: other methods
--- config
location = /sign_out { session_page sign_out; }
--- session: alice
--- request
PUT /sign_out
--- error_code: 405
--- response_headers
Allow: GET, HEAD, POST, DELETE
! Set-Cookie

=== TEST 15: a method in a header is not one
--- config
location = /sign_out { session_page sign_out; }
--- session: alice
--- request
GET /sign_out
--- more_headers eval
"$main::site\nX-HTTP-Method-Override: POST"
--- response_headers
! Set-Cookie
! Clear-Site-Data
