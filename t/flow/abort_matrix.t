# Clients of HTTP/1 that go away - orderly, half, or with a reset - at each step
# of each page and of each change: who asks next is answered right, what was
# not asked for whole is not done, what was is done wholly or not at all, and
# nothing stays behind: no connection, no descriptor, no file.  And one
# connection for somebody, somebody else and nobody.

use strict;
use warnings;

use lib 't/lib';
use IO::Select ();
use IO::Socket::INET ();
use Session::Aborts;
use Session::Flow;
use Socket qw(SOL_SOCKET SO_RCVBUF SOCK_STREAM inet_aton pack_sockaddr_in);
use Test::More;

my $t = Session::Flow->new(users => [@Session::Aborts::logins]);
my $aborts = Session::Aborts->new($t, whole => \&whole);
my (@reads, @changes) = @Session::Aborts::reads;

@changes = @Session::Aborts::changes;

my ($actor) = grep { $_->{name} eq 'actor' } @reads;
my ($sign_in, $sign_out) = @changes;

# What is done with the connection before it ends; of which requests: reads,
# changes, those with a body, sign_in, or the app's; whether a change is done
# then, for a sign-in not what was not answered; who else is connected; and
# whether it wants HTTP/1.1.

my %of = (all => sub { 1 }, reads => sub { !has_body(@_) },
          body => \&has_body, sign_in => sub { $_[0]{in} },
          changes => sub { $_[0]{in} || @{ $_[0]{ends} || [] } },
          app => sub { $_[0]{path} eq '/app' && ($_[0]{code} // 200) == 200 });

my @steps = (
    ['connected', reads => sub { }],
    ['half a line', reads => sub { $_[0]->send(substr $_[1], 0, 5) }],
    ['half of the head', all => sub { head($_[0], $_[1], 0.5) }],
    ['the head but its end', all => sub { head($_[0], $_[1], 0.99) }],
    ['the head', body => sub { head($_[0], $_[1], 1) }],
    ['a byte of the body', body => sub { body_to(@_, 1) }],
    ['half of the body', body => sub { body_to(@_, 12) }],
    ['the body but its end', body => sub { body_to(@_, -1) }],
    ['the body in bytes', body => sub { singly($_[0], substr $_[1], 0, -1) }],
    ['half of the body, in a file', body => sub { filed(@_, -20, \&together) },
     port => 8081],
    ['the body in bytes, in a file', body => sub { filed(@_, -1, \&singly) },
     port => 8081],
    ['100 Continue', body => \&go_on, keep => 1],
    ['a byte after it', body => sub { go_on(@_); $_[0]->send('_') },
     keep => 1],
    ['chunks of a byte', app => sub {
        in_chunks($_[0], $_[1] =~ s/\z/more/r, 4) }, keep => 1],

    ['at once', all => \&together, done => 'either'],
    ['at once, in a file', body => \&together,
     done => 'either', port => 8081],
    ['at once, bob behind it', all => sub {
        $_[0]->send($_[1] . bytes($aborts->request($actor, 'bob'))) },
     done => 'either', keep => 1],

    ['in the queue of hashes', sign_in => sub {
        $aborts->in_queue($_[2], sending(@_)) }, others => 1],
    ['being hashed', sign_in => sub {
        $aborts->in_hash('before', sending(@_)) }],
    ['hashed', sign_in => sub { $aborts->in_hash('after', sending(@_)) }],
    ['in the queue of changes', changes => sub {
        $aborts->behind($_[2], sending(@_)) }, done => 1, others => 1],
    ['being committed', changes => sub { $aborts->in_commit(sending(@_)) },
     done => 1],
    ['the app has it', app => \&with_app, keep => 1],
    ['the app answers', app => \&app_answers, keep => 1],

    ['being answered', all => \&begun, port => 8082, done => 'answered'],
    ['answers are stuck', reads => \&stuck, port => 8083, keep => 1],
    ['answered', all => \&answered, done => 'answered', keep => 1],
    ['in the next head', all => sub {
        answered(@_); $_[0]->send(substr $_[1], 0, 40) }, done => 'answered',
     keep => 1],
);

for my $row (@reads, @changes) {
    for (@steps) {
        my ($name, $of, $do, %step) = @$_;

        next if !$of{$of}->($row);

        for my $way (qw(close reset finish)) {
            is cell($row, $do, \%step, $way, '1.1'), '',
                "$row->{name}, $name: $way";
        }

        is cell($row, $do, \%step, 'reset', '1.0'), '',
            "$row->{name}, $name: reset, HTTP/1.0" if !$step{keep};
    }
}


# ------------------------------------------------------------- in bytes ---

for my $row (@reads, @changes) {
    is $aborts->next_one($row, sub { whole($_[0], \&singly) }), '',
        "$row->{name}, a byte at a time";
}

is $aborts->next_one($changes[-1], sub { whole($_[0], \&in_chunks) }), '',
    'a body in chunks of a byte';
is whole($aborts->request($sign_in, 'carol'), \&in_chunks)->{code}, 411,
    'a form is not taken in chunks';


# -------------------------------------------------- one connection for all ---

for my $row (grep { $_->{who} } @reads) {
    for my $how ('at once', 'one by one', 'byte by byte') {
        is turns($row, $how), '', "$row->{name}, $how: each of them";
    }
}

{
    my $c = $t->client;
    my $alice = $aborts->session('alice', 'me');
    my @asked = ([$actor, 'alice'], [$sign_in, 'carol'], [$actor, undef],
                 [$sign_out, 'alice'], [$actor, 'alice'], [$actor, 'bob'],
                 [$actor, undef]);
    my @right = qw("alice" "ok" null "ok" null "bob" null);

    $c->open;
    $c->send(join '', map { bytes($aborts->request(@$_)) } @asked);

    like $c->receive->body, qr/$_/, "in turn: $_" for @right;

    $aborts->ended('alice', 'me');
    $t->sessionctl('session', 'revoke', '--user', 'carol');
}

is join(' ', $t->workers), $aborts->{worker}, 'one worker has served it all';
$t->kill_worker('KILL', $aborts->{worker});
is join(' ', $aborts->untrue), '', 'all that has changed is on the disk';
is $aborts->count('carol'), 0, 'and nobody has been signed in by halves';

$t->done;


# ---------------------------------------------------------------- a cell ---


sub cell {
    my ($row, $do, $step, $way, $version) = @_;
    my $cell = $aborts->begin($row);
    my $c = $t->client(number => $step->{port} // 8080);
    my $done = $step->{done} // 0;

    # nobody is signed in who was not told
    $done = $done eq 'answered' || $done && !$row->{in} if $done ne 'either';
    $do == \&stuck ? narrow($c) : $c->open;

    my $wrong = eval {
        $do->($c, bytes($cell->{request}, $version), $cell);
        $c->$way;
        $aborts->alone($step->{others}) or die "the request goes on\n";
        return '';
    } // $@;

    $wrong .= $aborts->release($cell);
    $c->close;

    return $wrong . $aborts->wrong($cell, $done ? $done : 0);
}


sub bytes {
    my ($request, $version) = @_;
    my $bytes = Session::Aborts::plain($t->client, $request);

    return $bytes if !$version;
    return $bytes =~ s{ HTTP/1\.1\r}{ HTTP/$version\r}r;
}


# The answer to a request, which $how sends.

sub whole {
    my ($request, $how) = @_;
    my $c = $t->client;

    $c->open;
    ($how // \&together)->($c, bytes($request));

    my $r = $c->receive or return;

    $c->close;

    return { code => $r->code, body => $r->body, size => length $r->raw,
             user => $r->header('X-User') // '' };
}


sub has_body { my ($row) = @_; $row->{in} || $row->{ends} }


# ----------------------------------------------------------------- steps ---


# What comes with the head goes into no file.

sub filed {
    my ($c, $bytes, $cell, $n, $how) = @_;

    head($c, $bytes, 1);
    $aborts->pass;
    $how->($c, substr $cell->{request}{body}, 0, $n);
    $t->wait_for(sub { $aborts->temporary }) or die "there is no file\n";
}


sub sending {
    my ($c, $bytes) = @_;

    return sub { $c->send($bytes) };
}


sub head {
    my ($c, $bytes, $part) = @_;

    $c->send(substr $bytes, 0, $part * (4 + index $bytes, "\r\n\r\n"));
}


sub together { my ($c, $bytes) = @_; $c->send($bytes) }


sub body_to {
    my ($c, $bytes, $cell, $n) = @_;
    my $body = $cell->{request}{body};

    head($c, $bytes, 1);
    $c->send(substr $body, 0, $n);
}


sub singly {
    my ($c, $bytes) = @_;

    $c->send($_) for split //, $bytes;
}


# A chunk for each byte of the body; without the end, and so many bytes, if
# that is said.

sub in_chunks {
    my ($c, $bytes, $without) = @_;
    my ($head, $body) = split /(?<=\r\n\r\n)/, $bytes, 2;

    $c->send($head =~ s/content-length: \d+/Transfer-Encoding: chunked/r);
    $c->send("1\r\n$_\r\n") for split //, substr $body, 0,
                                          length($body) - ($without // 0);
    $c->send("0\r\n\r\n") if !$without;
}


sub go_on {
    my ($c, $bytes) = @_;

    head($c, $bytes =~ s/\r\n/\r\nExpect: 100-continue\r\n/r, 1);
    $t->wait_for(sub { $c->more(1); $c->{in} =~ m{^HTTP/1.1 100 } })
        or die "not continued\n";
}


sub with_app {
    my ($c, $bytes) = @_;

    $c->send($bytes =~ s/\r\n/\r\nX-Echo-Delay: 60\r\n/r);
    $aborts->app_is_asked;
}


sub app_answers {
    my ($c, $bytes) = @_;

    $c->send($bytes =~ s/\r\n/\r\nX-Echo-Stream: 1\r\n/r);
    $t->wait_for(sub { $c->more(1); $c->{in} =~ /tick/ })
        or die "the app does not answer\n";
}


sub begun {
    my ($c, $bytes) = @_;

    $c->send($bytes);
    $t->wait_for(sub { $c->more(1); $c->{in} ne '' }) or die "no answer\n";
}


sub answered {
    my ($c, $bytes) = @_;

    $c->send($bytes);
    $c->receive(timeout => 20) or die "no answer\n";
}


# Next to no room for what comes.

sub narrow {
    my ($c) = @_;
    my $sock = IO::Socket::INET->new(Proto => 'tcp', Type => SOCK_STREAM);

    $sock->setsockopt(SOL_SOCKET, SO_RCVBUF, 1);
    $sock->connect(pack_sockaddr_in($c->{port}, inet_aton('127.0.0.1')))
        or die "no connection: $!\n";
    $sock->blocking(0);
    $c->{sock} = $sock;
}


# More answers than anybody has room for, and none of them is read.

sub stuck {
    my ($c, $bytes, $cell) = @_;
    my $answer = whole($cell->{request});
    my $n = 2 + int 65536 / ($answer->{size} + length $answer->{body});
    my ($logged, $before) = (-1);

    $c->send($bytes x $n);
    $t->wait_for(sub {
        ($before, $logged) = ($logged, $aborts->logged('1.1'));
        $aborts->pass;
        return $logged == $before + 2
               && IO::Select->new($c->{sock})->can_read(0);
    }) or die "they are not stuck\n";
}


# Somebody, somebody else and nobody on one connection: in words what is wrong
# with what they get.

sub turns {
    my ($row, $how) = @_;
    my @who = ('alice', 'bob', undef, 'bob', undef, 'alice');
    my @bytes = map { bytes($aborts->request($row, $_)) } @who;
    my $c = $t->client;
    my @wrong;

    $c->open;
    $c->send(join '', @bytes) if $how eq 'at once';
    singly($c, join '', @bytes) if $how eq 'byte by byte';

    for my $login (@who) {
        $c->send(shift @bytes) if $how eq 'one by one';

        my $r = $c->receive or return 'no answer';
        my $answer = { code => $r->code, body => $r->body,
                       user => $r->header('X-User') // '' };

        push @wrong, $aborts->is_right($row, $login, $answer);
    }

    return join '', @wrong;
}
