# vi:ft=perl

# What stands behind session_require says that it is private, unless the
# application says something itself.

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

=== TEST 1: a file
--- config
    location / { session_require user; }
--- session: alice
--- request
GET /index.html
--- response_headers
Cache-Control: private
Vary: Cookie



=== TEST 2: a file that is not protected
--- config
    location / { session on; }
--- session: alice
--- request
GET /index.html
--- response_headers
! Cache-Control
! Vary



=== TEST 3: a requirement that is off again
--- config
    session_require user;
    location / { session_require off; }
--- session: alice
--- request
GET /index.html
--- response_headers
! Cache-Control
! Vary



=== TEST 4: an upstream that says nothing
--- http_config
    server { listen $TEST_NGINX_RAND_PORT_1; return 200 "ok"; }
--- config
    location / {
        session_require user;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- session: alice
--- request
GET /
--- response_headers
Cache-Control: private
Vary: Cookie



=== TEST 5: an upstream that has spoken
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        add_header Cache-Control "no-store";
        return 200 "ok";
    }
--- config
    location / {
        session_require user;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- session: alice
--- request
GET /
--- response_headers
Cache-Control: no-store
! Vary



=== TEST 6: an upstream's Vary gets longer
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        add_header Vary "Accept-Encoding";
        add_header vary "Accept";
        return 200 "ok";
    }
--- config
    location / {
        session_require user;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- session: alice
--- request
GET /
--- response_headers
Cache-Control: private
Vary: Accept-Encoding, Accept, Cookie



=== TEST 7: a Vary that has it
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        add_header Vary "Accept,cookie";
        return 200 "ok";
    }
--- config
    location / {
        session_require user;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- session: alice
--- request
GET /
--- response_headers
Cache-Control: private
Vary: Accept,cookie



=== TEST 8: a Vary that has everything
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        add_header Vary "*";
        return 200 "ok";
    }
--- config
    location / {
        session_require user;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- session: alice
--- request
GET /
--- response_headers
Cache-Control: private
Vary: *



=== TEST 9: a Vary with a longer name is not it
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        add_header Vary "X-Cookie, Cookies";
        return 200 "ok";
    }
--- config
    location / {
        session_require user;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- session: alice
--- request
GET /
--- response_headers
Cache-Control: private
Vary: X-Cookie, Cookies, Cookie



=== TEST 10: "expires" does not make it public
--- config
    location / { session_require user; expires 1h; }
--- session: alice
--- request
GET /index.html
--- response_headers
Cache-Control: private, max-age=3600
Vary: Cookie



=== TEST 11: an error
--- config
    location / { session_require user; }
--- session: alice
--- request
GET /none
--- error_code: 404
--- response_headers
Cache-Control: private
Vary: Cookie



=== TEST 12: a part of a page
--- config
    ssi on;
    ssi_types text/plain;
    location /part { session_require user; }
    location /page { return 200 '<!--# include virtual="/part" -->'; }
--- user_files
>>> part
part
--- session: alice
--- request
GET /page
--- response_headers
! Cache-Control
! Vary



=== TEST 13: public is left alone and remarked upon
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        add_header Cache-Control "max-age=60, Public";
        return 200 "ok";
    }
--- config
    location / {
        session_require user;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- session: alice
--- request
GET /
--- response_headers
Cache-Control: max-age=60, Public
! Vary
--- grep_error_log eval: qr/Cache-Control: [^"]*" behind session_require/
--- grep_error_log_out eval
["Cache-Control: max-age=60, Public\" behind session_require\n", ""]



=== TEST 14: s-maxage is remarked upon
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        add_header Cache-Control "s-maxage=60";
        return 200 "ok";
    }
--- config
    location / {
        session_require user;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- session: alice
--- request
GET /
--- response_headers
Cache-Control: s-maxage=60
--- grep_error_log eval: qr/s-maxage=60" behind session_require/
--- grep_error_log_out eval
["s-maxage=60\" behind session_require\n", ""]



=== TEST 15: what only looks like it is not
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        add_header Cache-Control "private=public, x-public, publicity";
        return 200 "ok";
    }
--- config
    location / {
        session_require user;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- session: alice
--- request
GET /
--- response_headers
Cache-Control: private=public, x-public, publicity
--- no_error_log
behind session_require



=== TEST 16: public where nothing is protected
--- config
    location / { session on; add_header Cache-Control "public"; }
--- session: alice
--- request
GET /index.html
--- response_headers
Cache-Control: public
--- no_error_log
behind session_require
