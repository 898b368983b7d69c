#!/bin/bash
# recursion.sh -- a recursion of a million frames is sampled to its end
#
# usage: recursion.sh BUILD_DIR SOURCE_DIR
#
# At rate 1: on a managed heap, of malloc under a profile of its own, and by
# aliquot record.  What is wanted is the number of blocks and samples, and no
# hang.
# shellcheck source-path=SCRIPTDIR/../preload
. "$2/tests/preload/common.sh"

depth=1000000 every=50000
n=$((depth / every + 19)) # the last level counts as both
recursion() {
    timeout 900 "$build/test/recursion" "$@" "$depth" "$every" 2>&1
}

counted="$n blocks, $n samples,"
# all frames of a heap's stacks: a level has one, and there are a few outside
out=$(recursion heap)
contains heap "$out" "$counted from 50003 to 1000003 frames"
contains preload "$(LD_PRELOAD=$build/lib/libaliquot-preload.so \
    recursion preload)" "$counted"
for frames in 256 4096; do
    timeout 900 "$aliquot" record --rate 1 --depth "$frames" -f -o "$work/t" \
        -- "$build/test/recursion" malloc "$depth" "$every" >"$work/out" 2>&1 ||
        fail "record: $(cat "$work/out")"
    contains record "$(cat "$work/out")" "$n blocks"
    "$aliquot" check "$work/t" >"$work/out" 2>&1 ||
        fail "check: $(cat "$work/out")"
    contains report "$("$aliquot" report "$work/t" 2>&1)" \
        "$n stacks cut at the depth limit"
done
finish
