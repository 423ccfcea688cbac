#!/usr/bin/perl

# The demo's app: answers every request with the request line and the headers
# it got, as plain text, so that one can see what nginx sends to an app.
#
#   headers.pl PORT

use strict;
use warnings;

use IO::Socket::INET;

my $port = shift // die "usage: headers.pl PORT\n";

# One process that serves one request after the other is plenty for a demo.
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
                                   LocalPort => $port,
                                   Listen    => 128,
                                   ReuseAddr => 1)
    or die "headers.pl: cannot listen on 127.0.0.1:$port: $!\n";

$SIG{TERM} = $SIG{INT} = sub { exit 0 };
$SIG{PIPE} = 'IGNORE';

while (my $client = $server->accept()) {
    my $head = '';

    while (length($head) < 65536 && defined(my $line = <$client>)) {
        last if $line =~ /^\r?\n$/;
        $head .= $line;
    }

    $head =~ s/\r\n/\n/g;

    my $body = "This is what the app behind nginx received:\n\n$head";

    print $client "HTTP/1.1 200 OK\r\n",
                  "Content-Type: text/plain; charset=utf-8\r\n",
                  "Content-Length: ", length($body), "\r\n",
                  "Connection: close\r\n\r\n", $body;

    close $client;
}
