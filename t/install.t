# bin/install, as make install and make uninstall call it: files go where the
# nginx looks for them, and uninstalling takes exactly these away.  And
# bin/doc-commands, with which installing as the documents say is tested.

use strict;
use warnings;

use lib 't/lib';
use File::Find qw(find);
use File::Temp ();
use Session::Log qw(slurp);
use Session::World ();
use Test::More;

my $project = $Session::World::project;
my $dir = File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1,
                             CLEANUP => 1);
my $so = 'ngx_http_session_module.so';

chdir $project or die "$project: $!\n";
delete @ENV{qw(NGINX DESTDIR PREFIX MODULES_DIR CONF_DIR MAKEFLAGS B)};


sub spew {
    my ($file, $text) = @_;

    open my $out, '>', $file or die "$file: $!\n";
    print $out $text;
    close $out;

    return $file;
}


# Exit code and words of a command.

sub run {
    my $pid = open my $out, '-|';

    if (!$pid) {
        open STDERR, '>&', \*STDOUT;
        exec @_ or die;
    }

    my $said = do { local $/; <$out> };

    close $out;

    return ($? >> 8, $said);
}


# What is below a folder, without its name.

sub below {
    my ($root) = @_;
    my @found;

    find({ no_chdir => 1, wanted => sub {
        push @found, $_ =~ s/^\Q$root\E//r if $_ ne $root;
    } }, $root);

    return [sort @found];
}


sub make {
    my ($what, @given) = @_;

    return run('make', '-s', $what, "B=$dir/built", @given);
}


mkdir "$dir/built";

# one of nginx.org's layout, whose folders are this test's
my $nginx = spew("$dir/nginx", <<"END");
#!/bin/sh
cat >&2 << 'SAID'
nginx version: nginx/1.99.3
configure arguments: --with-threads --user=webby @{[ join ' ',
    "--prefix=$dir/etc/nginx", "--conf-path=$dir/etc/nginx/nginx.conf",
    "--modules-path=$dir/lib/nginx/modules" ]}
SAID
END

chmod 0755, $nginx;
mkdir "$dir/$_" for qw(etc etc/nginx lib);
symlink "$dir/lib/nginx/modules", "$dir/etc/nginx/modules" or die;

my @given = ("NGINX=$nginx", "PREFIX=$dir/local");


# ------------------------------------------------------ install, remove ---


{
    my ($code, $said) = make('install', @given);

    isnt($code, 0, 'nothing is built');
    like($said, qr/run "make module sessionctl" first/, 'and it says so');

    ($code, $said) = make('uninstall', @given);
    isnt($code, 0, 'nothing is installed');
    like($said, qr/nothing is installed/, 'and it says so');
}

spew("$dir/built/$so", "module 1\n");
spew("$dir/built/sessionctl", "tool 1\n");

my @folders = qw(/lib/nginx /lib/nginx/modules /local /local/bin /local/lib
                 /local/lib/ngx_session);
my @files = ("/lib/nginx/modules/$so", '/local/bin/sessionctl',
             '/etc/nginx/session_pages.conf',
             '/local/lib/ngx_session/installed');
my $before = below("$dir");

{
    my ($code, $said) = make('install', @given);

    is($code, 0, 'installed') or diag($said);
    is_deeply(below("$dir"), [sort @$before, @folders, @files],
              'where this nginx looks, and below the prefix');
    is((stat "$dir$files[0]")[2] & 07777, 0644, 'mode of the module');
    is((stat "$dir$files[1]")[2] & 07777, 0755, 'mode of sessionctl');
    like($said, qr/^    load_module modules\/\Q$so\E;$/m,
         'the line for nginx.conf, below the prefix');
    like($said, qr/init --owner webby$/m, 'the user of the workers');
    like($said, qr{key new \Q$dir\E/etc/nginx/session\.keys$}m, 'the keys');
}

{
    spew("$dir/etc/nginx/nginx.conf", "user  somebody;\nevents { }\n");
    spew("$dir/built/$so", "module 2\n");

    my $inode = (stat "$dir$files[0]")[1];

    open my $old, '<', "$dir$files[0]" or die;

    my ($code, $said) = make('install', @given);

    is($code, 0, 'installed again');
    is(slurp("$dir$files[0]"), "module 2\n", 'the new module is there');
    is(do { local $/; <$old> }, "module 1\n", 'who has the old one keeps it');
    isnt((stat "$dir$files[0]")[1], $inode, 'in another file');
    like($said, qr/init --owner somebody$/m, 'the user of nginx.conf');

    unlink "$dir/etc/nginx/nginx.conf";
}

