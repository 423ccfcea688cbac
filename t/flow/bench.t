# The site of bench/run: its store holds what was asked for, every case gets
# its answer, and every floor sends as many bytes as its case; else what is
# measured is not what tables say.

use strict;
use warnings;

use lib 't/lib', 'bench/lib';
use File::Temp ();
use Session::Bench;
use Session::Bench::Site;
use Session::Log qw(slurp);
use Session::World ();
use Test::More;

my $sessions = 700;
my $build = $Session::World::build;
my $project = $Session::World::project;
my $folder = File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1);

system('make', '-s', '-C', $project, 'load', "B=$build") == 0
    or die "build/load cannot be built\n";


# ---------------------------------------------------------------- store ---


# So many sessions, of which so many are drawn from.

sub filled {
    my ($name, $count, $sample) = @_;
    my $dir = "$folder/$name";
    my @store = ("$dir/store", "$dir/keys");
    my $users = $sample + int(($count - $sample + 9) / 10);

    mkdir $dir or die "$dir: $!\n";
    Session::World::mint('world', @store);
    load('users', $store[0], $users);

    my $line = load('fill', @store, $sample, $count, "$dir/tokens");
    my %stat = run_command("$build/sessionctl", 'stat', '--json', '--store',
                           $store[0]) =~ /"(\w+)": *(\d+)/g;
    my @tokens = split /\n/, slurp("$dir/tokens");
    my %seen = map { $_ => 1 } @tokens;
    my ($middle) = grep { $_ } $tokens[$#tokens / 2];

    is($line->{ops}, $count, "$name: sessions made");
    is($stat{sessions_live}, $count, "$name: and all of them live");
    is($stat{users}, $users, "$name: of so many users");
    is($stat{change_copied}, $count + $users, "$name: the feed was copied");
    is(keys %seen, $sample, "$name: tokens, all different");
    is((Session::World::mint('verify', $store[1], 'default', 'token',
                             $middle))[0], 'ok', "$name: that verify");
    is(join("\n", Session::World::problems({ store => $store[0] })), '',
       "$name: the store is whole");
}

filled('all', 300, 300);
filled('some', 1000, 100);
filled('one_more', 301, 300);


# ----------------------------------------------------------------- site ---


my $site = eval {
    Session::Bench::Site->new(sessions => $sessions, folder => "$folder/site");
};

ok($site, 'cases get their answers, and floors send as many bytes')
    or diag($@), exit 1;

my $cases = $site->{cases};
my $t = $site->{t};

for my $name (sort keys %$cases) {
    my $case = $cases->{$name};
    my $r = $site->answer($case);
    my $again = $site->answer($case);

    is($r->code, $case->{status}, "$name: status");
    is(length($again->raw) + 2 + length $again->body, $case->{wire},
       "$name: answers are of one length");
}

is($cases->{file_page}{bytes}, $cases->{dashboard}{bytes},
   'the file is as long as the dashboard');

my @cookies = $site->{stock}->cookies_some($sessions + 1);
my %lengths;

for my $cookie (@cookies[map { $_ * 7 } 0 .. 99]) {
    my $r = $t->client->get('/dashboard', Accept => 'text/html',
                            Cookie => $cookie);

    $lengths{$r->code . ' ' . length $r->body}++;
}

is(scalar @cookies, $sessions, 'a cookie for each session');
is(join(', ', map { "$_ times $lengths{$_}" } sort keys %lengths),
   "200 $cases->{dashboard}{bytes} times 100",
   'whosever the dashboard is, it is of one length');

$site->done;
