# bench/run: what a request costs nginx with the module, beside the same bytes
# from nginx without it, and beside others who do the same.
#
#     bench/run [options] [case ...]
#
#   --rounds N          of turns that take turns (9)
#   --seconds S         of each turn (1)
#   --sessions N,...    in the store (1k,100k,1M); 10M needs 12 GiB of disk,
#                       and ten minutes to be filled
#   --workers N,...     of nginx (1,2)
#   --http 1,2          versions (1,2)
#   --peers NAME,...    of bench/peers; all or none (all)
#   --output FOLDER     where results go (bench/results)
#   --readme            puts the summary into README.md as well
#
# The server has core 0, the generator core 1.  A case is a file of bench/cases.
# Without names all are measured; with names these are, and in all
# circumstances, of which only some cases see more than the usual ones: see
# Session::Bench::Plan.  Filled stores stay in SESSION_BUILD/stores for some
# hours.
#
# Writes run.md and the charts beside it.

use strict;
use warnings;

use Getopt::Long qw(GetOptions);
use Session::Bench;
use Session::Bench::Generator;
use Session::Bench::Peer;
use Session::Bench::Plan;
use Session::Bench::Readme;
use Session::Bench::Report;
use Session::Bench::Run;
use Session::Bench::Site;
use Session::Bench::Stock;
use Test::More;

my %option = (rounds => 9, seconds => 1, sessions => '1k,100k,1M',
              workers => '1,2', http => '1,2', peers => 'all',
              output => 'bench/results');
my $peer_sessions = 10_000;
my $turn_extra = 0.35;          # seconds that a turn takes beside its load

GetOptions(\%option, map({ "$_=s" } keys %option), 'readme')
    or die "bench/run [--rounds N] [--seconds S] [--sessions N,...]"
        . " [--workers N,...] [--http 1,2] [--peers NAME,...|all|none]"
        . " [--output FOLDER] [--readme] [case ...]\n";
-d $option{output} or die "$option{output}: no such folder\n";

my @lines = planned();
my @peer_names = $option{peers} eq 'none' ? ()
               : $option{peers} eq 'all' ? Session::Bench::Peer::names()
               : split /,/, $option{peers};
my @rounds = (0, 1 .. $option{rounds});

# Filling stores, installing peers, and a turn as long as it may be.
bounded(7200 + @rounds * (2 * @lines + 2 * @peer_names)
               * ($option{seconds} + 5));

my (%site, @memory);
my @runs = map { case_run($_) } @lines;
my $base = site(@{ $lines[0] }{qw(sessions workers)});
my @peers = peers();

push @runs, compared(), twins() if @peers;
estimate();

my %before = map { $_ => tree_memory($site{$_}->pid) } keys %site;
my %peer_before = map { $_->{name} => tree_memory($_->pid) }
                  grep { !$_->{why} } @peers;

for my $round (@rounds) {
    print STDERR $round ? "round $round of $option{rounds}\n" : "warm-up\n";
    $_->round($round, $option{seconds})
        for $round % 2 ? @runs : reverse @runs;
}

push @memory, map { site_memory($_) } sort by_size keys %site;
push @memory, map { peer_memory($_) } grep { !$_->{why} } @peers;

my $report = Session::Bench::Report->new(runs => \@runs, peers => \@peers,
                                         facts => facts());

$_->stop for @peers;
$_->done for values %site;
is(join("\n", map { "$_->{name}: $_->{why}" }
              grep { $_->{why} && !$_->{peer} } @runs), '',
   'all answers were right');

results('run', $report->text, $option{output});
write_charts($report->charts);
Session::Bench::Readme::write($report) if $option{readme};


# ----------------------------------------------------------------- plan ---


sub planned {
    my %cases = Session::Bench::Case->all('bench/cases');
    my @names = @ARGV ? @ARGV
        : sort { $cases{$a}->place cmp $cases{$b}->place } keys %cases;
    my @unknown = grep { !$cases{$_} } @names;

    die "no bench/cases/$unknown[0]\n" if @unknown;

    my @http = split /,/, $option{http};

    die "--http: 1 or 2\n" if grep { !/\A[12]\z/ } @http;

    return Session::Bench::Plan::lines(
        cases => [@cases{@names}], named => scalar @ARGV, http => \@http,
        map { $_ => [Session::Bench::Plan::numbers($option{$_})] }
            qw(sessions workers));
}


sub site {
    my ($sessions, $workers) = @_;

    return $site{"$sessions $workers"}
        //= Session::Bench::Site->new(sessions => $sessions,
                                      workers => $workers);
}


sub case_run {
    my ($line) = @_;
    my $site = site(@$line{qw(sessions workers)});
    my $case = $site->{cases}{ $line->{case}{name} };

    return Session::Bench::Run->new(%$line,
        name => $case->{name}, title => $case->{title},
        status => $case->{status}, bytes => $case->{bytes},
        case => side($site, $case, $case->{path}, $line),
        $case->{floor} eq 'none' ? ()
            : (floor => side($site, $case, "/floor/$case->{name}", $line)));
}