{
    my ($code, $said) = make('uninstall', @given);

    is($code, 0, 'uninstalled') or diag($said);
    is_deeply(below("$dir"), $before, 'nothing is left');
}


# ------------------------------------------------------- what is theirs ---


{
    make('install', @given);
    spew("$dir$files[2]", "# mine\n");

    my ($code, $said) = make('install', @given);

    is($code, 0, 'installed over a changed include file');
    is(slurp("$dir$files[2]"), "# mine\n", 'which stays as it is');
    like($said, qr/^kept .*session_pages\.conf/m, 'and that is said');

    ($code, $said) = make('uninstall', @given);
    is($code, 0, 'uninstalled');
    is_deeply(below("$dir"), [sort @$before, $files[2]],
              'all but the file that was changed');

    ($code, $said) = make('install', @given);
    like($said, qr/^kept .*session_pages\.conf/m, 'nor is it taken over');
    make('uninstall', @given);
    is(slurp("$dir$files[2]"), "# mine\n", 'or removed');

    unlink "$dir$files[2]";
}

{
    mkdir "$dir/lib/nginx";
    spew("$dir/lib/nginx/theirs", '');
    make('install', @given);
    make('uninstall', @given);
    ok(-f "$dir/lib/nginx/theirs", 'a folder that was there stays');
    ok(!-e "$dir/lib/nginx/modules", 'one that was made goes');

    unlink "$dir/lib/nginx/theirs";
    rmdir "$dir/lib/nginx";
}


# -------------------------------------------------------- other folders ---


{
    mkdir "$dir/dest";

    my ($code, $said) = make('install', @given, "DESTDIR=$dir/dest",
                             'PREFIX=/opt', 'MODULES_DIR=/m', 'CONF_DIR=/c');

    is($code, 0, 'DESTDIR, PREFIX, MODULES_DIR and CONF_DIR') or diag($said);
    is_deeply(below("$dir/dest"),
              [sort qw(/c /c/session_pages.conf /m /opt /opt/bin
                       /opt/bin/sessionctl /opt/lib /opt/lib/ngx_session
                       /opt/lib/ngx_session/installed), "/m/$so"], 'are taken');
    unlike($said, qr/load_module/, 'for a package there is no next step');
    unlike(slurp("$dir/dest/opt/lib/ngx_session/installed"),
           qr/\Q$dir/, 'DESTDIR is not remembered');

    make('uninstall', @given, "DESTDIR=$dir/dest", 'PREFIX=/opt');
    is_deeply(below("$dir/dest"), [], 'uninstalled from there');
}

{
    my ($code, $said) = make('install', "NGINX=$dir/none");

    isnt($code, 0, 'no such nginx');
    like($said, qr/set NGINX, or MODULES_DIR and CONF_DIR/, 'in words');
}


# --------------------------------------------------- what documents show ---


my $page = spew("$dir/page.md", <<'END');
# Page

```sh
above
```

## Install

Text with `sh` in it.

```sh
first \
    goes on
# no heading

second
```

```nginx
not { this }
```

### Deeper

````sh
```
third
````

## Remove

```sh
fourth
```
END

for (['Install' => 0, "first \\\n    goes on\n# no heading\n\nsecond\n"
      . "\n```\nthird\n"],
     ['Deeper' => 0, "```\nthird\n"], ['Remove' => 0, "fourth\n"])
{
    my ($heading, $code, $expected) = @$_;

    is_deeply([run('bin/doc-commands', $page, $heading)], [$code, $expected],
              "commands below \"$heading\"");
}

is_deeply([run('bin/doc-commands', $page, 'Install', 2)], [0, "```\nthird\n"],
          'the second block');

for (['no heading "Nothing"', $page, 'Nothing'],
     ['no heading "no heading"', $page, 'no heading'],
     ['no such sh block', $page, 'Install', 3],
     ['cannot read', "$dir/none.md", 'Install'])
{
    my ($words, @arg) = @$_;
    my ($code, $said) = run('bin/doc-commands', @arg);

    is($code, 1, "$words: exit code");
    like($said, qr/\Q$words/, "$words: in words");
}

done_testing();
