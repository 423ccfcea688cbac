# What bench/ measures with: case files are whole and can be told from broken
# ones, plans have the lines that were asked for, numbers are right, charts are
# XML, and reports say what was measured.  No server runs here.

use strict;
use warnings;

use lib 't/lib', 'bench/lib';
use Digest::SHA ();
use File::Temp ();
use MIME::Base64 ();
use POSIX ();
use Session::Bench;
use Session::Bench::Case;
use Session::Bench::Chart;
use Session::Bench::Generator;
use Session::Bench::Peer;
use Session::Bench::Plan;
use Session::Bench::Readme;
use Session::Bench::Report;
use Session::Bench::Run;
use Session::Bench::Welch;
use Session::Log qw(slurp);
use Session::Wire ();
use Session::World ();
use Test::More;

chdir $Session::World::project or die "chdir: $!\n";


# ---------------------------------------------------------------- cases ---


my %cases = Session::Bench::Case->all('bench/cases');

cmp_ok(scalar keys %cases, '>=', 20, 'there are cases');

my @floors = sort grep { $cases{$_}{floor} eq 'none' } keys %cases;

is("@floors", 'return_2 return_page', 'every case has its floor, but floors');

for my $name (sort keys %cases) {
    my ($of) = ($cases{$name}{path} // '') =~ m{\A/(?:floor|bare)/(.*)};

    ok($cases{$of}, "$name is the floor of a case") if defined $of;
    is_deeply([grep { !/\A location\s .* \} \z/x } @{ $cases{$name}{nginx} }],
              [], "$name adds locations");
}

my $good = "title x\npath /x\nstatus 200\nfloor return\n";
my %bad = (
    "$good\ncolour red" => 'c:6: unknown field colour',
    "$good\npath /y" => 'c:6: path is there twice',
    "$good\ncookie stale" => 'c:6: bad value of cookie',
    "$good\nvary" => 'c:6: not a field and its value',
    "$good\nlink /y" => 'c: either path or link',
    $good =~ s/path.*\n//r => 'c: either path or link',
    $good =~ s/floor.*\n//r => 'c: no floor',
    $good =~ s/200/299x/r => 'c:3: bad value of status',
);

for my $text (sort keys %bad) {
    eval { Session::Bench::Case->parse('c', $text, 'c') };
    is($@, "$bad{$text}\n", "refused: $bad{$text}");
}

my $case = Session::Bench::Case->parse('c', <<'END', 'c');
# A comment.
title    `x`, two
nginx    location = /x { return 200; }
nginx    location = /y { return 201; }
path     /x
accept   json
cookie   live
status   200
floor    return
END

is($case->{title}, '`x`, two', 'a value is the rest of the line');
is(scalar @{ $case->{nginx} }, 2, 'nginx may be there twice');
is_deeply({ $case->headers('a=b') }->{Cookie}, 'a=b', 'headers with a cookie');
ok(!exists { $case->headers }->{Cookie}, 'and without');
ok(!$case->of_peer('a'), 'no peer has it');

$case = Session::Bench::Case->parse('c', "${good}peer a /y\npeer b /z?1\n");
$case->{etag} = '"x"';
is(join(' ', map { $case->of_peer($_)->{path} } qw(a b)), '/y /z?1',
   'peers have paths of their own');
is($case->of_peer('a')->{etag}, undef, 'and answers');

my @peer_names = Session::Bench::Peer::names();

for my $name (sort keys %cases) {
    for my $peer (map { (split ' ')[0] } @{ $cases{$name}{peer} }) {
        is(scalar(grep { $_ eq $peer } @peer_names), 1,
           "$name: there is a peer $peer");
    }
}


# ---------------------------------------------------------------- plans ---


is_deeply([Session::Bench::Plan::numbers('1k,100k,1M,7')],
          [1000, 100_000, 1_000_000, 7], 'numbers with units');
is(join(' ', map { Session::Bench::Plan::number_text($_) }
             1000, 100_000, 10_000_000, 7), '1k 100k 10M 7', 'and back');
ok(!eval { Session::Bench::Plan::numbers('1k,many') }, 'no number');

