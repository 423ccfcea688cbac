# session_require: who may pass, what children inherit, what is refused.

use Test::Nginx::Socket;
use lib 't/lib';
use Session::Block;

repeat_each(2);
plan 'no_plan';
no_long_string();
run_tests();

__DATA__

=== TEST 1: without it everybody passes
--- config
location = /t { return 200 "open"; }
--- request
GET /t
--- response_body chomp
open

=== TEST 2: user, anonymous program
--- config
location /t { session_require user; root html; }
location = /sign_in { session_page sign_in; }
--- user_files
>>> t
secret
--- request
GET /t
--- error_code: 401
--- response_headers
Content-Type: application/json
Cache-Control: no-store
--- response_body eval
qq({"error":"unauthorized","session":"none","sign_in":"/sign_in"})

=== TEST 3: user, signed in
--- config
location /t { session_require user; root html; }
--- user_files
>>> t
secret
--- session: alice
--- request
GET /t
--- response_body
secret

=== TEST 4: user, a navigation is sent to sign in and back
--- config
location /t { session_require user; root html; }
location = /sign_in { session_page sign_in; }
--- request
GET /t/x?a=1&b=%20c
--- more_headers
Accept: text/html,application/xhtml+xml,*/*;q=0.8
--- error_code: 302
--- response_headers
Location: /sign_in?return_to=/t/x%3Fa%3D1%26b%3D%2520c
Cache-Control: no-store

=== TEST 5: a comma is or
--- config
location /t { session_require role=admin,auditor; root html; }
--- user_files
>>> t
secret
--- session: bob
--- request
GET /t
--- response_body
secret

=== TEST 6: several roles are and
--- config
location /t { session_require role=admin role=auditor; root html; }
--- user_files
>>> t
secret
--- session: bob
--- request
GET /t
--- error_code: 403
--- response_body_unlike
secret

=== TEST 7: several roles are and, both there
--- config
location /t { session_require role=admin role=auditor; root html; }
--- user_files
>>> t
secret
--- session: carol
--- request
GET /t
--- response_body
secret

=== TEST 8: a role is a whole word
--- config
location /t { session_require role=audit; root html; }
--- session: bob
--- request
GET /t
--- error_code: 403

=== TEST 9: roles are case-sensitive
--- config
location /t { session_require role=Auditor; root html; }
--- session: bob
--- request
GET /t
--- error_code: 403

=== TEST 10: fresh, young enough
--- config
location /t { session_require user fresh=10m; root html; }
--- user_files
>>> t
secret
--- session: alice created=-500
--- request
GET /t
--- response_body
secret

=== TEST 11: fresh, too old
--- config
location /t { session_require user fresh=10m; root html; }
location = /sign_in { session_page sign_in; }
--- session: alice created=-601
--- request
GET /t
--- error_code: 401
--- response_body_like: "error":"reauthentication_required","session":"valid"

=== TEST 12: fresh, too old, a navigation
--- config
location /t { session_require user fresh=10m; root html; }
location = /sign_in { session_page sign_in; }
--- session: alice created=-601
--- request
GET /t
--- more_headers
Sec-Fetch-Mode: navigate
--- error_code: 302
--- response_headers
Location: /sign_in?fresh=1&return_to=/t

=== TEST 13: a child inherits
--- config
location /t {
    session_require user;
    location /t/child { root html; }
}
--- request
GET /t/child
--- error_code: 401

=== TEST 14: the server level protects its locations
--- config
session_require user;
location /t { root html; }
--- request
GET /t
--- error_code: 401

=== TEST 15: the http level protects servers
--- http_config
session_require user;
--- config
location /t { root html; }
--- request
GET /t
--- error_code: 401

=== TEST 16: only the word off opens a child
--- config
session_require user;
location /t { session_require off; root html; }
--- user_files
>>> t
open
--- request
GET /t
--- response_body
open

=== TEST 17: a child replaces the whole value
--- config
session_require role=admin;
location /t { session_require user; root html; }
--- user_files
>>> t
secret
--- session: alice
--- request
GET /t
--- response_body
secret

=== TEST 18: limit_except protects the other methods
--- config
location /t {
    limit_except GET { session_require user; }
    root html;
}
--- request
POST /t
x=1
--- error_code: 401

=== TEST 19: limit_except lets its own methods pass
--- config
location /t {
    limit_except GET { session_require user; }
    root html;
}
--- user_files
>>> t
open
--- request
GET /t
--- response_body
open

=== TEST 20: a nested location of a limit_except location stays open
--- config
location /t {
    session_require user;
    limit_except GET HEAD { session_require role=admin; }
    root html;
}
--- session: alice
--- request
POST /t
x=1
--- error_code: 403

=== TEST 21: up, sign_in and sign_out ignore an inherited requirement
--- config
session_require user;
location = /up { session_page up; }
--- request
GET /up
--- error_code: 200

=== TEST 22: the body of a refused request is discarded, the next one works
--- config
location /t { session_require user; root html; }
location = /open { return 200 "next"; }
--- pipelined_requests eval
["POST /t\n" . ("x" x 5000), "GET /open"]
--- error_code eval
[401, 200]
--- response_body_like eval
["unauthorized", "next"]

=== TEST 23: a role without a name
--- config
location /t { session_require role=; }
--- must_die
--- error_log
session_require: "role=" holds a role that is not 1 to 32 characters

=== TEST 24: a role with an odd character
--- config
location /t { session_require role=a/b; }
--- must_die
--- error_log
holds a role with a character outside

=== TEST 25: an unknown word
--- config
location /t { session_require admin; }
--- must_die
--- error_log
session_require: "admin" is none of off, user, role=name[,name], fresh=time

=== TEST 26: off with more
--- config
location /t { session_require off user; }
--- must_die
--- error_log
session_require: "user" cannot follow "off"

=== TEST 27: fresh alone
--- config
location /t { session_require fresh=10m; }
--- must_die
--- error_log
has fresh= without "user" or role=

=== TEST 28: fresh is no time
--- config
location /t { session_require user fresh=soon; }
--- must_die
--- error_log
session_require: "fresh=soon" is not a time

=== TEST 29: twice
--- config
location /t { session_require user; session_require off; }
--- must_die
--- error_log
"session_require" directive is duplicate

=== TEST 30: session off cannot open a protected location
--- config
session_require user;
location /t { session off; }
--- must_die
--- error_log
"session off" in a location that requires a session; only "session_require off" opens it

=== TEST 31: in the sign-in page itself
--- config
location = /sign_in { session_page sign_in; session_require user; }
--- must_die
--- error_log
session_require: the page "sign_in" is for people who are not signed in

=== TEST 32: without store and keys
--- bare
--- config
location /t { session_require user; }
--- must_die
--- error_log
session_store and session_keys are missing in the http block

=== TEST 33: in an if
--- config
location /t { if ($arg_x) { session_require user; } }
--- must_die
--- error_log
"session_require" directive is not allowed here

=== TEST 34: WebSocket handshake from elsewhere
--- config
location /t { session_require user; root html; }
--- session: alice
--- request
GET /t
--- more_headers
Connection: Upgrade, close
Upgrade: websocket
Sec-Fetch-Site: cross-site
--- error_code: 403

=== TEST 35: WebSocket handshake from this origin
--- config
location /t { session_require user; root html; }
--- user_files
>>> t
secret
--- session: alice
--- request
GET /t
--- more_headers
Connection: Upgrade, close
Upgrade: websocket
Sec-Fetch-Site: same-origin
--- response_body
secret

=== TEST 36: WebSocket handshake of somebody unknown
--- config
location /t { session_require user; root html; }
location = /sign_in { session_page sign_in; }
--- request
GET /t
--- more_headers
Connection: Upgrade, close
Upgrade: websocket
Accept: text/html
--- error_code: 401

=== TEST 37: several roles are and, whichever is missing
--- config
location /t { session_require role=auditor role=admin; root html; }
--- user_files
>>> t
secret
--- session: bob
--- request
GET /t
--- error_code: 403
--- response_body_unlike
secret
