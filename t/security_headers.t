# vi:ft=perl

# security_headers: X-Content-Type-Options and Referrer-Policy on whatever is
# answered, unless the application has its own.

use strict;
use warnings;

use FindBin ();
use lib "$FindBin::Bin/lib";

use Test::Nginx::Socket;
use Session::Block;

repeat_each(2);
no_root_location();

plan tests => repeat_each() * (3 * blocks() + 1);

run_tests();

__DATA__

=== TEST 1: off by default
--- bare
--- config
    location / { return 200 "ok"; }
--- request
GET /
--- response_headers
! X-Content-Type-Options
! Referrer-Policy



=== TEST 2: on
--- bare
--- config
    security_headers on;
    location / { return 200 "ok"; }
--- request
GET /
--- response_headers
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin



=== TEST 3: nothing else comes with them
--- bare
--- config
    security_headers on;
    location / { return 200 "ok"; }
--- request
GET /
--- response_headers
! Content-Security-Policy
! Strict-Transport-Security
! Cross-Origin-Opener-Policy
! Permissions-Policy
! X-Frame-Options



=== TEST 4: inherited from http
--- bare
--- http_config
    security_headers on;
--- config
    location / { return 200 "ok"; }
--- request
GET /
--- response_headers
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin



=== TEST 5: off below an on
--- bare
--- http_config
    security_headers on;
--- config
    location / { security_headers off; return 200 "ok"; }
--- request
GET /
--- response_headers
! X-Content-Type-Options
! Referrer-Policy



=== TEST 6: on below an off
--- bare
--- config
    security_headers off;
    location / { security_headers on; return 200 "ok"; }
--- request
GET /
--- response_headers
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin



=== TEST 7: add_header in a location drops neither
--- bare
--- config
    security_headers on;
    location / { add_header X-More 1; return 200 "ok"; }
--- request
GET /
--- response_headers
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin



=== TEST 8: a redirect
--- bare
--- config
    security_headers on;
    location / { return 302 /elsewhere; }
--- request
GET /
--- error_code: 302
--- response_headers
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin



=== TEST 9: a bad request
--- bare
--- config
    security_headers on;
--- raw_request eval
"GET / HTTP/1.1\r\n\r\n"
--- error_code: 400
--- response_headers
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin



=== TEST 10: a missing file
--- bare
--- config
    security_headers on;
--- request
GET /none
--- error_code: 404
--- response_headers
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin



=== TEST 11: an error page behind an internal redirect, once
--- bare
--- config
    security_headers on;
    error_page 404 /why;
    location = /why { internal; return 404 "why"; }
--- request
GET /none
--- error_code: 404
--- response_headers
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin



=== TEST 12: a 304
--- bare
--- config
    security_headers on;
    if_modified_since before;
--- user_files
>>> page.html 200001010000.00
old
--- request
GET /page.html
--- more_headers
If-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT
--- error_code: 304
--- response_headers
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin



=== TEST 13: no upstream
--- bare
--- config
    security_headers on;
    location / { proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request
GET /
--- error_code: 502
--- response_headers
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin
--- error_log: Connection refused



=== TEST 14: what an upstream says is left alone
--- bare
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        add_header referrer-policy no-referrer;
        location / { return 200 "ok"; }
    }
--- config
    security_headers on;
    location / { proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request
GET /
--- response_headers
X-Content-Type-Options: nosniff
Referrer-Policy: no-referrer



=== TEST 15: both from an upstream
--- bare
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        security_headers on;
        location / { return 200 "ok"; }
    }
--- config
    security_headers on;
    location / { proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request
GET /
--- response_headers
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin



=== TEST 16: HEAD
--- bare
--- config
    security_headers on;
--- request
HEAD /index.html
--- response_headers
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin



=== TEST 17: a part of a page with them adds none to the page
--- bare
--- config
    ssi on;
    ssi_types text/plain;
    location /part { security_headers on; return 200 "part"; }
    location /page { return 200 '<!--# include virtual="/part" -->'; }
--- request
GET /page
--- response_headers
! X-Content-Type-Options
! Referrer-Policy



=== TEST 18: twice in one place
--- bare
--- config
    security_headers on;
    security_headers on;
--- must_die
--- error_log: "security_headers" directive is duplicate in



=== TEST 19: neither on nor off
--- bare
--- config
    security_headers nosniff;
--- must_die
--- error_log: invalid value "nosniff" in "security_headers" directive, it must be "on" or "off"



=== TEST 20: not inside "if"
--- bare
--- config
    location / {
        if ($arg_a) { security_headers on; }
    }
--- must_die
--- error_log: "security_headers" directive is not allowed here
