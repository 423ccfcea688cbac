package Session::Bench::Peer;

# Something else that answers GET /protected to who is signed in, with the body
# and the headers of our own page: a script of bench/peers.  It is told where to
# live, where the sessions are, and which port to listen at; bench/peers has
# the commands.
#
# A peer that cannot be had here, or that does not do what it is measured for,
# is left out with a word: {why}.

use strict;
use warnings;

use Digest::SHA qw(hmac_sha256);
use File::Path qw(make_path);
use IO::Handle ();
use MIME::Base64 qw(encode_base64url);
use POSIX qw(WNOHANG);
use Session::Bench;
use Session::Client ();
use Session::Log qw(process_tree slurp);
use Session::Wire ();
use Session::World ();

my $core = 0;
my $patience = 90;
my $about_max = 300;

my $folder = "$Session::World::project/bench/peers";


# Names of all there are.

sub names { return map { s{.*/}{}r } grep { -f && -x _ } sort glob "$folder/*" }


# The sessions of all peers, and what they have to answer.

sub write_data {
    my ($dir, $sessions, $body, @headers) = @_;
    my $key = random(32);
    my (@rows, @cookies);

    for my $n (0 .. $sessions - 1) {
        my $id = encode_base64url(random(16));

        push @rows, join("\t", $id, $n + 1, sprintf('u%07d', $n),
                         "User $n", 'user') . "\n";
        push @cookies, "session=$id."
            . encode_base64url(hmac_sha256($id, $key)) . "\n";
    }

    make_path($dir);

    my %file = (key => unpack('H*', $key), 'sessions.tsv' => join('', @rows),
                cookies => join('', @cookies), body => $body,
                headers => join '', map { "$_->[0]: $_->[1]\n" } @headers);

    for my $name (keys %file) {
        open my $out, '>:raw', "$dir/$name" or die "$dir/$name: $!\n";
        print $out $file{$name};
        close $out or die "$dir/$name: $!\n";
    }
}


sub random {
    my ($bytes) = @_;
    my $text;

    open my $in, '<:raw', '/dev/urandom' or die "/dev/urandom: $!\n";
    read $in, $text, $bytes;

    return $text;
}


# Installs, starts and asks it.

sub new {
    my ($class, $name, $data) = @_;
    my $dir = "$Session::World::build/peers/$name";
    my $self = bless { name => $name, dir => $dir, data => $data,
                       script => "$folder/$name", log => "$data/$name.log",
                       owner => $$ }, $class;

    $self->{why} = "there is no bench/peers/$name" if !-x $self->{script};
    $self->install if !$self->{why};
    $self->start if !$self->{why};
    $self->check if !$self->{why};
    $self->stop if $self->{why};

    return $self;
}


# Its output without the end of the last line, and its exit code.

sub command {
    my ($self, @words) = @_;

    open my $out, '-|', $self->{script}, @words or die "$self->{script}: $!\n";
    my $text = do { local $/; <$out> } // '';
    close $out;

    return $text =~ s/\s+\z//r, $? >> 8;
}


sub install {
    my ($self) = @_;

    make_path($self->{dir});

    my ($about) = $self->command('about');

    $self->{about} = substr $about =~ s/\s+/ /gr, 0, $about_max;
    print STDERR "installing $self->{name}\n";

    my ($said, $code) = $self->command('install', $self->{dir});

    $self->{why} = $code == 77 ? $said =~ s/.*\n//sr
                               : "install failed with $code" if $code;
}


sub start {
    my ($self) = @_;

    $self->{port} = Session::Wire::free_port();

    my $pid = fork // die "fork: $!\n";

    if ($pid == 0) {
        setpgrp;
        $SIG{$_} = 'DEFAULT' for qw(INT TERM ALRM);
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', $self->{log};
        open STDERR, '>&', \*STDOUT;
        exec 'taskset', '-c', $core, $self->{script}, 'start',
            @$self{qw(dir data port)} or POSIX::_exit(127);
    }

    $self->{pid} = $pid;

    my $ready = Session::Wire::wait_until(
        sub { !$self->running || $self->good_answer }, $patience);

    $self->{why} = $ready && !$self->running
        ? 'it ended: ' . (split /\n/, slurp($self->{log}))[-1]
        : 'no 200 with a good cookie' if !$ready || !$self->running;
}


sub running {
    my ($self) = @_;

    return if !$self->{pid};
    return 1 if waitpid($self->{pid}, WNOHANG) == 0;

    delete $self->{pid};

    return;
}


