# The Cookie header, SECURITY 6 A: which requests are somebody's and which are
# nobody's.  The answer is the login, or the status.

use Test::Nginx::Socket;
use lib 't/lib';
use Session::Block;

add_block_preprocessor(sub {
    my ($block) = @_;

    $block->set_value('config',
                      "location = /t { session on; add_header X-Status "
                      . "\$session_status always; "
                      . "return 200 \"\$session_user\"; }\n")
        if !defined $block->config;

    $block->set_value('request', 'GET /t') if !defined $block->request;
});

repeat_each(2);
plan 'no_plan';
no_long_string();
run_tests();

__DATA__

=== TEST 1: no Cookie
--- response_body chomp
--- response_headers
X-Status: none

=== TEST 2: an empty Cookie
--- more_headers eval
"Cookie: "
--- response_headers
X-Status: none

=== TEST 3: an empty value
--- more_headers
Cookie: __Host-session=
--- response_headers
X-Status: malformed

=== TEST 4: no equals sign
--- more_headers
Cookie: __Host-session
--- response_headers
X-Status: none

=== TEST 5: another case of the name
--- session: alice
--- more_headers
Cookie: __host-session=$TEST_NGINX_TOKEN
--- response_headers
X-Status: none

=== TEST 6: the plain thing
--- session: alice
--- response_body chomp
alice
--- response_headers
X-Status: valid

=== TEST 7: twice, the same value
--- session: alice
--- more_headers
Cookie: __Host-session=$TEST_NGINX_TOKEN; __Host-session=$TEST_NGINX_TOKEN
--- response_body chomp
alice

=== TEST 8: two live sessions
--- session
alice
bob
--- more_headers
Cookie: __Host-session=$TEST_NGINX_TOKEN; __Host-session=$TEST_NGINX_TOKEN2
--- response_body chomp
--- response_headers
X-Status: duplicate

=== TEST 9: two Cookie lines, ours in the second
--- session: alice
--- more_headers
Cookie: a=b
Cookie: __Host-session=$TEST_NGINX_TOKEN
--- response_body chomp
alice

=== TEST 10: junk before ours
--- session: alice
--- more_headers
Cookie: __Host-session=junk; __Host-session=$TEST_NGINX_TOKEN
--- response_body chomp
alice

=== TEST 11: a comma separates nothing
--- session: alice
--- more_headers
Cookie: x=1,__Host-session=$TEST_NGINX_TOKEN
--- response_headers
X-Status: none

=== TEST 12: inside quotes, the closing one stays in the value
--- session: alice
--- more_headers
Cookie: x="a; __Host-session=$TEST_NGINX_TOKEN"
--- response_headers
X-Status: malformed

=== TEST 13: between quoted halves
--- session: alice
--- more_headers
Cookie: x="a; __Host-session=$TEST_NGINX_TOKEN; y"
--- response_body chomp
alice

=== TEST 14: a space before the equals sign
--- session: alice
--- more_headers
Cookie: __Host-session =$TEST_NGINX_TOKEN
--- response_headers
X-Status: none

=== TEST 15: a nameless cookie
--- session: alice
--- more_headers
Cookie: =__Host-session=$TEST_NGINX_TOKEN
--- response_headers
X-Status: none

=== TEST 16: a live one beside one that was ended
--- session
alice end=sign_out
bob
--- more_headers
Cookie: __Host-session=$TEST_NGINX_TOKEN; __Host-session=$TEST_NGINX_TOKEN2
--- response_body chomp
bob

=== TEST 17: a mangled prefix
--- session: alice
--- more_headers
Cookie: _[Host-session=$TEST_NGINX_TOKEN
--- response_headers
X-Status: none

=== TEST 18: a quoted value
--- session: alice
--- more_headers
Cookie: __Host-session="$TEST_NGINX_TOKEN"
--- response_headers
X-Status: malformed

=== TEST 19: a percent sign in the value
--- session: alice
--- more_headers
Cookie: __Host-session=%41$TEST_NGINX_TOKEN
--- response_headers
X-Status: malformed

=== TEST 20: a byte more
--- session: alice
--- more_headers
Cookie: __Host-session=$TEST_NGINX_TOKENa
--- response_headers
X-Status: malformed

=== TEST 21: 8 KiB
--- more_headers eval
"Cookie: __Host-session=" . ("A" x 8192)
--- http_config
large_client_header_buffers 4 16k;
--- response_headers
X-Status: malformed

=== TEST 22: the right length, no signature
--- more_headers eval
"Cookie: __Host-session=" . ("A" x 72)
--- response_headers_like
X-Status: (unknown_key|bad_signature)

=== TEST 23: alphabet of plain base64
--- more_headers eval
"Cookie: __Host-session=" . ("+/" x 36)
--- response_headers
X-Status: malformed

=== TEST 24: a form token as cookie
--- session: alice
--- more_headers
Cookie: __Host-session=$TEST_NGINX_CSRF
X-Token-Is-Not-Sent-As-Cookie: $TEST_NGINX_TOKEN
--- response_headers
X-Status: malformed

=== TEST 25: revoked
--- session: alice end=revoked
--- response_headers
X-Status: revoked

=== TEST 26: signed out
--- session: alice end=sign_out
--- response_headers
X-Status: revoked

=== TEST 27: past its lifetime
--- session: alice created=-101 seen=-60 lifetime=100
--- response_headers
X-Status: expired

=== TEST 28: within its lifetime
--- session: alice created=-50 seen=-1 lifetime=100
--- response_body chomp
alice

=== TEST 29: idle for too long
--- session: alice created=-600 seen=-301 idle=300
--- response_headers
X-Status: idle

=== TEST 30: idle, but not for too long
--- session: alice created=-400 seen=-200 idle=300
--- response_body chomp
alice

=== TEST 31: made ahead of our clock by more than five minutes
--- session: alice created=400
--- response_headers
X-Status: future

=== TEST 32: made ahead of our clock by less
--- session: alice created=200
--- response_body chomp
alice

=== TEST 33: signed, but in no store
--- session: unknown
--- response_headers
X-Status: revoked

=== TEST 34: thousands of other cookies before ours
--- session: alice
--- http_config
large_client_header_buffers 4 128k;
--- more_headers eval
my $junk = CORE::join "; ", map { "c$_=1" } 1 .. 8000;
"Cookie: $junk; __Host-session=\$TEST_NGINX_TOKEN"
--- response_body chomp
alice

=== TEST 35: in the query
--- session: alice
--- request
GET /t?__Host-session=$TEST_NGINX_TOKEN
--- more_headers
X-Cookie: none
--- response_headers
X-Status: none

=== TEST 36: of another realm
--- session: alice realm=other
--- response_headers_like
X-Status: bad_signature

=== TEST 37: in its own realm
--- session: alice realm=other
--- config
session_realm other;
location = /t { session on; return 200 "$session_user/$session_roles"; }
--- response_body chomp
alice/admin

=== TEST 38: session off: nothing is looked at
--- session: alice
--- config
location = /t { add_header X-Status "[$session_status]" always;
                return 200 "[$session_user]"; }
--- response_body chomp
[]
--- response_headers
X-Status: []

=== TEST 39: an attribute-like cookie changes nothing
--- session: alice
--- more_headers
Cookie: Path=/x; $Version=1; __Host-session=$TEST_NGINX_TOKEN; $Path=/
--- response_body chomp
alice
