package Session::Bench::Report;

# The lines of a run as Markdown tables and charts.
#
#   runs        Session::Bench::Run, all of them
#   peers       Session::Bench::Peer, all that were asked for
#   facts       what else is told: rounds, seconds, machine, versions, workers,
#               connections, sessions, sample (most that cookies are drawn
#               from), drawn (of peers), bytes (of what peers send), memory
#               (rows)

use strict;
use warnings;

use Session::Bench;
use Session::Bench::Chart;
use Session::Bench::Plan;
use Text::Wrap ();

my %number = (cpu => '%.2f', rate => '%.0f', p50 => '%.2f', p99 => '%.2f');


sub new {
    my ($class, %arg) = @_;

    return bless { %arg }, $class;
}


sub group {
    my ($self, $group) = @_;

    return grep { $_->{group} eq $group && !$_->{why} } @{ $self->{runs} };
}


# Those that other tables hold against: the usual case of this name.

sub usual {
    my ($self, $name) = @_;

    return (grep { $_->{name} eq $name } $self->group('cases'))[0];
}


# --------------------------------------------------------------- tables ---


sub text {
    my ($self) = @_;

    return join "\n", grep { $_ ne '' } $self->head,
        $self->table('Cases', 'cases', cases_head(),
                     sub { @{ $_[0] }{qw(status bytes)} }, 'status', 'bytes'),
        $self->table('Sessions', 'sessions', $self->sessions_head,
                     \&sessions_row, 'sessions', 'drawn by'),
        $self->table('Workers', 'workers', "All of them share one core.\n",
                     sub { $_[0]{workers} }, 'workers'),
        $self->table('HTTP/2', 'http', "Without TLS.\n",
                     sub { "HTTP/$_[0]{http}" }, 'version'),
        $self->peers_table, $self->twins_table, $self->left_out,
        $self->memory_table;
}


sub head {
    my ($self) = @_;

    return $self->told(<<'END');
{versions}.

The server is pinned to core 0, the generator to core 1. Rounds: {rounds},
after one that warms up, in each of which all lines take turns of {seconds} s.
Where nothing else is said, nginx has {workers} worker and no access log, the
store holds {sessions} sessions, and {connections} kept-alive connections send
the same cookie with every request.

**CPU** is user and system time of all processes of the server for one request;
what `proxy_pass` asks runs beside the generator and does not count.
The **floor** is nginx without us, sending as many bytes to the same request:
`return` with literal `add_header` lines, or the same file or upstream without
protection and with the headers that protection adds. A **ratio** is made in
each round, of two turns in a row. All numbers are medians of the rounds, in
brackets the least and the most. Latencies are those of a generator that always
has {connections} requests under way, so they say how the work is spread, and
not how long a visitor waits.
END
}


# Words with facts in braces, in lines as long as they may be.

