# What can be said of deploy/ without an engine: nginx takes its configuration
# without a warning, compose its files, and the Dockerfile has no list of
# packages of its own.  deploy/test runs all of it.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow ();
use Session::Log qw(slurp);
use Session::World ();
use Test::More;

my $project = $Session::World::project;

chdir $project or die "$project: $!\n";


# ------------------------------------------------------------- nginx.conf ---


my $t = Session::Flow->new(workers => 1);
my $dir = $t->dir;
my ($crt, $key) = $t->certificate('localhost');


# A file of deploy/ with this machine's paths and ports.

sub here {
    my ($file) = @_;
    my $text = slurp("deploy/$file");
    my %path = (
        'modules/ngx_http_session_module.so' => $Session::World::module,
        '/var/lib/nginx/session' => $t->store,
        '/etc/nginx/session.keys' => $t->keys,
        '/etc/nginx/tls/site.crt' => $crt,
        '/etc/nginx/tls/site.key' => $key,
        '/run/nginx.pid' => "$dir/logs/nginx.pid",
        '/dev/stdout' => "$dir/logs/access.log",
    );

    $text =~ s/\Q$_\E/$path{$_}/g for keys %path;
    $text =~ s/\blisten(\s+(?:[\d.]+:)?)(\d+)/"listen$1" . $t->port($2)/ge;
    $text =~ s{include session_pages\.conf}
              {include $project/deploy/session_pages.conf};
    $text =~ s{include      mime\.types}{include /etc/nginx/mime.types};
    $text =~ s{include listen\.conf}{include $dir/listen.conf};

    my $temp = join '', map { "${_}_temp_path $dir/${_}_temp;\n" }
                            qw(client_body proxy fastcgi scgi uwsgi);

    $text =~ s/^http \{\n/http {\n$temp/m;

    return $text;
}


for my $listen (qw(listen.conf listen.tls.conf)) {
    $t->write_file('nginx.conf', here('nginx.conf'));
    $t->write_file('listen.conf', here($listen));

    my ($code, $said) = $t->test_config;

    is($code, 0, "nginx.conf with $listen");
    unlike($said, qr/\[warn\]/, 'without a warning');
}


# ---------------------------------------------------------------- compose ---


# Commands that read compose files; the plugin prints what it has understood,
# as the other does.

my @composes = grep { `$_ version 2>/dev/null` && $? == 0 }
                    'docker-compose', 'docker compose';

SKIP: {
    skip 'no compose here', 1 if !@composes;

    my @files = ([], ['compose.tls.yaml'], ['compose.secrets.yaml'],
                 ['compose.tls.yaml', 'compose.secrets.yaml']);

    for my $compose (@composes) {
        for my $more (@files) {
            my $files = join ' ', map { "-f deploy/$_" } 'compose.yaml', @$more;
            my $said = `$compose $files config 2>&1`;

            is($?, 0, "$compose: compose.yaml @$more") or diag($said);
            unlike($said, qr/^time=.*level=warning|^WARN/m, 'no warning');
        }
    }
}


# ------------------------------------------------------------- Dockerfile ---


my $dockerfile = slurp('deploy/Dockerfile');
my $packages = slurp('bin/packages');
my @lists = map { split } $dockerfile =~ /packages_install ([A-Z_ ]+)/g;

cmp_ok(scalar @lists, '>=', 3, 'the Dockerfile installs lists of bin/packages');
like($packages, qr/^\Q$_\E=\(/m, "$_ is one") for @lists;
unlike($dockerfile, qr/apt(?:-get)? install/, 'and no package by name');

my ($health) = $dockerfile =~ m{/dev/tcp/127\.0\.0\.1/(\d+)};

like(slurp('deploy/nginx.conf'), qr/listen 127\.0\.0\.1:$health;/,
     'the health check asks where nginx listens');
like(slurp("deploy/$_"), qr/^listen 8080;/m, "$_ listens where ports point")
    for qw(listen.conf listen.tls.conf);
like($dockerfile, qr/^USER www-data$/m, 'the image does not run as root');
like($dockerfile, qr/^STOPSIGNAL SIGQUIT$/m, 'and stops in peace');

# less than docker waits before it kills
my ($shutdown) = slurp('deploy/nginx.conf') =~ /worker_shutdown_timeout (\d+)s/;
my ($grace) = slurp('deploy/compose.yaml') =~ /stop_grace_period: (\d+)s/;

cmp_ok($shutdown, '<', $grace, 'nginx ends before docker ends it');


# ---------------------------------------------------------------- scripts ---


for my $script (qw(init engine test)) {
    is(system('bash', '-n', "deploy/$script"), 0, "deploy/$script is bash");
    unlike(slurp("deploy/$script"), qr/^.{81}/m, 'of 80 columns');
}

$t->done;
