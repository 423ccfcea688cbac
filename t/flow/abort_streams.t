# Clients of HTTP/2 that break off a stream, or the connection with all that
# are on it, at each step of each page and of each change; and 128 streams at
# once of which half are reset.  The others are answered, each for whom it
# asked, nothing is done by halves, and nothing stays behind.

use strict;
use warnings;

use lib 't/lib';
use Session::Aborts;
use Session::Flow;
use Session::Http2 qw(HEADERS CONTINUATION GOAWAY END_STREAM PADDED NO_ERROR);
use Test::More;

my $t = Session::Flow->new(users => [@Session::Aborts::logins]);
my $aborts = Session::Aborts->new($t, http2 => 1, whole => \&whole);
my @reads = @Session::Aborts::reads;
my @changes = @Session::Aborts::changes;
my ($actor) = grep { $_->{name} eq 'actor' } @reads;
my ($sign_in, $sign_out) = @changes;

# As in t/flow/abort_matrix.t: what is done before it ends; of which requests;
# and what becomes of a change.  window: of each stream.  A head that is broken
# off can only end with its connection.

my %of = (all => sub { 1 }, reads => sub { !has_body(@_) },
          body => \&has_body, sign_in => sub { $_[0]{in} },
          changes => sub { $_[0]{in} || @{ $_[0]{ends} || [] } },
          app => sub { $_[0]{path} eq '/app' && ($_[0]{code} // 200) == 200 });

my @steps = (
    ['connected', reads => sub { }, whole => 1],
    ['half of the head', all => sub { half_a_head(@_) }, whole => 1],
    ['the head but its end', all => sub { half_a_head(@_, 1) }, whole => 1],
    ['the head', body => sub { body_to(@_, 0) }],
    ['half of the body', body => sub { body_to(@_, -20) }],
    ['the body but its end', body => sub { body_to(@_, -1) }],
    ['the body without END_STREAM', body => sub { body_to(@_, undef) },
     done => 'either'],
    ['the body in bytes', body => sub { singly(@_) }],
    ['the body in bytes, padded', body => sub { singly(@_, 1) }],
    ['the body in bytes, in a file', body => \&filed, port => 8081],

    ['at once', all => \&send_whole, done => 'either'],
    ['at once, in a file', body => \&send_whole, done => 'either',
     port => 8081],

    ['in the queue of hashes', sign_in => sub {
        $aborts->in_queue($_[1], sending(@_)) }, others => 1],
    ['being hashed', sign_in => sub {
        $aborts->in_hash('before', sending(@_)) }],
    ['hashed', sign_in => sub { $aborts->in_hash('after', sending(@_)) }],
    ['in the queue of changes', changes => sub {
        $aborts->behind($_[1], sending(@_)) }, done => 1, others => 1],
    ['being committed', changes => sub { $aborts->in_commit(sending(@_)) },
     done => 1],
    ['the app has it', app => \&with_app],
    ['the app answers', app => \&app_answers],

    ['being answered', all => sub { begun(@_) }, done => 'answered',
     window => 0],
    ['half answered', all => sub { begun(@_, qr/\A.{9}/s) },
     done => 'answered', window => 9],
    ['answered', all => \&answered, done => 'answered'],
);

my @ways = (
    ['reset of the stream', sub { $_[0]->reset_stream($_[1]) }],
    ['GOAWAY', sub {
        $_[0]->put(GOAWAY, 0, 0, pack 'NN', 0, NO_ERROR); $_[0]->finish }, 1],
    ['close', sub { $_[0]->finish }, 1],
    ['reset', sub { $_[0]->reset }, 1],
);

for my $row (@reads, @changes) {
    for (@steps) {
        my ($name, $of, $do, %step) = @$_;

        next if !$of{$of}->($row);

        for my $way (@ways) {
            next if $step{whole} && !$way->[2];

            is cell($row, $do, \%step, $way), '',
                "$row->{name}, $name: $way->[0]";
        }
    }
}


# --------------------------------------------------------- many streams ---

# All of them are being answered, none has its body: half are reset, and the
# others get theirs.

for my $when ('at once', 'when all are being answered', 'one by one') {
    my $c = Session::Http2->new($t->port, window => 0);
    my @asked = map { [$reads[$_ % @reads],
                       (qw(alice bob), undef)[$_ % 3]] } 0 .. 127;
    my @streams;

    for my $asked (@asked) {
        push @streams, send_whole($c, { request => $aborts->request(@$asked) });
        $c->reset_stream($streams[-1])
            if $when eq 'one by one' && @streams % 2 == 0;
    }

    $c->codes(@streams) if $when =~ /answered/;
    $when eq 'one by one' or $c->reset_stream($streams[2 * $_ + 1])
        for 0 .. 63;

    my @kept = map { 2 * $_ } 0 .. 63;

    $c->codes(@streams[@kept]);
    $c->open_window(1 << 20);

    my $answers = $c->answers(@streams[@kept]);

    is join('', map { $aborts->is_right(@{ $asked[$_] },
                                        $answers->{ $streams[$_] }) } @kept),
        '', "half of 128 are reset $when: the others are answered right";
    is whole($aborts->request($actor, 'bob'), $c)->{code}, 200,
        'and the connection goes on';
    $c->close;
    is $aborts->wrong($aborts->begin($actor), 0), '', 'nothing stays behind';
}

for my $row (@reads, @changes) {
    is $aborts->next_one($row, sub { whole($_[0], undef, singly => 1) }), '',
        "$row->{name}, a byte at a time";
}

# Sign-ins that wait for one hash.

{
    my $c = Session::Http2->new($t->port);
    my @who = map { (qw(carol frank grace heidi))[$_ / 2 % 4] } 0 .. 127;
    my @streams;

    $aborts->in_hash('before', sub {
        for my $login (@who) {
            push @streams, send_whole($c,
                { request => $aborts->request($sign_in, $login) });
        }
    });
    $aborts->pass;
    $c->reset_stream($streams[2 * $_ + 1]) for 0 .. 63;
    $aborts->pass;
    $aborts->release;

    my @kept = @streams[map { 2 * $_ } 0 .. 63];
    my $answers = $c->answers(@kept);

    is scalar(grep { ($answers->{$_}{code} // '') eq '200' } @kept), 64,
        'half of 128 sign-ins are reset: the others are in';
    $c->close;
    is join(' ', map { $aborts->count($_) } @who[0, 2, 4, 6]), '16 16 16 16',
        'and nobody else';
    $t->sessionctl('session', 'revoke', '--user', $_) for @who[0, 2, 4, 6];
}

changes_of_many();

is join(' ', $t->workers), $aborts->{worker}, 'one worker has served it all';
$t->kill_worker('KILL', $aborts->{worker});
is join(' ', $aborts->untrue), '', 'all that has changed is on the disk';

$t->done;


# ---------------------------------------------------------------- a cell ---


sub cell {
    my ($row, $do, $step, $way) = @_;
    my (undef, $end, $whole) = @$way;
    my $cell = $aborts->begin($row);
    my $c = Session::Http2->new($t->port($step->{port} // 8080),
                                window => $step->{window});
    my $done = $step->{done} // 0;
    my $logged = $aborts->logged('2.0');

    # nobody is signed in who was not told
    $done = $done eq 'answered' || $done && !$row->{in} if $done ne 'either';

    my $wrong = eval {
        $do->($c, $cell);
        $end->($c, $cell->{stream});

        ($whole ? $aborts->alone($step->{others})
                : $t->wait_for(sub { $aborts->logged('2.0') > $logged }))
            or die "the request goes on\n";
        return '';
    } // $@;

    $wrong .= $aborts->release($cell);

    if (!$whole && $wrong eq '') {
        $c->open_window(1 << 20);
        $wrong = $aborts->next_one($row, sub { whole($_[0], $c) });
    }

    $c->close if $c->{sock};

    return $wrong . $aborts->wrong($cell, $done ? $done : 0);
}


# The answer to a request, on a connection or one of its own.

sub whole {
    my ($request, $c, %arg) = @_;
    my $on = $c // Session::Http2->new($t->port, %arg);
    my $stream = send_whole($on, { request => $request });
    my $answer = $on->answers($stream)->{$stream};

    $on->close if !$c;

    return $answer;
}


sub has_body { my ($row) = @_; $row->{in} || $row->{ends} }


# ----------------------------------------------------------------- steps ---


sub parts {
    my ($cell) = @_;
    my $request = $cell->{request};

    return @$request{qw(method path)}, @{ $request->{fields} };
}


sub send_whole {
    my ($c, $cell) = @_;
    my $body = $cell->{request}{body};

    return $cell->{stream} = $c->ask(parts($cell)) if $body eq '';

    $cell->{stream} = $c->head(parts($cell));
    $c->data($cell->{stream}, $body, END_STREAM);

    return $cell->{stream};
}


sub sending {
    my ($c, $cell) = @_;

    return sub { send_whole($c, $cell) };
}


sub half_a_head {
    my ($c, $cell, $rest) = @_;
    my $block = $c->block(parts($cell));
    my $half = int length($block) / 2;

    $cell->{stream} = $c->open_stream;
    $c->put(HEADERS, END_STREAM, $cell->{stream}, substr $block, 0, $half);
    $c->put(CONTINUATION, 0, $cell->{stream}, substr $block, $half) if $rest;
}


sub body_to {
    my ($c, $cell, $n) = @_;
    my $body = $cell->{request}{body};

    $cell->{stream} = $c->head(parts($cell));
    $n //= length $body;
    $c->data($cell->{stream}, substr $body, 0, $n) if $n != 0;
}


# A frame for each byte but the last.

sub singly {
    my ($c, $cell, $padded) = @_;

    body_to($c, $cell, 0);

    for my $byte (split //, substr $cell->{request}{body}, 0, -1) {
        $padded ? $c->data($cell->{stream}, "\x03${byte}pad", PADDED)
                : $c->data($cell->{stream}, $byte);
    }
}


sub filed {
    singly(@_);
    $t->wait_for(sub { $aborts->temporary }) or die "there is no file\n";
}


sub with_app {
    my ($c, $cell) = @_;

    push @{ $cell->{request}{fields} }, 'x-echo-delay' => 60;
    send_whole($c, $cell);
    $aborts->app_is_asked;
}


sub app_answers {
    my ($c, $cell) = @_;

    push @{ $cell->{request}{fields} }, 'x-echo-stream' => 1;
    send_whole($c, $cell);
    until_it_has($c, $cell, qr/tick/);
}


# A head, and of the body as much as the window lets through.

sub begun {
    my ($c, $cell, $body) = @_;

    send_whole($c, $cell);
    $c->codes($cell->{stream})->{ $cell->{stream} }{code}
        or die "no answer\n";
    until_it_has($c, $cell, $body) if $body;
}


sub until_it_has {
    my ($c, $cell, $body) = @_;
    my $answer = $c->{answers}{ $cell->{stream} } //= { body => '' };

    while ($answer->{body} !~ $body && !$answer->{end}) {
        $c->take or die "no answer\n";
    }
}


sub answered {
    my ($c, $cell) = @_;

    send_whole($c, $cell);
    $c->answers($cell->{stream})->{ $cell->{stream} }{end}
        or die "no answer\n";
}


# --------------------------------------------------------------- changes ---

# Sign-outs and sign-ins of which the first is being committed, among those who
# read: half of each are reset.

sub changes_of_many {
    my $c = Session::Http2->new($t->port, window => 0);
    my @out = map { $t->session('alice') } 1 .. 8;
    my (@asked, @streams);

    push @asked, [$sign_out, $aborts->request($sign_out, 'alice', $_)]
        for @out;
    push @asked, [$sign_in, $aborts->request($sign_in, 'carol')] for 1 .. 8;
    push @asked, [$actor, $aborts->request($actor, $_), $_]
        for map { (undef, 'bob', 'dave')[$_ % 3] } 1 .. 112;

    $aborts->in_commit(sub {
        @streams = map { send_whole($c, { request => $_->[1] }) } @asked });

    my @readers = @streams[16 .. 127];

    $c->codes(@readers);
    $c->reset_stream($streams[2 * $_ + 1]) for 0 .. 63;
    $aborts->pass;
    $aborts->release;
    $c->open_window(1 << 20);

    my @kept = map { 2 * $_ } 0 .. 63;
    my $answers = $c->answers(@streams[@kept]);
    my @wrong = map { $aborts->is_right(@{ $asked[$_] }[0, 2],
                                        $answers->{ $streams[$_] }) } @kept;

    is join('', @wrong), '', 'half of 128 are reset while the first is'
                             . ' committed: the others are answered right';
    $c->close;
    $aborts->{over}{ $_->{token} } = 'alice' for @out;
    is join(' ', map { $aborts->code_of($_->{token}) } @out),
        join(' ', (401) x 8), 'who left has left, reset or not';
    ok $t->wait_for(sub { $aborts->count('carol') == 4 }),
        'who signed in is in, unless it was reset';
    $t->sessionctl('session', 'revoke', '--user', 'carol');
    is $aborts->wrong($aborts->begin($actor), 0), '', 'nothing stays behind';
}
