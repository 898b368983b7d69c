#!/bin/bash
# trees.sh -- profiles of thread trees: alone, under malloc's own checks, and
# beside the recorder, sampling and exact
# shellcheck disable=SC2154 # common.sh sets them
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

preload=$build/lib/libaliquot-preload.so
trees=$build/test/trees
parts=$(grep -c '^ *part("' "$source_dir/tests/preload/trees.c")

all_parts() { # WHAT STATUS OUTPUT
    equal "$1: status" "$2" 0
    equal "$1: parts" "$(grep -c '^ok ' "$3")" "$parts"
    equal "$1: complaints" "$(grep -v '^ok ' "$3")" ""
}

for round in 1 2 3; do
    status=$(status_of "$work/alone" env LD_PRELOAD="$preload" "$trees")
    all_parts "alone, round $round" "$status" "$work/alone"
done

status=$(status_of "$work/checked" env MALLOC_CHECK_=3 MALLOC_PERTURB_=165 \
    LD_PRELOAD="$preload:libc_malloc_debug.so.0" "$trees")
all_parts "malloc's checks" "$status" "$work/checked"

"$aliquot" record -q -o "$work/t.ctf" -- "$trees" >"$work/recorded" 2>&1
all_parts "recorded" $? "$work/recorded"
"$aliquot" check "$work/t.ctf" >/dev/null 2>&1
equal "recorded: the trace" $? 0

status=$(status_of "$work/exact" env LD_PRELOAD="$preload" \
    ALIQUOT="exact=1,out=$work/exact.%p.raw" "$trees")
all_parts "exact" "$status" "$work/exact"

finish
