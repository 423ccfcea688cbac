# What signing in tells about who exists: an answer of the same bytes, the same
# hash, and as many machine instructions.  callgrind counts them, so no clock
# and no load on the machine has a say, and only those of our functions from the
# form to the hash, of the hash, and from there to the end of the request: what
# timers and the audit do meanwhile is left out.  nginx is one process here; its
# event loop is the first thread.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

plan skip_all => 'valgrind takes no sanitizers and no other valgrind'
    if $ENV{TEST_NGINX_LD_PRELOAD} || $ENV{TEST_NGINX_USE_VALGRIND};

# A known login is looked up in a second tree and its hash is copied, which is
# 3000 instructions, a microsecond.  One HMAC more would be 9000 here.
my $tolerance = 4000;

# Of each kind; the median counts, for a block may have to come from the kernel.
my $rounds = 5;

# What hashes is a thread's; the others begin and end in one call of the event
# loop.
my @counted = qw(ngx_http_session_attempt_start ngx_http_session_wait_resume
                 ngx_http_session_hash_thread);

# Logins and passwords are equally long, and so are forms and answers.
my $right = $Session::World::password;
my $wrong = 'x' x length $right;
my @users = ('alice', "dizzy:::$right:disabled", 'kings',
             "doggy:::$right:disabled", 'mally');

my $t = Session::Flow->new(master => 0, level => 'warn', users => \@users);
my $dir = $t->dir;

$t->write_file_expand('nginx.conf', configuration(http => <<'END'));
    session_throttle account=10000r/15m address=10000r/15m;
    keepalive_timeout 600s;

    server {
        listen 127.0.0.1:%%PORT_8081%%;
        session_throttle account=3r/15m address=10000r/15m;
        location = /sign_in { session_page sign_in; }
        location = /up { session_page up; }
    }
END
$t->nginx->{binary} = wrapper();
$t->run;

my $client = prepared($t);
my ($device) = Session::World::mint('device', $t->store, $t->keys, 'default',
                                    'mally');


# ---------------------------------------------------------------- bytes ---

for my $accept ('text/html', 'application/json') {
    my $expected = plain(answer($client, $accept, 'alice', $wrong), 'alice');

    like $expected, qr/\AHTTP\S+ 401 /, "$accept: known, wrong password";

    for (['dizzy', $wrong, 'disabled, wrong password'],
         ['dizzy', $right, 'disabled, right password'],
         ['other', $wrong, 'unknown'], ['other', $right, 'unknown, right'])
    {
        my ($login, $password, $name) = @$_;

        is plain(answer($client, $accept, $login, $password), $login),
            $expected, "$accept: $name, the same bytes";
    }
}


# --------------------------------------------------------- instructions ---

alike('a failure', $client, 401, 1,
      known => ['alice', $wrong], disabled => ['dizzy', $wrong],
      'disabled, right password' => ['dizzy', $right],
      unknown => ['other', $wrong]);

# Somebody else's device must not make it a matter of one HMAC.

$client->cookie("$Session::World::cookie-device", $device);

alike('with a device of one\'s own', $client, 401, 1,
      known => ['alice', $wrong], disabled => ['dizzy', $wrong],
      unknown => ['other', $wrong]);


# --------------------------------------------------------------- locked ---

{
    my $locked = prepared($t);

    $locked->{port} = $t->port(8081);
    $locked->open;

    for my $login (qw(kings doggy thing)) {
        is answer($locked, 'text/html', $login, $wrong)->code, 401,
            "$login, wrong, $_" for 1 .. 3;
    }

    for my $accept ('text/html', 'application/json') {
        my ($expected, @others) = map {
            plain(answer($locked, $accept, $_, $right), $_)
        } qw(kings doggy thing);

        like $expected, qr/\AHTTP\S+ 429 /, "$accept: locked";
        is $others[0], $expected, 'locked and disabled, the same bytes';
        is $others[1], $expected, 'locked and unknown, the same bytes';
    }

    alike('locked', $locked, 429, 0,
          known => ['kings', $right], disabled => ['doggy', $right],
          unknown => ['thing', $right]);
}

$t->done;


