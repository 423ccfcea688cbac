# The guides do what they say: their commands are run and their configuration
# serves, with the paths of this machine mapped into a folder of the test's.

use strict;
use warnings;

use lib 't/lib';
use IO::Socket::INET ();
use Session::Flow ();
use Session::Log qw(slurp);
use Session::Wire ();
use Session::World ();
use Test::More;

my $project = $Session::World::project;
my $build = $Session::World::build;
my $password = $Session::World::password;


# Fenced blocks of one language, in order.

sub blocks {
    my ($guide, $language) = @_;
    my $text = slurp("$project/docs/guide_$guide.md");

    return $text =~ /^```\Q$language\E\n(.*?)^```$/gms;
}


# A server block of a guide inside what step 3 of the first guide has.

sub serve {
    my ($guide, %map) = @_;
    my $t = Session::Flow->new(workers => 2);
    my ($conf) = blocks($guide, 'nginx');
    my $port = $t->port;

    $conf =~ s/listen 80;/listen 127.0.0.1:$port;/;
    $conf =~ s{include session_pages\.conf}
              {include $project/deploy/session_pages.conf};
    $conf =~ s{/var/www/html}{$t->dir . '/html'}ge;
    $conf =~ s/\Q$_\E/$map{$_}/g for keys %map;

    $t->write_file_expand('nginx.conf',
        "%%GLOBALS%%\nevents { }\nhttp {\n%%GLOBALS_HTTP%%\n$conf\n}\n");

    return $t;
}


# Runs a command until the port answers; ended by end_app().

sub start_app {
    my ($port, $dir, @command) = @_;
    my $pid = fork() // die "fork: $!\n";

    if ($pid == 0) {
        chdir $dir;
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', "$dir/app.log";
        open STDERR, '>&', \*STDOUT;
        exec @command or die "$command[0]: $!\n";
    }

    Session::Wire::wait_until(sub {
        IO::Socket::INET->new("127.0.0.1:$port")
    }, 30) or die "$command[0] does not listen: " . slurp("$dir/app.log");

    return $pid;
}


sub end_app {
    my ($pid) = @_;

    kill TERM => $pid;
    waitpid $pid, 0;
    $? = 0;
}


sub signed_in {
    my ($t, %arg) = @_;
    my $cookie = $arg{cookie} // 'session';
    my $session = Session::World::session($t->world, $arg{login} // 'carol',
                                          %{ $arg{options} || {} });

    return (Cookie => "theme=dark; $cookie=$session->{token}; lang=en");
}


