# sessionctl key: secrets and their rotation, without nginx.  With it:
# t/flow/cli.t.

use strict;
use warnings;

use lib 't/lib';
use Session::Cli qw(sessionctl json in_dir user_of);
use Test::More;

my $file = in_dir('session.keys');
my @force = ('--force');


sub ids { [map { $_->{id} } @{ json('key', 'list', $file, '--json') }] }


# ----------------------------------------------------------------- new ---


umask 0;

my $run = sessionctl('key', 'new', $file);

is($run->{code}, 0, 'new');
is($run->{out}, qq{keys file "$file" made\n}, 'new, said so');
is((stat $file)[2] & 07777, 0600, 'its mode');

my @secrets = grep { !/^#/ } split /\n/, Session::Cli::get($file);

is(scalar @secrets, 1, 'one secret');
like($secrets[0], qr{^[A-Za-z0-9+/]{43}=$}, 'of 32 bytes');

my $before = Session::Cli::get($file);

$run = sessionctl('key', 'new', $file);
is($run->{code}, 1, 'new over a file');
like($run->{err}, qr/"\Q$file\E": exists already/, 'said so');
is(Session::Cli::get($file), $before, 'and left alone');

is_deeply(json('key', 'new', "$file-2", '--json'),
          { file => "$file-2", did => 'new' }, 'new --json');
isnt(Session::Cli::get("$file-2"), $before, 'another secret');

is(sessionctl('key', 'new', "$file/x")->{code}, 1, 'new in no folder');


# ---------------------------------------------------- list, add, promote ---


my ($first) = @{ ids() };

like($first, qr/^[0-9a-f]{2}$/, 'an id');

$run = sessionctl('key', 'list', $file);
is($run->{out}, "ID  USE       LOADED\n$first  signs     ?\n", 'list');

$run = sessionctl('key', 'add', $file);
is($run->{code}, 0, 'add');
like($run->{out}, qr/^key ([0-9a-f]{2}): add done; reload nginx$/, 'said so');

my ($second) = $run->{out} =~ /^key (..)/;

is_deeply(ids(), [$first, $second], 'the new one is last');
is_deeply(json('key', 'list', $file, '--json'),
          [{ id => $first, signs => JSON::PP::true(), loaded => undef },
           { id => $second, signs => JSON::PP::false(), loaded => undef }],
          'list --json');

my $store = in_dir('store');

is(sessionctl('init', $store)->{code}, 0, 'a store no nginx has used');

$run = sessionctl('key', 'promote', $file, $second, '--store', $store);
is($run->{code}, 1, 'promote before a reload');
like($run->{err}, qr/nginx has not loaded key $second; reload nginx first/,
     'says what to do');
is_deeply(ids(), [$first, $second], 'nothing is changed');

$run = sessionctl('key', 'list', $file, '--store', $store);
like($run->{out}, qr/^$second  verifies  no$/m, 'list says so as well');

$run = sessionctl('key', 'promote', $file, $second, '--store', "$store-none");
is($run->{code}, 4, 'promote without a store');
like($run->{err}, qr/store missing/, 'said so');
$run = sessionctl('key', 'list', $file, '--store', "$store-none");
is($run->{code}, 4, 'list with a store that is not there');

$run = sessionctl('key', 'promote', $file, $second, @force);
is($run->{code}, 0, 'promote --force');
is_deeply(ids(), [$second, $first], 'it is first');

is_deeply(json('key', 'promote', $file, $second, @force, '--json'),
          { file => $file, did => 'promote', id => $second },
          'promote of the first changes nothing');


# ---------------------------------------------------------------- drop ---


$run = sessionctl('key', 'drop', $file, $second);
is($run->{code}, 1, 'drop of what signs');
like($run->{err}, qr/key $second signs; run sessionctl key promote/,
     'says what to do');

$run = sessionctl('key', 'drop', $file, uc $first);
is($run->{code}, 0, 'drop');
is_deeply(ids(), [$second], 'it is gone');

for my $command ('drop', 'promote') {
    $run = sessionctl('key', $command, $file, $first,
                      $command eq 'promote' ? @force : ());
    is($run->{code}, 3, "$command of no key");
    like($run->{err}, qr/holds no key $first/, 'said so');
}

$run = sessionctl('key', 'add', $file) for 1 .. 7;
is($run->{code}, 0, 'eight secrets');
is(scalar keys %{ { map { $_ => 1 } @{ ids() } } }, 8, 'of eight ids');

$run = sessionctl('key', 'add', $file);
is($run->{code}, 1, 'a ninth');
like($run->{err}, qr/holds 8 secrets already/, 'is refused');


# -------------------------------------------------------- unsafe files ---


my @unsafe = (
    [0644, 'readable by others; run chmod 0600'],
    [0602, 'writable by others; run chmod 0600'],
    [0660, 'group may write; run chmod g-w'],
);

for my $unsafe (@unsafe) {
    my ($mode, $message) = @$unsafe;
    my $name = sprintf 'mode %04o', $mode;

    chmod $mode, $file;

    for my $command (['list', $file], ['add', $file],
                     ['promote', $file, $second, @force],
                     ['drop', $file, $second])
    {
        $run = sessionctl('key', @$command);
        is($run->{code}, 1, "$command->[0] of $name");
        like($run->{err}, qr/"\Q$file\E": \Q$message\E/, 'said so');
    }
}

chmod 0640, $file;
is(sessionctl('key', 'drop', $file, ids()->[1])->{code}, 0,
   'the group may read');
is((stat $file)[2] & 07777, 0640, 'and the mode stays');

symlink $file, "$file-link" or die $!;
is(sessionctl('key', 'list', "$file-link")->{code}, 0, 'a link is read');
$run = sessionctl('key', 'add', "$file-link");
is($run->{code}, 1, 'and not written');
like($run->{err}, qr/is a symbolic link; name the file/, 'said so');
ok(-l "$file-link", 'the link is there');

$run = sessionctl('key', 'list', "$file-none");
is($run->{code}, 1, 'no file');
like($run->{err}, qr/no such file; run sessionctl key new/, 'the remedy');

Session::Cli::put($file, "not a secret\n");
chmod 0600, $file;
$run = sessionctl('key', 'list', $file);
is($run->{code}, 1, 'no secret');
like($run->{err}, qr/line 1 is not the base64/, 'said so');
unlike($run->{err}, qr/not a secret/, 'without showing it');

is_deeply([grep { !/-link$|-2$/ && $_ ne $file } glob "$file*"], [],
          'no temporary file is left');


# ------------------------------------------------- root and the owner ---


SKIP: {
    my ($ids, $name) = user_of();

    skip 'only root becomes somebody else', 5 if $> != 0 || !$ids;

    my $theirs = in_dir('store');
    my $keys = in_dir('session.keys');

    is(sessionctl('init', $theirs, '--owner', $name)->{code}, 0,
       'a store of the workers');
    is(sessionctl('key', 'new', $keys)->{code}, 0, 'a keys file of root');

    my $id = json('key', 'add', $keys, '--json')->{id};

    unlink glob "$theirs/*-lock";

    $run = sessionctl('key', 'promote', $keys, $id, '--store', $theirs);
    is($run->{code}, 1, 'promote asks the store');
    like($run->{err}, qr/has not loaded key $id/, 'and gets an answer');
    is((stat "$theirs/sessions.v1.mdb-lock")[4], $ids->[0],
       'as its owner');
}

done_testing();
