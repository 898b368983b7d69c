#!/bin/bash
# bench.sh SCHEME SMALL -- the programs of examples/scheme/bench give what
# bench.tsv has: program, small size, result, full size, result
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
while read -r program small small_result full full_result; do
    if [ "$2" = 1 ]; then
        size=$small result=$small_result
    elif [ "$program" = live ]; then
        continue # live.sh
    else
        size=$full result=$full_result
    fi
    got=$("$1" "$here/../../examples/scheme/bench/$program.scm" "$size" |
        tr ' ' ,)
    [ "$got" = "$result" ] ||
        { echo "$program $size gives $got, not $result"; exit 1; }
done <"$here/bench.tsv"
