#!/bin/bash
# domains.sh SCHEME SMALL -- two domains run a program at the same time, each with
# variables of its own; an error in one of them is the status of all
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
bench=$here/../../examples/scheme/bench
size=$(($2 ? 4 : 12))
one=$("$1" "$bench/gcbench.scm" $size | wc -c)
two=$("$1" -d 2 "$bench/gcbench.scm" $size | wc -c) # they may print at once
[ "$two" = $((2 * one)) ] || { echo "$two characters, not twice $one"; exit 1; }
[ "$2" = 1 ] || "$1" -d 2 "$here/core.scm" 10 >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '(car 1)' >"$work/t.scm"
status=0
"$1" -d 3 "$work/t.scm" 2>"$work/err" || status=$?
if [ $status != 1 ] || [ "$(grep -c 'error: car: not a pair' "$work/err")" != 3 ]; then
    echo "status $status"
    cat "$work/err"
    exit 1
fi
