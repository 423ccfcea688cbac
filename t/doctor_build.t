# bin/doctor-build tells whether the module fits an nginx: with the nginx that
# is installed here, and with scripts that answer -V and -t as others would.

use strict;
use warnings;

use lib 't/lib';
use File::Temp ();
use Session::Log qw(slurp);
use Session::World ();
use Test::More;

my $project = $Session::World::project;
my $module = $Session::World::module;
my $dir = File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1,
                             CLEANUP => 1);
my $signature = `grep -aoE '[48],[48],[48],[01]{34}' $module | head -n 1`;

chomp $signature;
chdir $project or die "$project: $!\n";
mkdir "$dir/tmp";
delete @ENV{qw(NGINX NGINX_SRC)};
$ENV{SESSION_BUILD} = $Session::World::build;
$ENV{TMPDIR} = "$dir/tmp";
$ENV{PATH} .= ':/usr/sbin:/sbin';

my ($version) = `nginx -v 2>&1` =~ m{nginx/([\d.]+)} or die 'no nginx';


# Exit code and words.

sub doctor {
    my $pid = open my $out, '-|';

    if (!$pid) {
        open STDERR, '>&', \*STDOUT;
        exec 'bin/doctor-build', @_ or die;
    }

    my $said = do { local $/; <$out> };

    close $out;

    return ($? >> 8, $said);
}


# Lines made to be copied.

sub commands { return $_[0] =~ /^    (.*)$/mg }


sub spew {
    my ($file, $text) = @_;

    open my $out, '>', $file or die "$file: $!\n";
    print $out $text;
    close $out;

    return $file;
}


# An nginx of that version, configured like that, which has the signature, and
# which answers nginx -t with the code and the words.

