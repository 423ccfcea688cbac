# kill -9 of sessionctl under a running nginx, at each point of what it does
# and at random: a backup and a dump are whole or not there, a restore and a
# change of a user are done or not, a sweep is one of its steps further; nobody
# whose session lives is signed out, nobody whose session is over comes back,
# and the same command does it afterwards.

use strict;
use warnings;

use lib 't/lib';
use File::Copy qw(copy);
use JSON::PP ();
use POSIX ();
use Session::DieAt;
use Session::Flow;
use Session::Log qw(process_tree slurp);
use Session::SignIn;
use Test::More;
use Time::HiRes qw(sleep time);

my $rounds = $ENV{TEST_NGINX_SESSIONCTL_DEATHS} // 1;
my $cookie = $Session::World::cookie;
my @users = map { "u$_" } 0 .. 9;
my $t = Session::Flow->new(users => [@users, 'sue', 'tom', 'leo']);
my $dir = $t->dir;

$t->write_file('html/private', "secret\n");
$t->write_file_expand('nginx.conf', configuration(
    server => 'session_lifetime 7d idle=1d touch=6h;',
    http => 'session_throttle account=10000r/15m address=10000r/15m;'));
$t->run;

my $ctl = Session::DieAt->new($t, 'ctl');
my @live = map { $t->session($_) } @users;
my ($n, $deaths) = (0, 0);
my $password = $Session::World::password;      # of sue

ctl('session', 'revoke', '--user', 'u9');
ok ctl('backup', "$dir/events", '--events'), 'a backup of the events';
ok ctl('dump', "$dir/dump"), 'and a dump of all';

my ($users, $sessions) = (users($t->store), sessions($t->store));

like $sessions, qr/\A(?:u\d \S+ ?){9}\z/, 'nine sessions';

# Points where each of them can be killed, and how many times they come by at
# least; whether a child does it; make: what there is before; command; and what
# must hold afterwards, of one that was killed, or said that it is done.

my @change = (begin => 2, put => 3, commit => 2, page => 1, sync => 2,
              synced => 2, meta => 2, committed => 2, told => 2);
my @file = (open => 2, file => 1, filed => 1, link => 1, linked => 1);

my @commands = (
    { name => 'backup', child => 1, points => [@file, copy => 1],
      make => \&no_file, command => sub { 'backup', $_[0]{file} },
      holds => \&backup_holds },
    { name => 'backup of events', child => 1, points => [@file, copy => 1],
      make => \&no_file, command => sub { 'backup', $_[0]{file}, '--events' },
      holds => \&backup_holds, events => 1 },
    { name => 'dump', child => 1, points => [@file, walk => 20],
      make => \&no_file,
      command => sub { 'dump', $_[0]{file} }, holds => \&dump_holds },
    { name => 'sweep', points => [@change, walk => 3, open => 2],
      make => \&expired, command => sub { 'sweep' },
      holds => \&sweep_holds },
    { name => 'restore', points => [@change, put => 30, open => 2],
      make => \&empty_store, holds => \&restore_holds,
      command => sub { ('restore', "$dir/dump", '--sessions', '--store',
                        $_[0]{store}) } },
    { name => 'passwd', points => [@change, read => 2, open => 2],
      make => \&two_sessions, holds => \&passwd_holds,
      command => sub { 'user', 'passwd', 'sue', '--stdin' } },
    { name => 'disable', points => [@change, read => 2, open => 2],
      make => \&two_sessions, command => sub { 'user', 'disable', 'sue' },
      holds => \&disable_holds },
);

# Where a lock stays with the dead everything waits for ever, and we for it.
local $SIG{ALRM} = sub {
    kill KILL => grep { $_ != $$ } process_tree($$);
    die "nothing goes on\n";
};

# Somebody comes and goes all the time.

my $load = load_start(1, sub {
    my $c = $t->client;
    my $in = sign_in($c, 'leo');
    my $out = $c->form('/sign_out', {});

    sleep 0.02;

    return join ' ', map { $_ && $_->code == 303 ? ()
                           : $_ ? $_->code : 'no answer' } $in, $out;
});

