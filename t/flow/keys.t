# Key rotation under load, again and again: add, reload, promote, reload, drop,
# reload.  Whoever looks at a page of ours between promotion and drop is signed
# in all the time.

use strict;
use warnings;

use lib 't/lib';
use Session::Flow;
use Session::Model;
use Session::SignIn;
use Test::More;

my $rounds = $ENV{TEST_NGINX_ROTATIONS} // 3;
my $browsers = 3;
my $t = Session::Flow->new(workers => 2,
                           users => [map { "b$_" } 0 .. $browsers - 1]);

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    server => "session_limit 64;\n"
              . "location = /dashboard { session_page dashboard; }\n"
              . $Session::Model::headers, http => <<'END'));
    session_hash queue=100 timeout=60s;
    session_throttle account=10000r/15m address=10000r/15m;
END
$t->run;

my $m = Session::Model->new($t);
my $load = $m->load(browsers => $browsers);
my $wrong = '';

turn();

for my $round (1 .. $rounds) {
    $wrong = rotate();

    last if $wrong ne '' && ($wrong = "round $round: $wrong");
}

is $wrong, '', "$rounds rotations";

my @tokens = map { $_->[4] } grep { $_->[0] eq 'get' && $_->[4] ne '-' }
             $m->lines;
my %key = map { substr($_, 0, 1) => 1 } @tokens;

# of eight bits of a key's id the first character shows six
cmp_ok scalar(keys %key), '>', 1, 'tokens were signed anew';
is $m->verdict($load, keys => 0), '', 'every answer was right';

$t->done;


# '' or what is wrong.

sub rotate {
    my ($old) = ids();

    return 'add' if ctl('add');

    my ($new) = grep { $_ ne $old } ids();

    return 'reload' if !reloaded();

    # as soon as the new workers have recorded it
    return 'promote' if !$t->wait_for(sub { !ctl('promote', $new) }, 60);
    return 'reload' if !reloaded();
    return 'nobody looks at a page' if !turn();
    return 'drop' if ctl('drop', $old);
    return 'reload' if !reloaded();
    return 'nobody looks at a page' if !turn();
    return scalar(ids()) eq $new ? '' : 'the new key is not the only one';
}


# And the old workers, which sign with the old key, are gone.

sub reloaded {
    return $t->reload
           && $t->wait_for(sub { $t->workers(1) == 2 }, 60);
}


# Until each browser has had all its pages, begun after this was called: the
# turn that it is in may be half over.

sub turn {
    my @before = turns();

    return $t->wait_for(sub {
        my @now = turns();

        return !grep { $now[$_] < $before[$_] + 2 } 0 .. $#now;
    }, 120);
}

sub turns { map { -s $m->turns($_) // 0 } 0 .. $browsers - 1 }

sub ctl {
    my ($command, @words) = @_;

    return +($t->sessionctl('key', $command, $t->keys, @words))[0];
}

sub ids {
    my $text = $t->sessionctl('key', 'list', $t->keys, '--json');
    my @ids = $text =~ /"id":"([^"]+)"/g;

    return wantarray ? @ids : "@ids";
}
