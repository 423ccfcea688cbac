# What documents point at is there: files and headings, tests, commands of
# sessionctl; and every nginx block of theirs is a configuration that nginx
# takes.  The blocks of the guides are not looked at here: t/guides.t runs them.

use strict;
use warnings;

use lib 't/lib';
use File::Basename qw(dirname);
use File::Path qw(make_path);
use Session::Flow ();
use Session::Log qw(slurp);
use Session::World ();
use Test::More;

my $project = $Session::World::project;
my $sessionctl = "$Session::World::build/sessionctl";

chdir $project or die "$project: $!\n";

my @docs = grep { -f } 'README.md', sort glob 'docs/*.md';
my %text = map { $_ => slurp($_) } @docs;

cmp_ok(scalar @docs, '>', 10, 'there are documents');


# --------------------------------------------------------------- links ---


# Text without fenced blocks, which show other things.

sub prose {
    my ($text) = @_;

    return $text =~ s/^(```+)\w*\n.*?^\1$//gmsr;
}


# Anchors of a page, as GitHub makes them from headings.

sub anchors {
    my ($file) = @_;
    my (%seen, %anchor);

    for my $heading (prose($text{$file} // slurp($file))
                     =~ /^#+[ ]+(.+?)[ ]*$/gm)
    {
        my $name = lc $heading =~ s/\[([^\]]*)\]\([^)]*\)/$1/gr;

        $name =~ s/[^\w\- ]//g;
        $name =~ tr/ /-/;

        my $n = $seen{$name}++;

        $anchor{$n ? "$name-$n" : $name} = 1;
    }

    return \%anchor;
}


for my $file (@docs) {
    my $prose = prose($text{$file}) =~ s/`[^`\n]*`/code/gr;
    my (@wrong, $links);

    while ($prose =~ /\]\(\s*([^)\s]+)[^)]*\)/g) {
        my $link = $1;

        next if $link =~ m{^(?:https?|mailto):};

        my ($path, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
        my $target = $path eq '' ? $file : dirname($file) . "/$path";

        $target =~ s{^\./}{};
        $target =~ s{[^/]+/\.\./}{};
        $links++;

        if (!-e $target) {
            push @wrong, "$link: no such file";

        } elsif (defined $anchor && !anchors($target)->{$anchor}) {
            push @wrong, "$link: no such heading";
        }
    }

    is(join("\n", @wrong), '', "$file: " . ($links // 0) . ' links');
}


# Pages that code and messages speak of.

{
    my %named;

    for my $file (glob '*.md docs/*.md store/*.[ch] store/cli/*.[ch]'
                       . ' ngx_module/*.[ch] ngx_module/text/*.[ch] deploy/*'
                       . ' deploy/*/* bin/* t/*.t t/lib/*/*.pm Makefile config')
    {
        next if !-f $file;
        $named{$_}{$file} = 1 for slurp($file) =~ m{\b(docs/[\w-]+\.md)\b}g;
    }

    for my $page (sort keys %named) {
        ok(-f $page, "$page is there")
            or diag(join "\n", sort keys %{ $named{$page} });
    }
}


# --------------------------------------------------------------- tests ---


# `t/x.t` and `t/unit/x.c` exist, and so does each name in the brackets that
# may follow, separated by semicolons, in the words of the test.

for my $file (@docs) {
    my $prose = prose($text{$file});
    my (@wrong, $named);

    while ($prose =~ m{`(t/[\w./]+\.(?:t|c|mjs))`(?:\s\(([^)]*)\))?}g) {
        my ($test, $names) = ($1, $2 // '');

        $named++;

        if (!-f $test) {
            push @wrong, "$test: no such test";
            next;
        }

        my $code = slurp($test);

        for my $name (split /;\s+/, $names) {
            $name =~ s/\s+/ /g;
            push @wrong, "$test: nothing called \"$name\""
                if index($code, $name) < 0;
        }
    }

    is(join("\n", @wrong), '', "$file: $named tests") if $named;
}


# ------------------------------------------------------------ commands ---


# Words of "commands:" in the help of a command; none: it has none below it.

my %below;

sub below {
    my (@path) = @_;
    my $key = "@path";

    return $below{$key} if exists $below{$key};

    open my $out, '-|', $sessionctl, @path, '-h'
        or BAIL_OUT("no $sessionctl: run make sessionctl");
    my $help = do { local $/; <$out> } // '';
    close $out or return $below{$key} = undef;

    my %names;

    if ($help =~ /^commands:\n((?:  \S.*\n)+)/m) {
        $names{$_} = 1 for $1 =~ /^  (\S+)/mg;
    }

    return $below{$key} = \%names;
}


# Where code is shown: blocks, and words between backquotes.

sub shown {
    my ($text) = @_;
    my @blocks = $text =~ /^```+\w*\n(.*?)^```+$/gms;

    return (@blocks, prose($text) =~ /`([^`]+)`/g);
}


for my $file (@docs) {
    my (%commands, @wrong);

    for my $code (shown($text{$file})) {
        while ($code =~ /\bsessionctl[ ]+([a-z][\w-]*)(?:[ ]+([a-z]+)\b)?/g) {
            $commands{ join ' ', grep { defined } $1, $2 } = [$1, $2];
        }
    }

    for (sort keys %commands) {
        my ($first, $second) = @{ $commands{$_} };
        my $names = below()->{$first} && below($first);

        # words of a command that has none below it are its own
        next if $names && (!%$names || !defined $second
                           || ($names->{$second} && below($first, $second)));

        push @wrong, "sessionctl $_: no such command";
    }

    is(join("\n", @wrong), '',
       "$file: " . scalar(keys %commands) . ' commands') if %commands;
}


# -------------------------------------------------------------- blocks ---


# The statements of a block one after another: name, and text with what is in
# its braces.

sub statements {
    my ($block) = @_;
    my @found;

    while ($block =~ /\G(?:\s|\#[^\n]*)*
                      ((\w+)(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^;{}"'])*
                       (?:;|(\{(?:[^{}\#"]|\#[^\n]*|"(?:[^"\\]|\\.)*"
                                 |(?3))*\})))/gcx)
    {
        push @found, { name => $2, text => $1 };
    }

    $block =~ /\G(?:\s|\#[^\n]*)*/gc;

    return @found if (pos $block // 0) == length $block;
    return;
}


# Contexts of our own directives, from their pages.

my %context;

for my $file (grep { m{/ngx_http_} } @docs) {
    my @parts = split /^### +(\S+) *\n/m, $text{$file};

    shift @parts;

    while (my ($name, $part) = splice @parts, 0, 2) {
        $context{$name} = $1 if $part =~ /^\*\*Context:\*\* (.+)$/m;
    }
}

# and of nginx's that are seen beside them
my %core = (
    (map { $_ => 'main' } qw(load_module thread_pool events http user pid
                             worker_processes worker_shutdown_timeout
                             worker_rlimit_nofile)),
    (map { $_ => 'http' } qw(server upstream map)),
    (map { $_ => 'server' } qw(location listen server_name)),
    (map { $_ => 'location' } qw(proxy_pass fastcgi_pass limit_except)),
    (map { $_ => 'http, server, location' }
         qw(add_header proxy_set_header error_log access_log root include
            set_real_ip_from real_ip_header real_ip_recursive)),
);


# The contexts in which all statements of a block may stand.  Blocks that hold
# whole servers and more say it themselves.

sub contexts {
    my @statements = @_;
    my @left = qw(main http server location);

    for (@statements) {
        my $known = $core{ $_->{name} } // $context{ $_->{name} };

        return if !defined $known;

        my %may = map { $_ => 1 } split /,\s*/, $known;

        @left = grep { $may{$_} } @left;
    }

    # thread_pool stands beside http, in the same file
    return @left;
}


my $t = Session::Flow->new(workers => 1);
my ($crt, $key) = $t->certificate('localhost');
my $dir = $t->dir;

make_path("$dir/pages");


# A whole nginx.conf around a block.

sub around {
    my ($block, $context) = @_;
    my $port = $t->port;
    my $http = '';

    $block =~ s/\blisten\s+(?:[\w.]+:)?\d+/listen 127.0.0.1:$port/g;
    $block =~ s{\binclude session_pages\.conf}
               {include $project/deploy/session_pages.conf}g;
    $block =~ s{\binclude fastcgi_params}{include /etc/nginx/fastcgi_params}g;
    $block =~ s{modules/ngx_http_session_module\.so}{$Session::World::module}g;
    $block =~ s{/var/lib/nginx/session\b}{$t->store}ge;
    $block =~ s{/etc/nginx/session\.keys}{$t->keys}ge;
    $block =~ s{/etc/nginx/session_pages\b}{$dir/pages}g;
    $block =~ s{/var/log/nginx/}{$dir/logs/}g;
    $block =~ s{/etc/nginx/tls/\w+\.pem\b}{$crt}g;
    $block =~ s{/etc/nginx/tls/\w+\.key\b}{$key}g;

    my %upstream = map { $_ => 1 }
                   $block =~ m{_pass\s+(?:\w+://)?([a-z]\w*)[;/]}g;

    $http .= "upstream $_ { server 127.0.0.1:9; }\n" for sort keys %upstream;
    $http .= "session_store " . $t->store . ";\n"
        if $block !~ /\bsession_store\b/;
    $http .= "session_keys " . $t->keys . ";\n"
        if $block !~ /\bsession_keys\b/;
    $http .= "ssl_certificate $crt;\nssl_certificate_key $key;\n"
        if $block =~ /\bssl\b/;
    $http .= join '', map { "${_}_temp_path $dir/${_}_temp;\n" }
                          qw(client_body proxy fastcgi scgi uwsgi);
    $http .= "access_log off;\n";

    my $main = "pid $dir/logs/nginx.pid;\n"
        . ($> == 0 ? "user root;\n" : '')
        . ($block =~ /\bload_module\b/
           ? '' : "load_module $Session::World::module;\n")
        . ($block =~ /\bevents\b/ ? '' : "events { }\n");

    if ($context eq 'main') {
        $block =~ s/(\bhttp\s*\{)/$1\n$http/;

        # load_module goes before everything else
        my $load = $block =~ s/^(load_module [^;]+;)//m ? "$1\n" : '';

        return "$load$main$block";
    }

    $block = "location /here { $block }\n" if $context eq 'location';
    $block = "server { listen 127.0.0.1:$port; $block }\n"
        if $context ne 'http';

    return "${main}http {\n$http$block\n}\n";
}


for my $file (grep { !m{/guide_} } @docs) {
    my $n = 0;

    while ($text{$file} =~ /^```nginx\n(.*?)^```$/gms) {
        my $block = $1;
        my $what = "$file, nginx block " . ++$n;
        my @statements = statements($block);

        if (!@statements) {
            fail("$what: is no configuration");
            next;
        }

        my @contexts = contexts(@statements);

        ok(scalar @contexts, "$what: has a context")
            or diag(join ', ', map { $_->{name} } @statements);

        for my $context (@contexts) {
            $t->write_file('nginx.conf', around($block, $context));

            my ($code, $said) = $t->test_config;

            is($code, 0, "$what: in $context") or diag($said);
        }
    }
}

$t->done;
