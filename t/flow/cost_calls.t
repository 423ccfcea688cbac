# What requests call: memory, the kernel, LMDB.  Each scenario is asked for over
# one kept-alive connection, and so is its floor, which is nginx alone with the
# same bytes.  What the scenario calls beyond its floor is in t/cost/calls, to
# the last call; what is not in there is not called.
#
# A clock that ticks, or a duty of the store, comes on top of some requests, so
# what most of them call is what counts, and of the others there are few.  In
# t/cost/calls 3/256 are three calls in 256 requests.

use strict;
use warnings;

use FindBin ();
use lib "$FindBin::Bin/../lib";

use List::Util qw(sum0);
use Session::Cost ();
use Session::CostList ();
use Session::Log qw(slurp);
use Session::SignIn qw(compiled);
use Test::More;

# What is counted here is libc's malloc, which these replace.

plan skip_all => 'sanitizers and valgrind have a malloc of their own'
    if $ENV{TEST_NGINX_LD_PRELOAD} || $ENV{TEST_NGINX_USE_VALGRIND};

my $refused = `strace -o /dev/null true 2>&1`;

# Containers may forbid ptrace(), without which strace sees no call.

plan skip_all => "nothing can be traced here: $refused" if $?;

plan 'no_plan';

# As many as 16 bytes go into the buffer that random numbers are drawn from.
my $times = 256;

# Requests of each second that a duty of the store may fall into.
my $duties = 8;

# Bytes of the file: see t/tools/count_calls.c.
my ($names_bytes, $row_bytes, $line_bytes) = (4096, 256, 64);

# What free() gives back.
my @takes = qw(malloc calloc posix_memalign aligned_alloc memalign);

my $renew = 'bin/costs --renew';
my $calls;
my $cost = Session::Cost->new(wrapper => \&wrapper);

$cost->play(warm => 0, times => 1);

my @played = $cost->play(warm => 10, times => $times);
my @rows = rows($calls);
my @system = system_calls("$calls.strace");

is(scalar @system, scalar @rows, 'both have seen as many requests');
cmp_ok(scalar @rows, '>', scalar @played, 'and all that there were');

# a last request ends what was played
my $before = @rows - 1 - @played;

splice @$_, 0, $before for \@rows, \@system;

my %found;

for my $n (0 .. $#played) {
    my $request = $played[$n];
    my %row = (%{ $rows[$n] }, %{ $system[$n] });

    push @{ $found{ $request->{scenario} }{ $request->{of} } },
        { at => $request->{at}, calls => \%row } if $request->{counts};
}

my $list = Session::CostList->new('calls', fields => 2);
my %beyond = map { $_ => beyond($_) } $cost->names;

