#!/usr/bin/perl

# The demo's app: a page that says who is signed in and shows the headers of
# the request, so that one can see what nginx sends to an app.  It has no
# sessions, no passwords and no cookies of its own.
#
#   app.pl [ADDRESS:PORT]

use strict;
use warnings;

use IO::Socket::INET;

my $listen = shift // '0.0.0.0:8000';

# One process that serves one request after the other is plenty for a demo.
my $server = IO::Socket::INET->new(LocalAddr => $listen, Listen => 128,
                                   ReuseAddr => 1)
    or die "app.pl: cannot listen on $listen: $!\n";

my $folder = $0 =~ s{[^/]*\z}{}r;

# As the first process of a container it would get no signal without these.
$SIG{TERM} = $SIG{INT} = sub { exit 0 };
$SIG{PIPE} = 'IGNORE';

while (1) {
    my $client = $server->accept() or next;

    eval {
        local $SIG{ALRM} = sub { die "too slow\n" };

        alarm 5;
        answer($client);
    };
    alarm 0;
    close $client;
}


sub answer {
    my ($client) = @_;
    my $head = '';

    while (length($head) < 65536 && defined(my $line = <$client>)) {
        last if $line =~ /^\r?\n$/;
        $head .= $line =~ s/\r//r;
    }

    my ($path) = $head =~ m{\A\S+ ([^ ?]+)} or return;

    if ($path eq '/style.css') {
        open my $in, '<', "${folder}style.css" or return;
        return respond($client, 'text/css', do { local $/; <$in> });
    }

    respond($client, 'text/html; charset=utf-8', page($path, $head));
}


sub respond {
    my ($client, $type, $body) = @_;

    print $client "HTTP/1.1 200 OK\r\nContent-Type: $type\r\n",
                  'Content-Length: ', length($body), "\r\n",
                  "Connection: close\r\n\r\n", $body;
}


sub page {
    my ($path, $head) = @_;
    my %header = $head =~ /^([\w-]+): *(.*)$/gm;
    my ($user, $name, $roles) =
        map { escape($header{"X-Session-$_"} // '') } qw(User Name Roles);
    my $facts = $roles eq '' ? 'without a role' : "with the roles $roles";
    my $session = escape(join "\n", $head =~ /^(X-Session-.*)$/gm);
    my $others = escape($head =~ s/^X-Session-.*\n//gmr);

    $path = escape($path);

    return <<"END";
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hello $name</title>
<link rel="stylesheet" href="/style.css">
<main>
<h1>Hello $name</h1>
<p>You are <strong>$user</strong>, $facts. This is the app behind nginx, at
<code>$path</code>. It has asked for no password and keeps no session: who you
are stands in the headers of the request.</p>
<p><a href="/dashboard">Your sessions</a> <a href="/admin/">For admins</a>
<a href="/sign_out">Sign out</a></p>
<h2>What nginx says</h2>
<pre>$session</pre>
<h2>What else came with the request</h2>
<pre>$others</pre>
</main>
</html>
END
}


sub escape {
    my ($text) = @_;
    my %entity = ('&' => 'amp', '<' => 'lt', '>' => 'gt', '"' => 'quot');

    return $text =~ s/([&<>"])/&$entity{$1};/gr;
}
