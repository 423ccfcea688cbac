package Session::Mutants;

# Security checks of this project, each with the change that removes it: the
# list in t/mutation/.  A suite that is worth its time fails when any one of
# them is gone; bin/mutants shows that, t/mutation.t keeps list and code
# together.
#
#   == a name, as a sentence of what no longer holds
#   file ngx_module/ngx_http_session_handler.c
#   tests t/session_require.t t/flow/revoke.t
#   -    lines as they stand in the file, behind a minus
#   +    and what stands there instead

use strict;
use warnings;

use Session::Log qw(slurp);


# All of them, in order: name, file, tests, old, new, where (for messages).

sub list {
    my (@files) = @_;
    my @mutants;

    for my $list (@files) {
        my ($mutant, $line);

        for (split /\n/, slurp($list)) {
            $line++;

            next if /^(?:#.*)?$/;

            if (/^== (.+)$/) {
                $mutant = { name => $1, old => '', new => '', tests => [],
                            where => "$list:$line" };
                push @mutants, $mutant;

            } elsif (!$mutant) {
                die "$list:$line: there is no \"==\" above\n";

            } elsif (/^file (\S+)$/) {
                $mutant->{file} = $1;

            } elsif (/^tests (\S.*)$/) {
                $mutant->{tests} = [split ' ', $1];

            } elsif (/^-(.*)$/) {
                $mutant->{old} .= "$1\n";

            } elsif (/^\+(.*)$/) {
                $mutant->{new} .= "$1\n";

            } else {
                die "$list:$line: neither file, tests, - nor +\n";
            }
        }
    }

    return @mutants;
}


# Why a mutant cannot be made of the tree in $root; nothing if it can.

sub problem {
    my ($mutant, $root) = @_;
    my $file = $mutant->{file} // '';

    return 'names no file' if $file eq '';
    return "$file: no such file" if !-f "$root/$file";
    return 'names no tests' if !@{ $mutant->{tests} };
    return 'changes nothing' if $mutant->{old} eq $mutant->{new};

    for my $test (@{ $mutant->{tests} }) {
        return "$test: no such test" if !-f "$root/$test";
    }

    my $n = () = slurp("$root/$file") =~ /^\Q$mutant->{old}\E/mg;

    return "$file: its lines are there $n times" if $n != 1;
    return;
}


# The text of its file with the check removed.

sub changed {
    my ($mutant, $root) = @_;
    my $text = slurp("$root/$mutant->{file}");

    $text =~ s/^\Q$mutant->{old}\E/$mutant->{new}/m
        or die "$mutant->{where}: does not apply\n";

    return $text;
}

1;
