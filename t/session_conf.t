# What the directives of ngx_http_session_module accept, and how they refuse.

use Test::Nginx::Socket;
use lib 't/lib';
use Session::Block;

repeat_each(1);
plan 'no_plan';
no_long_string();
run_tests();

__DATA__

=== TEST 1: nothing of ours in use: no store, no keys, no complaint
--- bare
--- config
location = /t { return 200 "ok"; }
--- request
GET /t
--- response_body chomp
ok

=== TEST 2: session_store: no absolute path
--- bare
--- http_config
session_store store;
session_keys $TEST_NGINX_KEYS;
--- config
--- must_die
--- error_log
session_store: "store" must be an absolute path

=== TEST 3: session_store: size out of range
--- bare
--- http_config
session_store $TEST_NGINX_STORE size=65g;
session_keys $TEST_NGINX_KEYS;
--- config
--- must_die
--- error_log
session_store: "size=65g" must be between 1m and 64g

=== TEST 4: session_store: unknown option
--- bare
--- http_config
session_store $TEST_NGINX_STORE mode=1;
session_keys $TEST_NGINX_KEYS;
--- config
--- must_die
--- error_log
session_store: "mode=1" is not known here; use size=64g

=== TEST 5: session_store: twice
--- bare
--- http_config
session_store $TEST_NGINX_STORE;
session_store $TEST_NGINX_STORE;
session_keys $TEST_NGINX_KEYS;
--- config
--- must_die
--- error_log
"session_store" directive is duplicate

=== TEST 6: session_store: in a server
--- config
session_store /x;
--- must_die
--- error_log
"session_store" directive is not allowed here

=== TEST 7: session_store alone, and used
--- bare
--- http_config
session_store $TEST_NGINX_STORE;
--- config
session on;
--- must_die
--- error_log
sessions are used, but session_keys is missing in the http block

=== TEST 8: session_keys alone, and used
--- bare
--- http_config
session_keys $TEST_NGINX_KEYS;
--- config
session on;
--- must_die
--- error_log
sessions are used, but session_store is missing in the http block

=== TEST 9: session_keys: no such file
--- bare
--- http_config
session_store $TEST_NGINX_STORE;
session_keys /nonexistent/keys;
--- config
--- must_die
--- error_log
/nonexistent/keys

=== TEST 10: a store that is missing: warned about, 503, the rest works
--- bare
--- http_config
session_store /nonexistent/store;
session_keys $TEST_NGINX_KEYS;
--- config
location = /up { session_page up store=off; }
--- request
GET /up
--- error_code: 200
--- error_log
sessionctl init

=== TEST 11: session: no flag
--- config
session maybe;
--- must_die
--- error_log
invalid value "maybe" in "session" directive

=== TEST 12: session_realm: a capital
--- config
session_realm Staff;
--- must_die
--- error_log
session_realm: "Staff" may hold a-z, 0-9, "_", "." and "-" only

=== TEST 13: session_realm: too long
--- config
session_realm aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;
--- must_die
--- error_log
must be 1 to 32 characters

=== TEST 14: session_realm: in a location
--- config
location /t { session_realm x; }
--- must_die
--- error_log
"session_realm" directive is not allowed here

=== TEST 15: session_cookie: no cookie name
--- config
session_cookie "a b";
--- must_die
--- error_log
session_cookie: "a b" is no cookie name

=== TEST 16: session_cookie: __Host- with a domain
--- config
session_cookie __Host-x domain=example.com;
--- must_die
--- error_log
cannot have domain= with the prefix __Host-

=== TEST 17: session_cookie: __Host- without Secure
--- config
session_cookie __Host-x secure=off;
--- must_die
--- error_log
cannot have secure=off with the prefix __Host-

=== TEST 18: session_cookie: __Secure- without Secure, in another case
--- config
session_cookie __secure-x secure=off;
--- must_die
--- error_log
cannot have secure=off with the prefix __Secure-

=== TEST 19: session_cookie: samesite=none without Secure
--- config
session_cookie x secure=off samesite=none;
--- must_die
--- error_log
cannot have samesite=none with secure=off

=== TEST 20: session_cookie: unknown option
--- config
session_cookie x path=/;
--- must_die
--- error_log
session_cookie: "path=/" is not once one of domain=

=== TEST 21: session_cookie: a domain with an odd byte
--- config
session_cookie __Secure-x "domain=a;b";
--- must_die
--- error_log
is not once one of domain=

