# The house style, as far as a machine can see it.  One test a rule, over all
# files.  Tables of cases may be long, so units and fuzz drivers have no limits
# of lines, and a driver is to be seen at one glance, without wide gaps.
# store.h is the one header of its library, contract and all.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(basename dirname);
use File::Find qw(find);
use Test::More;

chdir abs_path(dirname(__FILE__) . '/..') or die "chdir: $!\n";

my $columns = 80;
my $function_lines = 70;
my $file_lines = 600;
my $tables = qr{^t/(?:unit|fuzz)/|^store/store\.h$};
my %wrong;


# ------------------------------------------------------------- reading ---


sub files {
    my ($pattern, @folders) = @_;
    my @files;

    find({ no_chdir => 1, wanted => sub {
        $File::Find::prune = 1 if m{(?:^|/)(?:\.git|build|run|node_modules
                                    |servroot[^/]*|fixtures|corpus)$}x;
        push @files, $_ if -f && m{$pattern};
    } }, grep { -d } @folders);

    return sort map { s{^\./}{}r } @files;
}


sub slurp {
    my ($file) = @_;

    open my $in, '<', $file or die "$file: $!\n";
    local $/;

    return scalar <$in>;
}


# The code alone: comments and what stands in strings become spaces, so that
# lines and columns stay.  The strings come back as [line, text].

