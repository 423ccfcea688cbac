# vi:ft=perl

# What all pages have in common: the table of pages and methods, links, forms,
# actor and versions, error pages, and what keeps an answer out of caches and
# compressors.

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

=== TEST 1: actor, nobody
--- config
    location = /-/actor.json { session_page actor; }
--- request
GET /-/actor.json
--- response_headers
Content-Type: application/json
Cache-Control: no-store
Vary: Accept, Cookie
X-Content-Type-Options: nosniff
! Set-Cookie
! ETag
! Last-Modified
--- response_body chomp
{"actor":null,"status":"none"}



=== TEST 2: actor, somebody
--- config
    location = /-/actor.json { session_page actor; }
--- session: carol
--- request
GET /-/actor.json
--- response_headers
! Set-Cookie
--- response_body_like eval
qr/^\{"actor":\{"id":"[0-9a-f]{16}","login":"carol","name":"Carol\ Clark",
   "roles":\["admin","auditor"\]\},"session":\{"ref":"[\w-]{12}",
   "created":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ","authenticated":"[-\dT:]+Z",
   "seen":"[-\dT:]+Z","expires":"[-\dT:]+Z"\},"csrf_token":"[\w-]{86}"\}$/x



=== TEST 3: actor, no roles is an empty list
--- config
    location = /-/actor.json { session_page actor; }
--- session: alice
--- request
GET /-/actor.json
--- response_body_like: "roles":\[\]



=== TEST 4: actor, why there is no session
--- config
    location = /-/actor.json { session_page actor; }
--- session: alice created=-7200 seen=-7200 idle=300
--- request
GET /-/actor.json
--- response_body chomp
{"actor":null,"status":"idle"}



=== TEST 5: actor, no store
--- http_config
    session_store /nonexistent;
--- config
    location = /-/actor.json { session_page actor; }
--- session: alice
--- request
GET /-/actor.json
--- more_headers
Accept: application/json
--- error_code: 503
--- response_body chomp
{"error":"store_unavailable","status":503}
--- error_log eval
qr/store missing|HTTP\/1/



=== TEST 6: actor has no HTML twin
--- config
    location = /-/actor.json { session_page actor; }
--- request
GET /-/actor.json
--- more_headers
Accept: text/html
--- response_headers
Content-Type: application/json



=== TEST 7: versions
--- config
    location = /-/versions.json { session_page versions; }
--- request
GET /-/versions.json
--- response_headers
Content-Type: application/json
Cache-Control: no-store
--- response_body_like eval
qr/^\{"module":"\d+\.\d+\.\d+","nginx":"[\d.]+","openssl":"OpenSSL\ [^"]+",
   "lmdb":"LMDB\ [^"]+","store_format":\d+\}$/x



=== TEST 8: versions under a requirement
--- config
    location = /-/versions.json {
        session_page versions;
        session_require role=admin;
    }
--- session: alice
--- request
GET /-/versions.json
--- more_headers
Accept: application/json
--- error_code: 403
--- response_body chomp
{"error":"forbidden","status":403}



=== TEST 9: only pages that have a location are linked
--- config
    location = /out { session_page sign_out; }
--- request
GET /out
--- more_headers
Accept: text/html
--- response_body_unlike: href="/



=== TEST 10: and they are linked where they are
--- config
    location = /out { session_page sign_out; }
    location = /in { session_page sign_in; }
--- request
GET /out
--- more_headers
Accept: text/html
--- response_body_like: <a class="button primary wide" href="/in">Sign in</a>



=== TEST 11: a title
--- config
    session_title "Tea & Biscuits <$server_port>";
    location = /sign_out { session_page sign_out; }
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_body_like: <title>Signed out · Tea &amp; Biscuits &lt;\d+&gt;</title>



=== TEST 12: the title is the host, escaped
--- config
    location = /sign_out { session_page sign_out; }
--- raw_request eval
"GET /sign_out HTTP/1.1\r\nHost: a'b\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
--- response_body_like: <title>Signed out · a&#(39|x27);b</title>



=== TEST 13: a page with a form token is not compressed
--- config
    gzip on;
    gzip_min_length 1;
    gzip_types *;
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
GET /dashboard
--- more_headers
Accept-Encoding: gzip
--- response_headers
! Content-Encoding
--- response_body_like: </html>



=== TEST 14: nor is its JSON
--- config
    gzip on;
    gzip_min_length 1;
    gzip_types *;
    location = /-/actor.json { session_page actor; }
--- session: alice
--- request
GET /-/actor.json
--- more_headers
Accept-Encoding: gzip
--- response_headers
! Content-Encoding
--- response_body_like: csrf_token



=== TEST 15: expires of the server does not make it cacheable
--- config
    expires 1h;
    location = /-/actor.json { session_page actor; }
--- request
GET /-/actor.json
--- raw_response_headers_like: Cache-Control: no-store



=== TEST 16: charset of the server does not recode it
--- config
    charset koi8-r;
    location = /sign_out { session_page sign_out; }
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_headers
Content-Type: text/html; charset=utf-8



=== TEST 17: 405 in JSON
--- config
    location = /-/actor.json { session_page actor; }
--- request
PUT /-/actor.json
--- more_headers
Accept: application/json
--- error_code: 405
--- response_headers
Allow: GET, HEAD
--- response_body chomp
{"error":"method_not_allowed","status":405}



=== TEST 18: an error_page of the operator wins
--- config
    error_page 405 /mine;
    location = /mine { return 200 "mine"; }
    location = /-/actor.json { session_page actor; }
--- request
PUT /-/actor.json
--- error_code: 405
--- response_body chomp
mine