for my $round (1 .. $rounds) {
    for my $command (@commands) {
        my @points = @{ $command->{points} };

        while (my ($point, $passes) = splice @points, 0, 2) {
            at_point($command, $point, $round == 1 ? 0 : int rand $passes, $_)
                for 'one', $command->{child} ? 'both' : ();
        }

        at_random($command) for 1 .. ($rounds > 1 ? 3 : 1);
    }
}

is join(' ', grep { code_of($_) != 200 } @live[0 .. 8]), '',
    'who was signed in still is';
is code_of($live[9]), 401, 'and who was not is not';

my ($calls, @wrong) = load_stop($load);

is join("\n", @wrong), '', 'who came and went was never held up';
diag "$deaths deaths, $calls came and went";

stands_in_the_door();

$t->done;


# ---------------------------------------------------------------- deaths ---

# Each point is met by who comes by first, parent or child, who dies alone or
# with the other.  That of later rounds may be one too many, so nobody dies, and
# what was done is looked at all the same.

sub at_point {
    my ($command, $point, $passes, $who) = @_;
    my $case = made($command);

    alarm 120;
    $ctl->order($point, $passes, $who eq 'both' ? 'STOP' : 'KILL');

    my $pid = start($case, 1);

    if ($who eq 'both') {
        $t->wait_for(sub { $ctl->taken || state($pid) eq 'Z' });
        kill KILL => -$pid if $ctl->taken;
    }

    my $code = wait_for_end($pid);
    my $taken = $ctl->withdraw;

    $deaths++ if $taken;
    is $taken || $passes ? holds($case, $code, $taken) : 'nobody came by', '',
        "$command->{name}, killed at $point: $who";
    alarm 0;
}


# At any time of as long as it takes.

sub at_random {
    my ($command) = @_;
    my $case = made($command);
    my $took = $command->{took} //= do {
        my $from = time;

        wait_for_end(start($case));
        is holds($case, 0), '', "$command->{name}, in peace";
        $case = made($command);
        time - $from;
    };

    alarm 120;

    my $pid = start($case);

    sleep $took * rand;
    kill KILL => $pid;

    my $code = wait_for_end($pid);

    $deaths++ if $code == 137;
    is holds($case, $code, 1), '', "$command->{name}, killed at random";
    alarm 0;
}


sub made {
    my ($command) = @_;
    my $case = { command => $command, n => ++$n, file => "$dir/file$n" };

    $command->{make}->($case);

    return $case;
}


sub start {
    my ($case, $dies) = @_;
    my @command = $case->{command}{command}->($case);
    my $pid = fork // die "fork: $!\n";

    return $pid if $pid;

    my %env = $dies ? $ctl->env : ();

    @ENV{ keys %env } = values %env;
    $ENV{SESSION_STORE} = $t->store;
    $t->write_file("in$case->{n}", "$case->{new}\n") if $case->{new};
    open STDIN, '<', $case->{new} ? "$dir/in$case->{n}" : '/dev/null';
    open STDOUT, '>', "$dir/said";
    open STDERR, '>&', \*STDOUT;
    setpgrp;
    exec "$Session::World::build/sessionctl", @command or POSIX::_exit(127);
}


# Its exit code, 128 and the signal of which it died; once its child, who fills
# files for it, is gone as well.

sub wait_for_end {
    my ($pid) = @_;

    waitpid $pid, 0;

    my $code = $? & 127 ? 128 + ($? & 127) : $? >> 8;

    $t->wait_for(sub { !kill 0, -$pid }) or die "a child lives on\n";

    return $code;
}


# What is wrong, in words.  The killed one has said nothing, nor has a parent
# whose child was killed said that it is done.

sub holds {
    my ($case, $code, $killed) = @_;
    my @wrong = $case->{command}{holds}->($case, $code == 0);

    push @wrong, "exit code $code: " . slurp("$dir/said")
        if $code != 137 && $code != ($killed ? 1 : 0) && $code != 0;
    push @wrong, Session::World::problems($t->world);
    push @wrong, 'nginx does not answer' if $t->client->get('/up')->code != 200;

    return join '; ', @wrong;
}


# ----------------------------------------------------------------- files ---


sub no_file { }


# The whole file, or none; then the command makes it, and leaves nothing else.