sub told {
    my ($self, $text) = @_;

    $text =~ s/\{(\w+)\}/$self->{facts}{$1} \/\/ die "no $1\n"/ge;

    local ($Text::Wrap::columns, $Text::Wrap::huge) = (80, 'overflow');

    return join "\n", map { Text::Wrap::wrap('', '', s/\n/ /gr) . "\n" }
                      map { s/\s+\z//r } split /\n\n+/, $text;
}


sub cases_head {
    return <<'END';
![Processor time of each case beside its floor](cases.svg)
END
}


sub sessions_head {
    my ($self) = @_;

    return $self->told(<<'END');
Cookies are drawn from up to {sample} sessions that lie evenly among all:
uniformly, or by zipf's law, under which few are asked for most of the time.
Last uses are not written down meanwhile (`touch=20h`).

![The ratio with few and many sessions](sessions.svg)
END
}


sub peers_head {
    my ($self) = @_;

    return $self->told(<<'END');
Each answers who is signed in with the body and the headers of our dashboard,
{bytes} bytes and a nonce for each answer, from {drawn} sessions; the floor is
that of the dashboard. A cookie that was changed gets 401. All processes of a
server count, Redis and whatever else it needs.

![Ours and others](peers.svg)
END
}


# A table of lines with a floor, or without.

sub table {
    my ($self, $title, $group, $head, $more, @columns) = @_;
    my @runs = $self->group($group) or return '';
    my @names = ('case', @columns, 'CPU us', 'floor us', 'ratio', 'req/s',
                 'floor req/s', 'p50 ms', 'p99 ms', 'floor p99');

    return "## $title\n\n$head\n" . header(@names)
        . join '', map { row($_->{title}, $more->($_), numbers($_)) } @runs;
}


sub sessions_row {
    return Session::Bench::Plan::number_text($_[0]{sessions}), $_[0]{law};
}


sub numbers {
    my ($run) = @_;
    my @ratios = $run->ratios;

    return spread($number{cpu}, $run->values('case', 'cpu')),
        middle($run, 'floor', 'cpu'),
        @ratios ? spread('%.2f', @ratios) : '',
        middle($run, 'case', 'rate'), middle($run, 'floor', 'rate'),
        middle($run, 'case', 'p50'), middle($run, 'case', 'p99'),
        middle($run, 'floor', 'p99');
}


sub middle {
    my ($run, $side, $what) = @_;
    my @values = $run->values($side, $what) or return '';

    return sprintf $number{$what}, median(@values);
}


sub header {
    return '| ' . join(' | ', @_) . " |\n|" . '---|' x @_ . "\n";
}


sub row { return '| ' . join(' | ', @_) . " |\n" }


# Ours among the peers: the page of the same length, and the file, with the
# cookies that the peers got.

sub peers_table {
    my ($self) = @_;
    my $page = $self->usual('dashboard') // return '';
    my @runs = sort by_cost $self->group('ours'), $self->group('peers');

    return '' if !$self->group('peers');

    my $text = "## Others\n\n" . $self->peers_head . "\n"
        . header('', 'sessions', 'CPU us', 'of the floor', 'of our page',
                 'of our file', 'req/s', 'p50 ms', 'p99 ms');

    for my $run (@runs) {
        my ($ours, $file) = map { $self->ours($_, $run->{law}) }
                                qw(dashboard file_page);

        $text .= row($run->{title}, $run->{law} ? 'zipf' : 'one',
            spread($number{cpu}, $run->values('case', 'cpu')),
            map({ @$_ ? spread('%.2f', @$_) : '' }
                [$run->ratios($page)],
                map { [$_ ? $run->ratios($_, 'case') : ()] } $ours, $file),
            map { middle($run, 'case', $_) } qw(rate p50 p99));
    }

    return $text . "\n" . join '', map { "- $_->{name}: $_->{about}\n" }
                                   grep { !$_->{why} } @{ $self->{peers} };
}


sub by_cost {
    return !!$a->{law} <=> !!$b->{law}
        || median($a->values('case', 'cpu'))
           <=> median($b->values('case', 'cpu'));
}


sub ours {
    my ($self, $name, $law) = @_;

    return (grep { $_->{name} eq $name && ($_->{law} // '') eq ($law // '') }
            $self->group('ours'))[0];
}


# Ours is the usual line of the same name.

sub twins_table {
    my ($self) = @_;
    my @runs = $self->group('twins') or return '';
    my $text = "## The same requests\n\n" . $self->told(<<'END') . "\n"
What a peer has for a request of ours, of the same status and with a session
where ours has one; the body is its own. **Times ours** is its processor time,
as a multiple of that of our case in the same round.
END
        . header('case', 'peer', 'its path', 'status', 'bytes', 'CPU us',
                 'ours us', 'times ours', 'req/s', 'p50 ms', 'p99 ms');

    for my $run (@runs) {
        my $ours = $self->usual($run->{name}) // next;

        $text .= row($run->{title}, $run->{of}, "`$run->{path}`",
            @$run{qw(status bytes)},
            spread($number{cpu}, $run->values('case', 'cpu')),
            middle($ours, 'case', 'cpu'),
            spread('%.1f', $run->ratios($ours, 'case')),
            map { middle($run, 'case', $_) } qw(rate p50 p99));
    }

    return $text;
}


sub left_out {
    my ($self) = @_;
    my @out = map { [join(', ', grep { $_ } @$_{qw(of name law)}), $_->{why}] }
              grep { $_->{why} } @{ $self->{peers} }, @{ $self->{runs} };

    return '' if !@out;
    return "## Left out\n\n" . join '', map { "- $_->[0]: $_->[1]\n" } @out;
}


sub memory_table {
    my ($self) = @_;
    my @rows = @{ $self->{facts}{memory} || [] } or return '';

    return "## Memory and disk\n\n" . $self->told(<<'END') . "\n"
Pss of all processes, in MiB: right after the start, and after all rounds. The
map of a store is part of it as far as it was read; all workers share it, and
the system can take its pages back.
END
        . header('server', 'sessions', 'before', 'after', 'after, not shared '
                 . 'and no file', 'bytes a session', 'bytes a user')
        . join '', map { row(@$_) } @rows;
}


# --------------------------------------------------------------- charts ---


# Name and SVG of each.

sub charts {
    my ($self) = @_;
    my $rounds = $self->{facts}{rounds};
    my %chart = (
        cases => { title => 'Processor time of a request, as a multiple of its'
                            . ' floor',
                   bars => [map { bar($_, $_->{title}, $_->ratios) }
                            $self->group('cases')] },
        sessions => { title => 'The same, with few and many sessions',
                      bars => [map { bar($_, join(', ', $_->{name},
                                         sessions_row($_)), $_->ratios) }
                               $self->group('sessions')] },
        peers => { title => 'Ours and others: processor time, as a multiple of'
                            . ' the same bytes from nginx', log => 1,
                   bars => $self->peer_bars },
    );

    for my $chart (values %chart) {
        $chart->{note} = "Median of $rounds rounds, least and most;"
            . " $self->{facts}{machine}";
    }

    $chart{peers}{note} .= '; logarithmic; one session or '
        . "$self->{facts}{drawn}";

    return map { ($_ => Session::Bench::Chart::svg(%{ $chart{$_} })) }
           grep { grep { @{ $_->{values} } } @{ $chart{$_}{bars} } }
           sort keys %chart;
}


sub bar {
    my ($run, $label, @values) = @_;

    return { label => $label =~ tr/`//dr, values => \@values,
             ours => $run->{group} ne 'peers' };
}


sub peer_bars {
    my ($self) = @_;
    my $page = $self->usual('dashboard');
    my @peers = $self->group('peers');

    return [] if !$page || !@peers;

    my @bars = map { bar($_, ($_->{peer} ? '' : 'ours: ') . $_->{name}
                             . ($_->{law} ? ', many' : ', one'),
                         $_->ratios($page)) }
               $self->group('ours'), @peers;

    return [sort { median(@{ $a->{values} }) <=> median(@{ $b->{values} }) }
            grep { @{ $_->{values} } } @bars];
}


1;
