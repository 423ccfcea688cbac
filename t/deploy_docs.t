# docs/deploy.md does what it says: its commands are run one after another, on
# an nginx that serves its configuration, with the paths of a machine mapped
# into a folder of the test's.  Its nginx blocks are looked at by
# t/docs_links.t.

use strict;
use warnings;

use lib 't/lib';
use POSIX qw(strftime);
use Session::Flow ();
use Session::Log qw(slurp);
use Session::World ();
use Test::More;

my $project = $Session::World::project;
my $build = $Session::World::build;
my $password = $Session::World::password;

my $t = Session::Flow->new(bare => 1);
my $root = $t->dir;
my $http = $t->port;
my $https = $t->port(8443);
my $pid = "$root/run/nginx.pid";
my $nginx = "-p $root/ -c $root/etc/nginx/nginx.conf";

# backups name the day, which must not change under the test
my $today = strftime('%F', localtime);

for my $dir (qw(etc/nginx run var/tmp var/lib/nginx var/backups bin html)) {
    system('mkdir', '-p', "$root/$dir") == 0 or die;
}

chmod 0755, $root, "$root/var", "$root/var/lib", "$root/var/lib/nginx";
symlink "$build/sessionctl", "$root/bin/sessionctl" or die;

local $ENV{PATH} = "$root/bin:$ENV{PATH}:/usr/sbin:/sbin";
local $ENV{SESSION_STORE} = "$root/var/lib/nginx/session";


# The commands of a part of the page, in order; blocks stay whole, so that
# lines may be continued.

sub blocks {
    my ($heading, $language) = @_;
    my $text = slurp("$project/docs/deploy.md");
    my ($part) = $text =~ /^## \Q$heading\E\n(.*?)(?=^## |\z)/ms
        or die "no part \"$heading\"\n";

    return $part =~ /^```\Q$language\E\n(.*?)^```$/gms;
}


