# Where a store may be: what init, check, nginx -t and workers say to a file
# system of a network, to one that may be one, and to one that does not last.

use strict;
use warnings;

use lib 't/lib';
use Session::Cli qw(sessionctl in_dir);
use Session::Flow;
use Session::Log qw(slurp);
use Session::SignIn;
use Test::More;

my $t = Session::Flow->new(users => ['ann']);
my $fake = compiled($t, 'fake_fs');

my %network = (nfs => '6969', smb => '517b', cifs => 'ff534d42',
    smb2 => 'fe534d42', afs => '5346414f', kafs => '6b414653',
    ceph => 'c36400', coda => '73757245', ncp => '564c', lustre => 'bd00bd0',
    beegfs => '19830326');
my %remarked = (
    fuse => ['65735546', qr/on fuse, which does not tell what is behind it/],
    '9p' => ['1021997', qr/in a folder of a host/],
    vboxsf => ['786f4256', qr/in a folder of a host/],
    vmhgfs => ['bacbacbc', qr/in a folder of a host/],
    prl_fs => ['7c7c6673', qr/in a folder of a host/],
    overlay => ['794c7630', qr/of a container, and goes with it/],
    aufs => ['61756673', qr/of a container, and goes with it/],
    tmpfs => ['1021994', qr/in memory: users and sessions are gone/],
    ramfs => ['858458f6', qr/in memory: users and sessions are gone/],
);
my %silent = (ext4 => 'ef53', xfs => '58465342', btrfs => '9123683e',
              zfs => '2fc12fc1', f2fs => 'f2f52010');

my $refused = qr/on a network file system \(\w+\); a store needs a local one/;

sub on { +{ env => { LD_PRELOAD => $fake, FAKE_FS => $_[0] } } }


# --------------------------------------------------------------- refused ---

for my $name (sort keys %network) {
    my $on = on($network{$name});
    my $store = in_dir('store');
    my $run = sessionctl('init', $store, $on);

    is $run->{code}, 4, "init on $name is refused";
    like $run->{err}, $refused, 'in these words';
    is_deeply [glob "$store/*"], [], 'nothing was made';

    $run = sessionctl('check', '--store', $t->store, $on);
    is $run->{code}, 4, "a store on $name is not opened";
    like $run->{err}, $refused, 'in these words';
}


# -------------------------------------------------------------- remarked ---

for my $name (sort keys %remarked) {
    my ($type, $words) = @{ $remarked{$name} };
    my $store = in_dir('store');
    my $run = sessionctl('init', $store, on($type));

    is $run->{code}, 0, "init on $name works";
    like $run->{err}, $words, 'with a remark';
    is $run->{out}, qq(store "$store" made\n), 'and nothing else is different';

    $run = sessionctl('check', '--store', $store, on($type));
    is $run->{code}, 0, 'check works';
    like $run->{err}, $words, 'with the same';

    unlike sessionctl('stat', '--store', $store, on($type))->{err}, $words,
        'others keep quiet';
}

for my $name (sort keys %silent) {
    my $store = in_dir('store');
    my $run = sessionctl('init', $store, on($silent{$name}));

    is $run->{code}, 0, "init on $name";
    unlike $run->{err}, qr/file system|memory/, 'nothing to be said';
    is sessionctl('check', '--store', $store, on($silent{$name}))->{err}, '',
        'nor by check';
}


# ----------------------------------------------------------------- nginx ---

$t->write_file('html/private', "secret\n");
$t->write_file('html/public', "public\n");
$t->write_file_expand('nginx.conf', configuration());

sub tested {
    my ($type) = @_;

    local $ENV{LD_PRELOAD} = join ':', grep { defined && length }
        $ENV{TEST_NGINX_LD_PRELOAD}, $fake;
    local $ENV{FAKE_FS} = $type;
    local $ENV{PATH} = "$ENV{PATH}:/usr/sbin:/sbin";

    my @command = ($t->nginx->command, '-t');
    my $text = `@command 2>&1`;

    return ($? >> 8, $text);
}

my ($code, $text) = tested($network{nfs});

is $code, 0, 'nginx -t takes it';
like $text, qr/\[warn\].*$refused/, 'with a warning';

($code, $text) = tested($silent{ext4});
unlike $text, $refused, 'elsewhere there is none';

{
    local $ENV{TEST_NGINX_LD_PRELOAD} = join ':',
        grep { defined && length } $ENV{TEST_NGINX_LD_PRELOAD}, $fake;
    local $ENV{FAKE_FS} = $network{nfs};
    my $ann = $t->session('ann');

    $t->allow($refused);
    $t->run;
    ok $t->wait_log(qr/\[crit\].*$refused/), 'a worker does not open it';
    is $t->client->get('/up')->code, 503, 'is down';
    is $t->client->get('/private', Cookie =>
        "$Session::World::cookie=$ann->{token}")->code, 503, 'lets nobody in';
    is $t->client->get('/public')->code, 200, 'public ones work';
    $t->stop;
}


# ------------------------------------------------------------- real ones ---

# In a mount namespace of its own: a command that fails ends it.

sub mounted {
    my ($script) = @_;
    my $dir = in_dir('');

    return `unshare -m sh -ec 'cd $dir; $script' 2>&1`;
}

SKIP: {
    skip 'mounts need root', 3
        if $> != 0 || mounted('mkdir m; mount -t tmpfs none m; echo yes')
                      ne "yes\n";

    my $ctl = $Session::Cli::binary;

    like mounted("mkdir m; mount -t tmpfs none m; $ctl init m/store"),
        qr/"m\/store": in memory.*store "m\/store" made\n\z/s, 'a real tmpfs';

    my $out = mounted(<<"END");
mkdir m; mount -t tmpfs none m; cd m; mkdir lower upper work all
$ctl init lower/store
mount -t overlay none -o lowerdir=lower,upperdir=upper,workdir=work all
$ctl check --store all/store
echo secret-secret-secret | $ctl user add ann --store all/store --stdin
$ctl check --store all/store
END

    like $out, qr/"all\/store": on the file system of a container/,
        'a real overlay';
    like $out, qr/0 problems in store "all\/store"\n\z/, 'works';
}

$t->done;
