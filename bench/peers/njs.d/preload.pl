# What njs loads once, as JSON: what an njs module makes itself is made anew
# for each request.

use strict;
use warnings;

use JSON::PP;

my ($data) = @ARGV;
my %site = (body => slurp('body'), key => slurp('key') =~ s/\s//gr);

for (split /\n/, slurp('headers')) {
    @site{qw(before after)} = ($1, $2) if /^[^:]+: (.*)NONCE(.*)/;
}

for (split /\n/, slurp('sessions.tsv')) {
    my ($id, $user) = split /\t/, $_, 2;

    $site{sessions}{$id} = $user;
}

print JSON::PP->new->utf8->encode(\%site);


sub slurp {
    my ($name) = @_;

    open my $in, '<:encoding(UTF-8)', "$data/$name" or die "$name: $!\n";
    local $/;

    return scalar <$in>;
}
