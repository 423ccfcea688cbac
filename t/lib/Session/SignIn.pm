package Session::SignIn;

# What the flows about signing in have in common: one configuration, the form
# sent in one call, every worker asked, and load while something happens.

use strict;
use warnings;

use Exporter qw(import);
use IO::Select ();
use POSIX ();
use Session::Wire ();
use Session::World ();

our @EXPORT = qw(configuration sign_in prepared attempt token_or_code
                 sign_out_code each_worker private_by_worker load_start
                 load_stop compiled);


# The configuration of all these flows.  http and server: lines to add; listen:
# parameters; location: of /private.

sub configuration {
    my (%arg) = @_;

    $_ //= '' for @arg{qw(main http server listen location)};

    return <<"END";
%%GLOBALS%%
$arg{main}
events { }
http {
    %%GLOBALS_HTTP%%
    $arg{http}
    server {
        listen 127.0.0.1:%%PORT_8080%% $arg{listen};
        root %%TESTDIR%%/html;
        add_header X-Worker \$pid always;
        add_header X-Status \$session_status always;
        $arg{server}
        location = /up { session_page up; }
        location = /sign_in { session_page sign_in; }
        location = /sign_out { session_page sign_out; }
        location = /-/actor.json { session_page actor; }
        location = /private { session_require user; $arg{location} }
    }
}
END
}


# GET of the form, POST of it with further fields and headers: the response.

sub sign_in {
    my ($client, $login, $password, $fields, @headers) = @_;
    my %typed = (login => $login,
                 password => $password // $Session::World::password);
    my $page = $client->get('/sign_in', Accept => 'text/html');
    my $form = Session::Client::find_form($page, \%typed) or return $page;

    return $client->post($form->{action},
        { %{ $form->{hidden} }, %typed, %{ $fields || {} } },
        @headers ? @headers : (Accept => 'text/html'));
}


# A client with an open connection, a pre-session cookie and its token, for
# attempts without a GET before.

sub prepared {
    my ($t) = @_;
    my $client = $t->client;
    my ($pre, $csrf) = Session::World::before($t->world);

    $client->cookie("$Session::World::cookie-pre", $pre);
    $client->{csrf} = $csrf;
    $client->open;

    return $client;
}


# The bytes of a POST as a program sends it.

sub attempt {
    my ($client, $login, $password, @headers) = @_;

    return $client->format('POST', '/sign_in',
        'Content-Type' => 'application/x-www-form-urlencoded',
        Accept => 'application/json', 'X-CSRF-Token' => $client->{csrf},
        @headers, body => Session::Client::encode_form(
            { login => $login,
              password => $password // $Session::World::password }));
}


# Of a server that may not answer: the new session's token, or the code of the
# refusal, or 0.

sub token_or_code {
    my ($t, $login) = @_;
    my $client = prepared($t);

    $client->send(attempt($client, $login));

    my $r = eval { $client->receive } or return 0;

    return $r->code =~ /\A20/ && $client->cookie($Session::World::cookie)
           || $r->code;
}


# The same of a sign-out: its code.

sub sign_out_code {
    my ($t, $session) = @_;
    my $r = eval { $t->client->post('/sign_out', {},
        Accept => 'application/json', 'X-CSRF-Token' => $session->{csrf},
        Cookie => "$Session::World::cookie=$session->{token}") };

    return $r && $r->code || 0;
}


# pid => client with an open connection to that worker.  Wants "reuseport" in
# listen when there are several workers.

sub each_worker {
    my ($t, %arg) = @_;
    my %client;

    Session::Wire::wait_until(sub {
        my $client = $t->client(%arg);
        my $pid = $client->get('/up')->header('X-Worker');

        $client{$pid} //= $client;

        my @workers = $t->workers;

        return @workers == $t->{workers} && !grep { !$client{$_} } @workers;
    }, 30) or Test::More::fail('not every worker answers');

    return \%client;
}


# GET /private with this token from each worker: "pid=code pid=code ..." with
# only the codes that are not the one expected; '' is what one hopes for.

sub private_by_worker {
    my ($clients, $token, $expected) = @_;
    my @wrong;

    for my $pid (sort keys %$clients) {
        my $r = $clients->{$pid}->get('/private',
            Cookie => "$Session::World::cookie=$token");
        my $code = $r ? $r->code : 'none';
        my $who = $r ? $r->header('X-Worker') // 'none' : 'none';

        push @wrong, "$pid=$code" if $code ne $expected;
        push @wrong, "$pid answered by $who" if $who ne $pid;
    }

    return "@wrong";
}


# Runs $work->($number) over and over in so many processes; it returns '' or
# what went wrong.

sub load_start {
    my ($n, $work) = @_;
    my $parent = $$;
    my @load;

    for my $number (0 .. $n - 1) {
        pipe my $in, my $out or die "pipe: $!\n";
        my $pid = fork // die "fork: $!\n";

        if ($pid == 0) {
            my $end = 0;
            local $SIG{TERM} = sub { $end = 1 };
            my ($count, @wrong) = (0);

            # nor when nobody is left to end it
            while (!$end && @wrong < 10 && getppid() == $parent) {
                my $wrong = eval { $work->($number) } // "died: $@";

                $count++;
                push @wrong, $wrong if $wrong ne '';
            }

            syswrite $out, join("\n", $count, @wrong) . "\n";
            POSIX::_exit(0);
        }

        push @load, [$pid, $in];
    }

    return \@load;
}


# Ends it: how many calls there were, then all that went wrong.

sub load_stop {
    my ($load) = @_;
    my ($calls, @wrong) = (0);

    kill TERM => $_->[0] for @$load;

    for (@$load) {
        my ($pid, $in) = @$_;

        if (!IO::Select->new($in)->can_read(30)) {
            kill KILL => $pid;
            push @wrong, "load process $pid does not end";
        }

        waitpid $pid, 0;
        chomp(my ($count, @said) = <$in>);

        $calls += $count // 0;
        push @wrong, @said;
    }

    return $calls, @wrong;
}


# A shared object from t/tools/$name.c, for LD_PRELOAD.

sub compiled {
    my ($t, $name) = @_;
    my $so = $t->dir . "/$name.so";
    my $cc = $ENV{CC} // 'cc';

    system("$cc -shared -fPIC -O1 -o $so "
           . "$Session::World::project/t/tools/$name.c -ldl") == 0
        or die "$name.c does not compile\n";

    return $so;
}


1;