=== TEST 22: session_lifetime: too long
--- config
session_lifetime 401d;
--- must_die
--- error_log
session_lifetime: "401d" must be a time from 1s to 400d

=== TEST 23: session_lifetime: nothing
--- config
session_lifetime 0;
--- must_die
--- error_log
session_lifetime: "0" must be a time from 1s to 400d

=== TEST 24: session_lifetime: idle longer
--- config
session on;
session_lifetime 1h idle=2h;
--- must_die
--- error_log
session_lifetime: idle= is longer than the lifetime itself

=== TEST 25: session_lifetime: touch longer than idle
--- config
session on;
session_lifetime 1h idle=1m touch=1m;
--- must_die
--- error_log
session_lifetime: touch= must be shorter than idle=

=== TEST 26: session_lifetime: unknown option
--- config
session_lifetime 1h sliding=on;
--- must_die
--- error_log
session_lifetime: "sliding=on" is neither idle= nor touch=

=== TEST 27: session_limit: too many
--- config
session_limit 65;
--- must_die
--- error_log
value must be between 1 and 64

=== TEST 28: session_limit: none
--- config
session_limit 0;
--- must_die
--- error_log
value must be between 1 and 64

=== TEST 29: session_origin: with a path
--- config
session_origin https://example.com/x;
--- must_die
--- error_log
session_origin: "https://example.com/x" is no origin

=== TEST 30: session_return: no scheme
--- config
session_return example.com;
--- must_die
--- error_log
session_return: "example.com" is no origin

=== TEST 31: session_refuse: unknown word
--- config
session_refuse 403;
--- must_die
--- error_log
invalid value "403"

=== TEST 32: session_sign_in: scheme-relative
--- config
session_sign_in //evil.example;
--- must_die
--- error_log
session_sign_in: "//evil.example" is neither a path nor an http(s) URL

=== TEST 33: session_forward: unknown word
--- config
session_forward cookies;
--- must_die
--- error_log
invalid value "cookies"

=== TEST 34: session_page: unknown page
--- config
location = /t { session_page home; }
--- must_die
--- error_log
session_page: "home" is none of up, sign_in, sign_out, dashboard

=== TEST 35: session_page: regex location
--- config
location ~ /t { session_page up; }
--- must_die
--- error_log
"session_page" directive cannot stand in a regex location

=== TEST 36: session_page: named location
--- config
location @t { session_page up; }
--- must_die
--- error_log
"session_page" directive needs a location with a path

=== TEST 37: session_page: prefix location
--- config
location /t { session_page up; }
--- must_die
--- error_log
"session_page" directive needs an exact location

=== TEST 38: session_page: in an if
--- config
location = /t { if ($arg_x) { session_page up; } }
--- must_die
--- error_log
"session_page" directive is not allowed here

=== TEST 39: session_page: store=off of another page
--- config
location = /t { session_page dashboard store=off; }
--- must_die
--- error_log
session_page: "store=off" is not known here

=== TEST 40: session_page: with session off
--- config
location = /t { session_page dashboard; session off; }
--- must_die
--- error_log
session_page: "dashboard" cannot work with "session off"

=== TEST 41: session_page: assets in an exact location
--- config
location = /t { session_page assets; }
--- must_die
--- error_log
assets needs a prefix location that ends with "/"

=== TEST 42: session_password: below the floor
--- config
session_password min=7;
--- must_die
--- error_log
session_password: "min=7" must be from 8 to 1024

=== TEST 43: session_password: min over max
--- config
session on;
session_password min=20 max=10;
--- must_die
--- error_log
session_password: min= is more than max=

=== TEST 44: session_password: no such list
--- config
session_password blocklist=/nonexistent/list;
--- must_die
--- error_log
session_password: "/nonexistent/list" is no readable file

=== TEST 45: session_hash: below the floor
--- http_config
session_hash memory=8m passes=1;
--- config
--- must_die
--- error_log
session_hash:

=== TEST 46: session_hash: unknown option
--- http_config
session_hash threads=4;
--- config
--- must_die
--- error_log
session_hash: "threads=4" is none of memory=, passes=, concurrent=

=== TEST 47: session_hash: nothing at once
--- http_config
session_hash concurrent=0;
--- config
--- must_die
--- error_log
session_hash: "concurrent=0" is out of its range