=== TEST 19: a form of another type
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
POST /dashboard
{"action":"end_others"}
--- more_headers
Content-Type: application/json
--- error_code: 415
--- response_body_like: That is not a form



=== TEST 20: a form without a type
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
POST /dashboard
action=end_others
--- error_code: 415



=== TEST 21: multipart
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request eval
"POST /dashboard\n--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--"
--- more_headers
Content-Type: multipart/form-data; boundary=x
--- error_code: 415



=== TEST 22: no body is a form without fields
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
POST /dashboard
--- error_code: 403



=== TEST 23: a form of 16 KiB is read
--- config
    client_body_buffer_size 64k;
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request eval
"POST /dashboard\naction=frob&_csrf=\$TEST_NGINX_CSRF&x="
 . "y" x (16384 - length("action=frob&_csrf=&x=") - 86)
--- more_headers
Content-Type: application/x-www-form-urlencoded; charset=utf-8
--- error_code: 400
--- response_body_like: That request was not understood



=== TEST 24: one of a byte more is not
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request eval
"POST /dashboard\naction=frob&_csrf=\$TEST_NGINX_CSRF&x="
 . "y" x (16385 - length("action=frob&_csrf=&x=") - 86)
--- more_headers
Content-Type: application/x-www-form-urlencoded
--- error_code: 413
--- response_body_like: That was too much



=== TEST 25: a body in a file
--- config
    client_body_in_file_only clean;
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
POST /dashboard
action=end_others&_csrf=$TEST_NGINX_CSRF
--- more_headers
Content-Type: application/x-www-form-urlencoded
--- error_code: 303
--- response_headers
Location: /dashboard?notice=others



=== TEST 26: a body that did not fit its buffer
--- config
    client_body_buffer_size 16;
    client_header_buffer_size 256;
    location = /dashboard { session_page dashboard; }
--- session: alice
--- raw_request eval
my $body = "action=end_others&_csrf=\$TEST_NGINX_CSRF" . "&x=" . "y" x 6000;
["POST /dashboard HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
 . "Cookie: __Host-session=\$TEST_NGINX_TOKEN\r\n"
 . "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: "
 . (length($body) - length("\$TEST_NGINX_CSRF") + 86) . "\r\n\r\n",
 substr($body, 0, 300), substr($body, 300)]
--- error_code: 303



=== TEST 27: a length is wanted
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- raw_request eval
"POST /dashboard HTTP/1.1\r\nHost: localhost\r\nConnection: close\r
Cookie: __Host-session=\$TEST_NGINX_TOKEN\r
Content-Type: application/x-www-form-urlencoded\r
Transfer-Encoding: chunked\r\n\r\n5\r\na=b&c\r\n0\r\n\r\n"
--- error_code: 411



=== TEST 28: the body is gone afterwards, from the log too
--- http_config
    log_format body "body=[$request_body]";
--- config
    location = /dashboard { session_page dashboard; access_log logs/access.log body; }
--- session: alice
--- request
POST /dashboard
secret=hunter2
--- more_headers
Content-Type: application/x-www-form-urlencoded
--- error_code: 403
--- access_log
body=[-]
--- no_access_log
hunter2



=== TEST 29: a broken escape
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request
POST /dashboard
action=%zz&_csrf=$TEST_NGINX_CSRF
--- more_headers
Content-Type: application/x-www-form-urlencoded
--- error_code: 400



=== TEST 30: more fields than any form has
--- config
    location = /dashboard { session_page dashboard; }
--- session: alice
--- request eval
"POST /dashboard\n" . CORE::join "&", map { "a$_=1" } 1 .. 2000
--- more_headers
Content-Type: application/x-www-form-urlencoded
--- error_code: 400



=== TEST 31: not in a subrequest
--- config
    location = /-/actor.json { session_page actor; }
    location = /page { ssi on; default_type text/html; return 200 '<!--#include virtual="/-/actor.json" -->|'; }
--- session: alice
--- request
GET /page
--- response_body_unlike: alice
--- error_log
session page "actor" in a subrequest



=== TEST 32: a page has an exact location
--- config
    location /sign_in { session_page sign_in; }
--- must_die
--- error_log
needs an exact location



=== TEST 33: not a regex
--- config
    location ~ sign_in { session_page sign_in; }
--- must_die
--- error_log
regex location



=== TEST 34: not a named one
--- config
    location @in { session_page sign_in; }
--- must_die
--- error_log
needs a location with a path



=== TEST 35: a page we do not have
--- config
    location = /x { session_page sign_up; }
--- must_die
--- error_log
sign_up



=== TEST 36: twice
--- config
    location = /x { session_page up; session_page actor; }
--- must_die
--- error_log
"session_page" directive is duplicate



=== TEST 37: a mirror of the server gets no password
--- http_config
    log_format body "$uri body=[$request_body]";
--- config
    mirror /mirror;
    access_log logs/access.log body;
    location = /dashboard { session_page dashboard; }
    location = /mirror {
        internal;
        proxy_pass http://127.0.0.1:$TEST_NGINX_SERVER_PORT/sink;
    }
    location = /sink {
        mirror off;
        proxy_pass http://127.0.0.1:$TEST_NGINX_SERVER_PORT/drain;
    }
    location = /drain { mirror off; return 204; }
--- session: alice
--- request
POST /dashboard
secret=hunter2
--- more_headers
Content-Type: application/x-www-form-urlencoded
--- error_code: 403
--- access_log eval
qr{/sink body=\[(?:\\x00){14}\]}
--- no_access_log
hunter2
