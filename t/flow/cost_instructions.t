# Machine instructions of requests, counted by callgrind.  Each scenario is
# asked for over one kept-alive connection, and so is its floor, which is nginx
# alone with the same bytes; what the scenario takes beyond its floor is
# compared with t/cost/instructions.  Load on the machine does not change these
# numbers: of the requests the one in the middle counts, and those that the
# clock or a duty of the store fell into are at the end.
#
# Compiler, libraries and processor do change them, so the numbers hold for the
# versions that stand beside them, and elsewhere the suite says why it skips.
# What malloc() itself takes depends on who was there before, so that is left
# out; t/flow/cost_calls.t counts how often it is called.

use strict;
use warnings;

use FindBin ();
use lib "$FindBin::Bin/../lib";

use POSIX ();
use Session::Cost ();
use Session::CostList ();
use Session::Log qw(slurp);
use Session::SignIn qw(compiled);
use Test::More;

# callgrind is a valgrind of its own.

plan skip_all => 'valgrind takes no sanitizers and no other valgrind'
    if $ENV{TEST_NGINX_LD_PRELOAD} || $ENV{TEST_NGINX_USE_VALGRIND};

# More than this part of what was expected, and more than so many instructions,
# is a change: LMDB compares a few keys more or less from one run to the next.
my ($tolerance, $least) = (0.03, 40);

