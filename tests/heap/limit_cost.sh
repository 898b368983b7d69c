#!/bin/bash
# limit_cost.sh -- instructions of allocation under limits that are not reached,
# against the same without: scenario 36 of spec memprof-limits 5.  All limits
# but samples and fuel cost a bare allocation 0.1 % at most; samples cost a
# program that builds trees 1 %.  valgrind counts.
#
#   limit_cost.sh LIMIT_COST
set -euo pipefail

program=$1
if ! command -v valgrind >/dev/null; then
    echo "skipped: valgrind counts instructions and there is none"
    exit 77
fi

instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$program" "$@" 2>&1 | sed -n 's/^==.*Collected : //p'
}

# Of a million blocks, beyond what the program's start and end take.
blocks() {
    echo $(($(instructions "$1" 1023000 "$2") - $(instructions "$1" 1 "$2")))
}

compare() {
    local task=$1 limits=$2 per_mille=$3 none now
    none=$(blocks "$task" none)
    now=$(blocks "$task" "$limits")
    echo "$task, $limits: $now instructions, $none without"
    [ "$none" -gt 5000000 ] # it was counted
    if [ $(((now - none) * 1000)) -gt $((none * per_mille)) ]; then
        echo "more than $per_mille in a thousand" >&2
        exit 1
    fi
}

compare pairs armed 1
compare trees sampled 10
if [ "${2-}" = --all ]; then
    compare pairs sampled 100
    compare trees armed 1
fi