sub file_holds {
    my ($case, $done, $wrong_with) = @_;
    my @wrong;

    push @wrong, 'no file' if $done && !-e $case->{file};
    push @wrong, map { "killed: $_" } $wrong_with->($case->{file})
        if -e $case->{file};

    unlink $case->{file}, glob "$case->{file}.*.part";

    push @wrong, 'again: ' . slurp("$dir/said")
        if wait_for_end(start($case)) != 0;
    push @wrong, map { "again: $_" } $wrong_with->($case->{file});
    push @wrong, 'there is more' if glob "$case->{file}.*";
    unlink $case->{file};

    return @wrong;
}


# One that somebody could go back to.

sub backup_holds {
    my ($case, $done) = @_;
    my $events = $case->{command}{events};

    return file_holds($case, $done, sub {
        my ($file) = @_;
        my $store = "$dir/back" . ++$n;

        ctl('backup', "$dir/sessions") if !-e "$dir/sessions";
        mkdir $store, 0700;
        copy($events ? "$dir/sessions" : $file, "$store/sessions.v1.mdb");
        copy($events ? $file : "$dir/events", "$store/events.v1.mdb");
        chmod 0600, glob "$store/*";

        return "init: " . slurp("$dir/said") if !ctl('init', $store);
        return same_store($store);
    });
}


sub dump_holds {
    my ($case, $done) = @_;

    return file_holds($case, $done, sub {
        my ($file) = @_;
        my $store = "$dir/back" . ++$n;

        return 'init: ' . slurp("$dir/said") if !ctl('init', $store);
        return 'restore: ' . slurp("$dir/said")
            if !ctl('restore', $file, '--sessions', '--store', $store);
        return same_store($store);
    });
}


# A store that holds what ours does, and is whole.

sub same_store {
    my ($store) = @_;
    my @wrong;

    push @wrong, 'check: ' . slurp("$dir/said")
        if !ctl('check', '--store', $store);
    push @wrong, 'not the same users' if users($store) ne $users;
    push @wrong, 'not the same sessions' if sessions($store) ne $sessions;
    system 'rm', '-rf', $store;

    return @wrong;
}


# Who was there at the beginning, and what does not change of them.

sub users {
    my ($store) = @_;
    my $list = said('user', 'list', '--json', '--store', $store);

    return join ' ', $list =~ /"(?:id|login|name)":"[^"]*"/g;
}


# Sessions of those whose sessions do not change.

sub sessions {
    my ($store) = @_;
    my $list = said('session', 'list', '--json', '--store', $store);

    return join ' ', sort map { "$_->{login} $_->{ref}" }
                          grep { $_->{login} =~ /\Au\d\z/ }
                               @{ JSON::PP::decode_json($list) };
}


# --------------------------------------------------------------- restore ---


sub empty_store {
    my ($case) = @_;

    $case->{store} = "$dir/store$case->{n}";
    ctl('init', $case->{store}) or die slurp("$dir/said");
}


# As if it had never been, or as good as done.

sub restore_holds {
    my ($case, $done) = @_;
    my @wrong;
    my $again = wait_for_end(start($case));
    my $said = slurp("$dir/said");

    push @wrong, "again: $said"
        if $again == 0 ? $done
           : $again != 1 || $said !~ /there are users already/;

    # and that it has been restored

    my $events = events(said('dump', '--store', $case->{store}));

    push @wrong, "$events events" if $events != 1 + events(slurp("$dir/dump"));
    push @wrong, same_store($case->{store});

    return @wrong;
}

sub events { my ($dump) = @_; return scalar(() = $dump =~ /"record":"event"/g) }


# ----------------------------------------------------------------- users ---


sub two_sessions {
    my ($case) = @_;

    $case->{old} = $password;
    $case->{new} = "a new one for sue, number $n"
        if $case->{command}{name} eq 'passwd';
    $case->{sessions} = [map { $t->session('sue') } 1, 2];
}

# Each session like the others; in words what is not.

sub all_or_none {
    my ($case) = @_;
    my @codes = map { code_of($_) } @{ $case->{sessions} };

    return $codes[0] if $codes[0] == $codes[1];
    return "a session $codes[0], another $codes[1]";
}


# One of both passwords signs in, and with the new one the sessions are over.
# A commit of which nobody was told is there once somebody writes again, so the
# sessions come last.

