package Session::Bench::Case;

# A case: a request, the answer it must get, and what it is held against.  Each
# is a file of bench/cases/ with a field and its value on a line:
#
#   title    how tables call it
#   nginx    lines of the server block that it needs; all cases share one
#            server, and the same line of several is there once
#   path     of the request; /floor/NAME and /bare/NAME are the floor of
#            another case, with and without its headers
#   link     instead: the first match of this in the sign-in page
#   method   GET unless it is said
#   accept   html, json, or any
#   cookie   live, junk (a wrong MAC), unknown or expired; none if not said
#   again    yes: the request of a client that has the answer already
#   status   of the answer
#   floor    what nginx without us sends: return (the same bytes by a
#            directive), file (the same file, or none), app (the same
#            upstream); none: it is a floor itself
#   peer     NAME PATH: what a server of bench/peers has for the same request;
#            its answer has the same status and another body
#   vary     yes: it is measured with other numbers of sessions and workers
#            and over other versions of HTTP as well

use strict;
use warnings;

use File::Basename qw(basename);
use Session::Log qw(slurp);

my %accept = (html => 'text/html,application/xhtml+xml,*/*;q=0.8',
              json => 'application/json', any => '*/*');
my $agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 '
    . 'Firefox/128.0';

my %field = (
    title => qr/./, nginx => qr/./, path => qr{\A/}, link => qr{\A/},
    method => qr/\A[A-Z]+\z/, accept => qr/\A(?:html|json|any)\z/,
    cookie => qr/\A(?:live|junk|unknown|expired)\z/, again => qr/\Ayes\z/,
    status => qr/\A[2345]\d\d\z/, vary => qr/\Ayes\z/,
    floor => qr/\A(?:return|file|app|none)\z/, peer => qr{\A\w+ /\S*\z},
);


# All cases of a folder, by name.

sub all {
    my ($class, $folder) = @_;

    return map { (basename($_) => $class->read($_)) } sort glob "$folder/*";
}


sub read {
    my ($class, $file) = @_;

    return $class->parse(basename($file), slurp($file), $file);
}


sub parse {
    my ($class, $name, $text, $file) = @_;
    my $self = bless { name => $name, method => 'GET', accept => 'any',
                       nginx => [], peer => [] }, $class;
    my ($at, %seen) = (0);

    for (split /\n/, $text) {
        $at++;
        next if /\A(?:#|\s*\z)/;

        my ($key, $value) = /\A(\w+)\s+(.*\S)\s*\z/
            or die "$file:$at: not a field and its value\n";
        my $pattern = $field{$key} // die "$file:$at: unknown field $key\n";

        die "$file:$at: bad value of $key\n" if $value !~ $pattern;
        die "$file:$at: $key is there twice\n"
            if $seen{$key}++ && !ref $self->{$key};

        if (ref $self->{$key}) {
            push @{ $self->{$key} }, $value;

        } else {
            $self->{$key} = $value;
        }
    }

    for my $key (qw(title status floor)) {
        die "$file: no $key\n" if !defined $self->{$key};
    }

    die "$file: either path or link\n"
        if !defined $self->{path} == !defined $self->{link};

    return $self;
}


# The order of tables: floors, pages, what lies behind a check, and refusals.

sub place {
    my ($self) = @_;

    return ($self->{floor} eq 'none' ? 0 : $self->{floor} ne 'return' ? 2
            : $self->{status} < 300 ? 1 : 3) . $self->{name};
}


# The case as a peer has it; nothing if it does not.

sub of_peer {
    my ($self, $name) = @_;
    my ($path) = map { /\A\Q$name\E (.*)/ } @{ $self->{peer} };

    return defined $path && bless { %$self, path => $path, etag => undef },
                                  ref $self;
}


# Where sessions are told apart at all, others can be drawn.

sub draws { ($_[0]{cookie} // '') eq 'live' }


# As a list of names and values, with this cookie.

sub headers {
    my ($self, $cookie) = @_;

    return ('User-Agent' => $agent, Accept => $accept{ $self->{accept} },
            defined $cookie ? (Cookie => $cookie) : (),
            $self->{etag} ? ('If-None-Match' => $self->{etag}) : ());
}


1;
