# bench/check_peer [NAME...]: do the peers of bench/peers do what they are
# measured for?  Installs each (all of them without a name) into
# SESSION_BUILD/peers/NAME, starts it, and asks it with good and bad cookies.
#
#   SESSION_BUILD   (build)
#   PEER_SESSIONS   how many sessions to make (200)
#
# Exits 1 when a peer did something wrong; one that cannot be had here is said
# so and passed over.

use strict;
use warnings;

use Cwd qw(abs_path);
use Digest::SHA qw(hmac_sha256);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use HTTP::Tiny;
use IO::Socket::INET;
use MIME::Base64 qw(encode_base64url);
use POSIX qw(WNOHANG);
use Session::Wire ();

$| = 1;

my $out = ($ENV{SESSION_BUILD} || 'build') . '/peers';
my $sessions = $ENV{PEER_SESSIONS} || 200;
my @names = @ARGV ? @ARGV
                  : map { s{.*/}{}r } grep { -f && -x _ } glob 'bench/peers/*';
my ($wrong, $group) = (0);

END { end_peer() if $group }

$SIG{INT} = $SIG{TERM} = sub { exit 130 };

make_path($out);
$out = abs_path($out);
check_peer($_) for @names;

exit($wrong ? 1 : 0);


sub check_peer {
    my ($name) = @_;
    my $peer = abs_path("bench/peers/$name");
    my $dir = "$out/$name";

    die "check_peer: no bench/peers/$name\n" if !-x $peer;

    chomp(my $about = `$peer about`);
    print "$name: $about\n";

    my $said = `$peer install $dir`;
    my $code = $? >> 8;

    print "  skipped: $said" if $code == 77;
    return if $code == 77;
    return verdict("install exits 0, not $code", 0) if $code;

    my ($ours, $others) = (make_data(), make_data());

    # What is well signed and known to nobody: cookies of a store that is gone.
    my @gone = with_peer($peer, $dir, $others);

    with_peer($peer, $dir, $ours, \@gone);
}


# Starts it, asks it, ends it, and returns its tokens.

sub with_peer {
    my ($peer, $dir, $data, $gone) = @_;
    my $port = free_port();
    my $log = "$dir/check.log";

    defined($group = fork) or die "fork: $!\n";

    if (!$group) {
        setpgrp;
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', $log or die "$log: $!\n";
        open STDERR, '>&', \*STDOUT;
        exec $peer, 'start', $dir, $data->{dir}, $port or die "exec: $!\n";
    }

    my $url = "http://127.0.0.1:$port/protected";
    my @tokens = ready($peer, $dir, $data, $url);

    if (!@tokens) {
        verdict("answers 200 within 90 s, see $log", 0);

    } elsif ($gone) {
        good($url, $data, @tokens);
        bad($url, $tokens[0], $gone);
    }

    verdict('ends with its group', end_peer());

    return @tokens;
}


