#!/bin/bash
# own.sh -- allocators that are linked into the program: found by their names,
# and recorded as malloc's blocks are
#
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

[ "$(uname -m)" = x86_64 ] || { echo "skipped: own allocators: not an x86-64 machine"; exit 77; }
cd "$work" || exit 1

# figures FUNCTION: bytes and blocks that it allocated, then those that stay
figures() {
    "$aliquot" script --format=memtrace it.ctf | awk -v name=" $1@" '
        $3 ~ /^alloc/ && index($0, name) {
            split($5, len, "="); all += len[2]; n_all++
            size[$2] = len[2]; n++; bytes += len[2]
        }
        $3 == "collect" && ($2 in size) { n--; bytes -= size[$2]; delete size[$2] }
        END { print all + 0, n_all + 0, bytes + 0, n + 0 }'
}

# record PROGRAM OPTION...: what it prints, and what record says, in `said`
record() {
    local program=$1
    shift
    got=$("$aliquot" record -f -o it.ctf "$@" -- "$program" 2>said)
    equal "$program $*: exit status" $? 0
    equal "$program $*: does the same" "$got" "$("$program")"
}

# seen WHAT: the blocks of own.c are in it.ctf
seen() {
    equal "$1: malloc" "$(figures by_malloc)" "100000 1000 0 0"
    equal "$1: realloc" "$(figures by_realloc)" "200000 1000 200000 1000"
    equal "$1: calloc" "$(figures by_calloc)" "300000 1000 0 0"
    equal "$1: memalign" "$(figures by_memalign)" "400000 1000 200000 500"
    equal "$1: threads" "$(figures run)" "150000 3000 0 0"
    contains "$1: said" "$(cat said)" "it has an allocator of its own"
    "$aliquot" report it.ctf >report.txt
    equal "$1: remarks" "$(grep -c '^!\|but those' report.txt)" 0
}

test=$build/test
strip -o own_stripped "$test"/own_named
for how in --exact --interval=8; do
    record "$test"/own_je $how # a known prefix
    seen "je_ $how"
    record "$test"/own_named $how --allocator=other_,own_ # one that is asked for
    seen "own_ $how"
    contains "own_ $how: another" "$(cat said)" "no functions other_malloc"
    record "$test"/own_malloc_linked $how # malloc itself
    seen "malloc $how"
done
record "$test"/own_malloc_linked --mmap --exact
seen "malloc, mappings"

got=$(LD_PRELOAD=$build/lib/libaliquot-preload.so \
    ALIQUOT=allocator=a:b:c:d:e:f:g:h:i_,out=it.alqraw \
    "$test"/own_named 2>&1 >/dev/null)
contains "too many" "$got" "allocator=i_ is left out: at most 8"
rm -f it.alqraw

record "$test"/own_named --exact # nobody knows
equal "not asked for" "$(figures by_malloc)" "0 0 0 0"
record ./own_stripped --exact --allocator=own_
contains "stripped" "$(cat said)" "no functions own_malloc"
record "$test"/own_je --exact --allocator=none
equal "none" "$(figures by_malloc)" "0 0 0 0"
record "$test"/own_refused --exact
equal "refused" "$(figures by_malloc)" "0 0 0 0"
record "$test"/own_looped --exact
equal "looped" "$(figures by_malloc)" "0 0 0 0"
contains "looped: which" "$(cat said)" \
    "is not recorded: je_free: it branches into its first instructions"
record "$test"/own_refused --exact
contains "refused: which" "$(cat said)" \
    "is not recorded: je_free: it begins with an instruction that cannot be moved"

# Real ones, with C++'s operators, where their archives are.
forms=$source_dir/tests/preload/forms.cpp
"$aliquot" record -q -f --exact -o it.ctf -- "$test"/forms "$forms" >/dev/null
plain=$(figures of_c)
by_mimalloc=$(awk '{ print $1, $2 + 1, $3, $4 + 1 }' <<<"$plain")
for allocator in jemalloc tcmalloc_minimal mimalloc; do
    if [ ! -x "$test"/forms_$allocator ]; then
        echo "skipped: $allocator in a program: no static library of it"
        continue
    fi
    # realloc(p, 0) is a block of mimalloc's, of no bytes.
    [ $allocator != mimalloc ] || plain=$by_mimalloc
    for how in --exact --interval=8; do
        "$aliquot" record -f $how -o it.ctf -- "$test"/forms_$allocator \
            "$forms" >/dev/null 2>said
        equal "$allocator $how: exit status" $? 0
        contains "$allocator $how: said" "$(cat said)" \
            "it has an allocator of its own"
        equal "$allocator $how: blocks" "$(figures of_c)" "$plain"
        "$aliquot" report it.ctf >report.txt
        equal "$allocator $how: remarks" "$(grep -c '^!\|but those' report.txt)" 0
    done
done

# A program in Rust that asks one of them past malloc, as their crates do.
for allocator in jemalloc mimalloc; do
    program=$test/rust_$allocator
    if [ ! -x "$program" ]; then
        echo "skipped: $allocator in a program in Rust: no rustc, or no static library of it"
        continue
    fi
    for how in --exact --interval=8; do
        record "$program" $how
        what="Rust, $allocator $how"
        equal "$what: boxes" "$(figures by_box)" "100000 1000 50000 500"
        equal "$what: zeros" "$(figures by_zeros)" "300000 1000 0 0"
        equal "$what: growth" "$(figures by_growth)" "600000 2000 0 0"
        contains "$what: said" "$(cat said)" "it has an allocator of its own"
    done
done
finish
