# Signing in, from the form to every worker: what a session is worth before
# and after, forgery, return-to, answers that must be alike, throttle.

use strict;
use warnings;

use lib 't/lib';
use MIME::Base64 ();
use Session::Flow;
use Session::SignIn;
use Test::More;

my $password = $Session::World::password;
my $cookie = $Session::World::cookie;
my $t = Session::Flow->new(workers => 3, users => [
    'alice::Alice Adams', 'bob:auditor:Bob Brown', 'erin',
    'dave::Dave Davis::disabled', "spaces:::  sixteen spaces  ",
    "long:::" . 'x' x 1024,
]);

$t->write_file('html/private', "secret\n");
$t->write_file('html/settings', "settings\n");

sub configure {
    my ($http, $server) = @_;

    $t->write_file_expand('nginx.conf', configuration(
        listen => 'reuseport', http => $http, server => $server));
}

my $wide = 'session_throttle account=10000r/15m address=10000r/15m;';

configure($wide, 'session_return https://app.example.com;');
$t->run;

my $workers = each_worker($t);


# ------------------------------------------------------------ one round ---

{
    my $c = $t->client;
    my $r = $c->get('/private', Accept => 'text/html');

    is $r->code, 302, 'anonymous: to sign-in';

    my $form = $c->follow($r, Accept => 'text/html');

    is $form->code, 200, 'the form';
    is $form->header('Cache-Control'), 'no-store', 'no cache keeps it';
    ok $c->cookie("$cookie-pre"), 'the form sets the pre-session cookie';
    is $form->header('Set-Cookie') =~ tr/,//, 0, 'and only that';

    $r = sign_in($c, 'alice', $password, { return_to => '/private' });
    is $r->code, 303, 'signed in';
    is $r->header('Location'), '/private', 'and back';
    is $r->header('Cache-Control'), 'no-store', 'no cache keeps the cookie';
    is $c->cookie("$cookie-pre"), undef, 'the pre-session cookie goes';

    my ($set) = grep { /\A\Q$cookie\E=/ } $r->header('Set-Cookie');
    my ($device) = grep { /\A\Q$cookie\E-device=/ } $r->header('Set-Cookie');

    like $set, qr/\A\Q$cookie\E=[A-Za-z0-9_-]{72};\ Max-Age=604800;
                  [^,]*Path=\/[^,]*/x, 'session cookie';

    for ($set, $device) {
        like $_, qr/; HttpOnly/, 'HttpOnly';
        like $_, qr/; Secure/, 'Secure';
        like $_, qr/; SameSite=Lax/, 'SameSite';
        unlike $_, qr/; Domain/, 'no Domain';
    }

    is $c->follow($r)->body, "secret\n", 'it opens';
    is private_by_worker($workers, $c->cookie($cookie), 200), '',
        'on every worker';

    $r = $c->get('/sign_in?return_to=/settings', Accept => 'text/html');
    is $r->code, 303, 'the form for somebody signed in';
    is $r->header('Location'), '/settings', 'leads on';

    $r = $c->get('/sign_in?fresh=1&return_to=/settings',
                 Accept => 'text/html');
    is $r->code, 200, 'unless the password is wanted once more';
    like $r->body, qr/name="login" value="alice"/, 'the login is filled in';

    my $old = $c->cookie($cookie);

    $r = $c->form('/sign_in?fresh=1&return_to=/settings',
                  { login => 'alice', password => $password });
    is $r->code, 303, 'given once more';
    is $r->header('Location'), '/settings', 'and on';
    isnt $c->cookie($cookie), $old, 'a new session';
    is private_by_worker($workers, $old, 401), '', 'the old one is over';
    is private_by_worker($workers, $c->cookie($cookie), 200), '',
        'the new one is not';

    $r = $c->form('/sign_out', {});
    is $r->code, 303, 'signed out';
    is $c->cookie($cookie), undef, 'the cookie goes';
}


# ------------------------------------------------------------- fixation ---

{
    my $planted = $t->session('bob')->{token};
    my $c = $t->client;

    $c->cookie($cookie, $planted);

    my $r = $c->form('/sign_in?fresh=1',
                     { login => 'alice', password => $password });

    is $r->code, 303, 'signed in over somebody else\'s session';
    isnt $c->cookie($cookie), $planted, 'not with its id';
    is private_by_worker($workers, $planted, 401), '', 'which is over';

    my $unknown = Session::World::unknown($t->world)->{token};

    $c = $t->client;
    $c->cookie($cookie, $unknown);
    $r = sign_in($c, 'alice');
    is $r->code, 303, 'signed in with a token that has no session';
    isnt $c->cookie($cookie), $unknown, 'which is not taken over';
    is private_by_worker($workers, $unknown, 401), '', 'and is worth nothing';
}


