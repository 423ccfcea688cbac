# vi:ft=perl

# session_page dashboard: who may see it, what it shows, and its two buttons.

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

=== TEST 1: nobody is sent to sign in
--- config
    location = /dashboard { session_page dashboard; }
    location = /sign_in { session_page sign_in; }
--- request
GET /dashboard
--- more_headers
Accept: text/html
Sec-Fetch-Mode: navigate
Sec-Fetch-Dest: document
--- error_code: 302
--- response_headers
Location: /sign_in?return_to=/dashboard
Cache-Control: no-store



=== TEST 2: a program gets 401
--- config
    location = /dashboard { session_page dashboard; }
    location = /sign_in { session_page sign_in; }
--- request
GET /dashboard
--- more_headers
Accept: application/json
--- error_code: 401
--- response_headers
Content-Type: application/json



=== TEST 3: the page of somebody signed in
--- config
    location = /dashboard { session_page dashboard; }
    location = /sign_out { session_page sign_out; }
--- session: carol
--- request
GET /dashboard
--- response_headers
Content-Type: text/html; charset=utf-8
Cache-Control: no-store
Vary: Accept, Cookie
X-Content-Type-Options: nosniff
! Set-Cookie
! ETag
! Last-Modified
! Accept-Ranges
! Content-Encoding
--- response_body_like eval
qr{<h1\ id="who">Carol\ Clark</h1>.*<p\ class="lead">carol</p>
   .*action="/sign_out".*name="_csrf"\ value="[\w-]{86}"
   .*<span\ class="tag">admin</span>\ <span\ class="tag">auditor</span>
   .*<span\ class="count">1</span>
   .*this\ session}sx



=== TEST 4: alone here, so no button ends others
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
GET /dashboard
--- response_body_unlike: end_others|name="action"|/sign_out



=== TEST 5: JSON tells the same
--- config
    location = /dashboard { session_page dashboard; }
--- session: bob
--- request
GET /dashboard
--- more_headers
Accept: application/json
--- response_headers
Content-Type: application/json
Cache-Control: no-store
Vary: Accept, Cookie
--- response_body_like eval
qr/^\{"actor":\{"id":"[0-9a-f]{16}","login":"bob","name":"Bob\ Brown",
   "roles":\["auditor"\]\},
   "session":\{"ref":"[\w-]{12}","created":"[-\dT:]+Z",
   "authenticated":"[-\dT:]+Z","seen":"[-\dT:]+Z","expires":"[-\dT:]+Z"\},
   "sessions":\[\{"ref":"[\w-]{12}","this":true,.*\}\],
   "sign_ins":\[.*\],"csrf_token":"[\w-]{86}"\}$/x



=== TEST 6: HEAD
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
HEAD /dashboard
--- response_headers_like
Content-Type: text/html; charset=utf-8
Content-Length: [1-9]\d+
--- response_body



=== TEST 7: no store
--- http_config
    session_store /nonexistent;
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
GET /dashboard
--- error_code: 503
--- response_headers
Cache-Control: no-store
! Set-Cookie
--- response_body_like: Not available at the moment
--- error_log eval
qr/store missing|HTTP\/1/



=== TEST 8: without a token the form is refused
--- config
    location = /dashboard { session_page dashboard; }
--- session
alice
alice
--- request
POST /dashboard
action=end_others
--- more_headers
Content-Type: application/x-www-form-urlencoded
--- error_code: 403
--- response_body_like: This form could not be verified
--- error_log
dashboard form refused



=== TEST 9: another user's token is refused
--- config
    location = /dashboard { session_page dashboard; }
--- session
alice
bob
--- request
POST /dashboard
action=end_others&_csrf=$TEST_NGINX_CSRF2
--- more_headers
Content-Type: application/x-www-form-urlencoded
--- error_code: 403



=== TEST 10: another site's form is refused, token or not
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
POST /dashboard
action=end_others&_csrf=$TEST_NGINX_CSRF
--- more_headers
Content-Type: application/x-www-form-urlencoded
Sec-Fetch-Site: cross-site
--- error_code: 403



=== TEST 11: an action that is none
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Content-Type: application/x-www-form-urlencoded
--- error_code: 400
--- response_body_like: That request was not understood



=== TEST 12: a ref that is none
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
POST /dashboard
action=end&ref=abc&_csrf=$TEST_NGINX_CSRF
--- more_headers
Content-Type: application/x-www-form-urlencoded
--- error_code: 400



=== TEST 13: a field twice
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
POST /dashboard
action=end&action=end_others&_csrf=$TEST_NGINX_CSRF
--- more_headers
Content-Type: application/x-www-form-urlencoded
--- error_code: 400



=== TEST 14: a notice is one of ours or none
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
GET /dashboard?notice=<b>x</b>&notice=ended
--- response_body_unlike: class="message



=== TEST 15: methods
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
DELETE /dashboard
--- error_code: 405
--- response_headers
Allow: GET, HEAD, POST



=== TEST 16: X-HTTP-Method-Override is ignored
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
GET /dashboard?action=end_others&_method=POST
--- more_headers
X-HTTP-Method-Override: POST
--- response_body_like: Alice Adams



=== TEST 17: a requirement of the location holds
--- config
    location = /dashboard { session_page dashboard; session_require role=admin; }
--- session: alice
--- request
GET /dashboard
--- error_code: 403
--- response_body_like: You may not see this



=== TEST 18: sessions that are over and not swept yet are not shown
--- config
    location = /dashboard { session_page dashboard; }
--- session
alice
alice created=-700000
alice created=-7000 idle=300
--- request
GET /dashboard
--- response_body_like: <span class="count">1</span>
