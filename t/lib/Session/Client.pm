package Session::Client;

# A browser for flows: one kept-alive connection, a cookie jar, forms, and
# under that the bare socket for clients that misbehave.
#
#     my $c = $t->client;
#     my $r = $c->get('/sign_in');              # Session::Wire::Response
#     $r = $c->form('/sign_in', { login => 'alice', password => '...' });
#     is $r->code, 303;  $r = $c->follow($r);
#
#     $c->open;  $c->send("GET / HT");  $c->reset;

use strict;
use warnings;

use IO::Select ();
use Session::Wire ();
use Time::HiRes qw(time);


# port; host to connect to; name for the Host header (with the port unless it
# is a default one); timeout; ssl => 1; headers sent with every request.

sub new {
    my ($class, %arg) = @_;
    my $self = bless { host => '127.0.0.1', name => 'localhost',
                       timeout => 30, jar => {}, headers => [], in => '',
                       %arg }, $class;

    $self->{authority} //= "$self->{name}:$self->{port}";

    return $self;
}


# ------------------------------------------------------------ requests ---


sub get { my ($self, $path, @h) = @_; $self->request('GET', $path, @h) }
sub head { my ($self, $path, @h) = @_; $self->request('HEAD', $path, @h) }

sub post {
    my ($self, $path, $fields, @headers) = @_;

    return $self->request('POST', $path,
        'Content-Type' => 'application/x-www-form-urlencoded', @headers,
        body => ref $fields ? encode_form($fields) : $fields // '');
}


# Headers as a list of names and values; "body" among them is the body.  A
# connection that the server has closed meanwhile is opened again.

sub request {
    my ($self, $method, $path, @headers) = @_;
    my $bytes = $self->format($method, $path, @headers);
    my $fresh = !$self->usable;

    $self->open or return if $fresh;

    my $r = $self->send($bytes)
            && $self->receive(head => $method eq 'HEAD');

    if (!$r && !$fresh) {
        $self->open or return;
        $r = $self->send($bytes)
             && $self->receive(head => $method eq 'HEAD');
    }

    return $r;
}


sub format {
    my ($self, $method, $path, @headers) = @_;
    my ($body, %have);
    my $text = '';

    @headers = (@{ $self->{headers} }, @headers);

    while (my ($name, $value) = splice @headers, 0, 2) {
        if ($name eq 'body') {
            $body = $value;
            next;
        }

        next if !defined $value;

        $have{lc $name} = 1;
        $text .= "$name: $value\r\n";
    }

    my $cookies = $self->cookies;

    $text = "Cookie: $cookies\r\n$text" if $cookies ne '' && !$have{cookie};
    $text = "Host: $self->{authority}\r\n$text" if !$have{host};
    $text .= 'Content-Length: ' . length($body) . "\r\n"
        if defined $body && !$have{'content-length'}
           && !$have{'transfer-encoding'};

    return "$method $path HTTP/1.1\r\n$text\r\n" . ($body // '');
}


sub encode_form {
    my ($fields) = @_;
    my @pairs = ref $fields eq 'ARRAY' ? @$fields
                : map { ($_, $fields->{$_}) } sort keys %$fields;
    my @encoded;

    while (my ($name, $value) = splice @pairs, 0, 2) {
        push @encoded, join '=', map { s/([^A-Za-z0-9_.~-])/
                                         sprintf '%%%02X', ord $1/gexr }
                                     $name, $value // '';
    }

    return join '&', @encoded;
}


sub follow {
    my ($self, $r, @headers) = @_;
    my $to = $r->header('Location') // return;

    return $self->get($to =~ s{\Ahttps?://[^/]+}{}r || '/', @headers);
}


# --------------------------------------------------------------- forms ---


# Fetches a page, fills the first form that has all these fields (of any form
# the hidden ones), and sends it as its action and method say.

sub form {
    my ($self, $path, $fields, @headers) = @_;
    my $page = $self->get($path, Accept => 'text/html');
    my $form = find_form($page, $fields) or return $page;
    my %send = (%{ $form->{hidden} }, %$fields);
    my $action = $form->{action} // $path;

    if (uc($form->{method} // 'GET') eq 'GET') {
        return $self->get($action . '?' . encode_form(\%send), @headers);
    }

    return $self->post($action, \%send, @headers);
}


sub find_form {
    my ($page, $fields) = @_;

    return if !$page;

    my $body = $page->body;

    while ($body =~ m{<form\b([^>]*)>(.*?)</form>}gis) {
        my ($tag, $inside) = ($1, $2);
        my %form = (action => attribute($tag, 'action'),
                    method => attribute($tag, 'method'), hidden => {});
        my %named;

        while ($inside =~ m{<(?:input|button|select|textarea)\b([^>]*)>}gis) {
            my $input = $1;
            my $name = attribute($input, 'name') // next;

            $named{$name} = 1;
            $form{hidden}{$name} = attribute($input, 'value') // ''
                if lc(attribute($input, 'type') // '') eq 'hidden';
        }

        return \%form if !grep { !$named{$_} } keys %$fields;
    }

    return;
}


sub attribute {
    my ($tag, $name) = @_;

    return if $tag !~ /(?:\A|\s)\Q$name\E\s*=\s*
                       (?:"([^"]*)"|'([^']*)'|([^\s>]+))/xi;

    my $value = $1 // $2 // $3;
    my %entity = (amp => '&', lt => '<', gt => '>', quot => '"',
                  '#39' => "'", '#34' => '"', '#x27' => "'");

    return $value =~ s/&(amp|lt|gt|quot|\#39|\#34|\#x27);/$entity{$1}/gr;
}


# ------------------------------------------------------------- cookies ---


sub cookies {
    my ($self) = @_;

    return join '; ', map { "$_=$self->{jar}{$_}{value}" }
                      sort keys %{ $self->{jar} };
}


sub cookie {
    my ($self, $name, $value) = @_;

    $self->{jar}{$name} = { value => $value } if @_ > 2;

    return $self->{jar}{$name} && $self->{jar}{$name}{value};
}


sub forget { my ($self, $name) = @_; delete $self->{jar}{$name} }


# One Set-Cookie value as a hash with name, value and attributes in lower case.

sub parse_cookie {
    my ($text) = @_;
    my ($pair, @attributes) = split /\s*;\s*/, $text;
    my ($name, $value) = split /=/, $pair, 2;

    return { name => $name, value => $value // '',
             map { my ($n, $v) = split /=/, $_, 2; lc $n => $v // 1 }
                 @attributes };
}


sub learn {
    my ($self, $r) = @_;

    for my $text ($r->header('Set-Cookie')) {
        my $cookie = parse_cookie($text);
        my $age = $cookie->{'max-age'};

        if (defined $age && $age <= 0
            || ($cookie->{expires} // '') =~ /\b19[67]\d\b/)
        {
            delete $self->{jar}{ $cookie->{name} };

        } else {
            $self->{jar}{ $cookie->{name} } = $cookie;
        }
    }
}


# ------------------------------------------------------------- sockets ---


sub open {
    my ($self) = @_;

    $self->close;
    $self->{in} = '';
    $self->{sock} = Session::Wire::dial($self->{host}, $self->{port},
                                        $self->{timeout}) or return;

    if ($self->{ssl}) {
        require IO::Socket::SSL;

        $self->{sock}->blocking(1);
        IO::Socket::SSL->start_SSL($self->{sock},
            SSL_verify_mode => 0, SSL_hostname => $self->{name},
            %{ ref $self->{ssl} ? $self->{ssl} : {} }) or return;
        $self->{sock}->blocking(0);
    }

    return $self->{sock};
}


# An idle connection that is readable has been closed.

sub usable {
    my ($self) = @_;

    return $self->{sock} && $self->{in} eq ''
           && !IO::Select->new($self->{sock})->can_read(0);
}


sub send {
    my ($self, $bytes) = @_;

    return Session::Wire::write_all($self->{sock}, $bytes, \$self->{in},
                                    $self->{timeout});
}


# One response; nothing if it does not come whole in time.

sub receive {
    my ($self, %arg) = @_;
    my $deadline = time + ($arg{timeout} // $self->{timeout});
    my $eof = 0;

    for (;;) {
        my ($r, $rest) = Session::Wire::parse($self->{in}, eof => $eof,
                                              head => $arg{head});

        if ($r && !($eof && $r->error && $self->{in} eq '')) {
            $self->{in} = $rest;
            $self->learn($r);
            $self->close if $eof || ($r->header('Connection') // '')
                                    =~ /\bclose\b/i;
            return $r;
        }

        return if $eof || time > $deadline;

        $eof = 1 if defined $self->more($deadline) && !$self->{alive};
    }
}


# Reads what comes until the deadline; {alive} tells whether more may come.

sub more {
    my ($self, $deadline) = @_;
    my $wait = $deadline - time;

    if ($self->{ssl} && $self->{sock}->pending) {
        $wait = 0;
    }

    my $n = Session::Wire::read_some($self->{sock}, \$self->{in},
                                     $wait > 0 ? $wait : 0);

    $self->{alive} = !defined $n || $n > 0;

    return $n;
}


# All bytes until the server closes; undef if it does not in time.

sub drain {
    my ($self, $seconds) = @_;
    my $deadline = time + ($seconds // $self->{timeout});

    for (;;) {
        return if time > $deadline;
        last if defined $self->more($deadline) && !$self->{alive};
    }

    my $bytes = $self->{in};

    $self->close;

    return $bytes;
}


# An orderly end of what we send; the answer may still be read.

sub finish { my ($self) = @_; shutdown $self->{sock}, 1 }


sub reset {
    my ($self) = @_;

    Session::Wire::reset_close(delete $self->{sock});
    $self->{in} = '';
}


sub close {
    my ($self) = @_;

    CORE::close(delete $self->{sock}) if $self->{sock};
}


1;
