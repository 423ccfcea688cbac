# A real browser: Debian's Chromium, driven by playwright-core.  The pages that
# are shown in the docs are photographed on the way; SESSION_SCREENSHOTS=DIR
# keeps the pictures.

use strict;
use warnings;

use lib 't/lib';
use File::Temp ();
use Session::Flow ();
use Test::More;

my $e2e = "$Session::World::project/t/e2e";
my $shots = $ENV{SESSION_SCREENSHOTS}
    || File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1);

if (!-d "$e2e/node_modules/playwright-core") {
    system("cd '$e2e' && npm ci --ignore-scripts >&2") == 0
        or die "npm ci failed in $e2e\n";
}

my $t = Session::Flow->new(workers => 2);

$t->write_file('html/private/page.html', <<'END');
<!doctype html>
<title>Private</title>
<link rel="icon" href="data:,">
<h1>Private</h1>
END
$t->write_file('html/csp.html', <<'END');
<!doctype html>
<title>plain</title>
<link rel="icon" href="data:,">
<script>window.injected = 1;</script>
<script nonce="<!--#echo var="csp_nonce" -->">document.title = 'nonce';</script>
END

$t->write_file_expand('nginx.conf', <<'END');
%%GLOBALS%%
events { }
http {
    %%GLOBALS_HTTP%%
    types { text/html html; }

    server {
        listen 127.0.0.1:%%PORT_8080%%;
        session_cookie session secure=off;
        session_title "Example Works";
        include %%PROJECT%%/deploy/session_pages.conf;

        location /private/ { session_require user; root %%TESTDIR%%/html; }
        location /admin/ { session_require role=admin; root %%TESTDIR%%/html; }
        location = /csp.html {
            ssi on;
            csp "default-src 'none'; script-src 'nonce'; img-src data:";
            root %%TESTDIR%%/html;
        }
    }
}
END

$t->run;

open my $browser, '-|', 'node', "$e2e/browser.mjs",
    'http://127.0.0.1:' . $t->port, 'alice', $Session::World::password, "$shots"
    or die "node: $!\n";

while (my $line = <$browser>) {
    if ($line =~ /\A(not )?ok \d+ - (.*)/) {
        ok(!$1, $2);

    } elsif ($line =~ /\A# (.*)/) {
        diag($1);
    }
}

close $browser;
is($?, 0, 'the browser came to an end');

$t->done;