sub nginx {
    my (%arg) = @_;
    my $name = $arg{name} // "nginx/$arg{version}";
    my $file = spew("$dir/nginx", <<"END");
#!/bin/sh
# @{[ $arg{signature} // $signature ]}
case \$1 in -V) cat >&2 << 'SAID'
nginx version: $name
built by gcc 12.2.0 (Debian 12.2.0-14)
built with @{[ $arg{openssl} // 'OpenSSL 3.0.17 1 Jul 2025' ]}
TLS SNI support enabled
configure arguments: $arg{configure}
SAID
exit ;;
esac
echo "\$@" > $dir/loaded
while [ \$# -gt 0 ]; do
    if [ "\$1" = -c ]; then cat "\$2" >> $dir/loaded; fi
    shift
done
echo "@{[ $arg{says} // '' ]}" >&2
exit @{[ $arg{code} // 0 ]}
END

    chmod 0755, $file;

    return $file;
}


my $org = "--prefix=/etc/nginx --modules-path=/usr/lib/nginx/modules"
          . " --conf-path=/etc/nginx/nginx.conf --user=nginx --with-compat"
          . " --with-threads --with-cc-opt='-g -O2 -fPIC'";


# ---------------------------------------------------------- the one here ---


{
    my ($code, $said) = doctor('--nginx', 'nginx');

    is($code, 0, 'the module fits the nginx it was built for')
        or diag($said);
    like($said, qr/^The module fits: nginx \Q$version\E has loaded it\.$/m,
         'and says so');
    like($said, qr/^module:   \Q$module\E, for nginx \Q$version\E$/m,
         'reads what version the module is for');
    is_deeply([commands($said)], [], 'no commands then');
}

{
    my $file = spew("$dir/none.so", "nothing\n");
    my ($code, $said) = doctor('--nginx=nginx', "--module=$file");

    is($code, 1, 'a file that is no module');
    like($said, qr/^- "\Q$file\E" is no module of nginx$/m, 'is called so');
}

{
    my $other = $signature =~ s/1$/0/r;
    my $file = spew("$dir/other.so", "$other\n");
    my ($code, $said) = doctor('--nginx=nginx', "--module=$file");

    is($code, 1, 'a module of another signature');
    like($said, qr/^- --with-compat: nginx has it, the module does not$/m,
         'the difference by its name');
    like($said, qr/^    make module sessionctl NGINX=\S+ NGINX_SRC=\S+$/m,
         'a command to build it');
}


# ---------------------------------------------------------------- others ---


{
    my $nginx = nginx(version => '1.99.3', configure => $org);
    my ($code, $said) = doctor('--nginx', $nginx, '--module', $module);

    is($code, 1, 'another version does not fit');
    like($said, qr/^- version:.* is 1\.99\.3, .* built for \Q$version\E$/m,
         'both versions');
    is_deeply([grep { !/^(?:#|apt-get)/ } commands($said)],
              ['mkdir -p build', 'tar -xzf nginx-1.99.3.tar.gz -C build',
               "make module sessionctl NGINX=$nginx "
               . 'NGINX_SRC=build/nginx-1.99.3',
               "make install NGINX=$nginx"], 'from sources to installed');
    like($said, qr{^modules:  /usr/lib/nginx/modules$}m, "nginx's folder");
    unlike($said, qr/without --with-compat/, 'nothing about --with-compat');
}

{
    my $src = "$dir/src";

    mkdir for $src, "$src/src", "$src/src/core";
    chmod 0755, spew("$src/configure", "#!/bin/sh\n");
    spew("$src/src/core/nginx.h", qq{#define NGINX_VERSION      "1.99.3"\n});

    local $ENV{NGINX_SRC} = $src;
    my @given = ('--nginx', nginx(version => '1.99.3', configure => $org));
    my (undef, $said) = doctor(@given);

    like($said, qr/^    make module \S+ NGINX=\S+ NGINX_SRC=\Q$src\E$/m,
         'sources of that version are taken');
    unlike($said, qr/nginx\.org/, 'and not fetched');

    spew("$src/src/core/nginx.h", qq{#define NGINX_VERSION      "1.99.2"\n});
    (undef, $said) = doctor(@given);
    like($said, qr{NGINX_SRC=build/nginx-1\.99\.3$}m, 'others are not');
}

for (['file aio' => 3, '--with-file-aio'], ['threads' => 22, '--with-threads'],
     ['PCRE' => 23, 'PCRE \(off: --without-pcre\)'],
     ['TLS' => 24, '--with-http_ssl_module'],
     ['realip' => 29, '--with-http_realip_module'],
     ['WebDAV' => 31, '--with-http_dav_module'])
{
    my ($what, $digit, $name) = @$_;
    my $other = $signature;

    substr($other, 5 + $digit, 1) =~ tr/01/10/;

    my ($code, $said) = doctor('--nginx', nginx(
        version => $version, configure => '--prefix=/opt/n --with-threads',
        signature => $other));

    is($code, 1, "$what: does not fit");
    like($said, qr/^- $name: nginx/m, "$what: by its name");
    like($said, qr/built without --with-compat, so/,
         "$what: what that means without --with-compat");
}

{
    my ($code, $said) = doctor('--nginx', nginx(
        version => $version, configure => $org,
        signature => $signature =~ s/^8,4,8/4,4,4/r));

    is($code, 1, 'sizes of types');
    like($said, qr/another\s+kind\s+of\s+processor/, 'in words');
}

for (['threads' => ($org =~ s/ --with-threads//r), qr/without threads/],
     ['HTTP' => "$org --without-http", qr/without HTTP/],
     ['an old OpenSSL in it' => "$org --with-openssl=/src/openssl",
      qr/OpenSSL 1\.1\.1w .* built in/, openssl => 'OpenSSL 1.1.1w 11 Sep'],
     ['another name' => $org, qr/this is openresty: only nginx/,
      name => "openresty/$version.1"])
{
    my ($what, $configure, $words, %arg) = @$_;
    my ($code, $said) = doctor('--nginx', nginx(
        version => $version, configure => $configure, %arg));

    is($code, 1, "$what: cannot work");
    like($said, $words, "$what: in words");
    is_deeply([commands($said)], [], "$what: no command");
}

{
    my ($code, $said) = doctor('--nginx', nginx(
        version => $version, code => 1,
        configure => "$org --with-openssl=/src/openssl",
        says => 'nginx: [emerg] 12#12: dlopen() \"/x.so\" failed (/x.so:'
                . ' undefined symbol: ngx_thing) in /c:1'));

    is($code, 1, 'what nginx -t refuses does not fit');
    like($said, qr/^- nginx -t says: dlopen\(\) "\/x\.so" failed/m,
         'in the words of nginx');
    like($said, qr/^    make module /m, 'and a command');
}


# ------------------------------------------------------------ no traces ---


{
    my ($code) = doctor('--nginx', nginx(version => $version,
                                         configure => $org));
    my $loaded = slurp("$dir/loaded");

    is($code, 0, 'what nginx -t takes fits');
    like($loaded, qr{^-t -e stderr -p \Q$dir\E/tmp/\S+ -c \Q$dir\E/tmp/},
         'nginx -t in a temporary folder');
    is_deeply([sort $loaded =~ /^(\w+)\b(?! -)/mg],
              [sort qw(events load_module lock_file pid), $> ? () : 'user'],
              'with nothing but the module');
    is_deeply([glob "$dir/tmp/*"], [], 'which is gone afterwards');
}


# ---------------------------------------------------------------- usage ---


for ([2, 'an argument too much', 'x'], [2, 'an option without its value',
     '--nginx'], [2, 'no such module', '--module', "$dir/no.so"],
     [3, 'no such nginx', '--nginx', "$dir/no"],
     [3, 'no nginx at all', '--nginx', '/bin/true'], [0, 'help', '--help'])
{
    my ($expected, $what, @given) = @$_;
    my ($code, $said) = doctor(@given);

    is($code, $expected, "$what: exit code $expected");
    isnt($said, '', "$what: in words");
}

done_testing();
