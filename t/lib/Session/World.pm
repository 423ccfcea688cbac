package Session::World;

# The world a test starts in: a store, keys, users and sessions, made by
# build/mint.  The first store of a process is made in full, the others are
# copies of it, so every test has a fresh one for a few milliseconds.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp ();

our $project = abs_path(dirname(__FILE__) . '/../../..');
our $build = abs_path($ENV{SESSION_BUILD} || "$project/build")
    // "$project/build";
our $module = "$build/ngx_http_session_module.so";
our $cookie = '__Host-session';
our $password = 'correct horse battery staple';

# LOGIN[@REALM][:ROLES[:NAME[:PASSWORD[:disabled]]]]

our @users = (
    'alice::Alice Adams',
    'bob:auditor:Bob Brown',
    'carol:admin,auditor:Carol Clark',
    'dave::Dave Davis::disabled',
    'alice@other:admin:Alice Other',
);

my ($template, $home, $made);


# A fresh store: a hash with store and keys, both paths.  As root, owner names
# the user the workers run as; then there is no copying, the tree is made new.

sub fresh {
    my (%arg) = @_;

    $home //= File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1,
                                 CLEANUP => !$ENV{TEST_NGINX_NO_CLEAN});
    chmod 0711, $home;

    my $dir = $arg{dir} // "$home/" . ++$made;
    my $world = { store => "$dir/store", keys => "$dir/keys" };

    -d $dir || mkdir $dir or die "$dir: $!\n";

    if (defined $arg{owner} || $arg{users}) {
        mint('world', $world->{store}, $world->{keys},
             defined $arg{owner} ? ('--owner', $arg{owner}) : (),
             @{ $arg{users} || \@users });

        return $world;
    }

    # Lock files are of the process that made them; LMDB makes new ones.
    if (!$template) {
        mkdir "$home/template";
        mint('world', "$home/template/store", "$home/template/keys", @users);
        unlink glob "$home/template/store/*-lock";
        $template = "$home/template";
    }

    system('cp', '-a', '--sparse=always', "$template/store", "$template/keys",
           $dir) == 0 or die "cannot copy the store to $dir\n";

    return $world;
}


# Runs mint; its words.

sub mint {
    my (@command) = @_;

    die "no $build/mint: run make mint\n" if !-x "$build/mint";

    open my $out, '-|', "$build/mint", @command or die "mint: $!\n";
    my $text = do { local $/; <$out> };
    close $out or die "mint @command: failed\n";

    return split ' ', $text // '';
}


# Broken invariants of a store that nobody changes any more, in words.

sub problems {
    my ($world) = @_;

    return if !-d $world->{store};

    my $text = `$build/mint check $world->{store} 2>&1`;

    return if $? == 0;
    return split /\n/, $text;
}


# A live session: { token, ref, csrf }.  Options are those of "mint session".

sub session {
    my ($world, $login, %arg) = @_;
    my $realm = delete $arg{realm} // 'default';
    my %session;

    @session{qw(token ref csrf)} =
        mint('session', $world->{store}, $world->{keys}, $realm, $login,
             map { ("--$_", $arg{$_}) } sort keys %arg);

    return \%session;
}


# A token that verifies, of a session that was never made.

sub unknown {
    my ($world, %arg) = @_;
    my $realm = delete $arg{realm} // 'default';
    my %session;

    @session{qw(token ref csrf)} =
        mint('sign', $world->{keys}, $realm,
             map { ("--$_", $arg{$_}) } sort keys %arg);

    return \%session;
}


# What a browser has before it signs in: cookie and CSRF token.

sub before {
    my ($world, $realm) = @_;

    return mint('pre', $world->{keys}, $realm // 'default');
}


1;