sub good_answer {
    my ($self) = @_;

    return if !Session::Wire::dial('127.0.0.1', $self->{port}, 1);

    $self->{cookies} //= $self->cookies // return;

    my $r = $self->ask($self->{cookie}) // return;

    return $r->code == 200 && $r;
}


# The file of cookies that it takes.

sub cookies {
    my ($self) = @_;
    my ($text, $code) = $self->command('tokens', @$self{qw(dir data)});

    return if $code || $text !~ /\A\S+=/;

    my $file = "$self->{data}/$self->{name}.cookies";

    open my $out, '>', $file or die "$file: $!\n";
    print $out "$text\n";
    close $out or die "$file: $!\n";
    ($self->{cookie}) = $text =~ /\A(.*)/;

    return $file;
}


sub ask {
    my ($self, $cookie) = @_;

    return $self->client->get('/protected',
                              defined $cookie ? (Cookie => $cookie) : ());
}


sub client {
    my ($self) = @_;

    return Session::Client->new(port => $self->{port}, timeout => 10);
}


# What it answers whom; it must send our body.

sub check {
    my ($self) = @_;
    my $good = $self->good_answer;
    my $bad = $self->{cookie} =~ s/(.)(.{4})\z/($1 eq 'A' ? 'B' : 'A') . $2/er;

    return $self->{why} = 'no 200 with a good cookie' if !$good;
    return $self->{why} = 'another body'
        if $good->body ne slurp("$self->{data}/body");

    my @wrong = wrong_headers($good,
                              split /\n/, slurp("$self->{data}/headers"));

    return $self->{why} = "not our header $wrong[0]" if @wrong;

    for (['no cookie', undef], ['a changed cookie', $bad]) {
        my ($what, $cookie) = @$_;
        my $r = $self->ask($cookie);
        my $code = $r ? $r->code : 'nothing';

        return $self->{why} = "$code and not 401 for $what" if $code ne 401;
    }

    $self->{wire} = length($good->raw) + 2 + length $good->body;
    $self->{bytes} = length $good->body;
}


# Names of the headers that an answer does not have as it should; libraries
# may add to them.

sub wrong_headers {
    my ($r, @lines) = @_;
    my @wrong;

    for (@lines) {
        my ($name, $value) = /\A([^:]+): (.*)/;

        $value = quotemeta($value) =~ s{NONCE}{[A-Za-z0-9+/]{22}==}r;
        push @wrong, $name
            if ($r->header($name) // '') !~ /(?:\A|, )$value(?:,|\z)/;
    }

    return @wrong;
}


# A case that names it, as a request for Session::Bench::Generator, and why not
# if it does not answer as it should.  Where a body is only for those who are
# signed in, nobody else may get it.

sub request {
    my ($self, $case) = @_;
    my $its = $case->of_peer($self->{name});
    my $cookie = $its->{cookie} && $self->{cookie};
    my $r = $self->answer($its, $cookie);

    if ($its->{again} && $r) {
        $its->{etag} = $r->header('ETag') // return undef, 'no ETag';
        $r = $self->answer($its, $cookie);
    }

    my $code = $r ? $r->code : 'nothing';
    my $wrong = $code ne $its->{status} ? "$code and not $its->{status}"
        : defined $cookie && $code < 400 && $self->same($its, $r)
            ? 'the same without a cookie' : undef;

    return undef, $wrong if defined $wrong;

    return { url => $self->url($its->{path}), method => $its->{method},
             headers => [$its->headers($cookie)], code => $code,
             wire => length($r->raw) + 2 + length $r->body, about => 0.1,
             body => length $r->body };
}


sub answer {
    my ($self, $case, $cookie) = @_;

    return $self->client->request($case->{method}, $case->{path},
                                  $case->headers($cookie));
}


sub same {
    my ($self, $case, $r) = @_;
    my $other = $self->answer($case) // return;

    return $other->code == $r->code && $other->body eq $r->body;
}


sub url { return "http://127.0.0.1:$_[0]{port}" . ($_[1] // '/protected') }
sub pid { $_[0]{pid} }


sub stop {
    my ($self) = @_;
    my $pid = delete $self->{pid} // return;
    my @tree = process_tree($pid);
    my $left = sub { waitpid $pid, WNOHANG; grep { -d "/proc/$_" } @tree };

    kill TERM => -$pid;
    Session::Wire::wait_until(sub { !$left->() }, 20)
        or kill KILL => -$pid, $left->();
    waitpid $pid, 0;
}


sub DESTROY {
    my ($self) = @_;

    local ($?, $@);

    $self->stop if $self->{owner} == $$;
}


1;
