# vi:ft=perl

# session_templates: files that replace the built-in ones, and what nginx -t
# says of those that cannot.

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

=== TEST 1: a file there replaces the built-in one
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files
>>> signed_out.html
{{> head.html}}<title>{{title}}</title>
<p>Abgemeldet. {{> mine.html}}
>>> mine.html
Und tschüs.
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_headers
Content-Type: text/html; charset=utf-8
--- response_body_like eval
qr{^<!doctype html>.*<title>localhost</title>\n<p>Abgemeldet\. Und tschüs\.}s



=== TEST 2: the others stay, and take a partial that was replaced
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files
>>> foot.html
<p>imprint</p>
>>> unused.html
{{nonsense
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_body_like eval
qr{You are signed out.*<p>imprint</p>\s*$}s



=== TEST 3: the style too
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files
>>> session.css
p { color: red }
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_body_like eval
qr{<style nonce="[^"]+">\s*p \{ color: red \}\s*</style>}



=== TEST 4: values are escaped wherever they stand
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    session_title "\"'<&>`";
    location = /sign_out { session_page sign_out; }
--- user_files
>>> signed_out.html
<p title="{{title}}">{{title}}</p>
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_body_unlike: "'|<&|>`



=== TEST 5: an unknown slot
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files
>>> signed_out.html
<p>fine</p>
<p>{{nonsense}}</p>
--- must_die
--- error_log eval
qr{unknown slot "nonsense" in \S+/signed_out\.html:2}



=== TEST 6: a slot of another page
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files
>>> signed_out.html
{{csrf}}
--- must_die
--- error_log eval
qr{"csrf" in \S+/signed_out\.html:1}



=== TEST 7: in a partial, the partial is named
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files
>>> signed_out.html
{{> mine.html}}
>>> mine.html


{{nonsense}}
--- must_die
--- error_log eval
qr{"nonsense" in \S+/mine\.html:3}



=== TEST 8: a section that stays open
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files
>>> signed_out.html
{{#who}}
hello
--- must_die
--- error_log eval
qr{"who" in \S+/signed_out\.html:}



=== TEST 9: a partial that is not there
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files
>>> signed_out.html
{{> nowhere.html}}
--- must_die
--- error_log eval
qr{"nowhere.html" in \S+/signed_out\.html:1}



=== TEST 10: a partial is a name, not a path
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files
>>> signed_out.html
{{> ../conf/nginx.conf}}
--- must_die
--- error_log
../conf/nginx.conf



=== TEST 11: a partial of itself
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files
>>> signed_out.html
{{> signed_out.html}}
--- must_die
--- error_log
signed_out.html



=== TEST 12: a sign-in form without its token
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_in { session_page sign_in; }
--- user_files
>>> sign_in.html
<form action="{{action}}"><input name="login"><input name="password">
<input name="return_to" value="{{return_to}}"></form>
--- must_die
--- error_log eval
qr{"csrf" in \S+/sign_in\.html}



=== TEST 13: a sign-in form without a password
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_in { session_page sign_in; }
--- user_files
>>> sign_in.html
<form action="{{action}}"><input name="_csrf" value="{{csrf}}">
<input name="login"><input name="return_to" value="{{return_to}}"></form>
--- must_die
--- error_log eval
qr{form field name="password" is missing in \S+/sign_in\.html}



=== TEST 14: a file of 64 KiB
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files eval
">>> signed_out.html\n" . "x" x 65535 . "\n"
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_body_like: ^x{32766}



=== TEST 15: and a byte more
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files eval
">>> signed_out.html\n" . "x" x 65536 . "\n"
--- must_die
--- error_log eval
qr{template "\S+/signed_out\.html" is larger than 65536 bytes}



=== TEST 16: a directory that is not there
--- config
    session_templates /nonexistent/pages;
    location = /sign_out { session_page sign_out; }
--- must_die
--- error_log
session_templates "/nonexistent/pages" cannot be used



=== TEST 17: a file is no directory
--- config
    session_templates $TEST_NGINX_HTML_DIR/signed_out.html;
    location = /sign_out { session_page sign_out; }
--- user_files
>>> signed_out.html
x
--- must_die
--- error_log
is not a directory



=== TEST 18: a directory is no file
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files
>>> signed_out.html/x
x
--- must_die
--- error_log eval
qr{template "\S+/signed_out\.html" is not a regular file}



=== TEST 19: inherited from http
--- http_config
    session_templates $TEST_NGINX_HTML_DIR;
--- config
    location = /sign_out { session_page sign_out; }
--- user_files
>>> signed_out.html
mine
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_body
mine



=== TEST 20: twice
--- config
    session_templates /a;
    session_templates /b;
--- must_die
--- error_log
"session_templates" directive is duplicate



=== TEST 21: not in a location
--- config
    location / { session_templates /a; }
--- must_die
--- error_log
"session_templates" directive is not allowed here



=== TEST 22: a title twice
--- config
    session_title a;
    session_title b;
--- must_die
--- error_log
"session_title" directive is duplicate



=== TEST 23: a title of the server replaces that of http
--- http_config
    session_title outer;
--- config
    session_title inner;
    location = /sign_out { session_page sign_out; }
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_body_like: <title>Signed out · inner</title>



=== TEST 24: an empty template is an empty page
--- config
    session_templates $TEST_NGINX_HTML_DIR;
    location = /sign_out { session_page sign_out; }
--- user_files
>>> signed_out.html
{{! nothing }}
--- request
GET /sign_out
--- more_headers
Accept: text/html
--- response_headers
Content-Length: 0
--- response_body
