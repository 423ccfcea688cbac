package Test::Nginx::Socket;

# A stand-in for the CPAN module of this name, for machines that have only
# what the distribution packages: a strict subset of its sections and
# functions with the same meaning, so that every suite runs unchanged under
# the real one.  What it does beyond: a section it does not know is an error
# and not ignored, every block is free of alerts, sanitizer reports and
# processes left behind, and the seed of the shuffle can be given again
# (TEST_NGINX_SEED).

use Test::Base -base;

use strict;
use warnings;

use List::Util qw(first shuffle);
use Session::Log ();
use Session::Wire ();
use Test::Nginx::Check ();
use Test::Nginx::Util qw(expand_env_in_text parse_time),
    @Test::Nginx::Util::SETTINGS;
use Time::HiRes qw(sleep time);

our @EXPORT = (@Test::Nginx::Util::SETTINGS, qw(run_tests blocks plan is_str
               add_response_body_check expand_env_in_text));

our $StandIn = 1;

our $VERSION = '0.30';

my %known = map { $_ => 1 } qw(
    abort access_log config error_code error_code_like error_log
    grep_error_log grep_error_log_out http_config ignore_response init
    log_level main_config more_headers must_die no_access_log no_error_log
    pipelined_requests post_main_config raw_request raw_request_middle_delay
    raw_response_headers_like raw_response_headers_unlike request
    response_body response_body_like response_body_unlike response_headers
    response_headers_like server_name shutdown skip_eval skip_nginx
    suppress_stderr timeout user_files wait ONLY SKIP LAST
);

my ($nginx, $log_from, $test_from, @excused, $failures);


# For modules that add sections by a block preprocessor.

sub known_sections { $known{$_} = 1 for @_ }


sub is_str(@) {
    my ($got, $expected, $name) = @_;

    return ref $expected ? Test::More::like($got, $expected, $name)
                         : Test::More::is($got, $expected, $name);
}


sub add_response_body_check($) { push @Test::Nginx::Check::BODY, shift }


sub run_tests() {
    my $seed = $ENV{TEST_NGINX_SEED} // (time * 1000 ^ $$) % 2 ** 31;
    my @blocks = blocks();

    if (!$Test::Nginx::Util::NoShuffle) {
        srand $seed;
        @blocks = shuffle @blocks;
        Test::More::note("shuffled with TEST_NGINX_SEED=$seed");
        srand;
    }

    for my $block (@blocks) {
        $_->($block) for @Test::Nginx::Util::BlockPreprocessors;

        next if defined $block->SKIP;

        $block->set_value('name', "$0 " . $block->name);
        run_block($block);
        $_->($block) for @Test::Nginx::Util::TestCleanupHandlers;
    }

    end_nginx('the last block');
    $_->() for @Test::Nginx::Util::CleanupHandlers;
    @Test::Nginx::Util::CleanupHandlers = ();

    if (!Test::More->builder->is_passing) {
        Test::More::diag("to repeat this order: TEST_NGINX_SEED=$seed");
    }
}


sub run_block {
    my ($block) = @_;
    my $name = $block->name;
    my @unknown = grep { !$known{$_} } @{ $block->_section_order };

    return wrong("$name - unknown section \"$unknown[0]\"") if @unknown;
    return wrong("$name - no config section") if !defined $block->config;

    # upstream looks at the first of these only, and says nothing
    for (qw(response_headers:response_headers_like
            response_body:response_body_like response_body:response_body_unlike
            response_body_like:response_body_unlike
            error_code_like:error_code raw_request:request))
    {
        my ($first, $second) = split /:/;

        return wrong("$name - $first and $second do not go together")
            if defined $block->$first && defined $block->$second;
    }

    my ($skip, $why) = skipped($block);

    if ($skip) {
      SKIP: { Test::More::skip("$name - $why", $skip) }
        return;
    }

    $Test::Nginx::Util::RandPorts = {};
    $failures = failures();

    if (defined $block->must_die) {
        end_nginx($name);
        run_doomed($block);
        return;
    }

    my $up = serve($block);

    @excused = patterns($block);

    if ($up) {
        if (defined $block->init) {
            eval $block->init;
            wrong("$name - init: $@") if $@;
        }

        for my $repeat (0 .. $Test::Nginx::Util::RepeatEach - 1) {
            Test::Nginx::Util::write_user_files($block) if $repeat;
            run_requests($block, $repeat);
        }
    }

    end_nginx($name) if !$Test::Nginx::Util::UseHup || !$up;
    look_for_trouble($name);
}


