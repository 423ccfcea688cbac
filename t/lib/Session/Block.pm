package Session::Block;

# What the suites of this module have in common, on Test::Nginx::Socket:
#
#     use Test::Nginx::Socket;
#     use Session::Block;
#
# Every block gets the module loaded, a fresh store and keys file of its own
# (session_store and session_keys stand in http unless the block has its own
# or says "--- bare"), the users of Session::World, and these variables, which
# are also expanded in requests, headers and log patterns:
#
#     $TEST_NGINX_MODULE    $TEST_NGINX_STORE  $TEST_NGINX_KEYS
#     $TEST_NGINX_PASSWORD  (of all users)     $TEST_NGINX_PROJECT
#     $TEST_NGINX_HTML_DIR  where user_files are
#     $TEST_NGINX_PRE       pre-session cookie $TEST_NGINX_PRE_CSRF
#
#     --- session: alice created=-3600 seen=-60 idle=300 realm=other
#
# makes a session (several lines, several sessions); the request carries the
# first one's cookie unless it names a token itself.  "unknown" instead of a
# login signs a token without a session.
#
#     $TEST_NGINX_TOKEN  $TEST_NGINX_REF  $TEST_NGINX_CSRF     first
#     $TEST_NGINX_TOKEN2 $TEST_NGINX_REF2 $TEST_NGINX_CSRF2    second ...
#
# "--- cookie_name: x" if the block's session_cookie has another name.
#
# After each block its store must be whole ("--- damaged" if that is what the
# block is about).

use strict;
use warnings;

use Session::Log ();
use Session::World ();
use Test::Nginx::Socket ();
use Test::Nginx::Util ();

my @text = qw(request more_headers raw_request pipelined_requests
              response_headers response_headers_like response_body_like
              response_body_unlike raw_response_headers_like
              raw_response_headers_unlike error_log no_error_log access_log
              no_access_log);
my $failures = 0;
my $world;

if ($Test::Nginx::Socket::StandIn) {
    Test::Nginx::Socket::known_sections(qw(session cookie_name bare damaged));
}

$ENV{TEST_NGINX_MODULE} = $Session::World::module;
$ENV{TEST_NGINX_PROJECT} = $Session::World::project;
$ENV{TEST_NGINX_HTML_DIR} //= Test::Nginx::Util::html_dir();
$ENV{TEST_NGINX_PASSWORD} = $Session::World::password;

# A module on the command line of upstream would load ours twice.
delete $ENV{TEST_NGINX_LOAD_MODULES};

Test::Nginx::Util::add_block_preprocessor(sub { prepare($_[0]) });
Test::Nginx::Util::add_test_cleanup_handler(
    $Test::Nginx::Socket::StandIn ? sub { check_store($_[0]) }
                                  : sub { look_back($_[0]) });


sub prepare {
    my ($block) = @_;

    Test::Nginx::Util::bail_out("no $Session::World::module: run make module")
        if !-f $Session::World::module;

    $world = Session::World::fresh();

    my @names = grep { /\ATEST_NGINX_(?:TOKEN|REF|CSRF|PRE)/ } keys %ENV;

    delete @ENV{@names};
    $ENV{TEST_NGINX_STORE} = $world->{store};
    $ENV{TEST_NGINX_KEYS} = $world->{keys};

    configure($block);
    sessions($block);

    for my $section (@text) {
        my $value = $block->$section;

        $block->set_value($section, expand($value)) if defined $value;
    }
}


sub configure {
    my ($block) = @_;
    my $main = $block->main_config // '';
    my $http = $block->http_config // '';

    $main = "load_module \$TEST_NGINX_MODULE;\n$main"
        if $main !~ /\bload_module\b/;

    if (!defined $block->bare) {
        $http = "session_keys \$TEST_NGINX_KEYS;\n$http"
            if $http !~ /^\s*session_keys\b/m;
        $http = "session_store \$TEST_NGINX_STORE;\n$http"
            if $http !~ /^\s*session_store\b/m;
    }

    # what nginx says of a configuration stands in its log too
    $block->set_value('suppress_stderr', 1)
        if !$Test::Nginx::Socket::StandIn;

    $block->set_value('main_config', $main);
    $block->set_value('http_config', $http);
}


sub sessions {
    my ($block) = @_;
    my $asked = join '', map { flat(scalar $block->$_) } @text;
    my $number = '';

    if ($asked =~ /\$TEST_NGINX_PRE/) {
        @ENV{qw(TEST_NGINX_PRE TEST_NGINX_PRE_CSRF)} =
            Session::World::before($world);
    }

    for my $line (split /\n/, $block->session // '') {
        my ($login, @options) = split ' ', $line or next;
        my %arg = map { /\A(\w+)=(.*)\z/
                        or Test::Nginx::Util::bail_out("bad option $_");
                        $1 => $2 } @options;

        my $session = $login eq 'unknown'
            ? Session::World::unknown($world, %arg)
            : Session::World::session($world, $login, %arg);

        $ENV{"TEST_NGINX_TOKEN$number"} = $session->{token};
        $ENV{"TEST_NGINX_REF$number"} = $session->{ref};
        $ENV{"TEST_NGINX_CSRF$number"} = $session->{csrf};
        $number = ($number || 1) + 1;
    }

    return if $number eq '' || $asked =~ /\$TEST_NGINX_TOKEN/;

    my $name = $block->cookie_name // $Session::World::cookie;
    my $cookie = "Cookie: $name=\$TEST_NGINX_TOKEN";
    my $more = $block->more_headers // '';

    $block->set_value('more_headers', ref $more
        ? [map { "$cookie\n$_" } @$more] : "$cookie\n$more");
}


# All text in a section, whose value may be a list of lists.

sub flat {
    my ($value) = @_;

    return '' if !defined $value;
    return join '', map { flat($_) } @$value if ref $value eq 'ARRAY';
    return flat($value->{value}) if ref $value eq 'HASH';
    return $value;
}


sub expand {
    my ($value) = @_;

    return [map { expand($_) } @$value] if ref $value eq 'ARRAY';
    return { %$value, value => expand($value->{value}) }
        if ref $value eq 'HASH';
    return $value if ref $value || !defined $value;

    $value =~ s/\$(TEST_NGINX_(?!RAND_PORT)[_A-Z0-9]+)/
               $ENV{$1} \/\/ Test::Nginx::Util::bail_out("no \$$1 here")/gex;

    return $value;
}


# nginx is gone by now, unless it reloads between blocks.

sub check_store {
    my ($block) = @_;

    return if $Test::Nginx::Util::UseHup || defined $block->damaged;

    Test::More::fail($block->name . " - in the store: $_")
        for Session::World::problems($world);
}


# The stand-in's free assertions, where upstream only warns.

sub look_back {
    my ($block) = @_;
    my $name = $block->name;
    my @excused = map { ref eq 'ARRAY' ? @$_ : ref ? $_ : split /\n+/ }
                  grep { defined }
                  map { scalar $block->$_ } qw(error_log grep_error_log);
    my $log = Test::Nginx::Util::server_root() . '/logs/error.log';

    push @excused, '[emerg]' if defined $block->must_die;

    Test::More::fail("$name - in error.log: $_")
        for Session::Log::alarming(Session::Log::slurp($log), \@excused);

    my $failed = grep { !$_ } Test::More->builder->summary;

    if ($failed > $failures) {
        $failures = $failed;
        Test::More::diag("--- end of error.log of $name\n",
                         Session::Log::tail($log), "\n---");
    }
}


1;
