set f [open words.txt]
while {[gets $f line] >= 0} { foreach w [split $line] { incr counts($w) } }
puts [array size counts]
set l {}
for {set i 0} {$i < 5000} {incr i} { lappend l [expr {$i * $i}] }
puts [string length [join $l ,]]
