#!/bin/bash
# agreement.sh -- our stacks equal libunwind's, in at least 1e6 captures
#
# usage: agreement.sh PROBE SOURCE_DIR
#
# Runs real programs under probe.c, which says what each class means.  Passes
# if nothing is unexplained, replay equalled a fresh walk each time it was
# compared, and there were enough captures.  ALQ_UNWIND_EVERY=1 captures at
# every malloc.
set -u
probe=$(readlink -f "$1")
source_dir=$(cd "$2" && pwd)
loads=$source_dir/tests/workloads
want=1000000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

ldconfig=$(PATH=$PATH:/sbin:/usr/sbin command -v ldconfig)
if ! "$ldconfig" -p | grep 'libunwind\.so\.8' >/dev/null; then
    echo "skipped: libunwind.so.8 is not installed"
    exit 77
fi

total=0 bad=0
# field LINE NAME
field() {
    sed -E "s/.*\\<$2 ([0-9]+).*/\\1/" <<<"$1"
}

# run NAME EVERY COMMAND...
run() {
    local name=$1 every=${ALQ_UNWIND_EVERY:-$2} line n
    shift 2
    : >out
    if ! ALQ_UNWIND_EVERY=$every ALQ_UNWIND_OUT=$work/out \
        LD_PRELOAD=$probe "$@" >/dev/null 2>err </dev/null; then
        echo "$name: failed: $(head -n 3 err)"
        bad=$((bad + 1))
    fi
    grep '^#' out
    while read -r line; do
        echo "$name: $line"
        n=$(field "$line" captures)
        total=$((total + n))
        bad=$((bad + $(field "$line" unexplained)))
        bad=$((bad + $(field "$line" replay_wrong)))
    done < <(grep '^captures' out)
    grep -q '^captures' out || { echo "$name: no result"; bad=$((bad + 1)); }
}

have() {
    command -v "$1" >/dev/null || { echo "left out: no $1"; return 1; }
}

if have python3; then
    PYTHONMALLOC=malloc run python 4 /usr/bin/python3 "$loads/json_heavy.py" 2
    python3 "$loads/gen_sql.py" 0.2 >work.sql
    have sqlite3 && run sqlite 3 "$(command -v sqlite3)" :memory: \
        '.read work.sql'
    python3 "$loads/gen_c.py" 60 >big.c
    cc1=$(gcc -print-prog-name=cc1 2>/dev/null)
    [ -x "$cc1" ] && run cc1 3 "$cc1" -w -quiet -O2 big.c -o /dev/null
fi
have perl && run perl 4 "$(command -v perl)" "$loads/words.pl" 2
echo "total: $total captures, at least $want wanted; $bad bad"
[ "$total" -ge "$want" ] && [ "$bad" -eq 0 ]
