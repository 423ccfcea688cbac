package Test::Nginx::Util;

# Settings, server root and nginx.conf for Test::Nginx::Socket; the names and
# what they mean are those of the CPAN module.  See Test/Nginx/Socket.pm.

use strict;
use warnings;

use Exporter qw(import);
use File::Path qw(make_path remove_tree);
use File::Temp ();
use Session::Nginx ();
use Session::Wire ();

# What suites may call; Socket.pm exports it again.

our @SETTINGS = qw(
    add_block_preprocessor add_cleanup_handler add_test_cleanup_handler
    bail_out check_accum_error_log config_preamble env_to_nginx html_dir
    log_level master_off master_on master_process_enabled no_long_string
    no_nginx_manager no_root_location no_shuffle repeat_each server_addr
    server_name server_port server_port_for_client server_root timeout use_hup
    worker_connections workers
);

our @EXPORT_OK = (@SETTINGS, qw(expand_env_in_text parse_time));

our (@BlockPreprocessors, @CleanupHandlers, @TestCleanupHandlers);
our (@EnvToNginx, $ConfigPreamble, $NoRootLocation, $RandPorts);
our $RepeatEach = 1;
our $NoShuffle = $ENV{TEST_NGINX_NO_SHUFFLE};
our $UseHup = $ENV{TEST_NGINX_USE_HUP};
our $UseValgrind = $ENV{TEST_NGINX_USE_VALGRIND};
our $CheckAccumErrLog = $ENV{TEST_NGINX_CHECK_ACCUM_ERR_LOG};
our $Timeout = $ENV{TEST_NGINX_TIMEOUT} || ($UseValgrind ? 60 : 15);
our $Workers = 1;
our $WorkerConnections = 64;
our $LogLevel = $ENV{TEST_NGINX_LOG_LEVEL} || 'debug';
our $Master = $ENV{TEST_NGINX_MASTER_PROCESS} || 'off';
our $ServerAddr = '127.0.0.1';
our $ServerName = 'localhost';
our $ServerPort = $ENV{TEST_NGINX_SERVER_PORT} || $ENV{TEST_NGINX_PORT}
    || Session::Wire::free_port();
our $ServerPortForClient = $ENV{TEST_NGINX_CLIENT_PORT} || $ServerPort;

our $Home = $ENV{TEST_NGINX_SERVROOT} ? undef
    : File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1,
                         CLEANUP => !$ENV{TEST_NGINX_NO_CLEAN});
our $ServRoot = $ENV{TEST_NGINX_SERVROOT} || "$Home/servroot";
our $ErrLogFile = "$ServRoot/logs/error.log";
our $AccLogFile = "$ServRoot/logs/access.log";
our $HtmlDir = "$ServRoot/html";
our $ConfFile = "$ServRoot/conf/nginx.conf";
our $PidFile = "$ServRoot/logs/nginx.pid";

chmod 0711, $Home if $Home;
$ENV{TEST_NGINX_SERVER_PORT} = $ServerPort;
$ENV{TEST_NGINX_SERVER_ROOT} = $ServRoot;
$ENV{TEST_NGINX_HTML_DIR} //= $HtmlDir;


sub add_block_preprocessor(&) { unshift @BlockPreprocessors, shift }
sub add_cleanup_handler($) { unshift @CleanupHandlers, shift }
sub add_test_cleanup_handler($) { unshift @TestCleanupHandlers, shift }
sub check_accum_error_log() { $CheckAccumErrLog = 1 }
sub config_preamble($) { $ConfigPreamble = shift }
sub env_to_nginx(@) { push @EnvToNginx, @_ }
sub html_dir() { $HtmlDir }
sub master_off() { $Master = 'off' }
sub master_on() { $Master = 'on' }
sub no_long_string() { }
sub no_nginx_manager() { bail_out('no_nginx_manager is not supported') }
sub no_root_location() { $NoRootLocation = 1 }
sub no_shuffle() { $NoShuffle = 1 }
sub server_root() { $ServRoot }
sub use_hup() { $UseHup = 1 }

sub log_level(@) { $LogLevel = shift if @_; $LogLevel }
sub repeat_each(@) { $RepeatEach = shift if @_; $RepeatEach }
sub server_addr(@) { $ServerAddr = shift if @_; $ServerAddr }
sub server_name(@) { $ServerName = shift if @_; $ServerName }
sub server_port(@) { $ServerPort = shift if @_; $ServerPort }
sub timeout(@) { $Timeout = shift if @_; $Timeout }
sub worker_connections(@) { $WorkerConnections = shift if @_;
                            $WorkerConnections }
sub workers(@) { $Workers = shift if @_; $Workers }

sub master_process_enabled(@) {
    $Master = shift() ? 'on' : 'off' if @_;
    $Master;
}


sub server_port_for_client(@) {
    $ServerPortForClient = shift if @_;
    $ServerPortForClient;
}


