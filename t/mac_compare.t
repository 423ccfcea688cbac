# Verifying what we signed costs the same wherever the first wrong byte of its
# HMAC is: counted in machine instructions by callgrind, of the function alone.

use strict;
use warnings;

use lib 't/lib';
use File::Temp ();
use MIME::Base64 qw(decode_base64url encode_base64url);
use Session::Log qw(slurp);
use Session::World ();
use Test::More;

my $dir = File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1);
my $world = Session::World::fresh();
my ($keys, $store) = @$world{qw(keys store)};
my $session = Session::World::unknown($world);
my ($pre) = Session::World::before($world);
my ($device) = Session::World::mint('device', $store, $keys, 'default',
                                    'alice');

# kind, what verifies it, where its HMAC starts, the text, what it belongs to

for (['token', 'store_token_verify', 22, $session->{token}],
     ['csrf', 'store_csrf_verify', 32, $session->{csrf}, $session->{token}],
     ['pre', 'store_signed_read', 17, $pre],
     ['device', 'store_signed_read', 9, $device])
{
    my ($kind, $function, $at, $text, @more) = @$_;
    my $bytes = decode_base64url($text);

    is length($bytes), $at + 32, "$kind: a HMAC at its end";

    my ($said) = counted($function, $kind, $text, @more);

    is $said, "ok\n", 'it is right';

    my (%count, $compared);

    for my $wrong (0, 1, 15, 16, 30, 31) {
        my $changed = $bytes;

        substr($changed, $at + $wrong, 1) ^= "\x01";

        my ($out, $n, $profile) = counted($function, $kind,
                                     encode_base64url($changed), @more);

        like $out, qr/\Amint: $kind: .*signature/, "byte $wrong is wrong";
        $count{$n}++;
        $compared += () = $profile =~ /^fn=.*\bCRYPTO_memcmp\b/mg;
    }

    is join(' ', keys %count), (keys %count)[0], "$kind: all cost the same";
    cmp_ok +(keys %count)[0], '>', 1000, 'something was counted';
    is $compared, 6, 'CRYPTO_memcmp() compares';
}

done_testing;


# What "mint verify" prints, and the instructions that the function took.

sub counted {
    my ($function, $kind, @what) = @_;
    my $out = "$dir/out";
    my @command = ('valgrind', '-q', '--tool=callgrind',
                   '--compress-strings=no', "--callgrind-out-file=$out",
                   "--toggle-collect=$function",
                   "$Session::World::build/mint", 'verify', $keys, 'default',
                   $kind, @what);
    local $ENV{LD_PRELOAD};
    delete $ENV{LD_PRELOAD};

    unlink $out;

    my $said = `@command 2>&1`;
    my $profile = slurp($out);
    my ($n) = $profile =~ /^totals: (\d+)/m;

    diag $said if !$n;

    return $said, $n // 0, $profile;
}
