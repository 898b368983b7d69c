#!/bin/bash
# callers.sh -- the innermost frame of a block is the caller of malloc
#
# Whatever the way into the malloc family, no frame of the recorder's own is
# reported, and none of the program's is left out.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1

"$aliquot" record -q -f --rate 1 --mmap -o t.ctf -- \
    "$build/test/callers" >ways 2>err || fail "record: $(head -n 3 err)"
"$aliquot" script --format=memtrace t.ctf >txt
while read -r function bytes; do
    equal "$function" "$(innermost "$bytes")" "$function"
done <ways
equal "ways in" "$(wc -l <ways)" 12
finish
