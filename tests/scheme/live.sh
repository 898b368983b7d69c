#!/bin/bash
# live.sh SCHEME -- 1 GiB of live data, checked at the end
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
available=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
if [ "$available" -lt 4096 ]; then
    echo "skipped: $available MiB of memory are available, it needs 4096"
    exit 77
fi
expected=$(awk '$1 == "live" { print $5 }' "$here/bench.tsv")
got=$("$1" -m 4096 "$here/../../examples/scheme/bench/live.scm" 1024 | tr ' ' ,)
[ "$got" = "$expected" ] || { echo "gives $got, not $expected"; exit 1; }
