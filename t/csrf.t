# vi:ft=perl

# What an unsafe request must prove, in this order: Sec-Fetch-Site, Origin, a
# token.  The dashboard is asked for an action that is none: 400 says that
# the request came through, 403 that it did not.

use strict;
use warnings;

use FindBin ();
use lib "$FindBin::Bin/lib";

use Test::Nginx::Socket;
use Session::Block;

repeat_each(2);
no_root_location();

my $form = 'Content-Type: application/x-www-form-urlencoded';

add_block_preprocessor(sub {
    my ($block) = @_;
    my $more = $block->more_headers // '';

    $block->set_value('config', ($block->config // '') . <<'END');

    location = /dashboard { session_page dashboard; }
    location = /sign_in { session_page sign_in; }
    location /socket { session_require user; root html; }
END
    $block->set_value('request', "POST /dashboard\naction=frob\n")
        if !defined $block->request;
    $block->set_value('session', 'alice') if !defined $block->session;
    $block->set_value('more_headers', "$form\n$more") if $more !~ /^Upgrade/m;
});

plan tests => repeat_each() * blocks();

run_tests();

__DATA__

=== TEST 1: nothing at all
--- error_code: 403



=== TEST 2: same-origin passes without a token
--- more_headers
Sec-Fetch-Site: same-origin
--- error_code: 400



=== TEST 3: same-origin decides before Origin
--- more_headers
Sec-Fetch-Site: same-origin
Origin: http://evil.example
--- error_code: 400



=== TEST 4: Sec-Fetch-Site: cross-site, all else right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Sec-Fetch-Site: cross-site
Origin: http://localhost
--- error_code: 403



=== TEST 5: Sec-Fetch-Site: same-site, all else right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Sec-Fetch-Site: same-site
Origin: http://localhost
--- error_code: 403



=== TEST 6: Sec-Fetch-Site: none, all else right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Sec-Fetch-Site: none
Origin: http://localhost
--- error_code: 403



=== TEST 7: Sec-Fetch-Site: Same-Origin, all else right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Sec-Fetch-Site: Same-Origin
Origin: http://localhost
--- error_code: 403



=== TEST 8: Sec-Fetch-Site: same-origin, same-origin, all else right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Sec-Fetch-Site: same-origin, same-origin
Origin: http://localhost
--- error_code: 403



=== TEST 9: Sec-Fetch-Site: same-originx, all else right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Sec-Fetch-Site: same-originx
Origin: http://localhost
--- error_code: 403



=== TEST 10: Sec-Fetch-Site: future-value, all else right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Sec-Fetch-Site: future-value
Origin: http://localhost
--- error_code: 403



=== TEST 11: Sec-Fetch-Site: same-origin same-origin, all else right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Sec-Fetch-Site: same-origin same-origin
Origin: http://localhost
--- error_code: 403



=== TEST 12: Sec-Fetch-Site without a value
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Sec-Fetch-Site:
Origin: http://localhost
--- error_code: 403



=== TEST 13: Sec-Fetch-Site twice
--- more_headers
Sec-Fetch-Site: same-origin
Sec-Fetch-Site: same-origin
--- error_code: 403



=== TEST 14: Sec-Fetch-Site twice, in two cases
--- more_headers
sec-fetch-site: same-origin
SEC-FETCH-SITE: cross-site
--- error_code: 403



=== TEST 15: our Origin
--- more_headers
Origin: http://localhost
--- error_code: 400



=== TEST 16: our Origin in capitals
--- more_headers
Origin: HTTP://LocalHost
--- error_code: 400



=== TEST 17: our Origin with the default port
--- more_headers
Origin: http://localhost:80
--- error_code: 400



=== TEST 18: the port is part of it
--- more_headers
Host: localhost:8443
Origin: http://localhost:8443
--- error_code: 400



=== TEST 19: the port is part of it: not the one we listen on
--- more_headers
Host: localhost:8443
Origin: http://localhost
--- error_code: 403



=== TEST 20: an IPv6 address
--- more_headers
Host: [::1]:8080
Origin: http://[::1]:8080
--- error_code: 400



=== TEST 21: Origin: https://localhost, token right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin: https://localhost
--- error_code: 403



=== TEST 22: Origin: http://localhost:8080, token right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin: http://localhost:8080
--- error_code: 403



=== TEST 23: Origin: http://evil.example, token right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin: http://evil.example
--- error_code: 403



=== TEST 24: Origin: http://localhost.evil.example, token right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin: http://localhost.evil.example
--- error_code: 403



=== TEST 25: Origin: http://localhost/, token right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin: http://localhost/
--- error_code: 403



=== TEST 26: Origin: http://a@localhost, token right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin: http://a@localhost
--- error_code: 403



=== TEST 27: Origin: http://localhost http://localhost, token right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin: http://localhost http://localhost
--- error_code: 403



=== TEST 28: Origin: null, token right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin: null
--- error_code: 403



=== TEST 29: Origin: file://, token right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin: file://
--- error_code: 403



=== TEST 30: Origin: //localhost, token right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin: //localhost
--- error_code: 403



=== TEST 31: Origin: localhost, token right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin: localhost
--- error_code: 403



=== TEST 32: Origin: http://, token right
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin: http://
--- error_code: 403



=== TEST 33: Origin without a value
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin:
--- error_code: 403



=== TEST 34: Origin twice
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- more_headers
Origin: http://localhost
Origin: http://localhost
--- error_code: 403



=== TEST 35: X-Forwarded-Proto is not read
--- more_headers
X-Forwarded-Proto: https
Origin: https://localhost
--- error_code: 403



=== TEST 36: X-Forwarded-Host is not read
--- more_headers
X-Forwarded-Host: evil.example
Origin: http://evil.example
--- error_code: 403



=== TEST 37: session_origin: that one
--- config
    session_origin https://app.example.com;
--- more_headers
Origin: https://app.example.com
--- error_code: 400



=== TEST 38: session_origin: not the Host
--- config
    session_origin https://app.example.com;
--- more_headers
Origin: http://localhost
--- error_code: 403



=== TEST 39: session_origin: the second
--- config
    session_origin https://a.example https://b.example:8443;
--- more_headers
Origin: https://b.example:8443
--- error_code: 400



=== TEST 40: session_origin auto
--- config
    session_origin auto;
--- more_headers
Origin: http://localhost
--- error_code: 400



=== TEST 41: a token in the form
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF
--- error_code: 400



=== TEST 42: a token in X-CSRF-Token
--- more_headers
X-CSRF-Token: $TEST_NGINX_CSRF
--- error_code: 400



=== TEST 43: a token in X-XSRF-TOKEN
--- more_headers
X-XSRF-TOKEN: $TEST_NGINX_CSRF
--- error_code: 400



=== TEST 44: the form decides
--- request
POST /dashboard
action=frob&_csrf=x
--- more_headers
X-CSRF-Token: $TEST_NGINX_CSRF
--- error_code: 403



=== TEST 45: an empty field leaves it to the header
--- request
POST /dashboard
action=frob&_csrf=
--- more_headers
X-CSRF-Token: $TEST_NGINX_CSRF
--- error_code: 400



=== TEST 46: X-CSRF-Token twice
--- more_headers
X-CSRF-Token: $TEST_NGINX_CSRF
X-CSRF-Token: $TEST_NGINX_CSRF
--- error_code: 403



=== TEST 47: X-CSRF-Token before X-XSRF-TOKEN
--- more_headers
X-XSRF-TOKEN: $TEST_NGINX_CSRF
X-CSRF-Token: x
--- error_code: 403



=== TEST 48: a token with more behind it
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF%41
--- error_code: 403



=== TEST 49: a token with less in front
--- request
POST /dashboard
action=frob&_csrf=A$TEST_NGINX_CSRF
--- error_code: 403



=== TEST 50: a token in the query
--- request
POST /dashboard?_csrf=$TEST_NGINX_CSRF
action=frob
--- error_code: 403



=== TEST 51: the session token is no form token
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_TOKEN
--- more_headers
Cookie: __Host-session=$TEST_NGINX_TOKEN
--- error_code: 403



=== TEST 52: another session's token
--- session
alice
alice
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_CSRF2
--- error_code: 403



=== TEST 53: a pre-session token is not for a session
--- request
POST /dashboard
action=frob&_csrf=$TEST_NGINX_PRE_CSRF
--- more_headers
Cookie: __Host-session=$TEST_NGINX_TOKEN; __Host-session-pre=$TEST_NGINX_PRE
--- error_code: 403



=== TEST 54: signing in: token and pre-session cookie
--- session:
--- request
POST /sign_in
login=&password=&_csrf=$TEST_NGINX_PRE_CSRF
--- more_headers
Cookie: __Host-session-pre=$TEST_NGINX_PRE
--- error_code: 400



=== TEST 55: signing in: the cookie is missing
--- session:
--- request
POST /sign_in
login=&password=&_csrf=$TEST_NGINX_PRE_CSRF
--- error_code: 403



=== TEST 56: signing in: another cookie
--- session:
--- request
POST /sign_in
login=&password=&_csrf=$TEST_NGINX_PRE_CSRF
--- more_headers
Cookie: __Host-session-pre=$TEST_NGINX_PRE_CSRF
--- error_code: 403



=== TEST 57: signing in: the token is missing
--- session:
--- request
POST /sign_in
login=&password=
--- more_headers
Cookie: __Host-session-pre=$TEST_NGINX_PRE
--- error_code: 403



=== TEST 58: signing in from another site
--- session:
--- request
POST /sign_in
login=&password=&_csrf=$TEST_NGINX_PRE_CSRF
--- more_headers
Cookie: __Host-session-pre=$TEST_NGINX_PRE
Origin: http://evil.example
--- error_code: 403



=== TEST 59: signing in from our own form
--- session:
--- request
POST /sign_in
login=&password=
--- more_headers
Sec-Fetch-Site: same-origin
--- error_code: 400



=== TEST 60: a handshake without a word passes
--- request
GET /socket
--- more_headers
Upgrade: websocket
Connection: close, Upgrade
--- error_code: 404



=== TEST 61: a handshake from our origin
--- request
GET /socket
--- more_headers
Upgrade: websocket
Connection: close, Upgrade
Origin: http://localhost
--- error_code: 404



=== TEST 62: a handshake from another origin
--- request
GET /socket
--- more_headers
Upgrade: websocket
Connection: close, Upgrade
Origin: http://evil.example
--- error_code: 403



=== TEST 63: a handshake from no origin
--- request
GET /socket
--- more_headers
Upgrade: websocket
Connection: close, Upgrade
Origin: null
--- error_code: 403



=== TEST 64: a handshake from another site
--- request
GET /socket
--- more_headers
Upgrade: websocket
Connection: close, Upgrade
Sec-Fetch-Site: cross-site
Origin: http://localhost
--- error_code: 403



=== TEST 65: a handshake of nobody
--- session:
--- request
GET /socket
--- more_headers
Upgrade: websocket
Connection: close, Upgrade
Origin: http://localhost
--- error_code: 401



=== TEST 66: signing in: the token in a header, the cookie is missing
--- session:
--- request
POST /sign_in
login=&password=
--- more_headers
X-CSRF-Token: $TEST_NGINX_PRE_CSRF
--- error_code: 403
