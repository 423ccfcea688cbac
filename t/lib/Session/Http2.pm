package Session::Http2;

# A client of HTTP/2 that writes its frames by hand, so that it can do what no
# browser does: break a stream off anywhere, or take nothing of an answer.
# Fields are literal, neither indexed nor compressed.
#
#     my $c = Session::Http2->new($t->port, window => 0);
#     my $stream = $c->ask('GET', '/private', cookie => '...');
#     $stream = $c->head('POST', '/sign_in', 'content-length' => 9);
#     $c->data($stream, 'login=bob', END_STREAM);
#     $c->reset_stream($stream);
#     my $answers = $c->answers($stream);       # $answers->{$stream}{code}

use strict;
use warnings;

use Exporter qw(import);
use Session::Wire ();
use Time::HiRes qw(time);

use constant { DATA => 0, HEADERS => 1, RST_STREAM => 3, SETTINGS => 4,
               PING => 6, GOAWAY => 7, WINDOW_UPDATE => 8, CONTINUATION => 9,
               END_STREAM => 1, ACK => 1, END_HEADERS => 4, PADDED => 8,
               NO_ERROR => 0, CANCEL => 8, INITIAL_WINDOW => 4 };

our @EXPORT_OK = qw(DATA HEADERS RST_STREAM SETTINGS PING GOAWAY
    WINDOW_UPDATE CONTINUATION END_STREAM ACK END_HEADERS PADDED NO_ERROR
    CANCEL INITIAL_WINDOW bytes_of literal fields preface);


# ---------------------------------------------------------------- bytes ---


sub bytes_of {
    my ($type, $flags, $stream, $payload) = @_;

    return substr(pack('N', length $payload), 1)
           . pack('CCN', $type, $flags, $stream) . $payload;
}


# Lengths of seven bits, and what is beyond them.

sub string {
    my ($text) = @_;
    my $n = length($text) - 127;

    return pack 'C/a*', $text if $n < 0;

    my $more = '';

    for (; $n > 127; $n >>= 7) {
        $more .= pack 'C', 128 | $n & 127;
    }

    return pack('C', 127) . $more . pack('C', $n) . $text;
}


sub literal {
    my ($name, $value) = @_;

    return "\0" . string($name) . string($value);
}


# Pseudo fields first.

sub fields {
    my @fields = @_;
    my ($first, $rest) = ('', '');

    while (my ($name, $value) = splice @fields, 0, 2) {
        ($name =~ /\A:/ ? $first : $rest) .= literal($name, $value);
    }

    return $first . $rest;
}


# What a client says first: how much of each answer's body it takes.

sub preface {
    my ($window) = @_;

    return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
           . bytes_of(SETTINGS, 0, 0, pack 'nN', INITIAL_WINDOW, $window);
}


# ----------------------------------------------------------- connection ---


# window: of each stream, else as good as endless, as that of the connection.
# singly => 1: each byte is sent by itself.