sub code {
    my ($text) = @_;
    my (@strings, $out);

    $out = '';

    while ($text =~ m{\G(?: (/\*.*?\*/) | ("(?:[^"\\]|\\.)*")
                      | ('(?:[^'\\]|\\.)*') | (.) )}gsx)
    {
        my $piece = $1 // $2 // $3 // $4;

        push @strings, [1 + ($out =~ tr/\n//), $2] if defined $2;

        if (defined $1) {
            $piece =~ s/[^\n]/ /g;

        } elsif (defined $2 || defined $3) {
            $piece =~ s/(?<=.)[^\n](?=.)/_/gs;
        }

        $out .= $piece;
    }

    return $out, \@strings;
}


sub wrong {
    my ($rule, $file, $line, $what) = @_;

    push @{ $wrong{$rule} }, "$file:$line" . (defined $what ? ": $what" : '');
}


# --------------------------------------------------------------- rules ---


sub check_lines {
    my ($file, %is) = @_;
    my $n = 0;

    for (split /\n/, slurp($file)) {
        $n++;
        last if $is{data} && /^__(?:DATA|END)__/;

        wrong('no trailing white space', $file, $n) if /[ \t\r]$/;
        wrong('no tabs', $file, $n) if /\t/ && !$is{tabs};
        wrong("$columns columns", $file, $n) if length > $columns && !$is{wide};
        wrong('nothing left to do', $file, $n, $1)
            if $file ne 't/style.t' && /\b(TODO|FIXME|XXX)\b/;
    }

    # Test/Nginx/Util.pm stands in for a file of that name.
    wrong('named after what it holds', $file, 1)
        if $file !~ m{^t/lib/Test/Nginx/}
           && basename($file) =~ /(?:^|[_-])(?:util|utils|common|misc|helpers?)
                               (?:[_.-]|$)/xi;
    wrong("$file_lines lines a file", $file, $n)
        if $n > $file_lines && !$is{data} && $file !~ $tables;
}


sub check_c {
    my ($file) = @_;
    my ($code, $strings) = code(slurp($file));
    my @lines = split /\n/, $code;
    my @raw = split /\n/, slurp($file);
    my $start;

    for my $i (0 .. $#lines) {
        my $line = $lines[$i];
        my $n = $i + 1;

        wrong('no //', $file, $n) if $line =~ m{//};
        wrong('blank line before else', $file, $n)
            if $line =~ /^\s*\} else\b/ && $raw[$i - 1] =~ /\S/;

        if ($line eq '{' && $lines[$i - 1] !~ /=\s*$/) {
            $start = signature($file, \@lines, $i);
        }

        next if $line !~ /^\}\s*$/ || !defined $start;

        wrong("$function_lines lines a function", $file, $start + 1,
              $i - $start + 1)
            if $i - $start + 1 > $function_lines && $file !~ $tables;
        undef $start;

        my $next = $i + 1;
        $next++ while $next < @raw && $raw[$next] !~ /\S/;

        my $code = $i + 1;
        $code++ while $code < @lines && $lines[$code] !~ /\S/;

        wrong('two blank lines between functions', $file, $n)
            if $code < @lines && $next - $i != 3 && $lines[$code] !~ /^#/
               && $file !~ m{^t/fuzz/};
    }

    check_includes($file, \@raw, $code);

    return if $file =~ m{^t/};

    for (@$strings) {
        wrong('no markup in C', $file, @$_) if $_->[1] =~ m{<[A-Za-z/!]};
    }
}


# Index of the line with the return type of the body that starts at $at.

sub signature {
    my ($file, $lines, $at) = @_;
    my $name = $at - 1;

    $name-- while $name > 0 && $lines->[$name] =~ /^\s/;

    wrong('return type on its own line', $file, $name + 1)
        if $lines->[$name] !~ /^\w+\(/
           || $lines->[$name - 1] !~ /^\w[\w \*]*(?:\([^)]*\)+)?\s*$/;

    return $name - 1;
}


sub check_includes {
    my ($file, $raw, $code) = @_;
    my $store = $file =~ m{^store/};
    my $text = $file =~ m{^ngx_module/text/};

    for my $i (0 .. $#$raw) {
        next if $raw->[$i] !~ /^\s*#\s*include\s*[<"]([^>"]+)[>"]/;

        my $header = $1;

        wrong('lmdb.h and sodium.h only under store/', $file, $i + 1)
            if $header =~ /^(?:lmdb|sodium)\b/ && !$store
               && $file !~ m{^t/(?:unit/store_|fuzz/)};
        wrong('store.h only in its adapter', $file, $i + 1)
            if basename($header) eq 'store.h' && !$store
               && $file !~ m{^(?:t|bench)/
                             |^ngx_module/ngx_http_session_store\w*\.c$}x;
        wrong('text/ knows only bytes', $file, $i + 1, $header)
            if $text && $header =~ m{store|ngx_|\.\./};
        wrong('the store knows no nginx', $file, $i + 1, $header)
            if $store && $header =~ m{ngx_|text/};
    }

    wrong('no ngx_ under store/ and text/', $file, 1, $1)
        if ($store || $text) && $code =~ /\b(ngx_\w+)/i;
}


# ---------------------------------------------------------------- files ---


my @c = files(qr/\.[ch]$/, qw(store ngx_module t bench));
my @perl = files(qr/\.(?:pl|pm|t)$/, qw(t bench));
my @shell = grep { slurp($_) =~ /\A#!.*\b(?:ba)?sh\b/ }
            files(qr/./, qw(bin .ci));

cmp_ok(scalar @c, '>', 10, 'there is C to look at');

check_lines($_), check_c($_) for @c;
check_lines($_, data => 1) for @perl;
check_lines($_) for @shell, grep { -f } qw(config bin/packages
                                               bin/nginx-about);
check_lines($_, tabs => 1) for grep { -f } qw(Makefile config.make);
check_lines($_, wide => 1)
    for files(qr/\.(?:html|css|js|svg|conf)$/, qw(ngx_module deploy));

for my $rule ("$columns columns", 'no tabs', 'no trailing white space',
              'no //', 'two blank lines between functions',
              'return type on its own line', 'blank line before else',
              "$function_lines lines a function", "$file_lines lines a file",
              'named after what it holds', 'nothing left to do',
              'no markup in C', 'lmdb.h and sodium.h only under store/',
              'store.h only in its adapter', 'text/ knows only bytes',
              'the store knows no nginx', 'no ngx_ under store/ and text/')
{
    my @found = @{ delete $wrong{$rule} || [] };

    ok(!@found, $rule) or diag(map { "  $_\n" } @found);
}

is_deeply([keys %wrong], [], 'every rule is in the list');

my $so = ($ENV{SESSION_BUILD} || 'build') . '/ngx_http_session_module.so';

SKIP: {
    skip "no $so", 1 if !-f $so;

    my @stray = map { (split)[2] // () } `nm -D --defined-only $so`;

    is_deeply([grep { !/^ngx_/ } @stray], [], 'only ngx_ leaves the module');
}

done_testing();
