package Session::Wire;

# Bytes on a socket: connecting, sending in pieces, reading, and taking HTTP/1
# responses apart.  Nothing here fails a test; callers judge what came back.

use strict;
use warnings;

use Errno qw(EAGAIN EINTR EWOULDBLOCK);
use IO::Select ();
use IO::Socket::INET ();
use IO::Socket::UNIX ();
use Socket qw(SOL_SOCKET SO_LINGER TCP_NODELAY IPPROTO_TCP SOMAXCONN);
use Time::HiRes qw(sleep time);

our (@locks, %taken);


# A TCP port nobody listens on, below the kernel's range for outgoing
# connections.  An abstract socket of the same name keeps other test processes
# from taking it until this one ends.

sub free_port {
    for (1 .. 1000) {
        my $port = 10000 + int rand 22000;

        next if $taken{$port};

        my $lock = IO::Socket::UNIX->new(
            Local => "\0ngx_session-port-$port", Listen => 1) or next;

        for my $type (qw(tcp udp)) {
            my $probe = IO::Socket::INET->new(
                LocalAddr => '0.0.0.0', LocalPort => $port, Proto => $type,
                $type eq 'tcp' ? (Listen => 1, ReuseAddr => 1) : ());

            undef $lock if !$probe;
        }

        next if !$lock;

        push @locks, $lock;
        $taken{$port} = 1;

        return $port;
    }

    die "no free port\n";
}


# Polls until the condition is true; its value, or nothing at the deadline.

sub wait_until {
    my ($condition, $seconds) = @_;
    my $deadline = time + ($seconds // 30);
    my $pause = 0.002;

    for (;;) {
        my $value = $condition->();

        return $value if $value;
        return if time > $deadline;

        sleep $pause;
        $pause *= 1.5 if $pause < 0.05;
    }
}


sub dial {
    my ($host, $port, $timeout) = @_;

    my $sock = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port,
        Proto => 'tcp', Timeout => $timeout // 30) or return;

    $sock->setsockopt(IPPROTO_TCP, TCP_NODELAY, 1);
    $sock->blocking(0);
    binmode $sock;

    return $sock;
}


# Writes all bytes; whatever arrives meanwhile goes to $$in, so that a server
# that answers before it has read everything cannot block us.  True when all
# went out.

sub write_all {
    my ($sock, $bytes, $in, $timeout) = @_;
    my $at = 0;
    my $write = IO::Select->new($sock);

    local $SIG{PIPE} = 'IGNORE';

    while ($at < length $bytes) {
        my $n = syswrite $sock, $bytes, length($bytes) - $at, $at;

        if (defined $n) {
            $at += $n;
            next;
        }

        next if $! == EINTR;
        return if $! != EAGAIN && $! != EWOULDBLOCK;

        read_some($sock, $in, 0) if $in;
        return if !$write->can_write($timeout // 30);
    }

    return 1;
}


# Appends what can be read within $timeout: 1 some bytes, 0 the end, undef
# nothing in time, -1 the connection was reset.

sub read_some {
    my ($sock, $in, $timeout) = @_;

    return if !IO::Select->new($sock)->can_read($timeout);

    my $n = sysread $sock, $$in, 65536, length $$in;

    return $n ? 1 : 0 if defined $n;
    return if $! == EAGAIN || $! == EWOULDBLOCK || $! == EINTR;
    return -1;
}


# Closes with a reset instead of an orderly end.

sub reset_close {
    my ($sock) = @_;

    $sock->setsockopt(SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0);
    close $sock;
}


# Takes one response off the front of $bytes.
#
#   head => 1    the request was HEAD: no body
#   eof => 1     nothing more will come: a body without length ends here
#
# Returns the response and the bytes behind it; nothing while it is incomplete
# and more may come.  What is wrong with it stands in {error}.

sub parse {
    my ($bytes, %is) = @_;

    my $end = index $bytes, "\r\n\r\n";
    my $r = bless { raw => '', headers => [], body => '', error => '' },
        'Session::Wire::Response';

    if ($end < 0) {
        return if !$is{eof};

        $r->{error} = 'no end of header';
        $end = length $bytes;
    }

    $r->{raw} = substr $bytes, 0, $end + 2;
    my $rest = substr $bytes, $end + 4 > length $bytes ? length $bytes
                                                       : $end + 4;
    my ($status, @lines) = split /\r\n/, $r->{raw};

    if (($status // '') =~ m{\AHTTP/(\d\.\d) (\d{3})(?: (.*))?\z}) {
        @$r{qw(version code reason)} = ($1, $2, $3 // '');

    } else {
        $r->{error} ||= 'no status line';
    }

    for (@lines) {
        if (/\A([^:\s]+):[ \t]*(.*?)[ \t]*\z/s) {
            push @{ $r->{headers} }, [$1, $2];

        } else {
            $r->{error} ||= "bad header line \"$_\"";
        }
    }

    my $code = $r->{code} // 0;

    if ($code =~ /^1/ && $code != 101 && length $rest) {
        return parse($rest, %is);               # 100 Continue and the like
    }

    if ($is{head} || $code == 304 || $code == 204 || $code =~ /^1/) {
        return $r, $rest;
    }

    return body_chunked($r, $rest, $is{eof})
        if lc($r->header('Transfer-Encoding') // '') eq 'chunked';

    my $length = $r->header('Content-Length');

    if (defined $length && $length =~ /\A\d+\z/) {
        if (length $rest < $length) {
            return if !$is{eof};
            $r->{error} ||= "body truncated: $length bytes expected, "
                            . length($rest) . ' came';
        }

        $r->{body} = substr $rest, 0, $length;

        return $r, length $rest > $length ? substr($rest, $length) : '';
    }

    return if !$is{eof};

    $r->{body} = $rest;

    return $r, '';
}


sub body_chunked {
    my ($r, $bytes, $eof) = @_;
    my $at = 0;

    for (;;) {
        pos($bytes) = $at;

        if ($bytes !~ /\G([0-9A-Fa-f]+)[ \t]*(?:;[^\r\n]*)?\r\n/gc) {
            return if !$eof;
            $r->{error} ||= 'bad or missing chunk size';
            return $r, '';
        }

        my $size = hex $1;
        $at = pos $bytes;

        if ($size == 0) {
            if ($bytes =~ /\G(?:[^:\r\n]+:[^\r\n]*\r\n)*\r\n/gc) {
                return $r, substr $bytes, pos $bytes;
            }

            return if !$eof;
            $r->{error} ||= 'bad trailer';
            return $r, '';
        }

        if (length $bytes < $at + $size + 2) {
            return if !$eof;
            $r->{body} .= substr $bytes, $at, $size;
            $r->{error} ||= 'chunk cut short';
            return $r, '';
        }

        $r->{body} .= substr $bytes, $at, $size;

        if (substr($bytes, $at + $size, 2) ne "\r\n") {
            $r->{error} ||= 'no line end after a chunk';
            return $r, '';
        }

        $at += $size + 2;
    }
}


package Session::Wire::Response;


sub code { $_[0]{code} }
sub reason { $_[0]{reason} }
sub raw { $_[0]{raw} }
sub body { $_[0]{body} }
sub error { $_[0]{error} }


# All values of a header in a list, joined with a comma in a scalar; nothing
# when it is not there.

sub header {
    my ($self, $name) = @_;
    my @values = map { $_->[1] }
                 grep { lc $_->[0] eq lc $name } @{ $self->{headers} };

    return @values if wantarray;
    return @values ? join(', ', @values) : undef;
}


1;
