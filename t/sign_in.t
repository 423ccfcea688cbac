# session_page sign_in, request by request; flows are in t/flow/sign_in.t.

use Test::Nginx::Socket;
use lib 't/lib';
use Session::Block;

our $form = "Content-Type: application/x-www-form-urlencoded";
our $site = "Sec-Fetch-Site: same-origin";

repeat_each(2);
plan 'no_plan';
no_long_string();
run_tests();

__DATA__

=== TEST 1: the form
--- config
location = /sign_in { session_page sign_in; }
--- request
GET /sign_in
--- more_headers
Accept: text/html
--- response_body_like chomp
(?s)<form method="post" action="/sign_in">.*name="_csrf" value="[A-Za-z0-9_-]{86}".*name="login" value="".*type="password" name="password" autocomplete="current-password"
--- raw_response_headers_like chomp
(?s)Set-Cookie: __Host-session-pre=[A-Za-z0-9_-]{66}; (?!.*Set-Cookie)
--- response_headers
Cache-Control: no-store
Content-Type: text/html; charset=utf-8

=== TEST 2: the pre-session cookie is set once
--- config
location = /sign_in { session_page sign_in; }
--- request
GET /sign_in
--- more_headers
Cookie: __Host-session-pre=$TEST_NGINX_PRE
--- response_headers
! Set-Cookie

=== TEST 3: one that is not ours is replaced
--- config
location = /sign_in { session_page sign_in; }
--- request
GET /sign_in
--- more_headers
Cookie: __Host-session-pre=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
--- raw_response_headers_like chomp
Set-Cookie: __Host-session-pre=[A-Za-z0-9_-]{66};

=== TEST 4: HEAD
--- config
location = /sign_in { session_page sign_in; }
--- request
HEAD /sign_in
--- response_body
--- response_headers_like
Content-Length: [1-9]\d+

=== TEST 5: JSON
--- config
location = /sign_in { session_page sign_in; }
--- request
GET /sign_in?return_to=/x
--- more_headers
Accept: application/json
--- response_headers
Content-Type: application/json
Cache-Control: no-store
--- response_body_like chomp
\A\{"signed_in":false,"session":"none","csrf_token":"[A-Za-z0-9_-]{86}","return_to":"/x"\}\z

=== TEST 6: JSON, signed in
--- config
location = /sign_in { session_page sign_in; }
--- session: alice
--- request
GET /sign_in
--- more_headers
Accept: application/json
--- response_body_like chomp
\A\{"signed_in":true,"user":"alice","session":"valid","csrf_token":"[^"]{86}"\}\z
--- response_headers
! Set-Cookie

=== TEST 7: signed in: the dashboard
--- config
location = /sign_in { session_page sign_in; }
location = /me { session_page dashboard; }
--- session: alice
--- request
GET /sign_in
--- error_code: 303
--- response_headers
Location: /me
! Set-Cookie

=== TEST 8: signed in, no dashboard
--- config
location = /sign_in { session_page sign_in; }
--- session: alice
--- request
HEAD /sign_in
--- error_code: 303
--- response_headers
Location: /

=== TEST 9: signed in, the password once more
--- config
location = /sign_in { session_page sign_in; }
--- session: alice
--- request
GET /sign_in?fresh=1&return_to=%2Fx%3Fy
--- more_headers
Accept: text/html
--- response_body_like chomp
(?s)name="return_to" value="/x\?y".*name="login" value="alice"

=== TEST 10: fresh is 1 and nothing else
--- config
location = /sign_in { session_page sign_in; }
--- session: alice
--- request
GET /sign_in?fresh=0
--- error_code: 303

=== TEST 11: why the last session is over
--- config
location = /sign_in { session_page sign_in; }
--- session: alice created=-100 idle=50
--- request
GET /sign_in
--- more_headers
Accept: text/html
--- response_body_like chomp
not been here for a while
--- raw_response_headers_like chomp
Set-Cookie: __Host-session=; Max-Age=0;

=== TEST 12: revoked
--- config
location = /sign_in { session_page sign_in; }
--- session: alice end=revoked
--- request
GET /sign_in
--- more_headers
Accept: text/html
--- response_body_like chomp
Your session was ended

