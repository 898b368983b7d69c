use strict;
my %counts;
open my $in, "<", "text.txt" or die;
while (<$in>) { $counts{lc $_}++ for /\w+/g }
my @most = sort { $counts{$b} <=> $counts{$a} || $a cmp $b } keys %counts;
print scalar(@most), " $most[0] $counts{$most[0]}\n";
print join(",", map { sprintf "%x", $_ * $_ } 1 .. 2000), "\n";