subtest 'first five minutes' => sub {
    my $t = Session::Flow->new(bare => 1);
    my $root = $t->dir;
    my $port = $t->port;
    my %map = ('/var/lib/nginx' => "$root/var/lib/nginx",
               '/etc/nginx'     => "$root/etc/nginx",
               '/var/www/html'  => "$root/html",
               '/run/nginx.pid' => "$root/logs/nginx.pid");

    system('mkdir', '-p', "$root/var/lib/nginx", "$root/etc/nginx") == 0
        or die;
    $t->write_file('html/index.html', "the site\n");
    $t->write_file('etc/nginx/mime.types', "types { text/html html; }\n");

    my $map = sub {
        my ($text) = @_;

        $text =~ s/\Q$_\E/$map{$_}/g for keys %map;
        return $text;
    };

    my ($conf) = blocks('first_five_minutes', 'nginx');

    $conf =~ s/^user www-data;/$> == 0 ? 'user www-data;' : ''/me;
    $conf =~ s/listen 80;/listen 127.0.0.1:$port;/;
    $conf =~ s{modules/ngx_http}{$root/usr/lib/nginx/modules/ngx_http};
    $conf =~ s/worker_processes auto;/worker_processes 2;/;
    $conf = "daemon off;\nerror_log $root/logs/error.log info;\n"
            . $map->($conf);
    $conf =~ s/(http \{)/$1\n    access_log off;/;

    local $ENV{SESSION_STORE} = "$root/var/lib/nginx/session";
    local $ENV{PATH} = "$root/usr/local/bin:$ENV{PATH}:/usr/sbin:/sbin";

    my @commands = grep { /\S/ && !/apt-get|nginx -|^make / }
                   map { split /\n/ } blocks('first_five_minutes', 'sh');
    my (@now, @later);

    for my $command (@commands) {
        $command =~ s/^sudo //;
        $command = $map->($command);
        $command =~ s/ --owner www-data// if $> != 0;
        $command = "make -s -C $project B=$build install DESTDIR=$root"
            if $command eq 'make install';
        $command = "printf '%s\\n' '$password' | $command --stdin"
            if $command =~ /user add/;

        push @{ $command =~ /session list|why|revoke/ ? \@later : \@now },
             $command;
    }

    chmod 0755, $root, "$root/var", "$root/var/lib", "$root/var/lib/nginx";

    for my $command (@now) {
        is(system("$command > $root/out 2>&1"), 0, $command =~ s/\Q$root//gr)
            or diag(slurp("$root/out"));
    }

    ok(-f "$root/etc/nginx/session_pages.conf", 'the pages include is there');

    $t->write_file('etc/nginx/nginx.conf', $conf);
    $t->nginx->{conf} = "$root/etc/nginx/nginx.conf";
    $t->run;

    my $client = $t->client;

    is($client->get('/', 'Sec-Fetch-Mode' => 'navigate')->header(
           'Location'), '/sign_in?return_to=/', 'sent to sign in');

    my $answer = $client->form('/sign_in?return_to=/',
                               { login => 'alice@example.com',
                                 password => $password });

    is($answer->code, 303, 'signed in');
    is($client->get('/')->body, "the site\n", 'and in');
    is($client->get('/dashboard')->code, 200, 'the dashboard');

    for my $command (@later) {
        is(system("$command > $root/out 2>&1"), 0, $command)
            or diag(slurp("$root/out"));
    }

    is($client->get('/')->code, 401, 'revoked with the next request');
    $t->done;
};


subtest 'static' => sub {
    my $t = serve('static');

    $t->write_file('html/index.html', "open\n");
    $t->write_file('html/handbook/a.html', "handbook\n");
    $t->write_file('html/reports/a.html', "reports\n");
    $t->run;

    my $client = $t->client;

    is($client->get('/')->body, "open\n", 'open');
    is($client->get('/handbook/a.html')->code, 401, 'nobody');

    my %alice = signed_in($t, login => 'alice');
    my %bob = signed_in($t, login => 'bob');
    my %old = signed_in($t, login => 'bob', options => { created => -700 });

    is($client->get('/handbook/a.html', %alice)->body, "handbook\n", 'user');
    is($client->get('/handbook/a.html', %alice)->header('Cache-Control'),
       'private', 'shared caches keep out');
    is($client->get('/reports/a.html', %alice)->code, 403, 'no role');
    is($client->get('/reports/a.html', %bob)->body, "reports\n", 'a role');
    is($client->get('/reports/a.html', %old)->code, 401, 'not fresh');

    my ($command) = blocks('static', 'sh');
    $command =~ s/^sudo sessionctl/$build\/sessionctl/;
    $command =~ s/alice\@example\.com/alice/;
    chomp $command;
    is(system("$command --store " . $t->store . ' > /dev/null'), 0, $command);
    is($client->get('/reports/a.html', %alice)->body, "reports\n",
       'the role counts with the next request');
    $t->done;
};


subtest 'Express' => sub {
    my $app = Session::Wire::free_port();
    my $t = serve('express', '127.0.0.1:3000' => "127.0.0.1:$app");
    my ($code) = blocks('express', 'js');
    my $e2e = "$project/t/e2e";

    if (!-d "$e2e/node_modules/express") {
        system("cd '$e2e' && npm ci --ignore-scripts >&2") == 0 or die;
    }

    $t->write_file('app/app.mjs', $code);
    symlink "$e2e/node_modules", $t->dir . '/app/node_modules';
    local $ENV{PORT} = $app;
    my $pid = start_app($app, $t->dir . '/app', 'node', 'app.mjs');

    $t->run;

    my $client = $t->client;
    my $login = '"login":"carol"';

    like($client->get('/', signed_in($t))->body,
         qr/\Q$login\E.*"roles":\["admin","auditor"\]/, 'the app knows');
    is($client->get('/', 'X-Session-User' => 'mallory')->code, 401,
       'a header is no session');
    is($client->get('/public/',  'X-Session-User' => 'mallory',
                    'X_Session_User' => 'mallory')->body,
       'null', 'and does not reach the app');

    end_app($pid);
    $t->done;
};


subtest 'Rails' => sub {
    my $app = Session::Wire::free_port();
    my $t = serve('rails', '127.0.0.1:3000' => "127.0.0.1:$app");
    my ($controller) = blocks('rails', 'ruby');

    $t->write_file('app/config.ru', <<"END");
require "action_controller/railtie"

class App < Rails::Application
  config.eager_load = false
  config.secret_key_base = "0" * 64
  config.logger = Logger.new(\$stderr)
  config.hosts.clear
  routes.append { root to: "home#show" }
end

$controller

class HomeController < ApplicationController
  def show
    render plain: "\#{current_user.to_a.inspect} \#{cookies.to_h.inspect}"
  end
end

App.initialize!
run App
END

    my $pid = start_app($app, $t->dir . '/app', 'puma', '-q', '-b',
                        "tcp://127.0.0.1:$app", 'config.ru');

    $t->run;

    my $body = $t->client->get('/', signed_in($t),
                                'X-Session-Roles' => 'root',
                                'X_Session_Roles' => 'root')->body;

    like($body, qr/"carol", "Carol Clark", \["admin", "auditor"\]/,
         'the app knows');
    like($body, qr/\{"theme"=>"dark", "lang"=>"en"\}/,
         'and sees its own cookies only');

    end_app($pid);
    $t->done;
};


subtest 'PHP-FPM' => sub {
    my $port = Session::Wire::free_port();
    my $t = serve('php', 'unix:/run/php/php-fpm.sock' => "127.0.0.1:$port",
                  'include fastcgi_params' =>
                      'include /etc/nginx/fastcgi_params');
    my ($code) = blocks('php', 'php');

    $t->write_file('html/app/index.php', $code);

    my $pid = start_app($port, $t->dir, 'php-cgi', '-b', "127.0.0.1:$port");

    $t->run;

    # "mallory:x" as Basic credentials that nobody has checked
    is($t->client->get('/app/index.php', signed_in($t),
           'Authorization' => 'Basic bWFsbG9yeTp4')->body,
       "hello carol, also known as carol\n", 'REMOTE_USER is the session\'s');

    end_app($pid);
    $t->done;
};


subtest 'behind TLS' => sub {
    my $t = serve('tls', 'server_name app.example.com' =>
                         'server_name app.example.com localhost');

    $t->write_file('html/index.html', "the site\n");
    $t->run;

    my $client = $t->client;
    my %from = (Host => 'app.example.com', 'X-Forwarded-For' => '192.0.2.7');
    my $page = $client->get('/sign_in', %from);
    my ($pre) = $page->header('Set-Cookie') =~ /^([^;]+)/;
    my ($csrf) = $page->body =~ /name="_csrf" value="([^"]+)"/;

    like($page->header('Set-Cookie'), qr/^__Host-session-pre=.*; Secure/,
         'a Secure cookie over plain http');

    # a browser on https sends the Secure cookie, so it is sent here
    my $post = sub {
        $client->post('/sign_in', { login => 'alice', password => $password,
                                    _csrf => $csrf },
                      %from, Cookie => $pre, Origin => shift);
    };

    is($post->('http://app.example.com')->code, 403, 'not our origin');
    is($post->('https://app.example.com')->code, 303, 'our origin');
    like(slurp($t->dir . '/logs/error.log'), qr/signed in from 192\.0\.2\.7/,
         'the address is the client\'s');
    unlike(slurp($t->dir . '/logs/error.log'), qr/has a Secure session cookie/,
           'no warning');
    $t->done;
};


done_testing();