sub new {
    my ($class, $port, %arg) = @_;
    my $self = bless { in => '', next => 1, answers => {}, wait => 60, %arg,
                       sock => Session::Wire::dial('127.0.0.1', $port, 10) },
                     $class;

    die "no connection: $!\n" if !$self->{sock};

    $self->write(preface($arg{window} // 1 << 30)
                 . bytes_of(WINDOW_UPDATE, 0, 0, pack 'N', 1 << 30));

    return $self;
}


sub write {
    my ($self, $bytes) = @_;

    for my $part ($self->{singly} ? split //, $bytes : $bytes) {
        Session::Wire::write_all($self->{sock}, $part, \$self->{in}, 10)
            or die "cannot write\n";
    }
}


sub put {
    my ($self, @frame) = @_;

    $self->write(bytes_of(@frame));
}


sub close { my ($self) = @_; CORE::close delete $self->{sock} }
sub finish { my ($self) = @_; shutdown $self->{sock}, 1 }

sub reset {
    my ($self) = @_;

    Session::Wire::reset_close(delete $self->{sock});
}


# -------------------------------------------------------------- streams ---


# Pseudo fields and others as one block.

sub block {
    my ($self, $method, $path, @fields) = @_;

    return fields(':method', $method, ':scheme', 'http', ':path', $path,
                  ':authority', 'localhost', @fields);
}


sub open_stream {
    my ($self) = @_;
    my $stream = $self->{next};

    $self->{next} += 2;

    return $stream;
}


# A head behind which a body comes, and one that is all.

sub head {
    my ($self, @request) = @_;
    my $stream = $self->open_stream;

    $self->put(HEADERS, END_HEADERS, $stream, $self->block(@request));

    return $stream;
}

sub ask {
    my ($self, @request) = @_;
    my $stream = $self->open_stream;

    $self->put(HEADERS, END_HEADERS | END_STREAM, $stream,
               $self->block(@request));

    return $stream;
}


sub data {
    my ($self, $stream, $bytes, $flags) = @_;

    $self->put(DATA, $flags // 0, $stream, $bytes);
}


sub reset_stream {
    my ($self, $stream, $why) = @_;

    $self->put(RST_STREAM, 0, $stream, pack 'N', $why // CANCEL);
}


# The window of streams that are there and that come.

sub open_window {
    my ($self, $window) = @_;

    $self->put(SETTINGS, 0, 0, pack 'nN', INITIAL_WINDOW, $window);
}


# --------------------------------------------------------------- answers ---


# The next frame, if one comes in time: type, flags, stream, payload.

sub frame {
    my ($self, $seconds) = @_;
    my $deadline = time + ($seconds // $self->{wait});

    for (;;) {
        my ($high, $low, $type, $flags, $stream) =
            length $self->{in} < 9 ? () : unpack 'CnCCN', $self->{in};
        my $length = defined $high ? ($high << 16) + $low : 0;

        if (defined $high && length $self->{in} >= 9 + $length) {
            @$self{qw(type flags stream)} = ($type, $flags, $stream);
            $self->{payload} = substr $self->{in}, 9, $length;
            substr($self->{in}, 0, 9 + $length) = '';
            return 1;
        }

        my $left = $deadline - time;

        return if $left <= 0;

        my $n = Session::Wire::read_some($self->{sock}, \$self->{in}, $left);

        return if defined $n && $n <= 0;
    }
}


# The status that a HEADERS frame begins with, if it is one.  nginx writes some
# as one byte and others as three digits, behind a new size of the table.

sub status {
    my ($self) = @_;

    return 'odd' if $self->{payload} !~ /\A(?:[\x20-\x3f])?(?:([\x88-\x8e])
                                          |[\x08\x48]\x03(\d{3}))/x;
    return $2 // (200, 204, 206, 304, 400, 404, 500)[ord($1) - 0x88];
}


# Takes one frame: what it says is in {answers}, by stream: code, body, and
# end, of the stream, or of the connection for all of them.

sub take {
    my ($self, $seconds) = @_;

    $self->frame($seconds) or return;

    my ($type, $flags, $stream) = @$self{qw(type flags stream)};
    my $answer = $stream ? $self->{answers}{$stream} //= { body => '' } : {};

    if ($type == SETTINGS && !($flags & ACK)) {
        $self->put(SETTINGS, ACK, 0, '');

    } elsif ($type == HEADERS) {
        $answer->{code} = $self->status;

    } elsif ($type == DATA) {
        $answer->{body} .= $self->{payload};

    } elsif ($type == RST_STREAM) {
        $answer->{code} //= 'refused';

    } elsif ($type == GOAWAY) {
        $self->{gone} = 1;
    }

    $answer->{end} = 1 if $type == RST_STREAM
                          || $type <= HEADERS && $flags & END_STREAM;

    return 1;
}


sub has {
    my ($self, $stream, $what) = @_;
    my $answer = $self->{answers}{$stream};

    return $answer && $answer->{$what};
}


# All answers, once these streams have theirs, or nothing more comes.

sub answers {
    my ($self, @streams) = @_;
    my $deadline = time + $self->{wait};

    while (grep { !$self->has($_, 'end') } @streams) {
        $self->take($deadline - time) or last;
    }

    return $self->{answers};
}


# The same with their heads alone, for bodies that do not come.

sub codes {
    my ($self, @streams) = @_;
    my $deadline = time + $self->{wait};

    while (grep { !$self->has($_, 'code') } @streams) {
        $self->take($deadline - time) or last;
    }

    return $self->{answers};
}


1;
