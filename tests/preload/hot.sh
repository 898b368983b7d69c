#!/bin/bash
# hot.sh -- the fast paths of the malloc family, disassembled
#
# So many instructions from the entry to the jump into the allocator, and not
# one more, whatever the preload learns to do: as gcc makes them at -O2.
# shellcheck disable=SC2154 # common.sh sets them
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[ "$(uname -m)" = x86_64 ] || exit 77

# path FUNCTION: its instructions up to the first jump through memory
path() {
    objdump -d --no-show-raw-insn --disassemble="$1" \
        "$build/lib/libaliquot-preload.so" |
        awk '$1 ~ /^[0-9a-f]+:$/ { $1 = ""; print }
             $1 == "" && /jmp +\*/ { exit }'
}

# at_most FUNCTION N
at_most() {
    local code n
    code=$(path "$1")
    n=$(wc -l <<<"$code")
    contains "$1 ends in a jump to the allocator" "$code" 'jmp *'
    if [ "$n" -le "$2" ]; then pass; else
        fail "$1: $n instructions, $2 at most:"
        echo "$code"
    fi
}

at_most malloc 6
at_most free 9
at_most calloc 9
at_most realloc 16
at_most memalign 6
at_most posix_memalign 6

finish
