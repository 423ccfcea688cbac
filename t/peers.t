# The peers of bench/peers as far as nothing is installed for it: each says
# what it is, refuses what it does not know, is of exact versions, and stands
# in the README's table.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(basename dirname);
use File::Find qw(find);
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Test::More;

chdir abs_path(dirname(__FILE__) . '/..') or die "chdir: $!\n";

my @peers = map { basename($_) } grep { -f && -x _ } glob 'bench/peers/*';
my $scratch = tempdir('peers_XXXXXX', TMPDIR => 1, CLEANUP => 1);
my (%files, @files);

find({ no_chdir => 1, wanted => sub { push @files, $_ if -f } },
     qw(bench/peers bench/check_peer bench/check_peer.pl));
$files{$_} = slurp($_) for @files;

cmp_ok(scalar @peers, '>', 5, 'there are peers');

for my $peer (@peers) {
    subtest $peer => sub { check($peer) };
}

subtest 'the README' => \&readme;
subtest 'versions' => \&versions;
subtest 'the look of the sources' => \&look;
done_testing();


sub check {
    my ($peer) = @_;
    my ($code, $out, $err) = run($peer, 'about');

    is($code, 0, 'about exits 0');
    is($err, '', 'and complains of nothing');
    like($out, qr{\A[^\n]*\d[^\n]*\n\z}, 'it is one line with a version');
    cmp_ok(length $out, '<=', 300, 'and not a long one');
    unlike($out, qr/ {2}| ,| :|\( *\)/, 'none of its versions is missing');

    for (['nonsense'], [], ['about', 'more'], ['install'],
         ['install', $scratch, 'more'], ['tokens', $scratch],
         ['start', $scratch, $scratch], ['start', $scratch, $scratch, 'port'])
    {
        ($code, $out, $err) = run($peer, @$_);

        is($code, 2, "exits 2 for '@$_'");
        is($out, '', 'prints nothing');
        like($err, qr/\Ausage: \Q$peer\E about \| install DIR/,
             'and says what it knows');
    }
}


# None of this takes long: an installation by mistake is cut short.

sub run {
    my ($peer, @args) = @_;
    my $pid = fork // die "fork: $!\n";

    if (!$pid) {
        open STDOUT, '>', "$scratch/out" or die "out: $!\n";
        open STDERR, '>', "$scratch/err" or die "err: $!\n";
        alarm 20;
        exec "bench/peers/$peer", @args or die "exec: $!\n";
    }

    waitpid $pid, 0;

    return $? >> 8, slurp("$scratch/out"), slurp("$scratch/err");
}


sub readme {
    my $text = $files{'bench/peers/README.md'};
    my ($table) = $text =~ /^(\| peer \|.*?)\n\n/ms;
    my @rows = $table =~ /^\| `(\w+)` \|/mg;

    is_deeply([sort @rows], [sort @peers], 'the table has all peers');

    for ('about', 'install DIR', 'start DIR DATA PORT', 'tokens DIR DATA') {
        like($text, qr/^\| `\Q$_\E` \|/m, "$_ is explained");
    }

    for (qw(key sessions.tsv cookies body headers)) {
        like($text, qr/^\| `\Q$_\E` \|/m, "DATA's $_ is explained");
    }
}


# Numbers of two days can only be compared when the programs are the same.

sub versions {
    my $seen = 0;

    for my $file (@files) {
        if ($file =~ m{/requirements\.txt$}) {
            is($_ =~ /^[\w.-]+==[\w.]+$/ ? '' : $_, '', "$file: $_")
                for split /\n/, $files{$file};
            $seen++;

        } elsif ($file =~ m{/package\.json$}) {
            my $wants = decode_json($files{$file})->{dependencies};
            my $lock = decode_json($files{$file =~ s/\.json$/-lock.json/r});

            for (sort keys %$wants) {
                is($lock->{packages}{"node_modules/$_"}{version}, $wants->{$_},
                   "$file: $_");
            }

            unlike($files{$file =~ s/\.json$/-lock.json/r}, qr/"resolved"/,
                   'its lock file leaves open where from');
            $seen++;

        } elsif ($file =~ m{/Cargo\.toml$}) {
            my ($wants) = $files{$file} =~ /^\[dependencies\]\n(.*?)^\[/ms;

            for (grep { /^\w/ } split /\n/, $wants) {
                like($_, qr/"=\d+\.\d+\.\d+"/, "$file: $_");
            }

            $seen++;
        }
    }

    cmp_ok($seen, '>', 0, 'there are lists of versions');
}


sub look {
    my (@long, @space);

    for my $file (grep { !m{/package-lock\.json$} } @files) {
        my $n = 0;

        for (split /\n/, $files{$file}) {
            $n++;
            push @long, "$file:$n" if length > 80 && $file !~ /\.md$/;
            push @space, "$file:$n" if /\t|\s$/;
        }

        next if $files{$file} !~ /\A#!.*bash/ && $file !~ /\.bash$/;
        is(system('bash', '-n', $file), 0, "$file is bash");
    }

    is_deeply(\@long, [], '80 columns');
    is_deeply(\@space, [], 'no tabs, no trailing white space');
}


sub slurp {
    my ($file) = @_;

    open my $in, '<', $file or die "$file: $!\n";
    local $/;

    return scalar <$in> // '';
}
