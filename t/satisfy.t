# session_require beside allow, deny and auth_basic, under both kinds of
# satisfy.  alice:secret in base64 is YWxpY2U6c2VjcmV0.

use Test::Nginx::Socket;
use lib 't/lib';
use Session::Block;

my $passwords = "x:{PLAIN}y\nalice:{PLAIN}secret\n";

add_block_preprocessor(sub {
    my ($block) = @_;

    $block->set_value('user_files', ">>> t\nsecret\n>>> passwd\n$passwords");
    $block->set_value('request', 'GET /t');
    $block->set_value('config', "location /t {\n" . $block->rules
                      . "\nroot html;\n}\n"
                      . "location = /sign_in { session_page sign_in; }\n");
});

Test::Nginx::Socket::known_sections('rules')
    if $Test::Nginx::Socket::StandIn;

repeat_each(2);
plan 'no_plan';
run_tests();

__DATA__

=== TEST 1: all: allowed address, no session
--- rules
allow all; session_require user;
--- error_code: 401

=== TEST 2: all: allowed address and session
--- rules
allow all; session_require user;
--- session: alice
--- response_body
secret

=== TEST 3: all: denied address, session
--- rules
deny all; session_require user;
--- session: alice
--- error_code: 403
--- error_log
access forbidden by rule

=== TEST 4: any: denied address, no session
--- rules
satisfy any; deny all; session_require user;
--- error_code: 401

=== TEST 5: any: denied address, session
--- rules
satisfy any; deny all; session_require user;
--- session: alice
--- response_body
secret

=== TEST 6: any: allowed address, no session
--- rules
satisfy any; allow all; session_require user;
--- response_body
secret

=== TEST 7: any: a location that requires nothing is not opened by us
--- rules
session on; satisfy any; deny all;
--- session: alice
--- error_code: 403
--- error_log
access forbidden by rule

=== TEST 8: any: off requires nothing and opens nothing
--- rules
session_require off; satisfy any; deny all;
--- session: alice
--- error_code: 403
--- error_log
access forbidden by rule

=== TEST 9: all: password and session, password missing
--- rules
auth_basic x; auth_basic_user_file $TEST_NGINX_HTML_DIR/passwd; session_require user;
--- session: alice
--- error_code: 401
--- response_headers
WWW-Authenticate: Basic realm="x"

=== TEST 10: all: password and session
--- rules
auth_basic x; auth_basic_user_file $TEST_NGINX_HTML_DIR/passwd; session_require user;
--- session: alice
--- more_headers
Authorization: Basic YWxpY2U6c2VjcmV0
--- response_body
secret

=== TEST 11: all: password, no session: our refusal carries no challenge
--- rules
auth_basic x; auth_basic_user_file $TEST_NGINX_HTML_DIR/passwd; session_require user;
--- more_headers
Authorization: Basic YWxpY2U6c2VjcmV0
--- error_code: 401
--- response_headers
! WWW-Authenticate

=== TEST 12: any: password or session, neither, a program
--- rules
satisfy any; auth_basic x; auth_basic_user_file $TEST_NGINX_HTML_DIR/passwd;
session_require user;
--- error_code: 401
--- response_headers
WWW-Authenticate: Basic realm="x"

=== TEST 13: any: password or session, neither, a navigation
--- rules
satisfy any; auth_basic x; auth_basic_user_file $TEST_NGINX_HTML_DIR/passwd;
session_require user;
--- more_headers
Sec-Fetch-Mode: navigate
--- error_code: 302
--- response_headers
! WWW-Authenticate
Location: /sign_in?return_to=/t

=== TEST 14: any: password or session, password
--- rules
satisfy any; auth_basic x; auth_basic_user_file $TEST_NGINX_HTML_DIR/passwd;
session_require user;
--- more_headers
Authorization: Basic YWxpY2U6c2VjcmV0
--- response_body
secret

=== TEST 15: any: password or session, session
--- rules
satisfy any; auth_basic x; auth_basic_user_file $TEST_NGINX_HTML_DIR/passwd;
session_require user;
--- session: alice
--- response_body
secret
--- response_headers
! WWW-Authenticate

=== TEST 16: any: password or role, session without the role
--- rules
satisfy any; auth_basic x; auth_basic_user_file $TEST_NGINX_HTML_DIR/passwd;
session_require role=admin;
--- session: alice
--- error_code: 403
--- response_headers
! WWW-Authenticate

=== TEST 17: any: denied address, auth_basic and session, all fail
--- rules
satisfy any; deny all; auth_basic x; auth_basic_user_file $TEST_NGINX_HTML_DIR/passwd;
session_require user;
--- error_code: 401