sub ready {
    my ($peer, $dir, $data, $url) = @_;
    my @tokens;

    my $state = Session::Wire::wait_until(sub {
        return 'ended' if waitpid($group, WNOHANG) != 0;

        if (!@tokens) {
            @tokens = split /\n/, `$peer tokens $dir $data->{dir}`;
            return 'without tokens' if $? || !@tokens;
        }

        return ask($url, $tokens[0])->{status} == 200 && 'ready';
    }, 90);

    return ($state // '') eq 'ready' ? @tokens : ();
}


sub good {
    my ($url, $data, @tokens) = @_;
    my (%seen, %nonce, %unlike);

    $seen{$_}++ for @tokens;
    verdict("$sessions tokens, all different",
            @tokens == $sessions && keys %seen == $sessions);

    for my $n (0 .. 19) {
        my $answer = ask($url, $tokens[$n * $#tokens / 19]);

        $unlike{"status $answer->{status}"}++ if $answer->{status} != 200;
        $unlike{body}++ if $answer->{content} ne $data->{body};
        $unlike{close}++ if ($answer->{headers}{connection} // '') eq 'close';

        compare($answer->{headers}, $data, \%nonce, \%unlike);
    }

    verdict('200 with body and headers as they should be', !%unlike,
            sort keys %unlike);
    verdict('a nonce for each', keys %nonce == 20, join ' ', %nonce);
}


sub compare {
    my ($got, $data, $nonce, $unlike) = @_;

    for (@{ $data->{headers} }) {
        my ($name, $value) = /^([^:]+): (.*)/;
        my $is = $got->{lc $name} // '';

        $value = quotemeta $value;
        $value = "(?:private, )?$value" if $name eq 'Cache-Control';
        $value =~ s{NONCE}{([A-Za-z0-9+/]{22}==)};
        $is =~ /\A$value\z/ ? defined $1 && $nonce->{$1}++
                            : $unlike->{"$name: $is"}++;
    }

    my $type = $got->{'content-type'} // '';

    $unlike->{"type $type"}++ if $type !~ m{^text/html\b};
}


sub bad {
    my ($url, $token, $gone) = @_;
    my %cookie = (
        'no cookie'       => undef,
        'an empty one'    => $token =~ s/=.*/=/r,
        'half a cookie'   => substr($token, 0, length($token) / 2),
        'a wrong mark'    => changed($token, length($token) - 5),
        'another name'    => "x$token",
        'unknown session' => $gone->[0],
    );

    # A library may read no further than it has to.
    $cookie{'one too long'} = $token . 'A'
        if $token =~ /^session=[\w-]{22}\.[\w-]{43}$/;

    # Behind the name, and behind what a library writes before the session.
    $cookie{'a changed session'} = changed($token, index($token, '=') + 12);

    for (sort keys %cookie) {
        my $status = ask($url, $cookie{$_})->{status};

        verdict("401 for $_", $status == 401,
                "$status: " . ($cookie{$_} // ''));
    }
}


sub changed {
    my ($token, $at) = @_;

    substr($token, $at, 1) = substr($token, $at, 1) eq 'A' ? 'B' : 'A';

    return $token;
}


sub ask {
    my ($url, $cookie) = @_;

    return HTTP::Tiny->new(timeout => 10)->get($url, {
        headers => { defined $cookie ? (Cookie => $cookie) : () },
    });
}


sub end_peer {
    kill TERM => -$group;

    my $gone = Session::Wire::wait_until(sub {
        waitpid $group, WNOHANG;

        return !kill 0, -$group;
    }, 15);

    kill KILL => -$group if !$gone;
    undef $group;

    return $gone;
}


sub verdict {
    my ($what, $is, @why) = @_;

    print '  ', $is ? 'ok' : 'WRONG', " $what\n";
    return if $is;

    print "      $_\n" for @why;
    $wrong++;
}


# ---------------------------------------------------------------- data ---


sub make_data {
    my $dir = tempdir('peer_XXXXXX', TMPDIR => 1, CLEANUP => 1);
    my $key = 'k' x 31 . "\xff";
    my $body = "<!doctype html>\n<title>Hello</title>\n"
               . join '', map { "<p>line $_ of the page\n" } 1 .. 60;
    my @headers = (
        "Content-Security-Policy: default-src 'self'; script-src"
        . " 'nonce-NONCE' 'strict-dynamic'; object-src 'none'",
        'Cache-Control: no-store',
        'Referrer-Policy: same-origin',
        'X-Content-Type-Options: nosniff',
        'Permissions-Policy: geolocation=(self "https://a\\b.example")',
        'X-Frame-Options: DENY',
    );
    my (@rows, @cookies);

    for my $n (1 .. $sessions) {
        my $id = encode_base64url(random(16));

        push @rows, join("\t", $id, $n, "user$n", "User $n", 'user,admin');
        push @cookies, "session=$id."
                       . encode_base64url(hmac_sha256($id, $key));
    }

    spew("$dir/key", unpack('H*', $key));
    spew("$dir/sessions.tsv", map { "$_\n" } @rows);
    spew("$dir/cookies", map { "$_\n" } @cookies);
    spew("$dir/headers", map { "$_\n" } @headers);
    spew("$dir/body", $body);

    return { dir => $dir, body => $body, headers => \@headers };
}


sub random {
    my ($n) = @_;
    my $bytes;

    open my $in, '<:raw', '/dev/urandom' or die "/dev/urandom: $!\n";
    read $in, $bytes, $n;

    return $bytes;
}


sub spew {
    my ($file, @text) = @_;

    open my $to, '>', $file or die "$file: $!\n";
    print $to @text;
    close $to or die "$file: $!\n";
}


sub free_port {
    my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1')
        or die "listen: $!\n";

    return $socket->sockport;
}
