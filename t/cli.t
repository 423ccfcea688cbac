# sessionctl: its command line, and the commands for the store as a whole.

use strict;
use warnings;

use lib 't/lib';
use Session::Cli qw(sessionctl json in_dir user_of);
use Session::World ();
use Test::More;


# -------------------------------------------------------- command line ---


my $run = sessionctl();

is($run->{code}, 2, 'no command');
is($run->{err}, "sessionctl: a command is missing; see sessionctl -h\n",
   'no command, said so');

$run = sessionctl('nonsense');
is($run->{code}, 2, 'unknown command');
like($run->{err}, qr/there is no command "nonsense"; see sessionctl -h/,
     'unknown command, said so');

$run = sessionctl('user', 'nonsense');
is($run->{code}, 2, 'unknown command of a noun');
like($run->{err}, qr/^sessionctl user: .*; see sessionctl user -h$/,
     'which noun');

$run = sessionctl('user');
is($run->{code}, 2, 'a noun alone');

for my $help ('-h', '--help') {
    $run = sessionctl($help);
    is($run->{code}, 0, "$help");
    like($run->{out}, qr/^usage: sessionctl/, "$help is on stdout");
    is($run->{err}, '', "$help, nothing else");

    $run = sessionctl('user', $help);
    like($run->{out}, qr/^usage: sessionctl user COMMAND/, "user $help");

    $run = sessionctl('user', 'add', 'x', $help);
    like($run->{out}, qr/^usage: sessionctl user add/, "user add $help");
}

my @wrong = (
    [['user', 'add'], 'LOGIN is missing'],
    [['user', 'name', 'x'], 'NAME is missing'],
    [['user', 'list', 'x'], 'no words are expected'],
    [['user', 'show', 'x', 'y'], 'there is a word too many'],
    [['user', 'show', 1 .. 5], 'too many words: "5"'],
    [['user', 'add', 'x', '--nonsense'], 'unknown option --nonsense'],
    [['user', 'add', 'x', '-n'], 'unknown option -n'],
    [['user', 'add', 'x', '--password', 'y'], 'unknown option --password'],
    [['--nonsense', 'user', 'list'], 'unknown option --nonsense'],
    [['user', 'add', 'x', '--min'], '--min needs a value'],
    [['user', 'add', 'x', '--min', 'y'], '--min: "y" is no number'],
    [['user', 'add', 'x', '--min', '-1'], '--min: "-1" is no number'],
    [['user', 'add', 'x', '--min=7'], '--min is 8 to 1024'],
    [['user', 'add', 'x', '--min=99999999999'], 'is no number'],
    [['user', 'add', 'x', '--generate=1'], '--generate takes no value'],
    [['user', 'add', 'x', '--generate', '--stdin'], 'exclude one another'],
    [['user', 'add', 'x', '--no-password', '--stdin'],
     '--no-password needs no password'],
    [['user', 'list', '--json=1'], '--json takes no value'],
    [['user', 'list', '--realm', 'A'], 'realm "A" is not 1 to 32 of'],
    [['user', 'list', '--realm', ''], 'realm "" is not'],
    [['key', 'new', 'x', '--realm', 'a'], '--realm has no meaning here'],
    [['--realm', 'a', 'stat'], '--realm has no meaning here'],
    [['key', 'new', '--store', 's', 'x'], '--store has no meaning here'],
    [['backup', 'x', '--json'], '--json has no meaning here'],
    [['init', 'a', '--store', 'b'], 'the path is given twice'],
    [['key', 'drop', 'f', 'xyz'], '"xyz" is no key id of two hex digits'],
    [['key', 'drop', 'f', 'x1'], '"x1" is no key id'],
    [['key', 'drop', 'f', ' 1'], 'is no key id'],
    [['session', 'revoke'], 'REF, --user, --all or --older-than is missing'],
    [['session', 'revoke', 'r', '--all'], 'REF names one session'],
    [['session', 'revoke', '--all', '--user', 'x'], '--all goes with neither'],
    [['session', 'revoke', '--older-than', '7x'], '"7x" is no time'],
    [['session', 'revoke', '--older-than', ''], '"" is no time'],
    [['session', 'revoke', '--older-than', '-1d'], 'is no time'],
    [['session', 'revoke', '--older-than', '1s1d'], 'is no time'],
    [['session', 'revoke', '--older-than', '999y'], 'is no time'],
    [['session', 'list', '--user', 'x', '--ended'], 'exclude one another'],
);

