package Session::Bench::Drawn;

# A file behind session_require, asked for by sessions that are drawn from a
# store in many ways: one, zipf, uniform, or uniform among so many.
#
# nginx has one worker on processor 0, wrk processor 1.  The worker may be
# refused something that it can go on without (t/tools/refuse.c).

use strict;
use warnings;

use File::Temp ();
use Session::Bench;
use Session::Flow;
use Session::World ();

my $draws = 65536;
my $tmp = File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1);


# stock: Session::Bench::Stock.

sub new {
    my ($class, $stock, %args) = @_;
    my $t = Session::Flow->new(bare => 1, level => 'warn');
    my $self = bless { stock => $stock, flow => $t, %args }, $class;

    $t->write_file('html/file', 'x' x 1535 . "\n");
    $t->write_file_expand('nginx.conf', <<"END");
%%GLOBALS%%
worker_cpu_affinity 01;
env REFUSE;
events { }
http {
    %%GLOBALS_HTTP%%
    session_store $stock->{store};
    session_keys $stock->{keys};
    session_lifetime 7d idle=1d touch=12h;
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
    open_file_cache max=100 inactive=1h;
    open_file_cache_valid 1h;
    server {
        listen 127.0.0.1:%%PORT_8080%%;
        location = /private { session_require user;
                              alias %%TESTDIR%%/html/file; }
        location = /floor { alias %%TESTDIR%%/html/file; }
    }
}
END

    return $self;
}


sub start {
    my ($self) = @_;
    local $ENV{REFUSE} = $self->{refuse} // '';
    local $ENV{TEST_NGINX_LD_PRELOAD} = shim();

    $self->{flow}->run;
}


sub flow { return $_[0]{flow} }

sub stop { $_[0]{flow}->stop }

sub done { $_[0]{flow}->done }


my $shim;

sub shim {
    return $shim if $shim;

    run_command($ENV{CC} // 'cc', '-shared', '-fPIC', '-O2', '-o',
                "$tmp/refuse.so", 't/tools/refuse.c', '-ldl');

    return $shim = "$tmp/refuse.so";
}


# Tokens in the order of requests: the name of a file.

my %drawn;

sub draw {
    my ($stock, $law) = @_;
    my $name = "$tmp/$stock->{sessions}.$law";

    return $name if $drawn{$name}++;

    my @tokens = shuffled("$stock->{dir}/tokens");
    my $n = $law =~ /\A\d+\z/ ? $law : $law eq 'one' ? 1 : @tokens;
    my ($sum, @upto) = (0);

    push @upto, $sum += $law eq 'zipf' ? 1 / $_ : 1 for 1 .. $n;
    open my $out, '>', $name or die "$name: $!\n";

    for (1 .. $draws) {
        my ($x, $low, $high) = (rand $sum, 0, $n - 1);

        while ($low < $high) {
            my $middle = int(($low + $high) / 2);

            if ($upto[$middle] < $x) { $low = $middle + 1 }
            else { $high = $middle }
        }

        print $out "$tokens[$low]\n";
    }

    close $out or die "$name: $!\n";

    return $name;
}


sub shuffled {
    my ($file) = @_;

    open my $in, '<', $file or die "$file: $!\n";
    chomp(my @tokens = <$in>);

    for (my $i = $#tokens; $i > 0; $i--) {
        my $j = int rand $i + 1;

        @tokens[$i, $j] = @tokens[$j, $i];
    }

    return @tokens;
}


# Requests that were answered.

sub ask {
    my ($self, $path, $law, $seconds) = @_;
    my $text = run_command('taskset', '-c', 1, 'wrk', '-t1', '-c32',
        '--timeout', '60s', "-d${seconds}s", '-s', 'bench/drawn.lua',
        'http://127.0.0.1:' . $self->{flow}->port . $path, '--',
        $Session::World::cookie, draw($self->{stock}, $law));
    my ($n) = $text =~ /(\d+) requests in/ or die $text;

    die "$path, $law: errors\n$text" if $text =~ /Socket errors|Non-2xx/;

    return $n;
}


1;