$list->renew(map {
    my $name = $_;

    map {
        my $old = $list->row($name, $_);
        [$name, $_, $beyond{$name}{$_}, $old ? $old->[1] // () : ()]
    } sort keys %{ $beyond{$name} }
} $cost->names);

$list = Session::CostList->new('calls', fields => 2);
compare($_) for $cost->names;

is(join(', ', unexplained($list)), '',
   'what is called of the kernel and of malloc has its reason');

$cost->done;


# strace's process is no parent of nginx, so it stays our child.

sub wrapper {
    my ($t) = @_;
    my $nginx = Session::Cost::binary();
    my $preload = compiled($t, 'count_calls');

    $calls = $t->dir . '/calls';

    open my $out, '>', $calls or die "$calls: $!\n";
    truncate $out, $names_bytes + $row_bytes * 40_000
        or die "$calls: $!\n";

    return <<"END";
#!/bin/sh
exec strace -D -s 16 -o $calls.strace -E LD_PRELOAD=$preload \\
    -E COUNT_CALLS=$calls $nginx "\$@"
END
}


# ------------------------------------------------------------- reading ---


# Of each request what was called, and how often.

sub rows {
    my ($file) = @_;
    my $data = slurp($file);
    my @names = split ' ', substr($data, 0, $names_bytes) =~ s/\0.*//sr;
    my @found;

    for (my $at = $names_bytes; $at < length $data; $at += $row_bytes) {
        last if substr($data, $at, 1) eq "\0";

        my @n = unpack 'L*', substr $data, $at + $line_bytes,
                                    $row_bytes - $line_bytes;

        push @found, { map { $n[$_] ? ($names[$_] => $n[$_]) : () }
                       0 .. $#names };
    }

    return @found;
}


# The same of strace's lines.  A request begins when it has been read.

sub system_calls {
    my ($file) = @_;
    my @found;

    for my $line (split /\n/, slurp($file)) {
        my ($name) = $line =~ /\A(\w+)\(/ or next;

        push @found, {}
            if $line =~ /\Arecvfrom\(\d+, "(?:GET|POST) .* = \d+\z/;
        $found[-1]{$name}++ if @found;
    }

    return @found;
}


# --------------------------------------------------------------- calls ---


# What most requests call, how many call something else, and how often the
# buffer of random numbers was filled.

sub usual {
    my (@requests) = @_;
    my (%times, %calls);

    for my $request (@requests) {
        my %row = %{ $request->{calls} };
        my $text = join ' ', map { "$_ $row{$_}" } sort keys %row;

        $times{$text}++;
        $calls{$text} = \%row;
    }

    my ($most) = sort { $times{$b} <=> $times{$a} } keys %times;
    my $fills = 0;

    $fills += $_->{calls}{getrandom} // 0 for @requests;

    return { calls => $calls{$most}, fills => $fills,
             others => @requests - $times{$most},
             seconds => $requests[-1]{at} - $requests[0]{at},
             all => [map { "$times{$_} of: $_" }
                     sort { $times{$b} <=> $times{$a} } keys %times] };
}


# Calls of a scenario beyond those of its floor.  Of memory what is taken is
# counted, and what is not given back.

sub beyond {
    my ($name) = @_;
    my ($floor, $case) = map { usual(@{ $found{$name}{$_} }) } qw(floor case);
    my %more = %{ $case->{calls} };

    $more{$_} -= $floor->{calls}{$_} for keys %{ $floor->{calls} };
    $more{kept} = sum0(@more{ grep { $more{$_} } @takes })
                  - (delete $more{free} // 0);
    delete @more{ grep { !$more{$_} } keys %more };

    $more{getrandom} = "$case->{fills}/$times"
        if $case->{fills} && !$more{getrandom};

    return \%more;
}


# The test that names the scenario.

sub compare {
    my ($name) = @_;
    my %now = %{ $beyond{$name} };
    my %listed = map { $_ => $list->row($name, $_)->[0] }
                 $list->below($name);
    my %all = (%now, %listed);
    my @wrong = map {
        my ($is, $was) = ($now{$_} // 0, $listed{$_} // 0);

        $is eq $was ? () : "$name: $_: $is a request, expected $was"
    } sort keys %all;

    ok(!@wrong, "$name: calls nothing beyond nginx's own but what is listed")
        or diag(join "\n", @wrong, 'expected is what ' . $list->file
                . " has.  If the change is meant: $renew");

    for my $of (qw(floor case)) {
        my $usual = usual(@{ $found{$name}{$of} });
        my $few = $usual->{fills} + $duties * (1 + $usual->{seconds});

        ok($usual->{others} <= $few, "$name, $of: requests are alike")
            or diag(join "\n", @{ $usual->{all} });
    }
}


# LMDB's are what the store is asked for.

sub unexplained {
    my ($list) = @_;

    return map {
        my $name = $_;

        map {
            my $why = $list->row($name, $_)->[1] // '';

            /\Amdb_/ || $why =~ /\w/ ? () : "$name: $_"
        } $list->below($name)
    } $cost->names;
}
