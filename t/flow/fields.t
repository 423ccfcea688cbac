# What fields of forms may hold, how long they may be and whose token they
# need: the form decides nothing that it is not asked.

use strict;
use warnings;

use lib 't/lib';
use JSON::PP ();
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

my $cookie = $Session::World::cookie;
my $password = $Session::World::password;
my $odd = "</script><b>\"'&{{x}}{{{y}}}<!--]]>\\u2028\x{e2}\x{80}\x{a8}%3Cb%3E";
my $t = Session::Flow->new(users => [
    'alice:editor:Alice', 'bob', "odd::$odd",
    map { "long${_}:::" . 'x' x $_ } 14, 15, 64, 1023, 1024,
]);
my $app = $t->echo;

# An unknown login's hash takes a quarter of a second and more.

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    http => <<'END', server => <<"END_SERVER"));
    session_hash memory=64m passes=12;
    session_throttle account=10000r/15m address=10000r/15m;
END
        location = /dashboard { session_page dashboard; }
        location = /app { session_require user;
                          proxy_pass http://127.0.0.1:@{[ $app->port ]}; }
END_SERVER
$t->run;


# --------------------------------------------------------------- lengths ---

for my $size (14, 15, 64, 1023, 1024) {
    is sign_in($t->client, "long$size", 'x' x $size)->code, 303,
        "a password of $size bytes";
    is sign_in($t->client, "long$size", 'x' x ($size - 1) . 'y')->code, 401,
        'all of which count';
    is sign_in($t->client, "long$size", 'x' x ($size - 1))->code, 401,
        'none of which may be missing';
}

{
    my $before = cpu();

    sign_in($t->client, 'nobody', 'x' x 1024);

    my $hash = cpu() - $before;

    $before += $hash;
    is sign_in($t->client, 'nobody', '')->code, 400, 'a password of no byte';

    for my $size (1025, 1026, 4096, 15000, 1 << 20) {
        is sign_in($t->client, 'nobody', 'x' x $size)->code, 413,
            "a password of $size bytes";
    }

    cmp_ok cpu() - $before, '<', $hash, 'is not hashed';
}


# --------------------------------------------------- more than is asked for ---

{
    my $c = $t->client;
    my $r = sign_in($c, 'alice', $password, {
        role => 'admin', roles => 'admin', 'roles[]' => 'admin', id => 1,
        realm => 'other', user => 'bob', session_user => 'bob', name => 'Bob',
        admin => 1, lifetime => 99999999, ref => 'x', address => '6.6.6.6' });

    is $r->code, 303, 'fields of no meaning';

    my $actor = JSON::PP->new->utf8->decode(
        $c->get('/-/actor.json')->body)->{actor};

    is_deeply [@$actor{qw(login name)}, @{ $actor->{roles} }],
        ['alice', 'Alice', 'editor'], 'change nothing of who signs in';

    is $t->client->post('/sign_in?login=bob&password='
                        . $password =~ tr/ /+/r, '',
                        'Sec-Fetch-Site' => 'same-origin')->code, 400,
        'nor are fields taken from the query';

    my $get = $t->client->get('/sign_in?login=bob&password='
                              . $password =~ tr/ /+/r, Accept => 'text/html');

    is $get->code, 200, 'of a GET neither';
    unlike $get->body, qr/bob|horse/, 'which shows nothing of them';
    unlike slurp($t->log_file), qr/horse/, 'and logs nothing of its own';
}


# ----------------------------------------------------------------- tokens ---

{
    my $s = $t->session('alice');
    my @s = (Cookie => "$cookie=$s->{token}");
    my %token = (
        'none' => undef, 'an empty one' => '', 'a short one' => 'A',
        'one without its last' => substr($s->{csrf}, 0, 85),
        'one without its first' => substr($s->{csrf}, 1),
        'one with another' => "$s->{csrf}A", 'two' => "$s->{csrf}$s->{csrf}",
        'a long one' => $s->{csrf} x 100,
        'padding' => "$s->{csrf}==", 'a blank' => "$s->{csrf} ",
        'a NUL' => "$s->{csrf}\0",
        "another user's" => $t->session('bob')->{csrf},
        "another session's" => $t->session('alice')->{csrf},
        'one from before sign-in' => (Session::World::before($t->world))[1],
        'the token of the session' => $s->{token}, 'zeros' => 'A' x 86,
    );

    for my $name (sort keys %token) {
        is code($_, $token{$name}, @s), 403, "$_, $name: refused"
            for '/dashboard', '/sign_out', '/sign_in';
    }

    for my $at (0 .. 85) {
        my $changed = $s->{csrf};

        substr $changed, $at, 1, substr($changed, $at, 1) eq 'Q' ? 'g' : 'Q';
        is code('/dashboard', $changed, @s), 403, "character $at changed";
    }

    is code($_, $s->{csrf}), $_ eq '/dashboard' ? 401 : 403,
        "$_, the right one without its cookie"
        for '/dashboard', '/sign_in';
    is code('/sign_out', $s->{csrf}), 403, 'signs nobody out';

    is $t->client->get('/private', @s)->code, 200, 'the session lives';
    is code('/dashboard', $s->{csrf}, @s), 303, 'and its own token passes';
    is code('/sign_out', $s->{csrf}, @s), 303, 'also to sign out';

    my ($pre) = Session::World::before($t->world);

    is code('/dashboard', $s->{csrf}, @s), 401, 'after that: nobody';
    is code('/sign_in', $s->{csrf}, @s), 403, 'whose token is no good';
    is code('/sign_in', $s->{csrf}, Cookie => "$cookie-pre=$pre"), 403,
        'nor beside a cookie from before sign-in';
}

sub code {
    my ($path, $token, @headers) = @_;

    return $t->client->post($path,
        [ $path eq '/dashboard' ? (action => 'end_others') : (),
          defined $token ? (_csrf => $token) : () ], @headers)->code;
}


# --------------------------------------------------------------- escaping ---

{
    my $c = $t->signed_in('odd');
    my $page = $c->get('/dashboard', Accept => 'text/html')->body;
    my $escaped = html($odd);

    like $page, qr/<h1[^>]*>\Q$escaped\E</, 'a name on the page';
    is index($page, $odd), -1, 'not as it is';
    unlike $page =~ s{<(script|style)\b.*?</\1>}{}gsr, qr{</script|<b>},
        'and nothing of it is markup';

    for my $path ('/-/actor.json', '/dashboard') {
        my $json = $c->get($path, Accept => 'application/json')->body;
        my $actor = JSON::PP->new->utf8->decode($json)->{actor};

        utf8::encode(my $name = $actor->{name});
        is $name, $odd, "$path: as it is, in JSON";
        unlike $json, qr{</|<!|\x{e2}\x{80}\x{a8}},
            'which could stand in a script';
    }

    my ($header) = $c->get('/app')->body =~ /^X-Session-Name: (.*)$/m;

    is $header, $odd, 'for an app the bytes';

    for my $text ($odd, "\"><b>{{x}}", "a\x{e2}\x{80}\x{a9}b") {
        my $r = sign_in($t->client, $text, 'wrong');
        my $escaped = html($text);

        like $r->body, qr/name="login" value="\Q$escaped\E"/,
            'a login that was wrong';
        is index($r->body, $text), -1, 'not as it is' if $text =~ /[<"]/;
    }

    $page = $t->client->get('/sign_in?return_to='
        . Session::Client::encode_form([x => "/x?a={{x}}'&b=%22"])
          =~ s/^x=//r, Accept => 'text/html')->body;
    like $page, qr/name="return_to" value="\/x\?a=\{\{x}}&\#39;&amp;b=%22"/,
        'a place to return to';
}

$t->done;


sub html {
    my ($text) = @_;
    my %entity = ('&' => '&amp;', '<' => '&lt;', '>' => '&gt;',
                  '"' => '&quot;', "'" => '&#39;');

    return $text =~ s/([&<>"'])/$entity{$1}/gr;
}


# Seconds of processor time that the worker has used.

sub cpu {
    my ($worker) = $t->workers;
    my @field = split ' ', slurp("/proc/$worker/stat") =~ s/.*\)//sr;

    return ($field[11] + $field[12]) / 100;
}
