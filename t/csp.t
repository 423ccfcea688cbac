# vi:ft=perl

# csp and $csp_nonce: what goes out, on which responses, how levels inherit,
# and what a configuration is refused for.

use strict;
use warnings;

use FindBin ();
use lib "$FindBin::Bin/lib";

use Test::Nginx::Socket;
use Session::Block;

repeat_each(2);
no_root_location();

# A body that is nothing but a nonce has never been seen before.

my %seen;

add_response_body_check(sub {
    my ($block, $body) = @_;

    return if !defined $body || $body !~ m{\A[A-Za-z0-9+/]{22}==\z};

    ok(!$seen{$body}++, $block->name . ' - the nonce is new');
});

plan tests => repeat_each() * (2 * blocks() + 35);

run_tests();

__DATA__

=== TEST 1: off by default
--- bare
--- config
    location / { return 200 "ok"; }
--- request
GET /
--- response_headers
! Content-Security-Policy
! X-Content-Type-Options
! Referrer-Policy



=== TEST 2: a policy without a nonce goes out as it is written
--- bare
--- config
    csp "default-src 'self'; img-src *";
    location / { return 200 "ok"; }
--- request
GET /
--- response_headers
Content-Security-Policy: default-src 'self'; img-src *



=== TEST 3: 16 bytes of base64 in each place, the same ones in the variable
--- bare
--- config
    csp "script-src 'nonce' 'strict-dynamic'; style-src 'nonce-$csp_nonce'";
    location / {
        add_header X-Nonce $csp_nonce;
        return 200 "$csp_nonce";
    }
--- request
GET /
--- raw_response_headers_like eval
qr{Security-Policy: script-src 'nonce-([A-Za-z0-9+/]{22}==)' 'strict-dynamic'; style-src 'nonce-\1'\r\n.*X-Nonce: \1\r\n}
--- response_body_like: ^[A-Za-z0-9+/]{22}==$



=== TEST 4: the variable needs no policy
--- bare
--- config
    location / { return 200 "$csp_nonce"; }
--- request
GET /
--- response_headers
! Content-Security-Policy
--- response_body_like: ^[A-Za-z0-9+/]{22}==$



=== TEST 5: requests of one connection do not share a nonce
--- bare
--- config
    csp "script-src 'nonce'";
    location / { return 200 "$csp_nonce"; }
--- pipelined_requests eval
["GET /", "GET /"]
--- response_headers_like eval
["Content-Security-Policy: script-src 'nonce-[A-Za-z0-9+/]{22}=='",
 "Content-Security-Policy: script-src 'nonce-[A-Za-z0-9+/]{22}=='"]
--- response_body_like eval
['^[A-Za-z0-9+/]{22}==$', '^[A-Za-z0-9+/]{22}==$']



=== TEST 6: inherited from http
--- bare
--- http_config
    csp "default-src 'self'";
--- config
    location / { return 200 "ok"; }
--- request
GET /
--- response_headers
Content-Security-Policy: default-src 'self'



=== TEST 7: a lower level replaces the whole policy
--- bare
--- http_config
    csp "default-src 'self'";
--- config
    csp "img-src *";
    location / { csp "script-src 'none'"; return 200 "ok"; }
--- request
GET /
--- response_headers
Content-Security-Policy: script-src 'none'



=== TEST 8: off in a location
--- bare
--- config
    csp "default-src 'self'";
    location / { csp off; return 200 "ok"; }
--- request
GET /
--- response_headers
! Content-Security-Policy



=== TEST 9: on below an off
--- bare
--- http_config
    csp off;
--- config
    location / { csp "default-src 'self'"; return 200 "ok"; }
--- request
GET /
--- response_headers
Content-Security-Policy: default-src 'self'



=== TEST 10: a location inside a location
--- bare
--- config
    location / {
        csp "default-src 'self'";
        location /in/ { return 200 "ok"; }
    }
--- request
GET /in/
--- response_headers
Content-Security-Policy: default-src 'self'



=== TEST 11: add_header in a location drops nothing
--- bare
--- config
    csp "default-src 'self'";
    add_header X-Above 1;
    location / { add_header X-Below 1; return 200 "ok"; }
--- request
GET /
--- response_headers
Content-Security-Policy: default-src 'self'
X-Below: 1
! X-Above



=== TEST 12: a redirect
--- bare
--- config
    csp "default-src 'self'";
    location / { return 301 /elsewhere; }
--- request
GET /
--- error_code: 301
--- response_headers
Content-Security-Policy: default-src 'self'



=== TEST 13: nginx's own 404
--- bare
--- config
    csp "default-src 'self'";
