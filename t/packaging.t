# The Debian packages, as far as can be seen without building them: what is
# written in several places is the same, and the scripts that run as root on
# other people's machines are sound.  deploy/test-deb builds and runs them.

use strict;
use warnings;

use lib 't/lib';
use File::Temp qw(tempdir);
use Session::Log qw(slurp);
use Session::World ();
use Test::More;

my $project = $Session::World::project;
my $build = $Session::World::build;

chdir $project or die "$project: $!\n";

my $debian = 'deploy/debian';
my $module = "$debian/libnginx-mod-http-session";
my @scripts = (glob("$debian/*.{preinst,postinst,prerm,postrm}"),
               "$debian/backup", 'deploy/sessionctl.bash', 'bin/build-deb',
               'deploy/test-deb');
my $dir = tempdir(CLEANUP => 1);


# ------------------------------------------------------------- control ---


my ($source, @packages) = map { fields($_) }
    grep { /\S/ } split /\n{2,}/, slurp("$debian/control");
my %package = map { $_->{Package} => $_ } @packages;


sub fields {
    my ($stanza) = @_;

    return { $stanza =~ /^(\S+?):[ ]*(.*(?:\n[ ].*)*)/gm };
}


is_deeply([sort keys %package], [qw(libnginx-mod-http-session sessionctl)],
          'two packages');

for my $name (sort keys %package) {
    my $it = $package{$name};

    like($it->{Depends}, qr/\$\{shlibs:Depends\}/, "$name: its libraries");
    like($it->{Depends}, qr/\$\{misc:Depends\}/, "$name: nginx, debconf");
    is($it->{Architecture}, 'any', "$name: code of a machine");

    my ($title, @lines) = split /\n/, $it->{Description};

    unlike($title, qr/^(?:an?|the)\b|\.$/i, "$name: title of a description");
    cmp_ok(length $title, '<', 60, "$name: of a line");
    is_deeply([grep { length > 80 } @lines], [], "$name: 80 columns");
}

like($package{'libnginx-mod-http-session'}{Depends},
     qr/\bsessionctl \(= \$\{binary:Version\}\)/,
     'the module and its tool are of one version');

my @needed = grep { !/^(?:debhelper-compat|dh-sequence-nginx)$/ }
    map { /^\s*(\S+)/ } split /,/, $source->{'Build-Depends'};
my ($listed) = slurp('bin/packages') =~ /^DEB_PACKAGES=\((.*?)^\)/ms;

is_deeply([grep { !/^(?:build-essential|debhelper|nginx-dev)$/ }
           sort split ' ', $listed], [sort @needed],
          'bin/packages and control name the same libraries');


# ------------------------------------------------------------- version ---


my ($version) = slurp('ngx_module/ngx_http_session_version.h')
    =~ /VERSION\s+"([^"]+)"/;

like($version, qr/^\d+\.\d+\.\d+$/, 'the module has a version');
ok(!-e "$debian/changelog", 'the changelog is made from it');
like(slurp('docs/changes.md'), qr/^## \Q$version\E$/m,
     'people are told what is new in it');
like(`bin/man-page docs/cli.md`, qr/^\.TH .*"ngx_session \Q$version\E"/m,
     'the man page has it');


# -------------------------------------------------------------- places ---


my %place = (
    store   => '/var/lib/nginx/session',
    keys    => '/etc/nginx/session.keys',
    kept    => '/var/lib/libnginx-mod-http-session',
    backups => '/var/backups/session',
);

for my $file ("$module.postinst", "$module.postrm", "$debian/backup") {
    my %set = slurp($file) =~ /^(store|keys|kept|backups)=(\S+)$/gm;

    cmp_ok(scalar keys %set, '>', 1, "$file names places");
    is($set{$_}, $place{$_}, "$file: $_") for sort keys %set;
}

for my $file ("$module.templates", 'docs/install.md') {
    my $text = slurp($file);

    like($text, qr/\Q$place{$_}\E/, "$file: $_") for qw(store keys backups);
}

my $help = qx('$build/sessionctl' -h);

like($help, qr/^\s*\Q$place{store}\E$/m, 'the store is where sessionctl looks');

my @etc = grep { m{\betc/} } split /\n/, slurp("$module.install");

is_deeply(\@etc, ['deploy/session_pages.conf etc/nginx'],
          'one configuration file: the pages');

for my $file (map { (split)[0] } grep { m{^(?:deploy|debian|docs)/} }
              map { split /\n/, slurp($_) } glob "$debian/*.install")
{
    ok(-e $file =~ s{^debian/}{$debian/}r, "$file is there");
}

my $question = qr{libnginx-mod-http-session/remove-data};

like(slurp($_), $question, "$_ knows the question")
    for "$module.templates", "$module.postrm", "$module.README.Debian",
        'docs/install.md';
like(slurp("$module.templates"), qr/^Default: false$/m, 'no is the answer');


# ------------------------------------------------------------- scripts ---


for my $file (@scripts) {
    my $shell = slurp($file) =~ m{\A#!/bin/sh} ? 'sh' : 'bash';

    is(system($shell, '-n', $file), 0, "$file: $shell can read it");
}

for my $file (grep { /(?:inst|rm)$/ } @scripts) {
    my $text = slurp($file);

    like($text, qr/^set -e$/m, "$file stops at an error");
    like($text, qr/^#DEBHELPER#$/m, "$file: what debhelper adds");
}

SKIP: {
    skip 'no shellcheck here', 1
        if system('command -v shellcheck > /dev/null') != 0;

    my $said = '';

    for my $file (@scripts) {
        my $shell = slurp($file) =~ m{\A#!/bin/sh} ? 'sh' : 'bash';

        $said .= qx(shellcheck -x -S warning -s $shell '$file');
    }

    is($said, '', 'shellcheck has nothing to say');
}


# ----------------------------------------------------------- completion ---


# What bash offers after the words.

sub completed {
    my @words = @_;

    open my $bash, '-|', 'bash', '-c', <<'END', @words or die "bash: $!\n";
PATH=$0:$PATH
. deploy/sessionctl.bash
COMP_WORDS=(sessionctl "$@")
COMP_CWORD=$#
_sessionctl
printf '%s\n' "${COMPREPLY[@]}"
END
    chomp(my @offered = <$bash>);

    return "@offered";
}

is(completed($build, 'se'), 'session', 'a command is completed');
is(completed($build, 'user', ''), 'add passwd roles name disable enable'
   . ' delete list show', 'so are those of a command');
is(completed($build, '--store', '/x', 'key', 'p'), 'promote',
   'an option in between is none');
like(completed($build, 'user', 'add', '--st'), qr/^--stdin --store$/,
     'and options');


# ------------------------------------------------------------- man page ---


my $man = "$dir/sessionctl.1";
my $page = `bin/man-page docs/cli.md`;

is($?, 0, 'the man page is made');

for my $command ($help =~ /^  ([a-z]+)  /gm) {
    like($page, qr/^\.SH "SESSIONCTL \U$command\E"$/m, "it has $command");
}

unlike($page, qr/\]\(|\*\*|^```|^\|/m, 'and no Markdown');

SKIP: {
    skip 'no groff here', 1 if system('command -v groff > /dev/null') != 0;

    open my $out, '>', $man or die "$man: $!\n";
    print $out $page;
    close $out or die;

    is(`groff -man -Tutf8 -ww -z '$man' 2>&1`, '',
       'groff has nothing to say about it');
}

done_testing();