# Session::Nginx runs what this names, so valgrind is our child as ever.

sub wrapper {
    my $preload = join ':', compiled($t, 'small_map'),
                            compiled($t, 'count_hash');
    my $toggle = join ' ', map { "--toggle-collect=$_" } @counted;
    my $file = $t->write_file('callgrind', <<"END");
#!/bin/sh
COUNT_HASH=$dir/hashes LD_PRELOAD=$preload exec valgrind -q \\
    --tool=callgrind --separate-threads=yes --callgrind-out-file=$dir/out \\
    $toggle nginx "\$@"
END

    chmod 0700, $file or die "$file: $!\n";

    return $file;
}


sub answer {
    my ($c, $accept, $login, $password) = @_;

    $c->send($c->format('POST', '/sign_in', Accept => $accept,
        'Content-Type' => 'application/x-www-form-urlencoded',
        'X-CSRF-Token' => $c->{csrf}, body => Session::Client::encode_form(
            { login => $login, password => $password })));

    return $c->receive(timeout => 60);
}


# All of an answer but for the time, what is random, and the login itself.

sub plain {
    my ($r, $login) = @_;
    my $text = $r->raw . "\n" . $r->body;

    $text =~ s/^Date: .*\r\n//mg;
    $text =~ s/nonce-[A-Za-z0-9+\/=]{22,}/nonce/g;
    $text =~ s/nonce="[^"]{22,}"/nonce/g;
    $text =~ s/name="_csrf" value="[^"]{86}"/token/g;
    $text =~ s/value="\Q$login\E"/login/g;
    $text =~ s/^Retry-After: \d{3}\r\n/wait/mg;

    return $text;
}


# Asks for each kind in turn, several times.  Tests that all cost the same.

sub alike {
    my ($what, $c, $code, $hashes, %kind) = @_;
    my (%loop, %hash, %said, @odd);

    for my $round (1 .. $rounds) {
        for my $name (sort keys %kind) {
            my $before = length slurp("$dir/hashes");

            control('--zero');

            my $r = answer($c, 'text/html', @{ $kind{$name} });

            # comes when nginx has done all that it does after an answer
            $c->get('/up');

            my ($loop, $thread) = counted();

            push @odd, "$name: " . $r->code if $r->code != $code;
            push @{ $loop{$name} }, $loop;
            push @{ $hash{$name} }, $thread;
            $said{ slurp("$dir/hashes", $before) }++;
        }
    }

    is "@odd", '', "$what: all are $code";
    is scalar(keys %said), 1, 'all with the same hash';
    is scalar((keys %said)[0] =~ tr/\n//), $hashes, "which is $hashes";
    near('the event loop', %loop);
    near('the hash', %hash) if $hashes;
}


sub near {
    my ($what, %counts) = @_;
    my %median = map { $_ => median(@{ $counts{$_} }) } keys %counts;
    my @sorted = sort { $a <=> $b } values %median;

    note join "\n", map { "$what, $_: @{ $counts{$_} }" } sort keys %counts;
    cmp_ok $sorted[0], '>', 10_000, "$what: something was counted";
    cmp_ok $sorted[-1] - $sorted[0], '<', $tolerance,
        'and as much for all of them'
        or diag join ', ', map { "$_ $median{$_}" } sort keys %median;
}


sub median { return (sort { $a <=> $b } @_)[$#_ / 2] }


# Instructions since --zero: of the first thread, and of the busiest other.

sub counted {
    my %old = map { $_ => 1 } glob "$dir/out.*";

    control('--dump');

    my %total;

    for my $file (grep { !$old{$_} } glob "$dir/out.*-*") {
        my ($thread) = $file =~ /-0*(\d+)\z/;

        ($total{$thread}) = slurp($file) =~ /^totals: (\d+)/m;
    }

    my $loop = delete $total{1} // 0;
    my ($hash) = sort { $b <=> $a } values %total;

    return $loop, $hash // 0;
}


sub control {
    my ($what) = @_;
    my $pid = $t->nginx->pid;
    my $said = `callgrind_control $what $pid 2>&1`;

    die "callgrind_control $what: $said\n" if $?;
}
