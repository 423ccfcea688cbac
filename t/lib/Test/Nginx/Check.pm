package Test::Nginx::Check;

# What Test::Nginx::Socket sends for a block and how it judges the answer: one
# test for the status, one for each header, body and log pattern that the
# block names.

use strict;
use warnings;

use Session::Log qw(slurp);
use Session::Wire ();
use Test::Nginx::Util qw(bail_out expand_env_in_text);

our @BODY;

# How long a pattern of "--- error_log" may take to appear, for lines that are
# written behind the response.

our $LogPatience = $ENV{TEST_NGINX_LOG_PATIENCE}
    || ($ENV{TEST_NGINX_USE_VALGRIND} ? 60 : 15);


# Requests, each a list of pieces { value, delay_before } to be written one
# after the other.

sub requests {
    my ($block) = @_;
    my $name = $block->name;
    my $raw = $block->raw_request;

    return [map { { value => $_ } } ref $raw ? @$raw : $raw] if defined $raw;

    if (ref(my $list = $block->pipelined_requests)) {
        my $all = '';

        for my $i (0 .. $#$list) {
            my $text = expand_env_in_text($list->[$i], $name);

            $all .= build($block, $i, [$text], $i < $#$list ? 'keep-alive'
                                                            : 'close')->[0];
        }

        return [{ value => $all }];
    }

    my $request = $block->request // bail_out("$name - no request");
    my @list = ref $request ? @$request : ($request);
    my @built;

    for my $i (0 .. $#list) {
        my @pieces = ref $list[$i] ? @{ $list[$i] } : ($list[$i]);
        my $texts = build($block, $i, [map { ref $_ ? $_->{value} : $_ }
                                           @pieces], 'close');

        push @built, [map { { ref $pieces[$_] ? %{ $pieces[$_] } : (),
                              value => $texts->[$_] } } 0 .. $#pieces];
    }

    return @built;
}


# "METHOD [uri [version]]", then the body.  Host, Connection and Content-Length
# are added unless more_headers has them; a body whose length we count loses
# the white space around it.

sub build {
    my ($block, $index, $pieces, $connection) = @_;
    my $name = $block->name;
    my ($first, @more) = @$pieces;

    1 while $first =~ s/\A(?:\s*#[^\n]*\n|\s+)//;

    my ($line, $body) = $first =~ /\A([^\n]*)\n?(.*)\z/s;
    my ($method, $uri, $version) = split ' ', $line;

    bail_out("$name - no request line") if !defined $method;

    $uri //= '/';
    $version //= 'HTTP/1.1';

    my $headers = headers($block, $index);
    my $fields = join '', map { "$_\r\n" } @$headers;

    if ($fields !~ /^Transfer-Encoding:\s*chunked\r$/mi
        && $fields !~ /^Content-Length:/m)
    {
        if (@more) {
            $body =~ s/\A\s+//;
            $more[-1] =~ s/\s+\z//;

        } else {
            $body =~ s/\A\s+|\s+\z//g;
        }

        my $length = length join '', $body, @more;

        $fields .= "Content-Length: $length\r\n" if $length;
    }

    $fields = "Connection: $connection\r\n$fields"
        if $fields !~ /^Connection/mi;
    $fields = "Host: $Test::Nginx::Util::ServerName\r\n$fields"
        if $fields !~ /^Host:/mi;

    return ["$method $uri $version\r\n$fields\r\n$body", @more];
}


sub headers {
    my ($block, $index) = @_;
    my $more = $block->more_headers // '';

    $more = $more->[$index] // bail_out($block->name . ' - more_headers lacks '
                                        . "data for request $index")
        if ref $more;

    return [map { my ($key, $value) = split /:\s*/, $_, 2;
                  "$key: " . ($value // '') }
            grep { !/\A\s*#/ } split /\n+/, $more];
}


# One response against all the block says of it.

sub response {
    my ($block, $r, $index, $repeat, $array) = @_;
    my $name = $block->name;
    my $code = $r ? $r->code // '' : '';
    my $of = sub {
        my ($section) = @_;
        return indexed($name, scalar $block->$section, $index, $array);
    };

    if ($r && $r->error && length $r->raw) {
        Test::More->builder->no_ending(1) if !Test::More->builder->has_plan;
        Test::More::fail("$name - response: " . $r->error);
    }

    if (defined $block->error_code_like) {
        my $pattern = $of->('error_code_like');
        Test::More::like($code, qr/$pattern/sm, "$name - status code ok");

    } else {
        Test::More::is($code, defined $block->error_code
            ? $of->('error_code') : 200, "$name - status code ok");
    }

    my $raw = $r ? $r->raw : '';

    if (defined $block->raw_response_headers_like) {
        my $pattern = $of->('raw_response_headers_like');
        Test::More::like($raw, qr/$pattern/s, "$name - raw headers like");
    }

    if (defined $block->raw_response_headers_unlike) {
        my $pattern = $of->('raw_response_headers_unlike');
        Test::More::unlike($raw, qr/$pattern/s, "$name - raw headers unlike");
    }

    check_headers($name, $r, $raw, $of->('response_headers'), 0)
        if defined $block->response_headers;
    check_headers($name, $r, $raw, $of->('response_headers_like'), 1)
        if defined $block->response_headers_like
           && !defined $block->response_headers;

    check_body($block, $r ? $r->body : undef, $of);

    $_->($block, $r ? $r->body : undef, $index, $repeat, 0) for @BODY;
}


sub check_headers {
    my ($name, $r, $raw, $text, $like) = @_;
    my %seen;

    for (split /\n/, $text // '') {
        next if !/\S/;

        if (/\A\s*!\s*(\S+)\s*\z/) {
            Test::More::unlike($raw, qr/^\s*\Q$1\E\s*:/ms,
                               "$name - header $1 not present");
            next;
        }

        my ($key, $value) = /\A\s*([^:]+?)\s*:\s*(.*?)\s*\z/s
            or bail_out("$name - bad response_headers line \"$_\"");

        bail_out("$name - header $key is named twice") if $seen{$key}++;

        $value = ports($value);

        my $got = $r ? $r->header($key) // '' : '';

        if ($like) {
            Test::More::like($got, qr/^$value$/, "$name - header $key like");

        } else {
            Test::More::is($got, $value, "$name - header $key ok");
        }
    }
}


sub check_body {
    my ($block, $body, $of) = @_;
    my $name = $block->name;

    if (defined $block->response_body) {
        my $expected = $of->('response_body');

        if (ref $expected) {
            Test::More::like($body, $expected, "$name - response_body like");

        } else {
            $expected = expand_env_in_text(ports($expected), $name);
            Test::More::is($body, $expected, "$name - response_body ok");
        }

        return;
    }

    if (defined $block->response_body_like) {
        my $pattern = ports($of->('response_body_like'));
        Test::More::like($body, qr/$pattern/s, "$name - response_body_like");
        return;
    }

    if (defined $block->response_body_unlike) {
        my $pattern = ports($of->('response_body_unlike'));
        Test::More::unlike($body, qr/$pattern/s,
                           "$name - response_body_unlike");
    }
}


sub ports {
    my ($text) = @_;

    return $text if !defined $text || ref $text;

    $text =~ s/\$ServerPort\b/$Test::Nginx::Util::ServerPort/g;
    $text =~ s/\$ServerPortForClient\b
              /$Test::Nginx::Util::ServerPortForClient/gx;

    return $text;
}


# With several requests every expectation is a list of as many.

sub indexed {
    my ($name, $value, $index, $array) = @_;

    return $value->[$array ? $index : 0] if ref $value eq 'ARRAY';
    bail_out("$name - several requests need a list of expectations") if $array;

    return $value;
}


sub list {
    my ($patterns) = @_;

    return grep { defined } @$patterns if ref $patterns eq 'ARRAY';
    return $patterns if ref $patterns;
    return grep { length } split /\n+/, $patterns;
}


sub matches {
    my ($pattern, $line) = @_;

    return ref $pattern ? $line =~ $pattern : index($line, $pattern) >= 0;
}


sub error_log {
    my ($block, $text, $repeat) = @_;
    my $name = $block->name;
    my @wanted = list($block->error_log // []);
    my $have = sub {
        my ($pattern) = @_;
        return grep { matches($pattern, $_) } split /^/, $text->();
    };

    for my $pattern (@wanted) {
        Test::More::ok(Session::Wire::wait_until(sub { $have->($pattern) },
                                                 $LogPatience),
                       "$name - pattern \"$pattern\" is in error.log");
    }

    grep_error_log($block, $text, $repeat)
        if defined $block->grep_error_log
           || defined $block->grep_error_log_out;

    for my $pattern (list($block->no_error_log // [])) {
        my ($line) = $have->($pattern);

        Test::More::is($line, undef,
                       "$name - pattern \"$pattern\" is not in error.log");
    }
}


sub grep_error_log {
    my ($block, $text, $repeat) = @_;
    my $name = $block->name;
    my $pattern = $block->grep_error_log
        // bail_out("$name - grep_error_log_out without grep_error_log");
    my $expected = $block->grep_error_log_out
        // bail_out("$name - grep_error_log without grep_error_log_out");

    $pattern = $pattern->[$repeat] if ref $pattern eq 'ARRAY';
    $expected = $expected->[$repeat] if ref $expected eq 'ARRAY';
    $expected = expand_env_in_text($expected, $name);

    return if !defined $pattern;

    my $regex = ref $pattern ? $pattern : qr/\Q$pattern\E/;
    my $found = sub {
        return join '', map { "$_\n" } map { /($regex)/ ? $1 =~ s/\n\z//r : () }
                                       split /^/, $text->();
    };

    Session::Wire::wait_until(
        sub { ref $expected ? $found->() =~ $expected
                            : $found->() eq $expected }, $LogPatience);

    my $test = ref $expected ? \&Test::More::like : \&Test::More::is;

    $test->($found->(), $expected, "$name - grep_error_log_out (req $repeat)");
}


sub access_log {
    my ($block) = @_;
    my $name = $block->name;
    my $have = sub {
        my ($pattern) = @_;
        return grep { matches($pattern, $_) }
               split /^/, slurp($Test::Nginx::Util::AccLogFile);
    };

    for my $pattern (list($block->access_log // [])) {
        Test::More::ok(Session::Wire::wait_until(sub { $have->($pattern) },
                                                 $LogPatience),
                       "$name - pattern \"$pattern\" is in access.log");
    }

    for my $pattern (list($block->no_access_log // [])) {
        my ($line) = $have->($pattern);

        Test::More::is($line, undef,
                       "$name - pattern \"$pattern\" is not in access.log");
    }
}


1;