for my $wrong (@wrong) {
    my ($command, $message) = @$wrong;
    my $noun = $command->[0] =~ /^-/ ? '' : " $command->[0]";

    $run = sessionctl(@$command);

    is($run->{code}, 2, "@$command");
    like($run->{err}, qr/^sessionctl.*: .*\Q$message\E.*; see sessionctl.* -h$/,
         "@$command: $message");
    is($run->{out}, '', "@$command: nothing on stdout");
}


# --------------------------------------------------- where the store is ---


my $none = in_dir('none');

$run = sessionctl('user', 'list', '--store', $none);
is($run->{code}, 4, 'no store');
like($run->{err}, qr{store missing: run sessionctl init \Q$none\E$}m,
     'the remedy');
like($run->{err}, qr{the store is --store \(\Q$none\E\), else }, 'option');
like($run->{err}, qr{ else \$SESSION_STORE \(not set\), }, 'environment');
like($run->{err}, qr{ else /var/lib/nginx/session$}m, 'default');

$run = sessionctl('user', 'list', { env => { SESSION_STORE => $none } });
is($run->{code}, 4, 'no store, from the environment');
like($run->{err}, qr{--store\ \(not\ given\),\ else\ \$SESSION_STORE
                     \ \(\Q$none\E\)}x, 'says where from');

my $store = in_dir('store');

$run = sessionctl('init', $store);
is($run->{code}, 0, 'init PATH');
is($run->{out}, qq{store "$store" made\n}, 'init PATH, said so');
is((stat $store)[2] & 07777, 0700, 'mode of the directory');
is((stat $_)[2] & 07777, 0600, "mode of $_") for glob "$store/*";

$run = sessionctl('init', $store);
is($run->{code}, 1, 'init of a store');
like($run->{err}, qr/there is a store already/, 'init of a store, said so');

is_deeply(json('init', '--json', '--store', "$store-2"),
          { store => "$store-2" }, 'init --store --json');

$run = sessionctl('init', "$store-3", '--owner', 'no such user');
is($run->{code}, 1, 'init for nobody');
like($run->{err}, qr/there is no user "no such user"/, 'said so');
ok(!-e "$store-3", 'and nothing was made');

$run = sessionctl('user', 'list', { env => { SESSION_STORE => $store } });
is($run->{code}, 0, '$SESSION_STORE');

$run = sessionctl('--store', $store, 'user', 'list',
                  { env => { SESSION_STORE => $none } });
is($run->{code}, 0, '--store wins and may stand first');

chmod 0755, $store;
$run = sessionctl('user', 'list', '--store', $store);
is($run->{code}, 4, 'a store others may look into');
like($run->{err}, qr/chmod/, 'the remedy');
chmod 0700, $store;

symlink $store, "$store-link" or die $!;
is(sessionctl('user', 'list', '--store', "$store-link")->{code},
   $> == 0 ? 4 : 0, 'root follows no link')
    if $> == 0;


# -------------------------------------------------- stdout that is full ---


SKIP: {
    skip 'no /dev/full', 4 if !-w '/dev/full';

    for my $command (['-h'], ['user', 'list', '--store', $store]) {
        $run = sessionctl(@$command, { stdout => '/dev/full' });
        is($run->{code}, 1, "full: @$command");
        like($run->{err}, qr/stdout could not be written: no space left/,
             'said so');
    }
}


# ------------------------------------------------- stat, check and sweep ---


my $world = Session::World::fresh();
my @at = ('--store', $world->{store});

