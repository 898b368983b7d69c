#!/bin/bash
# steps.sh -- the profiler entered again between any two of its instructions
#
# usage: steps.sh BUILD_DIR SOURCE_DIR rate|exact [DOES] [WHATS]
#
# Sampling each word or in exact mode; DOES and WHATS are steps.c's.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

steps=$build/test/steps
how=(--rate 1)
[ "${3-}" != exact ] || how=(--exact)
plugin=$build/test/libtorture_plugin.so
[ "$(uname -m)" = x86_64 ] || exit 77

# Thousands of children have a recording each: in memory, where there is room.
shm_kb=$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)
if [ "${shm_kb:-0}" -gt 2000000 ]; then
    rm -r "$work"
    work=$(mktemp -d -p /dev/shm)
fi

# shellcheck disable=SC2086 # lists
for does in ${4-blocks fork}; do
    for what in ${5-blocks attach attach-free attach-realloc end profile \
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