# -------------------------------------------------------------- forgery ---

# 6 x 6 x 6.  Without login and password, so whatever passes is 400.

{
    my ($pre, $csrf) = Session::World::before($t->world);
    my (undef, $other) = Session::World::before($t->world);
    my $port = $t->port(8080);
    my $own = "http://localhost:$port";
    my $c = $t->client;

    $c->cookie("$cookie-pre", $pre);

    my %site = (none => undef, 'same-origin' => 'same-origin',
                'same-site' => 'same-site', 'cross-site' => 'cross-site',
                user => 'none', odd => 'Same-Origin');
    my %origin = (none => undef, own => $own, null => 'null',
                  host => 'http://evil.example',
                  port => 'http://localhost:1',
                  suffix => "$own.evil.example");
    my %token = (none => [], own => [_csrf => $csrf],
                 other => [_csrf => $other],
                 short => [_csrf => substr $csrf, 0, 85],
                 flipped => [_csrf => flip($csrf)], header => $csrf);

    for my $site (sort keys %site) {
        for my $origin (sort keys %origin) {
            my @wrong;

            for my $token (sort keys %token) {
                my $passes = $site ne 'none' ? $site eq 'same-origin'
                           : $origin ne 'none' ? $origin eq 'own'
                           : $token eq 'own' || $token eq 'header';
                my $field = ref $token{$token} ? $token{$token} : [];
                my $r = $c->post('/sign_in', $field,
                    Accept => 'application/json', Origin => $origin{$origin},
                    'Sec-Fetch-Site' => $site{$site},
                    $token eq 'header' ? ('X-CSRF-Token' => $csrf) : ());

                push @wrong, "$token=" . $r->code
                    if $r->code != ($passes ? 400 : 403);
            }

            is "@wrong", '', "Sec-Fetch-Site $site, Origin $origin";
        }
    }

    my ($one, $two) = map {
        $c->get('/sign_in', Accept => 'text/html')->body
            =~ /name="_csrf" value="([^"]{43})/
    } 1, 2;

    isnt $one, $two, 'a token has a mask of its own each time';

    my $r = $c->post('/sign_in', { _csrf => $csrf }, Cookie => '',
                     Accept => 'application/json');
    is $r->code, 403, 'the token without its cookie';
    like $r->body, qr/"error":"cookie"/, 'which is what the page says';

    $r = $c->post('/sign_in', { _csrf => $csrf }, Cookie => '',
                  Origin => $own, Accept => 'text/html');
    is $r->code, 403, 'without the cookie, but from our origin';
    like $r->body, qr/session_cookie session secure=off/, 'what to do';

    $r = $c->post('/sign_in', { _csrf => $csrf }, Cookie => '',
                  'Sec-Fetch-Site' => 'cross-site', Accept => 'text/html');
    unlike $r->body, qr/secure=off/, 'another site learns nothing';
    is $r->header('Set-Cookie'), undef, 'and sets nothing';

    my $session = $t->session('alice');

    $r = $c->post('/sign_in', { _csrf => $session->{csrf} });
    is $r->code, 403, 'a session\'s token before sign-in';

    $c->cookie($cookie, $session->{token});
    $r = $c->post('/sign_in', { _csrf => $csrf });
    is $r->code, 403, 'a token from before sign-in after it';

    $r = $c->post('/sign_in', { _csrf => $session->{csrf} });
    is $r->code, 400, 'the session\'s own';
}


sub flip {
    my ($token) = @_;
    my $byte = substr $token, 50, 1;

    substr $token, 50, 1, $byte eq 'A' ? 'B' : 'A';

    return $token;
}


# ------------------------------------------------------------ return-to ---