sub map_paths {
    my ($text) = @_;

    $text =~ s{(?<![\w.])/(etc/nginx|run/nginx|var/\w+)}{$root/$1}g;
    $text =~ s/\$\(date \+%F\)/$today/g;
    $text =~ s{^(?:/usr/sbin/)?nginx\b}{/usr/sbin/nginx $nginx}gm;
    $text =~ s{http://127\.0\.0\.1/}{http://127.0.0.1:$http/}g;
    $text =~ s{^make (.*)}{make -s -C $project B=$build DESTDIR=$root $1}gm;

    if ($> != 0) {
        $text =~ s{^chown .*\n}{}gm;
        $text =~ s{ --owner www-data}{}g;
    }

    return $text;
}


sub shell {
    my ($command) = @_;
    my $what = $command =~ s/\s*\\\n\s*/ /gr =~ s/\s+#.*//gr;

    chomp $what;
    is(system("set -e; exec > $root/out 2>&1\n" . map_paths($command)), 0,
       $what) or diag(slurp("$root/out"));
}


# Blocks are run line by line, so that a failure has a name.

sub run_lines {
    my ($block) = @_;

    shell($_) for $block =~ /((?:[^\n]*\\\n)*[^\n]+\n)/g;
}


sub wait_for_workers {
    my ($of, $what) = @_;

    ok($t->wait_for(sub {
        my $id = -s $of ? slurp($of) + 0 : 0;

        $id && grep { slurp($_) =~ /^PPid:\t$id$/m
                      && slurp($_) =~ /^State:\t[^Z]/m }
                    glob '/proc/[0-9]*/status';
    }, 30), $what);
}


# the configuration of "TLS", with an app, in the nginx.conf of "Workers"

my ($main) = blocks('Workers and pools', 'nginx');
my ($servers) = blocks('TLS', 'nginx');

$servers =~ s/listen 80;/listen 127.0.0.1:$http;/;
$servers =~ s/listen 443 ssl;/listen 127.0.0.1:$https ssl;/;
$servers =~ s{include session_pages\.conf}
             {include $project/deploy/session_pages.conf};
$servers =~ s{proxy_pass http://app;}{root $root/html;};
$servers =~ s{return 301 [^;]+;}
             {location / { $& } location = /up { session_page up; }};
$main =~ s/worker_processes auto;/worker_processes 2;/;
$main =~ s/^(http \{)/$1\naccess_log off;\n/m
    or die 'no http block';
$main =~ s/\}\s*\z/$servers}\n/;

$t->write_file('etc/nginx/nginx.conf', map_paths(
    ($> == 0 ? "user www-data;\n" : '')
    . "load_module $Session::World::module;\n"
    . "error_log $root/logs/error.log info;\npid /run/nginx.pid;\n$main"));
$t->write_file('html/index.html', "the site\n");

ok(length(slurp("$root/etc/nginx/nginx.conf")) > 800, 'a configuration');

shell('sessionctl init --owner www-data');
shell('sessionctl key new /etc/nginx/session.keys');
shell("printf '%s\\n' '$password' | sessionctl user add alice --stdin");


# "TLS": the certificate is made, then nginx is asked and told

my @tls = map { split /(?<!\\)\n/ } blocks('TLS', 'sh');

is(scalar @tls, 5, 'commands of "TLS"');
shell("$_\n") for @tls[0 .. 3];
shell('nginx');
wait_for_workers($pid, 'nginx serves');
shell("$tls[4]\n");

my $client = $t->client(ssl => 1, number => 8443, name => 'app.example.com');

is($client->form('/sign_in?return_to=/',
                 { login => 'alice', password => $password })->code, 303,
   'signed in over https');
is($client->get('/')->body, "the site\n", 'and in');
like($client->get('/')->header('Strict-Transport-Security'), qr/max-age/,
     'with HSTS');
is($t->client->get('/x')->header('Location'), 'https://app.example.com/x',
   'plain http is sent to https');


# "What to watch", while it serves

run_lines($_) for blocks('What to watch', 'sh');
like(slurp("$root/out"), qr/\S/, 'and they have something to say');


# "Backup": made, tried, gone back to

my @backup = blocks('Backup', 'sh');

is(scalar @backup, 3, 'blocks of "Backup"');
run_lines($_) for @backup[0, 1];
ok(!-e "$root/var/tmp/session-drill", 'the drill has cleaned up');

my ($quit, $rest) = $backup[2] =~ /\A(nginx -s quit\n)(.*)\z/s;

run_lines($quit);
ok($t->wait_for(sub { !-e $pid }, 30), 'nginx has ended');
run_lines($rest);
wait_for_workers($pid, 'nginx serves again');
is($client->get('/')->code, 401, 'sessions of the backup have ended');
is($client->form('/sign_in?return_to=/',
                 { login => 'alice', password => $password })->code, 303,
   'users are back');


# "Upgrade and roll-back": there and back, then there for good

my ($prepare, $upgrade, $back) = blocks('Upgrade and roll-back', 'sh');
my ($usr2, $winch, $end) = $upgrade =~ /^(kill .*\n)/gm;

ok($end && $back, 'commands of "Upgrade"');
run_lines($prepare);
ok(-f "$root/etc/nginx/session_pages.conf", 'installed');
is($client->get('/')->code, 200, 'still signed in');

for my $way ($back, $end) {
    shell($usr2);
    ok($t->wait_for(sub { -s "$pid.oldbin" && -s $pid }, 30),
       'two masters');
    wait_for_workers($pid, 'the new one has workers');

    my $old = slurp("$pid.oldbin") + 0;
    my $new = slurp($pid) + 0;

    isnt($old, $new, 'which are not the same');
    is($client->get('/')->code, 200, 'signed in');
    shell($winch);
    is($client->get('/')->code, 200, 'signed in at the new one');
    run_lines($way);

    my ($stays, $goes) = $way eq $back ? ($old, $new) : ($new, $old);

    ok($t->wait_for(sub { !-e "$pid.oldbin" && -s $pid
                          && slurp($pid) == $stays }, 30), 'one is left');
    ok($t->wait_for(sub { !kill 0, $goes }, 30), 'the other has ended');
    wait_for_workers($pid, 'it has workers');
    is($client->get('/')->code, 200, 'still signed in');
}

shell('nginx -s quit');
ok($t->wait_for(sub { !-e $pid }, 30), 'nothing runs');

$t->done;
