#!/bin/bash
# steps.sh -- the profiler entered again between any two of its instructions
#
# Sampling each word or, with the argument --exact, in exact mode.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

steps=$build/test/steps
how=(--rate 1)
[ "${3-}" != --exact ] || how=(--exact)
plugin=$build/test/libtorture_plugin.so
[ "$(uname -m)" = x86_64 ] || exit 77

# shellcheck disable=SC2086 # lists
for does in ${5-blocks fork}; do
    for what in ${4-blocks attach attach-free attach-realloc end profile \
        limits limits-unwinding dlclose}; do
        LD_PRELOAD=$build/test/libsafe_malloc.so "$aliquot" record -q -f \
            "${how[@]}" -o "$work/t.ctf" -- "$steps" "$what" "$does" "$plugin" \
            >"$work/out" 2>"$work/err"
        equal "$what, $does: status" $? 0
        equal "$what, $does" "$(cat "$work/out")" "steps many, 0 failed"
        equal "$what, $does: said" \
            "$(grep -v 'inside a signal handler$' "$work/err")" ""
        "$aliquot" check "$work/t.ctf" >"$work/out"
        equal "$what, $does: the trace" $? 0
        rm -f "$work"/t.*ctf
    done
done

finish
