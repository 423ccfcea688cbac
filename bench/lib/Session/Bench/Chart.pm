package Session::Bench::Chart;

# Bars as SVG, lying one below the other: what it is, a bar as long as the
# median, a whisker from the least to the most, and the median as a number.
# It brings its own ground, dark where the reader prefers that.

use strict;
use warnings;

use List::Util qw(max min);
use POSIX qw(ceil floor);
use Session::Bench;

my $width = 840;
my $left = 340;             # where bars begin
my $right = 70;             # room for the number behind the longest
my $row = 26;
my $bar = 14;
my $top = 78;
my $bottom = 34;
my $letters_max = 46;       # of a label

my $style = <<'END';
.ground { fill: #ffffff; stroke: #d0d7de }
.line { stroke: #d8dee4 }
.one { stroke: #8c959f; stroke-dasharray: 4 3 }
.whisker { stroke: #24292f; stroke-width: 1.5 }
.ours { fill: #0f766e }
.other { fill: #8c959f }
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-size: 16px; font-weight: 600 }
.small { font-size: 12px; fill: #57606a }
@media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; stroke: #30363d }
    .line { stroke: #21262d }
    .one { stroke: #8b949e }
    .whisker { stroke: #f0f6fc }
    .ours { fill: #2dd4bf }
    .other { fill: #6e7681 }
    text { fill: #e6edf3 }
    .small { fill: #9198a1 }
}
END


# title; note: a line below it; log: 1 for a logarithmic scale; bars: each with
# label, values, and ours: 1.

sub svg {
    my (%chart) = @_;
    my @bars = grep { @{ $_->{values} } } @{ $chart{bars} };
    my $height = $top + $row * @bars + $bottom;
    my $scale = scale($chart{log}, map { @{ $_->{values} } } @bars);
    my $y = $top;
    my $body = '';

    for (@bars) {
        $body .= drawn($_, $y, $scale);
        $y += $row;
    }

    my $size = "width=\"$width\" height=\"$height\"";
    my $axis = axis($scale, $top - 8, $y + 4);
    my ($title, $note) = map { escape($_) } @chart{qw(title note)};

    return <<"END";
<svg xmlns="http://www.w3.org/2000/svg" $size viewBox="0 0 $width $height"
    role="img" aria-label="$title">
<style>
$style</style>
<rect class="ground" x="0.5" y="0.5" rx="6" width="@{[ $width - 1 ]}"
    height="@{[ $height - 1 ]}"/>
<text class="title" x="16" y="28">$title</text>
<text class="small" x="16" y="48">$note</text>
$axis$body</svg>
END
}


# Where a value lies, and where ticks stand.

sub scale {
    my ($log, @values) = @_;
    my $most = max(1, @values) * 1.02;
    my $room = $width - $left - $right;

    if ($log) {
        my $least = min(1, @values) / 1.1;
        my $span = log($most / $least);

        return { at => sub { $left + $room * log($_[0] / $least) / $span },
                 ticks => [grep { $_ >= $least && $_ <= $most }
                           map { my $ten = 10 ** $_; map { $_ * $ten } 1, 2, 5 }
                               -2 .. 6] };
    }

    my $step = step($most / 6);

    return { at => sub { $left + $room * $_[0] / $most },
             ticks => [map { $_ * $step } 0 .. floor($most / $step)] };
}


# The next of 1, 2, 5, 10 and so on.

sub step {
    my ($least) = @_;
    my $ten = 10 ** floor(log($least) / log(10));
    my ($times) = grep { $_ * $ten >= $least } 1, 2, 5, 10;

    return $times * $ten;
}


sub axis {
    my ($scale, $from, $to) = @_;
    my $text = '';

    for my $tick (@{ $scale->{ticks} }) {
        my $x = point($scale->{at}->($tick));
        my $class = $tick == 1 ? 'one' : 'line';

        $text .= <<"END";
<line class="$class" x1="$x" y1="$from" x2="$x" y2="$to"/>
<text class="small" x="$x" y="@{[ $to + 18 ]}"
    text-anchor="middle">@{[ sprintf '%g', $tick ]}</text>
END
    }

    return $text;
}


sub drawn {
    my ($it, $y, $scale) = @_;
    my @sorted = sort { $a <=> $b } @{ $it->{values} };
    my $median = median(@sorted);
    my ($from, $to, $least, $most)
        = map { point($_) } $left, map { $scale->{at}->($_) }
                                   $median, @sorted[0, -1];
    my $class = $it->{ours} ? 'ours' : 'other';
    my $middle = $y + $bar / 2;
    my $label = escape(shortened($it->{label}));
    my $number = sprintf $median < 10 ? '%.2f' : '%.1f', $median;
    my $width = point($to - $from);
    my ($high, $low) = ($middle - 4, $middle + 4);

    return <<"END";
<text x="@{[ $left - 10 ]}" y="@{[ $middle + 4.5 ]}"
    text-anchor="end">$label</text>
<rect class="$class" x="$from" y="$y" width="$width" height="$bar" rx="2"/>
<path class="whisker" fill="none"
    d="M$least ${high}V${low}M$least ${middle}H${most}M$most ${high}V$low"/>
<text x="@{[ $most + 8 ]}" y="@{[ $middle + 4.5 ]}">$number</text>
END
}


sub point { return sprintf('%.1f', $_[0]) + 0 }


sub shortened {
    my ($text) = @_;

    return length $text <= $letters_max
        ? $text : substr($text, 0, $letters_max - 1) . "\x{2026}";
}


# For XML, in ASCII alone.

sub escape {
    my ($text) = @_;
    my %name = ('&' => 'amp', '<' => 'lt', '>' => 'gt', '"' => 'quot');

    return ($text // '') =~ s/([&<>"])/&$name{$1};/gr
                         =~ s/([^ -~])/sprintf '&#%d;', ord $1/ger;
}


1;
