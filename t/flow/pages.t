# What takes more than one request: the dashboard's buttons, assets at the URI
# a page gives, a new style after a reload, and a body that comes in pieces.

use strict;
use warnings;

use FindBin ();
use lib "$FindBin::Bin/../lib";

use Session::Flow ();
use Test::More;

my $t = Session::Flow->new(workers => 2);

$t->write_file_expand('nginx.conf', <<'END');
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    server {
        listen 127.0.0.1:%%PORT_8080%% reuseport;
        session_templates %%TESTDIR%%/pages;
        location = /dashboard { session_page dashboard; }
        location = /sign_in { session_page sign_in; }
        location = /sign_out { session_page sign_out; }
        location = /-/actor.json { session_page actor; }
        location /-/assets/ { session_page assets; }
    }
}
END

$t->write_file('pages/session.css', "p { color: red }\n");
$t->run;


# A client with a session of this user, and the session.

sub somebody {
    my ($login) = @_;
    my $session = $t->session($login);
    my $c = $t->client;

    $c->cookie('__Host-session', $session->{token});

    return $c, $session;
}


sub login {
    my ($c) = @_;
    my $r = $c->get('/-/actor.json');

    return $r->body =~ /"login":"([^"]+)"/ ? $1 : '';
}


# end one: it is over for both workers before the answer

{
    my ($here) = somebody('alice');
    my ($there, $other) = somebody('alice');
    my ($third) = somebody('alice');

    is login($there), 'alice', 'the other session lives';

    my $page = $here->get('/dashboard', Accept => 'text/html');
    my ($csrf) = $page->body =~ /name="_csrf" value="([^"]+)"/;
    my $refs = () = $page->body =~ /name="ref"/g;

    is $refs, 2, 'each other session has a button, ours has none';
    like $page->body, qr/name="ref" value="\Q$other->{ref}\E"/, 'by its ref';

    my %end = (_csrf => $csrf, action => 'end', ref => $other->{ref});
    my $r = $here->post('/dashboard', \%end);

    is $r->code, 303, 'ended';
    is $r->header('Location'), '/dashboard?notice=ended', 'and back';
    is login($t->client(jar => $there->{jar})), '', 'the other one is over'
        for 1 .. 8;
    is login($third), 'alice', 'the third is not';

    like $here->follow($r)->body,
        qr/That session has ended\..*<span class="count">2</s, 'the page says';

    $r = $here->post('/dashboard', \%end);
    is $r->header('Location'), '/dashboard?notice=gone', 'once more: gone';

    $r = $here->post('/dashboard', \%end, Accept => 'application/json');
    is $r->code, 404, 'once more, in JSON';

    # end the others

    $r = $here->post('/dashboard', { _csrf => $csrf, action => 'end_others' });
    is $r->header('Location'), '/dashboard?notice=others', 'ended the others';
    is login($third), '', 'the third is over';
    is login($here), 'alice', 'ours is not';

    # end this one

    my ($ref) = $here->get('/-/actor.json')->body =~ /"ref":"([^"]+)"/;

    $r = $here->post('/dashboard', { %end, ref => $ref });
    is $r->code, 303, 'ended ours';
    is $r->header('Location'), '/sign_out', 'to where one is signed out';
    is $r->header('Clear-Site-Data'), '"cache"', 'with an empty cache';
    is $here->cookie('__Host-session'), undef, 'and no cookie';
    like $here->follow($r, Accept => 'text/html')->body,
        qr/You are signed out/, 'which it says';
}


# one may end one's own only