sub passwd_holds {
    my ($case, $done) = @_;
    my %code = map { $_ => sign_in($t->client, 'sue', $case->{$_})->code }
                   qw(old new);
    my $changed = $code{new} == 303;
    my $sessions = all_or_none($case);

    $password = $case->{new} if $changed;

    return "passwords: old $code{old}, new $code{new}"
        if join(' ', sort values %code) ne '303 401';
    return 'it is not done' if $done && !$changed;
    return "sessions: $sessions" if $sessions ne ($changed ? 401 : 200);
    return $changed ? () : again($case);
}


sub disable_holds {
    my ($case, $done) = @_;
    my $code = sign_in($t->client, 'sue', $password)->code;
    my $disabled = $code != 303;
    my $sessions = all_or_none($case);
    my @wrong;

    push @wrong, 'it is not done' if $done && !$disabled;
    push @wrong, "sessions: $sessions" if $sessions ne ($disabled ? 401 : 200);
    push @wrong, again($case) if !$disabled;
    ctl('user', 'enable', 'sue') or push @wrong, slurp("$dir/said");

    return @wrong;
}


# The same once more does it.

sub again {
    my ($case) = @_;

    return 'again: ' . slurp("$dir/said") if wait_for_end(start($case)) != 0;
    $password = $case->{new} if $case->{new};

    return map { code_of($_) == 401 ? () : 'a session lives on' }
               @{ $case->{sessions} };
}


# ----------------------------------------------------------------- sweep ---

# Sessions of which some are to be ended, and some to be forgotten.

sub expired {
    my ($case) = @_;

    $case->{sessions} = [
        (map { $t->session('tom', created => -$_, seen => -$_) }
             700_000, 900_000, 950_000),
        $t->session('tom', seen => -90_000, created => -90_000)];
    $case->{fresh} = $t->session('tom');
}


sub sweep_holds {
    my ($case) = @_;
    my @wrong;

    push @wrong, map { code_of($_) == 401 ? () : 'an old session lives' }
                     @{ $case->{sessions} };
    push @wrong, 'a session is swept away' if code_of($case->{fresh}) != 200;
    push @wrong, 'again: ' . slurp("$dir/said")
        if wait_for_end(start($case)) != 0;
    push @wrong, 'something is left: ' . slurp("$dir/said")
        if said('sweep') !~ /\A0 entries swept/;
    push @wrong, map { code_of($_) == 401 ? () : 'an old session is back' }
                     @{ $case->{sessions} };
    push @wrong, 'a session is swept away' if code_of($case->{fresh}) != 200;
    ctl('session', 'revoke', '--user', 'tom');

    return @wrong;
}


# ------------------------------------------------------------------- door ---

# One that stands still while it opens the store holds up who wants to open it
# as well, and nobody else.

sub stands_in_the_door {
    my $case = made($commands[3]);

    $ctl->order('open', 1, 'STOP');

    my $pid = start($case, 1);

    ok $t->wait_for(sub { $ctl->taken && state($pid) eq 'T' }),
        'it stands still with the door in its hand';

    is code_of($live[0]), 200, 'nginx decides';

    my $c = $t->client;

    is sign_in($c, 'u1')->code, 303, 'and writes';
    ok !ctl('user', 'list'), 'a command does not get in';
    like slurp("$dir/said"), qr/another process/, 'and says why';

    $t->allow(qr/\[crit\].*another process is opening it/);
    $t->kill_worker;
    ok $t->wait_for(sub { code_of($live[0]) == 503 }),
        'nor does a worker that starts';

    kill CONT => $pid;
    is wait_for_end($pid), 0, 'it goes on';
    ok $t->wait_for(sub { code_of($live[0]) == 200 }), 'the worker as well';
    is holds($case, 0), '', 'and does what it was to do';
    ok ctl('user', 'list'), 'and the next one gets in';
}


# --------------------------------------------------------------- commands ---

# Whether it is done; its words are in "said".

sub ctl {
    my (@command) = @_;

    return wait_for_end(start({ n => ++$n,
                                command => { command => sub { @command } } }))
           == 0;
}


sub said { ctl(@_); return slurp("$dir/said") }


sub state {
    my ($pid) = @_;

    return slurp("/proc/$pid/stat") =~ /\) (\w) / ? $1 : '';
}


sub code_of {
    my ($session) = @_;

    return $t->client->get('/private',
                           Cookie => "$cookie=$session->{token}")->code;
}
