# What the tables of the modules have, the reference pages describe, and the
# other way round: directives with syntax, default, context and an example,
# and variables.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More;

chdir abs_path(dirname(__FILE__) . '/..') or die "chdir: $!\n";

my @contexts = (
    [NGX_MAIN_CONF => 'main'], [NGX_HTTP_MAIN_CONF => 'http'],
    [NGX_HTTP_SRV_CONF => 'server'], [NGX_HTTP_SIF_CONF => 'if in server'],
    [NGX_HTTP_LOC_CONF => 'location'],
    [NGX_HTTP_LIF_CONF => 'if in location'],
    [NGX_HTTP_LMT_CONF => 'limit_except'],
);


sub slurp {
    my ($file) = @_;

    open my $in, '<', $file or die "$file: $!\n";
    local $/;

    return scalar <$in>;
}


# Entries of all tables of a type: name and the text behind it.

sub tables {
    my ($type, $end) = @_;
    my %found;

    for my $file (glob 'ngx_module/*.c') {
        my $text = slurp($file);

        while ($text =~ /\b$type\s+\w+\[\]\s*=\s*\{(.*?)\b$end\b/gs) {
            my $table = $1;

            while ($table =~ /ngx_string\("([^"]+)"\),(.*?)
                              (?=ngx_string\("|\z)/gsx)
            {
                $found{$1} = { file => $file, text => $2 };
            }
        }
    }

    return \%found;
}


# The "### name" sections under "Directives" and "Embedded Variables".

sub sections {
    my %found;

    for my $file (glob 'docs/ngx_http_*.md') {
        my @chapters = split /^##[ ]+(.+?)[ ]*\n/m, slurp($file);

        shift @chapters;

        while (my ($title, $chapter) = splice @chapters, 0, 2) {
            next if $title !~ /\A(?:Directives|Embedded Variables)\z/;

            my @parts = split /^###[ ]+(\S+)[ ]*\n/m, $chapter;

            shift @parts;

            while (my ($name, $text) = splice @parts, 0, 2) {
                push @{ $found{$name} }, { file => $file, text => $text };
            }
        }
    }

    return \%found;
}


my $docs = sections();
my $directives = tables('ngx_command_t', 'ngx_null_command');
my $variables = tables('ngx_http_variable_t', 'ngx_http_null_variable');

cmp_ok(scalar keys %$directives, '>', 10, 'there are directives to look at');

for my $name (sort keys %$directives) {
    my @found = @{ $docs->{$name} || [] };

    is(scalar @found, 1, "$name has one section") or next;

    my ($flags) = $directives->{$name}{text} =~ /\A(.*?),/s;
    my $text = $found[0]{text};
    my %field = $text =~ /^\*\*(\w+):\*\*[ ]*(.*?)\n(?=\n|\z)/gms;
    my $wanted = join ', ', map { $_->[1] }
                            grep { $flags =~ /\b$_->[0]\b/ } @contexts;

    like($field{Syntax} // '', qr/\A\Q$name\E\b/, "$name: Syntax");
    like($field{Default} // '', qr/\S/, "$name: Default");
    is(join(', ', sort split /\s*,\s*/, $field{Context} // ''),
       join(', ', sort split /, /, $wanted), "$name: Context");
    like($text, qr/^```nginx\n(?:(?!^```).)*\b\Q$name\E\b/ms,
         "$name: an example");
}

for my $name (sort keys %$variables) {
    next if $name =~ /_\z/;

    is(scalar @{ $docs->{"\$$name"} || [] }, 1, "\$$name has one section");
}

for my $name (sort keys %$docs) {
    my $known = $name =~ /\A\$(.*)/ ? $variables->{$1} : $directives->{$name};

    ok($known, "$name exists ($docs->{$name}[0]{file})");
}

done_testing();