{
    my ($bob, $b) = somebody('bob');
    my ($alice, $a) = somebody('alice');
    my $r = $bob->post('/dashboard', { _csrf => $b->{csrf}, action => 'end',
                                       ref => $a->{ref} });

    is $r->header('Location'), '/dashboard?notice=gone', 'not found';
    is login($alice), 'alice', 'and not ended';

    my ($more) = somebody('alice');

    $r = $bob->post('/dashboard', { _csrf => $b->{csrf},
                                    action => 'end_others' },
                    Accept => 'application/json');
    is $r->body, '{"ended":0}', 'others are the user\'s own';
    is login($more), 'alice', 'not anybody else\'s';

    $r = $alice->post('/dashboard', { _csrf => $a->{csrf},
                                      action => 'end_others' },
                      Accept => 'application/json');
    cmp_ok $r->body =~ /(\d+)/ && $1, '>=', 1, 'JSON says how many';
}


# a body in pieces, and a client that goes away in the middle of one

{
    my ($c, $s) = somebody('carol');
    my $body = "action=frob&_csrf=$s->{csrf}";
    my $bytes = $c->format('POST', '/dashboard',
        'Content-Type' => 'application/x-www-form-urlencoded', body => $body);

    $c->open;
    $c->send($_) for $bytes =~ /(.{1,7})/gs;
    is $c->receive->code, 400, 'read in pieces';

    $c->open;
    $c->send(substr $bytes, 0, length($bytes) - 5);
    $c->reset;
    is login($t->client(jar => $c->{jar})), 'carol', 'nobody was hurt';
}


# two requests sent at once: the second is not taken for the body's rest

{
    my ($c, $s) = somebody('carol');
    my $post = $c->format('POST', '/dashboard',
        'Content-Type' => 'application/x-www-form-urlencoded',
        body => "action=frob&_csrf=$s->{csrf}");

    $c->open;
    $c->send($post . $c->format('GET', '/-/actor.json'));
    is $c->receive->code, 400, 'the first';
    like $c->receive->body, qr/"login":"carol"/, 'and the second';
}


# assets: as they are, for ever, and elsewhere when they change

{
    my $c = $t->client;
    my $page = $c->get('/sign_out', Accept => 'text/html')->body;
    my ($css) = $page =~ m{href="(/-/assets/[^"]+/session.css)"};
    my ($svg) = $page =~ m{href="(/-/assets/[^"]+/logo.svg)"};
    my $r = $c->get($css);

    is $r->code, 200, 'the style';
    is $r->body, "p { color: red }\n", 'of the directory';
    is $r->header('Content-Type'), 'text/css; charset=utf-8', 'its type';
    is $r->header('Cache-Control'), 'public, max-age=31536000, immutable',
        'to be kept';
    is $r->header('X-Content-Type-Options'), 'nosniff', 'as what it is';
    is $r->header('Vary'), undef, 'for everybody';
    is $r->header('Set-Cookie'), undef, 'without a cookie';

    $r = $c->get($svg);
    is $r->header('Content-Type'), 'image/svg+xml', 'the logo';
    like $r->body, qr/\A<svg /, 'is one';
    is $c->head($svg)->header('Content-Length'), length $r->body, 'HEAD';

    $t->write_file('pages/session.css', "p { color: blue }\n");
    $t->reload;

    my ($new) = $t->client->get('/sign_out', Accept => 'text/html')->body
                =~ m{href="(/-/assets/[^"]+/session.css)"};

    isnt $new, $css, 'a new style has a new URI';
    is $t->client->get($new)->body, "p { color: blue }\n", 'and is there';
    is $t->client->get($css)->code, 404, 'the old one is not';

    # what a reload would refuse

    $t->write_file('pages/signed_out.html', '{{nonsense}}');

    local $ENV{LD_PRELOAD} = $ENV{TEST_NGINX_LD_PRELOAD}
        if $ENV{TEST_NGINX_LD_PRELOAD};
    my ($code, $text) = $t->test_config;

    isnt $code, 0, 'nginx -t refuses a broken template';
    like $text, qr{"nonsense" in \S+/signed_out\.html:1}, 'and says where';
    is $t->client->get($new)->code, 200, 'what runs goes on';
}

$t->allow(qr/unknown slot/);
$t->done;