Session::World::session($world, 'alice');
Session::World::session($world, 'bob', created => -200, seen => -200,
                        idle => 100);
Session::World::session($world, 'bob', created => -9 * 86400,
                        seen => -9 * 86400);

my $stat = json('stat', '--json', @at);

is($stat->{users}, 5, 'stat: users');
is($stat->{sessions_kept}, 3, 'stat: sessions');
is($stat->{change_lost}, 0, 'stat: nothing lost');
like($stat->{store_id}, qr/^[0-9a-f]{32}$/, 'stat: store id');

$run = sessionctl('stat', @at);
is($run->{code}, 0, 'stat');
like($run->{out}, qr/^users                  5$/m, 'stat, as text');

$run = sessionctl('check', @at);
is($run->{code}, 0, 'check');
is($run->{out}, qq{0 problems in store "$world->{store}"\n}, 'check, said so');
is($run->{err}, '', 'no progress where nobody looks');

$run = sessionctl('check', '--progress', @at);
like($run->{err}, qr/problems: 0/, 'progress where it is asked for');

is_deeply(json('check', '--json', @at),
          { problems => [], count => 0, complete => JSON::PP::true() },
          'check --json');

$run = sessionctl('sweep', @at);
is($run->{code}, 0, 'sweep');
like($run->{out}, qr/^[1-9]\d* entries swept, 0 events dropped$/,
     'sweep, said so');
is(json('stat', '--json', @at)->{sessions_kept}, 2, 'the old one is gone');

$stat = json('stat', '--json', @at);

# events of this very second are not older than 0 s
my $swept = json('sweep', '--events-older-than', '0s', '--json', @at);

cmp_ok($swept->{events_dropped}, '>', 0, 'events are dropped');
is(json('stat', '--json', @at)->{events},
   $stat->{events} - $swept->{events_dropped}, 'as many as it says');
is(json('sweep', '--json', @at)->{entries}, 0, 'nothing is left to sweep');


# -------------------------------------------------------- damaged store ---


my $spoilt = Session::World::fresh();

Session::World::session($spoilt, 'bob');

my $text = Session::Cli::get("$spoilt->{store}/sessions.v1.mdb");

cmp_ok($text =~ s/Bob Brown/Bob\x01Brown/g, '>', 1, 'records are spoilt');
Session::Cli::put("$spoilt->{store}/sessions.v1.mdb", $text);

$run = sessionctl('check', '--store', $spoilt->{store});
is($run->{code}, 5, 'check finds problems');
like($run->{out}, qr/^problem: .*^[1-9]\d* problems? in store /ms,
     'tells them');
cmp_ok(scalar(() = $run->{out} =~ /^problem: /mg), '>', 1, 'all of them');

$run = sessionctl('check', '--json', '--store', $spoilt->{store});
is($run->{code}, 5, 'check --json finds problems');

my $found = JSON::PP->new->utf8->decode($run->{out});

is($found->{count}, scalar @{ $found->{problems} }, 'as many as it tells');
is($found->{complete}, JSON::PP::true(), 'and it went on to the end');

my $rest = in_dir('rest');

$run = sessionctl('dump', $rest, '--store', $spoilt->{store});
is($run->{code}, 5, 'dump leaves them out');
like($run->{err}, qr/damaged records are left out/, 'says so');