my $renew = 'bin/costs --renew';
my $list = Session::CostList->new('instructions', fields => 1);
my %made = made();
my @other = grep {
    ($list->row($_) // ['none'])->[0] ne $made{$_}
} sort keys %made;

# Another compiler or library makes other instructions of the same source.

plan skip_all => 'SKIPPED: t/cost/instructions was made with other versions: '
    . join(', ', map {
          "$_ " . ($list->row($_) // ['none'])->[0] . ", here $made{$_}"
      } @other) . "; $renew makes it anew"
    if @other && !$Session::CostList::renews;

plan 'no_plan';

my $dir;
my $cost = Session::Cost->new(wrapper => \&wrapper);

$cost->play(warm => 0, times => 1);

my @played = $cost->play(warm => 4, times => 15);
my @counted = counted();

cmp_ok(scalar @counted, '>', scalar @played, 'callgrind has seen them all');
splice @counted, 0, @counted - @played;

my %found;

for my $n (0 .. $#played) {
    push @{ $found{ $played[$n]{scenario} }{ $played[$n]{of} } }, $counted[$n]
        if $played[$n]{counts};
}

my %beyond = map { $_ => beyond($_) } $cost->names;

$list->renew((map { [$_, $made{$_}] } sort keys %made),
             map { [$_, $beyond{$_}{all}] } $cost->names);
$list = Session::CostList->new('instructions', fields => 1);
compare($_) for $cost->names;
$cost->done;


# Session::Nginx runs this, so valgrind is our child as ever.

sub wrapper {
    my ($t) = @_;
    my $nginx = Session::Cost::binary();
    my $preload = join ':', map { compiled($t, $_) }
                            qw(small_map mark_requests);

    $dir = $t->dir;

    return <<"END";
#!/bin/sh
LD_PRELOAD=$preload exec valgrind -q --tool=callgrind \\
    --separate-threads=yes --dump-line=no --callgrind-out-file=$dir/out \\
    $nginx "\$@"
END
}


# What the numbers depend on: version of the compiler, of packages without what
# Debian adds, and what the processor can that libraries ask it for.

sub made {
    my $comment = `readelf -p .comment $Session::World::module`;
    my ($compiler) = map { $comment =~ $_ ? "$1 $2" : () }
                     qr/(clang) version ([\d.]+)/, qr/(GCC): .* ([\d.]+)/;
    my ($flags) = slurp('/proc/cpuinfo') =~ /^flags\s*:(.*)/m;
    my %made = (compiler => $compiler // 'unknown',
                processor => join ' ', (POSIX::uname())[4],
                    grep { ($flags // '') =~ / $_\b/ }
                        qw(avx avx2 bmi1 bmi2 f16c fma rdrand rdseed));

    for my $package (qw(libc6 liblmdb0 libsodium23 libssl3 valgrind)) {
        my $version = `dpkg-query -W -f='\${Version}' $package 2> /dev/null`;

        ($made{$package}) = $version =~ /\A(?:\d+:)?([\d.]+)/;
        $made{$package} //= 'none';
    }

    my $nginx = Session::Cost::binary();

    ($made{nginx}) = `$nginx -v 2>&1` =~ m{nginx/([\d.]+)};
    $made{nginx} //= 'none';

    # its patches mend what goes wrong
    $made{libssl3} =~ s/\A(\d+\.\d+).*/$1/;

    return %made;
}


# ------------------------------------------------------------- reading ---


# Of each request its instructions by object file, in the order of requests.
# callgrind writes a part when a request begins, about those before it.

sub counted {
    my @parts;

    for my $file (glob "$dir/out.*") {
        my $text = slurp($file);
        my ($n) = $file =~ /out\.(\d+)/;

        push @parts, [$n, objects($text)]
            if $text =~ /^desc: Trigger: Client Request: (?:GET|POST) /m;
    }

    my @counts = map { $_->[1] } sort { $a->[0] <=> $b->[0] } @parts;

    # before the first request
    shift @counts;

    return @counts;
}


# The format is in valgrind's manual: ob= and fl= say what the lines below them
# are of, and the line behind calls= is the callee's.  Names come with a number
# that stands for them later.

sub objects {
    my ($text) = @_;
    my (%name, %count);
    my ($object, $file, $callee) = ('', '', 0);

    for my $line (split /\n/, $text) {
        if ($line =~ /\A[+\-*\d]\S* (\d+)\z/) {
            $count{$object} += $1
                if !$callee && $file !~ m{\bmalloc/malloc\.c\z};
            $callee = 0;

        } elsif ($line =~ /\Acalls=/) {
            $callee = 1;

        } elsif ($line =~ /\A(c?)(ob|fl|fi|fe)=\((\d+)\)(?: (.*))?/) {
            my ($called, $what, $n, $is) = ($1, $2, $3, $4);
            my $kind = $what eq 'ob' ? 'ob' : 'fl';

            $name{"$kind $n"} = $is if defined $is;

            next if $called;

            $object = $name{"$kind $n"} =~ s{.*/}{}r if $kind eq 'ob';
            $file = $name{"$kind $n"} if $kind eq 'fl';
        }
    }

    $count{all} += $count{$_} for grep { $_ ne 'all' } keys %count;

    return \%count;
}


# -------------------------------------------------------- instructions ---


sub middle {
    my @sorted = sort { $a->{all} <=> $b->{all} } @_;

    return $sorted[$#sorted / 2];
}


# A scenario's instructions beyond those of its floor, by object file.

sub beyond {
    my ($name) = @_;
    my ($floor, $case) = map { middle(@{ $found{$name}{$_} }) }
                         qw(floor case);
    my %more = %$case;

    $more{$_} -= $floor->{$_} for keys %$floor;

    return \%more;
}


# The test that names the scenario.

sub compare {
    my ($name) = @_;
    my %more = %{ $beyond{$name} };
    my $found = delete $more{all};
    my $row = $list->row($name);
    my $expected = $row ? $row->[0] : 0;
    my $allowed = $tolerance * abs $expected;

    $allowed = $least if $allowed < $least;

    ok($row && abs($found - $expected) <= $allowed,
       "$name: as many instructions as before")
        or diag(sprintf("%s: %d instructions a request beyond nginx's own, "
                        . "expected %d (%+.1f%%); found in\n", $name, $found,
                        $expected, 100 * ($found - $expected)
                                   / (abs $expected || 1)),
                map({ sprintf "%8d %s\n", $more{$_}, $_ }
                    sort { $more{$b} <=> $more{$a} }
                    grep { $more{$_} } keys %more),
                'expected is what ', $list->file,
                " has.  If the change is meant: $renew");
}