{
    my $c = $t->signed_in('alice');
    my @bad = qw(//evil /\\evil \\/\\/evil /%09/evil https:evil ///evil
                 /%5cevil /%5Cevil javascript:alert(1) @evil
                 /x%0d%0aSet-Cookie:a http://evil/ https://app.example.com.evil/
                 https://app.example.com@evil/ /.//evil /../x /%2e%2e/x evil);
    my %query = (encoded => sub { Session::Client::encode_form(
                                      { return_to => $_[0] }) },
                 raw => sub { "return_to=$_[0]" });

    push @bad, 'data:text/html,x', '/ /evil', '/x' . 'y' x 4096, '',
        "/x\r\nSet-Cookie: a=b", "/x\0y", "/x\x{7f}";

    for my $way (sort keys %query) {
        for my $bad (@bad) {
            next if $way eq 'raw' && $bad =~ /[^\x21-\x7e]/;

            my $query = $query{$way}->($bad);
            my $r = $c->get("/sign_in?$query", Accept => 'text/html');
            my $text = length $bad > 40 ? 'a long one' : $bad;

            $text =~ s/([^\x20-\x7e])/sprintf '\\x%02x', ord $1/ge;

            is join(' ', $r->code, $r->header('Location')), '303 /',
                "$way $text";
        }
    }

    is $c->get('/sign_in?return_to=/x' . 'y' x 8192)->code, 414,
        '8 KiB are too long for a request line';

    for my $bad (@bad, '/x' . 'y' x 8192) {
        my $text = length $bad > 40 ? length($bad) . ' bytes' : $bad;
        my $r = sign_in($t->client, 'bob', $password, { return_to => $bad });

        $text =~ s/([^\x20-\x7e])/sprintf '\\x%02x', ord $1/ge;

        is join(' ', $r->code, $r->header('Location')), '303 /',
            "in the form: $text";
    }

    my $r = $c->get('/sign_in?return_to=/a&return_to=/b');

    is $r->header('Location'), '/', 'twice';

    $r = $c->get('/sign_in?return_to=/settings%3Fa%3Db%23c');
    is $r->header('Location'), '/settings?a=b#c', 'query and fragment';

    $r = $c->get('/sign_in?return_to=https://app.example.com/x');
    is $r->header('Location'), '/', 'another origin, signed in already';

    $c = $t->client;
    $r = sign_in($c, 'alice', $password,
                 { return_to => 'https://app.example.com/x' });
    is $r->header('Location'), 'https://app.example.com/x',
        'another origin that may be named';

    $c = $t->client;
    $r = sign_in($c, 'alice', $password, { return_to => '//evil/' });
    is $r->header('Location'), '/', 'a form that was tampered with';

    $c = $t->client;
    $r = $c->get('/sign_in?return_to=' . '/a%22%3E%3Cb', Accept => 'text/html');
    unlike $r->body, qr/"><b/, 'escaped in the form';
}


# --------------------------------------------------------------- alike ---

{
    my %answer;

    for my $login (qw(alice dave nobody)) {
        for my $json (0, 1) {
            my $c = $t->client;
            my $r = sign_in($c, $login, 'wrong password, and long enough', {},
                $json ? (Accept => 'application/json')
                      : (Accept => 'text/html'));

            is $r->code, 401, "$login, wrong password, json $json";
            is $r->header('WWW-Authenticate'), undef, 'no window asks';
            unlike $r->body, qr/long enough/, 'the password is not shown';
            $answer{$json}{$login} = plain($r, $login);
        }
    }

    for my $json (0, 1) {
        is $answer{$json}{dave}, $answer{$json}{alice}, "disabled, $json";
        is $answer{$json}{nobody}, $answer{$json}{alice}, "unknown, $json";
    }

    my $c = $t->client;
    my $r = sign_in($c, 'dave', $password);

    is plain($r, 'dave'), $answer{0}{alice}, 'disabled, right password';
    is $c->cookie($cookie), undef, 'no session';

    my $from = $t->log_size;

    sign_in($c, "a\"b\\c\nd\x{7f}\x{c3}\x{a9} from 6.6.6.6, realm \"x\"", 'x');
    ok $t->wait_log(qr/session:\ sign-in\ failed\ for\ "a\\x22b\\x5cc\\x0ad
                       \\x7f\\xc3\\xa9\ from\ 6\.6\.6\.6,\ realm\ \\x22x\\x22"
                       \ from\ 127\.0\.0\.1,\ realm\ "default"/x, $from),
        'one line of a fixed form, nothing in it gets out';
    unlike $t->log, qr/long enough/, 'no password in the log';
    unlike $t->log, qr/\Q$password\E/, 'no right one either';
}


# What must be equal: status line, headers and body, but for what is random.

sub plain {
    my ($r, $login) = @_;
    my $text = $r->raw . "\n" . $r->body;

    $text =~ s/^(?:Date|X-Worker): .*\r\n//mg;
    $text =~ s/nonce-[A-Za-z0-9+\/=]+/nonce/g;
    $text =~ s/nonce="[^"]*"/nonce/g;
    $text =~ s/name="_csrf" value="[^"]*"/token/g;
    $text =~ s/value="\Q$login\E"/login/g;
    $text =~ s/^Content-Length: .*\r\n//mg;

    return $text;
}


# ------------------------------------------------------------ passwords ---

