# vi:ft=perl

# session_forward: the identity headers an application gets, and the one
# thing it must never get, a client's.  What other protocols and other ways
# through nginx deliver stands in flow/forward.t.

use strict;
use warnings;

use FindBin ();
use lib "$FindBin::Bin/lib";

use Test::Nginx::Socket;
use Session::Block;

repeat_each(2);
no_root_location();

# What the application behind sees.

my $seen = join ' ', map({ "$_=\$http_x_session_$_" }
                         qw(user id name roles ref)), 'cookie=$http_cookie';

add_block_preprocessor(sub {
    my ($block) = @_;

    $block->set_value('http_config', ($block->http_config // '') . <<"END");

    server {
        listen \$TEST_NGINX_RAND_PORT_1;
        underscores_in_headers on;
        ignore_invalid_headers off;
        location / { return 200 "$seen"; }
    }
    underscores_in_headers on;
    ignore_invalid_headers off;
    proxy_set_header Connection close;
END
});

plan tests => repeat_each() * (2 * blocks());

run_tests();

__DATA__

=== TEST 1: somebody signed in
--- config
    location / { session on; proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- session: carol
--- request
GET /
--- response_body_like: ^user=carol id=[0-9a-f]{16} name=Carol Clark roles=admin,auditor ref=[\w-]{12} cookie=$



=== TEST 2: the reference is the public one
--- config
    location / { session on; proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- session: carol
--- request
GET /
--- response_body_like: .*ref=$TEST_NGINX_REF cookie=$



=== TEST 3: what is empty is not sent
--- config
    location / { session on; proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- session: alice
--- request
GET /
--- response_body_like: ^user=alice id=[0-9a-f]{16} name=Alice Adams roles= ref=



=== TEST 4: nobody signed in
--- config
    location / { session on; proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request
GET /
--- response_body: user= id= name= roles= ref= cookie=



=== TEST 5: nobody signed in who says so
--- config
    location / { session on; proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request
GET /
--- more_headers
X-Session-User: carol
X_Session_Id: 1
x-SESSION-name: Carol
X-Session_Roles: admin
X.Session.Ref: abc
--- response_body: user= id= name= roles= ref= cookie=



=== TEST 6: somebody signed in who says more
--- config
    location / { session on; proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- session: alice
--- request
GET /
--- more_headers
X-Session-User: carol
X_Session_Roles: admin
X-Session-Roles: admin
--- response_body_like: ^user=alice id=[0-9a-f]{16} name=Alice Adams roles= ref=



=== TEST 7: an ended session is nobody's
--- config
    location / { session on; proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- session: alice end=revoked
--- request
GET /
--- response_body: user= id= name= roles= ref= cookie=



=== TEST 8: a session of another realm is nobody's
--- config
    session_realm other;
    location / { session on; proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- session: alice
--- request
GET /
--- response_body: user= id= name= roles= ref= cookie=



=== TEST 9: session_require forwards too
--- config
    location / { session_require user; proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- session: bob
--- request
GET /
--- response_body_like: ^user=bob .* roles=auditor ref=



=== TEST 10: off says nothing
--- config
    location / {
        session on;
        session_forward off;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- session: bob
--- request
GET /
--- more_headers
X-Session-User: carol
X_Session_Roles: admin
--- response_body: user= id= name= roles= ref= cookie=



=== TEST 11: off is inherited
--- http_config
    session_forward off;
--- config
    location / { session on; proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- session: bob
--- request
GET /
--- response_body: user= id= name= roles= ref= cookie=



=== TEST 12: headers below an off
--- config
    session_forward off;
    location / {
        session on;
        session_forward headers;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- session: bob
--- request
GET /
--- response_body_like: ^user=bob



=== TEST 13: where session is off nothing is touched
--- config
    location / { proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- session: bob
--- request
GET /
--- more_headers
X-Session-User: carol
Cookie: __Host-session=$TEST_NGINX_TOKEN
--- response_body_like: ^user=carol id= name= roles= ref= cookie=__Host-session=$TEST_NGINX_TOKEN$



=== TEST 14: other cookies stay
--- config
    location / { session on; proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- session: bob
--- request
GET /
--- more_headers
Cookie: a=1; __Host-session=$TEST_NGINX_TOKEN; b="x y"; __Host-session-pre=p; c=3
--- response_body_like: ^user=bob .* cookie=a=1; b="x y"; c=3$



=== TEST 15: a cookie that is no good goes as well
--- config
    location / { session on; proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request
GET /
--- more_headers
Cookie: __Host-session=junk; a=1
--- response_body: user= id= name= roles= ref= cookie=a=1



=== TEST 16: twice in one place
--- config
    session_forward off;
    session_forward headers;
--- must_die
--- error_log: "session_forward" directive is duplicate in



=== TEST 17: another value
--- config
    session_forward cookies;
--- must_die
--- error_log: invalid value "cookies" in
