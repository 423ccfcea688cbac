package Session::Bench::Stock;

# A store with many sessions.  Ten million take minutes to make, so stores stay
# in the build directory and serve the next run, until their sessions come near
# the end of their idle time.
#
# Some sessions, spread evenly over all, are each the only one of their users;
# requests are drawn from these.

use strict;
use warnings;

use File::Path qw(make_path remove_tree);
use Session::Bench;
use Session::Log qw(slurp);
use Session::World ();

my $layout = 1;             # of the folder; another number: made anew
my $sample_max = 100_000;
my $shared = 10;            # sessions of each of the other users
my $hours_max = 6;
my $session_bytes = 1200;   # both files, beside users and the change feed


sub sample_max { return $sample_max }


# Number of sessions, and a folder if it is not to be kept.  The object has:
# sessions; where they lie: store, keys, cookies (a file with a Cookie header
# a line); sample: how many of them; cookie of each kind; bytes of pages in
# use: sessions_bytes, users_bytes, events_bytes.

sub new {
    my ($class, $sessions, $dir) = @_;
    my $sample = $sessions < $sample_max ? $sessions : $sample_max;

    $dir //= "$Session::World::build/stores/$sessions";

    my $self = bless { sessions => $sessions, sample => $sample, dir => $dir,
                       store => "$dir/store", keys => "$dir/keys",
                       cookies => "$dir/cookies" }, $class;

    $self->fill if !$self->read_stamp;
    $self->read_stamp or die "$dir was not filled\n";

    $self->{cookie}{$_} = "$Session::World::cookie=$self->{cookie}{$_}"
        for keys %{ $self->{cookie} };

    return $self;
}


# Written last, so a store without it is not whole.

sub read_stamp {
    my ($self) = @_;
    my $file = "$self->{dir}/filled";
    my $age = -M $file;

    return if !defined $age || $age * 24 > $hours_max;

    my $stamp = fields(slurp($file));

    return if $stamp->{layout} != $layout;

    $self->{cookie} = { map { ($_ => delete $stamp->{$_}) }
                            qw(live junk unknown expired) };
    @$self{keys %$stamp} = values %$stamp;

    return 1;
}


sub fill {
    my ($self) = @_;
    my ($dir, $n, $sample) = @$self{qw(dir sessions sample)};
    my $users = $sample + int(($n - $sample + $shared - 1) / $shared);
    my @store = ($self->{store}, $self->{keys});

    remove_tree($dir);
    make_path($dir);
    enough_disk($dir, $n * $session_bytes);
    print STDERR "filling $dir\n";

    Session::World::mint('world', @store, 'gone');
    load_unsynced('users', $self->{store}, $users);

    my $users_bytes = store_bytes($self->{store})->{sessions_bytes};

    load_unsynced('fill', @store, $sample, $n, "$dir/tokens");

    my $stat = store_bytes($self->{store});
    my ($expired) = Session::World::mint('session', @store, 'default', 'gone',
                                         '--created', -7200,
                                         '--lifetime', 3600);
    my ($unknown) = Session::World::mint('sign', $self->{keys}, 'default');
    my $live = $self->write_cookies;

    $self->write("filled", join ' ', "layout=$layout", "live=$live",
        "junk=" . ($live =~ s/.{8}\z/AAAAAAAA/r), "unknown=$unknown",
        "expired=$expired", "users=$users", "users_bytes=$users_bytes",
        map { "$_=$stat->{$_}" } qw(sessions_bytes events_bytes));
}


# Cookie headers from tokens, in an order that has nothing to do with time:
# zipf prefers the first of them.  Returns the first token.

sub write_cookies {
    my ($self) = @_;
    my @tokens = split /\n/, slurp("$self->{dir}/tokens");

    srand 1;

    for my $i (reverse 1 .. $#tokens) {
        my $j = int rand($i + 1);

        @tokens[$i, $j] = @tokens[$j, $i];
    }

    srand;
    $self->write('cookies', join '', map { "$Session::World::cookie=$_\n" }
                                         @tokens);

    return $tokens[0];
}


# So many of the Cookie headers, those that zipf prefers.

sub cookies_some {
    my ($self, $n) = @_;
    my @all = split /\n/, slurp($self->{cookies});

    return @all > $n ? @all[0 .. $n - 1] : @all;
}


sub write {
    my ($self, $name, $text) = @_;

    open my $out, '>', "$self->{dir}/$name" or die "$self->{dir}: $!\n";
    print $out $text;
    close $out or die "$self->{dir}: $!\n";
}


# Without waiting for the disk, which is not what is measured here, where that
# can be had.

sub load_unsynced {
    my @quick = grep { -x "/usr/bin/$_" } 'eatmydata';

    run_command(@quick, "$Session::World::build/load", @_);
}


sub enough_disk {
    my ($dir, $bytes) = @_;
    my ($free) = run_command('df', '-P', '-k', $dir) =~ /(\d+)\s+\d+%/;

    die sprintf "%s: %.0f GiB free and %.0f are needed\n", $dir,
        $free / 1048576, $bytes / 2**30
        if $free * 1024 < $bytes;
}


1;
