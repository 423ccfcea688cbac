# docs/cli.md and the program say the same: the first block under the heading
# of a command is what its -h prints, and no command lacks one.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More;

my $project = abs_path(dirname(__FILE__) . '/..');
my $sessionctl = $ENV{SESSIONCTL}
    // ($ENV{SESSION_BUILD} || "$project/build") . '/sessionctl';

-x $sessionctl or BAIL_OUT("no $sessionctl: run make sessionctl");


sub help {
    my (@command) = @_;

    open my $out, '-|', $sessionctl, @command, '-h' or die "$sessionctl: $!\n";
    my $text = do { local $/; <$out> };
    close $out or die "sessionctl @command -h failed\n";

    return $text;
}


# All commands there are, found by asking for help.

sub commands {
    my (@path) = @_;
    my $text = help(@path);

    return [@path] if $text !~ /^commands:\n((?:  \S.*\n)+)/m;

    my @names = $1 =~ /^  (\S+)/mg;

    return ([@path], map { commands(@path, $_) } @names);
}


open my $in, '<', "$project/docs/cli.md" or die "docs/cli.md: $!\n";

my ($heading, $block, %documented, %section);

while (my $line = <$in>) {
    if (defined $block) {
        if ($line =~ /^```$/) {
            $documented{$heading} //= $block;
            undef $block;

        } else {
            $block .= $line;
        }

    } elsif ($line =~ /^#+ (.*)$/) {
        $heading = $1;

    } elsif ($line =~ /^```$/) {
        $block = '';

    } elsif ($line =~ /^```/) {
        # an example: what the shell is given
        while (defined($line = <$in>) && $line !~ /^```$/) {
            $section{$heading} .= $line;
        }

    } else {
        $section{$heading} .= $line;
    }
}

my @commands = commands();

cmp_ok(scalar @commands, '>', 25, 'commands are found');

for my $command (@commands) {
    my $name = join ' ', 'sessionctl', @$command;

    is($documented{$name}, help(@$command), "docs/cli.md has $name -h");
    delete $documented{$name};
}

is_deeply([grep { /^sessionctl/ } sort keys %documented], [],
          'no command is documented that is not there');

for my $code (0 .. 5) {
    like($section{'Exit codes'}, qr/^\| $code \| /m, "exit code $code");
}

like($section{'Where the store is'}, qr/SESSION_STORE/, 'environment');


# Examples use commands and options that are there.

my $examples = join '', map { $section{$_} } grep { /^sessionctl/ }
               sort keys %section;

for my $example ($examples =~ /\b(sessionctl (?:[a-z].*?))(?: [|#]|$)/mg) {
    next if $example =~ /`|^sessionctl [a-z ]+$/;

    my @words = split ' ', $example;
    my @path = grep { /^[a-z]+$/ } @words[1, 2];
    my $text = eval { help(@path) } // eval { help($path[0]) } // '';

    like($text, qr/^usage: sessionctl $path[0]/, $example);

    for my $option ($example =~ /(--[a-z-]+)/g) {
        like($text, qr/\Q$option\E\b/, "it takes $option");
    }
}

done_testing();
