# Embedded variables of ngx_http_session_module.

use Test::Nginx::Socket;
use lib 't/lib';
use Session::Block;

repeat_each(2);
plan 'no_plan';
no_long_string();
run_tests();

__DATA__

=== TEST 1: somebody signed in
--- config
location = /t {
    session on;
    return 200 "$session_user|$session_name|$session_roles|$session_status";
}
--- session: carol
--- request
GET /t
--- response_body chomp
carol|Carol Clark|admin,auditor|valid

=== TEST 2: ids and age
--- config
location = /t {
    session on;
    return 200 "$session_user_id|$session_ref|$session_age";
}
--- session: carol created=-100
--- request
GET /t
--- response_body_like: ^[0-9a-f]{16}\|[A-Za-z0-9_-]{12}\|10[0-9]$

=== TEST 3: the ref is the one the store knows
--- config
location = /t { session on; return 200 "$session_ref"; }
--- session: carol
--- request
GET /t
--- response_body chomp
$TEST_NGINX_REF

=== TEST 4: nobody
--- config
location = /t {
    session on;
    return 200 "[$session_user$session_name$session_roles$session_ref$session_user_id$session_age$csrf_token]$session_status";
}
--- request
GET /t
--- response_body chomp
[]none

=== TEST 5: a form token
--- config
location = /t { session on; return 200 "$csrf_token"; }
--- session: carol
--- request
GET /t
--- response_body_like: ^[A-Za-z0-9_-]{86}$

=== TEST 6: the same form token twice in one request
--- config
location = /t {
    session on;
    add_header X-One $csrf_token;
    add_header X-Two "$csrf_token";
    if ($csrf_token = "") { return 500; }
    set $first $csrf_token;
    if ($first = $csrf_token) { return 200 "same"; }
    return 200 "different";
}
--- session: carol
--- request
GET /t
--- response_body chomp
same

=== TEST 7: in an access log, after an answer and after a bad request
--- http_config
log_format who '$session_user $session_status $status';
--- config
location = /t { session on; access_log logs/who.log who; return 200 "x"; }
--- session: carol
--- request
GET /t
--- response_body chomp
x

=== TEST 8: in a map, and in a server-level if
--- http_config
map $session_roles $is_admin { default no; "~(^|,)admin(,|$)" yes; }
--- config
session on;
if ($session_user = mallory) { return 418; }
location = /t { return 200 "$is_admin"; }
--- session: carol
--- request
GET /t
--- response_body chomp
yes

=== TEST 9: after an internal redirect
--- config
session on;
location /a { root html; error_page 404 = /b; }
location = /b { return 200 "$session_user"; }
--- session: carol
--- request
GET /a/missing
--- response_body chomp
carol
--- error_log
No such file

=== TEST 10: in a subrequest
--- config
location = /page.html { session on; ssi on; root html; }
location = /who { session on; proxy_pass http://unix:$TEST_NGINX_HTML_DIR/w.sock:/$session_user; }
--- http_config
server { listen unix:$TEST_NGINX_HTML_DIR/w.sock;
         location / { return 200 "$uri"; } }
--- user_files
>>> page.html
<!--#include virtual="/who" -->
--- session: carol
--- request
GET /page.html
--- response_body
/carol

=== TEST 11: a request line that cannot be parsed
--- config
session on;
location = /t { return 200 "x"; }
--- raw_request eval
"GET /t\x01 HTTP/9.9\r\n\r\n"
--- error_code: 400