sub planned {
    my (@lines) = Session::Bench::Plan::lines(sessions => [1000, 100_000],
        workers => [1, 2], http => [1, 2], @_);

    return join ' ', map { join '/', $_->{case}{name}, $_->{sessions},
                                     $_->{workers}, $_->{http},
                                     $_->{law} // 'one' } @lines;
}

my @two = @cases{qw(file junk)};

is(planned(cases => \@two),
   'file/100000/1/1/one junk/100000/1/1/one'
   . ' file/1000/1/1/zipf file/1000/1/1/uniform'
   . ' file/100000/1/1/zipf file/100000/1/1/uniform'
   . ' file/100000/2/1/one file/100000/1/2/one',
   'only what varies is measured in other circumstances');
is(planned(cases => [$cases{junk}], named => 1),
   'junk/100000/1/1/one junk/100000/2/1/one junk/100000/1/2/one',
   'or what was asked for, but nobody else is refused the same way');


# -------------------------------------------------------------- numbers ---


is(median(3, 1, 2), 2, 'median of three');
is(median(4, 1, 2, 3), 2.5, 'median of four');
is(median(7), 7, 'median of one');
is(spread('%.1f', 3, 10, 9), '9.0 (3.0-10.0)', 'median, least and most');

# A process that has worked for 0.3 s, and had a child that did so for 0.6 s.

sub work {
    my ($seconds) = @_;
    my $n;

    do { $n++ for 1 .. 10_000 } while (times)[0] + (times)[1] < $seconds;
}

pipe my $ready, my $tell or die "pipe: $!\n";

my $worker = fork // die "fork: $!\n";

if ($worker == 0) {
    close $ready;

    my $child = fork // POSIX::_exit(1);

    work($child == 0 ? 0.6 : 0.3);
    POSIX::_exit(0) if $child == 0;
    waitpid $child, 0;
    syswrite $tell, "done\n";
    sleep 600;
    POSIX::_exit(0);
}

close $tell;
is(readline $ready, "done\n", 'somebody has worked');

my $worked = tree_seconds($worker);

kill KILL => $worker;
waitpid $worker, 0;
cmp_ok($worked, '>=', 0.85, 'processor time of a process and its child');
cmp_ok($worked, '<', 5, 'and no more');

my %answers = (url => 'u', code => 200, wire => 100);

sub complaint {
    my ($n, %got) = @_;

    eval { Session::Bench::Generator::check({ %answers, %got }, $n, '',
               broken => 0, refused => 0, expected => 100, %got) };

    return $@ =~ s/\n.*//sr;
}

is(complaint(5000, bytes => 500_900), '', 'right answers');
is(complaint(5000, bytes => 510_000),
   'u: 510000 bytes are not 5000 answers of 100', 'answers too long');
is(complaint(5000, bytes => 400_000),
   'u: 400000 bytes are not 5000 answers of 100', 'answers too short');
is(complaint(5000, bytes => 500_000, refused => 1),
   'u: 1 of 5000 refused, 0 expected', 'one refused');
is(complaint(5000, bytes => 500_000, refused => 4999, code => 401),
   'u: 4999 of 5000 refused, 5000 expected', 'one not refused');
is(complaint(5000, bytes => 500_000, broken => 2), 'u: 2 requests failed',
   'failed requests');


# --------------------------------------------------------------- charts ---


# Tags open and close in pairs, attributes are quoted, and characters are
# escaped: what a parser of XML insists on.

sub well_formed {
    my ($xml) = @_;
    my @open;

    return "not ASCII" if $xml =~ /[^\n -~]/;

    my $attribute = qr/\s+[a-zA-Z][\w:-]*="(?:[^"<&]|&(?:\w+|\#\d+);)*"/;

    while ($xml =~ m{\G(?:([^<&]+|&(?:amp|lt|gt|quot|\#\d+);)
                        |<(/?)([a-z]+)$attribute*\s*(/?)>)}gcx)
    {
        next if defined $1;
        push @open, $3 if !$2 && !$4;
        return "$3 closes what is not open"
            if $2 && (pop(@open) // '') ne $3;
    }

    return 'rubbish at ' . substr $xml, pos($xml) // 0, 20
        if (pos($xml) // 0) < length $xml;
    return "open: @open" if @open;
    return '';
}

for my $log (0, 1) {
    my $svg = Session::Bench::Chart::svg(title => 'A & "B"', note => '<n>',
        log => $log, bars => [
            { label => 'x < y', values => [1.1, 1, 1.3], ours => 1 },
            { label => 'long ' x 20, values => [38.2] },
            { label => 'nothing', values => [] },
        ]);

    is(well_formed($svg), '', 'a chart is XML');
    is(scalar(() = $svg =~ /class="whisker"/g), 2, 'with a bar a value');
    like($svg, qr/>1\.10</, 'and its median');
    like($svg, qr/>x &lt; y</, 'and its name');
    unlike($svg, qr/(?:nan|inf)/i, 'all points are somewhere');
    like($svg, qr/class="ours" x="340"/, 'bars begin at one line');
}

isnt(well_formed('<a><b></a></b>'), '', 'what is no XML is seen');
isnt(well_formed('<a>&</a>'), '', 'so is a bare ampersand');

is(join(' ', map { Session::Bench::Chart::step($_) } 0.3, 0.5, 1.2, 30),
   '0.5 0.5 2 50', 'steps of an axis');


# ---------------------------------------------------------------- peers ---


my ($answer) = Session::Wire::parse(join "\r\n", 'HTTP/1.1 200 OK',
    'vary: Accept', 'Vary: Cookie', 'CSP: a nonce-AAAAAAAAAAAAAAAAAAAAAA==;',
    'Content-Length: 0', '', '');


sub wrong_headers {
    return join ' ', Session::Bench::Peer::wrong_headers($answer, @_);
}

is(wrong_headers('Vary: Cookie', 'CSP: a nonce-NONCE;'), '',
   'headers of a peer, and more');
is(wrong_headers('Vary: Accept-Encoding', 'CSP: a nonce-NONCE', 'X: 1'),
   'Vary CSP X', 'or none of ours');

my $data = File::Temp->newdir('ngx_session-XXXXXXXX', TMPDIR => 1);

Session::Bench::Peer::write_data("$data", 3, "b\n", ['X', 1], ['Y', 'NONCE']);

my ($first) = slurp("$data/sessions.tsv") =~ /(.*)/;
my ($cookie) = slurp("$data/cookies") =~ /(.*)/;
my ($id, @rest) = split /\t/, $first;
my $mac = Digest::SHA::hmac_sha256($id, pack 'H*', slurp("$data/key"));

like($id, qr/\A[\w-]{22}\z/, 'an id of a session of the peers');
is("@rest", '1 u0000000 User 0 user', 'and whose it is');
is($cookie, "session=$id." . MIME::Base64::encode_base64url($mac),
   'and its cookie');
is(slurp("$data/headers"), "X: 1\nY: NONCE\n", 'and headers');
is(scalar(() = slurp("$data/cookies") =~ /\n/g), 3, 'for each');

my $none = Session::Bench::Peer->new('none/such', "$data");

is($none->{why}, 'there is no bench/peers/none/such', 'a peer that is not');


# -------------------------------------------------------------- reports ---


sub run_with {
    my ($group, $name, $cpu, $floor, %arg) = @_;
    my %other = (rate => [90000], p50 => [0.3], p99 => [1]);

    return Session::Bench::Run->new(group => $group, name => $name,
        title => $name, status => 200, bytes => 3, %arg,
        score => { case => { cpu => $cpu, %other },
                   $floor ? (floor => { cpu => $floor, %other }) : () });
}

my $page = run_with('cases', 'dashboard', [10, 12, 20], [10, 8, 10]);
my $peer = { name => 'lua', about => 'nginx with Lua' };

is(join(' ', $page->ratios), '1 1.5 2', 'ratios are those of rounds');

my $report = Session::Bench::Report->new(
    runs => [
        $page, run_with('cases', 'return_2', [7, 7, 7]),
        run_with('ours', 'dashboard', [10, 12, 20]),
        run_with('peers', 'lua', [20, 20, 20], undef, peer => $peer),
        run_with('twins', 'dashboard', [30, 30, 30], undef, peer => $peer,
                 of => 'lua', path => '/board'),
        run_with('twins', 'dashboard', [30], undef, peer => $peer,
                 of => 'lua', why => '404 and not 200'),
        run_with('cases', 'up', [1], [1], why => '/up: 3 requests failed'),
    ],
    peers => [$peer, { name => 'apache', why => 'no such package' }],
    facts => { rounds => 3, seconds => 2, machine => 'm', versions => 'v',
               workers => 1, connections => 32, sessions => '7k', bytes => 9,
               sample => '7k', drawn => '5k' });
my $text = $report->text;

sub has_row {
    my ($what, @columns) = @_;
    my $row = '| ' . join ' | ', @columns;

    ok(index("\n$text", "\n$row |") >= 0, $what) or diag("$row\n$text");
}

has_row('a case and its ratio', 'dashboard', 200, 3, '12.00 (10.00-20.00)',
        '10.00', '1.50 (1.00-2.00)');
has_row('a floor has none', 'return_2', 200, 3, '7.00 (7.00-7.00)', '', '');
has_row('a peer is held against the floor and against ours', 'lua', 'one',
        '20.00 (20.00-20.00)', '2.00 (2.00-2.50)', '1.67 (1.00-2.00)', '');
has_row('and its answer to the same request against that case', 'dashboard',
        'lua', '`/board`', 200, 3, '30.00 (30.00-30.00)', '12.00',
        '2.5 (1.5-3.0)');
like($text, qr/^- lua, dashboard: 404 and not 200$/m, 'or it is left out');
like($text, qr/^- apache: no such package$/m, 'what was left out');
like($text, qr{^- up: /up: 3 requests failed$}m, 'and what went wrong');
unlike($text, qr/^\| up \|/m, 'is in no table');

my %svg = $report->charts;

is(join(' ', sort keys %svg), 'cases peers', 'charts of what was measured');
is(well_formed($svg{$_}), '', "$_.svg is XML") for sort keys %svg;

my $readme = Session::Bench::Readme::summary($report);

like($readme, qr/^\| the dashboard, with its lists \| 12\.0 \| 10\.0 \| 1\.50/m,
     'the summary has what was measured');
unlike($readme, qr/form/, 'and no more');
like(Session::Bench::Readme::replaced(slurp('README.md'), "New.\n"),
     qr/^<!--[ ]bench.run:[ ]begin[ ]-->\nNew\.\n
         <!--[ ]bench.run:[ ]end[ ]-->\n\n-[ ]/mx,
     'it has its place in README.md');
ok(!eval { Session::Bench::Readme::replaced("No place.\n", "New.\n") },
   'and no other');

for my $file (glob 'bench/results/*.svg') {
    is(well_formed(slurp($file)), '', "$file is XML");
}


# ----------------------------------------------------------------- times ---


# By the generator of C's rand(), so that they are the same everywhere.

my $state = 1;

sub uniform {
    $state = ($state * 1103515245 + 12345) % 2147483648;

    return $state / 2147483648;
}

# Around 1000 with a tail to the right, in steps of so many.

sub taken {
    my ($more, $step) = @_;

    return [map { $step * int((1000 + $more - 100 * log(1 - uniform()))
                              / $step) } 1 .. 20000];
}

for my $step (1, 10, 100) {
    my $same = welch(taken(0, $step), taken(0, $step));
    my $other = welch(taken(0, $step), taken(20, $step));

    cmp_ok(abs($same->{t}), '<', 4.5, "steps of $step: the same");
    ok(!told_apart($same), 'is not told apart');
    cmp_ok($other->{t}, '<', -4.5, 'what takes longer');
    ok(told_apart($other), 'is');
    cmp_ok($other->{shows}, '>', 0, 'from a difference on');
    cmp_ok($other->{shows}, '<', 20, 'that is less than theirs');
}

# by hand: means 1 and 2, variances 2/3, of 4 and 4
cmp_ok(abs(welch([0, 1, 1, 2], [1, 2, 2, 3])->{t} + sqrt 3), '<', 0.001,
       'it is the t of Welch');

done_testing();
