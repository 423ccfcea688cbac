# Subrequests skip nginx's access phase; ours decides them all the same, from
# the main request's session.

use Test::Nginx::Socket;
use lib 't/lib';
use Session::Block;

repeat_each(2);
plan 'no_plan';
run_tests();

__DATA__

=== TEST 1: SSI of a protected file, anonymous
--- config
location = /page.html { ssi on; root html; }
location /secret { session_require user; root html; }
--- user_files
>>> page.html
before <!--#include virtual="/secret" --> after
>>> secret
SECRET
--- request
GET /page.html
--- response_body
before  after

=== TEST 2: SSI of a protected file, signed in
--- config
location = /page.html { session on; ssi on; root html; }
location /secret { session_require user; root html; }
--- user_files
>>> page.html
before <!--#include virtual="/secret" --> after
>>> secret
SECRET
--- session: alice
--- request
GET /page.html
--- response_body
before SECRET
 after

=== TEST 3: SSI out of a location with session off, signed in
--- config
location = /page.html { ssi on; root html; }
location /secret { session_require user; root html; }
--- user_files
>>> page.html
before <!--#include virtual="/secret" --> after
>>> secret
SECRET
--- session: alice
--- request
GET /page.html
--- response_body
before SECRET
 after

=== TEST 4: SSI, role missing
--- config
location = /page.html { ssi on; root html; }
location /secret { session_require role=admin; root html; }
--- user_files
>>> page.html
before <!--#include virtual="/secret" --> after
>>> secret
SECRET
--- session: alice
--- request
GET /page.html
--- response_body
before  after

=== TEST 5: as the target of auth_request, anonymous
--- config
location = /check { internal; session_require user; return 204; }
location = /check2 { internal; session_require user; root html; }
location /t { auth_request /check2; root html; }
--- user_files
>>> t
SECRET
>>> check2
ok
--- request
GET /t
--- error_code: 401
--- response_body_unlike
SECRET

=== TEST 6: as the target of auth_request, signed in
--- config
location = /check2 { internal; session_require user; root html; }
location /t { auth_request /check2; root html; }
--- user_files
>>> t
SECRET
>>> check2
ok
--- session: alice
--- request
GET /t
--- response_body
SECRET

=== TEST 7: as the target of auth_request, role missing
--- config
location = /check2 { internal; session_require role=admin; root html; }
location /t { auth_request /check2; root html; }
--- user_files
>>> t
SECRET
>>> check2
ok
--- session: alice
--- request
GET /t
--- error_code: 403
--- error_log
subrequest refused with 403, session is valid

=== TEST 8: addition of a protected file, anonymous
--- config
location = /page.txt {
    root html;
    add_after_body /secret;
    addition_types text/plain;
}
location /secret { session_require user; root html; }
--- user_files
>>> page.txt
page
>>> secret
SECRET
--- request
GET /page.txt
--- response_body
page

=== TEST 9: mirror into a protected location, anonymous
--- http_config
server {
    listen unix:$TEST_NGINX_HTML_DIR/app.sock;
    location / { return 200 "app"; access_log off;
                 error_log $TEST_NGINX_HTML_DIR/app.log debug; }
}
--- config
location /t { root html; mirror /mirror; }
location = /mirror {
    internal; session_require user;
    proxy_pass http://unix:$TEST_NGINX_HTML_DIR/app.sock:/m;
}
--- user_files
>>> t
page
--- request
GET /t
--- response_body
page
--- no_error_log
[error]

=== TEST 10: an internal location directly
--- config
location = /t { internal; session_require user; root html; }
--- session: alice
--- request
GET /t
--- error_code: 404

=== TEST 11: error_page of an anonymous refusal runs our decision again
--- config
error_page 404 /protected;
location /open { root html; }
location /protected { session_require user; root html; }
--- user_files
>>> protected
SECRET
--- request
GET /open/missing
--- error_code_like: 40[14]
--- response_body_unlike
SECRET
--- error_log
No such file or directory

=== TEST 12: try_files into a protected location
--- config
location /open { root html; try_files /nope @app; }
location @app { session_require user; root html; }
--- request
GET /open
--- error_code: 401

=== TEST 13: index into a protected location
--- config
location /dir/ { root html; index secret.html; }
location = /dir/secret.html { session_require user; root html; }
--- user_files
>>> dir/secret.html
SECRET
--- request
GET /dir/
--- error_code: 401
--- response_body_unlike
SECRET

=== TEST 14: X-Accel-Redirect into a protected location, signed in
--- http_config
server {
    listen unix:$TEST_NGINX_HTML_DIR/app.sock;
    location / { add_header X-Accel-Redirect /secret; return 200 "app"; }
}
--- config
location /t { session on;
              proxy_pass http://unix:$TEST_NGINX_HTML_DIR/app.sock; }
location /secret { internal; session_require user; root html; }
--- user_files
>>> secret
SECRET
--- session: alice
--- request
GET /t
--- response_body
SECRET

=== TEST 15: X-Accel-Redirect into a protected location, anonymous
--- http_config
server {
    listen unix:$TEST_NGINX_HTML_DIR/app.sock;
    location / { add_header X-Accel-Redirect /secret; return 200 "app"; }
}
--- config
location /t { session on;
              proxy_pass http://unix:$TEST_NGINX_HTML_DIR/app.sock; }
location /secret { internal; session_require user; root html; }
--- user_files
>>> secret
SECRET
--- request
GET /t
--- error_code: 401
--- response_body_unlike
SECRET
