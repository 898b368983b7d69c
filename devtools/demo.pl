# demo.pl -- the program that ./dev demo records: what a small report job does
#
# It reads the log of an imaginary shop, splits the lines into fields, counts
# words, keeps an order per customer, sorts, and lets the raw text go before
# it prints ten lines.  The log comes from a generator with a fixed seed.
use strict;
use warnings;

my $state = 12345;
sub dice {
    my ($sides) = @_;
    $state = ($state * 1103515245 + 12345) % 2147483648;
    return int($state / 65536) % $sides;
}

my @names = qw(ada bertrand chandra dorothea edsger frances grace hedy
               ivan jean kurt leslie margaret niklaus octave pafnuty);
my @goods = qw(anchor barrel candle drum easel funnel goblet hammer
               inkwell jar kettle lantern mirror needle oar pulley);
my @notes = ('leave at the door', 'gift wrapped', 'fragile', 'second try',
             'call before noon', 'no substitutes', 'as last week');

sub line {
    my ($number) = @_;
    return join ';', $number, 1700000000 + 60 * $number + dice(60),
        $names[dice(16)] . dice(1500), $goods[dice(16)], 1 + dice(9),
        99 + dice(9900), $notes[dice(7)];
}

sub parse {
    my ($line) = @_;
    my ($id, $time, $who, $what, $count, $cents, $note) = split /;/, $line;
    return { id => $id, time => $time, who => $who, what => $what,
             count => $count, cents => $cents, note => $note };
}

my (%orders_of, %sold, %words);
for my $day (1 .. 12) {
    my @raw = map { line(10000 * $day + $_) } 1 .. 5000;
    my @orders = map { parse($_) } @raw;
    for my $order (@orders) {
        $words{lc $_}++ for split ' ', $order->{note};
        $sold{$order->{what}} += $order->{count} * $order->{cents};
        push @{$orders_of{$order->{who}}}, $order if $order->{count} > 6;
    }
    my @sorted = sort { $a->{cents} <=> $b->{cents} } @orders;
    my $page = join "\n", map { "$_->{who}\t$_->{what}" } @sorted;
    $page =~ s/(\w+)\t/\u$1\t/g;
}

my @best = sort { $sold{$b} <=> $sold{$a} || $a cmp $b } keys %sold;
printf "%-10s %12.2f\n", $_, $sold{$_} / 100 for @best[0 .. 9];
printf "%d customers, %d words in notes\n", scalar keys %orders_of,
    scalar keys %words;