--- request
GET /none
--- error_code: 404
--- response_headers
Content-Security-Policy: default-src 'self'



=== TEST 14: a request that is none
--- bare
--- config
    csp "default-src 'self'";
--- raw_request eval
"GET / HTTP/1.1\r\n\r\n"
--- error_code: 400
--- response_headers
Content-Security-Policy: default-src 'self'



=== TEST 15: refused by another module
--- bare
--- config
    csp "script-src 'nonce'";
    location / { deny all; }
--- request
GET /
--- error_code: 403
--- response_headers_like
Content-Security-Policy: script-src 'nonce-[A-Za-z0-9+/]{22}=='
--- error_log: access forbidden by rule



=== TEST 16: no upstream
--- bare
--- config
    csp "script-src 'nonce'";
    location / { proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request
GET /
--- error_code: 502
--- response_headers_like
Content-Security-Policy: script-src 'nonce-[A-Za-z0-9+/]{22}=='
--- error_log: Connection refused



=== TEST 17: no content
--- bare
--- config
    csp "script-src 'nonce'";
    location / { return 204; }
--- request
GET /
--- error_code: 204
--- response_headers_like
Content-Security-Policy: script-src 'nonce-[A-Za-z0-9+/]{22}=='



=== TEST 18: HEAD
--- bare
--- config
    csp "script-src 'nonce'";
--- request
HEAD /index.html
--- response_headers_like
Content-Security-Policy: script-src 'nonce-[A-Za-z0-9+/]{22}=='



=== TEST 19: a range
--- bare
--- config
    csp "script-src 'nonce'";
--- request
GET /index.html
--- more_headers
Range: bytes=0-5
--- error_code: 206
--- response_headers_like
Content-Security-Policy: script-src 'nonce-[A-Za-z0-9+/]{22}=='
--- response_body: <html>



=== TEST 20: none on a 304, whose body carries an older nonce
--- bare
--- config
    csp "script-src 'nonce'";
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
! Content-Security-Policy
X-Content-Type-Options: nosniff



=== TEST 21: none on a 304 from an upstream
--- bare
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        location / { return 304; }
    }
--- config
    csp "script-src 'nonce'" replace;
    location / { proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request
GET /
--- error_code: 304
--- response_headers
! Content-Security-Policy



=== TEST 22: an error page sends the nonce that its text has
--- bare
--- config
    csp "script-src 'nonce'";
    error_page 403 /why;
    location / { deny all; }
    location = /why { internal; return 403 "$csp_nonce"; }
--- request
GET /
--- error_code: 403
--- response_body_like: ^[A-Za-z0-9+/]{22}==$
--- response_headers_like
Content-Security-Policy: script-src 'nonce-[A-Za-z0-9+/]{22}=='
--- error_log: access forbidden by rule



=== TEST 23: one nonce over an internal redirect
--- bare
--- http_config
    server { listen $TEST_NGINX_RAND_PORT_1; return 404; }
--- config
    csp "script-src 'nonce'";
    location / {
        set $before $csp_nonce;
        error_page 404 = @app;
        proxy_intercept_errors on;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
    location @app {
        add_header X-Before $before;
        add_header X-After $csp_nonce;
        return 200 "ok";
    }
--- request
GET /x
--- raw_response_headers_like eval
qr{'nonce-([^']+)'\r\n.*X-Before: \1\r\nX-After: \1\r\n}



=== TEST 24: one nonce where only the first location has used the variable
--- bare
--- config
    location / {
        add_header X-Unused $csp_nonce;
        error_page 418 = @app;
        if ($csp_nonce) { return 418; }
    }
    location @app {
        csp "script-src 'nonce'";
        add_header X-After $csp_nonce;
        return 200 "ok";
    }
--- request
GET /x
--- raw_response_headers_like eval
qr{'nonce-([^']+)'\r\nX-After: \1\r\n}



=== TEST 25: the location that answers has the word
--- bare
--- config
    csp "img-src *";
    location / { csp "default-src 'self'"; try_files /absent @app; }
    location @app { csp "script-src 'none'"; return 200 "ok"; }
--- request
GET /
--- response_headers
Content-Security-Policy: script-src 'none'



=== TEST 26: one nonce in a page and what it includes
--- bare
--- config
    csp "script-src 'nonce'";
    ssi on;
    ssi_types text/plain;
    location /part { return 200 "$csp_nonce"; }
    location /page { return 200 'a$csp_nonce b<!--# include virtual="/part" -->'; }
