# Answers longer than what is made on the stack: somebody with as many sessions
# as may be gets each of them once, as HTML and as JSON.

use strict;
use warnings;

use lib 't/lib';
use JSON::PP qw(decode_json);
use Session::Flow;
use Session::SignIn;
use Test::More;

my $sessions = 64;
my $t = Session::Flow->new(users => ['alice']);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    http => 'session_limit 64;'
            . 'session_throttle account=1000r/15m address=1000r/15m;',
    server => 'location = /dashboard { session_page dashboard; }'));
$t->run;

my $c;

for (1 .. $sessions) {
    $c = $t->client;
    sign_in($c, 'alice');
}

my $json = $c->get('/dashboard', Accept => 'application/json');
my $html = $c->get('/dashboard', Accept => 'text/html');

is $json->code, 200, 'JSON';
cmp_ok length $json->body, '>', 8192, 'and long';

my %ref = map { ($_->{ref} => 1) } @{ decode_json($json->body)->{sessions} };

is keys %ref, $sessions, 'each session once';

is $html->code, 200, 'HTML';
cmp_ok length $html->body, '>', 8192, 'and long';
like $html->body, qr{</html>\s*\z}, 'to its end';
is +(() = $html->body =~ /<li class="session">/g), $sessions, 'all rows';

$t->done;