for (['spaces', 'sixteen spaces', 401, 'spaces at the ends count'],
     ['spaces', '  sixteen spaces  ', 303, 'and are kept'],
     ['long', 'x' x 1024, 303, '1024 bytes'],
     ['long', 'x' x 1023 . 'y', 401, 'the last of them counts'],
     ['long', 'x' x 1025, 413, '1025 bytes'],
     ['long', '', 400, 'none'],
     ['', $password, 400, 'no login'],
     ['alice', "$password\0", 401, 'a NUL counts'],
     ['alice', "$password\0x", 401, 'and what is behind it'],
     ['alice', uc $password, 401, 'case counts'],
     ['ALICE', $password, 303, 'but not that of the login'],
     ['alice ', $password, 401, 'a space in the login does'],
     ["alice\0", $password, 401, 'so does a NUL'],
     ['x' x 4000, $password, 401, 'a login that cannot be'])
{
    my ($login, $given, $code, $name) = @$_;

    is sign_in($t->client, $login, $given)->code, $code, $name;
}


# ------------------------------------------------------------ pipelined ---

# The second request came with the cookies of before, and is judged by them.

{
    my ($pre, $csrf) = Session::World::before($t->world);
    my $c = $t->client;

    $c->cookie("$cookie-pre", $pre);
    $c->{csrf} = $csrf;
    $c->open;
    $c->send(attempt($c, 'alice', $password)
             . $c->format('GET', '/private', Accept => 'application/json'));

    is $c->receive->code, 200, 'pipelined: the sign-in';
    is $c->receive->code, 401, 'the request behind it, without its cookie';
    is $c->get('/private')->code, 200, 'the one after';
}


# ------------------------------------------------------------- throttle ---

configure('session_throttle account=3r/15m address=1000r/15m;', '');
$t->reload;

{
    my $known = $t->client;

    is sign_in($known, 'bob')->code, 303, 'a browser that bob knows';

    my $token = $known->cookie($cookie);

    is sign_in($t->client, 'erin')->code, 303, "success $_ is not counted"
        for 1 .. 5;

    my $from = $t->log_size;

    for my $n (1 .. 3) {
        is sign_in($t->client, $_, 'wrong')->code, 401, "$_, wrong, $n"
            for qw(bob nobody);
    }

    for my $login (qw(bob BOB nobody)) {
        my $c = $t->client;
        my $r = sign_in($c, $login);

        is $r->code, 429, "$login is throttled, whatever the password";
        like $r->header('Retry-After'), qr/\A[1-9]\d{0,2}\z/, 'for so long';
        like $r->body, qr/name="password"/, 'the form again';
        is $c->cookie($cookie), undef, 'no session';
    }

    ok $t->wait_log(qr/session: sign-in throttled for "bob" from/, $from),
        'in the log';

    my $r = sign_in($t->client, 'bob', 'x', {}, Accept => 'application/json');

    is $r->code, 429, 'JSON';
    like $r->body, qr/"error":"too_many_requests"/, 'says so too';

    is sign_in($t->client, 'erin')->code, 303, 'others are not';

    $known->forget($cookie);
    is sign_in($known, 'bob')->code, 303, 'nor is the browser bob knows';
    is private_by_worker(each_worker($t), $token, 200), '',
        'sessions that exist go on';

    sign_in($t->client, 'alice', 'wrong') for 1 .. 3;

    for my $login (qw(nobody alice)) {
        my $stranger = $t->client;

        $stranger->cookie("$cookie-device", $known->cookie("$cookie-device"));
        is sign_in($stranger, $login)->code, 429,
            "bob's device is no use with the login $login";
    }

    is sign_in($t->client, 'dave')->code, 401, "disabled, $_" for 1 .. 3;
    is sign_in($t->client, 'dave')->code, 429,
        'the right password of somebody disabled is a failure too';
}


# ---------------------------------------------------------------- audit ---

# One event for all failures of a login from one address in a minute, or two.

ok $t->wait_for(sub {
    my @events = grep { /"type":2,/ && /"login":"alice"/ }
                 split /\n/, scalar $t->sessionctl('dump');
    my $n = 0;

    $n += /"count":(\d+)/ ? $1 : 1 for @events;

    return $n >= 5;
}), 'failures are on record';


# -------------------------------------------------------------- upgrade ---

configure("$wide session_hash memory=20m passes=3;", '');
$t->reload;

{
    my $hash = sub { ($t->sessionctl('dump') =~ /"login":"erin".*?
                      (m=\d+,t=\d+)/x)[0] // 'none' };

    is $hash->(), 'm=19456,t=2', 'a hash with the parameters of before';
    is sign_in($t->client, 'erin', 'wrong')->code, 401, 'a wrong password';
    is $hash->(), 'm=19456,t=2', 'changes nothing';

    my $c = $t->client;

    is sign_in($c, 'erin')->code, 303, 'the right one';
    is $hash->(), 'm=20480,t=3', 'upgrades it';
    is $c->get('/private')->code, 200, 'the session of the upgrade lives';
    is sign_in($t->client, 'erin')->code, 303, 'the password is still right';
}

$t->done;
