package Session::Echo;

# Back ends that answer with what they received, so that a test sees what an
# application would.  One forked process each; it ends with its object.
#
#     my $app = Session::Echo->new;               # http
#     my $php = Session::Echo->new('fastcgi');    # also scgi, uwsgi
#     proxy_pass http://127.0.0.1:$port;
#
# The answer's body is one "name: value" a line (headers as sent, CGI
# parameters as NAME: value), a blank line, the request's body.  An HTTP
# request may ask for a special answer:
#
#     X-Echo-Status: 302            the status
#     X-Echo-Header: Name: value    a response header, any number of them
#     X-Echo-Body: text             this body and nothing else
#     X-Echo-Delay: 0.5             seconds before the answer
#     X-Echo-Stream: 1              a chunk every 0.1 s until the peer leaves

use strict;
use warnings;

use IO::Select ();
use IO::Socket::INET ();
use POSIX ();
use Session::Wire ();
use Time::HiRes qw(sleep);


sub new {
    my ($class, $protocol) = @_;
    my $serve = $class->can('serve_' . ($protocol // 'http'))
        or die "no protocol $protocol\n";
    my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
        LocalPort => Session::Wire::free_port(), Listen => 64, ReuseAddr => 1)
        or die "echo: $!\n";
    my $pid = fork // die "fork: $!\n";

    if ($pid == 0) {
        run($listen, $serve);
        POSIX::_exit(0);
    }

    return bless { port => $listen->sockport, pid => $pid, owner => $$ },
        $class;
}


sub port { $_[0]{port} }


sub stop {
    my ($self) = @_;
    my $pid = delete $self->{pid};

    return if !$pid || $self->{owner} != $$;

    local $?;
    kill KILL => -$pid, $pid;
    waitpid $pid, 0;
}


sub DESTROY { $_[0]->stop }


# A process of its own per connection, all in one group so that stop() ends
# them together.  Ends by itself when the test has been killed.

sub run {
    my ($listen, $serve) = @_;
    my $parent = getppid;

    setpgrp;
    $SIG{CHLD} = 'IGNORE';
    $SIG{PIPE} = 'IGNORE';

    my $select = IO::Select->new($listen);

    while (getppid == $parent) {
        my $sock = $select->can_read(1) && $listen->accept or next;
        my $pid = fork // next;

        next if $pid;

        binmode $sock;
        $serve->($sock);
        CORE::close($sock);
        POSIX::_exit(0);
    }
}


sub serve_http {
    my ($sock) = @_;

    for (;;) {
        my $head = '';

        while (my $line = readline $sock) {
            $head .= $line;
            last if $line =~ /\A\r?\n\z/ && $head =~ /\S/;
        }

        return if $head !~ /\S/;

        my $length = $head =~ /^Content-Length:\s*(\d+)/mi ? $1 : 0;
        my $body = take($sock, $length);

        $body = chunked($sock) if $head =~ /^Transfer-Encoding:\s*chunked/mi;

        answer($sock, $head, $body) or return;

        return if $head =~ m{\A\S+ \S+ HTTP/1\.0}
                  || $head =~ /^Connection:\s*close/mi;
    }
}


sub answer {
    my ($sock, $head, $body) = @_;
    my $option = sub { $head =~ /^X-Echo-$_[0]:[ \t]*(.*?)\r?$/mi };
    my ($delay) = $option->('Delay');
    my ($status) = $option->('Status');
    my @headers = $head =~ /^X-Echo-Header:[ \t]*(.*?)\r?$/mig;
    my ($only) = $option->('Body');
    my $text = $only // ($head =~ s/\r\n/\n/gr) . $body;

    sleep $delay if $delay;

    my $out = 'HTTP/1.1 ' . ($status // 200) . " Echo\r\n"
              . join '', map { "$_\r\n" } @headers;

    $out .= "Content-Type: text/plain\r\n"
        if !grep { /\AContent-Type:/i } @headers;

    if ($option->('Stream')) {
        print {$sock} "${out}Transfer-Encoding: chunked\r\n\r\n" or return;
        $sock->flush;

        while (print {$sock} "5\r\ntick\n\r\n") {
            $sock->flush or return;
            sleep 0.1;
        }

        return;
    }

    $out .= 'Content-Length: ' . length($text) . "\r\n\r\n";
    $out .= $text if $head !~ /\AHEAD /;

    print {$sock} $out or return;

    return $sock->flush;
}


sub take {
    my ($sock, $length) = @_;
    my $data = '';

    while (length $data < $length) {
        read $sock, $data, $length - length $data, length $data or last;
    }

    return $data;
}


sub chunked {
    my ($sock) = @_;
    my $data = '';

    while (defined(my $line = readline $sock)) {
        my $size = hex $line;

        $data .= take($sock, $size);
        readline $sock;
        last if $size == 0;
    }

    return $data;
}


# CGI parameters and body as text with a CGI header in front.

sub cgi {
    my ($params, $body) = @_;

    return "Status: 200 Echo\r\nContent-Type: text/plain\r\n\r\n"
           . join('', map { "$_->[0]: $_->[1]\n" } @$params) . "\n$body";
}


sub serve_scgi {
    my ($sock) = @_;
    my $length = '';

    while (defined(my $c = getc $sock)) {
        last if $c eq ':';
        $length .= $c;
    }

    my @fields = split /\0/, take($sock, $length), -1;
    my @params;

    take($sock, 1);

    while (@fields > 1) {
        push @params, [splice @fields, 0, 2];
    }

    my ($size) = map { $_->[1] } grep { $_->[0] eq 'CONTENT_LENGTH' } @params;

    print {$sock} cgi(\@params, take($sock, $size || 0));
    $sock->flush;
}


sub serve_uwsgi {
    my ($sock) = @_;
    my (undef, $length) = unpack 'Cv', take($sock, 4);
    my @fields = unpack '(v/a)*', take($sock, $length);
    my @params;

    while (@fields) {
        push @params, [splice @fields, 0, 2];
    }

    my ($size) = map { $_->[1] } grep { $_->[0] eq 'CONTENT_LENGTH' } @params;

    print {$sock} 'HTTP/1.1 200 Echo', "\r\n",
                  cgi(\@params, take($sock, $size || 0)) =~ s/\A.*?\r\n//r;
    $sock->flush;
}


sub serve_fastcgi {
    my ($sock) = @_;
    my ($params, $body, $done) = ('', '', 0);
    my ($id, @list);

    while (!$done) {
        my $header = take($sock, 8);

        return if length $header < 8;

        my ($type, $length, $padding);

        (undef, $type, $id, $length, $padding) = unpack 'CCnnC', $header;

        my $data = take($sock, $length);

        take($sock, $padding);
        $params .= $data if $type == 4;
        $body .= $data if $type == 5;
        $done = 1 if $type == 5 && $length == 0;
    }

    while (length $params) {
        my @size;

        for (0, 1) {
            my $n = unpack 'C', $params;

            $n = unpack('N', $params) & 0x7fffffff if $n > 127;
            push @size, $n;
            substr $params, 0, $n > 127 ? 4 : 1, '';
        }

        push @list, [map { substr $params, 0, $_, '' } @size];
    }

    my $out = cgi(\@list, $body);

    while (length $out) {
        my $part = substr $out, 0, 32000, '';

        print {$sock} pack('CCnnCC', 1, 6, $id, length $part, 0, 0), $part;
    }

    print {$sock} pack('CCnnCC', 1, 6, $id, 0, 0, 0),
                  pack('CCnnCCNCx3', 1, 3, $id, 8, 0, 0, 0, 0);
    $sock->flush;
}


1;