=== TEST 48: session_hash: a pool nobody declared
--- http_config
session_hash pool=nowhere;
--- config
session on;
--- must_die
--- error_log
unknown thread pool "nowhere"

=== TEST 49: session_hash: a declared pool
--- main_config
thread_pool session_hash threads=2;
--- http_config
session_hash pool=session_hash concurrent=2 queue=8 timeout=2s memory=46m passes=1;
--- config
location = /up { session_page up; }
--- request
GET /up
--- error_code: 200

=== TEST 50: session_throttle: zone in a server
--- config
session_throttle zone=1m;
--- must_die
--- error_log
session_throttle: "zone=1m" can only stand at the http level

=== TEST 51: session_throttle: no rate
--- config
session_throttle account=many;
--- must_die
--- error_log
session_throttle: "account=many"

=== TEST 52: session_throttle: unknown option
--- config
session_throttle user=1r/s;
--- must_die
--- error_log
session_throttle: "user=1r/s" is none of zone=, account=, address=

=== TEST 53: session_throttle: twice
--- config
session_throttle account=1r/s;
session_throttle address=1r/s;
--- must_die
--- error_log
"session_throttle" directive is duplicate

=== TEST 54: a Secure cookie on plain http, origin auto
--- config
location = /up { session_page up; }
--- request
GET /up
--- error_code: 200
--- error_log
has a Secure session cookie but no "listen ... ssl"

=== TEST 55: no warning with session_origin
--- config
session_origin https://app.example.com;
location = /up { session_page up; }
--- request
GET /up
--- error_code: 200
--- no_error_log
has a Secure session cookie

=== TEST 56: two realms behind one name and one cookie
--- http_config
server {
    server_name localhost;
    listen unix:$TEST_NGINX_HTML_DIR/other.sock;
    session_realm other;
    session_origin https://a.example;
    location = /up { session_page up; }
}
--- config
session_origin https://a.example;
location = /up { session_page up; }
--- request
GET /up
--- error_code: 200
--- error_log
share the cookie "__Host-session" but not the realm

=== TEST 57: every directive at once
--- http_config
session_hash memory=19m passes=2;
session_throttle zone=2m account=5r/m address=10r/m;
session_lifetime 12h idle=30m touch=10s;
--- config
session_realm other;
session_cookie __Secure-s domain=example.com samesite=strict;
session_lifetime 1d idle=1h;
session_limit 3;
session_origin https://a.example.com https://b.example.com:8443;
session_return https://docs.example.com;
session_password min=8 max=100;
session_throttle account=5r/15m;
session_title "A title";
session_refuse 401;
session_forward off;
session_sign_in https://login.example.com/;
location /t { session_require role=admin,auditor role=x fresh=1h; root html; }
--- request
GET /t
--- error_code: 401
--- response_body_like: "sign_in":"https://login.example.com/"

=== TEST 58: the store is down: 503, and the cookie is kept
--- bare
--- http_config
session_store /nonexistent/store;
session_keys $TEST_NGINX_KEYS;
--- config
location /t { session_require user; root html; }
--- session: alice
--- request
GET /t
--- error_code: 503
--- response_headers
Retry-After: 2
! Set-Cookie
--- error_log
sessionctl init

=== TEST 59: the store is down, and nobody is there anyway
--- bare
--- http_config
session_store /nonexistent/store;
session_keys $TEST_NGINX_KEYS;
--- config
location /t { session_require user; root html; }
location = /sign_in { session_page sign_in; }
--- request
GET /t
--- more_headers
Sec-Fetch-Mode: navigate
--- error_code: 503
--- response_headers
Retry-After: 2
--- error_log
sessionctl init

=== TEST 60: the store is down: a page that needs none goes on
--- bare
--- http_config
session_store /nonexistent/store;
session_keys $TEST_NGINX_KEYS;
--- config
location /t { session on; root html; }
--- user_files
>>> t
open
--- request
GET /t
--- response_body
open
--- error_log
sessionctl init

=== TEST 61: the store is down: the sign-in page says so and keeps the cookie
--- bare
--- http_config
session_store /nonexistent/store;
session_keys $TEST_NGINX_KEYS;
--- config
location = /sign_in { session_page sign_in; }
--- session: alice
--- request
GET /sign_in
--- more_headers
Accept: text/html
--- error_code: 503
--- raw_response_headers_unlike: Set-Cookie: __Host-session=
--- error_log
sessionctl init