sub side {
    my ($site, $case, $path, $line) = @_;
    my $law = $line->{law};

    return { pid => $site->pid, request => {
        url => $site->url($path, $line->{http}), version => $line->{http},
        method => $case->{method}, headers => [$site->headers($case, $law)],
        code => $case->{status}, wire => $case->{wire}, body => $case->{bytes},
        $law ? (law => $law,
                cookies => $line->{cookies} // $site->{stock}{cookies}) : (),
    } };
}


# ---------------------------------------------------------------- peers ---


sub peers {
    return if !@peer_names;

    my $data = $base->{t}->dir . '/peers';
    my $r = $base->answer($base->{cases}{dashboard});
    my ($nonce) = ($r->header('Content-Security-Policy') // '')
        =~ /'nonce-([^']+)'/;

    # Our policy has the nonce twice; they need not replace it but once.
    my @headers = map { my ($name, $value) = @$_;
                        [$name, $value =~ s/\Q$nonce\E/NONCE/r] }
                  grep { $_->[0] !~ $Session::Bench::Site::own }
                  @{ $r->{headers} };

    Session::Bench::Peer::write_data($data, $peer_sessions, $r->body,
                                     @headers);

    return map { Session::Bench::Peer->new($_, $data) } @peer_names;
}


# Ours and theirs: the same number of sessions drawn from, the same length.

sub compared {
    my %line = (%{ $lines[0] }, http => 1);
    my $cookies = $base->{t}->write_file('some-cookies', join '',
        map { "$_\n" } $base->{stock}->cookies_some($peer_sessions));
    my @runs;

    for my $law (undef, 'zipf') {
        for my $name (qw(dashboard file_page)) {
            my $case = $base->{cases}{$name};

            push @runs, Session::Bench::Run->new(group => 'ours', law => $law,
                name => $name, title => "ours: $case->{title}",
                case => side($base, $case, $case->{path},
                             { %line, law => $law, cookies => $cookies }));
        }

        push @runs, map { peer_run($_, $law) } grep { !$_->{why} } @peers;
    }

    return @runs;
}


sub peer_run {
    my ($peer, $law) = @_;
    my @headers = $base->{cases}{dashboard}->headers($law ? undef
                                                          : $peer->{cookie});

    return Session::Bench::Run->new(group => 'peers', law => $law,
        name => $peer->{name}, title => $peer->{name}, peer => $peer,
        case => { pid => $peer->pid, request => {
            url => $peer->url, method => 'GET', headers => \@headers,
            code => 200, wire => $peer->{wire}, about => 0.02,
            $law ? (law => $law, cookies => $peer->{cookies}) : (),
        } });
}


# What a peer has for a request of ours, beside our case.

sub twins {
    my @cases = map { $_->{case} } grep { $_->{group} eq 'cases' } @lines;
    my @runs;

    for my $peer (grep { !$_->{why} } @peers) {
        push @runs, map { twin($peer, $_) }
                    grep { $_->of_peer($peer->{name}) } @cases;
    }

    return @runs;
}


sub twin {
    my ($peer, $case) = @_;
    my ($request, $why) = $peer->request($case);

    return Session::Bench::Run->new(group => 'twins', peer => $peer,
        of => $peer->{name}, name => $case->{name},
        title => $case->{title}, why => $why,
        status => $case->{status}, bytes => $request && $request->{body},
        path => $case->of_peer($peer->{name})->{path},
        case => { pid => $peer->pid, request => $request });
}


# ------------------------------------------------------------- results ---


sub estimate {
    my $turns = 0;

    $turns += grep { $_ } @$_{qw(floor case)} for @runs;

    printf STDERR "%d lines, %d turns a round, about %.0f minutes\n",
        scalar @runs, $turns,
        @rounds * $turns * ($option{seconds} + $turn_extra) / 60;
}


sub by_size {
    my ($x, $y) = map { [split ' '] } $a, $b;

    return $x->[0] <=> $y->[0] || $x->[1] <=> $y->[1];
}


sub site_memory {
    my ($key) = @_;
    my ($sessions, $workers) = split ' ', $key;
    my $stock = $site{$key}{stock};
    my $own = 0;

    $own += memory($_)->{Pss_Anon} for $site{$key}{t}->workers;

    return [sprintf('ours, %d worker%s', $workers, $workers > 1 ? 's' : ''),
            Session::Bench::Plan::number_text($sessions),
            sprintf('%.1f', $before{$key}),
            sprintf('%.1f', tree_memory($site{$key}->pid)),
            sprintf('%.1f', $own),
            sprintf('%.0f', ($stock->{sessions_bytes} - $stock->{users_bytes})
                            / $sessions),
            sprintf '%.0f', $stock->{users_bytes} / $stock->{users}];
}


sub peer_memory {
    my ($peer) = @_;

    return [$peer->{name}, Session::Bench::Plan::number_text($peer_sessions),
            map({ sprintf '%.1f', $_ } $peer_before{ $peer->{name} },
                tree_memory($peer->pid)), '', '', ''];
}


# What tables tell beside numbers of lines.

sub facts {
    my $versions = $base->{t}->client->get('/-/versions.json',
        $base->headers($base->{cases}{versions}))->body;
    my %version = $versions =~ /"(\w+)":"([^":]+)/g;

    return {
        rounds => $option{rounds}, seconds => $option{seconds},
        machine => machine(), memory => \@memory,
        versions => join(', ', "Module $version{module}", @version{qw(lmdb
                         openssl)}, Session::Bench::Generator::versions()),
        workers => $lines[0]{workers},
        connections => $Session::Bench::Generator::connections,
        bytes => $base->{cases}{dashboard}{bytes},
        sessions => Session::Bench::Plan::number_text($lines[0]{sessions}),
        drawn => Session::Bench::Plan::number_text($peer_sessions),
        sample => Session::Bench::Plan::number_text(
            Session::Bench::Stock::sample_max()),
    };
}


sub write_charts {
    my (%svg) = @_;

    for my $name (sort keys %svg) {
        my $file = "$option{output}/$name.svg";

        open my $out, '>', $file or die "$file: $!\n";
        print $out $svg{$name};
        close $out or die "$file: $!\n";
        print "written to $file\n";
    }
}