--- request
GET /page
--- response_headers_like
Content-Security-Policy: script-src 'nonce-[A-Za-z0-9+/]{22}=='
--- response_body_like eval
qr{^a([A-Za-z0-9+/]{22}==) b\1$}



=== TEST 27: the part with a policy adds none to the page
--- bare
--- config
    ssi on;
    ssi_types text/plain;
    location /part { csp "script-src 'nonce'"; return 200 "$csp_nonce"; }
    location /page { return 200 '<!--# include virtual="/part" -->'; }
--- request
GET /page
--- response_headers
! Content-Security-Policy
--- response_body_like: ^[A-Za-z0-9+/]{22}==$



=== TEST 28: an upstream's policy stays beside ours
--- bare
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        add_header Content-Security-Policy "img-src 'none'";
        location / { return 200 "ok"; }
    }
--- config
    csp "default-src 'self'";
    location / { proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request
GET /
--- raw_response_headers_like eval
qr{Policy: img-src 'none'\r\n.*Policy: default-src 'self'\r\n}



=== TEST 29: replace takes the upstream's away, not its reports
--- bare
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        add_header content-security-POLICY "img-src 'none'";
        add_header Content-Security-Policy "media-src 'none'";
        add_header Content-Security-Policy-Report-Only "font-src 'none'";
        location / { return 200 "ok"; }
    }
--- config
    csp "default-src 'self'" replace;
    location / { proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request
GET /
--- response_headers
Content-Security-Policy: default-src 'self'
Content-Security-Policy-Report-Only: font-src 'none'



=== TEST 30: replace is inherited with its policy
--- bare
--- http_config
    csp "default-src 'self'" replace;
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        csp off;
        add_header Content-Security-Policy "img-src 'none'";
        location / { return 200 "ok"; }
    }
--- config
    location / { proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request
GET /
--- response_headers
Content-Security-Policy: default-src 'self'



=== TEST 31: a policy of add_header goes beside ours
--- bare
--- config
    csp "default-src 'self'" replace;
    add_header Content-Security-Policy "img-src 'none'";
    location / { return 200 "ok"; }
--- request
GET /
--- raw_response_headers_like eval
qr{Policy: default-src 'self'\r\n.*Policy: img-src 'none'\r\n}



=== TEST 32: X-Accel-Redirect
--- bare
--- http_config
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        location / { add_header X-Accel-Redirect /file; return 200 "ok"; }
    }