# nginx with the configuration of this block: a new one, or under
# TEST_NGINX_USE_HUP the one of the previous block reloaded.

sub serve {
    my ($block) = @_;
    my $name = $block->name;
    my $reload = $Test::Nginx::Util::UseHup && $nginx && $nginx->running;

    end_nginx($name) if !$reload;

    Test::Nginx::Util::setup_server_root($reload);
    Test::Nginx::Util::write_user_files($block);
    Test::Nginx::Util::write_config_file($block);

    $log_from = $reload ? log_size() : 0;
    $test_from = $log_from;
    $nginx ||= Test::Nginx::Util::nginx();

    my $trouble = $reload ? $nginx->reload : $nginx->start;

    return 1 if !$trouble;

    wrong("$name - $trouble");

    return;
}


sub end_nginx {
    my ($name) = @_;

    return if !$nginx;

    wrong("$name - $_")
        for $nginx->stop($ENV{TEST_NGINX_FAST_SHUTDOWN} ? 'TERM' : 'QUIT');
    undef $nginx;
}


sub run_doomed {
    my ($block) = @_;
    my $name = $block->name;
    my $code = $block->must_die;

    for my $repeat (0 .. $Test::Nginx::Util::RepeatEach - 1) {
        Test::Nginx::Util::setup_server_root(0);
        Test::Nginx::Util::write_user_files($block);
        Test::Nginx::Util::write_config_file($block);

        $log_from = $test_from = 0;
        @excused = (patterns($block), '[emerg]');

        my $got = Test::Nginx::Util::nginx()->start_and_die;

        if ($code =~ /\A\s*(\d+)\s*\z/) {
            Test::More::is($got, $1, "$name - die with the exit code");

        } else {
            Test::More::ok($got > 0 && $got < 128, "$name - die as expected");
        }

        Test::Nginx::Check::error_log($block, \&log_text, $repeat);
        look_for_trouble($name);
    }
}