=== TEST 13: a password in the query is not looked at
--- config
location = /sign_in { session_page sign_in; }
--- request
GET /sign_in?login=alice&password=hunter2
--- more_headers
Accept: text/html
--- response_body_unlike chomp
alice
--- no_error_log
session: sign-in

=== TEST 14: signing in
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form
Cookie: __Host-session-pre=\$TEST_NGINX_PRE"
--- request
POST /sign_in
_csrf=$TEST_NGINX_PRE_CSRF&login=alice&password=correct+horse+battery+staple&return_to=%2Fx
--- error_code: 303
--- response_headers
Location: /x
Cache-Control: no-store
--- raw_response_headers_like chomp
(?s)Set-Cookie: __Host-session=[A-Za-z0-9_-]{72}; Max-Age=604800;.*Set-Cookie: __Host-session-device=[A-Za-z0-9_-]{55}; Max-Age=34560000;.*Set-Cookie: __Host-session-pre=; Max-Age=0;

=== TEST 15: JSON
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form\n$main::site\nAccept: application/json"
--- request
POST /sign_in
login=alice&password=correct+horse+battery+staple
--- response_body chomp
{"ok":true,"return_to":"/"}
--- raw_response_headers_like chomp
Set-Cookie: __Host-session=[A-Za-z0-9_-]{72};

=== TEST 16: the token in a header
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form
Cookie: __Host-session-pre=\$TEST_NGINX_PRE
X-CSRF-Token: \$TEST_NGINX_PRE_CSRF"
--- request
POST /sign_in
login=alice&password=correct+horse+battery+staple
--- error_code: 303

=== TEST 17: wrong password
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form
Accept: text/html
Cookie: __Host-session-pre=\$TEST_NGINX_PRE"
--- request
POST /sign_in
_csrf=$TEST_NGINX_PRE_CSRF&login=alice%22%3E&password=no&return_to=%2Fx
--- error_code: 401
--- response_headers
! WWW-Authenticate
! Set-Cookie
Cache-Control: no-store
--- response_body_like chomp
(?s)do not match.*name="_csrf" value="[A-Za-z0-9_-]{86}".*name="return_to" value="/x".*name="login" value="alice&quot;&gt;"
--- error_log eval
qr/\[warn\] .* session: sign-in failed for "alice\\x22>" from 127\.0\.0\.1, realm "default"/

=== TEST 18: wrong password, JSON
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form\n$main::site\nAccept: application/json"
--- request
POST /sign_in
login=alice&password=no
--- error_code: 401
--- response_body_like chomp
"error":"unauthorized"
--- error_log
session: sign-in failed for "alice" from 127.0.0.1, realm "default"

=== TEST 19: a user of another realm
--- config
session_realm other;
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form\n$main::site"
--- request
POST /sign_in
login=bob&password=correct+horse+battery+staple
--- error_code: 401
--- error_log
session: sign-in failed for "bob" from 127.0.0.1, realm "other"

=== TEST 20: the same login in another realm
--- config
session_realm other;
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form\n$main::site"
--- request
POST /sign_in
login=alice&password=correct+horse+battery+staple
--- error_code: 303

=== TEST 21: the client's address is what realip makes of it
--- config
location = /sign_in { session_page sign_in; }
set_real_ip_from 127.0.0.1;
--- more_headers eval
"$main::form\n$main::site\nX-Real-IP: 192.0.2.7\nX-Forwarded-For: 192.0.2.8"
--- request
POST /sign_in
login=alice&password=no
--- error_code: 401
--- error_log
session: sign-in failed for "alice" from 192.0.2.7, realm "default"

=== TEST 22: no password
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form
Accept: text/html
Cookie: __Host-session-pre=\$TEST_NGINX_PRE"
--- request
POST /sign_in
_csrf=$TEST_NGINX_PRE_CSRF&login=alice&password=
--- error_code: 400
--- response_body_like chomp
Login and password are both needed
--- no_error_log
session: sign-in

=== TEST 23: an empty body
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::site\nAccept: application/json\nContent-Length: 0"
--- request
POST /sign_in
--- error_code: 400

=== TEST 24: a password longer than allowed
--- config
session_password min=8 max=20;
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form\n$main::site\nAccept: application/json"
--- request
POST /sign_in
login=alice&password=123456789012345678901
--- error_code: 413
--- response_body_like chomp
"error":"payload_too_large"