sub bail_out(@) {
    $_->() for @CleanupHandlers;
    Test::More::BAIL_OUT(join '', @_);
}


sub parse_time {
    my ($time) = @_;

    return if !defined $time;
    return $1 / 1000 if $time =~ /\A([\d.]+)ms\z/;
    return $1 if $time =~ /\A([\d.]+)s?\z/;

    bail_out("bad time \"$time\"");
}


# $TEST_NGINX_NAME comes from the environment, $TEST_NGINX_RAND_PORT_N is a
# free port that stays the same within a block.

sub expand_env_in_text {
    my ($text, $name) = @_;

    return if !defined $text;
    return $text if ref $text;

    $text =~ s{\$(TEST_NGINX_[_A-Z0-9]+)}{
        my $var = $1;

        $var =~ /\ATEST_NGINX_RAND_PORT_\d+\z/
        ? $RandPorts->{$var} //= Session::Wire::free_port()
        : $ENV{$var} // bail_out("$name - no environment $var");
    }eg;

    return $text;
}


# Empties the server root, as every block starts from nothing; logs and
# sockets stay when the same nginx serves on.

sub setup_server_root {
    my ($keep) = @_;

    remove_tree("$ServRoot/conf", glob("$ServRoot/*_temp"),
                $keep ? grep({ !-S } glob("$HtmlDir/*"))
                      : ($HtmlDir, "$ServRoot/logs"));
    make_path("$ServRoot/conf", $HtmlDir, "$ServRoot/logs");

    put("$HtmlDir/index.html", '<html><head><title>It works!</title></head>'
                               . '<body>It works!</body></html>');
}


sub put {
    my ($path, $text) = @_;

    make_path($1) if $path =~ m{(.*)/};

    open my $out, '>:raw', $path or bail_out("$path: $!");
    print $out $text;
    close $out or bail_out("$path: $!");
}


# ">>> name [touch date]" starts a file; relative names are under html.

sub write_user_files {
    my ($block) = @_;
    my $files = $block->user_files // return;
    my $name = $block->name;
    my @list;

    if (ref $files) {
        @list = @$files;

    } else {
        for (split /^/, $files) {
            if (/\A>>>\s+(\S+)(?:\s+(\S.*?))?\s*\z/) {
                push @list, [$1, '', $2];

            } elsif (@list) {
                $list[-1][1] .= $_;
            }
        }
    }

    for (@list) {
        my ($path, $body, $date) = @$_;

        $path = "$HtmlDir/$path" if $path !~ m{\A/};
        put($path, expand_env_in_text($body // '', $name));

        system({ 'touch' } 'touch', '-t', $date, $path) if $date;
    }
}


sub write_config_file {
    my ($block) = @_;
    my $name = $block->name;
    my ($main, $http, $config, $after) =
        map { expand_env_in_text(scalar $block->$_, $name) // '' }
            qw(main_config http_config config post_main_config);
    my $server_name = $block->server_name // $ServerName;
    my $level = $block->log_level // $LogLevel;
    my $master = $UseHup ? 'on' : $Master;
    my $env = join '', map { /\s/ ? "env '$_';\n" : "env $_;\n" }
                           @EnvToNginx, qw(LD_PRELOAD ASAN_OPTIONS
                           UBSAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS);
    my $user = $ENV{TEST_NGINX_WORKER_USER} || ($> == 0 ? 'root' : '');
    my $preload = $ENV{TEST_NGINX_LOAD_MODULES} || '';

    $main = join '', (map { "load_module $_;\n" } split ' ', $preload), $main;
    $user = "user $user;" if $user;
    $server_name =~ s/(['\\])/\\$1/g;
    chomp $level;

    my $temp = join '', map { $http =~ /\b${_}_temp_path\b/ ? ''
                              : "    ${_}_temp_path $ServRoot/${_}_temp;\n" }
                            qw(client_body proxy fastcgi scgi uwsgi);
    my $root = $NoRootLocation ? '' : <<"END";
        location / {
            root $HtmlDir;
            index index.html index.htm;
        }
END

    put($ConfFile, <<"END");
worker_processes $Workers;
daemon off;
master_process $master;
error_log $ErrLogFile $level;
pid $PidFile;
$env
$main

http {
    access_log $AccLogFile;
$temp
    default_type text/plain;
    keepalive_timeout 68s;

$http
    server {
        listen $ServerPort;
        server_name '$server_name';
        client_max_body_size 30M;

${\ ($ConfigPreamble // '') }
$config

$root
    }
}

$after

events {
    accept_mutex off;
    worker_connections $WorkerConnections;
}

$user
END
}


sub nginx {
    return Session::Nginx->new(prefix => $ServRoot, conf => $ConfFile,
        error_log => $ErrLogFile, pid_file => $PidFile,
        output => "$ServRoot/logs/output", valgrind => $UseValgrind);
}


1;
