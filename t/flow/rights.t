# Files of a store that are not as they should be: who owns them, who may write
# them, what they are.  sessionctl and workers refuse, nginx -t warns, all name
# the file, and when it is as it should be, workers open the store by
# themselves.

use strict;
use warnings;

use lib 't/lib';
use Session::Cli qw(sessionctl in_dir);
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

my $t = Session::Flow->new(users => ['ann']);
my $store = $t->store;
my @data = ('owner', 'open.lock', 'sessions.v1.mdb', 'events.v1.mdb');
my @locks = ('sessions.v1.mdb-lock', 'events.v1.mdb-lock');

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration());

my $ann = $t->session('ann');

sub tested {
    local $ENV{PATH} = "$ENV{PATH}:/usr/sbin:/sbin";

    my @command = ($t->nginx->command, '-t');

    return scalar `@command 2>&1`;
}

sub private {
    return $t->client->get('/private',
        Cookie => "$Session::World::cookie=$ann->{token}")->code;
}


# Each is done, looked at and undone: [what, do, undo, words, words of nginx -t
# where they are others].

sub modes {
    my ($name, $good, @bad) = @_;

    return map {
        my $bad = $_;
        my $file = "$store/$name" =~ s{/\.\z}{}r;
        my $octal = sprintf '%04o', $bad;

        ["$name of mode $octal",
         sub { chmod $bad, $file }, sub { chmod $good, $file },
         qr/mode (?:of \Q$name\E )?is $octal; run chmod/,
         $name eq '.' ? undef
                      : qr/\Q$name\E must be a regular file of mode 0600/]
    } @bad;
}

sub instead {
    my ($name, $what, $make) = @_;
    my $file = "$store/$name";

    return ["$name is $what",
        sub { rename $file, "$store/../away" or die $!; $make->($file) },
        sub { -d $file && !-l $file ? rmdir $file : unlink $file;
              rename "$store/../away", $file or die $!; },
        qr/\Q$name\E is not a regular file/,
        qr/\Q$name\E must be a regular file of mode 0600/];
}

my @cases = (
    modes('.', 0700, 0777, 0755, 0750, 0701, 0500, 01700),
    (map { modes($_, 0600, 0644, 0640, 0666, 0400, 04600) } @data, @locks),
    (map { instead($_, 'a link', sub { symlink "$store/../away", $_[0] }),
           instead($_, 'a directory', sub { mkdir $_[0], 0600 }),
           instead($_, 'a pipe', sub { system 'mkfifo', '-m', '600', $_[0] })
         } @data, @locks),
    (map { my $file = "$store/$_";
        ["$_ is missing", sub { rename $file, "$store/../away" or die $! },
         sub { rename "$store/../away", $file or die $! },
         qr/store missing: run sessionctl init/] } @data),
    ['the directory is a link',
     sub { rename $store, "$store.away"; symlink "$store.away", $store },
     sub { unlink $store; rename "$store.away", $store },
     qr/not a directory/],
);

if ($> == 0) {
    my ($ids) = Session::Cli::user_of();

    push @cases, map { my $name = $_; my $file = "$store/$name";
        ["$name of somebody else", sub { chown @$ids, $file },
         sub { chown 0, 0, $file },
         qr/\Q$name\E belongs to uid $ids->[0] and not to uid 0/,
         qr/\Q$name\E must be .* that belongs to the owner of the directory/]
    } @data, @locks;
}

for (@cases) {
    my ($what, $do, $undo, $words, $tested) = @$_;

    $do->();

    my $run = sessionctl('check', '--store', $store);

    is $run->{code}, 4, "$what: sessionctl refuses";
    like $run->{err}, $words, 'and says why';
    $tested //= $words;
    like tested(), qr/\[warn\].*$tested/, 'nginx -t warns';

    $undo->();
}

is sessionctl('check', '--store', $store)->{code}, 0, 'undone: it is a store';
unlike tested(), qr/\Q$store\E/, 'nothing to warn of';


# ------------------------------------------------------- what is no harm ---

for my $name (@locks) {
    unlink "$store/$name";
    is sessionctl('check', '--store', $store)->{code}, 0,
        "$name is missing: it is made";
    is((stat "$store/$name")[2] & 07777, 0600, 'with its mode');
}


# --------------------------------------------------------------- workers ---

# One of each kind; the checks are the same as above.

for my $case (grep { $_->[0] =~ /\A(?:\.\ of\ mode\ 0777|owner\ is\ missing
                                   |sessions.v1.mdb(?:-lock)?\ of\ mode\ 0644
                                   |sessions.v1.mdb-lock\ of\ (?:mode\ 0400
                                                            |somebody\ else)
                                   |open.lock\ of\ (?:mode\ 0400|somebody\ else)
                                   |events.v1.mdb\ is\ a\ link
                                   |the\ directory\ is\ a\ link)\z/x } @cases)
{
    my ($what, $do, $undo, $words) = @$case;
    my $from = $t->log_size;

    $t->allow($words);
    $do->();
    $t->run;

    ok $t->wait_log(qr/\[crit\].*$words/, $from), "$what: a worker says so";
    is private(), 503, 'lets nobody in';

    $undo->();

    ok $t->wait_for(sub { private() == 200 }, 30), 'and opens it when it may';
    $t->stop;
}


# ------------------------------------------------- a disk to be read only ---

SKIP: {
    my $dir = in_dir('');
    my $script = "cd $dir; mkdir m; mount --bind $store m; "
               . "mount -o remount,bind,ro m; touch m/x 2> /dev/null "
               . "|| $Session::Cli::binary check --store m; echo \"code \$?\"";
    my $said = $> == 0 ? `unshare -m sh -c '$script' 2>&1` : '';

    skip 'mounts need root', 1 if $said !~ /code [1-9]/;

    like $said, qr/open\.lock: read-only file system.*code 4\n/s,
        'read only: refused';
}

$t->done;
