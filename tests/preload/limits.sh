#!/bin/bash
# limits.sh -- tasks under limits on malloc: alone, and beside the recorder,
# sampling, each block sampled, and exact
# shellcheck disable=SC2154 # common.sh sets them
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

preload=$build/lib/libaliquot-preload.so
parts=$(cat "$source_dir"/tests/preload/{limits,leaves,samples}.c |
    grep -cE '^ *(part|sequences)\("')

all_parts() { # WHAT STATUS OUTPUT PARTS
    equal "$1: status" "$2" 0
    equal "$1: parts" "$(grep -c '^ok ' "$3")" "$4"
    equal "$1: complaints" "$(grep -v '^ok ' "$3")" ""
}

for limits in "$build"/test/limits "$build"/test/limits_static; do
    name=${limits##*/}
    status=$(status_of "$work/none" "$limits" none)
    all_parts "$name, none" "$status" "$work/none" 1
    status=$(status_of "$work/alone" env LD_PRELOAD="$preload" "$limits")
    all_parts "$name, alone" "$status" "$work/alone" $((parts - 1))
    for how in "--interval=512K" "--rate=1" "--rate=0.01 --mmap" --exact; do
        # shellcheck disable=SC2086 # words
        status=$(status_of "$work/recorded" "$aliquot" record -q -f $how \
            -o "$work/t.ctf" -- "$limits" short)
        all_parts "$name, $how" "$status" "$work/recorded" $((parts - 1))
        "$aliquot" check "$work/t.ctf" >/dev/null 2>&1
        equal "$name, $how: the trace" $? 0
        rm -f "$work"/t.*ctf
    done
done

finish
