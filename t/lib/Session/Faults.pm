package Session::Faults;

# Faults by t/tools/fault*.c: one function, or a family of them, fails at its
# n-th call or from that one on, and n rises until a run without a fault.
#
#     my $f = Session::Faults->new;
#     $f->arm('mdb', 3);             # the third call of LMDB
#     ...
#     my $seen = $f->disarm;         # { calls, hits, where }
#
#     my @wrong = $f->rise($try, name => 'mdb', ways => 2, on => 1);
#
# where $try->() goes through a scenario once and returns what was wrong.

use strict;
use warnings;

use File::Temp ();
use Session::World ();

my ($home, $shim);

# how many of them; t/tools/fault.h
my %at = (n => 0, on => 4, way => 8, children => 12, calls => 16, hits => 20,
          alive => 24, name => 32, where => 64);


sub new {
    my ($class, %arg) = @_;

    $home //= File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1,
                                 CLEANUP => 1);
    chmod 0711, $home;

    my $file = File::Temp::tempnam("$home", 'page');
    my $self = bless { file => $file, children => 0, sites => 0, tried => 0,
                       %arg }, $class;

    open $self->{page}, '+>:raw', $file or die "$file: $!\n";
    chmod 0666, $file;
    $self->put(n => pack 'x4096');
    shim();

    return $self;
}


sub shim {
    return $shim if $shim;

    my $cc = $ENV{CC} // 'cc';

    $shim = "$home/fault.so";
    system("$cc -shared -fPIC -O1 -U_FORTIFY_SOURCE -o $shim "
           . "$Session::World::project/t/tools/fault*.c -ldl") == 0
        or die "t/tools/fault.c does not compile\n";

    return $shim;
}


# The module that was built, linked again so that what it asks nginx for may
# fail as well: the family "pool".  Nothing where its objects are not there.

sub module {
    my @objects = glob "$Session::World::build/nginx/objs/addon/*/*.o "
                       . "$Session::World::build/nginx/objs/*_modules.o";
    my $source = "$Session::World::project/t/tools/fault_pool.c";
    my $cc = $ENV{CC} // 'cc';

    return if @objects < 2;

    shim();
    open my $in, '<', $source or die "$source: $!\n";

    my $wrap = join ' ', map { "-Wl,--wrap=$_" }
               do { local $/; <$in> } =~ /^POOL\(.*?, (ngx_\w+),/mg;
    my $sanitize = `nm -u @objects` =~ /__asan_/
                   ? '-fsanitize=address,undefined' : '';

    system("$cc -shared -fPIC $sanitize -o $home/module.so @objects $wrap "
           . '-llmdb -lsodium -lcrypto') == 0
        or die "the module cannot be linked again\n";

    return "$home/module.so";
}


# For the environment.  The shim comes first, for ASan's functions call none of
# those behind them, and ASan is told that it does.  The module that was linked
# again and an nginx with ASan both have the list of their modules.

sub env {
    my ($self, $preload) = @_;

    return (FAULT => $self->{file},
            ASAN_OPTIONS => join(':', grep { defined && length }
                $ENV{ASAN_OPTIONS}, 'verify_asan_link_order=0',
                'detect_odr_violation=0'),
            $preload // 'LD_PRELOAD' => join(':', grep { defined && length }
                shim(), $ENV{TEST_NGINX_LD_PRELOAD}));
}


sub put {
    my ($self, $field, $bytes) = @_;

    sysseek $self->{page}, $at{$field}, 0;
    syswrite($self->{page}, $bytes) == length $bytes or die "fault: $!\n";
}


sub field {
    my ($self, $field, $template, $n) = @_;

    sysseek $self->{page}, $at{$field}, 0;
    sysread $self->{page}, my $bytes, $n // 4;

    return unpack $template // 'L', $bytes;
}


sub arm {
    my ($self, $name, $n, %arg) = @_;

    $self->put(n => pack 'L', 0);
    $self->put(on => pack 'L5', $arg{on} // 0, $arg{way} // 0,
               $self->{children}, 0, 0);
    $self->put(name => pack 'Z32 Z128', $name, '');
    $self->put(n => pack 'L', $n);
}


sub disarm {
    my ($self) = @_;

    $self->put(n => pack 'L', 0);

    return { calls => $self->field('calls'), hits => $self->field('hits'),
             where => $self->field('where', 'Z*', 128) };
}


sub alive { $_[0]->field('alive', 'l') }


# n rises until nothing fails any more.  step: of how many calls one fails;
# from: the first of them; ways: how often, each in another way; on: 1 for all
# from the n-th on as well.

sub rise {
    my ($self, $try, %arg) = @_;
    my @wrong;
    my $step = $arg{step} // 1;

    for my $on ($arg{on} ? (0, 1) : 0) {
        for my $way (0 .. ($arg{ways} // 1) - 1) {
            for (my $n = $arg{from} // 1;; $n += $step) {
                my %fault = (name => $arg{name}, n => $n, on => $on,
                             way => $way);
                my ($seen, @new) = $try->(\%fault);

                $self->{tried}++;
                $self->{sites}++ if $seen->{hits};

                push @wrong, map { told(\%fault, $seen, $_) } @new;

                return @wrong if @wrong > 9;
                last if !$seen->{hits} || ($arg{to} && $n >= $arg{to});
            }
        }
    }

    return @wrong;
}


sub told {
    my ($fault, $seen, $what) = @_;

    return sprintf '%s %d%s, way %d (%s): %s', $fault->{name}, $fault->{n},
        $fault->{on} ? ' and on' : '', $fault->{way}, $seen->{where}, $what;
}


1;