=== TEST 25: no form
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"Content-Type: application/json\n$main::site\nAccept: application/json"
--- request
POST /sign_in
{"login":"alice"}
--- error_code: 415

=== TEST 26: no type
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::site\nAccept: application/json"
--- request
POST /sign_in
login=alice&password=no
--- error_code: 415

=== TEST 27: a body beyond the cap
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form\n$main::site\nAccept: application/json"
--- request eval
"POST /sign_in\nlogin=alice&password=" . 'x' x 16400
--- error_code: 413

=== TEST 28: a field twice
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form\n$main::site\nAccept: application/json"
--- request eval
["POST /sign_in\nlogin=alice&login=bob&password=x",
 "POST /sign_in\nlogin=alice&login[]=bob&password=x",
 "POST /sign_in\n_csrf=a&_csrf=b&login=alice&password=x",
 "POST /sign_in\nlogin=alice&password=%zz"]
--- error_code eval
[400, 400, 400, 400]

=== TEST 29: more than is asked for is ignored
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form\n$main::site"
--- request
POST /sign_in
login=alice&password=correct+horse+battery+staple&role=admin&realm=other
--- error_code: 303

=== TEST 30: no token
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form\nAccept: text/html"
--- request
POST /sign_in
login=alice&password=correct+horse+battery+staple
--- error_code: 403
--- response_headers
! Set-Cookie
--- response_body_like chomp
could not be verified
--- error_log
session: sign-in refused: no token

=== TEST 31: from another site
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form
Accept: text/html
Sec-Fetch-Site: cross-site
Cookie: __Host-session-pre=\$TEST_NGINX_PRE"
--- request
POST /sign_in
_csrf=$TEST_NGINX_PRE_CSRF&login=alice&password=correct+horse+battery+staple
--- error_code: 403
--- response_headers
! Set-Cookie
--- response_body_unlike chomp
alice

=== TEST 32: the form, open for too long
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form
Accept: text/html
Cookie: __Host-session-pre=\$TEST_NGINX_PRE"
--- request
POST /sign_in
_csrf=x$TEST_NGINX_PRE_CSRF&login=alice&password=correct+horse+battery+staple
--- error_code: 403
--- response_body_like chomp
(?s)could not be verified.*name="_csrf" value="[A-Za-z0-9_-]{86}"

=== TEST 33: the cookie did not come back
--- config
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form\nAccept: text/html\n$main::site"
--- request
POST /sign_in
_csrf=$TEST_NGINX_PRE_CSRF&login=alice&password=correct+horse+battery+staple
--- error_code: 403
--- response_headers
! Set-Cookie
--- response_body_like chomp
session_cookie session secure=off
--- error_log
session_cookie session secure=off

=== TEST 34: other methods
--- config
location = /sign_in { session_page sign_in; }
--- request eval
["PUT /sign_in", "DELETE /sign_in", "OPTIONS /sign_in"]
--- error_code eval
[405, 405, 405]
--- response_headers eval
["Allow: GET, HEAD, POST", "Allow: GET, HEAD, POST", "Allow: GET, HEAD, POST"]

=== TEST 35: over plain http
--- config
session_cookie sid secure=off;
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form\n$main::site"
--- request
POST /sign_in
login=alice&password=correct+horse+battery+staple
--- error_code: 303
--- raw_response_headers_like chomp
(?s)Set-Cookie: sid=[A-Za-z0-9_-]{72}; (?!.*Secure)

=== TEST 36: a body in a file, a byte at a time
--- config
location = /sign_in { session_page sign_in; client_body_in_file_only clean; }
--- more_headers eval
"$main::form\n$main::site"
--- request
POST /sign_in
login=alice&password=correct+horse+battery+staple
--- error_code: 303

=== TEST 37: the variable of the request body does not tell
--- http_config
log_format body "body=[$request_body]";
--- config
access_log logs/access.log body;
location = /sign_in { session_page sign_in; }
--- more_headers eval
"$main::form\n$main::site"
--- request
POST /sign_in
login=alice&password=correct+horse+battery+staple
--- error_code: 303
--- no_error_log
horse
--- access_log
body=[
--- no_access_log
horse