$text = Session::Cli::get($rest);
like($text, qr/"login":"alice"/, 'the others are in it');
unlike($text, qr/"name":"Bob/, 'those are not');
like($text, qr/"record":"end"/, 'and it has an end');

$run = sessionctl('user', 'show', 'bob', '--store', $spoilt->{store});
is($run->{code}, 1, 'a damaged record');
like($run->{err}, qr/user "bob" in realm "default": damaged record$/,
     'said so');
is(sessionctl('user', 'show', 'alice', '--store', $spoilt->{store})->{code}, 0,
   'others are well');


my $broken = Session::World::fresh();
my $file = "$broken->{store}/sessions.v1.mdb";

open my $out, '+<:raw', $file or die "$file: $!\n";
print $out "\0" x 8192;
close $out;

$run = sessionctl('stat', '--store', $broken->{store});
is($run->{code}, 4, 'a store whose first pages are wiped');
like($run->{err}, qr/sessions\.v1\.mdb/, 'which file');


# -------------------------------------------- dump, restore and backup ---


$world = Session::World::fresh();
@at = ('--store', $world->{store});

my $alice = Session::World::session($world, 'alice');
my $dump = in_dir('dump');

$run = sessionctl('dump', $dump, @at);
is($run->{code}, 0, 'dump FILE');
is((stat $dump)[2] & 07777, 0600, 'mode of the dump');
like($run->{out}, qr/^"\Q$dump\E" written, \d+ bytes$/, 'dump FILE, said so');

$run = sessionctl('dump', @at);
is($run->{code}, 0, 'dump to stdout');
is($run->{out}, Session::Cli::get($dump), 'the same');
is((split /\n/, $run->{out})[0] =~ /"format":1/ ? 1 : 0, 1, 'its first line');

$run = sessionctl('dump', $dump, @at);
is($run->{code}, 1, 'dump over a file');
like($run->{err}, qr/"\Q$dump\E": exists already/, 'said so');

$run = sessionctl('dump', "$dump-dir/x", @at);
is($run->{code}, 1, 'dump into no folder');

$run = sessionctl('dump', "$dump-2", '--store', $none);
is($run->{code}, 4, 'dump of no store');
is_deeply([glob "$dump-2*"], [], 'leaves no file');

my $copy = in_dir('copy');

is(sessionctl('init', $copy)->{code}, 0, 'a store for the dump');
$run = sessionctl('restore', $dump, '--store', $copy);
is($run->{code}, 0, 'restore FILE');
like($run->{out}, qr/^store "\Q$copy\E" restored, without sessions$/,
     'restore FILE, said so');
is_deeply([map { $_->{login} } @{ json('user', 'list', '--json', '--store',
                                       $copy) }],
          [map { $_->{login} } @{ json('user', 'list', '--json', @at) }],
          'the users');
is_deeply(json('session', 'list', '--json', '--store', $copy), [],
          'no sessions');

$run = sessionctl('restore', $dump, '--store', $copy);
is($run->{code}, 1, 'restore over users');

is(sessionctl('init', "$copy-2")->{code}, 0, 'another one');
$run = sessionctl('restore', '--sessions', '--store', "$copy-2",
                  { stdin => Session::Cli::get($dump) });
is($run->{code}, 0, 'restore from stdin, with sessions');
is(json('session', 'list', '--json', '--store', "$copy-2")->[0]{ref},
   $alice->{ref}, 'the session');
is(sessionctl('check', '--store', "$copy-2")->{code}, 0, 'and it is sound');

is(sessionctl('init', "$copy-3")->{code}, 0, 'a third one');
$run = sessionctl('restore', '--store', "$copy-3", {
    stdin => Session::Cli::get($dump) =~ s/\n.*\n/\n{"rec\n/r });
is($run->{code}, 1, 'restore of a damaged dump');
like($run->{err}, qr/line 2/, 'which line');
is_deeply(json('user', 'list', '--json', '--store', "$copy-3"), [],
          'nothing of it');

$run = sessionctl('restore', "$dump-none", '--store', $copy);
is($run->{code}, 1, 'restore from no file');
$run = sessionctl('restore', $dump, '--store', $none);
is($run->{code}, 4, 'restore into no store');

my $backup = in_dir('backup');

for my $events (0, 1) {
    my $name = $events ? 'events' : 'sessions';

    $run = sessionctl('backup', "$backup-$name", @at,
                      $events ? '--events' : ());
    is($run->{code}, 0, "backup of $name");
    is((stat "$backup-$name")[2] & 07777, 0600, 'its mode');
}

$run = sessionctl('backup', "$backup-shown", @at, '--progress');
is($run->{code}, 0, 'backup --progress');
like($run->{err}, qr/^backup, bytes: \d+/, 'shows it');

$run = sessionctl('backup', "$backup-events", @at);
is($run->{code}, 1, 'backup over a file');
symlink "$backup-target", "$backup-link" or die $!;
is(sessionctl('backup', "$backup-link", @at)->{code}, 1,
   'backup over a dangling link');
ok(!-e "$backup-target", 'which is not followed');
is_deeply([glob "$backup-*.part"], [], 'no temporary file is left');

my $back = in_dir('back');

mkdir $back, 0700 or die $!;
rename "$backup-$_", "$back/$_.v1.mdb" or die $! for qw(sessions events);
is(sessionctl('init', $back)->{code}, 0, 'init around a backup');
is(json('session', 'list', '--json', '--store', $back)->[0]{ref},
   $alice->{ref}, 'everything is there');
is(sessionctl('check', '--store', $back)->{code}, 0, 'and it is sound');


# ----------------------------------------------------------- templates ---


my $pages = in_dir('pages');

$run = sessionctl('templates', $pages);
is($run->{code}, 0, 'templates DIR');
like($run->{out}, qr/^\d+ files written to "\Q$pages\E"$/, 'said so');

for my $page (glob "$Session::World::project/ngx_module/html/*.*") {
    my ($name) = $page =~ m{([^/]+)\z};

    ok(Session::Cli::get("$pages/$name") eq Session::Cli::get($page),
       "template $name");
}

SKIP: {
    my ($one) = glob "$pages/*.*";
    skip 'there are no templates', 2 if !defined $one;

    $run = sessionctl('templates', $pages);
    is($run->{code}, 1, 'templates over templates');
    like($run->{err}, qr/is there already; nothing is written/, 'said so');
}

is(json('templates', "$pages-2", '--json')->{directory}, "$pages-2",
   'templates --json');
is(sessionctl('templates', "$pages/a/b")->{code}, 1, 'no folder to make it in');


# ---------------------------------------------------------------- root ---


SKIP: {
    my ($ids, $name) = user_of();

    skip 'only root becomes somebody else', 10 if $> != 0 || !$ids;

    my $theirs = in_dir('store');

    $run = sessionctl('init', $theirs, '--owner', $name);
    is($run->{code}, 0, 'init --owner');
    is_deeply([sort { $a <=> $b } map { (stat)[4] } $theirs,
               glob "$theirs/*"],
              [($ids->[0]) x (1 + (() = glob "$theirs/*"))],
              'everything is theirs');

    # LMDB makes its lock files anew, as whom shows who opened the store

    unlink glob "$theirs/*-lock";
    is(sessionctl('user', 'add', 'x', '--no-password', '--store',
                  $theirs)->{code}, 0, 'root adds a user');
    is((stat "$theirs/sessions.v1.mdb-lock")[4], $ids->[0],
       'as the owner of the store');

    is(sessionctl('user', 'show', 'x', '--store', $theirs,
                  { as => $ids })->{code}, 0, 'the owner works alone');

    my $secret = in_dir('');
    chmod 0700, $secret;
    $run = sessionctl('backup', "$secret/b", '--store', $theirs);
    is($run->{code}, 0, 'backup into a folder of root');
    is((stat "$secret/b")[4], 0, 'is of root');
    is(sessionctl('dump', "$secret/d", '--store', $theirs)->{code}, 0,
       'a dump too');

    my $mine = in_dir('store');
    is(sessionctl('init', "$mine-n", '--owner', "$ids->[0]:0")->{code}, 0,
       'owner and group by number');
    is((stat "$mine-n")[5], 0, 'the group');

    $run = sessionctl('init', $mine);
    like($run->{err}, qr/belongs to root; .* --owner USER/,
         'a hint when root keeps it');
    is(sessionctl('user', 'list', '--store', $mine, { as => $ids })->{code}, 4,
       'which others cannot open');
}

done_testing();
