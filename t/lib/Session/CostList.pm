package Session::CostList;

# The files of t/cost/: what scenarios are known to cost, one row a line, with
# tabs between the fields, under a comment that says what they are.
#
#     my $list = Session::CostList->new('calls', fields => 2);
#     my $row = $list->row('dashboard', 'malloc');     # [4, 'why'], or nothing
#
# The first so many fields are the key.  Where SESSION_COST_RENEW is set,
# renew() writes the rows of this day; without it nothing is written.

use strict;
use warnings;

use Session::Log qw(slurp);
use Session::World ();

our $renews = $ENV{SESSION_COST_RENEW};


sub new {
    my ($class, $name, %arg) = @_;
    my $file = "t/cost/$name";
    my $self = bless { file => $file, fields => $arg{fields}, rows => {},
                       path => "$Session::World::project/$file" }, $class;

    for my $line (split /\n/, slurp($self->{path})) {
        if ($line =~ /\A#/) {
            push @{ $self->{head} }, $line;
            next;
        }

        my @row = split /\t/, $line;
        my $key = join "\t", splice @row, 0, $arg{fields};

        $self->{rows}{$key} = \@row;
    }

    return $self;
}


sub file { return $_[0]{file} }


sub row {
    my ($self, @key) = @_;

    return $self->{rows}{ join "\t", @key };
}


# The rest of the keys that begin with this, each a string.

sub below {
    my ($self, $first) = @_;

    return map { /\A\Q$first\E\t(.*)\z/ ? $1 : () } sort keys %{ $_[0]{rows} };
}


# Each row a reference to its fields, key and all.

sub renew {
    my ($self, @rows) = @_;

    return if !$renews;

    open my $out, '>', $self->{path} or die "$self->{path}: $!\n";
    print $out map { "$_\n" } @{ $self->{head} },
                              map { join "\t", @$_ } @rows;
    close $out or die "$self->{path}: $!\n";
}


1;