sub run_requests {
    my ($block, $repeat) = @_;
    my @requests = Test::Nginx::Check::requests($block);
    my $many = ref $block->pipelined_requests ? @{ $block->pipelined_requests }
                                              : 0;
    my $array = $many || @requests > 1;
    my $index = 0;

    $test_from = log_size() if $repeat && !$Test::Nginx::Util::CheckAccumErrLog;

    for my $request (@requests) {
        my ($bytes, $head) = exchange($block, $request);

        for (1 .. $many || 1) {
            my ($response, $rest) =
                Session::Wire::parse($bytes, head => $head, eof => 1);

            Test::Nginx::Check::response($block, $response, $index, $repeat,
                                         $array)
                if !defined $block->ignore_response;

            if (!$many && $response && ($response->code // 0) != 101
                && !defined $block->ignore_response && length($rest // ''))
            {
                Test::More::diag($block->name . ' - bytes after the response: '
                                 . substr $rest, 0, 80);
            }

            $bytes = $rest // '';

            sleep $block->wait if $block->wait;

            Test::Nginx::Check::error_log($block, \&log_text, $repeat);
            Test::Nginx::Check::access_log($block)
                if !defined $block->ignore_response;

            $index++;
            $test_from = log_size()
                if $index < ($many || @requests)
                   && !$Test::Nginx::Util::CheckAccumErrLog;
        }
    }
}


# Sends the pieces of one request and reads until the server closes.

sub exchange {
    my ($block, $request) = @_;
    my $name = $block->name;
    my $wait = parse_time($block->timeout) // $Test::Nginx::Util::Timeout;
    my $head = $request->[0]{value} =~ /\A\s*HEAD\s/;

    my $in = '';
    my $sock = Session::Wire::dial($Test::Nginx::Util::ServerAddr,
                                   $Test::Nginx::Util::ServerPortForClient);

    if (!$sock) {
        wrong("$name - cannot connect: $!");
        return '', $head;
    }

    for my $i (0 .. $#$request) {
        my $piece = $request->[$i];
        my $delay = $piece->{delay_before}
                    // ($i ? $block->raw_request_middle_delay : 0);

        sleep $delay if $delay;
        last if !Session::Wire::write_all($sock, $piece->{value}, \$in, $wait);
    }

    shutdown $sock, $block->shutdown =~ /(\d+)/ ? $1 : 1
        if defined $block->shutdown;

    for (;;) {
        my $n = Session::Wire::read_some($sock, \$in, $wait);

        next if $n && $n > 0;

        wrong("$name - client socket timed out")
            if !defined $n && !defined $block->abort;
        Test::More::diag("$name - connection reset") if defined $n && $n < 0;
        last;
    }

    close $sock;

    return $in, $head;
}


# "N: condition" or "N: < 1.2.3", N the number of tests to skip.

sub skipped {
    my ($block) = @_;
    my $name = $block->name;

    if (defined(my $spec = $block->skip_eval)) {
        my ($count, $code) = $spec =~ /\A\s*(\d+)\s*:\s*(.*)/s
            or bail_out("$name - bad skip_eval");
        my $skip = eval $code;

        bail_out("$name - skip_eval: $@") if $@;
        return $count, 'skip_eval' if $skip;
    }

    if (defined(my $spec = $block->skip_nginx)) {
        my ($count, $op, $version, $why) =
            $spec =~ /\A\s*(\d+)\s*:\s*([<>]=?)\s*([\d.]+)\s*(?::\s*(.*))?\z/s
            or bail_out("$name - bad skip_nginx");
        my $binary = $ENV{TEST_NGINX_BINARY} || 'nginx';
        my ($got) = `$binary -v 2>&1` =~ m{/([\d.]+)};
        my $order = version->parse("v$got") <=> version->parse("v$version");
        my $skip = $op eq '<' ? $order < 0 : $op eq '>' ? $order > 0
                 : $op eq '<=' ? $order <= 0 : $order >= 0;

        return $count, $why || "nginx $op $version" if $skip;
    }

    return;
}


sub patterns {
    my ($block) = @_;

    return map { Test::Nginx::Check::list($_) }
           grep { defined }
           map { scalar $block->$_ } qw(error_log grep_error_log);
}


sub log_size { -s $Test::Nginx::Util::ErrLogFile // 0 }


sub log_text {
    return Session::Log::slurp($Test::Nginx::Util::ErrLogFile, $test_from);
}


# The free assertions: they cost no test of the plan unless they fail.

sub look_for_trouble {
    my ($name) = @_;
    my $text = Session::Log::slurp($Test::Nginx::Util::ErrLogFile, $log_from);

    wrong("$name - in error.log: $_") for Session::Log::alarming($text,
                                                                 \@excused);
    $log_from = log_size();

    if (failures() > ($failures // 0)) {
        $failures = failures();
        Test::More::diag("--- end of error.log of $name\n",
            Session::Log::tail($Test::Nginx::Util::ErrLogFile), "\n---");
    }
}


sub failures {
    return scalar grep { !$_ } Test::More->builder->summary;
}


sub wrong {
    my ($what) = @_;

    Test::More->builder->no_ending(1) if !Test::More->builder->has_plan;
    Test::More::fail($what);
}


END {
    local $?;

    end_nginx('the end') if $nginx;
    $_->() for @Test::Nginx::Util::CleanupHandlers;
}


1;
