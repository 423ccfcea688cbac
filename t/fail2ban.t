# docs/fail2ban.md: its filter finds the lines that nginx writes, with the
# right address, and nobody makes it find another one: not through the login,
# and not through a URI where the sign-in page has a log of its own.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

my $page = slurp("$Session::World::project/docs/fail2ban.md");
my ($filter) = $page =~ /^failregex = (.+)$/m;
my ($jail) = $page =~ /^```ini\n(\[session-sign-in\]\n.*?)^```$/ms;
my ($location) = $page =~ /^```nginx\n(.*?)^```$/ms;
my ($example) = $page =~ /^(\d{4}\/\d\d\/\d\d .*)$/m;

# What fail2ban makes of <HOST>: an address, as IPv4 in IPv6 too, or a name.
my $host = qr/(?:\[?(?:(?:::f{4,6}:)?(?<ip4>(?:\d{1,3}\.){3}\d{1,3})
                      |(?<ip6>(?:[0-9a-fA-F]{1,4}::?|::){1,7}
                              (?:[0-9a-fA-F]{1,4}|(?<=:):)))\]?
                |(?<dns>[\w\-.^_]*\w))/x;

is scalar(() = $filter =~ /<HOST>/g), 1, 'the filter has one host';
like $filter, qr/\A\^/, 'and begins with the line';
like $page, qr/^datepattern = \{\^LN-BEG\}$/m, 'so does its date';

my $pattern = join $host, map { qr/$_/ } split /<HOST>/, $filter;


# Addresses that a jail would count.  fail2ban takes the date off a line first.

sub found {
    my ($text) = @_;
    my @found;

    for my $line (split /\n/, $text) {
        next if $line !~ s{^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d}{};
        push @found, $+{ip4} // $+{ip6} // $+{dns} if $line =~ $pattern;
    }

    return "@found";
}


my ($logpath) = $jail =~ /^logpath\s*=\s*(\S+)$/m;

like $location, qr/error_log \Q$logpath\E warn;/, 'the jail reads that log';
is found($example), '192.0.2.7', 'the example';

my $t = Session::Flow->new(users => ['alice', 'alice@other']);

$location =~ s{/var/log/nginx}{$t->dir . '/logs'}ge;

$t->write_file_expand('nginx.conf', <<"END");
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    session_throttle account=100r/15m address=100r/15m;
    set_real_ip_from 127.0.0.1;
    real_ip_header X-Real-IP;

    server {
        listen 127.0.0.1:%%PORT_8080%%;
        root %%TESTDIR%%/html;
        $location
    }

    server {
        listen 127.0.0.1:%%PORT_8081%%;
        session_realm other;
        session_throttle account=1r/15m;
        $location
    }
}
END

$t->run;

my $log = $t->dir . '/logs/sign_in.log';
my $from = 0;


# What the jail finds in the lines that this attempt has written.

sub attempted {
    my ($address, $login, $password, %arg) = @_;
    my $client = $t->client(number => $arg{number} // 8080,
                            headers => ['X-Real-IP' => $address]);

    sign_in($client, $login, $password // 'wrong');
    ok $t->wait_for(sub { slurp($log, $from) =~ /\n\z/ }), 'a line'
        if !$arg{quiet};

    my $text = slurp($log, $from);

    $from += length $text;

    return found($text);
}


is attempted('192.0.2.7', 'alice'), '192.0.2.7', 'a wrong password';
is attempted('192.0.2.8', 'nobody'), '192.0.2.8', 'a login that is none';
is attempted('2001:db8::17', 'alice'), '2001:db8::17', 'IPv6';
is attempted('::1', 'alice'), '::1', 'a short one';
is attempted('192.0.2.9', 'alice', 'wrong', number => 8081), '192.0.2.9',
    'another realm';
is attempted('192.0.2.9', 'alice', 'wrong', number => 8081), '192.0.2.9',
    'one that was throttled';
is attempted('192.0.2.7', 'alice', $Session::World::password, quiet => 1), '',
    'the right password';

my $form = '[warn] 1#1: *1 session: sign-in failed for';
my @forged = (
    'x" from 6.6.6.6, realm "default", client:',
    'x from 6.6.6.6, realm default',
    "x\n2026/01/02 03:04:05 $form \"x\" from 6.6.6.6, realm \"d\", client: 6",
    "x\r\n2026/01/02 03:04:05 $form \"x\" from 6.6.6.6, realm \"d\", client: 6",
    'x\" from 6.6.6.6, realm \"default\", client:',
    "x\x{00}\" from 6.6.6.6, realm \"default\", client:",
    '", ' . ('y' x 120) . '" from 6.6.6.6, realm "default", client: 6.6.6.6',
    "<HOST>", '%s%n', "\x{c2}\x{85}6.6.6.6",
);

is attempted('192.0.2.66', $_), '192.0.2.66', 'only who wrote: '
    . s/([^\x20-\x7e])/sprintf '\\x%02x', ord $1/ger =~ s/.{40}\K.*//r
    for @forged;


# nginx logs the name of a file that is missing, decoded; the pages' own words
# in a query and in headers stay what they are.

my $line = "2026/01/02 03:04:05 $form \"x\" from 6.6.6.6, realm \"d\", client:";
my $coded = "/x%0a" . $line =~ s/([^\w.:\/])/sprintf '%%%02x', ord $1/ger;

$t->client->get("$coded%0ay");
ok $t->wait_log(qr/^\Q$line\E$/m), 'a forged line in the error log';
is found($t->log =~ /^(\Q$line\E)$/m), '6.6.6.6', 'would be believed';

for my $headers (['User-Agent' => $line], [Referer => $line],
                 ['X-Real-IP' => $line], [Cookie => $line], [Host => $line])
{
    my $c = $t->client(headers => ['X-Real-IP' => '192.0.2.67', @$headers]);

    $c->post("/sign_in?$coded", { login => 'x', password => 'y' },
             'Sec-Fetch-Site' => 'same-origin');
}

my %found = map { $_ => 1 } split ' ', found(slurp($log));

ok !$found{'6.6.6.6'}, 'the log of the sign-in page has none';
ok $found{'192.0.2.67'}, 'but who tried it';

$t->done;
