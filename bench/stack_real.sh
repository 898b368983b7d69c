#!/bin/bash
# stack_real.sh -- ns per capture inside real programs, against libunwind
#
# usage: bench/stack_real.sh [BUILD_DIR]
#
# Prints rows: program metric ours peer peer_value ratio.  Warm is the median
# at every 2nd malloc, cold the mean and median at every 1000th.  Three runs
# of each in turn; the least of the three counts, for a busy machine adds to
# all of them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$here/../build/rel}" && pwd)
loads=$here/../tests/workloads
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 "$loads/gen_sql.py" 0.2 >"$work/work.sql"
python3 "$loads/gen_c.py" 120 >"$work/big.c"

command_of() {
    case $1 in
    sqlite) set -- sqlite3 :memory: ".read $work/work.sql" ;;
    python) set -- python3 "$loads/json_heavy.py" 2 ;;
    perl) set -- perl "$loads/words.pl" 2 ;;
    cc1) set -- "$(gcc -print-prog-name=cc1)" -w -quiet -O2 "$work/big.c" \
        -o /dev/null ;;
    esac
    command=("$@")
}

# measure METHOD EVERY FIELD: the figure of one run
measure() {
    PYTHONMALLOC=malloc STACK_METHOD=$1 STACK_EVERY=$2 \
        LD_PRELOAD=$build/bench/libstack_probe.so "${command[@]}" 2>&1 \
        >/dev/null | sed -nE "s/^captures .*$3 ([0-9.]+).*/\\1/p" | tail -n 1
}

row() {
    local ours="" theirs=""
    for _ in 1 2 3; do
        ours+="$(measure replay "$3" "$4") "
        theirs+="$(measure unw "$3" "$4") "
    done
    awk -v p="$1" -v m="$2" -v a="$ours" -v b="$theirs" 'BEGIN {
        split(a, x); split(b, y)
        for (i in x) if (!u || x[i] + 0 < u) u = x[i] + 0
        for (i in y) if (!v || y[i] + 0 < v) v = y[i] + 0
        printf "%s\t%s\t%.1f\tunw_backtrace\t%.1f\t%.4f\n", p, m, u, v, u / v
    }'
}

printf 'program\tmetric\tours\tpeer\tpeer_value\tratio\n'
for program in sqlite python cc1 perl; do
    command_of "$program"
    command -v "${command[0]}" >/dev/null || continue
    row "$program" warm_median_ns 2 median_ns
    row "$program" cold_mean_ns 1000 mean_ns
    row "$program" cold_median_ns 1000 median_ns
done