--- config
    csp "script-src 'nonce'";
    location / { proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
    location /file { internal; return 200 "$csp_nonce"; }
--- request
GET /
--- response_headers_like
Content-Security-Policy: script-src 'nonce-[A-Za-z0-9+/]{22}=='
--- response_body_like: ^[A-Za-z0-9+/]{22}==$



=== TEST 33: a cached response gets a nonce of its own each time
--- bare
--- http_config
    proxy_cache_path $TEST_NGINX_SERVER_ROOT/cache keys_zone=csp:1m;
    server {
        listen $TEST_NGINX_RAND_PORT_1;
        location / { return 200 "ok"; }
    }
--- config
    csp "script-src 'nonce'";
    location / {
        proxy_cache csp;
        proxy_cache_valid 200 1m;
        add_header X-Cache $upstream_cache_status;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
    location /nonce { return 200 "$csp_nonce"; }
--- pipelined_requests eval
["GET /", "GET /"]
--- raw_response_headers_like eval
["'nonce-[A-Za-z0-9+/]{22}=='\r\nX-Cache: (MISS|HIT)\r\n",
 "'nonce-[A-Za-z0-9+/]{22}=='\r\nX-Cache: HIT\r\n"]



=== TEST 34: a policy is no text for nginx's own variables
--- bare
--- config
    csp "default-src 'self' $host";
    location / { return 200 "ok"; }
--- request
GET /
--- response_headers
Content-Security-Policy: default-src 'self' $host



=== TEST 35: twice in one place
--- bare
--- config
    csp "default-src 'self'";
    csp "img-src *";
--- must_die
--- error_log: "csp" directive is duplicate in



=== TEST 36: off and a policy in one place
--- bare
--- config
    csp off;
    csp "img-src *";
--- must_die
--- error_log: "csp" directive is duplicate in



=== TEST 37: without quotes
--- bare
--- config
    csp default-src 'self';
--- must_die
--- error_log: csp: invalid parameter "self": the whole policy goes into one pair of double quotes in



=== TEST 38: more than one word too many
--- bare
--- config
    csp default-src 'self' https: data:;
--- must_die
--- error_log: csp: invalid parameter "self": the whole policy goes into one pair of double quotes in



=== TEST 39: off replaces nothing
--- bare
--- config
    csp off replace;
--- must_die
--- error_log: "csp" directive cannot replace with "off" in



=== TEST 40: an empty policy
--- bare
--- config
    csp "";
--- must_die
--- error_log: csp: policy is empty



=== TEST 41: a directive name that is none
--- bare
--- config
    csp "default-src 'self'; img_src *";
--- must_die
--- error_log: csp: not a directive name: character 21, in "img_src" in



=== TEST 42: a directive twice
--- bare
--- config
    csp "img-src *; IMG-SRC 'self'";
--- must_die
--- error_log: csp: directive is duplicate, browsers ignore the second: character 12, in "IMG-SRC" in



=== TEST 43: a nonce that is the same for everybody
--- bare
--- config
    csp "default-src 'self'; script-src 'nonce-abc'";
--- must_die
--- error_log: write 'nonce', with the quotes, where a nonce goes: character 32, in "script-src" in



=== TEST 44: a nonce outside its quotes
--- bare
--- config
    csp "script-src $csp_nonce";
--- must_die
--- error_log: character 12, in "script-src" in



=== TEST 45: a comma would begin another policy
--- bare
--- config
    csp "script-src 'self', img-src *";
--- must_die
--- error_log: character 18, in "script-src" in



=== TEST 46: not inside "if"
--- bare
--- config
    location / {
        if ($arg_a) { csp "img-src *"; }
    }
--- must_die
--- error_log: "csp" directive is not allowed here



=== TEST 47: no value
--- bare
--- config
    csp;
--- must_die
--- error_log: invalid number of arguments in "csp" directive



=== TEST 48: HTTP/1.0
--- bare
--- config
    csp "default-src 'self'";
    location / { return 200 "ok"; }
--- request
GET / HTTP/1.0
--- response_headers
Content-Security-Policy: default-src 'self'



=== TEST 49: our pages have a policy of their own
--- config
    location = /sign_in { session_page sign_in; }
--- request
GET /sign_in
--- response_headers_like
Content-Security-Policy: default-src 'none'; style-src 'self' 'nonce-([A-Za-z0-9+/]{22}==)'; img-src 'self' data:; script-src 'nonce-\1'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin



=== TEST 50: what is inherited does not apply to them
--- config
    csp "default-src *" replace;
    security_headers off;
    location = /sign_in { session_page sign_in; }
--- request
GET /sign_in
--- response_headers_like
Content-Security-Policy: default-src 'none'; .* frame-ancestors 'none'; form-action 'self'
X-Content-Type-Options: nosniff
Referrer-Policy: strict-origin-when-cross-origin



=== TEST 51: nor does "off"
--- config
    location = /sign_in { session_page sign_in; csp off; }
--- request
GET /sign_in
--- response_headers_like
Content-Security-Policy: default-src 'none'; .* frame-ancestors 'none'; form-action 'self'



=== TEST 52: a policy in the very location does
--- config
    location = /sign_in { session_page sign_in; csp "script-src 'nonce'"; }
--- request
GET /sign_in
--- response_headers_like
Content-Security-Policy: script-src 'nonce-[A-Za-z0-9+/]{22}=='



=== TEST 53: an error page of ours in another's location
--- config
    location / { session_require role=admin; csp "default-src *"; }
--- session: alice
--- request
GET /index.html
--- more_headers
Accept: text/html
Sec-Fetch-Mode: navigate
--- error_code: 403
--- response_headers_like
Content-Security-Policy: default-src 'none'; .* frame-ancestors 'none'; form-action 'self'



=== TEST 54: an error page of the operator's after one of ours
--- config
    error_page 403 /sorry.html;
    location / { session_require role=admin; csp "default-src *"; }
    location = /sorry.html { csp "style-src *"; return 403 "sorry"; }
--- session: alice
--- request
GET /index.html
--- error_code: 403
--- response_headers
Content-Security-Policy: style-src *
--- response_body: sorry



=== TEST 55: the page has the nonce of its header
--- config
    location = /sign_in { session_page sign_in; }
--- request
GET /sign_in
--- more_headers
Accept: text/html
--- raw_response_headers_like: Content-Security-Policy: default-src 'none'
--- response_body_like: nonce="[A-Za-z0-9+/]{22}=="


=== TEST 56: our own pages may post to where a sign-in may return
--- config
session_return https://docs.example.com https://b.example:8443;
location = /sign_in { session_page sign_in; }
--- request
GET /sign_in
--- response_headers_like
Content-Security-Policy: .*; form-action 'self' https://docs.example.com https://b.example:8443
